"""One conversation behind a service: read it, add to it, change it, cut it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from memwell._asyncify import asyncify
from memwell.errors import InvalidInput, MemwellError, Unsupported
from memwell.history.media import MediaLimits
from memwell.history.reading import Target
from memwell.history.writing import Adding, media_of
from memwell.messages import Content, Message, check_message
from memwell.runtime.remote.given import message_data, messages_data
from memwell.runtime.remote.reading import RemoteReader
from memwell.runtime.remote.refusing import Refused
from memwell.runtime.wire import threads
from memwell.runtime.wire.running import Done
from memwell.storage.protocols import ThreadInfo
from memwell.values import check_count, check_metadata

_NO_COPIES = "places and earlier versions do not go over the wire one by one; export() and bring() carry them whole"


class RemoteHistory(RemoteReader, Adding):
    """A conversation of the key's space. Every method has an async twin with an ``a`` in front."""

    fork = Refused(_NO_COPIES)
    afork = Refused(_NO_COPIES)
    copy_to = Refused(_NO_COPIES)
    acopy_to = Refused(_NO_COPIES)
    move_to = Refused(_NO_COPIES)
    amove_to = Refused(_NO_COPIES)

    # Adding

    def add(self, *messages: Message) -> list[Message]:
        """Store messages at the end, all or none, and return them with their places. On disk when it returns.

        Raises ``InvalidInput`` for a message that breaks a rule and ``Conflict`` for an id that is already there.
        """
        if not messages:
            return []
        asked = threads.AddMessages(messages=messages_data(messages))
        return self._connection.call("add_messages", threads.Added, asked, thread=self.thread.id).messages

    def with_blobs(self, message: Message, *, limits: MediaLimits | None = None) -> Message:
        """The message as it is, when it carries no bytes. Raises ``Unsupported`` when it does."""
        if any(one.data is not None for one in media_of([check_message(message)])):
            raise Unsupported("a service keeps no bytes beside a conversation; media.add keeps them in the memory")
        return message

    # Rounds

    def end_round(self) -> None:
        """Close the round under way: whatever comes next opens a new one."""
        self._annotate(threads.AnnotateThread(end_round=True))

    def start_round(self) -> int:
        """Close the round under way, if any, and return the number of the one that the next message opens."""
        return self._annotate(threads.AnnotateThread(end_round=True)).rounds + 1

    def _annotate(self, asked: threads.AnnotateThread) -> ThreadInfo:
        return self._connection.call("annotate_thread", ThreadInfo, asked, thread=self.thread.id)

    def trim(self, *, rounds: int | None = None, tokens: int | None = None) -> int:
        """Drop the oldest rounds for good, keeping the last ``rounds`` or those that fit ``tokens``; returns how many
        messages went. Raises ``InvalidInput`` unless exactly one limit is given.
        """
        if (rounds is None) == (tokens is None):
            raise InvalidInput("trim takes either 'rounds' or 'tokens'")
        check_count(tokens if rounds is None else rounds, "the limit")
        asked = threads.TrimThread(rounds=rounds, tokens=tokens)
        return self._connection.call("trim_thread", threads.Counted, asked, thread=self.thread.id).count

    # Changing

    def edit(self, target: Target, change: Content | Message) -> Message:
        """Put another message or other content in a message's place; what was there stays among its versions.

        Other content leaves a message's tool calls, and a tool result answers its call with it; another message replaces
        all. Raises ``NotFound`` when there is no such message.
        """
        place = self._place(target)
        if isinstance(change, str):
            asked = threads.EditMessage(content=change)
        else:
            new = change if isinstance(change, Message) else self.get(place).rewritten(change)
            asked = threads.EditMessage(message=message_data(new))
        return self._connection.call("edit_message", Message, asked, **self._at(place))

    def remove(self, *targets: Target) -> None:
        """Take messages out; each stays among its versions and ``restore`` brings it back.

        They go one by one: when one cannot be taken out, those before it are put back. Raises ``NotFound`` when there is
        no such message.
        """
        removed: list[int] = []
        try:
            for place in dict.fromkeys([self._place(target) for target in targets]):
                self._connection.call("remove_message", Done, None, **self._at(place))
                removed.append(place)
        except MemwellError:
            for place in removed:
                with suppress(MemwellError):
                    self.restore(place)
            raise

    def restore(self, target: int | Message) -> Message:
        """Put back what a place held before its last change. Raises ``NotFound`` when it was never changed."""
        return self._connection.call("restore_message", Message, None, **self._at(self._place(target)))

    def _at(self, place: int) -> dict[str, str]:
        return {"thread": self.thread.id, "index": str(place)}

    def set_metadata(self, **values: Any) -> dict[str, Any]:
        """Set some keys of the conversation's metadata, None to drop one, and return all of it.

        What is there is read first: of two clients that do this at the same moment, the later one's view of it stays.
        """
        merged = {key: value for key, value in {**self.metadata(), **values}.items() if value is not None}
        return self._annotate(threads.AnnotateThread(metadata=check_metadata(merged))).metadata

    def delete(self) -> bool:
        """Drop the conversation with all it holds and all that was made of it, for good. Returns whether there was one."""
        return bool(self._connection.call("delete_thread", Done, None, thread=self.thread.id).done)

    aadd = asyncify(add)
    awith_blobs = asyncify(with_blobs)
    aend_round = asyncify(end_round)
    astart_round = asyncify(start_round)
    atrim = asyncify(trim)
    aedit = asyncify(edit)
    aremove = asyncify(remove)
    arestore = asyncify(restore)
    aset_metadata = asyncify(set_metadata)
    adelete = asyncify(delete)


__all__ = ["RemoteHistory"]
