"""The shelf: stores documents with their text, chunks and vectors.

A document is a manifest, its text in a blob, and its chunks: records that are found by words and vectors as memories are.
One transaction changes all three. The chunks of a large document are stored before, in many short ones, and are found when
its manifest names them, so that other writers do not wait; those of its last version are removed in the same way. Vectors
that could not be made are pending in the same journal that memories have.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import PurePath
from typing import Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace
from numpy.typing import NDArray

from memwell.errors import InvalidInput, MemwellError, ModelError, NotFound
from memwell.filters import id_begins_with
from memwell.knowledge.chunking import Chunk, Chunking, chunks
from memwell.knowledge.documents import Document, Parsed
from memwell.longterm.embedding import MARK, Embedders, WantedEmbedder
from memwell.longterm.gate import Gate
from memwell.longterm.indexing import BATCH, DEAD, Indexer
from memwell.longterm.journal import MARKS, inner_key, inner_space, pending_vector
from memwell.longterm.traits import KEY, Traits, with_traits
from memwell.models.ports import Embedder
from memwell.records import Record, Space, Vector, paged
from memwell.storage.protocols import Backend
from memwell.storage.scrubbing import SCRUBS, note_erasure, scrubbed
from memwell.values import check_metadata, check_text, new_id, shown

# The vectors of chunks


_log = logging.getLogger("memwell.knowledge")

MOST_AT_ONCE = 512
"""A document with more chunks is stored before its vectors are made, so that a transaction does not take minutes."""

_PAGE = 500


class Given(NamedTuple):
    """Chunks with their vectors, whether none is pending, and the model that made them."""

    records: list[Record]
    whole: bool
    model: str | None


class ChunkVectors:
    """The vectors of the chunks of one space."""

    def __init__(
        self, backend: Backend, space: Space, embedder: Embedder | None, wanted_embedder: WantedEmbedder | None = None
    ) -> None:
        self._backend = backend
        self._space = space
        self._inner = inner_space(space)
        self.embedder = embedder
        self._wanted_embedder = wanted_embedder or WantedEmbedder.made_now()
        self._indexer = self._fresh()

    @property
    def embedders(self) -> Embedders:
        """The embedders for the stored vectors."""
        return self._indexer.embedders

    @property
    def pending(self) -> int:
        """The number of pending vectors."""
        return max(self._indexer.journal.pending().vectors, self._indexer.reembedding.left())

    def given(self, records: list[Record], before: Iterable[str]) -> Given:
        """Chunks with their vectors: those of the same texts among the chunks ``before``, and new ones."""
        if self.embedder is None:
            return Given(records, True, None)
        # Asked before anything is read: when the model changes meanwhile, ``store`` notices it.
        model = self.embedders.stored_model()
        embedder = self.embedders.embedder_for(model)
        if embedder is None:
            return Given(records, False, None)
        known = {one.text: one.vector for one in self._backend.index.get(self._space, before)}
        records = [replace(one, vector=known[one.text]) if one.text in known else one for one in records]
        missing = [record for record in records if record.vector is None]
        texts = [Indexer.embedded_text(record) for record in missing]
        rows = self._rows(embedder, texts) if len(missing) <= MOST_AT_ONCE else None
        if rows is None:
            return Given(records, False, embedder.name)
        made = {record.id: row for record, row in zip(missing, rows, strict=True) if row.any()}
        records = [replace(one, vector=made[one.id]) if one.id in made else one for one in records]
        return Given(records, True, embedder.name)

    def _fresh(self) -> Indexer:
        return Indexer(self._backend, self._space, embedder=self.embedder, wanted_embedder=self._wanted_embedder)

    def _rows(self, embedder: Embedder, texts: Sequence[str]) -> list[NDArray[Any]] | None:
        """The vectors of texts, or None when the embedder fails: they stay pending."""
        rows: list[NDArray[Any]] = []
        try:
            for start in range(0, len(texts), BATCH):
                rows += list(embedder.embed(texts[start : start + BATCH]))
        except ModelError as error:
            _log.warning("the embedder %s failed; words alone are searched meanwhile: %s", embedder.name, error)
            return None
        return rows

    def store(self, records: Sequence[Record], model: str | None) -> None:
        """Store chunks with vectors of a model, and note the pending ones. Part of the caller's transaction."""
        if model is not None and not self.embedders.claim(model):
            # The model changed meanwhile, and vectors of two models do not belong together.
            records = [replace(record, vector=None) for record in records]
        self._backend.index.upsert(records)
        if self.embedder is not None:
            self._queue([record.id for record in records if record.vector is None])

    def _queue(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _PAGE):
            entries = [pending_vector(id_) for id_ in ids[start : start + _PAGE]]
            self._indexer.journal.write(entries)

    def flush(self, progress: Callable[[int, int | None], None] | None = None, *, tries: int = 1) -> int:
        """Make the pending vectors; returns how many are still pending because the embedder fails."""
        if self.embedder is None:
            return 0
        total = self.pending if progress is not None else 0
        for _ in range(tries):
            while self._indexer.work():
                if progress is not None:
                    progress(max(total - self.pending, 0), total)
            if not self.pending:
                break
        return self.pending

    def queue_missing(self) -> None:
        """Note every chunk without a vector as pending: those stored without an embedder."""
        index = self._backend.index
        info = index.info(self._space)
        if self.embedder is None or info.vectors >= info.records or self.pending:
            return
        aside = set(self._set_aside().values())
        stored = paged(lambda cursor: index.scan(self._space, limit=_PAGE, cursor=cursor))
        self._queue([record.id for record in stored if record.vector is None and record.id not in aside])

    def _set_aside(self) -> dict[str, str]:
        """The chunks that could not be embedded, by the keys of the notes that say so."""
        where = id_begins_with(DEAD)
        notes = paged(lambda cursor: self._backend.kv.scan(self._inner, where=where, limit=_PAGE, cursor=cursor))
        return {note.key: cast("dict[str, str]", note.value)["id"] for note in notes}

    def drop_notes(self) -> None:
        """Delete the notes of chunks that no longer exist."""
        notes = self._set_aside()
        there = {record.id for record in self._backend.index.get(self._space, list(notes.values()))}
        for key, id_ in notes.items():
            if id_ not in there:
                self._backend.kv.delete(self._inner, key)

    def clear(self) -> None:
        """Delete all notes, and whose vectors they were."""
        with self._backend.transaction():
            for entry in list(paged(lambda cursor: self._backend.kv.scan(self._inner, limit=_PAGE, cursor=cursor))):
                if entry.key != MARKS:
                    self._backend.kv.delete(self._inner, entry.key)
            self._indexer.journal.finish()
        self._indexer = self._fresh()


