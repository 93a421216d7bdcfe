"""Spaces, threads, vectors and records obey their rules from the moment they are made."""

from __future__ import annotations

import copy
import pickle
from array import array
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import memwell
from memwell.errors import InvalidInput
from memwell.records import (
    DEFAULT_SPACE,
    MAX_DIMENSIONS,
    Record,
    Space,
    Thread,
    as_opened,
    as_space,
    as_vector,
    pack_half,
    space_named,
    unpack_half,
)
from memwell.testing.strategies import ids, vectors

BAD_IDS = [
    ("", "empty"), ("x" * 1025, "1024"), ("\x00", "NUL"), ("\ud800", "surrogate"), (None, "string"), (5, "string"),
]  # fmt: skip
SEGMENTS = st.lists(ids(), min_size=1, max_size=4)


@given(SEGMENTS, SEGMENTS)
def test_spaces_are_equal_when_their_segments_are(one: list[str], other: list[str]):
    assert (Space(*one) == Space(*other)) == (one == other)
    assert (Space(*one).encoded() == Space(*other).encoded()) == (one == other)


@given(SEGMENTS)
def test_a_space_comes_back_from_its_text(segments: list[str]):
    space = Space(*segments)
    assert Space.decode(space.encoded()) == space
    assert Space(*segments[:-1], segments[-1]) == (Space(*segments[:-1]) / segments[-1] if segments[1:] else space)
    assert copy.deepcopy(space) == space
    assert pickle.loads(pickle.dumps(space)) == space  # noqa: S301 - our own
    assert isinstance(copy.deepcopy(space), Space)


@pytest.mark.parametrize(("bad", "rule"), BAD_IDS)
def test_a_bad_name_is_refused_everywhere(bad: Any, rule: str):
    for make in (
        lambda: Space(bad),
        lambda: Space("ok", bad),
        lambda: Space("ok") / bad,
        lambda: Thread(Space("ok"), bad),
        lambda: Record(text="x", id=bad),
        lambda: Record(text="x", kind=bad),
    ):
        with pytest.raises(InvalidInput) as raised:
            make()
        assert rule in str(raised.value)


def test_a_space_has_some_segments_but_not_too_many():
    assert len(Space(*"a" * 16)) == 16
    for bad in ((), "a" * 17):
        with pytest.raises(InvalidInput, match="segments"):
            Space(*bad)


@pytest.mark.parametrize(
    ("values", "space"),
    [
        (["acme/ann"], Space("acme", "ann")), (["acme", "ann"], Space("acme", "ann")), (["ann"], Space("ann")),
        (['["a/b"]'], Space("a/b")), (["a/b", "c"], Space("a/b", "c")), (["[1]"], Space("[1]")), (["7"], Space("7")),
    ],
)  # fmt: skip
def test_a_text_names_a_space_by_its_segments(values: list[str], space: Space):
    assert space_named(values) == space


@given(st.lists(st.text('a/[]",', min_size=1), min_size=1, max_size=3))
def test_every_space_has_a_name(segments: list[str]):
    space = Space(*segments)
    assert space_named([space.encoded()]) == space


def test_a_space_that_is_none_has_no_name():
    for values in (["a//b"], ["[]"], ["/"], [""]):
        with pytest.raises(InvalidInput):
            space_named(values)


def test_a_string_names_a_space_of_one_segment():
    assert as_space("a/b") == Space("a/b") != Space("a", "b")
    assert Thread("home", "t").space == Space("home")  # type: ignore[arg-type]
    assert Record(text="x").space == DEFAULT_SPACE
    assert Record(text="x", space="home").space == Space("home")  # type: ignore[arg-type]
    for bad in (None, 5, ("a",), ["a"]):
        with pytest.raises(InvalidInput, match="space"):
            as_space(bad)  # type: ignore[arg-type]


