"""Figures over time, kept in the store: minutes for two days, hours for a year and more.

A row of the store holds the minutes of an hour, or the hours of a day, of the whole service or of one space. Every process
writes rows of its own, beside those of others and of its earlier lives, and whoever reads adds them up. A space is named
by a digest, and its rows hold nothing of any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from typing import NamedTuple, cast

import msgspec

from memwell.filters import AllOf, Where
from memwell.records import Space, paged
from memwell.runtime.metrics.distinct import number_of
from memwell.runtime.metrics.tally import MOST_OF_A_MINUTE, MOST_OF_AN_HOUR, Row, Tally
from memwell.storage.protocols import KeyValue

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
    """What happens to the whole service, or in one space, while it happens. Whoever uses one holds the lock around it."""

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


__all__ = [
    "Course",
    "FIGURES",
    "Failed",
    "HOURS",
    "Level",
    "MINUTES",
    "Past",
    "WHOLE",
    "Written",
    "drop",
    "read",
    "tag_of",
]
