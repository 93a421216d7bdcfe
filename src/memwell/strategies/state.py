"""What a strategy keeps: how far it has taken the conversation in, and what it made of it.

The conversation's log is the only truth; a state can always be made again from it. It lies beside the conversation, in the
same store, and moves by compare-and-set: of two that work on the same messages at once, one is told so, and reads again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from hashlib import blake2b
from typing import Any, cast

import msgspec

from memwell.errors import Conflict
from memwell.filters import id_begins_with
from memwell.history import HistoryReader
from memwell.history.reading import keep_blob, kept_beside, key_part
from memwell.messages import Message, Role
from memwell.records import paged
from memwell.storage.protocols import Backend, Blobs, Entry, KeyValue, ThreadInfo
from memwell.storage.registry import open_backend
from memwell.values import check_id

AT_ONCE = 64
"""How many messages are taken in by one step. What is owed after a long absence is worked off in such steps."""

_PAGE = 500
_FIELDS = ("upto", "round", "fields", "born")
"""What is stored of a state."""


class Held(msgspec.Struct, frozen=True):
    """A state as it was read: all messages below ``upto`` are taken in, the last of them of the round ``round``."""

    upto: int = 0
    round: int = 0
    fields: dict[str, Any] = {}
    """What the strategy made of them."""
    version: int = 0
    born: str | None = None
    """When the conversation began that this is the state of; one that was deleted and begun anew is another one.

    None before it begins: what was written then counts for the conversation that begins next.
    """
    next: int = 0
    """The index that the conversation's next message had when this was read."""
    last_round: int = 0
    """The number of its last round then."""


class State:
    """The state of one strategy for one conversation, kept in the conversation's store under the strategy's name.

    A history over a bare ``MessageLog`` has no such store: there the state lives as long as this object.
    """

    def __init__(self, history: HistoryReader, name: str) -> None:
        check_id(name, "a strategy's name")
        self._history = history
        self._space, begin = kept_beside(history.thread)
        self._prefix = f"{begin}{key_part(name)}/"
        whose = f"{history.thread.space.encoded()}{history.thread.id}"
        self.id = f"memwell-{name}-{blake2b(whose.encode(), digest_size=8).hexdigest()}"
        """The id of the message by which the strategy tells what it made of the conversation; it never changes."""

    @cached_property
    def _backend(self) -> Backend:
        # A store of its own for a log that comes without one, so that all that follows has one way to go.
        return open_backend("memory:") if self._history.backend is None else self._history.backend

    @property
    def _kv(self) -> KeyValue:
        return self._backend.kv

    @property
    def blobs(self) -> Blobs:
        """Where large things are kept; what is kept there is named in a value with the key ``blob``."""
        return self._backend.blobs

    def keep_blob(self, data: bytes) -> str:
        """Keep bytes beside the conversation; its end takes them along. Call it inside a transaction."""
        return keep_blob(self._backend, self._history.thread, data)

    def read(self) -> Held:
        """The state now; a blank one when there is none, or when the conversation is not the one it was made of.

        One from before the conversation began is noted to be of this one by whoever first reads it.
        """
        entry = self._kv.get(self._space, self._prefix)
        info = self._history.info()
        version = 0 if entry is None else entry.version
        next_, last_round = (info.next, info.rounds) if info else (0, 0)
        blank = Held(version=version, born=self._born(info), next=next_, last_round=last_round)
        if entry is None:
            return blank
        kept = msgspec.convert(entry.value, Held)
        if kept.born is None and blank.born is not None:
            return self._taken_over(kept, blank)
        if kept.born != blank.born or kept.upto > next_:
            return blank
        return msgspec.structs.replace(blank, upto=kept.upto, round=kept.round, fields=kept.fields)

    def _taken_over(self, kept: Held, now: Held) -> Held:
        """The state as that of the conversation that has begun since it was written."""
        # When somebody else did so before, or moved it on, theirs is what counts.
        with suppress(Conflict):
            self._put(msgspec.structs.replace(kept, born=now.born), expect=now.version)
        return self.read()

    def _born(self, info: ThreadInfo | None) -> str | None:
        # A log that is no store of ours may not know when a conversation began; there its length alone must do.
        return info.created.isoformat() if info is not None and self._history.backend is not None else None

    def move(self, held: Held, *, upto: int, round: int, fields: Mapping[str, Any]) -> None:  # noqa: A002 - its field
        """Put a new state in the place of one that was read. Raises ``Conflict`` when somebody else did so before."""
        self._put(Held(upto, round, dict(fields), born=held.born), expect=held.version)

    def clear(self) -> None:
        """Drop all that was made of the conversation, and begin behind its last message."""
        with self.together():
            info = self._history.info()
            for key in [entry.key for entry in self.entries()]:
                self._kv.delete(self._space, self._prefix + key)
            upto, number = (info.next, info.rounds) if info else (0, 0)
            self._put(Held(upto, number, born=self._born(info)), expect=None)

    def restart(self) -> None:
        """Drop how far the conversation was taken in and what was made of it, as if none of it had been read."""
        self._kv.delete(self._space, self._prefix)

    def _put(self, held: Held, *, expect: int | None) -> None:
        value = {name: getattr(held, name) for name in _FIELDS}
        self._kv.put(self._space, self._prefix, value, expect=expect)

    def together(self) -> AbstractContextManager[None]:
        """A transaction: what is written inside is kept together or not at all."""
        return self._backend.transaction()

    def unread(self, held: Held, before: int | None = None, *, most: int = AT_ONCE) -> list[Message]:
        """The next messages that are not taken in, at most ``most``."""
        if held.upto >= held.next or (before is not None and held.upto >= before):
            return []
        return self._history.log.read(self._history.thread, after=held.upto - 1, before=before, first=most)

    # Values beside the state, one a key, so that a change of one costs the same however many there are

    def get(self, key: str) -> Entry | None:
        """One value, or None."""
        return self._kv.get(self._space, self._prefix + key_part(key))

    def put(self, key: str, value: Mapping[str, Any], *, expect: int | None = None) -> None:
        """Store one value. Raises ``Conflict`` when it is not at the expected version."""
        self._kv.put(self._space, self._prefix + key_part(key), dict(value), expect=expect)

    def drop(self, key: str) -> bool:
        """Drop one value; returns whether there was one."""
        return self._kv.delete(self._space, self._prefix + key_part(key))

    def entries(self) -> list[Entry]:
        """All values, by key; their keys without what marks them as this state's."""
        where = id_begins_with(self._prefix)
        found = paged(lambda cursor: self._kv.scan(self._space, where=where, limit=_PAGE, cursor=cursor))
        kept = [msgspec.structs.replace(one, key=one.key.removeprefix(self._prefix)) for one in found]
        return [one for one in kept if one.key]


