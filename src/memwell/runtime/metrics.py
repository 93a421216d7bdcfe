"""Metrics of the service: counted per request, stored, shown on the overview page and to Prometheus.

    metrics = Metrics(engine.backend)
    with metrics.in_flight():
        …
    metrics.observe("recall", "recall", 0.004, status=200, space=space)
    metrics.flush()                                   # every 15 seconds, and at the end

The store keeps minutes for two days, and hours for a month (a space) or a year (the whole service). A row holds
the minutes of an hour, or the hours of a day. Every process writes rows of its own, and a reader adds them up. A space is
named by a digest, and its rows hold nothing of any other.

A killed process loses what it observed since its last ``flush``. Memory is bounded: the spaces of the last hour or so have
figures of their own, at most ``most_spaces`` of them. When more are active at once, the latest ones are counted for the
whole service only, until others have been silent for an hour.
"""

from __future__ import annotations

import math
import platform
import threading
import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from copy import deepcopy
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import accumulate
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import BackendError, InvalidInput, MissingDependency, ReadOnlyStore
from memwell.filters import AllOf, Where
from memwell.longterm.journal import inner_space
from memwell.records import MAX_SEGMENTS, Space, paged
from memwell.runtime.costs import KeptLedger
from memwell.runtime.engine import Engine, chunks_in
from memwell.runtime.grants import OWN_SPACES
from memwell.runtime.wire.codec import (
    ActiveUsers,
    AnswerQuality,
    Availability,
    FailedRequest,
    Latency,
    ModelCost,
    ModelCosts,
    OperationFigures,
    Point,
    Quality,
    Queue,
    ServiceFigures,
    StoredCounts,
)
from memwell.runtime.worker import listed_spaces, owner_of_documents
from memwell.storage.protocols import Backend, KeyValue
from memwell.storage.scrubbing import pending_scrubs
from memwell.values import new_id, shown

FIGURES = Space("memwell", "service", "figures")
"""Where a store keeps the figures of its service."""

WHOLE = "whole"
"""The tag of the rows of the whole service; that of a space is a digest."""

Kind: TypeAlias = Literal["write", "recall", "read", "other"]
"""What a request does. Trends have writes and recalls of their own."""

# Distinct counts in bounded memory: the smallest numbers of a set are kept, and their spread tells how many there were.


MOST_OF_A_MINUTE = 64
MOST_OF_AN_HOUR = 256
"""Up to this number, spaces and speakers are counted exactly; above it the count is an estimate."""

_RANGE = 2**53


def number_of(space: Space, speaker: str | None = None) -> int:
    """The number that a space, or a speaker within it, always gets. The name cannot be read off it."""
    digest = blake2b(space.encoded().encode(), digest_size=8)
    if speaker is not None:
        digest.update(b"\0" + speaker.encode(errors="surrogatepass"))
    return int.from_bytes(digest.digest()) >> 11


def count_number(numbers: list[int], number: int, most: int = MOST_OF_AN_HOUR) -> None:
    """Add a number to a sorted list of the smallest ``most`` different ones."""
    place = bisect_left(numbers, number)
    if place < most and numbers[place : place + 1] != [number]:
        numbers.insert(place, number)
        del numbers[most:]


def merged_numbers(some: Iterable[int], others: Iterable[int]) -> list[int]:
    """The smallest ``MOST_OF_AN_HOUR`` numbers of two lists."""
    return sorted({*some, *others})[:MOST_OF_AN_HOUR]


def distinct(numbers: list[int], most: int) -> int:
    """How many different numbers there were, of which the smallest ``most`` were kept."""
    if len(numbers) < most:
        return len(numbers)
    # A list that is just full is exact too, but looks the same as one that has seen more.
    return max(most, round((most - 1) * _RANGE / max(numbers[most - 1], 1)))


# Durations: counts in fixed buckets, which can be added up over time and over processes.


_SHORTEST = 0.0001
_A_DOUBLING = 4
_DOUBLINGS = 20

