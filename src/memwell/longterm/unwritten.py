"""What a store that can only be read would hold if its journal could be worked off.

Whoever remembered has been told that it is kept, so it must be found, also where nothing can be written down: in a folder
that is write-protected, on a disk that is read-only. One space is then copied into memory, and its journal is worked off
there. It costs a pass over the space, once, and only where work is owed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from memwell._asyncify import AsyncContext
from memwell.errors import ReadOnlyStore
from memwell.filters import FilterLike
from memwell.longterm.journal import Journal, Marks, inner_space
from memwell.messages import Message
from memwell.records import Hit, Page, Record, Space, Vector, paged
from memwell.storage import open_backend
from memwell.storage.protocols import Backend, Changes, Entry, IndexInfo, JSONValue, KeyValue, RecordIndex

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


__all__ = ["ReadAhead", "Reading"]
