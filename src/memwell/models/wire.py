"""OpenAI's API as it goes over the wire: what is asked, and what is made of what comes back.

Nothing a server says is trusted. Whatever is missing, of a wrong type or cut off is a ``BadModelOutput`` with a short
excerpt, and never an error of another kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from memwell.errors import BadModelOutput, InvalidInput
from memwell.messages import Message, ToolCall
from memwell.models.ports import ChatOptions, Tool, Usage
from memwell.transcript import from_openai, to_openai
from memwell.values import check_json, shown

Shape = dict[str, Any]
_MOST_CALLS = 1024
_decode = msgspec.json.Decoder().decode


class Answer(NamedTuple):
    """What a server answered, read and checked."""

    message: Message
    finish: str
    usage: Usage | None
    model: str | None
    data: Any


def chat_body(model: str, messages: Sequence[Message], options: ChatOptions, *, stream: bool) -> Shape:
    """The body of a request. Raises ``InvalidInput`` for messages or options that break a rule."""
    body: Shape = {"model": model, "messages": to_openai(messages)}
    if not body["messages"]:
        raise InvalidInput("a chat model needs at least one message that models may see")
    for key in ("max_tokens", "temperature"):
        if options.get(key) is not None:
            body[key] = options.get(key)
    if options.get("stop"):
        body["stop"] = list(options.get("stop") or ())
    if options.get("tools"):
        body["tools"] = [_tool(one) for one in options.get("tools") or ()]
    schema = options.get("schema")
    if schema is not None:
        form = {"name": str(schema.get("title") or "answer"), "schema": dict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    check_json(body, "a request")
    return body


def _tool(tool: Tool) -> Shape:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": parameters},
    }


def read_completion(data: bytes, *, wants_json: bool) -> Answer:
    """The answer in a body. Raises ``BadModelOutput`` saying what is wrong with it."""
    body = json_object(data)
    choice = _first_choice(body)
    shape = choice.get("message")
    if not isinstance(shape, dict):
        raise BadModelOutput("the answer has no message")
    return _answer(cast(Shape, shape), choice, body, wants_json=wants_json)


def json_object(data: bytes | str) -> Shape:
    """The JSON object in a body. Raises ``BadModelOutput`` when it is none."""
    try:
        body = _decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise BadModelOutput("the answer is not JSON") from None
    if not isinstance(body, dict):
        raise BadModelOutput("the answer is not a JSON object")
    return cast(Shape, body)


def _first_choice(body: Shape) -> Shape:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise BadModelOutput("the answer has no choices")
    first = cast("list[object]", choices)[0]
    if not isinstance(first, dict):
        raise BadModelOutput(f"the first choice is no object: {shown(first)}")
    return cast(Shape, first)


def _answer(shape: Shape, choice: Shape, body: Shape, *, wants_json: bool) -> Answer:
    try:
        (message,) = from_openai([{**shape, "role": "assistant"}])
    except (InvalidInput, AttributeError, TypeError, ValueError) as error:
        raise BadModelOutput(f"the message is malformed: {error}") from error
    for call in message.tool_calls:
        _check_call(call)
    finish, model = choice.get("finish_reason"), body.get("model")
    return Answer(
        message,
        finish if isinstance(finish, str) else "stop",
        read_usage(body.get("usage")),
        model if isinstance(model, str) else None,
        _data(message) if wants_json and not message.tool_calls else None,
    )


def _check_call(call: ToolCall) -> None:
    if isinstance(call.arguments, str):
        raise BadModelOutput(f"the arguments of the call of {call.name!r} are no JSON object: {shown(call.arguments)}")


def _data(message: Message) -> Any:
    try:
        return _decode(message.text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise BadModelOutput(f"the answer was to be JSON, and is not: {shown(message.text)}") from None


def read_usage(value: object) -> Usage | None:
    """The counts of tokens, when they are there and make sense."""
    if not isinstance(value, dict):
        return None
    counts = [cast(Shape, value).get(key, 0) for key in ("prompt_tokens", "completion_tokens")]
    if not all(type(count) is int and 0 <= count < 2**53 for count in counts):
        return None
    return Usage(*counts)


class StreamedAnswer:
    """An answer put together from the events of a stream."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, Shape] = {}
        self._finish: str | None = None
        self._usage: object = None
        self._model: object = None
        self._done = False

    def texts(self, lines: Iterable[str]) -> Iterator[str]:
        """The pieces of text in the lines of the stream, as they come."""
        for line in lines:
            if not line.startswith("data:"):
                continue
            event = line[5:].strip()
            if event == "[DONE]":
                self._done = True
                return
            yield from self._take(json_object(event))

    def _take(self, event: Shape) -> Iterator[str]:
        if event.get("error"):
            raise BadModelOutput(f"the stream ended with an error: {shown(event['error'])}")
        self._usage = event.get("usage") or self._usage
        self._model = event.get("model") or self._model
        if not event.get("choices"):
            return
        choice = _first_choice(event)
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"]
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return
        yield from self._take_delta(cast(Shape, delta))

    def _take_delta(self, delta: Shape) -> Iterator[str]:
        text = delta.get("content")
        if text is not None and not isinstance(text, str):
            raise BadModelOutput(f"a piece of the stream is no text: {shown(text)}")
        if text:
            self._text.append(text)
            yield text
        calls: object = delta.get("tool_calls") or []
        if not isinstance(calls, list):
            raise BadModelOutput(f"the calls of a stream are no list: {shown(calls)}")
        for call in cast("list[object]", calls):
            self._take_call(call)

    def _take_call(self, call: object) -> None:
        shape = cast(Shape, call) if isinstance(call, dict) else {}
        index, function = shape.get("index", 0), shape.get("function")
        if type(index) is not int or not 0 <= index < _MOST_CALLS or not isinstance(function, dict):
            raise BadModelOutput(f"a call of the stream is malformed: {shown(cast(object, call))}")
        known = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        parts = {"id": shape.get("id"), **cast(Shape, function)}
        for key in ("id", "name", "arguments"):
            part = parts.get(key)
            if part is not None and not isinstance(part, str):
                raise BadModelOutput(f"a call of the stream is malformed: {shown(cast(object, call))}")
            # An id and a name come whole, and some servers repeat them.
            known[key] = known[key] + (part or "") if key == "arguments" else (known[key] or part or "")

    def answer(self, *, wants_json: bool) -> Answer:
        """The whole, once the stream has ended. Raises ``BadModelOutput`` when it ended too early."""
        if not self._done and self._finish is None:
            raise BadModelOutput("the stream was cut off")
        calls = [
            {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": one["arguments"]}}
            for _, one in sorted(self._calls.items())
        ]
        shape: Shape = {"content": "".join(self._text), **({"tool_calls": calls} if calls else {})}
        body = {"usage": self._usage, "model": self._model}
        return _answer(shape, {"finish_reason": self._finish}, body, wants_json=wants_json)


def read_embeddings(data: bytes, count: int) -> tuple[list[list[float]], Usage | None]:
    """The vectors in a body, in the order of the texts. Raises ``BadModelOutput`` for missing or malformed ones."""
    body = json_object(data)
    items = body.get("data")
    if not isinstance(items, list) or len(cast("list[object]", items)) != count:
        found = len(cast("list[object]", items)) if isinstance(items, list) else "no"
        raise BadModelOutput(f"{found} vectors came for {count} texts")
    rows: dict[int, list[float]] = {}
    for place, item in enumerate(cast("list[object]", items)):
        shape: Mapping[str, Any] = cast(Shape, item) if isinstance(item, dict) else {}
        index, row = shape.get("index", place), shape.get("embedding")
        if type(index) is not int or not _is_vector(row):
            raise BadModelOutput(f"a vector is malformed: {shown(cast(object, item))}")
        rows[index] = cast("list[float]", row)
    if rows.keys() != set(range(count)):
        raise BadModelOutput(f"the vectors of {count} texts are numbered {shown(sorted(rows))}")
    return [rows[index] for index in range(count)], read_usage(body.get("usage"))


def _is_vector(row: object) -> bool:
    if not isinstance(row, list):
        return False
    numbers = cast("list[object]", row)
    return all(type(one) in (int, float) and math.isfinite(cast(float, one)) for one in numbers)


__all__ = [
    "Answer",
    "StreamedAnswer",
    "chat_body",
    "json_object",
    "read_completion",
    "read_embeddings",
    "read_usage",
]
