"""Metrics over time in the store: by minute for two days, by hour for a month (a space) or a year (the whole service).

A row of the store holds the minutes of an hour, or the hours of a day, of the whole service or of one space. Every process
writes rows of its own, and a reader adds them up. A space is named by a digest, and its rows hold nothing of any other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import accumulate
from typing import NamedTuple, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from memwell.errors import InvalidInput
from memwell.filters import AllOf, Where
from memwell.records import Space, paged
from memwell.runtime.wire.running import Latency
from memwell.storage.protocols import KeyValue

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


def count_number(numbers: list[int], number: int) -> None:
    """Add a number to a sorted list of the smallest ``MOST_OF_AN_HOUR`` different ones."""
    place = bisect_left(numbers, number)
    if place < MOST_OF_AN_HOUR and numbers[place : place + 1] != [number]:
        numbers.insert(place, number)
        del numbers[MOST_OF_AN_HOUR:]


def merged_numbers(some: Iterable[int], others: Iterable[int], most: int = MOST_OF_AN_HOUR) -> list[int]:
    """The smallest ``most`` numbers of two lists."""
    return sorted({*some, *others})[:most]


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

COARSE = tuple(range(0, len(BOUNDS), _A_DOUBLING))
"""The places of the bounds that are twice as long as the one before."""

Buckets: TypeAlias = dict[int, int]
"""How many times fell into a bucket, by its place; those that are empty are left out."""


def bucket_of(seconds: float) -> int:
    """The place of the bucket that holds a time."""
    return bisect_left(BOUNDS, seconds)


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
            if place >= len(BOUNDS):
                return BOUNDS[-1]
            # As if the times of the bucket lay evenly in it.
            least = BOUNDS[place - 1] if place else 0.0
            return least + (BOUNDS[place] - least) * (rank - below + buckets[place]) / buckets[place]
    return None


def latency_of(buckets: Mapping[int, int]) -> Latency:
    """The median and the upper percentiles of durations."""
    p50, p95, p99 = (percentile(buckets, share) for share in (0.5, 0.95, 0.99))
    return Latency(count=sum(buckets.values()), p50=p50, p95=p95, p99=p99)


class Tally(msgspec.Struct, array_like=True, omit_defaults=True):
    """Counts of a minute or an hour, in memory and in the store. The caller holds the lock around every change."""

    requests: int = 0
    errors: int = 0
    refused: int = 0
    bytes: int = 0
    write: dict[int, int] = {}
    recall: dict[int, int] = {}
    spaces: list[int] = []
    """The numbers of spaces, as ``count_number`` keeps them."""
    speakers: list[int] = []
    memories: int | None = None
    conversations: int | None = None
    missed: int = 0
    """Requests that were counted for the whole service only."""

    def add(self, kind: str, bucket: int, status: int, size: int) -> None:
        """Count one request."""
        self.requests += 1
        self.bytes += size
        if kind == "recall":
            self.recall[bucket] = self.recall.get(bucket, 0) + 1
        elif kind == "write":
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
        self.bytes += later.bytes
        self.missed += later.missed
        add_to(self.write, later.write)
        add_to(self.recall, later.recall)
        self.spaces = merged_numbers(self.spaces, later.spaces)
        self.speakers = merged_numbers(self.speakers, later.speakers)
        # Totals at a moment, not events: the later one holds.
        self.memories = self.memories if later.memories is None else later.memories
        self.conversations = self.conversations if later.conversations is None else later.conversations


FIGURES = Space("memwell", "service", "figures")
"""Where a store keeps the figures of its service."""

WHOLE = "whole"
"""The tag of the rows of the whole service; that of a space is a digest."""

_DAY_S = 86_400.0
_FAILURES = 20
_A_PAGE = 200


class Level(NamedTuple):
    """The resolution of rows: a slot lasts ``slot_s`` seconds, and a row of the store holds ``slots`` of them."""

    name: str
    slot_s: int
    slots: int
    most: int
    """How many spaces and speakers of a slot are kept."""


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


class _Row(msgspec.Struct, array_like=True, frozen=True):
    slots: dict[int, Tally]
    failures: list[Failed] = []


_DECODER = msgspec.msgpack.Decoder(_Row)


class Course:
    """The current counts of the whole service or of one space. The caller holds the lock around every use."""

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
        self._slots: dict[Level, dict[int, Tally]] = {}
        self._keys: dict[Level, str] = {}
        self._begin(MINUTES)
        self._begin(HOURS)

    def _begin(self, level: Level) -> None:
        number = self.minute * 60 // level.slot_s // level.slots
        # Each row has a new name, so that none is ever overwritten by another one, whatever the clock does.
        self._keys[level] = f"{self.tag}/{level.name}/{number:010d}/{self._named()}"
        self._slots[level] = {}
        if level is MINUTES:
            self._failures.clear()

    def fail(self, failed: Failed) -> None:
        """Note a failure."""
        self._failures.append(failed)

    def turn(self, minute: int) -> dict[str, Written]:
        """Go on to another minute, and return the rows that nothing is added to any more.

        When the clock is set back by less than an hour, the current minute goes on until the clock has reached it again,
        so that no minute is begun twice.
        """
        if self.minute - 60 <= minute <= self.minute:
            return {}
        hour, last = minute // 60, self.minute // 60
        ended = [MINUTES] if hour != last else []
        if minute < self.minute or hour // 24 != last // 24:
            ended.append(HOURS)
        rows = self.rows() if ended else {}
        over = {self._keys[level]: rows[self._keys[level]] for level in ended}
        self._slots[MINUTES][self.minute] = _cut(self.tally, MINUTES)
        self._hour.merge(self.tally)
        self.tally = Tally()
        self.heard.clear()
        if hour != last:
            self._slots[HOURS][last] = self._hour
            self._hour = Tally()
        self.minute = minute
        for level in ended:
            self._begin(level)
        return over

    def rows(self) -> dict[str, Written]:
        """The rows of the store that hold the current minute and hour, by their keys."""
        hour = Tally()
        hour.merge(self._hour)
        hour.merge(self.tally)
        minutes = {**self._slots[MINUTES], self.minute: _cut(self.tally, MINUTES)}
        hours = {**self._slots[HOURS], self.minute // 60: hour}
        return {
            self._keys[MINUTES]: self._written(MINUTES, minutes, list(self._failures)),
            self._keys[HOURS]: self._written(HOURS, hours, []),
        }

    def _written(self, level: Level, slots: dict[int, Tally], failures: list[Failed]) -> Written:
        return Written(msgspec.msgpack.encode(_Row(slots, failures)), self._days[level] * _DAY_S)


def _cut(tally: Tally, level: Level) -> Tally:
    """A tally with as many spaces and speakers as a level keeps."""
    return replace(tally, spaces=tally.spaces[: level.most], speakers=tally.speakers[: level.most])


class Past(NamedTuple):
    """The slots that were read, each with its number, oldest first, one for each process; and the failures."""

    slots: list[tuple[int, Tally]]
    failures: list[Failed]


def read(
    kv: KeyValue, tag: str, level: Level, first: int, last: int, live: Mapping[str, Written] | None = None
) -> Past:
    """The slots from ``first`` to ``last`` of all processes; ``live`` rows replace their stored state."""
    rows = dict(_stored(kv, tag, level, first // level.slots, last // level.slots))
    prefix = f"{tag}/{level.name}/"
    rows.update((key, row.value) for key, row in (live or {}).items() if key.startswith(prefix))
    slots: list[tuple[int, Tally]] = []
    failures: list[Failed] = []
    for value in rows.values():
        row = _DECODER.decode(value)
        slots.extend((number, tally) for number, tally in row.slots.items() if first <= number <= last)
        failures.extend(row.failures)
    return Past(sorted(slots, key=lambda slot: slot[0]), sorted(failures, reverse=True))


def _stored(kv: KeyValue, tag: str, level: Level, first: int, last: int) -> Iterator[tuple[str, bytes]]:
    where = _between(f"{tag}/{level.name}/{first:010d}", f"{tag}/{level.name}/{last + 1:010d}")
    for entry in paged(lambda cursor: kv.scan(FIGURES, where=where, limit=_A_PAGE, cursor=cursor)):
        yield entry.key, cast("bytes", entry.value)


def drop(kv: KeyValue, tag: str) -> int:
    """Delete the rows of a tag; how many there were."""
    where = _between(f"{tag}/", f"{tag}0")
    keys = [entry.key for entry in paged(lambda cursor: kv.scan(FIGURES, where=where, limit=_A_PAGE, cursor=cursor))]
    return sum(kv.delete(FIGURES, key) for key in keys)


def _between(first: str, end: str) -> AllOf:
    return AllOf((Where("@id", "ge", first), Where("@id", "lt", end)))


def tag_of(space: Space) -> str:
    """The digest that names a space in the keys of its rows."""
    return blake2b(space.encoded().encode(), digest_size=20).hexdigest()
