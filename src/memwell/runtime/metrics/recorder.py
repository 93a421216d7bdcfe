"""Records the metrics of every request, in a few microseconds, and stores them.

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

import platform
import threading
import time
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate, count
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from memwell.errors import BackendError, MissingDependency, ReadOnlyStore
from memwell.filters import Where
from memwell.longterm.journal import inner_space, knowledge_space
from memwell.records import MAX_SEGMENTS, Space, paged
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine
from memwell.runtime.grants import OWN_SPACES
from memwell.runtime.jobs import REGISTRY
from memwell.runtime.metrics.trends import (
    BOUNDS,
    COARSE,
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
from memwell.runtime.wire.running import Latency, OperationFigures, Queue, StoredCounts
from memwell.storage.protocols import Backend
from memwell.values import new_id

if TYPE_CHECKING:
    from prometheus_client.core import Metric


# Counts what a store holds: by the store's own statistics where it has them, else by counting at intervals.


_FRESH_S = 5.0
_PATIENCE = 50.0
_MOST_KEPT = 1_000
_A_PAGE = 1_000
_MOST_OWED = 200
"""So many spaces that are owed work are asked how much; of more, their number alone is told."""
_MEDIA = Where("@kind", "in", ("image", "audio", "video"))
_SEGMENTS_OF_KNOWLEDGE = 3


class _Count(NamedTuple):
    value: Any
    ended: float
    took: float

    def is_fresh(self) -> bool:
        return time.monotonic() - self.ended < max(_FRESH_S, _PATIENCE * self.took)


class Stock:
    """Counts what a store holds, of one space or of all, from any thread."""

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

    def owed(self, engine: Engine) -> Queue:
        """What the space of an engine is owed."""
        owed = engine.pending()
        vectors = owed.vectors + (engine.knowledge.pending().vectors if self._chunks(engine.space) else 0)
        return Queue(words=owed.words, vectors=vectors, spaces=int(bool(owed.words or vectors)))

    def owed_whole(self, engine: Engine) -> Queue:
        """What all spaces are owed, as far as the first 200 of them go."""
        owing = self._owing()
        each = [self.owed(engine.at(_owner(space))) for space in owing[:_MOST_OWED]]
        return Queue(
            words=sum(one.words for one in each),
            vectors=sum(one.vectors for one in each),
            spaces=sum(one.spaces for one in each) + max(len(owing) - _MOST_OWED, 0),
        )

    def _owing(self) -> list[Space]:
        kv = self._backend.kv
        entries = paged(lambda cursor: kv.scan(REGISTRY, limit=_A_PAGE, cursor=cursor))
        found = [Space.decode(entry.key) for entry in entries]
        return [space for space in found if space[:2] not in OWN_SPACES]

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

    # One space

    def _count_space(self, engine: Engine) -> StoredCounts:
        space = engine.space
        conversations, messages = self._threads(space)
        chunks = self._chunks(space)
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

    def _chunks(self, space: Space) -> int:
        if len(space) > MAX_SEGMENTS - _SEGMENTS_OF_KNOWLEDGE:
            # Too deep for documents to have a space of their own.
            return 0
        return self._backend.index.info(knowledge_space(space)).records

    # All of them

    def _count_whole(self, engine: Engine) -> StoredCounts:
        facts = self._backend.facts()
        if "spaces" not in facts:
            return StoredCounts(counted=self._now())
        memories, conversations, messages = self._sums(facts)
        shelves = {space: many for space, many in _spaces(facts) if _is_shelf(space) and many}
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
        # Memories and documents have a journal each, which is a thread of the store, and nobody's conversation.
        listed = {*(space for space, _ in spaces), *self._owing()}
        journals = [self._journal(space) for space in listed if _is_memory(space) or _is_shelf(space)]
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
    """Whether it is somebody's memory, and not one of the spaces beside it in which memwell keeps what goes with it."""
    return "memwell" not in space[1:] and space[:2] not in OWN_SPACES


def _is_shelf(space: Space) -> bool:
    return space[-2:] == ("memwell", "knowledge") and len(space) > 2


def _owner(space: Space) -> Space:
    """The space whose documents these are, or the space itself."""
    return Space(*space[:-2]) if _is_shelf(space) else space


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
        with self.backend.together():
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


# The metrics of this process in Prometheus' format. No label holds a space, a user or any user text.


_STORED = ("conversations", "messages", "memories", "documents", "chunks")


