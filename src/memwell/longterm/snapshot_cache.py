"""The snapshots of recently searched spaces, updated from the store's changes, and cached filters over their rows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from msgspec.structs import replace

from memwell.filters import AllOf, Filter, Where, holds
from memwell.longterm.snapshot import Flags, Snapshot, SnapshotEntry
from memwell.longterm.tokens import TokenCache
from memwell.longterm.traits import Traits, effective, traits_of
from memwell.records import Record, Space, stored_record
from memwell.storage.protocols import Changes, RecordIndex

# Cached filters: asking every memory at each query would be slower than ranking.

_MOST_KEPT = 16
"""How many columns, and how many filter results, are cached."""
_UNUSED = 1024
"""How many unused values a column may hold in addition to one for each memory."""

_ABSENT = object()


class _RowCache(Protocol):
    """A value for each row of a snapshot, which follows its changes."""

    def follow(self, snapshot: Snapshot, records: Mapping[str, Record], ids: Iterable[str]) -> bool: ...


RowCache = TypeVar("RowCache", bound=_RowCache)


class RowFilters:
    """The cached filters of one snapshot. Its owner reports every change; it is as thread-safe as the snapshot."""

    def __init__(self) -> None:
        self._columns: OrderedDict[str, _Column] = OrderedDict()
        self._answers: OrderedDict[str, _Answers] = OrderedDict()

    def clear(self) -> None:
        """Drop everything, for another snapshot."""
        self._columns.clear()
        self._answers.clear()

    def follow(self, snapshot: Snapshot, records: Mapping[str, Record], ids: Iterable[str]) -> None:
        """Update the rows of new and changed memories."""
        changed = list(ids)
        for kept in (self._columns, self._answers):
            for name in [name for name, one in kept.items() if not one.follow(snapshot, records, changed)]:
                del kept[name]

    def flags(self, wanted: Filter, snapshot: Snapshot, records: Mapping[str, Record]) -> Flags:
        """A flag for every row of the snapshot; the flags of unused rows are undefined."""
        if isinstance(wanted, AllOf):
            together = np.ones(snapshot.limit, np.bool_)
            for one in wanted.filters:
                together &= self.flags(one, snapshot, records)
            return together
        if isinstance(wanted, Where) and wanted.operator == "eq" and not str(wanted.field).startswith("@"):
            path = (wanted.field,) if isinstance(wanted.field, str) else wanted.field
            column = _used(self._columns, repr(path)) or _new(
                self._columns, repr(path), _Column(path), snapshot, records
            )
            return column.equal(wanted.value, snapshot.limit)
        # Keyed by spelling: 1, 1.0 and True are equal as values but different in a filter.
        name = repr(wanted)
        answers = _used(self._answers, name) or _new(self._answers, name, _Answers(wanted), snapshot, records)
        return answers.flags[: snapshot.limit].copy()


def _used(kept: OrderedDict[str, RowCache], name: str) -> RowCache | None:
    if name in kept:
        kept.move_to_end(name)
    return kept.get(name)


def _new(
    kept: OrderedDict[str, RowCache], name: str, one: RowCache, snapshot: Snapshot, records: Mapping[str, Record]
) -> RowCache:
    one.follow(snapshot, records, records)
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

    def follow(self, snapshot: Snapshot, records: Mapping[str, Record], ids: Iterable[str]) -> bool:
        """Read memories again. False when too many values are unused, and the column should be rebuilt."""
        missing = len(snapshot.alive) - len(self._codes)
        if missing > 0:
            self._codes = np.concatenate((self._codes, np.zeros(missing, np.int32)))
        numbers, codes = self._numbers, self._codes
        for id_ in ids:
            value = _scalar(self._found(records[id_].metadata))
            codes[snapshot.row_of(id_)] = 0 if value is _ABSENT else numbers.setdefault(value, len(numbers) + 1)
        return len(numbers) <= len(snapshot) + _UNUSED

    def equal(self, value: object, limit: int) -> Flags:
        """The rows that have a value."""
        # An unknown value gets a number that no row has.
        return self._codes[:limit] == self._numbers.get(_scalar(value), -1)

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
        self._wanted = wanted
        self.flags: Flags = np.zeros(0, np.bool_)

    def follow(self, snapshot: Snapshot, records: Mapping[str, Record], ids: Iterable[str]) -> bool:
        """Apply the filter to memories again."""
        missing = len(snapshot.alive) - len(self.flags)
        if missing > 0:
            self.flags = np.concatenate((self.flags, np.zeros(missing, np.bool_)))
        for id_ in ids:
            self.flags[snapshot.row_of(id_)] = holds(self._wanted, records[id_])
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


def entry_of(record: Record, traits: Traits) -> SnapshotEntry:
    """The fields of a memory that ranking reads."""
    return SnapshotEntry(
        record.id,
        record.text,
        traits.speaker,
        traits.session,
        traits.position or _order(traits),
        record.time.timestamp(),
        record.kind,
        effective(_standing(traits), traits.uses),
        traits.uses,
        None if record.vector is None else np.asarray(record.vector, np.float32),
        0.0 if traits.accessed is None else traits.accessed.timestamp(),
        0.5 if traits.importance is None else traits.importance,
    )


def _order(traits: Traits) -> int:
    """The order of memories that were said at the same time without a session: that in which they were stored."""
    return 0 if traits.session or traits.learned is None else int(traits.learned.timestamp() * 1e6)


class HeldSnapshot:
    """A snapshot with the memories it was made of, without their vectors. Hold its lock while using it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.snapshot = Snapshot()
        self.records: dict[str, Record] = {}
        self.traits: dict[str, Traits] = {}
        self.expiring: dict[str, datetime] = {}
        self.state: int | None = None
        self._ids: dict[int, str] = {}
        self._touched: dict[str, datetime] = {}
        self._row_filters = RowFilters()
        self.tokens = TokenCache()
        self.text_bytes = 0
        self.nbytes = 0
        """About how much memory it takes, when last measured."""
        self._followed = 0

    def follow(self, changes: Changes) -> None:
        """Apply the store's changes."""
        if changes.whole:
            self._clear()
        for number in changes.gone:
            self._drop(number)
        entries: list[SnapshotEntry] = []
        for number, record in changes.records:
            traits = self._with_touch(record.id, traits_of(record))
            self.tokens.drop(record.id)
            if traits.active:
                self._keep(number, record, traits)
                entries.append(entry_of(record, traits))
            else:
                self._drop(number)
        self.snapshot.apply(entries, ())
        self._row_filters.follow(self.snapshot, self.records, (entry.id for entry in entries))
        self.state = changes.state
        self._followed += len(changes.records)
        if changes.whole or self._followed > _MEASURED_EVERY:
            self.nbytes, self._followed = self.snapshot.nbytes + self.text_bytes, 0

    def outgrown(self, changes: Changes) -> bool:
        """Whether vectors of another length arrive: the space was re-embedded, and the snapshot must be rebuilt."""
        size = self.snapshot.dimensions
        if changes.whole or not size:
            return False
        return any(record.vector is not None and len(record.vector) != size for _, record in changes.records)

    def touch(self, ids: Iterable[str], moment: datetime) -> None:
        """Record that memories were recalled. The store is updated later."""
        for id_ in ids:
            traits = self.traits[id_]
            if traits.accessed is None or traits.accessed < moment:
                self._touched[id_] = moment
                self.traits[id_] = replace(traits, accessed=moment)
                self.snapshot.touch(id_, moment.timestamp())

    def _with_touch(self, id_: str, traits: Traits) -> Traits:
        """The stored traits of a memory, with a recall that is not stored yet."""
        moment = self._touched.get(id_)
        if moment is None:
            return traits
        if traits.accessed is not None and traits.accessed >= moment:
            del self._touched[id_]
            return traits
        return replace(traits, accessed=moment)

    @classmethod
    def of(cls, records: Iterable[Record]) -> HeldSnapshot:
        """A snapshot of these memories, for one query."""
        held = cls()
        held.follow(Changes(None, True, list(enumerate(records)), []))
        return held

    def _clear(self) -> None:
        self.snapshot = Snapshot()
        for held in (self.records, self.traits, self.expiring, self._ids, self._row_filters, self.tokens):
            held.clear()
        self.text_bytes = 0

    def _keep(self, number: int, record: Record, traits: Traits) -> None:
        self._ids[number] = record.id
        kind, time, metadata = record.kind, record.time, record.metadata
        self.records[record.id] = stored_record(record.text, record.space, record.id, kind, time, metadata, None)
        self.traits[record.id] = traits
        self.text_bytes += 2 * len(record.text) + 800
        if traits.expires is not None:
            self.expiring[record.id] = traits.expires
        else:
            self.expiring.pop(record.id, None)

    def _drop(self, number: int) -> None:
        id_ = self._ids.pop(number, None)
        if id_ is not None:
            self.snapshot.apply((), (id_,))
            record = self.records.pop(id_, None)
            self.text_bytes -= 0 if record is None else 2 * len(record.text) + 800
            self.traits.pop(id_, None)
            self.expiring.pop(id_, None)
            self._touched.pop(id_, None)
            self.tokens.drop(id_)

    def allowed(self, wanted: Filter | None, now: datetime) -> Flags | None:
        """The rows that may be recalled at ``now`` and satisfy a filter; None when all rows may."""
        expired = [id_ for id_, moment in self.expiring.items() if moment <= now]
        if wanted is None and not expired:
            return None
        snapshot = self.snapshot
        flags = (
            np.ones(snapshot.limit, np.bool_)
            if wanted is None
            else self._row_filters.flags(wanted, snapshot, self.records)
        )
        for id_ in expired:
            flags[self.snapshot.row_of(id_)] = False
        return flags


