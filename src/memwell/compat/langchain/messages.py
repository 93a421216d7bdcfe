"""LangChain's messages as plain classes, which need neither LangChain nor pydantic.

Every function here and in the rest of this package takes LangChain's own messages as well: what counts is a message's
``type`` and its fields, not its class.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, TypeAlias, cast

from memwell.compat.langchain.message_fields import (
    Content,
    as_content,
    as_list,
    as_mapping,
    copied,
    fields_of,
    from_number,
    is_message,
    kind_of,
    text_of,
    text_or_none,
    titled,
)
from memwell.compat.langchain.message_xml import xml_of
from memwell.compat.langchain.tool_calls import (
    invalid_tool_call,
    parsed_calls,
    pretty_calls,
    tool_call,
    tool_call_chunk,
)
from memwell.errors import InvalidInput
from memwell.messages import Message, Role, Text
from memwell.transcript.langchain import MARK, from_langchain, to_langchain
from memwell.values import shown

_Defaults: TypeAlias = Mapping[str, Callable[[], Any]]


class TextAccessor(str):
    """Text that may be called too: ``message.text`` and, as older programs write it, ``message.text()``."""

    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


class BaseMessage:
    """One message. It has the fields below, those of its class, and any other that was given by keyword.

    Two messages are equal when they are of the same class and all their fields are; a message of LangChain's own class of
    that name counts as the same class. Raises ``InvalidInput`` (a ``ValueError``) for content that is neither text nor a
    list of texts and blocks, and for a missing field.
    """

    type: str = ""
    content: Content
    additional_kwargs: dict[str, Any]
    response_metadata: dict[str, Any]
    name: str | None
    id: str | None

    _own: ClassVar[_Defaults] = {}
    _required: ClassVar[tuple[str, ...]] = ()
    _always_shown: ClassVar[tuple[str, ...]] = ("content", "additional_kwargs", "response_metadata")

    def __init__(self, content: Any = None, content_blocks: Sequence[Any] | None = None, **fields: Any) -> None:
        given = self._prepared({"content": content if content_blocks is None else list(content_blocks), **fields})
        kind = given.pop("type", self.type)
        if self.type and kind != self.type:
            raise InvalidInput(f"a {type(self).__name__} has the type {self.type!r}, not {shown(kind)}")
        for field in self._required:
            if field not in given:
                raise InvalidInput(f"a {type(self).__name__} needs {field!r}")
        self.content = as_content(given.pop("content"))
        self.additional_kwargs = as_mapping(given.pop("additional_kwargs", {}), "additional_kwargs")
        self.response_metadata = as_mapping(given.pop("response_metadata", {}), "response_metadata")
        self.type = kind
        self.name = text_or_none(given.pop("name", None), "name")
        self.id = text_or_none(from_number(given.pop("id", None)), "id")
        for field, default in self._own.items():
            setattr(self, field, given.pop(field) if field in given else default())
        for field, value in given.items():
            setattr(self, field, value)

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields as given, put into the class's own form."""
        return fields

    @property
    def text(self) -> TextAccessor:
        """The words: the content, or the texts and text blocks of it without anything between them."""
        return TextAccessor(text_of(self.content))

    @property
    def content_blocks(self) -> list[dict[str, Any]]:
        """The content as blocks; a provider's own block is given as it is."""
        content = ([self.content] if self.content else []) if isinstance(self.content, str) else self.content
        return [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]

    def model_dump(self, *, exclude: Iterable[str] = ()) -> dict[str, Any]:
        """All fields by name, as copies."""
        left_out = set(exclude)
        return {field: copied(value) for field, value in self.__dict__.items() if field not in left_out}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Another message like this one, with some fields changed."""
        other = copy.deepcopy(self) if deep else copy.copy(self)
        other.__dict__.update(update or {})
        return other

    def pretty_repr(self, html: bool = False) -> str:
        """The message under a title, for people to read; with ``html`` the title is bold on a terminal."""
        title = titled(f"{self.type.title()} Message", bold=html)
        name = "" if self.name is None else f"\nName: {self.name}"
        return f"{title}{name}\n\n{self.content}"

    def pretty_print(self) -> None:
        """Print ``pretty_repr``."""
        print(self.pretty_repr())  # noqa: T201 - printing is what it is for

    def __eq__(self, other: object) -> bool:
        if type(self).__name__ != type(other).__name__ or not is_message(other):
            return NotImplemented
        return self.__dict__ == (other.__dict__ if isinstance(other, BaseMessage) else fields_of(other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] - its fields may change

    def __repr__(self) -> str:
        parts = [f"{field}={value!r}" for field, value in self.__dict__.items() if self._is_shown(field, value)]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _is_shown(self, field: str, value: object) -> bool:
        if field == "type":
            return False
        default = self._own[field]() if field in self._own else None
        return field in self._always_shown or field in self._required or value != default


class HumanMessage(BaseMessage):
    """What a person said."""

    type = "human"


class SystemMessage(BaseMessage):
    """An instruction."""

    type = "system"


class AIMessage(BaseMessage):
    """What a model said, and the tools it called."""

    type = "ai"
    tool_calls: list[dict[str, Any]]
    invalid_tool_calls: list[dict[str, Any]]
    usage_metadata: dict[str, Any] | None
    _own: ClassVar[_Defaults] = {"tool_calls": list, "invalid_tool_calls": list, "usage_metadata": lambda: None}
    _always_shown = (*BaseMessage._always_shown, "tool_calls", "invalid_tool_calls")

    def __init__(self, content: Any = None, content_blocks: Sequence[Any] | None = None, **fields: Any) -> None:
        calls = [block for block in content_blocks or () if block.get("type") == "tool_call"]
        if calls:
            fields.setdefault("tool_calls", calls)
        super().__init__(content, content_blocks, **fields)

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        if not fields.get("tool_calls") and not fields.get("invalid_tool_calls"):
            extra: Mapping[str, Any] = fields.get("additional_kwargs") or {}
            raw = extra.get("tool_calls") if isinstance(extra, Mapping) else None  # pyright: ignore[reportUnnecessaryIsInstance]
            parsed = parsed_calls(raw) if raw else None
            if parsed is not None:
                fields["tool_calls"], fields["invalid_tool_calls"] = parsed
        for field, form in (("tool_calls", tool_call), ("invalid_tool_calls", invalid_tool_call)):
            if field in fields:
                fields[field] = [form(one) for one in as_list(fields[field], field)]
        return fields

    def pretty_repr(self, html: bool = False) -> str:
        """The message under a title, with the tools it calls."""
        calls = pretty_calls(self.tool_calls, self.invalid_tool_calls)
        return f"{super().pretty_repr(html).strip()}\n{calls}".strip()


class ToolMessage(BaseMessage):
    """What a tool answered to the call ``tool_call_id``; ``artifact`` is what it gave beside, not meant for the model."""

    type = "tool"
    tool_call_id: str
    artifact: Any
    status: Literal["success", "error"]
    _own: ClassVar[_Defaults] = {"tool_call_id": str, "artifact": lambda: None, "status": lambda: "success"}
    _required = ("tool_call_id",)
    _always_shown = ("content", "tool_call_id")

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(fields["content"], str | list | tuple):
            fields["content"] = str(fields["content"])
        elif not isinstance(fields["content"], str):
            items = cast("Sequence[Any]", fields["content"])
            fields["content"] = [one if isinstance(one, str | dict) else str(one) for one in items]
        if "tool_call_id" in fields:
            # UUIDs and numbers are what other libraries' calls are named by.
            fields["tool_call_id"] = str(fields["tool_call_id"])
        if fields.get("status", "success") not in ("success", "error"):
            raise InvalidInput(f"a tool's status is 'success' or 'error', not {shown(fields['status'])}")
        return fields

    def _is_shown(self, field: str, value: object) -> bool:
        return field not in ("additional_kwargs", "response_metadata") and super()._is_shown(field, value)


class FunctionMessage(BaseMessage):
    """What a function answered, as programs wrote before there were tool calls; ``name`` is the function's."""

    type = "function"
    _required = ("name",)


