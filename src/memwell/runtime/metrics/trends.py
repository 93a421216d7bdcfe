"""Metrics over time in the store: by minute for two days, by hour for a year and more.

A row of the store holds the minutes of an hour, or the hours of a day, of the whole service or of one space. Every process
writes rows of its own, beside those of others and of its earlier lives, and whoever reads adds them up. A space is named
by a digest, and its rows hold nothing of any other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from heapq import heapify, heappush, heappushpop
from itertools import accumulate
from typing import NamedTuple, TypeAlias, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.filters import AllOf, Where
from memwell.records import Space, paged
from memwell.runtime.wire.running import Latency
from memwell.storage.protocols import KeyValue

# How many different ones there were, in bounded memory: exact while they are few, an estimate when they are many.


_RANGE = 2**53


def number_of(space: Space, speaker: str | None = None) -> int:
    """The number that a space, or a speaker within it, always gets. The name cannot be read off it."""
    digest = blake2b(space.encoded().encode(), digest_size=8)
    if speaker is not None:
        digest.update(b"\0" + speaker.encode(errors="surrogatepass"))
    return int.from_bytes(digest.digest()) >> 11


class Distinct:
    """Counts different numbers, keeping at most ``most`` of them; up to there it is exact."""

    __slots__ = ("_heap", "_held", "most")

    def __init__(self, most: int, numbers: Iterable[int] = ()) -> None:
        self.most = most
        self._held: set[int] = set()
        self._heap: list[int] = []
        """Negated, so that the largest number is in front."""
        for number in numbers:
            self.add(number)

    def add(self, number: int) -> None:
        """Count a number, unless it has been counted."""
        if number in self._held:
            return
        if len(self._heap) < self.most:
            heappush(self._heap, -number)
            self._held.add(number)
        elif -number > self._heap[0]:
            self._held.discard(-heappushpop(self._heap, -number))
            self._held.add(number)

    def merge(self, other: Distinct) -> None:
        """Count those of another too. What is left of fewer numbers says no more than those did."""
        for number in other._held:
            self.add(number)
        if other.most < self.most:
            self.most = other.most
            self._held = set(self.smallest(other.most))
            self._heap = [-number for number in self._held]
            heapify(self._heap)

    def smallest(self, most: int) -> list[int]:
        """So many of its numbers, the smallest first: what it is made of again."""
        return sorted(self._held)[:most]

    def count(self) -> int:
        """How many there were."""
        if len(self._heap) < self.most:
            return len(self._heap)
        # A set that is just full is exact as well, but cannot be told from one that has seen more.
        return max(self.most, round((self.most - 1) * _RANGE / max(-self._heap[0], 1)))


# How long things took: counts in fixed buckets, which can be added up over time and over processes.


_SHORTEST = 0.0001
_A_DOUBLING = 4
_DOUBLINGS = 20

BOUNDS = tuple(_SHORTEST * 2 ** (step / _A_DOUBLING) for step in range(_DOUBLINGS * _A_DOUBLING + 1))
"""The longest time that each bucket holds, in seconds; one more bucket holds what is longer than all."""

COARSE = tuple(range(0, len(BOUNDS), _A_DOUBLING))
"""The places of the bounds that are twice as long as the one before."""

Buckets: TypeAlias = dict[int, int]
"""How many times fell into a bucket, by its place; those that are empty are left out."""


def bucket_of(seconds: float) -> int:
    """The place of the bucket that holds a time."""
    return bisect_left(BOUNDS, seconds)


def bucketed(times: Iterable[float]) -> Buckets:
    """Times, counted in buckets."""
    buckets: Buckets = {}
    for seconds in times:
        place = bucket_of(seconds)
        buckets[place] = buckets.get(place, 0) + 1
    return buckets


def add_to(buckets: Buckets, others: Mapping[int, int]) -> None:
    """Add the counts of others to those of ``buckets``."""
    for place, count in others.items():
        buckets[place] = buckets.get(place, 0) + count


def percentile(buckets: Mapping[int, int], share: float) -> float | None:
    """A time that this share of all did not exceed, to within the width of its bucket; None when there was none.

    Raises ``InvalidInput`` for a share that is not above 0 and at most 1.
    """
    if not 0 < share <= 1:
        raise InvalidInput(f"a percentile's share must be above 0 and at most 1, not {share!r}")
    rank, places = share * sum(buckets.values()), sorted(buckets)
    for place, below in zip(places, accumulate(buckets[place] for place in places), strict=True):
        if below >= rank:
            return _inside(place, (rank - below + buckets[place]) / buckets[place])
    return None


def _inside(place: int, part: float) -> float:
    """The time so far into a bucket, as if its times lay evenly in it."""
    if place >= len(BOUNDS):
        return BOUNDS[-1]
    least = BOUNDS[place - 1] if place else 0.0
    return least + (BOUNDS[place] - least) * part


def latency_of(buckets: Mapping[int, int]) -> Latency:
    """The percentiles that people ask for."""
    return Latency(
        count=sum(buckets.values()),
        p50=percentile(buckets, 0.5),
        p95=percentile(buckets, 0.95),
        p99=percentile(buckets, 0.99),
    )


# What happened in a minute or an hour: the one row that all trends are made of.


MOST_OF_A_MINUTE = 64
MOST_OF_AN_HOUR = 256
"""How many spaces and how many speakers are told apart exactly."""


class Row(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A tally as it is stored."""

    requests: int = 0
    errors: int = 0
    refused: int = 0
    bytes: int = 0
    write: dict[int, int] = {}
    recall: dict[int, int] = {}
    spaces: list[int] = []
    speakers: list[int] = []
    memories: int | None = None
    conversations: int | None = None
    missed: int = 0


