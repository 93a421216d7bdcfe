"""A tally comes back from its row as it was, and tallies add up."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from memwell.runtime.metrics.tally import Row, Tally

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
