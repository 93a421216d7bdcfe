"""All of an agent's memory: what is perceived, what is in mind and what is kept for good, written and read as one."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from memwell._asyncify import Closing, blocking
from memwell.compat.dbgpt.enhanced import EnhancedShortTermMemory
from memwell.compat.dbgpt.fragments import (
    DiscardedMemoryFragments,
    InsightMemoryFragment,
    MemoryFragment,
    WriteOperation,
)
from memwell.compat.dbgpt.long_term import LongTermMemory
from memwell.compat.dbgpt.memory import Memory, check_fragment
from memwell.compat.dbgpt.ranking import Coefficients, coefficients
from memwell.compat.dbgpt.scoring import ContentImportanceScorer, ImportanceScorer, InsightExtractor
from memwell.compat.dbgpt.sensory import SensoryMemory
from memwell.compat.dbgpt.short_term import ShortTermMemory
from memwell.compat.dbgpt.stored_fragments import VectorStore
from memwell.compat.dbgpt.times import check_moment
from memwell.compat.dbgpt.undo import all_or_nothing, undone_by
from memwell.errors import FileError
from memwell.longterm.memory import Memory as LastingMemory
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.values import check_id

T = TypeVar("T", bound=MemoryFragment)

_CHROMA_NAME = "agent_memory_long_term"


class _Parts(Memory[T]):
    """The three memories, and what is the same for all of them."""

    _sensory_memory: SensoryMemory[T]
    _short_term_memory: ShortTermMemory[T]
    _long_term_memory: LongTermMemory[T]

    @property
    def _parts(self) -> tuple[Memory[T], ...]:
        return (self._sensory_memory, self._short_term_memory, self._long_term_memory)

    @property
    def sensory_memory(self) -> SensoryMemory[T]:
        """What is perceived."""
        return self._sensory_memory

    @property
    def short_term_memory(self) -> ShortTermMemory[T]:
        """What is in mind."""
        return self._short_term_memory

    @property
    def long_term_memory(self) -> LongTermMemory[T]:
        """What is kept for good."""
        return self._long_term_memory

    @property
    def session_id(self) -> str | None:
        """The session of all three memories."""
        return self._long_term_memory.session_id

    @session_id.setter
    def session_id(self, session_id: str | None) -> None:
        for memory in self._parts:
            memory.session_id = session_id


class HybridMemory(Closing, _Parts[T]):
    """A fragment is perceived, comes to mind, and when it makes room there it is kept for good, with what was concluded.

    A write is done whole or not at all: when a scorer, a model or the store fails, or the call is cancelled, all three
    memories are as they were. Without memories given they are a ``SensoryMemory``, a
    ``ShortTermMemory`` and a ``LongTermMemory`` in this process. The defaults are asked where ``initialize`` names no
    extractor or scorer; the default scorer is a ``ContentImportanceScorer`` unless one is given. ``now`` is a clock that
    stands still; without it the real one is asked.
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
        self.now = None if now is None else check_moment(now, "now")
        self._sensory_memory = SensoryMemory[T]() if sensory_memory is None else sensory_memory
        self._short_term_memory = ShortTermMemory[T]() if short_term_memory is None else short_term_memory
        self._owns_long_term = long_term_memory is None
        self._long_term_memory = LongTermMemory[T](now=now) if long_term_memory is None else long_term_memory
        self._default_insight_extractor = default_insight_extractor
        self._default_importance_scorer: ImportanceScorer[T] = default_importance_scorer or ContentImportanceScorer()
        self._ask_defaults()

    def _ask_defaults(self) -> None:
        for memory in (self, *self._parts):
            memory.insight_extractor = memory.insight_extractor or self._default_insight_extractor
            memory.importance_scorer = memory.importance_scorer or self._default_importance_scorer

    # Making one

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
        """A memory over a store: one of memwell that is open, a backend, a path or URL, or None for this process alone.

        With ``embeddings`` the short-term memory is an enhanced one, and a store opened here finds by them; without,
        by the local embedder. A memory that is open keeps its own. ``kwargs`` are those of the constructor. Raises what
        ``LongTermMemory`` raises.
        """
        if short_term_memory is None and embeddings is not None:
            short_term_memory = EnhancedShortTermMemory(embeddings, executor)
        given = long_term_memory is not None
        if long_term_memory is None:
            has_its_own = embeddings is None or isinstance(vector_store, LastingMemory)
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
        executor: Executor | None = None,
        now: datetime | None = None,
        sensory_memory: SensoryMemory[T] | None = None,
        short_term_memory: ShortTermMemory[T] | None = None,
        long_term_memory: LongTermMemory[T] | None = None,
        **kwargs: Any,
    ) -> Self:
        """A memory in a file of memwell's, ``<vstore_path>/<vstore_name>.db``; no Chroma is needed, and none is read.

        Without a path it is in the current folder. Raises ``FileError`` when the folder cannot be made.
        """
        folder = Path(vstore_path or ".")
        name = check_id(vstore_name or _CHROMA_NAME, "vstore_name")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"the folder {str(folder)!r} cannot be made: {error}") from error
        memories = (sensory_memory, short_term_memory, long_term_memory)
        return cls.from_vstore(folder / f"{name}.db", embeddings, executor, now, *memories, **kwargs)

    @classmethod
    def open(cls, url: VectorStore, *, embeddings: Any = None, now: datetime | None = None, **kwargs: Any) -> Self:
        """A memory in the store at a URL or path, as ``from_vstore`` makes it. Close it, or use it in a ``with`` block."""
        return cls.from_vstore(url, embeddings, now=now, **kwargs)

    def structure_clone(self, now: datetime | None = None) -> Self:
        """A memory of the same settings with nothing in mind; what is kept for good, it shares."""
        present = now or self.now
        clone = type(self)(
            present,
            self._sensory_memory.structure_clone(present),
            self._short_term_memory.structure_clone(present),
            self._long_term_memory.structure_clone(present),
            self._default_insight_extractor,
            self._default_importance_scorer,
        )
        clone._copy_from(self)
        return clone

    def initialize(
        self,
        name: str | None = None,
        llm_client: Any = None,
        importance_scorer: ImportanceScorer[T] | None = None,
        insight_extractor: InsightExtractor[T] | None = None,
        real_memory_fragment_class: type[T] | None = None,
        session_id: str | None = None,
    ) -> None:
        """Say it to all three memories."""
        scorer = importance_scorer or self._default_importance_scorer
        extractor = insight_extractor or self._default_insight_extractor
        for memory in self._parts:
            memory.initialize(name, llm_client, scorer, extractor, real_memory_fragment_class, session_id)
        super().initialize(name, llm_client, scorer, extractor, real_memory_fragment_class, session_id)

    def close(self) -> None:
        """Let go of a store that was opened here."""
        if self._owns_long_term:
            self._long_term_memory.close()

    # Writing

    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[T] | None:
        """Take a fragment in, all the way; nothing is left to hand on. What was only recalled is not taken in."""
        check_fragment(memory_fragment)
        if op != WriteOperation.RETRIEVAL:
            await self._write_all([memory_fragment], now)
        return None

    async def write_batch(
        self, memory_fragments: Sequence[T], now: datetime | None = None
    ) -> DiscardedMemoryFragments[T] | None:
        """Take fragments in, all or none, as ``write`` does."""
        given = list(memory_fragments)
        for one in given:
            check_fragment(one)
        await self._write_all(given, now)
        return None

    async def _write_all(self, fragments: Sequence[T], now: datetime | None) -> None:
        present = self.now if now is None else now
        with all_or_nothing():
            for one in fragments:
                undone_by(partial(_set_session, one, one.session_id))
                one.session_id = self.session_id
            perceived = await self._sensory_memory.write_batch(fragments, present)
            leaving = None
            if perceived is not None and perceived.discarded_memory_fragments:
                leaving = await self._short_term_memory.write_batch(perceived.discarded_memory_fragments, present)
            lasting = [] if leaving is None else await self._lasting(leaving)
            if lasting:
                await self._long_term_memory.write_batch(lasting, present)

    async def _lasting(self, leaving: DiscardedMemoryFragments[T]) -> list[T]:
        """What is kept for good of what left the mind: the fragments and all insights, each with an importance."""
        insights = [one for found in leaving.discarded_insights for one in _with_session(found)]
        together = [*leaving.discarded_memory_fragments, *insights]
        unweighed = [one for one in together if one.importance is None]
        scores = await self.score_memory_importance(unweighed) if unweighed else []
        for one, score in zip(unweighed, scores, strict=True):
            one.update_importance(score)
            undone_by(partial(_unweigh, one))
        return together

    # Reading

    async def read(
        self, observation: str, alpha: float | None = None, beta: float | None = None, gamma: float | None = None
    ) -> list[T]:
        """The fragments kept for good that fit best, then copies of all that is in mind or only perceived, each id once.

        With a session only what is of it; with any of the coefficients given, all of them best first. A read changes
        nothing but when what is kept for good was used.
        """
        weights = coefficients(alpha, beta, gamma)
        kept = await self._long_term_memory.scored(observation, weights)
        if weights is not None:
            return await self._ordered(observation, weights, kept)
        in_mind = {one.id: one for one in await self._in_mind(observation)}
        # What is in mind is the newer of two.
        first = [in_mind.pop(one.id).copy() if one.id in in_mind else one for one, _ in kept]
        return [*first, *(one.copy() for one in in_mind.values())]

    async def _in_mind(self, observation: str) -> list[T]:
        """What was perceived in this session, oldest first: that in mind, behind it that which is not considered yet."""
        held = [*await self._short_term_memory.read(observation), *await self._sensory_memory.read(observation)]
        return [one for one in held if self._is_of_session(one)]

    def _is_of_session(self, fragment: MemoryFragment) -> bool:
        return self.session_id is None or fragment.session_id in (None, self.session_id)

    async def _ordered(self, observation: str, weights: Coefficients, kept: Sequence[tuple[T, float]]) -> list[T]:
        # Newest first, so that it comes first among equals.
        in_mind = [one.copy() for one in reversed(await self._in_mind(observation))]
        scores = await self._long_term_memory.scores_of(observation, in_mind, weights)
        scored = {one.id: (one, score) for one, score in kept}
        scored.update((one.id, (one, score)) for one, score in zip(in_mind, scores, strict=True))
        return [one for one, _ in sorted(scored.values(), key=lambda pair: -pair[1])]

    async def fetch_memories(
        self, observation: str, short_term_memory: ShortTermMemory[T] | None = None
    ) -> tuple[list[T], list[DiscardedMemoryFragments[T]]]:
        """What is kept for good for an observation, and copies of what is in mind when that is given; nothing is let go."""
        kept = await self._long_term_memory.fetch_memories(observation)
        known = {one.id for one in kept}
        in_mind = [] if short_term_memory is None else await short_term_memory.read(observation)
        return [*kept, *(one.copy() for one in in_mind if one.id not in known and self._is_of_session(one))], []

    async def clear(self) -> list[T]:
        """Empty all three memories, the store for good, and return what was in them, each id once.

        With a session only what is of it goes.
        """
        cleared = await self._long_term_memory.clear()
        for memory in (self._short_term_memory, self._sensory_memory):
            cleared += await (memory.clear() if self.session_id is None else memory.take_out(self._is_of_session))
        return list({one.id: one for one in cleared}.values())

    write_sync = blocking(write)
    write_batch_sync = blocking(write_batch)
    read_sync = blocking(read)
    clear_sync = blocking(clear)
    fetch_memories_sync = blocking(fetch_memories)


def _set_session(fragment: MemoryFragment, session_id: str | None) -> None:
    fragment.session_id = session_id


def _with_session(found: InsightMemoryFragment[T]) -> list[T]:
    """What was concluded, each of the session of what it was concluded from."""
    source = found.original_memory_fragment
    sources = source if isinstance(source, list) else [source]
    for one in found.insights:
        one.session_id = sources[0].session_id if sources else None
    return found.insights


def _unweigh(fragment: MemoryFragment) -> None:
    fragment.update_importance(None)


__all__ = ["HybridMemory"]
