"""The journal of a space: what ``remember`` has stored durably and the index does not hold yet.

``remember`` appends here and returns. Processing an entry indexes its words first and its vector later; a mark for each
records how far it is. A mark moves in the same transaction as the work it stands for, and only from where it was read, so
each entry is processed once, by any process and after any crash. Entries that both marks have passed are deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from memwell._asyncify import AsyncContext
from memwell.errors import Conflict
from memwell.messages import Message
from memwell.records import Page, Record, Space, SpaceLike, Thread, as_space, paged
from memwell.storage import open_backend
from memwell.storage.protocols import Backend, Entry

MARKS = "journal"
_LONGEST = 900
_TRIES = 20
_KEPT = 512
"""Processed entries are deleted when there are this many, so that deleting is rare."""


def inner_space(space: Space) -> Space:
    """The space of memwell's own data about the memory of a space."""
    return space / "memwell"


def knowledge_space(space: SpaceLike) -> Space:
    """The space of the documents of a space."""
    return inner_space(as_space(space)) / "knowledge"


def inner_key(prefix: str, id_: str) -> str:
    """The key of data about a memory. A long id is replaced by its digest: a key is no longer than an id may be."""
    short = id_ if len(id_) <= _LONGEST else blake2b(id_.encode(errors="surrogatepass"), digest_size=32).hexdigest()
    # The length in front keeps an id from being a prefix of another's keys.
    return f"{prefix}{len(id_)}/{short}/"


class JournalMarks(msgspec.Struct, frozen=True):
    """How far the journal is processed: entries below ``indexed`` have their words, below ``embedded`` their vectors."""

    indexed: int = 0
    embedded: int = 0
    dropped: int = 0
    version: int = 0


class PendingWork(msgspec.Struct, frozen=True):
    """How many entries are waiting for their words, and how many for their vectors."""

    words: int
    vectors: int


class Journal:
    """The journal of one space."""

    def __init__(self, backend: Backend, space: Space) -> None:
        self._require = backend.require
        self._log = backend.log
        self._kv = backend.kv
        self._space = inner_space(space)
        self._thread = Thread(self._space, "journal")

    def write(self, entries: Sequence[Message]) -> list[Message]:
        """Store entries, all or none. Raises ``Conflict`` for an id that the journal holds already.

        Raises ``Unsupported`` on a store without records, where they could never be recalled.
        """
        self._require("records")
        return self._log.append(self._thread, list(entries))

    def write_new(self, entries: Sequence[Message]) -> None:
        """Store the entries that are not in the journal yet."""
        fresh = {entry.id: entry for entry in entries}
        for tries_left in reversed(range(_TRIES)):
            try:
                self.write(list(fresh.values()))
                return
            except Conflict:
                if not tries_left:
                    raise
            # An entry that was in the way may be processed and deleted by now: then it is tried again.
            for known in self._log.read(self._thread, ids=list(fresh)):
                del fresh[known.id]
            if not fresh:
                return

    def read(self, id_: str) -> Message | None:
        """The entry of this id, if it is in the journal."""
        return next(iter(self._log.read(self._thread, ids=[id_])), None)

    def marks(self) -> JournalMarks:
        """How far the journal is processed."""
        return marks_in(self._kv.get(self._space, MARKS))

    def after(self, index: int, most: int) -> list[Message]:
        """Up to ``most`` entries from ``index`` on."""
        return self._log.read(self._thread, after=index - 1 if index else None, first=most)

    def advance(self, marks: JournalMarks, *, indexed: int | None = None, embedded: int | None = None) -> None:
        """Advance the marks from where they were read. Raises ``Conflict`` when another process has moved them."""
        indexed = marks.indexed if indexed is None else indexed
        embedded = marks.embedded if embedded is None else embedded
        done, dropped = min(indexed, embedded), marks.dropped
        if done - dropped >= _KEPT:
            self._log.trim(self._thread, done)
            dropped = done
        self._kv.put(self._space, MARKS, [indexed, embedded, dropped], expect=marks.version)

    def pending(self) -> PendingWork:
        """What is still to be processed."""
        marks = self.marks()
        found = self._log.threads(self._space, ids=[self._thread.id]).items
        end = found[0].next if found else 0
        return PendingWork(end - marks.indexed, end - marks.embedded)

    def finish(self) -> None:
        """Count every entry as processed and delete them all. Call it inside a transaction.

        The marks are kept: a worker that has read them must not find a journal that starts again at 0.
        """
        marks = self.marks()
        end = marks.indexed + self.pending().words
        self.advance(marks, indexed=end, embedded=end)
        self.drop_done()

    def drop_done(self) -> None:
        """Delete every processed entry."""
        marks = self.marks()
        self._log.trim(self._thread, min(marks.indexed, marks.embedded))


