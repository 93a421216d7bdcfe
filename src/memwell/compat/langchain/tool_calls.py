"""The tool calls of a message in LangChain's form: how they are written, read from a provider's form, and shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from memwell.errors import InvalidInput
from memwell.values import shown


def tool_call(call: Any) -> dict[str, Any]:
    """A tool call with its four fields. Raises ``InvalidInput`` when it has no name or no arguments."""
    match call:
        case {"name": str(name), "args": dict()}:
            return {"name": name, "args": call["args"], "id": call.get("id"), "type": "tool_call"}
        case _:
            raise InvalidInput(f"a tool call has a name, args and an id, not {shown(call)}")


def invalid_tool_call(call: Any) -> dict[str, Any]:
    """A call whose arguments could not be read, with its five fields."""
    given = _mapping(call)
    fields = {field: given.get(field) for field in ("id", "name", "args", "error")}
    return {"type": "invalid_tool_call", **fields}


def tool_call_chunk(call: Any) -> dict[str, Any]:
    """A piece of a tool call, with its five fields."""
    given = _mapping(call)
    fields = {field: given.get(field) for field in ("name", "args", "id", "index")}
    return {**fields, "type": "tool_call_chunk"}


def parsed_calls(raw: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]] | None:
    """The calls and the unreadable calls that a provider's list holds; None when it is not a provider's list."""
    calls: list[dict[str, Any]] = []
    unreadable: list[dict[str, Any]] = []
    for one in cast("Sequence[Any]", raw):
        match one:
            case {"function": {"name": name, "arguments": str(written)}}:
                given = {"name": name or "", "id": one.get("id")}
                try:
                    calls.append({**given, "args": json.loads(written) or {}})
                except ValueError:
                    unreadable.append({**given, "name": name, "args": written})
            case {"function": _}:
                return None
            case _:
                continue
    return calls, unreadable


def pretty_calls(calls: Sequence[Mapping[str, Any]], unreadable: Sequence[Mapping[str, Any]]) -> str:
    """The calls of a message, for people to read."""
    lines: list[str] = []
    for title, group in (("Tool Calls:", calls), ("Invalid Tool Calls:", unreadable)):
        if group:
            lines.append(title)
            lines += [line for call in group for line in _pretty(call)]
    return "\n".join(lines)


def _pretty(call: Mapping[str, Any]) -> list[str]:
    lines = [f"  {call.get('name', 'Tool')} ({call.get('id')})", f" Call ID: {call.get('id')}"]
    if call.get("error"):
        lines.append(f"  Error: {call['error']}")
    lines.append("  Args:")
    arguments = call.get("args")
    if isinstance(arguments, str):
        lines.append(f"    {arguments}")
    elif isinstance(arguments, Mapping):
        given = cast("Mapping[str, Any]", arguments)
        lines += [f"    {name}: {value}" for name, value in given.items()]
    return lines


def _mapping(call: Any) -> Mapping[str, Any]:
    if not isinstance(call, Mapping):
        raise InvalidInput(f"a tool call is a mapping, not {shown(call)}")
    return cast("Mapping[str, Any]", call)


__all__ = ["invalid_tool_call", "parsed_calls", "pretty_calls", "tool_call", "tool_call_chunk"]
