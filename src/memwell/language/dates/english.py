"""Reads times in English text against the local time when it was said.

A text is read word by word; a word that may begin an expression is tried with the few patterns that begin so. Each pattern
is bounded, so the cost is linear. *May*, *march* and similar words are months only if the words around them say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from memwell.language import dates as calendars
from memwell.language.dates import SECONDS, DateReading, Stretch, timed
from memwell.language.patterns import LazyPattern, lazy_match

# The words and patterns of English times.

S = r"[ \t\r\n\u00a0]{1,3}"  # white space, bounded
MONTH_NAMES = "january february march april may june july august september october november december".split()
MONTHS = (
    {name: number for number, name in enumerate(MONTH_NAMES, 1)}
    | {name[:3]: number for number, name in enumerate(MONTH_NAMES, 1)}
    | {"sept": 9}
)
WEEKDAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday".split()
WEEKDAYS = (
    {name: number for number, name in enumerate(WEEKDAY_NAMES)}
    | {name[:3]: number for number, name in enumerate(WEEKDAY_NAMES)}
    | {"tues": 1, "weds": 2, "thur": 3, "thurs": 3}
)
SEASONS = {"spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn", "winter": "winter"}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
SMALL = "zero one two three four five six seven eight nine ten eleven twelve".split()
TEENS = "thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
NUMBERS: dict[str, tuple[float, float]] = (
    {word: (number, number) for number, word in enumerate(SMALL)}
    | {word: (number, number) for number, word in enumerate(TEENS, 13)}
    | {word: (10 * tens, 10 * tens) for tens, word in enumerate("twenty thirty forty fifty sixty".split(), 2)}
    | {"a": (1, 1), "an": (1, 1), "half a": (0.5, 0.5), "half an": (0.5, 0.5), "couple": (2, 2), "couple of": (2, 2)}
    | {"few": (2, 5), "several": (3, 7), "hundred": (100, 100)}
)
FESTIVALS = {
    "christmas eve": "christmas eve",
    "christmas day": "christmas",
    "christmas": "christmas",
    "boxing day": "boxing day",
    "new year's eve": "new year's eve",
    "new year's day": "new year",
    "new year's": "new year",
    "halloween": "halloween",
    "valentine's day": "valentine",
    "thanksgiving": "thanksgiving",
    "easter": "easter",
    "mother's day": "mother's day",
    "father's day": "father's day",
    "independence day": "independence day",
    "fourth of july": "independence day",
    "labor day": "labor day",
}
# Months that are also names or other words: they need a preposition of time before them.
DOUBTFUL_MONTHS = frozenset("march april may june august jan mar apr jun aug dec sep".split())
BEFORE_A_TIME = frozenset(
    "in since until till by during from of early late mid last next this through before after around every late".split()
)
BEFORE_A_FESTIVAL = BEFORE_A_TIME | frozenset("on at for over".split())
BEFORE_A_YEAR = frozenset(
    "in since until till by during from of early late mid through before after around year".split()
)


def _one_of(words: Iterable[str]) -> str:
    """An alternation of the words, longest first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


YEAR = r"(?P<year>(?:1[5-9]|2[01])[0-9]{2})(?![0-9]|[-/.][0-9])"
NTH = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?(?![0-9a-z%$]|[:./,][0-9])"
# Only an abbreviation may have a full stop.
MONTH = rf"(?P<month>(?:{_one_of(MONTH_NAMES)})\b|(?:{_one_of(name for name in MONTHS if len(name) < 5)})\b\.?)"
NUMBER = (
    rf"(?P<number>[0-9]{{1,4}}(?:\.[0-9]|[-–][0-9]{{1,3}})?|half{S}an?|(?:an?{S})?(?:couple(?:{S}of)?|few)"
    rf"|(?:an?|one|{_one_of(SMALL[2:] + TEENS)}|twenty|thirty|forty|fifty|sixty|several|(?:a|one){S}hundred))"
)
UNIT = r"(?P<unit>second|sec|minute|min|hour|hr|day|night|weekend|week|fortnight|month|year|decade)s?\b"
UNITS = "sec min hour hr day night week month year decade".split()
"""What a text with one of these units has in it."""
COUNT = rf"{NUMBER}(?:{S}|-)(?:more{S}|full{S}|whole{S}|long{S}|short{S})?{UNIT}(?P<half>{S}and{S}a{S}half\b)?"
PART = r"(?P<part>morning|afternoon|evening|night)\b"
CLOCK = (
    r"(?:(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-5][0-9]))?[ ]?(?:(?P<half_day>[ap])(?:\.m\b\.?|m\b)|(?P<clock>o'?clock)\b)"
    r"|(?P<hour24>[01]?[0-9]|2[0-3]):(?P<minute24>[0-5][0-9])(?::[0-5][0-9])?(?![0-9:])|(?P<named>noon|midday|midnight)\b)"
)


