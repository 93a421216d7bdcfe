"""Messages: their pieces, the four kinds of a conversation, the form for models, and the form in a log."""

from __future__ import annotations

import base64
import binascii
import copy
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final, Self, TypeAlias, cast

from memwell.errors import InvalidInput
from memwell.messages import Audio, Image, Media, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Video
from memwell.transcript import to_openai
from memwell.transcript.text import speaker, storable
from memwell.values import check_count, shown

_TYPES = ("text", "thinking", "image", "audio", "video")


# Contents


@dataclass(slots=True)
class MediaObject:
    """The data, and how it is given: ``text``, ``url``, ``base64`` or ``binary``, followed by ``@image/png`` if known."""

    data: str | bytes
    format: str = "text"


@dataclass(slots=True)
class MediaContent:
    """One piece of a content. Raises ``InvalidInput`` for a type that is none of text, thinking, image, audio, video."""

    object: MediaObject
    type: str = "text"

    def __post_init__(self) -> None:
        if self.type not in _TYPES:
            raise InvalidInput(f"the type of a content is one of {', '.join(_TYPES)}, not {shown(self.type)}")

    @classmethod
    def build_text(cls, text: str) -> MediaContent:
        """A piece of text."""
        return cls(MediaObject(text))

    def to_dict(self) -> dict[str, Any]:
        """The piece as plain data, bytes as they are."""
        return {"object": {"data": self.object.data, "format": self.object.format}, "type": self.type}


MessageContent: TypeAlias = str | list[MediaContent]
"""The content of a message: text, or pieces."""


def storable_content(value: Any) -> MessageContent:
    """A content as any store takes it. Raises ``InvalidInput`` for what is neither text nor pieces."""
    content = _as_content(value)
    if isinstance(content, str):
        return storable(content)
    return [
        MediaContent(MediaObject(*map(storable, (one.object.data, one.object.format))), one.type) for one in content
    ]


def _as_content(value: Any) -> MessageContent:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_piece(one) for one in cast("list[Any]", value)]
    raise InvalidInput(f"a message's content must be text or a list of MediaContent, not {shown(value)}")


def _plain_content(content: MessageContent) -> str | list[dict[str, Any]]:
    return content if isinstance(content, str) else [one.to_dict() for one in content]


def _piece(value: Any) -> MediaContent:
    match value:
        case MediaContent():
            return value
        case str():
            return MediaContent.build_text(value)
        case {"object": MediaObject() as given}:
            return MediaContent(given, value.get("type", "text"))
        case {"object": {"data": str() | bytes() as data, **rest}}:
            return MediaContent(MediaObject(data, str(rest.get("format", "text"))), value.get("type", "text"))
        case _:
            raise InvalidInput(f"Failed to parse {shown(value)}, no object found")


# Messages of a conversation


@dataclass
class BaseMessage:
    """A message: its content, its place in the conversation and its round.

    Raises ``InvalidInput`` for a content that is neither text nor a list of pieces, and for places that are no counts.
    """

    type: ClassVar[str] = ""
    """The kind of message: ``human``, ``ai``, ``system`` or ``view``."""
    pass_to_model: ClassVar[bool] = True
    """Whether models get the message."""

    content: MessageContent
    index: int = 0
    round_index: int = 0
    additional_kwargs: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.content = _as_content(self.content)
        check_count(self.index, "a message's index")
        check_count(self.round_index, "a message's round_index")

    def to_dict(self) -> dict[str, Any]:
        """The message as plain data; ``message_from_dict`` reads it."""
        values = {name: getattr(self, name) for name in _field_names(type(self))}
        values["content"] = _plain_content(self.content)
        values["additional_kwargs"] = copy.deepcopy(self.additional_kwargs)
        return {"type": self.type, "data": values, "index": self.index, "round_index": self.round_index}

    def copy(self) -> Self:
        """A message like this one that shares nothing with it."""
        return copy.deepcopy(self)


@dataclass
class HumanMessage(BaseMessage):
    """A message of a person."""

    type = "human"
    example: bool = False


@dataclass
class AIMessage(BaseMessage):
    """A message of a model."""

    type = "ai"
    example: bool = False


@dataclass
class ViewMessage(BaseMessage):
    """A message that is shown to people and never passed to a model."""

    type = "view"
    pass_to_model = False
    example: bool = False


