"""Records the metrics of every request, in a few microseconds, stores them, and counts what a store holds.

    metrics = Metrics(engine.backend)
    with metrics.in_flight():
        …
    metrics.observe("recall", "recall", 0.004, status=200, space=space)
    metrics.flush()                                   # every 15 seconds, and at the end

A killed process loses what it observed since its last ``flush``. Memory is bounded: the spaces of the last hour or so have
figures of their own, at most ``most_spaces`` of them. When more are active at once, the latest ones are counted for the
whole service only, until others have been silent for an hour.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from memwell.errors import BackendError, ReadOnlyStore
from memwell.filters import Where
from memwell.longterm.journal import inner_space
from memwell.records import MAX_SEGMENTS, Space, paged
from memwell.runtime.engine import Engine, chunks_in
from memwell.runtime.grants import OWN_SPACES
from memwell.runtime.metrics.trends import (
    BOUNDS,
    FIGURES,
    WHOLE,
    Buckets,
    Course,
    Failed,
    Level,
    Past,
    Written,
    bucket_of,
    count_number,
    drop,
    latency_of,
    number_of,
    read,
    tag_of,
)
from memwell.runtime.wire.running import Latency, OperationFigures, Queue, StoredCounts
from memwell.runtime.worker import listed_spaces, owner_of_documents
from memwell.storage.protocols import Backend
from memwell.values import new_id

_FRESH_S = 5.0
_PATIENCE = 50.0
"""A count is kept for this many times as long as it took to make."""
_MOST_KEPT = 1_000
_A_PAGE = 1_000
_MOST_PENDING = 200
"""Pending work is counted in this many spaces; of further spaces only their number is."""
_MEDIA = Where("@kind", "in", ("image", "audio", "video"))


class _Count(NamedTuple):
    value: Any
    ended: float
    took: float

    def is_fresh(self) -> bool:
        return time.monotonic() - self.ended < max(_FRESH_S, _PATIENCE * self.took)


class Stock:
    """Counts what a store holds, of one space or of all: by its own statistics where it has them. Safe from any thread."""

    def __init__(self, backend: Backend, clock: Callable[[], float] = time.time) -> None:
        self._backend = backend
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, Space | None], _Count] = OrderedDict()

    def of(self, engine: Engine) -> StoredCounts:
        """What is stored in the space of an engine."""
        return self._counted("space", engine.space, lambda: self._count_space(engine))

    def whole(self, engine: Engine) -> StoredCounts:
        """What is stored in all spaces. A store that does not list its spaces, and media, stay uncounted."""
        return self._counted("whole", None, lambda: self._count_whole(engine))

    def sample(self, space: Space | None, *, may_count: bool) -> tuple[int | None, int | None]:
        """How many memories and conversations there are, for a trend; without ``may_count`` as they were last counted."""
        if space is None:
            memories, conversations, _ = self._counted("sum", None, self._sums, may_count=may_count) or (None,) * 3
            return memories, conversations
        threads = self._counted("threads", space, lambda: self._threads(space), may_count=may_count)
        return self._backend.index.info(space).records, None if threads is None else threads[0]

    def pending(self, engine: Engine) -> Queue:
        """The pending work of an engine's space."""
        found = engine.pending()
        vectors = found.vectors + (engine.knowledge.pending().vectors if chunks_in(self._backend, engine.space) else 0)
        return Queue(words=found.words, vectors=vectors, spaces=int(bool(found.words or vectors)))

    def pending_whole(self, engine: Engine) -> Queue:
        """The pending work of all spaces, counted in the first 200 of them."""
        listed = self._listed()
        each = [self.pending(engine.at(_owner(space))) for space in listed[:_MOST_PENDING]]
        return Queue(
            words=sum(one.words for one in each),
            vectors=sum(one.vectors for one in each),
            spaces=sum(one.spaces for one in each) + max(len(listed) - _MOST_PENDING, 0),
        )

    def _listed(self) -> list[Space]:
        """The spaces with pending work."""
        return [space for space in listed_spaces(self._backend) if space[:2] not in OWN_SPACES]

    def _counted(self, what: str, space: Space | None, count: Callable[[], Any], *, may_count: bool = True) -> Any:
        """A count that is kept while it is fresh; None when there is none and none may be made."""
        key = (what, space)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is not None and (kept.is_fresh() or not may_count):
            return kept.value
        if not may_count:
            return None
        begun = time.monotonic()
        value = count()
        ended = time.monotonic()
        with self._lock:
            self._kept[key] = _Count(value, ended, ended - begun)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return value

    def _count_space(self, engine: Engine) -> StoredCounts:
        space = engine.space
        conversations, messages = self._threads(space)
        chunks = chunks_in(self._backend, space)
        index = self._backend.index
        media = paged(lambda cursor: index.scan(space, where=_MEDIA, limit=_A_PAGE, cursor=cursor))
        return StoredCounts(
            conversations=conversations,
            messages=messages,
            memories=index.info(space).records,
            documents=engine.knowledge.count().documents if chunks else 0,
            chunks=chunks,
            media=sum(1 for _ in media),
            counted=self._now(),
        )

    def _threads(self, space: Space) -> tuple[int, int]:
        log = self._backend.log
        infos = paged(lambda cursor: log.threads(space, limit=_A_PAGE, cursor=cursor))
        sizes = [info.messages for info in infos]
        return len(sizes), sum(sizes)

    def _count_whole(self, engine: Engine) -> StoredCounts:
        facts = self._backend.facts()
        if "spaces" not in facts:
            return StoredCounts(counted=self._now())
        memories, conversations, messages = self._sums(facts)
        shelves = {space: many for space, many in _spaces(facts) if owner_of_documents(space) and many}
        return StoredCounts(
            conversations=conversations,
            messages=messages,
            memories=memories,
            documents=sum(engine.at(_owner(space)).knowledge.count().documents for space in shelves),
            chunks=sum(shelves.values()),
            counted=self._now(),
        )

    def _sums(self, facts: dict[str, Any] | None = None) -> tuple[int | None, int | None, int | None]:
        """The memories, conversations and messages of all spaces."""
        known = self._backend.facts() if facts is None else facts
        if "spaces" not in known:
            return None, None, None
        spaces = _spaces(known)
        # Memories and documents have a journal each: a thread of the store that is no conversation.
        listed = {*(space for space, _ in spaces), *self._listed()}
        journals = [self._journal(space) for space in listed if _is_memory(space) or owner_of_documents(space)]
        return (
            sum(many for space, many in spaces if _is_memory(space)),
            known["threads"] - sum(found for found, _ in journals),
            known["messages"] - sum(messages for _, messages in journals),
        )

    def _journal(self, space: Space) -> tuple[int, int]:
        if len(space) == MAX_SEGMENTS:
            # Too deep for a memory that has a journal.
            return 0, 0
        found = self._backend.log.threads(inner_space(space), ids=["journal"]).items
        return len(found), sum(info.messages for info in found)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _spaces(facts: dict[str, Any]) -> Sequence[tuple[Space, int]]:
    return [(Space(*one["space"]), one["records"]) for one in facts["spaces"]]


