"""An agent's long-term memory: fragments in a memory of memwell, found by meaning, time and importance.

A fragment is a memory whose id begins with the fragment's own. Its importance, from 0 to 10, is stored as a tenth; the
labels and the session of its writer are metadata, so that filters reach them. ``HybridMemory`` is a
sensory, a short-term and a long-term memory, written and read as one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar, cast

import msgspec

from memwell._asyncify import Closing, run_blocking
from memwell.compat.dbgpt.memory import (
    AgentMemoryFragment,
    BatchMemory,
    ContentImportanceScorer,
    Discarded,
    DiscardedMemoryFragments,
    EnhancedShortTermMemory,
    ImportanceScorer,
    InsightExtractor,
    MemoryFragment,
    SensoryMemory,
    ShortTermMemory,
    Weight,
    as_aware,
    as_core_embedder,
    check_importance,
)
from memwell.errors import Conflict, FileError, InvalidInput, NotFound
from memwell.filters import AllOf, Filter, FilterLike, Not, Where, as_filter
from memwell.longterm import gate
from memwell.longterm.consolidation import INSIGHT, Compression
from memwell.longterm.recall import Recalled
from memwell.longterm.traits import Evidence, importance_of
from memwell.longterm.weights import Weights
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.runtime import opening
from memwell.runtime.engine import Engine
from memwell.values import check_count, check_id, check_metadata, check_text, new_id, shown

T = TypeVar("T", bound=MemoryFragment)

VectorStore: TypeAlias = Engine | str | Path | None
"""Where fragments are stored: an engine, the URL or path of a store, or None for memory of this process."""

_log = logging.getLogger("memwell.compat.dbgpt")
_DECAY_RATE = 0.01
_HIGHEST = 10.0
_FRAGMENT = "fragment"
_OWN = "dbgpt"
_LABELLED = "labelled"
_DEFAULT_LABELS = {"memory_type": "long_term"}
_DIGITS = 9
_FEW = 16
"""A recall embeds up to this many new memories; more are embedded before it."""
_UNPINNED = Not(Where(("memwell", "pinned"), "eq", True))
_NO_IMPORTANCE = (
    "importance is required. Give the fragment one, or the memory a _default_importance or an importance_scorer."
)


# Fragments as memories


class OpenGate(gate.Gate):
    """Refuses nothing, because an agent wrote it on purpose. Secrets are redacted as everywhere."""

    def __init__(self) -> None:
        super().__init__(gate.Policy(most_characters=2**31))

    def _worthless(self, text: str, speaker: str, trust: str) -> gate.Reason | None:
        return None


def _opened(store: VectorStore, embedder: Any, space: SpaceLike) -> Engine:
    """An engine as it is, or one over a store. Raises ``InvalidInput`` for an engine with another embedder."""
    if isinstance(store, Engine):
        if embedder != "local":
            raise InvalidInput("an engine has its own embedder; leave the embedder out")
        return store
    chosen = embedder if embedder is None or isinstance(embedder, str) else as_core_embedder(embedder)
    where = "memory:" if store is None else store
    return opening.open(where, space=space, embedder=chosen, gate=OpenGate())


class _Owner:
    """The owner of fragments: the labels of a memory, and its session.

    Labels with a scalar value also filter what is read. Every fragment has the default label next to those that were given,
    so that a memory without labels of its own reads them all. Raises ``InvalidInput`` for labels that are no JSON object.
    """

    def __init__(self, labels: Mapping[str, Any] | None, session_id: str | None = None) -> None:
        self.labels = check_metadata(labels or _DEFAULT_LABELS)
        if _OWN in self.labels:
            raise InvalidInput(f"the key {_OWN!r} of metadata is kept for fragments; choose another")
        session = {} if not session_id else {"session_id": check_id(session_id, "a session_id")}
        self._set: dict[str, Any] = {**self.labels, **session}
        self._is_labelled = self.labels != _DEFAULT_LABELS

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of every fragment that is written."""
        return {**_DEFAULT_LABELS, **self._set, **({_OWN: {_LABELLED: True}} if self._is_labelled else {})}

    @property
    def filter(self) -> Filter:
        """Selects the fragments with these labels, and of this session when there is one."""
        scalars = {key: value for key, value in self._set.items() if isinstance(value, str | int | float)}
        return AllOf(tuple(Where((key,), "eq", value) for key, value in scalars.items()))

    @property
    def unshared(self) -> Filter:
        """The same without fragments of labelled memories, when this one has no labels: it reads them, but never merges."""
        return self.filter if self._is_labelled else AllOf((self.filter, Not(Where((_OWN, _LABELLED), "eq", True))))

    def record_id(self, fragment_id: int) -> str:
        """The id of the memory that holds a fragment of this owner. Another's of the same id is another memory."""
        if self._set == _DEFAULT_LABELS:
            return str(fragment_id)
        whose = blake2b(msgspec.json.encode(self._set, order="sorted"), digest_size=8).hexdigest()
        return f"{fragment_id}@{whose}"


