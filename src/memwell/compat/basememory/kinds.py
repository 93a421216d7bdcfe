"""Kinds of chat messages: text, picture, sound, film, notice, and one that was recalled. Each says itself in words, and
each knows how it is stored.
"""

from __future__ import annotations

import operator
from datetime import datetime
from typing import Any, ClassVar, SupportsIndex, TypeVar, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.messages import Audio, Image, Media, Message, Part, Role, Text, Video, message
from memwell.values import check_text, new_id, now, shown

MARK = "basememory"
"""The key of a stored message's metadata under which the rest of a chat message travels."""

Self = TypeVar("Self", bound="ChatMessage")


def check_position(index: object) -> int:
    """The position of a message as a plain number. Raises ``InvalidInput`` for what is no whole number."""
    if isinstance(index, bool) or not isinstance(index, SupportsIndex):
        raise InvalidInput(f"a position is a whole number, not {shown(index)}")
    return operator.index(index)


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What every chat message has: who sent it, when, and an id. Make your own kind by deriving from one of these.

    Each raises ``InvalidInput`` when it is made of values of other types than it says.
    """

    kind: ClassVar[str] = "chat"
    role: ClassVar[Role] = Role.HUMAN
    labels: ClassVar[tuple[str, str]] = ("", "")

    sender: str | None = None
    id: str = msgspec.field(default_factory=new_id)
    time: datetime = msgspec.field(default_factory=now)

    def __post_init__(self) -> None:
        if self.sender is not None:
            check_text(self.sender, "a sender")

    def parts(self) -> tuple[Part, ...]:
        """What it is made of, as every other room reads it."""
        return ()

    def in_words(self, language: str = "en") -> str:
        """One line for a list of conversations, in ``en`` or ``zh``."""
        if language not in ("en", "zh"):
            raise InvalidInput(f"a message is put in words in 'en' or 'zh', not in {shown(language)}")
        label = self.labels[language == "zh"]
        words = " ".join(part.text for part in self.parts() if isinstance(part, Text | Media) and part.text)
        return f"{label} {words}".strip()

    def to_core(self) -> Message:
        """The message as it is stored."""
        mark = {"kind": self.kind, **self.extras()}
        return message(self.role, self.parts(), name=self.sender, id=self.id, time=self.time, metadata={MARK: mark})

    def extras(self) -> dict[str, Any]:
        """What the core has no field for: plain JSON data."""
        return {}

    @classmethod
    def from_core(cls: type[Self], stored: Message) -> Self:
        """The message that ``to_core`` made."""
        return cls(sender=stored.name, id=stored.id, time=stored.time, **cls.fields_from(stored))

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        """The fields of this kind."""
        return {}


class TextMessage(ChatMessage, frozen=True):
    """Words, which may be given without their name: ``TextMessage("hi")``."""

    kind: ClassVar[str] = "text"
    text: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self.text, "the text of a message")

    def parts(self) -> tuple[Part, ...]:
        """The words."""
        return (Text(self.text),) if self.text else ()

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        """The words."""
        return {"text": stored.text}


class SystemMessage(TextMessage, frozen=True):
    """A notice of the chat itself: who came, what was renamed."""

    kind: ClassVar[str] = "system"
    role: ClassVar[Role] = Role.SYSTEM
    labels: ClassVar[tuple[str, str]] = ("[notice]", "[系统消息]")


class MediaMessage(ChatMessage, frozen=True, kw_only=True):
    """Something seen or heard, by its address or its bytes, with words to it."""

    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Image

    url: str | None = None
    data: bytes | None = None
    media_type: str | None = None
    text: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self.text, "the text of a message")
        if self.url is not None:
            check_text(self.url, "an address")
        if self.data is not None and not isinstance(self.data, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"the bytes of a medium must be bytes, not {shown(self.data)}")

    def parts(self) -> tuple[Part, ...]:
        """The one part."""
        return (self.part(url=self.url, data=self.data, media_type=self.media_type, text=self.text),)

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        """The address or the bytes, and the words."""
        found = next((part for part in stored.parts if isinstance(part, Media)), None)
        if found is None:
            return {"text": stored.text}
        return {"url": found.url, "data": found.data, "media_type": found.media_type, "text": found.text}


class ImageMessage(MediaMessage, frozen=True, kw_only=True):
    """A picture."""

    kind: ClassVar[str] = "image"
    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Image
    labels: ClassVar[tuple[str, str]] = ("[image]", "[图片]")


class AudioMessage(MediaMessage, frozen=True, kw_only=True):
    """Something said."""

    kind: ClassVar[str] = "audio"
    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Audio
    labels: ClassVar[tuple[str, str]] = ("[voice]", "[语音]")


class VideoMessage(MediaMessage, frozen=True, kw_only=True):
    """A film."""

    kind: ClassVar[str] = "video"
    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Video
    labels: ClassVar[tuple[str, str]] = ("[video]", "[视频]")


class RecallMessage(ChatMessage, frozen=True, kw_only=True):
    """What stands in the place of a message that its sender took back. It is nobody's unread, and no model sees it.

    ``target`` is the index of the message to take back. What stands in that place has none: it is there already.
    """

    kind: ClassVar[str] = "recall"
    role: ClassVar[Role] = Role.VIEW
    labels: ClassVar[tuple[str, str]] = ("[recalled]", "[消息已撤回]")

    target: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target is not None:
            check_position(self.target)

    def extras(self) -> dict[str, Any]:
        """Its target, if it has one."""
        return {} if self.target is None else {"target": int(self.target)}

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        """Its target, if it has one."""
        return {"target": cast("dict[str, Any]", stored.metadata[MARK]).get("target")}


KINDS: tuple[type[ChatMessage], ...] = (
    TextMessage,
    SystemMessage,
    ImageMessage,
    AudioMessage,
    VideoMessage,
    RecallMessage,
)

__all__ = [
    "KINDS",
    "MARK",
    "AudioMessage",
    "ChatMessage",
    "ImageMessage",
    "MediaMessage",
    "RecallMessage",
    "SystemMessage",
    "TextMessage",
    "VideoMessage",
    "check_position",
]
