"""What names conversations and messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.message_items import ConversationIdentifier, MessageIdentifier, MessageStorageItem
from memwell.compat.dbgpt.messages import HumanMessage
from memwell.compat.dbgpt.storage import StorageItem
from memwell.errors import InvalidInput

UIDS = st.text("ab_:-你1", max_size=12)


@given(UIDS, st.integers(0, 10**6))
def test_a_uid_may_hold_the_separator(uid: str, index: int) -> None:
    named = MessageIdentifier(uid, index)
    read = MessageIdentifier.from_str_identifier(named.str_identifier)
    assert (read.conv_uid, read.index, read.identifier_type) == (uid, index, "message")
    assert read == named


@given(st.lists(st.tuples(UIDS, st.integers(0, 99)), unique=True, max_size=12))
def test_two_messages_never_have_one_name(places: list[tuple[str, int]]) -> None:
    assert len({MessageIdentifier(*one).str_identifier for one in places}) == len(places)


def test_names_have_the_shape_of_old() -> None:
    assert MessageIdentifier("c", 3).str_identifier == "message___c___3"
    assert MessageIdentifier("c", 3, "note").to_dict() == {"conv_uid": "c", "index": 3, "identifier_type": "note"}
    assert MessageIdentifier.from_str_identifier("note___c___3").identifier_type == "note"
    assert ConversationIdentifier("c").str_identifier == "conversation:c"
    assert ConversationIdentifier("c").to_dict() == {"conv_uid": "c", "identifier_type": "conversation"}


@pytest.mark.parametrize(
    "text", ["", "message", "message___c", "message___c___", "message___c___x", "message___c___-1", "a__b__1"]
)
def test_other_texts_name_nothing(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid str identifier"):
        MessageIdentifier.from_str_identifier(text)


def test_a_message_as_an_item() -> None:
    said = HumanMessage("你好", 3, 1)
    item, other = MessageStorageItem("c", 3, said.to_dict()), MessageStorageItem("c", 3, HumanMessage("x").to_dict())
    assert item.identifier == MessageIdentifier("c", 3)
    assert MessageStorageItem(**item.to_dict()).to_message() == said
    item.merge(other)
    assert item.to_message().content == "x"

    class Stranger(MessageStorageItem):
        pass

    item.merge(Stranger("c", 3, said.to_dict()))
    assert item.to_message() == said
    with pytest.raises(ValueError, match="Can not merge"):
        item.merge(StorageItem.__new__(_Other))
    with pytest.raises(InvalidInput):
        MessageStorageItem("c", 3, {}).to_message()


class _Other(StorageItem):
    @property
    def identifier(self) -> ConversationIdentifier:
        return ConversationIdentifier("c")

    def merge(self, other: StorageItem) -> None:
        raise NotImplementedError

    def to_dict(self) -> dict[str, str]:
        return {}


def test_an_item_says_what_it_is():
    item = MessageStorageItem("c", 3, HumanMessage("hello").to_dict())
    assert repr(item).startswith("MessageStorageItem('c', 3, {'type': 'human'")