DAY_WORD = lazy_match(
    rf"(?:the{S}day{S}(?P<far>before{S}yesterday|after{S}tomorrow)|(?P<near>today|yesterday|tomorrow))\b"
    rf"(?:'s)?(?:{S}{PART})?"
)
TONIGHT = lazy_match(rf"(?:tonight|last{S}night|this{S}(?P<part>morning|afternoon|evening))\b")
RELATIVE = lazy_match(
    rf"(?P<which>this{S}past|this{S}coming|last|past|previous|this|next|coming)\b{S}"
    rf"(?P<what>{_one_of([*MONTHS, *WEEKDAYS, *SEASONS, *FESTIVALS])}|week|weekend|month|quarter|year|decade|century)\b"
    rf"(?!'?s?{S}old)(?:{S}{PART})?"
)
TRAILING = lazy_match(rf"(?P<which>last|past|previous|next|coming)\b{S}{COUNT}", UNITS)
AGO = lazy_match(rf"{COUNT}{S}(?P<way>ago|back|from{S}(?:now|today))\b", UNITS)
IN_COUNT = lazy_match(
    rf"(?:in|within)\b{S}(?:about{S}|just{S}|only{S})?{COUNT}(?!{S}(?:of|before|after|ago)\b|'|-)", UNITS
)
FOR_COUNT = lazy_match(
    rf"for\b{S}(?:(?:about|over|almost|nearly|around|like|at{S}least|more{S}than|the|up{S}to|only|just){S}){{0,2}}"
    rf"(?P<trailing>(?:last|past|next){S})?{COUNT}(?!{S}old\b|-)",
    UNITS,
)
COUNTED = lazy_match(COUNT, UNITS)
THE_TIME = lazy_match(
    rf"the{S}(?:day|night|week|month|year|morning|afternoon|evening|other|beginning|start|middle|end|first|second|third|fourth"
    rf"|{_one_of(WEEKDAY_NAMES)})"
)
# What may follow digits that begin a time; other digits are skipped at once.
NUMBER_TIME = lazy_match(
    r"[0-9]{1,4}(?:[-/.:][0-9]|'?s\b|(?:st|nd|rd|th)?(?:[ \t\r\n\u00a0]{1,3}|-)(?:of )?"
    rf"(?:sec|min|h|d|night|w|fortnight|m|y|times|full|long|short|a\b|an\b|per\b|ea|ev|[ap]\.?m|o'?clock|{_one_of(MONTHS)})"
    r"|[ap]\.?m\b|o'?clock)|(?:1[5-9]|2[01])[0-9]{2}(?![0-9])"
)
BARE_COUNT = lazy_match(rf"{COUNT}(?!{S}(?:old|a|an|per|each|every|before|after|later|earlier|in)\b|[-/])", UNITS)
RELATIVE_TO = lazy_match(
    rf"(?:the{S}(?P<unit1>day|night|weekend|week|month|year)|{COUNT}){S}(?P<way>before|after|prior{S}to){S}",
    ("before", "after", "prior"),
)
WEEKDAY_RELATIVE_TO = lazy_match(rf"the{S}(?P<weekday>{_one_of(WEEKDAY_NAMES)}){S}(?P<way>before|after){S}")
UNIT_OF = lazy_match(rf"the{S}(?P<unit>weekend|week|{PART}){S}of{S}")
OTHER = lazy_match(rf"the{S}other{S}(?P<unit>day|night|week)\b")
MONTH_DAY = lazy_match(
    rf"{MONTH}{S}(?:the{S})?{NTH}(?:(?:{S}(?:to|through|until|and){S}|[ ]?[-–][ ]?)(?P<last>[0-9]{{1,2}})"
    rf"(?:st|nd|rd|th)?(?![0-9a-z:]))?(?:,?{S}(?:of{S})?{YEAR})?"
)
DAY_MONTH = lazy_match(rf"{NTH}{S}(?:of{S})?{MONTH}(?:,?{S}(?:of{S})?{YEAR})?")
MONTH_ALONE = lazy_match(rf"{MONTH}(?:(?:,|{S}of|{S}in)?{S}{YEAR})?")
ISO = lazy_match(
    r"(?P<year>[12][0-9]{3})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})(?![0-9]|[-/.][0-9])"
    r"(?:[t ](?P<hour>[0-2]?[0-9]):(?P<minute>[0-5][0-9])(?::[0-5][0-9](?:\.[0-9]{1,9})?)?z?(?![0-9:]))?"
)
ISO_MONTH = lazy_match(r"(?P<year>(?:19|20)[0-9]{2})-(?P<month>0[1-9]|1[0-2])(?![0-9a-z]|[-/.][0-9])")
SLASHED = lazy_match(
    r"(?P<one>[0-9]{1,2})(?P<mark>[/.-])(?P<two>[0-9]{1,2})(?P=mark)(?P<year>[12][0-9]{3}|[0-9]{2})(?![0-9/.-])"
)
YEAR_ALONE = lazy_match(YEAR + rf"(?![a-z%]|,[0-9]|{S}(?!(?:was|is|has|as|this)\b)[a-z]{{2,20}}s\b)")
DECADE = lazy_match(r"'?(?P<decade>[0-9]0|(?:1[5-9]|20)[0-9]0)'?s\b")
SEASON = lazy_match(rf"(?P<season>{_one_of(SEASONS)}){S}(?:of{S})?(?P<apostrophe>')?{YEAR}")
QUARTER = lazy_match(
    rf"(?:q(?P<quarter>[1-4])|(?:the{S})?(?P<ordinal>first|second|third|fourth){S}quarter)\b(?:,?{S}(?:of{S})?{YEAR})?"
)
FESTIVAL = lazy_match(rf"(?P<festival>{_one_of(FESTIVALS)})\b(?!-)(?:,?{S}(?:of{S}|in{S})?{YEAR})?")
THIRD = lazy_match(
    rf"(?:(?P<third>early|late|mid)(?:{S}|-)|(?:the{S})?(?P<place>beginning|start|middle|end){S}of{S})(?:in{S})?(?:the{S})?"
)
CLOCK_TIME = lazy_match(CLOCK)
JOINED_CLOCK = lazy_match(rf",?{S}(?:(?:at|around|by|about){S}){{0,2}}{CLOCK}")
JOINED_PART = lazy_match(rf"{S}(?:in{S}the{S})?{PART}")
JOINED_DAY = lazy_match(rf"(?:,|{S}on)?{S}(?:the{S})?")
BETWEEN = lazy_match(rf"(?:between|from){S}")
TO = lazy_match(rf"{S}(?:and|to|through|until|till){S}|[ ]?[-–][ ]?")
SINCE = lazy_match(rf"(?:ever{S})?since{S}(?:about{S}|around{S})?(?:the{S})?")
EVERY = lazy_match(
    rf"(?:every|each){S}(?:single{S}|other{S}|few{S}|second{S}|[0-9]{{1,2}}{S}|two{S}|three{S})?"
    rf"(?P<unit>{_one_of([*WEEKDAY_NAMES, *MONTH_NAMES, *SEASONS])}|morning|afternoon|evening|night"
    rf"|hour|day|weekend|weekday|week|month|quarter|year)s?\b(?:{S}{PART})?"
)
TIMES_A = lazy_match(
    rf"(?:once|twice|(?:[0-9]{{1,2}}|{_one_of(SMALL[2:])}|several|a{S}few)(?:{S}times)?(?:{S}(?:hours|days|nights))?){S}"
    rf"(?:a|per|each|every){S}(?P<unit>hour|day|week|month|year)\b"
)
WEEKDAY_PARTS = lazy_match(rf"(?P<unit>{_one_of(WEEKDAY_NAMES)}){S}(?:morning|afternoon|evening|night)s\b")
PLURAL_DAYS = lazy_match(rf"(?P<unit>{_one_of(WEEKDAY_NAMES)}|weekday|weekend)s\b(?:{S}{PART}s?)?")
WEEKDAY = lazy_match(rf"(?P<weekday>{_one_of(WEEKDAY_NAMES)})\b(?!-|{S}school)")
NOT_SO_FAR = LazyPattern(r"(?:n't|not|never|first|best|worst)\b[^.!?;,]*\Z").search
AHEAD = LazyPattern(
    r"\b(?:will|won't|going to|gonna|shall|plan|plans|planning|can't wait|upcoming|see you|let's|hope|hoping|scheduled"
    r"|looking forward|booked|deadline|due|coming|would be|wanna|(?:i|we) have (?:an?|my|to)|got to|need to)\b|'ll\b"
).search
SENTENCE_END = LazyPattern(r"[.!?\n](?=\s|$)")
LAST_WORD = LazyPattern(r"([a-z']+)(?:[ \t\r\n\u00a0]{1,3}|-)(?:the[ ])?\Z").search
WORD = re.compile(r"[a-z0-9_]+")
LOOKED_BACK = 64


