"""The snapshots of recently searched spaces, updated from the store's changes, and filters over their rows."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from memwell.errors import MemwellError
from memwell.filters import AllOf, AnyOf, Filter, Not, Where, record_test, value_test
from memwell.longterm.embedding import TokenCache
from memwell.longterm.snapshot import Flags, Snapshot, SnapshotEntry
from memwell.longterm.snapshot_file import restored, saved
from memwell.longterm.traits import KEY, Traits, traits_of
from memwell.longterm.uses import Use, use_in, with_use
from memwell.records import Record, Space, paged
from memwell.stages import stage
from memwell.storage.protocols import Changes, Entry, IndexInfo, KeptCache, RecordIndex, changes_between

# Cached filters: asking every memory at each query would be slower than ranking.

_MOST_KEPT = 16
"""How many columns, and how many filter results, are cached."""
_UNUSED = 1024
"""How many unused values a column may hold in addition to one for each memory."""

_ABSENT = object()
_BYTES_OF_METADATA = 800
_BYTES_OF_TEXT = 300


class MemoryReader(NamedTuple):
    """How the memories of a snapshot are read: some by their ids and numbers, all, the metadata and the texts of all by
    number, and what was counted of their uses.
    """

    some: Callable[[Mapping[str, int]], Iterable[Record]]
    all: Callable[[], Iterable[Record]]
    metadata: Callable[[], Iterable[tuple[int, dict[str, Any]]]]
    texts: Callable[[], Iterable[tuple[int, str]]]
    uses: Callable[[], Mapping[str, Use]] = dict


class _Metadata(NamedTuple):
    """The part of a memory that most filters read."""

    metadata: dict[str, Any]


class _RowCache(Protocol):
    """A value for each row of a snapshot, which follows its changes."""

    def follow(self, snapshot: Snapshot, memories: Iterable[tuple[int, Any]]) -> bool: ...


RowCache = TypeVar("RowCache", bound=_RowCache)


class RowFilters:
    """The cached filters of one snapshot. Its owner reports every change; it is as thread-safe as the snapshot."""

    def __init__(self) -> None:
        self._columns: OrderedDict[str, _Column] = OrderedDict()
        self._answers: OrderedDict[str, _Answers] = OrderedDict()
        self._metadata: dict[int, dict[str, Any]] = {}
        """The metadata of each row, once a filter has asked for one."""
        self._texts: dict[int, str] = {}
        """The text of each row in lower case, once one was looked for."""
        self._fields: list[str] | None = None

    def clear(self) -> None:
        """Drop everything, for another snapshot."""
        for kept in (self._columns, self._answers, self._metadata, self._texts):
            kept.clear()
        self._fields = None

    def drop_unused(self, snapshot: Snapshot) -> None:
        """Drop what only memories had that are no longer in the snapshot."""
        for row in np.flatnonzero(~snapshot.alive[: snapshot.limit]).tolist():
            self._metadata.pop(row, None)
            self._texts.pop(row, None)
        self._fields = None
        for name in [name for name, one in self._columns.items() if one.has_unused(snapshot)]:
            del self._columns[name]

    @property
    def nbytes(self) -> int:
        """About how much memory the metadata and the texts take."""
        return _BYTES_OF_METADATA * len(self._metadata) + _BYTES_OF_TEXT * len(self._texts)

    def follow(self, snapshot: Snapshot, records: Iterable[Record]) -> None:
        """Update the rows of new and changed memories."""
        rows = list(_in_rows(snapshot, records))
        if self._metadata:
            self._metadata.update((row, record.metadata) for row, record in rows)
            self._fields = None
        if self._texts:
            self._texts.update((row, record.text.casefold()) for row, record in rows)
        for kept in (self._columns, self._answers):
            for name in [name for name, one in kept.items() if not one.follow(snapshot, rows)]:
                del kept[name]

    def flags(self, wanted: Filter, snapshot: Snapshot, reader: MemoryReader) -> Flags:
        """A flag for every row of the snapshot; the flags of unused rows are undefined."""
        if isinstance(wanted, Not):
            return ~self.flags(wanted.filter, snapshot, reader)
        if isinstance(wanted, AllOf | AnyOf):
            every = isinstance(wanted, AllOf)
            together = np.full(snapshot.limit, every, np.bool_)
            for one in wanted.filters:
                flags = self.flags(one, snapshot, reader)
                together = together & flags if every else together | flags
            return together
        own = _own_flags(wanted, snapshot)
        return self._read_flags(wanted, snapshot, reader) if own is None else own

    def _read_flags(self, wanted: Where, snapshot: Snapshot, reader: MemoryReader) -> Flags:
        """The flags of a comparison with what the snapshot does not hold."""
        # Keyed by spelling: 1, 1.0 and True are equal as values but different in a filter.
        name = repr(wanted)
        if str(wanted.field).startswith("@"):
            known = _used(self._answers, name)
            if known is None:
                known = _new(self._answers, name, _Answers(wanted), snapshot, _in_rows(snapshot, reader.all()))
            return known.flags[: snapshot.limit].copy()
        if wanted.operator == "eq":
            path = (wanted.field,) if isinstance(wanted.field, str) else wanted.field
            return self._column(path, snapshot, reader).equal(wanted.value, snapshot.limit)
        known = _used(self._answers, name)
        if known is None:
            known = _new(self._answers, name, _Answers(wanted), snapshot, self._read_metadata(snapshot, reader))
        return known.flags[: snapshot.limit].copy()

    def _column(self, path: tuple[str, ...], snapshot: Snapshot, reader: MemoryReader) -> _Column:
        column = _used(self._columns, repr(path))
        if column is None:
            column = _new(self._columns, repr(path), _Column(path), snapshot, self._read_metadata(snapshot, reader))
        return column

    def values(self, field: str, snapshot: Snapshot, reader: MemoryReader) -> tuple[NDArray[np.int32], list[Any]]:
        """The values of a field of the metadata: the number of each row's value, and the values; number 0 is none."""
        return self._column((field,), snapshot, reader).values(snapshot.limit)

    def fields(self, snapshot: Snapshot, reader: MemoryReader) -> list[str]:
        """The fields of the users' metadata, the most frequent first."""
        if self._fields is None:
            counts = Counter(key for _, one in self._read_metadata(snapshot, reader) for key in one.metadata)
            self._fields = [key for key, _ in counts.most_common() if key != KEY]
        return self._fields

    def containing(self, pieces: Sequence[str], snapshot: Snapshot, reader: MemoryReader) -> Flags:
        """The rows whose text contains all of these pieces, in upper or lower case."""
        if not self._texts:
            rows = _rows_by_number(snapshot)
            self._texts = {rows[number]: text.casefold() for number, text in reader.texts() if number in rows}
        wanted, flags = [piece.casefold() for piece in pieces], np.zeros(snapshot.limit, np.bool_)
        first, rest = wanted[0], wanted[1:]
        found = [row for row, text in self._texts.items() if first in text and all(one in text for one in rest)]
        flags[[row for row in found if row < snapshot.limit]] = True
        return flags

    def _read_metadata(self, snapshot: Snapshot, reader: MemoryReader) -> Iterator[tuple[int, _Metadata]]:
        if not self._metadata:
            rows = _rows_by_number(snapshot)
            self._metadata = {rows[number]: found for number, found in reader.metadata() if number in rows}
        return ((row, _Metadata(found)) for row, found in self._metadata.items() if row < snapshot.limit)