def exposition(
    metrics: Metrics, engine: Engine, *, version: str, jobs: int = 0, ledger: KeptLedger | None = None
) -> tuple[bytes, str]:
    """What Prometheus reads, and its content type: the requests of this process, what all spaces hold and are owed.

    ``version`` is memwell's own. Raises ``MissingDependency`` without prometheus_client.
    """
    try:
        # Optional, and of use to nobody who is not asked for figures.
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependency('figures for Prometheus need: pip install "memwell[server]"') from error
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(metrics, engine, version, jobs, ledger))
    return generate_latest(registry), CONTENT_TYPE_LATEST


class _Collector:
    """Reads the figures once, when it is asked. It is made for one answer and registered nowhere else."""

    def __init__(self, metrics: Metrics, engine: Engine, version: str, jobs: int, ledger: KeptLedger | None) -> None:
        self._metrics = metrics
        self._engine = engine
        self._version = version
        self._jobs = jobs
        self._ledger = ledger

    def describe(self) -> list[Metric]:
        """Nothing: a registry would otherwise collect once to learn the names."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All figures."""
        operations = self._metrics.counts()
        yield from _requests(operations)
        yield from _gauges(self._metrics)
        yield from _stored(self._metrics.stock.whole(self._engine))
        yield _owed(self._metrics.stock.owed_whole(self._engine), self._jobs)
        if self._ledger is not None:
            yield from _costs(self._ledger)
        yield _build(self._version)


def _requests(operations: dict[str, OperationCounts]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily  # noqa: PLC0415 - as above

    requests = CounterMetricFamily("memwell_requests", "Requests that were answered.", labels=("operation", "status"))
    seconds = HistogramMetricFamily("memwell_request_seconds", "How long requests took.", labels=("operation",))
    sizes = CounterMetricFamily("memwell_request_bytes", "Bytes received and sent.", labels=("operation",))
    for name, one in operations.items():
        for status, many in one.statuses.items():
            requests.add_metric((name, status), many)
        seconds.add_metric((name,), _cumulative(one.buckets), one.seconds)
        sizes.add_metric((name,), one.bytes)
    yield from (requests, seconds, sizes)


def _cumulative(buckets: list[int]) -> list[tuple[str, float]]:
    """How many requests took no longer than each bound, of which every fourth is told."""
    below = list(accumulate(buckets))
    return [*((repr(BOUNDS[place]), float(below[place])) for place in COARSE), ("+Inf", float(below[-1]))]


def _gauges(metrics: Metrics) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    yield GaugeMetricFamily("memwell_in_flight", "Requests under way.", value=metrics.requests_in_flight)
    yield GaugeMetricFamily("memwell_start_time_seconds", "When the process began.", value=metrics.started)
    yield GaugeMetricFamily(
        "memwell_unflushed", "How often figures could not be stored since they last were.", value=metrics.unflushed
    )


def _stored(stored: StoredCounts) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    for name in _STORED:
        many: int | None = getattr(stored, name)
        if many is not None:
            yield GaugeMetricFamily(f"memwell_{name}", f"The {name} of all spaces.", value=many)
    yield GaugeMetricFamily(
        "memwell_counted_time_seconds", "When what is stored was counted.", value=stored.counted.timestamp()
    )


def _owed(queue: Queue, jobs: int) -> Metric:
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - as above

    owed = GaugeMetricFamily("memwell_owed", "Work that is still to be done.", labels=("work",))
    owed.add_metric(("words",), queue.words)
    owed.add_metric(("vectors",), queue.vectors)
    owed.add_metric(("jobs",), jobs)
    return owed


def _costs(ledger: KeptLedger) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily  # noqa: PLC0415 - as above

    costs = CounterMetricFamily("memwell_cost", "What models cost in this calendar month.", labels=("model",))
    tokens = CounterMetricFamily("memwell_tokens", "Tokens of this calendar month.", labels=("model", "direction"))
    for model, account in ledger.accounts().items():
        if account.cost is not None:
            costs.add_metric((model,), account.cost)
        tokens.add_metric((model, "input"), account.input_tokens)
        tokens.add_metric((model, "output"), account.output_tokens)
    yield from (costs, tokens)
    if ledger.spend_cap is not None:
        yield GaugeMetricFamily("memwell_spend_cap", "What may be spent in a month.", value=ledger.spend_cap)


def _build(version: str) -> Metric:
    from prometheus_client.core import InfoMetricFamily  # noqa: PLC0415 - as above

    build = InfoMetricFamily("memwell_build", "What is running.")
    build.add_metric((), {"version": version, "python": platform.python_version()})
    return build