# Times relative to the speaker's present: *today*, *last Friday*, *three weeks ago*, *for two hours*.


class EnglishText(NamedTuple):
    """A text in lower case, its original form, and when it was said."""

    lower: str
    source: str
    now: datetime
    ahead: bool = False
    """Whether all of it is about the future."""

    def word_before(self, at: int) -> str:
        found = LAST_WORD(self.lower[max(0, at - 24) : at])
        return found[1] if found else ""

    def lies_ahead(self, at: int) -> bool:
        """Whether the sentence so far is about the future."""
        if self.ahead:
            return True
        so_far = self.lower[max(0, at - LOOKED_BACK) : at]
        ends = [end.end() for end in SENTENCE_END.finditer(so_far)]
        return bool(AHEAD(so_far, ends[-1] if ends else 0))

    def is_capital(self, at: int) -> bool:
        return self.source[at].isupper()


def with_clock(text: EnglishText, reading: DateReading) -> DateReading:
    """The reading narrowed by an hour or part of the day after it, if it is a day."""
    when = reading.when
    if when is None or when.grain != "day":
        return reading
    joined = JOINED_CLOCK(text.lower, reading.end)
    hour = clock_hour(joined, when) if joined else None
    if joined and hour:
        return timed(reading.start, joined.end(), hour)
    joined = JOINED_PART(text.lower, reading.end)
    return timed(reading.start, joined.end(), calendars.part(when, joined["part"])) if joined else reading


