"""An index whose rows lie in a server that cannot search them: each process that searches a space holds a copy of it.

A copy is brought up to date from the server's record of changes before every question, so that writes of this and other
processes count at once. Copies are bounded in memory; the least recently searched go first. What is seen inside a
transaction may yet be undone and is never kept.
"""

from __future__ import annotations

import heapq
import sys
import threading
from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from memwell.errors import InvalidInput
from memwell.filters import Filter, FilterLike, as_filter, holds
from memwell.records import Hit, Page, Record, Space, Vector, as_vector, stored_record, unpack_half
from memwell.storage import arguments as given
from memwell.storage.protocols import Changes, RecordIndex
from memwell.storage.searching import Postings, asked_terms

if TYPE_CHECKING:
    from memwell.storage.vectors import Matrix

T = TypeVar("T")

_PER_RECORD = 300
"""What a record takes beside its text, its metadata and its vector: about 240 bytes for its objects, and what is around."""
_PER_TERM = 50
"""What a term of a record takes in the postings: about 44 bytes, and what is around."""
_PAGE = 1000


class Row(NamedTuple):
    """A stored record: its number, itself without its vector, and the vector as ``pack_half`` writes it."""

    number: int
    record: Record
    vector: bytes | None


class Delta(NamedTuple):
    """What became of the rows of a space since a state of it: ``Changes`` with the vectors as they are stored."""

    state: int | None
    whole: bool
    rows: list[Row]
    gone: list[int]


class _Mark(NamedTuple):
    """Where a copy is: states are in order only as long as it has not been loaded anew."""

    loads: int
    state: int | None


