"""Messages between agents: who says what, in text or in blocks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Required, Self, TypeAlias, TypedDict, cast

from memwell.errors import InvalidInput
from memwell.values import new_id, shown


class TextBlock(TypedDict, total=False):
    """Words."""

    type: Required[Literal["text"]]
    text: str


class ThinkingBlock(TypedDict, total=False):
    """What a model thought; it is never shown to other agents."""

    type: Required[Literal["thinking"]]
    thinking: str


class Base64Source(TypedDict, total=False):
    """The bytes of something seen or heard, in base64."""

    type: Required[Literal["base64"]]
    media_type: Required[str]
    data: Required[str]


class URLSource(TypedDict, total=False):
    """Where something seen or heard is."""

    type: Required[Literal["url"]]
    url: Required[str]


class ImageBlock(TypedDict, total=False):
    """A picture."""

    type: Required[Literal["image"]]
    source: Required[Base64Source | URLSource]


class AudioBlock(TypedDict, total=False):
    """A sound recording."""

    type: Required[Literal["audio"]]
    source: Required[Base64Source | URLSource]


class VideoBlock(TypedDict, total=False):
    """A moving picture."""

    type: Required[Literal["video"]]
    source: Required[Base64Source | URLSource]


class ToolUseBlock(TypedDict, total=False):
    """A model asks for a tool; ``raw_input`` is what it wrote, word for word."""

    type: Required[Literal["tool_use"]]
    id: Required[str]
    name: Required[str]
    input: Required[dict[str, object]]
    raw_input: str


class ToolResultBlock(TypedDict, total=False):
    """What a tool answered to the call of the same id."""

    type: Required[Literal["tool_result"]]
    id: Required[str]
    output: Required[str | list[TextBlock | ImageBlock | AudioBlock | VideoBlock]]
    name: Required[str]


ContentBlock: TypeAlias = (
    ToolUseBlock | ToolResultBlock | TextBlock | ThinkingBlock | ImageBlock | AudioBlock | VideoBlock
)
"""What a message's content may be made of."""

BlockType: TypeAlias = Literal["text", "thinking", "tool_use", "tool_result", "image", "audio", "video"]

MsgRole: TypeAlias = Literal["user", "assistant", "system"]

_ROLES = ("user", "assistant", "system")
_UNCHANGING = frozenset({str, int, float, bool, type(None)})


class Msg:
    """A message: its sender's name, its content as text or as a list of blocks, and a role.

    Two messages are equal when they are the same object; ``id`` says whether they are the same message. Raises
    ``InvalidInput`` for a role that is none of the three, for a content that is neither text nor a list, for a block of
    unknown type or without what its type needs, and for metadata that is no dict.
    """

    def __init__(
        self,
        name: str,
        content: str | Sequence[ContentBlock],
        role: MsgRole,
        metadata: dict[str, Any] | None = None,
        timestamp: str | None = None,
        invocation_id: str | None = None,
    ) -> None:
        self.name = _text(name, "a message's name")
        self.content: str | list[ContentBlock] = check_content(content)
        self.role: MsgRole = check_role(role)
        self.metadata: dict[str, Any] = _metadata(metadata)
        self.id = new_id()
        self.timestamp = _text(timestamp, "a message's timestamp") if timestamp else _moment()
        self.invocation_id = invocation_id

    def to_dict(self) -> dict[str, Any]:
        """The message as plain data that shares nothing with it; ``invocation_id`` is there when the message has one."""
        values: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "role": self.role,
            "content": plain_copy(self.content),
            "metadata": plain_copy(self.metadata),
            "timestamp": self.timestamp,
        }
        return values if self.invocation_id is None else {**values, "invocation_id": self.invocation_id}

    @classmethod
    def from_dict(cls, json_data: Mapping[str, Any]) -> Self:
        """The message that ``to_dict`` wrote. Raises ``InvalidInput`` when something of it is missing or wrong."""
        _check_written(json_data)
        made = cls(
            name=json_data["name"],
            content=plain_copy(json_data["content"]),
            role=json_data["role"],
            metadata=plain_copy(json_data.get("metadata")),
            timestamp=json_data.get("timestamp"),
            invocation_id=json_data.get("invocation_id"),
        )
        if "id" in json_data:
            made.id = _text(json_data["id"], "a message's id")
        return made

    def has_content_blocks(self, block_type: BlockType | list[BlockType] | None = None) -> bool:
        """Whether the content has a block, of a type when one is named."""
        return bool(self.get_content_blocks(block_type))

    def get_text_content(self, separator: str = "\n") -> str | None:
        """The text, or that of the text blocks joined; None when there is no text block."""
        if isinstance(self.content, str):
            return self.content
        texts = [block.get("text", "") for block in self.content if block["type"] == "text"]
        return separator.join(texts) if texts else None

    def get_content_blocks(self, block_type: BlockType | list[BlockType] | None = None) -> list[Any]:
        """The content as blocks, of one type or several when they are named; a text is one text block."""
        if isinstance(self.content, str):
            blocks: list[ContentBlock] = [TextBlock(type="text", text=self.content)]
        else:
            blocks = self.content
        if block_type is None:
            return blocks
        wanted = (block_type,) if isinstance(block_type, str) else block_type
        return [block for block in blocks if block["type"] in wanted]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # A message goes to every agent of a hub as a copy, so copying one must be cheap.
        twin = memo[id(self)] = object.__new__(type(self))
        copies = twin.__dict__
        for name, value in self.__dict__.items():
            copies[name] = value if type(value) in _UNCHANGING else plain_copy(value, memo)
        return twin

    def __repr__(self) -> str:
        return (
            f"Msg(id={self.id!r}, name={self.name!r}, content={self.content!r}, role={self.role!r}, "
            f"metadata={self.metadata!r}, timestamp={self.timestamp!r}, invocation_id={self.invocation_id!r})"
        )