def clock_hour(clock: re.Match[str], of_day: Stretch) -> Stretch | None:
    if clock["named"]:
        return calendars.at(of_day, 0 if clock["named"] == "midnight" else 12)
    if clock["hour24"]:
        return calendars.at(of_day, int(clock["hour24"]), int(clock["minute24"]))
    hour = int(clock["hour"])
    if not 1 <= hour <= 12:
        return None
    # Without am or pm, most events happen by day.
    later = clock["half_day"] == "p" if clock["half_day"] else hour < 7 or hour == 12
    return calendars.at(of_day, hour % 12 + 12 * later, int(clock["minute"]) if clock["minute"] else None)


def today(text: EnglishText) -> Stretch:
    return calendars.unit(text.now, "day")


def day_word(text: EnglishText, at: int) -> DateReading | None:
    found = DAY_WORD(text.lower, at)
    if not found:
        return None
    shift = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(found["near"] or "", 0)
    if found["far"]:
        shift = -2 if found["far"].startswith("before") else 2
    when = calendars.unit(text.now, "day", shift)
    if found["part"]:
        return timed(at, found.end(), calendars.part(when, found["part"]))
    return with_clock(text, timed(at, found.end(), when))


def tonight(text: EnglishText, at: int) -> DateReading | None:
    found = TONIGHT(text.lower, at)
    if not found:
        return None
    of_day = calendars.unit(text.now, "day", -1) if found[0].startswith("last") else today(text)
    return timed(at, found.end(), calendars.part(of_day, found["part"] or "night"))


def relative(text: EnglishText, at: int) -> DateReading | None:
    found = RELATIVE(text.lower, at)
    if not found:
        return None
    which, what = " ".join(found["which"].split()), found["what"]
    if (what in DOUBTFUL_MONTHS or (what in WEEKDAYS and len(what) < 6)) and not text.is_capital(found.start("what")):
        return None
    way = {"last": -1, "previous": -1, "this past": -1, "past": -1, "this": 0}.get(which, 1)
    when = _named(text.now, what, way, loose=which in ("past", "this past"))
    if found["part"] and when.grain == "day":
        return timed(at, found.end(), calendars.part(when, found["part"]))
    end = found.end() if not found["part"] else found.start("part") - 1
    return with_clock(text, timed(at, end, when, "range" if when.until == text.now else ""))


def _named(now: datetime, what: str, way: int, *, loose: bool) -> Stretch:
    """The last, this or next (-1, 0, 1) of a week, month, season, weekday or festival."""
    if what in WEEKDAYS:
        return _relative_weekday(now, WEEKDAYS[what], way)
    if what in MONTHS:
        return _occurrence(now, way, lambda year: calendars.month(year, MONTHS[what]))
    if what in SEASONS:
        return _occurrence(now, way, lambda year: calendars.season(year, SEASONS[what]))
    if what in FESTIVALS:
        return _occurrence(now, way, lambda year: calendars.festival(year, FESTIVALS[what]))
    if what == "weekend":
        # On a Sunday "last weekend" is the one before; on a weekday "this past weekend" is the last one.
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
    """Of a yearly event: the last one that is over, this year's or the current one, or the next to begin."""
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
    low, high = NUMBERS.get(" ".join(words)) or _digits(words[0])
    unit = {"sec": "second", "min": "minute", "hr": "hour", "night": "day"}.get(found["unit"], found["unit"])
    if found["half"]:
        low, high = low + 0.5, high + 0.5
    return (low * 2, high * 2, "week") if unit == "fortnight" else (low, high, unit)


