"""The words and patterns of English times; ``memwell.language.dates.english`` says what they mean.

Every pattern is matched at one place and is bounded, so that no text makes it slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

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
# Months that are also names or other words: they need a word before them that wants a time.
DOUBTFUL_MONTHS = frozenset("march april may june august jan mar apr jun aug dec sep".split())
BEFORE_A_TIME = frozenset(
    "in since until till by during from of early late mid last next this through before after around every late".split()
)
BEFORE_A_FESTIVAL = BEFORE_A_TIME | frozenset("on at for over".split())
BEFORE_A_YEAR = frozenset(
    "in since until till by during from of early late mid through before after around year".split()
)


def _one_of(words: Iterable[str]) -> str:
    """The words as a choice, longest first, so that none is cut short."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


YEAR = r"(?P<year>(?:1[5-9]|2[01])[0-9]{2})(?![0-9]|[-/.][0-9])"
NTH = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?(?![0-9a-z%$]|[:./,][0-9])"
# Only a short form has a full stop of its own.
MONTH = rf"(?P<month>(?:{_one_of(MONTH_NAMES)})\b|(?:{_one_of(name for name in MONTHS if len(name) < 5)})\b\.?)"
NUMBER = (
    rf"(?P<number>[0-9]{{1,4}}(?:\.[0-9]|[-–][0-9]{{1,3}})?|half{S}an?|(?:an?{S})?(?:couple(?:{S}of)?|few)"
    rf"|(?:an?|one|{_one_of(SMALL[2:] + TEENS)}|twenty|thirty|forty|fifty|sixty|several|(?:a|one){S}hundred))"
)
UNIT = r"(?P<unit>second|sec|minute|min|hour|hr|day|night|weekend|week|fortnight|month|year|decade)s?\b"
COUNT = rf"{NUMBER}(?:{S}|-)(?:more{S}|full{S}|whole{S}|long{S}|short{S})?{UNIT}(?P<half>{S}and{S}a{S}half\b)?"
PART = r"(?P<part>morning|afternoon|evening|night)\b"
CLOCK = (
    r"(?:(?P<hour>[0-9]{1,2})(?::(?P<minute>[0-5][0-9]))?[ ]?(?:(?P<half_day>[ap])(?:\.m\b\.?|m\b)|(?P<clock>o'?clock)\b)"
    r"|(?P<hour24>[01]?[0-9]|2[0-3]):(?P<minute24>[0-5][0-9])(?::[0-5][0-9])?(?![0-9:])|(?P<named>noon|midday|midnight)\b)"
)


def _compiled(pattern: str) -> Callable[[str, int], re.Match[str] | None]:
    return re.compile(pattern).match


