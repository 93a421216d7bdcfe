from __future__ import annotations

import math
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition.working import WorkingMemory, softmax
from memwell.errors import InvalidInput, NotFound


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2024, 5, 7, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def tick(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def test_seven_things_are_held_and_the_oldest_of_equals_goes() -> None:
    held = WorkingMemory()
    assert [held.add(f"item {n}") for n in range(7)] == [None] * 7
    assert held.add("item 7") == "item 0"
    assert held.items() == [f"item {n}" for n in range(1, 8)]


def test_what_is_attended_to_stays() -> None:
    clock = Clock()
    held = WorkingMemory(2, half_life_s=60, clock=clock)
    held.add("the goal", attention=5.0)
    clock.tick(30)
    held.add("a noise", attention=0.1)
    assert held.add("a word") == "a noise"
    assert [one.item for one in held.active()] == ["the goal", "a word"]


def test_attention_fades_by_half_in_a_half_life() -> None:
    clock = Clock()
    held = WorkingMemory(half_life_s=60, clock=clock)
    held.add("old", attention=1.0)
    clock.tick(60)
    held.add("new", attention=0.6)
    assert [(one.item, one.activation) for one in held.active()] == [("new", 0.6), ("old", 0.5)]
    assert held.attend("old", 0.25).activation == 0.75
    assert [one.item for one in held.active(limit=1)] == ["old"]
    assert held.attend("old", -2).activation == 0.0


def test_what_is_said_again_is_held_once() -> None:
    held = WorkingMemory(2)
    held.add("猫", source="m1")
    held.add("dog")
    assert held.add("猫") is None
    assert held.items() == ["dog", "猫"]
    assert next(one.source for one in held.active() if one.item == "猫") == "m1"
    assert held.drop("dog")
    assert not held.drop("dog")
    held.clear()
    assert len(held) == 0


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 20), st.floats(0, 10), st.floats(0, 1e6)), max_size=60))
def test_capacity_is_never_exceeded_and_what_was_just_added_is_there(
    capacity: int, steps: list[tuple[int, float, float]]
) -> None:
    clock = Clock()
    held = WorkingMemory(capacity, clock=clock)
    expected: set[int] = set()
    for item, attention, wait in steps:
        clock.tick(wait)
        evicted = held.add(item, attention)
        expected.add(item)
        expected.discard(-1 if evicted is None else evicted)
        assert len(held) <= capacity
        assert item in held
        assert set(held.items()) == expected
        levels = [one.activation for one in held.active()]
        assert levels == sorted(levels, reverse=True)


def test_eight_threads_share_one() -> None:
    held = WorkingMemory(5)
    evicted: list[int] = []

    def work(number: int) -> None:
        for step in range(200):
            gone = held.add(number * 1000 + step)
            if gone is not None:
                evicted.append(gone)
            held.active()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(held) == 5
    assert len(set(evicted)) == len(evicted) == 8 * 200 - 5
    assert not set(evicted) & set(held.items())


@pytest.mark.parametrize("attention", [-1, 1001, math.nan, "much", True])
def test_attention_has_bounds(attention: Any) -> None:
    with pytest.raises(InvalidInput, match="attention"):
        WorkingMemory().add("x", attention)


def test_other_bad_values() -> None:
    with pytest.raises(InvalidInput, match="capacity"):
        WorkingMemory(0)
    with pytest.raises(InvalidInput, match="half_life_s"):
        WorkingMemory(half_life_s=0)
    with pytest.raises(NotFound, match="'x'"):
        WorkingMemory().attend("x")
    with pytest.raises(InvalidInput, match="finite"):
        WorkingMemory().attend("x", math.inf)


SCORES = st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=50)
TEMPERATURES = st.floats(1e-6, 1e6)


@given(SCORES, TEMPERATURES)
def test_weights_add_up_to_one_and_none_is_below_zero(scores: list[float], temperature: float) -> None:
    weights = softmax(scores, temperature)
    assert math.isclose(math.fsum(weights), 1.0, rel_tol=1e-12)
    assert len(weights) == len(scores)
    assert min(weights) >= 0.0


@given(SCORES, TEMPERATURES)
def test_a_higher_score_never_weighs_less(scores: list[float], temperature: float) -> None:
    ordered = sorted(zip(scores, softmax(scores, temperature), strict=True))
    assert [weight for _, weight in ordered] == sorted(weight for _, weight in ordered)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=10, unique=True))
def test_the_best_has_the_more_the_colder_it_is(scores: list[float]) -> None:
    best = scores.index(max(scores))
    warm, cool = softmax(scores, 2.0)[best], softmax(scores, 0.5)[best]
    assert cool >= warm > 0


@pytest.mark.parametrize("score", [math.nan, math.inf, "1", None, True, 10**400])
def test_what_is_no_number_is_refused(score: Any) -> None:
    with pytest.raises(InvalidInput, match="finite number"):
        softmax([0.0, score])


@pytest.mark.parametrize("temperature", [0, -1.0, math.nan, math.inf, "hot", True])
def test_a_temperature_is_above_zero(temperature: Any) -> None:
    with pytest.raises(InvalidInput, match="temperature"):
        softmax([1.0], temperature)