def _digits(word: str) -> tuple[float, float]:
    """A number in digits, or two of them as in 5-7."""
    low, _, high = word.replace("–", "-").partition("-")
    return float(low), max(float(low), float(high or low))


def away(now: datetime, low: float, high: float, unit: str, way: int) -> Stretch:
    """The period that many units before (-1) or after (1)."""
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


def ago(text: EnglishText, at: int) -> DateReading | None:
    found = AGO(text.lower, at)
    if not found:
        return None
    low, high, unit = amount(found)
    way = 1 if found["way"].startswith("from") else -1
    return timed(at, found.end(), away(text.now, low, high, unit, way))


def in_count(text: EnglishText, at: int) -> DateReading | None:
    found = IN_COUNT(text.lower, at)
    if not found or found["unit"] in ("night", "second", "sec"):
        return None
    low, high, unit = amount(found)
    if unit == "day" and high == 1:  # Rome was not built in a day
        return None
    if NOT_SO_FAR(text.lower[max(0, at - 32) : at]):  # "we haven't talked in a few days" is how long
        return _duration(found, at)
    return timed(at, found.end(), away(text.now, low, high, unit, 1))


def trailing(text: EnglishText, at: int) -> DateReading | None:
    found = TRAILING(text.lower, at)
    return _span(text, found, at, found["which"] in ("next", "coming")) if found else None


def _span(text: EnglishText, found: re.Match[str], at: int, ahead: bool) -> DateReading:
    """The period of a count back from now, or ahead."""
    _, high, unit = amount(found)
    unit, high = ("week", high) if unit == "weekend" else (unit, high)
    there = calendars.step(text.now, unit, high if ahead else -high)
    return timed(at, found.end(), Stretch(min(text.now, there), max(text.now, there), unit), "range")


def for_count(text: EnglishText, at: int) -> DateReading | None:
    found = FOR_COUNT(text.lower, at)
    if not found:
        return None
    if found["trailing"]:
        return _span(text, found, at, found["trailing"].startswith("next"))
    return _duration(found, at)


def _duration(found: re.Match[str], at: int) -> DateReading | None:
    low, high, unit = amount(found)
    if unit == "weekend":
        return None
    return DateReading(at, found.end(), None, "duration", unit, (low + high) / 2 * SECONDS[unit])


def bare_count(text: EnglishText, at: int) -> DateReading | None:
    found = BARE_COUNT(text.lower, at)
    if not found or found["number"] in ("a", "an", "one"):
        return None
    return _duration(found, at)


_Rule: TypeAlias = Callable[[EnglishText, int], DateReading | None]


