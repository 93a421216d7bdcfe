"""The lines of memwell's own export format: one struct a kind, and memories and vectors to and from lines."""

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
    """A line of the file: a JSON object with its kind under ``type``. Unknown fields are ignored."""


class Header(_Line, frozen=True, tag="header"):
    """The first line: the format, the space, when it was written, and the embedder of the vectors in the file."""

    format: str
    version: int
    time: datetime
    space: tuple[str, ...] = ()
    embedder: str | None = None


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier version of a memory."""

    text: str
    kind: str
    time: datetime
    metadata: dict[str, Any]
    until: datetime
    reason: str


class MemoryLine(_Line, frozen=True, tag="memory"):
    """A memory, with its traits in its metadata, and its earlier versions."""

    id: str
    kind: str
    text: str
    time: datetime
    metadata: dict[str, Any]
    vector: str | None = None
    versions: tuple[Earlier, ...] = ()


class AliasLine(_Line, frozen=True, tag="alias"):
    """The id of a repeated statement, and the memory that stands for it."""

    id: str
    memory: str


class PastMessage(msgspec.Struct, frozen=True):
    """The message that a place of a conversation held until a moment; None when it was empty."""

    message: Message | None
    replaced: datetime


class MessageLine(_Line, frozen=True, tag="message"):
    """A place of a conversation: its message, None when that was removed, and the earlier ones."""

    thread: str
    index: int
    message: Message | None
    versions: tuple[PastMessage, ...] = ()


class ThreadLine(_Line, frozen=True, tag="thread"):
    """A conversation. It follows its messages, so it also says that they are complete."""

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

    Many bytes take several lines, as the length of a line is limited: all but the last have ``more``.
    """

    digest: str
    data: str
    more: bool = False
    memories: bool = False
    thread: str | None = None


class FeaturesLine(_Line, frozen=True, tag="features"):
    """The vector of a memory's features, which no embedder can make again."""

    memory: str
    vector: str


class ChunkingLine(_Line, frozen=True, tag="chunking"):
    """How the space cuts new documents into chunks."""

    chunking: dict[str, Any]


class DocumentLine(_Line, frozen=True, tag="document"):
    """A document: its description, how it is cut, its text and its blocks.

    A long one takes several lines, as the length of a line is limited: all but the last have ``more``. ``own_title`` and
    ``own_metadata`` are those of its file. ``vectors`` are those of its chunks, by a digest of their texts.
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
    """A further part of a document that did not fit into one line."""

    document: str
    text: str = ""
    blocks: tuple[tuple[str, int, int, int, int | None], ...] = ()
    vectors: dict[str, str] = {}
    more: bool = False


class End(_Line, frozen=True, tag="end"):
    """The last line: a file without it is incomplete."""

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
    """Bytes as base64."""
    return base64.b64encode(data).decode()


def from_base64(text: str, what: str) -> bytes:
    """The bytes of a base64 text. Raises ``InvalidInput`` for any other text."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{what} must be base64, not {shown(text)}") from None


def memory_line(record: Record, versions: list[MemoryVersion], *, vector: bool) -> MemoryLine:
    """The line of a memory."""

    def fields(of: Record) -> dict[str, Any]:
        return {"text": of.text, "kind": of.kind, "time": of.time, "metadata": of.metadata}

    return MemoryLine(
        id=record.id,
        **fields(record),
        vector=in_base64(pack_half(record.vector)) if vector and record.vector is not None else None,
        versions=tuple(Earlier(**fields(one.record), until=one.until, reason=one.reason) for one in versions),
    )


def memory_of(line: MemoryLine, space: Space, *, vector: bool) -> tuple[Record, list[MemoryVersion]]:
    """The memory of a line and its versions. Raises ``InvalidInput`` for one that breaks a rule."""

    def record(of: MemoryLine | Earlier, vector: array[float] | None = None) -> Record:
        return Record(
            text=of.text, space=space, id=line.id, kind=of.kind, time=of.time, metadata=of.metadata, vector=vector
        )

    half = vector_of(line.vector) if vector and line.vector is not None else None
    return record(line, half), [MemoryVersion(record(one), one.until, one.reason) for one in line.versions]


def vector_of(text: str) -> array[float] | None:
    """The vector of a base64 text, None when it is empty. Raises ``InvalidInput`` for any other text."""
    half = from_base64(text, "a vector")
    if len(half) % 2:
        raise InvalidInput(f"a vector takes two bytes a number, not {len(half)} bytes")
    return unpack_half(half) if half else None
