"""What an agent keeps for good: found by meaning, time and importance, and really gone when it is cleared or forgotten."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from datetime import datetime
from functools import partial
from typing import Any, Self, TypeVar

from memwell._asyncify import Closing, blocking, run_blocking
from memwell.compat.dbgpt.cancelling import Storing, finished
from memwell.compat.dbgpt.fragments import (
    DiscardedMemoryFragments,
    MemoryFragment,
    WriteOperation,
    check_importance,
)
from memwell.compat.dbgpt.memory import check_fragment
from memwell.compat.dbgpt.ranking import DECAY_RATE, Coefficients, coefficients
from memwell.compat.dbgpt.retriever import Chunk, LongTermRetriever, Scored
from memwell.compat.dbgpt.stored_fragments import Owner, VectorStore, as_fragment, as_share, fragment_id, stored
from memwell.compat.dbgpt.times import check_moment
from memwell.compat.dbgpt.upkeep import ForgetReport, Upkeep
from memwell.errors import InvalidInput
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.records import DEFAULT_SPACE, SpaceLike

T = TypeVar("T", bound=MemoryFragment)

_log = logging.getLogger("memwell.compat.dbgpt")
_NO_IMPORTANCE = (
    "importance is required. Give the fragment one, or the memory a _default_importance or an importance_scorer."
)


class LongTermMemory(Closing, Upkeep[T]):
    """Fragments in a store of memwell, read by ``alpha`` × recency + ``beta`` × similarity + ``gamma`` × importance.

    ``vector_store`` is an engine or memory of memwell, a backend, a path or URL, or None for one of this process alone;
    ``embedder`` is for a store that is opened here. ``metadata`` labels what is written and filters what is read, and so
    does the session, once ``initialize`` has named one. ``now`` is a clock that stands still; without it the real one is
    asked. ``executor`` is taken for its name's sake: the store has threads of its own. Raises ``InvalidInput`` for values
    that break a rule, and what opening a store raises.
    """

    importance_weight: float = 0.15

    def __init__(
        self,
        executor: Executor | None = None,
        vector_store: VectorStore = None,
        now: datetime | None = None,
        reflection_threshold: float | None = None,
        _default_importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        k: int = 4,
        decay_rate: float = DECAY_RATE,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        embedder: Any = "local",
        space: SpaceLike = DEFAULT_SPACE,
    ) -> None:
        super().__init__(metadata)
        self._default_importance = _default_importance
        if _default_importance is not None:
            as_share(_default_importance, "_default_importance")
        self.reflection_threshold = reflection_threshold
        if reflection_threshold is not None:
            check_importance(reflection_threshold, "reflection_threshold")
        self.executor = executor
        self.reflecting = False
        self.aggregate_importance = 0.0
        self._summing = threading.Lock()
        self._owns_store = not isinstance(vector_store, Memory)
        settings: dict[str, Any] = {"decay_rate": decay_rate, "alpha": alpha, "beta": beta, "gamma": gamma}
        self.memory_retriever = LongTermRetriever(
            now, vector_store, max(k, 100), k=k, embedder=embedder, space=space, **settings
        )

    def close(self) -> None:
        """Let go of a store that was opened here; one that was given stays open."""
        close = getattr(self.memory, "close", None)
        if self._owns_store and close is not None:
            close()

    def structure_clone(self, now: datetime | None = None) -> Self:
        """Another memory over the same store, with the same labels and settings: it reads what this one wrote."""
        mine = self.memory_retriever
        clone = type(self)(
            self.executor,
            mine.memory,
            now or mine.now,
            self.reflection_threshold,
            self._default_importance,
            self._labels,
            k=mine.k,
            decay_rate=mine.decay_rate,
            alpha=mine.weights.alpha,
            beta=mine.weights.beta,
            gamma=mine.weights.gamma,
        )
        clone._copy_from(self)
        return clone

    # Writing

    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[T] | None:
        """Store a fragment, or change the one of its id. What was only recalled (``RETRIEVAL``) is stored already.

        Raises ``InvalidInput`` for what is no fragment, for an importance that is missing or not from 0 to 10, and for what
        the gate of the store refuses.
        """
        check_fragment(memory_fragment)
        if op != WriteOperation.RETRIEVAL:
            await self.write_batch([memory_fragment], now)
        return None

    async def write_batch(
        self, memory_fragments: Sequence[T], now: datetime | None = None
    ) -> DiscardedMemoryFragments[T] | None:
        """Store fragments in one transaction, all or none, as ``write`` does."""
        given = list(memory_fragments)
        for one in given:
            check_fragment(one)
        importances = await self._importances(given)
        present = self.now if now is None else check_moment(now, "now")
        owners = {name: Owner(self._labels, name) for name in {one.session_id or self.session_id for one in given}}
        items = [
            stored(one, worth, present, owners[one.session_id or self.session_id])
            for one, worth in zip(given, importances, strict=True)
        ]
        if items:
            await self._store(Storing(self.memory, items), given, sum(importances))
        return None

    async def _store(self, storing: Storing, fragments: list[T], importance: float) -> None:
        await storing.run()
        try:
            await self._reflect_when_due(fragments, importance)
        except BaseException:
            # Cancelled while what it wrote was thought over: the write is as little done as if it had been before.
            await storing.take_back()
            raise

    async def _importances(self, fragments: Sequence[T]) -> list[float]:
        """What each is worth: its own importance, the default, or what the scorer says."""
        missing = [one for one in fragments if one.importance is None]
        scores: dict[int, float] = {}
        if missing and self._default_importance is None:
            if self.importance_scorer is None:
                raise InvalidInput(_NO_IMPORTANCE)
            found = await self.score_memory_importance(missing)
            scores = {id(one): score for one, score in zip(missing, found, strict=True)}
        default = self._default_importance or 0.0
        return [scores.get(id(one), default) if one.importance is None else one.importance for one in fragments]

    async def _reflect_when_due(self, fragments: list[T], importance: float) -> None:
        with self._summing:
            self.aggregate_importance += importance
            due = self.reflection_threshold is not None and self.aggregate_importance >= self.reflection_threshold
            if not due or self.reflecting:
                return
            self.reflecting, summed, self.aggregate_importance = True, self.aggregate_importance, 0.0
        try:
            await self.reflect(fragments)
        except asyncio.CancelledError:
            with self._summing:
                self.aggregate_importance += summed - importance
            raise
        except Exception as error:  # noqa: BLE001 - what was written is stored, whatever becomes of thinking it over
            _log.warning("reflecting failed and is tried again: %s: %s", type(error).__name__, error)
            with self._summing:
                self.aggregate_importance += summed
        finally:
            self.reflecting = False

    async def reflect(self, memory_fragments: list[T]) -> list[T]:
        """Draw insights from all that is stored, store them, and return them after the fragments that were given.

        An insight is worth as much as the weightiest fragment that it rests on.
        """
        insights = await finished(run_blocking(self._insights))
        return [*memory_fragments, *(as_fragment(one, self._fragment_class) for one in insights)]

    def _insights(self) -> list[Recalled]:
        owner, memory = self._owner, self.memory
        made = memory.reflect(where=owner.filter, metadata=owner.metadata)
        worth = {one.id: one.importance for one in memory.memories(where=owner.filter)} if made else {}
        return [self._weighed(one, worth) for one in made]

    def _weighed(self, insight: Recalled, worth: Mapping[str, float]) -> Recalled:
        highest = max((worth.get(evidence.record, 0.0) for evidence in insight.evidence), default=0.0)
        if insight.importance == highest:
            return insight
        return self.memory.update(insight.id, importance=highest, reason="reflected")

    # Reading

    async def read(
        self, observation: str, alpha: float | None = None, beta: float | None = None, gamma: float | None = None
    ) -> list[T]:
        """The ``k`` best fragments for an observation, best first; they count as used now.

        With any of the coefficients given, those not given are 1. Raises ``InvalidInput`` for what is no finite number.
        """
        found = await self.scored(observation, coefficients(alpha, beta, gamma))
        return [fragment for fragment, _ in found]

    async def fetch_memories(self, observation: str, now: datetime | None = None) -> list[T]:
        """The same with the weights of this memory, at a moment."""
        return [fragment for fragment, _ in await self.scored(observation, None, now)]

    async def scored(
        self, observation: str, weights: Coefficients | None = None, now: datetime | None = None
    ) -> list[tuple[T, float]]:
        """The best fragments with their scores, each id once."""
        where = self._owner.filter
        found = await run_blocking(partial(self.memory_retriever.scored, observation, where, weights, now))
        return self._as_fragments(found)

    async def scores_of(self, observation: str, fragments: Sequence[T], weights: Coefficients) -> list[float]:
        """What fragments that are not stored here would be worth for an observation, by the same sum."""
        return await run_blocking(partial(self.memory_retriever.scores_of, observation, fragments, weights))

    def _as_fragments(self, found: Sequence[Scored]) -> list[tuple[T, float]]:
        kind, once = self._fragment_class, dict[int, tuple[T, float]]()
        for one in found:
            once.setdefault(fragment_id(one.memory.id), (as_fragment(one.memory, kind), one.score))
        return list(once.values())

    write_sync = blocking(write)
    write_batch_sync = blocking(write_batch)
    read_sync = blocking(read)
    reflect_sync = blocking(reflect)
    fetch_memories_sync = blocking(fetch_memories)


__all__ = ["Chunk", "ForgetReport", "LongTermMemory", "LongTermRetriever"]
