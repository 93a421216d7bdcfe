"""The memory of one agent: any memory for its fragments, and the plans and messages that agents share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from memwell.compat.dbgpt.fragments import AgentMemoryFragment, DiscardedMemoryFragments, WriteOperation
from memwell.compat.dbgpt.gpts import GptsMemory, GptsMessageMemory, GptsPlansMemory
from memwell.compat.dbgpt.memory import ImportanceScorer, InsightExtractor, Memory
from memwell.compat.dbgpt.short_term import ShortTermMemory


class AgentMemory(Memory[AgentMemoryFragment]):
    """Passes everything on to ``memory``, by default a ``ShortTermMemory`` of five fragments.

    The scorer and the extractor are those of ``initialize`` where it names none. Raises what the memory raises.
    """

    def __init__(
        self,
        memory: Memory[AgentMemoryFragment] | None = None,
        importance_scorer: ImportanceScorer[AgentMemoryFragment] | None = None,
        insight_extractor: InsightExtractor[AgentMemoryFragment] | None = None,
        gpts_memory: GptsMemory | None = None,
    ) -> None:
        self.memory: Memory[AgentMemoryFragment] = ShortTermMemory(buffer_size=5) if memory is None else memory
        self.importance_scorer = importance_scorer
        self.insight_extractor = insight_extractor
        self.gpts_memory = GptsMemory() if gpts_memory is None else gpts_memory

    def structure_clone(self, now: datetime | None = None) -> Self:
        """An agent memory over a clone of the memory. Plans and messages are shared."""
        clone = type(self)(
            self.memory.structure_clone(now), self.importance_scorer, self.insight_extractor, self.gpts_memory
        )
        clone._copy_from(self)
        return clone

    def initialize(
        self,
        name: str | None = None,
        llm_client: Any = None,
        importance_scorer: ImportanceScorer[AgentMemoryFragment] | None = None,
        insight_extractor: InsightExtractor[AgentMemoryFragment] | None = None,
        real_memory_fragment_class: type[AgentMemoryFragment] | None = None,
        session_id: str | None = None,
    ) -> None:
        """Initialize the memory too; fragments are ``AgentMemoryFragment`` unless another class is given."""
        scorer, extractor = importance_scorer or self.importance_scorer, insight_extractor or self.insight_extractor
        given = (name, llm_client, scorer, extractor, real_memory_fragment_class or AgentMemoryFragment, session_id)
        self.memory.initialize(*given)
        super().initialize(*given)

    @property
    def session_id(self) -> str | None:
        """The session of the memory."""
        return self.memory.session_id

    @session_id.setter
    def session_id(self, session_id: str | None) -> None:
        self.memory.session_id = session_id

    async def write(
        self,
        memory_fragment: AgentMemoryFragment,
        now: datetime | None = None,
        op: WriteOperation = WriteOperation.ADD,
    ) -> DiscardedMemoryFragments[AgentMemoryFragment] | None:
        return await self.memory.write(memory_fragment, now, op)

    async def write_batch(
        self, memory_fragments: Sequence[AgentMemoryFragment], now: datetime | None = None
    ) -> DiscardedMemoryFragments[AgentMemoryFragment] | None:
        return await self.memory.write_batch(memory_fragments, now)

    async def read(
        self, observation: str, alpha: float | None = None, beta: float | None = None, gamma: float | None = None
    ) -> list[AgentMemoryFragment]:
        return await self.memory.read(observation, alpha, beta, gamma)

    async def clear(self) -> list[AgentMemoryFragment]:
        """Empty the memory; plans and messages stay."""
        return await self.memory.clear()

    @property
    def plans_memory(self) -> GptsPlansMemory:
        """The plans."""
        return self.gpts_memory.plans_memory

    @property
    def message_memory(self) -> GptsMessageMemory:
        """The messages between agents."""
        return self.gpts_memory.message_memory