def english_times(text: str, now: datetime, ahead: bool = False) -> list[DateReading]:
    """The times in English, in order and without overlap; ``now`` is naive local time."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter such as İ becomes two
        lower = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    read = EnglishText(lower, text, now, ahead)
    found: list[DateReading] = []
    done = 0
    for word in WORD.finditer(lower):
        at = word.start()
        if at < done:
            continue
        rules = _STARTS.get(word[0]) or (_NUMBERED if word[0][0] in "0123456789" else ())
        reading = _first(rules, read, at) if rules else None
        if reading:
            found.append(reading)
            done = reading.end
    return found


def _first(rules: tuple[_Rule, ...], text: EnglishText, at: int) -> DateReading | None:
    for rule in rules:
        try:
            reading = rule(text, at)
        except (ValueError, OverflowError, KeyError):  # 31 June, the year 99999, a festival of a year unknown
            continue
        if reading:
            return reading
    return None


def _operand(text: EnglishText, at: int) -> DateReading | None:
    """A single date at that position, as a part of a longer expression."""
    word = WORD.match(text.lower, at)
    if not word:
        return None
    rules = _DATES.get(word[0]) or (_NUMBER_DATES if word[0][0] in "0123456789" else ())
    return _first(rules, text, at)


def _relative_to(text: EnglishText, at: int) -> DateReading | None:
    """*The week before June 9*, *two days after Christmas*."""
    found = RELATIVE_TO(text.lower, at)
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


def _weekday_relative_to(text: EnglishText, at: int) -> DateReading | None:
    found = WEEKDAY_RELATIVE_TO(text.lower, at)
    anchor = _operand(text, _past_the(text, found.end())) if found else None
    if not found or not anchor or anchor.when is None:
        return None
    weekday = WEEKDAYS[found["weekday"]]
    if found["way"] == "before":
        return timed(at, anchor.end, calendars.weekday_before(anchor.when.since, weekday))
    return timed(at, anchor.end, calendars.weekday_after(anchor.when.until, weekday, today=True))


def _unit_of(text: EnglishText, at: int) -> DateReading | None:
    """*The week of June 9*, *the evening of 7 May*."""
    found = UNIT_OF(text.lower, at)
    anchor = _operand(text, _past_the(text, found.end())) if found else None
    if not found or not anchor or anchor.when is None or anchor.when.grain != "day":
        return None
    if found["part"]:
        return timed(at, anchor.end, calendars.part(anchor.when, found["part"]))
    since = anchor.when.since
    return timed(
        at, anchor.end, calendars.weekend(since) if found["unit"] == "weekend" else calendars.unit(since, "week")
    )


def _other(text: EnglishText, at: int) -> DateReading | None:
    """*The other day*: some day of the last seven."""
    found = OTHER(text.lower, at)
    if not found:
        return None
    first = calendars.step(text.now, "week", -3 if found["unit"] == "week" else -1)
    return timed(at, found.end(), Stretch(calendars.floor(first, "day"), text.now, "week"), "range")


def _year_of(text: EnglishText, found: re.Match[str], at: int, number: int, of_month: int) -> int:
    if found["year"]:
        return int(found["year"])
    return calendars.likely_year(text.now, number, of_month, ahead=text.lies_ahead(at))


def _month_day(text: EnglishText, at: int) -> DateReading | None:
    found = MONTH_DAY(text.lower, at)
    if not found:
        return None
    number, of_month = MONTHS[found["month"]], int(found["day"])
    year = _year_of(text, found, at, number, of_month)
    first = calendars.day(year, number, of_month)
    if found["last"] and int(found["last"]) > of_month:
        last = calendars.day(year, number, int(found["last"]))
        return timed(at, found.end(), Stretch(first.since, last.until, "day"), "range")
    return with_clock(text, timed(at, found.end(), first))


def _day_month(text: EnglishText, at: int) -> DateReading | None:
    found = DAY_MONTH(text.lower, at)
    if not found:
        return None
    # "the 5 may help" and "20 mar": an ambiguous month needs a capital, or an ordinal before it.
    if found["month"] in DOUBTFUL_MONTHS and not text.is_capital(found.start("month")) and not found["year"]:
        return None
    number, of_month = MONTHS[found["month"]], int(found["day"])
    year = _year_of(text, found, at, number, of_month)
    return with_clock(text, timed(at, found.end(), calendars.day(year, number, of_month)))


def _month_alone(text: EnglishText, at: int) -> DateReading | None:
    found = MONTH_ALONE(text.lower, at)
    if not found or (not found["year"] and not _is_month(text, at, found["month"])):
        return None
    number = MONTHS[found["month"]]
    return timed(at, found.end(), calendars.month(_year_of(text, found, at, number, 28), number))


def _is_month(text: EnglishText, at: int, name: str) -> bool:
    """Whether the name of a month without a day or a year is one, and not a verb or a person's name."""
    if name not in DOUBTFUL_MONTHS:
        return len(name) > 3 and text.is_capital(at)
    return text.is_capital(at) and text.word_before(at) in BEFORE_A_TIME and len(name) > 2


def _iso(text: EnglishText, at: int) -> DateReading | None:
    found = ISO(text.lower, at)
    if not found:
        return None
    when = calendars.day(int(found["year"]), int(found["month"]), int(found["day"]))
    if found["hour"] and int(found["hour"]) < 24:
        return timed(at, found.end(), calendars.at(when, int(found["hour"]), int(found["minute"])))
    end = found.end() if not found["hour"] else found.start("hour") - 1
    return with_clock(text, timed(at, end, when))


def _iso_month(text: EnglishText, at: int) -> DateReading | None:
    found = ISO_MONTH(text.lower, at)
    return timed(at, found.end(), calendars.month(int(found["year"]), int(found["month"]))) if found else None


def _slashed(text: EnglishText, at: int) -> DateReading | None:
    """05/07/2023 is 7 May, unless there is no such month; with full stops the day comes first."""
    found = SLASHED(text.lower, at)
    if not found or (len(found["year"]) == 2 and found["mark"] != "/"):
        return None
    number, of_month = int(found["one"]), int(found["two"])
    if number > 12 or found["mark"] == ".":
        number, of_month = of_month, number
    year = int(found["year"])
    year += 0 if year > 99 else (2000 if year < 70 else 1900)
    return with_clock(text, timed(at, found.end(), calendars.day(year, number, of_month)))


def _year_alone(text: EnglishText, at: int) -> DateReading | None:
    found = YEAR_ALONE(text.lower, at)
    if not found or text.word_before(at) not in BEFORE_A_YEAR:
        return None
    return timed(at, found.end(), calendars.year(int(found["year"])))