def _rows_by_number(snapshot: Snapshot) -> dict[int, int]:
    rows = np.flatnonzero(snapshot.alive[: snapshot.limit])
    return dict(zip(snapshot.number[rows].tolist(), rows.tolist(), strict=True))


def _in_rows(snapshot: Snapshot, records: Iterable[Record]) -> Iterator[tuple[int, Record]]:
    """Memories with their rows, without those that are not in the snapshot."""
    return ((row, record) for record in records if (row := snapshot.ids.get(record.id)) is not None)


_MOMENTS: dict[str, Callable[[NDArray[np.float64], float], Flags]] = {
    "ge": np.greater_equal, "gt": np.greater, "le": np.less_equal, "lt": np.less,
}  # fmt: skip


def _own_flags(wanted: Where, snapshot: Snapshot) -> Flags | None:
    """The flags of a comparison with a column of the snapshot; None for another comparison."""
    limit, field = snapshot.limit, wanted.field
    if field == "@time" and wanted.operator in _MOMENTS and isinstance(wanted.value, float | int):
        return _MOMENTS[wanted.operator](snapshot.times[:limit], wanted.value)
    if field == "@kind":
        return _named_flags(wanted, snapshot.kind[:limit], [snapshot.kinds[at] for at in range(snapshot.kinds.limit)])
    if field == (KEY, "speaker"):
        return _named_flags(wanted, snapshot.speaker[:limit], snapshot.speakers.names)
    if field == (KEY, "session") and wanted.operator in ("eq", "in"):
        values = (wanted.value,) if wanted.operator == "eq" else wanted.value
        numbers = [snapshot.sessions.get(one) for one in values if isinstance(one, str) and one[:1] != "\0"]
        return np.isin(snapshot.session[:limit], [number for number in numbers if number is not None])
    return None


