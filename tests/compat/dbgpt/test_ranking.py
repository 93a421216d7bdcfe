from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.fragments import AgentMemoryFragment
from memwell.compat.dbgpt.ranking import Coefficients, Question, coefficients, cosine, recency
from memwell.errors import InvalidInput

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def test_those_not_given_are_one() -> None:
    assert coefficients(None, None, None) is None
    assert coefficients(0, None, 2.5) == Coefficients(0, 1.0, 2.5)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "1", True])
def test_a_coefficient_is_a_finite_number(bad: object) -> None:
    with pytest.raises(InvalidInput, match="beta must be a finite number"):
        coefficients(1.0, bad, None)  # type: ignore[arg-type]


def test_recency_falls_by_the_hour() -> None:
    assert recency(NOW, NOW) == 1.0
    assert recency(NOW - timedelta(hours=1), NOW) == pytest.approx(0.99)
    assert recency(NOW - timedelta(hours=10), NOW, 0.5) == pytest.approx(0.5**10)
    assert recency(NOW + timedelta(hours=5), NOW) == 1.0
    assert recency(NOW.replace(year=1990, tzinfo=None), NOW) < 1e-9


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=2), st.floats(0.1, 10))
def test_cosine(vector: list[float], factor: float) -> None:
    if math.hypot(*vector) > 1e-3:
        assert cosine(vector, [factor * one for one in vector]) == pytest.approx(1.0)
        assert cosine(vector, [-one for one in vector]) == pytest.approx(-1.0)
        assert cosine(vector, [-vector[1], vector[0]]) == pytest.approx(0.0)
    assert cosine(vector, [0.0, 0.0]) == 0.0


def test_relevance_is_the_share_of_words() -> None:
    fragment = AgentMemoryFragment("Anna drinks green tea")
    assert Question("green tea").relevance(fragment) == 1.0
    assert Question("green coffee").relevance(fragment) == 0.5
    assert Question("").relevance(fragment) == 0.0
    assert Question("绿茶").relevance(AgentMemoryFragment("安娜喝绿茶")) == 1.0
    assert Question("红酒").relevance(AgentMemoryFragment("安娜喝绿茶")) == 0.0


def test_relevance_is_by_vectors_of_one_size() -> None:
    fragment = AgentMemoryFragment("nothing in common", embeddings=[1.0, 0.0])
    assert Question("green tea", [2.0, 0.0]).relevance(fragment) == 1.0
    assert Question("green tea", [1.0, 0.0, 0.0]).relevance(fragment) == 0.0


def test_the_score_is_the_weighted_sum() -> None:
    fragment = AgentMemoryFragment("green tea", importance=3.0)
    score = Question("tea").score(fragment, NOW - timedelta(hours=2), NOW, Coefficients(2.0, 3.0, 5.0))
    assert score == pytest.approx(2 * 0.99**2 + 3 * 1.0 + 5 * 3.0)
    assert Question("tea").score(AgentMemoryFragment("x"), NOW, NOW, Coefficients(0, 1, 1)) == 0.0
