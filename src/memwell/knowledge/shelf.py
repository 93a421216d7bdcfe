"""Where documents stand: each with its text, its chunks and their vectors, put there and taken away as a whole.

A document is a *manifest* (what is known of it), its text as it was read (in a blob, so that a span can be shown and the
text cut anew), and its chunks: records, found by words and by vectors as memories are. One transaction changes all three.
Vectors that could not be made stand in a journal as owed, the same that memories have.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import InvalidInput, ModelError, NotFound
from memwell.filters import id_begins_with
from memwell.knowledge.chunking import Chunk, Chunking, chunks
from memwell.knowledge.documents import Document, Parsed
from memwell.longterm.embedding import MARK, Makers, Wish
from memwell.longterm.gate import Gate
from memwell.longterm.indexing import BATCH, DEAD, Indexer
from memwell.longterm.journal import MARKS, inner_key, inner_space, reminder
from memwell.longterm.traits import KEY, Traits, with_traits
from memwell.models.ports import Embedder
from memwell.records import Record, Space, Vector, paged
from memwell.storage.protocols import Backend
from memwell.values import check_metadata, check_text, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The vectors of chunks: made when a document is put there, or noted as owed and made later.


_log = logging.getLogger("memwell.knowledge")

MOST_AT_ONCE = 512
"""A document of more chunks is stored before its vectors are made, so that no work of minutes hangs on one transaction."""

_PAGE = 500


class Given(NamedTuple):
    """Chunks with their vectors, whether none is left owed, and the name of the model that made them."""

    records: list[Record]
    whole: bool
    model: str | None


class Vectors:
    """The vectors of the chunks of one space."""

    def __init__(self, backend: Backend, space: Space, embedder: Embedder | None, wish: Wish | None = None) -> None:
        self._backend = backend
        self._space = space
        self._inner = inner_space(space)
        self.embedder = embedder
        self._wish = wish or Wish.made_now()
        self._indexer = self._fresh()

    @property
    def makers(self) -> Makers:
        """Who makes vectors of the kind that is there."""
        return self._indexer.makers

    @property
    def owed(self) -> int:
        """How many are still to be made."""
        return max(self._indexer.journal.owed().vectors, self._indexer.reembedding.left())

    def given(self, records: list[Record], before: Iterable[str]) -> Given:
        """Chunks with their vectors: those that the same text had in the chunks ``before``, and new ones."""
        if self.embedder is None:
            return Given(records, True, None)
        # Asked before anything is read: when another takes over meanwhile, it is noticed at the storing.
        model = self.makers.whose()
        maker = self.makers.maker_of(model)
        if maker is None:
            return Given(records, False, None)
        known = {one.text: one.vector for one in self._backend.index.get(self._space, before)}
        records = [replace(one, vector=known[one.text]) if one.text in known else one for one in records]
        missing = [record for record in records if record.vector is None]
        texts = [Indexer.embedded_text(record) for record in missing]
        rows = self._rows(maker, texts) if len(missing) <= MOST_AT_ONCE else None
        if rows is None:
            return Given(records, False, maker.name)
        made = {record.id: row for record, row in zip(missing, rows, strict=True) if row.any()}
        records = [replace(one, vector=made[one.id]) if one.id in made else one for one in records]
        return Given(records, True, maker.name)

    def _fresh(self) -> Indexer:
        return Indexer(self._backend, self._space, embedder=self.embedder, wish=self._wish)

    def _rows(self, maker: Embedder, texts: Sequence[str]) -> list[NDArray[Any]] | None:
        """The vectors of texts, or None when the embedder fails: words work without them, and they are tried again."""
        rows: list[NDArray[Any]] = []
        try:
            for start in range(0, len(texts), BATCH):
                rows += list(maker.embed(texts[start : start + BATCH]))
        except ModelError as error:
            _log.warning("the embedder %s failed; words alone are searched meanwhile: %s", maker.name, error)
            return None
        return rows

    def store(self, records: Sequence[Record], model: str | None) -> None:
        """Store chunks with vectors of a model, and note which are owed theirs. Part of the caller's transaction."""
        if model is not None and not self.makers.claim(model):
            # Another took over meanwhile, and vectors of two models do not belong together.
            records = [replace(record, vector=None) for record in records]
        self._backend.index.upsert(records)
        if self.embedder is not None:
            self._owe([record.id for record in records if record.vector is None])

    def _owe(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _PAGE):
            reminders = [reminder(id_) for id_ in ids[start : start + _PAGE]]
            self._indexer.journal.write(reminders)

    def settle(self, progress: Callable[[int, int | None], None] | None = None, *, tries: int = 1) -> int:
        """Make the vectors that are owed; how many still are, because the embedder fails. A text that it cannot take is
        set aside after some tries.
        """
        if self.embedder is None:
            return 0
        total = self.owed if progress is not None else 0
        for _ in range(tries):
            while self._indexer.work():
                if progress is not None:
                    progress(max(total - self.owed, 0), total)
            if not self.owed:
                break
        return self.owed

    def owe_missing(self) -> None:
        """Note every chunk without a vector as owed one: those put there while there was no embedder."""
        index = self._backend.index
        info = index.info(self._space)
        if self.embedder is None or info.vectors >= info.records or self.owed:
            return
        aside = set(self._set_aside().values())
        stored = paged(lambda cursor: index.scan(self._space, limit=_PAGE, cursor=cursor))
        self._owe([record.id for record in stored if record.vector is None and record.id not in aside])

    def _set_aside(self) -> dict[str, str]:
        """The chunks that could not be embedded, by the keys of the notes that say so."""
        where = id_begins_with(DEAD)
        notes = paged(lambda cursor: self._backend.kv.scan(self._inner, where=where, limit=_PAGE, cursor=cursor))
        return {note.key: cast("dict[str, str]", note.value)["id"] for note in notes}

    def drop_notes(self) -> None:
        """Notes of chunks that are gone go too."""
        notes = self._set_aside()
        there = {record.id for record in self._backend.index.get(self._space, list(notes.values()))}
        for key, id_ in notes.items():
            if id_ not in there:
                self._backend.kv.delete(self._inner, key)

    def clear(self) -> None:
        """Forget all that was noted, and whose vectors they were."""
        with self._backend.transaction():
            for entry in list(paged(lambda cursor: self._backend.kv.scan(self._inner, limit=_PAGE, cursor=cursor))):
                if entry.key != MARKS:
                    self._backend.kv.delete(self._inner, entry.key)
            self._indexer.journal.finish()
        self._indexer = self._fresh()