def _named_flags(wanted: Where, column: NDArray[np.int32], names: Sequence[str]) -> Flags:
    """The flags of a comparison with names, given by number; an empty name is none."""
    fits = value_test(Where("name", wanted.operator, wanted.value))
    # The last place is for a number below 0, which has no name.
    values = ({"name": name} if name else {} for name in (*names, ""))
    return np.array([fits(Entry("", value, 0)) for value in values], np.bool_)[column]


def _used(kept: OrderedDict[str, RowCache], name: str) -> RowCache | None:
    if name in kept:
        kept.move_to_end(name)
    return kept.get(name)


def _new(
    kept: OrderedDict[str, RowCache],
    name: str,
    one: RowCache,
    snapshot: Snapshot,
    memories: Iterable[tuple[int, Any]],
) -> RowCache:
    one.follow(snapshot, memories)
    kept[name] = one
    if len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
    return one


class _Column:
    """The values of one metadata field as numbers; 0 where it is absent or no scalar."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self._path = path
        self._numbers: dict[Any, int] = {}
        self._codes = np.zeros(0, np.int32)

    def follow(self, snapshot: Snapshot, memories: Iterable[tuple[int, Any]]) -> bool:
        """Read memories again. False when too many values are unused, and the column should be rebuilt."""
        missing = len(snapshot.alive) - len(self._codes)
        if missing > 0:
            self._codes = np.concatenate((self._codes, np.zeros(missing, np.int32)))
        numbers, codes = self._numbers, self._codes
        for row, memory in memories:
            value = _scalar(self._found(memory.metadata))
            codes[row] = 0 if value is _ABSENT else numbers.setdefault(value, len(numbers) + 1)
        return len(numbers) <= len(snapshot) + _UNUSED

    def has_unused(self, snapshot: Snapshot) -> bool:
        """Whether some value is that of no memory, or there is none."""
        rows = min(len(self._codes), snapshot.limit)
        used = np.bincount(self._codes[:rows][snapshot.alive[:rows]], minlength=len(self._numbers) + 1)
        return not (self._numbers and used[1:].all())

    def equal(self, value: object, limit: int) -> Flags:
        """The rows that have a value."""
        # An unknown value gets a number that no row has.
        return self._codes[:limit] == self._numbers.get(_scalar(value), -1)

    def values(self, limit: int) -> tuple[NDArray[np.int32], list[Any]]:
        """The number of each row's value, and the values by number; number 0 is none."""
        return self._codes[:limit], [None, *(one[1] if isinstance(one, tuple) else one for one in self._numbers)]

    def _found(self, value: Any) -> Any:
        for key in self._path:
            if not isinstance(value, dict) or key not in value:
                return _ABSENT
            value = cast("dict[str, Any]", value)[key]
        return value


def _scalar(value: Any) -> Any:
    """A value as a dictionary key: 1 equals 1.0, True equals neither."""
    if isinstance(value, bool):
        return ("bool", value)
    return value if value is None or isinstance(value, str | int | float) else _ABSENT


class _Answers:
    """Which memories satisfy a filter."""

    def __init__(self, wanted: Filter) -> None:
        self._fits = record_test(wanted)
        self.flags: Flags = np.zeros(0, np.bool_)

    def follow(self, snapshot: Snapshot, memories: Iterable[tuple[int, Any]]) -> bool:
        """Apply the filter to memories again."""
        missing = len(snapshot.alive) - len(self.flags)
        if missing > 0:
            self.flags = np.concatenate((self.flags, np.zeros(missing, np.bool_)))
        for row, memory in memories:
            self.flags[row] = self._fits(memory)
        return True


# Snapshots of recently searched spaces.

_MEASURED_EVERY = 256


def _standing(traits: Traits) -> float:
    """How far feedback or a given importance moved a memory from the worth of its content; 0.5 is not at all.

    The worth of the content itself is left out: ranking by it gave worse answers.
    """
    if traits.importance is None:
        return 0.5
    content = 0.5 if traits.content is None else traits.content
    return min(max(0.5 + traits.importance - content, 0.0), 1.0)


def entry_of(record: Record, traits: Traits, number: int = 0) -> SnapshotEntry:
    """The fields of a memory that ranking reads; ``number`` is the store's of it."""
    return SnapshotEntry(
        record.id,
        record.text,
        traits.speaker,
        traits.session,
        traits.position or _order(traits),
        record.time.timestamp(),
        record.kind,
        _standing(traits),
        traits.uses,
        None if record.vector is None else np.asarray(record.vector, np.float32),
        use_in(traits).last,
        0.5 if traits.importance is None else traits.importance,
        0.0 if traits.expires is None else traits.expires.timestamp(),
        number,
        (traits.learned or record.time).timestamp(),
    )