def _is_memory(space: Space) -> bool:
    """Whether it is a user's memory, and not a space in which memwell keeps its own data."""
    return "memwell" not in space[1:] and space[:2] not in OWN_SPACES


def _owner(space: Space) -> Space:
    """The space whose documents these are, or the space itself."""
    return owner_of_documents(space) or space


Kind: TypeAlias = Literal["write", "recall", "read", "other"]
"""What a request does. Trends have writes and recalls of their own."""

_ANSWERS = ("0xx", "1xx", "2xx", "3xx", "4xx", "5xx")
_MOST_OPERATIONS = 512
_MOST_HEARD = 256
_MOST_HELD = 20_000
_SNAPSHOTS = 16
_SAMPLING_S = 0.1
"""How long a flush may count what is stored in spaces; those that it does not get to keep their last counts."""
RECENT_MINUTES = 5


class OperationCounts(msgspec.Struct):
    """The counts of one operation since the process began."""

    statuses: dict[str, int]
    """How often it was answered with ``2xx`` and so on."""
    buckets: list[int]
    """By the place of the bucket; the last one is of what took longer than all bounds."""
    seconds: float = 0.0
    bytes: int = 0

    def copied(self) -> OperationCounts:
        """The counts of this moment."""
        return replace(self, statuses=dict(self.statuses), buckets=list(self.buckets))


