"""Messages in the shape of Anthropic's Messages API, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from memwell.errors import InvalidInput
from memwell.messages import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, check_message
from memwell.transcript.text import (
    Shape,
    each,
    fresh,
    from_base64,
    image_at,
    in_words,
    is_foreign,
    json_object,
    mapping,
    media_type,
    outgoing,
    plain_object,
    shortest,
    speaker,
    string,
    to_base64,
)
from memwell.values import shown

System: TypeAlias = str | list[Shape]
"""A system prompt: a string, or blocks."""

_ROLES: Final = {"user": Role.HUMAN, "assistant": Role.AI}


def to_anthropic(messages: Iterable[Message]) -> tuple[System, list[Shape]]:
    """The system prompt (empty when there is none) and the turns that models may see, alternating user and assistant.

    System messages go into the prompt wherever they stood. Neighbours on one side become one turn, tool results first,
    as the API wants it; a message of nothing but blanks is left out. Audio, video and images given only by blob go
    as words. Raises ``InvalidInput`` for a message no store would keep.
    """
    prompt: list[Shape] = []
    turns: list[tuple[str, list[Shape]]] = []
    for item in outgoing(messages):
        side = speaker(item)
        for part in item.parts:
            block = _block(part, side)
            if block is None:
                continue
            if side is Role.SYSTEM and not isinstance(part, ToolResult):
                prompt.append(block)
            else:
                is_answer = side is Role.AI and not isinstance(part, ToolResult)
                _add(turns, "assistant" if is_answer else "user", block)
    return shortest(prompt) or "", [_turn(role, blocks) for role, blocks in turns]


def _add(turns: list[tuple[str, list[Shape]]], role: str, block: Shape) -> None:
    if not turns or turns[-1][0] != role:
        turns.append((role, []))
    turns[-1][1].append(block)


def _turn(role: str, blocks: list[Shape]) -> Shape:
    results_first = sorted(blocks, key=lambda block: block.get("type") != "tool_result")
    return {"role": role, "content": shortest(results_first)}


def _block(part: Part, side: Role) -> Shape | None:
    if isinstance(part, Opaque):
        return None if is_foreign(part, "anthropic") else fresh(part.data)
    if isinstance(part, ToolResult):
        return _result_block(part)
    if isinstance(part, ToolCall) and side is Role.AI:
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part.arguments)}
    if isinstance(part, Image) and side is not Role.SYSTEM:
        source = _source(part)
        if source:
            return {"type": "image", "source": source}
    words = in_words(part)
    # The API refuses a text of nothing but blanks.
    return {"type": "text", "text": words} if words.strip() else None


def _result_block(result: ToolResult) -> Shape:
    block: Shape = {"type": "tool_result", "tool_use_id": result.call_id}
    content = [inner for part in result.content if (inner := _block(part, Role.HUMAN)) is not None]
    if content:
        block["content"] = shortest(content)
    if result.is_error:
        block["is_error"] = True
    return block


def _input(arguments: Shape | str) -> Shape:
    if isinstance(arguments, str):
        found = json_object(arguments) if arguments.strip() else {}
        return {"arguments": arguments} if found is None else found
    return fresh(arguments)


def _source(part: Image) -> Shape | None:
    # The API takes no data: URL, so one that was kept as an address is read here.
    picture = part if part.data is not None or part.url is None else image_at(part.url)
    if picture.data is not None:
        return {"type": "base64", "media_type": media_type(picture), "data": to_base64(picture.data)}
    return {"type": "url", "url": part.url} if part.url else None


def from_anthropic(
    messages: Iterable[Mapping[str, Any]], system: str | Iterable[Mapping[str, Any]] | None = None
) -> list[Message]:
    """The messages of a Messages request, the system prompt first, each with an id and a time of its own.

    Each tool result becomes a tool message, apart from what a user said around it. Raises ``InvalidInput`` naming the
    place, the value and the rule.
    """
    prompt = [check_message(Message(Role.SYSTEM, tuple(_parts(system, "system"))))] if system else []
    return [*prompt, *each(messages, "messages", lambda item: _messages(mapping(item, "a message")))]


def _messages(shape: Shape) -> list[Message]:
    role = shape.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise InvalidInput(f"unknown role {shown(role)}; known roles: {', '.join(_ROLES)}")
    runs: list[tuple[Role, list[Part]]] = []
    for part in _parts(shape.get("content"), "content"):
        is_result = isinstance(part, ToolResult)
        speaker_role = Role.TOOL if is_result else _ROLES[role]
        if is_result or not runs or runs[-1][0] is not speaker_role:
            runs.append((speaker_role, []))
        runs[-1][1].append(part)
    return [check_message(Message(kind, tuple(parts))) for kind, parts in runs or [(_ROLES[role], [])]]


def _parts(content: object, what: str) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    return each(content, what, lambda block: [_part(mapping(block, "a block"))])


def _part(shape: Shape) -> Part:
    kind = string(shape, "type")
    if kind == "tool_use":
        return ToolCall(string(shape, "id"), string(shape, "name"), plain_object(shape.get("input"), "input"))
    if kind == "tool_result":
        given = shape.get("content")
        content = _simple_content(given) if given is not None else ()
        return ToolResult(string(shape, "tool_use_id"), content, is_error=bool(shape.get("is_error")))
    return _simple_part(shape)


def _simple_content(content: object) -> tuple[Text | Image | Opaque, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(each(content, "content", lambda block: [_simple_part(mapping(block, "a block"))]))


def _simple_part(shape: Shape) -> Text | Image | Opaque:
    kind = string(shape, "type")
    if kind == "text":
        return Text(string(shape, "text"))
    if kind == "image":
        source = mapping(shape.get("source"), "source")
        if source.get("type") == "base64":
            return Image(data=from_base64(string(source, "data")), media_type=string(source, "media_type"))
        if source.get("type") == "url":
            return Image(url=string(source, "url"))
    return Opaque(f"anthropic.{kind}", plain_object(shape, "a block"))
