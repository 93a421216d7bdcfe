"""How two messages of one kind become one: their contents, their extras and their usage put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from memwell.compat.langchain.messages import AIMessage, BaseMessage, ChatMessage, Content, FunctionMessage, kind_of
from memwell.errors import InvalidInput

_LAST_WINS = ("index", "created", "timestamp")
_SAID_ONCE = ("id", "output_version", "model_provider")


def merged(first: BaseMessage, second: BaseMessage, separator: str) -> BaseMessage:
    """One message that says what both say; names and extra fields are not kept, the first one's response metadata is.

    Raises ``InvalidInput`` (a ``ValueError``) for functions of different names, for roles that differ, and for a kind that
    cannot be merged.
    """
    content = first.content
    if isinstance(content, str) and isinstance(second.content, str) and content and second.content:
        content += separator
    fields: dict[str, Any] = {
        "content": merge_content(content, second.content),
        "additional_kwargs": merge_dicts(first.additional_kwargs, second.additional_kwargs),
        "response_metadata": dict(first.response_metadata),
        "id": first.id,
    }
    match first, second:
        case AIMessage(), AIMessage():
            return AIMessage(**fields | _spoken(first, second))
        case FunctionMessage(), FunctionMessage():
            if first.name != second.name:
                raise InvalidInput("Cannot concatenate FunctionMessageChunks with different names.")
            return FunctionMessage(name=first.name, **fields)
        case ChatMessage(), ChatMessage():
            if first.role != second.role:
                raise InvalidInput("Cannot concatenate ChatMessageChunks with different roles.")
            return ChatMessage(role=first.role, **fields)
        case _:
            return _plain(first, fields)


def _plain(first: BaseMessage, fields: dict[str, Any]) -> BaseMessage:
    whole = next((one for one in type(first).__mro__ if getattr(one, "type", None) == kind_of(first)), None)
    if whole is None or kind_of(first) not in ("human", "system"):
        raise InvalidInput(f"Unrecognized message class {type(first)}: its messages cannot be merged")
    return cast("type[BaseMessage]", whole)(**fields)


def _spoken(first: AIMessage, second: AIMessage) -> dict[str, Any]:
    usage = first.usage_metadata, second.usage_metadata
    return {
        "id": _better_id(first.id, second.id),
        "tool_calls": [*first.tool_calls, *second.tool_calls],
        "invalid_tool_calls": [*first.invalid_tool_calls, *second.invalid_tool_calls],
        "usage_metadata": add_usage(*usage) if any(usage) else None,
    }


def _better_id(*ids: str | None) -> str | None:
    """The id a provider gave, before one that was made up for the run, before any other; the first among equals."""

    def rank(id_: str) -> int:
        return 0 if not id_.startswith("lc_") else 1 if id_.startswith("lc_run-") else 2

    return min((one for one in ids if one), key=rank, default=None)


def add_usage(first: Mapping[str, Any] | None, second: Mapping[str, Any] | None) -> dict[str, Any]:
    """The counts of both, added up."""
    total: dict[str, Any] = dict(first or {})
    for key, value in (second or {}).items():
        held = total.get(key)
        if isinstance(value, Mapping):
            total[key] = add_usage(held, cast("Mapping[str, Any]", value))
        else:
            total[key] = value + (held or 0)
    return total


def merge_content(first: Content, second: Content) -> Content:
    """What both say: text if both are text, else a list."""
    if isinstance(first, str):
        return first + second if isinstance(second, str) else [first, *second]
    if isinstance(second, list):
        return merge_lists(first, second)
    if first and isinstance(first[-1], str):
        return [*first[:-1], first[-1] + second]
    return [*first, second] if first and second else list(first)


def merge_dicts(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both, with what both have put together. Raises ``TypeError`` where the two values cannot be."""
    total = dict(first)
    for key, value in second.items():
        held = total.get(key)
        total[key] = value if held is None else _together(key, held, value)
    return total


def _together(key: str, held: Any, value: Any) -> Any:
    if value is None:
        return held
    if type(held) is not type(value):
        raise TypeError(f'additional_kwargs["{key}"] already exists in this message, but with a different type.')
    if isinstance(held, str):
        once = key in _SAID_ONCE and held == value
        return held if once or (key == "index" and held.startswith("lc_")) else held + value
    if isinstance(held, dict):
        return merge_dicts(cast("dict[str, Any]", held), value)
    if isinstance(held, list):
        return merge_lists(cast("list[Any]", held), value)
    if held == value:
        return held
    if isinstance(held, int) and not isinstance(held, bool):
        return value if key in _LAST_WINS else held + value
    raise TypeError(
        f"Additional kwargs key {key} already exists in left dict and value has unsupported type {type(held)}."
    )


def merge_lists(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """Both lists in order; pieces of one thing, which have the same index, become one."""
    total = list(first)
    for item in second:
        place = next((place for place, held in enumerate(total) if _is_continued(held, item)), None)
        if place is None:
            total.append(item)
        else:
            total[place] = merge_dicts(total[place], {key: value for key, value in item.items() if key != "type"})
    return total


def _is_continued(held: Any, item: Any) -> bool:
    match held, item:
        case {"index": place}, {"index": other} if place == other:
            numbered = isinstance(other, int) or (isinstance(other, str) and other.startswith("lc_"))
            ids = held.get("id"), item.get("id")
            return numbered and (not all(ids) or ids[0] == ids[1])
        case _:
            return False


__all__ = ["add_usage", "merge_content", "merge_dicts", "merge_lists", "merged"]
