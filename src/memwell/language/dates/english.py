"""English words for times, read against the local time at which they were said.

A text is walked word by word; a word that may begin an expression is tried with the few patterns that begin so. Each
pattern is bounded, so the work grows with the text's length alone. *May*, *march* and the like are months only where
the words around them say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeAlias

from memwell.language.dates import calendars
from memwell.language.dates import english_patterns as patterns
from memwell.language.dates.calendars import Stretch
from memwell.language.dates.english_relative import (
    EnglishText,
    ago,
    amount,
    away,
    bare_count,
    clock_hour,
    day_word,
    for_count,
    in_count,
    relative,
    today,
    tonight,
    trailing,
    with_clock,
)
from memwell.language.dates.readings import Reading, timed

_Rule: TypeAlias = Callable[[EnglishText, int], Reading | None]


def english_times(text: str, now: datetime) -> list[Reading]:
    """The times named in English, in order and without overlap; ``now`` is naive local time."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter such as İ becomes two
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    read = EnglishText(lower, text, now)
    found: list[Reading] = []
    done = 0
    for word in patterns.WORD.finditer(lower):
        at = word.start()
        if at < done:
            continue
        rules = _STARTS.get(word[0]) or (_NUMBERED if word[0][0] in "0123456789" else ())
        reading = _first(rules, read, at) if rules else None
        if reading:
            found.append(reading)
            done = reading.end
    return found


def _first(rules: tuple[_Rule, ...], text: EnglishText, at: int) -> Reading | None:
    for rule in rules:
        try:
            reading = rule(text, at)
        except (ValueError, OverflowError, KeyError):  # 31 June, the year 99999, a festival of a year unknown
            continue
        if reading:
            return reading
    return None


def _operand(text: EnglishText, at: int) -> Reading | None:
    """A date that stands alone at that place, as the part of a longer expression."""
    word = patterns.WORD.match(text.lower, at)
    if not word:
        return None
    rules = _DATES.get(word[0]) or (_NUMBER_DATES if word[0][0] in "0123456789" else ())
    return _first(rules, text, at)


def _beside(text: EnglishText, at: int) -> Reading | None:
    """*The week before June 9*, *two days after Christmas*."""
    found = patterns.BESIDE(text.lower, at)
    anchor = _operand(text, _past_the(text, found.end())) if found else None
    if not found or not anchor or anchor.when is None:
        return None
    low, high, unit = (1.0, 1.0, found["unit1"]) if found["unit1"] else amount(found)
    way = 1 if found["way"] == "after" else -1
    return timed(at, anchor.end, _next_to(anchor.when, low, high, unit, way, counted=not found["unit1"]))


def _past_the(text: EnglishText, at: int) -> int:
    return at + 4 if text.lower.startswith("the ", at) else at


def _next_to(anchor: Stretch, low: float, high: float, unit: str, way: int, *, counted: bool) -> Stretch:
    unit = "day" if unit == "night" else unit
    if unit == "weekend":
        edge = anchor.since if way < 0 else anchor.until
        saturday = (calendars.weekday_before if way < 0 else calendars.weekday_after)(edge, 5)
        return calendars.weekend(saturday.since)
    if counted:
        return away(anchor.since, low, high, unit, way)
    if way < 0:
        return Stretch(calendars.step(anchor.since, unit, -1), anchor.since, unit)
    return Stretch(anchor.until, calendars.step(anchor.until, unit, 1), unit)


def _weekday_beside(text: EnglishText, at: int) -> Reading | None:
    found = patterns.WEEKDAY_BESIDE(text.lower, at)
    anchor = _operand(text, _past_the(text, found.end())) if found else None
    if not found or not anchor or anchor.when is None:
        return None
    weekday = patterns.WEEKDAYS[found["weekday"]]
    if found["way"] == "before":
        return timed(at, anchor.end, calendars.weekday_before(anchor.when.since, weekday))
    return timed(at, anchor.end, calendars.weekday_after(anchor.when.until, weekday, today=True))


def _unit_of(text: EnglishText, at: int) -> Reading | None:
    """*The week of June 9*, *the evening of 7 May*."""
    found = patterns.UNIT_OF(text.lower, at)
    anchor = _operand(text, _past_the(text, found.end())) if found else None
    if not found or not anchor or anchor.when is None or anchor.when.grain != "day":
        return None
    if found["part"]:
        return timed(at, anchor.end, calendars.part(anchor.when, found["part"]))
    since = anchor.when.since
    return timed(
        at, anchor.end, calendars.weekend(since) if found["unit"] == "weekend" else calendars.unit(since, "week")
    )


