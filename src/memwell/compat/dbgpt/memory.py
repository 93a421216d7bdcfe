"""An agent's memory: fragments, insights from them, scorers, extractors, and the memories that live in this process."""

from __future__ import annotations

import asyncio
import copy
import inspect
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from contextvars import ContextVar
from datetime import datetime
from enum import StrEnum
from functools import partial
from operator import mul
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar, cast

from memwell._asyncify import run_blocking
from memwell.errors import InvalidInput
from memwell.longterm.traits import importance_of
from memwell.models.ports import Embedder, as_embedder
from memwell.values import check_count, check_shape, check_text, check_type, is_finite, new_version, shown

T = TypeVar("T", bound="MemoryFragment")

_SETTINGS = (
    "name",
    "llm_client",
    "importance_scorer",
    "insight_extractor",
    "_real_memory_fragment_class",
    "session_id",
)
_UNSCORED = 5
"""The score of a fragment when there is no scorer: the middle of 0 to 10."""
_HIGHEST = 10.0


# Fragments


class WriteOperation(StrEnum):
    """Why a fragment is written: it is new, or it was recalled."""

    ADD = "add"
    RETRIEVAL = "retrieval"


ADD = WriteOperation.ADD
Weight: TypeAlias = float | None
"""A coefficient of a read; None for its default."""


def check_importance(value: object, what: str = "importance") -> float:
    """Return ``value`` when it is a finite number; raises ``InvalidInput`` otherwise."""
    if not is_finite(value):
        raise InvalidInput(f"{what} must be a finite number, not {shown(value)}")
    return value


def as_aware(moment: datetime) -> datetime:
    """The moment with a zone: its own, or the local one."""
    return moment.astimezone() if moment.utcoffset() is None else moment


