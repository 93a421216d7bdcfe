"""``Message``: one thing said, with a role and a content in parts, and its JSON form.

A ``Message`` is a frozen value of one class for every role, and JSON preserves it. Providers' own formats are in
``memwell.transcript``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec
from msgspec.structs import force_setattr, replace

from memwell.errors import InvalidInput
from memwell.values import (
    MAX_ID_LENGTH,
    as_utc,
    check_count,
    check_flag,
    check_id,
    check_json,
    check_list,
    check_size,
    check_text,
    check_type,
    new_id,
    now,
    shown,
)


class Role(StrEnum):
    """The role of a speaker. ``view`` is shown to people and never to a model; ``chat`` has a role name of its own."""

    HUMAN = "human"
    AI = "ai"
    SYSTEM = "system"
    TOOL = "tool"
    FUNCTION = "function"
    CHAT = "chat"
    VIEW = "view"


class Text(msgspec.Struct, frozen=True, tag="text", omit_defaults=True):
    """A text."""

    text: str


class Media(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An image, sound or video: given by URL, by its bytes, or by the digest of a blob in the store."""

    url: str | None = None
    data: bytes | None = None
    blob: str | None = None
    media_type: str | None = None
    text: str = ""
    """Its content in words: a caption, a description, a transcript."""
    options: dict[str, Any] = {}
    """Options of a provider, such as ``{"detail": "low"}``."""


class Image(Media, frozen=True, tag="image"):
    """An image."""


class Audio(Media, frozen=True, tag="audio"):
    """A sound recording."""


class Video(Media, frozen=True, tag="video"):
    """A video."""


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call", omit_defaults=True):
    """A model's call of a tool. ``arguments`` is a text only when the model wrote no JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | str = {}


class Opaque(msgspec.Struct, frozen=True, tag="opaque", omit_defaults=True):
    """A provider's block that memwell does not interpret and returns unchanged."""

    kind: str
    data: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """The result of the tool call with the same id."""

    call_id: str
    content: tuple[Text | Image | Audio | Video | Opaque, ...] = ()
    name: str | None = None
    is_error: bool = False

    def __post_init__(self) -> None:
        if type(self.content) is not tuple:
            force_setattr(self, "content", _parts(self.content))

    @property
    def text(self) -> str:
        """The text of the result."""
        return "\n".join(part.text for part in self.content if not isinstance(part, Opaque) and part.text)


Part: TypeAlias = Text | Image | Audio | Video | ToolCall | ToolResult | Opaque
_PART_TYPES = (Text, Image, Audio, Video, ToolCall, ToolResult, Opaque)
_RESULT_TYPES = (Text, Image, Audio, Video, Opaque)

if TYPE_CHECKING:
    _Checking = msgspec.StructMeta
else:

    class _Checking(msgspec.StructMeta):
        """Checks a message that is constructed. A decoded one was checked when it was stored.

        A ``__post_init__`` would check decoded messages too, which is a quarter of the cost of reading them.
        """

        def __call__(cls, *args: Any, **fields: Any) -> Any:
            return _adapted(super().__call__(*args, **fields))


class Message(msgspec.Struct, frozen=True, omit_defaults=True, metaclass=_Checking):
    """One message of a conversation.

    ``index`` and ``round`` are None until a log has stored it. ``tokens`` is its exact size in the default encoding, once
    counted. ``hidden`` keeps a message of any role from models. Content given as a string becomes one ``Text`` part.
    Raises ``InvalidInput`` for an unknown role and for content that is neither text nor parts.
    """

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    id: str = msgspec.field(default_factory=new_id)
    time: datetime = msgspec.field(default_factory=now)
    metadata: dict[str, Any] = {}
    index: int | None = None
    round: int | None = None
    tokens: int | None = None
    hidden: bool = False
    chat_role: str | None = None

    @property
    def text(self) -> str:
        """The text of the message: its text parts and the texts of its tool results, a line each."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text | ToolResult))

    @property
    def searchable(self) -> str:
        """The text that a search matches: its own text, the captions of its media, and the names of called tools."""
        return "\n".join(_words(part) for part in self.parts)

    @property
    def for_model(self) -> bool:
        """Whether the message is passed to a model."""
        return not self.hidden and self.role is not Role.VIEW

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls it makes."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results it carries."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    def changed(self, **fields: Any) -> Message:
        """A copy with some fields changed; a new content or name clears the token count."""
        if "content" in fields:
            fields["parts"] = fields.pop("content")
        if "parts" in fields:
            fields["parts"] = _parts(fields["parts"])
        if "parts" in fields or "name" in fields:
            fields.setdefault("tokens", None)
        return _adapted(replace(self, **fields))

    def rewritten(self, content: Content) -> Message:
        """A copy with new content that keeps its tool calls; its tool results keep their calls and get the new content.
        Content with calls or results replaces everything.
        """
        parts = _parts(content)
        if any(isinstance(part, ToolCall | ToolResult) for part in parts):
            return self.changed(parts=parts)
        inner = cast("tuple[Text | Image | Audio | Video | Opaque, ...]", parts)
        results = tuple(replace(result, content=inner) for result in self.tool_results)
        return self.changed(parts=(*(results or parts), *self.tool_calls))


Content: TypeAlias = str | Part | Iterable[Part | str]
"""The content of a message: a string, one part, or several."""


def message(role: Role | str, content: Content, /, **fields: Any) -> Message:
    """A message of any role, also by the names of Chat Completions; ``fields`` are those of ``Message``.

    Raises ``InvalidInput`` for an unknown role.
    """
    return Message(cast(Role, _SAME_ROLES.get(str(role), role)), _parts(content), **fields)


_SAME_ROLES = {"user": Role.HUMAN, "assistant": Role.AI, "developer": Role.SYSTEM}


def human(content: Content, /, **fields: Any) -> Message:
    """A person's message."""
    return Message(Role.HUMAN, _parts(content), **fields)


