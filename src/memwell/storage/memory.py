"""The reference backend, ``memory:``: everything in this process's memory, written to be obviously right.

Every other backend must give the same answers. It stores encoded copies, so changes that a caller makes to a value later do
not reach it.
"""

from __future__ import annotations

import contextlib
import copy
import heapq
import math
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec
from msgspec.structs import replace

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError, InvalidInput, NotFound, ReadOnlyStore
from memwell.filters import Filter, FilterLike, as_filter, record_test, value_test
from memwell.language.segment import query_terms, segment
from memwell.messages import Message
from memwell.records import Hit, Page, Record, Space, Thread, Vector, as_vector, pack_half, unpack_half
from memwell.storage import arguments as given
from memwell.storage.parts import (
    BaseBlobs,
    BaseKeyValue,
    BaseLog,
    CopiedPlace,
    CopiedThread,
    Placed,
    Prepared,
    StoredEntry,
    StoredPlace,
    StoredVersion,
    Tail,
    ThreadRow,
    bm25_scores,
    check_dimensions,
    check_follows,
    check_new_ids,
    distinct_terms,
    packed_vectors,
    page_of,
    place,
    replaced_body,
)
from memwell.storage.protocols import Backend, Changes, Entry, IndexInfo, RecordIndex, ThreadInfo, split_state, state_of
from memwell.values import check_text

# Undo: every change of what the reference backend holds is made here, and can be rolled back.

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class Undo:
    """An undo log of changes to dicts, lists and fields. A ``with`` block that raises is rolled back.

    Blocks nest, and each can fail alone. A change costs what it touches: nothing is copied beforehand.
    """

    def __init__(self) -> None:
        self._steps: list[Callable[[], None]] = []
        self._marks: list[int] = []
        self.sealed: str | None = None
        """Why nothing may be changed: changes raise ``ReadOnlyStore`` with this reason."""

    def _change(self, back: Callable[[], None]) -> None:
        if self.sealed is not None:
            raise ReadOnlyStore(f"the store can only be read: {self.sealed}")
        self._steps.append(back)

    def __enter__(self) -> None:
        self._marks.append(len(self._steps))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        mark = self._marks.pop()
        while kind is not None and len(self._steps) > mark:
            self._steps.pop()()
        if not self._marks:
            self._steps.clear()

    def update(self, held: dict[K, V], changes: Mapping[K, V]) -> None:
        """Put values under their keys."""
        old = {key: held[key] for key in changes if key in held}
        new = [key for key in changes if key not in held]

        def back() -> None:
            for key in new:
                held.pop(key, None)
            held.update(old)

        self._change(back)
        held.update(changes)

    def opened(self, held: dict[K, V], key: K, make: Callable[[], V]) -> V:
        """The value of a key, created if need be."""
        if key not in held:
            self.update(held, {key: make()})
        return held[key]

    def drop(self, held: dict[K, V], keys: Iterable[K]) -> None:
        """Delete keys that exist."""
        gone = {key: held[key] for key in keys if key in held}
        if gone:
            self._change(lambda: held.update(gone))
        for key in gone:
            del held[key]

    def splice(self, held: list[V], start: int, stop: int, items: list[V]) -> None:
        """Replace the items from ``start`` to ``stop``."""
        old, end = held[start:stop], start + len(items)
        if not old and not items:
            return

        def back() -> None:
            held[start:end] = old

        self._change(back)
        held[start:stop] = items

    def extend(self, held: list[V], items: list[V]) -> None:
        """Put items at the end."""
        self.splice(held, len(held), len(held), items)

    def assign(self, held: object, **fields: Any) -> None:
        """Set fields of an object."""
        old = {name: getattr(held, name) for name in fields}
        self._change(lambda: _set(held, old))
        _set(held, fields)


