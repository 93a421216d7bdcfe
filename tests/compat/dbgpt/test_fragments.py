"""Fragments of memory, insights and times."""

from __future__ import annotations

import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.fragments import (
    AgentMemoryFragment,
    InsightMemoryFragment,
    StructuredAgentMemoryFragment,
)
from memwell.errors import InvalidInput

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
MOMENT = datetime(2026, 5, 1, tzinfo=UTC)


def test_ids_grow_fit_63_bits_and_differ_between_threads() -> None:
    with ThreadPoolExecutor(4) as threads:
        runs = list(threads.map(lambda _: [AgentMemoryFragment("x").id for _ in range(500)], range(4)))
    assert all(run == sorted(run) for run in runs)
    together = [one for run in runs for one in run]
    assert len(set(together)) == 2000
    # Above the ids that fragments had before they were made of microseconds.
    assert (int(time.time() * 1000) - 1_577_836_800_000) << 22 < min(together)
    assert max(together) < 2**63


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
    for made in (AgentMemoryFragment("x", [1.0]), StructuredAgentMemoryFragment({"thought": "x"}, [1.0])):
        twin = made.copy()
        assert type(twin) is type(made)
        assert twin is not made
        assert twin.id == made.id
        twin.update_importance(9.0)
        assert twin.embeddings is not None
        twin.embeddings.append(2.0)
        assert (made.importance, made.embeddings) == (None, [1.0])


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"observation": 5}, "an observation"),
        ({"observation": "a\x00"}, "NUL"),
        ({"importance": math.nan}, "importance"),
        ({"importance": "high"}, "importance"),
        ({"memory_id": -1}, "memory_id"),
    ],
)
def test_bad_values_are_refused(given_: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        AgentMemoryFragment(**{"observation": "x", **given_})


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_reduce_joins_observations(texts: list[str]) -> None:
    made = [AgentMemoryFragment(text) for text in texts]
    whole = made[0].reduce(made, importance=4.0)
    assert (whole.raw_observation, whole.importance) == (";".join(texts), 4.0)
    assert whole.id not in {one.id for one in made}


def test_a_structured_fragment_is_json() -> None:
    step = {"question": "天气如何？", "thought": "look"}
    made = StructuredAgentMemoryFragment(step)
    assert made.raw_observation == '{"question": "天气如何？", "thought": "look"}'
    step["thought"] = "changed"
    assert made.structured_observation["thought"] == "look"
    again = StructuredAgentMemoryFragment.build_from(made.raw_observation, memory_id=made.id)
    assert again.structured_observation == made.structured_observation


def test_structured_steps_are_reduced_without_loss() -> None:
    one, two = StructuredAgentMemoryFragment({"thought": "a"}), StructuredAgentMemoryFragment([{"thought": "b"}, {}])
    whole = one.reduce([one, two, AgentMemoryFragment("plain")], importance=2.0)
    assert json.loads(whole.raw_observation) == [{"thought": "a"}, {"thought": "b"}, {}, {"observation": "plain"}]
    assert whole.importance == 2.0
    assert one.reduce([one]) is one
    for made in (AgentMemoryFragment("x"), one):
        with pytest.raises(InvalidInput, match=r"Memory fragments is empty\."):
            made.reduce([])


@pytest.mark.parametrize("bad", [5, None, {"a": object()}, {"a": math.nan}, {1: 2}])
def test_what_json_cannot_hold_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput):
        StructuredAgentMemoryFragment(bad)


@given(TEXTS)
def test_any_text_becomes_an_insight_of_a_structured_fragment(text: str) -> None:
    (insight,) = InsightMemoryFragment(StructuredAgentMemoryFragment({"thought": "x"}), [text]).insights
    assert insight.is_insight
    read = json.loads(insight.raw_observation)
    assert read == {"observation": text} or read == json.loads(text)


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