class MemoryFragment:
    """The unit of memory: an observation as text, its importance, its vector, and when it was last used.

    A subclass may compute the properties in its own way. Raises ``InvalidInput`` for an observation that is no text, an
    importance that is no finite number, and an id that is no whole number.
    """

    derived_from: tuple[int, ...] = ()
    """The ids of the fragments that an insight was drawn from. In a store it is erased together with any of them."""
    session_id: str | None = None
    """The session it was written in; a ``HybridMemory`` sets it."""

    def __init__(
        self,
        observation: str,
        embeddings: list[float] | None = None,
        memory_id: int | None = None,
        importance: float | None = None,
        last_accessed_time: datetime | None = None,
        is_insight: bool = False,
        snapshot_path: str | None = None,
    ) -> None:
        self.observation = check_text(observation, "an observation")
        self.memory_id = check_count(memory_id, "memory_id") if memory_id else new_version()
        self.snapshot_path = snapshot_path
        self._is_insight = bool(is_insight)
        self._embeddings = None if embeddings is None else list(embeddings)
        self._importance = None if importance is None else check_importance(importance)
        self._last_accessed_time = last_accessed_time

    @classmethod
    def build_from(
        cls,
        observation: Any,
        embeddings: list[float] | None = None,
        memory_id: int | None = None,
        importance: float | None = None,
        is_insight: bool = False,
        last_accessed_time: datetime | None = None,
        snapshot_path: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """A fragment of these values; without an id it has a new one. Other keyword arguments are ignored."""
        # A subclass with a constructor of its own need not know the path of a snapshot.
        extra = {} if snapshot_path is None else {"snapshot_path": snapshot_path}
        return cls(
            observation=observation,
            embeddings=embeddings,
            memory_id=memory_id,
            importance=importance,
            last_accessed_time=last_accessed_time,
            is_insight=is_insight,
            **extra,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(id={self.id}, observation={shown(self.raw_observation)})"

    @property
    def id(self) -> int:
        """The id; a copy has the same."""
        return self.memory_id

    @property
    def metadata(self) -> dict[str, Any]:
        return {}

    @property
    def raw_observation(self) -> str:
        """The observation as text."""
        return self.observation

    @property
    def is_insight(self) -> bool:
        """Whether it was drawn from other fragments."""
        return self._is_insight

    @property
    def importance(self) -> float | None:
        """How important it is; None if unknown."""
        return self._importance

    def update_importance(self, importance: float | None) -> float | None:
        """Set the importance and return the old one."""
        before = self._importance
        self._importance = None if importance is None else check_importance(importance)
        return before

    @property
    def embeddings(self) -> list[float] | None:
        """The vector, if it has one."""
        return self._embeddings

    def update_embeddings(self, embeddings: list[float] | None) -> None:
        """Set the vector."""
        self._embeddings = None if embeddings is None else list(embeddings)

    def calculate_current_embeddings(self, embedding_func: Callable[[list[str]], Sequence[Any]]) -> list[float]:
        """The vector that a function of texts gives for this observation; it is not set."""
        return list(embedding_func([self.raw_observation])[0])

    @property
    def last_accessed_time(self) -> datetime | None:
        """When it was last used."""
        return self._last_accessed_time

    def update_accessed_time(self, now: datetime) -> datetime | None:
        """Set when it was last used and return the old time."""
        before = self._last_accessed_time
        self._last_accessed_time = now
        return before

    def copy(self) -> Self:
        """Another object with the same values and the same id."""
        twin = copy.copy(self)
        twin._embeddings = None if self._embeddings is None else list(self._embeddings)
        return twin

    def reduce(self, memory_fragments: Sequence[MemoryFragment], **kwargs: Any) -> Self:
        """One new fragment with the observations of all, joined by ``;``. ``kwargs`` are passed to ``build_from``.

        Raises ``InvalidInput`` when there are none.
        """
        if not memory_fragments:
            raise InvalidInput("Memory fragments is empty.")
        return self.current_class.build_from(";".join(one.raw_observation for one in memory_fragments), **kwargs)

    @property
    def current_class(self) -> type[Self]:
        return type(self)


class AgentMemoryFragment(MemoryFragment):
    """A fragment of plain text."""


class InsightMemoryFragment(Generic[T]):
    """``insights`` drawn from ``original_memory_fragment``, one or several; there may be none.

    Insights given as text become fragments of the same class. Raises ``InvalidInput`` for text without a fragment.
    """

    def __init__(self, original_memory_fragment: T | list[T], insights: Sequence[T | str]) -> None:
        self.original_memory_fragment = original_memory_fragment
        self.insights: list[T] = []
        sources = original_memory_fragment if isinstance(original_memory_fragment, list) else [original_memory_fragment]
        for given in insights:
            if isinstance(given, str) and not sources:
                raise InvalidInput(f"an insight must come from a fragment: {shown(given)}")
            one = sources[0].current_class.build_from(given, is_insight=True) if isinstance(given, str) else given
            ids = (*one.derived_from, *(source.id for source in sources))
            one.derived_from = tuple(dict.fromkeys(id_ for id_ in ids if id_ != one.id))
            self.insights.append(one)


class DiscardedMemoryFragments(Generic[T]):
    """Fragments that a memory discarded, oldest first, and the insights from them, for the next memory to store."""

    def __init__(
        self, discarded_memory_fragments: list[T], discarded_insights: list[InsightMemoryFragment[T]] | None = None
    ) -> None:
        self.discarded_memory_fragments = discarded_memory_fragments
        self.discarded_insights: list[InsightMemoryFragment[T]] = discarded_insights or []


Discarded: TypeAlias = DiscardedMemoryFragments[T] | None
"""What a write discards; None for nothing."""


# Memories


class InsightExtractor(ABC, Generic[T]):
    """Draws insights from a fragment."""

    @abstractmethod
    async def extract_insights(self, memory_fragment: T, llm_client: Any = None) -> InsightMemoryFragment[T]:
        """The insights, possibly none. Errors are passed to the writer of the fragment."""


class ImportanceScorer(ABC, Generic[T]):
    """Scores how important a fragment is."""

    @abstractmethod
    async def score_importance(self, memory_fragment: T, llm_client: Any = None) -> float:
        """From 0 to 10. Errors are passed to the writer of the fragment."""


class Memory(ABC, Generic[T]):
    """The base of all memories of an agent."""

    name: str | None = None
    llm_client: Any = None
    importance_scorer: ImportanceScorer[T] | None = None
    insight_extractor: InsightExtractor[T] | None = None
    _real_memory_fragment_class: type[T] | None = None
    importance_weight: float = 0.15
    _session_id: str | None = None
    _parts: tuple[Memory[T], ...] = ()
    """The memories that this one consists of: they have the same settings and session."""
    _default_importance_scorer: ImportanceScorer[T] | None = None
    _default_insight_extractor: InsightExtractor[T] | None = None

    @property
    def session_id(self) -> str | None:
        """The current session: stored fragments are labelled with it, and only those of it are read; None for all."""
        return self._parts[-1].session_id if self._parts else self._session_id

    @session_id.setter
    def session_id(self, session_id: str | None) -> None:
        self._session_id = session_id
        for part in self._parts:
            part.session_id = session_id

    def initialize(
        self,
        name: str | None = None,
        llm_client: Any = None,
        importance_scorer: ImportanceScorer[T] | None = None,
        insight_extractor: InsightExtractor[T] | None = None,
        real_memory_fragment_class: type[T] | None = None,
        session_id: str | None = None,
    ) -> None:
        """Name the memory's agent and the model, scorer and extractor it asks. What is not given gets its default."""
        self.name = name
        self.llm_client = llm_client
        self.importance_scorer = importance_scorer or self._default_importance_scorer
        self.insight_extractor = insight_extractor or self._default_insight_extractor
        self._real_memory_fragment_class = real_memory_fragment_class
        self.session_id = session_id
        settings = (self.importance_scorer, self.insight_extractor, self._real_memory_fragment_class, session_id)
        for part in self._parts:
            part.initialize(name, llm_client, *settings)

    @abstractmethod
    def structure_clone(self, now: datetime | None = None) -> Self:
        """A memory of the same kind and settings that holds nothing of its own yet."""

    def _copy_from(self, memory: Memory[T]) -> None:
        """Take the settings of another memory."""
        for name in _SETTINGS:
            setattr(self, name, getattr(memory, name))

    @abstractmethod
    async def write(self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD) -> Discarded[T]:
        """Store a fragment and return what was discarded for it, or None."""

    async def write_batch(self, memory_fragments: Sequence[T], now: datetime | None = None) -> Discarded[T]:
        """Store fragments and return all that was discarded for them, or None."""
        dropped: list[T] = []
        insights: list[InsightMemoryFragment[T]] = []
        for one in memory_fragments:
            discarded = await self.write(one, now)
            if discarded is not None:
                dropped += discarded.discarded_memory_fragments
                insights += discarded.discarded_insights
        return DiscardedMemoryFragments(dropped, insights) if dropped or insights else None

    @abstractmethod
    async def read(self, observation: str, alpha: Weight = None, beta: Weight = None, gamma: Weight = None) -> list[T]:
        """Fragments for an observation. The coefficients weigh recency, similarity and importance in long-term memory."""

    async def reflect(self, memory_fragments: list[T]) -> list[T]:
        """Draw insights from fragments. For subclasses; here it returns the fragments."""
        return memory_fragments

    async def handle_duplicated(self, memory_fragments: list[T], new_memory_fragments: list[T]) -> list[T]:
        """The fragments and the new ones. A new fragment replaces an old one of its id."""
        return list({one.id: one for one in (*memory_fragments, *new_memory_fragments)}.values())

    async def handle_overflow(self, memory_fragments: list[T]) -> tuple[list[T], list[T]]:
        """The fragments to keep, and those to discard."""
        return memory_fragments, []

    @abstractmethod
    async def clear(self) -> list[T]:
        """Empty the memory and return what was in it."""

    async def get_insights(self, memory_fragments: Sequence[T]) -> list[InsightMemoryFragment[T]]:
        """The insights from each fragment, in their order; the extractor is called for all at once.

        Without an extractor the list is empty. A fragment without insights has an ``InsightMemoryFragment`` that holds
        none. Raises ``InvalidInput`` when the extractor returns something else.
        """
        if self.insight_extractor is None:
            return []
        found = await _called(self.insight_extractor.extract_insights, memory_fragments, self.llm_client)
        return [_insight(one, answer) for one, answer in zip(memory_fragments, found, strict=True)]

    async def score_memory_importance(self, memory_fragments: Sequence[T]) -> list[float]:
        """The score of each fragment, times ``importance_weight``; the scorer is called for all at once.

        Without a scorer each scores 5. Raises ``InvalidInput`` for a score that is no finite number.
        """
        if self.importance_scorer is None:
            return [_UNSCORED * self.importance_weight for _ in memory_fragments]
        scores = await _called(self.importance_scorer.score_importance, memory_fragments, self.llm_client)
        return [check_importance(score, "a score") * self.importance_weight for score in scores]

    async def _importances(self, memory_fragments: Sequence[T]) -> list[float]:
        """The importance of each fragment: its own, else what the scorer says."""
        unscored = [one for one in memory_fragments if one.importance is None]
        scores = iter(await self.score_memory_importance(unscored) if unscored else ())
        return [next(scores) if one.importance is None else one.importance for one in memory_fragments]

    @property
    def real_memory_fragment_class(self) -> type[T]:
        """The class of the fragments to make; raises ``InvalidInput`` when ``initialize`` named none."""
        if self._real_memory_fragment_class is None:
            raise InvalidInput("The real memory fragment class is not set.")
        return self._real_memory_fragment_class


class BatchMemory(Memory[T]):
    """A memory whose ``write`` is a ``write_batch`` of one fragment."""

    async def write(self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD) -> Discarded[T]:
        """Store a fragment as ``write_batch`` does. A recalled fragment (``RETRIEVAL``) is not stored again."""
        return None if op == WriteOperation.RETRIEVAL else await self.write_batch([memory_fragment], now)


def _check_fragment(value: object) -> None:
    check_shape(value, ("id", "raw_observation", "importance"), "a memory holds memory fragments")


def _insight(fragment: T, answer: object) -> InsightMemoryFragment[T]:
    if answer is None:
        return InsightMemoryFragment(fragment, [])
    rule = "an extractor must give an InsightMemoryFragment"
    return cast("InsightMemoryFragment[T]", check_type(answer, InsightMemoryFragment, rule))


async def _called(call: Callable[[T, Any], Any], fragments: Sequence[T], llm_client: Any) -> list[Any]:
    tasks = [asyncio.ensure_future(_answer(call, one, llm_client)) for one in fragments]
    try:
        return await asyncio.gather(*tasks)
    finally:
        # When one failed, the others are not needed.
        for task in tasks:
            task.cancel()


async def _answer(call: Callable[[T, Any], Any], fragment: T, llm_client: Any) -> Any:
    # A scorer may be a plain function.
    answer = call(fragment, llm_client)
    return await answer if inspect.isawaitable(answer) else answer


# Models


def as_core_embedder(embeddings: Any) -> Embedder:
    """An embedder of an ``Embedder``, a function of texts, or an object with ``embed_documents``, as DB-GPT's are.

    Raises ``InvalidInput`` for anything else.
    """
    documents = getattr(embeddings, "embed_documents", None)
    if isinstance(embeddings, Embedder) or not callable(documents):
        return as_embedder(embeddings)
    model = getattr(embeddings, "model_name", None) or getattr(embeddings, "model", "")
    # Stored vectors are labelled with the name: two models of one class must not share it.
    return as_embedder(documents, name=f"{type(embeddings).__qualname__} {model}".strip())


class ContentImportanceScorer(ImportanceScorer[T]):
    """Scores by rule, the same for the same text: names, numbers, dates and decisions weigh more than small talk."""

    async def score_importance(self, memory_fragment: T, llm_client: Any = None) -> float:
        return _HIGHEST * importance_of(memory_fragment.raw_observation)


# Memories in this process

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
        _check_fragment(memory_fragment)
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
    """The last ``buffer_size`` fragments. A fragment whose id is held replaces the old one; a duplicate is dropped.

    What no longer fits is returned, oldest first, with the insights of the extractor. Raises ``InvalidInput`` for a size
    below 0.
    """

    def __init__(self, buffer_size: int = 5) -> None:
        super().__init__(buffer_size)

    async def write(self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD) -> Discarded[T]:
        """Store a fragment and return what was discarded for it, or None. A recalled fragment is not stored."""
        _check_fragment(memory_fragment)
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

    async def handle_duplicated(self, memory_fragments: list[T], new_memory_fragments: list[T]) -> list[T]:
        """The fragments and the new ones, without those that say what a fragment of their session says already.

        The one that stays has the higher importance of the two.
        """
        held = {(one.session_id, one.raw_observation): one for one in reversed(memory_fragments)}
        fresh: list[T] = []
        for one in new_memory_fragments:
            known = held.setdefault((one.session_id, one.raw_observation), one)
            if known.id == one.id:
                fresh.append(one)
            elif (one.importance or 0.0) > (known.importance or 0.0):
                known.update_importance(one.importance)
        return await super().handle_duplicated(memory_fragments, fresh)

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
    def enhance_cnt(self) -> list[int]:
        """How often each fragment held was strengthened, oldest first."""
        return [self._strength(one) for one in self._fragments]

    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD
    ) -> DiscardedMemoryFragments[T]:
        """Store a fragment and return what was discarded, with insights; it may be nothing.

        A recalled fragment (``RETRIEVAL``) strengthens similar ones, and is not stored. The fragment gets its
        vector. Raises whatever the embeddings raise.
        """
        _check_fragment(memory_fragment)
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
