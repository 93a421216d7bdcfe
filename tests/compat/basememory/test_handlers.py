"""Text, dicts, messages and classes of one's own are stored and come back as they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory import Handler, RecallMessage
from memwell.compat.basememory.handlers import Handlers, is_recalled, kind_of
from memwell.errors import Conflict, InvalidInput
from memwell.history import History
from memwell.messages import Image, Message, Role, decode_message, encode_message, human
from memwell.storage.memory import MemoryBackend

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
VALUES = TEXT | st.integers(-9, 9) | st.none() | st.booleans() | st.lists(TEXT, max_size=2)
KEYS = st.sampled_from(["content", "text", "sender", "user_id", "type", "role", "url", "timestamp", "target", "x"])


@given(TEXT | st.dictionaries(KEYS, VALUES | st.sampled_from(["image", "audio", "system", "recall"]), max_size=5))
def test_text_and_dicts_come_back_as_they_were(item: Any) -> None:
    handlers = Handlers()
    stored = decode_message(encode_message(handlers.to_core(item)))
    assert handlers.from_core(stored) == item


def test_a_dict_is_where_other_rooms_look_for_it() -> None:
    handlers = Handlers()
    said = handlers.to_core({"user_id": "Anna", "content": "你好", "timestamp": 5})
    assert (said.name, said.text, said.role) == ("Anna", "你好", Role.HUMAN)
    shown = handlers.to_core({"type": "image", "url": "https://example.org/c.png", "data": b"PNG", "caption": "猫"})
    assert shown.parts == (Image(url="https://example.org/c.png", data=b"PNG", text="猫"),)
    assert handlers.from_core(shown)["data"] == b"PNG"
    assert handlers.to_core({"role": "assistant", "content": "yes"}).role is Role.AI


def test_what_another_room_changed_is_read_as_it_is_now() -> None:
    handlers = Handlers()
    with MemoryBackend() as backend:
        history = History(backend, "chat")
        history.add(handlers.to_core({"content": "old", "x": 1}), handlers.to_core("old"))
        history.edit(0, "new")
        history.edit(1, "new")
        assert list(map(handlers.from_core, history)) == [{"content": "new", "x": 1}, "new"]


def test_a_sender_is_who_the_message_names_or_who_is_named_beside_it() -> None:
    handlers = Handlers()
    assert handlers.to_core("hi", "Anna").name == "Anna"
    assert handlers.to_core({"sender": "Ben"}, "Anna").name == "Ben"
    assert handlers.to_core(human("hi", name="Ben"), "Anna").name == "Ben"
    assert [handlers.sender_of(one) for one in ("hi", {"user": "Ben"}, human("x", name="Cy"), 5, {"user": 5})] == [
        None,
        "Ben",
        "Cy",
        None,
        None,
    ]


@dataclass
class Order:
    number: int
    user: str


ORDERS = Handler(
    "order",
    lambda order: human(f"order {order.number}", name=order.user),
    lambda stored: Order(int(stored.text.split()[1]), str(stored.name)),
)


def test_a_class_of_ones_own_is_registered_once() -> None:
    handlers = Handlers()
    with pytest.raises(InvalidInput, match="no handler for a message of class Order"):
        handlers.to_core(Order(7, "Anna"))
    handlers.register(Order, ORDERS)
    stored = handlers.to_core(Order(7, "Anna"))
    assert kind_of(stored) == "order"
    assert handlers.from_core(stored) == Order(7, "Anna")
    for class_, handler in ((Order, ORDERS), (int, ORDERS), (str, Handler("new", human, str))):
        with pytest.raises(Conflict, match="has a handler already"):
            handlers.register(class_, handler)
    with pytest.raises(InvalidInput, match="takes a class and a Handler"):
        handlers.register(float, "no handler")  # type: ignore[arg-type]


def test_a_derived_class_is_handled_as_its_base() -> None:
    class Loud(str):
        __slots__ = ()

    handlers = Handlers()
    assert handlers.from_core(handlers.to_core(Loud("HI"))) == "HI"


def test_a_handler_that_makes_no_message_is_named() -> None:
    handlers = Handlers()
    handlers.register(Order, Handler("order", lambda order: "text", lambda stored: stored))  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidInput, match="handler of 'order' must make a Message, not 'text'"):
        handlers.to_core(Order(1, "Anna"))


def test_what_another_room_wrote_is_a_message() -> None:
    said = human("hello")
    assert isinstance(Handlers().from_core(said), Message)
    assert kind_of(said) == ""
    assert not is_recalled(said)
    assert is_recalled(RecallMessage())
    assert is_recalled(RecallMessage().to_core())


def test_a_dict_that_is_no_plain_data_is_refused() -> None:
    with pytest.raises(InvalidInput, match="plain JSON data"):
        Handlers().to_core({"content": "x", "thing": object()})
