"""LangChain's ``FileChatMessageHistory``: a JSON list of messages, each a type and its data. It becomes a conversation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.remembering import Rememberer
from memwell.messages import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult
from memwell.runtime.transfer.files import FileLike, Piece, decoded, items, reading
from memwell.runtime.transfer.incoming import Intake, Talk, as_list, as_object, derived_id
from memwell.runtime.transfer.report import Imported, Progress
from memwell.values import check_json, check_text, shown

_ROLES = {
    "human": Role.HUMAN,
    "ai": Role.AI,
    "system": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.FUNCTION,
    "chat": Role.CHAT,
    "HumanMessageChunk": Role.HUMAN,
    "AIMessageChunk": Role.AI,
}
_OURS = frozenset({"content", "type", "id", "name", "tool_calls", "tool_call_id", "status", "role", "example"})


def import_langchain(
    memory: Rememberer,
    file: FileLike,
    *,
    thread: str | None = None,
    remember: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Make a conversation of a history file, named ``thread`` or like the file; with ``remember`` its messages are also
    remembered.

    The file holds no times: a message's is that of the import. A file that has grown is taken on from where it was. Raises
    ``OSError`` when it cannot be read.
    """
    name = thread or (Path(file).stem if isinstance(file, str | os.PathLike) else "langchain")
    intake = Intake(memory, "langchain", strict=strict)

    def read(piece: Piece) -> Sequence[Talk]:
        message = _message(name, piece.number, as_object(decoded(piece.data), "a message of LangChain"))
        return (Talk(id=name, messages=[message], metadata={"source": "langchain"}, remember=remember),)

    with reading(file, progress) as source:
        return intake.take_all(items(source, ("messages",)), read)


def _message(thread: str, number: int, item: dict[str, Any]) -> Message:
    kind, data = item.get("type"), as_object(item.get("data"), "the data of a message of LangChain")
    role = _ROLES.get(kind) if isinstance(kind, str) else None
    if role is None:
        raise InvalidInput(f"a message of LangChain has a type such as 'human' or 'ai', not {shown(kind)}")
    content = data.get("content", "")
    check_json(content, "the content of a message")
    parts = tuple(_parts(content))
    if role is Role.TOOL:
        parts = (_result(data, parts),)
    rest = {key: value for key, value in data.items() if key not in _OURS and value not in (None, {}, [], "")}
    # The place is in the id: the same words may be said twice, and a file only ever grows at its end.
    written = msgspec.json.encode([kind, content], order="sorted").decode()
    return Message(
        role,
        (*parts, *_calls(data.get("tool_calls") or [])),
        name=data.get("name") or None,
        id=derived_id("langchain", thread, number, written),
        metadata={"langchain": rest} if rest else {},
        chat_role=str(data["role"]) if role is Role.CHAT and data.get("role") else None,
    )


def _parts(content: Any) -> Iterator[Part]:
    for block in [content] if isinstance(content, str) else as_list(content, "a message's content"):
        if isinstance(block, str):
            if block:
                yield Text(check_text(block, "a message's content"))
        else:
            yield _block(as_object(block, "a block of a message's content"))


def _block(block: dict[str, Any]) -> Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "image_url", "image_url": {"url": str(url)}} | {"type": "image_url", "image_url": str(url)}:
            return Image(url=url)
        case _:
            return Opaque(str(block.get("type") or "block"), block)


def _result(data: dict[str, Any], parts: tuple[Part, ...]) -> ToolResult:
    call = data.get("tool_call_id")
    if not isinstance(call, str):
        raise InvalidInput(f"a tool's message names the call it answers, not {shown(call)}")
    content = tuple(part for part in parts if not isinstance(part, ToolCall | ToolResult))
    return ToolResult(call, content, data.get("name") or None, data.get("status") == "error")


def _calls(calls: Any) -> Iterator[ToolCall]:
    for call in as_list(calls, "tool calls"):
        match as_object(call, "a tool call"):
            case {"name": str(name), "args": arguments, "id": str(id_)}:
                yield ToolCall(id_, name, as_object(arguments, "a tool call's args"))
            case other:
                raise InvalidInput(f"a tool call has a name, args and an id, not {shown(other)}")


__all__ = ["import_langchain"]
