"""Documents in an export: their descriptions, their texts, and how they are cut.

Chunks are not exported: they are cut again from the text, and come out the same. Their vectors are exported on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from memwell.errors import InvalidInput, ModelError, NotFound
from memwell.knowledge import Chunking, Document, Parsed, knowledge_space
from memwell.knowledge.documents import Block
from memwell.knowledge.ingest import FILE, URL, document_id
from memwell.knowledge.shelf import DocumentStore, Manifest, checked_metadata, checked_parsed
from memwell.longterm.base import MemoryBase
from memwell.records import MAX_SEGMENTS, Vector, pack_half
from memwell.runtime.transfer.files import ImportCounts
from memwell.runtime.transfer.jsonl import ChunkingLine, DocumentLine, PartLine, in_base64, vector_of
from memwell.values import as_utc, check_count, check_id, check_metadata, check_text, shown

CHARACTERS = 6_000_000
"""How many characters of a text go into one line: at most a quarter of the longest line, however they are escaped."""
BLOCKS = 15_000
"""How many blocks go into one line: fewer values than a line may have (``files.MOST_VALUES``)."""
VECTORS = 4_000

_MOST_CHARACTERS = 512 * 1024 * 1024
_MOST_SEGMENTS = MAX_SEGMENTS - 3
"""Documents have a space two segments below their owner's, and memwell's notes on them one more."""
_INT64 = range(-(2**63), 2**63)


def shelf_of(memory: MemoryBase) -> DocumentStore | None:
    """The documents of a memory's space; None when the space has too many segments for any."""
    if len(memory.space) > _MOST_SEGMENTS:
        return None
    # The store itself: a read-only view has only memories.
    return DocumentStore(
        memory.backend,
        knowledge_space(memory.space),
        embedder=memory.embedder,
        clock=memory.clock,
        notify=memory._notify,  # pyright: ignore[reportPrivateUsage]
    )


def document_lines(shelf: DocumentStore, *, vectors: bool) -> Iterator[ChunkingLine | DocumentLine | PartLine]:
    """The lines of all documents of a space, after how the space cuts documents if that was chosen."""
    chosen = shelf.chunking()
    if chosen is not None:
        yield ChunkingLine(chunking=msgspec.to_builtins(chosen))
    for manifest in shelf.manifests():
        yield from _lines_of(shelf, manifest, vectors=vectors)


def _lines_of(shelf: DocumentStore, manifest: Manifest, *, vectors: bool) -> Iterator[DocumentLine | PartLine]:
    found = _text_of(shelf, manifest)
    if found is None:
        return
    manifest, parsed = found
    texts = [parsed.text[start : start + CHARACTERS] for start in range(0, len(parsed.text), CHARACTERS)]
    blocks = [parsed.blocks[start : start + BLOCKS] for start in range(0, len(parsed.blocks), BLOCKS)]
    packed = _packed(shelf, manifest) if vectors else []
    count = max(len(texts), len(blocks), len(packed), 1)
    for number in range(count):
        carried: dict[str, Any] = {
            "text": texts[number] if number < len(texts) else "",
            "blocks": tuple(map(msgspec.structs.astuple, blocks[number])) if number < len(blocks) else (),
            "vectors": packed[number] if number < len(packed) else {},
            "more": number + 1 < count,
        }
        if number:
            yield PartLine(document=manifest.document.id, **carried)
        else:
            yield _first_line(manifest, parsed, shelf.embedder_name if packed else None, carried)


def _text_of(shelf: DocumentStore, manifest: Manifest) -> tuple[Manifest, Parsed] | None:
    """A document and its text; None when it was removed meanwhile, or its text is missing."""
    try:
        return manifest, shelf.parsed(manifest)
    except NotFound:
        again = shelf.manifest(manifest.document.id)
        return None if again is None or again == manifest else _text_of(shelf, again)


def _packed(shelf: DocumentStore, manifest: Manifest) -> list[dict[str, str]]:
    pairs = ((key, in_base64(pack_half(vector))) for key, vector in shelf.vectors_of(manifest))
    return list(iter(lambda: dict(islice(pairs, VECTORS)), {}))


def _first_line(manifest: Manifest, parsed: Parsed, embedder: str | None, carried: Mapping[str, Any]) -> DocumentLine:
    known = msgspec.structs.asdict(manifest.document)
    del known["chunks"]
    return DocumentLine(
        **known,
        own_title=parsed.title,
        own_metadata=parsed.metadata,
        origin=manifest.origin,
        chunking=msgspec.to_builtins(manifest.chunking),
        embedder=embedder,
        **carried,
    )


def _joined(line: DocumentLine, part: PartLine) -> DocumentLine:
    """A document and a further part of it. Raises ``InvalidInput`` when that makes it too long."""
    if len(line.text) + len(part.text) > _MOST_CHARACTERS:
        raise InvalidInput(f"the document {shown(line.id)} has more than {_MOST_CHARACTERS:,} characters")
    return replace(
        line,
        text=line.text + part.text,
        blocks=line.blocks + part.blocks,
        vectors=line.vectors | part.vectors,
        more=part.more,
    )


