"""One conversation behind a service: read it, add to it, change it, cut it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from memwell._asyncify import Closing, asyncify, run_blocking
from memwell.errors import InvalidInput, MemwellError, NotFound, Unsupported
from memwell.history import History
from memwell.history.media import MediaLimits
from memwell.history.reading import Target
from memwell.history.writing import Adding, media_of
from memwell.messages import Content, Media, Message, check_message
from memwell.records import Space, Thread, paged
from memwell.runtime.remote.connection import Connection, Remote, called, refuses
from memwell.runtime.wire.operations import message_data
from memwell.runtime.wire.table import OPERATIONS, AddMessages, AnnotateThread, EditMessage
from memwell.storage.protocols import ThreadInfo, Version
from memwell.tokens import default_counter
from memwell.values import check_count, check_metadata, shown
from memwell.windows import Round, rounds_of

_BLOCK = 200
_MOST_ROUNDS = 1000
"""How many rounds a service answers at once; more are put together here."""

_NO_COPIES = (
    "places and earlier versions do not go over the wire one by one; export() and import_file() carry them whole"
)


@refuses("the store is the service's own; call the methods of the conversation", "backend", "log")
@refuses("a conversation is had of its memory: memwell.open(url, key=…).thread(id)", "open")
@refuses(_NO_COPIES, "fork", "copy_to", "move_to")
class RemoteHistory(Closing, Remote, Adding):
    """A conversation of the key's space, which need not exist yet: it begins with its first message.

    It has the methods of a ``History`` and their async twins. It holds no messages and is right at any moment, as one over
    a store is; each call is one request or a few.
    """

    def __init__(self, connection: Connection, space: Space, thread: str) -> None:
        super().__init__(connection, thread=thread)
        self.thread = Thread(space, thread)
        self.counter = default_counter()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.thread.id!r}, space={self.thread.space!r})"

    def close(self) -> None:
        """Does nothing: the line belongs to the memory that the conversation is of."""

    # Reading

    def info(self) -> ThreadInfo | None:
        """What is known of the conversation without reading it, or None when it has not begun."""
        try:
            return self._connection.call("thread", thread=self.thread.id)
        except NotFound:
            return None

    def __len__(self) -> int:
        info = self.info()
        return info.messages if info else 0

    def __bool__(self) -> bool:
        # An empty conversation is still a conversation.
        return True

    @property
    def tokens(self) -> int:
        """How many tokens the whole conversation has, by the default encoding."""
        info = self.info()
        return info.tokens if info else 0

    async def atokens(self) -> int:
        """The async twin of ``tokens``."""
        return await run_blocking(lambda: self.tokens)

    page, apage = called("messages", History.page)
    search, asearch = called(
        "search_thread", History.search, reads=lambda hits: [(hit.message, hit.score) for hit in hits]
    )
    window, awindow = called("window", History.window)

    def last(self, count: int) -> list[Message]:
        """The last messages, as they are."""
        wanted = check_count(count, "last")
        newest_first = self._stream(newest_first=True, block=min(max(wanted, 1), _BLOCK))
        return list(islice(newest_first, wanted))[::-1]

    def get(self, target: Target) -> Message:
        """One message by index or id. Raises ``NotFound`` when there is none."""
        if isinstance(target, Message):
            target = target.id
        if isinstance(target, str):
            return self._connection.call("message", thread=self.thread.id, message=target)
        return self._at("message_at", check_count(target, "an index"))

    def __iter__(self) -> Iterator[Message]:
        return self._stream(newest_first=False)

    def __reversed__(self) -> Iterator[Message]:
        return self._stream(newest_first=True)

    def _stream(self, *, newest_first: bool, block: int = _BLOCK) -> Iterator[Message]:
        return paged(lambda cursor: self.page(limit=block, cursor=cursor, newest_first=newest_first))

    async def __aiter__(self) -> AsyncIterator[Message]:
        cursor = None
        while True:
            page = await self.apage(limit=_BLOCK, cursor=cursor)
            for message in page.items:
                yield message
            cursor = page.next
            if cursor is None:
                return

    def metadata(self) -> dict[str, Any]:
        """The conversation's own metadata, such as its title."""
        info = self.info()
        return info.metadata if info else {}

    def data_of(self, part: Media) -> bytes:
        """The bytes that a part carries.

        Raises ``Unsupported`` for those that the service keeps next to the conversation, ``InvalidInput`` for a part given
        by its address alone, and for what is no medium.
        """
        if not isinstance(part, Media):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"only an Image, Audio or Video has bytes, not {shown(part)}")
        if part.data is not None:
            return part.data
        if part.blob is not None:
            raise Unsupported("a service does not hand out the bytes of a conversation; media.add keeps some it does")
        raise InvalidInput(f"the part is given by the address {shown(part.url)}, and nothing is fetched here")

    # Rounds

    def rounds(self, last: int | None = None) -> list[Round]:
        """The last rounds, oldest first; all of them without ``last``. What came before the first round is not in one."""
        if last is not None and check_count(last, "last") <= _MOST_ROUNDS:
            asked = OPERATIONS["rounds"].request({"last": last})
            return self._connection.call("rounds", asked, thread=self.thread.id).rounds
        found = [one for one in rounds_of(self) if one.number > 0]
        return found if last is None else found[-last:]

    def latest_round(self) -> Round | None:
        """The round under way, or None before the first."""
        found = self.rounds(1)
        return found[0] if found else None

    def round(self, number: int) -> Round:
        """One round by its number; 0 is what came before the first. Raises ``NotFound`` when there is none."""
        check_count(number, "a round's number")
        info = self.info()
        latest = info.rounds if info else 0
        # From the end that is nearer: rounds never fall as indexes rise.
        backwards = number > latest // 2
        found: list[Message] = []
        for message in self._stream(newest_first=backwards):
            place = message.round or 0
            if place == number:
                found.append(message)
            elif (place < number) if backwards else (place > number):
                break
        if not found:
            raise NotFound(f"conversation {self.thread.id!r} has no round {number}")
        return Round(number, found[::-1] if backwards else found)

    def end_round(self) -> None:
        """Close the round under way: whatever comes next opens a new one."""
        self._annotate(AnnotateThread(end_round=True))

    def start_round(self) -> int:
        """Close the round under way, if any, and return the number of the one that the next message opens."""
        return self._annotate(AnnotateThread(end_round=True)).rounds + 1

    def _annotate(self, asked: AnnotateThread) -> ThreadInfo:
        return self._connection.call("annotate_thread", asked, thread=self.thread.id)

    # Adding and changing

    trim, atrim = called("trim_thread", History.trim)
    delete, adelete = called("delete_thread", History.delete, reads=bool)

    def add(self, *messages: Message) -> list[Message]:
        """Store messages at the end, all or none, and return them with their places. On disk when it returns.

        Raises ``InvalidInput`` for a message that breaks a rule and ``Conflict`` for an id that is already there.
        """
        if not messages:
            return []
        asked = AddMessages(messages=[message_data(one) for one in messages])
        return self._connection.call("add_messages", asked, thread=self.thread.id).messages

    def with_blobs(self, message: Message, *, limits: MediaLimits | None = None) -> Message:
        """The message as it is, when it carries no bytes. Raises ``Unsupported`` when it does."""
        if any(one.data is not None for one in media_of([check_message(message)])):
            raise Unsupported("a service keeps no bytes of a conversation; media.add keeps them in the memory")
        return message

    def edit(self, target: Target, change: Content | Message) -> Message:
        """Put another message or other content in a message's place; what was there stays among its versions.

        Other content leaves a message's tool calls, and a tool result answers its call with it; another message replaces
        all. Raises ``NotFound`` when there is no such message.
        """
        place = self._place(target)
        if isinstance(change, str):
            asked = EditMessage(content=change)
        else:
            new = change if isinstance(change, Message) else self.get(place).rewritten(change)
            asked = EditMessage(message=message_data(new))
        return self._at("edit_message", place, asked)

    def remove(self, *targets: Target) -> None:
        """Take messages out; each stays among its versions and ``restore`` brings it back.

        They go one by one: when one cannot be taken out, those before it are put back. Raises ``NotFound`` when there is
        no such message.
        """
        removed: list[int] = []
        try:
            for place in dict.fromkeys([self._place(target) for target in targets]):
                self._at("remove_message", place)
                removed.append(place)
        except MemwellError:
            for place in removed:
                with suppress(MemwellError):
                    self.restore(place)
            raise

    def restore(self, target: int | Message) -> Message:
        """Put back what a place held before its last change. Raises ``NotFound`` when it was never changed."""
        return self._at("restore_message", self._place(target))

    def versions(self, target: Target) -> list[Version]:
        """What a message was before, oldest first."""
        return self._at("message_versions", self._place(target)).versions

    def set_metadata(self, **values: Any) -> dict[str, Any]:
        """Set some keys of the conversation's metadata, None to drop one, and return all of it.

        What is there is read first: of two clients that do this at the same moment, the later one's view of it stays.
        """
        merged = {key: value for key, value in {**self.metadata(), **values}.items() if value is not None}
        return self._annotate(AnnotateThread(metadata=check_metadata(merged))).metadata

    def _at(self, name: str, place: int, asked: Any = None) -> Any:
        return self._connection.call(name, asked, thread=self.thread.id, index=str(place))

    def _place(self, target: Target) -> int:
        if isinstance(target, int):
            return check_count(target, "an index")
        if isinstance(target, Message) and target.index is not None:
            return self._place_of(target, target.index)
        return self.get(target).index or 0

    def _place_of(self, message: Message, index: int) -> int:
        """The index, if it is this message that the place holds or held: another conversation's has an index too."""
        try:
            held = [self.get(index)]
        except NotFound:
            held = [one.message for one in self.versions(index) if one.message is not None]
        if any(one.id == message.id for one in held):
            return index
        raise NotFound(f"conversation {self.thread.id!r} has no message {shown(message.id)} at index {index}")

    ainfo = asyncify(info)
    alast = asyncify(last)
    aget = asyncify(get)
    arounds = asyncify(rounds)
    alatest_round = asyncify(latest_round)
    around = asyncify(round)  # noqa: A003 - the method above, not the builtin
    aversions = asyncify(versions)
    ametadata = asyncify(metadata)
    adata_of = asyncify(data_of)
    aadd = asyncify(add)
    awith_blobs = asyncify(with_blobs)
    aend_round = asyncify(end_round)
    astart_round = asyncify(start_round)
    aedit = asyncify(edit)
    aremove = asyncify(remove)
    arestore = asyncify(restore)
    aset_metadata = asyncify(set_metadata)
