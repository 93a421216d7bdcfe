"""Marks on places: what is stored of them, and the ranges to read."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memwell.history import History
from memwell.history.marks import MessageMarks, every_place, places_at, stretches
from memwell.messages import human
from memwell.storage.registry import open_backend

_PLACES = st.sets(st.integers(0, 40) | st.integers(4090, 4100) | st.integers(0, 20_000), max_size=12)


@given(_PLACES)
def test_stretches_cover_every_place_in_order_and_little_else(places: set[int]) -> None:
    found = list(stretches(places_at(places)))
    covered = [place for start, stop in found for place in range(start, stop)]
    assert covered == sorted(set(covered))
    assert places <= set(covered)
    # Each range begins and ends with a place that is wanted, and no two of them could be one.
    assert all(start in places and stop - 1 in places for start, stop in found)
    assert all(after[0] - before[1] > 16 for before, after in pairwise(found))
    assert len(covered) <= 17 * len(places)


def test_marks_over_several_blocks_and_in_the_order_of_first_use() -> None:
    with open_backend("memory:") as backend:
        history = History(backend, "t")
        history.add(*(human("x") for _ in range(9_000)))
        info = history.info()
        assert info is not None
        assert list(stretches(every_place(info))) == [(0, 9_000)]
        marks = MessageMarks(history)
        marks.add("z", places_at([1, 4_096, 8_999]))
        marks.add("a", places_at([4_096]))
        marks.add("z", places_at([2]))
        assert list(marks.all()) == ["z", "a"]
        assert marks.places("z", info) == places_at([1, 2, 4_096, 8_999])
        marks.remove("z", places_at([8_999, 5_000, 4_096]))
        marks.remove("a", places_at([4_096]))
        assert marks.all() == {"z": places_at([1, 2])}
        history.trim(rounds=1)
        trimmed = history.info()
        assert trimmed is not None
        assert list(stretches(every_place(trimmed))) == [(8_999, 9_000)]
        history.delete()
        assert marks.all() == {}
