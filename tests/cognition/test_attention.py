from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition.attention import Belief, check_share, check_truth, softmax
from memwell.errors import InvalidInput

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


def test_known_values() -> None:
    assert softmax([1.0, 1.0]) == [0.5, 0.5]
    one, other = softmax([math.log(3), 0.0])
    assert (one, other) == (pytest.approx(0.75), pytest.approx(0.25))
    assert softmax([]) == []


@pytest.mark.parametrize("score", [math.nan, math.inf, "1", None, True, 10**400])
def test_what_is_no_number_is_refused(score: Any) -> None:
    with pytest.raises(InvalidInput, match="finite number"):
        softmax([0.0, score])


@pytest.mark.parametrize("temperature", [0, -1.0, math.nan, math.inf, "hot", True])
def test_a_temperature_is_above_zero(temperature: Any) -> None:
    with pytest.raises(InvalidInput, match="temperature"):
        softmax([1.0], temperature)


PRIORS = st.floats(1e-6, 1 - 1e-6)


@given(PRIORS, st.floats(0.5, 50), st.lists(st.booleans(), max_size=200))
def test_it_stays_within_bounds_and_moves_the_way_the_evidence_points(
    prior: float, strength: float, seen: list[bool]
) -> None:
    belief = Belief(prior, strength)
    for holds in seen:
        moved = belief.seen(holds)
        assert 0 < moved.value < 1
        assert moved.value > belief.value if holds else moved.value < belief.value
        belief = moved
    assert belief.observations == len(seen)


@given(st.lists(st.booleans(), max_size=30), st.randoms(use_true_random=False))
def test_the_order_of_the_evidence_does_not_matter(seen: list[bool], random: Any) -> None:
    def value(order: list[bool]) -> float:
        belief = Belief(0.8, 5)
        for holds in order:
            belief = belief.seen(holds)
        return belief.value

    shuffled = list(seen)
    random.shuffle(shuffled)
    assert value(seen) == value(shuffled)


def test_the_formula() -> None:
    assert Belief(0.8, 5).value == 0.8
    assert Belief(0.8, 5, support=1).value == pytest.approx(5 / 6)
    assert Belief(0.8, 5, against=5).value == pytest.approx(0.4)
    assert Belief().value == 0.5


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, float("nan"), "sure", True, None])
def test_nothing_is_certain(value: Any) -> None:
    with pytest.raises(InvalidInput, match="nothing is certain"):
        check_share(value, "a confidence")


def test_truth_is_a_boolean() -> None:
    assert check_truth(False, "success") is False
    for value in ("false", 0, None):
        with pytest.raises(InvalidInput, match="True or False"):
            check_truth(value, "success")
