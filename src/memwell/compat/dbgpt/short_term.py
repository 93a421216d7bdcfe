"""Memories in this process: a sensory buffer, a short-term memory, and one that merges fragments which keep coming up."""

from __future__ import annotations

import asyncio
import copy
import math
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import partial
from operator import mul
from typing import Any, ClassVar, Self, TypeVar

from memwell._asyncify import run_blocking
from memwell.compat.dbgpt.memory import (
    ADD,
    Discarded,
    DiscardedMemoryFragments,
    Memory,
    MemoryFragment,
    Weight,
    WriteOperation,
    as_core_embedder,
    check_importance,
)
from memwell.values import check_count

T = TypeVar("T", bound=MemoryFragment)

_PAUSE_S = 0.001
_writes: ContextVar[tuple[object, ...]] = ContextVar("memwell_dbgpt_writes", default=())
"""The writes that the current task is a part of."""


class BufferedMemory(Memory[T]):
    """Fragments in the order they were written, each id once. Raises ``InvalidInput`` for a size below 0."""

    _state: ClassVar[tuple[str, ...]] = ("_fragments",)
    """The attributes that a write replaces, and that a failed write restores."""

    def __init__(self, buffer_size: int) -> None:
        self._buffer_size = check_count(buffer_size, "buffer_size")
        self._fragments: list[T] = []
        self._lock = threading.Lock()
        self._holder: object | None = None

    def __len__(self) -> int:
        return len(self._fragments)

    def __bool__(self) -> bool:
        # An empty memory is a memory: `memory or default` must not throw it away.
        return True

    def structure_clone(self, now: datetime | None = None) -> Self:
        """An empty memory of the same settings."""
        clone = copy.copy(self)
        clone._lock, clone._holder = threading.Lock(), None
        for name in self._state:
            setattr(clone, name, type(getattr(self, name))())
        return clone

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        """Lock the memory for one writer, over tasks, threads and event loops. A body that raises changes nothing.

        The lock is re-entrant: what a writer calls, also in tasks of its own, belongs to the same write.
        """
        outer = _writes.get()
        # A task that was started inside a write may outlive it; then the holder is another.
        if self._holder is not None and self._holder in outer:
            yield
            return
        # An asyncio.Lock belongs to one loop, and the blocking twins run in another.
        while not self._lock.acquire(blocking=False):  # noqa: ASYNC110 - an asyncio.Event belongs to one loop too
            await asyncio.sleep(_PAUSE_S)
        self._holder = object()
        token = _writes.set((*outer, self._holder))
        before = {name: getattr(self, name) for name in self._state}
        try:
            yield
        except BaseException:
            vars(self).update(before)
            raise
        finally:
            self._holder = None
            self._lock.release()
            _writes.reset(token)

    async def write_batch(self, memory_fragments: Sequence[T], now: datetime | None = None) -> Discarded[T]:
        """Store fragments, all or none, and return all that was discarded for them, or None."""
        async with self.writing():
            return await super().write_batch(memory_fragments, now)

    async def read(self, observation: str, alpha: Weight = None, beta: Weight = None, gamma: Weight = None) -> list[T]:
        """All fragments, oldest first, whatever the observation."""
        return list(self._fragments)

    async def clear(self) -> list[T]:
        """Empty the memory and return what was in it, oldest first."""
        return await self.take_out(lambda _: True)

    async def take_out(self, wanted: Callable[[T], bool]) -> list[T]:
        """Remove the wanted fragments and return them, oldest first."""
        async with self.writing():
            taken = [one for one in self._fragments if wanted(one)]
            ids = {one.id for one in taken}
            self._fragments = [one for one in self._fragments if one.id not in ids]
        return taken