DAY_WORD = _compiled(
    rf"(?:the{S}day{S}(?P<far>before{S}yesterday|after{S}tomorrow)|(?P<near>today|yesterday|tomorrow))\b"
    rf"(?:'s)?(?:{S}{PART})?"
)
TONIGHT = _compiled(rf"(?:tonight|last{S}night|this{S}(?P<part>morning|afternoon|evening))\b")
RELATIVE = _compiled(
    rf"(?P<which>this{S}past|this{S}coming|last|past|previous|this|next|coming)\b{S}"
    rf"(?P<what>{_one_of([*MONTHS, *WEEKDAYS, *SEASONS, *FESTIVALS])}|week|weekend|month|quarter|year|decade|century)\b"
    rf"(?!'?s?{S}old)(?:{S}{PART})?"
)
TRAILING = _compiled(rf"(?P<which>last|past|previous|next|coming)\b{S}{COUNT}")
AGO = _compiled(rf"{COUNT}{S}(?P<way>ago|back|from{S}(?:now|today))\b")
IN_COUNT = _compiled(rf"(?:in|within)\b{S}(?:about{S}|just{S}|only{S})?{COUNT}(?!{S}(?:of|before|after|ago)\b|'|-)")
FOR_COUNT = _compiled(
    rf"for\b{S}(?:(?:about|over|almost|nearly|around|like|at{S}least|more{S}than|the|up{S}to|only|just){S}){{0,2}}"
    rf"(?P<trailing>(?:last|past|next){S})?{COUNT}(?!{S}old\b|-)"
)
COUNTED = _compiled(COUNT)
THE_TIME = _compiled(
    rf"the{S}(?:day|night|week|month|year|morning|afternoon|evening|other|beginning|start|middle|end|first|second|third|fourth"
    rf"|{_one_of(WEEKDAY_NAMES)})"
)
# What may follow digits that begin a time; all else is passed over at once.
NUMBER_TIME = _compiled(
    r"[0-9]{1,4}(?:[-/.:][0-9]|'?s\b|(?:st|nd|rd|th)?(?:[ \t\r\n\u00a0]{1,3}|-)(?:of )?"
    rf"(?:sec|min|h|d|night|w|fortnight|m|y|times|full|long|short|a\b|an\b|per\b|ea|ev|[ap]\.?m|o'?clock|{_one_of(MONTHS)})"
    r"|[ap]\.?m\b|o'?clock)|(?:1[5-9]|2[01])[0-9]{2}(?![0-9])"
)
BARE_COUNT = _compiled(rf"{COUNT}(?!{S}(?:old|a|an|per|each|every|before|after|later|earlier|in)\b|[-/])")
BESIDE = _compiled(
    rf"(?:the{S}(?P<unit1>day|night|weekend|week|month|year)|{COUNT}){S}(?P<way>before|after|prior{S}to){S}"
)
WEEKDAY_BESIDE = _compiled(rf"the{S}(?P<weekday>{_one_of(WEEKDAY_NAMES)}){S}(?P<way>before|after){S}")
UNIT_OF = _compiled(rf"the{S}(?P<unit>weekend|week|{PART}){S}of{S}")
OTHER = _compiled(rf"the{S}other{S}(?P<unit>day|night|week)\b")
MONTH_DAY = _compiled(
    rf"{MONTH}{S}(?:the{S})?{NTH}(?:(?:{S}(?:to|through|until|and){S}|[ ]?[-–][ ]?)(?P<last>[0-9]{{1,2}})"
    rf"(?:st|nd|rd|th)?(?![0-9a-z:]))?(?:,?{S}(?:of{S})?{YEAR})?"
)
DAY_MONTH = _compiled(rf"{NTH}{S}(?:of{S})?{MONTH}(?:,?{S}(?:of{S})?{YEAR})?")
MONTH_ALONE = _compiled(rf"{MONTH}(?:(?:,|{S}of|{S}in)?{S}{YEAR})?")
ISO = _compiled(
    r"(?P<year>[12][0-9]{3})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})(?![0-9]|[-/.][0-9])"
    r"(?:[t ](?P<hour>[0-2]?[0-9]):(?P<minute>[0-5][0-9])(?::[0-5][0-9](?:\.[0-9]{1,9})?)?z?(?![0-9:]))?"
)
ISO_MONTH = _compiled(r"(?P<year>(?:19|20)[0-9]{2})-(?P<month>0[1-9]|1[0-2])(?![0-9a-z]|[-/.][0-9])")
SLASHED = _compiled(
    r"(?P<one>[0-9]{1,2})(?P<mark>[/.-])(?P<two>[0-9]{1,2})(?P=mark)(?P<year>[12][0-9]{3}|[0-9]{2})(?![0-9/.-])"
)
YEAR_ALONE = _compiled(YEAR + rf"(?![a-z%]|,[0-9]|{S}(?!(?:was|is|has|as|this)\b)[a-z]{{2,20}}s\b)")
DECADE = _compiled(r"'?(?P<decade>[0-9]0|(?:1[5-9]|20)[0-9]0)'?s\b")
SEASON = _compiled(rf"(?P<season>{_one_of(SEASONS)}){S}(?:of{S})?(?P<apostrophe>')?{YEAR}")
QUARTER = _compiled(
    rf"(?:q(?P<quarter>[1-4])|(?:the{S})?(?P<ordinal>first|second|third|fourth){S}quarter)\b(?:,?{S}(?:of{S})?{YEAR})?"
)
FESTIVAL = _compiled(rf"(?P<festival>{_one_of(FESTIVALS)})\b(?!-)(?:,?{S}(?:of{S}|in{S})?{YEAR})?")
THIRD = _compiled(
    rf"(?:(?P<third>early|late|mid)(?:{S}|-)|(?:the{S})?(?P<place>beginning|start|middle|end){S}of{S})(?:in{S})?(?:the{S})?"
)
CLOCK_TIME = _compiled(CLOCK)
JOINED_CLOCK = _compiled(rf",?{S}(?:(?:at|around|by|about){S}){{0,2}}{CLOCK}")
JOINED_PART = _compiled(rf"{S}(?:in{S}the{S})?{PART}")
JOINED_DAY = _compiled(rf"(?:,|{S}on)?{S}(?:the{S})?")
BETWEEN = _compiled(rf"(?:between|from){S}")
TO = _compiled(rf"{S}(?:and|to|through|until|till){S}|[ ]?[-–][ ]?")
SINCE = _compiled(rf"(?:ever{S})?since{S}(?:about{S}|around{S})?(?:the{S})?")
EVERY = _compiled(
    rf"(?:every|each){S}(?:single{S}|other{S}|few{S}|second{S}|[0-9]{{1,2}}{S}|two{S}|three{S})?"
    rf"(?P<unit>{_one_of([*WEEKDAY_NAMES, *MONTH_NAMES, *SEASONS])}|morning|afternoon|evening|night"
    rf"|hour|day|weekend|weekday|week|month|quarter|year)s?\b(?:{S}{PART})?"
)
TIMES_A = _compiled(
    rf"(?:once|twice|(?:[0-9]{{1,2}}|{_one_of(SMALL[2:])}|several|a{S}few)(?:{S}times)?(?:{S}(?:hours|days|nights))?){S}"
    rf"(?:a|per|each|every){S}(?P<unit>hour|day|week|month|year)\b"
)
WEEKDAY_PARTS = _compiled(rf"(?P<unit>{_one_of(WEEKDAY_NAMES)}){S}(?:morning|afternoon|evening|night)s\b")
PLURAL_DAYS = _compiled(rf"(?P<unit>{_one_of(WEEKDAY_NAMES)}|weekday|weekend)s\b(?:{S}{PART}s?)?")
WEEKDAY = _compiled(rf"(?P<weekday>{_one_of(WEEKDAY_NAMES)})\b(?!-|{S}school)")
NOT_SO_FAR = re.compile(r"(?:n't|not|never|first|best|worst)\b[^.!?;,]*\Z").search
AHEAD = re.compile(
    r"\b(?:will|won't|going to|gonna|shall|plan|plans|planning|can't wait|upcoming|see you|let's|hope|hoping|scheduled"
    r"|looking forward|booked|deadline|due|coming|would be|wanna|(?:i|we) have (?:an?|my|to)|got to|need to)\b|'ll\b"
).search
SENTENCE_END = re.compile(r"[.!?\n](?=\s|$)")
LAST_WORD = re.compile(r"([a-z']+)(?:[ \t\r\n\u00a0]{1,3}|-)(?:the[ ])?\Z").search
WORD = re.compile(r"[a-z0-9_]+")
LOOKED_BACK = 64


