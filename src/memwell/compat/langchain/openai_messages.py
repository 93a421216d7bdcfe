"""Messages in the form of OpenAI's API, whichever provider's blocks they are made of."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, cast

from memwell.compat.langchain.message_tools import convert_to_messages
from memwell.compat.langchain.messages import ToolMessage, is_message, kind_of
from memwell.errors import InvalidInput

_ROLES = {"ai": "assistant", "human": "user", "tool": "tool", "function": "function"}


def openai_role(message: Any) -> str:
    """What OpenAI calls the speaker. Raises ``InvalidInput`` for a message that nobody speaks."""
    kind = kind_of(message)
    if kind == "system":
        return message.additional_kwargs.get("__openai_role__", "system")
    if kind == "chat":
        return message.role
    if kind not in _ROLES:
        raise InvalidInput(f"Unknown BaseMessage type {type(message)}.")
    return _ROLES[kind]


def convert_to_openai_messages(
    messages: Any,
    *,
    text_format: Literal["string", "block"] = "string",
    include_id: bool = False,
    pass_through_unknown_blocks: bool = True,
) -> Any:
    """The messages, or the one message, as OpenAI's API takes them.

    Blocks of OpenAI, Anthropic, Bedrock and Vertex are understood; one that is not is passed on, or raises
    ``InvalidInput`` (a ``ValueError``) naming its place.
    """
    if text_format not in ("string", "block"):
        raise InvalidInput(f"Unrecognized {text_format=}, expected one of 'string' or 'block'.")
    single = is_message(messages) or isinstance(messages, dict | str)
    found: list[dict[str, Any]] = []
    for place, message in enumerate(convert_to_messages([messages] if single else messages)):
        writer = _Writer(message, place, text_format, pass_through_unknown_blocks)
        found += writer.written(include_id=include_id)
    return found[0] if single else found


class _Writer:
    """One message on its way into OpenAI's form: its shape, and the tool results that follow it."""

    def __init__(self, message: Any, place: int, text_format: Literal["string", "block"], lenient: bool) -> None:
        self._message = message
        self._place = place
        self._format: Literal["string", "block"] = text_format
        self._lenient = lenient
        self._calls: list[dict[str, Any]] = []
        self._results: list[dict[str, Any]] = []

    def written(self, *, include_id: bool) -> list[dict[str, Any]]:
        """The message, and what it held of tools' answers as messages of their own."""
        message = self._message
        shape: dict[str, Any] = {"role": openai_role(message)}
        if message.name:
            shape["name"] = message.name
        self._calls = [_called(call["id"], call["name"], call["args"]) for call in self._known_calls()]
        content = self._content()
        if self._calls:
            shape["tool_calls"] = self._calls
        if message.additional_kwargs.get("refusal"):
            shape["refusal"] = message.additional_kwargs["refusal"]
        if kind_of(message) == "tool":
            shape["tool_call_id"] = message.tool_call_id
        if include_id and message.id:
            shape["id"] = message.id
        shape["content"] = content
        return self._results if message.content and not content and self._results else [shape, *self._results]

    def _known_calls(self) -> list[dict[str, Any]]:
        return getattr(self._message, "tool_calls", []) if kind_of(self._message) == "ai" else []

    def _content(self) -> str | list[dict[str, Any]]:
        content = self._message.content
        if not content:
            return "" if self._format == "string" else []
        if isinstance(content, str):
            return content if self._format == "string" else [_text(content)]
        blocks: list[dict[str, Any]] = []
        for number, block in enumerate(cast("Sequence[Any]", content)):
            blocks += [_text(block)] if isinstance(block, str) else self._block(number, block)
        if self._format == "string" and all(block["type"] == "text" for block in blocks):
            return "\n".join(block["text"] for block in blocks)
        return blocks

    def _block(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        kind = block.get("type")
        handler = _HANDLERS.get(cast(str, kind)) or next((_BY_KEY[key] for key in _BY_KEY if key in block), None)
        written = None if handler is None else handler(self, number, block)
        if written is not None:
            return written
        if kind in ("thinking", "reasoning") or self._lenient:
            return [dict(block)]
        raise self._wrong(
            number, block, "does not match OpenAI, Anthropic, Bedrock Converse, or VertexAI format", punctuate=True
        )

    def _need(self, number: int, block: Mapping[str, Any], *keys: str) -> None:
        missing = [key for key in keys if key not in block]
        if missing:
            reason = f"has 'type': {block.get('type')!r} but is missing expected key(s) {missing}"
            raise self._wrong(number, block, reason, punctuate=True)

    def _wrong(self, number: int, block: Mapping[str, Any], reason: str, *, punctuate: bool) -> InvalidInput:
        place = f"messages[{self._place}].content[{number}]"
        return InvalidInput(
            f"Unrecognized content block at {place} {reason}{'.' if punctuate else ''} Full content block:\n\n{block}"
        )

    # The kinds of blocks: each gives what takes the block's place, or None when it is not of that kind after all.

    def text(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Text."""
        self._need(number, block, "text")
        return [_text(block["text"])]

    def image_url(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """OpenAI's image."""
        self._need(number, block, "image_url")
        return [{"type": "image_url", "image_url": block["image_url"]}]

    def image(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """An image of LangChain's standard form, of Anthropic's or of Bedrock's."""
        match block:
            case {"url": str(url)}:
                return [_image(url)]
            case {"base64": data, "mime_type": kind} | {"source_type": "base64", "data": data, "mime_type": kind}:
                return [_image(f"data:{kind};base64,{data}")]
            case {"source": {"media_type": kind, "type": form, "data": data}}:
                return [_image(f"data:{kind};{form},{data}")]
            case {"image": {"source": {"bytes": bytes(data)}, "format": form}}:
                return [_image(f"data:image/{form};base64,{base64.b64encode(data).decode()}")]
            case _:
                reason = "has 'type': 'image' but does not have a 'source' or 'image' key"
                raise self._wrong(number, block, reason, punctuate=True)

    def media(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Vertex's media, of which OpenAI takes images."""
        self._need(number, block, "mime_type", "data")
        if "image" not in block["mime_type"]:
            raise InvalidInput(
                "OpenAI messages can only support text and image data. Received content block with media of type: "
                f"{block['mime_type']}"
            )
        return [_image(f"data:{block['mime_type']};base64,{base64.b64encode(block['data']).decode()}")]

    def file(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """A file, of OpenAI's form or LangChain's standard one."""
        match block:
            case {"file": {"file_data": str(), **more}}:
                name = more.get("filename") or "LC_AUTOGENERATED"
                return [{**block, "file": {**block["file"], "filename": name}}]
            case {"base64": data, "mime_type": kind}:
                extras: Mapping[str, Any] = block.get("extras") or {}
                name = block.get("filename") or extras.get("filename") or "LC_AUTOGENERATED"
                return [{"type": "file", "file": {"file_data": f"data:{kind};base64,{data}", "filename": name}}]
            case {"file_id": id_}:
                return [{"type": "file", "file": {"file_id": id_, "filename": "LC_AUTOGENERATED"}}]
            case _:
                return None

    def audio(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """A recording, of OpenAI's form or LangChain's standard one."""
        match block:
            case {"input_audio": {"data": str(), "format": str()}}:
                return [dict(block)]
            case {"base64": data, "mime_type": str(kind)}:
                return [{"type": "input_audio", "input_audio": {"data": data, "format": kind.rpartition("/")[2]}}]
            case _:
                return None

    def tool_use(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Anthropic's tool call, unless the message names it already."""
        self._need(number, block, "id", "name", "input")
        if not any(call["id"] == block["id"] for call in self._known_calls()):
            self._calls.append(_called(block["id"], block["name"], block["input"]))
        return []

    def function_call(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The tool call of OpenAI's other API, unless the message names it already."""
        if not any(call["id"] == block.get("call_id") for call in self._known_calls()):
            self._need(number, block, "call_id", "name", "arguments")
            function = {"name": block["name"], "arguments": block["arguments"]}
            self._calls.append({"type": "function", "id": block["call_id"], "function": function})
        return [dict(block)] if self._lenient else []

    def tool_result(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Anthropic's tool result, which becomes a message of its own."""
        self._need(number, block, "content", "tool_use_id")
        status = "error" if block.get("is_error") else "success"
        result = ToolMessage(block["content"], tool_call_id=block["tool_use_id"], status=status)
        self._results += convert_to_openai_messages([result], text_format=self._format)
        return []

    def json(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Bedrock's data."""
        self._need(number, block, "json")
        return [_text(json.dumps(block["json"]))]

    def guard_content(self, number: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Bedrock's guarded text."""
        match block:
            case {"guard_content": {"text": {"text": str(text)}}} | {"guard_content": {"text": str(text)}}:
                return [_text(text)]
            case _:
                reason = "has 'type': 'guard_content' but no text in it"
                raise self._wrong(number, block, reason, punctuate=True)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def _called(id_: Any, name: str, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    return {"type": "function", "id": id_, "function": function}


_HANDLERS: dict[str, Callable[[_Writer, int, Mapping[str, Any]], list[dict[str, Any]] | None]] = {
    "text": _Writer.text,
    "image_url": _Writer.image_url,
    "image": _Writer.image,
    "media": _Writer.media,
    "file": _Writer.file,
    "audio": _Writer.audio,
    "input_audio": _Writer.audio,
    "tool_use": _Writer.tool_use,
    "function_call": _Writer.function_call,
    "tool_result": _Writer.tool_result,
    "json": _Writer.json,
    "guard_content": _Writer.guard_content,
}
# Bedrock's blocks are told by a key, not by a type.
_BY_KEY = {key: _HANDLERS[key] for key in ("image", "json", "guard_content")}

__all__ = ["convert_to_openai_messages", "openai_role"]