def _order(traits: Traits) -> int:
    """The order of memories that were said at the same time without a session: that in which they were stored."""
    return 0 if traits.session or traits.learned is None else int(traits.learned.timestamp() * 1e6)


class HeldSnapshot:
    """The snapshot of a space, and how its memories are read. Hold its lock while using it."""

    def __init__(self, reader: MemoryReader) -> None:
        self.lock = threading.Lock()
        self.snapshot = Snapshot()
        self.state: int | None = None
        self.is_new = True
        """Whether it was not read from the store yet."""
        self._reader = reader
        self._uses: dict[str, Use] = {}
        """What was counted of the memories, as far as this process knows. Those that others count are read at the start."""
        self._touched: dict[str, float] = {}
        """When memories were last recalled as the store has it, where a later recall is not stored yet."""
        self._row_filters = RowFilters()
        self._read: dict[str, tuple[Record, Traits]] = {}
        """The hits that were read lately, as the store has them."""
        self.tokens = TokenCache()
        self.stated: dict[str, tuple[str, ...]] = {}
        """The keys of what hits state, as they were read lately."""
        self.nbytes = 0
        """About how much memory it takes, when last measured."""
        self._followed = 0
        self._next_expiry: float | None = None
        """When the next memory expires, once a recall has looked for it."""
        self.unsaved = 0
        """How many memories have changed since it was saved."""
        self.is_unkept = False
        """Whether its file is gone, because something was erased since it was saved."""
        self.saved_at = -np.inf

    def follow(self, changes: Changes) -> None:
        """Apply the store's changes."""
        if changes.whole:
            self._clear()
            # One after the other: all of them would take several times the memory of the snapshot.
            self.snapshot.apply((entry for _, entry in self._active(changes.records)), ())
            self._touched = {id_: before for id_, before in self._touched.items() if id_ in self.snapshot}
        else:
            self._follow_some(changes)
        self.state = changes.state
        self._next_expiry = None
        self._followed += len(changes.records)
        self.unsaved += len(changes.records) + len(changes.gone)
        if changes.whole or self._followed > _MEASURED_EVERY:
            others = self._row_filters.nbytes + _BYTES_OF_USE * len(self._uses)
            self.nbytes, self._followed = self.snapshot.nbytes + others, 0

    def _follow_some(self, changes: Changes) -> None:
        active = list(self._active(changes.records))
        kept = {entry.id for _, entry in active}
        removed = self.snapshot.numbered(changes.gone) if changes.gone else []
        for id_ in removed:
            self._uses.pop(id_, None)
        removed += [record.id for _, record in changes.records if record.id not in kept]
        for id_ in removed:
            self._touched.pop(id_, None)
        for id_ in (*removed, *kept):
            self._read.pop(id_, None)
            self.stated.pop(id_, None)
            row = self.snapshot.ids.get(id_)
            if row is not None:
                self.tokens.drop(row)
        self.snapshot.apply([entry for _, entry in active], removed)
        self._row_filters.follow(self.snapshot, [record for record, _ in active])

    def _active(self, records: Iterable[tuple[int, Record]]) -> Iterator[tuple[Record, SnapshotEntry]]:
        """The memories that can be recalled, and what ranking reads of them."""
        for number, record in records:
            traits = with_use(traits_of(record), self._uses.get(record.id))
            if traits.active:
                yield record, entry_of(record, traits, number)

    def erase(self, ids: Iterable[str]) -> None:
        """Drop all that is held of memories that were erased, after their removal was followed."""
        for id_ in ids:
            self._uses.pop(id_, None)
            self._touched.pop(id_, None)
            self._read.pop(id_, None)
            self.stated.pop(id_, None)
        self.snapshot.drop_unused()
        self._row_filters.drop_unused(self.snapshot)
        self.is_unkept = True

    def outgrown(self, changes: Changes) -> bool:
        """Whether vectors of another length arrive: the space was re-embedded, and the snapshot must be rebuilt."""
        size = self.snapshot.dimensions
        if changes.whole or not size:
            return False
        return any(record.vector is not None and len(record.vector) != size for _, record in changes.records)

    def touch(self, ids: Iterable[str], moment: datetime) -> None:
        """Record that memories were recalled. The store is updated later."""
        stamp = moment.timestamp()
        for id_ in ids:
            row = self.snapshot.row_of(id_)
            accessed = float(self.snapshot.accessed[row])
            if accessed < stamp:
                self._touched.setdefault(id_, accessed)
                self._uses[id_] = Use(int(self.snapshot.uses[row]), stamp)
                self.snapshot.accessed[row] = stamp

    def count(self, uses: Mapping[str, Use]) -> None:
        """Take over what the store has counted of memories."""
        for id_, stored in uses.items():
            use = self._uses[id_] = stored.joined(self._uses.get(id_, Use()))
            if use.last == stored.last:
                self._touched.pop(id_, None)
            elif id_ in self._touched:
                self._touched[id_] = stored.last
            row = self.snapshot.ids.get(id_)
            if row is not None:
                self.snapshot.uses[row] = max(use.times, self.snapshot.uses[row])
                self.snapshot.accessed[row] = max(use.last, self.snapshot.accessed[row])

    @classmethod
    def of(cls, records: Iterable[Record], uses: Mapping[str, Use] | None = None) -> HeldSnapshot:
        """A snapshot of these memories and their uses, for one query."""
        known = {record.id: record for record in records}
        metadata = [(number, record.metadata) for number, record in enumerate(known.values())]
        texts = [(number, record.text) for number, record in enumerate(known.values())]
        held = cls(MemoryReader(partial(map, known.__getitem__), known.values, lambda: metadata, lambda: texts))
        held.count(uses or {})
        held.follow(Changes(None, True, list(enumerate(known.values())), []))
        return held

    @stage("store")
    def memories(self, ids: Sequence[str], wanted: Filter | None = None) -> dict[str, tuple[Record, Traits]]:
        """The memories of these ids with their traits, as they are now, without those that no longer satisfy the filter."""
        read = self._read
        missing = [id_ for id_ in ids if id_ not in read]
        if missing:
            if len(read) + len(missing) > _MOST_READ:
                self._read = read = {id_: read[id_] for id_ in ids if id_ in read}
                self.stated.clear()
            numbers = self.snapshot.number[[self.snapshot.row_of(id_) for id_ in missing]].tolist()
            for record in self._reader.some(dict(zip(missing, numbers, strict=True))):
                read[record.id] = record, traits_of(record)
        fits = None if wanted is None else record_test(wanted)
        return {
            id_: (record, with_use(traits, self._uses.get(id_)))
            for id_, (record, traits) in ((id_, read[id_]) for id_ in ids if id_ in read)
            if traits.active and (fits is None or fits(record))
        }

    def _clear(self) -> None:
        self.snapshot = Snapshot()
        self._row_filters.clear()
        self._read.clear()
        self.stated.clear()
        self.tokens.clear()

    def allowed(self, wanted: Filter | None, now: datetime) -> Flags | None:
        """The rows that may be recalled at ``now`` and satisfy a filter; None when all rows may."""
        snapshot = self.snapshot
        expires = snapshot.expires[: snapshot.limit]
        if self._next_expiry is None:
            self._next_expiry = float(expires.min(initial=np.inf, where=expires > 0.0))
        flags = None if wanted is None else self._row_filters.flags(wanted, snapshot, self._reader)
        if now.timestamp() < self._next_expiry:
            return flags
        lasting = (expires == 0.0) | (expires > now.timestamp())
        return lasting if flags is None else flags & lasting

    def values(self, field: str) -> tuple[NDArray[np.int32], list[Any]]:
        """As ``RowFilters.values``."""
        return self._row_filters.values(field, self.snapshot, self._reader)

    def fields(self) -> list[str]:
        """As ``RowFilters.fields``."""
        return self._row_filters.fields(self.snapshot, self._reader)

    def containing(self, pieces: Sequence[str]) -> Flags:
        """As ``RowFilters.containing``."""
        return self._row_filters.containing(pieces, self.snapshot, self._reader)

    # Saving

    def saved(self) -> Generator[Any]:
        """The state of the snapshot, then its bytes, piece by piece. It is locked until the last piece."""
        with self.lock:
            self.unsaved, self.is_unkept, self.saved_at = 0, False, time.monotonic()
            yield self.state
            for id_, before in self._touched.items():
                self.snapshot.touch(id_, before)
            try:
                yield from saved(self.snapshot)
            finally:
                for id_ in self._touched:
                    self.snapshot.touch(id_, self._uses[id_].last)

    def restore(self, kept: KeptCache | None, *, checked: bool = True) -> None:
        """Begin with a snapshot that was saved, if it can be used, and with what was counted of its memories.

        One that is not ``checked`` is not read as a whole.
        """
        self.is_new = False
        snapshot = None if kept is None else restored(kept.data, checked=checked)
        if kept is not None and snapshot is not None:
            self._clear()
            # The allocator reuses freed memory up to the largest that was freed. Before that, each large array of a query
            # would be mapped by the system again, which takes a third of the time of a query to a large snapshot.
            np.empty(_REUSED, np.uint8)
            self.snapshot, self.state, self.unsaved, self._next_expiry = snapshot, kept.state, 0, None
            self.nbytes = snapshot.nbytes
        self.count(self._reader.uses())

    def pack(self) -> None:
        """Hold the snapshot as it would be in a file: without an object for each memory and word."""
        parts = self.saved()
        state: int = next(parts)
        self.restore(KeptCache(state, bytearray().join(parts)))


