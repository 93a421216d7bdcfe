"""What every message has: its fields, checked and read off any class, its words, and the title it is shown under."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from memwell.errors import InvalidInput
from memwell.transcript.langchain import KINDS
from memwell.values import shown

Content: TypeAlias = str | list[str | dict[str, Any]]
"""What a message says: text, or a list of texts and blocks."""

_TITLE_WIDTH = 80


def as_content(value: Any) -> Content:
    """A content. Raises ``InvalidInput`` when it is neither text nor a list of texts and blocks."""
    if isinstance(value, str):
        # The text of a message is a kind of str that can be called, and a store takes none but the plain kind.
        return str(value)
    if isinstance(value, list | tuple):
        items = [str(one) if isinstance(one, str) else one for one in cast("Sequence[Any]", value)]
        if all(isinstance(one, str | dict) for one in items):
            return items
    raise InvalidInput(
        f"a message's content must be text or a list of texts and blocks, not {shown(cast(object, value))}"
    )


def as_mapping(value: Any, what: str) -> dict[str, Any]:
    """A shallow copy of a mapping. Raises ``InvalidInput`` when it is not one."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be a mapping, not {shown(value)}")
    return dict(cast("Mapping[str, Any]", value))


def as_list(value: Any, what: str) -> list[Any]:
    """A shallow copy of a list. Raises ``InvalidInput`` when it is not one."""
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"{what} must be a list, not {shown(value)}")
    return list(cast("Sequence[Any]", value))


def from_number(value: Any) -> Any:
    """A number as text; anything else as it is."""
    return str(value) if isinstance(value, int | float) else value


def text_or_none(value: Any, what: str) -> str | None:
    """Text, or nothing. Raises ``InvalidInput`` for anything else."""
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"a message's {what} must be text, not {shown(value)}")
    return value


def copied(value: Any) -> Any:
    """A deep copy; of plain data in a tenth of the time the general way takes."""
    kind = cast("type[Any]", type(value))
    if kind is str or value is None or kind is int or kind is bool or kind is float:
        return value
    if kind is dict:
        return {key: copied(item) for key, item in value.items()}
    if kind is list:
        return [copied(item) for item in value]
    return copy.deepcopy(value)


def titled(text: str, *, bold: bool) -> str:
    """A title in the middle of a line of equal signs."""
    padded = f" {text} "
    rule = "=" * ((_TITLE_WIDTH - len(padded)) // 2)
    second = f"{rule}=" if len(padded) % 2 else rule
    # The two sequences switch a terminal to bold letters and back.
    return rule + (f"\033[1m{padded}\033[0m" if bold else padded) + second


def is_message(value: object) -> bool:
    """Whether ``value`` is a message, ours or LangChain's own."""
    return isinstance(getattr(value, "type", None), str) and hasattr(value, "content") and hasattr(value, "model_dump")


def kind_of(message: Any) -> str | None:
    """What a message is, piece or whole: ``human``, ``ai``, ``system``, ``tool``, ``function``, ``chat`` or ``remove``.

    None for a type that is none of LangChain's.
    """
    return KINDS.get(message.type)


def fields_of(message: Any) -> dict[str, Any]:
    """The fields of a message, ours or LangChain's own, by name. Raises ``InvalidInput`` for what is no message."""
    if not is_message(message):
        raise InvalidInput(f"expected a message such as HumanMessage, not {shown(message)}")
    return cast("dict[str, Any]", message.model_dump())


def text_of(content: Content) -> str:
    """The words of a content."""
    if isinstance(content, str):
        return content
    return "".join(map(_block_text, content))


def _block_text(block: str | dict[str, Any]) -> str:
    if isinstance(block, str):
        return block
    text = block.get("text") if block.get("type") == "text" else None
    return text if isinstance(text, str) else ""


__all__ = [
    "Content",
    "as_content",
    "as_list",
    "as_mapping",
    "copied",
    "fields_of",
    "from_number",
    "is_message",
    "kind_of",
    "text_of",
    "text_or_none",
    "titled",
]
