"""The four kinds of messages of a conversation."""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, cast

from memwell.compat.dbgpt.media import MediaContent, MessageContent, as_content, plain_content
from memwell.errors import InvalidInput
from memwell.values import check_count, shown


@dataclass
class BaseMessage(ABC):
    """A message: what it says, its place in the conversation and the round it belongs to.

    Raises ``InvalidInput`` for a content that is neither text nor a list of pieces, and for places that are no counts.
    """

    content: MessageContent
    index: int = 0
    round_index: int = 0
    additional_kwargs: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.content = as_content(self.content)
        check_count(self.index, "a message's index")
        check_count(self.round_index, "a message's round_index")
        if not isinstance(self.additional_kwargs, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a message's additional_kwargs must be a dict, not {shown(self.additional_kwargs)}")

    @property
    @abstractmethod
    def type(self) -> str:
        """What kind of message it is: ``human``, ``ai``, ``system`` or ``view``."""

    @property
    def pass_to_model(self) -> bool:
        """Whether a model gets to see it."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """The message as plain data; ``message_from_dict`` makes it again."""
        values = {name: getattr(self, name) for name in _field_names(type(self))}
        values["content"] = plain_content(self.content)
        values["additional_kwargs"] = _copied(self.additional_kwargs)
        return {"type": self.type, "data": values, "index": self.index, "round_index": self.round_index}

    def copy(self) -> Self:
        """A message like this one that shares nothing with it."""
        return copy.deepcopy(self)

    @staticmethod
    def messages_to_string(messages: Iterable[BaseMessage]) -> str:
        """The messages as lines of text, each with who said it; view messages are left out."""
        prefixes = {"human": "Human", "ai": "AI", "system": "System"}
        return "\n".join(f"{prefixes[one.type]}: {one.content}" for one in messages if one.type in prefixes)

    @classmethod
    def parse_chat_completion_message(
        cls, message: Any, role: str = "human", ignore_unknown_media: bool = False
    ) -> BaseMessage:
        """The message that a text, or a message in OpenAI's shape, is.

        Raises ``InvalidInput`` for an empty one, for an unknown role and for pieces of unknown type, unless those are to be
        left out.
        """
        if not message:
            raise InvalidInput("The message is empty")
        if isinstance(message, str):
            return message_class(role)(message)
        return message_class(role)(MediaContent.parse_chat_completion_message(message, ignore_unknown_media))

    @property
    def last_text(self) -> str:
        """The text, or the last one of the pieces. Raises ``InvalidInput`` when there is none."""
        return self.content if isinstance(self.content, str) else MediaContent.last_text(self.content)

    def get_view_markdown_text(self, replace_url_func: Callable[[str], str]) -> str:
        """The content as Markdown for a person; ``replace_url_func`` turns addresses into ones a browser can open."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(_markdown(one, replace_url_func) for one in self.content)

    @property
    def has_media(self) -> bool:
        """Whether the content is made of pieces."""
        return isinstance(self.content, list) and bool(self.content)


@dataclass
class HumanMessage(BaseMessage):
    """What a person said."""

    example: bool = False

    @property
    def type(self) -> str:
        """``human``."""
        return "human"


@dataclass
class AIMessage(BaseMessage):
    """What a model said."""

    example: bool = False

    @property
    def type(self) -> str:
        """``ai``."""
        return "ai"


@dataclass
class ViewMessage(BaseMessage):
    """What is shown to people and never passed to a model."""

    example: bool = False

    @property
    def type(self) -> str:
        """``view``."""
        return "view"

    @property
    def pass_to_model(self) -> bool:
        """Never."""
        return False


@dataclass
class SystemMessage(BaseMessage):
    """An instruction."""

    @property
    def type(self) -> str:
        """``system``."""
        return "system"


_CLASSES: Mapping[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "view": ViewMessage,
}


def message_class(kind: object) -> type[BaseMessage]:
    """The class of a kind of messages. Raises ``InvalidInput`` for a kind that is none of the four."""
    found = _CLASSES.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise InvalidInput(f"Got unexpected type: {shown(kind)}")
    return found


@functools.cache
def _field_names(cls: type[BaseMessage]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(cls))


def message_from_dict(message: Mapping[str, Any]) -> BaseMessage:
    """The message that ``to_dict`` wrote; fields it does not have are passed over.

    Raises ``InvalidInput`` for a type that is none of the four and for data that is no message's.
    """
    match message:
        case {"type": kind, "data": {"content": _, **_rest}}:
            cls = message_class(kind)
            data = cast("Mapping[str, Any]", message["data"])
            return cls(**{name: _copied(data[name]) for name in _field_names(cls) if name in data})
        case _:
            raise InvalidInput(f"a message is a dict with a type and data with a content, not {shown(message)}")


def messages_from_dict(messages: Iterable[Mapping[str, Any]]) -> list[BaseMessage]:
    """The messages that ``messages_to_dict`` wrote. Raises as ``message_from_dict`` does."""
    return [message_from_dict(one) for one in messages]


def messages_to_dict(messages: Iterable[BaseMessage]) -> list[dict[str, Any]]:
    """Messages as plain data."""
    return [one.to_dict() for one in messages]


def _copied(value: Any) -> Any:
    """A deep copy; of plain data in a tenth of the time the general way takes."""
    kind = cast("type[Any]", type(value))
    if kind is str or value is None or kind is int or kind is bool or kind is float or kind is bytes:
        return value
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if kind is list:
        return [_copied(item) for item in value]
    return copy.deepcopy(value)


def _markdown(piece: MediaContent, replace_url: Callable[[str], str]) -> str:
    if piece.type == "image" and isinstance(piece.object.data, str) and piece.object.format.startswith("url"):
        return f"![image]({replace_url(piece.object.data)})"
    if piece.type in ("text", "thinking"):
        return str(piece.object.data)
    if isinstance(piece.object.data, str) and piece.object.format.startswith("url"):
        return f"[{piece.type}]({replace_url(piece.object.data)})"
    return f"[{piece.type}]"


__all__ = [
    "AIMessage",
    "BaseMessage",
    "HumanMessage",
    "SystemMessage",
    "ViewMessage",
    "message_class",
    "message_from_dict",
    "messages_from_dict",
    "messages_to_dict",
]
