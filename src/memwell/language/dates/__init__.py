"""The times that a text mentions, in English and Chinese, resolved against the time when it was said.

Days, weeks and years are those of the zone of ``now`` (a naive ``now`` is UTC); results are in UTC. English and Chinese are
both read in every text, because people mix them. No text raises an error, and the cost is linear.

The calendar arithmetic is in the speaker's local time, with naive times. A week begins on Monday, seasons are whole months
of the northern hemisphere, and a night lasts from 18:00 to 06:00.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import NamedTuple, TypeAlias

import msgspec

from memwell.values import as_utc

PARTS = {
    "dawn": (0, 6),
    "morning": (5, 12),
    "noon": (11, 14),
    "afternoon": (12, 18),
    "evening": (17, 24),
    "night": (18, 30),
}
"""The hours at which the parts of a day begin and end; 30 is 06:00 of the next day."""

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
"""The first month of each season of three months; a winter ends in the next year."""

SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_629_746,  # a twelfth of a mean year
    "year": 31_556_952,
    "decade": 315_569_520,
}
"""The average length of each unit."""

_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_PAST_DAYS = 305  # A date without its year is one of the last ten months or of the next two.
_WEEK = timedelta(days=7)
_DAY = timedelta(days=1)

# The first day of the lunar year as month * 100 + day.
_LUNAR_FROM = 2000
_LUNAR_NEW_YEARS = (
    *(205, 124, 212, 201, 122, 209, 129, 218, 207, 126, 214, 203, 123, 210, 131, 219, 208, 128, 216, 205),
    *(125, 212, 201, 122, 210, 129, 217, 206, 126, 213, 203, 123, 211, 131, 219, 208),
)
# Two more lunar festivals, in the same form.
_LUNAR_FESTIVALS = {
    "dragon boat": {2020: 625, 2021: 614, 2022: 603, 2023: 622, 2024: 610, 2025: 531, 2026: 619, 2027: 609, 2028: 528},
    "mid-autumn": {
        2020: 1001,
        2021: 921,
        2022: 910,
        2023: 929,
        2024: 917,
        2025: 1006,
        2026: 925,
        2027: 915,
        2028: 1003,
    },
}


class Stretch(NamedTuple):
    """A period from ``since`` (inclusive) to ``until`` (exclusive)."""

    since: datetime
    until: datetime
    grain: str


def floor(moment: datetime, grain: str) -> datetime:
    """The beginning of the unit that contains a time."""
    if grain in ("second", "minute", "hour"):
        return moment.replace(
            minute=0 if grain == "hour" else moment.minute, second=moment.second * (grain == "second"), microsecond=0
        )
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if grain == "day":
        return midnight
    if grain == "week":
        return midnight - timedelta(days=moment.weekday())
    size = _MONTHS[grain]
    months = moment.year * 12 + moment.month - 1
    return month_start(months - months % size)


def month_start(months: int) -> datetime:
    """The first day of a month counted from year 0. Raises ``ValueError`` outside the years 1 to 9999."""
    return datetime(months // 12, months % 12 + 1, 1)  # noqa: DTZ001 (local time)


def step(moment: datetime, grain: str, count: float) -> datetime:
    """``count`` units later; a day that the month lacks becomes its last. Raises ``OverflowError`` or ``ValueError``."""
    if grain not in _MONTHS:
        return moment + timedelta(seconds=SECONDS[grain] * count)
    months = moment.year * 12 + moment.month - 1 + int(count * _MONTHS[grain])
    first = month_start(months)
    longest = (month_start(months + 1) - first).days
    return moment.replace(year=first.year, month=first.month, day=min(moment.day, longest))


def unit(moment: datetime, grain: str, shift: int = 0) -> Stretch:
    """The whole unit that contains a time, or one ``shift`` units away."""
    if grain == "day":  # by far the most frequent
        first = datetime(moment.year, moment.month, moment.day) + shift * _DAY  # noqa: DTZ001 (local time)
        return Stretch(first, first + _DAY, grain)
    first = step(floor(moment, grain), grain, shift)
    return Stretch(first, step(first, grain, 1), grain)


def around(moment: datetime, grain: str, count: float) -> Stretch:
    """The meaning of *three weeks ago*: the day, month or year at that distance, or the seven days around it for weeks."""
    there = step(moment, grain, count)
    if grain != "week":
        return unit(there, grain)
    first = floor(there, "day") - 3 * _DAY
    return Stretch(first, first + _WEEK, "week")


def month(year: int, number: int) -> Stretch:
    """A month of a year. Raises ``ValueError`` for an invalid one."""
    return unit(datetime(year, number, 1), "month")  # noqa: DTZ001 (local time)


def day(year: int, number: int, of_month: int) -> Stretch:
    """A day. Raises ``ValueError`` for an invalid one."""
    return unit(datetime(year, number, of_month), "day")  # noqa: DTZ001 (local time)


def year(number: int) -> Stretch:
    """A whole year. Raises ``ValueError`` for an invalid one."""
    return unit(datetime(number, 1, 1), "year")  # noqa: DTZ001 (local time)


def season(of_year: int, name: str) -> Stretch:
    """A season that begins in that year."""
    first = datetime(of_year, SEASONS[name], 1)  # noqa: DTZ001 (local time)
    return Stretch(first, step(first, "month", 3), "season")


def weekend(moment: datetime, shift: int = 0) -> Stretch:
    """Saturday and Sunday of a time's week, or of one that many weeks away."""
    saturday = floor(moment, "week") + shift * _WEEK + 5 * _DAY
    return Stretch(saturday, saturday + 2 * _DAY, "weekend")