def _parsed(line: DocumentLine) -> Parsed:
    """The text and structure of a document. Raises ``InvalidInput`` when a part of it is missing."""
    if len(line.text) != line.characters:
        raise InvalidInput(
            f"the document {shown(line.id)} has {len(line.text):,} characters here, and not {line.characters:,}"
        )
    blocks, own = tuple(_block(*one) for one in line.blocks), check_metadata(line.own_metadata)
    parsed = Parsed(line.text, blocks, line.own_title, line.media_type, line.pages, own, tuple(line.warnings))
    return checked_parsed(parsed)


def _block(kind: str, start: int, end: int, level: int, page: int | None) -> Block:
    if any(number not in _INT64 for number in (start, end, level, page or 0)):
        raise InvalidInput(
            f"a block of a document must have numbers of 64 bits, not {shown((start, end, level, page))}"
        )
    return Block(check_text(kind, "a block's kind"), start, end, level, page)


class DocumentWriter:
    """Restores documents, each whole or not at all. Stored ones stay."""

    def __init__(self, shelf: DocumentStore, counts: ImportCounts) -> None:
        self._shelf = shelf
        self._counts = counts
        self._begun: DocumentLine | None = None
        """A document whose last line was not read yet."""
        self._numbers: int | None = None

    @classmethod
    def of(cls, memory: MemoryBase, counts: ImportCounts) -> DocumentWriter:
        """The writer for the documents of a memory's space. Raises ``InvalidInput`` when that can have none."""
        shelf = shelf_of(memory)
        if shelf is None:
            raise InvalidInput(f"{memory.space!r} has too many segments to have documents")
        return cls(shelf, counts)

    def take(self, number: int, line: ChunkingLine | DocumentLine | PartLine) -> None:
        """Add a line; the last one of a document stores it."""
        try:
            match line:
                case ChunkingLine():
                    chunking = _chunking(line.chunking)
                    if self._shelf.chunking() is None:
                        self._shelf.keep_chunking(chunking)
                case DocumentLine():
                    self.end(number)
                    self._add(number, line)
                case PartLine():
                    if self._begun is None or line.document != self._begun.id:
                        raise InvalidInput("a part of a document whose beginning is missing")
                    self._add(number, _joined(self._begun, line))
        except InvalidInput as error:
            self._begun = None
            self._counts.problem(number, error)

    def end(self, number: int) -> None:
        """Report the current document as incomplete: no more of its lines follow."""
        begun, self._begun = self._begun, None
        if begun is not None:
            self._counts.problem(number, f"the last part of the document {shown(begun.id)} is missing")

    def _knows(self, number: int, line: DocumentLine) -> bool:
        """Whether a document of this id is stored; one with another content is reported."""
        known = self._shelf.manifest(check_id(line.id, "a document's id"))
        if known is not None and known.document.digest != line.digest:
            self._counts.skip(number, f"the document {shown(line.id)} has another content here, which stays")
        return known is not None

    def _add(self, number: int, line: DocumentLine) -> None:
        self._begun = line if line.more else None
        if not line.more:
            self._counts.count("documents", new=not self._knows(number, line) and self._store(line))

    def _store(self, line: DocumentLine) -> bool:
        unpacked = {key: vector_of(vector) for key, vector in line.vectors.items()}
        vectors: dict[str, Vector] = {key: vector for key, vector in unpacked.items() if vector is not None}
        fitting = self._fitting(line.embedder, vectors) if vectors and line.embedder is not None else {}
        document, chunking = _document(line), _chunking(line.chunking)
        return self._shelf.restore(document, _parsed(line), chunking, origin=line.origin, vectors=fitting)

    def _fitting(self, embedder: str, vectors: dict[str, Vector]) -> dict[str, Vector]:
        """The vectors that fit the stored ones; others are made again."""
        if not self._shelf.adopt_embedder(check_text(embedder, "an embedder")):
            return {}
        self._numbers = self._numbers or self._numbers_here() or len(next(iter(vectors.values())))
        return {key: vector for key, vector in vectors.items() if len(vector) == self._numbers}

    def _numbers_here(self) -> int | None:
        """How many dimensions the stored vectors have, if that is known."""
        info, embedder = self._shelf.backend.index.info(self._shelf.space), self._shelf.vectors.embedder
        if info.vectors or embedder is None:
            return info.dimensions
        with suppress(ModelError):
            return embedder.dimensions
        return None


def _chunking(given: dict[str, Any]) -> Chunking:
    try:
        return msgspec.convert(given, Chunking)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"a document is not cut so: {error}") from error


def _document(line: DocumentLine) -> Document:
    """The description of a document. Raises ``InvalidInput`` for a value that breaks a rule."""
    if line.origin and (line.origin not in (FILE, URL) or line.id != document_id(line.origin, line.source)):
        # Under another id it would be stored twice once its source is ingested.
        raise InvalidInput(f"the document {shown(line.id)} was not made of {shown(line.origin)} {shown(line.source)}")
    return Document(
        id=check_id(line.id, "a document's id"),
        source=check_text(line.source, "a source"),
        title=check_text(line.title, "a title"),
        media_type=check_text(line.media_type, "a media type"),
        digest=check_text(line.digest, "a digest"),
        size=check_count(line.size, "a size"),
        characters=line.characters,
        pages=None if line.pages is None else check_count(line.pages, "pages"),
        chunks=0,
        time=as_utc(line.time, "a time"),
        modified=None if line.modified is None else as_utc(line.modified, "a time"),
        metadata=checked_metadata(line.metadata),
        warnings=tuple(check_text(one, "a warning") for one in line.warnings),
    )
