"""The contract of an agent's memory: fragments, insights from them, what a memory discards, scorers and extractors.

Memories are async; each async method has a blocking twin with the suffix ``_sync``.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, Self, TypeAlias, TypeVar, cast

from memwell._asyncify import blocking
from memwell.errors import InvalidInput
from memwell.longterm.traits import importance_of
from memwell.models.ports import Embedder, as_embedder
from memwell.values import check_count, check_text, check_type, is_finite, new_version, shown

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

    write_sync = blocking(write)
    write_batch_sync = blocking(write_batch)
    read_sync = blocking(read)
    reflect_sync = blocking(reflect)
    clear_sync = blocking(clear)
    get_insights_sync = blocking(get_insights)
    score_memory_importance_sync = blocking(score_memory_importance)


class BatchMemory(Memory[T]):
    """A memory whose ``write`` is a ``write_batch`` of one fragment."""

    async def write(self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = ADD) -> Discarded[T]:
        """Store a fragment as ``write_batch`` does. A recalled fragment (``RETRIEVAL``) is not stored again."""
        return None if op == WriteOperation.RETRIEVAL else await self.write_batch([memory_fragment], now)


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
