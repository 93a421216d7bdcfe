"""The reference backend: everything in this process's memory, written to be obviously right.

Every other backend must give the same answers. It keeps encoded copies, so what a caller does to a value afterwards does
not reach it, and it is the store behind ``memory:``.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import heapq
import math
import random
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError, Conflict, InvalidInput, NotFound
from memwell.filters import FilterLike, as_filter, holds, holds_for_value
from memwell.language.segment import query_terms, segment
from memwell.messages import Message, decode_message, decode_messages
from memwell.records import Hit, Page, Record, Space, Thread, Vector, as_vector, pack_half, unpack_half
from memwell.storage import arguments as given
from memwell.storage import bm25
from memwell.storage.placement import Placed, Tail, as_stored, place, prepare, replaced_body
from memwell.storage.protocols import (
    Backend,
    Blobs,
    Entry,
    IndexInfo,
    KeyValue,
    MessageLog,
    RecordIndex,
    ThreadInfo,
    Version,
)
from memwell.values import check_count, check_id, check_metadata, check_text

T = TypeVar("T")


class _ThreadState(msgspec.Struct):
    created: float
    rows: dict[int, tuple[str, Placed | None]] = {}
    """By index: the id, and what is there now (None when removed)."""
    versions: dict[int, list[tuple[str | None, float]]] = {}
    metadata: str = "{}"
    first: int = 0
    tail: Tail = Tail(0, 0, -1)


class _State(msgspec.Struct):
    """All that the store holds. Only its dicts are ever changed, so copying them is a snapshot."""

    threads: dict[Thread, _ThreadState] = {}
    entries: dict[tuple[Space, str], tuple[str | bytes, int, float | None]] = {}
    records: dict[Space, dict[str, tuple[int, Record]]] = {}
    blobs: dict[tuple[Space, str], bytes] = {}
    counter: int = 0


class _Store:
    """The state, its lock, its clock and its transactions, shared by the four parts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        self.nesting = 0
        self.closed = False
        self._state = _State()

    @contextlib.contextmanager
    def use(self) -> Generator[_State]:
        with self.lock:
            if self.closed:
                raise BackendError("the store is closed")
            yield self._state

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
        with self.lock:
            if self.closed:
                raise BackendError("the store is closed")
            before = copy.deepcopy(self._state)
            self.nesting += 1
            try:
                yield
            except BaseException:
                self._state = before
                raise
            finally:
                self.nesting -= 1


