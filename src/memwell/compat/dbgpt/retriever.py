"""Retrieval by meaning, time and importance: the sum of all three, each with a weight of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple, cast

from memwell._asyncify import asyncify
from memwell._products import product
from memwell.compat.dbgpt.fragments import MemoryFragment, check_importance
from memwell.compat.dbgpt.ranking import DECAY_RATE, Coefficients, Question, recency
from memwell.compat.dbgpt.stored_fragments import HIGHEST, Stored, VectorStore, as_share, opened, store
from memwell.compat.dbgpt.times import as_aware, check_moment
from memwell.errors import InvalidInput, ModelError
from memwell.filters import AllOf, Filter, FilterLike, Where, as_filter
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.longterm.weights import Weights
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.runtime.engine import Engine
from memwell.values import check_count, check_metadata, check_text, new_id, shown

_FEW = 16
"""So many new memories get their vectors while they are looked for; for more, they are made first."""


@dataclass
class Chunk:
    """A text with what is known of it, as it is loaded and retrieved."""

    content: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    score: float = 0.0
    chunk_id: str = field(default_factory=new_id)


class Scored(NamedTuple):
    """A memory that was found, and what it is worth as an answer."""

    memory: Recalled
    score: float


class LongTermRetriever:
    """Finds by ``beta`` × similarity + ``alpha`` × (1 − ``decay_rate``)^hours + ``gamma`` × importance, best first.

    Hours count since a memory was written or last retrieved, similarity is the cosine of the vectors, or without an
    embedder the share of the question's words. ``now`` is a clock that stands still; without it the real one is asked.
    All that is stored is scored, whatever ``top_k``; it bounds ``k``. Raises ``InvalidInput`` for values that break a rule.
    """

    def __init__(
        self,
        now: datetime | None = None,
        index_store: VectorStore = None,
        top_k: int = 100,
        decay_rate: float = DECAY_RATE,
        k: int = 4,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        embedder: Any = "local",
        space: SpaceLike = DEFAULT_SPACE,
    ) -> None:
        self.now = None if now is None else check_moment(now, "now")
        self.top_k = check_count(top_k, "top_k")
        self.k = check_count(k, "k")
        self.decay_rate = _check_decay(decay_rate)
        self.weights = checked(alpha, beta, gamma)
        self.memory: Memory = opened(index_store, embedder, space)
        self._vectors: dict[str, Any] = {}

    def moment(self) -> datetime:
        """The present, by the clock that was given or the real one."""
        return as_aware(self.now).astimezone(UTC) if self.now is not None else self.memory.clock()

    # Documents

    def load_document(self, chunks: Sequence[Chunk], current_time: datetime | None = None) -> list[str]:
        """Store chunks, all or none, and return their ids. What has a ``chunk_id`` that is stored takes its place.

        The metadata may hold ``importance`` (0 when it does not) and ``last_accessed_at``. Raises ``InvalidInput``.
        """
        present = self.moment() if current_time is None else as_aware(current_time, "current_time")
        items = [_stored_chunk(chunk, present) for chunk in chunks]
        store(self.memory, items)
        return [item.id for item in items]

    def retrieve(self, query: str, filters: Any = None) -> list[Chunk]:
        """The ``k`` best chunks for a question, with their scores; they count as accessed now.

        ``filters`` is over the metadata: a mapping, a filter of memwell, or an object with a list of ``key`` and ``value``.
        """
        return [_as_chunk(one) for one in self.scored(query, as_metadata_filter(filters))]

    def retrieve_with_scores(self, query: str, score_threshold: float = 0.0, filters: Any = None) -> list[Chunk]:
        """The same without those whose score is below a threshold."""
        return [chunk for chunk in self.retrieve(query, filters) if chunk.score >= score_threshold]

    load_documents = load_document
    aload_document = asyncify(load_document)
    aload_documents = asyncify(load_document)
    aretrieve = asyncify(retrieve)
    aretrieve_with_scores = asyncify(retrieve_with_scores)

    # What the long-term memory asks

    def scored(
        self, query: str, where: Filter | None, weights: Coefficients | None = None, now: datetime | None = None
    ) -> list[Scored]:
        """The best memories that satisfy a filter, best first, each with its score. They count as used now."""
        check_text(query, "an observation")
        memory, chosen = self.memory, weights or self.weights
        moment = self.moment() if now is None else as_aware(now, "now").astimezone(UTC)
        if memory.embedder is not None and memory.owed().vectors > _FEW:
            memory.settle()
        found = self._recalled(query, where, moment, _weights(chosen, self.decay_rate, memory.embedder is not None))
        if memory.embedder is not None and chosen.beta and not any("dense" in one.signals for one in found):
            # The embedder is out of order, or has yet to see most of what is stored: words are better than nothing.
            found = self._recalled(query, where, moment, _weights(chosen, self.decay_rate, False))
        near = memory.similarities(query, [one.id for one in found]) if chosen.beta else {}
        return sorted((_scored(one, chosen, near) for one in found), key=lambda one: -one.score)

    def scores_of(self, query: str, fragments: Sequence[MemoryFragment], weights: Coefficients) -> list[float]:
        """What fragments that are not stored here would be worth as answers, by the same sum."""
        near = self._nearness(query, [one.raw_observation for one in fragments])
        present, asked = self.moment(), Question(query)
        scores: list[float] = []
        for place, one in enumerate(fragments):
            similarity = asked.relevance(one) if near is None else near[place]
            # What was never used since it was written has just been written: it is still in mind.
            lately = recency(one.last_accessed_time or present, present, self.decay_rate)
            score = weights.beta * similarity + weights.alpha * lately + weights.gamma * (one.importance or 0.0)
            scores.append(score)
        return scores

    def _nearness(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """The cosines of texts with a query; None without an embedder, or when it fails."""
        embedder, known = self.memory.embedder, self._vectors
        if embedder is None:
            return None
        missing = [text for text in dict.fromkeys((query, *texts)) if text not in known]
        try:
            found = embedder.embed(missing) if missing else ()
        except ModelError:
            return None
        vectors = {**known, **dict(zip(missing, found, strict=True))}
        # The next read asks for nearly the same texts; older ones need not be kept.
        self._vectors = {text: vectors[text] for text in (query, *texts)}
        return [_cosine(vectors[query], vectors[text]) for text in texts]

    def _recalled(self, query: str, where: Filter | None, now: datetime, weights: Weights) -> list[Recalled]:
        limit = min(self.k, self.top_k)
        found = self.memory.recall(query, limit=limit, where=where, now=now, weights=weights)
        if found and not isinstance(self.memory, Engine):
            # An engine counts uses by itself, now and then.
            self.memory.note_uses({one.id: 1 for one in found}, now)
        return found


def _cosine(one: Any, other: Any) -> float:
    """The cosine of two arrays; 0 when one of them has no direction."""
    lengths = float(product(one, one)) ** 0.5 * float(product(other, other)) ** 0.5
    return float(product(one, other)) / lengths if lengths else 0.0


def checked(alpha: float, beta: float, gamma: float) -> Coefficients:
    """The three weights. Raises ``InvalidInput`` for what is no finite number."""
    given = {"alpha": alpha, "beta": beta, "gamma": gamma}
    return Coefficients(*(check_importance(value, name) for name, value in given.items()))


def _check_decay(rate: object) -> float:
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0.0 <= rate < 1.0:
        raise InvalidInput(f"decay_rate must be at least 0 and below 1, not {shown(rate)}")
    return rate


@lru_cache(maxsize=64)
def _weights(chosen: Coefficients, decay_rate: float, by_meaning: bool) -> Weights:
    alpha, beta, gamma = chosen
    # Importance is kept as a share of its highest value.
    if by_meaning:
        return Weights.time_weighted(similarity=beta, recency=alpha, importance=gamma * HIGHEST, decay=decay_rate)
    return Weights.linear({"coverage": beta, "access": alpha, "worth": gamma * HIGHEST}, decay=decay_rate)


def _scored(found: Recalled, chosen: Coefficients, near: Mapping[str, float]) -> Scored:
    """A memory with its score. Ranking compares vectors of a byte a number; those that were found, exactly."""
    value = {name: signal.value for name, signal in found.signals.items()}
    similarity = near.get(found.id, value.get("dense", 0.0)) if "coverage" not in value else value["coverage"]
    recency, worth = value.get("access", 0.0), value.get("worth", 0.0)
    return Scored(found, chosen.beta * similarity + chosen.alpha * recency + chosen.gamma * HIGHEST * worth)


def as_metadata_filter(filters: Any) -> Filter | None:
    """A filter of what people give. Raises ``InvalidInput`` for what is none."""
    listed = getattr(filters, "filters", None)
    if (
        filters is None
        or isinstance(filters, Mapping)
        or not isinstance(listed, Iterable)
        or isinstance(filters, AllOf)
    ):
        return as_filter(cast("FilterLike | None", filters or None))
    return AllOf(tuple(_equality(one) for one in cast("Iterable[Any]", listed)))


def _equality(one: Any) -> Filter:
    if isinstance(one, Where) or not hasattr(one, "key"):
        return cast(Filter, one)
    operator = getattr(one, "operator", "==")
    if getattr(operator, "value", operator) not in ("==", "eq"):
        raise InvalidInput(
            f"a filter of this kind asks for equality, not for {shown(operator)}; give a mapping instead"
        )
    return Where((one.key,), "eq", one.value)


def _stored_chunk(chunk: Any, present: datetime) -> Stored:
    content, metadata = getattr(chunk, "content", None), getattr(chunk, "metadata", None)
    if not isinstance(content, str) or not isinstance(metadata, Mapping):
        raise InvalidInput(f"load_document takes chunks with content and metadata, not {shown(chunk)}")
    kept = dict(cast("Mapping[str, Any]", metadata))
    importance, accessed = kept.pop("importance", 0.0), kept.pop("last_accessed_at", None)
    if isinstance(accessed, int | float):
        accessed = datetime.fromtimestamp(accessed, UTC)
    moment = as_aware(present if accessed is None else accessed, "last_accessed_at")
    id_ = str(getattr(chunk, "chunk_id", "") or new_id())
    return Stored(id_, content, as_share(importance), moment.astimezone(UTC), "fragment", check_metadata(kept))


def _as_chunk(one: Scored) -> Chunk:
    found = one.memory
    accessed = found.time if found.accessed is None else max(found.time, found.accessed)
    metadata = {**found.metadata, "importance": round(found.importance * HIGHEST, 9), "last_accessed_at": accessed}
    return Chunk(found.text, metadata, one.score, found.id)


__all__ = ["Chunk", "LongTermRetriever", "Scored", "as_metadata_filter", "checked"]
