"""The rules every stored value obeys, and errors that stay readable whatever they are about."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.testing.strategies import json_values, texts
from memwell.values import (
    MAX_ID_LENGTH,
    MAX_JSON_DEPTH,
    as_utc,
    check_count,
    check_flag,
    check_id,
    check_items,
    check_json,
    check_known,
    check_list,
    check_metadata,
    check_number,
    check_text,
    check_type,
    new_id,
    new_version,
    shown,
)


@given(st.text(st.characters(), max_size=30))
def test_text_is_taken_exactly_when_every_store_can_keep_it(text: str):
    try:
        text.encode()
        fine = "\x00" not in text
    except UnicodeEncodeError:
        fine = False
    if fine:
        assert check_text(text, "it") is text
    else:
        with pytest.raises(InvalidInput, match="it must not contain"):
            check_text(text, "it")


@given(texts(min_size=1, max_size=MAX_ID_LENGTH))
def test_an_id_is_any_text_of_some_length(text: str):
    assert check_id(text, "an id") is text


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        ("", "empty"), ("x" * 1025, "1024"), (None, "string"), (b"x", "string"), (5, "string"), ("a\x00", "NUL"),
        ("\udc00", "surr"),
    ],
)  # fmt: skip
def test_what_is_no_id_is_refused_by_its_rule(bad: Any, rule: str):
    with pytest.raises(InvalidInput, match=rule) as raised:
        check_id(bad, "the name")
    assert "the name" in str(raised.value)
    assert len(str(raised.value)) < 300


@given(json_values(max_leaves=20))
def test_plain_json_is_taken(value: Any):
    check_json(value, "it")
    assert check_metadata({"k": value}) == {"k": value}


class Subclass(dict[str, Any]):
    """Would not come back as itself."""


@pytest.mark.parametrize(
    "bad",
    [
        float("nan"), float("inf"), 2**63, -(2**63) - 1, object(), {1}, 1j, b"x", {1: 2}, {"\x00": 1}, "\ud800",
        Subclass(), ..., type("TextSubclass", (str,), {})("x"), type("NumberSubclass", (int,), {})(1),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_no_json_is_refused_at_any_depth(bad: Any):
    for value in (bad, [bad], {"k": bad}, {"k": [[{"k": bad}]]}):
        with pytest.raises(InvalidInput, match="it"):
            check_json(value, "it")


def test_depth_has_a_limit_and_a_loop_is_only_deep():
    deep: Any = 0
    for _ in range(MAX_JSON_DEPTH):
        deep = [deep]
    check_json(deep, "it")
    with pytest.raises(InvalidInput, match="deep"):
        check_json([deep], "it")
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidInput, match="deep"):
        check_json(loop, "it")


def test_metadata_is_copied_and_is_a_mapping():
    numbers = {"a": 1}
    copied = check_metadata(numbers)
    assert copied == numbers
    assert copied is not numbers
    for bad in (None, [], "x", 5):
        with pytest.raises(InvalidInput, match="mapping"):
            check_metadata(bad)


@pytest.mark.parametrize("bad", [-1, True, "1", 1.0, None, 2**63])
def test_a_count_is_a_whole_number(bad: Any):
    assert check_count(0, "n") == 0
    with pytest.raises(InvalidInput, match="n must be a whole number of at least 0"):
        check_count(bad, "n")
    with pytest.raises(InvalidInput, match=f"over {2**63 - 1}"):
        check_count(10**30, "tokens")


@given(
    st.recursive(
        st.integers() | st.text() | st.binary(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_what_is_shown_is_short(value: Any):
    assert len(shown(value)) < 500


def test_ids_sort_by_time_and_do_not_repeat():
    ids = [new_id() for _ in range(5000)]
    assert len(set(ids)) == 5000
    assert [one[:16] for one in ids] == sorted(one[:16] for one in ids)
    assert all(len(one) == 32 and set(one) <= set("0123456789abcdef") for one in ids)


def test_ids_and_versions_do_not_follow_the_program_s_seed():
    random.seed(1)
    first = new_id()[16:], new_version(), random.random()
    random.seed(1)
    second = new_id()[16:], new_version(), random.random()
    assert first[0] != second[0]
    assert first[1] != second[1] > 0
    assert first[2] == second[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_makes_other_ids():
    code = """if True:
        import os
        from memwell.values import new_id, new_version
        new_id()
        if os.fork() == 0:
            print(new_version(), flush=True)
            os._exit(0)
        os.wait()
        print(new_version())
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(set(done.stdout.split())) == 2


def test_a_time_that_would_round_into_the_year_10000_is_refused():
    with pytest.raises(InvalidInput, match="between the years 1 and 9999"):
        as_utc(datetime.max.replace(tzinfo=UTC), "a time")
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert datetime.fromtimestamp(as_utc(last, "a time").timestamp(), UTC) == last


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_type(5, str, "a name must be text"), "a name must be text, not 5"),
        (lambda: check_type(5, (str, bytes), "a name is text", "; see names"), "a name is text, not 5; see names"),
        (lambda: check_list("ab", "ids must be a list"), "ids must be a list, not 'ab'"),
        (lambda: check_list(b"ab", "ids must be a list"), "ids must be a list, not b'ab'"),
        (lambda: check_list({"a": 1}, "ids must be a list"), "ids must be a list, not {'a': 1}"),
        (lambda: check_list(None, "ids must be a list"), "ids must be a list, not None"),
        (lambda: check_items(5, int, "sizes must be a list of numbers"), "sizes must be a list of numbers, not 5"),
        (
            lambda: check_items([1, "x"], int, "sizes must be a list of numbers"),
            "sizes must be a list of numbers, not of 'x'",
        ),
        (lambda: check_flag(1, "pinned"), "pinned must be True or False, not 1"),
        (lambda: check_known("c", ("a", "b"), "kind"), "unknown kind 'c'; known: a, b"),
        (lambda: check_known(["a"], ("a", "b"), "kind"), "unknown kind ['a']; known: a, b"),
        (lambda: check_number(True, "trust"), "trust must be a number from 0 to 1, not True"),
        (lambda: check_number(float("nan"), "trust"), "trust must be a number from 0 to 1, not nan"),
        (lambda: check_number("1", "trust"), "trust must be a number from 0 to 1, not '1'"),
        (lambda: check_number(-2, "mood", least=-1), "mood must be a number from -1 to 1, not -2"),
        (lambda: check_number(-2, "a time", most=math.inf), "a time must be a number of at least 0, not -2"),
    ],
)
def test_what_breaks_a_rule_is_told_the_rule_and_shown(check: Callable[[], object], message: str):
    with pytest.raises(InvalidInput) as caught:
        check()
    assert str(caught.value) == message


def test_what_keeps_the_rule_is_returned():
    assert check_type("x", (str, bytes), "") == "x"
    assert check_list((one for one in "ab"), "") == ["a", "b"]
    assert check_items((1, 2), int, "") == [1, 2]
    assert check_list(numbers := [1, 2], "") is not numbers
    assert check_flag(False, "pinned") is False
    assert check_known("a", ("a", "b"), "kind") == "a"
    assert [check_number(one, "trust") for one in (0, 0.5, 1)] == [0, 0.5, 1]
    assert check_number(math.inf, "a time", most=math.inf) == math.inf
