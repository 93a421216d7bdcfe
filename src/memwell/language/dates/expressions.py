"""``time_expressions``: the times that a text mentions, resolved against the time when it was said.

Days, weeks and years are those of the zone of ``now`` (a naive ``now`` is UTC); results are in UTC. English and Chinese are
both read in every text, because people mix them. No text raises an error, and the cost is linear.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import TypeAlias

import msgspec

from memwell.language.dates.calendars import DateReading, Stretch
from memwell.values import as_utc

_MONTHS = "January February March April May June July August September October November December".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WEEKDAYS_ZH = "一二三四五六日"
_Grammar: TypeAlias = Callable[[str, datetime], list[DateReading]]


class TimeExpression(msgspec.Struct, frozen=True, kw_only=True):
    """Words for a time, and the half-open interval they mean.

    ``kind`` is *date* (a day or a longer unit), *time* (a part of a day), *range*, *duration* or *recurring*. The last two
    have no interval; a duration has ``seconds``. ``grain`` is the unit of the words: *year*, *season*, *month*, *week*,
    *weekend*, *day*, *part* (of a day, such as its morning), *hour* and so on.
    """

    start: int
    end: int
    text: str
    since: datetime | None = None
    until: datetime | None = None
    kind: str
    grain: str
    seconds: float | None = None


def time_expressions(text: str, *, now: datetime) -> list[TimeExpression]:
    """The times in a text, in order and without overlap.

    Raises ``InvalidInput`` when ``now`` is no datetime.
    """
    zone = _zone(now)
    local = datetime.combine(now.date(), now.time())
    readings = _english()(text, local)
    if not text.isascii():
        readings = _apart(readings, _chinese()(text, local))
    return [found for reading in readings if (found := _resolved(text, reading, zone))]


@cache
def _english() -> _Grammar:
    # Its patterns take about 30 ms to compile, which a program that reads no dates does not need.
    from memwell.language.dates.english import english_times  # noqa: PLC0415

    return english_times


@cache
def _chinese() -> _Grammar:
    # As above, and English texts do not need it.
    from memwell.language.dates.chinese import chinese_times  # noqa: PLC0415

    return chinese_times


def _zone(now: datetime) -> tzinfo:
    """The zone of a time. Raises ``InvalidInput`` for anything but a datetime."""
    if type(now) is datetime and now.tzinfo is UTC:
        return UTC
    as_utc(now, "now")
    return now.tzinfo if now.tzinfo is not None and now.utcoffset() is not None else UTC


def _apart(english: list[DateReading], chinese: list[DateReading]) -> list[DateReading]:
    """In order; of two that overlap, the one that begins first or is longer."""
    if not english or not chinese:
        return english or chinese
    kept: list[DateReading] = []
    for reading in sorted([*english, *chinese], key=lambda reading: (reading.start, -reading.end)):
        if not kept or reading.start >= kept[-1].end:
            kept.append(reading)
    return kept


def _resolved(text: str, reading: DateReading, zone: tzinfo) -> TimeExpression | None:
    """The expression in UTC; None where UTC has no such time."""
    try:
        since, until = _in_utc(reading.when, zone)
    except (OverflowError, ValueError):
        return None
    return TimeExpression(
        start=reading.start,
        end=reading.end,
        text=text[reading.start : reading.end],
        since=since,
        until=until,
        kind=reading.kind,
        grain=reading.grain,
        seconds=reading.seconds,
    )


def _in_utc(when: Stretch | None, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    if when is None:
        return None, None
    since, until = when.since.replace(tzinfo=zone), when.until.replace(tzinfo=zone)
    return (since, until) if zone is UTC else (since.astimezone(UTC), until.astimezone(UTC))


def shown_date(moment: datetime, language: str) -> str:
    """The day for people, in the time's own zone: "7 May 2023, Sunday", or for *zh* "2023年5月7日 星期日"."""
    if language == "zh":
        return f"{moment.year}年{moment.month}月{moment.day}日 星期{_WEEKDAYS_ZH[moment.weekday()]}"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}, {_WEEKDAYS[moment.weekday()]}"
