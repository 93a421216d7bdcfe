"""English times that count from the moment of speaking: *today*, *last Friday*, *three weeks ago*, *for two hours*."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from memwell.language.dates import calendars
from memwell.language.dates import english_patterns as patterns
from memwell.language.dates.calendars import SECONDS, Stretch
from memwell.language.dates.readings import Reading, timed


class EnglishText(NamedTuple):
    """A text in lower case, as it was written, and when that was."""

    lower: str
    source: str
    now: datetime

    def word_before(self, at: int) -> str:
        found = patterns.LAST_WORD(self.lower[max(0, at - 24) : at])
        return found[1] if found else ""

    def lies_ahead(self, at: int) -> bool:
        """Whether the sentence so far speaks of what is to come."""
        so_far = self.lower[max(0, at - patterns.LOOKED_BACK) : at]
        ends = [end.end() for end in patterns.SENTENCE_END.finditer(so_far)]
        return bool(patterns.AHEAD(so_far, ends[-1] if ends else 0))

    def is_capital(self, at: int) -> bool:
        return self.source[at].isupper()


def with_clock(text: EnglishText, reading: Reading) -> Reading:
    """The reading narrowed by an hour or a part of the day that follows it, if it is a day."""
    when = reading.when
    if when is None or when.grain != "day":
        return reading
    joined = patterns.JOINED_CLOCK(text.lower, reading.end)
    hour = clock_hour(joined, when) if joined else None
    if joined and hour:
        return timed(reading.start, joined.end(), hour)
    joined = patterns.JOINED_PART(text.lower, reading.end)
    return timed(reading.start, joined.end(), calendars.part(when, joined["part"])) if joined else reading


def clock_hour(clock: re.Match[str], of_day: Stretch) -> Stretch | None:
    if clock["named"]:
        return calendars.at(of_day, 0 if clock["named"] == "midnight" else 12)
    if clock["hour24"]:
        return calendars.at(of_day, int(clock["hour24"]), int(clock["minute24"]))
    hour = int(clock["hour"])
    if not 1 <= hour <= 12:
        return None
    # Nobody says which three o'clock is meant; most of what is told happens by day.
    later = clock["half_day"] == "p" if clock["half_day"] else hour < 7 or hour == 12
    return calendars.at(of_day, hour % 12 + 12 * later, int(clock["minute"]) if clock["minute"] else None)


def today(text: EnglishText) -> Stretch:
    return calendars.unit(text.now, "day")


def day_word(text: EnglishText, at: int) -> Reading | None:
    found = patterns.DAY_WORD(text.lower, at)
    if not found:
        return None
    shift = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(found["near"] or "", 0)
    if found["far"]:
        shift = -2 if found["far"].startswith("before") else 2
    when = calendars.unit(text.now, "day", shift)
    if found["part"]:
        return timed(at, found.end(), calendars.part(when, found["part"]))
    return with_clock(text, timed(at, found.end(), when))


def tonight(text: EnglishText, at: int) -> Reading | None:
    found = patterns.TONIGHT(text.lower, at)
    if not found:
        return None
    of_day = calendars.unit(text.now, "day", -1) if found[0].startswith("last") else today(text)
    return timed(at, found.end(), calendars.part(of_day, found["part"] or "night"))


def relative(text: EnglishText, at: int) -> Reading | None:
    found = patterns.RELATIVE(text.lower, at)
    if not found:
        return None
    which, what = " ".join(found["which"].split()), found["what"]
    if (what in patterns.DOUBTFUL_MONTHS or (what in patterns.WEEKDAYS and len(what) < 6)) and not text.is_capital(
        found.start("what")
    ):
        return None
    way = {"last": -1, "previous": -1, "this past": -1, "past": -1, "this": 0}.get(which, 1)
    when = _named(text.now, what, way, loose=which in ("past", "this past"))
    if found["part"] and when.grain == "day":
        return timed(at, found.end(), calendars.part(when, found["part"]))
    end = found.end() if not found["part"] else found.start("part") - 1
    return with_clock(text, timed(at, end, when, "range" if when.until == text.now else ""))


def _named(now: datetime, what: str, way: int, *, loose: bool) -> Stretch:
    """The last, this or next (-1, 0, 1) of a week, month, season, weekday or festival."""
    if what in patterns.WEEKDAYS:
        return _relative_weekday(now, patterns.WEEKDAYS[what], way)
    if what in patterns.MONTHS:
        return _occurrence(now, way, lambda year: calendars.month(year, patterns.MONTHS[what]))
    if what in patterns.SEASONS:
        return _occurrence(now, way, lambda year: calendars.season(year, patterns.SEASONS[what]))
    if what in patterns.FESTIVALS:
        return _occurrence(now, way, lambda year: calendars.festival(year, patterns.FESTIVALS[what]))
    if what == "weekend":
        # On a Sunday "last weekend" is the one before; on a weekday "this past weekend" is the last one too.
        return calendars.weekend(now, way)
    if loose and what not in ("decade", "century", "quarter"):
        return Stretch(calendars.step(now, what, -1), now, what)
    if what == "week" and way < 0 and now.weekday() == 6:
        # On a Sunday, which begins the week for many, "last week" is the one that has just ended.
        return Stretch(calendars.floor(now, "day") - timedelta(days=7), calendars.floor(now, "day"), "week")
    return calendars.unit(now, what, way)


def _relative_weekday(now: datetime, weekday: int, way: int) -> Stretch:
    if way < 0:
        return calendars.weekday_before(now, weekday)
    return calendars.weekday_after(now, weekday, today=True) if way == 0 else calendars.weekday_of_week(now, weekday, 1)


def _occurrence(now: datetime, way: int, of_year: Callable[[int], Stretch]) -> Stretch:
    """Of what comes once a year: the last that is over, this year's or the one going on, or the next to begin."""
    years = [of_year(now.year + shift) for shift in (-2, -1, 0, 1)]
    if way < 0:
        return [when for when in years if when.until <= now][-1]
    if way > 0:
        return next(when for when in years if when.since > now)
    return next((when for when in years if when.since <= now < when.until), years[2])


