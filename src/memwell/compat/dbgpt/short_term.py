"""Memories in this process: what is perceived, what is in mind, and a mind in which what comes up again grows strong."""

from __future__ import annotations

import asyncio
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
from memwell.compat.dbgpt.fragments import (
    DiscardedMemoryFragments,
    MemoryFragment,
    WriteOperation,
    check_embedding,
    check_fragment,
    check_importance,
    check_moment,
)
from memwell.compat.dbgpt.memory import Memory, as_core_embedder
from memwell.values import check_count

T = TypeVar("T", bound=MemoryFragment)

_PAUSE_S = 0.001
_writes: ContextVar[tuple[object, ...]] = ContextVar("memwell_dbgpt_writes", default=())
"""The writes that the current task is a part of."""


class BufferedMemory(Memory[T]):
    """Fragments in the order they were written, each id once. Raises ``InvalidInput`` for a size below 0."""

    _state: ClassVar[tuple[str, ...]] = ("_fragments",)
    """The attributes that a write replaces, and that one that fails puts back."""

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

    @asynccontextmanager
    async def writing(self) -> AsyncGenerator[None]:
        """Let one writer in at a time, over tasks, threads and event loops. A body that raises changes nothing.

        A writer may enter again: what it calls belongs to the same write.
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

    async def write_batch(
        self, memory_fragments: Sequence[T], now: datetime | None = None
    ) -> DiscardedMemoryFragments[T] | None:
        """Take fragments in, all or none, and return all that had to go for them, or None."""
        async with self.writing():
            return await super().write_batch(memory_fragments, now)

    async def read(
        self, observation: str, alpha: float | None = None, beta: float | None = None, gamma: float | None = None
    ) -> list[T]:
        """All fragments, oldest first, whatever is asked."""
        return list(self._fragments)

    async def clear(self) -> list[T]:
        """Empty the memory and return what was in it, oldest first."""
        return await self.take_out(lambda _: True)

    async def take_out(self, wanted: Callable[[T], bool]) -> list[T]:
        """Take out the fragments that are wanted, and return them, oldest first."""
        async with self.writing():
            taken = [one for one in self._fragments if wanted(one)]
            ids = {one.id for one in taken}
            self._fragments = [one for one in self._fragments if one.id not in ids]
        return taken

    def _checked(self, fragment: T, now: datetime | None) -> None:
        check_fragment(fragment)
        if now is not None:
            check_moment(now, "now")


class SensoryMemory(BufferedMemory[T]):
    """What an agent perceives: a buffer that is emptied whole when it overflows, and then every fragment in it is scored.

    Those of at least ``threshold_to_short_term`` get their score as importance and are handed on; the others are dropped.
    A fragment that has an importance is not scored: that is its score, and it keeps it. Raises ``InvalidInput``
    for a size below 0.
    """

    importance_weight: float = 0.9
    threshold_to_short_term: float = 0.1

    def __init__(self, buffer_size: int = 0) -> None:
        super().__init__(buffer_size)

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

        What was only recalled (``RETRIEVAL``) is not perceived again. Raises ``InvalidInput`` for what is no fragment.
        """
        self._checked(memory_fragment, now)
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
        unweighed = [one for one in memory_fragments if one.importance is None]
        scores = await self.score_memory_importance(unweighed) if unweighed else []
        worth = {id(one): score for one, score in zip(unweighed, scores, strict=True)}
        mattering: list[T] = []
        for one in memory_fragments:
            score = worth.get(id(one), one.importance)
            if score is not None and score >= self.threshold_to_short_term:
                one.update_importance(score)
                mattering.append(one)
        return [], mattering


