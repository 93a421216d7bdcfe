"""What a memory was told, in order: durable at once, and worked off later.

``remember`` appends here and returns. From here the index is filled: first the words, then the vectors, each with a mark of
how far it has come. A mark moves in the same transaction as the work it stands for, and only from where it was read, so
work is done once, whoever does it and whenever it is killed. What both marks have passed is dropped from the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any, NoReturn

import msgspec

from memwell._asyncify import AsyncContext
from memwell.errors import Conflict, ReadOnlyStore
from memwell.filters import FilterLike
from memwell.messages import Message
from memwell.records import Hit, Page, Record, Space, SpaceLike, Thread, Vector, as_space, paged
from memwell.storage import open_backend
from memwell.storage.protocols import Backend, Changes, Entry, IndexInfo, JSONValue, KeyValue, RecordIndex

MARKS = "journal"
_LONGEST = 900
_KEPT = 512
"""Entries worked off stay until there are this many, so that dropping them is rare."""


def inner_space(space: Space) -> Space:
    """Where memwell keeps what it knows about the memory of a space."""
    return space / "memwell"


def knowledge_space(space: SpaceLike) -> Space:
    """Where the documents of a space are kept."""
    return inner_space(as_space(space)) / "knowledge"


def inner_key(prefix: str, id_: str) -> str:
    """The key of what is kept about a memory. A long id is digested: a key may be no longer than an id."""
    short = id_ if len(id_) <= _LONGEST else blake2b(id_.encode(errors="surrogatepass"), digest_size=32).hexdigest()
    # The length in front keeps an id from reaching into another's keys.
    return f"{prefix}{len(id_)}/{short}/"


class Marks(msgspec.Struct, frozen=True):
    """How far it has been worked off: entries below ``indexed`` have their words, below ``embedded`` their vectors."""

    indexed: int = 0
    embedded: int = 0
    dropped: int = 0
    version: int = 0


class Owed(msgspec.Struct, frozen=True):
    """How many entries still lack their words, and how many their vectors."""

    words: int
    vectors: int


class Journal:
    """The journal of one space."""

    def __init__(self, backend: Backend, space: Space) -> None:
        self._log = backend.log
        self._kv = backend.kv
        self._space = inner_space(space)
        self._thread = Thread(self._space, "journal")

    def write(self, entries: Sequence[Message]) -> list[Message]:
        """Store entries, all or none. Raises ``Conflict`` for an id that the journal holds already."""
        return self._log.append(self._thread, list(entries))

    def write_new(self, entries: Sequence[Message]) -> None:
        """Store those entries that the journal does not hold yet."""
        try:
            self.write(entries)
        except Conflict:
            known = {one.id for one in self._log.read(self._thread, ids=[entry.id for entry in entries])}
            fresh = {entry.id: entry for entry in entries if entry.id not in known}
            if len(fresh) == len(entries):
                raise
            if fresh:
                self.write(list(fresh.values()))

    def holds(self, id_: str) -> bool:
        """Whether an entry of this id is still here."""
        return bool(self._log.read(self._thread, ids=[id_]))

    def marks(self) -> Marks:
        """How far it has been worked off."""
        entry = self._kv.get(self._space, MARKS)
        return Marks() if entry is None else Marks(*entry.value, version=entry.version)

    def after(self, index: int, most: int) -> list[Message]:
        """The next entries from ``index`` on."""
        return (
            self._log.read(self._thread, after=index - 1, first=most)
            if index
            else self._log.read(self._thread, first=most)
        )

    def advance(self, marks: Marks, *, indexed: int | None = None, embedded: int | None = None) -> None:
        """Move marks on from where they were read. Raises ``Conflict`` when somebody else has moved them meanwhile."""
        indexed = marks.indexed if indexed is None else indexed
        embedded = marks.embedded if embedded is None else embedded
        done, dropped = min(indexed, embedded), marks.dropped
        if done - dropped >= _KEPT:
            self._log.trim(self._thread, done)
            dropped = done
        self._kv.put(self._space, MARKS, [indexed, embedded, dropped], expect=marks.version)

    def owed(self) -> Owed:
        """What is still to be done."""
        marks = self.marks()
        found = self._log.threads(self._space, ids=[self._thread.id]).items
        end = found[0].next if found else 0
        return Owed(end - marks.indexed, end - marks.embedded)

    def finish(self) -> None:
        """Count every entry as worked off, and drop them all, for good. Call it inside a transaction.

        The marks stay where they are: a worker that read them before must not find a journal that begins anew.
        """
        marks = self.marks()
        end = marks.indexed + self.owed().words
        self.advance(marks, indexed=end, embedded=end)
        self.drop_done()

    def drop_done(self) -> None:
        """Drop every entry that has been worked off, for good."""
        marks = self.marks()
        self._log.trim(self._thread, min(marks.indexed, marks.embedded))


# Reminders: entries of the journal that say that a memory which is indexed is owed its vector.


_BATCH = 200
_SKIPPED = "without-vectors"


def reminder(id_: str) -> Message:
    """An entry for the journal: the vector of a memory is owed."""
    return Message(role="human", parts=(), metadata={"embed": id_})  # pyright: ignore[reportArgumentType]


def note_skipped(backend: Backend, space: Space) -> None:
    """Note that somebody without an embedder worked memories off. Call it inside a transaction."""
    backend.kv.put(inner_space(space), _SKIPPED, True)


def make_up_for_skipped(backend: Backend, space: Space, journal: Journal) -> None:
    """Where that was noted, owe a vector to every memory of the space that has none."""
    if backend.kv.get(inner_space(space), _SKIPPED) is None:
        return
    with backend.transaction():
        journal.write([reminder(record.id) for record in _stored(backend, space) if record.vector is None])
        backend.kv.delete(inner_space(space), _SKIPPED)


def _stored(backend: Backend, space: Space) -> Iterator[Record]:
    return paged(lambda cursor: backend.index.scan(space, limit=_BATCH, cursor=cursor))


# What a store that can only be read would hold if its journal could be worked off.


_PAGE = 500


def _refuse(space: Space) -> NoReturn:
    raise ReadOnlyStore(
        f"the store can only be read, and not all memories of {space!r} are indexed yet; "
        "open it once where it can be written"
    )


class ReadAhead(Backend):
    """A store as it would be with the journal of one space worked off. Nothing can be written to it."""

    def __init__(self, base: Backend, copy: Backend, space: Space) -> None:
        self._base = base
        self._copy = copy
        self.log = base.log
        self.blobs = base.blobs
        self.kv = _Values(copy.kv, base.kv, inner_space(space))
        self.index = _Records(copy.index)

    @property
    def durable(self) -> bool:
        return False

    def transaction(self) -> AbstractContextManager[None]:
        return self._base.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return self._base.atransaction()

    def check(self) -> list[str]:
        return self._base.check()

    def scrub(self) -> None:
        self._base.scrub()

    def facts(self) -> dict[str, Any]:
        return self._base.facts()

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        return self._base.spaces(limit=limit, cursor=cursor)

    def seal(self, reason: str | None) -> None:
        self._base.seal(reason)

    def close(self) -> None:
        # The store below belongs to whoever opened it.
        self._copy.close()


class Reading:
    """Where a space is read: in its store, or ahead of a store that cannot be written."""

    def __init__(self, base: Backend, space: Space, journal: Journal) -> None:
        self._base = base
        self._space = space
        self._journal = journal
        self._state: tuple[int, int] | None = None
        self.view: Backend = base

    def is_ahead(self, marks: Marks) -> bool:
        """Whether all that is owed now is in the view already."""
        return self._state is not None and self._state == self._state_of(marks)

    def ahead(self, marks: Marks, index: Callable[[Backend, Sequence[Message]], None]) -> None:
        """Read the space into memory, and have all that is owed since ``marks`` indexed there, piece by piece."""
        state, start = self._state_of(marks), marks.indexed
        copy = open_backend("memory:")
        _copy_space(self._base, copy, self._space)
        while pending := self._journal.after(start, _PAGE):
            index(copy, pending)
            start = (pending[-1].index or 0) + 1
        self._state, self.view = state, ReadAhead(self._base, copy, self._space)

    def back(self) -> None:
        """Read in the store: nothing is owed there."""
        self._state, self.view = None, self._base

    def _state_of(self, marks: Marks) -> tuple[int, int]:
        # Whoever changes anything works the journal off first, so nothing changes while this stays.
        return marks.version, self._journal.owed().words


def _copy_space(base: Backend, copy: Backend, space: Space) -> None:
    inner = inner_space(space)
    with copy.transaction():
        for entry in paged(lambda cursor: base.kv.scan(inner, limit=_PAGE, cursor=cursor)):
            # Bytes are cached vectors, of which nothing is read here.
            if not isinstance(entry.value, bytes):
                copy.kv.put(inner, entry.key, entry.value)
        batch: list[Record] = []
        for record in paged(lambda cursor: base.index.scan(space, limit=_PAGE, cursor=cursor)):
            batch.append(record)
            if len(batch) >= _PAGE:
                copy.index.upsert(batch)
                batch = []
        copy.index.upsert(batch)


class _Values(KeyValue):
    """The notes about the space from the copy, everything else from the store."""

    def __init__(self, copy: KeyValue, base: KeyValue, inner: Space) -> None:
        self._copy = copy
        self._base = base
        self._inner = inner

    def _of(self, space: Space) -> KeyValue:
        return self._copy if space == self._inner else self._base

    def get(self, space: Space, key: str) -> Entry | None:
        return self._of(space).get(space, key)

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        return self._of(space).scan(space, where=where, limit=limit, cursor=cursor, skip=skip)

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        return self._of(space).count(space, where=where)

    def put(
        self,
        space: Space,
        key: str,
        value: JSONValue | bytes,
        *,
        ttl: float | None = None,
        expect: int | None = None,
    ) -> Entry:
        _refuse(space)

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        _refuse(space)

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        _refuse(space)


class _Records(RecordIndex):
    """The records of the copy."""

    def __init__(self, copy: RecordIndex) -> None:
        self._copy = copy

    def get(self, space: Space, ids: Iterable[str]) -> list[Record]:
        return self._copy.get(space, ids)

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Record]:
        return self._copy.scan(space, where=where, limit=limit, cursor=cursor, newest_first=newest_first)

    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        return self._copy.near(space, vector, limit=limit, where=where)

    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        return self._copy.match(space, text, limit=limit, where=where)

    def changes(self, space: Space, since: int | None = None) -> Changes:
        return self._copy.changes(space, since)

    def info(self, space: Space) -> IndexInfo:
        return self._copy.info(space)

    def upsert(self, records: Sequence[Record]) -> None:
        if records:
            _refuse(records[0].space)

    def delete(self, space: Space, ids: Iterable[str]) -> int:
        _refuse(space)

    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        _refuse(space)
