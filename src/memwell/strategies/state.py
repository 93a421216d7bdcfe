"""The stored state of a strategy: how many messages it has processed, and what it derived from them.

The log is the source of truth; a state can always be rebuilt from it. It is stored with the conversation and updated by
compare-and-set: of two processes that work on the same messages, one gets a ``Conflict`` and reads again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import datetime
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any

import msgspec

from memwell.errors import Conflict
from memwell.filters import id_begins_with
from memwell.history import HistoryReader
from memwell.history.reading import keep_blob, key_part, thread_keys
from memwell.messages import Message, Role, Text
from memwell.records import paged
from memwell.storage.protocols import Backend, Blobs, Entry, KeyValue, ThreadInfo
from memwell.storage.registry import open_backend
from memwell.values import check_id

AT_ONCE = 64
"""How many messages one step processes; after a long pause there are several steps."""

_PAGE = 500
_FIELDS = ("upto", "round", "fields", "born")
"""The stored fields of a state."""


class StoredState(msgspec.Struct, frozen=True):
    """A state as it was read: all messages below ``upto`` are processed, the last of them in the round ``round``."""

    upto: int = 0
    round: int = 0
    fields: dict[str, Any] = {}
    """What the strategy derived from them."""
    version: int = 0
    born: str | None = None
    """When the conversation of this state was created; one that was deleted and created again is another one.

    None before it is created: such a state belongs to the conversation that is created next.
    """
    next: int = 0
    """The index of the conversation's next message when this was read."""
    last_round: int = 0
    """The number of its last round at that time."""
    edits: int = 0
    """How often its messages had been edited by then."""
    updated: datetime | None = None
    """When its newest message was written."""


class StrategyState:
    """The state of one strategy for one conversation, stored with the conversation under the strategy's name.

    A history over a bare ``MessageLog`` has no store: there the state lives as long as this object.
    """

    def __init__(self, history: HistoryReader, name: str) -> None:
        check_id(name, "a strategy's name")
        self._history = history
        self._space, begin = thread_keys(history.thread)
        self._prefix = f"{begin}{key_part(name)}/"
        owner = f"{history.thread.space.encoded()}{history.thread.id}"
        self.id = f"memwell-{name}-{blake2b(owner.encode(), digest_size=8).hexdigest()}"
        """The constant id of the strategy's system message."""
        self._held: tuple[str | None, int, list[Message]] = (None, 0, [])

    @cached_property
    def _backend(self) -> Backend:
        # A log without a store gets one in memory, so that there is one code path.
        return open_backend("memory:") if self._history.backend is None else self._history.backend

    @property
    def _kv(self) -> KeyValue:
        return self._backend.kv

    @property
    def blobs(self) -> Blobs:
        """The blobs of the store; a stored value names one by its key ``blob``."""
        return self._backend.blobs

    def keep_blob(self, data: bytes) -> str:
        """Store bytes as a blob of the conversation, deleted with it. Call it inside a transaction."""
        return keep_blob(self._backend, self._history.thread, data)

    def read(self) -> StoredState:
        """The current state; an empty one when there is none, or when it belongs to a deleted conversation.

        A state from before the conversation was created is assigned to it by the first read.
        """
        entry = self._kv.get(self._space, self._prefix)
        info = self._history.info()
        version = 0 if entry is None else entry.version
        next_, last_round, edits = (info.next, info.rounds, info.edits) if info else (0, 0, 0)
        blank = StoredState(
            version=version,
            born=self._born(info),
            next=next_,
            last_round=last_round,
            edits=edits,
            updated=None if info is None else info.updated,
        )
        if entry is None:
            return blank
        kept = msgspec.convert(entry.value, StoredState)
        if kept.born is None and blank.born is not None:
            return self._taken_over(kept, blank)
        if kept.born != blank.born or kept.upto > next_:
            return blank
        return msgspec.structs.replace(blank, upto=kept.upto, round=kept.round, fields=kept.fields)

    def _taken_over(self, kept: StoredState, now: StoredState) -> StoredState:
        """Assign a state to the conversation that was created after it was written."""
        # If another process did so first, or advanced it, that state counts.
        with suppress(Conflict):
            self._put(msgspec.structs.replace(kept, born=now.born), expect=now.version)
        return self.read()

    def _born(self, info: ThreadInfo | None) -> str | None:
        # A foreign log may not know when a conversation was created; then only its length is compared.
        return info.created.isoformat() if info is not None and self._history.backend is not None else None

    def move(self, held: StoredState, *, upto: int, round: int, fields: Mapping[str, Any]) -> None:  # noqa: A002 - its field
        """Replace a state that was read. Raises ``Conflict`` when another process replaced it first."""
        self._put(StoredState(upto, round, dict(fields), born=held.born), expect=held.version)

    def clear(self) -> None:
        """Delete what was derived from the conversation, and continue after its last message."""
        with self.together():
            info = self._history.info()
            for key in [entry.key for entry in self.entries()]:
                self._kv.delete(self._space, self._prefix + key)
            upto, number = (info.next, info.rounds) if info else (0, 0)
            self._put(StoredState(upto, number, born=self._born(info)), expect=None)

    def restart(self) -> None:
        """Delete the state as if no message had been processed."""
        self._kv.delete(self._space, self._prefix)

    def _put(self, held: StoredState, *, expect: int | None) -> None:
        value = {name: getattr(held, name) for name in _FIELDS}
        self._kv.put(self._space, self._prefix, value, expect=expect)

    def together(self) -> AbstractContextManager[None]:
        """A transaction where the store has them. What is made of messages is written before the state moves past them."""
        return self._backend.together()

    def unread(self, held: StoredState, before: int | None = None, *, most: int = AT_ONCE) -> list[Message]:
        """The next unprocessed messages, at most ``most``.

        Plain ones are held: until a message is edited, or the store lost some, only the new ones are read.
        """
        end = held.next if before is None else min(before, held.next)
        known, new = self._continued(self._known(held), held.next, before, most)
        if not known and held.upto < end:
            new = self._history.log.read(self._history.thread, after=held.upto - 1, before=before, first=most)
        after = next_index(known) if known else held.upto
        if held.born is not None and new and new[0].index == after and are_plain(new):
            self._held = (held.born, held.edits, [*known, *new])
        # The metadata of a message can be changed, so every reader gets its own.
        return [
            msgspec.structs.replace(one, metadata={})
            for one in known[:most]
            if before is None or (one.index or 0) < before
        ] + new

    def _known(self, held: StoredState) -> list[Message]:
        """The held messages from the first unprocessed one on."""
        born, edits, messages = self._held
        known = [one for one in messages if (one.index or 0) >= held.upto]
        if (born, edits) != (held.born, held.edits) or not known or known[0].index != held.upto:
            return []
        return known if are_last(known, held.next, held.updated) else []

    def _continued(
        self, known: list[Message], end: int, before: int | None, most: int
    ) -> tuple[list[Message], list[Message]]:
        """The held messages and those behind them; none are held any more if the store lost the last of them."""
        if not known or next_index(known) == end:
            return known, []
        limit = None if before is None else max(before, next_index(known))
        left = max(most - len(known), 0)
        read = partial(self._history.log.read, self._history.thread, before=limit, first=left + 1)
        new = read(after=next_index(known) - 2)
        return (known, new[1:]) if follow(known, new) else ([], [])

    # Values of the strategy, one for each key, so that changing one costs the same however many there are

    def get(self, key: str) -> Entry | None:
        """One value, or None."""
        return self._kv.get(self._space, self._prefix + key_part(key))

    def put(self, key: str, value: Mapping[str, Any], *, expect: int | None = None) -> None:
        """Store one value. Raises ``Conflict`` when it is not at the expected version."""
        self._kv.put(self._space, self._prefix + key_part(key), dict(value), expect=expect)

    def drop(self, key: str) -> bool:
        """Delete one value. Returns whether it existed."""
        return self._kv.delete(self._space, self._prefix + key_part(key))

    def entries(self) -> list[Entry]:
        """All values, with their keys relative to this state."""
        return [one for one in self._below(self._prefix) if one.key]

    def longer(self, beginning: str, by: int) -> list[Entry]:
        """The values whose keys begin so and are at most ``by`` characters longer."""
        # A key has its length in front, so each length is looked up.
        sizes = range(len(beginning) + 1, len(beginning) + by + 1)
        return [one for size in sizes for one in self._below(f"{self._prefix}{size}.{beginning}")]

    def _below(self, prefix: str) -> list[Entry]:
        where = id_begins_with(prefix)
        found = paged(lambda cursor: self._kv.scan(self._space, where=where, limit=_PAGE, cursor=cursor))
        return [msgspec.structs.replace(one, key=one.key.removeprefix(self._prefix)) for one in found]


