"""All of an agent's memory: sensory, short-term and long-term, written and read as one."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from memwell._asyncify import Closing, blocking
from memwell.compat.dbgpt.long_term import LongTermMemory, VectorStore
from memwell.compat.dbgpt.memory import (
    BatchMemory,
    ContentImportanceScorer,
    Discarded,
    DiscardedMemoryFragments,
    ImportanceScorer,
    InsightExtractor,
    MemoryFragment,
    Weight,
)
from memwell.compat.dbgpt.short_term import EnhancedShortTermMemory, SensoryMemory, ShortTermMemory
from memwell.errors import FileError
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.runtime.engine import Engine
from memwell.values import check_id

T = TypeVar("T", bound=MemoryFragment)

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

    fetch_memories_sync = blocking(fetch_memories)
