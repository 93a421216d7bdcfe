"""The times that a text speaks of, resolved against the moment at which it was said.

Days, weeks and years are those of the zone that ``now`` carries (a naive ``now`` is taken as UTC); what comes back is in
UTC. The words are read by ``memwell.language.dates.english`` and ``memwell.language.dates.chinese``, both on every text,
because people mix them. Nothing here raises for any text, and the work grows with its length alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import TypeAlias

import msgspec

from memwell.language.dates.calendars import Reading, Stretch
from memwell.language.words import check_string
from memwell.values import as_utc

_MONTHS = "January February March April May June July August September October November December".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WEEKDAYS_ZH = "一二三四五六日"
_Grammar: TypeAlias = Callable[[str, datetime], list[Reading]]


class TimeExpression(msgspec.Struct, frozen=True, kw_only=True):
    """Words that name a time, and the half-open interval they mean.

    ``kind`` is *date* (a day or a longer unit), *time* (a part of a day), *range*, *duration* or *recurring*. The last two
    have no interval; a duration has ``seconds``. ``grain`` is the unit spoken in: *year*, *season*, *month*, *week*,
    *weekend*, *day*, *part* (of a day, such as its morning), *hour* and the like.
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
    """The times named in a text, in order and without overlap.

    Raises ``InvalidInput`` for a text that is no string, and when ``now`` is no datetime.
    """
    check_string(text)
    zone = _zone(now)
    local = datetime.combine(now.date(), now.time())
    readings = _english()(text, local)
    if not text.isascii():
        readings = _apart(readings, _chinese()(text, local))
    return [found for reading in readings if (found := _resolved(text, reading, zone))]


@cache
def _english() -> _Grammar:
    # Its patterns take some 30 ms to compile, which a program that reads no dates need not spend.
    from memwell.language.dates.english import english_times  # noqa: PLC0415

    return english_times


@cache
def _chinese() -> _Grammar:
    # As above, and a text in English alone does not need it.
    from memwell.language.dates.chinese import chinese_times  # noqa: PLC0415

    return chinese_times


def _zone(now: datetime) -> tzinfo:
    """The zone of a moment. Raises ``InvalidInput`` for what is no datetime."""
    if type(now) is datetime and now.tzinfo is UTC:
        return UTC
    as_utc(now, "now")
    return now.tzinfo if now.tzinfo is not None and now.utcoffset() is not None else UTC


def _apart(english: list[Reading], chinese: list[Reading]) -> list[Reading]:
    """In order, and where two overlap only the one that begins first, or is longer."""
    if not english or not chinese:
        return english or chinese
    kept: list[Reading] = []
    for reading in sorted([*english, *chinese], key=lambda reading: (reading.start, -reading.end)):
        if not kept or reading.start >= kept[-1].end:
            kept.append(reading)
    return kept


def _resolved(text: str, reading: Reading, zone: tzinfo) -> TimeExpression | None:
    """The expression in UTC, or nothing where UTC has no such time."""
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
    """The day for people to read, in the moment's own zone: "7 May 2023, Sunday", or for *zh* "2023年5月7日 星期日".

    Raises ``InvalidInput`` for what is no datetime, and a language that is no string.
    """
    as_utc(moment, "a moment")
    if check_string(language, "a language") == "zh":
        return f"{moment.year}年{moment.month}月{moment.day}日 星期{_WEEKDAYS_ZH[moment.weekday()]}"
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}, {_WEEKDAYS[moment.weekday()]}"
