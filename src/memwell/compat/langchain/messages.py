"""LangChain's messages as plain classes, without LangChain and pydantic, and the way between them and core messages.

Every function of this package also takes LangChain's own messages: it reads a message's ``type`` and fields, not its class.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import NoneType
from typing import Any, ClassVar, Literal, NotRequired, Self, TypeAlias, TypedDict, cast

from memwell.errors import InvalidInput, MissingDependency
from memwell.messages import Message, Role, Text
from memwell.transcript.langchain import KINDS, MARK, apart, from_langchain, older_calls, to_langchain
from memwell.transcript.text import storable
from memwell.values import check_shape, check_type, shown

Content: TypeAlias = str | list[str | dict[str, Any]]
"""What a message says: text, or a list of texts and blocks."""

_Defaults: TypeAlias = Mapping[str, Callable[[], Any]]

_BLOCKS = frozenset(
    "text reasoning tool_call invalid_tool_call tool_call_chunk image audio file text-plain video server_tool_call "
    "server_tool_call_chunk server_tool_result non_standard".split()
)
"""The types of LangChain's standard blocks. Any other is a provider's own."""

_EXPECTED = "expected a message such as HumanMessage"
_OF_CHUNKS = ("tool_call_chunks", "chunk_position")


class ToolCall(TypedDict):
    """A model's call of a tool."""

    name: str
    args: dict[str, Any]
    id: str | None
    type: NotRequired[Literal["tool_call"]]


class InputTokenDetails(TypedDict, total=False):
    """Kinds of tokens among those of a prompt."""

    audio: int
    cache_creation: int
    cache_read: int


class OutputTokenDetails(TypedDict, total=False):
    """Kinds of tokens among those of an answer."""

    audio: int
    reasoning: int


class UsageMetadata(TypedDict):
    """How many tokens a model read and wrote."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    input_token_details: NotRequired[InputTokenDetails]
    output_token_details: NotRequired[OutputTokenDetails]


def tool_call(*, name: str, args: dict[str, Any], id: str | None) -> ToolCall:  # noqa: A002 - LangChain's name for it
    """A model's call of a tool."""
    return ToolCall(name=name, args=args, id=id, type="tool_call")


class TextAccessor(str):
    """Text that may also be called: ``message.text`` and, as older programs write it, ``message.text()``."""

    __slots__ = ()

    def __call__(self) -> str:
        return str(self)