__all__ = [
    "WEEKDAY_PARTS",
    "NOT_SO_FAR",
    "COUNTED",
    "NUMBER_TIME",
    "THE_TIME",
    "AGO",
    "AHEAD",
    "BARE_COUNT",
    "BEFORE_A_FESTIVAL",
    "BEFORE_A_TIME",
    "BEFORE_A_YEAR",
    "BESIDE",
    "BETWEEN",
    "CLOCK",
    "CLOCK_TIME",
    "COUNT",
    "DAY_MONTH",
    "DAY_WORD",
    "DECADE",
    "DOUBTFUL_MONTHS",
    "EVERY",
    "FESTIVAL",
    "FESTIVALS",
    "FOR_COUNT",
    "IN_COUNT",
    "ISO",
    "ISO_MONTH",
    "JOINED_CLOCK",
    "JOINED_DAY",
    "JOINED_PART",
    "LAST_WORD",
    "LOOKED_BACK",
    "MONTH",
    "MONTHS",
    "MONTH_ALONE",
    "MONTH_DAY",
    "MONTH_NAMES",
    "NTH",
    "NUMBER",
    "NUMBERS",
    "ORDINALS",
    "OTHER",
    "PART",
    "PLURAL_DAYS",
    "QUARTER",
    "RELATIVE",
    "S",
    "SEASON",
    "SEASONS",
    "SENTENCE_END",
    "SINCE",
    "SLASHED",
    "SMALL",
    "TEENS",
    "THIRD",
    "TIMES_A",
    "TO",
    "TONIGHT",
    "TRAILING",
    "UNIT",
    "UNIT_OF",
    "WEEKDAY",
    "WEEKDAYS",
    "WEEKDAY_BESIDE",
    "WEEKDAY_NAMES",
    "WORD",
    "YEAR",
    "YEAR_ALONE",
]