def weekday_before(moment: datetime, weekday: int) -> Stretch:
    """The last such weekday before a time's day (0 is Monday)."""
    back = (moment.weekday() - weekday - 1) % 7 + 1
    return unit(moment - back * _DAY, "day")


def weekday_after(moment: datetime, weekday: int, *, today: bool = False) -> Stretch:
    """The first such weekday after a time's day, which may count too."""
    ahead = (weekday - moment.weekday()) % 7
    return unit(moment + (ahead if ahead or today else 7) * _DAY, "day")


def weekday_of_week(moment: datetime, weekday: int, shift: int = 0) -> Stretch:
    """Such a weekday of a time's week, or of one that many weeks away."""
    return unit(floor(moment, "week") + shift * _WEEK + weekday * _DAY, "day")


def part(of_day: Stretch, name: str) -> Stretch:
    """A part of a day, such as its morning."""
    begin, end = PARTS[name]
    return Stretch(of_day.since + timedelta(hours=begin), of_day.since + timedelta(hours=end), "part")


def at(of_day: Stretch, hour: int, minute: int | None = None) -> Stretch:
    """An hour of a day, or a minute of it."""
    grain = "hour" if minute is None else "minute"
    first = of_day.since + timedelta(hours=hour, minutes=minute or 0)
    return Stretch(first, first + timedelta(seconds=SECONDS[grain]), grain)


def third(whole: Stretch, which: int) -> Stretch:
    """The first, second or last third (0, 1, 2): *early*, *mid*, *late*. Days stay whole."""
    length = (whole.until - whole.since) / 3
    first, until = whole.since + which * length, whole.until if which == 2 else whole.since + (which + 1) * length
    if length >= _DAY:
        first, until = floor(first, "day"), floor(until, "day")
    return Stretch(first, until, whole.grain)


