"""Rows of minutes and hours hold every request once, whatever the clock does, and go when their time is over."""

from __future__ import annotations

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
    Course,
    Distinct,
    Failed,
    Row,
    Tally,
    Written,
    add_to,
    bucket_of,
    bucketed,
    drop,
    latency_of,
    number_of,
    percentile,
    read,
    tag_of,
)
from memwell.storage.memory import MemoryBackend

# Who comes twice counts once, in any order and over any number of processes.


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


# Histograms add up, and a percentile is right to within the width of a bucket.


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


# A tally comes back from its row as it was, and tallies add up.


KINDS = st.sampled_from(("write", "recall", "read", "other"))
REQUESTS = st.lists(st.tuples(KINDS, st.integers(0, 81), st.sampled_from((200, 404, 429, 500, 503))), max_size=30)


def tally_of(requests: list[tuple[str, int, int]], spaces: list[int]) -> Tally:
    tally = Tally()
    for kind, bucket, status in requests:
        tally.add(kind, bucket, status, 10)
    for space in spaces:
        tally.spaces.add(space)
        tally.speakers.add(space + 1)
    return tally


@given(REQUESTS, REQUESTS, st.lists(st.integers(0, 99)), st.lists(st.integers(0, 99)))
def test_tallies_add_up_before_and_after_they_are_stored(
    some: list[tuple[str, int, int]], others: list[tuple[str, int, int]], here: list[int], there: list[int]
):
    whole = tally_of(some + others, here + there).row(256)
    merged = tally_of(some, here)
    merged.merge(tally_of(others, there))
    stored = [msgspec.msgpack.encode(tally.row(256)) for tally in (tally_of(some, here), tally_of(others, there))]
    read = Tally()
    for one in stored:
        read.add_row(msgspec.msgpack.decode(one, type=Row), 256)
    assert merged.row(256) == read.row(256) == whole


def test_what_was_there_is_what_was_there_last():
    early, late, silent = Tally(), Tally(), Tally()
    early.memories, early.conversations, late.memories = 7, 3, 9
    for one in (late, silent):
        early.merge(one)
    assert (early.memories, early.conversations) == (9, 3)


def test_refusals_are_not_failures():
    tally = tally_of([("write", 1, 200), ("write", 1, 404), ("write", 1, 503)], [])
    assert (tally.requests, tally.refused, tally.errors, tally.bytes) == (3, 1, 1, 30)
    assert tally.write == {1: 3}


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


def test_rows_of_processes_are_read_beside_one_another():
    backend = MemoryBackend()
    for process, many in (("one", 2), ("other", 3)):
        going = course(process=process)
        for _ in range(many):
            going.tally.add("recall", 5, 200, 0)
        keep(backend, going.rows())
    [first, second] = read(backend.kv, WHOLE, MINUTES, NOON, NOON).slots
    assert first[0] == second[0] == NOON
    assert {first[1].requests, second[1].requests} == {2, 3}


def test_what_is_asked_for_is_what_is_read():
    backend, going = MemoryBackend(), course()
    for minute in range(NOON, NOON + 150, 10):
        keep(backend, going.turn(minute))
        going.tally.add("write", 1, 200, 0)
    keep(backend, going.rows())
    slots = read(backend.kv, WHOLE, MINUTES, NOON + 20, NOON + 80).slots
    assert [number - NOON for number, _ in slots] == [20, 30, 40, 50, 60, 70, 80]
    assert [row.requests for _, row in read(backend.kv, WHOLE, HOURS, NOON // 60, NOON // 60 + 2).slots] == [6, 6, 3]


def test_a_row_that_lives_stands_in_the_place_of_the_stored_one():
    backend, going = MemoryBackend(), course()
    going.tally.add("write", 1, 200, 0)
    keep(backend, going.rows())
    going.tally.add("write", 1, 200, 0)
    [(_, row)] = read(backend.kv, WHOLE, MINUTES, NOON, NOON, going.rows()).slots
    assert row.requests == 2


def test_rows_of_one_space_are_not_those_of_another():
    backend, ann, bo = MemoryBackend(), Space("ann"), Space("bo")
    for space in (ann, bo, None):
        going = course(space)
        going.tally.add("write", 1, 500, 0)
        going.fail(Failed(1.0, str(space), 500, "internal"))
        keep(backend, going.rows())
    told = read(backend.kv, tag_of(ann), MINUTES, NOON, NOON)
    assert len(told.slots) == 1
    assert [one.operation for one in told.failures] == [str(ann)]
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
