"""Writing one conversation: adding to it, changing it, cutting it, copying it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, cast

from memwell._asyncify import asyncify
from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.filters import id_begins_with
from memwell.history.adding import Adding
from memwell.history.blobs import MediaKeeper
from memwell.history.copying import copy_conversation, together
from memwell.history.handle import blobs_beside, kept_beside
from memwell.history.reading import Target
from memwell.messages import Content, Message, Role, check_message
from memwell.records import Space, paged
from memwell.storage.protocols import Backend
from memwell.tokens import counted
from memwell.values import check_count
from memwell.windows import Round, kept_from


class History(MediaKeeper, Adding):
    """A conversation: read it, add to it, change it, cut it, copy it.

    ``History.open("chat.db", "trip")`` opens a file; ``History(backend, "trip", space=…)`` uses an open store.
    """

    # Adding

    def add(self, *messages: Message) -> list[Message]:
        """Store messages at the end, all or none, and return them with their places. On disk when it returns.

        Raises ``InvalidInput`` for a message that breaks a rule and ``Conflict`` for an id that is already there.
        """
        return self.log.append(self.thread, [_counted(one) for one in messages])

    # Rounds

    def end_round(self) -> None:
        """Close the round under way: whatever comes next opens a new one."""
        self.log.annotate(self.thread, end_round=True)

    def start_round(self) -> int:
        """Close the round under way, if any, and return the number of the one that the next message opens."""
        return self.log.annotate(self.thread, end_round=True).rounds + 1

    def trim(self, *, rounds: int | None = None, tokens: int | None = None) -> int:
        """Drop the oldest rounds for good, keeping the last ``rounds`` or those that fit ``tokens``; returns how many
        messages went.

        Rounds are dropped whole, system messages from before the first round stay and count, the latest round stays unless
        the limit is 0, and a round that another one's tool results answer stays with it. Raises ``InvalidInput`` unless
        exactly one limit is given.
        """
        if (rounds is None) == (tokens is None):
            raise InvalidInput("trim takes either 'rounds' or 'tokens'")
        limit = check_count(tokens if rounds is None else rounds, "the limit")
        info = self.info()
        if info is None:
            return 0
        spared = self._preamble()
        if limit == 0:
            cut = info.next
        elif rounds is not None:
            cut = kept_from(self._rounds_backwards(), limit, lambda round_: min(round_.number, 1))
        else:
            cut = kept_from(self._rounds_backwards(), limit - self._size(spared), self._size_to_drop)
        return self.log.trim(self.thread, cut, keep=[message.index or 0 for message in spared])

    def _size(self, messages: Iterable[Message]) -> int:
        return sum(map(self.counter.count_message, messages))

    def _size_to_drop(self, round_: Round) -> int:
        return self._size(one for one in round_.messages if round_.number or one.role is not Role.SYSTEM)

    # Changing

    def edit(self, target: Target, change: Content | Message) -> Message:
        """Put another message or other content in a message's place; what was there stays among its versions.

        Other content leaves a message's tool calls, and a tool result answers its call with it; another message replaces
        all. Raises ``NotFound`` when there is no such message.
        """
        with together(self):
            place = self._place(target)
            new = change if isinstance(change, Message) else self.get(place).rewritten(change)
            stored = self.log.edit(self.thread, {place: _counted(new)})[0]
        assert stored is not None
        return stored

    def remove(self, *targets: Target) -> None:
        """Take messages out, all or none; each stays among its versions and ``restore`` brings it back.

        Raises ``NotFound`` when there is no such message.
        """
        self.log.edit(self.thread, {self._place(target): None for target in targets})

    def restore(self, target: int | Message) -> Message:
        """Put back what a place held before its last change. Raises ``NotFound`` when it was never changed."""
        with together(self):
            place = self._place(target)
            held = [version.message for version in self.versions(place) if version.message is not None]
            if not held:
                raise NotFound(f"nothing was ever changed at index {place} of conversation {self.thread.id!r}")
            return self.edit(place, held[-1])

    def set_metadata(self, **values: Any) -> dict[str, Any]:
        """Set some keys of the conversation's metadata, None to drop one, and return all of it."""
        with together(self):
            merged = {key: value for key, value in {**self.metadata(), **values}.items() if value is not None}
            return self.log.annotate(self.thread, metadata=merged).metadata

    def delete(self) -> bool:
        """Drop the conversation with all it holds and all that was made of it, for good. Returns whether there was one."""
        if self.backend is None:
            return self.log.delete(self.thread)
        space, prefix = kept_beside(self.thread)
        with together(self):
            self._drop_kept(self.backend, space, prefix)
            self._drop_kept(self.backend, blobs_beside(self.thread), "")
            return self.log.delete(self.thread)

    def _drop_kept(self, backend: Backend, space: Space, prefix: str) -> None:
        """Drop what is kept about the conversation under a prefix, and the blobs that are named there."""
        where = id_begins_with(prefix)
        for entry in list(paged(lambda cursor: backend.kv.scan(space, where=where, cursor=cursor))):
            value: object = entry.value
            if isinstance(value, dict) and "blob" in value:
                backend.blobs.delete(blobs_beside(self.thread), cast("dict[str, Any]", value)["blob"])
            backend.kv.delete(space, entry.key)

    # Copies

    def fork(self, thread: str, *, upto: Target | None = None) -> History:
        """A new conversation that begins like this one, up to and with the message ``upto``, and goes its own way.

        Places, ids and times are the same. Raises ``Conflict`` when a conversation of that name exists and ``NotFound``
        when there is no message ``upto``.
        """
        end = None if upto is None else self.get(upto).index
        other = History(self.backend or self.log, thread, space=self.thread.space, counter=self.counter)
        with together(other):
            copy_conversation(self, other, end, versions=False)
            other.set_metadata(forked_from={"thread": self.thread.id, "index": end})
        return other

    def copy_to(self, other: History) -> int:
        """Copy everything, earlier versions too, into a conversation that has not begun, of this or another store.

        Returns how many messages it has. Raises ``Conflict`` when ``other`` has begun; then, and when anything fails,
        ``other`` is left as it was.
        """
        return copy_conversation(self, other, None, versions=True)

    def move_to(self, other: History) -> int:
        """Copy everything, then delete it here. A crash in between leaves both, never neither.

        Raises what ``copy_to`` raises, and ``Conflict`` when this conversation was changed meanwhile: then both are left.
        """
        moved = self.copy_to(other)
        with together(self):
            # Somebody may have written here since the copy was made, and that must not be deleted unseen.
            differ = any(mine != theirs for mine, theirs in zip_longest(self, other))
            if differ or self.metadata() != other.metadata():
                raise Conflict(
                    f"conversation {self.thread.id!r} was changed while it was moved: it and its copy are kept"
                )
            self.delete()
        return moved

    aadd = asyncify(add)
    aend_round = asyncify(end_round)
    astart_round = asyncify(start_round)
    atrim = asyncify(trim)
    aedit = asyncify(edit)
    aremove = asyncify(remove)
    arestore = asyncify(restore)
    aset_metadata = asyncify(set_metadata)
    adelete = asyncify(delete)
    afork = asyncify(fork)
    acopy_to = asyncify(copy_to)
    amove_to = asyncify(move_to)


def _counted(value: Message) -> Message:
    try:
        return counted(value)
    except AttributeError:
        # Not a message, or not made of parts: the check says what it is.
        check_message(value)
        raise


__all__ = ["History"]