def _fields(fragment: MemoryFragment, importance: float, now: datetime, owner: _Owner) -> dict[str, Any]:
    """The id, the text and the other fields of the memory that holds a fragment."""
    moment = fragment.last_accessed_time or now
    own: dict[str, Any] = {"naive": True} if moment.utcoffset() is None else {}
    path = getattr(fragment, "snapshot_path", None)
    if isinstance(path, str):
        own["snapshot_path"] = path
    whose = owner.metadata
    return {
        "id": owner.record_id(fragment.id),
        "text": fragment.raw_observation,
        "importance": _as_share(importance),
        "time": as_aware(moment).astimezone(UTC),
        "kind": INSIGHT if fragment.is_insight else _FRAGMENT,
        "metadata": {**whose, _OWN: {**whose.get(_OWN, {}), **own}} if own else whose,
        "evidence": tuple(Evidence(record=owner.record_id(source)) for source in fragment.derived_from),
        # Neither a note of an agent nor its conclusions are evidence of what is true of a person.
        "trust": "derived" if fragment.derived_from else "tool",
    }


def _as_share(importance: float, what: str = "importance") -> float:
    """An importance from 0 to 10 as a share of 1. Raises ``InvalidInput`` for anything else."""
    if not 0 <= check_importance(importance, what) <= _HIGHEST:
        raise InvalidInput(f"{what} must be from 0 to 10, not {shown(importance)}")
    return importance / _HIGHEST


def _last_used(found: Recalled) -> datetime:
    return found.time if found.accessed is None else max(found.time, found.accessed)


def _as_fragment(found: Recalled, kind: type[T]) -> T:
    """The fragment that a memory holds, with the time of its previous use."""
    own = cast("dict[str, Any]", found.metadata.get(_OWN, {}))
    moment, path = _last_used(found), own.get("snapshot_path")
    made = kind.build_from(
        observation=found.text,
        memory_id=_fragment_id(found.id),
        # A tenth times ten may differ in the last digits.
        importance=round(found.importance * _HIGHEST, _DIGITS),
        is_insight=found.kind == INSIGHT,
        last_accessed_time=moment.astimezone().replace(tzinfo=None) if own.get("naive") else moment,
        **({} if path is None else {"snapshot_path": path}),
    )
    if found.trust == "derived":
        made.derived_from = tuple(_fragment_id(one.record) for one in found.evidence if one.record)
    return made


def _fragment_id(record_id: str) -> int:
    """The id of the fragment in a memory; for one that was never a fragment, such as a later insight, a digest."""
    number = record_id.partition("@")[0]
    if number.isascii() and number.isdecimal():
        return int(number)
    return int.from_bytes(blake2b(record_id.encode(errors="surrogatepass"), digest_size=8).digest()) >> 1


def _store(memory: Engine, items: Sequence[dict[str, Any]]) -> None:
    """Store fragments in one transaction, all or none; one that is stored already is changed.

    Raises ``InvalidInput`` with the reasons when the gate of the memory refuses one, and what the store raises.
    """
    fresh = {item["id"]: item for item in items}
    known = {record.id for record in memory.backend.index.get(memory.space, list(fresh))}
    if known:
        # Outside of the transaction: other writers should not wait while earlier memories get their vectors.
        memory.catch_up()
    with memory.backend.transaction():
        # Changes first: they index all that is pending, and nothing of this call is yet.
        for id_, item in sorted(fresh.items(), key=lambda pair: pair[0] not in known):
            fields = {name: value for name, value in item.items() if name not in ("id", "text")}
            try:
                done = memory.remember(item["text"], id=id_, **fields)
            except Conflict:
                _change(memory, id_, item["text"], fields)
                continue
            if done.rejected:
                reasons = "; ".join(reason for one in done.rejected for reason in one.reasons)
                raise InvalidInput(f"the memory refuses {shown(item['text'])}: {reasons}")


