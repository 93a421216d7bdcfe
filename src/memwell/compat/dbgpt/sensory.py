"""What an agent perceives, for a moment: what matters goes on to the short-term memory, the rest is gone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Self, TypeVar

from memwell._asyncify import blocking
from memwell.compat.dbgpt.buffers import BufferedMemory
from memwell.compat.dbgpt.fragments import DiscardedMemoryFragments, MemoryFragment, WriteOperation
from memwell.compat.dbgpt.memory import check_fragment, discarded_or_none
from memwell.compat.dbgpt.undo import all_or_nothing, undone_by

T = TypeVar("T", bound=MemoryFragment)

_OVERRIDABLE = ("write", "handle_duplicated", "handle_overflow")


class SensoryMemory(BufferedMemory[T]):
    """A buffer that is emptied whole when it overflows: every fragment in it is scored.

    Those of at least ``threshold_to_short_term`` get their score as importance and are handed on; the others are dropped.
    A fragment that has an importance is not scored: that is its score, and it keeps it. Raises ``InvalidInput``
    for a size below 0.
    """

    importance_weight: float = 0.9
    threshold_to_short_term: float = 0.1

    def __init__(self, buffer_size: int = 0) -> None:
        super().__init__(buffer_size)
        own = (getattr(type(self), name) is not getattr(SensoryMemory, name) for name in _OVERRIDABLE)
        self._plain = not any(own)

    def structure_clone(self, now: datetime | None = None) -> Self:
        """An empty one of the same size and settings."""
        clone = type(self)(buffer_size=self._buffer_size)
        clone._copy_from(self)
        clone.importance_weight = self.importance_weight
        clone.threshold_to_short_term = self.threshold_to_short_term
        return clone

    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[T] | None:
        """Take a fragment in and return those that mattered when the buffer ran over, or None.

        What was only recalled (``RETRIEVAL``) is not perceived anew. Raises ``InvalidInput`` for what is no fragment.
        """
        check_fragment(memory_fragment)
        if op == WriteOperation.RETRIEVAL:
            return None
        if self._buffer_size == 0 and not self._buffer:
            return await self._pass_through([memory_fragment], now)
        async with self._rewriting(now):
            together = await self.handle_duplicated(self._fragments, [memory_fragment])
            dropped: list[T] = []
            if len(together) > self._buffer_size:
                together, dropped = await self.handle_overflow(together)
            self._fragments = together
        return discarded_or_none(dropped, [])

    async def write_batch(
        self, memory_fragments: Sequence[T], now: datetime | None = None
    ) -> DiscardedMemoryFragments[T] | None:
        """Take fragments in, all or none, and return those that mattered, or None.

        It is as if they were written one by one, only that all are scored at once where that comes to the same.
        """
        given = list(memory_fragments)
        for one in given:
            check_fragment(one)
        apart = len({one.id for one in given}) == len(given)
        if apart and self._plain and self._buffer_size == 0 and not self._buffer:
            return await self._pass_through(given, now)
        return await super().write_batch(given, now)

    async def _pass_through(self, fragments: list[T], now: datetime | None) -> DiscardedMemoryFragments[T] | None:
        # Nothing is held, so no writer need wait for another one's scorer.
        with all_or_nothing():
            kept, dropped = await self.handle_overflow(await self.handle_duplicated([], fragments))
            if kept:
                self._commit([], kept, now)
        return discarded_or_none(dropped, [])

    write_sync = blocking(write)
    write_batch_sync = blocking(write_batch)

    async def handle_overflow(self, memory_fragments: list[T]) -> tuple[list[T], list[T]]:
        """Nothing to keep, and those that matter enough, with their score as importance."""
        unweighed = [one for one in memory_fragments if one.importance is None]
        scores = await self.score_memory_importance(unweighed) if unweighed else []
        worth = {id(one): score for one, score in zip(unweighed, scores, strict=True)}
        mattering: list[T] = []
        for one in memory_fragments:
            score = worth.get(id(one), one.importance)
            if score is not None and score >= self.threshold_to_short_term:
                if one.importance is None:
                    undone_by(partial(_set_importance, one, one.update_importance(score)))
                mattering.append(one)
        return [], mattering


def _set_importance(fragment: MemoryFragment, importance: float | None) -> None:
    fragment.update_importance(importance)


__all__ = ["SensoryMemory"]
