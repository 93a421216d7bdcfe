"""Histograms add up, and a percentile is right to within the width of a bucket."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.runtime.metrics.latencies import BOUNDS, add_to, bucket_of, bucketed, latency_of, percentile

TIMES = st.lists(st.floats(0.0, 200.0) | st.floats(0.0, 0.01) | st.sampled_from(BOUNDS), max_size=60)


@given(TIMES, TIMES)
def test_histograms_of_parts_add_up_to_that_of_the_whole(some: list[float], others: list[float]):
    added = bucketed(some)
    add_to(added, bucketed(others))
    assert added == bucketed(some + others)


@given(TIMES.filter(bool), st.sampled_from((0.01, 0.25, 0.5, 0.95, 0.99, 1.0)))
def test_a_percentile_lies_in_the_bucket_of_the_true_one(times: list[float], share: float):
    true = sorted(times)[max(ceil(share * len(times) - 1e-9), 1) - 1]
    told = percentile(bucketed(times), share)
    assert told is not None
    place = bucket_of(true)
    if place == len(BOUNDS):
        assert told == BOUNDS[-1]
    else:
        least = BOUNDS[place - 1] if place else 0.0
        assert least <= told <= BOUNDS[place]
        assert abs(told - true) <= max(true * 0.2, BOUNDS[0])


@given(TIMES)
def test_percentiles_do_not_fall(times: list[float]):
    told = latency_of(bucketed(times))
    assert told.count == len(times)
    if times:
        assert told.p50 is not None
        assert told.p95 is not None
        assert told.p99 is not None
        assert told.p50 <= told.p95 <= told.p99


def test_of_no_times_nothing_is_told():
    assert percentile({}, 0.5) is None
    assert latency_of({}).p99 is None


@pytest.mark.parametrize("share", [0, -1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(share: float):
    with pytest.raises(InvalidInput, match="share"):
        percentile({3: 1}, share)


def test_odd_times_fall_into_a_bucket():
    assert bucket_of(-1.0) == bucket_of(0.0) == bucket_of(float("nan")) == 0
    assert bucket_of(float("inf")) == len(BOUNDS)
