"""Messages between agents: ``Msg`` with its content blocks, and the way to and from messages of the store."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, Required, Self, TypeAlias, TypedDict, cast

from memwell.errors import InvalidInput
from memwell.messages import Message
from memwell.transcript.agentscope import check_layout, from_agentscope, plain_copy, to_agentscope
from memwell.values import check_type, new_id, shown


class WrongType(InvalidInput, TypeError):
    """An argument has the wrong type. Nothing was stored."""


class SeenAsTheirs:
    """A base by which the isinstance checks of AgentScope accept an object of ours, where a program has loaded AgentScope.

    Its ``__class__`` is the class of AgentScope with the name of the object's class, or of its nearest base that is there.
    """

    _their_module: ClassVar[str]

    @property
    def __class__(self) -> type[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        theirs = sys.modules.get(self._their_module)
        if theirs is None:
            return type(self)
        named = (getattr(theirs, base.__name__, None) for base in type(self).__mro__)
        return next((one for one in named if one is not None), type(self))


class TextBlock(TypedDict, total=False):
    """Words."""

    type: Required[Literal["text"]]
    text: str


class ThinkingBlock(TypedDict, total=False):
    """A thought of a model; other agents never see it."""

    type: Required[Literal["thinking"]]
    thinking: str


class Base64Source(TypedDict, total=False):
    """The bytes of a medium in base64."""

    type: Required[Literal["base64"]]
    media_type: Required[str]
    data: Required[str]


class URLSource(TypedDict, total=False):
    """The address of a medium."""

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
    """A model's call of a tool; ``raw_input`` is its unparsed text."""

    type: Required[Literal["tool_use"]]
    id: Required[str]
    name: Required[str]
    input: Required[dict[str, object]]
    raw_input: str


class ToolResultBlock(TypedDict, total=False):
    """The answer of a tool to the call of the same id."""

    type: Required[Literal["tool_result"]]
    id: Required[str]
    output: Required[str | list[TextBlock | ImageBlock | AudioBlock | VideoBlock]]
    name: Required[str]


ContentBlock: TypeAlias = (
    ToolUseBlock | ToolResultBlock | TextBlock | ThinkingBlock | ImageBlock | AudioBlock | VideoBlock
)
"""A block of a message's content."""

BlockType: TypeAlias = Literal["text", "thinking", "tool_use", "tool_result", "image", "audio", "video"]
MsgRole: TypeAlias = Literal["user", "assistant", "system"]


class Msg(SeenAsTheirs):
    """A message: the name of its sender, its content as text or as a list of blocks, and a role.

    Two messages are equal only when they are the same object; ``id`` says whether they are the same message. Raises
    ``InvalidInput`` for an unknown role, a content that is neither text nor a list, a block of unknown type or without a
    field its type needs, and metadata that is no dict.
    """

    _their_module = "agentscope.message"

    def __init__(
        self,
        name: str,
        content: str | Sequence[ContentBlock],
        role: MsgRole,
        metadata: dict[str, Any] | None = None,
        timestamp: str | None = None,
        invocation_id: str | None = None,
    ) -> None:
        self.name = name
        self.content = cast("str | list[ContentBlock]", content)
        self.role: MsgRole = role
        self.metadata: dict[str, Any] = {} if metadata is None else metadata
        self.id = new_id()
        # Local time to the millisecond, as AgentScope writes it, so that messages of both sort together.
        self.timestamp = timestamp or datetime.now().isoformat(" ", "milliseconds")  # noqa: DTZ005
        self.invocation_id = invocation_id
        check_layout(vars(self))

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
        """The message that ``to_dict`` wrote. Raises ``InvalidInput`` when a part of it is missing or wrong."""
        rule = "a message is a dict with a name, a content and a role"
        if not {"name", "content", "role"} <= check_type(json_data, Mapping, rule).keys():
            raise InvalidInput(f"{rule}, not {shown(json_data)}")
        given = {name: plain_copy(json_data.get(name)) for name in ("name", "content", "role", "metadata", "timestamp")}
        made = cls(**given, invocation_id=json_data.get("invocation_id"))
        if "id" in json_data:
            made.id = json_data["id"]
            check_message(made)
        return made

    def has_content_blocks(self, block_type: BlockType | list[BlockType] | None = None) -> bool:
        """Whether the content has a block, or one of a type."""
        return bool(self.get_content_blocks(block_type))

    def get_text_content(self, separator: str = "\n") -> str | None:
        """The text, or that of the text blocks joined; None when there is no text block."""
        if isinstance(self.content, str):
            return self.content
        texts = [block.get("text", "") for block in self.content if block["type"] == "text"]
        return separator.join(texts) if texts else None

    def get_content_blocks(self, block_type: BlockType | list[BlockType] | None = None) -> list[Any]:
        """The content as blocks, all or those of one type or several; a text is one text block."""
        if isinstance(self.content, str):
            blocks: list[ContentBlock] = [TextBlock(type="text", text=self.content)]
        else:
            blocks = self.content
        if block_type is None:
            return blocks
        wanted = (block_type,) if isinstance(block_type, str) else block_type
        return [block for block in blocks if block["type"] in wanted]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Attribute by attribute: then the copies share the table of their names, and a hub makes a copy for every agent.
        twin = memo[id(self)] = object.__new__(type(self))
        for name, value in self.__dict__.items():
            setattr(twin, name, value if type(value) is str else plain_copy(value, memo))
        return twin

    def __repr__(self) -> str:
        return f"Msg({', '.join(f'{name}={getattr(self, name)!r}' for name in _FIELDS)})"


_FIELDS = ("id", "name", "content", "role", "metadata", "timestamp", "invocation_id")


def check_message(value: object) -> Msg:
    """Return ``value`` when it is a message, or a copy as our ``Msg`` of a message of AgentScope's own.

    Raises ``WrongType`` for anything else, and ``InvalidInput`` for invalid attributes, which a program may assign.
    """
    if not isinstance(value, Msg):
        if not all(hasattr(value, name) for name in _FIELDS[:4]):
            raise WrongType(f"expected a Msg, not {shown(value)}")
        fields = {name: plain_copy(getattr(value, name, None)) for name in _FIELDS}
        value = object.__new__(Msg)
        vars(value).update(fields, metadata=fields["metadata"] or {})
    check_layout(vars(value))
    return value


def messages_in(given: object) -> list[Msg]:
    """The messages of one, several or None. Raises as ``check_message`` does."""
    if isinstance(given, list | tuple):
        return [check_message(one) for one in cast("Sequence[object]", given)]
    return [] if given is None else [check_message(given)]


def to_core(message: Msg, *, id: str | None = None) -> Message:  # noqa: A002 - it is the message's field
    """The message as the store keeps it, under its own id or the one given.

    Raises ``InvalidInput`` for a message, or an id, that breaks a rule.
    """
    return from_agentscope(vars(check_type(message, Msg, "expected a Msg")), id=id)


def from_core(message: Message) -> Msg:
    """The ``Msg`` of a stored message. One that another program wrote without a name gets the name of its role."""
    # Without __init__, which would check it again.
    made = object.__new__(Msg)
    for name, value in to_agentscope(message).items():
        setattr(made, name, value)
    return made
