"""Messages of a chat: text, images, audio, video and notices, and how messages of each class are stored."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from datetime import datetime
from types import NoneType
from typing import Any, ClassVar, SupportsIndex, TypeVar, cast

import msgspec

from memwell.errors import Conflict, InvalidInput
from memwell.messages import Audio, Image, Media, Message, Part, Role, Text, Video, human, message
from memwell.values import check_id, check_json, check_text, check_type, new_id, now, shown

MARK = "basememory"
"""The key of a stored message's metadata that holds the rest of a chat message."""

Self = TypeVar("Self", bound="ChatMessage")

_SENDERS = ("sender", "user", "user_id", "from", "name")
_TEXTS = ("content", "text", "message", "caption")
_ROLES = {"assistant": Role.AI, "ai": Role.AI, "system": Role.SYSTEM}
_MEDIA = {"image": Image, "audio": Audio, "video": Video}


def check_position(index: object) -> int:
    """The position of a message as a plain number. Raises ``InvalidInput`` for what is no whole number."""
    if isinstance(index, bool) or not isinstance(index, SupportsIndex):
        raise InvalidInput(f"a position is a whole number, not {shown(index)}")
    return operator.index(index)


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The base of chat messages: a sender, an id and a time. Derive further kinds from it or from one below.

    Each raises ``InvalidInput`` for values of another type than it declares.
    """

    kind: ClassVar[str] = "chat"
    role: ClassVar[Role] = Role.HUMAN

    sender: str | None = None
    id: str = msgspec.field(default_factory=new_id)
    time: datetime = msgspec.field(default_factory=now)

    def __post_init__(self) -> None:
        if self.sender is not None:
            check_text(self.sender, "a sender")

    def parts(self) -> tuple[Part, ...]:
        """The parts of the stored message, which other programs read."""
        return ()

    def to_core(self) -> Message:
        """The message as it is stored."""
        mark = {"kind": self.kind, **self.extras()}
        return message(self.role, self.parts(), name=self.sender, id=self.id, time=self.time, metadata={MARK: mark})

    def extras(self) -> dict[str, Any]:
        """Fields that a stored message has no place for, as plain JSON data."""
        return {}

    @classmethod
    def from_core(cls: type[Self], stored: Message) -> Self:
        """The message that ``to_core`` made."""
        return cls(sender=stored.name, id=stored.id, time=stored.time, **cls.fields_from(stored))

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        """The fields of this kind, read from a stored message."""
        return {}


class TextMessage(ChatMessage, frozen=True):
    """Text, which may be given by position: ``TextMessage("hi")``."""

    kind: ClassVar[str] = "text"
    text: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text(self.text, "the text of a message")

    def parts(self) -> tuple[Part, ...]:
        return (Text(self.text),) if self.text else ()

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        return {"text": stored.text}


class SystemMessage(TextMessage, frozen=True):
    """A notice of the chat itself, such as that a person joined."""

    kind: ClassVar[str] = "system"
    role: ClassVar[Role] = Role.SYSTEM


class MediaMessage(ChatMessage, frozen=True, kw_only=True):
    """An image, audio or video by its address or its bytes, with a text."""

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
        check_type(self.data, (bytes, NoneType), "the bytes of a medium must be bytes")

    def parts(self) -> tuple[Part, ...]:
        return (self.part(url=self.url, data=self.data, media_type=self.media_type, text=self.text),)

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        found = next((part for part in stored.parts if isinstance(part, Media)), None)
        if found is None:
            return {"text": stored.text}
        return {"url": found.url, "data": found.data, "media_type": found.media_type, "text": found.text}


class ImageMessage(MediaMessage, frozen=True, kw_only=True):
    """An image."""

    kind: ClassVar[str] = "image"


class AudioMessage(MediaMessage, frozen=True, kw_only=True):
    """A voice message."""

    kind: ClassVar[str] = "audio"
    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Audio


class VideoMessage(MediaMessage, frozen=True, kw_only=True):
    """A video."""

    kind: ClassVar[str] = "video"
    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Video


_KINDS = (TextMessage, SystemMessage, ImageMessage, AudioMessage, VideoMessage)


class MessageKinds:
    """The kinds of messages of a chat, by name: ``str``, ``dict``, memwell's ``Message``, and classes of chat messages."""

    def __init__(self) -> None:
        self._classes: dict[str, type[ChatMessage]] = {one.kind: one for one in _KINDS}

    def register(self, class_: type[ChatMessage]) -> None:
        """Read messages of a class derived from ``ChatMessage``. Raises ``Conflict`` for a kind that is taken."""
        if ChatMessage not in getattr(class_, "__mro__", ()):
            raise InvalidInput(f"register takes a class derived from ChatMessage, not {shown(class_)}")
        kind = check_id(class_.kind, "a message's kind")
        if self._classes.get(kind, class_) is not class_ or kind in ("str", "dict"):
            raise Conflict(f"the kind {kind!r} of {class_.__name__} is taken: a class has its own kind")
        self._classes[kind] = class_

    def to_core(self, item: object, sender: str | None = None) -> Message:
        """The item as it is stored, from ``sender`` unless it names one itself.

        Raises ``InvalidInput`` for an item of another class.
        """
        if isinstance(item, ChatMessage):
            self.register(type(item))
            made = item.to_core()
        elif isinstance(item, str):
            made = human(item).changed(metadata={MARK: {"kind": "str"}})
        elif isinstance(item, dict):
            made = _from_dict(cast("dict[str, Any]", item))
        elif isinstance(item, Message):
            made = item
        else:
            raise InvalidInput(
                f"a message is a str, a dict or a ChatMessage, and {type(item).__name__} is none of them"
            )
        return made.changed(name=check_id(sender, "a sender")) if sender is not None and made.name is None else made

    def from_core(self, stored: Message) -> Any:
        """The item that was stored. A message of another program, or of an unknown kind, comes as a ``Message``."""
        mark = stored.metadata.get(MARK)
        kind = str(cast("dict[str, Any]", mark).get("kind", "")) if isinstance(mark, dict) else ""
        if kind == "str":
            return stored.text
        if kind == "dict":
            return _to_dict(stored)
        return self._classes[kind].from_core(stored) if kind in self._classes else stored


