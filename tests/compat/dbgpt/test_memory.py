from __future__ import annotations

import asyncio
import math
from datetime import datetime
from typing import Any, Self

import pytest

from memwell.compat.dbgpt.fragments import (
    AgentMemoryFragment,
    DiscardedMemoryFragments,
    InsightMemoryFragment,
    WriteOperation,
)
from memwell.compat.dbgpt.memory import Memory
from memwell.compat.dbgpt.scoring import ImportanceScorer, InsightExtractor
from memwell.errors import InvalidInput


class Plain(Memory[AgentMemoryFragment]):
    """A memory somebody wrote: it holds a list, and says of every fragment that it concluded something."""

    def __init__(self) -> None:
        self.held: list[AgentMemoryFragment] = []

    def structure_clone(self, now: datetime | None = None) -> Self:
        clone = type(self)()
        clone._copy_from(self)
        return clone

    async def write(
        self,
        memory_fragment: AgentMemoryFragment,
        now: datetime | None = None,
        op: WriteOperation = WriteOperation.ADD,
    ) -> DiscardedMemoryFragments[AgentMemoryFragment] | None:
        self.held.append(memory_fragment)
        return DiscardedMemoryFragments([], [InsightMemoryFragment(memory_fragment, ["so it is"])])

    async def read(
        self, observation: str, alpha: float | None = None, beta: float | None = None, gamma: float | None = None
    ) -> list[AgentMemoryFragment]:
        return list(self.held)

    async def clear(self) -> list[AgentMemoryFragment]:
        held, self.held = self.held, []
        return held


class Together(InsightExtractor[AgentMemoryFragment]):
    """Answers only once so many have asked: it would wait for ever if they came one by one."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.asked: list[Any] = []
        self.all_asked = asyncio.Event()

    async def extract_insights(
        self, memory_fragment: AgentMemoryFragment, llm_client: Any = None
    ) -> InsightMemoryFragment[AgentMemoryFragment]:
        self.asked.append(llm_client)
        if len(self.asked) == self.expected:
            self.all_asked.set()
        await asyncio.wait_for(self.all_asked.wait(), 60)
        return InsightMemoryFragment(memory_fragment, [memory_fragment.raw_observation.upper()])


class Gives(ImportanceScorer[AgentMemoryFragment], InsightExtractor[AgentMemoryFragment]):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> Any:
        return self.answer

    async def extract_insights(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> Any:
        return self.answer


def fragments(*texts: str) -> list[AgentMemoryFragment]:
    return [AgentMemoryFragment(text) for text in texts]


def test_initialize_and_clone() -> None:
    memory, scorer = Plain(), Gives(1)
    memory.initialize("agent", "client", scorer, scorer, AgentMemoryFragment, "session")
    clone = memory.structure_clone()
    assert (clone.name, clone.llm_client, clone.session_id) == ("agent", "client", "session")
    assert clone.importance_scorer is clone.insight_extractor is scorer
    assert clone.real_memory_fragment_class is AgentMemoryFragment
    memory.initialize()
    assert (memory.name, memory.session_id, clone.name) == (None, None, "agent")


def test_the_class_must_be_set() -> None:
    with pytest.raises(InvalidInput, match=r"The real memory fragment class is not set\."):
        _ = Plain().real_memory_fragment_class


def test_a_batch_hands_on_lone_insights() -> None:
    discarded = Plain().write_batch_sync(fragments("a", "b"))
    assert discarded is not None
    assert discarded.discarded_memory_fragments == []
    assert [one.insights[0].raw_observation for one in discarded.discarded_insights] == ["so it is"] * 2
    assert Plain().write_batch_sync([]) is None


def test_the_blocking_twins_do_the_same() -> None:
    memory = Plain()
    (one,) = fragments("a")
    memory.write_sync(one)
    assert memory.read_sync("a") == [one] == asyncio.run(memory.read("a"))
    assert memory.reflect_sync([one]) == [one]
    assert memory.clear_sync() == [one]
    assert memory.read_sync("a") == []


def test_hooks_do_nothing_by_themselves() -> None:
    one, two, three = fragments("a", "b", "c")
    twin = AgentMemoryFragment("b again", memory_id=two.id)
    memory = Plain()
    assert asyncio.run(memory.handle_duplicated([one, two], [twin, three])) == [one, twin, three]
    assert asyncio.run(memory.handle_overflow([one, two])) == ([one, two], [])


def test_insights_are_asked_for_at_once_and_come_in_order() -> None:
    async def run() -> list[str]:
        memory = Plain()
        memory.insight_extractor = Together(3)
        memory.llm_client = "client"
        found = await memory.get_insights(fragments("a", "b", "c"))
        assert memory.insight_extractor.asked == ["client"] * 3
        return [one.insights[0].raw_observation for one in found]

    assert asyncio.run(run()) == ["A", "B", "C"]


def test_nothing_concluded_is_no_error() -> None:
    memory = Plain()
    assert memory.get_insights_sync(fragments("a")) == []
    memory.insight_extractor = Gives(None)
    (found,) = memory.get_insights_sync(fragments("a"))
    assert found.insights == []


def test_what_is_no_insight_is_refused() -> None:
    memory = Plain()
    memory.insight_extractor = Gives(["a"])
    with pytest.raises(InvalidInput, match="InsightMemoryFragment"):
        memory.get_insights_sync(fragments("a"))


def test_scores_are_weighted() -> None:
    memory = Plain()
    assert memory.score_memory_importance_sync(fragments("a", "b")) == [0.75, 0.75]
    memory.importance_scorer = Gives(8)
    memory.importance_weight = 0.5
    assert memory.score_memory_importance_sync(fragments("a")) == [4.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, None, "8", True])
def test_a_score_is_a_finite_number(bad: object) -> None:
    memory = Plain()
    memory.importance_scorer = Gives(bad)
    with pytest.raises(InvalidInput, match="a score must be a finite number"):
        memory.score_memory_importance_sync(fragments("a"))


def test_when_one_fails_the_others_are_not_left_running() -> None:
    left: list[str] = []

    class Fails(Gives):
        async def score_importance(self, memory_fragment: AgentMemoryFragment, llm_client: Any = None) -> Any:
            if memory_fragment.raw_observation == "bad":
                raise KeyError("bad")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                left.append(memory_fragment.raw_observation)
                raise

    async def run() -> None:
        memory = Plain()
        memory.importance_scorer = Fails(1)
        with pytest.raises(KeyError):
            await memory.score_memory_importance(fragments("a", "bad", "c"))
        await asyncio.sleep(0)

    asyncio.run(run())
    assert left == ["a", "c"]
