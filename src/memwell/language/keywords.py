"""What a text is about: its content words and short phrases, the weightiest first.

English gives phrases of one to three words without stop words, told apart by their stems. Chinese gives noun phrases
such as 机器学习算法, also with a Latin word in front, the words in them at less weight, and names. Only the
first ``LOOKED_AT`` characters of a text are read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from memwell.language.chinese_words import NAME, NOUN, VERBAL, Word, is_general, words_of
from memwell.language.segment import query_terms
from memwell.language.words import STOP_WORDS, check_string
from memwell.values import check_count

# The noun phrases of Chinese text, and the words that are topics by themselves.


_LONGEST = 4  # words of a phrase, Latin ones not counted
_PER_CHARACTER = 0.15
_LONG = 8  # characters; a longer phrase is no weightier
_PART, _ALONE, _GENERAL = 0.55, 0.6, 0.4
_NAMED, _MIXED = 0.2, 0.5

# Over one letter a word, as ``Word.does`` has them. A verbal is part of a phrase before a head (学习算法), or at its end
# (图像识别) unless an object or 了 follows, which make it a verb; two are a phrase where a clause begins (监控告警).
# Latin words stand in front: Redis集群.
_PATTERN = re.compile(
    r"(?P<latin>(?:[ef](?:[ /][ef]){0,2}(?:(?<=e) )?)?)"
    r"(?P<phrase>(?:[nh]|b(?=b*[nhv])|[vw](?=[vw]*h)|(?<=[nhbef])v(?![nhbefpvmu]))+|(?:\A|(?<=[,d]))v{2}(?![nhbefpvmu]))"
    r"|(?P<name>p)"
    r"|(?P<verbal>[vw](?!u?[nhbefpm]))"
    r"|(?P<action>a(?=u?(?:,|\Z)))"
)


class Found(NamedTuple):
    """A word or phrase, how much it weighs in all, and how often it occurs."""

    word: str
    score: float
    times: int


class _Tally:
    """How often each word or phrase was seen, and the most that it weighed."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.weights: dict[str, float] = {}
        self.written: dict[str, str] = {}

    def add(self, word: str, weight: float) -> None:
        key = word.casefold()
        self.counts[key] += 1
        self.weights[key] = max(weight, self.weights.get(key, 0.0))
        self.written.setdefault(key, word)

    def found(self) -> list[Found]:
        return [
            Found(self.written[key], round(count * self.weights[key], 4), count) for key, count in self.counts.items()
        ]


def chinese_keywords(text: str) -> list[Found]:
    """Every phrase with its parts, and every word that stands alone, in the order of the text."""
    words = words_of(text)
    tally = _Tally()
    for found in _PATTERN.finditer("".join(word.does for word in words)):
        held = words[found.start() : found.end()]
        if found["phrase"]:
            _add_phrase(tally, held, len(found["latin"]))
        elif found["name"]:
            tally.add(held[0].text, _weight(held[0].text) + _NAMED)
        else:
            tally.add(held[0].text, _ALONE * _weight(held[0].text))
    return tally.found()


def _add_phrase(tally: _Tally, words: list[Word], latin: int) -> None:
    front = "".join(word.text for word in words[:latin])
    for place, part in enumerate(_cut(words[latin:])):
        whole = "".join(word.text for word in part)
        is_weak = len(part) == 1 and is_general(whole)
        if front and not place:
            tally.add(front + whole, _weight(front + whole) + _MIXED)
        if not front or place:
            tally.add(whole, _weight(whole) * (_GENERAL if is_weak else 1))
        elif not is_weak:
            tally.add(whole, _weight(whole) * _PART)
        for inner in _parts(part):
            tally.add(inner, _weight(inner) * _PART)


def _cut(units: list[Word]) -> Iterator[list[Word]]:
    """A long phrase in pieces; the last, which holds what it is all about, is as long as may be."""
    first = len(units) % _LONGEST
    if first:
        yield units[:first]
    for at in range(first, len(units), _LONGEST):
        yield units[at : at + _LONGEST]


def _parts(units: list[Word]) -> Iterator[str]:
    """What else a phrase speaks of: its last two words, and each noun that says something by itself."""
    if len(units) > 2 and units[-2].does != VERBAL:
        yield units[-2].text + units[-1].text
    if len(units) > 1:
        yield from (word.text for word in units if word.does in (NOUN, NAME) and not is_general(word.text))


