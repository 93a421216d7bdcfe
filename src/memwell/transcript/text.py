"""Messages as the lines of a dialogue, and back; and what the shapes of the APIs have in common."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.messages import (
    Audio,
    Image,
    Media,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    ToolCall,
    ToolResult,
    check_message,
    message,
)
from memwell.values import check_json, check_list, check_text, check_type, shown

_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


def storable(value: Any) -> Any:
    """The same plain data as every store takes it: other kinds of text as plain text, U+FFFD for NUL and half characters.

    A tool or a model may say anything, and what it says must not end the turn.
    """
    if isinstance(value, str):
        # Called with str itself: a member of an enumeration would show its name.
        text = value if type(value) is str else str.__str__(value)
        try:
            return check_text(text, "a text")
        except InvalidInput:
            return _UNSTORABLE.sub("\ufffd", text)
    if isinstance(value, dict):
        return {storable(key): storable(one) for key, one in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [storable(one) for one in cast("list[Any]", value)]
    return value


def to_text(
    messages: Iterable[Message],
    *,
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    system_prefix: str = "System",
    tool_prefix: str = "Tool",
    function_prefix: str = "Function",
    chat_prefix: str = "Chat",
    view_prefix: str = "View",
    colon: str = ": ",
    separator: str = "\n",
    names: bool = False,
    include_hidden: bool = False,
) -> str:
    r"""The conversation as text, ``Human: …`` then ``AI: …``; a chat message begins with its own role.

    With ``names`` a speaker's name follows the prefix in parentheses. A line inside a message that looks like the start
    of another gets a ``\`` in front: no text can forge a turn, and ``from_text`` gives every text back. The colon may
    be full-width. Raises ``InvalidInput`` for a prefix, colon or separator that could not be read back.
    """
    prefixes = {
        Role.HUMAN: human_prefix,
        Role.AI: ai_prefix,
        Role.SYSTEM: system_prefix,
        Role.TOOL: tool_prefix,
        Role.FUNCTION: function_prefix,
        Role.CHAT: chat_prefix,
        Role.VIEW: view_prefix,
    }
    if check_text(colon, "colon").removesuffix(" ") not in tuple(_COLONS):
        raise InvalidInput(f"colon must be one of {_COLONS}, alone or with a space after it, not {shown(colon)}")
    said = [(_label(item, prefixes), item) for item in outgoing(messages, include_hidden=include_hidden)]
    layout = _Layout({*prefixes.values(), *(label for label, _ in said)}, separator, names=names)
    return separator.join(layout.written(label, colon, item) for label, item in said)


def from_text(
    text: str,
    *,
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    system_prefix: str = "System",
    tool_prefix: str = "Tool",
    function_prefix: str = "Function",
    chat_prefix: str = "Chat",
    view_prefix: str = "View",
    chat_roles: Collection[str] = (),
    separator: str = "\n",
    names: bool = False,
) -> list[Message]:
    """The messages of a text: a prefix and a colon at the start of a line begin one, other lines go on.

    With the options ``to_text`` had, and the chat roles in use as ``chat_roles``, roles, names and texts come back as
    they were. Raises ``InvalidInput`` when words come before the first prefix, or when two prefixes are the same.
    """
    prefixes = (
        (human_prefix, Role.HUMAN),
        (ai_prefix, Role.AI),
        (system_prefix, Role.SYSTEM),
        (tool_prefix, Role.TOOL),
        (function_prefix, Role.FUNCTION),
        (chat_prefix, Role.CHAT),
        (view_prefix, Role.VIEW),
    )
    roles = {**dict.fromkeys(chat_roles, Role.CHAT), **dict(prefixes)}
    if len(roles) < len(prefixes) + len(chat_roles):
        raise InvalidInput(f"prefixes and chat roles must all differ: {', '.join(map(shown, roles))}")
    layout = _Layout(roles, separator, names=names)
    return [
        message(roles[label], body, name=name, chat_role=label if label in chat_roles else None)
        for label, name, body in layout.read(check_text(text, "text"))
    ]


_COLONS: Final = ":\uff1a"
# What may not stand in a header: a colon ends it, a backslash marks what is none, parentheses hold the name.
_UNSAFE: Final = re.compile(rf"\s*[\\()\r\n{_COLONS}]+\s*")


class _Layout:
    """How messages lie in a text: a header, words in which no other header can be mistaken, a separator.

    A header has its only colon at its end and no line break; a separator has no colon and ends with a line break. So a
    header is never found across the border of two messages, whatever words they hold.
    """

    def __init__(self, labels: Iterable[str], separator: str, *, names: bool) -> None:
        if not check_text(separator, "separator").endswith("\n") or any(colon in separator for colon in _COLONS):
            raise InvalidInput(f"separator must end with a line break and have no colon, not {shown(separator)}")
        self._names = names
        label = "|".join(re.escape(self._checked(label)) for label in labels)
        name = rf"(?: \((?P<name>[^\\()\r\n{_COLONS}]+)\))?" if names else "(?P<name>)"
        header = f"(?P<label>{label}){name}[{_COLONS}]"
        between = re.escape(separator)
        self._start = re.compile(rf"(?:\A|{between}){header}")
        self._lookalike = re.compile(rf"({between})(?=\\*{header})")
        self._escaped = re.compile(rf"({between})\\(?=\\*{header})")

    def _checked(self, label: str) -> str:
        forbidden = rf"\{_COLONS}()" if self._names else rf"\{_COLONS}"
        if not check_text(label, "a prefix") or "\n" in label or any(mark in label for mark in forbidden):
            raise InvalidInput(f"a prefix must be one line without any of {forbidden}, not {shown(label)}")
        return label

    def written(self, label: str, colon: str, item: Message) -> str:
        name = _made_safe(item.name) if self._names else ""
        header = f"{label} ({name})" if name else label
        words = "\n".join(map(in_words, item.parts))
        # The reader drops one space after the colon, so a space that belongs to the words needs another before it.
        space = " " if words.startswith(" ") and not colon.endswith(" ") else ""
        return self._lookalike.sub(r"\1\\", f"{header}{colon}{space}{words}")

    def read(self, text: str) -> Iterator[tuple[str, str | None, str]]:
        starts = list(self._start.finditer(text))
        before = text[: starts[0].start()] if starts else text
        if before.strip():
            raise InvalidInput(f"a text must begin with a known prefix and a colon, not with {shown(before)}")
        ends = [*(start.start() for start in starts[1:]), len(text)]
        for start, end in zip(starts, ends, strict=False):
            # The header is unescaped along with the words: the space after its colon may be part of a separator.
            whole = self._escaped.sub(r"\1", text[start.start("label") : end])
            body = whole[start.end() - start.start("label") :].removeprefix(" ")
            yield start["label"], start["name"] or None, body


def _label(item: Message, prefixes: Mapping[Role, str]) -> str:
    own_role = _made_safe(item.chat_role) if item.role is Role.CHAT else ""
    return own_role or prefixes[item.role]


def _made_safe(label: str | None) -> str:
    return _UNSAFE.sub(" ", label or "").strip()


# What the shapes of the APIs have in common: checked reading, fresh copies, media, and words for what cannot go.

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
