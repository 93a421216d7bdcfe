"""What an agent has in mind: the latest fragments. The oldest make room and are handed on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import chain, islice
from typing import Self, TypeVar

from memwell._asyncify import blocking
from memwell.compat.dbgpt.buffers import BufferedMemory, Change, Held
from memwell.compat.dbgpt.fragments import (
    DiscardedMemoryFragments,
    MemoryFragment,
    WriteOperation,
)
from memwell.compat.dbgpt.memory import check_fragment, discarded_or_none
from memwell.compat.dbgpt.undo import undone_by
from memwell.values import now as present_moment

T = TypeVar("T", bound=MemoryFragment)

_HOOKS = ("handle_duplicated", "handle_overflow", "transfer_to_long_term")


class ShortTermMemory(BufferedMemory[T]):
    """The last ``buffer_size`` fragments. A fragment whose id is held already takes the place of the old one.

    A write takes the same time at any size. What no longer fits is returned, oldest first, with what the extractor
    concludes from it. Raises ``InvalidInput`` for a size below 0.
    """

    def __init__(self, buffer_size: int = 5) -> None:
        super().__init__(buffer_size)
        self._hooked = self._overrides(*_HOOKS)
        self._plain = not self._overrides("write", *_HOOKS)
        self._concludes = self._overrides("get_insights")

    def _overrides(self, *names: str) -> bool:
        return any(getattr(type(self), name) is not getattr(ShortTermMemory, name) for name in names)

    def structure_clone(self, now: datetime | None = None) -> Self:
        """An empty one of the same size and settings."""
        clone = type(self)(buffer_size=self._buffer_size)
        clone._copy_from(self)
        return clone

    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[T] | None:
        """Take a fragment in and return what had to go for it, or None. What was only recalled is not taken in.

        Raises ``InvalidInput`` for what is no fragment.
        """
        check_fragment(memory_fragment)
        if op == WriteOperation.RETRIEVAL:
            return None
        if self._hooked:
            return await self._write_by_hooks(memory_fragment, now)
        return await self._write_all([memory_fragment], now)

    async def write_batch(
        self, memory_fragments: Sequence[T], now: datetime | None = None
    ) -> DiscardedMemoryFragments[T] | None:
        """Take fragments in, all or none and with nobody in between, and return all that had to go for them, or None.

        It is as if they were written one by one, only that all insights are asked for at once where that comes to the same.
        """
        given = list(memory_fragments)
        for one in given:
            check_fragment(one)
        if self._plain and self._are_new(given):
            return await self._write_all(given, now)
        return await super().write_batch(given, now)

    async def transfer_to_long_term(self, memory_fragment: T) -> DiscardedMemoryFragments[T] | None:
        """Take the oldest fragments out as far as there are too many, and return them with their insights, or None.

        A hook: a subclass that replaces it finds the fragments, the new one among them, in ``self._fragments``.
        """
        together = self._fragments
        over = max(len(together) - self._buffer_size, 0)
        if not over:
            return None
        oldest = together[:over]
        insights = await self.get_insights(oldest)
        self._fragments = together[over:]
        return DiscardedMemoryFragments(oldest, insights)

    @property
    def short_term_memories(self) -> list[T]:
        """The fragments held, oldest first, in a list of the caller's own."""
        return self._held_fragments()

    def put_back(self, memory_fragment: T, discarded: DiscardedMemoryFragments[T] | None) -> None:
        """Undo a write of a new fragment: take it out again, and put what it drove out back to the front.

        It neither waits nor raises, so that it may be called while another error is on its way.
        """
        written = present_moment()
        driven_out = [] if discarded is None else discarded.discarded_memory_fragments
        left = [Held(one, written) for one in driven_out if one.id != memory_fragment.id]
        self._revert(Change(left=left, came=[memory_fragment], replaced=[]))

    write_sync = blocking(write)
    write_batch_sync = blocking(write_batch)
    transfer_to_long_term_sync = blocking(transfer_to_long_term)

    def _are_new(self, given: Sequence[T]) -> bool:
        ids = {one.id for one in given}
        with self._lock:
            return len(ids) == len(given) and ids.isdisjoint(self._buffer)

    async def _write_all(self, given: Sequence[T], now: datetime | None) -> DiscardedMemoryFragments[T] | None:
        fresh = {one.id: one for one in given}
        if self._turns.free:
            gone = self._written_at_once(fresh, now)
            if gone is not None:
                return discarded_or_none(gone, [])
        async with self._turns.taken():
            while True:
                leaving = self._leaving(fresh)
                insights = await self.get_insights(leaving) if leaving else []
                if self._write_if_leaving(fresh, leaving, now):
                    return discarded_or_none(leaving, insights)

    def _written_at_once(self, fresh: dict[int, T], now: datetime | None) -> list[T] | None:
        """What had to leave; None when nothing was done, because something must be concluded from it first."""
        written = self._time_of_writing(now)
        with self._lock:
            leaving = self._oldest(fresh)
            if leaving and (self.insight_extractor is not None or self._concludes):
                return None
            change = self._change(fresh, leaving, written)
        undone_by(partial(self._revert, change))
        return leaving

    def _leaving(self, fresh: dict[int, T]) -> list[T]:
        """The oldest of what is held and comes, as many as will be too many."""
        with self._lock:
            return self._oldest(fresh)

    def _oldest(self, fresh: dict[int, T]) -> list[T]:
        held = self._buffer
        coming = [one for key, one in fresh.items() if key not in held]
        over = max(len(held) + len(coming) - self._buffer_size, 0)
        oldest = (fresh.get(key, one.fragment) for key, one in held.items())
        return list(islice(chain(oldest, coming), over))

    def _write_if_leaving(self, fresh: dict[int, T], leaving: list[T], now: datetime | None) -> bool:
        """Make the change, unless somebody put something back meanwhile and others would have to leave."""
        written = self._time_of_writing(now)
        with self._lock:
            oldest = self._oldest(fresh)
            if len(oldest) != len(leaving) or any(one is not other for one, other in zip(oldest, leaving, strict=True)):
                return False
            change = self._change(fresh, leaving, written)
        undone_by(partial(self._revert, change))
        return True

    def _change(self, fresh: dict[int, T], leaving: list[T], written: datetime) -> Change[T]:
        held = self._buffer
        came = [one for key, one in fresh.items() if key not in held]
        replaced = {key: held[key] for key in fresh if key in held}
        for key, one in fresh.items():
            held[key] = Held(one, written)
        gone = [(one.id, held.pop(one.id)) for one in leaving]
        passed = {one.id for one in came}
        left = [replaced.pop(key, out) for key, out in gone if key not in passed]
        return Change(left=left, came=came, replaced=list(replaced.values()))

    async def _write_by_hooks(self, fragment: T, now: datetime | None) -> DiscardedMemoryFragments[T] | None:
        async with self._rewriting(now):
            self._fragments = await self.handle_duplicated(self._fragments, [fragment])
            transferred = await self.transfer_to_long_term(fragment)
            self._fragments, dropped = await self.handle_overflow(self._fragments)
        if transferred is None:
            return discarded_or_none(dropped, [])
        # Both hooks may let go; a fragment is handed on once.
        handed = {one.id: one for one in (*transferred.discarded_memory_fragments, *dropped)}
        return discarded_or_none(list(handed.values()), transferred.discarded_insights)


__all__ = ["ShortTermMemory"]