class Snapshots:
    """The snapshots of a store, bounded in memory: the least recently used go first. Thread-safe."""

    def __init__(self, index: RecordIndex, *, most_bytes: int = 512 * 2**20, most_records: int = 100_000) -> None:
        self._index = index
        self._most_bytes = most_bytes
        self._most_records = most_records
        self._lock = threading.Lock()
        self._held: OrderedDict[Space, HeldSnapshot] = OrderedDict()

    @contextmanager
    def of(self, space: Space) -> Generator[HeldSnapshot]:
        """The up-to-date snapshot of a space, locked while the block lasts."""
        with self._lock:
            held = self._held.get(space)
            if held is None:
                held = self._held[space] = HeldSnapshot()
            self._held.move_to_end(space)
        with held.lock:
            changes = self._index.changes(space, held.state)
            if changes.state is None:
                # Inside a transaction: its changes may be rolled back, so they must not enter the shared snapshot.
                held = HeldSnapshot()
                changes = self._index.changes(space)
            elif held.outgrown(changes):
                changes = self._index.changes(space)
            if changes.whole or changes.records or changes.gone:
                held.follow(changes)
                self._shrink()
            yield held

    def suits(self, space: Space) -> bool:
        """Whether a space is small enough to hold; a larger one is searched through the store's indexes."""
        return space in self._held or self._index.info(space).records <= self._most_records

    def forget(self, space: Space) -> None:
        """Drop the snapshot of a space."""
        with self._lock:
            self._held.pop(space, None)

    def _shrink(self) -> None:
        with self._lock:
            sizes = {space: held.nbytes for space, held in self._held.items()}
            total = sum(sizes.values())
            # The one just used stays, however large.
            while total > self._most_bytes and len(self._held) > 1:
                space, _ = self._held.popitem(last=False)
                total -= sizes[space]