BOUNDS = tuple(_SHORTEST * 2 ** (step / _A_DOUBLING) for step in range(_DOUBLINGS * _A_DOUBLING + 1))
"""The longest time that each bucket holds, in seconds; one more bucket holds what is longer than all."""

_COARSE = range(0, len(BOUNDS), _A_DOUBLING)
"""The places of the bounds that are twice as long as the one before."""

Buckets: TypeAlias = dict[int, int]
"""How many times fell into a bucket, by its place; those that are empty are left out."""


def bucket_of(seconds: float) -> int:
    """The place of the bucket that holds a time."""
    return bisect_left(BOUNDS, seconds)


def _add_to(buckets: Buckets, others: Mapping[int, int]) -> None:
    for place, count in others.items():
        buckets[place] = buckets.get(place, 0) + count


def percentile(buckets: Mapping[int, int], share: float) -> float | None:
    """A time that this share of all did not exceed, to within the width of its bucket; None when there was none."""
    # The time that is looked for stands in the middle of its part of the bucket: of one time alone every share is it.
    rank, places = max(math.ceil(share * sum(buckets.values()) - 1e-9), 1), sorted(buckets)
    for place, below in zip(places, accumulate(buckets[place] for place in places), strict=True):
        if below >= rank:
            if place >= len(BOUNDS):
                return BOUNDS[-1]
            # As if the times of the bucket lay evenly in it.
            least = BOUNDS[place - 1] if place else 0.0
            return least + (BOUNDS[place] - least) * (rank - 0.5 - below + buckets[place]) / buckets[place]
    return None


def latency_of(buckets: Mapping[int, int]) -> Latency:
    """The median and the upper percentiles of durations."""
    p50, p95, p99 = (percentile(buckets, share) for share in (0.5, 0.95, 0.99))
    return Latency(count=sum(buckets.values()), p50=p50, p95=p95, p99=p99)


# Rows of the store

LEAST_RELEVANT = 0.005
"""A recall whose best hit is less relevant found nothing: a prompt leaves such hits out."""


class Tally(msgspec.Struct, array_like=True, omit_defaults=True):
    """Counts of a minute or an hour, in memory and in the store. The caller holds the lock around every change."""

    requests: int = 0
    errors: int = 0
    refused: int = 0
    write: dict[int, int] = {}
    recall: dict[int, int] = {}
    spaces: list[int] = []
    """The numbers of spaces, as ``count_number`` keeps them."""
    speakers: list[int] = []
    memories: int | None = None
    conversations: int | None = None
    missed: int = 0
    """Requests that were counted for the whole service only."""
    answers: int = 0
    empty: int = 0
    relevance: float = 0.0
    """Recalls that were answered, how many found nothing relevant, and the relevance of the best hits of the others."""

    def answer(self, best: float) -> None:
        """Count an answered recall by the relevance of its best hit."""
        self.answers += 1
        self.empty += best < LEAST_RELEVANT
        self.relevance += best if best >= LEAST_RELEVANT else 0.0

    def add(self, kind: str, bucket: int, status: int) -> None:
        """Count one request. What was refused has written or recalled nothing."""
        self.requests += 1
        done = status < 400 or status >= 500
        if done and kind == "recall":
            self.recall[bucket] = self.recall.get(bucket, 0) + 1
        elif done and kind == "write":
            self.write[bucket] = self.write.get(bucket, 0) + 1
        if status >= 500:
            self.errors += 1
        elif status >= 400:
            self.refused += 1

    def merge(self, later: Tally) -> None:
        """Add the counts of a later tally."""
        self.requests += later.requests
        self.errors += later.errors
        self.refused += later.refused
        self.missed += later.missed
        self.answers += later.answers
        self.empty += later.empty
        self.relevance += later.relevance
        _add_to(self.write, later.write)
        _add_to(self.recall, later.recall)
        self.spaces = merged_numbers(self.spaces, later.spaces)
        self.speakers = merged_numbers(self.speakers, later.speakers)
        self.count_stored(later.memories, later.conversations)

    def count_stored(self, memories: int | None, conversations: int | None) -> None:
        """Set the totals at a moment, unless they are not known."""
        self.memories = self.memories if memories is None else memories
        self.conversations = self.conversations if conversations is None else conversations


