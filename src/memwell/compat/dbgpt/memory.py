"""The contract of an agent's memory: fragments are written and read, and what no longer fits is handed on.

Everything here is async; each async method has a blocking twin with ``_sync`` behind its name.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, Self, TypeVar, cast

from memwell._asyncify import blocking
from memwell.compat.dbgpt.fragments import (
    DiscardedMemoryFragments,
    InsightMemoryFragment,
    MemoryFragment,
    WriteOperation,
    check_importance,
)
from memwell.compat.dbgpt.scoring import ImportanceScorer, InsightExtractor
from memwell.compat.dbgpt.undo import all_or_nothing
from memwell.errors import InvalidInput
from memwell.values import shown

T = TypeVar("T", bound=MemoryFragment)
R = TypeVar("R")

_UNSCORED = 5
"""What a fragment scores when there is no scorer: the middle of 0 to 10."""


class Memory(ABC, Generic[T]):
    """What every memory of an agent can do.

    When a scorer, an extractor or a model raises, or the call is cancelled, the error reaches the caller and the memory is
    as it was before the call.
    """

    name: str | None = None
    llm_client: Any = None
    importance_scorer: ImportanceScorer[T] | None = None
    insight_extractor: InsightExtractor[T] | None = None
    _real_memory_fragment_class: type[T] | None = None
    importance_weight: float = 0.15
    _session_id: str | None = None

    @property
    def session_id(self) -> str | None:
        """Whose turn it is: what is kept for good is labelled with it, and only what has it is read; None for all."""
        return self._session_id

    @session_id.setter
    def session_id(self, session_id: str | None) -> None:
        self._session_id = session_id

    def initialize(
        self,
        name: str | None = None,
        llm_client: Any = None,
        importance_scorer: ImportanceScorer[T] | None = None,
        insight_extractor: InsightExtractor[T] | None = None,
        real_memory_fragment_class: type[T] | None = None,
        session_id: str | None = None,
    ) -> None:
        """Say whose memory this is and whom it asks. What is not given is set to None."""
        self.name = name
        self.llm_client = llm_client
        self.importance_scorer = importance_scorer
        self.insight_extractor = insight_extractor
        self._real_memory_fragment_class = real_memory_fragment_class
        self.session_id = session_id

    @abstractmethod
    def structure_clone(self, now: datetime | None = None) -> Self:
        """A memory of the same kind and settings that holds nothing of its own yet."""

    def _copy_from(self, memory: Memory[T]) -> None:
        """Take the settings of another memory."""
        self.name = memory.name
        self.llm_client = memory.llm_client
        self.importance_scorer = memory.importance_scorer
        self.insight_extractor = memory.insight_extractor
        self._real_memory_fragment_class = memory._real_memory_fragment_class
        self.session_id = memory.session_id

    @abstractmethod
    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[T] | None:
        """Take a fragment in and return what had to go for it, or None."""

    async def write_batch(
        self, memory_fragments: Sequence[T], now: datetime | None = None
    ) -> DiscardedMemoryFragments[T] | None:
        """Take fragments in, all or none, and return all that had to go for them, or None."""
        dropped: list[T] = []
        insights: list[InsightMemoryFragment[T]] = []
        with all_or_nothing():
            for one in memory_fragments:
                discarded = await self.write(one, now)
                if discarded is not None:
                    dropped += discarded.discarded_memory_fragments
                    insights += discarded.discarded_insights
        return discarded_or_none(dropped, insights)

    @abstractmethod
    async def read(
        self, observation: str, alpha: float | None = None, beta: float | None = None, gamma: float | None = None
    ) -> list[T]:
        """Fragments for an observation.

        With any of the coefficients given they come best first, by ``alpha`` × recency + ``beta`` × relevance + ``gamma``
        × importance; those not given are 1.
        """

    async def reflect(self, memory_fragments: list[T]) -> list[T]:
        """What becomes of fragments when they are thought over. Here: nothing; for subclasses."""
        return memory_fragments

    async def handle_duplicated(self, memory_fragments: list[T], new_memory_fragments: list[T]) -> list[T]:
        """The fragments with the new ones added. One with the id of another takes its place."""
        together = {one.id: one for one in memory_fragments}
        together.update((one.id, one) for one in new_memory_fragments)
        return list(together.values())

    async def handle_overflow(self, memory_fragments: list[T]) -> tuple[list[T], list[T]]:
        """The fragments to keep, and those to let go."""
        return memory_fragments, []

    @abstractmethod
    async def clear(self) -> list[T]:
        """Empty the memory and return what was in it."""

    async def get_insights(self, memory_fragments: Sequence[T]) -> list[InsightMemoryFragment[T]]:
        """What can be concluded from each fragment, in their order; all are asked for at once.

        Without an extractor there is nothing. One from which nothing follows has an ``InsightMemoryFragment`` without
        insights. Raises ``InvalidInput`` when the extractor gives something else.
        """
        extractor = self.insight_extractor
        if extractor is None:
            return []
        found = await _asked(extractor.extract_insights, memory_fragments, self.llm_client)
        return [_insight(one, answer) for one, answer in zip(memory_fragments, found, strict=True)]

    async def score_memory_importance(self, memory_fragments: Sequence[T]) -> list[float]:
        """What each fragment is worth, times ``importance_weight``; all are asked for at once.

        Without a scorer each scores 5. Raises ``InvalidInput`` for a score that is no finite number.
        """
        scorer = self.importance_scorer
        if scorer is None:
            return [_UNSCORED * self.importance_weight for _ in memory_fragments]
        scores = await _asked(scorer.score_importance, memory_fragments, self.llm_client)
        return [check_importance(score, "a score") * self.importance_weight for score in scores]

    @property
    def real_memory_fragment_class(self) -> type[T]:
        """The class of the fragments to make; raises ``InvalidInput`` when ``initialize`` was not told."""
        if self._real_memory_fragment_class is None:
            raise InvalidInput("The real memory fragment class is not set.")
        return self._real_memory_fragment_class

    write_sync = blocking(write)
    write_batch_sync = blocking(write_batch)
    read_sync = blocking(read)
    reflect_sync = blocking(reflect)
    clear_sync = blocking(clear)
    get_insights_sync = blocking(get_insights)
    score_memory_importance_sync = blocking(score_memory_importance)


def discarded_or_none(
    fragments: list[T], insights: list[InsightMemoryFragment[T]]
) -> DiscardedMemoryFragments[T] | None:
    """What is handed on, or None when it is nothing. Insights without a fragment count."""
    return DiscardedMemoryFragments(fragments, insights) if fragments or insights else None


def check_fragment(fragment: object) -> None:
    """Raises ``InvalidInput`` for what is no fragment."""
    if not isinstance(fragment, MemoryFragment):
        raise InvalidInput(f"a memory takes a MemoryFragment, not {shown(fragment)}")


def _insight(fragment: T, answer: object) -> InsightMemoryFragment[T]:
    if answer is None:
        return InsightMemoryFragment(fragment, [])
    if not isinstance(answer, InsightMemoryFragment):
        raise InvalidInput(f"an extractor must give an InsightMemoryFragment, not {shown(answer)}")
    return cast("InsightMemoryFragment[T]", answer)


async def _asked(call: Callable[[T, Any], Any], fragments: Sequence[T], llm_client: Any) -> list[Any]:
    if len(fragments) == 1:
        return [await _answer(call, fragments[0], llm_client)]
    tasks = [asyncio.ensure_future(_answer(call, one, llm_client)) for one in fragments]
    try:
        return await asyncio.gather(*tasks)
    finally:
        # When one failed, nobody waits for the others any more.
        for task in tasks:
            task.cancel()


async def _answer(call: Callable[[T, Any], Any], fragment: T, llm_client: Any) -> Any:
    # A scorer written as a plain function is as good.
    answer = call(fragment, llm_client)
    return await answer if inspect.isawaitable(answer) else answer


__all__ = ["Memory", "check_fragment", "discarded_or_none"]