class ShortTermMemory(BufferedMemory[T]):
    """What an agent has in mind: the last ``buffer_size`` fragments. One whose id is held takes the place of the old one.

    What no longer fits is returned, oldest first, with what the extractor concludes from it. Raises ``InvalidInput`` for a
    size below 0.
    """

    def __init__(self, buffer_size: int = 5) -> None:
        super().__init__(buffer_size)

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
        self._checked(memory_fragment, now)
        if op == WriteOperation.RETRIEVAL:
            return None
        async with self.writing():
            self._fragments = await self.handle_duplicated(self._fragments, [memory_fragment])
            transferred = await self.transfer_to_long_term(memory_fragment)
            self._fragments, dropped = await self.handle_overflow(self._fragments)
        moved = transferred or DiscardedMemoryFragments[T]([])
        # Both may let go of a fragment; it is handed on once.
        handed = list({one.id: one for one in (*moved.discarded_memory_fragments, *dropped)}.values())
        return DiscardedMemoryFragments(handed, moved.discarded_insights) if handed else None

    async def transfer_to_long_term(self, memory_fragment: T) -> DiscardedMemoryFragments[T] | None:
        """Take the oldest fragments out as far as there are too many, and return them with their insights, or None.

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
    """A mind in which every write is compared with what is held; what is alike strengthens it.

    Alike is a ``sigmoid(cosine)`` of at least ``enhance_similarity_threshold``. A fragment strengthened
    ``enhance_threshold`` times leaves, merged with what strengthened it. When there are too many, the least important goes,
    of those the least strengthened, of those the oldest; never the newest. All that leaves is handed on. ``embeddings`` is
    an ``Embedder``, a function of texts, or an object with ``embed_documents``. Raises ``InvalidInput`` for settings that
    are no such numbers.
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
        self._embeddings = embeddings
        self._embedder = as_core_embedder(embeddings)
        self._executor = executor
        self.enhance_similarity_threshold = check_importance(
            enhance_similarity_threshold, "enhance_similarity_threshold"
        )
        self.enhance_threshold = check_count(enhance_threshold, "enhance_threshold", least=1)
        self._enhancers: dict[int, tuple[T, ...]] = {}

    def structure_clone(self, now: datetime | None = None) -> Self:
        """An empty one of the same settings."""
        clone = type(self)(
            embeddings=self._embeddings,
            executor=self._executor,
            buffer_size=self._buffer_size,
            enhance_similarity_threshold=self.enhance_similarity_threshold,
            enhance_threshold=self.enhance_threshold,
        )
        clone._copy_from(self)
        return clone

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
        """What strengthened each fragment held, oldest first."""
        return [list(self._enhancers.get(one.id, ())) for one in self._fragments]

    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[T]:
        """Take a fragment in and return what left, with insights; it may be nothing.

        What was only recalled (``RETRIEVAL``) strengthens what is like it, and is not taken in. The fragment gets its
        vector. Raises ``InvalidInput`` for what is no fragment, and whatever the embeddings raise.
        """
        self._checked(memory_fragment, now)
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
        """Take out what is strong enough, each merged with what strengthened it, and return it with its insights."""
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
        """Those to keep, and those that go: the least important, but never the last of the list."""
        over = max(len(memory_fragments) - self._buffer_size, 0)
        by_worth = sorted(memory_fragments[:-1], key=lambda one: (one.importance or 0.0, self._strength(one)))
        going = {one.id for one in [*by_worth, *memory_fragments[-1:]][:over]}
        dropped = [one for one in memory_fragments if one.id in going]
        return [one for one in memory_fragments if one.id not in going], dropped

    async def take_out(self, wanted: Callable[[T], bool]) -> list[T]:
        """Take out the fragments that are wanted with what is known of them, and return them, oldest first."""
        async with self.writing():
            taken = await super().take_out(wanted)
            self._forget(taken)
        return taken

    def _strength(self, fragment: T) -> int:
        return len(self._enhancers.get(fragment.id, ()))

    def _strengthen(self, fragment: T, vector: list[float]) -> None:
        """Note for everything held whether the fragment is like it."""
        enhancers: dict[int, tuple[T, ...]] = {}
        for one in self._fragments:
            is_alike = one.id != fragment.id and self._is_alike(one.embeddings or [], vector)
            enhancers[one.id] = (*self._enhancers.get(one.id, ()), *([fragment] if is_alike else []))
        self._enhancers = enhancers

    def _forget(self, dropped: Sequence[T]) -> None:
        """Forget what is known of fragments; what they had strengthened is weaker again."""
        gone = {one.id for one in dropped}
        self._enhancers = {
            key: tuple(one for one in enhancers if one.id not in gone)
            for key, enhancers in self._enhancers.items()
            if key not in gone
        }

    def _is_alike(self, one: Sequence[float], other: Sequence[float]) -> bool:
        # Vectors of different sizes are of different models.
        near = _cosine(one, other) if len(one) == len(other) else 0.0
        return 1.0 / (1.0 + math.exp(-near)) >= self.enhance_similarity_threshold

    async def _vector_of(self, fragment: T) -> list[float]:
        """The vector of a fragment, as it calculates it. Raises ``ModelError`` or ``BadModelOutput``."""
        calculate = partial(fragment.calculate_current_embeddings, lambda texts: self._embedder.embed(texts).tolist())
        if self._executor is None:
            return check_embedding(await run_blocking(calculate))
        return check_embedding(await asyncio.get_running_loop().run_in_executor(self._executor, calculate))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(map(mul, one, other)) / lengths if lengths else 0.0
