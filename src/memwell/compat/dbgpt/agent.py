"""The memory of one agent: any memory for its fragments, and the plans and messages that agents share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Self

from memwell.compat.dbgpt.fragments import ADD, AgentMemoryFragment, Discarded, Weight, WriteOperation
from memwell.compat.dbgpt.gpts import GptsMemory, GptsMessageMemory, GptsPlansMemory
from memwell.compat.dbgpt.memory import ImportanceScorer, InsightExtractor, Memory
from memwell.compat.dbgpt.short_term import ShortTermMemory

Fragment = AgentMemoryFragment


class AgentMemory(Memory[AgentMemoryFragment]):
    """Passes everything on to ``memory``, by default a ``ShortTermMemory`` of five fragments.

    The scorer and the extractor are used where ``initialize`` names none. Raises what the memory raises.
    """

    _default_fragment_class = AgentMemoryFragment

    def __init__(
        self,
        memory: Memory[AgentMemoryFragment] | None = None,
        importance_scorer: ImportanceScorer[AgentMemoryFragment] | None = None,
        insight_extractor: InsightExtractor[AgentMemoryFragment] | None = None,
        gpts_memory: GptsMemory | None = None,
    ) -> None:
        self.memory: Memory[AgentMemoryFragment] = ShortTermMemory(buffer_size=5) if memory is None else memory
        self._parts = (self.memory,)
        self.importance_scorer = self._default_importance_scorer = importance_scorer
        self.insight_extractor = self._default_insight_extractor = insight_extractor
        self.gpts_memory = GptsMemory() if gpts_memory is None else gpts_memory

    def structure_clone(self, now: datetime | None = None) -> Self:
        """An agent memory over a clone of the memory. Plans and messages are shared."""
        given = (self._default_importance_scorer, self._default_insight_extractor, self.gpts_memory)
        clone = type(self)(self.memory.structure_clone(now), *given)
        clone._copy_from(self)
        return clone

    async def write(
        self, memory_fragment: Fragment, now: datetime | None = None, op: WriteOperation = ADD
    ) -> Discarded[Fragment]:
        return await self.memory.write(memory_fragment, now, op)

    async def write_batch(
        self, memory_fragments: Sequence[Fragment], now: datetime | None = None
    ) -> Discarded[Fragment]:
        return await self.memory.write_batch(memory_fragments, now)

    async def read(
        self, observation: str, alpha: Weight = None, beta: Weight = None, gamma: Weight = None
    ) -> list[Fragment]:
        return await self.memory.read(observation, alpha, beta, gamma)

    async def clear(self) -> list[Fragment]:
        """Empty the memory; plans and messages stay."""
        return await self.memory.clear()

    @property
    def plans_memory(self) -> GptsPlansMemory:
        return self.gpts_memory.plans_memory

    @property
    def message_memory(self) -> GptsMessageMemory:
        return self.gpts_memory.message_memory