_PAGE = 1_000
_MOST_READ = 2_048
"""How many hits are kept as they were read: a few megabytes."""
_REUSED = 24 * 2**20
_BYTES_A_MEMORY = 500
"""About what a memory takes in a snapshot besides its vector."""
_BYTES_OF_USE = 300
_LARGEST = 4
"""How many times the limit of memory the snapshots of large spaces may take."""
_FOLLOWED_AT_ONCE = 4_096
"""After more changes than this a large space is brought up to date in the background: they take half a second."""
_PREPARED = 5_000
"""The snapshot of this many memories takes half a second to make, and is made before the first question."""
_WAITED_S = 1.0
"""How long an erasure waits for a snapshot that is in use."""
_SAVED_EVERY_S = 60.0
_LEAST_SAVED = 500
"""A snapshot of fewer memories is built about as fast as it is read."""
_RENEWED = 8
"""A saved snapshot is replaced when one in this many memories has changed since; at the end, one in fifty."""
_RENEWED_AT_END = 50


class SnapshotFigures(NamedTuple):
    """The use of the snapshots of a process. A miss reads the space, or the file that is kept of it."""

    hits: int
    misses: int
    evictions: int
    """How many were dropped to keep within the limit of memory."""
    spaces: int
    size: int
    """In bytes."""


