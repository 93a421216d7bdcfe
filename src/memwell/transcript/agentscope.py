"""Messages to and from the layout AgentScope writes: a dict with ``id``, ``name``, ``role``, ``content`` and more.

Nothing of a layout is lost that a store can hold. What a message of ours has no field for, such as the text of the
timestamp, is in its metadata under ``agentscope``. What a model thought is there too, because it was not said
and must not be read among the words.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, cast

from memwell.errors import InvalidInput
from memwell.messages import Audio, Image, Media, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Video
from memwell.transcript.text import Shape, from_base64, in_words, media_type, speaker, storable, to_base64
from memwell.values import MAX_ID_LENGTH, now, shown

MARK: Final = "agentscope"
"""The key of a message's metadata that holds the rest of a layout."""

SUMMARY: Final = "agentscope/summary"
"""The key under which the summary of an agent's conversation is kept next to the conversation."""

ROLES: Final[Mapping[str, Role]] = {"user": Role.HUMAN, "assistant": Role.AI, "system": Role.SYSTEM}
_SPEAKERS = {role: name for name, role in ROLES.items()}
_OURS = "agentscope."
_NEEDED = frozenset({"name", "content", "role"})
_MEDIA: Mapping[str, type[Image] | type[Audio] | type[Video]] = {"image": Image, "audio": Audio, "video": Video}
_UNCHANGING = frozenset({str, int, float, bool, type(None)})


def from_agentscope(layout: Mapping[str, Any], *, id: str | None = None) -> Message:  # noqa: A002 - the message's field
    """The message that a layout holds, under its own id or the one given.

    Raises ``InvalidInput`` for a layout, or an id, that breaks a rule.
    """
    check_layout(layout)
    layout = {**layout, **{key: storable(layout[key]) for key in ("name", "content", "metadata")}}
    content, own_id, timestamp = layout["content"], layout["id"], layout["timestamp"]
    blocks: list[Shape] = [] if isinstance(content, str) else content
    said = [block for block in blocks if block["type"] != "thinking"]
    parts = tuple(map(_part, said)) if blocks else _text_parts(content)
    role = Role.TOOL if said and all(block["type"] == "tool_result" for block in said) else ROLES[layout["role"]]
    rest = {"timestamp": timestamp, **dict(_rest(layout, role))}
    if not isinstance(content, str):
        rest |= _rest_of_blocks(blocks, said, parts)
    if id is not None and id != own_id:
        rest["id"] = own_id
    return Message(
        role,
        parts,
        name=_as_id(layout["name"]),
        id=own_id if id is None else id,
        time=_moment(timestamp),
        metadata={MARK: rest},
    )


def to_agentscope(message: Message) -> Shape:
    """The layout of a message. One that another program wrote without a name gets the name of its role."""
    kept = message.metadata.get(MARK)
    rest = cast(Shape, kept) if isinstance(kept, dict) else None
    if rest is None or message.role not in _SPEAKERS:
        role, name = _speaker(message)
    else:
        role = name = _SPEAKERS[message.role]
    known: Shape = rest or {}
    if message.role is Role.TOOL and known.get("role") in ("user", "assistant"):
        role = known["role"]
    if rest is None:
        metadata = {key: plain_copy(value) for key, value in message.metadata.items() if key != MARK}
    else:
        metadata = plain_copy(rest.get("metadata", {}))
    return {
        "id": known.get("id", message.id),
        "name": known.get("name", message.name or name),
        "role": role,
        "content": _content(message, rest),
        "metadata": metadata,
        "timestamp": known.get("timestamp") or _local(message.time),
        "invocation_id": known.get("invocation_id"),
    }


def original_id(message: Message) -> str:
    """The id that the message had before the store gave it another one because its own was taken."""
    kept = message.metadata.get(MARK)
    return cast("dict[str, str]", kept).get("id", message.id) if isinstance(kept, dict) else message.id


def plain_copy(value: Any, memo: dict[int, Any] | None = None) -> Any:
    """A copy that shares nothing which can be changed; of plain data it is several times cheaper than ``copy.deepcopy``."""
    kind = cast("type[Any]", type(value))
    if kind is dict:
        return {key: item if type(item) in _UNCHANGING else plain_copy(item, memo) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in _UNCHANGING else plain_copy(item, memo) for item in value]
    return value if kind in _UNCHANGING else copy.deepcopy(value, memo)


# Checking