KIND = "chunk"
OWN_KEYS = ("document", "chunk", KEY)
"""Keys of a chunk's metadata that say where it stands, and that a user's metadata may not have."""

_MANIFEST = "document/"
_CHUNKING = "chunking"
_LONGEST_LEAD = 240
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A chunk has no time of its own: the day on which it was taken in must not be among the words it is found by."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A document and what the shelf notes beside it."""

    document: Document
    blob: str
    """The digest of its kept text."""
    chunking: Chunking
    origin: str = ""
    """``file`` or ``url`` for what was ingested and may be looked at again."""
    stamp: tuple[int, ...] = ()
    """What told the file's state when it was read; empty when that says nothing of its content."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a chunk stands in its document, as its record carries it."""

    start: int
    end: int
    page: int | None
    last_page: int | None
    lead: int
    """How many characters of the record's text stand in front of the chunk's own."""
    headings: tuple[str, ...]


class Shelf:
    """The documents of one space."""

    def __init__(
        self,
        backend: Backend,
        space: Space,
        *,
        embedder: Embedder | None,
        clock: Callable[[], datetime],
        told: Callable[[Space], None] = lambda space: None,
        wish: Wish | None = None,
    ) -> None:
        self.backend = backend
        self.space = space
        self.clock = clock
        self.vectors = Vectors(backend, space, embedder, wish)
        self.uncache: Callable[[list[str], list[str]], int] | None = None
        self._told = told
        self._gate = Gate()

    # Reading

    def manifest(self, id_: str) -> Manifest | None:
        """What is known of a document, or None."""
        entry = self.backend.kv.get(self.space, _key(id_))
        return None if entry is None else msgspec.convert(entry.value, Manifest)

    def required(self, id_: str) -> Manifest:
        """The same. Raises ``NotFound`` when there is no such document."""
        found = self.manifest(id_)
        if found is None:
            raise NotFound(f"there is no document {shown(id_)} in {self.space!r}")
        return found

    def manifests(self) -> Iterator[Manifest]:
        """All of them, by their ids."""
        where = id_begins_with(_MANIFEST)
        kv = self.backend.kv
        entries = paged(lambda cursor: kv.scan(self.space, where=where, limit=_PAGE, cursor=cursor))
        return (msgspec.convert(entry.value, Manifest) for entry in entries)

    def count(self) -> tuple[int, int]:
        """How many documents and how many chunks there are."""
        documents = self.backend.kv.count(self.space, where=id_begins_with(_MANIFEST))
        return documents, self.backend.index.info(self.space).records

    def parsed(self, manifest: Manifest) -> Parsed:
        """A document as it was read. Raises ``NotFound`` when it was replaced or removed meanwhile."""
        kept = self.backend.blobs.get(self.space, manifest.blob)
        return msgspec.msgpack.decode(kept, type=tuple[str, Parsed])[1]

    # Moving out and in

    @property
    def embedder_name(self) -> str | None:
        """Whose vectors the chunks carry."""
        entry = self.backend.kv.get(inner_space(self.space), MARK)
        own = None if self.vectors.embedder is None else self.vectors.embedder.name
        return own if entry is None else str(entry.value)

    def adopt_embedder(self, name: str) -> bool:
        """Whether vectors of this embedder may be stored here; the first to come say whose they are."""
        if self.embedder_name is None:
            self.backend.kv.put(inner_space(self.space), MARK, name)
        return self.embedder_name == name

    def vectors_of(self, manifest: Manifest) -> Iterator[tuple[str, Vector]]:
        """The vectors of a document's chunks, each with the key of the text that it is of."""
        ids = _chunk_ids(manifest)
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
        """Put a document back as it was elsewhere, unless one with its id is here; whether it was put.

        ``vectors`` are by the keys of their texts; a chunk that finds none is owed its own. Raises ``InvalidInput`` for a
        text that is nothing but white space.
        """
        if self.manifest(document.id) is not None:
            return False
        records = self._records(document, parsed, chunks(parsed, chunking))
        if not records:
            raise InvalidInput(f"the document {shown(document.source or document.id)} has no text")
        records = [replace(record, vector=vectors.get(text_key(record.text))) for record in records]
        with self.backend.transaction():
            # Asked again: somebody else may have put it there meanwhile.
            if self.manifest(document.id) is not None:
                return False
            self._write(document, parsed, chunking, Given(records, True, self.embedder_name), origin=origin)
        if self.vectors.owed:
            self._told(self.space)
        return True

    # How documents are cut when nobody says

    def chunking(self) -> Chunking | None:
        """How the documents of the space were last cut on purpose, or None."""
        entry = self.backend.kv.get(self.space, _CHUNKING)
        return None if entry is None else msgspec.convert(entry.value, Chunking)

    def keep_chunking(self, chunking: Chunking) -> None:
        """Have documents cut so from now on."""
        self.backend.kv.put(self.space, _CHUNKING, msgspec.to_builtins(chunking))

    # Changing

    def tell(self) -> None:
        """Tell whoever works that vectors are owed."""
        self._told(self.space)

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
        """Store a document in place of the one with its id, all of it or nothing; True when none of its vectors is owed.

        Without ``embed`` all vectors are left owed. Raises ``InvalidInput`` for a text that is nothing but white space.
        """
        records = self._records(document, parsed, chunks(parsed, chunking))
        if not records:
            raise InvalidInput(f"the document {shown(document.source or document.id)} has no text")
        given = Given(records, self.vectors.embedder is None, None)
        if embed:
            given = self.vectors.given(records, self._chunks_of(document.id))
        with self.backend.transaction():
            document = self._write(document, parsed, chunking, given, origin=origin, stamp=stamp)
        if not given.whole:
            self._told(self.space)
        return document, given.whole

    def _write(
        self,
        document: Document,
        parsed: Parsed,
        chunking: Chunking,
        given: Given,
        *,
        origin: str,
        stamp: tuple[int, ...] = (),
    ) -> Document:
        """Store all that a document is. Part of the caller's transaction."""
        document = replace(document, chunks=len(given.records))
        before = self.manifest(document.id)
        blob = self.backend.blobs.put(self.space, msgspec.msgpack.encode((document.id, parsed)))
        manifest = Manifest(document=document, blob=blob, chunking=chunking, origin=origin, stamp=stamp)
        if before is not None:
            self._clear(before, manifest)
        self.vectors.store(given.records, given.model)
        self.backend.kv.put(self.space, _key(document.id), msgspec.to_builtins(manifest))
        return document

    def restamp(self, manifest: Manifest, stamp: tuple[int, ...]) -> None:
        """Note that a file is as it was, though its times are not; unless the document has changed meanwhile."""
        entry = self.backend.kv.get(self.space, _key(manifest.document.id))
        if entry is not None and msgspec.convert(entry.value, Manifest) == manifest:
            renewed = msgspec.to_builtins(replace(manifest, stamp=stamp))
            self.backend.kv.put(self.space, _key(manifest.document.id), renewed, expect=entry.version)

    def remove(self, ids: Iterable[str]) -> int:
        """Take documents away for good; how many there were. Their traces in the files go with ``scrub``."""
        removed = 0
        for id_ in dict.fromkeys(ids):
            manifest = self.manifest(id_)
            if manifest is not None:
                self._forget_texts(manifest)
                with self.backend.transaction():
                    removed += self._remove(id_)
        return removed

    def _remove(self, id_: str) -> bool:
        # Read again: somebody else may have put another in its place.
        manifest = self.manifest(id_)
        if manifest is None:
            return False
        self.backend.index.delete(self.space, _chunk_ids(manifest))
        self.backend.blobs.delete(self.space, manifest.blob)
        return self.backend.kv.delete(self.space, _key(id_))

    def scrub(self) -> None:
        """Take what was removed out of the store's files."""
        self.vectors.drop_notes()
        self.backend.scrub()

    def clear(self) -> int:
        """Take everything away, and what was noted of it; how many documents there were."""
        removed = self.remove([manifest.document.id for manifest in self.manifests()])
        self.backend.kv.delete(self.space, _CHUNKING)
        self.vectors.clear()
        self.backend.scrub()
        return removed

    def _clear(self, before: Manifest, after: Manifest) -> None:
        """Take away what of a document its next version does not write over."""
        self.backend.index.delete(self.space, _chunk_ids(before, since=after.document.chunks))
        if before.blob != after.blob:
            self.backend.blobs.delete(self.space, before.blob)

    def _forget_texts(self, manifest: Manifest) -> None:
        """Have caches of vectors drop what they hold of a document."""
        if self.uncache is not None:
            ids = list(_chunk_ids(manifest))
            self.uncache(ids, [record.text for record in self.backend.index.get(self.space, ids)])

    # Chunks

    def _chunks_of(self, id_: str) -> list[str]:
        manifest = self.manifest(id_)
        return [] if manifest is None else _chunk_ids(manifest)

    def _records(self, document: Document, parsed: Parsed, cut: Sequence[Chunk]) -> list[Record]:
        name = document.title or _name_of(document.source)
        key = _chunk_key(document.id)
        return [self._record(document, parsed.text[one.start : one.end], one, name, key) for one in cut]

    def _record(self, document: Document, text: str, chunk: Chunk, name: str, key: str) -> Record:
        lead = _lead(name, chunk.headings)
        place = Place(chunk.start, chunk.end, chunk.page, chunk.last_page, len(lead), chunk.headings)
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