KIND = "chunk"
OWN_KEYS = ("document", "chunk", KEY)
"""Keys of a chunk's metadata that are the shelf's own; a user's metadata may not have them."""

_MANIFEST = "document/"
_STAGED = "staged/"
_STAGED_AT_ONCE = 128
_ABANDONED_S = 3600.0
"""After this long, chunks that no manifest names belong to a process that was killed."""

_CHUNKING = "chunking"
_LONGEST_LEAD = 240
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A chunk has no time: the day of ingestion must not be among the words it is found by."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The stored description of a document."""

    document: Document
    blob: str
    """The digest of its stored text."""
    chunking: Chunking
    origin: str = ""
    """``file`` or ``url`` for an ingested source that can be read again."""
    generation: str = ""
    """What the ids of a large document's chunks are made of, besides its id: those of two versions differ."""
    stamp: tuple[int, ...] = ()
    """The size, times and inode of the file when it was read; empty when they do not identify its content."""


class StagedChunks(msgspec.Struct, frozen=True):
    """A note about chunks that no manifest names yet, or any longer, and since when. They are removed if that stays so."""

    document: str
    generation: str
    chunks: int
    time: float


class ChunkPlace(msgspec.Struct, frozen=True, array_like=True):
    """The place of a chunk in its document, as stored in its record."""

    start: int
    end: int
    page: int | None
    last_page: int | None
    lead: int
    """The characters of the record's text before the chunk's own."""
    headings: tuple[str, ...]