def _year_operand(text: EnglishText, at: int) -> DateReading | None:
    found = YEAR_ALONE(text.lower, at)
    return timed(at, found.end(), calendars.year(int(found["year"]))) if found else None


def _decade(text: EnglishText, at: int) -> DateReading | None:
    found = DECADE(text.lower, at)
    before = text.lower[max(0, at - 5) : at].rstrip("'")
    if not found or not before.endswith(("the ", "in ", "rly ", "ate ", "mid-", "mid ")):
        return None
    first = int(found["decade"])
    first += 0 if first > 99 else (1900 if first >= 20 else 2000)
    return timed(at, found.end(), calendars.unit(calendars.year(first).since, "decade"))


def _season(text: EnglishText, at: int) -> DateReading | None:
    found = SEASON(text.lower, at)
    return timed(at, found.end(), calendars.season(int(found["year"]), SEASONS[found["season"]])) if found else None


def _quarter(text: EnglishText, at: int) -> DateReading | None:
    found = QUARTER(text.lower, at)
    if not found or not (found["year"] or found["quarter"]):  # "the third quarter" is of a game too
        return None
    number = int(found["quarter"] or ORDINALS[found["ordinal"]]) * 3 - 2
    year = _year_of(text, found, at, number, 28)
    return timed(at, found.end(), calendars.unit(calendars.month(year, number).since, "quarter"))


def _festival(text: EnglishText, at: int) -> DateReading | None:
    found = FESTIVAL(text.lower, at)
    if not found or (not found["year"] and text.word_before(at) not in BEFORE_A_FESTIVAL):
        return None
    return _festival_of(text, found, at)


def _festival_operand(text: EnglishText, at: int) -> DateReading | None:
    found = FESTIVAL(text.lower, at)
    return _festival_of(text, found, at) if found else None


def _festival_of(text: EnglishText, found: re.Match[str], at: int) -> DateReading:
    name = FESTIVALS[found["festival"]]
    this = calendars.festival(text.now.year, name).since
    return timed(at, found.end(), calendars.festival(_year_of(text, found, at, this.month, this.day), name))


def _third(text: EnglishText, at: int) -> DateReading | None:
    """*Early May*, *the end of last year*."""
    found = THIRD(text.lower, at)
    whole = _operand(text, found.end()) if found else None
    if not found or not whole or whole.when is None or whole.kind == "time":
        return None
    which = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1}.get(found["third"] or found["place"], 2)
    return timed(at, whole.end, calendars.third(whole.when, which), "range")


def _clock(text: EnglishText, at: int) -> DateReading | None:
    found = CLOCK_TIME(text.lower, at)
    if not found or (
        found["hour24"] and text.word_before(at) not in ("at", "by", "around", "until", "till", "from", "since")
    ):
        return None
    joined = JOINED_DAY(text.lower, found.end())
    on = _operand(text, joined.end()) if joined else None
    if on and on.when and on.when.grain == "day":
        hour = clock_hour(found, on.when)
        return timed(at, on.end, hour) if hour else None
    hour = clock_hour(found, today(text))
    return timed(at, found.end(), hour) if hour else None


def _between(text: EnglishText, at: int) -> DateReading | None:
    found = BETWEEN(text.lower, at)
    first = _operand(text, _past_the(text, found.end())) if found else None
    return _up_to(text, at, first) if first else None


def _up_to(text: EnglishText, at: int, first: DateReading) -> DateReading | None:
    """A range from one date to another that follows it."""
    if first.when is None or first.kind == "range":
        return first if first.kind == "range" else None
    joined = TO(text.lower, first.end)
    last = _operand(text, _past_the(text, joined.end())) if joined else None
    if not last or last.when is None or last.when.until <= first.when.since:
        return None
    return timed(at, last.end, Stretch(first.when.since, last.when.until, last.when.grain), "range")


def _since(text: EnglishText, at: int) -> DateReading | None:
    found = SINCE(text.lower, at)
    first = _operand(text, found.end()) if found else None
    if not first or first.when is None or first.when.since >= text.now:
        return None
    return timed(at, first.end, Stretch(first.when.since, text.now, first.when.grain), "range")


def _every(text: EnglishText, at: int) -> DateReading | None:
    return _recurring(EVERY(text.lower, at) or PLURAL_DAYS(text.lower, at), at)


def _times_a(text: EnglishText, at: int) -> DateReading | None:
    return _recurring(TIMES_A(text.lower, at), at)


def _recurring(found: re.Match[str] | None, at: int) -> DateReading | None:
    if not found:
        return None
    unit = found["unit"]
    names = {"weekday": "day", "morning": "part", "afternoon": "part", "evening": "part", "night": "part"}
    grain = "day" if unit in WEEKDAYS else names.get(unit, "month" if unit in MONTHS else unit)
    return DateReading(at, found.end(), None, "recurring", "season" if unit in SEASONS else grain)


