"""All of an agent's memory: what is perceived, what is in mind and what is kept for good, written and read as one."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from memwell._asyncify import Closing, blocking
from memwell.compat.dbgpt.fragments import (
    DiscardedMemoryFragments,
    MemoryFragment,
    WriteOperation,
    check_fragment,
    check_moment,
)
from memwell.compat.dbgpt.long_term import LongTermMemory, OpenMemory, VectorStore
from memwell.compat.dbgpt.memory import ContentImportanceScorer, ImportanceScorer, InsightExtractor, Memory
from memwell.compat.dbgpt.short_term import EnhancedShortTermMemory, SensoryMemory, ShortTermMemory
from memwell.errors import FileError
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.values import check_id

T = TypeVar("T", bound=MemoryFragment)

_CHROMA_NAME = "agent_memory_long_term"


class HybridMemory(Closing, Memory[T]):
    """A fragment is perceived, comes to mind, and when it makes room there it is kept for good, with what was concluded.

    When a scorer, a model or the store fails, all three memories are as they were. Without memories given they are a
    ``SensoryMemory``, a ``ShortTermMemory`` and a ``LongTermMemory`` in this process. The defaults are asked where
    ``initialize`` names no extractor or scorer; the default scorer is a ``ContentImportanceScorer`` unless one is given.
    ``now`` is a clock that stands still; without it the real one is asked.
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
        self.sensory_memory = SensoryMemory[T]() if sensory_memory is None else sensory_memory
        self.short_term_memory = ShortTermMemory[T]() if short_term_memory is None else short_term_memory
        self._owns_long_term = long_term_memory is None
        self.long_term_memory = LongTermMemory[T](now=now) if long_term_memory is None else long_term_memory
        self._parts: tuple[Memory[T], ...] = (self.sensory_memory, self.short_term_memory, self.long_term_memory)
        self._default_insight_extractor = default_insight_extractor
        self._default_importance_scorer: ImportanceScorer[T] = default_importance_scorer or ContentImportanceScorer()
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

        With ``embeddings`` what is in mind is an ``EnhancedShortTermMemory``, and a store opened here finds by them;
        without, by the local embedder. A memory that is open keeps its own. Raises what ``LongTermMemory`` raises.
        """
        if short_term_memory is None and embeddings is not None:
            short_term_memory = EnhancedShortTermMemory(embeddings, executor)
        given = long_term_memory is not None
        if long_term_memory is None:
            has_its_own = embeddings is None or isinstance(vector_store, OpenMemory)
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

    @classmethod
    def open(cls, url: VectorStore, *, embeddings: Any = None, now: datetime | None = None, **kwargs: Any) -> Self:
        """A memory in the store at a URL or path, as ``from_vstore`` makes it. Close it, or use it in a ``with`` block."""
        return cls.from_vstore(url, embeddings, now=now, **kwargs)

    def close(self) -> None:
        """Let go of a store that was opened here."""
        if self._owns_long_term:
            self.long_term_memory.close()

    def structure_clone(self, now: datetime | None = None) -> Self:
        """A memory of the same settings with nothing in mind; what is kept for good, it shares."""
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

    def initialize(
        self,
        name: str | None = None,
        llm_client: Any = None,
        importance_scorer: ImportanceScorer[T] | None = None,
        insight_extractor: InsightExtractor[T] | None = None,
        real_memory_fragment_class: type[T] | None = None,
        session_id: str | None = None,
    ) -> None:
        """Initialize all three memories."""
        scorer = importance_scorer or self._default_importance_scorer
        extractor = insight_extractor or self._default_insight_extractor
        given = (name, llm_client, scorer, extractor, real_memory_fragment_class, session_id)
        for memory in self._parts:
            memory.initialize(*given)
        super().initialize(*given)

    @property
    def session_id(self) -> str | None:
        """The session of all three memories."""
        return self.long_term_memory.session_id

    @session_id.setter
    def session_id(self, session_id: str | None) -> None:
        for memory in self._parts:
            memory.session_id = session_id

    # Writing

    async def write(
        self, memory_fragment: T, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[T] | None:
        """Take a fragment in, all the way; nothing is left to hand on. What was only recalled is not taken in."""
        check_fragment(memory_fragment)
        if op != WriteOperation.RETRIEVAL:
            await self.write_batch([memory_fragment], now)
        return None

    async def write_batch(
        self, memory_fragments: Sequence[T], now: datetime | None = None
    ) -> DiscardedMemoryFragments[T] | None:
        """Take fragments in, all or none, as ``write`` does."""
        given = list(memory_fragments)
        for one in given:
            check_fragment(one)
        present = self.now if now is None else now
        # Storing comes last and inside: when it fails, what is perceived and in mind is as it was.
        async with self.sensory_memory.writing(), self.short_term_memory.writing():
            for one in given:
                one.session_id = self.session_id
            perceived = await self.sensory_memory.write_batch(given, present)
            if perceived is None:
                return None
            leaving = await self.short_term_memory.write_batch(perceived.discarded_memory_fragments, present)
            if leaving is not None:
                await self.long_term_memory.write_batch(await self._lasting(leaving), present)
        return None

    async def _lasting(self, leaving: DiscardedMemoryFragments[T]) -> list[T]:
        """What is kept for good of what left the mind: the fragments and all insights, each with an importance."""
        together = list(leaving.discarded_memory_fragments)
        for found in leaving.discarded_insights:
            source = found.original_memory_fragment
            for insight in found.insights:
                insight.session_id = (source[0] if isinstance(source, list) else source).session_id
            together += found.insights
        unweighed = [one for one in together if one.importance is None]
        scores = await self.score_memory_importance(unweighed) if unweighed else []
        for one, score in zip(unweighed, scores, strict=True):
            one.update_importance(score)
        return together

    # Reading

    async def read(
        self, observation: str, alpha: float | None = None, beta: float | None = None, gamma: float | None = None
    ) -> list[T]:
        """The fragments kept for good that fit best, then copies of all that is in mind or only perceived, each id once.

        With a session only what is of it. The coefficients weigh what is kept for good. A read changes nothing but when
        what is kept for good was used.
        """
        kept = await self.long_term_memory.read(observation, alpha, beta, gamma)
        held = [*await self.short_term_memory.read(observation), *await self.sensory_memory.read(observation)]
        return self._with_held(kept, held)

    def _with_held(self, kept: Sequence[T], held: Sequence[T]) -> list[T]:
        # What is in mind is the newer of two.
        together = {one.id: one for one in kept}
        together.update((one.id, one.copy()) for one in held if self._is_of_session(one))
        return list(together.values())

    def _is_of_session(self, fragment: MemoryFragment) -> bool:
        return self.session_id is None or fragment.session_id in (None, self.session_id)

    async def fetch_memories(
        self, observation: str, short_term_memory: ShortTermMemory[T] | None = None
    ) -> tuple[list[T], list[DiscardedMemoryFragments[T]]]:
        """What is kept for good for an observation, and copies of what is in mind when that is given; nothing is let go."""
        kept = await self.long_term_memory.fetch_memories(observation)
        return self._with_held(kept, [] if short_term_memory is None else await short_term_memory.read(observation)), []

    async def clear(self) -> list[T]:
        """Empty all three memories, the store for good, and return what was in them, each id once.

        With a session only what is of it goes.
        """
        cleared = await self.long_term_memory.clear()
        for memory in (self.short_term_memory, self.sensory_memory):
            cleared += await memory.take_out(self._is_of_session)
        return list({one.id: one for one in cleared}.values())

    fetch_memories_sync = blocking(fetch_memories)