def _merged(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for one in tallies:
        total.merge(one)
    return total


class Level(NamedTuple):
    """The resolution of rows: a slot lasts ``slot_s`` seconds, and a row of the store holds ``slots`` of them."""

    name: str
    slot_s: int
    slots: int
    most: int
    """How many spaces and speakers of a slot are kept."""


MINUTES = Level("minutes", 60, 60, MOST_OF_A_MINUTE)
HOURS = Level("hours", 3600, 24, MOST_OF_AN_HOUR)

_DAY_S = 86_400.0
_MOST_ROWS = 50
"""How many rows of a space are held while the store fails; then the oldest are dropped."""
_MOST_FAILURES = 20
_A_PAGE = 1_000


class Failed(NamedTuple):
    """A failure as it is stored."""

    time: float
    operation: str
    status: int
    code: str


class _Row(msgspec.Struct, array_like=True, frozen=True):
    slots: dict[int, Tally]
    failures: list[Failed] = []


_DECODER = msgspec.msgpack.Decoder(_Row)


class _OpenRow(msgspec.Struct):
    """A row that this process writes, how long the store keeps it, and whether it changed since it was stored."""

    key: str
    kept_s: float
    row: _Row
    changed: bool = True

    def encoded(self) -> bytes:
        """The row as it is stored."""
        return msgspec.msgpack.encode(self.row)


class Course:
    """The current counts of the whole service or of one space. The caller holds the lock around every use."""

    def __init__(self, space: Space | None) -> None:
        self.space = space
        self.number = 0 if space is None else number_of(space)
        self.last = 0.0
        """When something was last observed."""
        self._tag = WHOLE if space is None else tag_of(space)
        self._days = {MINUTES: 2, HOURS: 400 if space is None else 32}
        self._rows: dict[tuple[Level, int], _OpenRow] = {}

    def observe(
        self, now: float, kind: str, bucket: int, status: int, *, space: int | None, speaker: int | None
    ) -> None:
        """Count one request, and the numbers of its space and speaker."""
        self.last = now
        for level, tally in self.tallies(now):
            tally.add(kind, bucket, status)
            if space is not None:
                count_number(tally.spaces, space, level.most)
            if speaker is not None:
                count_number(tally.speakers, speaker, level.most)

    def fail(self, failed: Failed) -> None:
        """Note a failure."""
        failures = self._row(MINUTES, int(failed.time // MINUTES.slot_s)).failures
        failures.append(failed)
        del failures[:-_MOST_FAILURES]

    def tallies(self, now: float) -> Iterator[tuple[Level, Tally]]:
        """Those of the minute and the hour of a moment, whatever the clock has done. They are to be stored again."""
        for level in (MINUTES, HOURS):
            slot = int(now // level.slot_s)
            slots = self._row(level, slot).slots
            yield level, slots.get(slot) or slots.setdefault(slot, Tally())

    def _row(self, level: Level, slot: int) -> _Row:
        number = slot // level.slots
        held = self._rows.get((level, number))
        if held is None:
            # Each row has a new name, so that none is ever overwritten by another one.
            key = f"{self._tag}/{level.name}/{number:010d}/{new_id()}"
            held = self._rows[level, number] = _OpenRow(key, self._days[level] * _DAY_S, _Row({}, []))
            if len(self._rows) > _MOST_ROWS:
                del self._rows[next(iter(self._rows))]
        held.changed = True
        return held.row

    def rows(self) -> list[_OpenRow]:
        """The rows that are still written."""
        return list(self._rows.values())

    def changed(self) -> list[_OpenRow]:
        """The rows that changed since they were stored."""
        return [one for one in self._rows.values() if one.changed]

    def drop_ended(self, now: float) -> None:
        """Drop the stored rows that nothing is added to any more."""
        for (level, number), one in list(self._rows.items()):
            if not one.changed and number < now // (level.slot_s * level.slots):
                del self._rows[level, number]


class Past(NamedTuple):
    """The slots that were read, each with its number, oldest first, one for each process; and the failures."""

    slots: list[tuple[int, Tally]]
    failures: list[Failed]


def tag_of(space: Space) -> str:
    """The digest that names a space in the keys of its rows."""
    return blake2b(space.encoded().encode(), digest_size=20).hexdigest()


# What is stored


_FRESH_S = 5.0
_PATIENCE = 50.0
"""A count is kept for this many times as long as it took to make."""
_MOST_KEPT = 1_000
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
        words, vectors, spaces = (sum(getattr(one, name) for one in each) for name in ("words", "vectors", "spaces"))
        more, scrubs = max(len(listed) - _MOST_PENDING, 0), pending_scrubs(self._backend).count
        return Queue(words=words, vectors=vectors, spaces=spaces + more, scrubs=scrubs)

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


# Counting requests


_MOST_OPERATIONS = 512
_SAMPLING_S = 0.1
"""How long a flush may count what is stored in spaces; those that it does not get to keep their last counts."""


class OperationCounts(msgspec.Struct):
    """The counts of one operation since the process began."""

    statuses: dict[int, int]
    """How often it was answered with a status."""
    buckets: list[int]
    """By the place of the bucket; the last one is of what took longer than all bounds."""
    seconds: float = 0.0
    received: int = 0
    sent: int = 0
    """How many bytes the bodies of its requests and answers had."""


class Metrics:
    """Counts and durations of one process, and the trends of all processes of a store. Safe from any thread."""

    def __init__(self, backend: Backend, *, clock: Callable[[], float] = time.time, most_spaces: int = 1_000) -> None:
        self.backend = backend
        self.clock = clock
        self.stock = Stock(backend, clock)
        self.started = clock()
        self.unflushed = 0
        """How often flushing has failed since it last succeeded."""
        self.requests_in_flight = 0
        self._most_spaces = most_spaces
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._operations: dict[str, OperationCounts] = {}
        self._whole = Course(None)
        self._spaces: dict[Space, Course] = {}

    def observe(
        self,
        operation: str,
        kind: Kind,
        seconds: float,
        *,
        status: int,
        space: Space | None,
        speaker: str | None = None,
        code: str = "",
        received: int = 0,
        sent: int = 0,
    ) -> None:
        """Count a request that was answered. ``space`` is None for a request without one, such as one with a wrong key.

        ``speaker`` is who is named in it, ``code`` that of its problem, ``received`` and ``sent`` the bytes of its body and
        of the answer's. Only counts are kept, and of failures the time,
        operation, status and code.
        """
        now = self.clock()
        bucket = bucket_of(seconds)
        with self._lock:
            done = self._operations.get(operation) or self._operation(operation)
            done.buckets[bucket] += 1
            done.seconds += seconds
            done.received += received
            done.sent += sent
            done.statuses[status] = done.statuses.get(status, 0) + 1
            own = None if space is None else self._course(space)
            number = None if space is None else number_of(space) if own is None else own.number
            heard = None if space is None or speaker is None else number_of(space, speaker)
            for course in (self._whole,) if own is None else (self._whole, own):
                course.observe(now, kind, bucket, status, space=number, speaker=heard)
                if status >= 500:
                    course.fail(Failed(now, operation, status, code or str(status)))
            if space is not None and own is None:
                for _, tally in self._whole.tallies(now):
                    tally.missed += 1

    def observe_answer(self, space: Space, best: float) -> None:
        """Count a recall that was answered: ``best`` is the relevance of its best hit, 0 when there was none."""
        now = self.clock()
        with self._lock:
            own = self._course(space)
            for course in (self._whole,) if own is None else (self._whole, own):
                for _, tally in course.tallies(now):
                    tally.answer(best)

    def _operation(self, name: str) -> OperationCounts:
        if len(self._operations) >= _MOST_OPERATIONS:
            name = "other"
        return self._operations.setdefault(name, OperationCounts({}, [0] * (len(BOUNDS) + 1)))

    def _course(self, space: Space) -> Course | None:
        """The course of a space; None when there are too many."""
        course = self._spaces.get(space)
        if course is None and len(self._spaces) < self._most_spaces:
            course = self._spaces[space] = Course(space)
        return course

    @contextmanager
    def in_flight(self) -> Generator[None]:
        """A context in which one more request is being answered."""
        with self._lock:
            self.requests_in_flight += 1
        try:
            yield
        finally:
            with self._lock:
                self.requests_in_flight -= 1

    def flush(self) -> None:
        """Store what was observed. Raises ``BackendError`` when that fails; then the next flush stores it.

        In a read-only store nothing is kept.
        """
        with self._flushing:
            with self._lock:
                courses = [self._whole, *self._spaces.values()]
            with suppress(BackendError):
                # When this fails, only the totals of memories and conversations are missing.
                self._sample(courses)
            taken: list[tuple[_OpenRow, bytes]] = []
            for course in courses:
                # The lock is taken for one at a time: requests must not wait until a thousand are encoded.
                with self._lock:
                    for one in course.changed():
                        taken.append((one, one.encoded()))
                        one.changed = False
            try:
                with self.backend.together() if taken else nullcontext():
                    for one, value in taken:
                        self.backend.kv.put(FIGURES, one.key, value, ttl=one.kept_s)
            except ReadOnlyStore:
                pass
            except BackendError:
                self.unflushed += 1
                with self._lock:
                    for one, _ in taken:
                        one.changed = True
                raise
            self.unflushed = 0
            self._drop_ended(courses)

    def _sample(self, courses: Sequence[Course]) -> None:
        """Write the totals of memories and conversations into the courses."""
        end = time.monotonic() + _SAMPLING_S
        for course in courses:
            if course.changed():
                counts = self.stock.sample(course.space, may_count=time.monotonic() < end)
                with self._lock:
                    for _, tally in course.tallies(course.last):
                        tally.count_stored(*counts)

    def _drop_ended(self, courses: Sequence[Course]) -> None:
        now = self.clock()
        with self._lock:
            for course in courses:
                course.drop_ended(now)
                if course.space is not None and course.last // 3600 < now // 3600 and not course.changed():
                    del self._spaces[course.space]

    def past(self, space: Space | None, level: Level, first: int, last: int) -> Past:
        """The slots from ``first`` to ``last`` of a space, or with None of the whole service, of all processes, up to
        this moment.
        """
        prefix = f"{WHOLE if space is None else tag_of(space)}/{level.name}/"
        begin, end = f"{prefix}{first // level.slots:010d}", f"{prefix}{last // level.slots + 1:010d}"
        where, kv = AllOf((Where("@id", "ge", begin), Where("@id", "lt", end))), self.backend.kv
        stored = paged(lambda cursor: kv.scan(FIGURES, where=where, limit=_A_PAGE, cursor=cursor))
        rows = {entry.key: cast("bytes", entry.value) for entry in stored}
        with self._lock:
            course = self._whole if space is None else self._spaces.get(space)
            live = [] if course is None else course.rows()
            # They replace their stored state.
            rows.update((one.key, one.encoded()) for one in live if one.key.startswith(prefix))
        found = [_DECODER.decode(value) for value in rows.values()]
        slots = [slot for row in found for slot in row.slots.items() if first <= slot[0] <= last]
        failures = sorted((one for row in found for one in row.failures), reverse=True)
        return Past(sorted(slots, key=lambda slot: slot[0]), failures)

    def counts(self) -> dict[str, OperationCounts]:
        """Every operation since the process began."""
        with self._lock:
            return deepcopy(self._operations)

    def operations(self) -> list[OperationFigures]:
        """Every operation by name: its counts, and its durations since the process began."""
        return [
            OperationFigures(
                operation=name,
                requests=sum(one.statuses.values()),
                errors=sum(many for status, many in one.statuses.items() if status >= 500),
                latency=latency_of({place: many for place, many in enumerate(one.buckets) if many}),
            )
            for name, one in sorted(self.counts().items())
        ]


# The figures of the overview page


_KEY = "quality"
"""Where a store keeps the last measurement of recall."""


def note_quality(kv: KeyValue, quality: Quality) -> None:
    """Keep a measurement in the place of the one before."""
    kv.put(FIGURES, _KEY, msgspec.to_builtins(quality))


def last_quality(kv: KeyValue) -> Quality | None:
    """The last measurement, or None when there was none."""
    entry = kv.get(FIGURES, _KEY)
    return None if entry is None else msgspec.convert(entry.value, Quality)


_DAY = 24
_WEEK = 7 * _DAY


class TimeSpan(NamedTuple):
    """How far back figures go, and in which steps."""

    length_s: int
    step_s: int
    level: Level


SPANS = {
    "1h": TimeSpan(3600, 60, MINUTES),
    "24h": TimeSpan(86_400, 900, MINUTES),
    "7d": TimeSpan(7 * 86_400, 7200, HOURS),
    "30d": TimeSpan(30 * 86_400, 21_600, HOURS),
}


def figures_of(
    metrics: Metrics,
    engine: Engine,
    *,
    span: str = "24h",
    whole: bool = False,
    jobs: int = 0,
    ledger: KeptLedger | None = None,
) -> ServiceFigures:
    """The figures of the engine's space, or with ``whole`` of the whole service, for its operator.

    ``jobs`` is how many jobs wait or are under way. Raises ``InvalidInput`` for an unknown span.
    """
    if span not in SPANS:
        raise InvalidInput(f"a span is one of {', '.join(SPANS)}, not {shown(span)}")
    now, asked, space = metrics.clock(), SPANS[span], None if whole else engine.space
    begin = int(now // asked.step_s + 1) * asked.step_s - asked.length_s
    slots = (begin // asked.level.slot_s, int(now // asked.level.slot_s))
    past = metrics.past(space, asked.level, *slots)
    steps = _steps(past, asked)
    total = _merged(steps.values())
    queue = metrics.stock.pending_whole(engine) if whole else metrics.stock.pending(engine)
    return ServiceFigures(
        now=_moment(now),
        span=span,
        since=_moment(begin),
        step_s=asked.step_s,
        whole=whole,
        # Not when requests of some space were counted for the whole service only.
        complete=whole or not any(row.missed for _, row in metrics.past(None, asked.level, *slots).slots),
        availability=_availability(total, metrics, now, whole=whole),
        totals=metrics.stock.whole(engine) if whole else metrics.stock.of(engine),
        write=latency_of(total.write),
        recall=latency_of(total.recall),
        answers=AnswerQuality(count=total.answers, empty=total.empty, relevance=_relevance(total)),
        queue=replace(queue, jobs=jobs),
        errors=_failures(metrics, space, past, asked, begin, now),
        active=_active(metrics, space, now),
        quality=last_quality(metrics.backend.kv),
        costs=None if ledger is None or not whole else costs_of(ledger),
        operations=metrics.operations() if whole else [],
        trends=list(_points(steps, begin, asked, whole=whole)),
    )


def _steps(past: Past, asked: TimeSpan) -> dict[int, Tally]:
    """What happened in each step, by its number since 1970; steps without any row are left out."""
    steps: dict[int, Tally] = {}
    for number, row in past.slots:
        step = number * asked.level.slot_s // asked.step_s
        steps.setdefault(step, Tally()).merge(row)
    return steps


def _points(steps: dict[int, Tally], begin: int, asked: TimeSpan, *, whole: bool) -> Iterator[Point]:
    memories = conversations = None
    first, most = begin // asked.step_s, asked.level.most
    for number in range(first, first + asked.length_s // asked.step_s):
        tally = steps.get(number) or Tally()
        memories = memories if tally.memories is None else tally.memories
        conversations = conversations if tally.conversations is None else tally.conversations
        yield Point(
            time=_moment(number * asked.step_s),
            requests=tally.requests,
            writes=sum(tally.write.values()),
            recalls=sum(tally.recall.values()),
            errors=tally.errors,
            write_p50=percentile(tally.write, 0.5),
            write_p95=percentile(tally.write, 0.95),
            recall_p50=percentile(tally.recall, 0.5),
            recall_p95=percentile(tally.recall, 0.95),
            answers=tally.answers,
            empty=tally.empty,
            relevance=_relevance(tally),
            memories=memories,
            conversations=conversations,
            active=distinct(tally.spaces, most)
            if whole
            else max(distinct(tally.speakers, most), int(tally.requests > 0)),
        )


def _relevance(tally: Tally) -> float | None:
    """The mean relevance of the best hits of the recalls that found something."""
    found = tally.answers - tally.empty
    return tally.relevance / found if found else None


def _availability(total: Tally, metrics: Metrics, now: float, *, whole: bool) -> Availability:
    return Availability(
        requests=total.requests,
        errors=total.errors,
        refused=total.refused,
        share=1 - total.errors / total.requests if total.requests else None,
        uptime_s=max(now - metrics.started, 0.0),
        in_flight=metrics.requests_in_flight if whole else 0,
    )


def _failures(
    metrics: Metrics, space: Space | None, past: Past, asked: TimeSpan, begin: int, now: float
) -> list[FailedRequest]:
    """The last failures of the span. They are kept with the minutes, so for two days."""
    minute = int(now // 60)
    found = past if asked.level is MINUTES else metrics.past(space, MINUTES, minute - 2 * _DAY * 60, minute)
    return [
        FailedRequest(time=_moment(one.time), operation=one.operation, status=one.status, code=one.code)
        for one in found.failures[:_MOST_FAILURES]
        if one.time >= begin
    ]


def _active(metrics: Metrics, space: Space | None, now: float) -> ActiveUsers:
    hour = int(now // 3600)
    slots = metrics.past(space, HOURS, hour - _WEEK + 1, hour).slots
    found: dict[str, int] = {}
    for name, length in (("day", _DAY), ("week", _WEEK)):
        total = _merged(row for number, row in slots if number > hour - length)
        # In the rows of a space there is no other.
        found[f"spaces_{name}"] = distinct(total.spaces, HOURS.most) if space is None else int(total.requests > 0)
        found[f"speakers_{name}"] = distinct(total.speakers, HOURS.most)
    return ActiveUsers(**found)


def costs_of(ledger: KeptLedger) -> ModelCosts:
    """What models cost in this month."""
    models = [
        ModelCost(
            model=model, calls=one.calls, input_tokens=one.input_tokens, output_tokens=one.output_tokens, cost=one.cost
        )
        for model, one in sorted(ledger.accounts().items())
    ]
    spent = sum(one.cost or 0.0 for one in models)
    return ModelCosts(month=ledger.month, spent=spent, cap=ledger.spend_cap, models=models)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


# Prometheus. No label holds a space, a user or any user text.


_STORED = ("conversations", "messages", "memories", "documents", "chunks")


def exposition(
    metrics: Metrics, engine: Engine, *, version: str, jobs: int = 0, ledger: KeptLedger | None = None
) -> tuple[bytes, str]:
    """What Prometheus reads, and its content type: the requests of this process, what all spaces hold.

    ``version`` is memwell's own. Raises ``MissingDependency`` without prometheus_client.
    """
    try:
        # An optional dependency, only needed here.
        from prometheus_client import CONTENT_TYPE_LATEST, core, generate_latest  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependency.of("figures for Prometheus need prometheus-client", "server") from error
    families = [*_requests(core, metrics), *_gauges(core, metrics, engine, jobs)]
    if ledger is not None:
        families += _costs(core, ledger)
    build = core.InfoMetricFamily("memwell_build", "What is running.")
    build.add_metric((), {"version": version, "python": platform.python_version()})
    registry = cast("Any", SimpleNamespace(collect=lambda: [*families, build]))
    return generate_latest(registry), CONTENT_TYPE_LATEST


def _requests(core: Any, metrics: Metrics) -> tuple[Any, ...]:
    requests = core.CounterMetricFamily(
        "memwell_requests", "Requests that were answered.", labels=("operation", "status")
    )
    seconds = core.HistogramMetricFamily("memwell_request_seconds", "How long requests took.", labels=("operation",))
    received = core.CounterMetricFamily(
        "memwell_request_bytes", "The bytes of the bodies of requests.", labels=("operation",)
    )
    sent = core.CounterMetricFamily(
        "memwell_response_bytes", "The bytes of the bodies of answers.", labels=("operation",)
    )
    for name, one in metrics.counts().items():
        received.add_metric((name,), one.received)
        sent.add_metric((name,), one.sent)
        for status, many in one.statuses.items():
            requests.add_metric((name, str(status)), many)
        # How many requests took no longer than each bound; every fourth bound is shown.
        below = list(accumulate(one.buckets))
        bounds = [*((repr(BOUNDS[place]), float(below[place])) for place in _COARSE), ("+Inf", float(below[-1]))]
        seconds.add_metric((name,), bounds, one.seconds)
    return requests, seconds, received, sent


def _gauges(core: Any, metrics: Metrics, engine: Engine, jobs: int) -> Iterator[Any]:
    stored, queue = metrics.stock.whole(engine), metrics.stock.pending_whole(engine)
    failed = "How often figures could not be stored since they last were."
    for name, about, value in (
        ("memwell_in_flight", "Requests under way.", metrics.requests_in_flight),
        ("memwell_start_time_seconds", "When the process began.", metrics.started),
        ("memwell_unflushed", failed, metrics.unflushed),
        *((f"memwell_{name}", f"The {name} of all spaces.", getattr(stored, name)) for name in _STORED),
        ("memwell_counted_time_seconds", "When what is stored was counted.", stored.counted.timestamp()),
    ):
        if value is not None:
            yield core.GaugeMetricFamily(name, about, value=value)
    yield from _at_hand(core, engine)
    pending = core.GaugeMetricFamily("memwell_pending", "Work that is still to be done.", labels=("work",))
    for work, many in (("words", queue.words), ("vectors", queue.vectors), ("jobs", jobs), ("scrubs", queue.scrubs)):
        pending.add_metric((work,), many)
    yield pending


def _at_hand(core: Any, engine: Engine) -> Iterator[Any]:
    found = engine.snapshots
    asked = core.CounterMetricFamily(
        "memwell_snapshot_reads", "Recalls, by whether the memories of their space were at hand.", labels=("found",)
    )
    for name, many in (("hit", found.hits), ("miss", found.misses)):
        asked.add_metric((name,), many)
    yield asked
    about = "Spaces that were dropped from memory to make room."
    yield core.CounterMetricFamily("memwell_snapshot_evictions", about, value=found.evictions)
    yield core.GaugeMetricFamily("memwell_snapshot_spaces", "Spaces whose memories are at hand.", value=found.spaces)
    yield core.GaugeMetricFamily("memwell_snapshot_bytes", "The memory that they take.", value=found.size)
    for state, many in engine.backend.connections().items():
        about = f"Connections to the store that are {state.replace('_', ' ')}."
        yield core.GaugeMetricFamily(f"memwell_connections_{state}", about, value=many)


def _costs(core: Any, ledger: KeptLedger) -> Iterator[Any]:
    costs = core.CounterMetricFamily(
        "memwell_cost_usd", "What models have cost since the store was made.", labels=("model",)
    )
    tokens = core.CounterMetricFamily(
        "memwell_tokens", "Tokens of models since the store was made.", labels=("model", "direction")
    )
    for model, account in ledger.total().items():
        if account.cost is not None:
            costs.add_metric((model,), account.cost)
        tokens.add_metric((model, "input"), account.input_tokens)
        tokens.add_metric((model, "output"), account.output_tokens)
    yield from (costs, tokens)
    yield core.GaugeMetricFamily("memwell_month_cost_usd", "What models cost in this month.", value=ledger.spent)
    if ledger.spend_cap is not None:
        yield core.GaugeMetricFamily("memwell_spend_cap_usd", "What may be spent in a month.", value=ledger.spend_cap)
