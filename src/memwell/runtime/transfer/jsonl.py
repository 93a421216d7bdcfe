"""memwell's own export format: JSON lines, without loss.

A file is read and written line by line. It is written whole or not at all. It may be imported in part and again: what is
stored already stays.
"""

from __future__ import annotations

import base64
import binascii
from array import array
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import msgspec
from msgspec.structs import replace

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.history.reading import keep_blob, thread_blobs
from memwell.history.writing import media_of
from memwell.language.claims import Claim
from memwell.longterm.base import MemoryBase, MemoryVersion
from memwell.longterm.memory import HasMemory, as_memory
from memwell.longterm.statements import FactStatement
from memwell.longterm.traits import blobs_space, features_space, named_blobs, traits_of
from memwell.messages import Message
from memwell.records import Record, Space, Thread, pack_half, unpack_half
from memwell.runtime.transfer.files import (
    LONGEST,
    FileLike,
    ImportCounts,
    Imported,
    Piece,
    Progress,
    decoded,
    entries_of,
    few,
    lines,
    place_pages,
    read_piece,
    reading,
    threads_of,
    written,
)
from memwell.runtime.transfer.intake import RawMemory, as_imported
from memwell.storage.protocols import Entry, Place, ThreadInfo
from memwell.storage.protocols import Version as LogVersion
from memwell.values import as_utc, check_count, shown

if TYPE_CHECKING:
    from memwell.runtime.transfer.documents import DocumentWriter


# Lines: one struct a kind, and memories and vectors to and from lines

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


class FactLine(_Line, frozen=True, tag="fact"):
    """A fact that was stated by hand, or ``negated``; facts that are read from memories are read from them again."""

    subject: str
    relation: str
    object: str
    said: datetime
    learned: datetime
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    negated: bool = False


class MessageLine(_Line, frozen=True, tag="message"):
    """A place of a conversation: its message, None when that was removed, and the earlier ones."""

    thread: str
    index: int
    message: Message | None
    versions: tuple[LogVersion, ...] = ()


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
    | FactLine
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


def line_of(data: bytes) -> Line:
    """A line of a file that is not trusted. Raises ``InvalidInput``."""
    return few(decoded(data, Line))


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


# Conversations

_LONGEST_GAP = 1_000_000
"""How many consecutive indexes may be without a message: a file with larger gaps is damaged, or hostile."""


def thread_lines(raw: RawMemory, info: ThreadInfo) -> Iterator[MessageLine | ThreadLine]:
    """The lines of a conversation: its places in order, then the conversation itself."""
    for places in place_pages(raw.backend, info.thread, -1, info.next):
        for place in places:
            versions = tuple(place.versions)
            yield MessageLine(thread=info.thread.id, index=place.index, message=place.message, versions=versions)
    yield ThreadLine(
        id=info.thread.id,
        created=info.created,
        first=info.first,
        next=info.next,
        rounds=info.rounds,
        ended=info.ended_round == info.rounds,
        metadata=info.metadata,
    )