class Snapshots:
    """The snapshots of a store, bounded in memory: the least recently used go first. Thread-safe.

    With ``keep`` those of large spaces are kept in the store, so that the next process need not read the space. ``uses``
    reads what was counted of the memories of a space: a snapshot begins with that, and then follows this process alone.
    """

    def __init__(
        self,
        index: RecordIndex,
        *,
        most_bytes: int = 512 * 2**20,
        most_records: int = 100_000,
        keep: bool = False,
        uses: Callable[[Space], Mapping[str, Use]] | None = None,
    ) -> None:
        self._index = index
        self._uses = uses
        self._most_bytes = most_bytes
        self._most_records = most_records
        self._keep = keep
        self._lock = threading.Lock()
        self._held: OrderedDict[Space, HeldSnapshot] = OrderedDict()
        self._made: set[Space] = set()
        """The large spaces whose snapshots are being made in the background, or could not be made."""
        self._thread: threading.Thread | None = None
        self._closed = False
        self._hits = self._misses = self._evictions = 0

    @contextmanager
    def of(self, space: Space) -> Generator[HeldSnapshot]:
        """The up-to-date snapshot of a space, locked while the block lasts."""
        with self._lock:
            held = self._held.get(space)
            if held is None:
                held = self._held[space] = self._new(space)
                self._misses += 1
            else:
                self._hits += 1
            self._held.move_to_end(space)
        with held.lock:
            if not self._follow(space, held):
                # Inside a transaction: its changes may be rolled back, so they must not enter the shared snapshot.
                held = self._new(space)
                self._follow(space, held, shared=False)
            yield held
            if held.state is not None and self._is_due(held, _RENEWED):
                self._in_background(self._save, space, held)

    def figures(self) -> SnapshotFigures:
        """How often a recall found the snapshot of its space at hand, and what is held now."""
        with self._lock:
            size = sum(held.nbytes for held in self._held.values())
            return SnapshotFigures(self._hits, self._misses, self._evictions, len(self._held), size)

    def _new(self, space: Space) -> HeldSnapshot:
        index = self._index
        return HeldSnapshot(
            MemoryReader(
                partial(index.numbered, space),
                lambda: paged(lambda cursor: index.scan(space, limit=_PAGE, cursor=cursor)),
                partial(index.metadata, space),
                partial(index.texts, space),
                dict if self._uses is None else partial(self._uses, space),
            )
        )

    def _follow(self, space: Space, held: HeldSnapshot, *, shared: bool = True, until_closed: bool = False) -> bool:
        """Bring a snapshot up to date. False when it is shared, and the changes are those of a transaction.

        With ``until_closed`` it stops, and reads again from the beginning at the next use, once this is closed.
        """
        if held.is_new:
            held.restore(self._index.kept_cache(space) if self._keep else None)
        while True:
            known = held.state
            for changes in self._index.pieces(space) if known is None else [self._index.changes(space, known)]:
                if changes.state is None and shared:
                    return False
                if until_closed and self._closed:
                    held.state = None
                    return True
                if held.outgrown(changes):
                    # It is read again, from the beginning.
                    held.state = None
                    break
                if changes.whole or changes.records or changes.gone:
                    held.follow(changes)
                    self._shrink()
            else:
                # What was stored while the pieces were read is among the changes since.
                if known is not None or held.state is None:
                    return True

    def suits(self, space: Space, shared_from: int | None = None) -> bool:
        """Whether a space can be ranked from its snapshot now; otherwise the store's indexes search it.

        The snapshot of a large space is made, and brought up to date after many changes, in the background; its vectors
        are ``shared_from`` a number on, as those of the query are (see ``Embedder``).
        """
        held = self._held.get(space)
        if held is not None and len(held.snapshot) <= self._most_records:
            return True
        info = self._index.info(space)
        return info.records <= self._most_records or (self._keep and self._is_ready(space, info, shared_from))

    def has_vectors_compared(self, space: Space) -> bool:
        """Whether the store's indexes are to search by vector too.

        They are not while the snapshot of a large space is being made and the store would have to compare every vector.
        """
        info = self._index.info(space)
        if info.search != "exact" or info.records <= self._most_records or not (self._keep and self._fits(info)):
            return True
        # It could not be made.
        return space in self._made and not self._is_busy()

    def _fits(self, info: IndexInfo) -> bool:
        expected = info.records * (_BYTES_A_MEMORY + (info.dimensions or 0) * 9 // 8)
        return expected <= _LARGEST * self._most_bytes

    def _is_ready(self, space: Space, info: IndexInfo, shared_from: int | None) -> bool:
        """Whether the snapshot of a large space is there and nearly up to date; if not, that is begun."""
        held = self._held.get(space) or (None if space in self._made else self._kept(space))
        if held is None or held.state is None or held.state < info.forgotten:
            if space not in self._made and self._fits(info):
                self._in_background(self._make, space, shared_from)
            return False
        if changes_between(held.state, info.state) > _FOLLOWED_AT_ONCE:
            self._in_background(self._catch_up, space, held)
            return False
        return True

    def _kept(self, space: Space) -> HeldSnapshot | None:
        """The snapshot of a large space that the store keeps; it is held from now on, and checked in the background."""
        held, is_busy = self._new(space), self._is_busy()
        held.restore(self._index.kept_cache(space), checked=is_busy)
        if held.state is None:
            return None
        with self._lock:
            held = self._held.setdefault(space, held)
        self._shrink()
        if not is_busy:
            self._in_background(self._check, space, held.snapshot.vectors.shared_from)
        return held

    def _check(self, space: Space, shared_from: int | None) -> None:
        """Read all of the snapshot that the store keeps of a large space, and make it again if it is damaged."""
        with suppress(MemwellError):
            kept = self._index.kept_cache(space)
            if kept is not None and restored(kept.data) is None:
                self.forget(space)
                self._make(space, shared_from)

    def _make(self, space: Space, shared_from: int | None) -> None:
        """Make the snapshot of a large space. It is kept in the store, or else held."""
        self._made.add(space)
        held = self._new(space)
        with suppress(MemwellError):
            held.restore(None)
            for piece in self._index.pieces(space):
                if self._closed or held.outgrown(piece):
                    return
                held.follow(piece)
            self._follow(space, held)
            # Otherwise the first recall of every process would measure all vectors.
            held.snapshot.vectors.share_from(shared_from)
            is_kept = self._save(space, held)
            if not is_kept:
                held.pack()
            with self._lock:
                # From the store it takes less memory. One that was forgotten meanwhile may hold what was erased.
                self._held.pop(space, None)
                if not is_kept and space in self._made:
                    self._held[space] = held
                self._made.discard(space)
            self._shrink()

    def _catch_up(self, space: Space, held: HeldSnapshot) -> None:
        with suppress(MemwellError), held.lock:
            self._follow(space, held)

    def prepare(self, space: Space, shared_from: int | None = None, *, wait: bool = False) -> bool:
        """Make and keep the snapshot of a space of many memories, if there is none: its first question would wait for it.

        It is made in the background, or with ``wait`` at once. False when that is to be tried again, as another is made.
        """
        info = self._index.info(space)
        if not self._keep or info.records < _PREPARED or not self._fits(info) or not self._is_behind(space, info):
            return True
        work = self._read if info.records <= self._most_records else self._make
        if wait:
            work(space, shared_from)
            return True
        return self._in_background(work, space, shared_from)

    def _is_behind(self, space: Space, info: IndexInfo) -> bool:
        """Whether the snapshot of a space is not there, or the changes since take long to follow."""
        held = self._held.get(space) or self._index.kept_cache(space)
        return held is None or held.state is None or changes_between(held.state, info.state) > _FOLLOWED_AT_ONCE

    def _read(self, space: Space, shared_from: int | None) -> None:
        """Make the snapshot of a space that is no large one, or bring it up to date; it is held, and kept in the store."""
        with suppress(MemwellError):
            with self._lock:
                held = self._held.setdefault(space, self._new(space))
            with held.lock:
                self._follow(space, held, until_closed=True)
                held.snapshot.vectors.share_from(shared_from)
            if held.state is not None:
                self._save(space, held)

    def renew(self) -> None:
        """Save in the background a snapshot whose file is gone because something was erased; each once a minute."""
        before = time.monotonic() - _SAVED_EVERY_S
        with self._lock:
            held = list(self._held.items())
        unkept = [(space, one) for space, one in held if self._is_unkept(one) and one.saved_at <= before]
        if unkept:
            self._in_background(self._save, *unkept[0])

    def erase(self, space: Space, ids: Sequence[str]) -> None:
        """Take erased memories out of the snapshot of a space. It is dropped where that is not possible now."""
        with self._lock:
            self._made.discard(space)
            held = self._held.get(space)
        if held is None or not held.lock.acquire(timeout=_WAITED_S):
            self.forget(space)
            return
        try:
            # Inside a transaction nothing is followed: it may be rolled back.
            if held.state is None or held.state < self._index.info(space).forgotten or not self._follow(space, held):
                self.forget(space)
            else:
                held.erase(ids)
        except MemwellError:
            self.forget(space)
        finally:
            held.lock.release()

    def forget(self, space: Space) -> None:
        """Drop the snapshot of a space."""
        with self._lock:
            self._held.pop(space, None)
            self._made.discard(space)

    def count_uses(self, space: Space, uses: Mapping[str, Use]) -> None:
        """Take over what the store has counted of memories, where their space is held."""
        with self._lock:
            held = self._held.get(space)
        if held is not None:
            with held.lock:
                held.count(uses)

    def _shrink(self) -> None:
        """Drop the least recently used: those of large spaces, which take long to make, have a limit of their own."""
        with self._lock:
            for large, most in ((False, self._most_bytes), (True, _LARGEST * self._most_bytes)):
                sizes = {
                    space: held.nbytes
                    for space, held in self._held.items()
                    if (len(held.snapshot) > self._most_records) is large
                }
                total = sum(sizes.values())
                # The one just used stays, however large.
                for space in list(sizes)[:-1]:
                    if total > most:
                        total -= sizes[space]
                        del self._held[space]
                        self._evictions += 1

    # Saving

    def _is_due(self, held: HeldSnapshot, share: int) -> bool:
        """Whether more than one in ``share`` memories have changed since it was saved."""
        return self._is_savable(held) and held.unsaved * share > len(held.snapshot)

    def _is_unkept(self, held: HeldSnapshot) -> bool:
        return self._is_savable(held) and held.is_unkept

    def _is_savable(self, held: HeldSnapshot) -> bool:
        return self._keep and held.state is not None and len(held.snapshot) >= _LEAST_SAVED

    def _in_background(self, work: Callable[..., object], *args: Any) -> bool:
        """Start a thread, unless one is at work: what is not done then is due again at the next recall."""
        with self._lock:
            if self._closed or self._is_busy():
                return False
            self._thread = threading.Thread(target=work, args=args, name="memwell-snapshot", daemon=True)
            self._thread.start()
            return True

    def _is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _save(self, space: Space, held: HeldSnapshot) -> bool:
        # A cache only saves time. When it cannot be kept, that is tried again after more changes.
        with suppress(MemwellError), closing(held.saved()) as parts:
            return self._index.keep_cache(space, next(parts), parts)
        return False

    def close(self) -> None:
        """Save the snapshots that have changed much since they were saved."""
        with self._lock:
            self._closed = True
            thread, listed = self._thread, list(self._held.items())
        if thread is not None:
            thread.join()
        for space, held in listed:
            if self._is_due(held, _RENEWED_AT_END) or self._is_unkept(held):
                self._save(space, held)
