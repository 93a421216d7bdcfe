"""Who comes twice counts once, in any order and over any number of processes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.records import Space
from memwell.runtime.metrics.distinct import Distinct, number_of

NUMBERS = st.lists(st.integers(0, 2**53 - 1) | st.integers(0, 40), max_size=60)


@given(NUMBERS, NUMBERS, st.integers(1, 30))
def test_two_are_merged_to_that_of_both(some: list[int], others: list[int], most: int):
    merged, whole = Distinct(most, some), Distinct(most, some + others)
    merged.merge(Distinct(most, others))
    assert merged.smallest(most) == whole.smallest(most) == sorted({*some, *others})[:most]
    assert merged.count() == whole.count()


@given(NUMBERS)
def test_few_are_counted_exactly(numbers: list[int]):
    assert Distinct(61, numbers).count() == len(set(numbers))


@pytest.mark.parametrize("many", [1_000, 20_000])
def test_many_are_estimated(many: int):
    numbers = [number_of(Space("acme", f"user-{n}")) for n in range(many)]
    assert len(set(numbers)) == many
    # Three standard errors of 6 %.
    assert abs(Distinct(256, numbers).count() - many) < 0.19 * many


def test_what_is_left_of_fewer_says_no_more_than_those():
    numbers = [number_of(Space(f"user-{n}")) for n in range(500)]
    coarse, fine = Distinct(64, numbers[:250]), Distinct(256, numbers)
    fine.merge(coarse)
    assert fine.most == 64
    assert fine.smallest(64) == sorted(numbers)[:64]
    fine.add(0)
    assert fine.smallest(64) == [0, *sorted(numbers)[:63]]


def test_a_speaker_is_another_in_another_space():
    ann = [number_of(Space("a"), "安"), number_of(Space("b"), "安"), number_of(Space("a"), "Bo"), number_of(Space("a"))]
    assert len(set(ann)) == 4
    assert number_of(Space("a", "b")) != number_of(Space("ab"))
    assert all(0 <= one < 2**53 for one in ann)
