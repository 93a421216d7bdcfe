"""A message of the core as the line that a buffer shows of it."""

from __future__ import annotations

from collections.abc import Iterable

from memwell.compat.langchain.messages import from_core, get_buffer_string
from memwell.messages import Message, Role, Text

_SYSTEM = "System"


def line_of(message: Message, human_prefix: str = "Human", ai_prefix: str = "AI") -> str:
    """What ``get_buffer_string`` shows of a message."""
    # Nearly all messages are plain text, and making one of LangChain's classes only to read it costs ten times as much.
    if not message.metadata and len(message.parts) == 1 and type(message.parts[0]) is Text:
        text = message.parts[0].text
        if message.role is Role.HUMAN:
            return f"{human_prefix}: {text}"
        if message.role is Role.AI:
            return f"{ai_prefix}: {text}"
        if message.role is Role.SYSTEM:
            return f"{_SYSTEM}: {text}"
    return get_buffer_string([from_core(message)], human_prefix=human_prefix, ai_prefix=ai_prefix)


def as_text(messages: Iterable[Message], human_prefix: str, ai_prefix: str) -> str:
    """What ``get_buffer_string`` shows of messages."""
    return "\n".join(line_of(message, human_prefix, ai_prefix) for message in messages)


__all__ = ["as_text", "line_of"]
