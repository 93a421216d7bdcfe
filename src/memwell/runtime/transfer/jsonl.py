"""memwell's own format: JSON, a line a thing, without loss. What went out comes in again exactly as it was.

A file is read and written line by line. It is written whole or not at all; it may be read in part, and again: what is there
already is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from memwell.errors import InvalidInput
from memwell.longterm.base import MemoryBase
from memwell.records import paged
from memwell.runtime.transfer.attached import Attacher, attached_lines, space_blob_lines, thread_blob_lines
from memwell.runtime.transfer.files import LONGEST, FileLike, Piece, decoded, lines, reading, written
from memwell.runtime.transfer.lines import (
    FORMAT,
    VERSION,
    AliasLine,
    BlobLine,
    ChunkingLine,
    DocumentLine,
    End,
    FeaturesLine,
    Header,
    Line,
    MemoryLine,
    MessageLine,
    PartLine,
    ThreadLine,
    ValueLine,
    from_base64,
    in_base64,
    memory_line,
    memory_of,
)
from memwell.runtime.transfer.report import Imported, Progress, Tally
from memwell.runtime.transfer.shelf import Shelf
from memwell.runtime.transfer.threads import ThreadWriter, infos, thread_lines
from memwell.storage.protocols import Entry

if TYPE_CHECKING:
    from memwell.runtime.transfer.documents import DocumentWriter

_BATCH = 100
_encode = msgspec.json.Encoder().encode


def export_jsonl(
    memory: MemoryBase,
    file: FileLike,
    *,
    vectors: bool = False,
    threads: bool = True,
    values: bool = False,
    blobs: bool = False,
    documents: bool = True,
    progress: Progress | None = None,
) -> int:
    """Write the memory of a space to a file, and return how many lines there are between the first and the last.

    ``vectors`` writes them too, so that nothing need be embedded again; ``values`` what the space keeps by key; ``blobs``
    the bytes that its memories and messages refer to. ``threads`` and ``documents`` may be left out. Raises ``FileError``
    when the file cannot be written; then it is as it was.
    """
    shelf = Shelf.of(memory)
    embedder = shelf.embedder_name if vectors else None
    header = Header(format=FORMAT, version=VERSION, time=memory.clock(), space=tuple(memory.space), embedder=embedder)
    with written(file) as out:
        _put(out, header)
        total = shelf.backend.index.info(shelf.space).records
        total += sum(info.messages + 1 for info in infos(shelf)) if threads else 0
        done = 0
        everything = _lines(shelf, vectors=vectors, threads=threads, values=values, blobs=blobs)
        for line in chain(everything, _document_lines(memory, vectors=vectors) if documents else ()):
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


def _lines(shelf: Shelf, *, vectors: bool, threads: bool, values: bool, blobs: bool) -> Iterator[Line]:
    for record in shelf.records():
        yield memory_line(record, shelf.versions(record), vector=vectors)
    for id_, memory in shelf.aliases():
        yield AliasLine(id=id_, memory=memory)
    # After the memories: whoever takes them in then knows what is named.
    yield from attached_lines(shelf, blobs=blobs)
    if blobs:
        yield from space_blob_lines(shelf)
    if threads:
        for info in infos(shelf):
            yield from thread_lines(shelf, info)
            if blobs:
                yield from thread_blob_lines(shelf, info)
    if values:
        entries = paged(lambda cursor: shelf.backend.kv.scan(shelf.space, limit=_BATCH, cursor=cursor))
        yield from map(_value_line, entries)


def _document_lines(memory: MemoryBase, *, vectors: bool) -> Iterator[Line]:
    # All that reads documents is loaded with it: whoever opens a memory does not wait for that.
    from memwell.runtime.transfer.documents import document_lines, shelf_of  # noqa: PLC0415

    documents = shelf_of(memory)
    return iter(()) if documents is None else document_lines(documents, vectors=vectors)


def _document_writer(memory: MemoryBase, tally: Tally) -> DocumentWriter:
    from memwell.runtime.transfer.documents import DocumentWriter  # noqa: PLC0415 - as above

    return DocumentWriter.of(memory, tally)


def _value_line(entry: Entry) -> ValueLine:
    if isinstance(entry.value, bytes):
        return ValueLine(key=entry.key, data=in_base64(entry.value), expires=entry.expires)
    return ValueLine(key=entry.key, value=entry.value, expires=entry.expires)


def import_jsonl(
    memory: MemoryBase,
    file: FileLike,
    *,
    strict: bool = False,
    longest_line: int = LONGEST,
    progress: Progress | None = None,
) -> Imported:
    """Bring an export of memwell into the memory of a space, and say what came over.

    A line that is wrong is reported and the rest goes on, unless ``strict``. Raises ``InvalidInput`` for a file that is no
    export of memwell, or of a newer one, and ``FileError`` when it cannot be read.
    """
    shelf = Shelf.of(memory)
    tally = Tally("jsonl", strict=strict)
    with reading(file, progress) as source:
        pieces = lines(source, longest_line)
        header = _header(next(pieces, None))
        unpacker = _Unpacker(memory, shelf, tally, header)
        unpacker.unpack(pieces)
    shelf.done()
    return tally.report()


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


def _line(piece: Piece) -> Line:
    if piece.wrong:
        raise InvalidInput(piece.wrong)
    return decoded(piece.data, Line)


class _Unpacker:
    """Puts the lines of a file where they belong, memories in batches."""

    def __init__(self, memory: MemoryBase, shelf: Shelf, tally: Tally, header: Header) -> None:
        self._memory = memory
        self._shelf = shelf
        self._tally = tally
        self._vectors = shelf.adopt_embedder(header.embedder)
        self._threads = ThreadWriter(shelf, tally)
        self._attachments = Attacher(shelf, tally)
        self._documents: DocumentWriter | None = None
        self._waiting: list[tuple[int, Line]] = []

    def unpack(self, pieces: Iterator[Piece]) -> None:
        """Take all lines."""
        ended, number = False, 1
        for piece in pieces:
            number = piece.number
            try:
                line = _line(piece)
            except InvalidInput as error:
                self._tally.problem(number, error)
            else:
                ended = isinstance(line, End)
                self._take(number, line)
        self._flush()
        self._threads.flush()
        if self._documents is not None:
            self._documents.end(number)
        if not ended:
            self._tally.problem(number, "the file ends early; when it is whole, import it again for the rest")

    def _take(self, number: int, line: Line) -> None:
        match line:
            case MessageLine():
                self._flush()
                self._threads.add(number, line)
            case ThreadLine():
                self._threads.end(number, line)
            case BlobLine(thread=str()):
                # The conversation it belongs to comes before it, and must be there first.
                self._threads.flush()
                self._waiting.append((number, line))
                self._flush()
            case ChunkingLine() | DocumentLine() | PartLine():
                self._take_document(number, line)
            case End():
                pass
            case _:
                self._waiting.append((number, line))
                # A blob may be large, and many of them are not to be held at once.
                if len(self._waiting) >= _BATCH or isinstance(line, BlobLine):
                    self._flush()

    def _take_document(self, number: int, line: ChunkingLine | DocumentLine | PartLine) -> None:
        # Each has a transaction of its own: whoever is told of its vectors must find them owed.
        try:
            if self._documents is None:
                self._documents = _document_writer(self._memory, self._tally)
        except InvalidInput as error:
            self._tally.problem(number, error)
        else:
            self._documents.take(number, line)

    def _flush(self) -> None:
        """Store what waits in one transaction; each thing can fail alone."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        with self._shelf.backend.transaction():
            for number, line in waiting:
                try:
                    self._store(number, line)
                except InvalidInput as error:
                    self._tally.problem(number, error)

    def _store(self, number: int, line: Line) -> None:
        match line:
            case MemoryLine():
                record, versions = memory_of(line, self._shelf.space, vector=self._vectors)
                self._count("memories", new=self._shelf.restore(record, versions))
                self._attachments.expect(record)
            case AliasLine():
                self._count("aliases", new=self._shelf.add_alias(line.id, line.memory))
            case ValueLine():
                self._take_value(number, line)
            case BlobLine():
                self._attachments.take_blob(line)
            case FeaturesLine():
                self._attachments.take_features(line)
            case _:
                raise InvalidInput("a second header: these are two files in one")

    def _count(self, what: str, *, new: bool) -> None:
        if new:
            self._tally.took(what)
        else:
            self._tally.knew()

    def _take_value(self, number: int, line: ValueLine) -> None:
        store, space = self._shelf.backend.kv, self._shelf.space
        value = line.value if line.data is None else from_base64(line.data, "a value's bytes")
        ttl = None if line.expires is None else (line.expires - self._shelf.clock()).total_seconds()
        here = store.get(space, line.key)
        if here is not None:
            self._tally.knew()
            if here.value != value:
                self._tally.skip(number, f"the key {line.key!r} has another value here, which stays")
        elif ttl is not None and ttl <= 0:
            self._tally.skip(number, f"the value of {line.key!r} has expired")
        else:
            store.put(space, line.key, value, ttl=ttl)
            self._tally.took("values")


__all__ = ["export_jsonl", "import_jsonl"]