def _change(memory: Engine, id_: str, text: str, fields: dict[str, Any]) -> None:
    """Change the stored memory if it differs; its earlier evidence stays. A merged or forgotten one is restored."""
    try:
        old = memory.get(id_)
    except NotFound:
        memory.undo(id_)
        _change(memory, id_, text, fields)
        return
    evidence = tuple(dict.fromkeys((*old.evidence, *fields["evidence"])))
    new: dict[str, Any] = {**fields, "evidence": evidence, "trust": "derived" if fields["evidence"] else old.trust}
    if text != old.text or any(getattr(old, name) != value for name, value in new.items()):
        memory.update(id_, text, **new, reason="written again")


# Retrieval


class _Coefficients(NamedTuple):
    """How much recency, similarity and importance weigh."""

    alpha: float = 1.0
    beta: float = 1.0
    gamma: float = 1.0


_EVEN = _Coefficients()


@dataclass
class Chunk:
    """A text with metadata, as it is loaded and retrieved."""

    content: str
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    score: float = 0.0
    chunk_id: str = field(default_factory=new_id)


class LongTermRetriever:
    """Finds by similarity + (1 − ``decay_rate``)^hours + a tenth of the importance, best first.

    Hours count since a memory was written or last retrieved, similarity is the cosine of the vectors, or without an
    embedder the share of the question's words. ``now`` is a clock that stands still; without it the real one is read.
    ``top_k`` bounds ``k``. Raises ``InvalidInput`` for values that break a rule.
    """

    def __init__(
        self,
        now: datetime | None = None,
        index_store: VectorStore = None,
        top_k: int = 100,
        decay_rate: float = _DECAY_RATE,
        k: int = 4,
        *,
        embedder: Any = "local",
        space: SpaceLike = DEFAULT_SPACE,
    ) -> None:
        self.now = now
        self.top_k = check_count(top_k, "top_k")
        self.k = check_count(k, "k")
        if not 0.0 <= decay_rate < 1.0:
            raise InvalidInput(f"decay_rate must be at least 0 and below 1, not {shown(decay_rate)}")
        self.decay_rate = decay_rate
        self.memory = _opened(index_store, embedder, space)

    def moment(self) -> datetime:
        """The present, by the clock that was given or the real one."""
        return as_aware(self.now).astimezone(UTC) if self.now is not None else self.memory.clock()

    def load_document(self, chunks: Sequence[Chunk], current_time: datetime | None = None) -> list[str]:
        """Store chunks, all or none, and return their ids. A stored chunk of the same ``chunk_id`` is replaced.

        The metadata may hold ``importance`` (0 when it does not) and ``last_accessed_at``. Raises ``InvalidInput``.
        """
        present = self.moment() if current_time is None else current_time
        items = [_chunk_fields(chunk, present) for chunk in chunks]
        _store(self.memory, items)
        return [item["id"] for item in items]

    def retrieve(self, query: str, filters: FilterLike | None = None) -> list[Chunk]:
        """The ``k`` best chunks for a question, with their scores; they count as accessed now.

        ``filters`` is over the metadata: a mapping or a filter of memwell.
        """
        return [_as_chunk(one) for one in self.recalled(query, as_filter(filters or None))]

    def recalled(
        self, query: str, where: Filter | None, weights: _Coefficients = _EVEN, now: datetime | None = None
    ) -> list[Recalled]:
        """The best memories that satisfy a filter, best first. They count as used now."""
        check_text(query, "an observation")
        memory = self.memory
        moment = self.moment() if now is None else as_aware(now).astimezone(UTC)
        if memory.embedder is not None and memory.pending().vectors > _FEW:
            memory.flush()
        ask = partial(memory.recall, query, limit=min(self.k, self.top_k), where=where, now=moment)
        found = ask(weights=self._weights(weights, by_meaning=memory.embedder is not None))
        if memory.embedder is not None and weights.beta and not any("dense" in one.signals for one in found):
            # The embedder fails, or most memories have no vector yet: search by words.
            found = ask(weights=self._weights(weights, by_meaning=False))
        return found

    def _weights(self, chosen: _Coefficients, *, by_meaning: bool) -> Weights:
        # Importance counts as a share of its highest value: from 0 to 10 it would outweigh similarity, which is at most 1.
        alpha, beta, gamma = chosen
        if by_meaning:
            return Weights.time_weighted(similarity=beta, recency=alpha, importance=gamma, decay=self.decay_rate)
        return Weights.linear({"coverage": beta, "access": alpha, "worth": gamma}, decay=self.decay_rate)


