"""What a memory was told, in order: durable at once, and worked off later.

``remember`` appends here and returns. From here the index is filled: first the words, then the vectors, each with a mark of
how far it has come. A mark moves in the same transaction as the work it stands for, and only from where it was read, so
work is done once, whoever does it and whenever it is killed. What both marks have passed is dropped from the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from memwell.errors import Conflict
from memwell.messages import Message
from memwell.records import Space, SpaceLike, Thread, as_space
from memwell.storage.protocols import Backend

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


__all__ = ["MARKS", "Journal", "Marks", "Owed", "inner_key", "inner_space", "knowledge_space"]