class Tally:
    """Counts of the current slot. The caller holds the lock around every change."""

    __slots__ = (
        "bytes",
        "conversations",
        "errors",
        "memories",
        "missed",
        "recall",
        "refused",
        "requests",
        "spaces",
        "speakers",
        "write",
    )

    def __init__(self, most: int = MOST_OF_AN_HOUR) -> None:
        self.requests = self.errors = self.refused = self.bytes = self.missed = 0
        self.write: Buckets = {}
        self.recall: Buckets = {}
        self.spaces = Distinct(most)
        self.speakers = Distinct(most)
        self.memories: int | None = None
        self.conversations: int | None = None

    @classmethod
    def of(cls, row: Row, most: int) -> Tally:
        """The tally that a row was written from."""
        tally = cls(most)
        tally.add_row(row, most)
        return tally

    def add(self, kind: str, bucket: int, status: int, size: int) -> None:
        """Count one request."""
        self.requests += 1
        self.bytes += size
        if kind == "recall":
            self.recall[bucket] = self.recall.get(bucket, 0) + 1
        elif kind == "write":
            self.write[bucket] = self.write.get(bucket, 0) + 1
        if status >= 400:
            if status >= 500:
                self.errors += 1
            else:
                self.refused += 1

    def add_row(self, row: Row, most: int) -> None:
        """Count what a stored row counts, of which at most ``most`` spaces and speakers were kept."""
        self._add(row)
        self.spaces.merge(Distinct(most, row.spaces))
        self.speakers.merge(Distinct(most, row.speakers))

    def merge(self, other: Tally) -> None:
        """Count what another counts, which is the later one."""
        self._add(other)
        self.spaces.merge(other.spaces)
        self.speakers.merge(other.speakers)

    def _add(self, other: Row | Tally) -> None:
        self.requests += other.requests
        self.errors += other.errors
        self.refused += other.refused
        self.bytes += other.bytes
        self.missed += other.missed
        add_to(self.write, other.write)
        add_to(self.recall, other.recall)
        # Not counts of what happened but of what was there: the later one holds.
        self.memories = self.memories if other.memories is None else other.memories
        self.conversations = self.conversations if other.conversations is None else other.conversations

    def row(self, most: int) -> Row:
        """What is stored of it, with at most so many spaces and speakers."""
        return Row(
            self.requests,
            self.errors,
            self.refused,
            self.bytes,
            dict(self.write),
            dict(self.recall),
            self.spaces.smallest(most),
            self.speakers.smallest(most),
            self.memories,
            self.conversations,
            self.missed,
        )


FIGURES = Space("memwell", "service", "figures")
"""Where a store keeps the figures of its service."""

WHOLE = "whole"
"""The tag of the rows of the whole service; that of a space is a digest."""

_DAY_S = 86_400.0
_FAILURES = 20
_A_PAGE = 200


class Level(NamedTuple):
    """How fine rows are: a slot lasts ``slot_s`` seconds, and a row of the store holds ``slots`` of them."""

    name: str
    slot_s: int
    slots: int
    most: int
    """How many spaces and speakers of a slot are told apart."""


MINUTES = Level("minutes", 60, 60, MOST_OF_A_MINUTE)
HOURS = Level("hours", 3600, 24, MOST_OF_AN_HOUR)


class Failed(NamedTuple):
    """A failure as it is stored."""

    time: float
    operation: str
    status: int
    code: str


class Written(NamedTuple):
    """A row on its way to the store."""

    value: bytes
    ttl: float


class _Block(msgspec.Struct, array_like=True):
    """A row as it is made: the slots that are over stand in it encoded, and are not encoded again."""

    slots: dict[int, msgspec.Raw]
    failures: list[Failed]


class _Stored(msgspec.Struct, array_like=True, frozen=True):
    slots: dict[int, Row]
    failures: list[Failed] = []


_DECODER = msgspec.msgpack.Decoder(_Stored)