class ChatMessage(BaseMessage):
    """What somebody said whose role has a name of its own."""

    type = "chat"
    role: str
    _own: ClassVar[_Defaults] = {"role": str}
    _required = ("role",)


class RemoveMessage(BaseMessage):
    """Says that the message of this id is to be taken out. It has no content."""

    type = "remove"

    def __init__(self, id: str, **fields: Any) -> None:  # noqa: A002 - the argument's name is LangChain's
        if fields.pop("content", ""):
            raise InvalidInput("RemoveMessage does not support 'content' field.")
        super().__init__("", id=id, **fields)


class BaseMessageChunk(BaseMessage):
    """A piece of a message that a model is still saying."""


class HumanMessageChunk(HumanMessage, BaseMessageChunk):
    """A piece of what a person said."""

    type = "HumanMessageChunk"


class SystemMessageChunk(SystemMessage, BaseMessageChunk):
    """A piece of an instruction."""

    type = "SystemMessageChunk"


class AIMessageChunk(AIMessage, BaseMessageChunk):
    """A piece of what a model said."""

    type = "AIMessageChunk"
    _own: ClassVar[_Defaults] = {**AIMessage._own, "tool_call_chunks": list, "chunk_position": lambda: None}
    _always_shown = (*AIMessage._always_shown, "tool_call_chunks")

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        fields = super()._prepared(fields)
        chunks = as_list(fields.get("tool_call_chunks", []), "tool_call_chunks")
        return {**fields, "tool_call_chunks": [tool_call_chunk(one) for one in chunks]}


