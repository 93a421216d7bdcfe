"""Lists of messages: made of what programs write for messages, filtered, and their runs merged."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias, cast

from memwell.compat.langchain.message_merging import merged
from memwell.compat.langchain.messages import (
    AIMessage,
    BaseMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    is_message,
    kind_of,
    messages_to_dict,
    ours,
)
from memwell.errors import InvalidInput, MissingDependency

Types: TypeAlias = "str | type | Sequence[str | type]"
"""Which messages are meant: by type, such as ``"human"``, by class, or several of them."""

_KNOWN = "'human', 'user', 'ai', 'assistant', 'function', 'tool', 'system', or 'developer'"
_CONSTRUCTED = {
    "HumanMessage": "human",
    "HumanMessageChunk": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "FunctionMessage": "function",
    "FunctionMessageChunk": "function",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "RemoveMessage": "remove",
}


def convert_to_messages(messages: Any) -> list[Any]:
    """Messages made of what programs write for them: texts, pairs of role and text, dicts, and messages themselves.

    Raises ``NotImplementedError`` for something that is none of these, ``InvalidInput`` (a ``ValueError``) for a role
    nobody knows or a dict without role and content.
    """
    if hasattr(messages, "to_messages"):
        return list(messages.to_messages())
    return [_converted(one) for one in messages]


def _converted(value: Any) -> Any:
    if is_message(value):
        return value
    if isinstance(value, str):
        return HumanMessage(value)
    if isinstance(value, Mapping):
        return _from_mapping(dict(cast("Mapping[str, Any]", value)))
    if not isinstance(value, Sequence):
        raise NotImplementedError(f"Unsupported message type: {type(value)}")
    pair = cast("Sequence[Any]", value)
    if len(pair) != 2:
        raise NotImplementedError("Message as a sequence must be (role string, template)")
    return _made(pair[0], pair[1], {})


def _from_mapping(value: dict[str, Any]) -> BaseMessage:
    match value:
        case {"lc": 1, "type": "constructor", "id": [*_, str(name)], "kwargs": dict()} if name in _CONSTRUCTED:
            return _from_mapping({**value["kwargs"], "type": _CONSTRUCTED[name]})
        case _:
            pass
    fields = dict(value)
    kind = fields.pop("role", None) if "role" in fields else fields.pop("type", None)
    if kind is None or "content" not in fields:
        raise InvalidInput(f"Message dict must contain 'role' and 'content' keys, got {value}")
    return _made(kind, fields.pop("content") or "", fields)


def _made(kind: Any, content: Any, more: dict[str, Any]) -> BaseMessage:
    fields = {key: more.pop(key) for key in ("name", "id", "tool_call_id") if more.get(key) is not None}
    more = {key: value for key, value in more.items() if key not in ("name", "id", "tool_call_id")}
    calls = more.pop("tool_calls", None)
    if calls is not None:
        fields["tool_calls"] = [_call(one) for one in calls]
    if metadata := more.pop("response_metadata", None):
        fields["response_metadata"] = metadata
    extra = {**more, **more.pop("additional_kwargs", {})}
    extra.pop("additional_kwargs", None)
    match kind:
        case "human" | "user":
            return HumanMessage(content, additional_kwargs=extra, **fields)
        case "ai" | "assistant":
            return AIMessage(content, additional_kwargs=extra, **fields)
        case "system":
            return SystemMessage(content, additional_kwargs=extra, **fields)
        case "developer":
            return SystemMessage(content, additional_kwargs={**extra, "__openai_role__": "developer"}, **fields)
        case "function":
            return FunctionMessage(content, additional_kwargs=extra, **fields)
        case "tool":
            beside = {key: extra.pop(key) for key in ("artifact", "status") if extra.get(key) is not None}
            return ToolMessage(content, additional_kwargs=extra, **fields, **beside)
        case "remove":
            return RemoveMessage(**fields)
        case _:
            raise InvalidInput(f"Unexpected message type: '{kind}'. Use one of {_KNOWN}.")


def _call(call: Mapping[str, Any]) -> Mapping[str, Any]:
    if "function" not in call:
        return call
    function = call["function"]
    written = function["arguments"]
    arguments = json.loads(written, strict=False) if isinstance(written, str) else written
    return {"name": function["name"], "args": arguments, "id": call["id"], "type": "tool_call"}


def is_type(message: Any, types: Types) -> bool:
    """Whether a message is of one of the types; a class of LangChain's stands for ours of that name, and the reverse."""
    wanted = [types] if isinstance(types, str | type) else types
    names = {one.__name__ for one in wanted if isinstance(one, type)}
    return message.type in wanted or any(base.__name__ in names for base in type(message).__mro__)


