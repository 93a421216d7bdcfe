"""The snapshots of the spaces searched lately, kept true to the store by its changes, and the filters over their rows."""

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
from memwell.longterm.snapshot import Entry, Flags, Pool
from memwell.longterm.traits import Traits, effective, traits_of
from memwell.records import Record, Space, stored_record
from memwell.storage.protocols import Changes, RecordIndex

# Which rows of a pool satisfy a filter, without asking every memory anew: of many thousands that is slower than
# ranking.


_MOST_KEPT = 16
"""So many columns, and so many answers, of those used last."""
_UNUSED = 1024
"""A column may know so many values that no memory has any more, beside one for each memory."""

_ABSENT = object()


class _Kept(Protocol):
    def follow(self, pool: Pool, records: Mapping[str, Record], ids: Iterable[str]) -> bool: ...


Kept = TypeVar("Kept", bound=_Kept)


class Sieve:
    """The filters used lately on one pool. Tell it of every change; it is as safe between threads as the pool is."""

    def __init__(self) -> None:
        self._columns: OrderedDict[str, _Column] = OrderedDict()
        self._answers: OrderedDict[str, _Answers] = OrderedDict()

    def clear(self) -> None:
        """Forget everything, for another pool."""
        self._columns.clear()
        self._answers.clear()

    def follow(self, pool: Pool, records: Mapping[str, Record], ids: Iterable[str]) -> None:
        """Take in that these memories are new or have changed."""
        changed = list(ids)
        for kept in (self._columns, self._answers):
            for name in [name for name, one in kept.items() if not one.follow(pool, records, changed)]:
                del kept[name]

    def flags(self, wanted: Filter, pool: Pool, records: Mapping[str, Record]) -> Flags:
        """A flag for every row of the pool, for the caller to keep; that of a row which is not in use says nothing."""
        if isinstance(wanted, AllOf):
            together = np.ones(pool.limit, np.bool_)
            for one in wanted.filters:
                together &= self.flags(one, pool, records)
            return together
        if isinstance(wanted, Where) and wanted.operator == "eq" and not str(wanted.field).startswith("@"):
            path = (wanted.field,) if isinstance(wanted.field, str) else wanted.field
            column = _used(self._columns, repr(path)) or _new(self._columns, repr(path), _Column(path), pool, records)
            return column.equal(wanted.value, pool.limit)
        # By its spelling: 1, 1.0 and True are equal as values and different in a filter.
        name = repr(wanted)
        answers = _used(self._answers, name) or _new(self._answers, name, _Answers(wanted), pool, records)
        return answers.flags[: pool.limit].copy()


def _used(kept: OrderedDict[str, Kept], name: str) -> Kept | None:
    if name in kept:
        kept.move_to_end(name)
    return kept.get(name)


def _new(kept: OrderedDict[str, Kept], name: str, one: Kept, pool: Pool, records: Mapping[str, Record]) -> Kept:
    one.follow(pool, records, records)
    kept[name] = one
    if len(kept) > _MOST_KEPT:
        kept.popitem(last=False)
    return one