class ThreadWriter:
    """Restores conversations, each whole or not at all. What is stored stays, and one that has grown is continued."""

    def __init__(self, raw: RawMemory, counts: ImportCounts, *, trusted: bool) -> None:
        self._raw = raw
        self._log = raw.backend.log
        self._counts = counts
        self._trusted = trusted
        self._now = raw.clock()
        self._thread: str | None = None
        self._places: list[Place] = []

    def add(self, number: int, line: MessageLine) -> None:
        """Add a place of a conversation, whose own line follows its places."""
        if line.thread != self._thread:
            self.flush(number)
            self._thread = line.thread
        try:
            self._places.append(_place(line, self._taken))
            if not self._trusted and line.message is not None and line.message.time > self._now:
                self._counts.add_future()
        except InvalidInput as error:
            self._counts.problem(number, error)

    def _taken(self, message: Message) -> Message:
        return message if self._trusted else as_imported(message, self._now)

    def flush(self, number: int) -> None:
        """Report the current conversation as incomplete: no more of its lines follow."""
        thread, places = self._thread, self._places
        self._thread, self._places = None, []
        if places:
            self._counts.problem(number, f"the last line of the conversation {thread!r} is missing; it was not stored")

    def end(self, number: int, line: ThreadLine) -> None:
        """Store a conversation."""
        if line.id != self._thread:
            self.flush(number)
        places, self._thread, self._places = self._places, None, []
        try:
            with self._raw.backend.transaction():
                fresh, is_new = self._store(line, places)
        except (InvalidInput, Conflict) as error:
            self._counts.problem(number, error)
        else:
            self._counts.add("messages", fresh)
            self._counts.add_known(len(places) - fresh)
            self._counts.count("threads", new=is_new)

    def _store(self, line: ThreadLine, places: Sequence[Place]) -> tuple[int, bool]:
        """How many places were new, and whether the conversation was."""
        for field in ("first", "next", "rounds"):
            check_count(getattr(line, field), f"a conversation's {field}")
        thread, now = Thread(self._raw.space, line.id), self._raw.clock()
        found = self._log.threads(thread.space, ids=[thread.id]).items
        info = found[0] if found else ThreadInfo(thread, 0, 0, 0, 0, 0, now, now, {})
        self._check_same(info, [place for place in places if info.first <= place.index < info.next])
        fresh = [place for place in places if place.index >= info.next]
        # The same conversation, or one that has gone on here.
        created = line.created if self._trusted else min(line.created, now)
        is_known = bool(found) and (info.created == line.created or info.next > line.next)
        if is_known and not fresh:
            return 0, False
        _check_gaps([info.next if found else line.first, *(place.index for place in fresh), line.next])
        wanted = replace(
            info,
            first=max(info.first, line.first),
            next=max(info.next, line.next),
            rounds=max(info.rounds, line.rounds),
            edits=info.edits + sum(len(place.versions) for place in fresh),
            created=created,
            metadata=info.metadata if is_known else line.metadata,
            ended_round=line.rounds if line.ended else None,
        )
        self._log.restore(wanted, fresh)
        return len(fresh), not is_known

    def _check_same(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        """Raises ``Conflict`` unless the stored places have the same messages, or had them; of a file that is not trusted
        the texts count too.
        """
        if not places:
            return
        here = {
            place.index: place
            for page in place_pages(self._raw.backend, info.thread, places[0].index - 1, places[-1].index + 1)
            for place in page
        }
        for place in places:
            # A place that was trimmed here is missing.
            stored = here.get(place.index, place)
            if stored.id != place.id or not (self._trusted or _texts(stored) & _texts(place)):
                raise Conflict(
                    f"the conversation {info.thread.id!r} has gone on past index {place.index} without this message"
                )


def _texts(place: Place) -> set[str]:
    """What the message of a place says and has said."""
    return {one.text for one in (place.message, *(version.message for version in place.versions)) if one is not None}


def _check_gaps(indexes: Sequence[int]) -> None:
    for before, index in pairwise(indexes):
        if index - before > _LONGEST_GAP:
            raise InvalidInput(f"the index {index} leaves out more than {_LONGEST_GAP:,} behind {before}")


def _place(line: MessageLine, taken: Callable[[Message], Message]) -> Place:
    """The place of a line. Raises ``InvalidInput`` when it never held a message."""
    check_count(line.index, "the index of a message")
    lives = [*(one.message for one in line.versions), line.message]
    first = lives[0]
    if first is None:
        raise InvalidInput(f"the place {line.index} of {line.thread!r} never held a message")
    if any(one is not None and one.id != first.id for one in lives):
        raise InvalidInput(f"the place {line.index} of {line.thread!r} held messages of more than one id")
    # Made again, as only the constructor normalises times.
    *before, now = [None if one is None else taken(one.changed(index=line.index)) for one in lives]
    held = [LogVersion(message, one.replaced) for message, one in zip(before, line.versions, strict=True)]
    return Place(line.index, first.round or 0, first.id, now, held)


# Blobs and feature vectors

PIECE = 3 * 1024 * 1024
"""How many bytes go into one line: an import holds few lines at a time."""

_MOST_BYTES = 512 * 1024 * 1024


def attached_lines(raw: RawMemory) -> Iterator[BlobLine | FeaturesLine]:
    """The feature vectors of memories and their bytes, each once."""
    seen: set[str] = set()
    for record in raw.records():
        if dimensions := traits_of(record).features:
            for one in raw.store.index.get(features_space(raw.space, dimensions), [record.id]):
                if one.vector is not None:
                    yield FeaturesLine(memory=record.id, vector=in_base64(pack_half(one.vector)))
        named = named_blobs([record, *(version.record for version in raw.versions(record))])
        for digest in sorted(named - seen):
            yield from _blob_line(raw, blobs_space(raw.space), digest, memories=True)
        seen |= named


def space_blob_lines(raw: RawMemory) -> Iterator[BlobLine]:
    """The blobs of the space itself that messages name, each once."""
    named = (_named_by_thread(raw, info) for info in threads_of(raw.backend, raw.space))
    for digest in dict.fromkeys(chain.from_iterable(named)):
        yield from _blob_line(raw, raw.space, digest)


def thread_blob_lines(raw: RawMemory, info: ThreadInfo) -> Iterator[BlobLine]:
    """The blobs of a conversation that its messages name, each once."""
    for digest in dict.fromkeys(_named_by_thread(raw, info)):
        yield from _blob_line(raw, thread_blobs(info.thread), digest, thread=info.thread.id)


def _named_by_thread(raw: RawMemory, info: ThreadInfo) -> Iterator[str]:
    for line in thread_lines(raw, info):
        if isinstance(line, MessageLine):
            messages: list[Message | None] = [line.message, *(held.message for held in line.versions)]
            yield from (one.blob for one in media_of(messages) if one.blob is not None)


def _blob_line(
    raw: RawMemory, space: Space, digest: str, *, memories: bool = False, thread: str | None = None
) -> Iterator[BlobLine]:
    try:
        data = memoryview(raw.backend.blobs.get(space, digest))
    except (NotFound, InvalidInput):
        # A message may name a blob that was never stored, or something that is no digest.
        return
    for start in range(0, max(1, len(data)), PIECE):
        piece, more = in_base64(data[start : start + PIECE]), start + PIECE < len(data)
        yield BlobLine(digest=digest, data=piece, more=more, memories=memories, thread=thread)


class Attacher:
    """Restores blobs and feature vectors of memories and conversations."""

    def __init__(self, raw: RawMemory, counts: ImportCounts) -> None:
        self._raw = raw
        self._backend = raw.backend
        self._counts = counts
        self._expected: set[str] = set()
        self._begun = bytearray()

    def expect(self, record: Record) -> None:
        """Accept the blobs that the stored memory of this id and its earlier versions name."""
        if traits_of(record).details or traits_of(record).blobs:
            here = self._backend.index.get(self._raw.space, [record.id])
            versions = (version.record for one in here for version in self._raw.versions(one))
            self._expected |= named_blobs([*here, *versions])

    def take_blob(self, line: BlobLine) -> None:
        """Store a blob when its last line is read. Raises ``InvalidInput`` when it has another digest, or nothing names
        it."""
        self._begun += from_base64(line.data, "a blob")
        if line.more and len(self._begun) <= _MOST_BYTES:
            return
        data = bytes(self._begun)
        self._begun.clear()
        thread = None if line.thread is None else Thread(self._raw.space, line.thread)
        space = self._space(line, thread)
        try:
            self._backend.blobs.get(space, line.digest)
        except NotFound:
            with self._backend.transaction():
                put = self._backend.blobs.put(space, data) if thread is None else keep_blob(self._backend, thread, data)
                if put != line.digest:
                    raise InvalidInput(f"a blob's bytes do not have the digest {line.digest!r}") from None
            self._counts.add("blobs")
        else:
            self._counts.add_known()

    def _space(self, line: BlobLine, thread: Thread | None) -> Space:
        if thread is not None:
            if not self._backend.log.threads(thread.space, ids=[thread.id]).items:
                raise InvalidInput(f"a blob belongs to the conversation {thread.id!r}, which is not here")
            return thread_blobs(thread)
        if not line.memories:
            return self._raw.space
        if line.digest not in self._expected:
            raise InvalidInput(f"no memory of the file names the blob {line.digest!r}")
        return blobs_space(self._raw.space)

    def take_features(self, line: FeaturesLine) -> None:
        """Store the feature vector of a memory. Raises ``InvalidInput`` unless the memory has features of this size."""
        vector = vector_of(line.vector)
        found = self._backend.index.get(self._raw.space, [line.memory])
        if vector is None or not found or traits_of(found[0]).features != len(vector):
            raise InvalidInput(f"there is no memory {line.memory!r} with features of {len(vector or ())} numbers")
        space = features_space(self._raw.space, len(vector))
        if self._backend.index.get(space, [line.memory]):
            return
        session = traits_of(found[0]).session
        metadata = {"session": session} if session else {}
        kind = found[0].kind
        self._backend.index.upsert(
            [Record(text="", space=space, id=line.memory, kind=kind, metadata=metadata, vector=vector)]
        )


# Export and import

_BATCH = 100
_encode = msgspec.json.Encoder().encode


def export_jsonl(
    memory: MemoryBase | HasMemory, file: FileLike, *, vectors: bool = False, progress: Progress | None = None
) -> int:
    """Write all of a space to a file, and return how many lines there are between the first and the last.

    ``vectors`` writes them too, so that nothing need be embedded again. Raises ``FileError`` when the file cannot be
    written; then it is as it was.
    """
    memory = as_memory(memory)
    raw = RawMemory.of(memory)
    embedder = raw.embedder_name if vectors else None
    header = Header(format=FORMAT, version=VERSION, time=memory.clock(), space=tuple(memory.space), embedder=embedder)
    with written(file) as out:
        _put(out, header)
        total = raw.backend.index.info(raw.space).records
        total += sum(info.messages + 1 for info in threads_of(raw.backend, raw.space))
        done = 0
        for line in chain(_lines(raw, vectors=vectors), _document_lines(memory, vectors=vectors)):
            _put(out, line)
            done += 1
            if progress is not None and done % _BATCH == 0:
                progress(done, max(done, total))
        _put(out, End(lines=done))
    if progress is not None:
        progress(done, done)
    return done


def _put(out: BinaryIO, line: Line) -> None:
    out.write(_encode(line) + b"\n")


def _lines(raw: RawMemory, *, vectors: bool) -> Iterator[Line]:
    for record in raw.records():
        yield memory_line(record, raw.versions(record), vector=vectors)
    for id_, memory in raw.aliases():
        yield AliasLine(id=id_, memory=memory)
    yield from map(_fact_line, raw.indexer.facts.by_hand())
    # After the memories, so that an import knows what they name.
    yield from attached_lines(raw)
    yield from space_blob_lines(raw)
    for info in threads_of(raw.backend, raw.space):
        yield from thread_lines(raw, info)
        yield from thread_blob_lines(raw, info)
    yield from map(_value_line, entries_of(raw.backend, raw.space))


def _document_lines(memory: MemoryBase, *, vectors: bool) -> Iterator[Line]:
    # Imported when used, as it loads everything that reads documents.
    from memwell.runtime.transfer.documents import document_lines, shelf_of  # noqa: PLC0415

    documents = shelf_of(memory)
    return iter(()) if documents is None else document_lines(documents, vectors=vectors)


def _fact_line(one: FactStatement) -> FactLine:
    return FactLine(
        subject=one.subject,
        relation=one.relation,
        object=one.object,
        said=one.said_at,
        learned=one.learned_at,
        valid_from=one.valid_from,
        valid_to=one.valid_to,
        negated=one.negated,
    )


def _value_line(entry: Entry) -> ValueLine:
    if isinstance(entry.value, bytes):
        return ValueLine(key=entry.key, data=in_base64(entry.value), expires=entry.expires)
    return ValueLine(key=entry.key, value=entry.value, expires=entry.expires)


def import_jsonl(
    memory: MemoryBase | HasMemory,
    file: FileLike,
    *,
    strict: bool = False,
    trusted: bool = False,
    longest_line: int = LONGEST,
    progress: Progress | None = None,
) -> Imported:
    """Import an export of memwell into the memory of a space, and return the report.

    ``trusted`` restores everything as it was; without it the gate judges the texts, what the file calls the word of a user
    gets the trust ``imported``, nothing is pinned or replaced, earlier versions are left out, and system messages are
    hidden from models. A wrong line is reported and the rest is imported, unless ``strict``. Raises ``InvalidInput`` for
    a file that is no export of memwell, or of a newer version, and ``FileError`` when it cannot be read.
    """
    memory = as_memory(memory)
    raw = RawMemory.of(memory)
    counts = ImportCounts("jsonl", strict=strict)
    with reading(file, progress) as source:
        pieces = lines(source, longest_line)
        header = _header(next(pieces, None))
        unpacker = _Unpacker(memory, raw, counts, header, trusted=trusted)
        unpacker.unpack(pieces)
    raw.done()
    return counts.report()


def _header(first: Piece | None) -> Header:
    if first is None or first.wrong:
        raise InvalidInput("the file is empty, or its first line is too long: it is no export of memwell")
    try:
        header = decoded(first.data, Header)
    except InvalidInput as error:
        raise InvalidInput(f"the file is no export of memwell; its first line is {error}") from error
    if header.format != FORMAT or header.version != VERSION:
        wanted = f"format {FORMAT!r}, version {VERSION}"
        raise InvalidInput(f"the file is of format {header.format!r}, version {header.version}; known is {wanted}")
    return header


class _Unpacker:
    """Stores the lines of a file, memories in batches."""

    def __init__(
        self, memory: MemoryBase, raw: RawMemory, counts: ImportCounts, header: Header, *, trusted: bool
    ) -> None:
        self._memory = memory
        self._trusted = trusted
        self._raw = raw
        self._counts = counts
        self._vectors = raw.adopt_embedder(header.embedder)
        self._threads = ThreadWriter(raw, counts, trusted=trusted)
        self._attachments = Attacher(raw, counts)
        self._documents: DocumentWriter | None = None
        self._waiting: list[tuple[int, Line]] = []

    def unpack(self, pieces: Iterator[Piece]) -> None:
        """Store all lines."""
        ended, number = False, 1
        for piece in pieces:
            number = piece.number
            try:
                if piece.wrong:
                    raise InvalidInput(piece.wrong)
                line = decoded(piece.data, Line) if self._trusted else read_piece(line_of, piece.data)
            except InvalidInput as error:
                self._counts.problem(number, error)
            else:
                ended = isinstance(line, End)
                self._take(number, line)
        self._flush()
        self._threads.flush(number)
        if self._documents is not None:
            self._documents.end(number)
        if not ended:
            self._counts.problem(number, "the file ends early; when it is whole, import it again for the rest")

    def _take(self, number: int, line: Line) -> None:
        match line:
            case MessageLine():
                self._flush()
                self._threads.add(number, line)
            case ThreadLine():
                self._threads.end(number, line)
            case ChunkingLine() | DocumentLine() | PartLine():
                self._take_document(number, line)
            case End():
                pass
            case _:
                self._waiting.append((number, line))
                # At once, as blobs may be large.
                if len(self._waiting) >= _BATCH or isinstance(line, BlobLine):
                    self._flush()

    def _take_document(self, number: int, line: ChunkingLine | DocumentLine | PartLine) -> None:
        # In a transaction of its own: a worker that is notified of its vectors must find them pending.
        from memwell.runtime.transfer.documents import DocumentWriter  # noqa: PLC0415 - as above

        try:
            if self._documents is None:
                self._documents = DocumentWriter.of(self._memory, self._counts)
        except InvalidInput as error:
            self._counts.problem(number, error)
        else:
            self._documents.take(number, line)

    def _flush(self) -> None:
        """Store the waiting lines in one transaction; each can fail by itself."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        with self._raw.backend.transaction():
            for number, line in waiting:
                try:
                    self._store(number, line)
                except InvalidInput as error:
                    self._counts.problem(number, error)

    def _store(self, number: int, line: Line) -> None:
        match line:
            case MemoryLine():
                self._take_memory(number, line)
            case AliasLine() | FactLine() | ValueLine() if not self._trusted:
                # An alias would give a memory that is here another id, a statement by hand outweighs what was said, and
                # programs take values at their word: plans, profiles, the cached answers of a model.
                self._counts.skip(number, "statements by hand, other ids and values by key need a trusted file")
            case AliasLine():
                self._counts.count("aliases", new=self._raw.add_alias(line.id, line.memory))
            case FactLine():
                self._counts.count("facts", new=self._take_fact(line))
            case ValueLine():
                self._take_value(number, line)
            case BlobLine():
                self._attachments.take_blob(line)
            case FeaturesLine():
                self._attachments.take_features(line)
            case _:
                raise InvalidInput("a second header: these are two files in one")

    def _take_memory(self, number: int, line: MemoryLine) -> None:
        record, versions = memory_of(line, self._raw.space, vector=self._vectors)
        here = self._raw.stored(record.id)
        if not self._trusted:
            try:
                if record.time > self._raw.clock():
                    self._counts.add_future()
                record, versions = self._raw.judged(record), []
            except InvalidInput as error:
                self._counts.skip(number, str(error))
                return
        # The number of a version is the word of the file too: only a trusted one replaces what is here.
        new = (here is None or self._trusted) and self._raw.restore(record, versions)
        self._counts.count("memories", new=new)
        if here is not None and not new and here.text not in {line.text, record.text}:
            self._counts.skip(number, f"the memory {shown(line.id)} has another content here, which stays")
        self._attachments.expect(record)

    def _take_fact(self, line: FactLine) -> bool:
        claim = Claim(
            subject=line.subject,
            relation=line.relation,
            object=line.object,
            valid_from=line.valid_from,
            valid_to=line.valid_to,
            negated=line.negated,
            time=line.said,
            confidence=1.0,
        )
        return self._raw.indexer.facts.state(claim, learned_at=as_utc(line.learned, "a fact's learned"))

    def _take_value(self, number: int, line: ValueLine) -> None:
        store, space = self._raw.backend.kv, self._raw.space
        value = line.value if line.data is None else from_base64(line.data, "a value's bytes")
        ttl = None if line.expires is None else (line.expires - self._raw.clock()).total_seconds()
        here = store.get(space, line.key)
        if here is not None:
            self._counts.add_known()
            if here.value != value:
                self._counts.skip(number, f"the key {line.key!r} has another value here, which stays")
        elif ttl is not None and ttl <= 0:
            self._counts.skip(number, f"the value of {line.key!r} has expired")
        else:
            store.put(space, line.key, value, ttl=ttl)
            self._counts.add("values")
