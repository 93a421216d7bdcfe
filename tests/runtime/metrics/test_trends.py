"""Rows of minutes and hours hold every request once, whatever the clock does, and go when their time is over."""

from __future__ import annotations

from collections import Counter
from itertools import count
from math import ceil

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.records import Space
from memwell.runtime.metrics.trends import (
    BOUNDS,
    FIGURES,
    HOURS,
    MINUTES,
    WHOLE,
    Buckets,
    Course,
    Failed,
    Tally,
    Written,
    bucket_of,
    count_number,
    distinct,
    drop,
    latency_of,
    merged_numbers,
    number_of,
    percentile,
    read,
    tag_of,
)
from memwell.storage.memory import MemoryBackend

NUMBERS = st.lists(st.integers(0, 2**53 - 1) | st.integers(0, 40), max_size=60)


@given(NUMBERS, NUMBERS, st.integers(1, 30))
def test_numbers_are_counted_once_in_any_order(some: list[int], others: list[int], most: int):
    counted: list[int] = []
    for number in some:
        count_number(counted, number)
    assert counted == sorted(set(some))
    assert distinct(counted, 61) == len(set(some))
    merged = merged_numbers(counted[:most], merged_numbers(others, [], most), most)
    assert merged == sorted({*some, *others})[:most]


@pytest.mark.parametrize("many", [1_000, 20_000])
def test_many_are_estimated(many: int):
    numbers: list[int] = []
    for n in range(many):
        count_number(numbers, number_of(Space("acme", f"user-{n}")))
    assert len(numbers) == 256
    # Three standard errors of 6 %.
    assert abs(distinct(numbers, 256) - many) < 0.19 * many


def test_a_speaker_is_another_in_another_space():
    ann = [number_of(Space("a"), "安"), number_of(Space("b"), "安"), number_of(Space("a"), "Bo"), number_of(Space("a"))]
    assert len(set(ann)) == 4
    assert number_of(Space("a", "b")) != number_of(Space("ab"))
    assert all(0 <= one < 2**53 for one in ann)


# A percentile is right to within the width of a bucket.


TIMES = st.lists(st.floats(0.0, 200.0) | st.floats(0.0, 0.01) | st.sampled_from(BOUNDS), max_size=60)


def bucketed(times: list[float]) -> Buckets:
    return dict(Counter(map(bucket_of, times)))


@given(TIMES.filter(bool), st.sampled_from((0.01, 0.25, 0.5, 0.95, 0.99, 1.0)))
def test_a_percentile_lies_in_the_bucket_of_the_true_one(times: list[float], share: float):
    true = sorted(times)[max(ceil(share * len(times) - 1e-9), 1) - 1]
    found = percentile(bucketed(times), share)
    assert found is not None
    place = bucket_of(true)
    if place == len(BOUNDS):
        assert found == BOUNDS[-1]
    else:
        assert (BOUNDS[place - 1] if place else 0.0) <= found <= BOUNDS[place]
        assert abs(found - true) <= max(true * 0.2, BOUNDS[0])
    latency = latency_of(bucketed(times))
    assert latency.count == len(times)
    assert (latency.p50 or 0) <= (latency.p95 or 0) <= (latency.p99 or 0)


def test_odd_times_and_shares():
    assert percentile({}, 0.5) is latency_of({}).p99 is None
    assert bucket_of(-1.0) == bucket_of(0.0) == bucket_of(float("nan")) == 0
    assert bucket_of(float("inf")) == len(BOUNDS)
    for share in (0, -1, 1.1, float("nan")):
        with pytest.raises(InvalidInput, match="share"):
            percentile({3: 1}, share)


# A tally comes back from the store as it was, and tallies add up.


KINDS = st.sampled_from(("write", "recall", "read", "other"))
REQUESTS = st.lists(st.tuples(KINDS, st.integers(0, 81), st.sampled_from((200, 404, 429, 500, 503))), max_size=30)


def tally_of(requests: list[tuple[str, int, int]], spaces: list[int]) -> Tally:
    tally = Tally()
    for kind, bucket, status in requests:
        tally.add(kind, bucket, status, 10)
    for space in spaces:
        count_number(tally.spaces, space)
        count_number(tally.speakers, space + 1)
    return tally