def festival(of_year: int, name: str) -> Stretch:
    """A holiday in a year. Raises ``ValueError`` or ``KeyError`` for an unknown one."""
    if name == "new year lunar":
        code = _LUNAR_NEW_YEARS[of_year - _LUNAR_FROM] if 0 <= of_year - _LUNAR_FROM < len(_LUNAR_NEW_YEARS) else 0
        first = day(of_year, code // 100, code % 100).since
        return Stretch(first, first + _WEEK, "day")
    if name == "lunar eve":
        return unit(festival(of_year, "new year lunar").since - _DAY, "day")
    if name in _LUNAR_FESTIVALS:
        code = _LUNAR_FESTIVALS[name][of_year]
        return day(of_year, code // 100, code % 100)
    if name == "easter":
        return _easter(of_year)
    number, weekday, nth = _MOVING.get(name, (0, 0, 0))
    if number:
        first = weekday_after(month(of_year, number).since, weekday, today=True).since
        return unit(first + (nth - 1) * _WEEK, "day")
    code, days = _FIXED[name]
    first = day(of_year, code // 100, code % 100).since
    return Stretch(first, first + days * _DAY, "day")


# By month, weekday and its number in the month; and by month * 100 + day and the number of days.
_MOVING = {"thanksgiving": (11, 3, 4), "mother's day": (5, 6, 2), "father's day": (6, 6, 3), "labor day": (9, 0, 1)}
_FIXED = {
    "christmas": (1225, 1),
    "christmas eve": (1224, 1),
    "boxing day": (1226, 1),
    "new year's eve": (1231, 1),
    "new year": (101, 1),
    "halloween": (1031, 1),
    "valentine": (214, 1),
    "independence day": (704, 1),
    "women's day": (308, 1),
    "tomb sweeping": (404, 2),
    "may day": (501, 1),
    "children's day": (601, 1),
    "teachers' day": (910, 1),
    "national day": (1001, 7),
}


def _easter(of_year: int) -> Stretch:
    """Easter Sunday, by an algorithm without exceptions."""
    moon, century = of_year % 19, of_year // 100
    correction = (century - century // 4 - (8 * century + 13) // 25 + 19 * moon + 15) % 30
    full = correction - correction // 28 * (1 - 29 // (correction + 1) * ((21 - moon) // 11))
    sunday = (of_year + of_year // 4 + full + 2 - century + century // 4) % 7
    offset = full - sunday
    number = 3 + (offset + 40) // 44
    return day(of_year, number, offset + 28 - 31 * (number // 4))


def likely_year(moment: datetime, number: int, of_month: int, *, ahead: bool) -> int:
    """The year of a date without one: within ten months back and two ahead; the next one in a sentence about the future."""
    first = moment if ahead else moment - timedelta(days=_PAST_DAYS)
    before = (number, of_month) < (first.month, first.day)
    return first.year + before


# What the grammars return, before a zone is applied.


class DateReading(NamedTuple):
    """Words at ``start`` to ``end`` and the local period they mean; None for a duration or something recurring."""

    start: int
    end: int
    when: Stretch | None
    kind: str = "date"
    grain: str = ""
    seconds: float | None = None


def timed(start: int, end: int, when: Stretch, kind: str = "") -> DateReading:
    """A reading with the grain of its period; its default kind is *time* for less than a day, else *date*."""
    within_a_day = when.grain in ("part", "hour", "minute", "second")
    return DateReading(start, end, when, kind or ("time" if within_a_day else "date"), when.grain)


# ``time_expressions``: the times that a text mentions, resolved against the time when it was said.

_MONTH_NAMES = "January February March April May June July August September October November December".split()
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_WEEKDAYS_ZH = "一二三四五六日"
_Grammar: TypeAlias = Callable[[str, datetime, bool], list[DateReading]]


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


def time_expressions(text: str, *, now: datetime, ahead: bool = False) -> list[TimeExpression]:
    """The times in a text, in order and without overlap; with ``ahead`` a day without a year is the next one.

    Raises ``InvalidInput`` when ``now`` is no datetime.
    """
    zone = _zone(now)
    local = datetime.combine(now.date(), now.time())
    readings = _english()(text, local, ahead)
    if not text.isascii():
        readings = _apart(readings, _chinese()(text, local, ahead))
    return [found for reading in readings if (found := _resolved(text, reading, zone))]


_ZH_NAMES = re.compile(
    "(?:周|週|星期|禮拜|礼拜)([一二三四五六日天])|([一二][零〇一二三四五六七八九]{3})(?=年)"
    "|(?<![一二三四五六七八九十])(十[一二]?|[一二三四五六七八九])(?=月)"
)
_ZH_FIGURES = {char: str(value) for value, char in enumerate("零一二三四五六七八九十")} | {
    "〇": "0",
    "十一": "11",
    "十二": "12",
}


def usual_names(text: str) -> str:
    """A text with one name for each day of the week, month and year in Chinese: 礼拜天 is 周日, 二〇一九年 is 2019年."""

    def usual(found: re.Match[str]) -> str:
        day, year, month = found.groups()
        if day:
            return "周日" if day == "天" else f"周{day}"
        return _ZH_FIGURES[month] if month else "".join(_ZH_FIGURES[one] for one in year)

    return text if text.isascii() else _ZH_NAMES.sub(usual, text)


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
    return f"{moment.day} {_MONTH_NAMES[moment.month - 1]} {moment.year}, {_WEEKDAYS[moment.weekday()]}"
