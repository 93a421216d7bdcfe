"""Messages of this vocabulary as messages of a log, and back.

Nothing is lost on the way: what a message of a log has no place for travels in its metadata under ``dbgpt``. A message that
came from elsewhere becomes the nearest of the four kinds.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, cast

from memwell.compat.dbgpt.media import MediaContent, MediaObject, MessageContent
from memwell.compat.dbgpt.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ViewMessage,
    message_class,
)
from memwell.messages import Audio, Image, Media, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Video
from memwell.transcript.shapes import speaker

MARK = "dbgpt"
"""The key of a message's metadata under which the rest of a message travels."""

_OPAQUE = "dbgpt.media"
_MEDIA: Mapping[str, type[Image | Audio | Video]] = {"image": Image, "audio": Audio, "video": Video}
_TYPE_OF: Mapping[type[Media], str] = {cls: kind for kind, cls in _MEDIA.items()}
_CLASSES: Mapping[Role, type[BaseMessage]] = {
    Role.HUMAN: HumanMessage,
    Role.AI: AIMessage,
    Role.SYSTEM: SystemMessage,
    Role.VIEW: ViewMessage,
    # What a tool says is on the model's side of the conversation; taken for the user's it would be answered.
    Role.TOOL: AIMessage,
    Role.FUNCTION: AIMessage,
}


def to_core(message: BaseMessage) -> Message:
    """The message for a log. Raises ``InvalidInput`` for a kind that is none of the four."""
    message_class(message.type)
    # The log counts rounds of its own, from what is said; those of this vocabulary are declared, and may differ.
    rest: dict[str, Any] = {"round_index": message.round_index}
    if message.additional_kwargs:
        rest["additional_kwargs"] = message.additional_kwargs
    if getattr(message, "example", False):
        rest["example"] = True
    if isinstance(message.content, str):
        parts: tuple[Part, ...] = (Text(message.content),) if message.content else ()
    else:
        parts = tuple(_part(one) for one in message.content)
        rest["formats"] = [f"{one.type}:{one.object.format}" for one in message.content]
    return Message(Role(message.type), parts, metadata={MARK: rest})


def from_core(message: Message) -> BaseMessage:
    """The message of a log, as the nearest of the four kinds. One hidden from models becomes a view message."""
    mark = message.metadata.get(MARK)
    rest = cast("dict[str, Any]", mark) if isinstance(mark, dict) else {}
    role = speaker(message) if message.role is Role.CHAT else message.role
    cls = ViewMessage if message.hidden else _CLASSES[role]
    made = cls(_content(message, rest.get("formats")), message.index or 0, _round(message, rest.get("round_index")))
    extra = rest.get("additional_kwargs")
    if isinstance(extra, dict):
        made.additional_kwargs = cast("dict[str, Any]", extra)
    if rest.get("example") is True and not isinstance(made, SystemMessage):
        cast(HumanMessage, made).example = True
    return made


def _round(message: Message, declared: object) -> int:
    return declared if type(declared) is int and declared >= 0 else message.round or 0


# Contents


def _part(piece: MediaContent) -> Part:
    data, (form, _, mime) = piece.object.data, piece.object.format.partition("@")
    cls = _MEDIA.get(piece.type)
    if piece.type == "text" and isinstance(data, str):
        return Text(data)
    if cls is not None and isinstance(data, bytes):
        return cls(data=data, media_type=mime or None)
    if cls is not None and form == "url" and isinstance(data, str):
        return cls(url=data, media_type=mime or None)
    decoded = _from_base64(data) if cls is not None and form == "base64" else None
    if cls is not None and decoded is not None:
        return cls(data=decoded, media_type=mime or None)
    return Opaque(_OPAQUE, piece.to_dict())


def _from_base64(text: str | bytes) -> bytes | None:
    """The bytes, if just the same text can be made of them again."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None


def _content(message: Message, formats: object) -> MessageContent:
    parts = message.parts
    # Somebody else may have changed the content since; then it is read as if it had never been ours.
    if isinstance(formats, list) and [_type(part) for part in parts] == [
        _type_of(one) for one in cast("list[object]", formats)
    ]:
        return _pieces(parts, [str(one).partition(":")[2] for one in cast("list[object]", formats)])
    if len(parts) == 1 and type(parts[0]) is Text:
        return parts[0].text
    if not any(isinstance(part, Media) for part in parts):
        return message.text
    return _pieces(parts, [""] * len(parts))


def _type(part: Part) -> str | None:
    """What type of piece a part is; None for what is none."""
    if isinstance(part, Text):
        return "text"
    return str(part.data.get("type")) if isinstance(part, Opaque) else _TYPE_OF.get(cast("type[Media]", type(part)))


def _type_of(form: object) -> str:
    return str(form).partition(":")[0]


def _pieces(parts: Sequence[Part], forms: Sequence[str]) -> list[MediaContent]:
    found = (_piece(part, form) for part, form in zip(parts, forms, strict=True))
    return [one for one in found if one is not None]


def _piece(part: Part, form: str) -> MediaContent | None:
    """A part as a piece, in the form it was given if it still has that; None for what is no content."""
    match part:
        case Text() | ToolResult():
            return MediaContent(MediaObject(part.text, form or "text"))
        case Image() | Audio() | Video():
            return MediaContent(_object(part, form), _TYPE_OF[type(part)])
        case Opaque(kind="dbgpt.media", data={"object": {"data": str(data), "format": str(given)}, "type": str(kind)}):
            return MediaContent(MediaObject(data, given), kind)
        case Opaque() | ToolCall():
            return None


def _object(part: Media, form: str) -> MediaObject:
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


__all__ = ["MARK", "from_core", "to_core"]
