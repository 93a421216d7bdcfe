"""``RemoteHistory``: one conversation behind a service, with the methods of a ``History``."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Any

from memwell.errors import InvalidInput, MemwellError, NotFound, Unsupported
from memwell.history import History
from memwell.history.media import MediaLimits
from memwell.history.reading import Target
from memwell.history.writing import media_of
from memwell.messages import Content, Media, Message, check_message
from memwell.records import Space, Thread
from memwell.runtime.remote.connection import Connection, Remote, called, refuses
from memwell.runtime.wire.operations import message_data
from memwell.runtime.wire.table import AddMessages, AnnotateThread, EditMessage
from memwell.storage.protocols import ThreadInfo, Version
from memwell.tokens import default_counter
from memwell.values import check_count, check_metadata, shown
from memwell.windows import Round, rounds_of

_PAGE = 200
_NO_COPIES = "indexes and earlier versions cannot be sent one by one; export() and import_file() carry them whole"


@refuses("the store belongs to the service; call the methods of the conversation", "backend", "log")
@refuses("a conversation is opened through its memory: memwell.open(url, key=…).thread(id)", "open")
@refuses(_NO_COPIES, "fork", "copy_to", "move_to")
class RemoteHistory(Remote, History):
    """A conversation of the key's space. It need not exist yet: its first message creates it.

    It caches nothing: each call is one request or a few. Iteration, rounds and metadata are those of ``History``, over
    the methods here.
    """

    def __init__(self, connection: Connection, space: Space, thread: str) -> None:
        super().__init__(connection, thread=thread)
        self.thread = Thread(space, thread)
        self.counter = default_counter()

    def close(self) -> None:
        """Does nothing: the connection belongs to the memory."""

    # Reading

    def info(self) -> ThreadInfo | None:
        """The conversation's counts and times, or None when it does not exist yet."""
        try:
            return self._connection.call("thread", thread=self.thread.id)
        except NotFound:
            return None

    page, apage = called("messages", History.page)  # pyright: ignore[reportAssignmentType]
    search, asearch = called(  # pyright: ignore[reportAssignmentType]
        "search_thread", History.search, reads=lambda hits: [(hit.message, hit.score) for hit in hits]
    )
    window, awindow = called("window", History.window)  # pyright: ignore[reportAssignmentType]

    def last(self, count: int) -> list[Message]:
        """The last messages."""
        wanted = check_count(count, "last")
        newest_first = self._stream(newest_first=True, block=min(max(wanted, 1), _PAGE))
        return list(islice(newest_first, wanted))[::-1]

    def get(self, target: Target) -> Message:
        """One message by index or id. Raises ``NotFound`` when there is none."""
        if isinstance(target, Message):
            target = target.id
        if isinstance(target, str):
            return self._connection.call("message", thread=self.thread.id, message=target)
        return self._at("message_at", check_count(target, "an index"))

    def round(self, number: int) -> Round:
        """One round by its number; 0 is everything before the first. Raises ``NotFound``."""
        check_count(number, "a round's number")
        info = self.info()
        # Round numbers ascend with indexes: read from the nearer end.
        backwards = number > (info.rounds if info else 0) // 2
        for one in self._rounds_backwards() if backwards else rounds_of(self):
            if one.number == number:
                return one
            if (one.number < number) == backwards:
                break
        raise NotFound(f"conversation {self.thread.id!r} has no round {number}")

    def versions(self, target: Target) -> list[Version]:
        """The earlier versions of a message, oldest first."""
        return self._at("message_versions", self._place(target)).versions

    def data_of(self, part: Media) -> bytes:
        """The bytes of a part.

        Raises ``Unsupported`` for bytes that the service stores with the conversation, ``InvalidInput`` for a part that
        has only an address, and for what is no medium.
        """
        if not isinstance(part, Media):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"only an Image, Audio or Video has bytes, not {shown(part)}")
        if part.data is not None:
            return part.data
        if part.blob is not None:
            raise Unsupported("a service does not send the bytes of a conversation; it does send those of media.add")
        raise InvalidInput(f"the part has only the address {shown(part.url)}, and nothing is fetched here")

    # Adding and changing

    trim, atrim = called("trim_thread", History.trim)  # pyright: ignore[reportAssignmentType]
    delete, adelete = called("delete_thread", History.delete, reads=bool)  # pyright: ignore[reportAssignmentType]

    def add(self, *messages: Message) -> list[Message]:
        """Store messages at the end, all or none, and return them with their indexes. They are on disk when it returns.

        Raises ``InvalidInput`` for an invalid message and ``Conflict`` for an id that exists already.
        """
        if not messages:
            return []
        asked = AddMessages(messages=[message_data(one) for one in messages])
        return self._connection.call("add_messages", asked, thread=self.thread.id).messages

    def with_blobs(self, message: Message, *, limits: MediaLimits | None = None) -> Message:
        """The message itself when it carries no bytes. Raises ``Unsupported`` when it does."""
        if any(one.data is not None for one in media_of([check_message(message)])):
            raise Unsupported("a service stores no bytes of a conversation; media.add stores them in the memory")
        return message

    def end_round(self) -> None:
        """End the current round: the next message starts a new one."""
        self._annotate(AnnotateThread(end_round=True))

    def start_round(self) -> int:
        """End the current round, if any, and return the number of the round that the next message starts."""
        return self._annotate(AnnotateThread(end_round=True)).rounds + 1

    def set_metadata(self, **values: Any) -> dict[str, Any]:
        """Set some keys of the conversation's metadata, None to drop one, and return all of it.

        It reads first and writes then: of two clients that do so at the same moment, the later one wins.
        """
        merged = {key: value for key, value in {**self.metadata(), **values}.items() if value is not None}
        return self._annotate(AnnotateThread(metadata=check_metadata(merged))).metadata

    def edit(self, target: Target, change: Content | Message) -> Message:
        """Replace a message or its content; the earlier version is kept. Raises ``NotFound``.

        Other content keeps a message's tool calls, and a tool result stays the answer to its call.
        """
        index = self._place(target)
        if isinstance(change, str):
            asked = EditMessage(content=change)
        else:
            new = change if isinstance(change, Message) else self.get(index).rewritten(change)
            asked = EditMessage(message=message_data(new))
        return self._at("edit_message", index, asked)

    def remove(self, *targets: Target) -> None:
        """Remove messages; ``restore`` brings each back. Raises ``NotFound``.

        They go one by one: when one cannot be removed, those before it are restored.
        """
        removed: list[int] = []
        try:
            for index in dict.fromkeys([self._place(target) for target in targets]):
                self._at("remove_message", index)
                removed.append(index)
        except MemwellError:
            for index in removed:
                with suppress(MemwellError):
                    self.restore(index)
            raise

    def restore(self, target: int | Message) -> Message:
        """Take back the last change of a message. Raises ``NotFound`` when it was never changed."""
        return self._at("restore_message", self._place(target))

    def _annotate(self, asked: AnnotateThread) -> ThreadInfo:
        return self._connection.call("annotate_thread", asked, thread=self.thread.id)

    def _at(self, name: str, index: int, asked: Any = None) -> Any:
        return self._connection.call(name, asked, thread=self.thread.id, index=str(index))

    def _place_of(self, message: Message, index: int) -> int:
        try:
            held = [self.get(index)]
        except NotFound:
            held = [one.message for one in self.versions(index) if one.message is not None]
        if any(one.id == message.id for one in held):
            return index
        raise NotFound(f"conversation {self.thread.id!r} has no message {shown(message.id)} at index {index}")