class SensoryMemory(BufferedMemory[T]):
    """The sensory buffer. When it overflows it is emptied, and every fragment in it is scored.

    Those of at least ``threshold_to_short_term`` get their score as importance and are handed on; the others are dropped.
    A fragment that has an importance is not scored: its importance counts as its score. Raises ``InvalidInput`` for a size
    below 0.
    """

    importance_weight: float = 0.9
    threshold_to_short_term: float = 0.1

    def __init__(self, buffer_size: int = 0) -> None:
        super().__init__(buffer_size)

    async def write(self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD) -> Discarded[T]:
        """Store a fragment and return those that matter enough when the buffer overflows, or None.

        A recalled fragment (``RETRIEVAL``) is not stored again.
        """
        if op == WriteOperation.RETRIEVAL:
            return None
        async with self.writing():
            together, dropped = await self.handle_duplicated(self._fragments, [memory_fragment]), list[T]()
            if len(together) > self._buffer_size:
                together, dropped = await self.handle_overflow(together)
            self._fragments = together
        return DiscardedMemoryFragments(dropped) if dropped else None

    async def handle_overflow(self, memory_fragments: list[T]) -> tuple[list[T], list[T]]:
        """Nothing to keep, and those that matter enough, with their score as importance."""
        scores = await self._importances(memory_fragments)
        kept = [pair for pair in zip(memory_fragments, scores, strict=True) if pair[1] >= self.threshold_to_short_term]
        for one, score in kept:
            one.update_importance(score)
        return [], [one for one, _ in kept]


class ShortTermMemory(BufferedMemory[T]):
    """The last ``buffer_size`` fragments. A fragment whose id is held replaces the old one.

    What no longer fits is returned, oldest first, with the insights of the extractor. Raises ``InvalidInput`` for a size
    below 0.
    """

    def __init__(self, buffer_size: int = 5) -> None:
        super().__init__(buffer_size)

    async def write(self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD) -> Discarded[T]:
        """Store a fragment and return what was discarded for it, or None. A recalled fragment is not stored."""
        if op == WriteOperation.RETRIEVAL:
            return None
        async with self.writing():
            self._fragments = await self.handle_duplicated(self._fragments, [memory_fragment])
            transferred = await self.transfer_to_long_term(memory_fragment)
            self._fragments, dropped = await self.handle_overflow(self._fragments)
        moved = transferred or DiscardedMemoryFragments[T]([])
        # Both may discard a fragment; it is handed on once.
        handed = list({one.id: one for one in (*moved.discarded_memory_fragments, *dropped)}.values())
        return DiscardedMemoryFragments(handed, moved.discarded_insights) if handed else None

    async def transfer_to_long_term(self, memory_fragment: T) -> DiscardedMemoryFragments[T] | None:
        """Remove the oldest fragments while there are too many, and return them with their insights, or None.

        A subclass that replaces it finds the fragments, the new one among them, in ``self._fragments``.
        """
        over = len(self._fragments) - self._buffer_size
        if over <= 0:
            return None
        oldest = self._fragments[:over]
        insights = await self.get_insights(oldest)
        self._fragments = self._fragments[over:]
        return DiscardedMemoryFragments(oldest, insights)

    @property
    def short_term_memories(self) -> list[T]:
        """The fragments held, oldest first, in a list of the caller's own."""
        return list(self._fragments)


