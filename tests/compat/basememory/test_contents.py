"""When two items are the same, and which may be one object."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory.contents import copied, identity_of, is_changeable
from memwell.messages import human

SCALARS = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.0, 1.0, 2.5]) | st.sampled_from(["", "a", "猫"])
)
ITEMS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner))


@given(ITEMS, ITEMS)
def test_two_items_have_one_identity_exactly_when_their_json_is_the_same(one: Any, other: Any) -> None:
    assert (identity_of(one) == identity_of(other)) == (json.dumps(one) == json.dumps(other))


@given(ITEMS)
def test_a_copy_is_equal_and_shares_nothing_that_can_be_changed(item: Any) -> None:
    other = copied(item)
    assert other == item
    assert other is not item or not isinstance(item, dict | list)


def test_what_python_calls_equal_may_be_different_items() -> None:
    assert len({identity_of(one) for one in (1, 1.0, True, "1", b"1", (1,), -0.0, 0.0)}) == 8


def test_an_object_is_seen_through_its_own_equality_or_not_at_all() -> None:
    @dataclass(frozen=True)
    class Point:
        x: int

    class Plain:
        pass

    assert identity_of(Point(1)) == identity_of(Point(1)) != identity_of(Point(2))
    assert identity_of(Plain()) is None
    assert identity_of([Plain()]) is None
    assert identity_of({1, 2}) is None
    assert identity_of(Point([1])) is None  # type: ignore[arg-type]


def test_a_message_is_the_same_only_with_its_id() -> None:
    said = human("hello")
    assert identity_of(said) == identity_of(said.changed()) != identity_of(human("hello"))


def test_what_can_be_changed_is_known() -> None:
    assert [is_changeable(one) for one in ("a", (1, "b"), [1], {"a": 1}, ("a", [1]), human("x"))] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]


def test_something_nested_too_deep_has_no_identity() -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    assert identity_of(deep) is None