def check_layout(layout: object) -> None:
    """Raises ``InvalidInput`` unless every part of a message is what it must be."""
    if not isinstance(layout, Mapping) or not cast(Shape, layout).keys() >= _NEEDED:
        raise InvalidInput(f"a message is a dict with a name, a content and a role, not {shown(cast(object, layout))}")
    fields = cast(Shape, layout)
    for key in ("name", "id", "timestamp"):
        if not isinstance(fields.get(key), str):
            raise InvalidInput(f"a message's {key} must be a string, not {shown(fields.get(key))}")
    _check_content(fields["content"])
    if not isinstance(fields["role"], str) or fields["role"] not in ROLES:
        raise InvalidInput(f"unknown role {shown(fields['role'])}; known roles: {', '.join(ROLES)}")
    if not isinstance(fields.get("metadata"), dict):
        raise InvalidInput(f"a message's metadata must be a dict, not {shown(fields.get('metadata'))}")


def _check_content(value: object) -> None:
    if isinstance(value, str):
        return
    if not isinstance(value, list):
        raise InvalidInput(f"The content must be a string or a list of content blocks, not {shown(value)}")
    for block in cast("list[object]", value):
        _check_block(block)


def _check_block(value: object) -> None:
    if not isinstance(value, dict):
        raise InvalidInput(f"a content block must be a dict, not {shown(value)}")
    block = cast(Shape, value)
    match block:
        case {"type": "text", "text": str()} | {"type": "thinking", "thinking": str()}:
            pass
        case {"type": "image" | "audio" | "video", "source": {"type": "url", "url": str()}}:
            pass
        case {
            "type": "image" | "audio" | "video",
            "source": {"type": "base64", "media_type": str(), "data": str()},
        }:
            pass
        case {"type": "tool_use", "id": str(), "name": str(), "input": dict()}:
            pass
        case {"type": "tool_result", "id": str(), "name": str(), "output": str() | list()}:
            _check_content(block["output"])
        case {"type": str() as kind} if kind in _NEEDS:
            raise InvalidInput(f"a block of type {kind} must have {_NEEDS[kind]}, not {shown(block)}")
        case _:
            raise InvalidInput(f"unknown block type {shown(block.get('type'))}; known types: {', '.join(_NEEDS)}")


_NEEDS: Final = {
    "text": "a text that is a string",
    "thinking": "a thinking that is a string",
    "tool_use": "an id, a name and an input that is a dict",
    "tool_result": "an id, a name and an output that is text or blocks",
    **dict.fromkeys(_MEDIA, "a source with a url, or with data and a media_type"),
}


# Writing


def _text_parts(content: object) -> tuple[Text, ...]:
    return (Text(content),) if isinstance(content, str) and content else ()


def _rest(layout: Mapping[str, Any], role: Role) -> Iterator[tuple[str, Any]]:
    """What the fields of a message do not hold, apart from the content."""
    if _as_id(layout["name"]) is None:
        yield "name", layout["name"]
    if role is Role.TOOL and layout["role"] != "system":
        yield "role", layout["role"]
    if layout["metadata"]:
        yield "metadata", plain_copy(layout["metadata"])
    if layout.get("invocation_id") is not None:
        yield "invocation_id", layout["invocation_id"]


def _rest_of_blocks(blocks: list[Shape], said: list[Shape], parts: tuple[Part, ...]) -> Shape:
    """What the parts do not hold: that the content is blocks, the thoughts, and further keys of the blocks."""
    rest: Shape = {"blocks": True}
    thoughts = [[place, plain_copy(block)] for place, block in enumerate(blocks) if block["type"] == "thinking"]
    if thoughts:
        rest["thinking"] = thoughts
    more = {str(place): kept for place, kept in enumerate(map(_more, said, parts)) if kept}
    return {**rest, "more": more} if more else rest


def _more(block: Shape, part: Part) -> Shape:
    seen, as_text = _block(part), False
    if isinstance(block.get("output"), str) and isinstance(part, ToolResult):
        seen["output"], as_text = part.text, True
    changed = {key: plain_copy(value) for key, value in block.items() if key not in seen or seen[key] != value}
    if as_text:
        return {"type": block["type"], "as_text": True, "keys": changed}
    return {"type": block["type"], "keys": changed} if changed else {}


def _part(block: Shape) -> Part:
    return _PARTS[block["type"]](block)


def _media(block: Shape) -> Part:
    make, source = _MEDIA[block["type"]], block["source"]
    if source["type"] == "url":
        return make(url=source["url"])
    try:
        data = from_base64(source["data"])
    except InvalidInput:
        return _opaque(block)
    return make(data=data, media_type=source["media_type"]) if to_base64(data) == source["data"] else _opaque(block)


def _opaque(block: Shape) -> Opaque:
    return Opaque(f"{_OURS}{block['type']}", plain_copy(block))


def _call(block: Shape) -> ToolCall:
    # A call needs an id and a name; _more keeps that the block had none.
    return ToolCall(_as_id(block["id"]) or "call", _as_id(block["name"]) or "tool", plain_copy(block["input"]))