def copy_states(source: HistoryReader, target: HistoryReader) -> None:
    """Copy what all strategies made of a conversation to a copy of it, as far as both are in stores."""
    if source.backend is None or target.backend is None:
        return
    (space, begin), (other_space, other_begin) = kept_beside(source.thread), kept_beside(target.thread)
    kv, where = source.backend.kv, id_begins_with(begin)
    for entry in list(paged(lambda cursor: kv.scan(space, where=where, limit=_PAGE, cursor=cursor))):
        value = cast("dict[str, Any]", entry.value)
        # The copy began at another time than the original; it takes a state over when that is first read.
        unborn = {**value, "born": None} if value.keys() == {*_FIELDS} else value
        target.backend.kv.put(other_space, other_begin + entry.key.removeprefix(begin), unborn)


def until_settled(step: Callable[[], bool]) -> None:
    """Repeat a step for as long as it says that more is to be done; one that came too late is done again."""
    more = True
    while more:
        try:
            more = step()
        except Conflict:
            # Somebody else moved the state, so the work is done or there is less of it.
            more = True


def is_preamble(message: Message) -> bool:
    """Whether it is an instruction from before the first round, which stays as it is and is never summed up."""
    return message.role is Role.SYSTEM and not message.round


def next_index(messages: list[Message]) -> int:
    """The index behind the last of some messages."""
    return (messages[-1].index or 0) + 1


def with_note(window: list[Message], note: Message | None) -> list[Message]:
    """A window with a note between the instructions at its front and its first round."""
    if note is None:
        return window
    front = next((place for place, one in enumerate(window) if not is_preamble(one)), len(window))
    return [*window[:front], note, *window[front:]]
