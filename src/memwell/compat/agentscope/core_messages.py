"""Messages of agents as messages of our core, and back: what goes in comes back equal, and every other room reads it.

What the core has no field for, such as the timestamp's own text, travels in the metadata under one key. What a model
thought travels there too: it was not said, so nobody else is to read it among the words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias, cast

from memwell.compat.agentscope.messages import ContentBlock, Msg, MsgRole, check_block, check_message, plain_copy
from memwell.errors import InvalidInput
from memwell.messages import Audio, Image, Media, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Video
from memwell.transcript.shapes import from_base64, in_words, media_type, speaker, to_base64
from memwell.values import MAX_ID_LENGTH, now

MARK = "agentscope"
"""The key of a message's metadata under which the rest of a message travels."""

_Block: TypeAlias = dict[str, Any]
_OURS = "agentscope."
_ROLES: Mapping[str, Role] = {"user": Role.HUMAN, "assistant": Role.AI, "system": Role.SYSTEM}
_SPEAKERS: Mapping[Role, MsgRole] = {Role.HUMAN: "user", Role.AI: "assistant", Role.SYSTEM: "system"}
_NOTHING: Mapping[str, Any] = {}
_MEDIA: Mapping[str, type[Image] | type[Audio] | type[Video]] = {"image": Image, "audio": Audio, "video": Video}


def to_core(message: Msg, *, id: str | None = None) -> Message:  # noqa: A002 - it is the message's field
    """The message as the core keeps it, under its own id or the one given.

    Raises ``InvalidInput`` for a message, or an id, that breaks a rule.
    """
    check_message(message)
    blocks = [] if isinstance(message.content, str) else cast("list[_Block]", message.content)
    said = [block for block in blocks if block["type"] != "thinking"]
    parts = tuple(map(_part, said)) if blocks else _text_parts(message.content)
    role = Role.TOOL if said and all(block["type"] == "tool_result" for block in said) else _ROLES[message.role]
    rest: dict[str, Any] = {"timestamp": message.timestamp, **dict(_rest(message, role))}
    if not isinstance(message.content, str):
        rest |= _rest_of_blocks(blocks, said, parts)
    if id is not None and id != message.id:
        rest["id"] = message.id
    return Message(
        role,
        parts,
        name=_as_id(message.name),
        id=message.id if id is None else id,
        time=_moment(message.timestamp),
        metadata={MARK: rest},
    )


def from_core(message: Message) -> Msg:
    """The message of an agent that a message of the core is. One from elsewhere without a name gets that of its role."""
    kept = message.metadata.get(MARK)
    rest = cast("dict[str, Any]", kept) if isinstance(kept, dict) else None
    # Not through __init__, which would check all of it again: it was checked on its way in.
    made = object.__new__(Msg)
    if rest is None or message.role not in _SPEAKERS:
        role, name = _speaker(message)
    else:
        role = name = _SPEAKERS[message.role]
    known = _NOTHING if rest is None else rest
    made.name = known.get("name", message.name or name)
    made.content = _content(message, rest)
    made.role = known.get("role", role)
    made.metadata = _others(message) if rest is None else plain_copy(rest["metadata"]) if "metadata" in rest else {}
    made.id = known.get("id", message.id)
    made.timestamp = known.get("timestamp") or _local(message.time)
    made.invocation_id = known.get("invocation_id")
    return made


def original_id(message: Message) -> str:
    """The id that the message had before the core gave it another one because its own was taken."""
    kept = message.metadata.get(MARK)
    return cast("dict[str, str]", kept).get("id", message.id) if isinstance(kept, dict) else message.id


# Writing


def _text_parts(content: object) -> tuple[Text, ...]:
    return (Text(content),) if isinstance(content, str) and content else ()


def _rest(message: Msg, role: Role) -> Iterator[tuple[str, Any]]:
    """What of the message, beside its content, does not come back from the core's fields alone."""
    if _as_id(message.name) is None:
        yield "name", message.name
    if role is Role.TOOL and message.role != "system":
        yield "role", message.role
    if message.metadata:
        yield "metadata", plain_copy(message.metadata)
    if message.invocation_id is not None:
        yield "invocation_id", message.invocation_id


def _rest_of_blocks(blocks: list[_Block], said: list[_Block], parts: tuple[Part, ...]) -> dict[str, Any]:
    """What of the blocks does not come back from the parts: that they are blocks, the thoughts, and keys of their own."""
    rest: dict[str, Any] = {"blocks": True}
    thoughts = [[place, plain_copy(block)] for place, block in enumerate(blocks) if block["type"] == "thinking"]
    if thoughts:
        rest["thinking"] = thoughts
    more = {str(place): kept for place, kept in enumerate(map(_more, said, parts)) if kept}
    return {**rest, "more": more} if more else rest


def _more(block: _Block, part: Part) -> dict[str, Any]:
    shown = _block(part)
    if isinstance(block.get("output"), str) and isinstance(part, ToolResult):
        shown["output"] = part.text
        changed = {key: value for key, value in block.items() if key not in shown or shown[key] != value}
        return {"type": block["type"], "as_text": True, "keys": plain_copy(changed)}
    changed = {key: value for key, value in block.items() if key not in shown or shown[key] != value}
    return {"type": block["type"], "keys": plain_copy(changed)} if changed else {}