def _result(block: Shape) -> ToolResult:
    output = block["output"]
    held = _text_parts(output) if isinstance(output, str) else tuple(map(_inner, cast("list[Shape]", output)))
    return ToolResult(_as_id(block["id"]) or "call", held, _as_id(block["name"]))


def _inner(block: Shape) -> Text | Image | Audio | Video | Opaque:
    if block["type"] in ("text", *_MEDIA):
        part = cast("Text | Image | Audio | Video | Opaque", _part(block))
        if _block(part) == block:
            return part
    return _opaque(block)


_PARTS: Mapping[str, Callable[[Shape], Part]] = {
    "text": lambda block: Text(block["text"]),
    **dict.fromkeys(_MEDIA, _media),
    "tool_use": _call,
    "tool_result": _result,
}


# Reading


def _content(message: Message, rest: Shape | None) -> str | list[Shape]:
    parts = message.parts
    if rest is None or "blocks" not in rest:
        if not parts:
            return ""
        if len(parts) == 1 and type(parts[0]) is Text:
            return parts[0].text
    blocks = [_block(part) for part in parts]
    if rest is not None:
        for place, kept in rest.get("more", {}).items():
            _put_back(blocks, int(place), kept)
        for place, thought in rest.get("thinking", ()):
            blocks.insert(place, plain_copy(thought))
    return blocks


def _put_back(blocks: list[Shape], place: int, kept: Shape) -> None:
    """Give a block back the keys that its part has no field for, unless an edit put another block in its place."""
    if place >= len(blocks) or blocks[place]["type"] != kept["type"]:
        return
    block = blocks[place]
    if kept.get("as_text") and isinstance(block.get("output"), list):
        block["output"] = "\n".join(inner.get("text", "") for inner in block["output"])
    block.update({**plain_copy(kept["keys"]), "type": block["type"]})


def _block(part: Part) -> Shape:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case ToolCall():
            block: Shape = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
            if isinstance(part.arguments, str):
                return {**block, "raw_input": part.arguments}
            return {**block, "input": plain_copy(part.arguments)}
        case ToolResult():
            held = [_block(inner) for inner in part.content]
            return {"type": "tool_result", "id": part.call_id, "output": held, "name": part.name or "tool"}
        case Opaque():
            return _own(part) or {"type": "text", "text": in_words(part)}
        case Image() | Audio() | Video():
            return _seen(part)


def _own(part: Opaque) -> Shape | None:
    """The block that was kept as it came, if it is one of AgentScope's; None for another provider's."""
    block = plain_copy(part.data)
    if part.kind.startswith(_OURS):
        return block
    match block:
        case {"type": "reasoning", "reasoning": str(thought)}:
            return {"type": "thinking", "thinking": thought}
        case {"type": "reasoning", "summary": [*pieces]}:
            said = [cast(Shape, piece).get("text") for piece in cast("list[object]", pieces) if isinstance(piece, dict)]
            return {"type": "thinking", "thinking": "\n".join(text for text in said if isinstance(text, str))}
        case _:
            pass
    try:
        _check_block(block)
    except InvalidInput:
        return None
    return block


def _seen(part: Media) -> Shape:
    kind = type(part).__name__.lower()
    if part.data is not None:
        type_ = media_type(part) if part.media_type is None else part.media_type
        return {"type": kind, "source": {"type": "base64", "media_type": type_, "data": to_base64(part.data)}}
    if part.url is not None:
        return {"type": kind, "source": {"type": "url", "url": part.url}}
    return {"type": "text", "text": in_words(cast(Image, part))}


def _speaker(message: Message) -> tuple[str, str]:
    """The role, and the name of a speaker who has none."""
    if message.role in (Role.TOOL, Role.FUNCTION):
        called = next((result.name for result in message.tool_results if result.name), "system")
        # AgentScope's results come from the system. A tool's word that is no result would be an instruction there.
        is_result = len(message.tool_results) == len(message.parts) > 0
        return ("system", called) if is_result else ("user", "user")
    role = "assistant" if message.role is Role.VIEW else _SPEAKERS[speaker(message)]
    return role, message.chat_role or role


def _as_id(value: str) -> str | None:
    return value if 0 < len(value) <= MAX_ID_LENGTH else None


def _moment(timestamp: str) -> datetime:
    try:
        # A time without a zone is local time, as everywhere in these messages.
        return datetime.fromisoformat(timestamp).astimezone()
    except (ValueError, OverflowError, OSError):
        return now()


def _local(time: datetime) -> str:
    return time.astimezone().replace(tzinfo=None).isoformat(" ", "milliseconds")