def _other(text: EnglishText, at: int) -> Reading | None:
    """*The other day*: some day of the last seven."""
    found = patterns.OTHER(text.lower, at)
    if not found:
        return None
    first = calendars.step(text.now, "week", -3 if found["unit"] == "week" else -1)
    return timed(at, found.end(), Stretch(calendars.floor(first, "day"), text.now, "week"), "range")


def _year_of(text: EnglishText, found: re.Match[str], at: int, number: int, of_month: int) -> int:
    if found["year"]:
        return int(found["year"])
    return calendars.likely_year(text.now, number, of_month, ahead=text.lies_ahead(at))


def _month_day(text: EnglishText, at: int) -> Reading | None:
    found = patterns.MONTH_DAY(text.lower, at)
    if not found:
        return None
    number, of_month = patterns.MONTHS[found["month"]], int(found["day"])
    year = _year_of(text, found, at, number, of_month)
    first = calendars.day(year, number, of_month)
    if found["last"] and int(found["last"]) > of_month:
        last = calendars.day(year, number, int(found["last"]))
        return timed(at, found.end(), Stretch(first.since, last.until, "day"), "range")
    return with_clock(text, timed(at, found.end(), first))


def _day_month(text: EnglishText, at: int) -> Reading | None:
    found = patterns.DAY_MONTH(text.lower, at)
    if not found:
        return None
    # "the 5 may help" and "20 mar": a doubtful month wants its capital, or an ordinal before it.
    if found["month"] in patterns.DOUBTFUL_MONTHS and not text.is_capital(found.start("month")) and not found["year"]:
        return None
    number, of_month = patterns.MONTHS[found["month"]], int(found["day"])
    year = _year_of(text, found, at, number, of_month)
    return with_clock(text, timed(at, found.end(), calendars.day(year, number, of_month)))


def _month_alone(text: EnglishText, at: int) -> Reading | None:
    found = patterns.MONTH_ALONE(text.lower, at)
    if not found or (not found["year"] and not _is_month(text, at, found["month"])):
        return None
    number = patterns.MONTHS[found["month"]]
    return timed(at, found.end(), calendars.month(_year_of(text, found, at, number, 28), number))


def _is_month(text: EnglishText, at: int, name: str) -> bool:
    """Whether a month's name without a day or a year is one, and not a verb or somebody's name."""
    if name not in patterns.DOUBTFUL_MONTHS:
        return len(name) > 3 and text.is_capital(at)
    return text.is_capital(at) and text.word_before(at) in patterns.BEFORE_A_TIME and len(name) > 2


def _iso(text: EnglishText, at: int) -> Reading | None:
    found = patterns.ISO(text.lower, at)
    if not found:
        return None
    when = calendars.day(int(found["year"]), int(found["month"]), int(found["day"]))
    if found["hour"] and int(found["hour"]) < 24:
        return timed(at, found.end(), calendars.at(when, int(found["hour"]), int(found["minute"])))
    end = found.end() if not found["hour"] else found.start("hour") - 1
    return with_clock(text, timed(at, end, when))


def _iso_month(text: EnglishText, at: int) -> Reading | None:
    found = patterns.ISO_MONTH(text.lower, at)
    return timed(at, found.end(), calendars.month(int(found["year"]), int(found["month"]))) if found else None


def _slashed(text: EnglishText, at: int) -> Reading | None:
    """05/07/2023 is 7 May, unless there is no such month; with full stops the day comes first."""
    found = patterns.SLASHED(text.lower, at)
    if not found or (len(found["year"]) == 2 and found["mark"] != "/"):
        return None
    number, of_month = int(found["one"]), int(found["two"])
    if number > 12 or found["mark"] == ".":
        number, of_month = of_month, number
    year = int(found["year"])
    year += 0 if year > 99 else (2000 if year < 70 else 1900)
    return with_clock(text, timed(at, found.end(), calendars.day(year, number, of_month)))


def _year_alone(text: EnglishText, at: int) -> Reading | None:
    found = patterns.YEAR_ALONE(text.lower, at)
    if not found or text.word_before(at) not in patterns.BEFORE_A_YEAR:
        return None
    return timed(at, found.end(), calendars.year(int(found["year"])))


def _year_operand(text: EnglishText, at: int) -> Reading | None:
    found = patterns.YEAR_ALONE(text.lower, at)
    return timed(at, found.end(), calendars.year(int(found["year"]))) if found else None


def _decade(text: EnglishText, at: int) -> Reading | None:
    found = patterns.DECADE(text.lower, at)
    before = text.lower[max(0, at - 5) : at].rstrip("'")
    if not found or not before.endswith(("the ", "in ", "rly ", "ate ", "mid-", "mid ")):
        return None
    first = int(found["decade"])
    first += 0 if first > 99 else (1900 if first >= 20 else 2000)
    return timed(at, found.end(), calendars.unit(calendars.year(first).since, "decade"))


