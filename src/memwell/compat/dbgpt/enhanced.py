"""A short-term memory in which what comes up again and again grows strong, and goes on to the long-term memory as one."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from datetime import datetime
from functools import partial
from typing import Any, Generic, NamedTuple, Self, TypeVar

from memwell._asyncify import blocking
from memwell.compat.dbgpt.fragments import (
    DiscardedMemoryFragments,
    MemoryFragment,
    WriteOperation,
    check_importance,
)
from memwell.compat.dbgpt.memory import check_fragment
from memwell.compat.dbgpt.ranking import cosine
from memwell.compat.dbgpt.short_term import ShortTermMemory
from memwell.compat.dbgpt.undo import undone_by
from memwell.compat.dbgpt.vectors import TextVectors
from memwell.values import check_count

T = TypeVar("T", bound=MemoryFragment)


class Trace(NamedTuple, Generic[T]):
    """What a memory knows of a fragment it holds: its vector, and what came that was like it."""

    vector: list[float]
    strength: int = 0
    enhancers: tuple[T, ...] = ()


class EnhancedShortTermMemory(ShortTermMemory[T]):
    """Every write is compared with what is held; what is alike strengthens it.

    Alike is a ``sigmoid(cosine)`` of at least ``enhance_similarity_threshold``; with a ``seed``, it must also win a chance
    of that size, drawn from a generator of its own. A fragment strengthened ``enhance_threshold`` times leaves, merged with
    what strengthened it. When there are too many, the least important goes, of those the least strengthened, of those the
    oldest; never the newest. All that leaves is handed on. Raises ``InvalidInput`` for settings that are no such numbers.
    """

    def __init__(
        self,
        embeddings: Any,
        executor: Executor | None = None,
        buffer_size: int = 10,
        enhance_similarity_threshold: float = 0.7,
        enhance_threshold: int = 3,
        *,
        seed: int | None = None,
    ) -> None:
        super().__init__(buffer_size)
        self._embeddings = embeddings
        self._executor = executor
        self._vectors = TextVectors(embeddings, executor)
        self.enhance_similarity_threshold = check_importance(
            enhance_similarity_threshold, "enhance_similarity_threshold"
        )
        self.enhance_threshold = check_count(enhance_threshold, "enhance_threshold", least=1)
        self._seed = seed
        self._chance = None if seed is None else random.Random(seed)
        self._kept_traces: dict[int, Trace[T]] = {}
        self._working_traces: dict[int, Trace[T]] | None = None

    def structure_clone(self, now: datetime | None = None) -> Self:
        """An empty one of the same settings, which begins with the same seed."""
        clone = type(self)(
            embeddings=self._embeddings,
            executor=self._executor,
            buffer_size=self._buffer_size,
            enhance_similarity_threshold=self.enhance_similarity_threshold,
            enhance_threshold=self.enhance_threshold,
            seed=self._seed,
        )
        clone._copy_from(self)
        return clone

    @property
    def short_embeddings(self) -> list[list[float]]:
        """The vectors of the fragments held, oldest first."""
        return [trace.vector for trace in self._traces_held()]

    @property
    def enhance_cnt(self) -> list[int]:
        """How often each fragment held was strengthened, oldest first."""
        return [trace.strength for trace in self._traces_held()]

    @property
    def enhance_memories(self) -> list[list[T]]:
        """What strengthened each fragment held, oldest first."""
        return [list(trace.enhancers) for trace in self._traces_held()]

    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[T]:
        """Take a fragment in and return what left, with insights; it may be nothing.

        What was only recalled (``RETRIEVAL``) strengthens what is like it, and is not taken in. The fragment gets its
        vector. Raises ``InvalidInput`` for what is no fragment, and whatever the embeddings raise.
        """
        check_fragment(memory_fragment)
        vector = await self._vectors.of_fragment(memory_fragment)
        async with self._rewriting(now):
            self._strengthen(memory_fragment, vector)
            merged = await self.transfer_to_long_term(memory_fragment)
            dropped: list[T] = []
            if op != WriteOperation.RETRIEVAL:
                dropped = await self._take_in(memory_fragment, vector)
            insights = await self.get_insights(dropped) if dropped else []
            undone_by(partial(memory_fragment.update_embeddings, memory_fragment.embeddings))
            memory_fragment.update_embeddings(vector)
        if merged is None:
            return DiscardedMemoryFragments(dropped, insights)
        return DiscardedMemoryFragments(
            [*merged.discarded_memory_fragments, *dropped], [*merged.discarded_insights, *insights]
        )

    async def transfer_to_long_term(self, memory_fragment: T) -> DiscardedMemoryFragments[T] | None:
        """Take out what is strong enough, each merged with what strengthened it, and return it with its insights."""
        strong: list[T] = []
        merged: list[T] = []
        for one in self._fragments:
            trace = self._trace(one)
            if trace.strength >= self.enhance_threshold:
                strong.append(one)
                together = {other.id: other for other in (one, *trace.enhancers)}
                merged.append(one.reduce(list(together.values()), importance=one.importance))
        insights = await self.get_insights(merged) if merged else []
        leaving = {one.id for one in strong}
        self._fragments = [one for one in self._fragments if one.id not in leaving]
        return DiscardedMemoryFragments(merged, insights)

    async def handle_overflow(self, memory_fragments: list[T]) -> tuple[list[T], list[T]]:
        """Those to keep, and those that go: the least important, but never the last of the list."""
        over = max(len(memory_fragments) - self._buffer_size, 0)
        if not over:
            return memory_fragments, []
        by_worth = sorted(memory_fragments[:-1], key=self._worth)
        going = {one.id for one in [*by_worth, *memory_fragments[-1:]][:over]}
        dropped = [one for one in memory_fragments if one.id in going]
        return [one for one in memory_fragments if one.id not in going], dropped

    write_sync = blocking(write)

    def _worth(self, fragment: T) -> tuple[float, int]:
        return fragment.importance or 0.0, self._trace(fragment).strength

    def _strengthen(self, fragment: T, vector: list[float]) -> None:
        """Note for everything held whether the fragment is like it."""
        if self._chance is not None:
            undone_by(partial(self._chance.setstate, self._chance.getstate()))
        traces = {one.id: self._trace(one) for one in self._fragments}
        for key, trace in traces.items():
            if key != fragment.id and self._is_alike(trace.vector, vector):
                traces[key] = Trace(trace.vector, trace.strength + 1, (*trace.enhancers, fragment))
        self._working_traces = traces

    def _is_alike(self, one: Sequence[float], other: Sequence[float]) -> bool:
        chance = 1.0 / (1.0 + math.exp(-cosine(one, other) if len(one) == len(other) else 0.0))
        alike = chance >= self.enhance_similarity_threshold
        return alike and (self._chance is None or self._chance.random() < chance)

    async def _take_in(self, fragment: T, vector: list[float]) -> list[T]:
        """Add the fragment and return what had to go for it."""
        traces = self._traces
        traces[fragment.id] = self._trace(fragment)._replace(vector=vector)
        together = await self.handle_duplicated(self._fragments, [fragment])
        self._fragments, dropped = await self.handle_overflow(together)
        self._working_traces = _without({one.id for one in dropped}, traces)
        return dropped

    @property
    def _traces(self) -> dict[int, Trace[T]]:
        return self._kept_traces if self._working_traces is None else self._working_traces

    def _trace(self, fragment: T) -> Trace[T]:
        # One that was put back by an undone write is known by its own vector alone.
        return self._traces.get(fragment.id) or Trace(fragment.embeddings or [])

    def _traces_held(self) -> list[Trace[T]]:
        return [self._kept_traces.get(one.id) or Trace(one.embeddings or []) for one in self._held_fragments()]

    async def _vector_of(self, text: str) -> list[float] | None:
        return await self._vectors.of_query(text)

    def _commit(self, before: Sequence[T], after: Sequence[T], now: datetime | None = None) -> None:
        super()._commit(before, after, now)
        known, working = self._kept_traces, self._traces
        held = {one.id for one in self._held_fragments()}
        self._kept_traces = {key: trace for key, trace in working.items() if key in held}
        undone_by(partial(self._restore_traces, known))

    def _let_go(self) -> None:
        self._working_traces = None

    def _restore_traces(self, known: Mapping[int, Trace[T]]) -> None:
        self._kept_traces = {**self._kept_traces, **known}


def _without(dropped: set[int], traces: Mapping[int, Trace[T]]) -> dict[int, Trace[T]]:
    """The traces of the others; what the dropped ones had strengthened is weaker again."""
    if not dropped:
        return dict(traces)
    return {key: _weaker(dropped, trace) for key, trace in traces.items() if key not in dropped}


def _weaker(dropped: Iterable[int], trace: Trace[T]) -> Trace[T]:
    left = tuple(one for one in trace.enhancers if one.id not in dropped)
    return Trace(trace.vector, trace.strength - len(trace.enhancers) + len(left), left)


__all__ = ["EnhancedShortTermMemory", "Trace"]