class MemoryLog(MessageLog):
    """Conversations in memory."""

    def __init__(self, store: _Store) -> None:
        self._store = store

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        given.check_thread(thread)
        prepared = prepare(messages, keep_places=keep_places)
        with self._store.use() as state:
            known = state.threads.get(thread)
            tail = known.tail if known else Tail(0, 0, -1)
            placed = place(prepared, tail, keep_places=keep_places)
            taken = {id_ for id_, _ in known.rows.values()} if known else set[str]()
            for one in placed:
                if one.id in taken:
                    raise Conflict(f"the thread already holds a message with the id {one.id!r}")
                taken.add(one.id)
            if placed:
                target = state.threads.setdefault(thread, _ThreadState(self._store.clock()))
                target.rows.update({one.index: (one.id, one) for one in placed})
                target.tail = Tail(placed[-1].index + 1, placed[-1].round, target.tail.ended)
        return as_stored(prepared, placed)

    def read(
        self,
        thread: Thread,
        *,
        last: int | None = None,
        first: int | None = None,
        after: int | None = None,
        before: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Message]:
        span = given.check_span(last, first, after, before, ids)
        wanted = None if span.ids is None else set(span.ids)
        with self._store.use() as state:
            known = state.threads.get(given.check_thread(thread))
            found = [
                row.body
                for index, (id_, row) in sorted(known.rows.items() if known else ())
                if row is not None
                and (after is None or index > after)
                and (before is None or index < before)
                and (wanted is None or id_ in wanted)
            ]
        if last is not None:
            found = found[len(found) - min(last, len(found)) :]
        return decode_messages(found if first is None else found[:first])

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        given.check_thread(thread)
        with self._store.use() as state:
            known = state.threads.get(thread)
            places: dict[int, Placed | None] = {}
            for index, message in changes.items():
                check_count(index, "an index")
                if known is None or index not in known.rows:
                    raise NotFound(f"thread {thread.id!r} holds nothing at index {index}")
                places[index] = self._changed(known, index, message)
            if known is not None:
                for index, placed in places.items():
                    self._put(known, index, placed)
        return [None if one is None else decode_message(one.body) for one in places.values()]

    def _changed(self, known: _ThreadState, index: int, message: Message | None) -> Placed | None:
        if message is None:
            return None
        id_ = known.rows[index][0]
        round_ = next(r for i, r in self._rounds(known) if i == index)
        return Placed(index, round_, id_, message.tokens or 0, replaced_body(message, index, round_, id_))

    @staticmethod
    def _rounds(known: _ThreadState) -> Iterator[tuple[int, int]]:
        for index, (_, row) in known.rows.items():
            if row is not None:
                yield index, row.round
            else:
                bodies = [body for body, _ in known.versions[index] if body is not None]
                yield index, decode_message(bodies[-1]).round or 0

    def _put(self, known: _ThreadState, index: int, placed: Placed | None) -> None:
        id_, old = known.rows[index]
        if old is None and placed is None:
            return
        body = None if old is None else old.body
        known.versions[index] = [*known.versions.get(index, []), (body, self._store.clock())]
        known.rows[index] = (id_, placed)

    def versions(self, thread: Thread, index: int) -> list[Version]:
        check_count(index, "an index")
        with self._store.use() as state:
            known = state.threads.get(given.check_thread(thread))
            stored = known.versions.get(index, []) if known else []
        return [Version(decode_message(b) if b is not None else None, given.moment(at)) for b, at in stored]

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        check_count(before, "before")
        spared = {check_count(index, "an index to keep") for index in keep}
        with self._store.use() as state:
            known = state.threads.get(given.check_thread(thread))
            if known is None:
                return 0
            gone = [index for index in known.rows if index < before and index not in spared]
            live = sum(known.rows[index][1] is not None for index in gone)
            for index in gone:
                del known.rows[index]
                known.versions.pop(index, None)
            known.first = max(known.first, min([before, known.tail.next, *(i for i in known.rows if i < before)]))
            return live

    def delete(self, thread: Thread) -> bool:
        with self._store.use() as state:
            return state.threads.pop(given.check_thread(thread), None) is not None

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        given.check_thread(thread)
        encoded = None if metadata is None else given.encode_value(check_metadata(metadata))
        with self._store.use() as state:
            known = state.threads.setdefault(thread, _ThreadState(self._store.clock()))
            if isinstance(encoded, str):
                known.metadata = encoded
            if end_round:
                known.tail = known.tail._replace(ended=known.tail.round)
            return self._info(thread, known)

    @staticmethod
    def count(known: _ThreadState) -> int:
        """How many messages a thread has."""
        return sum(row is not None for _, row in known.rows.values())

    @staticmethod
    def _info(thread: Thread, known: _ThreadState) -> ThreadInfo:
        live = [row for _, row in known.rows.values() if row is not None]
        created = given.moment(known.created)
        newest = max(live, key=lambda row: row.index, default=None)
        return ThreadInfo(
            thread=thread,
            first=known.first,
            next=known.tail.next,
            messages=len(live),
            tokens=sum(row.tokens for row in live),
            rounds=known.tail.round,
            created=created,
            updated=created if newest is None else decode_message(newest.body).time,
            metadata=msgspec.json.decode(known.metadata),
            ended_round=known.tail.ended if known.tail.ended >= 0 else None,
        )

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        given.check_space(space)
        wanted = None if ids is None else set(given.check_ids(ids))
        start = given.check_name_cursor(cursor)
        with self._store.use() as state:
            found = [
                self._info(thread, known)
                for thread, known in state.threads.items()
                if thread.space == space
                and (wanted is None or thread.id in wanted)
                and (start is None or thread.id > start)
            ]
        found.sort(key=lambda info: info.thread.id)
        return _page(found, given.check_limit(limit), lambda info: info.thread.id)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        terms = bm25.distinct_terms(query_terms(check_text(text, "text")))
        given.check_limit(limit)
        messages = {message.index or 0: message for message in self.read(thread)}
        scores = bm25.scores({index: segment(m.searchable) for index, m in messages.items()}, terms)
        best = heapq.nlargest(limit, ((score, index) for index, score in scores.items()))
        return [(messages[index], score) for score, index in best]