def filter_messages(
    messages: Any,
    *,
    include_names: Collection[str] | None = None,
    exclude_names: Collection[str] | None = None,
    include_types: Types | None = None,
    exclude_types: Types | None = None,
    include_ids: Collection[str] | None = None,
    exclude_ids: Collection[str] | None = None,
    exclude_tool_calls: Collection[str] | bool | None = None,
) -> list[Any]:
    """The messages that are included by any of the rules, all when there is none, and excluded by none.

    ``exclude_tool_calls`` leaves out all calls and their results, or those of the ids given.
    """
    kept: list[Any] = []
    for message in convert_to_messages(messages):
        if _is_among(message, exclude_names, exclude_types, exclude_ids):
            continue
        left = _without_calls(message, exclude_tool_calls)
        chosen = not (include_types or include_ids or include_names)
        if left is not None and (chosen or _is_among(left, include_names, include_types, include_ids)):
            kept.append(left)
    return kept


def _is_among(message: Any, names: Any, types: Any, ids: Any) -> bool:
    return bool((names and message.name in names) or (types and is_type(message, types)) or (ids and message.id in ids))


def _without_calls(message: Any, excluded: Collection[str] | bool | None) -> Any | None:
    """The message without those calls, or None when nothing of it is left."""
    kind = kind_of(message)
    calls: list[Any] = message.tool_calls if kind == "ai" else []
    if excluded is True:
        return None if calls or kind == "tool" else message
    if not isinstance(excluded, list | tuple | set | frozenset) or (not calls and kind != "tool"):
        return message
    if kind == "tool":
        return None if message.tool_call_id in excluded else message
    left = [call for call in calls if call["id"] not in excluded]
    content = message.content
    if isinstance(content, list):
        content = [block for block in cast("list[Any]", content) if not _is_use(block, excluded)]
    return message.model_copy(update={"tool_calls": left, "content": content}) if left else None


def _is_use(block: Any, ids: Collection[str]) -> bool:
    match block:
        case {"type": "tool_use"}:
            return block.get("id") in ids
        case _:
            return False


def merge_message_runs(messages: Any, *, chunk_separator: str = "\n") -> list[BaseMessage]:
    """The messages with each run of one kind made one message; what tools answered stays as it is.

    Texts are joined by the separator. Raises ``InvalidInput`` (a ``ValueError``) for a run that cannot be merged.
    """
    runs: list[BaseMessage] = []
    for message in map(ours, convert_to_messages(messages)):
        kind = kind_of(message)
        if runs and kind != "tool" and kind == kind_of(runs[-1]):
            runs[-1] = merged(runs[-1], message, chunk_separator)
        else:
            runs.append(message)
    return runs


def to_langchain_messages(messages: Iterable[Any]) -> list[Any]:
    """The messages as LangChain's own classes, to hand to one of its models. Needs the package langchain-core."""
    try:
        # Optional: this room needs nothing of LangChain, but a model of LangChain's does.
        read = import_module("langchain_core.messages").messages_from_dict
    except ImportError as error:
        raise MissingDependency(
            'LangChain\'s own messages need langchain-core: pip install "memwell[langchain]"'
        ) from error
    return list(read(messages_to_dict(messages)))


__all__ = [
    "Types",
    "convert_to_messages",
    "filter_messages",
    "is_type",
    "merge_message_runs",
    "to_langchain_messages",
]
