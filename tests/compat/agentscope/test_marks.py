"""Marks on places: sets of them, and the stretches to read."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.agentscope.marks import Marks, at, both, either, every, holds, stretches, without
from memwell.history import History
from memwell.messages import human
from memwell.storage.registry import open_backend

_PLACES = st.sets(st.integers(0, 40) | st.integers(4090, 4100) | st.integers(0, 20_000), max_size=12)


@given(_PLACES, _PLACES)
def test_sets_of_places_are_sets(left: set[int], right: set[int]) -> None:
    for made, expected in [
        (both(at(left), at(right)), left & right),
        (either(at(left), at(right)), left | right),
        (without(at(left), at(right)), left - right),
    ]:
        assert {one for one in left | right if holds(made, one)} == expected
        assert sum(bits.bit_count() for bits in made.values()) == len(expected)


@given(_PLACES)
def test_stretches_cover_every_place_in_order_and_little_else(places: set[int]) -> None:
    found = list(stretches(at(places)))
    covered = [place for start, stop in found for place in range(start, stop)]
    assert covered == sorted(set(covered))
    assert places <= set(covered)
    # Each stretch begins and ends with a place that is wanted, and no two of them could be one.
    assert all(start in places and stop - 1 in places for start, stop in found)
    assert all(after[0] - before[1] > 16 for before, after in pairwise(found))
    assert len(covered) <= 17 * len(places)


def test_marks_over_several_blocks_and_in_the_order_they_came_up() -> None:
    with open_backend("memory:") as backend:
        history = History(backend, "t")
        history.add(*(human("x") for _ in range(9_000)))
        info = history.info()
        assert info is not None
        assert list(stretches(every(info))) == [(0, 9_000)]
        marks = Marks(history)
        marks.put("z", at([1, 4_096, 8_999]))
        marks.put("a", at([4_096]))
        marks.put("z", at([2]))
        assert list(marks.all()) == ["z", "a"]
        assert marks.places("z", info) == at([1, 2, 4_096, 8_999])
        marks.take_off("z", at([8_999, 5_000]))
        marks.take_all_off(at([4_096]))
        assert marks.all() == {"z": at([1, 2])}
        history.trim(rounds=1)
        trimmed = history.info()
        assert trimmed is not None
        assert list(stretches(every(trimmed))) == [(8_999, 9_000)]
        history.delete()
        assert marks.all() == {}
