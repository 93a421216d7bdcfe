"""Rows of minutes and hours hold every request once, whatever the clock does, and go when their time is over."""

from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from memwell.records import Space
from memwell.runtime.metrics.trends import (
    FIGURES,
    HOURS,
    MINUTES,
    WHOLE,
    Course,
    Failed,
    Written,
    drop,
    read,
    tag_of,
)
from memwell.storage.memory import MemoryBackend

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
