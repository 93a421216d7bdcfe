"""What is packed comes back equal, of the same type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory.packing import Packer, check_level, decode_item, encode_item
from memwell.compat.basememory.vectors import sparsified
from memwell.errors import InvalidInput
from memwell.messages import human

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    # What is no text anywhere is no JSON either.
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "键"]), inner, max_size=2),
    max_leaves=8,
)


@given(PLAIN | st.text(max_size=50) | st.binary(max_size=50))
def test_every_item_comes_back(item: Any) -> None:
    back = decode_item(encode_item(item))
    assert back == item
    assert type(back) is type(item)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=80), st.integers(1, 9))
def test_many_are_packed_by_what_they_have_in_common_and_each_is_read_alone(items: list[str], level: int) -> None:
    packer = Packer()
    encoded = [encode_item(f"User says: Hello, world! {item}") for item in items]
    packer.learn(encoded, level)
    packed = packer.packed(encoded, level)
    # What is packed with an earlier dictionary is read with it, whatever was learnt since.
    packer.learn([b"s" + b"quite another thing " * 9] * 200, level)
    assert [packer.unpacked(one) for one in packed] == [f"User says: Hello, world! {item}" for item in items]


def test_a_dictionary_makes_short_items_small() -> None:
    encoded = [encode_item(f"User{at} says: Hello, world!") for at in range(1000)]
    packer, plain = Packer(), Packer()
    packer.learn(encoded, 6)
    assert sum(map(len, packer.packed(encoded, 6))) < 0.6 * sum(map(len, plain.packed(encoded, 6)))


@pytest.mark.parametrize("item", ["\ud800", "fine \udfff", {"a": "\ud800"}])
def test_half_a_character_is_refused(item: Any) -> None:
    with pytest.raises(InvalidInput, match=r"an item.* must not contain lone surrogates"):
        encode_item(item)


def test_messages_and_vectors_come_back() -> None:
    said, vector = human("你好", name="Anna"), sparsified([0.25] * 9, error=0.1)
    assert decode_item(encode_item(said)) == said
    assert decode_item(encode_item(vector)) == vector


@pytest.mark.parametrize("item", [(1, 2), [(1,)], {1: 2}, object(), {"a": {1}}, float("nan"), 2**70])
def test_what_would_not_come_back_is_refused(item: Any) -> None:
    with pytest.raises(InvalidInput):
        encode_item(item)


@pytest.mark.parametrize("level", [0, 10, True, "6", 1.5])
def test_what_is_no_level_is_refused(level: Any) -> None:
    with pytest.raises(InvalidInput, match="from 1 to 9"):
        check_level(level)
