from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition.attention import softmax
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