class ToolMessageChunk(ToolMessage, BaseMessageChunk):
    """A piece of what a tool answered."""

    type = "ToolMessageChunk"


class FunctionMessageChunk(FunctionMessage, BaseMessageChunk):
    """A piece of what a function answered."""

    type = "FunctionMessageChunk"


class ChatMessageChunk(ChatMessage, BaseMessageChunk):
    """A piece of what somebody said whose role has a name of its own."""

    type = "ChatMessageChunk"


_CLASSES: dict[str, type[BaseMessage]] = {
    one.type: one
    for one in (
        HumanMessage,
        AIMessage,
        SystemMessage,
        ToolMessage,
        FunctionMessage,
        ChatMessage,
        RemoveMessage,
        HumanMessageChunk,
        AIMessageChunk,
        SystemMessageChunk,
        ToolMessageChunk,
        FunctionMessageChunk,
        ChatMessageChunk,
    )
}


def ours(message: Any) -> BaseMessage:
    """The message as one of our classes: itself, or made of one of LangChain's own."""
    return message if isinstance(message, BaseMessage) else message_from_dict(message_to_dict(message))


def message_to_dict(message: Any) -> dict[str, Any]:
    """The message as LangChain writes it down: its type and its data."""
    data = fields_of(message)
    return {"type": message.type, "data": data}


