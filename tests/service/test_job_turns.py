"""Turns: whoever waits comes to run, spaces one after the other, and none has all the threads."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import Busy
from memwell.records import Space
from memwell.service.job_turns import MOST_WAITING, MOST_WAITING_EACH, Turns, check_room

SPACES = [Space("a"), Space("b"), Space("c"), Space("d")]


@given(
    threads=st.integers(1, 4),
    steps=st.lists(st.sampled_from([*SPACES, *SPACES, None, None, None]), max_size=60),
    data=st.data(),
)
def test_whoever_waits_comes_to_run_and_no_space_has_all_threads(
    threads: int, steps: list[Space | None], data: st.DataObject
):
    turns: Turns[tuple[Space, int]] = Turns(threads)
    running: list[tuple[Space, int]] = []
    waiting: Counter[Space] = Counter()
    begun: list[tuple[Space, int]] = []

    def begin() -> None:
        while (taken := turns.take()) is not None:
            counts = Counter(space for space, _ in running)
            # A space that has none running goes before one that has.
            assert counts[taken[0]] <= min(counts[space] for space in waiting if waiting[space])
            waiting[taken[0]] -= 1
            running.append(taken)
            begun.append(taken)

    for number, step in enumerate(steps):
        if step is not None:
            turns.add(step, (step, number))
            waiting[step] += 1
        elif running:
            turns.ended(running.pop(data.draw(st.integers(0, len(running) - 1)))[0])
        begin()
        counts = Counter(space for space, _ in running)
        assert turns.running == len(running) <= threads
        assert all(count <= max(1, threads - 1) for count in counts.values())
    while running:
        turns.ended(running.pop()[0])
        begin()
    assert sorted(begun, key=lambda one: one[1]) == [(step, at) for at, step in enumerate(steps) if step is not None]
    for space in SPACES:
        # Within a space the first that came is the first that begins.
        assert [at for whose, at in begun if whose == space] == sorted(at for whose, at in begun if whose == space)


def test_what_is_dropped_does_not_begin():
    turns: Turns[int] = Turns(1)
    for number in range(4):
        turns.add(SPACES[number % 2], number)
    assert turns.drop(SPACES[0], 0)
    assert not turns.drop(SPACES[0], 0)
    assert not turns.drop(SPACES[0], 1)
    assert not turns.drop(SPACES[3], 1)
    assert turns.take() == 2
    assert sorted(turns.drop_all()) == [1, 3]
    turns.ended(SPACES[0])
    assert (turns.take(), turns.running) == (None, 0)


def test_there_is_room_for_so_many_in_all_and_of_each():
    own = [SPACES[0]] * (MOST_WAITING_EACH - 1)
    check_room(own, SPACES[0])
    with pytest.raises(Busy, match="of your jobs"):
        check_room([*own, SPACES[0]], SPACES[0])
    check_room([*own, SPACES[0]], SPACES[1])
    many = [Space("x", str(number)) for number in range(MOST_WAITING)]
    check_room(many[1:], SPACES[0])
    with pytest.raises(Busy):
        check_room(many, SPACES[0])
