"""Messages of every kind are stored in their own way and come back as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.basememory import (
    AudioMessage,
    BaseChatMessageMemory,
    ChatMessage,
    ImageMessage,
    SystemMessage,
    TextMessage,
    VideoMessage,
)
from memwell.compat.basememory.messages import MessageKinds, sender_of
from memwell.errors import Conflict, InvalidInput
from memwell.history import History
from memwell.messages import Image, Message, Part, Role, Text, decode_message, encode_message, human
from memwell.storage.memory import MemoryBackend

MESSAGES = [
    TextMessage(text="你好", sender="Anna"), TextMessage(text=""), SystemMessage(text="Ben joined"),
    ImageMessage(url="https://example.org/cat.png", text="一只猫", sender="Ben"),
    AudioMessage(data=b"RIFF....", media_type="audio/wav", text="see you at six", sender="Ben"),
    VideoMessage(url="https://example.org/film.mp4"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: TextMessage(text=5), "the text of a message must be a string, not 5"),  # pyright: ignore[reportArgumentType]
        (lambda: ImageMessage(url=7), "an address must be a string, not 7"),  # pyright: ignore[reportArgumentType]
        (lambda: AudioMessage(data="words"), "the bytes of a medium must be bytes, not 'words'"),  # pyright: ignore[reportArgumentType]
        (lambda: TextMessage("hi", sender=3), "a sender must be a string, not 3"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_a_message_of_wrong_values_is_not_made(make: Callable[[], ChatMessage], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        make()


def test_every_kind_comes_back_from_a_store() -> None:
    with MemoryBackend() as backend:
        memory = BaseChatMessageMemory(store=backend)
        for message in MESSAGES:
            memory.add_message(message)
        assert list(BaseChatMessageMemory(store=backend)) == MESSAGES


class Place(ChatMessage, frozen=True, kw_only=True):
    """A kind of somebody's own."""

    kind: ClassVar[str] = "place"
    north: float
    east: float

    def parts(self) -> tuple[Part, ...]:
        return (Text(f"{self.north}, {self.east}"),)

    def extras(self) -> dict[str, Any]:
        return {"north": self.north, "east": self.east}

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        mark = stored.metadata["basememory"]
        return {"north": mark["north"], "east": mark["east"]}


def test_a_kind_of_ones_own_needs_nothing_but_its_class() -> None:
    with MemoryBackend() as backend:
        memory = BaseChatMessageMemory(store=backend)
        here = Place(north=59.9, east=10.7, sender="Anna")
        memory.add_message(here)
        assert memory.get_message(0) == here
        # Whoever does not know the kind reads a message all the same.
        other = BaseChatMessageMemory(store=backend)
        assert other.get_message(0).text == "59.9, 10.7"
        other.register(Place)
        assert other.get_message(0) == here


def test_what_is_no_message_is_refused() -> None:
    class Shout(TextMessage, frozen=True, kw_only=True):
        pass

    memory = BaseChatMessageMemory(store=MemoryBackend())
    with pytest.raises(Conflict, match="a class has its own kind"):
        memory.add_message(Shout(text="HI"))
    for item, said in ((5, "int is none of them"), ({"thing": object()}, "plain JSON data")):
        with pytest.raises(InvalidInput, match=said):
            memory.add_message(item)
    with pytest.raises(InvalidInput, match="derived from ChatMessage"):
        memory.register(int)  # pyright: ignore[reportArgumentType]
    assert len(memory) == 0


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
VALUES = TEXT | st.integers(-9, 9) | st.none() | st.booleans() | st.lists(TEXT, max_size=2)
KEYS = st.sampled_from(["content", "text", "sender", "user_id", "type", "role", "url", "timestamp", "target", "x"])


@given(TEXT | st.dictionaries(KEYS, VALUES | st.sampled_from(["image", "audio", "system"]), max_size=5))
def test_text_and_dicts_come_back_as_they_were(item: Any) -> None:
    kinds = MessageKinds()
    stored = decode_message(encode_message(kinds.to_core(item)))
    assert kinds.from_core(stored) == item


def test_a_dict_is_where_other_rooms_look_for_it() -> None:
    kinds = MessageKinds()
    said = kinds.to_core({"user_id": "Anna", "content": "你好", "timestamp": 5})
    assert (said.name, said.text, said.role) == ("Anna", "你好", Role.HUMAN)
    shown = kinds.to_core({"type": "image", "url": "https://example.org/c.png", "data": b"PNG", "caption": "猫"})
    assert shown.parts == (Image(url="https://example.org/c.png", data=b"PNG", text="猫"),)
    assert kinds.from_core(shown)["data"] == b"PNG"
    assert kinds.to_core({"role": "assistant", "content": "yes"}).role is Role.AI


def test_what_another_room_changed_is_read_as_it_is_now() -> None:
    kinds = MessageKinds()
    with MemoryBackend() as backend:
        history = History(backend, "chat")
        history.add(kinds.to_core({"content": "old", "x": 1}), kinds.to_core("old"))
        history.edit(0, "new")
        history.edit(1, "new")
        assert list(map(kinds.from_core, history)) == [{"content": "new", "x": 1}, "new"]


def test_a_sender_is_who_the_message_names_or_who_is_named_beside_it() -> None:
    kinds = MessageKinds()
    assert kinds.to_core("hi", "Anna").name == "Anna"
    assert kinds.to_core({"sender": "Ben"}, "Anna").name == "Ben"
    assert kinds.to_core(human("hi", name="Ben"), "Anna").name == "Ben"
    assert [sender_of(one) for one in ("hi", {"user": "Ben"}, human("x", name="Cy"), 5, {"user": 5})] == [
        None, "Ben", "Cy", None, None,
    ]  # fmt: skip