def without_thinking(message: Msg) -> Msg:
    """A copy for others: the same id, and no thinking block."""
    twin = message.__deepcopy__({})
    if not isinstance(twin.content, str):
        twin.content = [block for block in twin.content if block["type"] != "thinking"]
    return twin


def plain_copy(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """A copy that shares nothing which can be changed; of plain data it is several times cheaper than ``copy.deepcopy``."""
    kind = cast("type[Any]", type(value))
    if kind is dict:
        return {key: item if type(item) in _UNCHANGING else plain_copy(item, memo) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _UNCHANGING else plain_copy(item, memo) for item in value]
    return value if kind in _UNCHANGING else copy.deepcopy(value, memo)


def check_message(value: object) -> Msg:
    """Return ``value`` when it is a message whose parts, which can be assigned, still are what they must be.

    Raises ``InvalidInput`` otherwise.
    """
    if not isinstance(value, Msg):
        raise InvalidInput(f"expected a Msg, not {shown(value)}")
    _text(value.name, "a message's name")
    check_content(value.content)
    check_role(value.role)
    _metadata(value.metadata)
    _text(value.id, "a message's id")
    _text(value.timestamp, "a message's timestamp")
    return value


def check_role(value: object) -> MsgRole:
    """Return ``value`` when it is a role; raises ``InvalidInput`` otherwise."""
    if not isinstance(value, str) or value not in _ROLES:
        raise InvalidInput(f"unknown role {shown(value)}; known roles: {', '.join(_ROLES)}")
    return value


def check_content(value: object) -> str | list[ContentBlock]:
    """Return ``value`` when it is text or a list of blocks that are whole; raises ``InvalidInput`` otherwise."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise InvalidInput(f"The content must be a string or a list of content blocks, not {shown(value)}")
    for block in cast("list[object]", value):
        check_block(block)
    return cast("list[ContentBlock]", value)


def check_block(value: object) -> ContentBlock:
    """Return ``value`` when it is a block of a known type with what that type needs; raises ``InvalidInput`` otherwise."""
    if not isinstance(value, dict):
        raise InvalidInput(f"a content block must be a dict, not {shown(value)}")
    block = cast("dict[str, Any]", value)
    kind = block.get("type")
    check = _CHECKS.get(kind) if isinstance(kind, str) else None
    if check is None:
        raise InvalidInput(f"unknown block type {shown(kind)}; known types: {', '.join(_CHECKS)}")
    check(block)
    return cast(ContentBlock, block)


def _check_media(block: dict[str, Any]) -> None:
    match block.get("source"):
        case {"type": "url", "url": str()} | {"type": "base64", "media_type": str(), "data": str()}:
            return
        case source:
            what = f"the source of a block of type {block['type']}"
            raise InvalidInput(f"{what} must have a url, or data and a media_type, not {shown(source)}")


def _check_tool_use(block: dict[str, Any]) -> None:
    match block:
        case {"id": str(), "name": str(), "input": dict()}:
            return
        case _:
            raise InvalidInput(
                f"a tool_use block must have an id, a name and an input that is a dict, not {shown(block)}"
            )


def _check_tool_result(block: dict[str, Any]) -> None:
    match block:
        case {"id": str(), "name": str(), "output": str()}:
            return
        case {"id": str(), "name": str(), "output": list()}:
            for inner in block["output"]:
                check_block(inner)
        case _:
            raise InvalidInput(
                f"a tool_result block must have an id, a name and an output that is text or blocks, not {shown(block)}"
            )


def _needs_text(name: str) -> Callable[[dict[str, Any]], None]:
    def check(block: dict[str, Any]) -> None:
        if not isinstance(block.get(name), str):
            raise InvalidInput(f"a {name} block must have a {name} that is a string, not {shown(block)}")

    return check


_CHECKS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "text": _needs_text("text"),
    "thinking": _needs_text("thinking"),
    "tool_use": _check_tool_use,
    "tool_result": _check_tool_result,
    "image": _check_media,
    "audio": _check_media,
    "video": _check_media,
}


def _check_written(data: object) -> None:
    if not isinstance(data, Mapping) or not {"name", "content", "role"} <= cast("Mapping[str, Any]", data).keys():
        raise InvalidInput(f"a message is a dict with a name, a content and a role, not {shown(cast(object, data))}")


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a string, not {shown(value)}")
    return value


def _metadata(value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInput(f"a message's metadata must be a dict, not {shown(value)}")
    return cast("dict[str, Any]", value)


def _moment() -> str:
    # Local time, to the millisecond: what AgentScope writes, so that messages of both sort together.
    return datetime.now().isoformat(" ", "milliseconds")  # noqa: DTZ005


__all__ = [
    "AudioBlock",
    "Base64Source",
    "BlockType",
    "ContentBlock",
    "ImageBlock",
    "Msg",
    "MsgRole",
    "TextBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "URLSource",
    "VideoBlock",
    "check_block",
    "check_content",
    "check_message",
    "check_role",
    "plain_copy",
    "without_thinking",
]