class EnhancedShortTermMemory(ShortTermMemory[T]):
    """A short-term memory that compares every write with what it holds; a similar fragment strengthens the held one.

    Similar means a ``sigmoid(cosine)`` of at least ``enhance_similarity_threshold``. A fragment strengthened
    ``enhance_threshold`` times leaves, merged with what strengthened it. When there are too many, the least important goes,
    of those the least strengthened, of those the oldest; never the newest. All that leaves is handed on. ``embeddings`` is
    an ``Embedder``, a function of texts, or an object with ``embed_documents``; ``executor`` is not used. Raises
    ``InvalidInput`` for bad settings.
    """

    _state: ClassVar[tuple[str, ...]] = ("_fragments", "_enhancers")

    def __init__(
        self,
        embeddings: Any,
        executor: Executor | None = None,
        buffer_size: int = 10,
        enhance_similarity_threshold: float = 0.7,
        enhance_threshold: int = 3,
    ) -> None:
        super().__init__(buffer_size)
        self._embedder = as_core_embedder(embeddings)
        self.enhance_similarity_threshold = check_importance(
            enhance_similarity_threshold, "enhance_similarity_threshold"
        )
        self.enhance_threshold = check_count(enhance_threshold, "enhance_threshold", least=1)
        self._enhancers: dict[int, tuple[T, ...]] = {}

    @property
    def short_embeddings(self) -> list[list[float]]:
        """The vectors of the fragments held, oldest first."""
        return [one.embeddings or [] for one in self._fragments]

    @property
    def enhance_cnt(self) -> list[int]:
        """How often each fragment held was strengthened, oldest first."""
        return [len(enhancers) for enhancers in self.enhance_memories]

    @property
    def enhance_memories(self) -> list[list[T]]:
        """The fragments that strengthened each held one, oldest first."""
        return [list(self._enhancers.get(one.id, ())) for one in self._fragments]

    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD
    ) -> DiscardedMemoryFragments[T]:
        """Store a fragment and return what was discarded, with insights; it may be nothing.

        A recalled fragment (``RETRIEVAL``) strengthens similar ones, and is not stored. The fragment gets its
        vector. Raises whatever the embeddings raise.
        """
        vector = await self._vector_of(memory_fragment)
        async with self.writing():
            self._strengthen(memory_fragment, vector)
            merged = await self.transfer_to_long_term(memory_fragment)
            dropped: list[T] = []
            if op != WriteOperation.RETRIEVAL:
                together = await self.handle_duplicated(self._fragments, [memory_fragment])
                self._fragments, dropped = await self.handle_overflow(together)
                self._forget(dropped)
            insights = await self.get_insights(dropped) if dropped else []
            memory_fragment.update_embeddings(vector)
        moved = merged or DiscardedMemoryFragments[T]([])
        return DiscardedMemoryFragments(
            [*moved.discarded_memory_fragments, *dropped], [*moved.discarded_insights, *insights]
        )

    async def transfer_to_long_term(self, memory_fragment: T) -> DiscardedMemoryFragments[T] | None:
        """Remove what is strong enough, each merged with what strengthened it, and return it with its insights."""
        strong = [one for one in self._fragments if self._strength(one) >= self.enhance_threshold]
        merged: list[T] = []
        for one in strong:
            together = {other.id: other for other in (one, *self._enhancers[one.id])}
            merged.append(one.reduce(list(together.values()), importance=one.importance))
        insights = await self.get_insights(merged) if merged else []
        leaving = {one.id for one in strong}
        self._fragments = [one for one in self._fragments if one.id not in leaving]
        return DiscardedMemoryFragments(merged, insights)

    async def handle_overflow(self, memory_fragments: list[T]) -> tuple[list[T], list[T]]:
        """The fragments to keep, and those to discard: the least important, but never the last of the list."""
        over = max(len(memory_fragments) - self._buffer_size, 0)
        by_worth = sorted(memory_fragments[:-1], key=lambda one: (one.importance or 0.0, self._strength(one)))
        going = {one.id for one in [*by_worth, *memory_fragments[-1:]][:over]}
        dropped = [one for one in memory_fragments if one.id in going]
        return [one for one in memory_fragments if one.id not in going], dropped

    async def take_out(self, wanted: Callable[[T], bool]) -> list[T]:
        """Remove the wanted fragments with their enhancers, and return them, oldest first."""
        async with self.writing():
            taken = await super().take_out(wanted)
            self._forget(taken)
        return taken

    def _strength(self, fragment: T) -> int:
        return len(self._enhancers.get(fragment.id, ()))

    def _strengthen(self, fragment: T, vector: list[float]) -> None:
        """Add the fragment to the enhancers of every similar one."""
        enhancers: dict[int, tuple[T, ...]] = {}
        for one in self._fragments:
            similarity = 1.0 / (1.0 + math.exp(-_cosine(one.embeddings or [], vector)))
            is_similar = one.id != fragment.id and similarity >= self.enhance_similarity_threshold
            enhancers[one.id] = (*self._enhancers.get(one.id, ()), *([fragment] if is_similar else []))
        self._enhancers = enhancers

    def _forget(self, dropped: Sequence[T]) -> None:
        """Remove fragments from all enhancers."""
        gone = {one.id for one in dropped}
        self._enhancers = {
            key: tuple(one for one in enhancers if one.id not in gone)
            for key, enhancers in self._enhancers.items()
            if key not in gone
        }

    async def _vector_of(self, fragment: T) -> list[float]:
        """The vector of a fragment, as it calculates it. Raises ``ModelError`` or ``BadModelOutput``."""
        embed = partial(fragment.calculate_current_embeddings, lambda texts: self._embedder.embed(texts).tolist())
        return await run_blocking(embed)


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    # Vectors of different sizes are of different models.
    return sum(map(mul, one, other)) / lengths if lengths and len(one) == len(other) else 0.0