def _chunk_key(id_: str) -> str:
    """What the ids of a document's chunks begin with. Not the document's own: it may be long, or say something."""
    return blake2b(id_.encode(), digest_size=16).hexdigest()


def _chunk_ids(manifest: Manifest, *, since: int = 0) -> list[str]:
    key = _chunk_key(manifest.document.id)
    return [f"{key}-{number}" for number in range(since, manifest.document.chunks)]


def text_key(text: str) -> str:
    """What a vector is kept by while it travels: it fits the very text it was made of, and no other."""
    return blake2b(text.encode(), digest_size=12).hexdigest()


def _lead(name: str, headings: Sequence[str]) -> str:
    """A line in front of a chunk for the index alone: the title and the headings it stands under."""
    steps = [name] if name and name not in headings[:1] else []
    line = " · ".join((*steps, *headings))
    return f"{line[-_LONGEST_LEAD:]}\n" if line else ""


def _name_of(source: str) -> str:
    """A file's name as words; an address says too much that is no word."""
    return "" if "://" in source else PurePath(source).stem.replace("_", " ").replace("-", " ")


def checked_metadata(metadata: object) -> dict[str, Any]:
    """The user's metadata. Raises ``InvalidInput`` for a key that is the shelf's own."""
    plain = check_metadata({} if metadata is None else metadata)
    taken = [key for key in OWN_KEYS if key in plain]
    if taken:
        raise InvalidInput(f"metadata must not have the key {shown(taken[0])}: it says where a chunk stands")
    return plain


def own_part(metadata: dict[str, Any]) -> dict[str, Any]:
    """The user's part of a chunk's or a file's metadata."""
    return {key: value for key, value in metadata.items() if key not in OWN_KEYS}


def checked_parsed(parsed: Parsed) -> Parsed:
    """A read document whose text any store can keep. Raises ``InvalidInput`` otherwise."""
    check_text(parsed.text, "a document's text")
    check_text(parsed.title, "a title")
    return parsed