class Metrics:
    """Counts and durations of one process, and the trends of all processes of a store. Safe from any thread."""

    def __init__(self, backend: Backend, *, clock: Callable[[], float] = time.time, most_spaces: int = 1_000) -> None:
        self.backend = backend
        self.clock = clock
        self.stock = Stock(backend, clock)
        self.started = clock()
        self.unflushed = 0
        """How often flushing has failed since it last succeeded."""
        self._most_spaces = most_spaces
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        numbers, process = count(), new_id()
        self._named = lambda: f"{process}-{next(numbers)}"
        self._in_flight = 0
        self._operations: dict[str, OperationCounts] = {}
        self._snapshots: deque[tuple[int, dict[str, list[int]]]] = deque(maxlen=_SNAPSHOTS)
        """The counts of all operations at the end of minutes."""
        self._whole = Course(None, int(self.started // 60), self._named)
        self._spaces: dict[Space, Course] = {}
        self._held: dict[str, Written] = {}
        """Rows that nothing is added to any more, until they are in the store."""

    def observe(
        self,
        operation: str,
        kind: Kind,
        seconds: float,
        *,
        status: int,
        space: Space | None,
        speaker: str | None = None,
        size: int = 0,
        code: str = "",
    ) -> None:
        """Count a request that was answered. ``space`` is None for a request without one, such as one with a wrong key.

        ``speaker`` is who is named in it, ``size`` how many bytes were received and sent, ``code`` that of its problem.
        Only counts are kept, and of failures the time, operation, status and code.
        """
        now = self.clock()
        minute = int(now // 60)
        bucket = bucket_of(seconds)
        with self._lock:
            whole = self._whole
            if whole.minute != minute:
                # Before anything is counted: the counts until now belong to the minute before.
                self._turn_whole(minute)
            done = self._operations.get(operation) or self._operation(operation)
            done.buckets[bucket] += 1
            done.seconds += seconds
            done.bytes += size
            answer = _ANSWERS[status // 100 if 100 <= status < 600 else 0]
            done.statuses[answer] = done.statuses.get(answer, 0) + 1
            whole.tally.add(kind, bucket, status, size)
            whole.changed = True
            course = None
            if space is not None:
                course = self._spaces.get(space)
                if course is None or course.minute != minute:
                    course = self._course(space, minute, speaker)
                if course is not None:
                    course.tally.add(kind, bucket, status, size)
                    course.changed = True
                    if speaker is not None and speaker not in course.heard:
                        self._hear(course, speaker)
            if status >= 500:
                for one in (whole, course):
                    if one is not None:
                        one.fail(Failed(now, operation, status, code or str(status)))

    def _operation(self, name: str) -> OperationCounts:
        if len(self._operations) >= _MOST_OPERATIONS:
            name = "other"
        return self._operations.setdefault(name, OperationCounts({}, [0] * (len(BOUNDS) + 1)))

    def _turn_whole(self, minute: int) -> None:
        ended = self._whole.minute
        if minute > ended:
            self._snapshots.append((ended, {name: list(one.buckets) for name, one in self._operations.items()}))
        self._hold(self._whole.turn(minute))

    def _course(self, space: Space, minute: int, speaker: str | None) -> Course | None:
        """The course of a space in this minute, or None when there are too many."""
        course = self._spaces.get(space)
        if course is not None:
            self._hold(course.turn(minute))
        elif len(self._spaces) < self._most_spaces:
            course = self._spaces[space] = Course(space, minute, self._named)
        else:
            whole = self._whole.tally
            whole.missed += 1
            count_number(whole.spaces, number_of(space))
            if speaker is not None:
                count_number(whole.speakers, number_of(space, speaker))
            return None
        count_number(self._whole.tally.spaces, course.number)
        return course

    def _hear(self, course: Course, speaker: str) -> None:
        if course.space is not None:
            number = number_of(course.space, speaker)
            count_number(course.tally.speakers, number)
            count_number(self._whole.tally.speakers, number)
        if len(course.heard) < _MOST_HEARD:
            course.heard.add(speaker)

    @contextmanager
    def in_flight(self) -> Generator[None]:
        """A context in which one more request is being answered."""
        with self._lock:
            self._in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_flight -= 1

    def flush(self) -> None:
        """Store what was observed. Raises ``BackendError`` when that fails; then the next flush stores it.

        In a read-only store nothing is kept.
        """
        with self._flushing:
            with suppress(BackendError):
                # When this fails, only the totals of memories and conversations are missing.
                self._sample()
            rows = self._due()
            try:
                self._store(rows)
            except ReadOnlyStore:
                return
            except BackendError:
                self.unflushed += 1
                with self._lock:
                    self._hold({key: row for key, row in rows.items() if key not in self._held})
                raise
            self.unflushed = 0

    def _sample(self) -> None:
        """Write the totals of memories and conversations into the courses."""
        with self._lock:
            courses = [course for course in (self._whole, *self._spaces.values()) if course.changed]
        end = time.monotonic() + _SAMPLING_S
        for course in courses:
            memories, conversations = self.stock.sample(course.space, may_count=time.monotonic() < end)
            with self._lock:
                tally = course.tally
                tally.memories = tally.memories if memories is None else memories
                tally.conversations = tally.conversations if conversations is None else conversations

    def _due(self) -> dict[str, Written]:
        with self._lock:
            rows, self._held = self._held, {}
            courses = [self._whole, *self._spaces.values()]
        hour = int(self.clock() // 3600)
        for course in courses:
            # The lock is taken for one at a time: requests must not wait until a thousand are encoded.
            with self._lock:
                if course.changed:
                    rows.update(course.rows())
                    course.changed = False
                if course.space is not None and course.minute // 60 < hour:
                    del self._spaces[course.space]
        return rows

    def _store(self, rows: dict[str, Written]) -> None:
        if not rows:
            return
        with self.backend.together():
            for key, row in rows.items():
                self.backend.kv.put(FIGURES, key, row.value, ttl=row.ttl)

    def _hold(self, rows: dict[str, Written]) -> None:
        self._held.update(rows)
        while len(self._held) > _MOST_HELD:
            # The store has been failing for a long time. The oldest rows are dropped.
            del self._held[next(iter(self._held))]

    def forget(self, space: Space) -> int:
        """Delete the figures of a space; how many rows there were. In those of the whole service it still counts."""
        tag = tag_of(space)
        with self._flushing:
            with self._lock:
                self._spaces.pop(space, None)
                self._held = {key: row for key, row in self._held.items() if not key.startswith(f"{tag}/")}
            return drop(self.backend.kv, tag)

    @property
    def requests_in_flight(self) -> int:
        """How many requests this process is answering now."""
        return self._in_flight

    def past(self, space: Space | None, level: Level, first: int, last: int) -> Past:
        """The slots from ``first`` to ``last`` of a space, or with None of the whole service, up to this moment."""
        tag = WHOLE if space is None else tag_of(space)
        with self._lock:
            course = self._whole if space is None else self._spaces.get(space)
            live = {key: row for key, row in self._held.items() if key.startswith(f"{tag}/")}
            if course is not None:
                live.update(course.rows())
        return read(self.backend.kv, tag, level, first, last, live)

    def counts(self) -> dict[str, OperationCounts]:
        """Every operation since the process began."""
        with self._lock:
            return {name: one.copied() for name, one in self._operations.items()}

    def latency(self, operation: str, *, minutes: int | None = None) -> Latency:
        """How long an operation took since the process began, or in its last minutes, this one included; at most 15."""
        with self._lock:
            done = self._operations.get(operation)
            buckets = [0] * (len(BOUNDS) + 1) if done is None else list(done.buckets)
            before = None if minutes is None else self._until(int(self.clock() // 60) - minutes)
        if before is not None:
            earlier = before.get(operation, [0] * len(buckets))
            buckets = [now - then for now, then in zip(buckets, earlier, strict=True)]
        return latency_of(_filled(buckets))

    def _until(self, minute: int) -> dict[str, list[int]]:
        """The counts at the end of a minute."""
        if self._whole.minute <= minute:
            return {name: list(one.buckets) for name, one in self._operations.items()}
        known = [counts for ended, counts in self._snapshots if ended <= minute]
        if known:
            return known[-1]
        return self._snapshots[0][1] if len(self._snapshots) == _SNAPSHOTS else {}

    def operations(self) -> list[OperationFigures]:
        """Every operation by name: its counts, and its durations since the process began and in the last minutes."""
        return [
            OperationFigures(
                operation=name,
                requests=sum(one.statuses.values()),
                errors=one.statuses.get("5xx", 0),
                bytes=one.bytes,
                latency=latency_of(_filled(one.buckets)),
                recent=self.latency(name, minutes=RECENT_MINUTES),
            )
            for name, one in sorted(self.counts().items())
        ]


def _filled(buckets: list[int]) -> Buckets:
    return {place: many for place, many in enumerate(buckets) if many}