def marks_in(entry: Entry | None) -> JournalMarks:
    """The marks of the entry ``MARKS``."""
    return JournalMarks() if entry is None else JournalMarks(*entry.value, version=entry.version)


# Entries that say that an indexed memory is waiting for its vector.

_BATCH = 200
SKIPPED = "without-vectors"


def pending_vector(id_: str) -> Message:
    """A journal entry: the vector of this memory is pending."""
    return Message(role="human", parts=(), metadata={"embed": id_})  # pyright: ignore[reportArgumentType]


def note_skipped(backend: Backend, space: Space) -> None:
    """Record that memories were processed without an embedder. Call it inside a transaction."""
    backend.kv.put(inner_space(space), SKIPPED, True)


def queue_skipped(backend: Backend, space: Space, journal: Journal) -> None:
    """If that was recorded, queue the vector of every memory that has none."""
    if backend.kv.get(inner_space(space), SKIPPED) is None:
        return
    with backend.transaction():
        stored = paged(lambda cursor: backend.index.scan(space, limit=_BATCH, cursor=cursor))
        journal.write([pending_vector(record.id) for record in stored if record.vector is None])
        backend.kv.delete(inner_space(space), SKIPPED)


# A read-only view of a store whose journal cannot be processed because the store cannot be written.

_PAGE = 500


def _refusal(space: Space) -> str:
    return (
        f"the store can only be read, and not all memories of {space!r} are indexed yet; "
        "open it once where it can be written"
    )


class ReadOnlyView(Backend):
    """A store as it would be with the journal of one space processed. It cannot be written."""

    def __init__(self, base: Backend, copy: Backend, space: Space) -> None:
        self._base = base
        self._copy = copy
        self.log = base.log
        self.blobs = base.blobs
        self.kv = copy.kv
        self.index = copy.index
        copy.seal(_refusal(space))

    @property
    def encrypted(self) -> bool:
        return self._base.encrypted

    def export_writer(self, path: Path) -> BinaryIO:
        return self._base.export_writer(path)

    def export_reader(self, path: Path) -> BinaryIO | None:
        return self._base.export_reader(path)

    @property
    def durable(self) -> bool:
        return False

    def transaction(self) -> AbstractContextManager[None]:
        return self._base.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return self._base.atransaction()

    def check(self) -> list[str]:
        return self._base.check()

    @property
    def scrubs_quickly(self) -> bool:
        return self._base.scrubs_quickly

    def scrub(self) -> bool:
        return self._base.scrub()

    def facts(self) -> dict[str, Any]:
        return self._base.facts()

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        return self._base.spaces(limit=limit, cursor=cursor)

    def seal(self, reason: str | None) -> None:
        self._base.seal(reason)

    def close(self) -> None:
        # The store itself is closed by the code that opened it.
        self._copy.close()


class ReadView:
    """The view through which a space is read: its store, or a read-only view when the store cannot be written."""

    def __init__(self, base: Backend, space: Space, journal: Journal) -> None:
        self._base = base
        self._space = space
        self._journal = journal
        self._state: tuple[int, int] | None = None
        self.view: Backend = base

    def is_fresh(self, marks: JournalMarks) -> bool:
        """Whether the read-only view holds all pending entries."""
        return self._state is not None and self._state == self._state_of(marks)

    def build(self, marks: JournalMarks, index: Callable[[Backend, Sequence[Message]], None]) -> None:
        """Copy the space into memory and index all pending entries since ``marks`` there."""
        state, start = self._state_of(marks), marks.indexed
        copy = open_backend("memory:")
        _copy_space(self._base, copy, self._space)
        while pending := self._journal.after(start, _PAGE):
            index(copy, pending)
            start = (pending[-1].index or 0) + 1
        self._state, self.view = state, ReadOnlyView(self._base, copy, self._space)

    def reset(self) -> None:
        """Read the store itself again: nothing is pending."""
        self._state, self.view = None, self._base

    def _state_of(self, marks: JournalMarks) -> tuple[int, int]:
        # Every change processes the journal first, so the space is unchanged as long as this is.
        return marks.version, self._journal.pending().words


def _copy_space(base: Backend, copy: Backend, space: Space) -> None:
    inner = inner_space(space)
    with copy.transaction():
        copy.kv.restore(space, list(paged(lambda cursor: base.kv.scan(space, limit=_PAGE, cursor=cursor))))
        entries = paged(lambda cursor: base.kv.scan(inner, limit=_PAGE, cursor=cursor))
        # Bytes are cached vectors, which are not read here.
        copy.kv.restore(inner, [entry for entry in entries if not isinstance(entry.value, bytes)])
        batch: list[Record] = []
        for record in paged(lambda cursor: base.index.scan(space, limit=_PAGE, cursor=cursor)):
            batch.append(record)
            if len(batch) >= _PAGE:
                copy.index.upsert(batch)
                batch = []
        copy.index.upsert(batch)