class Course:
    """The current counts of the whole service or of one space. The caller holds the lock around every use."""

    __slots__ = (
        "_days",
        "_failures",
        "_hour",
        "_hours",
        "_hours_key",
        "_minutes",
        "_minutes_key",
        "_named",
        "changed",
        "heard",
        "minute",
        "number",
        "space",
        "tag",
        "tally",
    )

    def __init__(self, space: Space | None, minute: int, named: Callable[[], str]) -> None:
        self.space = space
        self.tag = WHOLE if space is None else tag_of(space)
        self.number = 0 if space is None else number_of(space)
        self.minute = minute
        self.tally = Tally()
        self.heard: set[str] = set()
        """The speakers of this minute that need not be counted again."""
        self.changed = False
        self._named = named
        self._days = {MINUTES: 2, HOURS: 400 if space is None else 32}
        self._failures: deque[Failed] = deque(maxlen=_FAILURES)
        self._hour = Tally()
        """The hour until the last minute was over."""
        self._begin(MINUTES)
        self._begin(HOURS)

    def _begin(self, level: Level) -> None:
        number = self.minute * 60 // level.slot_s // level.slots
        # Named anew each time, so that no row is ever written over by another one, whatever the clock does.
        key = f"{self.tag}/{level.name}/{number:010d}/{self._named()}"
        if level is MINUTES:
            self._minutes, self._minutes_key = dict[int, msgspec.Raw](), key
            self._failures.clear()
        else:
            self._hours, self._hours_key = dict[int, msgspec.Raw](), key

    def fail(self, failed: Failed) -> None:
        """Note a failure."""
        self._failures.append(failed)

    def turn(self, minute: int) -> dict[str, Written]:
        """Go on to another minute, and return the rows that nothing is added to any more.

        A clock that was set back by less than an hour is waited for, so that no minute is begun twice.
        """
        if self.minute - 60 <= minute <= self.minute:
            return {}
        over: dict[str, Written] = {}
        hour, last, back = minute // 60, self.minute // 60, minute < self.minute
        rows = self.rows() if hour != last else {}
        self._close_minute()
        if hour != last:
            self._hours[last] = _encoded(self._hour, HOURS)
            self._hour = Tally()
        self.minute = minute
        if hour != last:
            over[self._minutes_key] = rows[self._minutes_key]
            self._begin(MINUTES)
        if back or hour // 24 != last // 24:
            over[self._hours_key] = rows[self._hours_key]
            self._begin(HOURS)
        return over

    def _close_minute(self) -> None:
        self._minutes[self.minute] = _encoded(self.tally, MINUTES)
        self._hour.merge(self.tally)
        self.tally = Tally()
        self.heard.clear()

    def rows(self) -> dict[str, Written]:
        """The rows of the store that it stands in now, by their keys."""
        hour = Tally()
        hour.merge(self._hour)
        hour.merge(self.tally)
        minutes = {**self._minutes, self.minute: _encoded(self.tally, MINUTES)}
        hours = {**self._hours, self.minute // 60: _encoded(hour, HOURS)}
        return {
            self._minutes_key: self._written(MINUTES, minutes, list(self._failures)),
            self._hours_key: self._written(HOURS, hours, []),
        }

    def _written(self, level: Level, slots: dict[int, msgspec.Raw], failures: list[Failed]) -> Written:
        return Written(msgspec.msgpack.encode(_Block(slots, failures)), self._days[level] * _DAY_S)


def _encoded(tally: Tally, level: Level) -> msgspec.Raw:
    return msgspec.Raw(msgspec.msgpack.encode(tally.row(level.most)))


class Past(NamedTuple):
    """What rows say: slots by their number, oldest first, those of each process by themselves; and the failures."""

    slots: list[tuple[int, Row]]
    failures: list[Failed]


def read(
    kv: KeyValue, tag: str, level: Level, first: int, last: int, live: Mapping[str, Written] | None = None
) -> Past:
    """The slots from ``first`` to ``last`` of all processes; ``live`` rows stand in the place of their stored state."""
    rows = dict(_stored(kv, tag, level, first // level.slots, last // level.slots))
    prefix = f"{tag}/{level.name}/"
    rows.update((key, row.value) for key, row in (live or {}).items() if key.startswith(prefix))
    slots: list[tuple[int, Row]] = []
    failures: list[Failed] = []
    for value in rows.values():
        block = _DECODER.decode(value)
        slots.extend((number, row) for number, row in block.slots.items() if first <= number <= last)
        failures.extend(block.failures)
    return Past(sorted(slots, key=lambda slot: slot[0]), sorted(failures, reverse=True))


def _stored(kv: KeyValue, tag: str, level: Level, first: int, last: int) -> Iterator[tuple[str, bytes]]:
    where = _between(f"{tag}/{level.name}/{first:010d}", f"{tag}/{level.name}/{last + 1:010d}")
    for entry in paged(lambda cursor: kv.scan(FIGURES, where=where, limit=_A_PAGE, cursor=cursor)):
        yield entry.key, cast("bytes", entry.value)


def drop(kv: KeyValue, tag: str) -> int:
    """Take the rows of a tag out of the store; how many there were."""
    where = _between(f"{tag}/", f"{tag}0")
    keys = [entry.key for entry in paged(lambda cursor: kv.scan(FIGURES, where=where, limit=_A_PAGE, cursor=cursor))]
    return sum(kv.delete(FIGURES, key) for key in keys)


def _between(first: str, end: str) -> AllOf:
    return AllOf((Where("@id", "ge", first), Where("@id", "lt", end)))


def tag_of(space: Space) -> str:
    """What stands for a space in the keys of its rows."""
    return blake2b(space.encoded().encode(), digest_size=20).hexdigest()