class MemoryKeyValue(KeyValue):
    """Values by key in memory."""

    def __init__(self, store: _Store) -> None:
        self._store = store

    def get(self, space: Space, key: str) -> Entry | None:
        given.check_space(space)
        check_id(key, "a key")
        with self._store.use() as state:
            return self._live(state, space, key)

    def _live(self, state: _State, space: Space, key: str) -> Entry | None:
        stored = state.entries.get((space, key))
        if stored is None or (stored[2] is not None and stored[2] <= self._store.clock()):
            return None
        value, version, expires = stored
        return Entry(key, given.decode_value(value), version, None if expires is None else given.moment(expires))

    def put(
        self,
        space: Space,
        key: str,
        value: Any,
        *,
        ttl: float | None = None,
        expect: int | None = None,
    ) -> Entry:
        given.check_space(space)
        check_id(key, "a key")
        expires = given.check_ttl(ttl, self._store.clock())
        encoded = given.encode_value(value)
        given.check_expect(expect)
        with self._store.use() as state:
            self._expect(state, space, key, expect)
            version = random.getrandbits(62) + 1
            state.entries[space, key] = (encoded, version, expires)
        moment = None if expires is None else given.moment(expires)
        return Entry(key, given.decode_value(encoded), version, moment)

    def _expect(self, state: _State, space: Space, key: str, expect: int | None) -> None:
        if expect is None:
            return
        entry = self._live(state, space, key)
        at = 0 if entry is None else entry.version
        if at != expect:
            raise Conflict(f"key {key!r} is at version {at}, not at the expected {expect}")

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        given.check_space(space)
        check_id(key, "a key")
        given.check_expect(expect)
        with self._store.use() as state:
            self._expect(state, space, key, expect)
            live = self._live(state, space, key) is not None
            state.entries.pop((space, key), None)
            return live

    def scan(
        self, space: Space, *, where: FilterLike | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[Entry]:
        given.check_space(space)
        wanted = as_filter(where)
        start = given.check_name_cursor(cursor)
        with self._store.use() as state:
            keys = sorted(k for s, k in state.entries if s == space and (start is None or k > start))
            found = [entry for key in keys if (entry := self._live(state, space, key)) is not None]
        kept = [e for e in found if wanted is None or holds_for_value(wanted, e.key, e.value)]
        return _page(kept, given.check_limit(limit), lambda entry: entry.key)


class MemoryIndex(RecordIndex):
    """Records in memory, searched by looking at every one of the space."""

    def __init__(self, store: _Store) -> None:
        self._store = store

    def upsert(self, records: Sequence[Record]) -> None:
        checked = given.check_records(records)
        with self._store.use() as state:
            sizes = {space: _dimensions(state.records.get(space, {})) for space, _ in checked}
            for (space, _), record in checked.items():
                sizes[space] = _check_dimensions(record, sizes[space])
            for (space, id_), record in checked.items():
                held = state.records.setdefault(space, {})
                state.counter += 1
                position = held[id_][0] if id_ in held else state.counter
                held[id_] = (position, _as_stored(record))

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
            return sum(held.pop(id_, None) is not None for id_ in wanted)

    def _all(self, space: Space, where: FilterLike | None) -> list[tuple[int, Record]]:
        given.check_space(space)
        wanted = as_filter(where)
        with self._store.use() as state:
            held = sorted(state.records.get(space, {}).values(), key=lambda pair: pair[0])
            return [copy.deepcopy(pair) for pair in held if wanted is None or holds(wanted, pair[1])]

    def scan(
        self, space: Space, *, where: FilterLike | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[Record]:
        start = given.check_cursor(cursor)
        found = [pair for pair in self._all(space, where) if pair[0] > start]
        page = _page(found, given.check_limit(limit), lambda pair: str(pair[0]))
        return Page([record for _, record in page.items], page.next)

    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        query = as_vector(vector)
        given.check_limit(limit)
        with self._store.use() as state:
            dimensions = _dimensions(state.records.get(given.check_space(space), {}))
        if dimensions is not None and len(query) != dimensions:
            raise InvalidInput(f"a vector of {len(query)} dimensions cannot search a space of {dimensions}")
        found = [
            Hit(msgspec.structs.replace(record, vector=None), _cosine(query, record.vector))
            for _, record in self._all(space, where)
            if record.vector is not None
        ]
        return heapq.nlargest(limit, found, key=lambda hit: hit.score)

    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        terms = bm25.distinct_terms(query_terms(check_text(text, "text")))
        given.check_limit(limit)
        everything = dict(self._all(space, None))
        scores = bm25.scores({key: segment(record.text) for key, record in everything.items()}, terms)
        kept = {key for key, _ in self._all(space, where)}
        best = heapq.nlargest(limit, ((score, key) for key, score in scores.items() if key in kept))
        return [Hit(msgspec.structs.replace(everything[key], vector=None), score) for score, key in best]

    def info(self, space: Space) -> IndexInfo:
        records = [record for _, record in self._all(space, None)]
        vectors = [record.vector for record in records if record.vector is not None]
        return IndexInfo(len(records), len(vectors), len(vectors[0]) if vectors else None, "exact")


def _as_stored(record: Record) -> Record:
    vector = None if record.vector is None else unpack_half(pack_half(record.vector))
    metadata = given.decode_value(given.encode_value(record.metadata))
    return msgspec.structs.replace(record, vector=vector, metadata=metadata)


def _dimensions(held: dict[str, tuple[int, Record]]) -> int | None:
    return next((len(record.vector) for _, record in held.values() if record.vector is not None), None)


def _check_dimensions(record: Record, dimensions: int | None) -> int | None:
    if record.vector is None:
        return dimensions
    if dimensions is not None and len(record.vector) != dimensions:
        raise InvalidInput(
            f"record {record.id!r} has a vector of {len(record.vector)} dimensions in a space of {dimensions}"
        )
    return len(record.vector)


def _cosine(query: Vector, vector: Vector) -> float:
    return sum(map(float.__mul__, query, vector)) / math.hypot(*vector)


class MemoryBlobs(Blobs):
    """Bytes in memory."""

    def __init__(self, store: _Store) -> None:
        self._store = store

    def put(self, space: Space, data: bytes) -> str:
        given.check_space(space)
        blob = given.check_blob(data)
        digest = hashlib.sha256(blob).hexdigest()
        with self._store.use() as state:
            state.blobs[space, digest] = blob
        return digest

    def get(self, space: Space, digest: str) -> bytes:
        given.check_space(space)
        with self._store.use() as state:
            blob = state.blobs.get((space, given.check_digest(digest)))
        if blob is None:
            raise NotFound(f"the space holds no blob {digest!r}")
        return blob

    def delete(self, space: Space, digest: str) -> bool:
        given.check_space(space)
        with self._store.use() as state:
            return state.blobs.pop((space, given.check_digest(digest)), None) is not None


def _page(items: list[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    return Page(items[:limit], cursor(items[limit - 1]) if len(items) > limit else None)


class MemoryBackend(Backend):
    """A store that lives as long as this object. ``clock`` gives the time in seconds, for tests."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._store = _Store(clock)
        self.log = MemoryLog(self._store)
        self.kv = MemoryKeyValue(self._store)
        self.index = MemoryIndex(self._store)
        self.blobs = MemoryBlobs(self._store)

    @property
    def durable(self) -> bool:
        return False

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        return self._store.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return AsyncContext(self._store.transaction())

    def check(self) -> list[str]:
        with self._store.use():
            return []

    def facts(self) -> dict[str, Any]:
        with self._store.use() as state:
            return {
                "kind": "memory",
                "threads": len(state.threads),
                "messages": sum(MemoryLog.count(known) for known in state.threads.values()),
                "entries": len(state.entries),
                "records": sum(map(len, state.records.values())),
                "blobs": len(state.blobs),
            }

    def close(self) -> None:
        if self._store.inside():
            raise BackendError("a store cannot be closed inside its own transaction")
        self._store.closed = True


__all__ = ["MemoryBackend", "MemoryBlobs", "MemoryIndex", "MemoryKeyValue", "MemoryLog"]