@given(vectors())
def test_a_vector_becomes_a_direction(numbers: list[float]):
    vector = as_vector(numbers)
    assert sum(x * x for x in vector) == pytest.approx(1.0, abs=1e-5)
    assert list(as_vector([x * 1e100 for x in numbers])) == pytest.approx(list(vector), abs=1e-6)
    assert list(as_vector([x * 1e-100 for x in numbers])) == pytest.approx(list(vector), abs=1e-6)
    kept = unpack_half(pack_half(vector))
    assert list(kept) == pytest.approx(list(vector), abs=1e-3)
    assert pack_half(kept) == pack_half(vector)


@pytest.mark.parametrize(
    "kind", [list, tuple, lambda v: array("d", v), np.array, lambda v: np.array(v, dtype=np.float32), iter]
)
def test_any_sequence_of_numbers_is_a_vector(kind: Any):
    assert list(as_vector(kind([3.0, 4.0]))) == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ([], "dimensions"), ([0.0, 0.0], "direction"), ([float("nan")], "nan"), ([1.0, float("-inf")], "-inf"),
        ([1.7e308, 1.7e308], "overflow"), ([1.0] * (MAX_DIMENSIONS + 1), "dimensions"), ("12", "numbers"),
        (b"12345678", "numbers"), (bytearray(8), "numbers"), (None, "numbers"), (5, "numbers"), (["1"], "number"),
        ([[1.0]], "number"), ([1j], "number"), ([10**400], "number"),
    ],
)  # fmt: skip
def test_what_has_no_direction_is_refused(bad: Any, rule: str):
    for make in (lambda: as_vector(bad), lambda: Record(text="x", vector=bad)):
        if bad is None and make is not None:
            continue
        with pytest.raises(InvalidInput) as raised:
            make()
        assert rule in str(raised.value)


def test_a_vector_that_was_stored_goes_in_untouched():
    stored = unpack_half(pack_half(as_vector([0.1, 0.2, 0.3])))
    assert Record(text="x", vector=stored).vector is stored
    changed = array("f", [float("nan"), 1.0])
    with pytest.raises(InvalidInput):
        Record(text="x", vector=changed)


def test_a_time_is_in_utc():
    zone = timezone(timedelta(hours=8))
    assert Record(text="x", time=datetime(2024, 1, 1, 8, tzinfo=zone)).time == datetime(2024, 1, 1, tzinfo=UTC)
    assert Record(text="x", time=datetime(2024, 1, 1)).time == datetime(2024, 1, 1, tzinfo=UTC)  # noqa: DTZ001
    assert Record(text="x", time=datetime(2024, 1, 1, 8, tzinfo=zone)).time.tzinfo is UTC
    for bad in (
        "now",
        5,
        None,
        datetime.min.replace(tzinfo=zone),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=8))),
    ):
        with pytest.raises(InvalidInput, match="time"):
            Record(text="x", time=bad)  # type: ignore[arg-type]


def test_a_text_is_large_but_not_boundless():
    with pytest.raises(InvalidInput, match="over"):
        Record(text="x" * (2**24 + 1))
    for bad in (None, 5, b"x", "\x00", "\ud800"):
        with pytest.raises(InvalidInput, match="text"):
            Record(text=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("said", ["acme/ann", "a/b/c"])
def test_a_text_with_a_slash_opens_no_space_as_it_may_mean_two(said: str):
    with pytest.raises(InvalidInput) as refused:
        as_opened(said)
    assert repr(space_named([said])) in str(refused.value)
    assert repr(as_space(said)) in str(refused.value)
    with pytest.raises(InvalidInput):
        as_opened("/")
    assert as_opened(Space(said)) == Space(said)
    assert as_opened("ann") == space_named(["ann"])


def test_the_memory_of_a_space_is_not_opened_by_a_text_with_a_slash():
    with memwell.open("memory:", embedder=None) as memory:
        for open_ in (memory.at, memory.grant, memory.revoke, lambda space: memwell.open("memory:", space=space)):
            with pytest.raises(InvalidInput, match="several"):
                open_("acme/ann")
