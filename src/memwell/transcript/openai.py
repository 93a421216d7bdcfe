"""Messages in the shape of OpenAI's Chat Completions, which most servers speak, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from memwell.errors import InvalidInput
from memwell.messages import Audio, Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, check_message
from memwell.transcript.text import (
    Shape,
    arguments_text,
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
    own_role,
    plain_object,
    shortest,
    speaker,
    string,
    to_base64,
)
from memwell.values import check_json, shown

_ROLES: Final = {
    "user": Role.HUMAN,
    "assistant": Role.AI,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.FUNCTION,
}
_SIDES: Final = {Role.HUMAN: "user", Role.AI: "assistant", Role.SYSTEM: "system"}
_FORMATS: Final = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/x-wav": "wav", "audio/wave": "wav"}

# Besides content, a message may have fields of its own (a refusal, an audio id, a server's reasoning) and calls of other
# kinds than functions. They are kept as opaque parts of these kinds, followed by the name of the field or the kind.
_FIELD: Final = "openai-field."
_CALL: Final = "openai-call."
_KNOWN_FIELDS: Final = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "function_call"})
# The retired function_call has no id: a call and its result are paired by one made of the function's name.
_FUNCTION_ID: Final = "function_call_"


def to_openai(messages: Iterable[Message]) -> list[Shape]:
    """The messages that models may see, as Chat Completions takes them.

    A message with several tool results becomes as many ``tool`` messages, each under the id of its own call, and what
    else it holds another message; a ``tool`` message without any result goes under the message's own id. Media
    given only by blob, and kinds the shape lacks, go as words. Raises ``InvalidInput`` for what no store would keep.
    """
    return [shape for item in outgoing(messages) for shape in _shapes(item)]


def _shapes(item: Message) -> list[Shape]:
    results = [_result(result, result.name or item.name) for result in item.tool_results]
    rest = [part for part in item.parts if not isinstance(part, ToolResult) and not _is_foreign(part)]
    if not results and item.role is Role.TOOL:
        return [{"role": "tool", "tool_call_id": item.id, "content": _content(rest), **_named(item.name)}]
    if not results and item.role is Role.FUNCTION:
        return [{"role": "function", "name": item.name or "function", "content": _content(rest)}]
    spoken = [_spoken(item, rest)] if rest or not results else []
    # A result comes right after the call it answers: before a user's words, after an assistant's.
    return [*spoken, *results] if speaker(item) is Role.AI else [*results, *spoken]


def _result(result: ToolResult, name: str | None) -> Shape:
    content = _content(result.content)
    if name and result.call_id == _FUNCTION_ID + name:
        return {"role": "function", "name": name, "content": content}
    return {"role": "tool", "tool_call_id": result.call_id, "content": content, **_named(name)}


def _spoken(item: Message, parts: Sequence[Part]) -> Shape:
    side = speaker(item)
    calls = [part for part in parts if side is Role.AI and _is_call(part)]
    content = _content([part for part in parts if not (side is Role.AI and _is_call(part))])
    shape: Shape = {}
    for part in parts:
        if isinstance(part, Opaque) and part.kind.startswith(_FIELD):
            shape.update(fresh(part.data))
    is_developer = side is Role.SYSTEM and item.chat_role == "developer"
    shape["role"] = "developer" if is_developer else _SIDES[side]
    shape["content"] = None if calls and not content else content
    return {**shape, **_named(item.name or own_role(item)), **_called(calls)}


def _is_foreign(part: Part) -> bool:
    return isinstance(part, Opaque) and is_foreign(part, "openai")


def _named(name: str | None) -> Shape:
    return {"name": name} if name else {}


def _is_call(part: Part) -> bool:
    return isinstance(part, ToolCall) or (isinstance(part, Opaque) and part.kind.startswith(_CALL))


def _called(calls: Sequence[Part]) -> Shape:
    shapes: list[Shape] = []
    for call in calls:
        if isinstance(call, ToolCall):
            function = {"name": call.name, "arguments": arguments_text(call)}
            if len(calls) == 1 and call.id == _FUNCTION_ID + call.name:
                return {"function_call": function}
            shapes.append({"id": call.id, "type": "function", "function": function})
        elif isinstance(call, Opaque):
            shapes.append(fresh(call.data))
    return {"tool_calls": shapes} if shapes else {}


def _content(parts: Iterable[Part]) -> str | list[Shape]:
    shapes = [shape for shape in map(_part_shape, parts) if shape is not None]
    return shortest(shapes) if shapes else ""


def _part_shape(part: Part) -> Shape | None:
    if isinstance(part, Opaque):
        is_content = not part.kind.startswith((_FIELD, _CALL)) and not _is_foreign(part)
        return fresh(part.data) if is_content else None
    if isinstance(part, Image) and (part.data is not None or part.url):
        url = part.url if part.data is None else f"data:{media_type(part)};base64,{to_base64(part.data)}"
        return {"type": "image_url", "image_url": {**fresh(part.options), "url": url}}
    if isinstance(part, Audio) and part.data is not None:
        sound = {"data": to_base64(part.data), "format": _audio_format(media_type(part))}
        return {"type": "input_audio", "input_audio": {**fresh(part.options), **sound}}
    words = in_words(part)
    return {"type": "text", "text": words} if words else None


def _audio_format(kind: str) -> str:
    return _FORMATS.get(kind) or kind.rpartition("/")[2]


def from_openai(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """The messages of a Chat Completions list, each with an id and a time of its own. A developer is a system.

    A call's arguments become a dict when they are a JSON object that a store can keep, and stay text otherwise. Raises
    ``InvalidInput`` naming the place, the value and the rule.
    """
    return each(messages, "messages", lambda item: [check_message(_message(mapping(item, "a message")))])


def _message(shape: Shape) -> Message:
    role = shape.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise InvalidInput(f"unknown role {shown(role)}; known roles: {', '.join(_ROLES)}")
    name = shape.get("name") or None
    parts = _parts(shape.get("content"))
    if role == "tool":
        return Message(Role.TOOL, (ToolResult(string(shape, "tool_call_id"), parts, name),), name)
    if role == "function":
        name = string(shape, "name")
        return Message(Role.FUNCTION, (ToolResult(_FUNCTION_ID + name, parts, name),), name)
    own_name = "developer" if role == "developer" else None
    return Message(_ROLES[role], (*parts, *_calls(shape), *_fields(shape)), name, chat_role=own_name)


def _parts(content: object) -> tuple[Text | Image | Audio | Opaque, ...]:
    if content is None or isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(each(content, "content", lambda part: [_part(mapping(part, "a part"))]))


def _part(shape: Shape) -> Text | Image | Audio | Opaque:
    kind = string(shape, "type")
    if kind == "text":
        return Text(string(shape, "text"))
    if kind == "image_url":
        # Some servers take and give the bare address.
        given = shape.get("image_url")
        source = {"url": given} if isinstance(given, str) else mapping(given, "image_url")
        return image_at(string(source, "url"), _without(source, "url"))
    if kind == "input_audio":
        source = mapping(shape.get("input_audio"), "input_audio")
        sound = string(source, "format")
        declared = "audio/mpeg" if sound == "mp3" else f"audio/{sound}"
        options = _without(source, "data", "format")
        return Audio(data=from_base64(string(source, "data")), media_type=declared, options=options)
    return Opaque(f"openai.{kind}", plain_object(shape, "a part"))


def _without(source: Shape, *known: str) -> Shape:
    return plain_object({key: value for key, value in source.items() if key not in known}, "options")


def _calls(shape: Shape) -> list[ToolCall | Opaque]:
    calls = each(shape.get("tool_calls") or (), "tool_calls", lambda call: [_call(mapping(call, "a tool call"))])
    if shape.get("function_call"):
        function = mapping(shape["function_call"], "function_call")
        name = string(function, "name")
        calls.append(ToolCall(_FUNCTION_ID + name, name, _arguments(function.get("arguments"))))
    return calls


def _call(shape: Shape) -> ToolCall | Opaque:
    kind = shape.get("type", "function")
    if kind != "function":
        return Opaque(f"{_CALL}{kind}", plain_object(shape, "a tool call"))
    function = mapping(shape.get("function"), "function")
    return ToolCall(string(shape, "id"), string(function, "name"), _arguments(function.get("arguments")))


def _arguments(value: object) -> Shape | str:
    if value is None:
        return {}
    if not isinstance(value, str):
        # Some servers give the object itself.
        return plain_object(value, "arguments")
    found = json_object(value)
    try:
        check_json(found, "arguments")
    except InvalidInput:
        # JSON can say what no store keeps, such as an integer of 100 digits. The text it came in can be kept.
        return value
    return value if found is None else found


def _fields(shape: Shape) -> list[Opaque]:
    given = {key: value for key, value in shape.items() if key not in _KNOWN_FIELDS and value not in (None, [], {})}
    return [Opaque(f"{_FIELD}{key}", plain_object({key: value}, "a message")) for key, value in given.items()]
