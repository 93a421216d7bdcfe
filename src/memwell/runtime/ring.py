"""A ring buffer of values in a store: the shared storage of caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple, TypeAlias

import msgspec

from memwell.errors import Conflict
from memwell.records import Space
from memwell.storage.protocols import Entry, KeyValue
from memwell.values import check_count

Transaction: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Opens a transaction, such as a backend's own; ``nullcontext`` for none."""


class Ring:
    """Values by digest, at most ``slots`` of them: each new one replaces the one written longest ago.

    A value ``v…`` is only written after the slot ``s…`` that names it, and only dropped with its slot, so the bound
    holds even when a process is killed at any moment. Slots are assigned by a counter with compare-and-set; two
    processes that add the same value take two slots.
    """

    def __init__(self, kv: KeyValue, space: Space, kind: str, slots: int, transaction: Transaction) -> None:
        self._kv = kv
        self._space = space
        self._kind = kind
        self._slots = check_count(slots, "most_entries", least=1)
        self._transaction = transaction

    def read(self, digest: str) -> Any:
        """The value of a digest, or None."""
        entry = self._kv.get(self._space, self._value(digest))
        return None if entry is None else entry.value

    def write(self, values: Mapping[str, Any], *, ttl: float | None = None, may_exist: bool = False) -> None:
        """Store values, for ``ttl`` seconds when given, in one transaction if there are transactions.

        With ``may_exist`` a value whose digest is stored already keeps its slot.
        """
        with self._transaction():
            self._shrink()
            # More values than the ring has slots would only replace each other.
            kept = list(values.items())[-self._slots :]
            new = [digest for digest, _ in kept if not may_exist or self.read(digest) is None]
            for slot, digest in zip(self._take(len(new)) if new else (), new, strict=True):
                self._vacate(slot)
                self._kv.put(self._space, self._slot(slot), digest)
            for digest, value in kept:
                self._kv.put(self._space, self._value(digest), value, ttl=ttl)

    def drop(self, digest: str) -> bool:
        """Drop a value. Returns whether there was one. Its slot is used again in its turn."""
        return self._kv.delete(self._space, self._value(digest))

    def clear(self) -> None:
        """Drop everything."""
        with self._transaction():
            used = self._state().used
            for slot in range(used):
                self._vacate(slot)
                self._kv.delete(self._space, self._slot(slot))
            self._kv.delete(self._space, f"{self._kind}.ring")

    def count(self) -> int:
        """How many values there are that have not expired."""
        bounds = {"$ge": f"{self._kind}.v", "$lt": f"{self._kind}.w"}
        return self._kv.count(self._space, where={"@id": bounds})

    def _shrink(self) -> None:
        """Drop what lies beyond the end of a ring that was made smaller."""
        state = self._state()
        if state.used > self._slots:
            for slot in range(self._slots, state.used):
                self._vacate(slot)
                self._kv.delete(self._space, self._slot(slot))
            smaller = {"next": state.next % self._slots, "used": self._slots}
            # Another process has done the same already.
            with suppress(Conflict):
                self._kv.put(self._space, f"{self._kind}.ring", smaller, expect=state.version)

    def _take(self, count: int) -> Iterator[int]:
        """The next slots of the ring, claimed for this writer."""
        while True:
            state = self._state()
            used = state.used
            # A ring that was enlarged goes on after its old end, so that the oldest are still the next to be replaced.
            place = used if state.next == 0 and used < self._slots else state.next % self._slots
            end = place + count
            after = {"next": end % self._slots, "used": min(max(used, end), self._slots)}
            try:
                self._kv.put(self._space, f"{self._kind}.ring", after, expect=state.version)
            except Conflict:
                continue
            break
        return ((place + number) % self._slots for number in range(count))

    def _state(self) -> _RingState:
        entry: Entry | None = self._kv.get(self._space, f"{self._kind}.ring")
        if entry is None:
            return _RingState(0, 0, 0)
        try:
            state = msgspec.convert(entry.value, dict[str, int])
            return _RingState(max(0, state["next"]), max(0, state["used"]), entry.version)
        except (msgspec.ValidationError, KeyError):
            # Another program wrote here. Starting over is safe: each slot names its value.
            return _RingState(0, self._slots, entry.version)

    def _vacate(self, slot: int) -> None:
        entry = self._kv.get(self._space, self._slot(slot))
        if entry is not None and isinstance(entry.value, str):
            self.drop(entry.value)

    def _value(self, digest: str) -> str:
        return f"{self._kind}.v{digest}"

    def _slot(self, slot: int) -> str:
        return f"{self._kind}.s{slot}"


class _RingState(NamedTuple):
    """Which slot is next, how many are in use, and the version of this state."""

    next: int
    used: int
    version: int