def _season(text: EnglishText, at: int) -> Reading | None:
    found = patterns.SEASON(text.lower, at)
    return (
        timed(at, found.end(), calendars.season(int(found["year"]), patterns.SEASONS[found["season"]]))
        if found
        else None
    )


def _quarter(text: EnglishText, at: int) -> Reading | None:
    found = patterns.QUARTER(text.lower, at)
    if not found or not (found["year"] or found["quarter"]):  # "the third quarter" is of a game too
        return None
    number = int(found["quarter"] or patterns.ORDINALS[found["ordinal"]]) * 3 - 2
    year = _year_of(text, found, at, number, 28)
    return timed(at, found.end(), calendars.unit(calendars.month(year, number).since, "quarter"))


def _festival(text: EnglishText, at: int) -> Reading | None:
    found = patterns.FESTIVAL(text.lower, at)
    if not found or (not found["year"] and text.word_before(at) not in patterns.BEFORE_A_FESTIVAL):
        return None
    return _festival_of(text, found, at)


def _festival_operand(text: EnglishText, at: int) -> Reading | None:
    found = patterns.FESTIVAL(text.lower, at)
    return _festival_of(text, found, at) if found else None


def _festival_of(text: EnglishText, found: re.Match[str], at: int) -> Reading:
    name = patterns.FESTIVALS[found["festival"]]
    this = calendars.festival(text.now.year, name).since
    return timed(at, found.end(), calendars.festival(_year_of(text, found, at, this.month, this.day), name))


def _third(text: EnglishText, at: int) -> Reading | None:
    """*Early May*, *the end of last year*."""
    found = patterns.THIRD(text.lower, at)
    whole = _operand(text, found.end()) if found else None
    if not found or not whole or whole.when is None or whole.kind == "time":
        return None
    which = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1}.get(found["third"] or found["place"], 2)
    return timed(at, whole.end, calendars.third(whole.when, which), "range")


def _clock(text: EnglishText, at: int) -> Reading | None:
    found = patterns.CLOCK_TIME(text.lower, at)
    if not found or (
        found["hour24"] and text.word_before(at) not in ("at", "by", "around", "until", "till", "from", "since")
    ):
        return None
    joined = patterns.JOINED_DAY(text.lower, found.end())
    on = _operand(text, joined.end()) if joined else None
    if on and on.when and on.when.grain == "day":
        hour = clock_hour(found, on.when)
        return timed(at, on.end, hour) if hour else None
    hour = clock_hour(found, today(text))
    return timed(at, found.end(), hour) if hour else None


def _between(text: EnglishText, at: int) -> Reading | None:
    found = patterns.BETWEEN(text.lower, at)
    first = _operand(text, _past_the(text, found.end())) if found else None
    return _up_to(text, at, first) if first else None


def _up_to(text: EnglishText, at: int, first: Reading) -> Reading | None:
    """A range from one date to another that follows it."""
    if first.when is None or first.kind == "range":
        return first if first.kind == "range" else None
    joined = patterns.TO(text.lower, first.end)
    last = _operand(text, _past_the(text, joined.end())) if joined else None
    if not last or last.when is None or last.when.until <= first.when.since:
        return None
    return timed(at, last.end, Stretch(first.when.since, last.when.until, last.when.grain), "range")


def _since(text: EnglishText, at: int) -> Reading | None:
    found = patterns.SINCE(text.lower, at)
    first = _operand(text, found.end()) if found else None
    if not first or first.when is None or first.when.since >= text.now:
        return None
    return timed(at, first.end, Stretch(first.when.since, text.now, first.when.grain), "range")


def _every(text: EnglishText, at: int) -> Reading | None:
    return _recurring(patterns.EVERY(text.lower, at) or patterns.PLURAL_DAYS(text.lower, at), at)


def _times_a(text: EnglishText, at: int) -> Reading | None:
    return _recurring(patterns.TIMES_A(text.lower, at), at)


def _recurring(found: re.Match[str] | None, at: int) -> Reading | None:
    if not found:
        return None
    unit = found["unit"]
    names = {"weekday": "day", "morning": "part", "afternoon": "part", "evening": "part", "night": "part"}
    grain = "day" if unit in patterns.WEEKDAYS else names.get(unit, "month" if unit in patterns.MONTHS else unit)
    return Reading(at, found.end(), None, "recurring", "season" if unit in patterns.SEASONS else grain)