def _part(block: _Block) -> Part:
    return _PARTS[block["type"]](block)


def _media(block: _Block) -> Part:
    make = _MEDIA[block["type"]]
    source = block["source"]
    if source["type"] == "url":
        return make(url=source["url"])
    try:
        data = from_base64(source["data"])
    except InvalidInput:
        return _opaque(block)
    return make(data=data, media_type=source["media_type"]) if to_base64(data) == source["data"] else _opaque(block)


def _opaque(block: _Block) -> Opaque:
    return Opaque(f"{_OURS}{block['type']}", plain_copy(block))


def _call(block: _Block) -> ToolCall:
    # The core wants an id and a name; that there was none is kept beside.
    return ToolCall(_as_id(block["id"]) or "call", _as_id(block["name"]) or "tool", plain_copy(block["input"]))


def _result(block: _Block) -> ToolResult:
    output = block["output"]
    held = _text_parts(output) if isinstance(output, str) else tuple(map(_inner, cast("list[_Block]", output)))
    return ToolResult(_as_id(block["id"]) or "call", held, _as_id(block["name"]))


def _inner(block: _Block) -> Text | Image | Audio | Video | Opaque:
    if block["type"] in ("text", *_MEDIA):
        part = cast("Text | Image | Audio | Video | Opaque", _part(block))
        if _block(part) == block:
            return part
    return _opaque(block)


_PARTS: Mapping[str, Callable[[_Block], Part]] = {
    "text": lambda block: Text(block["text"]),
    "image": _media,
    "audio": _media,
    "video": _media,
    "tool_use": _call,
    "tool_result": _result,
}


# Reading


def _content(message: Message, rest: dict[str, Any] | None) -> str | list[ContentBlock]:
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
    return cast("list[ContentBlock]", blocks)


def _put_back(blocks: list[_Block], place: int, kept: dict[str, Any]) -> None:
    """Give a block back the keys that its part has no field for, unless somebody has put another in its place since."""
    if place >= len(blocks) or blocks[place]["type"] != kept["type"]:
        return
    block = blocks[place]
    if kept.get("as_text") and isinstance(block.get("output"), list):
        block["output"] = "\n".join(inner.get("text", "") for inner in block["output"])
    block.update(plain_copy(kept["keys"]))


def _block(part: Part) -> _Block:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case ToolCall():
            return _tool_use(part)
        case ToolResult():
            held = [_block(inner) for inner in part.content]
            return {"type": "tool_result", "id": part.call_id, "output": held, "name": part.name or "tool"}
        case Opaque():
            return _own(part) or {"type": "text", "text": in_words(part)}
        case Image() | Audio() | Video():
            return _seen(part)


def _tool_use(part: ToolCall) -> _Block:
    if isinstance(part.arguments, str):
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": {}, "raw_input": part.arguments}
    return {"type": "tool_use", "id": part.id, "name": part.name, "input": plain_copy(part.arguments)}


def _own(part: Opaque) -> _Block | None:
    """The block that was kept as it came, if it is one of ours; another provider's is none that an agent knows."""
    if part.kind.startswith(_OURS):
        return plain_copy(part.data)
    try:
        return cast(_Block, check_block(plain_copy(part.data)))
    except InvalidInput:
        return None


def _seen(part: Media) -> _Block:
    kind = type(part).__name__.lower()
    if part.data is not None:
        source = {"type": "base64", "media_type": _media_type(part), "data": to_base64(part.data)}
        return {"type": kind, "source": source}
    if part.url is not None:
        return {"type": kind, "source": {"type": "url", "url": part.url}}
    return {"type": "text", "text": in_words(cast(Image, part))}


def _media_type(part: Media) -> str:
    return media_type(part) if part.media_type is None else part.media_type


def _speaker(message: Message) -> tuple[MsgRole, str]:
    """The role, and the name of one who has none."""
    if message.role in (Role.TOOL, Role.FUNCTION):
        named = (result.name for result in message.tool_results if result.name)
        return "system", next(named, "system")
    role = "assistant" if message.role is Role.VIEW else _SPEAKERS[speaker(message)]
    return role, message.chat_role or role


def _others(message: Message) -> dict[str, Any]:
    return {key: plain_copy(value) for key, value in message.metadata.items() if key != MARK}


def _as_id(value: str) -> str | None:
    return value if 0 < len(value) <= MAX_ID_LENGTH else None


def _moment(timestamp: str) -> datetime:
    try:
        # A time without a zone is the machine's own, as everywhere in these messages.
        return datetime.fromisoformat(timestamp).astimezone()
    except (ValueError, OverflowError, OSError):
        return now()


def _local(time: datetime) -> str:
    return time.astimezone().replace(tzinfo=None).isoformat(" ", "milliseconds")


__all__ = ["MARK", "from_core", "original_id", "to_core"]