def messages_to_dict(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Messages as LangChain writes them down."""
    return [message_to_dict(one) for one in messages]


def message_from_dict(item: Mapping[str, Any]) -> BaseMessage:
    """The message that ``message_to_dict`` wrote. Raises ``InvalidInput`` (a ``ValueError``) for a type nobody knows."""
    try:
        kind, data = item["type"], item["data"]
    except (TypeError, KeyError):
        raise InvalidInput(f"a message is written as its type and its data, not {shown(item)}") from None
    made = _CLASSES.get(kind) if isinstance(kind, str) else None
    if made is None:
        raise InvalidInput(f"Got unexpected message type: {kind}")
    return made(**as_mapping(data, "the data of a message"))


def messages_from_dict(messages: Iterable[Mapping[str, Any]]) -> list[BaseMessage]:
    """The messages that ``messages_to_dict`` wrote."""
    return [message_from_dict(one) for one in messages]


def to_core(message: Any) -> Message:
    """The message as our core keeps it; nothing of it is lost. Takes any object with a ``type`` and a ``content``."""
    if is_message(message):
        return _plain_core(message) or from_langchain(message_to_dict(message))
    kind, content = getattr(message, "type", None), getattr(message, "content", None)
    if kind is None or content is None:
        raise InvalidInput(f"expected a message such as HumanMessage, not {shown(message)}")
    return from_langchain({"type": kind, "data": {**getattr(message, "__dict__", {}), "content": content}})


def from_core(message: Message) -> BaseMessage:
    """The message of the core as one of LangChain's classes; what ``to_core`` made comes back equal."""
    made = _PLAIN.get(_CLASS_NAMES.get(message.role, ""))
    if made is not None and message.name is None and MARK not in message.metadata:
        match message.parts:
            case (Text(text),):
                return made[0](text)
            case ():
                return made[0]("")
            case _:
                pass
    return message_from_dict(to_langchain(message))


# Nearly all messages are of nothing but text. They take the short way, which is ten times as fast.
_SILENT: dict[str, Any] = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None}
_PLAIN: dict[str, tuple[type[BaseMessage], Role, dict[str, Any]]] = {
    "HumanMessage": (HumanMessage, Role.HUMAN, _SILENT | {"type": "human"}),
    "SystemMessage": (SystemMessage, Role.SYSTEM, _SILENT | {"type": "system"}),
    "AIMessage": (
        AIMessage,
        Role.AI,
        _SILENT | {"type": "ai", "tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None},
    ),
}
_CLASS_NAMES = {role: name for name, (_, role, _) in _PLAIN.items()}


def _plain_core(message: Any) -> Message | None:
    """The message, if it is of nothing but text."""
    _, role, silent = _PLAIN.get(type(message).__name__, (None, None, None))
    content = message.content
    if role is None or type(content) is not str or getattr(message, "__pydantic_extra__", None):
        return None
    rest = {field: value for field, value in message.__dict__.items() if field != "content"}
    return Message(role, (Text(content),) if content else ()) if rest == silent else None


def get_buffer_string(
    messages: Iterable[Any],
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    *,
    system_prefix: str = "System",
    function_prefix: str = "Function",
    tool_prefix: str = "Tool",
    message_separator: str = "\n",
    format: Literal["prefix", "xml"] = "prefix",  # noqa: A002 - the argument's name is LangChain's
) -> str:
    """The messages as text: a line each with the speaker before it, or as XML.

    Raises ``InvalidInput`` (a ``ValueError``) for another format and for a message whose type is not known.
    """
    if format not in ("prefix", "xml"):
        raise InvalidInput(f"Unrecognized format={format!r}. Supported formats are 'prefix' and 'xml'.")
    names = {
        "human": human_prefix,
        "ai": ai_prefix,
        "system": system_prefix,
        "function": function_prefix,
        "tool": tool_prefix,
    }
    write = _line if format == "prefix" else _xml
    return message_separator.join(write(one, names) for one in messages)


def _speaker(message: Any, names: Mapping[str, str]) -> str:
    kind = kind_of(message)
    if kind == "chat":
        return str(message.role)
    if kind is None or kind not in names:
        raise InvalidInput(f"Got unsupported message type: {message}")
    return names[kind]


def _line(message: Any, names: Mapping[str, str]) -> str:
    called = ""
    if kind_of(message) == "ai":
        # A message that is none of ours may know nothing of tools.
        calls, extra = getattr(message, "tool_calls", None), getattr(message, "additional_kwargs", {})
        called = str(calls) if calls else str(extra.get("function_call") or "")
    return f"{_speaker(message, names)}: {text_of(message.content)}{called}"


def _xml(message: Any, names: Mapping[str, str]) -> str:
    speaker, kind = _speaker(message, names), kind_of(message)
    return xml_of(message, speaker if kind == "chat" else speaker.lower(), calls=kind == "ai")


__all__ = [
    "AIMessage",
    "AIMessageChunk",
    "BaseMessage",
    "BaseMessageChunk",
    "ChatMessage",
    "ChatMessageChunk",
    "Content",
    "FunctionMessage",
    "FunctionMessageChunk",
    "HumanMessage",
    "HumanMessageChunk",
    "RemoveMessage",
    "SystemMessage",
    "SystemMessageChunk",
    "TextAccessor",
    "ToolMessage",
    "ToolMessageChunk",
    "fields_of",
    "from_core",
    "get_buffer_string",
    "is_message",
    "kind_of",
    "message_from_dict",
    "message_to_dict",
    "messages_from_dict",
    "messages_to_dict",
    "ours",
    "text_of",
    "to_core",
]
