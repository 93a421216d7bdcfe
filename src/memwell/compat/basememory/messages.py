"""Messages of a chat: text, images, audio, video, notices and recalls, and how messages of each class are stored."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, SupportsIndex, TypeVar, cast

import msgspec

from memwell.errors import Conflict, InvalidInput
from memwell.messages import Audio, Image, Media, Message, Part, Role, Text, Video, human, message
from memwell.values import check_id, check_json, check_text, new_id, now, shown

MARK = "basememory"
"""The key of a stored message's metadata that holds the rest of a chat message."""

Self = TypeVar("Self", bound="ChatMessage")

_SENDERS = ("sender", "user", "user_id", "from", "name")
_TEXTS = ("content", "text", "message", "caption")
_ROLES = {"assistant": Role.AI, "ai": Role.AI, "system": Role.SYSTEM, "recall": Role.VIEW}
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
    labels: ClassVar[tuple[str, str]] = ("", "")

    sender: str | None = None
    id: str = msgspec.field(default_factory=new_id)
    time: datetime = msgspec.field(default_factory=now)

    def __post_init__(self) -> None:
        if self.sender is not None:
            check_text(self.sender, "a sender")

    def parts(self) -> tuple[Part, ...]:
        """The parts of the stored message, which other programs read."""
        return ()

    def in_words(self, language: str = "en") -> str:
        """One line for a list of conversations, in ``en`` or ``zh``."""
        if language not in ("en", "zh"):
            raise InvalidInput(f"a message is put in words in 'en' or 'zh', not in {shown(language)}")
        words = " ".join(part.text for part in self.parts() if isinstance(part, Text | Media) and part.text)
        return f"{self.labels[language == 'zh']} {words}".strip()

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
    labels: ClassVar[tuple[str, str]] = ("[notice]", "[系统消息]")


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
        if self.data is not None and not isinstance(self.data, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"the bytes of a medium must be bytes, not {shown(self.data)}")

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
    labels: ClassVar[tuple[str, str]] = ("[image]", "[图片]")


class AudioMessage(MediaMessage, frozen=True, kw_only=True):
    """A voice message."""

    kind: ClassVar[str] = "audio"
    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Audio
    labels: ClassVar[tuple[str, str]] = ("[voice]", "[语音]")


class VideoMessage(MediaMessage, frozen=True, kw_only=True):
    """A video."""

    kind: ClassVar[str] = "video"
    part: ClassVar[type[Image] | type[Audio] | type[Video]] = Video
    labels: ClassVar[tuple[str, str]] = ("[video]", "[视频]")


class RecallMessage(ChatMessage, frozen=True, kw_only=True):
    """Takes the message at the position ``target`` back, and replaces it. It is never unread, and no model sees it.

    The message that is read at that position has no ``target``.
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
        return {} if self.target is None else {"target": int(self.target)}

    @classmethod
    def fields_from(cls, stored: Message) -> dict[str, Any]:
        return {"target": cast("dict[str, Any]", stored.metadata[MARK]).get("target")}


_KINDS = (TextMessage, SystemMessage, ImageMessage, AudioMessage, VideoMessage, RecallMessage)


class Handler(msgspec.Struct, frozen=True):
    """How messages of one class are stored: under ``kind``, made by ``to_core`` and read by ``from_core``."""

    kind: str
    to_core: Callable[[Any], Message]
    from_core: Callable[[Message], Any]


class Handlers:
    """The handlers of a chat memory by class. A message of a derived class is handled like its nearest base."""

    def __init__(self) -> None:
        self._by_class: dict[type, Handler] = {
            str: Handler("str", human, lambda stored: stored.text),
            dict: Handler("dict", _from_dict, _to_dict),
            Message: Handler("message", lambda given: given, lambda stored: stored),
            **{one: Handler(one.kind, one.to_core, one.from_core) for one in _KINDS},
        }

    def register(self, class_: type, handler: Handler | None = None) -> None:
        """Handle messages of a class from now on. Raises ``Conflict`` for a class or a kind that has a handler."""
        if handler is None and isinstance(class_, type) and issubclass(class_, ChatMessage):  # pyright: ignore[reportUnnecessaryIsInstance]
            handler = Handler(class_.kind, class_.to_core, class_.from_core)
        if not isinstance(class_, type) or not isinstance(handler, Handler):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"register takes a class and a Handler, not {shown(class_)} and {shown(handler)}")
        check_id(handler.kind, "a handler's kind")
        if class_ in self._by_class or handler.kind in self._kinds():
            raise Conflict(
                f"{class_.__name__} or the kind {handler.kind!r} has a handler already: a class has its own kind"
            )
        self._by_class[class_] = handler

    def _kinds(self) -> dict[str, Handler]:
        return {handler.kind: handler for handler in self._by_class.values()}

    def to_core(self, item: object, sender: str | None = None) -> Message:
        """The item as it is stored, from ``sender`` unless it names one itself.

        Raises ``InvalidInput`` for a class without a handler, or for an item that its handler does not take.
        """
        if isinstance(item, ChatMessage) and type(item) not in self._by_class:
            # A derived class defines how it is stored.
            self.register(type(item))
        handler = next((self._by_class[base] for base in type(item).__mro__ if base in self._by_class), None)
        if handler is None:
            raise InvalidInput(
                f"no handler for a message of class {type(item).__name__}: register one, or add a str or dict"
            )
        made = handler.to_core(item)
        if not isinstance(made, Message):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"the handler of {handler.kind!r} must make a Message, not {shown(made)}")
        if sender is not None and made.name is None:
            made = made.changed(name=check_id(sender, "a sender"))
        if MARK not in made.metadata and handler.kind != "message":
            made = made.changed(metadata={**made.metadata, MARK: {"kind": handler.kind}})
        return made

    def from_core(self, stored: Message) -> Any:
        """The item that was stored. A message of another program, or of an unknown kind, comes as a ``Message``."""
        handler = self._kinds().get(_kind_of(stored))
        return stored if handler is None else handler.from_core(stored)


def sender_of(item: object) -> str | None:
    """The sender that an item names, or None."""
    named = (getattr(item, key, None) for key in _SENDERS)
    if isinstance(item, dict):
        named = (cast("dict[str, object]", item).get(key) for key in _SENDERS)
    return next((one for one in named if isinstance(one, str) and one), None)


def is_recalled(item: object) -> bool:
    """Whether it replaces a message that was taken back."""
    if isinstance(item, Message):
        return _kind_of(item) == RecallMessage.kind
    return isinstance(item, RecallMessage)


def recall_target(item: object) -> int | None:
    """The position of the message that an item takes back, or None."""
    if isinstance(item, RecallMessage):
        return item.target
    fields = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
    recalls = fields.get("type") == "recall" and fields.get("target") is not None
    return check_position(fields["target"]) if recalls else None


def _kind_of(stored: Message) -> str:
    mark = stored.metadata.get(MARK)
    return str(cast("dict[str, Any]", mark).get("kind", "")) if isinstance(mark, dict) else ""


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