def _weekday(text: EnglishText, at: int) -> DateReading | None:
    """A weekday without *last* or *next*: the last such day, unless the sentence is about the future."""
    habit = _recurring(WEEKDAY_PARTS(text.lower, at), at)
    if habit:
        return habit
    found = WEEKDAY(text.lower, at)
    if not found or text.word_before(at) in ("black", "good", "cyber", "ash", "palm", "easter", "every", "each"):
        return None
    joined = JOINED_DAY(text.lower, found.end())
    exact = _operand(text, joined.end()) if joined and text.lower[joined.end() - 4 : joined.end()] != " on " else None
    if exact and exact.when and exact.when.grain in ("day", "hour", "minute") and exact.kind in ("date", "time"):
        return exact._replace(start=at)
    weekday = WEEKDAYS[found["weekday"]]
    nearest = calendars.weekday_after if text.lies_ahead(at) else calendars.weekday_before
    return with_clock(text, timed(at, found.end(), nearest(text.now, weekday)))


def _table(*rules: tuple[_Rule, Iterable[str]]) -> dict[str, tuple[_Rule, ...]]:
    """The rules to try for a first word, in the given order."""
    table: dict[str, tuple[_Rule, ...]] = {}
    for rule, words in rules:
        for word in words:
            table[word] = (*table.get(word, ()), rule)
    return table


def _numbered(text: EnglishText, at: int) -> DateReading | None:
    """Expressions that begin with digits."""
    return _first(_NUMBER_RULES, text, at) if NUMBER_TIME(text.lower, at) else None


def _counted(text: EnglishText, at: int) -> DateReading | None:
    """Expressions that begin with a number in words, *a* included."""
    if COUNTED(text.lower, at):
        return _first((_relative_to, _times_a, ago, bare_count), text, at)
    return _times_a(text, at)


def _the(text: EnglishText, at: int) -> DateReading | None:
    return _first(_THE_RULES, text, at) if THE_TIME(text.lower, at) else None


def _words(line: str) -> list[str]:
    return line.split()


_COUNTING = [word for word in NUMBERS if " " not in word]
_FESTIVAL_STARTS = {name.split()[0].split("'")[0] for name in FESTIVALS}
_DATE_RULES: list[tuple[_Rule, Iterable[str]]] = [
    (day_word, _words("the today yesterday tomorrow")),
    (tonight, _words("tonight last this")),
    (relative, _words("this last past previous next coming")),
    (trailing, _words("last past previous next coming")),
    (ago, [*_COUNTING, "half"]),
    (_month_day, MONTHS),
]
_EXACT_NUMBERS: tuple[_Rule, ...] = (_iso, _iso_month, _slashed, _day_month)
_NUMBER_DATES: tuple[_Rule, ...] = (*_EXACT_NUMBERS, ago, _decade, _year_operand, _clock)
_DATES = _table(
    *_DATE_RULES,
    (_month_alone, MONTHS),
    (_weekday, WEEKDAY_NAMES),
    (_festival_operand, _FESTIVAL_STARTS),
    (_season, SEASONS),
    (_quarter, _words("q1 q2 q3 q4")),
)
_NUMBER_RULES: tuple[_Rule, ...] = (
    *_EXACT_NUMBERS,
    ago,
    _relative_to,
    _clock,
    _decade,
    _times_a,
    _year_alone,
    bare_count,
)
_NUMBERED: tuple[_Rule, ...] = (_numbered,)
_THE_RULES: tuple[_Rule, ...] = (_relative_to, _weekday_relative_to, _unit_of, _other, _third, day_word, _quarter)
_STARTS = _table(
    (_the, ["the"]),
    (_counted, ["half", "once", "twice", *_COUNTING]),
    (_every, ["every", "each", "weekdays", "weekends", *(name + "s" for name in WEEKDAY_NAMES)]),
    (_third, _words("early late mid beginning start middle end")),
    (day_word, _words("today yesterday tomorrow")),
    (tonight, _words("tonight last this")),
    (relative, _words("this last past previous next coming")),
    (trailing, _words("last past previous next coming")),
    (_month_day, MONTHS),
    (_month_alone, MONTHS),
    (_weekday, WEEKDAY_NAMES),
    (_festival, _FESTIVAL_STARTS),
    (_season, SEASONS),
    (_quarter, _words("q1 q2 q3 q4 first second third fourth")),
    (in_count, _words("in within")),
    (for_count, ["for"]),
    (_between, _words("between from")),
    (_since, _words("since ever")),
    (_clock, _words("noon midday midnight")),
)
