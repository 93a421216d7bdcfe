"""A second look at the passages that were found, by what can be read off their words; no model is asked.

The first search looks at every passage of a store and must be quick about each. Here are only a few, so more can be asked
of each: which of the question's words it has, weighed by how few of the others have them; whether they stand together or
even in the question's own order; and whether they stand in its heading.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite, log
from typing import NamedTuple

from memwell.errors import InvalidInput
from memwell.language.segment import query_terms
from memwell.language.texts import check_string
from memwell.language.words import STOP_WORDS
from memwell.models.checking import given_texts
from memwell.models.ports import Reranker
from memwell.values import shown

WEIGHTS: Mapping[str, float] = {"coverage": 1.0, "phrase": 0.35, "proximity": 0.25, "heading": 0.3, "order": 1.0}
"""How much each feature counts. ``order`` is for the place a text was given at: the first look is not thrown away."""

_MOST_TERMS = 64  # of a query: what is longer is a text, and its first words say what it is about
_ANCHORS = 24  # places around which the words are looked for
_LONGEST_HEADING = 100  # characters
_MOST_HEADINGS = 4  # lines
_RUNS = re.compile(
    "[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]+|[^\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]+"
)
_HEADING_MARKS = "#*= \t"
_SENTENCE_ENDS = tuple(".。!！?？;；,，")
# Words that ask, and the commonest small ones; the longest first, so that 是什么 goes before 什么.
_CHINESE_SMALL = re.compile(
    "是什么|为什么|什么时候|有没有|是不是|怎么样|多少|什么|怎么|怎样|如何|哪些|哪个|哪里|哪儿|请问|关于|可以|以及|[的了是吗呢吧在和与或及有谁几]"
)


class Features(NamedTuple):
    """What a text has of a question, each from 0 to 1."""

    coverage: float
    """How much of the question's words, the rare ones counting for more."""
    phrase: float
    """The longest stretch of the question that stands in the text as it is."""
    proximity: float
    """How closely the words stand together."""
    heading: float
    """How much of the question's words its heading has."""


class FeatureReranker(Reranker):
    """Scores texts by the question's words in them, and by the order they come in, the best of the first look first.

    ``weights`` overrides some of ``WEIGHTS``; with ``order=0`` the order has no say. Raises ``InvalidInput`` for a feature
    that there is not and a weight that is no finite number of at least 0.
    """

    def __init__(self, **weights: float) -> None:
        self._weights = {**WEIGHTS, **{name: _checked(name, weight) for name, weight in weights.items()}}

    @property
    def name(self) -> str:
        return "features"

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number for every text, in order; the higher the better. Raises ``InvalidInput`` for what is no text."""
        weights = self._weights
        total = sum(weights.values()) or 1.0
        scores: list[float] = []
        for place, features in enumerate(self.features(query, texts)):
            found = sum(weights[name] * value for name, value in features._asdict().items())
            scores.append((found + weights["order"] / (1 + place)) / total)
        return scores

    def features(self, query: str, texts: Sequence[str]) -> list[Features]:
        """The features of every text, in order, for whoever weighs them otherwise."""
        asked = _asked(check_string(query, "a query"))
        read = [_terms(text) for text in given_texts(texts)]
        telling = _telling(asked, read)
        return [_features(asked, telling, text, terms) for text, terms in zip(texts, read, strict=True)]


def _checked(name: str, weight: object) -> float:
    if name not in WEIGHTS:
        raise InvalidInput(f"there is no feature {name!r}; there are {', '.join(WEIGHTS)}")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not isfinite(weight) or weight < 0:
        raise InvalidInput(f"the weight of {name!r} must be a finite number of at least 0, not {shown(weight)}")
    return float(weight)


def _asked(query: str) -> list[str]:
    """The words of a question in their order, without those that only ask."""
    query = _CHINESE_SMALL.sub(" ", query)
    words = [
        word for word in query.replace("’", "'").split() if word.lower().strip("?!.,:;\"'()") not in STOP_WORDS["en"]
    ]
    # A question of nothing but small words is still a question.
    return (_terms(" ".join(words)) or _terms(query))[:_MOST_TERMS]


def _terms(text: str) -> list[str]:
    """The terms of a text in the order they are read: the parts of each script on their own keep their places."""
    return [term for run in _RUNS.findall(text) for term in query_terms(run)]


def _telling(asked: Sequence[str], texts: Sequence[Sequence[str]]) -> dict[str, float]:
    """How much each word of the question tells: more, the fewer of the texts have it."""
    having = Counter(term for terms in texts for term in set(terms).intersection(asked))
    return {term: log(1.0 + (len(texts) + 1.0) / (having[term] + 0.5)) for term in asked}


def _features(asked: Sequence[str], telling: Mapping[str, float], text: str, terms: Sequence[str]) -> Features:
    places = _places(telling, terms)
    if not places:
        return Features(0.0, 0.0, 0.0, 0.0)
    return Features(
        coverage=_share(telling, places),
        phrase=_longest_run(asked, places) / len(asked),
        proximity=_proximity(places, len(telling)),
        heading=_share(telling, set(_terms(_heading(text)))),
    )


def _share(telling: Mapping[str, float], held: Mapping[str, object] | set[str]) -> float:
    return sum(weight for term, weight in telling.items() if term in held) / (sum(telling.values()) or 1.0)


def _places(telling: Mapping[str, float], terms: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, term in enumerate(terms):
        if term in telling:
            places.setdefault(term, []).append(place)
    return places


def _longest_run(asked: Sequence[str], places: Mapping[str, Sequence[int]]) -> int:
    """The most words of the question that stand in the text one after the other, as they do in the question."""
    longest = 0
    ending: dict[int, int] = {}  # how long the run is that ends at a place
    for term in asked:
        ending = {place: ending.get(place - 1, 0) + 1 for place in places.get(term, ())}
        longest = max(longest, max(ending.values(), default=0))
    return longest


def _proximity(places: Mapping[str, Sequence[int]], wanted: int) -> float:
    """The share of the words that the text has, over how far around one of them the nearest of each are spread."""
    if wanted == 1:
        return 1.0
    # Around the rarest words first: a common one in a long text stands everywhere.
    anchors = [place for rare_first in sorted(places.values(), key=len) for place in rare_first[:_ANCHORS]][:_ANCHORS]
    spread = min(sum(_away(anchor, others) for others in places.values()) for anchor in anchors)
    others = len(places) - 1
    # On both sides of a word the nearest are 1, 1, 2, 2, 3… away, which is as near as they can be.
    nearest = (others + 1) ** 2 // 4
    return len(places) / wanted * nearest / max(spread, nearest) if others else 0.0


def _away(anchor: int, places: Sequence[int]) -> int:
    at = bisect_left(places, anchor)
    return min(abs(anchor - place) for place in places[max(0, at - 1) : at + 1])


def _heading(text: str) -> str:
    """The lines at its beginning that are no sentences."""
    lines: list[str] = []
    for line in text[: _LONGEST_HEADING * _MOST_HEADINGS * 2].strip().split("\n")[:_MOST_HEADINGS]:
        plain = line.strip(_HEADING_MARKS)
        if not plain or len(plain) > _LONGEST_HEADING or plain.endswith(_SENTENCE_ENDS):
            break
        lines.append(plain)
    # A text of one line is all text.
    return "\n".join(lines) if "\n" in text.strip() else ""


__all__ = ["WEIGHTS", "FeatureReranker", "Features"]