def _weekday(text: EnglishText, at: int) -> Reading | None:
    """A day of the week without *last* or *next*: the last such day, unless the sentence looks ahead."""
    habit = _recurring(patterns.WEEKDAY_PARTS(text.lower, at), at)
    if habit:
        return habit
    found = patterns.WEEKDAY(text.lower, at)
    if not found or text.word_before(at) in ("black", "good", "cyber", "ash", "palm", "easter", "every", "each"):
        return None
    joined = patterns.JOINED_DAY(text.lower, found.end())
    exact = _operand(text, joined.end()) if joined and text.lower[joined.end() - 4 : joined.end()] != " on " else None
    if exact and exact.when and exact.when.grain in ("day", "hour", "minute") and exact.kind in ("date", "time"):
        return exact._replace(start=at)
    weekday = patterns.WEEKDAYS[found["weekday"]]
    nearest = calendars.weekday_after if text.lies_ahead(at) else calendars.weekday_before
    return with_clock(text, timed(at, found.end(), nearest(text.now, weekday)))


def _table(*rules: tuple[_Rule, Iterable[str]]) -> dict[str, tuple[_Rule, ...]]:
    """From a first word to the rules to try, in the order given."""
    table: dict[str, tuple[_Rule, ...]] = {}
    for rule, words in rules:
        for word in words:
            table[word] = (*table.get(word, ()), rule)
    return table


def _numbered(text: EnglishText, at: int) -> Reading | None:
    """What begins with digits."""
    return _first(_NUMBER_RULES, text, at) if patterns.NUMBER_TIME(text.lower, at) else None


def _counted(text: EnglishText, at: int) -> Reading | None:
    """What begins with a number in words, *a* included."""
    if patterns.COUNTED(text.lower, at):
        return _first((_beside, _times_a, ago, bare_count), text, at)
    return _times_a(text, at)


def _the(text: EnglishText, at: int) -> Reading | None:
    return _first(_THE_RULES, text, at) if patterns.THE_TIME(text.lower, at) else None


def _words(line: str) -> list[str]:
    return line.split()


_COUNTING = [word for word in patterns.NUMBERS if " " not in word]
_FESTIVAL_STARTS = {name.split()[0].split("'")[0] for name in patterns.FESTIVALS}
_DATE_RULES: list[tuple[_Rule, Iterable[str]]] = [
    (day_word, _words("the today yesterday tomorrow")),
    (tonight, _words("tonight last this")),
    (relative, _words("this last past previous next coming")),
    (trailing, _words("last past previous next coming")),
    (ago, [*_COUNTING, "half"]),
    (_month_day, patterns.MONTHS),
]
_EXACT_NUMBERS: tuple[_Rule, ...] = (_iso, _iso_month, _slashed, _day_month)
_NUMBER_DATES: tuple[_Rule, ...] = (*_EXACT_NUMBERS, ago, _decade, _year_operand, _clock)
_DATES = _table(
    *_DATE_RULES,
    (_month_alone, patterns.MONTHS),
    (_weekday, patterns.WEEKDAY_NAMES),
    (_festival_operand, _FESTIVAL_STARTS),
    (_season, patterns.SEASONS),
    (_quarter, _words("q1 q2 q3 q4")),
)
_NUMBER_RULES: tuple[_Rule, ...] = (
    *_EXACT_NUMBERS,
    ago,
    _beside,
    _clock,
    _decade,
    _times_a,
    _year_alone,
    bare_count,
)
_NUMBERED: tuple[_Rule, ...] = (_numbered,)
_THE_RULES: tuple[_Rule, ...] = (_beside, _weekday_beside, _unit_of, _other, _third, day_word, _quarter)
_STARTS = _table(
    (_the, ["the"]),
    (_counted, ["half", "once", "twice", *_COUNTING]),
    (_every, ["every", "each", "weekdays", "weekends", *(name + "s" for name in patterns.WEEKDAY_NAMES)]),
    (_third, _words("early late mid beginning start middle end")),
    (day_word, _words("today yesterday tomorrow")),
    (tonight, _words("tonight last this")),
    (relative, _words("this last past previous next coming")),
    (trailing, _words("last past previous next coming")),
    (_month_day, patterns.MONTHS),
    (_month_alone, patterns.MONTHS),
    (_weekday, patterns.WEEKDAY_NAMES),
    (_festival, _FESTIVAL_STARTS),
    (_season, patterns.SEASONS),
    (_quarter, _words("q1 q2 q3 q4 first second third fourth")),
    (in_count, _words("in within")),
    (for_count, ["for"]),
    (_between, _words("between from")),
    (_since, _words("since ever")),
    (_clock, _words("noon midday midnight")),
)

__all__ = ["english_times"]