class SpaceCopy:
    """The rows of one space in memory, with what searches them. Whoever uses it holds ``lock``, and never waits then."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.loading = threading.Lock()
        self.mark = _Mark(0, None)
        self._records: dict[int, Record] = {}
        self._vectors: dict[int, bytes] = {}
        self._order: list[int] | None = None
        self._bytes = 0
        # Made when first needed: not every space is searched both ways.
        self._postings: Postings | None = None
        self._matrix: Matrix | None = None

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        terms = 0 if self._postings is None else self._postings.pairs * _PER_TERM
        return _PER_RECORD + self._bytes + terms + (0 if self._matrix is None else self._matrix.nbytes)

    # Keeping it true

    def take(self, seen: _Mark, delta: Delta) -> bool:
        """Take over what changed since ``seen``; False when the copy has been loaded anew meanwhile."""
        if delta.whole:
            # It may be older than what another thread has just loaded; then the next question goes on from there.
            self._clear()
            self._apply(delta)
            self.mark = _Mark(self.mark.loads + 1, delta.state)
            return True
        if seen.loads != self.mark.loads:
            return False
        # Another thread may be further already. All that changed between is in the delta too, so it fits any state.
        if delta.state is not None and (self.mark.state is None or delta.state > self.mark.state):
            self._apply(delta)
            self.mark = _Mark(self.mark.loads, delta.state)
        return True

    def fork(self, delta: Delta) -> SpaceCopy:
        """A copy with changes that others do not see, good for as long as this one's lock is held."""
        other = SpaceCopy()
        other._records, other._vectors = dict(self._records), dict(self._vectors)
        other._postings = None if self._postings is None else self._postings.fork()
        other._apply(delta)
        return other

    @classmethod
    def of(cls, delta: Delta) -> SpaceCopy:
        """A copy of all that a delta holds."""
        copy = cls()
        copy._apply(delta)
        return copy

    def _clear(self) -> None:
        self._records, self._vectors, self._order, self._bytes = {}, {}, None, 0
        self._postings = self._matrix = None

    def _apply(self, delta: Delta) -> None:
        self._order = None if delta.rows or delta.gone else self._order
        for number in (*delta.gone, *(row.number for row in delta.rows)):
            self._drop(number)
        for number, record, vector in delta.rows:
            self._records[number] = record
            if vector is not None:
                self._vectors[number] = vector
            if self._postings is not None:
                self._postings.add(number, record.text)
            self._bytes += _weight(record, vector)
        if self._matrix is not None and (delta.rows or delta.gone):
            self._move_matrix(self._matrix, delta)

    def _drop(self, number: int) -> None:
        record, vector = self._records.pop(number, None), self._vectors.pop(number, None)
        if record is None:
            return
        self._bytes -= _weight(record, vector)
        if self._postings is not None:
            self._postings.remove(number, record.text)

    def _move_matrix(self, matrix: Matrix, delta: Delta) -> None:
        if self._dimensions() != matrix.dimensions:
            self._matrix = None
            return
        changed: dict[int, bytes | None] = dict.fromkeys(delta.gone)
        changed.update({row.number: row.vector for row in delta.rows})
        matrix.apply(0, list(changed.items()))

    def _dimensions(self) -> int | None:
        return next((len(vector) // 2 for vector in self._vectors.values()), None)

    # Questions

    def scan(self, where: Filter | None, limit: int, cursor: str | None, *, newest_first: bool) -> Page[Record]:
        """One page of the records that satisfy the filter, with their vectors."""
        found: list[int] = []
        for number in self._behind(cursor, newest_first=newest_first):
            if where is None or holds(where, self._records[number]):
                found.append(number)
                if len(found) > limit:
                    break
        items = [given_out(self._records[number], self._vectors.get(number)) for number in found[:limit]]
        return Page(items, str(found[limit - 1]) if len(found) > limit else None)

    def _behind(self, cursor: str | None, *, newest_first: bool) -> Iterator[int]:
        if self._order is None:
            self._order = sorted(self._records)
        start, order = given.check_cursor(cursor), self._order
        if not newest_first:
            return (order[place] for place in range(bisect_right(order, start), len(order)))
        end = len(order) if cursor is None else bisect_left(order, start)
        return (order[place] for place in range(end - 1, -1, -1))

    def near(self, vector: Vector, limit: int, where: Filter | None) -> list[Hit]:
        """The records nearest to a vector. Raises ``InvalidInput`` for one of another size."""
        dimensions = self._dimensions()
        if dimensions is None:
            return []
        # Loaded when first needed: numpy takes longer to import than most stores to open.
        import numpy as np  # noqa: PLC0415

        from memwell.storage.vectors import Matrix, as_query  # noqa: PLC0415

        query = as_query(vector)
        if len(query) != dimensions:
            raise InvalidInput(f"a vector of {len(query)} dimensions cannot search a space of {dimensions}")
        if self._matrix is None:
            self._matrix = Matrix(dimensions, 0, self._vectors.items())
        allowed = None if where is None else np.array(self._satisfying(where), dtype=np.int64)
        found = self._matrix.view().nearest(query, limit, allowed)
        return [Hit(given_out(self._records[number]), score) for score, number in found]

    def _satisfying(self, where: Filter) -> list[int]:
        return [number for number in self._vectors if holds(where, self._records[number])]

    def match(self, terms: list[str], limit: int, where: Filter | None) -> list[Hit]:
        """The records that hold the terms, by BM25."""
        if self._postings is None:
            self._postings = Postings()
            for number, record in self._records.items():
                self._postings.add(number, record.text)
        scores = self._postings.scores(terms)
        kept = ((score, n) for n, score in scores.items() if where is None or holds(where, self._records[n]))
        return [Hit(given_out(self._records[number]), score) for score, number in heapq.nlargest(limit, kept)]


def given_out(record: Record, vector: bytes | None = None) -> Record:
    """A record for a caller to keep: what is done to it does not reach the copy."""
    unpacked = None if vector is None else unpack_half(vector)
    metadata = deepcopy(record.metadata)
    return stored_record(record.text, record.space, record.id, record.kind, record.time, metadata, unpacked)


def _weight(record: Record, vector: bytes | None) -> int:
    """About how many bytes a row takes in memory."""
    return _PER_RECORD + sys.getsizeof(record.text) + _size(record.metadata) + len(vector or b"")


def _size(value: Any) -> int:
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        inner = (*held, *held.values())
    elif isinstance(value, list):
        inner = cast("list[Any]", value)
    return sys.getsizeof(cast(object, value)) + sum(map(_size, inner))


class Copies:
    """The copies of recently searched spaces, bounded in memory. Safe for several threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[Space, SpaceCopy] = OrderedDict()
        self._sizes: dict[Space, int] = {}
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        """About how much memory they take."""
        return self._bytes

    def opened(self, space: Space) -> SpaceCopy:
        """The copy of a space, an empty one that is yet to be loaded when there is none."""
        with self._lock:
            copy = self._held.setdefault(space, SpaceCopy())
            self._held.move_to_end(space)
            return copy

    def known(self, space: Space) -> SpaceCopy | None:
        """The copy of a space, if there is one that was loaded."""
        with self._lock:
            copy = self._held.get(space)
            return None if copy is None or copy.mark.state is None else copy

    def measure(self, space: Space, copy: SpaceCopy) -> None:
        """Count what a copy takes now, and let the least recently used go if all together take too much."""
        size = copy.nbytes
        if self._sizes.get(space) == size:
            return
        with self._lock:
            if self._held.get(space) is copy:
                self._bytes += size - self._sizes.get(space, 0)
                self._sizes[space] = size
            # The one just used stays, however large: it is needed now.
            while self._bytes > self._most_bytes and len(self._held) > 1:
                gone, _ = self._held.popitem(last=False)
                self._bytes -= self._sizes.pop(gone, 0)

    def drop(self) -> None:
        """Let all go."""
        with self._lock:
            self._held.clear()
            self._sizes.clear()
            self._bytes = 0


class MirroredIndex(RecordIndex):
    """Searches copies. A subclass keeps the rows: it writes them, gives them out, and tells what changed.

    It provides ``upsert``, ``get``, ``delete``, ``revector``, ``info``, and the three methods below.
    """

    def __init__(self, *, most_bytes: int) -> None:
        self.copies = Copies(most_bytes)

    @abstractmethod
    def inside(self) -> bool:
        """Whether the caller is inside a transaction of its own."""

    @abstractmethod
    def delta(self, space: Space, since: int | None) -> Delta:
        """What changed after the state ``since``, or everything when that is None or too long ago; no state inside."""

    @abstractmethod
    def scan_rows(self, space: Space, start: int | None, limit: int, *, newest_first: bool) -> list[Row]:
        """At most so many rows with a number above ``start``, rising; or below it, falling; from the end when None."""

    def changes(self, space: Space, since: int | None = None) -> Changes:
        state, whole, rows, gone = self.delta(given.check_space(space), since)
        return Changes(state, whole, [(row.number, whole_record(row)) for row in rows], gone)

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Record]:
        given.check_space(space)
        given.check_limit(limit)
        start = given.check_cursor(cursor)
        wanted = as_filter(where)
        if wanted is not None and not self.inside():
            return self._ask(space, lambda copy: copy.scan(wanted, limit, cursor, newest_first=newest_first))
        first = None if cursor is None else start
        found = self._scanned(space, wanted, first, limit + 1, newest_first=newest_first)
        items = [whole_record(row) for row in found[:limit]]
        return Page(items, str(found[limit - 1].number) if len(found) > limit else None)

    def _scanned(
        self, space: Space, where: Filter | None, start: int | None, most: int, *, newest_first: bool
    ) -> list[Row]:
        """So many rows that satisfy the filter, straight from the store."""
        found: list[Row] = []
        while len(found) < most:
            size = min(most - len(found) if where is None else _PAGE, _PAGE)
            rows = self.scan_rows(space, start, size, newest_first=newest_first)
            found += [row for row in rows if where is None or holds(where, row.record)]
            if len(rows) < size:
                break
            start = rows[-1].number
        return found[:most]

    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        given.check_space(space)
        given.check_limit(limit)
        wanted = as_filter(where)
        # A vector that has no direction is refused also where there is nothing to search.
        query = as_vector(vector)
        return self._ask(space, lambda copy: copy.near(query, limit, wanted))

    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        given.check_space(space)
        terms = asked_terms(text)
        given.check_limit(limit)
        wanted = as_filter(where)
        return self._ask(space, lambda copy: copy.match(terms, limit, wanted)) if terms else []

    def _ask(self, space: Space, question: Callable[[SpaceCopy], T]) -> T:
        if self.inside():
            return self._ask_inside(space, question)
        copy = self.copies.opened(space)
        if copy.mark.state is None:
            with copy.loading:
                if copy.mark.state is None:
                    return self._follow(space, copy, question)
        return self._follow(space, copy, question)

    def _follow(self, space: Space, copy: SpaceCopy, question: Callable[[SpaceCopy], T]) -> T:
        while True:
            seen = copy.mark
            # Not under the lock: this may wait for a transaction, whose own questions need the copy.
            delta = self.delta(space, seen.state)
            with copy.lock:
                if copy.take(seen, delta):
                    try:
                        return question(copy)
                    finally:
                        self.copies.measure(space, copy)

    def _ask_inside(self, space: Space, question: Callable[[SpaceCopy], T]) -> T:
        known = self.copies.known(space)
        seen = _Mark(0, None) if known is None else known.mark
        delta = self.delta(space, seen.state)
        if known is not None and not delta.whole:
            with known.lock:
                if known.mark.loads == seen.loads:
                    answer = question(known.fork(delta) if delta.rows or delta.gone else known)
                    self.copies.measure(space, known)
                    return answer
        return question(SpaceCopy.of(delta if delta.whole else self.delta(space, None)))


def whole_record(row: Row) -> Record:
    """The record of a row with its vector."""
    record, vector = row.record, None if row.vector is None else unpack_half(row.vector)
    return stored_record(record.text, record.space, record.id, record.kind, record.time, record.metadata, vector)