def ai(content: Content = (), /, *, tool_calls: Sequence[ToolCall] = (), **fields: Any) -> Message:
    """A model's message and its tool calls."""
    return Message(Role.AI, (*_parts(content), *tool_calls), **fields)


def system(content: Content, /, **fields: Any) -> Message:
    """An instruction."""
    return Message(Role.SYSTEM, _parts(content), **fields)


def tool_result(call_id: str, content: Content = (), /, *, is_error: bool = False, **fields: Any) -> Message:
    """The result of the tool call ``call_id``."""
    parts = cast("tuple[Text | Image | Audio | Video | Opaque, ...]", _parts(content))
    return Message(Role.TOOL, (ToolResult(call_id, parts, fields.get("name"), is_error),), **fields)


def _words(part: Part) -> str:
    if isinstance(part, ToolCall):
        return part.name
    return "" if isinstance(part, Opaque) else part.text


def _adapted(value: Message) -> Message:
    """A new message with its role, content and time converted to our types."""
    if type(value.role) is not Role:
        force_setattr(value, "role", _role(value.role))
    if type(value.parts) is not tuple:
        force_setattr(value, "parts", _parts(value.parts))
    if type(value.time) is not datetime or value.time.tzinfo is not UTC:
        force_setattr(value, "time", as_utc(value.time, "a message's time"))
    return value


def _role(value: object) -> Role:
    try:
        return Role(cast(str, value))
    except ValueError:
        raise InvalidInput(f"unknown role {shown(value)}; known roles: {', '.join(Role)}") from None


def _parts(content: Content) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if isinstance(content, _PART_TYPES):
        return (content,)
    listed = check_list(content, "content must be text or parts")
    return tuple(Text(item) if isinstance(item, str) else item for item in listed)


_encode = msgspec.json.Encoder().encode
_SURELY_SMALL = 100_000
_BACKSLASH = ord("\\")
_decoder = msgspec.json.Decoder(Message)
_list_decoder = msgspec.json.Decoder(list[Message])
_DECODE_ERRORS = (msgspec.DecodeError, UnicodeError, RecursionError, TypeError)


def encode_message(value: Message) -> bytes:
    """The message as JSON. Raises ``InvalidInput`` that names the invalid field and the rule."""
    if value.metadata or type(value.metadata) is not dict:
        _check_object(value.metadata, "metadata")
    try:
        encoded = _encode(value)
    except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
        check_message(value)
        raise InvalidInput(f"a message cannot be written as JSON: {error}") from error
    # Only a message with an escape, a tool call, media or an opaque part can be invalid at this point.
    if b"\\u0000" in encoded or len(encoded) > _SURELY_SMALL or type(value.id) is not str or not _is_plain(value):
        check_message(value)
        check_size(encoded, "a message")
    return encoded


def plain_json(value: Message) -> str | None:
    """The JSON, without its opening brace, of a message with only text and metadata; None for a message that needs more
    checks.
    """
    if type(value) is not Message or type(value.metadata) is not dict or not _is_plain(value):
        return None
    try:
        if value.metadata:
            check_json(value.metadata, "metadata")
        encoded = _encode(value)
    except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError, InvalidInput):
        return None
    # Searching for one byte first takes a quarter of the time, and few messages have an escape.
    if (_BACKSLASH in encoded and b"\\u0000" in encoded) or len(encoded) > _SURELY_SMALL:
        return None
    return encoded[1:].decode()


def _is_plain(value: Message) -> bool:
    """Whether it has only text, and every field is of the right type."""
    if (
        type(value.role) is not Role
        or type(value.parts) is not tuple
        or type(value.time) is not datetime
        or value.time.tzinfo is not UTC
        or type(value.id) is not str
        or not 0 < len(value.id) <= MAX_ID_LENGTH
        or value.index is not None
        or value.round is not None
        or value.name is not None
        or value.chat_role is not None
        or type(value.hidden) is not bool
        or not (value.tokens is None or (type(value.tokens) is int and 0 <= value.tokens < 2**63))
    ):
        return False
    for part in value.parts:  # noqa: SIM110 - all() makes a generator, which costs more than the check
        if type(part) is not Text or type(part.text) is not str:
            return False
    return True