class DocumentStore:
    """Stores the documents of one space: each with its manifest, text, chunks and vectors, as a whole."""

    def __init__(
        self,
        backend: Backend,
        space: Space,
        *,
        embedder: Embedder | None,
        clock: Callable[[], datetime],
        notify: Callable[[Space], None] = lambda space: None,
        wanted_embedder: WantedEmbedder | None = None,
    ) -> None:
        self.backend = backend
        self.space = space
        self.clock = clock
        self.vectors = ChunkVectors(backend, space, embedder, wanted_embedder)
        self._notify = notify
        self._gate = Gate()

    # Reading

    def manifest(self, id_: str) -> Manifest | None:
        """The manifest of a document, or None."""
        entry = self.backend.kv.get(self.space, _key(id_))
        return None if entry is None else msgspec.convert(entry.value, Manifest)

    def required(self, id_: str) -> Manifest:
        """The manifest of a document. Raises ``NotFound``."""
        found = self.manifest(id_)
        if found is None:
            raise NotFound(f"there is no document {shown(id_)} in {self.space!r}")
        return found

    def manifests(self) -> Iterator[Manifest]:
        """All manifests, by document id."""
        where = id_begins_with(_MANIFEST)
        kv = self.backend.kv
        entries = paged(lambda cursor: kv.scan(self.space, where=where, limit=_PAGE, cursor=cursor))
        return (msgspec.convert(entry.value, Manifest) for entry in entries)

    def count(self) -> tuple[int, int]:
        """The numbers of documents and chunks."""
        documents = self.backend.kv.count(self.space, where=id_begins_with(_MANIFEST))
        return documents, self.backend.index.info(self.space).records

    def parsed(self, manifest: Manifest) -> Parsed:
        """A document as it was read. Raises ``NotFound`` when it was replaced or removed meanwhile."""
        kept = self.backend.blobs.get(self.space, manifest.blob)
        return msgspec.msgpack.decode(kept, type=tuple[str, Parsed])[1]

    # Export and import

    @property
    def embedder_name(self) -> str | None:
        """The name of the embedder that made the vectors."""
        entry = self.backend.kv.get(inner_space(self.space), MARK)
        own = None if self.vectors.embedder is None else self.vectors.embedder.name
        return own if entry is None else str(entry.value)

    def adopt_embedder(self, name: str) -> bool:
        """Whether vectors of this embedder may be stored here; the first ones decide."""
        if self.embedder_name is None:
            self.backend.kv.put(inner_space(self.space), MARK, name)
        return self.embedder_name == name

    def vectors_of(self, manifest: Manifest) -> Iterator[tuple[str, Vector]]:
        """The vectors of a document's chunks, each with the key of its text."""
        ids = chunk_ids(manifest)
        for start in range(0, len(ids), _PAGE):
            for record in self.backend.index.get(self.space, ids[start : start + _PAGE]):
                if record.vector is not None:
                    yield text_key(record.text), record.vector

    def restore(
        self,
        document: Document,
        parsed: Parsed,
        chunking: Chunking,
        *,
        origin: str = "",
        vectors: Mapping[str, Vector],
    ) -> bool:
        """Import a document, unless one with its id exists; returns whether it was stored.

        ``vectors`` are by the keys of their texts; a chunk without one is embedded later. Raises ``InvalidInput`` for a
        blank text.
        """
        if self.manifest(document.id) is not None:
            return False
        records = self._records(document, parsed, chunking)
        records = [replace(record, vector=vectors.get(text_key(record.text))) for record in records]
        given, staged = self._staged(document, Given(records, True, self.embedder_name))
        with self.backend.transaction():
            # Checked again inside the transaction.
            is_new = self.manifest(document.id) is None
            if is_new:
                self._write(document, parsed, chunking, given, staged, origin=origin)
        if not is_new:
            self._drop(staged)
            return False
        if self.vectors.pending:
            self._notify(self.space)
        return True

    # The chunking of the space

    def chunking(self) -> Chunking | None:
        """The chunking that was last chosen for the space, or None."""
        entry = self.backend.kv.get(self.space, _CHUNKING)
        return None if entry is None else msgspec.convert(entry.value, Chunking)

    def keep_chunking(self, chunking: Chunking) -> None:
        """Use this chunking from now on."""
        self.backend.kv.put(self.space, _CHUNKING, msgspec.to_builtins(chunking))

    # Changes

    def notify(self) -> None:
        """Notify the worker that vectors are pending."""
        self._notify(self.space)

    def put(
        self,
        document: Document,
        parsed: Parsed,
        chunking: Chunking,
        *,
        origin: str = "",
        stamp: tuple[int, ...] = (),
        embed: bool = True,
    ) -> tuple[Document, bool]:
        """Store a document in place of the one with its id, in one transaction; True when no vector is pending.

        Without ``embed`` all vectors stay pending. Raises ``InvalidInput`` for a blank text.
        """
        records = self._records(document, parsed, chunking)
        given = Given(records, self.vectors.embedder is None, None)
        if embed:
            known = self.manifest(document.id)
            given = self.vectors.given(records, () if known is None else chunk_ids(known))
        given, staged = self._staged(document, given)
        with self.backend.transaction():
            document, left = self._write(document, parsed, chunking, given, staged, origin=origin, stamp=stamp)
        self._drop(left)
        if not given.whole:
            self._notify(self.space)
        return document, given.whole

    def _write(
        self,
        document: Document,
        parsed: Parsed,
        chunking: Chunking,
        given: Given,
        staged: StagedChunks | None,
        *,
        origin: str,
        stamp: tuple[int, ...] = (),
    ) -> tuple[Document, StagedChunks | None]:
        """Store the parts of a document, and note which chunks are left to remove. Part of the caller's transaction."""
        document = replace(document, chunks=len(given.records))
        before = self.manifest(document.id)
        blob = self.backend.blobs.put(self.space, msgspec.msgpack.encode((document.id, parsed)))
        generation = "" if staged is None else staged.generation
        manifest = Manifest(
            document=document, blob=blob, chunking=chunking, origin=origin, generation=generation, stamp=stamp
        )
        left = None if before is None else self._clear(before, manifest)
        if staged is None:
            self.vectors.store(given.records, given.model)
        else:
            self.backend.kv.delete(self.space, _STAGED + generation)
        self.backend.kv.put(self.space, _key(document.id), msgspec.to_builtins(manifest))
        return document, left

    # Chunks of large documents

    def _staged(self, document: Document, given: Given) -> tuple[Given, StagedChunks | None]:
        """Store the chunks of a large document before its manifest, in short transactions, and note that."""
        if len(given.records) <= MOST_AT_ONCE:
            return given, None
        note = self._note(document.id, new_id(), len(given.records))
        ids = _chunk_ids(note.document, note.chunks, note.generation)
        records = [replace(record, id=id_) for record, id_ in zip(given.records, ids, strict=True)]
        try:
            for start in range(0, len(records), _STAGED_AT_ONCE):
                with self.backend.transaction():
                    self.vectors.store(records[start : start + _STAGED_AT_ONCE], given.model)
        except BaseException:
            with suppress(MemwellError):
                self._drop(note)
            raise
        return given._replace(records=records), note

    def _note(self, document: str, generation: str, chunks: int) -> StagedChunks:
        note = StagedChunks(document, generation, chunks, self.clock().timestamp())
        self.backend.kv.put(self.space, _STAGED + generation, msgspec.to_builtins(note))
        return note

    def _drop(self, note: StagedChunks | None) -> None:
        """Remove chunks that no manifest names, in short transactions."""
        if note is None:
            return
        ids = _chunk_ids(note.document, note.chunks, note.generation)
        for start in range(0, len(ids), _STAGED_AT_ONCE):
            self.backend.index.delete(self.space, ids[start : start + _STAGED_AT_ONCE])
        self.backend.kv.delete(self.space, _STAGED + note.generation)

    def _drop_abandoned(self, older_s: float) -> None:
        """Remove the chunks of documents whose process was killed before the manifest was stored."""
        where, latest = id_begins_with(_STAGED), self.clock().timestamp() - older_s
        kv = self.backend.kv
        for entry in list(paged(lambda cursor: kv.scan(self.space, where=where, limit=_PAGE, cursor=cursor))):
            note = msgspec.convert(entry.value, StagedChunks)
            if note.time <= latest:
                self._drop(note)

    def restamp(self, manifest: Manifest, stamp: tuple[int, ...]) -> None:
        """Store new times of a file whose content is the same, unless the document has changed meanwhile."""
        entry = self.backend.kv.get(self.space, _key(manifest.document.id))
        if entry is not None and msgspec.convert(entry.value, Manifest) == manifest:
            renewed = msgspec.to_builtins(replace(manifest, stamp=stamp))
            self.backend.kv.put(self.space, _key(manifest.document.id), renewed, expect=entry.version)

    def remove(self, ids: Iterable[str]) -> int:
        """Remove documents; returns how many existed. ``scrub`` removes their traces from the files."""
        removed = 0
        for id_ in dict.fromkeys(ids):
            if self.manifest(id_) is not None:
                with self.backend.transaction():
                    is_gone, left = self._remove(id_)
                    note_erasure(self.backend)
                removed += is_gone
                self._drop(left)
        return removed

    def _remove(self, id_: str) -> tuple[bool, StagedChunks | None]:
        # Read again: the document may have been replaced.
        manifest = self.manifest(id_)
        if manifest is None:
            return False, None
        left = self._remove_chunks(manifest)
        self.backend.blobs.delete(self.space, manifest.blob)
        return self.backend.kv.delete(self.space, _key(id_)), left

    def _remove_chunks(self, manifest: Manifest) -> StagedChunks | None:
        """Remove the chunks of a document; of a large one only a note, which is returned."""
        document = manifest.document
        if document.chunks > MOST_AT_ONCE and manifest.generation:
            return self._note(document.id, manifest.generation, document.chunks)
        self.backend.index.delete(self.space, chunk_ids(manifest))
        return None

    def scrub(self, *, wait: bool = False) -> None:
        """Remove the traces of removed documents from the store's files, at once with ``wait``."""
        self._drop_abandoned(_ABANDONED_S)
        self.vectors.drop_notes()
        self._scrub(wait=wait)

    def _scrub(self, *, wait: bool) -> None:
        # What is removed in several steps is noted again after the last.
        if not scrubbed(self.backend, note_erasure(self.backend), wait=wait):
            self._notify(SCRUBS)

    def clear(self, *, wait: bool = False) -> int:
        """Remove all documents and notes; returns how many documents existed."""
        removed = self.remove([manifest.document.id for manifest in self.manifests()])
        self._drop_abandoned(0.0)
        self.backend.kv.delete(self.space, _CHUNKING)
        self.vectors.clear()
        self._scrub(wait=wait)
        return removed

    def _clear(self, before: Manifest, after: Manifest) -> StagedChunks | None:
        """Remove the parts of a document that its next version does not overwrite; returns a note of what is left."""
        if before.blob != after.blob:
            self.backend.blobs.delete(self.space, before.blob)
        if before.generation != after.generation:
            return self._remove_chunks(before)
        self.backend.index.delete(self.space, chunk_ids(before)[after.document.chunks :])
        return None

    # Chunks

    def _records(self, document: Document, parsed: Parsed, chunking: Chunking) -> list[Record]:
        """The chunks of a document. Raises ``InvalidInput`` when it has no text."""
        cut = chunks(parsed, chunking)
        if not cut:
            raise InvalidInput(f"the document {shown(document.source or document.id)} has no text")
        name = document.title or _name_of(document.source)
        key = _chunk_key(document.id)
        return [self._record(document, parsed.text[one.start : one.end], one, name, key) for one in cut]

    def _record(self, document: Document, text: str, chunk: Chunk, name: str, key: str) -> Record:
        lead = _lead(name, chunk.headings)
        place = ChunkPlace(chunk.start, chunk.end, chunk.page, chunk.last_page, len(lead), chunk.headings)
        traits = Traits(
            session=document.id,
            position=chunk.ordinal,
            trust="document",
            flags=self._gate.judge(text, trust="document").flags,
        )
        own = {**document.metadata, "document": document.id, "chunk": msgspec.to_builtins(place)}
        return Record(
            text=lead + text,
            space=self.space,
            id=f"{key}-{chunk.ordinal}",
            kind=KIND,
            time=_NO_TIME,
            metadata=with_traits(own, traits),
        )


