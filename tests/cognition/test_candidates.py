from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition.candidates import enough_of


def once(found: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(found))


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 6))
def test_there_are_enough_as_long_as_there_are_any(stored: list[int], limit: int) -> None:
    kept = enough_of(lambda most: stored[:most], once, limit)
    assert len(kept) >= min(limit, len(once(stored)))
    assert kept == once(stored)[: len(kept)]


def test_no_more_is_asked_for_than_it_takes() -> None:
    asked: list[int] = []

    def fetch(most: int) -> list[int]:
        asked.append(most)
        return [7] * most

    assert enough_of(fetch, once, 5) == [7]
    assert asked == [10, 40, 160, 640]