def _weight(word: str) -> float:
    """By length: a longer word says more. A Latin letter says half of what a character does."""
    length = sum(0.5 if char.isascii() else 1 for char in word)
    return 1 + _PER_CHARACTER * (min(max(length, 1), _LONG) - 2)


LOOKED_AT = 100_000
"""How much of a text is read."""

_ENGLISH_STOPS = STOP_WORDS["en"]
_WORD = re.compile(
    r"[^\W\d_\u2e80-\u9fff\uac00-\ud7a3][^\W_\u2e80-\u9fff\uac00-\ud7a3]*(?:['’-][^\W_\u2e80-\u9fff]+){0,3}"
)
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_LONGEST_WORD = 40  # what is longer is no word
_PHRASE = 3  # words
_LONGER_PHRASE, _CAPITAL = 0.4, 0.3


class Keyword(msgspec.Struct, frozen=True):
    """A word or phrase as it was first written, how much it weighs, and how often it occurs."""

    word: str
    score: float
    count: int


class _Word(NamedTuple):
    written: str
    stem: str
    weight: float


def keywords(text: str, *, limit: int = 10) -> list[Keyword]:
    """At most ``limit`` keywords, the weightiest first, equals in the order of the text.

    Raises ``InvalidInput`` for a text that is no string, and a limit that is no whole number of at least 0.
    """
    check_count(limit, "limit")
    text = check_string(text)[:LOOKED_AT]
    found = _english(text)
    if _HAN.search(text):
        found += _chinese(text)
    found.sort(key=lambda keyword: -keyword.score)
    return found[:limit]


def _english(text: str) -> list[Keyword]:
    counts: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], tuple[_Word, ...]] = {}
    for run in _runs(text):
        for first in range(len(run)):
            for last in range(first + 1, min(first + _PHRASE, len(run)) + 1):
                words = tuple(run[first:last])
                stems = tuple(word.stem for word in words)
                counts[stems] += 1
                written.setdefault(stems, words)
    within = _counts_within(counts)
    return [_keyword(written[stems], count) for stems, count in counts.items() if count > within.get(stems, 0)]


def _counts_within(counts: Counter[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """How often each phrase occurs inside one longer phrase: a word that never leaves its phrase says nothing more."""
    within: dict[tuple[str, ...], int] = {}
    for stems, count in counts.items():
        if len(stems) > 1 and count > 1:
            # A phrase seen once may be words that only met; it hides none of them.
            for part in (stems[:-1], stems[1:]):
                within[part] = max(within.get(part, 0), count)
    return within


def _keyword(words: tuple[_Word, ...], count: int) -> Keyword:
    mean = sum(word.weight for word in words) / len(words)
    # A phrase that comes back is one; a phrase seen once may be two words that only met.
    longer = _LONGER_PHRASE * (len(words) - 1) if count > 1 else -0.25 * (len(words) - 1)
    return Keyword(" ".join(word.written for word in words), round(count * mean * (1 + longer), 4), count)


def _runs(text: str) -> Iterator[list[_Word]]:
    """The rows of content words that nothing but a space parts."""
    run: list[_Word] = []
    end = -1
    for found in _WORD.finditer(text):
        word = _content(text, found)
        if word is None or not (found.start() == end + 1 and text[end : end + 1] == " "):
            if run:
                yield run
            run = []
        if word:
            run.append(word)
        end = found.end()
    if run:
        yield run


def _content(text: str, found: re.Match[str]) -> _Word | None:
    word = found[0].replace("’", "'")
    lower = word.lower()
    if (len(word) < 3 and not word.isupper()) or lower in _ENGLISH_STOPS or len(word) > _LONGEST_WORD:
        return None
    lower = lower.removesuffix("'s")
    stems = query_terms(lower)
    if lower in _ENGLISH_STOPS or not stems:
        return None
    begins = (
        found.start() == 0
        or text[max(0, found.start() - 2) : found.start()] in (". ", "! ", "? ")
        or text[found.start() - 1] == "\n"
    )
    in_chinese = "\u3400" <= text[found.end() : found.end() + 1] <= "\u9fff"
    is_name = word[0].isupper() and (in_chinese or not begins)
    shown = word.removesuffix("'s") if is_name or word.isupper() else lower
    return _Word(shown, " ".join(stems), 1 + min(len(lower), 12) / 12 + (_CAPITAL if is_name else 0))


def _chinese(text: str) -> list[Keyword]:
    return [Keyword(*found) for found in chinese_keywords(text)]
