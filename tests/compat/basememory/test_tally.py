"""What is unread is counted as one would count it by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory.tally import Tally


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["Anna", "Ben", None])), max_size=30), st.integers(0, 60))
def test_counting_is_counting(steps: list[tuple[int, str | None]], after: int) -> None:
    tally, place, said = Tally(), 0, list[tuple[int, str | None]]()
    for gap, sender in steps:
        place += gap
        tally.note(place, sender)
        said.append((place, sender))
    for user in ("Anna", "Ben", "Clara"):
        unread = [at for at, sender in said if at >= after and sender != user]
        assert tally.unread(user, after) == unread
        assert tally.count(user, after) == len(unread)
