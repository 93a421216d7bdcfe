"""Fragments, insights, the contract of a memory, and the scorers and extractors it asks."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime
from typing import Any

import pytest

from memwell.compat.dbgpt.memory import (
    AgentMemoryFragment,
    ContentImportanceScorer,
    DiscardedMemoryFragments,
    ImportanceScorer,
    InsightExtractor,
    InsightMemoryFragment,
    WriteOperation,
)
from memwell.compat.dbgpt.short_term import ShortTermMemory
from memwell.errors import InvalidInput


class Plain(ShortTermMemory[AgentMemoryFragment]):
    """A memory that concludes something from every fragment."""

    async def write(
        self, memory_fragment: AgentMemoryFragment, now: datetime | None = None, op: WriteOperation = WriteOperation.ADD
    ) -> DiscardedMemoryFragments[AgentMemoryFragment]:
        await super().write(memory_fragment, now, op)
        return DiscardedMemoryFragments([], [InsightMemoryFragment(memory_fragment, ["so it is"])])


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
    assert Plain().reflect_sync(made := fragments("a")) == made


async def test_insights_are_asked_for_at_once_and_come_in_order() -> None:
    memory = Plain()
    memory.insight_extractor = Together(3)
    memory.llm_client = "client"
    found = await memory.get_insights(fragments("a", "b", "c"))
    assert memory.insight_extractor.asked == ["client"] * 3
    assert [one.insights[0].raw_observation for one in found] == ["A", "B", "C"]


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


async def test_when_one_fails_the_others_are_not_left_running() -> None:
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

    memory = Plain()
    memory.importance_scorer = Fails(1)
    with pytest.raises(KeyError):
        await memory.score_memory_importance(fragments("a", "bad", "c"))
    await asyncio.sleep(0)
    assert left == ["a", "c"]


def score(text: str) -> float:
    return asyncio.run(ContentImportanceScorer().score_importance(AgentMemoryFragment(text)))


def test_what_matters_scores_more() -> None:
    assert (
        score("I am allergic to peanuts and my doctor is Anna Berg.")
        > score("Well, that was a nice day.")
        > score("ok")
    )
    assert score("我对花生过敏，必须记住。") > score("好的")


MOMENT = datetime(2026, 5, 1, tzinfo=UTC)


def test_a_fragment_has_what_it_was_given() -> None:
    made = AgentMemoryFragment("saw a cat", [1, 0.5], 7, 3.0, MOMENT, True, "/tmp/snapshot")
    assert (made.id, made.memory_id, made.raw_observation, made.observation) == (7, 7, "saw a cat", "saw a cat")
    assert (made.embeddings, made.importance, made.last_accessed_time) == ([1.0, 0.5], 3.0, MOMENT)
    assert (made.is_insight, made.snapshot_path, made.metadata) == (True, "/tmp/snapshot", {})
    built = AgentMemoryFragment.build_from("x", is_insight=True, snapshot_path="p", unknown=1)
    assert (built.raw_observation, built.is_insight, built.snapshot_path, built.current_class) == (
        "x",
        True,
        "p",
        AgentMemoryFragment,
    )
    assert AgentMemoryFragment("x").importance is None


def test_updates_return_what_was() -> None:
    made = AgentMemoryFragment("x", importance=1.0)
    assert (made.update_importance(2.0), made.importance) == (1.0, 2.0)
    assert (made.update_accessed_time(MOMENT), made.last_accessed_time) == (None, MOMENT)
    made.update_embeddings([1.0])
    assert made.embeddings == [1.0]
    assert made.calculate_current_embeddings(lambda texts: [[float(len(text))] for text in texts]) == [1.0]
    assert made.embeddings == [1.0]


def test_a_copy_is_another_object_of_the_same_class() -> None:
    class Sighting(AgentMemoryFragment):
        pass

    made = Sighting("x", [1.0])
    twin = made.copy()
    assert type(twin) is Sighting
    assert twin is not made
    assert twin.id == made.id
    twin.update_importance(9.0)
    assert twin.embeddings is not None
    twin.embeddings.append(2.0)
    assert (made.importance, made.embeddings) == (None, [1.0])


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"observation": 5}, "an observation"), ({"observation": "a\x00"}, "NUL"),
        ({"importance": math.nan}, "importance"), ({"importance": "high"}, "importance"),
        ({"memory_id": -1}, "memory_id"),
    ],
)  # fmt: skip
def test_bad_values_are_refused(given_: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        AgentMemoryFragment(**{"observation": "x", **given_})


def test_reduce_joins_observations() -> None:
    made = fragments("a", "", "b;c")
    whole = made[0].reduce(made, importance=4.0)
    assert (whole.raw_observation, whole.importance) == ("a;;b;c", 4.0)
    assert whole.id not in {one.id for one in made}
    with pytest.raises(InvalidInput, match=r"Memory fragments is empty\."):
        made[0].reduce([])


def test_insights_are_fragments() -> None:
    original = AgentMemoryFragment("x")
    ready = AgentMemoryFragment("ready", is_insight=True)
    made = InsightMemoryFragment(original, [ready, "said"])
    assert made.original_memory_fragment is original
    assert made.insights[0] is ready
    assert (made.insights[1].raw_observation, made.insights[1].is_insight) == ("said", True)
    assert InsightMemoryFragment([original], ["a"]).insights[0].is_insight
    assert InsightMemoryFragment(original, []).insights == []
    with pytest.raises(InvalidInput, match="from a fragment"):
        InsightMemoryFragment([], ["a"])


def test_an_insight_knows_what_it_was_concluded_from() -> None:
    first, second = AgentMemoryFragment("one"), AgentMemoryFragment("two")
    own = AgentMemoryFragment("three", is_insight=True)
    own.derived_from = (7, first.id)
    found = InsightMemoryFragment([first, second], ["text", own, first])
    assert [one.derived_from for one in found.insights] == [
        (first.id, second.id),
        (7, first.id, second.id),
        (second.id,),
    ]
    assert second.derived_from == ()