def until_done(step: Callable[[], bool]) -> None:
    """Repeat a step until it returns False; a step that raises ``Conflict`` is repeated."""
    more = True
    while more:
        try:
            more = step()
        except Conflict:
            # Another process advanced the state, so some or all of the work is done.
            more = True


def is_preamble(message: Message) -> bool:
    """Whether it is an instruction before the first round, which is never summarised."""
    return message.role is Role.SYSTEM and not message.round


_SPOKEN = frozenset({Role.HUMAN, Role.AI})


def are_plain(messages: list[Message]) -> bool:
    """Whether these are questions and answers of text alone, all that the conversation has from the first to the last."""
    return (
        bool(messages)
        and next_index(messages) == next_index(messages[:1]) + len(messages) - 1
        and all(
            one.role in _SPOKEN
            and one.round
            and not (one.hidden or one.metadata)
            and [type(part) for part in one.parts] == [Text]
            for one in messages
        )
    )


# A store can lose the last messages of a conversation, by a failover or a restored copy, and others take their places. The
# last message that is held tells: a message of the same place in another history has another id and another time.


def are_last(held: list[Message], end: int, updated: datetime | None) -> bool:
    """Whether held messages may be those of a conversation with this next index, whose newest message has this time."""
    return next_index(held) < end or (next_index(held) == end and held[-1].time == updated)


def follow(held: list[Message], read: list[Message]) -> bool:
    """Whether messages that were read from the last held one on are of the same history."""
    return bool(read) and (read[0].index, read[0].id, read[0].time) == (held[-1].index, held[-1].id, held[-1].time)


def next_index(messages: list[Message]) -> int:
    """The index after the last message."""
    return (messages[-1].index or 0) + 1


def with_note(window: list[Message], note: Message | None) -> list[Message]:
    """A window with a note inserted after its instructions."""
    if note is None:
        return window
    front = next((place for place, one in enumerate(window) if not is_preamble(one)), len(window))
    return [*window[:front], note, *window[front:]]
