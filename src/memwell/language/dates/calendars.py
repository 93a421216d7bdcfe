"""Arithmetic on the calendar of one place: stretches of local time, as words such as *last week* mean them.

All moments here are naive, in the local time of whoever speaks. A week begins on Monday, a season is that of the northern
half of the world in whole months, and a night lasts from 18:00 to 06:00.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

PARTS = {
    "dawn": (0, 6),
    "morning": (5, 12),
    "noon": (11, 14),
    "afternoon": (12, 18),
    "evening": (17, 24),
    "night": (18, 30),
}
"""The hours at which the parts of a day begin and end; 30 is six in the morning of the next day."""

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
"""The month in which each season begins. It lasts for three, so a winter ends in the year after its own."""

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
"""How long each unit lasts, on average."""

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
# Two more festivals of the moon, written the same way.
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
    """From ``since`` up to, but not including, ``until``."""

    since: datetime
    until: datetime
    grain: str


def floor(moment: datetime, grain: str) -> datetime:
    """The beginning of the unit that the moment lies in."""
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
    """The first moment of a month counted from year 0. Raises ``ValueError`` beyond the years 1 to 9999."""
    return datetime(months // 12, months % 12 + 1, 1)  # noqa: DTZ001 (local time)


def step(moment: datetime, grain: str, count: float) -> datetime:
    """So many units later; a day that the month lacks becomes its last. Raises ``OverflowError`` or ``ValueError``."""
    if grain not in _MONTHS:
        return moment + timedelta(seconds=SECONDS[grain] * count)
    months = moment.year * 12 + moment.month - 1 + int(count * _MONTHS[grain])
    first = month_start(months)
    longest = (month_start(months + 1) - first).days
    return moment.replace(year=first.year, month=first.month, day=min(moment.day, longest))


def unit(moment: datetime, grain: str, shift: int = 0) -> Stretch:
    """The whole unit that the moment lies in, or one that many before or after."""
    if grain == "day":  # by far the most frequent
        first = datetime(moment.year, moment.month, moment.day) + shift * _DAY  # noqa: DTZ001 (local time)
        return Stretch(first, first + _DAY, grain)
    first = step(floor(moment, grain), grain, shift)
    return Stretch(first, step(first, grain, 1), grain)


def around(moment: datetime, grain: str, count: float) -> Stretch:
    """What *three weeks ago* means: the day, month or year that many away, or the seven days about it for weeks."""
    there = step(moment, grain, count)
    if grain != "week":
        return unit(there, grain)
    first = floor(there, "day") - 3 * _DAY
    return Stretch(first, first + _WEEK, "week")


def month(year: int, number: int) -> Stretch:
    """A month of a year. Raises ``ValueError`` for what is none."""
    return unit(datetime(year, number, 1), "month")  # noqa: DTZ001 (local time)


def day(year: int, number: int, of_month: int) -> Stretch:
    """A day. Raises ``ValueError`` for what is none."""
    return unit(datetime(year, number, of_month), "day")  # noqa: DTZ001 (local time)


def year(number: int) -> Stretch:
    """A whole year. Raises ``ValueError`` for what is none."""
    return unit(datetime(number, 1, 1), "year")  # noqa: DTZ001 (local time)


def season(of_year: int, name: str) -> Stretch:
    """A season that begins in that year."""
    first = datetime(of_year, SEASONS[name], 1)  # noqa: DTZ001 (local time)
    return Stretch(first, step(first, "month", 3), "season")


def weekend(moment: datetime, shift: int = 0) -> Stretch:
    """Saturday and Sunday of the moment's week, or of one that many weeks away."""
    saturday = floor(moment, "week") + shift * _WEEK + 5 * _DAY
    return Stretch(saturday, saturday + 2 * _DAY, "weekend")


def weekday_before(moment: datetime, weekday: int) -> Stretch:
    """The last such day before the moment's own (0 is Monday)."""
    back = (moment.weekday() - weekday - 1) % 7 + 1
    return unit(moment - back * _DAY, "day")


def weekday_after(moment: datetime, weekday: int, *, today: bool = False) -> Stretch:
    """The first such day after the moment's own, which may count too."""
    ahead = (weekday - moment.weekday()) % 7
    return unit(moment + (ahead if ahead or today else 7) * _DAY, "day")


def weekday_of_week(moment: datetime, weekday: int, shift: int = 0) -> Stretch:
    """Such a day of the moment's week, or of one that many weeks away."""
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
    """A holiday in a year. Raises ``ValueError`` or ``KeyError`` for one that is not known there."""
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


# By month, weekday and which of them; and by month * 100 + day and how many days.
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
    """Easter Sunday by the rule of Gauss, in the form that needs no exceptions."""
    moon, century = of_year % 19, of_year // 100
    correction = (century - century // 4 - (8 * century + 13) // 25 + 19 * moon + 15) % 30
    full = correction - correction // 28 * (1 - 29 // (correction + 1) * ((21 - moon) // 11))
    sunday = (of_year + of_year // 4 + full + 2 - century + century // 4) % 7
    offset = full - sunday
    number = 3 + (offset + 40) // 44
    return day(of_year, number, offset + 28 - 31 * (number // 4))


def likely_year(moment: datetime, number: int, of_month: int, *, ahead: bool) -> int:
    """The year that a date without one means: within ten months back and two ahead, or the next if it lies ahead."""
    first = moment if ahead else moment - timedelta(days=_PAST_DAYS)
    before = (number, of_month) < (first.month, first.day)
    return first.year + before


# What a grammar of dates makes of some words, before it is given a zone.


class Reading(NamedTuple):
    """Words from ``start`` to ``end`` and the local time they mean; no time for a duration or what recurs."""

    start: int
    end: int
    when: Stretch | None
    kind: str = "date"
    grain: str = ""
    seconds: float | None = None


def timed(start: int, end: int, when: Stretch, kind: str = "") -> Reading:
    """A reading with the grain of its stretch; it is a *time* where that is shorter than a day, unless told."""
    within_a_day = when.grain in ("part", "hour", "minute", "second")
    return Reading(start, end, when, kind or ("time" if within_a_day else "date"), when.grain)