class BaseMessage:
    """One message: the fields below, those of its class, and any other field given by keyword.

    Two messages are equal when their classes have the same name, ours or LangChain's, and all fields are equal. A message
    may be a field of a pydantic model. Raises ``InvalidInput`` (a ``ValueError``) for content that is neither text nor a
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
    _unshown: ClassVar[tuple[str, ...]] = ()

    def __init__(self, content: Any = None, content_blocks: Sequence[Any] | None = None, **fields: Any) -> None:
        given = self._prepared({"content": content if content_blocks is None else list(content_blocks), **fields})
        kind = given.pop("type", self.type)
        if self.type and kind != self.type:
            raise InvalidInput(f"a {type(self).__name__} has the type {self.type!r}, not {shown(kind)}")
        for field in self._required:
            if field not in given:
                raise InvalidInput(f"a {type(self).__name__} needs {field!r}")
        self.content = _content(given.pop("content"))
        self.additional_kwargs = _mapping(given.pop("additional_kwargs", {}), "additional_kwargs")
        self.response_metadata = _mapping(given.pop("response_metadata", {}), "response_metadata")
        self.type = kind
        id_ = given.pop("id", None)
        self.name = _text_or_none(given.pop("name", None), "name")
        self.id = _text_or_none(str(id_) if isinstance(id_, int | float) else id_, "id")
        for field, default in self._own.items():
            setattr(self, field, given.pop(field) if field in given else default())
        vars(self).update(given)

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields as given, in the form of the class."""
        return fields

    @property
    def text(self) -> TextAccessor:
        """The words: the content, or its texts and text blocks joined."""
        return TextAccessor(text_of(self.content))

    @property
    def content_blocks(self) -> list[dict[str, Any]]:
        """The content as LangChain's standard blocks; a provider's own block is the value of a ``non_standard`` one."""
        if isinstance(self.content, str):
            return [{"type": "text", "text": self.content}] if self.content else []
        if self.response_metadata.get("output_version") == "v1":
            return cast("list[dict[str, Any]]", self.content)
        return [_block(block) for block in self.content]

    def model_dump(self, *, exclude: Iterable[str] = ()) -> dict[str, Any]:
        """All fields by name, as copies."""
        left_out = set(exclude)
        return copy.deepcopy({field: value for field, value in vars(self).items() if field not in left_out})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy of the message with some fields changed."""
        other = copy.deepcopy(self) if deep else copy.copy(self)
        vars(other).update(update or {})
        return other

    def __eq__(self, other: object) -> bool:
        if type(self).__name__ != type(other).__name__ or not is_message(other):
            return NotImplemented
        return vars(self) == (vars(other) if isinstance(other, BaseMessage) else _fields_of(other))

    __hash__ = None  # pyright: ignore[reportAssignmentType] - its fields may change

    def _shown(self) -> list[str]:
        """The fields that are not empty, and those that LangChain always shows."""
        always = {
            "content",
            *self._required,
            "additional_kwargs",
            "response_metadata",
            "tool_calls",
            "invalid_tool_calls",
        }
        own = {"type": self.type, **{field: default() for field, default in self._own.items()}}
        return [
            f"{field}={value!r}"
            for field, value in vars(self).items()
            if field not in self._unshown and (field in always or value != own.get(field))
        ]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"

    def __str__(self) -> str:
        return " ".join(self._shown())

    @classmethod
    def _validated(cls, value: Any) -> BaseMessage:
        """What a field of a pydantic model is given: a message, or its fields."""
        if isinstance(value, cls):
            return value
        fields = cast("dict[str, Any]", value) if isinstance(value, dict) else _fields_of(value)
        made = _CLASSES.get(KINDS.get(fields.get("type", ""), ""), cls)
        if not issubclass(made, cls):
            raise InvalidInput(f"expected a {cls.__name__}, not {shown(fields)}")
        return made(**fields)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        # Only pydantic calls it, so it is installed.
        schema: Any = import_module("pydantic_core").core_schema
        written = schema.plain_serializer_function_ser_schema(
            BaseMessage.model_dump, return_schema=schema.dict_schema()
        )
        return schema.no_info_plain_validator_function(
            cls._validated, serialization=written, json_schema_input_schema=schema.dict_schema()
        )


class HumanMessage(BaseMessage):
    """What a person said."""

    type = "human"


class SystemMessage(BaseMessage):
    """An instruction."""

    type = "system"


class AIMessage(BaseMessage):
    """What a model said, and the tools it called."""

    type = "ai"
    tool_calls: list[ToolCall]
    invalid_tool_calls: list[dict[str, Any]]
    usage_metadata: UsageMetadata | None
    _own: ClassVar[_Defaults] = {"tool_calls": list, "invalid_tool_calls": list, "usage_metadata": lambda: None}

    def __init__(self, content: Any = None, content_blocks: Sequence[Any] | None = None, **fields: Any) -> None:
        calls = [block for block in content_blocks or () if block.get("type") == "tool_call"]
        if calls:
            fields.setdefault("tool_calls", calls)
        super().__init__(content, content_blocks, **fields)

    @property
    def content_blocks(self) -> list[dict[str, Any]]:
        """The content as blocks: first reasoning that came apart from it, last the tool calls that it does not hold."""
        blocks = super().content_blocks
        if blocks is self.content:
            return blocks
        named = {block.get("id") for block in blocks if block.get("type") == "tool_call"}
        blocks += [
            {"type": "tool_call", **{field: call[field] for field in ("id", "name", "args")}}
            for call in self.tool_calls
            if call["id"] and call["id"] not in named
        ]
        thought = self.additional_kwargs.get("reasoning_content")
        if isinstance(thought, str) and all(block.get("type") != "reasoning" for block in blocks):
            blocks.insert(0, {"type": "reasoning", "reasoning": thought})
        return blocks

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        readable, unreadable = older_calls(fields)
        if readable or unreadable:
            fields |= {"tool_calls": readable, "invalid_tool_calls": unreadable}
        if "tool_calls" in fields:
            fields["tool_calls"] = [_tool_call(one) for one in _list(fields["tool_calls"], "tool_calls")]
        if "invalid_tool_calls" in fields:
            given = _list(fields["invalid_tool_calls"], "invalid_tool_calls")
            fields["invalid_tool_calls"] = [_invalid_call(one) for one in given]
        return fields


class ToolMessage(BaseMessage):
    """What a tool answered to the call ``tool_call_id``; ``artifact`` is a result that is not meant for the model."""

    type = "tool"
    tool_call_id: str
    artifact: Any
    status: Literal["success", "error"]
    _own: ClassVar[_Defaults] = {"tool_call_id": str, "artifact": lambda: None, "status": lambda: "success"}
    _required = ("tool_call_id",)
    _unshown = ("additional_kwargs", "response_metadata")

    def _prepared(self, fields: dict[str, Any]) -> dict[str, Any]:
        content = fields["content"]
        if isinstance(content, list | tuple):
            items = cast("Sequence[Any]", content)
            fields["content"] = [one if isinstance(one, str | dict) else str(one) for one in items]
        elif not isinstance(content, str):
            fields["content"] = str(content)
        if "tool_call_id" in fields:
            # Other libraries name their calls by UUIDs and numbers.
            fields["tool_call_id"] = str(fields["tool_call_id"])
        if fields.get("status", "success") not in ("success", "error"):
            raise InvalidInput(f"a tool's status is 'success' or 'error', not {shown(fields['status'])}")
        return fields


class FunctionMessage(BaseMessage):
    """What a function answered, in the form used before tool calls; ``name`` is the function's."""

    type = "function"
    _required = ("name",)