@dataclass
class SystemMessage(BaseMessage):
    """An instruction."""

    type = "system"


_CLASSES = {cls.type: cls for cls in (HumanMessage, AIMessage, SystemMessage, ViewMessage)}


def _class_of(kind: object) -> type[BaseMessage]:
    if not isinstance(kind, str) or kind not in _CLASSES:
        raise InvalidInput(f"Got unexpected type: {shown(kind)}")
    return _CLASSES[kind]


@functools.cache
def _field_names(cls: type[BaseMessage]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(cls))


def message_from_dict(message: Mapping[str, Any]) -> BaseMessage:
    """The message that ``to_dict`` wrote; fields it does not have are passed over.

    Raises ``InvalidInput`` for a type that is none of the four and for data that is no message's.
    """
    match message:
        case {"type": kind, "data": {"content": _, **_rest}}:
            cls = _class_of(kind)
            data = cast("Mapping[str, Any]", message["data"])
            return cls(**copy.deepcopy({name: data[name] for name in _field_names(cls) if name in data}))
        case _:
            raise InvalidInput(f"a message is a dict with a type and data with a content, not {shown(message)}")


# Messages for a model


class ModelMessageRoleType:
    """The roles of messages for a model."""

    SYSTEM: Final = "system"
    HUMAN: Final = "human"
    AI: Final = "ai"
    VIEW: Final = "view"


@dataclass
class ModelMessage:
    """A message for a model: a role and a content. Raises ``InvalidInput`` for neither text nor pieces."""

    role: str
    content: MessageContent
    round_index: int | None = 0

    def __post_init__(self) -> None:
        self.content = _as_content(self.content)

    @property
    def pass_to_model(self) -> bool:
        """Whether models get the message."""
        return self.role in ("system", "human", "ai")

    def to_dict(self) -> dict[str, Any]:
        """The message as plain data."""
        return {"role": self.role, "content": _plain_content(self.content), "round_index": self.round_index}

    @staticmethod
    def from_base_messages(messages: Iterable[BaseMessage]) -> list[ModelMessage]:
        """The messages of a conversation that models may see."""
        return [ModelMessage(one.type, one.content, one.round_index) for one in messages if one.pass_to_model]

    @staticmethod
    def to_common_messages(
        messages: Iterable[ModelMessage], convert_to_compatible_format: bool = False, support_system_role: bool = True
    ) -> list[dict[str, Any]]:
        """The messages that models may see, in OpenAI's shape; the last of the user at the end if it is to be compatible.

        Raises ``InvalidInput`` for an unknown role and for a system message where there is no such role.
        """
        given = list(messages)
        if not support_system_role and any(one.role == ModelMessageRoleType.SYSTEM for one in given):
            raise InvalidInput("Current model not support system role")
        last = max((at for at, one in enumerate(given) if one.role == ModelMessageRoleType.HUMAN), default=-1)
        if convert_to_compatible_format and last >= 0:
            given.append(given.pop(last))
        return to_openai([to_core(_class_of(one.role)(one.content)) for one in given])


# Messages of a log. Fields that a log's message does not have are in its metadata under ``dbgpt``.

_MARK = "dbgpt"
_OPAQUE = "dbgpt.media"
_MEDIA: Mapping[str, type[Image | Audio | Video]] = {"image": Image, "audio": Audio, "video": Video}
_TYPE_OF: Mapping[type[Media], str] = {cls: kind for kind, cls in _MEDIA.items()}
_CLASS_OF_ROLE: Mapping[Role, type[BaseMessage]] = {
    Role.HUMAN: HumanMessage,
    Role.AI: AIMessage,
    Role.SYSTEM: SystemMessage,
    Role.VIEW: ViewMessage,
    # A tool's result is on the model's side of the conversation; as a user's message it would be answered.
    Role.TOOL: AIMessage,
    Role.FUNCTION: AIMessage,
}


def to_core(message: BaseMessage) -> Message:
    """The message for a log. Raises ``InvalidInput`` for a kind that is none of the four."""
    _class_of(message.type)
    # The log counts rounds by itself; those of DB-GPT are declared, and may differ.
    rest: dict[str, Any] = {"round_index": message.round_index}
    if message.additional_kwargs:
        rest["additional_kwargs"] = storable(message.additional_kwargs)
    if getattr(message, "example", False):
        rest["example"] = True
    content = storable_content(message.content)
    if isinstance(content, str):
        parts: tuple[Part, ...] = (Text(content),) if content else ()
    else:
        parts = tuple(_part(one) for one in content)
        rest["formats"] = [f"{one.type}:{one.object.format}" for one in content]
    return Message(Role(message.type), parts, metadata={_MARK: rest})