def _set(held: object, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        setattr(held, name, value)


# The state of the reference backend, and its transactions.


class PlaceRow(msgspec.Struct, frozen=True, gc=False):
    """A place of a thread, and the JSON of the message there: None, and no tokens, when it was removed."""

    id: str
    round: int
    tokens: int
    body: str | None


class ThreadState(msgspec.Struct):
    """A thread: its rows by index, and what is derived from them, so that no call reads them all."""

    created: float
    rows: dict[int, PlaceRow] = {}
    ids: dict[str, int] = {}
    """The index of each id."""
    order: list[int] = []
    """The indexes of all rows, rising."""
    live: list[int] = []
    """The indexes of the rows that hold a message, rising."""
    tokens: int = 0
    versions: dict[int, list[StoredVersion]] = {}
    metadata: str = "{}"
    first: int = 0
    tail: Tail = Tail(0, 0, -1)
    edits: int = 0


class State(msgspec.Struct):
    """All that the store holds. It is changed through the store's ``Undo`` alone."""

    threads: dict[Space, dict[str, ThreadState]] = {}
    entries: dict[Space, dict[str, StoredEntry]] = {}
    records: dict[Space, dict[str, tuple[int, Record]]] = {}
    changed: dict[Space, list[int]] = {}
    """The numbers of a space's records in the order in which they were stored, changed or dropped."""
    blobs: dict[tuple[Space, str], bytes] = {}
    counter: int = 0

    def thread(self, thread: Thread) -> ThreadState | None:
        return self.threads.get(thread.space, {}).get(thread.id)


class MemoryStore:
    """The state, its lock, its clock and its transactions, shared by the four parts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        self.undo = Undo()
        self.nesting = 0
        self.closed = False
        self._state = State()

    def use(self) -> Self:
        """The state, for one call: what it changes is undone if it raises."""
        return self

    # Not a generator: every call passes here several times.

    def __enter__(self) -> State:
        self.lock.acquire()
        if self.closed:
            self.lock.release()
            raise BackendError("the store is closed")
        self.undo.__enter__()
        return self._state

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.undo.__exit__(kind, error, trace)
        finally:
            self.lock.release()

    def inside(self) -> bool:
        """Whether the calling thread is inside a transaction."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            return self.nesting > 0
        finally:
            self.lock.release()

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        with self.use():
            self.nesting += 1
            try:
                yield
            finally:
                self.nesting -= 1


# Conversations in memory: the reference.


class MemoryLog(BaseLog):
    """Conversations in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def _append(self, thread: Thread, prepared: Prepared, *, keep_places: bool) -> list[Placed]:
        with self._store.use() as state:
            known = state.thread(thread)
            placed = place(prepared, known.tail if known else Tail(0, 0, -1), keep_places=keep_places)
            check_new_ids([one.id for one in placed], known.ids if known else ())
            if placed:
                self._extend(self._opened(state, thread), placed)
        return placed

    def _opened(self, state: State, thread: Thread) -> ThreadState:
        threads = self._store.undo.opened(state.threads, thread.space, dict[str, ThreadState])
        return self._store.undo.opened(threads, thread.id, lambda: ThreadState(self._store.clock()))

    def _extend(self, known: ThreadState, placed: Sequence[Placed]) -> None:
        undo, indexes = self._store.undo, [one.index for one in placed]
        undo.update(known.rows, {one.index: PlaceRow(one.id, one.round, one.tokens, one.body) for one in placed})
        undo.update(known.ids, {one.id: one.index for one in placed})
        undo.extend(known.order, indexes)
        undo.extend(known.live, indexes)
        tail = Tail(placed[-1].index + 1, placed[-1].round, known.tail.ended)
        undo.assign(known, tail=tail, tokens=known.tokens + sum(one.tokens for one in placed))

    def _read(self, thread: Thread, wanted: given.MessageRange) -> list[str]:
        with self._store.use() as state:
            known = state.thread(thread)
            found = [] if known is None else [known.rows[index].body for index in _in_range(known, wanted)]
        return [body for body in found if body is not None]

    def _edit(self, thread: Thread, wanted: dict[int, Message | None]) -> list[str | None]:
        with self._store.use() as state:
            known = state.thread(thread)
            places: dict[int, PlaceRow] = {}
            for index, message in wanted.items():
                if known is None or index not in known.rows:
                    raise NotFound(f"thread {thread.id!r} holds nothing at index {index}")
                places[index] = _changed(known.rows[index], index, message)
            if known is not None:
                for index, row in places.items():
                    self._put(known, index, row)
        return [row.body for row in places.values()]

    def _put(self, known: ThreadState, index: int, row: PlaceRow) -> None:
        undo, old = self._store.undo, known.rows[index]
        if old.body is None and row.body is None:
            return
        versions = undo.opened(known.versions, index, list[StoredVersion])
        undo.extend(versions, [(old.body, self._store.clock())])
        undo.update(known.rows, {index: row})
        undo.assign(known, tokens=known.tokens + row.tokens - old.tokens, edits=known.edits + 1)
        # Its place among the live ones is the same before and after: the index is added, kept, or removed.
        at = bisect_left(known.live, index)
        undo.splice(known.live, at, at + (old.body is not None), [] if row.body is None else [index])

    def _versions(self, thread: Thread, index: int) -> list[StoredVersion]:
        with self._store.use() as state:
            known = state.thread(thread)
            return list(known.versions.get(index, ())) if known else []

    def _trim(self, thread: Thread, before: int, spared: set[int]) -> int:
        with self._store.use() as state:
            known = state.thread(thread)
            return 0 if known is None else self._drop(known, before, spared)

    def _drop(self, known: ThreadState, before: int, spared: set[int]) -> int:
        undo, live = self._store.undo, len(known.live)
        gone = [index for index in known.order[: bisect_left(known.order, before)] if index not in spared]
        rows = [known.rows[index] for index in gone]
        for indexes in (known.order, known.live):
            cut = bisect_left(indexes, before)
            undo.splice(indexes, 0, cut, [index for index in indexes[:cut] if index in spared])
        undo.drop(known.rows, gone)
        undo.drop(known.versions, gone)
        undo.drop(known.ids, [row.id for row in rows])
        first = max(known.first, min([before, known.tail.next, *known.order[:1]]))
        dropped = live - len(known.live)
        edits = known.edits + (dropped > 0)
        undo.assign(known, first=first, tokens=known.tokens - sum(row.tokens for row in rows), edits=edits)
        return dropped

    def _delete(self, thread: Thread) -> bool:
        with self._store.use() as state:
            known = state.thread(thread)
            if known is not None:
                self._store.undo.drop(state.threads[thread.space], [thread.id])
            return known is not None

    def _annotate(self, thread: Thread, metadata: str | None, end_round: bool) -> ThreadInfo:
        with self._store.use() as state:
            known = self._opened(state, thread)
            if metadata is not None:
                self._store.undo.assign(known, metadata=metadata)
            if end_round:
                self._store.undo.assign(known, tail=known.tail._replace(ended=known.tail.round))
            return _info(thread, known)

    def _threads(self, space: Space, ids: list[str] | None, after: str | None, limit: int) -> list[ThreadInfo]:
        with self._store.use() as state:
            held = state.threads.get(space, {})
            names = held if ids is None else [name for name in ids if name in held]
            listed = sorted(name for name in names if after is None or name > after)
            return [_info(Thread(space, name), held[name]) for name in listed[:limit]]

    def _places(self, thread: Thread, start: int, limit: int) -> list[StoredPlace]:
        with self._store.use() as state:
            known = state.thread(thread) or ThreadState(0.0)
            begin = bisect_left(known.order, start)
            found = [(index, known.rows[index]) for index in known.order[begin : begin + limit]]
            return [(at, row.round, row.id, row.body, list(known.versions.get(at, ()))) for at, row in found]

    def _restore(self, thread: Thread, wanted: CopiedThread, places: list[CopiedPlace]) -> None:
        with self._store.use() as state:
            known = self._opened(state, thread)
            for one in places[:1]:
                check_follows(one, known.order[-1] if known.order else -1)
            check_new_ids([one.id for one in places], known.ids)
            self._take_over(known, wanted, places)

    def _take_over(self, known: ThreadState, wanted: CopiedThread, copied: Sequence[CopiedPlace]) -> None:
        undo = self._store.undo
        undo.update(known.rows, {one.index: PlaceRow(one.id, one.round, one.tokens, one.body) for one in copied})
        undo.update(known.ids, {one.id: one.index for one in copied})
        undo.update(known.versions, {one.index: one.versions for one in copied if one.versions})
        undo.extend(known.order, [one.index for one in copied])
        undo.extend(known.live, [one.index for one in copied if one.body is not None])
        undo.assign(
            known,
            created=wanted.created,
            metadata=wanted.metadata,
            first=wanted.first,
            tail=Tail(wanted.next, wanted.round, wanted.ended),
            edits=wanted.edits,
            tokens=known.tokens + sum(one.tokens for one in copied),
        )


def _in_range(known: ThreadState, wanted: given.MessageRange) -> list[int]:
    """The indexes that a read asks for, in order."""
    live = known.live
    if wanted.ids is not None:
        found = {known.ids[id_] for id_ in wanted.ids if id_ in known.ids}
        live = sorted(index for index in found if known.rows[index].body is not None)
    start, stop = bisect_left(live, wanted.low), bisect_right(live, wanted.high)
    if wanted.last is not None:
        start = max(start, stop - wanted.last)
    if wanted.first is not None:
        stop = min(stop, start + wanted.first)
    return live[start:stop]


def _changed(row: PlaceRow, index: int, message: Message | None) -> PlaceRow:
    if message is None:
        return replace(row, tokens=0, body=None)
    return replace(row, tokens=message.tokens or 0, body=replaced_body(message, index, row.round, row.id))


def _info(thread: Thread, known: ThreadState) -> ThreadInfo:
    next_, round_, ended = known.tail
    newest = known.rows[known.live[-1]].body if known.live else None
    row = ThreadRow(
        *(known.first, next_, len(known.live), known.tokens, round_),
        *(known.created, known.metadata, ended, known.edits),
    )
    return row.info(thread, None if newest is None else _dated.decode(newest).time)


class _Dated(msgspec.Struct):
    """What is read of the newest message; the rest of it may be long."""

    time: str


_dated = msgspec.json.Decoder(_Dated)


def complaints(thread: Thread, known: ThreadState) -> list[str]:
    """In what the derived fields of a thread disagree with its rows, in words."""
    rows = known.rows
    derived = {
        "ids": (known.ids, {row.id: index for index, row in rows.items()}),
        "order": (known.order, sorted(rows)),
        "live": (known.live, sorted(index for index, row in rows.items() if row.body is not None)),
        "tokens": (known.tokens, sum(row.tokens for row in rows.values())),
    }
    return [f"the {name} of thread {thread.id!r} are wrong" for name, (kept, due) in derived.items() if kept != due]


# Values by key in memory: the reference.


class MemoryKeyValue(BaseKeyValue):
    """Values by key in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._clock = store.clock

    def _get(self, space: Space, key: str, now: float) -> StoredEntry | None:
        with self._store.use() as state:
            found = state.entries.get(space, {}).get(key)
            return found if found is not None and found.lives(now) else None

    def _put(self, space: Space, entry: StoredEntry, expect: int | None, now: float) -> None:
        with self._store.use():
            self._expect(space, entry.key, expect, now)
            self._restore(space, [entry])

    def _expect(self, space: Space, key: str, expect: int | None, now: float) -> bool:
        """Whether there is an entry. Raises ``Conflict``."""
        found = self._get(space, key, now)
        given.check_version(key, 0 if found is None else found.version, expect)
        return found is not None

    def _delete(self, space: Space, key: str, expect: int | None, now: float) -> bool:
        with self._store.use() as state:
            live = self._expect(space, key, expect, now)
            self._store.undo.drop(state.entries.get(space, {}), [key])
            return live

    def _scan(
        self, space: Space, where: Filter | None, after: str | None, limit: int, skip: int, now: float
    ) -> list[Entry]:
        with self._store.use() as state:
            held = state.entries.get(space, {})
            keys = sorted(key for key in held if after is None or key > after)
            live = (held[key].entry() for key in keys if held[key].lives(now))
            found = live if where is None else filter(value_test(where), live)
            return list(islice(found, skip, skip + limit))

    def _restore(self, space: Space, entries: list[StoredEntry]) -> None:
        with self._store.use() as state:
            held = self._store.undo.opened(state.entries, space, dict[str, StoredEntry])
            self._store.undo.update(held, {one.key: one for one in entries})

    _put_many = _restore


# Records in memory: the reference.


class MemoryIndex(RecordIndex):
    """Records in memory, searched by looking at every one of the space."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def upsert(self, records: Sequence[Record]) -> None:
        checked = {name: _as_stored(record) for name, record in given.check_records(records).items()}
        undo = self._store.undo
        with self._store.use() as state:
            sizes = {space: _dimensions(state.records.get(space, {})) for space, _ in checked}
            for (space, _), record in checked.items():
                sizes[space] = _check_dimensions(record, sizes[space])
            for (space, id_), record in checked.items():
                held = undo.opened(state.records, space, dict[str, tuple[int, Record]])
                undo.assign(state, counter=state.counter + 1)
                position = held[id_][0] if id_ in held else state.counter
                undo.update(held, {id_: (position, record)})
                undo.extend(undo.opened(state.changed, space, list[int]), [position])

    def get(self, space: Space, ids: Iterable[str]) -> list[Record]:
        given.check_space(space)
        wanted = given.check_ids(ids)
        with self._store.use() as state:
            held = state.records.get(space, {})
            return [copy.deepcopy(held[id_][1]) for id_ in wanted if id_ in held]

    def delete(self, space: Space, ids: Iterable[str]) -> int:
        given.check_space(space)
        wanted = given.check_ids(ids)
        with self._store.use() as state:
            held = state.records.get(space, {})
            gone = [held[id_][0] for id_ in dict.fromkeys(wanted) if id_ in held]
            self._store.undo.drop(held, wanted)
            self._store.undo.extend(self._store.undo.opened(state.changed, space, list[int]), gone)
            return len(gone)

    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        given.check_space(space)
        wanted = {id_: unpack_half(data) for id_, data in packed_vectors(vectors).items()}
        undo = self._store.undo
        with self._store.use() as state:
            held = state.records.get(space, {})
            touched = {id_: pair for id_, pair in held.items() if pair[1].vector is not None or id_ in wanted}
            for id_, (position, record) in touched.items():
                undo.update(held, {id_: (position, replace(record, vector=wanted.get(id_)))})
            if touched:
                undo.extend(state.changed[space], [position for position, _ in touched.values()])

    def _all(self, space: Space, where: FilterLike | None) -> list[tuple[int, Record]]:
        given.check_space(space)
        wanted = as_filter(where)
        fits = None if wanted is None else record_test(wanted)
        with self._store.use() as state:
            held = sorted(state.records.get(space, {}).values(), key=lambda pair: pair[0])
            return copy.deepcopy([pair for pair in held if fits is None or fits(pair[1])])

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Record]:
        start = given.check_cursor(cursor)
        given.check_limit(limit)
        found = self._all(space, where)
        if newest_first:
            rest = [pair for pair in reversed(found) if cursor is None or pair[0] < start]
        else:
            rest = [pair for pair in found if pair[0] > start]
        page = page_of(rest, limit, lambda pair: str(pair[0]))
        return Page([record for _, record in page.items], page.next)

    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        query = as_vector(vector)
        given.check_limit(limit)
        with self._store.use() as state:
            dimensions = _dimensions(state.records.get(given.check_space(space), {}))
        if dimensions is not None and len(query) != dimensions:
            raise InvalidInput(f"a vector of {len(query)} dimensions cannot search a space of {dimensions}")
        found = [
            Hit(replace(record, vector=None), _cosine(query, record.vector))
            for _, record in self._all(space, where)
            if record.vector is not None
        ]
        # The oldest first among equals.
        return heapq.nlargest(limit, found, key=lambda hit: hit.score)

    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        given.check_limit(limit)
        wanted, terms = as_filter(where), distinct_terms(query_terms(check_text(text, "text")))
        held = dict(self._all(space, None))
        scores = bm25_scores({number: segment(record.text) for number, record in held.items()}, terms)
        fits = None if wanted is None else record_test(wanted)
        kept = ((score, number) for number, score in scores.items() if fits is None or fits(held[number]))
        return [Hit(replace(held[number], vector=None), score) for score, number in heapq.nlargest(limit, kept)]

    def changes(self, space: Space, since: int | None = None) -> Changes:
        given.check_space(space)
        with self._store.use() as state:
            changed = state.changed.get(space, [])
            count = -1 if since is None else split_state(since)[0]
            known = count if 0 <= count <= len(changed) else None
            held = state.records.get(space, {}).values()
            touched = None if known is None else set(changed[known:])
            found = sorted((pair for pair in held if touched is None or pair[0] in touched), key=lambda pair: pair[0])
            gone = sorted((touched or set()) - {number for number, _ in found})
            at = None if self._store.inside() else state_of(len(changed))
            return Changes(at, known is None, copy.deepcopy(found), gone)

    def info(self, space: Space) -> IndexInfo:
        records = [record for _, record in self._all(space, None)]
        vectors = [record.vector for record in records if record.vector is not None]
        with self._store.use() as state:
            changed = len(state.changed.get(space, ()))
        return IndexInfo(len(records), len(vectors), len(vectors[0]) if vectors else None, "exact", state_of(changed))


def _cosine(query: Vector, vector: Vector) -> float:
    return sum(map(float.__mul__, query, vector)) / math.hypot(*vector)


def _as_stored(record: Record) -> Record:
    vector = None if record.vector is None else unpack_half(pack_half(record.vector))
    metadata = given.decode_value(given.encode_value(record.metadata))
    return replace(record, vector=vector, metadata=metadata)


def _dimensions(held: dict[str, tuple[int, Record]]) -> int | None:
    return next((len(record.vector) for _, record in held.values() if record.vector is not None), None)


def _check_dimensions(record: Record, dimensions: int | None) -> int | None:
    if record.vector is None:
        return dimensions
    return check_dimensions(record.id, len(record.vector), dimensions)


class MemoryBlobs(BaseBlobs):
    """Bytes in memory."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def _put(self, space: Space, digest: str, blob: bytes) -> None:
        with self._store.use() as state:
            self._store.undo.update(state.blobs, {(space, digest): blob})

    def _get(self, space: Space, digest: str) -> bytes | None:
        with self._store.use() as state:
            return state.blobs.get((space, digest))

    def _delete(self, space: Space, digest: str) -> bool:
        with self._store.use() as state:
            known = (space, digest) in state.blobs
            self._store.undo.drop(state.blobs, [(space, digest)])
            return known

    def _scan(self, space: Space, after: str, limit: int) -> list[str]:
        with self._store.use() as state:
            return sorted(digest for owner, digest in state.blobs if owner == space and digest > after)


class MemoryBackend(Backend):
    """A store that lives as long as this object. ``clock`` gives the time in seconds, for tests."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._store = MemoryStore(clock)
        self.log = MemoryLog(self._store)
        self.kv = MemoryKeyValue(self._store)
        self.index = MemoryIndex(self._store)
        self.blobs = MemoryBlobs(self._store)

    @property
    def durable(self) -> bool:
        return False

    @property
    def read_only(self) -> bool:
        return self._store.undo.sealed is not None

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        return self._store.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return AsyncContext(self._store.transaction())

    def check(self) -> list[str]:
        with self._store.use() as state:
            threads = [(Thread(space, id_), one) for space, held in state.threads.items() for id_, one in held.items()]
            return [complaint for thread, known in threads for complaint in complaints(thread, known)]

    def scrub(self) -> bool:
        if self._store.inside():
            raise BackendError("a store cannot be scrubbed inside its own transaction")
        return super().scrub()

    def facts(self) -> dict[str, Any]:
        with self._store.use() as state:
            return {
                "kind": "memory",
                "threads": sum(map(len, state.threads.values())),
                "messages": sum(len(known.live) for held in state.threads.values() for known in held.values()),
                "entries": sum(map(len, state.entries.values())),
                "records": sum(map(len, state.records.values())),
                "blobs": len(state.blobs),
                "sealed": self._store.undo.sealed,
            }

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        given.check_limit(limit)
        start = given.check_name_cursor(cursor) or ""
        now = self._store.clock()
        with self._store.use() as state:
            held = {space for part in (state.threads, state.records) for space, content in part.items() if content}
            held |= {
                space for space, entries in state.entries.items() if any(one.lives(now) for one in entries.values())
            }
            held |= {space for space, _ in state.blobs}
        found = sorted((path, space) for space in held if (path := space.encoded()) > start)
        page = page_of(found, limit, lambda pair: pair[0])
        return Page([space for _, space in page.items], page.next)

    def seal(self, reason: str | None) -> None:
        if self._store.inside():
            raise BackendError("a store cannot be sealed inside its own transaction")
        wanted = None if reason is None else check_text(reason, "a reason")
        with self._store.use():
            self._store.undo.sealed = wanted

    def close(self) -> None:
        if self._store.inside():
            raise BackendError("a store cannot be closed inside its own transaction")
        self._store.closed = True
