"""The metrics of a service: every request is observed, in a few microseconds, and the figures outlive the process.

    metrics = Metrics(engine.backend)
    with metrics.in_flight():
        …
    metrics.observe("recall", "recall", 0.004, status=200, space=space)
    metrics.flush()                                   # every 15 seconds, and at the end

What was observed since the last ``flush`` is lost when the process is killed, and nothing else.

Memory is bounded: figures of their own are kept for the spaces of the last hour or so, at most ``most_spaces`` of them.
When more are busy at once, the ones that came last are counted in the whole only until others have fallen silent.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from types import TracebackType
from typing import Literal, NamedTuple, TypeAlias

from memwell.errors import BackendError, ReadOnlyStore
from memwell.records import Space
from memwell.runtime.metrics.stock import Stock
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
    drop,
    latency_of,
    number_of,
    read,
    tag_of,
)
from memwell.runtime.wire.figures import Latency, OperationFigures
from memwell.storage.protocols import Backend
from memwell.values import new_id

Kind: TypeAlias = Literal["write", "recall", "read", "other"]

_MOST_OPERATIONS = 512
_MOST_HEARD = 256
_MOST_HELD = 20_000
_SNAPSHOTS = 16
_SAMPLING_S = 0.1
"""How long a flush may count what is stored in spaces; those that it does not get to keep their last counts."""
RECENT_MINUTES = 5


class OperationCounts(NamedTuple):
    """One operation since the process began."""

    statuses: dict[str, int]
    """How often it was answered with ``2xx`` and so on."""
    buckets: list[int]
    """By the place of the bucket; the last one is of what took longer than all bounds."""
    seconds: float
    bytes: int


class _Operation:
    __slots__ = ("buckets", "bytes", "seconds", "statuses")

    def __init__(self) -> None:
        self.statuses = [0] * 6
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0
        self.bytes = 0

    def counts(self) -> OperationCounts:
        statuses = {f"{hundreds}xx": many for hundreds, many in enumerate(self.statuses) if many}
        return OperationCounts(statuses, list(self.buckets), self.seconds, self.bytes)


class _InFlight:
    """A request that is under way while the block lasts."""

    __slots__ = ("_metrics",)

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def __enter__(self) -> None:
        self._metrics.add_in_flight(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._metrics.add_in_flight(-1)


class Metrics:
    """Counts and times of one process, from any thread, and the trends of all processes of a store."""

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
        self._guard = _InFlight(self)
        self._operations: dict[str, _Operation] = {}
        self._snapshots: deque[tuple[int, dict[str, list[int]]]] = deque(maxlen=_SNAPSHOTS)
        """The counts of all operations at the end of minutes."""
        self._whole = Course(None, int(self.started // 60), self._named)
        self._spaces: dict[Space, Course] = {}
        self._held: dict[str, Written] = {}
        """Rows that nothing is added to any more, until they are in the store."""

    # While requests come

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
        """Count a request that was answered. ``space`` is None when it was nobody's, such as one with a wrong key.

        ``speaker`` is who is named in it, ``size`` how many bytes came and went, ``code`` that of its problem. Of these
        nothing but counts is kept, and of failures the time, operation, status and code.
        """
        now = self.clock()
        minute = int(now // 60)
        bucket = bisect_left(BOUNDS, seconds)
        with self._lock:
            whole = self._whole
            if whole.minute != minute:
                # Before anything is counted: it takes down the counts until now.
                self._turn_whole(minute)
            done = self._operations.get(operation) or self._operation(operation)
            done.buckets[bucket] += 1
            done.seconds += seconds
            done.bytes += size
            done.statuses[status // 100 if 100 <= status < 600 else 0] += 1
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
                self._fail(course, Failed(now, operation, status, code or str(status)))

    def _operation(self, name: str) -> _Operation:
        if len(self._operations) >= _MOST_OPERATIONS:
            name = "other"
        return self._operations.setdefault(name, _Operation())

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
            whole.spaces.add(number_of(space))
            if speaker is not None:
                whole.speakers.add(number_of(space, speaker))
            return None
        self._whole.tally.spaces.add(course.number)
        return course

    def _hear(self, course: Course, speaker: str) -> None:
        if course.space is not None:
            number = number_of(course.space, speaker)
            course.tally.speakers.add(number)
            self._whole.tally.speakers.add(number)
        if len(course.heard) < _MOST_HEARD:
            course.heard.add(speaker)

    def _fail(self, course: Course | None, failed: Failed) -> None:
        self._whole.fail(failed)
        if course is not None:
            course.fail(failed)

    def in_flight(self) -> _InFlight:
        """A context in which one more request is under way."""
        return self._guard

    def add_in_flight(self, many: int) -> None:
        """Count requests that begin, or with a number below 0 that end."""
        with self._lock:
            self._in_flight += many

    # Keeping

    def flush(self) -> None:
        """Store what was observed. Raises ``BackendError`` when that fails; nothing is lost then, the next one stores it.

        In a store that can only be read nothing is kept.
        """
        with self._flushing:
            with suppress(BackendError):
                # Counts of what is stored are missing then, and nothing else.
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
        """Note in the courses how much is stored."""
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
            # One at a time: requests must not wait until a thousand are written down.
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
        with self.backend.transaction():
            for key, row in rows.items():
                self.backend.kv.put(FIGURES, key, row.value, ttl=row.ttl)

    def _hold(self, rows: dict[str, Written]) -> None:
        self._held.update(rows)
        while len(self._held) > _MOST_HELD:
            # The store has been failing for long. The oldest rows go.
            del self._held[next(iter(self._held))]

    def forget(self, space: Space) -> int:
        """Take the figures of a space out of the store; how many rows there were. In those of the whole it still counts."""
        tag = tag_of(space)
        with self._flushing:
            with self._lock:
                self._spaces.pop(space, None)
                self._held = {key: row for key, row in self._held.items() if not key.startswith(f"{tag}/")}
            return drop(self.backend.kv, tag)

    # Reading

    @property
    def requests_in_flight(self) -> int:
        """How many requests this process is at now."""
        return self._in_flight

    def past(self, space: Space | None, level: Level, first: int, last: int) -> Past:
        """The slots from ``first`` to ``last`` of a space, or of the whole with None; this process's as of this moment."""
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
            return {name: one.counts() for name, one in self._operations.items()}

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
        """Every operation by name: its counts, and its times since the beginning and of late."""
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
