from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition.beliefs import Belief, check_share, check_truth
from memwell.errors import InvalidInput

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
