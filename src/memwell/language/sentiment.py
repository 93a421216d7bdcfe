"""How well or ill a text speaks, from -1.0 to 1.0, in English and Chinese.

Every word of the lexicon adds its weight. A negation shortly before it turns it over and softens it, two cancel out; an
intensifier raises or lowers it; what follows a *but* counts for more than what stands before. Emoji and typed faces
count too. It knows nothing of irony.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import sqrt
from typing import NamedTuple

from memwell.language import sentiment_words
from memwell.language.segment import query_terms
from memwell.language.texts import check_string

_HAN = re.compile("[\u4e00-\u9fff]").search
_LATIN = re.compile("[A-Za-z]{2}").search
_PUNCTUATION = frozenset("，。！？；、,.!?;\n")
_NEGATED_WORDS, _NEGATED_CHARACTERS = 3, 4  # how far a negation reaches
_MORE, _LESS = 1.4, 0.6
_TURNED_GOOD, _TURNED_BAD = -0.75, -0.4  # "not bad" praises less than "not good" blames
_BEFORE_BUT, _AFTER_BUT = 0.5, 1.5
_SPREAD = 12.0  # the sum of squared weights at which a text stands at 0.7
_SAYS_LIKE = frozenset("i we you they he she realli to also do dont didnt would doesnt alwai who".split())
_EXCLAIMED = 0.1


class _Lexicon(NamedTuple):
    """What each word does: its weight, a factor on the next, a negation, or a turn of the thought."""

    weights: Mapping[str, float]
    factors: Mapping[str, float]
    negations: frozenset[str]
    turns: frozenset[str]


def sentiment(text: str) -> float:
    """From -1.0 (ill) to 1.0 (well); 0.0 where nothing speaks either way.

    Raises ``InvalidInput`` for a text that is no string.
    """
    plain = check_string(text).isascii()
    total = 0.0
    if plain:
        total = _of_english(query_terms(text))
    elif _LATIN(text):
        total = _of_english([term for term in query_terms(text) if term.isascii()])
    if not plain:
        total += _of_pictures(text)
        total += _of_chinese(text) if _HAN(text) else 0.0
    total += _of_faces(text)
    if not total:
        return 0.0
    total *= 1 + _EXCLAIMED * min(3, text.count("!") + text.count("！"))
    return total / sqrt(total * total + _SPREAD)


def _of_english(terms: list[str]) -> float:
    weights, factors, negations, turns = _english()
    total, factor, negated, reach, before = 0.0, 1.0, False, 0, ""
    for term in terms:
        weight = weights.get(term)
        if weight is not None:
            weight = _in_context(term, before, weight)
        if weight:
            total += _applied(weight, factor, negated and term != "wait")  # "can't wait" is glad
            factor, negated, reach = 1.0, False, 0
        elif term in negations:
            negated, reach = not negated, _NEGATED_WORDS
        elif term in turns:
            total, factor, negated, reach = _turned(total), 1.0, False, 0
        elif term in factors:
            factor *= factors[term]
        else:
            reach -= 1
            factor = 1.0
            if reach < 0 or term == "onli":  # "not only"
                negated = False
        before = term
    return total


def _in_context(term: str, before: str, weight: float) -> float:
    """The weight where it depends on the word before: *I like* speaks well, *looks like* does not."""
    if term == "like":
        return weight if before in _SAYS_LIKE else 0.0
    if term == "wait":
        return 2.0 if before in ("cant", "couldnt") else 0.0
    return weight


def _applied(weight: float, factor: float, negated: bool) -> float:
    if negated:
        weight *= _TURNED_GOOD if weight > 0 else _TURNED_BAD
    return weight * min(2.0, max(0.4, factor))


def _turned(total: float) -> float:
    """What was said before a *but*, as it counts beside what comes after."""
    return total * _BEFORE_BUT / _AFTER_BUT


def _of_chinese(text: str) -> float:
    words = _chinese()
    weights, factors, negations, turns = words.lexicon
    total, factor, negated, reach, done = 0.0, 1.0, False, 0, 0
    for start in words.starts(text):
        at = start.start()
        if at < done:
            continue
        word = _word_at(text, at, words)
        if at > done:  # what lies between ends an intensifier at once, and a negation after a few characters
            factor = 1.0
            negated = negated and at <= reach
        done = at + len(word)
        weight = weights.get(word)
        if weight and not (word in factors and weights.get(_word_at(text, done, words))):  # 好难过, but 很好
            total += _applied(weight, factor, negated)
            factor, negated = 1.0, False
        elif word in turns or text[at] in _PUNCTUATION:
            total = _turned(total) if word in turns else total
            factor, negated = 1.0, False
        else:
            factor *= factors.get(word, 1.0)
            if word in negations:
                negated, reach = not negated, done + _NEGATED_CHARACTERS
    return total


def _word_at(text: str, at: int, words: _ChineseWords) -> str:
    """The longest word of the lexicon that stands there, or nothing."""
    for length in words.lengths.get(text[at : at + 1], ()):
        word = text[at : at + length]
        if word in words.entries:
            return word
    return ""


def _of_pictures(text: str) -> float:
    weights, pictures = _pictures()
    return sum(weights[char] for char in pictures(text))


def _of_faces(text: str) -> float:
    if not any(mark in text for mark in (":", "<3", "^", "xD", "XD", "=)", "=(", ";)", "T_T")):
        return 0.0
    return sum(_faces().get(word, 0.0) for word in _FACE.findall(text))


_FACE = re.compile(r"(?<![A-Za-z0-9])(?:>?[:;=]'?-?[)(DpP/]|</?3|\^_?\^|[xX]D|T_T|D:)(?![A-Za-z0-9/])")


def _weights(words: Mapping[float, str]) -> dict[str, float]:
    return {word: float(weight) for weight, line in words.items() for word in line.split()}


@cache
def _english() -> _Lexicon:
    # Of two words with one stem the stronger counts: "amazing" beside "amaze".
    by_strength = sorted(_weights(sentiment_words.ENGLISH).items(), key=lambda item: abs(item[1]))
    weights = {query_terms(word)[0]: weight for word, weight in by_strength}
    factors = dict.fromkeys(_stems(sentiment_words.ENGLISH_MORE), _MORE)
    factors |= dict.fromkeys(_stems(sentiment_words.ENGLISH_LESS), _LESS)
    negations = frozenset(_stems(sentiment_words.ENGLISH_NEGATIONS))
    return _Lexicon(weights | {"like": 1.5}, factors, negations, frozenset(_stems(sentiment_words.ENGLISH_TURNS)))


def _stems(words: str) -> Iterable[str]:
    return query_terms(words)


class _ChineseWords(NamedTuple):
    """The lexicon of Chinese, and how to find its words in a text without spaces."""

    lexicon: _Lexicon
    entries: frozenset[str]
    lengths: Mapping[str, tuple[int, ...]]
    """From a character to the lengths of the words that begin with it, longest first."""
    starts: Callable[[str], Iterable[re.Match[str]]]
    """All characters that begin a word, and punctuation."""


@cache
def _chinese() -> _ChineseWords:
    factors: dict[str, float] = dict.fromkeys(_split(sentiment_words.CHINESE_MORE), _MORE)
    factors |= dict.fromkeys(_split(sentiment_words.CHINESE_LESS), _LESS)
    negations = frozenset(_split(sentiment_words.CHINESE_NEGATIONS))
    lexicon = _Lexicon(
        _weights(sentiment_words.CHINESE), factors, negations, frozenset(_split(sentiment_words.CHINESE_TURNS))
    )
    entries = frozenset({*lexicon.weights, *factors, *negations, *lexicon.turns})
    lengths: dict[str, set[int]] = {}
    for word in entries:
        lengths.setdefault(word[0], set()).add(len(word))
    starts = re.compile(f"[{''.join(sorted(lengths))}{re.escape(''.join(sorted(_PUNCTUATION)))}]").finditer
    return _ChineseWords(
        lexicon, entries, {char: tuple(sorted(found, reverse=True)) for char, found in lengths.items()}, starts
    )


def _split(words: str) -> list[str]:
    return words.split()


@cache
def _pictures() -> tuple[dict[str, float], Callable[[str], list[str]]]:
    """The weights of emoji, and what finds them in a text."""
    weights = {char: weight for weight, line in sentiment_words.PICTURES.items() for char in line}
    return weights, re.compile(f"[{''.join(weights)}]").findall


@cache
def _faces() -> dict[str, float]:
    return _weights(sentiment_words.FACES)


__all__ = ["sentiment"]
