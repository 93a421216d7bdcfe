"""Messages to and from the layout LangChain writes: ``{"type": "human", "data": {"content": …, …}}``.

Nothing of a layout is lost that a store can hold: what a message of ours has no place for travels in its metadata under
``langchain``, and ``to_langchain`` puts it back.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, TypeAlias, cast

from memwell.errors import InvalidInput
from memwell.messages import Audio, Image, Media, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Video
from memwell.transcript.text import Shape, json_object, mapping, media_type, storable, to_base64
from memwell.values import MAX_ID_LENGTH, check_type, new_id, shown

KINDS: Mapping[str, str] = {
    "human": "human",
    "ai": "ai",
    "system": "system",
    "tool": "tool",
    "function": "function",
    "chat": "chat",
    "remove": "remove",
    "HumanMessageChunk": "human",
    "AIMessageChunk": "ai",
    "SystemMessageChunk": "system",
    "ToolMessageChunk": "tool",
    "FunctionMessageChunk": "function",
    "ChatMessageChunk": "chat",
}
"""What a message of each type is, a piece of one (a chunk) included."""

MARK = "langchain"
"""The key of a message's metadata under which the rest of a layout travels."""

_ROLES = {
    "human": Role.HUMAN,
    "ai": Role.AI,
    "system": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.FUNCTION,
    "chat": Role.CHAT,
    # A request to take a message out is nothing a model should read.
    "remove": Role.VIEW,
}
_KIND_OF = {role: kind for kind, role in _ROLES.items()} | {Role.VIEW: "chat"}
_DEFAULTS: Shape = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None, "example": False}
_MISSING = object()

_Simple: TypeAlias = Text | Image | Opaque


def from_langchain(layout: object, *, id: str | None = None) -> Message:  # noqa: A002 - it is the message's field
    """The message that a layout holds, with the id given, or the layout's own, or a fresh one.

    Raises ``InvalidInput`` for an unknown type and for data that is no message's.
    """
    item = mapping(storable(layout), "a message of LangChain")
    kind = item.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"a message of LangChain has a type such as 'human' or 'ai', not {shown(kind)}")
    data = mapping(item.get("data"), "the data of a message of LangChain")
    made = _made(KINDS[kind], data, id)
    known = {**_rendered(made, KINDS[kind]), **_DEFAULTS, "name": made.name, "type": _KIND_OF[made.role]}
    rest = _rest(data, known, kind)
    return made.changed(metadata={MARK: rest}) if rest else made


def is_shown(message: Message) -> bool:
    """Whether a history of LangChain's shows it: it may go to a model, or it is a request of LangChain's own."""
    return message.for_model or (MARK in message.metadata and not message.hidden)


def apart(message: Message) -> list[Message]:
    """The messages that LangChain needs for one of ours: a message of its tools has one result."""
    results, is_tool = message.tool_results, message.role in (Role.TOOL, Role.FUNCTION)
    if not results or (is_tool and len(results) == 1):
        return [message]
    rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
    made = [Message(Role.TOOL, (one,), one.name, time=message.time) for one in results]
    if is_tool:
        # What else it says goes with its first result, which keeps its fields.
        return [message.changed(parts=(results[0], *rest)), *made[1:]]
    spoken = [message.changed(parts=rest)] if rest else []
    # A result comes right after the call it answers: before a user's words, after an assistant's.
    return [*spoken, *made] if message.role is Role.AI else [*made, *spoken]


def to_langchain(message: Message) -> Shape:
    """The layout of a message: what ``from_langchain`` read comes back equal, defaults filled in."""
    mark = message.metadata.get(MARK)
    rest = copy.deepcopy(cast(Shape, mark)) if isinstance(mark, dict) else {}
    kind = rest.pop("type", _KIND_OF[message.role])
    if kind not in KINDS or _ROLES[KINDS[kind]] is not message.role:
        # A file may claim anything in its metadata; who speaks is the message's own field.
        kind = _KIND_OF[message.role]
    if KINDS[kind] == "chat" and _as_id(rest.get("role")):
        del rest["role"]
    _drop_outdated(rest, message)
    data = {**_rendered(message, KINDS[kind]), **rest, "type": kind}
    return {"type": kind, "data": data}


def _made(kind: str, data: Shape, given_id: str | None) -> Message:
    spoken = tuple(_parts(data.get("content", "")))
    parts: tuple[Part, ...] = (_result(data, spoken),) if kind == "tool" else spoken
    name = data.get("name")
    check_type(name, (str, NoneType), "a message's name must be text")
    return Message(
        _ROLES[kind],
        (*parts, *(_calls(data.get("tool_calls") or []) if kind != "ai" else _calls_of_model(data))),
        name=name or None,
        id=given_id or _as_id(data.get("id")) or new_id(),
        chat_role=_as_id(data.get("role")) if kind == "chat" else None,
    )


def _rest(data: Shape, rendered: Shape, kind: str) -> Shape:
    """What of the data does not come back from the message alone."""
    given = {**data, "type": kind}
    if given.get("tool_calls"):
        # The word is the same for every call, and older files leave it out.
        given["tool_calls"] = [mapping(call, "a tool call") | {"type": "tool_call"} for call in given["tool_calls"]]
    return {key: value for key, value in given.items() if value != rendered.get(key, _MISSING)}


def _drop_outdated(rest: Shape, message: Message) -> None:
    """Leave out what was kept of a content that has been edited since."""
    spoken = tuple(part for part in _spoken(message) if not isinstance(part, ToolCall))
    if "content" in rest and tuple(_parts(rest["content"])) != spoken:
        del rest["content"]
    if "tool_calls" in rest and tuple(_calls(rest["tool_calls"])) != message.tool_calls:
        del rest["tool_calls"]


# Reading