def _key(id_: str) -> str:
    return inner_key(_MANIFEST, id_)


def _chunk_key(id_: str, generation: str = "") -> str:
    """The prefix of the ids of a document's chunks. It is no readable text, and of fixed length."""
    return blake2b(id_.encode(), digest_size=16, key=generation.encode()).hexdigest()


def _chunk_ids(document: str, chunks: int, generation: str) -> list[str]:
    key = _chunk_key(document, generation)
    return [f"{key}-{number}" for number in range(chunks)]


def chunk_ids(manifest: Manifest) -> list[str]:
    """The ids of a document's chunks."""
    return _chunk_ids(manifest.document.id, manifest.document.chunks, manifest.generation)


def chunk_key(manifest: Manifest) -> str:
    """The prefix of the ids of a document's chunks. Others with its name belong to another version of it."""
    return _chunk_key(manifest.document.id, manifest.generation)


def text_key(text: str) -> str:
    """The key of an exported vector: it identifies the exact text it was made of."""
    return blake2b(text.encode(), digest_size=12).hexdigest()


def _lead(name: str, headings: Sequence[str]) -> str:
    """A line before a chunk that only the index sees: the title and the headings above it."""
    steps = [name] if name and name not in headings[:1] else []
    line = " · ".join((*steps, *headings))
    return f"{line[-_LONGEST_LEAD:]}\n" if line else ""


def _name_of(source: str) -> str:
    """The name of a file as words; empty for an address."""
    return "" if "://" in source else PurePath(source).stem.replace("_", " ").replace("-", " ")


def checked_metadata(metadata: object) -> dict[str, Any]:
    """The user's metadata. Raises ``InvalidInput`` for a key that is the shelf's own."""
    plain = check_metadata({} if metadata is None else metadata)
    taken = [key for key in OWN_KEYS if key in plain]
    if taken:
        raise InvalidInput(f"metadata must not have the key {shown(taken[0])}: it says where a chunk stands")
    return plain


def own_part(metadata: dict[str, Any]) -> dict[str, Any]:
    """The user's part of the metadata of a chunk or a file."""
    return {key: value for key, value in metadata.items() if key not in OWN_KEYS}


def checked_parsed(parsed: Parsed) -> Parsed:
    """The document, if any store can keep its text. Raises ``InvalidInput`` otherwise."""
    check_text(parsed.text, "a document's text")
    check_text(parsed.title, "a title")
    return parsed