@given(REQUESTS, REQUESTS, st.lists(st.integers(0, 99)), st.lists(st.integers(0, 99)))
def test_tallies_add_up_before_and_after_they_are_stored(
    some: list[tuple[str, int, int]], others: list[tuple[str, int, int]], here: list[int], there: list[int]
):
    merged = tally_of(some, here)
    merged.merge(tally_of(others, there))
    stored = Tally()
    for one in (tally_of(some, here), tally_of(others, there)):
        stored.merge(msgspec.msgpack.decode(msgspec.msgpack.encode(one), type=Tally))
    assert merged == stored == tally_of(some + others, here + there)


def test_totals_are_the_last_ones_and_refusals_are_no_failures():
    tally = tally_of([("write", 1, 200), ("write", 1, 404), ("write", 1, 503)], [])
    tally.memories, tally.conversations = 7, 3
    for later in (Tally(memories=9), Tally()):
        tally.merge(later)
    assert (tally.memories, tally.conversations) == (9, 3)
    assert (tally.requests, tally.refused, tally.errors, tally.bytes, tally.write) == (3, 1, 1, 30, {1: 3})


NOON = 30_000_240
"""The first minute of an hour."""


def course(space: Space | None = None, minute: int = NOON, process: str = "p") -> Course:
    numbers = count()
    return Course(space, minute, lambda: f"{process}-{next(numbers)}")


def keep(backend: MemoryBackend, rows: dict[str, Written]) -> None:
    for key, row in rows.items():
        backend.kv.put(FIGURES, key, row.value, ttl=row.ttl)


@given(st.lists(st.integers(-3_000, 3_000) | st.integers(-2, 70), max_size=25))
def test_no_request_is_lost_or_counted_twice_whatever_the_clock_does(steps: list[int]):
    backend, going, minute = MemoryBackend(), course(), NOON
    for step in steps:
        minute += step
        keep(backend, going.turn(minute))
        going.tally.add("write", 3, 200, 1)
        keep(backend, going.rows())
    for level in (MINUTES, HOURS):
        slots = read(backend.kv, WHOLE, level, 0, 10**9).slots
        assert sum(row.requests for _, row in slots) == len(steps)
        assert [number for number, _ in slots] == sorted(number for number, _ in slots)


def test_what_is_asked_for_is_what_is_read():
    backend, going = MemoryBackend(), course()
    for minute in range(NOON, NOON + 150, 10):
        keep(backend, going.turn(minute))
        going.tally.add("write", 1, 200, 0)
    keep(backend, going.rows())
    slots = read(backend.kv, WHOLE, MINUTES, NOON + 20, NOON + 80).slots
    assert [number - NOON for number, _ in slots] == [20, 30, 40, 50, 60, 70, 80]
    assert [row.requests for _, row in read(backend.kv, WHOLE, HOURS, NOON // 60, NOON // 60 + 2).slots] == [6, 6, 3]


def test_rows_of_one_space_are_not_those_of_another():
    backend, ann, bo = MemoryBackend(), Space("ann"), Space("bo")
    for space in (ann, bo, None):
        going = course(space)
        going.tally.add("write", 1, 500, 0)
        going.fail(Failed(1.0, str(space), 500, "internal"))
        keep(backend, going.rows())
    found = read(backend.kv, tag_of(ann), MINUTES, NOON, NOON)
    assert len(found.slots) == 1
    assert [one.operation for one in found.failures] == [str(ann)]
    assert drop(backend.kv, tag_of(ann)) == 2
    assert read(backend.kv, tag_of(ann), MINUTES, NOON, NOON).slots == []
    assert len(read(backend.kv, tag_of(bo), MINUTES, NOON, NOON).slots) == 1
    assert len(read(backend.kv, WHOLE, MINUTES, NOON, NOON).slots) == 1


def test_minutes_go_after_two_days_and_hours_after_more_than_a_year():
    days = {key.split("/")[1]: row.ttl / 86_400 for key, row in course().rows().items()}
    assert days == {"minutes": 2, "hours": 400}
    assert [row.ttl / 86_400 for row in course(Space("ann")).rows().values()] == [2, 32]


def test_no_key_says_whose_it_is():
    assert not any("ann" in key for key in course(Space("ann")).rows())
    assert tag_of(Space("a", "b")) != tag_of(Space("ab"))