def sender_of(item: object) -> str | None:
    """The sender that an item names, or None."""
    named = (getattr(item, key, None) for key in _SENDERS)
    if isinstance(item, dict):
        named = (cast("dict[str, object]", item).get(key) for key in _SENDERS)
    return next((one for one in named if isinstance(one, str) and one), None)


def _from_dict(item: dict[str, Any]) -> Message:
    """A dict as a message: its text, sender and medium in the fields for them, the rest in the metadata."""
    media = _MEDIA.get(str(item.get("type")))
    data = item.get("data") if media is not None and isinstance(item.get("data"), bytes) else None
    fields = {key: None if key == "data" and data is not None else value for key, value in item.items()}
    check_json(fields, "a message")
    key = next((one for one in _TEXTS if isinstance(item.get(one), str)), None)
    words = "" if key is None else cast(str, item[key])
    part: Part = Text(words)
    if media is not None:
        url = item.get("url")
        part = media(url=url if isinstance(url, str) else None, data=data, text=words)
    role = _ROLES.get(str(item.get("role", item.get("type"))), Role.HUMAN)
    # The text is stored once, in the part.
    kept = {**fields, key: None} if key is not None else fields
    mark = {"kind": "dict", "fields": kept, "words": key}
    return message(role, (part,) if words or media is not None else (), name=sender_of(item), metadata={MARK: mark})


def _to_dict(stored: Message) -> dict[str, Any]:
    mark = cast("Mapping[str, Any]", stored.metadata[MARK])
    fields = dict(cast("dict[str, Any]", mark["fields"]))
    part = next((one for one in stored.parts if isinstance(one, Image | Audio | Video)), None)
    if mark["words"] is not None:
        fields[mark["words"]] = stored.text if part is None else part.text
    if part is not None and part.data is not None:
        fields["data"] = part.data
    return fields