def _parts(content: object) -> list[_Simple]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    if not isinstance(content, list | tuple):
        raise InvalidInput(f"a message's content must be text or a list of blocks, not {shown(content)}")
    return [_part(block) for block in cast("Sequence[object]", content) if block != ""]


def _part(block: object) -> _Simple:
    if isinstance(block, str):
        return Text(block)
    match shape := mapping(block, "a block of a message's content"):
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image_url", "image_url": str(url)}:
            return Image(url=url)
        case {"type": "image_url", "image_url": {"url": str(url), **options}}:
            return Image(url=url, options=options)
        case _:
            return Opaque(f"langchain.{shape.get('type') or 'block'}", shape)


def _result(data: Shape, content: tuple[_Simple, ...]) -> ToolResult:
    call = data.get("tool_call_id")
    check_type(call, str, "a tool's message names the call it answers")
    return ToolResult(_as_id(call) or "call", content, _as_id(data.get("name")), data.get("status") == "error")


def _calls(calls: object) -> list[ToolCall]:
    if not isinstance(calls, list | tuple):
        raise InvalidInput(f"tool calls must be a list, not {shown(calls)}")
    return [_call(call) for call in cast("Sequence[object]", calls)]


def _calls_of_model(data: Shape) -> list[ToolCall]:
    readable, unreadable = older_calls(data)
    made = [ToolCall(_as_id(one["id"]) or "call", _as_id(one["name"]) or "tool", one["args"]) for one in unreadable]
    return [*_calls(data.get("tool_calls") or readable), *made]


def older_calls(data: Mapping[str, Any]) -> tuple[list[Shape], list[Shape]]:
    """The calls that only ``additional_kwargs`` hold, as older versions wrote them: ``tool_calls``, ``invalid_tool_calls``.

    Empty where the data has calls of its own, and where they are none that LangChain reads.
    """
    extra: Any = data.get("additional_kwargs")
    given: Any = cast(Shape, extra).get("tool_calls") if isinstance(extra, Mapping) else None
    readable: list[Shape] = []
    unreadable: list[Shape] = []
    if not given or any(data.get(field) for field in ("tool_calls", "invalid_tool_calls", "tool_call_chunks")):
        return readable, unreadable
    try:
        for call in given:
            if "function" in call:
                name, written = call["function"]["name"], call["function"]["arguments"]
                args = json_object("{}" if written == "null" else written)
                fields = {"name": name or "", "args": written if args is None else args, "id": call.get("id")}
                (unreadable if args is None else readable).append(fields)
    except (TypeError, KeyError, AttributeError):
        return [], []
    return readable, unreadable


def _call(call: Any) -> ToolCall:
    match call:
        case {"name": str(name), "args": dict()}:
            # A call may come without an id; ours must have one, and the layout keeps that it had none.
            return ToolCall(_as_id(call.get("id")) or "call", name or "tool", call["args"])
        case _:
            raise InvalidInput(f"a tool call has a name, args and an id, not {shown(call)}")


def _as_id(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= MAX_ID_LENGTH else None


# Writing


def _rendered(message: Message, kind: str) -> Shape:
    """The data of a message that never was LangChain's."""
    data: Shape = {
        "content": _content(_spoken(message)),
        "additional_kwargs": {},
        "response_metadata": {},
        "type": kind,
        "name": message.name,
        "id": None,
    }
    if kind == "ai":
        data |= _called(message.tool_calls)
    elif kind == "tool":
        result = next(iter(message.tool_results), ToolResult("call"))
        status = "error" if result.is_error else "success"
        # Elsewhere the speaker of a result may be another than its tool.
        name = result.name or message.name
        data |= {"name": name, "tool_call_id": result.call_id, "artifact": None, "status": status}
    elif kind == "chat":
        data["role"] = message.chat_role or message.role.value
    elif kind == "function":
        data["name"] = message.name or "function"
    return data


def _called(calls: Iterable[ToolCall]) -> Shape:
    readable: list[Shape] = []
    unreadable: list[Shape] = []
    for call in calls:
        if isinstance(call.arguments, str):
            fields = {"id": call.id, "name": call.name, "args": call.arguments, "error": None}
            unreadable.append({"type": "invalid_tool_call", **fields})
        else:
            arguments = copy.deepcopy(call.arguments)
            readable.append({"name": call.name, "args": arguments, "id": call.id, "type": "tool_call"})
    return {"tool_calls": readable, "invalid_tool_calls": unreadable, "usage_metadata": None}


def _spoken(message: Message) -> list[Part]:
    """The parts that are the content: a tool's message is what its results hold."""
    if message.role is not Role.TOOL:
        return [part for part in message.parts if not isinstance(part, ToolCall)]
    held: list[Part] = []
    for part in message.parts:
        held += part.content if isinstance(part, ToolResult) else [part]
    return held


def _content(parts: Sequence[Part]) -> str | list[Any]:
    if not parts:
        return ""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return [_block(part) for part in parts]


def _block(part: Part) -> Shape:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Opaque():
            return copy.deepcopy(part.data)
        case Image() if part.url is not None:
            return {"type": "image_url", "image_url": {"url": part.url, **part.options}}
        case Image() | Audio() | Video():
            return _media(part)
        case ToolResult():
            held = [_block(inner) for inner in part.content]
            return {"type": "tool_result", "tool_use_id": part.call_id, "content": held, "is_error": part.is_error}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}


def _media(part: Media) -> Shape:
    kind = {Image: "image", Audio: "audio", Video: "video"}[cast("type[Image]", type(part))]
    if part.data is not None:
        return {"type": kind, "base64": to_base64(part.data), "mime_type": media_type(part)}
    place = {"url": part.url} if part.url is not None else {"file_id": part.blob}
    return {"type": kind, **place}