def decode_message(encoded: bytes | str) -> Message:
    """The message that ``encode_message`` wrote. Raises ``InvalidInput``."""
    try:
        return _decoder.decode(encoded)
    except _DECODE_ERRORS as error:
        raise InvalidInput(f"not a message: {error}") from error


_recent: dict[str, Message] = {}
_MOST_RECENT = 2048
_SHORT = 4096
_LONG = 65_536


def decode_messages(encoded: Sequence[str]) -> list[Message]:
    """Decode many messages at once, which is faster than one by one. Raises ``InvalidInput``.

    The last messages of a conversation are read often, so plain text messages are cached by their JSON.
    """
    try:
        if encoded and max(map(len, encoded)) > _LONG:
            # For long messages the cache costs as much as decoding.
            return [_decoder.decode(one) for one in encoded]
    except _DECODE_ERRORS as error:
        raise InvalidInput(f"not a list of messages: {error}") from error
    # The metadata of a cached message is mutable, so every reader gets its own.
    found = [replace(known, metadata={}) if (known := _recent.get(one)) is not None else None for one in encoded]
    if None not in found:
        return cast("list[Message]", found)
    missing = [one for one, known in zip(encoded, found, strict=True) if known is None]
    try:
        decoded = _list_decoder.decode(f"[{','.join(missing)}]")
    except _DECODE_ERRORS as error:
        raise InvalidInput(f"not a list of messages: {error}") from error
    if len(missing) <= _MOST_RECENT // 8:
        _remember(missing, decoded)
    fresh = iter(decoded)
    return [next(fresh) if known is None else known for known in found]


def _remember(encoded: Sequence[str], decoded: Sequence[Message]) -> None:
    if len(_recent) > _MOST_RECENT:
        # Clearing it whole is rare, and needs no lock.
        _recent.clear()
    _recent.update(
        (text, message)
        for text, message in zip(encoded, decoded, strict=True)
        if len(text) <= _SHORT and not message.metadata and all(type(part) is Text for part in message.parts)
    )


def forget_decoded() -> None:
    """Clear the cache of ``decode_messages``, which outlives the store."""
    _recent.clear()


def check_message(value: object) -> Message:
    """Return ``value`` if it is a message that any store accepts. Raises ``InvalidInput``."""
    if not isinstance(value, Message):
        raise InvalidInput(f"expected a Message, not {shown(value)}; make one with human(), ai() or message()")
    check_id(value.id, "a message's id")
    if type(value.role) is not Role or type(value.parts) is not tuple or value.time.tzinfo is not UTC:
        raise InvalidInput(f"a message's fields were changed past its checks: {shown(value)}; use changed()")
    for field in ("name", "chat_role"):
        if getattr(value, field) is not None:
            check_id(getattr(value, field), f"a message's {field}")
    for field in ("index", "round", "tokens"):
        if getattr(value, field) is not None:
            check_count(getattr(value, field), f"a message's {field}")
    check_flag(value.hidden, "a message's hidden")
    _check_object(value.metadata, "metadata")
    for part in value.parts:
        _check_part(part)
    return value


def _check_part(part: object) -> None:
    if not isinstance(part, _PART_TYPES):
        raise InvalidInput(f"a part must be one of {', '.join(t.__name__ for t in _PART_TYPES)}, not {shown(part)}")
    if isinstance(part, Text):
        check_text(part.text, "text")
    elif isinstance(part, Media):
        _check_media(part)
    elif isinstance(part, ToolCall):
        check_id(part.id, "a tool call's id")
        check_id(part.name, "a tool call's name")
        if isinstance(part.arguments, str):
            check_text(part.arguments, "a tool call's arguments")
        else:
            _check_object(part.arguments, "a tool call's arguments")
    elif isinstance(part, ToolResult):
        _check_result(part)
    else:
        check_id(part.kind, "an opaque part's kind")
        _check_object(part.data, "an opaque part's data")


def _check_result(part: ToolResult) -> None:
    check_id(part.call_id, "a tool result's call_id")
    if part.name is not None:
        check_id(part.name, "a tool result's name")
    check_flag(part.is_error, "a tool result's is_error")
    for inner in part.content:
        _check_part(check_type(inner, _RESULT_TYPES, "a tool result holds text, media and opaque parts"))


def _check_object(value: object, what: str) -> None:
    # The exact type is checked first because it is fast.
    kind = type(value)
    if kind is not dict and not issubclass(kind, Mapping):
        raise InvalidInput(f"{what} must be a mapping, not {shown(value)}")
    check_json(value, what)


def _check_media(part: Media) -> None:
    for field in ("url", "blob", "media_type"):
        if getattr(part, field) is not None:
            check_text(getattr(part, field), f"a part's {field}")
    if part.data is not None and type(part.data) is not bytes:
        raise InvalidInput(f"a part's data must be bytes, not {shown(part.data)}")
    check_text(part.text, "a part's text")
    _check_object(part.options, "a part's options")
