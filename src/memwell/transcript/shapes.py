"""What the shapes of the APIs have in common: checked reading, fresh copies, media, and words for what cannot go."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.messages import Audio, Image, Media, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, check_message
from memwell.values import check_json, check_list, check_text, check_type, shown

Shape: TypeAlias = dict[str, Any]
"""A message or a block as an API has it: plain JSON data."""

_T = TypeVar("_T")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def outgoing(messages: Iterable[Message], *, include_hidden: bool = False) -> list[Message]:
    """The messages that may go out. Each is checked, so all that follows works on plain data and cannot fail on it."""
    checked = each(messages, "messages", lambda item: [check_message(item)])
    return [item for item in checked if include_hidden or item.for_model]


def each(items: object, what: str, read: Callable[[Any], Iterable[_T]]) -> list[_T]:
    """What ``read`` makes of each item; an ``InvalidInput`` says at which item it happened."""
    out: list[_T] = []
    for number, item in enumerate(check_list(items, f"{what} must be a list")):
        try:
            out.extend(read(item))
        except InvalidInput as error:
            raise InvalidInput(f"{what}[{number}]: {error}") from None
    return out


def mapping(value: object, what: str) -> Shape:
    """A shallow copy of an object; raises ``InvalidInput`` when it is not one."""
    return dict(cast("Mapping[str, Any]", check_type(value, Mapping, f"{what} must be an object")))


def plain_object(value: object, what: str) -> Shape:
    """A deep copy of a JSON object; raises ``InvalidInput`` when it is not one or holds more than plain data."""
    shape = mapping(value, what)
    check_json(shape, what)
    return fresh(shape)


def fresh(data: Shape) -> Shape:
    """A deep copy of plain data."""
    return _decode(_encode(data))


def string(shape: Shape, key: str) -> str:
    """The text under ``key``; raises ``InvalidInput`` when there is none."""
    return check_text(shape.get(key), key)


def in_words(part: Part) -> str:
    """The part as a reader of a transcript should see it."""
    if isinstance(part, Text):
        return part.text
    if isinstance(part, ToolCall):
        return f"[calls {part.name}({arguments_text(part)})]"
    if isinstance(part, ToolResult):
        words = "\n".join(map(in_words, part.content))
        return f"[error] {words}" if part.is_error else words
    if isinstance(part, Opaque):
        return f"[{part.kind.rpartition('.')[2]}]"
    kind = type(part).__name__.lower()
    return f"[{kind}: {part.text}]" if part.text else f"[{kind}]"


def shortest(shapes: list[Shape]) -> str | list[Shape]:
    """Content as a string when it is nothing but one text, and as the list it is otherwise."""
    if len(shapes) == 1 and shapes[0].keys() == {"type", "text"} and shapes[0]["type"] == "text":
        return cast(str, shapes[0]["text"])
    return shapes


_SPEAKERS: Final = {
    "user": Role.HUMAN,
    "human": Role.HUMAN,
    "assistant": Role.AI,
    "ai": Role.AI,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
}


def speaker(item: Message) -> Role:
    """The side on which a model hears a message: HUMAN, AI or SYSTEM. A chat role that is none of them is a person."""
    if item.role is Role.CHAT:
        return _SPEAKERS.get(item.chat_role or "", Role.HUMAN)
    return item.role if item.role in (Role.AI, Role.SYSTEM) else Role.HUMAN


def own_role(item: Message) -> str | None:
    """The chat role of a speaker who is neither the user nor the assistant nor the system: as good as a name."""
    return item.chat_role if item.role is Role.CHAT and item.chat_role not in _SPEAKERS else None


def is_foreign(part: Opaque, provider: str) -> bool:
    """Whether the block belongs to another provider. One without a known owner belongs to all."""
    owner = re.match(r"(openai|anthropic)[.-]", part.kind)
    return owner is not None and owner[1] != provider


def arguments_text(call: ToolCall) -> str:
    """The arguments as the JSON a model would have written."""
    return call.arguments if isinstance(call.arguments, str) else _encode(call.arguments).decode()


def json_object(text: str) -> Shape | None:
    """The JSON object that a text is, or None when it is something else."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast(Shape, value) if isinstance(value, dict) else None


_SIGNATURES: Final = (
    (re.compile(rb"\x89PNG"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"ID3|\xff[\xe2-\xfb]"), "audio/mpeg"),
)
_DATA_URL: Final = re.compile(r"data:([^;,\s]+);base64,(.*)")


def media_type(part: Media) -> str:
    """Its declared type, else what its first bytes say: a provider refuses a picture whose type is wrong."""
    likely = "audio/wav" if isinstance(part, Audio) else "image/png"
    seen = (name for pattern, name in _SIGNATURES if pattern.match(part.data or b""))
    return part.media_type or next(seen, likely)


def to_base64(data: bytes) -> str:
    """Bytes as base64 text."""
    return base64.b64encode(data).decode()


def from_base64(text: str) -> bytes:
    """The bytes of a base64 text; raises ``InvalidInput`` when it is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"data must be base64, not {shown(text)}") from None


def image_at(url: str, options: Shape | None = None) -> Image:
    """The picture at an address; a ``data:`` URL becomes bytes if just the same URL can be made of them again."""
    match = _DATA_URL.fullmatch(url)
    try:
        data = from_base64(match[2]) if match else None
    except InvalidInput:
        data = None
    if match is None or data is None or to_base64(data) != match[2]:
        return Image(url=url, options=options or {})
    return Image(data=data, media_type=match[1], options=options or {})