class ChatMessage(BaseMessage):
    """What a speaker with a role of its own said."""

    type = "chat"
    role: str
    _own: ClassVar[_Defaults] = {"role": str}
    _required = ("role",)


class RemoveMessage(BaseMessage):
    """A request to remove the message of this id. It has no content."""

    type = "remove"

    def __init__(self, id: str, **fields: Any) -> None:  # noqa: A002 - the argument's name is LangChain's
        if fields.pop("content", ""):
            raise InvalidInput("RemoveMessage does not support 'content' field.")
        super().__init__("", id=id, **fields)


_CLASSES: dict[str, type[BaseMessage]] = {
    one.type: one
    for one in (HumanMessage, AIMessage, SystemMessage, ToolMessage, FunctionMessage, ChatMessage, RemoveMessage)
}
AnyMessage: TypeAlias = (
    HumanMessage | AIMessage | SystemMessage | ToolMessage | FunctionMessage | ChatMessage | RemoveMessage
)
_PLAIN: dict[Role, type[BaseMessage]] = {Role.HUMAN: HumanMessage, Role.SYSTEM: SystemMessage, Role.AI: AIMessage}


# Fields


def _content(value: Any) -> Content:
    if isinstance(value, str):
        # The text of a message is a subclass of str, and a store takes only str itself.
        return str.__str__(value)
    if is_message(value):
        return _content(value.content)
    if isinstance(value, list | tuple):
        items = [str.__str__(one) if isinstance(one, str) else one for one in cast("Sequence[Any]", value)]
        if all(isinstance(one, str | dict) for one in items):
            return items
    raise InvalidInput(
        f"a message's content must be text or a list of texts and blocks, not {shown(cast(object, value))}"
    )


def _mapping(value: Any, what: str) -> dict[str, Any]:
    return dict(cast("Mapping[str, Any]", check_type(value, Mapping, f"{what} must be a mapping")))


def _list(value: Any, what: str) -> list[Any]:
    return list(cast("Sequence[Any]", check_type(value, (list, tuple), f"{what} must be a list")))


