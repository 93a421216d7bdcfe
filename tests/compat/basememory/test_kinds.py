"""Every kind of message says itself and is stored in its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from memwell.compat.basememory import (
    AudioMessage,
    BaseChatMessageMemory,
    ChatMessage,
    ImageMessage,
    RecallMessage,
    SystemMessage,
    TextMessage,
    VideoMessage,
)
from memwell.errors import Conflict, InvalidInput
from memwell.messages import Image, Message, Part, Role, Text
from memwell.storage.memory import MemoryBackend

MESSAGES = [
    TextMessage(text="你好", sender="Anna"),
    TextMessage(text=""),
    SystemMessage(text="Ben joined"),
    ImageMessage(url="https://example.org/cat.png", text="一只猫", sender="Ben"),
    AudioMessage(data=b"RIFF....", media_type="audio/wav", text="see you at six", sender="Ben"),
    VideoMessage(url="https://example.org/film.mp4"),
    RecallMessage(sender="Anna"),
]


def test_words_may_be_given_without_their_name() -> None:
    message = TextMessage("hi", sender="Anna")
    assert (message.text, message.sender) == ("hi", "Anna")
    assert SystemMessage("Ben joined").in_words() == "[notice] Ben joined"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: TextMessage(text=5), "the text of a message must be a string, not 5"),  # pyright: ignore[reportArgumentType]
        (lambda: TextMessage("\ud800"), "lone surrogates"),
        (lambda: ImageMessage(text=None), "the text of a message must be a string, not None"),  # pyright: ignore[reportArgumentType]
        (lambda: ImageMessage(url=7), "an address must be a string, not 7"),  # pyright: ignore[reportArgumentType]
        (lambda: AudioMessage(data="words"), "the bytes of a medium must be bytes, not 'words'"),  # pyright: ignore[reportArgumentType]
        (lambda: RecallMessage(target="a"), "a position is a whole number, not 'a'"),  # pyright: ignore[reportArgumentType]
        (lambda: RecallMessage(target=True), "a position is a whole number, not True"),
        (lambda: TextMessage("hi", sender=3), "a sender must be a string, not 3"),  # pyright: ignore[reportArgumentType]
    ],
)
def test_a_message_of_wrong_values_is_not_made(make: Callable[[], ChatMessage], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        make()


def test_a_recall_keeps_its_target_when_it_is_stored_by_itself() -> None:
    message = RecallMessage(target=3, sender="Anna")
    assert RecallMessage.from_core(message.to_core()) == message


@pytest.mark.parametrize("message", MESSAGES, ids=lambda one: one.kind)
def test_every_kind_comes_back_from_the_core(message: ChatMessage) -> None:
    assert type(message).from_core(message.to_core()) == message


def test_every_kind_comes_back_from_a_store() -> None:
    with MemoryBackend() as backend:
        memory = BaseChatMessageMemory(store=backend)
        for message in MESSAGES:
            memory.add_message(message)
        assert list(BaseChatMessageMemory(store=backend)) == MESSAGES


def test_every_kind_says_itself_in_words() -> None:
    assert [one.in_words() for one in MESSAGES] == [
        "你好",
        "",
        "[notice] Ben joined",
        "[image] 一只猫",
        "[voice] see you at six",
        "[video]",
        "[recalled]",
    ]
    assert [one.in_words("zh") for one in MESSAGES[2:]] == [
        "[系统消息] Ben joined",
        "[图片] 一只猫",
        "[语音] see you at six",
        "[视频]",
        "[消息已撤回]",
    ]
    with pytest.raises(InvalidInput, match="'en' or 'zh'"):
        MESSAGES[0].in_words("fr")


def test_other_rooms_read_words_pictures_and_notices() -> None:
    assert MESSAGES[0].to_core().text == "你好"
    assert MESSAGES[2].to_core().role is Role.SYSTEM
    assert isinstance(MESSAGES[3].to_core().parts[0], Image)
    assert MESSAGES[3].to_core().searchable == "一只猫"
    assert not MESSAGES[6].to_core().for_model


class Place(ChatMessage, frozen=True, kw_only=True):
    """A kind of somebody's own."""

    kind: ClassVar[str] = "place"
    labels: ClassVar[tuple[str, str]] = ("[place]", "[位置]")
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
        assert memory.get_message(0).in_words("zh") == "[位置] 59.9, 10.7"
        # Whoever does not know the kind reads a message all the same.
        other = BaseChatMessageMemory(store=backend)
        assert other.get_message(0).text == "59.9, 10.7"
        other.register(Place)
        assert other.get_message(0) == here


def test_a_class_without_a_kind_of_its_own_is_refused() -> None:
    class Shout(TextMessage, frozen=True, kw_only=True):
        pass

    memory = BaseChatMessageMemory(store=MemoryBackend())
    with pytest.raises(Conflict, match="a class has its own kind"):
        memory.add_message(Shout(text="HI"))
    assert len(memory) == 0
