"""The keys of identifiers: never the same for two, always storable, and in the order a person expects."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.identifier_keys import key_of
from memwell.values import MAX_ID_LENGTH, check_id

ANY_TEXT = st.text(st.characters(exclude_categories=()), min_size=1, max_size=30)
DIGITS = st.text("0123456789\0\1acd中", min_size=1, max_size=12)


@given(st.lists(ANY_TEXT | DIGITS, unique=True, max_size=40))
def test_two_identifiers_never_have_one_key(identifiers: list[str]) -> None:
    keys = [key_of(one) for one in identifiers]
    assert len(set(keys)) == len(identifiers)
    assert [check_id(key, "a key") for key in keys] == keys


@given(
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=3), st.integers(min_value=300, max_value=2_000)
)
def test_long_identifiers_have_keys_that_can_be_stored(piece: str, times: int) -> None:
    long = piece * times
    key = check_id(key_of(long), "a key")
    assert key != key_of(f"{long}x") != key_of(f"{long}y")
    assert len(key) <= MAX_ID_LENGTH


@given(st.lists(st.tuples(st.integers(0, 10**30), st.integers(0, 10**3)), unique=True, max_size=20))
def test_numbers_sort_by_their_value(numbers: list[tuple[int, int]]) -> None:
    names = {f"message___chat___{first}___{second}": (first, second) for first, second in numbers}
    assert [names[one] for one in sorted(names, key=key_of)] == sorted(numbers)


@given(st.lists(st.text("abz-:_é中", min_size=1, max_size=6), unique=True, max_size=20))
def test_what_holds_no_number_sorts_as_it_is(names: list[str]) -> None:
    assert sorted(names, key=key_of) == sorted(names)


def test_leading_zeros_count() -> None:
    names = ["a0", "a00", "a000000000", "a1", "a01", "a0001", "a2", "a10", "a1234567890"]
    assert sorted(set(names), key=key_of) == names
    assert re.fullmatch(r"a17[0-9]", key_of("a7"))
