"""The noun phrases of Chinese text, and the words that are topics by themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from memwell.language.chinese_words import NAME, NOUN, VERBAL, Word, is_general, words_of

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


__all__ = ["Found", "chinese_keywords"]