def amount(found: re.Match[str]) -> tuple[float, float, str]:
    """The least and the most that a count may mean, and its unit."""
    words = found["number"].split()
    if words[0] in ("a", "an", "one") and len(words) > 1:
        words = words[1:]
    low, high = patterns.NUMBERS.get(" ".join(words)) or _digits(words[0])
    unit = {"sec": "second", "min": "minute", "hr": "hour", "night": "day"}.get(found["unit"], found["unit"])
    if found["half"]:
        low, high = low + 0.5, high + 0.5
    return (low * 2, high * 2, "week") if unit == "fortnight" else (low, high, unit)


def _digits(word: str) -> tuple[float, float]:
    """A number in digits, or two of them as in 5-7."""
    low, _, high = word.replace("–", "-").partition("-")
    return float(low), max(float(low), float(high or low))


def away(now: datetime, low: float, high: float, unit: str, way: int) -> Stretch:
    """What lies that many units before (-1) or after (1)."""
    if unit == "weekend":
        return calendars.weekend(now, int(low) * way)
    near, far = (_about(now, unit, way * count) for count in (low, high))
    return near if low == high else Stretch(min(near, far).since, max(near, far).until, unit)


def _about(now: datetime, unit: str, count: float) -> Stretch:
    if count % 1 and unit in ("month", "year", "decade"):
        return calendars.around(
            now, "month", int(count * SECONDS[unit] / SECONDS["month"] + (0.5 if count > 0 else -0.5))
        )
    return calendars.around(now, unit, count)


def ago(text: EnglishText, at: int) -> Reading | None:
    found = patterns.AGO(text.lower, at)
    if not found:
        return None
    low, high, unit = amount(found)
    way = 1 if found["way"].startswith("from") else -1
    return timed(at, found.end(), away(text.now, low, high, unit, way))


def in_count(text: EnglishText, at: int) -> Reading | None:
    found = patterns.IN_COUNT(text.lower, at)
    if not found or found["unit"] in ("night", "second", "sec"):
        return None
    low, high, unit = amount(found)
    if unit == "day" and high == 1:  # Rome was not built in a day
        return None
    if patterns.NOT_SO_FAR(text.lower[max(0, at - 32) : at]):  # "we haven't talked in a few days" is how long
        return _duration(found, at)
    return timed(at, found.end(), away(text.now, low, high, unit, 1))


def trailing(text: EnglishText, at: int) -> Reading | None:
    found = patterns.TRAILING(text.lower, at)
    return _span(text, found, at, found["which"] in ("next", "coming")) if found else None


def _span(text: EnglishText, found: re.Match[str], at: int, ahead: bool) -> Reading:
    """From now back, or ahead, for a count."""
    _, high, unit = amount(found)
    unit, high = ("week", high) if unit == "weekend" else (unit, high)
    there = calendars.step(text.now, unit, high if ahead else -high)
    return timed(at, found.end(), Stretch(min(text.now, there), max(text.now, there), unit), "range")


def for_count(text: EnglishText, at: int) -> Reading | None:
    found = patterns.FOR_COUNT(text.lower, at)
    if not found:
        return None
    if found["trailing"]:
        return _span(text, found, at, found["trailing"].startswith("next"))
    return _duration(found, at)


def _duration(found: re.Match[str], at: int) -> Reading | None:
    low, high, unit = amount(found)
    if unit == "weekend":
        return None
    return Reading(at, found.end(), None, "duration", unit, (low + high) / 2 * SECONDS[unit])


def bare_count(text: EnglishText, at: int) -> Reading | None:
    found = patterns.BARE_COUNT(text.lower, at)
    if not found or found["number"] in ("a", "an", "one"):
        return None
    return _duration(found, at)


__all__ = [
    "EnglishText",
    "ago",
    "amount",
    "away",
    "bare_count",
    "clock_hour",
    "day_word",
    "for_count",
    "in_count",
    "relative",
    "today",
    "tonight",
    "trailing",
    "with_clock",
]