def _text_or_none(value: Any, what: str) -> str | None:
    return check_type(value, (str, NoneType), f"a message's {what} must be text")


def _block(block: str | dict[str, Any]) -> dict[str, Any]:
    match block:
        case str():
            return {"type": "text", "text": block}
        case {"type": "image_url", "image_url": str(url) | {"url": str(url)}} if not url.startswith("data:"):
            return {"type": "image", "url": url}
        case {"type": str(kind)} if kind in _BLOCKS:
            return block
        case _:
            return {"type": "non_standard", "value": block}


def _tool_call(call: Any) -> ToolCall:
    match call:
        case {"name": str(name), "args": dict()}:
            return tool_call(name=name, args=call["args"], id=call.get("id"))
        case _:
            raise InvalidInput(f"a tool call has a name, args and an id, not {shown(call)}")


def _invalid_call(call: Any) -> dict[str, Any]:
    given = _mapping(call, "a tool call")
    return {"type": "invalid_tool_call", **{field: given.get(field) for field in ("id", "name", "args", "error")}}


def is_message(value: object) -> bool:
    """Whether ``value`` is a message, ours or LangChain's own."""
    return isinstance(getattr(value, "type", None), str) and hasattr(value, "content") and hasattr(value, "model_dump")


def kind_of(message: Any) -> str | None:
    """The type of a message without regard to chunks, such as ``human``; None for a type LangChain does not have."""
    return KINDS.get(check_shape(message, ("type", "content"), _EXPECTED).type)


def text_of(content: Content) -> str:
    """The text of a message's content: its texts and text blocks joined."""
    if isinstance(content, str):
        return content
    texts = (one if isinstance(one, str) else one.get("type") == "text" and one.get("text") for one in content)
    return "".join(one for one in texts if isinstance(one, str))


def _fields_of(message: Any) -> dict[str, Any]:
    if not is_message(message):
        raise InvalidInput(f"{_EXPECTED}, not {shown(message)}")
    return cast("dict[str, Any]", message.model_dump())


# Other forms

_EMPTY = {made: (role, vars(made(""))) for role, made in _PLAIN.items()}


def message_to_dict(message: Any) -> dict[str, Any]:
    """The message in LangChain's layout: its type and its data."""
    return {"type": getattr(message, "type", None), "data": _fields_of(message)}


def messages_to_dict(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Messages in LangChain's layout."""
    return [message_to_dict(one) for one in messages]


def message_from_dict(item: Mapping[str, Any]) -> BaseMessage:
    """The message of a layout; a piece of a message (a chunk) as a whole one.

    Raises ``InvalidInput`` (a ``ValueError``) for an unknown type.
    """
    try:
        kind, data = item["type"], item["data"]
    except (TypeError, KeyError):
        raise InvalidInput(f"a message is written as its type and its data, not {shown(item)}") from None
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"Got unexpected message type: {kind}")
    fields = _mapping(data, "the data of a message")
    return _CLASSES[KINDS[kind]](**{**fields, "type": KINDS[kind]})


def messages_from_dict(messages: Iterable[Mapping[str, Any]]) -> list[BaseMessage]:
    """The messages of layouts."""
    return [message_from_dict(one) for one in messages]


def message_chunk_to_message(chunk: Any) -> Any:
    """The whole message of a chunk of LangChain's; any other message as it is."""
    if kind_of(chunk) in (None, chunk.type):
        return chunk
    fields = {field: value for field, value in _fields_of(chunk).items() if field not in _OF_CHUNKS}
    return message_from_dict({"type": chunk.type, "data": fields})


def message_to_json(message: Any, *, ensure_ascii: bool = True) -> str:
    """The layout as JSON text. Raises ``InvalidInput`` for a message that is not plain data."""
    try:
        return json.dumps(message_to_dict(message), ensure_ascii=ensure_ascii)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"a message cannot be written as JSON: {error}") from error