def _chunk_fields(chunk: Any, present: datetime) -> dict[str, Any]:
    kept = dict(cast("Mapping[str, Any]", chunk.metadata))
    importance, accessed = kept.pop("importance", 0.0), kept.pop("last_accessed_at", None)
    if isinstance(accessed, int | float):
        accessed = datetime.fromtimestamp(accessed, UTC)
    moment = as_aware(present if accessed is None else accessed)
    return {
        "id": str(getattr(chunk, "chunk_id", "") or new_id()),
        "text": chunk.content,
        "importance": _as_share(importance),
        "time": moment.astimezone(UTC),
        "kind": _FRAGMENT,
        "metadata": check_metadata(kept),
        "evidence": (),
        "trust": "tool",
    }


def _as_chunk(found: Recalled) -> Chunk:
    importance = round(found.importance * _HIGHEST, _DIGITS)
    metadata = {**found.metadata, "importance": importance, "last_accessed_at": _last_used(found)}
    return Chunk(found.text, metadata, found.score, found.id)


# The memory


class LongTermMemory(Closing, BatchMemory[T]):
    """Fragments in a store of memwell, read by ``alpha`` × recency + ``beta`` × similarity + ``gamma`` × importance / 10.

    ``vector_store`` is an engine of memwell, a path or URL, or None for one of this process alone;
    ``embedder`` is for a store that is opened here. ``metadata`` labels what is written and filters what is read, and so
    does the session, once ``initialize`` has named one. ``now`` is a clock that stands still; without it the real one is
    read. ``executor`` is not used: the store has threads of its own. Raises ``InvalidInput`` for values that break a rule,
    and what opening a store raises.
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
        decay_rate: float = _DECAY_RATE,
        embedder: Any = "local",
        space: SpaceLike = DEFAULT_SPACE,
    ) -> None:
        self._labels = _Owner(metadata).labels
        self._default_importance = _default_importance
        if _default_importance is not None:
            _as_share(_default_importance, "_default_importance")
        self.reflection_threshold = reflection_threshold
        if reflection_threshold is not None:
            check_importance(reflection_threshold, "reflection_threshold")
        self.executor = executor
        self.reflecting = False
        self.aggregate_importance = 0.0
        self._owns_store = not isinstance(vector_store, Engine)
        self.memory_retriever = LongTermRetriever(
            now, vector_store, max(k, 100), decay_rate, k, embedder=embedder, space=space
        )

    def close(self) -> None:
        """Close a store that was opened here; one that was given stays open."""
        if self._owns_store:
            self.memory.close()

    def structure_clone(self, now: datetime | None = None) -> Self:
        """Another memory over the same store, with the same labels and settings: it reads what this one wrote."""
        mine = self.memory_retriever
        given = (self.executor, mine.memory, now or mine.now, self.reflection_threshold, self._default_importance)
        clone = type(self)(*given, self._labels, k=mine.k, decay_rate=mine.decay_rate)
        clone._copy_from(self)
        return clone

    @property
    def now(self) -> datetime:
        """The present, by the clock that was given or the real one."""
        return self.memory_retriever.now or datetime.now(UTC).astimezone().replace(tzinfo=None)

    @property
    def memory(self) -> Engine:
        """The memory of memwell that the fragments are in; others may be in it, too."""
        return self.memory_retriever.memory

    @property
    def _owner(self) -> _Owner:
        return _Owner(self._labels, self.session_id)

    def _made(self, found: Iterable[Recalled]) -> list[T]:
        kind = self._real_memory_fragment_class or cast("type[T]", AgentMemoryFragment)
        return [_as_fragment(one, kind) for one in found]

    # Writing

    async def write_batch(self, memory_fragments: Sequence[T], now: datetime | None = None) -> Discarded[T]:
        """Store fragments in one transaction, all or none; a stored fragment of the same id is changed.

        Raises ``InvalidInput`` for an importance that is missing or not from 0 to 10, and when the gate of the store
        refuses one.
        """
        given = list(memory_fragments)
        importances = await self._importances(given)
        present = self.now if now is None else now
        items = [
            _fields(one, worth, present, _Owner(self._labels, one.session_id or self.session_id))
            for one, worth in zip(given, importances, strict=True)
        ]
        if items:
            await run_blocking(partial(_store, self.memory, items))
            self.aggregate_importance += sum(importances)
            await self._reflect_when_due(given)
        return None

    async def _importances(self, memory_fragments: Sequence[T]) -> list[float]:
        """The importance of each fragment: its own, else the default, else what the scorer says."""
        default = self._default_importance
        if default is not None:
            return [default if one.importance is None else one.importance for one in memory_fragments]
        if self.importance_scorer is None and any(one.importance is None for one in memory_fragments):
            raise InvalidInput(_NO_IMPORTANCE)
        return await super()._importances(memory_fragments)

    async def _reflect_when_due(self, fragments: list[T]) -> None:
        threshold = self.reflection_threshold
        if threshold is None or self.reflecting or self.aggregate_importance < threshold:
            return
        self.reflecting = True
        try:
            await self.reflect(fragments)
            self.aggregate_importance = 0.0
        except Exception as error:  # noqa: BLE001 - the fragments are stored, whether reflecting works or not
            _log.warning("reflecting failed and is tried again: %s: %s", type(error).__name__, error)
        finally:
            self.reflecting = False

    async def reflect(self, memory_fragments: list[T]) -> list[T]:
        """Draw insights from all that is stored, store them, and return them after the fragments that were given."""
        owner = self._owner
        insights = await self.memory.areflect(where=owner.filter, metadata=owner.metadata)
        return [*memory_fragments, *self._made(insights)]

    # Reading

    async def read(self, observation: str, alpha: Weight = None, beta: Weight = None, gamma: Weight = None) -> list[T]:
        """The ``k`` best fragments for an observation, best first; they count as used now.

        A coefficient that is not given is 1. Raises ``InvalidInput`` for a number that is not finite.
        """
        given = {"alpha": alpha, "beta": beta, "gamma": gamma}
        numbers = {name: check_importance(value, name) for name, value in given.items() if value is not None}
        return await self._read(observation, _Coefficients(**numbers))

    async def fetch_memories(self, observation: str, now: datetime | None = None) -> list[T]:
        """The same with even weights, at a moment."""
        return await self._read(observation, _EVEN, now)

    async def _read(self, observation: str, weights: _Coefficients, now: datetime | None = None) -> list[T]:
        recalled = partial(self.memory_retriever.recalled, observation, self._owner.filter, weights, now)
        # Two owners may have a fragment of one id; the better one counts.
        once = {one.id: one for one in reversed(self._made(await run_blocking(recalled)))}
        return list(once.values())[::-1]

    # Deleting and merging

    async def clear(self, *, importance_below: float | None = None, older_than: timedelta | None = None) -> list[T]:
        """Delete the fragments of this memory and its session for good, and return them, oldest first.

        With ``importance_below`` (from 0 to 10) or ``older_than`` only those that satisfy both, and pinned ones stay.
        Insights from a deleted fragment are deleted too. Raises ``InvalidInput`` for values out of range.
        """
        parts: list[Filter] = [self._owner.filter]
        if importance_below is not None:
            share = _as_share(importance_below, "importance_below")
            parts += [_UNPINNED, Where(("memwell", "importance"), "lt", share)]
        if older_than is not None:
            if older_than < timedelta(0):
                raise InvalidInput(f"older_than must be at least 0, not {shown(older_than)}")
            now = as_aware(self.now).astimezone(UTC)
            age = min(older_than, now - datetime.min.replace(tzinfo=UTC))
            parts += [_UNPINNED, Where("@time", "lt", now - age)]
        where = AllOf(tuple(parts))
        found = await self.memory.amemories(where=where)
        # Merged and forgotten ones are erased too.
        await self.memory.aerase_where(where)
        return self._made(sorted(found, key=lambda one: one.time))

    async def compress_memories(self, threshold: float = 0.85) -> Compression:
        """Merge fragments that say nearly the same into the one that says most, with the evidence of all.

        ``threshold`` is how similar two must be, above 0 and at most 1. A memory without labels does not merge fragments of
        labelled ones.
        """
        return await self.memory.acompress(threshold=threshold, where=self._owner.unshared)

    async def evaluate_importance(self, memory_fragment: T) -> float:
        """The importance of a fragment from 0 to 1: by its content, and once stored by its uses and the feedback on it.

        Its given importance does not count, and is not changed.
        """
        try:
            return await run_blocking(lambda: self.memory.evaluate(self._record_of(memory_fragment.id)))
        except NotFound:
            return importance_of(memory_fragment.raw_observation)

    async def feedback(self, memory_fragment: T | int, *, useful: bool) -> T:
        """Note whether a fragment, given itself or by its id, helped; this changes its importance. Returns it then.

        Raises ``NotFound`` for a fragment that is not stored here.
        """
        wanted = memory_fragment.id if isinstance(memory_fragment, MemoryFragment) else memory_fragment
        return self._made([await run_blocking(lambda: self.memory.feedback(self._record_of(wanted), useful=useful))])[0]

    def _record_of(self, wanted: int) -> str:
        """The id of the memory that holds a fragment: of this session, of another, or an insight that was drawn here."""
        owner = self._owner
        expected = owner.record_id(wanted)
        with suppress(NotFound):
            return self.memory.get(expected).id
        others = (one.id for one in self.memory.memories(where=owner.filter) if _fragment_id(one.id) == wanted)
        return next(others, expected)


# All of an agent's memory

_CHROMA_NAME = "agent_memory_long_term"


class HybridMemory(Closing, BatchMemory[T]):
    """Sensory, short-term and long-term memory in a row: what one discards, the next stores, with its insights.

    When a scorer, a model or the store fails, all three memories are as they were. Memories that are not given are a
    ``SensoryMemory``, a ``ShortTermMemory`` and a ``LongTermMemory`` in this process. The default extractor and scorer, a
    ``ContentImportanceScorer`` unless another is given, are used where ``initialize`` names none. ``now`` is a clock that
    stands still; without it the real one is read.
    """

    importance_weight: float = 0.9

    def __init__(
        self,
        now: datetime | None = None,
        sensory_memory: SensoryMemory[T] | None = None,
        short_term_memory: ShortTermMemory[T] | None = None,
        long_term_memory: LongTermMemory[T] | None = None,
        default_insight_extractor: InsightExtractor[T] | None = None,
        default_importance_scorer: ImportanceScorer[T] | None = None,
    ) -> None:
        self.now = now
        self.sensory_memory = SensoryMemory[T]() if sensory_memory is None else sensory_memory
        self.short_term_memory = ShortTermMemory[T]() if short_term_memory is None else short_term_memory
        self._owns_long_term = long_term_memory is None
        self.long_term_memory = LongTermMemory[T](now=now) if long_term_memory is None else long_term_memory
        self._parts = (self.sensory_memory, self.short_term_memory, self.long_term_memory)
        self._default_insight_extractor = default_insight_extractor
        self._default_importance_scorer = default_importance_scorer or ContentImportanceScorer()
        for memory in (self, *self._parts):
            memory.insight_extractor = memory.insight_extractor or self._default_insight_extractor
            memory.importance_scorer = memory.importance_scorer or self._default_importance_scorer

    @classmethod
    def from_vstore(
        cls,
        vector_store: VectorStore = None,
        embeddings: Any = None,
        executor: Executor | None = None,
        now: datetime | None = None,
        sensory_memory: SensoryMemory[T] | None = None,
        short_term_memory: ShortTermMemory[T] | None = None,
        long_term_memory: LongTermMemory[T] | None = None,
        *,
        space: SpaceLike = DEFAULT_SPACE,
        **kwargs: Any,
    ) -> Self:
        """A memory over a store, as ``LongTermMemory`` takes it. ``kwargs`` are those of the constructor.

        With ``embeddings`` the short-term memory is an ``EnhancedShortTermMemory``, and a store opened here uses them;
        without, the local embedder. An engine keeps its own. Raises what ``LongTermMemory`` raises.
        """
        if short_term_memory is None and embeddings is not None:
            short_term_memory = EnhancedShortTermMemory(embeddings, executor)
        given = long_term_memory is not None
        if long_term_memory is None:
            has_its_own = embeddings is None or isinstance(vector_store, Engine)
            embedder = "local" if has_its_own else embeddings
            long_term_memory = LongTermMemory(executor, vector_store, now, space=space, embedder=embedder)
        memory = cls(now, sensory_memory, short_term_memory, long_term_memory, **kwargs)
        memory._owns_long_term = not given
        return memory

    @classmethod
    def from_chroma(
        cls,
        vstore_name: str | None = _CHROMA_NAME,
        vstore_path: str | None = None,
        embeddings: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Self:
        """A memory in a file of memwell's, ``<vstore_path>/<vstore_name>.db``; no Chroma is needed, and none is read.

        Without a path it is in the current folder. The rest is as in ``from_vstore``. Raises ``FileError`` when the folder
        cannot be made.
        """
        folder = Path(vstore_path or ".")
        name = check_id(vstore_name or _CHROMA_NAME, "vstore_name")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"the folder {str(folder)!r} cannot be made: {error}") from error
        return cls.from_vstore(folder / f"{name}.db", embeddings, *args, **kwargs)

    def close(self) -> None:
        """Close a store that was opened here."""
        if self._owns_long_term:
            self.long_term_memory.close()

    def structure_clone(self, now: datetime | None = None) -> Self:
        """A memory of the same settings with empty sensory and short-term memories and the same long-term store."""
        present = now or self.now
        clone = type(self)(
            present,
            self.sensory_memory.structure_clone(present),
            self.short_term_memory.structure_clone(present),
            self.long_term_memory.structure_clone(present),
            self._default_insight_extractor,
            self._default_importance_scorer,
        )
        clone._copy_from(self)
        return clone

    # Writing

    async def write_batch(self, memory_fragments: Sequence[T], now: datetime | None = None) -> Discarded[T]:
        """Store fragments, all or none; nothing is discarded."""
        given = list(memory_fragments)
        present = self.now if now is None else now
        # The store is written last, inside both locks: when it fails, the other two are restored.
        async with self.sensory_memory.writing(), self.short_term_memory.writing():
            for one in given:
                one.session_id = self.session_id
            perceived = await self.sensory_memory.write_batch(given, present)
            if perceived is None:
                return None
            leaving = await self.short_term_memory.write_batch(perceived.discarded_memory_fragments, present)
            if leaving is not None:
                await self.long_term_memory.write_batch(await self._to_store(leaving), present)
        return None

    async def _to_store(self, leaving: DiscardedMemoryFragments[T]) -> list[T]:
        """The fragments that left short-term memory and all their insights, each with an importance."""
        together = list(leaving.discarded_memory_fragments)
        for found in leaving.discarded_insights:
            source = found.original_memory_fragment
            for insight in found.insights:
                insight.session_id = (source[0] if isinstance(source, list) else source).session_id
            together += found.insights
        for one, importance in zip(together, await self._importances(together), strict=True):
            one.update_importance(importance)
        return together

    # Reading

    async def read(self, observation: str, alpha: Weight = None, beta: Weight = None, gamma: Weight = None) -> list[T]:
        """The best long-term fragments, then copies of all short-term and sensory ones, each id once.

        With a session only fragments of it. The coefficients are for long-term memory. A read changes nothing but when
        long-term fragments were last used.
        """
        kept = await self.long_term_memory.read(observation, alpha, beta, gamma)
        held = [*await self.short_term_memory.read(observation), *await self.sensory_memory.read(observation)]
        return self._with_held(kept, held)

    def _with_held(self, kept: Sequence[T], held: Sequence[T]) -> list[T]:
        # The short-term fragment is the newer of two.
        together = {one.id: one for one in kept}
        together.update((one.id, one.copy()) for one in held if self._is_of_session(one))
        return list(together.values())

    def _is_of_session(self, fragment: MemoryFragment) -> bool:
        return self.session_id is None or fragment.session_id in (None, self.session_id)

    async def fetch_memories(
        self, observation: str, short_term_memory: ShortTermMemory[T] | None = None
    ) -> tuple[list[T], list[DiscardedMemoryFragments[T]]]:
        """Long-term fragments for an observation, and copies of those of a short-term memory; nothing is discarded."""
        kept = await self.long_term_memory.fetch_memories(observation)
        return self._with_held(kept, [] if short_term_memory is None else await short_term_memory.read(observation)), []

    async def clear(self) -> list[T]:
        """Empty all three memories, the store for good, and return what was in them, each id once.

        With a session only its fragments are deleted.
        """
        cleared = await self.long_term_memory.clear()
        for memory in (self.short_term_memory, self.sensory_memory):
            cleared += await memory.take_out(self._is_of_session)
        return list({one.id: one for one in cleared}.values())
