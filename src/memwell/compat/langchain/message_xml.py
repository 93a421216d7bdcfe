"""A message as XML, the form ``get_buffer_string`` gives with ``format="xml"``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast
from xml.sax.saxutils import escape, quoteattr

_SHOWN = 500
_SHOWN_ID = 64


def xml_of(message: Any, kind: str, *, calls: bool) -> str:
    """The message as an element; with ``calls`` those of a model are inside it, beside the content."""
    content = " ".join(_content(message.content))
    called = list(_calls(message)) if calls else []
    if not called:
        return f"<message type={quoteattr(kind)}>{content}</message>"
    said = [f"  <content>{content}</content>"] if content else []
    return "\n".join([f"<message type={quoteattr(kind)}>", *said, *called, "</message>"])


def _calls(message: Any) -> Iterator[str]:
    calls = getattr(message, "tool_calls", None)
    for call in calls or ():
        name, id_ = quoteattr(str(call.get("name") or "")), quoteattr(_cut(call.get("id") or "", _SHOWN_ID))
        yield f"  <tool_call id={id_} name={name}>{escape(_json(call.get('args', {})))}</tool_call>"
    if not calls and "function_call" in message.additional_kwargs:
        call = message.additional_kwargs["function_call"]
        name, arguments = quoteattr(str(call.get("name") or "")), escape(str(call.get("arguments") or "{}"))
        yield f"  <function_call name={name}>{arguments}</function_call>"


def _content(content: str | list[str | dict[str, Any]]) -> Iterator[str]:
    for block in [content] if isinstance(content, str) else content:
        written = escape(block) if isinstance(block, str) else _block(block)
        if written:
            yield written


def _block(block: Mapping[str, Any]) -> str:
    """The block, or nothing for one that is bytes or of a kind that has no words and no address."""
    if _is_encoded(block):
        return ""
    match block:
        case {"type": "text", "text": str(text)}:
            return escape(text)
        case {"type": "text-plain", "text": str(text)}:
            return escape(_cut(text, _SHOWN))
        case {"type": "reasoning", "reasoning": str(text)} if text:
            return f"<reasoning>{escape(text)}</reasoning>"
        case {"type": "image" | "audio" | "video" as kind}:
            return _media(kind, block)
        case {"type": "image_url", "image_url": {"url": str(url)}} if url:
            return f"<image url={quoteattr(url)} />"
        case {"type": "server_tool_call"}:
            return _server_call(block)
        case {"type": "server_tool_result"}:
            return _server_result(block)
        case _:
            return ""


def _is_encoded(block: Mapping[str, Any]) -> bool:
    if block.get("base64") or str(block.get("url") or "").startswith("data:"):
        return True
    inner = block.get("image_url")
    url = cast("Mapping[str, Any]", inner).get("url") if isinstance(inner, Mapping) else None
    return isinstance(url, str) and url.startswith("data:")


def _media(kind: str, block: Mapping[str, Any]) -> str:
    for place in ("url", "file_id"):
        if block.get(place):
            return f"<{kind} {place}={quoteattr(block[place])} />"
    return ""


def _server_call(block: Mapping[str, Any]) -> str:
    id_, name = quoteattr(str(block.get("id") or "")), quoteattr(str(block.get("name") or ""))
    arguments = escape(_cut(_json(block.get("args", {})), _SHOWN))
    return f"<server_tool_call id={id_} name={name}>{arguments}</server_tool_call>"


def _server_result(block: Mapping[str, Any]) -> str:
    call, status = quoteattr(str(block.get("tool_call_id") or "")), quoteattr(str(block.get("status") or ""))
    output = escape(_cut(_json(block["output"]), _SHOWN)) if block.get("output") else ""
    return f"<server_tool_result tool_call_id={call} status={status}>{output}</server_tool_result>"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


__all__ = ["xml_of"]