def message_from_json(written: str | bytes | dict[str, Any], where: str) -> BaseMessage:
    """The message of a layout, or of its JSON. Raises ``InvalidInput`` that says ``where`` it was found."""
    try:
        return message_from_dict(written if isinstance(written, dict) else json.loads(written))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{where} holds something that is no message: {error}") from error


def to_core(message: Any) -> Message:
    """The message as the core stores it, without loss. Takes any object with a ``type`` and a ``content``."""
    role, empty = _EMPTY.get(cast("type[Any]", type(message)), (None, None))
    # Nearly all messages are plain text. This is ten times as fast as the general way.
    if role is not None and isinstance(message.content, str) and {**vars(message), "content": ""} == empty:
        return Message(role, (Text(storable(message.content)),) if message.content else ())
    if is_message(message):
        return from_langchain(message_to_dict(message))
    kind, content = getattr(message, "type", None), getattr(message, "content", None)
    if kind is None or content is None:
        raise InvalidInput(f"{_EXPECTED}, not {shown(message)}")
    return from_langchain({"type": kind, "data": {**getattr(message, "__dict__", {}), "content": content}})


def from_core(message: Message) -> BaseMessage:
    """The core message as one of LangChain's classes; what ``to_core`` made comes back equal."""
    text = _plain_text(message)
    return message_from_dict(to_langchain(message)) if text is None else _PLAIN[message.role](text)


def _plain_text(message: Message) -> str | None:
    """The text of a core message that is nothing but text of a person, a model or the system; None for another."""
    if message.role not in _PLAIN or message.name is not None or MARK in message.metadata:
        return None
    if not message.parts:
        return ""
    part = message.parts[0]
    return part.text if type(part) is Text and len(message.parts) == 1 else None


def to_langchain_messages(messages: Iterable[Any]) -> list[Any]:
    """The messages as LangChain's own classes, for its models and functions.

    Raises ``MissingDependency`` without the package langchain-core.
    """
    try:
        # Optional: this package needs nothing of LangChain, but LangChain's own models take only its messages.
        theirs = import_module("langchain_core.messages")
    except ImportError as error:
        raise MissingDependency.of(
            "LangChain's own messages need langchain-core (without it memwell.transcript converts messages)",
            "langchain",
        ) from error
    return list(theirs.messages_from_dict(messages_to_dict(messages)))


def get_buffer_string(
    messages: Iterable[Any],
    human_prefix: str = "Human",
    ai_prefix: str = "AI",
    *,
    system_prefix: str = "System",
    function_prefix: str = "Function",
    tool_prefix: str = "Tool",
    message_separator: str = "\n",
) -> str:
    """The messages as text, a line each with the speaker before it.

    Raises ``InvalidInput`` (a ``ValueError``) for a message of unknown type.
    """
    names = {"human": human_prefix, "ai": ai_prefix, "system": system_prefix}
    names |= {"function": function_prefix, "tool": tool_prefix}
    return message_separator.join(_line(one, names) for one in messages)


def _line(message: Any, names: Mapping[str, str]) -> str:
    kind = kind_of(message)
    speaker = message.role if kind == "chat" else names.get(kind or "")
    if speaker is None:
        raise InvalidInput(f"Got unsupported message type: {message}")
    called = ""
    if kind == "ai":
        # An object of another class may lack these fields.
        calls, extra = getattr(message, "tool_calls", None), getattr(message, "additional_kwargs", {})
        called = str(calls) if calls else str(extra.get("function_call") or "")
    return f"{speaker}: {text_of(message.content)}{called}"


def as_text(messages: Iterable[Message], human_prefix: str = "Human", ai_prefix: str = "AI") -> str:
    """Core messages as ``get_buffer_string`` shows them."""
    speakers = {Role.HUMAN: human_prefix, Role.AI: ai_prefix, Role.SYSTEM: "System"}

    def line(message: Message) -> str:
        # Plain text needs no message of LangChain's, which would cost three times as much.
        text = _plain_text(message)
        if text is None:
            return get_buffer_string(map(from_core, apart(message)), human_prefix, ai_prefix)
        return f"{speakers[message.role]}: {text}"

    return "\n".join(map(line, messages))
