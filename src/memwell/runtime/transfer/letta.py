"""Imports from Letta: agent files (``.af``), of one agent or of several, in their present form and the one before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.messages import Message, Role, Text
from memwell.runtime.transfer.files import FileLike, Imported, Piece, Progress, Reading, decoded, few, read_piece
from memwell.runtime.transfer.intake import (
    Arrival,
    Intake,
    Talk,
    as_list,
    as_moment,
    as_object,
    as_text,
    derived_id,
)
from memwell.values import check_id, check_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ROLES = {"user": Role.HUMAN, "assistant": Role.AI}


def import_letta(
    memory: MemoryLike,
    file: FileLike,
    *,
    remember: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Import the memory blocks of an agent file as memories and its messages as a conversation for each agent.

    What the user and the agent said is imported, with its time; instructions, tools and their results, settings and secrets
    are not. With ``remember`` the messages are remembered, too. Raises ``FileError`` when the file cannot be read.
    """

    def read(piece: Piece) -> Sequence[Arrival | Talk]:
        return read_piece(letta_things, piece.data, remember)

    return Intake(as_memory(memory), "letta", strict=strict).take_file(file, _pieces, read, progress)


def _pieces(file: Reading) -> Iterator[Piece]:
    """The agents and the blocks of a file; one of the earlier form is a single agent."""
    data = file.rest()
    try:
        whole = read_piece(_parts, data)
    except InvalidInput as error:
        yield Piece(0, b"", f"not an agent file: {error}")
        return
    for number, part in enumerate(whole or [data], 1):
        yield Piece(number, bytes(part))


def _parts(data: bytes) -> list[bytes]:
    """The agents and the blocks, each as JSON; none when the file itself is an agent."""
    found = as_object(decoded(data, dict[str, msgspec.Raw]), "the file")
    if "agents" not in found:
        return []
    several = [decoded(bytes(found[key]), list[msgspec.Raw]) for key in ("blocks", "agents") if key in found]
    return [bytes(one) for part in several for one in part]


def letta_things(data: bytes, remember: bool) -> list[Arrival | Talk]:
    """The memories and the conversation of an agent, or the memory of a block. Raises ``InvalidInput``."""
    item = as_object(decoded(data), "an agent or a block")
    if "value" in item and "messages" not in item:
        return [few(_block(item, ""))]
    name = as_text(item.get("name"), "an agent's name")
    blocks = as_list(item.get("core_memory") or [], "an agent's blocks")
    found: list[Arrival | Talk] = [_block(as_object(one, "a block"), name) for one in blocks]
    messages = list(_messages(name, as_list(item.get("messages") or [], "an agent's messages")))
    if messages:
        metadata = {"source": "letta", "agent": name}
        found.append(
            Talk(id=check_id(f"letta:{name}", "a name"), messages=messages, metadata=metadata, remember=remember)
        )
    return few(found)


def _block(block: dict[str, Any], agent: str) -> Arrival:
    label = check_text(block.get("label") or "", "a block's label")
    text = as_text(block.get("value"), f"the block {label!r}").strip()
    kept = {"label": label, "description": block.get("description"), "agent": agent}
    return Arrival(
        id=derived_id("letta", agent, label, text),
        text=text,
        time=as_moment(block.get("updated_at") or block.get("created_at"), "the time of a block"),
        metadata={"letta": {key: value for key, value in kept.items() if value}},
        # What an agent wrote about itself is no word of a user's.
        trust="model" if label == "persona" else "user",
    )


def _messages(agent: str, given: Sequence[Any]) -> Iterator[Message]:
    time = _EPOCH
    for number, one in enumerate(given):
        raw = as_object(one, "a message")
        time = as_moment(raw.get("created_at"), "created_at") or time
        role = raw.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            continue
        if text := _said(raw):
            # The ids of a file are counted from 0 in each.
            id_ = derived_id("letta", agent, number, role, raw.get("created_at"), text)
            yield Message(_ROLES[role], (Text(text),), id=id_, time=time)


def _said(raw: dict[str, Any]) -> str:
    """What a message says to the other; an agent may say it with a tool."""
    content: Any = raw.get("content") or raw.get("text") or ""
    parts = [content] if isinstance(content, str) else [_part(one) for one in as_list(content, "a message's content")]
    said = [_unpacked(check_text(part, "a message's text")) for part in parts]
    if raw.get("role") == "assistant":
        sent = [_sent(call) for call in as_list(raw.get("tool_calls") or [], "tool calls")]
        # The content of a message with such a call is what the agent thought.
        said = sent if any(sent) else said
    return "\n".join(filter(None, said)).strip()


def _part(part: Any) -> Any:
    fields = as_object(part, "a part of a message")
    return fields.get("text") or "" if fields.get("type", "text") == "text" else ""


def _unpacked(text: str) -> str:
    """What the user wrote: older agents get it in a JSON object with its time, and events of the system likewise."""
    if not text.startswith("{"):
        return text
    try:
        packed = as_object(decoded(text.encode()), "a message")
    except InvalidInput:
        return text
    kind = packed.get("type")
    if kind == "user_message":
        return check_text(packed.get("message") or "", "a message's text")
    return "" if kind in ("heartbeat", "login", "system_alert", "system_message") else text


def _sent(call: Any) -> str:
    function = as_object(as_object(call, "a tool call").get("function") or {}, "a function")
    if function.get("name") != "send_message":
        return ""
    arguments = check_text(function.get("arguments") or "{}", "arguments")
    return check_text(as_object(decoded(arguments.encode()), "arguments").get("message") or "", "a message's text")
