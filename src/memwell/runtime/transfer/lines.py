"""The lines of memwell's own export: what each says, and how it is written."""

from __future__ import annotations

import base64
import binascii
from array import array
from datetime import datetime
from typing import Any, TypeAlias

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.base import MemoryVersion
from memwell.messages import Message
from memwell.records import Record, Space, pack_half, unpack_half
from memwell.values import shown

FORMAT = "memwell"
VERSION = 1


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="type"):
    """A line is a JSON object whose ``type`` says what it is. Fields that a reader does not know are passed over."""


class Header(_Line, frozen=True, tag="header"):
    """The first line: what this is, whose memory, when it was written, and whose vectors it carries."""

    format: str
    version: int
    time: datetime
    space: tuple[str, ...] = ()
    embedder: str | None = None


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """What a memory was before."""

    text: str
    kind: str
    time: datetime
    metadata: dict[str, Any]
    until: datetime
    reason: str


class MemoryLine(_Line, frozen=True, tag="memory"):
    """A memory, with its traits in its metadata, and all that it was before."""

    id: str
    kind: str
    text: str
    time: datetime
    metadata: dict[str, Any]
    vector: str | None = None
    versions: tuple[Earlier, ...] = ()


class AliasLine(_Line, frozen=True, tag="alias"):
    """The id of something that was said again, and the memory it was counted to."""

    id: str
    memory: str


class Held(msgspec.Struct, frozen=True):
    """What a place of a conversation held until a moment; None when it was empty."""

    message: Message | None
    replaced: datetime


class MessageLine(_Line, frozen=True, tag="message"):
    """A place of a conversation: its message, None when that was removed, and all that was there before."""

    thread: str
    index: int
    message: Message | None
    versions: tuple[Held, ...] = ()


class ThreadLine(_Line, frozen=True, tag="thread"):
    """A conversation, after all its messages: only now is it known to be whole."""

    id: str
    created: datetime
    first: int
    next: int
    rounds: int
    ended: bool = False
    metadata: dict[str, Any] = {}


class ValueLine(_Line, frozen=True, tag="value"):
    """A value by key: JSON data or, in base64, bytes."""

    key: str
    value: Any = None
    data: str | None = None
    expires: datetime | None = None


class BlobLine(_Line, frozen=True, tag="blob"):
    """Bytes, in base64, under their SHA-256: of the space itself, of its memories, or of one conversation.

    Many bytes are several lines, as a line may only be so long: all but the last say that there are more.
    """

    digest: str
    data: str
    more: bool = False
    memories: bool = False
    thread: str | None = None


class FeaturesLine(_Line, frozen=True, tag="features"):
    """The vector of a memory's features: no embedder could make it again."""

    memory: str
    vector: str


class ChunkingLine(_Line, frozen=True, tag="chunking"):
    """How documents are cut that are taken in from now on."""

    chunking: dict[str, Any]


class DocumentLine(_Line, frozen=True, tag="document"):
    """A document: what is known of it, how it is cut, and its text with its blocks as it was read.

    A long one is several lines, as a line may only be so long: all but the last say that there are more. ``own_title`` and
    ``own_metadata`` are what its file says of itself. ``vectors`` are those of its chunks, by a digest of their texts.
    """

    id: str
    source: str
    title: str
    media_type: str
    digest: str
    size: int
    characters: int
    time: datetime
    chunking: dict[str, Any]
    text: str
    blocks: tuple[tuple[str, int, int, int, int | None], ...] = ()
    pages: int | None = None
    modified: datetime | None = None
    metadata: dict[str, Any] = {}
    warnings: tuple[str, ...] = ()
    own_title: str = ""
    own_metadata: dict[str, Any] = {}
    origin: str = ""
    embedder: str | None = None
    vectors: dict[str, str] = {}
    more: bool = False


class PartLine(_Line, frozen=True, tag="document_part"):
    """What follows of a document that did not fit into one line."""

    document: str
    text: str = ""
    blocks: tuple[tuple[str, int, int, int, int | None], ...] = ()
    vectors: dict[str, str] = {}
    more: bool = False


class End(_Line, frozen=True, tag="end"):
    """The last line: a file without it is not whole."""

    lines: int


Line: TypeAlias = (
    Header
    | MemoryLine
    | AliasLine
    | MessageLine
    | ThreadLine
    | ValueLine
    | BlobLine
    | FeaturesLine
    | ChunkingLine
    | DocumentLine
    | PartLine
    | End
)


def in_base64(data: bytes | memoryview) -> str:
    """Bytes as text."""
    return base64.b64encode(data).decode()


def from_base64(text: str, what: str) -> bytes:
    """The bytes that a text stands for. Raises ``InvalidInput`` when it stands for none."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{what} must be base64, not {shown(text)}") from None


def memory_line(record: Record, versions: list[MemoryVersion], *, vector: bool) -> MemoryLine:
    """The line of a memory."""
    return MemoryLine(
        id=record.id,
        kind=record.kind,
        text=record.text,
        time=record.time,
        metadata=record.metadata,
        vector=in_base64(pack_half(record.vector)) if vector and record.vector is not None else None,
        versions=tuple(_earlier(version) for version in versions),
    )


def _earlier(version: MemoryVersion) -> Earlier:
    old = version.record
    return Earlier(
        text=old.text,
        kind=old.kind,
        time=old.time,
        metadata=old.metadata,
        until=version.until,
        reason=version.reason,
    )


def memory_of(line: MemoryLine, space: Space, *, vector: bool) -> tuple[Record, list[MemoryVersion]]:
    """The memory of a line and its versions. Raises ``InvalidInput`` for one that breaks a rule."""
    half = vector_of(line.vector) if vector and line.vector is not None else None
    record = Record(
        text=line.text,
        space=space,
        id=line.id,
        kind=line.kind,
        time=line.time,
        metadata=line.metadata,
        vector=half,
    )
    return record, [_version(record, earlier) for earlier in line.versions]


def vector_of(text: str) -> array[float] | None:
    """The vector that a text stands for, None when it is empty. Raises ``InvalidInput`` when it stands for none."""
    half = from_base64(text, "a vector")
    if len(half) % 2:
        raise InvalidInput(f"a vector takes two bytes a number, not {len(half)} bytes")
    return unpack_half(half) if half else None


def _version(record: Record, earlier: Earlier) -> MemoryVersion:
    old = Record(
        text=earlier.text,
        space=record.space,
        id=record.id,
        kind=earlier.kind,
        time=earlier.time,
        metadata=earlier.metadata,
    )
    return MemoryVersion(old, earlier.until, earlier.reason)


__all__ = [
    "AliasLine",
    "BlobLine",
    "ChunkingLine",
    "DocumentLine",
    "Earlier",
    "End",
    "FeaturesLine",
    "FORMAT",
    "Header",
    "Held",
    "Line",
    "MemoryLine",
    "MessageLine",
    "PartLine",
    "ThreadLine",
    "VERSION",
    "ValueLine",
    "from_base64",
    "in_base64",
    "memory_line",
    "memory_of",
    "vector_of",
]
