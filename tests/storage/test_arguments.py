"""Arguments are checked before a store is touched, in words that help."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.records import Record, Space, Thread
from memwell.storage import arguments as given_
from memwell.testing.strategies import json_values

HOME = Space("home")


@given(json_values() | st.binary(max_size=20))
def test_a_value_comes_back_as_it_went_in(value: Any):
    encoded = given_.encode_value(value)
    assert isinstance(encoded, bytes) == isinstance(value, bytes)
    assert given_.decode_value(encoded) == value
    assert type(given_.decode_value(encoded)) is type(value)


def test_a_value_is_large_but_not_boundless():
    assert given_.encode_value(b"x" * 2**24) == b"x" * 2**24
    for large in (b"x" * (2**24 + 1), "x" * 2**24):
        with pytest.raises(InvalidInput, match="limit"):
            given_.encode_value(large)


@given(st.integers(0, 2**59))
def test_a_cursor_is_a_count(number: int):
    assert given_.check_cursor(str(number)) == number


@pytest.mark.parametrize("bad", ["", "-1", "x", "1.0", "٣", "1" * 19, 5, b"1", " 1"])
def test_what_is_no_cursor_is_refused(bad: Any):
    with pytest.raises(InvalidInput, match="cursor"):
        given_.check_cursor(bad)


def test_no_cursor_is_before_everything():
    assert given_.check_cursor(None) == -1
    assert given_.check_name_cursor(None) is None
    assert given_.check_name_cursor("a") == "a"


@pytest.mark.parametrize("ttl", [0.001, 1, 1e10])
def test_a_time_to_live_ends_at_a_moment(ttl: float):
    assert given_.check_ttl(ttl, 100.0) == 100.0 + ttl
    assert given_.check_ttl(None, 100.0) is None


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "1", 10**400, 1e10 + 1])
def test_what_is_no_time_to_live_is_refused(bad: Any):
    with pytest.raises(InvalidInput, match="ttl"):
        given_.check_ttl(bad, 0.0)


def test_the_last_record_of_an_id_counts():
    first, last = Record(id="a", text="1", space=HOME), Record(id="a", text="2", space=HOME)
    other = Record(id="a", text="3", space=Space("away"))
    assert list(given_.check_records([first, other, last]).values()) == [last, other]


def test_limits_have_limits():
    assert given_.check_limit(given_.MAX_LIMIT) == given_.MAX_LIMIT
    for bad in (0, given_.MAX_LIMIT + 1, True, "5"):
        with pytest.raises(InvalidInput, match="limit"):
            given_.check_limit(bad)  # type: ignore[arg-type]


def test_a_bare_string_is_no_list_of_ids():
    assert given_.check_ids(iter(("a", "b"))) == ["a", "b"]
    with pytest.raises(InvalidInput, match="'abc'"):
        given_.check_ids("abc")


def test_a_space_and_a_thread_are_never_guessed():
    assert given_.check_space(HOME) is HOME
    thread = Thread(HOME, "t")
    assert given_.check_thread(thread) is thread
    with pytest.raises(InvalidInput, match="Space"):
        given_.check_space("home")
    with pytest.raises(InvalidInput, match="Thread"):
        given_.check_thread("t")


@given(st.floats(-6e10, 2e11))
def test_a_moment_is_in_utc(timestamp: float):
    moment = given_.moment(timestamp)
    assert moment.utcoffset() is not None
    assert moment.timestamp() == pytest.approx(timestamp, abs=1e-5)
