"""What a message may hold beside text: pictures, sounds, films, and a model's thoughts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from memwell.errors import InvalidInput
from memwell.values import check_text, shown

_TYPES = ("text", "thinking", "image", "audio", "video")


@dataclass(slots=True)
class MediaObject:
    """The data, and how it is given: ``text``, ``url``, ``base64`` or ``binary``, with ``@image/png`` behind if known."""

    data: str | bytes
    format: str = "text"


@dataclass(slots=True)
class MediaContent:
    """One piece of a content. Raises ``InvalidInput`` for a type that is none of text, thinking, image, audio, video."""

    object: MediaObject
    type: str = "text"

    def __post_init__(self) -> None:
        if self.type not in _TYPES:
            raise InvalidInput(f"the type of a content is one of {', '.join(_TYPES)}, not {shown(self.type)}")

    @classmethod
    def build_text(cls, text: str) -> MediaContent:
        """A piece of text."""
        return cls(MediaObject(text))

    @classmethod
    def build_thinking(cls, text: str) -> MediaContent:
        """A model's thought."""
        return cls(MediaObject(text), "thinking")

    @classmethod
    def parse_content(cls, content: Any) -> Any:
        """A piece, or a list of them, from dicts. Raises ``InvalidInput`` for what is neither."""
        if isinstance(content, list):
            return [_piece(one) for one in cast("list[Any]", content)]
        return _piece(content)

    def get_text(self) -> str:
        """The text. Raises ``InvalidInput`` for a piece that is no text."""
        if self.type != "text":
            raise InvalidInput("The content type is not text")
        return str(self.object.data)

    def get_thinking(self) -> str:
        """The thought. Raises ``InvalidInput`` for a piece that is none."""
        if self.type != "thinking":
            raise InvalidInput("The content type is not thinking")
        return str(self.object.data)

    @classmethod
    def last_text(cls, contents: Sequence[MediaContent]) -> str:
        """The last text among the pieces. Raises ``InvalidInput`` when there is none."""
        if not contents:
            raise InvalidInput("The contents are empty")
        for one in reversed(contents):
            if one.type == "text":
                return one.get_text()
        raise InvalidInput("No text content found")

    @classmethod
    def parse_chat_completion_message(cls, message: Any, ignore_unknown_media: bool = False) -> list[MediaContent]:
        """The pieces of a message in OpenAI's shape, or of a bare text.

        Raises ``InvalidInput`` for one without content and for a piece of unknown type, unless those are to be left out.
        """
        if isinstance(message, str) and message:
            return [cls.build_text(message)]
        content = cast("Mapping[str, Any]", message).get("content") if isinstance(message, Mapping) else None
        if not content or not isinstance(content, Iterable):
            raise InvalidInput(f"Failed to parse {shown(cast(object, message))}, no content found")
        if isinstance(content, str):
            return [cls.build_text(content)]
        found = [(item, _from_openai(item)) for item in cast("Iterable[Any]", content)]
        for item, piece in found:
            if piece is None and not ignore_unknown_media:
                raise InvalidInput(f"Unknown message type: {shown(item)}")
        return [piece for _, piece in found if piece is not None]

    def to_dict(self) -> dict[str, Any]:
        """The piece as plain data, bytes as they are."""
        return {"object": {"data": self.object.data, "format": self.object.format}, "type": self.type}


MessageContent: TypeAlias = str | list[MediaContent]
"""What a message says: text, or pieces."""


def as_content(value: Any) -> MessageContent:
    """A content. Raises ``InvalidInput`` when it is neither text nor a list of pieces."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_piece(one) for one in cast("list[Any]", value)]
    raise InvalidInput(f"a message's content must be text or a list of MediaContent, not {shown(value)}")


def storable_content(value: Any) -> MessageContent:
    """A content that any store can keep. Raises ``InvalidInput`` as ``as_content``, and for NUL and lone surrogates."""
    content = as_content(value)
    if isinstance(content, str):
        return check_text(content, "a message's content")
    for piece in content:
        check_text(piece.object.format, "the format of a piece of a message")
        if isinstance(piece.object.data, str):
            check_text(piece.object.data, "a piece of a message")
    return content


def plain_content(content: MessageContent) -> str | list[dict[str, Any]]:
    """A content as plain data."""
    return content if isinstance(content, str) else [one.to_dict() for one in content]


def openai_content(content: MessageContent, *, media: bool = True, names: Mapping[str, str] | None = None) -> Any:
    """A content in OpenAI's shape; without ``media`` the first text of it. ``names`` renames types of pieces.

    Raises ``InvalidInput`` for a piece the shape has no place for, and when media are not wanted and there is no text.
    """
    if isinstance(content, str):
        return content
    if media:
        return [_to_openai(one, names or {}) for one in content]
    for one in content:
        if one.type == "text":
            return one.get_text()
    raise InvalidInput("No text content found in the media contents")


def _piece(value: Any) -> MediaContent:
    match value:
        case MediaContent():
            return value
        case str():
            return MediaContent.build_text(value)
        case {"object": MediaObject() as given}:
            return MediaContent(given, value.get("type", "text"))
        case {"object": {"data": str() | bytes() as data, **rest}}:
            return MediaContent(MediaObject(data, str(rest.get("format", "text"))), value.get("type", "text"))
        case _:
            raise InvalidInput(f"Failed to parse {shown(value)}, no object found")


def _from_openai(item: Any) -> MediaContent | None:
    match item:
        case str():
            return MediaContent.build_text(item)
        case {"type": "text", "text": str(text)}:
            return MediaContent.build_text(text)
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return MediaContent(MediaObject(url, "url"), "image")
        case {"type": "input_audio", "input_audio": {"data": str(data)}}:
            return MediaContent(MediaObject(data, "base64"), "audio")
        case _:
            return None


def _to_openai(piece: MediaContent, names: Mapping[str, str]) -> dict[str, Any]:
    kind, form, data = piece.type, piece.object.format.partition("@")[0], piece.object.data
    if kind in ("text", "thinking"):
        name = names.get("text", "text")
        return {name: str(data), "type": name}
    known = {("image", "url"): "image_url", ("video", "url"): "video_url", ("audio", "base64"): "input_audio"}
    default = known.get((kind, form))
    if default is None:
        raise InvalidInput(f"Unsupported {kind} format: {piece.object.format}")
    name = names.get(default, default)
    if kind == "image" and name != default:
        # Servers with a name of their own for pictures take the bare address.
        return {name: data, "type": name}
    return {name: {"data" if kind == "audio" else "url": data}, "type": name}


__all__ = [
    "MediaContent",
    "MediaObject",
    "MessageContent",
    "as_content",
    "openai_content",
    "plain_content",
    "storable_content",
]
