"""What a text does by its form: whether it asks something, tells a time, or tells a number.

English cues are words, so they are known by the words of a text once these have been cut out, and each word is looked at
once however often it comes. Chinese cues are found in the text as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from unicodedata import decimal

from memwell.language.segment import ascii_words

TIME, FIRST, SECOND, NUMBER = 1, 2, 4, 8
"""What a word may be: a time of its own, the first or the second word of one (*last night*), a number."""

_QUESTION = re.compile(r"[?？]|[吗呢么][。!！~\s]*\Z")
_FIRST = "last next this past coming every previous few couple".split()
_SECOND = (
    "night morning afternoon evening day days week weeks weekend month months year years summer winter spring fall autumn "
    "mon tues wednes thurs fri satur sun"
).split()
_DAYS = [f"{day}day{end}" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun") for end in ("", "s")]
_TIMES = frozenset(
    "yesterday today tonight tomorrow ago recently lately weekend weekends since january february march april june july "
    "august september october november december".split()
).union(_DAYS, map(str, range(1900, 2100)))
_NUMBERS = frozenset(
    "two three four five six seven eight nine ten eleven twelve twenty thirty hundred once twice couple dozen".split()
)
# Each begins with its letters, which are searched for faster than a boundary; what stands before them is looked at after.
_PAIRS = [
    (first, re.compile(rf"{first}{' of' if first == 'couple' else ''} (?:{'|'.join(_SECOND)})\b")) for first in _FIRST
]
_TIME_CHINESE = re.compile(
    r"昨[天晚日]|今[天晚早年]|明[天晚年]|前天|后天|去年|前年|刚才|最近|[上下这本][个]?(?:周|星期|礼拜|月|学期)|周[一二三四五六日末]|"
    r"星期[一二三四五六日天]|[\d一二三四五六七八九十两]+[个]?(?:天|周|月|年|小时)[之以]?[前后]|\d+月|\d{4}年"
)
_NUMBER_CHINESE = re.compile(r"\d|[二三四五六七八九十两百千][个只次天年本名位条张件]")
# What may be part of an English cue: letters, and the three that count as one of them whatever their case.
_LATIN = re.compile("[A-Za-zſıİ\u212a]|\\d")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")
_SAME_LETTER = {"ſ": "s", "ı": "i", "İ": "i", "\u212a": "k"}
_REMEMBERED = 2**15


class _Kinds(dict[str, int]):
    """From a word in lower case to what it may be, remembered: most words have been seen before."""

    def __missing__(self, word: str) -> int:
        kind = 0
        for part in word.split("'"):
            kind |= TIME * (part in _TIMES) | FIRST * (part in _FIRST) | SECOND * (part in _SECOND)
            kind |= NUMBER * (part in _NUMBERS or any(map(str.isdigit, part)))
        if len(word) <= 64:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[word] = kind
        return kind


kind_of: Callable[[str], int] = _Kinds().__getitem__
"""What a word of ``ascii_words`` may be: the sum of ``TIME``, ``FIRST``, ``SECOND`` and ``NUMBER``, or 0."""


def kinds_of(words: Iterable[str]) -> int:
    """What any of the words may be."""
    kinds = 0
    for word in words:
        kinds |= kind_of(word)
    return kinds


def asks(text: str) -> bool:
    """Whether a text asks something."""
    return "?" in text or (not text.isascii() and _QUESTION.search(text) is not None)


def tells(text: str, kinds: int) -> tuple[bool, bool]:
    """Whether a text tells a time, and whether it tells a number; ``kinds`` are those of its words if it is ASCII."""
    if not text.isascii():
        return _tells_beyond_ascii(text)
    if "_" in text:
        # It joins words, as far as a boundary between them goes; the words were cut at it.
        kinds = kinds_of(ascii_words(text.replace("_", "zz")))
    return _tells_time(text, kinds), bool(kinds & NUMBER)


def _tells_beyond_ascii(text: str) -> tuple[bool, bool]:
    time, number = _TIME_CHINESE.search(text) is not None, _NUMBER_CHINESE.search(text) is not None
    if (time and number) or not _LATIN.search(text):
        return time, number
    plain = _BEYOND_ASCII.sub(_stand_ins, text)
    found = tells(plain, kinds_of(ascii_words(plain)))
    return time or found[0], number or found[1]


def _stand_ins(match: re.Match[str]) -> str:
    """ASCII of the same kind: letters that are no word for letters, and what separates for the rest."""
    return "".join(_stand_in(char) for char in match[0])


def _stand_in(char: str) -> str:
    if char.isdecimal():
        return str(decimal(char))
    return _SAME_LETTER.get(char) or ("zz" if char.isalnum() else ".")


def _tells_time(text: str, kinds: int) -> bool:
    if kinds & TIME or not (kinds & FIRST and kinds & SECOND):
        return bool(kinds & TIME)
    text = text.lower()
    # A letter before it makes it the end of another word.
    return any(
        not _is_inside(text, found.start()) for first, pair in _PAIRS if first in text for found in pair.finditer(text)
    )


def _is_inside(text: str, place: int) -> bool:
    return place > 0 and (text[place - 1].isalnum() or text[place - 1] == "_")


__all__ = ["FIRST", "NUMBER", "SECOND", "TIME", "asks", "kind_of", "kinds_of", "tells"]