def from_core(message: Message) -> BaseMessage:
    """The message of a log, as the nearest of the four kinds. One hidden from models becomes a view message."""
    mark = message.metadata.get(_MARK)
    rest = cast("dict[str, Any]", mark) if isinstance(mark, dict) else {}
    role = speaker(message) if message.role is Role.CHAT else message.role
    cls = ViewMessage if message.hidden else _CLASS_OF_ROLE[role]
    declared = rest.get("round_index")
    round_index = declared if type(declared) is int and declared >= 0 else message.round or 0
    made = cls(_content_of(message, rest.get("formats")), message.index or 0, round_index)
    extra = rest.get("additional_kwargs")
    if isinstance(extra, dict):
        made.additional_kwargs = cast("dict[str, Any]", extra)
    if rest.get("example") is True and not isinstance(made, SystemMessage):
        cast(HumanMessage, made).example = True
    return made


def _part(piece: MediaContent) -> Part:
    data, (form, _, mime) = piece.object.data, piece.object.format.partition("@")
    if piece.type == "text" and isinstance(data, str):
        return Text(data)
    cls = _MEDIA.get(piece.type)
    if cls is not None and isinstance(data, bytes):
        return cls(data=data, media_type=mime or None)
    if cls is not None and form == "url" and isinstance(data, str):
        return cls(url=data, media_type=mime or None)
    decoded = _from_base64(data) if cls is not None and form == "base64" else None
    if cls is not None and decoded is not None:
        return cls(data=decoded, media_type=mime or None)
    return Opaque(_OPAQUE, piece.to_dict())


def _from_base64(text: str | bytes) -> bytes | None:
    """The bytes, if encoding them gives the same text; else None."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def _content_of(message: Message, formats: object) -> MessageContent:
    parts = message.parts
    forms = [str(one).partition(":") for one in cast("list[object]", formats)] if isinstance(formats, list) else None
    # Another program may have changed the content since; then the stored formats do not apply.
    if forms is not None and [_type_of(part) for part in parts] == [kind for kind, _, _ in forms]:
        return _pieces(parts, [form for _, _, form in forms])
    if len(parts) == 1 and type(parts[0]) is Text:
        return parts[0].text
    if not any(isinstance(part, Media) for part in parts):
        return message.text
    return _pieces(parts, [""] * len(parts))


def _type_of(part: Part) -> str | None:
    """The type of the piece for a part; None if there is none."""
    if isinstance(part, Text):
        return "text"
    return str(part.data.get("type")) if isinstance(part, Opaque) else _TYPE_OF.get(cast("type[Media]", type(part)))


def _pieces(parts: Sequence[Part], forms: Sequence[str]) -> list[MediaContent]:
    found = (_piece_of(part, form) for part, form in zip(parts, forms, strict=True))
    return [one for one in found if one is not None]


def _piece_of(part: Part, form: str) -> MediaContent | None:
    """A part as a piece, in its original form if possible; None for what is no content."""
    match part:
        case Text() | ToolResult():
            return MediaContent(MediaObject(part.text, form or "text"))
        case Image() | Audio() | Video():
            return MediaContent(_object_of(part, form), _TYPE_OF[type(part)])
        case Opaque(kind="dbgpt.media", data={"object": {"data": str(data), "format": str(given)}, "type": str(kind)}):
            return MediaContent(MediaObject(data, given), kind)
        case Opaque() | ToolCall():
            return None


def _object_of(part: Media, form: str) -> MediaObject:
    given = form.partition("@")[0]
    suffix = f"@{part.media_type}" if part.media_type else ""
    if part.data is not None:
        if given in ("", "base64", "url"):
            shape = form if given == "base64" else f"base64{suffix}"
            return MediaObject(base64.b64encode(part.data).decode(), shape)
        return MediaObject(part.data, form)
    if part.url is not None:
        return MediaObject(part.url, form if given == "url" else f"url{suffix}")
    return MediaObject(part.text or part.blob or "", "text")