class _Column:
    """The values of one field of the metadata, each as a number; 0 where it is absent or no scalar."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self._path = path
        self._numbers: dict[Any, int] = {}
        self._codes = np.zeros(0, np.int32)

    def follow(self, pool: Pool, records: Mapping[str, Record], ids: Iterable[str]) -> bool:
        """Read memories again. False when it has grown too large and is better made anew."""
        missing = len(pool.alive) - len(self._codes)
        if missing > 0:
            self._codes = np.concatenate((self._codes, np.zeros(missing, np.int32)))
        numbers, codes = self._numbers, self._codes
        for id_ in ids:
            value = _scalar(self._found(records[id_].metadata))
            codes[pool.row_of(id_)] = 0 if value is _ABSENT else numbers.setdefault(value, len(numbers) + 1)
        return len(numbers) <= len(pool) + _UNUSED

    def equal(self, value: object, limit: int) -> Flags:
        """Which rows have a value."""
        # A value that no memory has is no number of any.
        return self._codes[:limit] == self._numbers.get(_scalar(value), -1)

    def _found(self, value: Any) -> Any:
        for key in self._path:
            if not isinstance(value, dict) or key not in value:
                return _ABSENT
            value = cast("dict[str, Any]", value)[key]
        return value


def _scalar(value: Any) -> Any:
    """A value as a key: 1 is 1.0, but True is neither."""
    if isinstance(value, bool):
        return ("bool", value)
    return value if value is None or isinstance(value, str | int | float) else _ABSENT


class _Answers:
    """Whether each memory satisfies a filter."""

    def __init__(self, wanted: Filter) -> None:
        self._wanted = wanted
        self.flags: Flags = np.zeros(0, np.bool_)

    def follow(self, pool: Pool, records: Mapping[str, Record], ids: Iterable[str]) -> bool:
        """Ask memories again."""
        missing = len(pool.alive) - len(self.flags)
        if missing > 0:
            self.flags = np.concatenate((self.flags, np.zeros(missing, np.bool_)))
        for id_ in ids:
            self.flags[pool.row_of(id_)] = holds(self._wanted, records[id_])
        return True


# The pools of the spaces searched lately, kept true to the store by its changes.


_MEASURED_EVERY = 256


def _standing(traits: Traits) -> float:
    """How far somebody's word has moved a memory from what its content alone is worth; 0.5 is not at all.

    What a text is worth keeping says little of what it answers: ranked by it, questions were answered worse. What people
    said of it, by feedback or by giving it an importance, counts.
    """
    if traits.importance is None:
        return 0.5
    content = 0.5 if traits.content is None else traits.content
    return min(max(0.5 + traits.importance - content, 0.0), 1.0)


def entry_of(record: Record, traits: Traits) -> Entry:
    """What ranking needs of a memory."""
    return Entry(
        record.id,
        record.text,
        traits.speaker,
        traits.session,
        traits.position,
        record.time.timestamp(),
        record.kind,
        effective(_standing(traits), traits.uses),
        traits.uses,
        None if record.vector is None else np.asarray(record.vector, np.float32),
        0.0 if traits.accessed is None else traits.accessed.timestamp(),
        0.5 if traits.importance is None else traits.importance,
    )


class HeldPool:
    """A pool with the memories it was made of, less their vectors. Use it under its lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool = Pool()
        self.records: dict[str, Record] = {}
        self.traits: dict[str, Traits] = {}
        self.expiring: dict[str, datetime] = {}
        self.state: int | None = None
        self._ids: dict[int, str] = {}
        self._touched: dict[str, datetime] = {}
        self._sieve = Sieve()
        self.text_bytes = 0
        self.nbytes = 0
        """About how much memory it takes, as last measured."""
        self._followed = 0

    def follow(self, changes: Changes) -> None:
        """Take the store's changes in."""
        if changes.whole:
            self._clear()
        for number in changes.gone:
            self._drop(number)
        entries: list[Entry] = []
        for number, record in changes.records:
            traits = self._with_touch(record.id, traits_of(record))
            if traits.active:
                self._keep(number, record, traits)
                entries.append(entry_of(record, traits))
            else:
                self._drop(number)
        self.pool.apply(entries, ())
        self._sieve.follow(self.pool, self.records, (entry.id for entry in entries))
        self.state = changes.state
        self._followed += len(changes.records)
        if changes.whole or self._followed > _MEASURED_EVERY:
            self.nbytes, self._followed = self.pool.nbytes + self.text_bytes, 0

    def outgrown(self, changes: Changes) -> bool:
        """Whether vectors of another size come in: all were made anew, by another model, and the pool must start afresh."""
        size = self.pool.dimensions
        if changes.whole or not size:
            return False
        return any(record.vector is not None and len(record.vector) != size for _, record in changes.records)

    def touch(self, ids: Iterable[str], moment: datetime) -> None:
        """Note that memories were recalled. The store hears of it later; what is held here knows it at once."""
        for id_ in ids:
            traits = self.traits[id_]
            if traits.accessed is None or traits.accessed < moment:
                self._touched[id_] = moment
                self.traits[id_] = replace(traits, accessed=moment)
                self.pool.touch(id_, moment.timestamp())

    def _with_touch(self, id_: str, traits: Traits) -> Traits:
        """What the store says of a memory, with a recall that it has not heard of yet."""
        moment = self._touched.get(id_)
        if moment is None:
            return traits
        if traits.accessed is not None and traits.accessed >= moment:
            del self._touched[id_]
            return traits
        return replace(traits, accessed=moment)

    @classmethod
    def of(cls, records: Iterable[Record]) -> HeldPool:
        """A pool of these memories alone, for one question."""
        held = cls()
        held.follow(Changes(None, True, list(enumerate(records)), []))
        return held

    def _clear(self) -> None:
        self.pool = Pool()
        for held in (self.records, self.traits, self.expiring, self._ids, self._sieve):
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
            self.pool.apply((), (id_,))
            record = self.records.pop(id_, None)
            self.text_bytes -= 0 if record is None else 2 * len(record.text) + 800
            self.traits.pop(id_, None)
            self.expiring.pop(id_, None)
            self._touched.pop(id_, None)

    def allowed(self, wanted: Filter | None, now: datetime) -> Flags | None:
        """The rows that may be recalled now and satisfy a filter; None when all may."""
        expired = [id_ for id_, moment in self.expiring.items() if moment <= now]
        if wanted is None and not expired:
            return None
        pool = self.pool
        flags = np.ones(pool.limit, np.bool_) if wanted is None else self._sieve.flags(wanted, pool, self.records)
        for id_ in expired:
            flags[self.pool.row_of(id_)] = False
        return flags


class Pools:
    """The pools of a store, bounded in memory; the least recently used go first. Safe to use from any thread."""

    def __init__(self, index: RecordIndex, *, most_bytes: int = 512 * 2**20, most_records: int = 100_000) -> None:
        self._index = index
        self._most_bytes = most_bytes
        self._most_records = most_records
        self._lock = threading.Lock()
        self._held: OrderedDict[Space, HeldPool] = OrderedDict()

    @contextmanager
    def of(self, space: Space) -> Generator[HeldPool]:
        """The pool of a space as it is now, for the caller alone while the block lasts."""
        with self._lock:
            held = self._held.get(space)
            if held is None:
                held = self._held[space] = HeldPool()
            self._held.move_to_end(space)
        with held.lock:
            changes = self._index.changes(space, held.state)
            if changes.state is None:
                # Inside a transaction: what is seen now may be undone, and must not stay in what others use.
                held = HeldPool()
                changes = self._index.changes(space)
            elif held.outgrown(changes):
                changes = self._index.changes(space)
            if changes.whole or changes.records or changes.gone:
                held.follow(changes)
                self._shrink()
            yield held

    def suits(self, space: Space) -> bool:
        """Whether the whole of a space may be held; one that is too large is asked through the store's own indexes."""
        return space in self._held or self._index.info(space).records <= self._most_records

    def forget(self, space: Space) -> None:
        """Let go of what is held of a space."""
        with self._lock:
            self._held.pop(space, None)

    def _shrink(self) -> None:
        with self._lock:
            sizes = {space: held.nbytes for space, held in self._held.items()}
            total = sum(sizes.values())
            # The one just used stays, however large: it is needed now.
            while total > self._most_bytes and len(self._held) > 1:
                space, _ = self._held.popitem(last=False)
                total -= sizes[space]
