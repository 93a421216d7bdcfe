"""Relevance: the probability that a recalled memory helps to answer its query.

A score only orders the candidates of one query: the best of strangers has a high one, too. So relevance is the product of
two probabilities: that the store holds an answer at all, by how much of the query the best hits cover and how near they
are, which means the same in every store; and that this hit is part of the answer if there is one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias

import msgspec
import numpy as np

from memwell.language.segment import query_terms
from memwell.language.words import language_of
from memwell.longterm.candidates import CHINESE_FUNCTION, ParsedQuery, in_period, is_function_word, is_near_to_any
from memwell.longterm.ranking import Ranked
from memwell.longterm.snapshot import Flags, Integers, Snapshot, is_chinese
from memwell.longterm.weights import Weights

Values: TypeAlias = dict[str, float]

MIN_RELEVANCE: Final = 0.01
"""The least relevance of what enters a prompt, and of what the page, the command line and the MCP tool show."""

BEST_OF = 10
"""The values of this many hits show whether the store holds an answer."""
_PERIOD = 1.0
"""What it weighs that a memory is of the period that is asked for; a word weighs 1."""
_NAME = 0.3
"""What the name of a speaker weighs."""
_ASKING = CHINESE_FUNCTION | frozenset("多少几谁何样叫名字号时候间")
"""A pair of these characters only asks."""
_MAY_BE_ASKED_FOR = frozenset(query_terms("name number date dating"))
"""Words that mostly say how something is asked, and sometimes what: *what is my name?*"""
_WHOLE = 0.99
_MOST_ODDS = 30.0
_UNKNOWN = 0.5


class LogisticModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The probability of something, from values by their names."""

    base: float
    weights: dict[str, float]

    def probability(self, values: Mapping[str, float]) -> float:
        """The probability, where all values of the model are known."""
        odds = self.base + math.fsum(weight * values[name] for name, weight in self.weights.items())
        return 1.0 / (1.0 + math.exp(-min(max(odds, -_MOST_ODDS), _MOST_ODDS)))


class RelevanceModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``known``: the store holds an answer. ``helps``: this hit is part of it, if the store does."""

    known: LogisticModel
    helps: LogisticModel

    def fits(self, values: Mapping[str, float]) -> bool:
        """Whether a hit has all the values that are needed."""
        return self.known.weights.keys() | self.helps.weights.keys() <= values.keys()

    def relevance(self, values: Mapping[str, float]) -> float:
        """The relevance of a hit."""
        return self.known.probability(values) * self.helps.probability(values)


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The models of the package. The first that a hit has all values for is used.

    A cosine means another thing with every embedder, so it is a value only where ``embedder`` made the vectors.
    """

    note: str
    embedder: str
    models: tuple[RelevanceModel, ...]

    def relevances(self, found: Sequence[Mapping[str, float]]) -> list[float]:
        """The relevance of hits, by the first model whose values are all known; a half where none is."""
        models: dict[frozenset[str], RelevanceModel | None] = {}
        judged: list[float] = []
        for values in found:
            known = frozenset(values)
            if known not in models:
                models[known] = next((model for model in self.models if model.fits(values)), None)
            model = models[known]
            # By words alone nothing speaks for a hit that has none.
            nothing = values.get("held") == 0.0 and "dense" not in values
            judged.append(0.0 if nothing else _UNKNOWN if model is None else model.relevance(values))
        return judged


@cache
def default_calibration() -> Calibration:
    """The calibration of the package; its note says what it was fitted to."""
    return msgspec.json.decode(files("memwell.longterm").joinpath("relevance.json").read_bytes(), type=Calibration)


def relevances(
    snapshot: Snapshot,
    question: ParsedQuery,
    hits: Sequence[Ranked],
    texts: Sequence[str],
    weights: Weights,
    embedder: str | None,
) -> list[float]:
    """The relevance of hits, best first, with their texts; ``embedder`` is the name of the one that made the vectors.

    A query without a word of its own, such as *what do you know about me?*, asks for no particular thing: then all hits are
    as relevant as not. To marks alone, such as *?!*, nothing is relevant.
    """
    if question.text.strip() and not question.terms:
        return [0.0] * len(hits)
    if question.of_a_time:
        rows = np.array([hit.row for hit in hits], np.intp)
        return np.where(in_period(snapshot, question, rows), _UNKNOWN, 0.0).tolist()
    words = zip(question.terms, question.term_weights.tolist(), strict=True)
    own = (not is_function_word(term) and (weight >= 1.0 or term in _MAY_BE_ASKED_FOR) for term, weight in words)
    if not question.times and not any(own):
        return [_UNKNOWN] * len(hits)
    calibration = default_calibration()
    values = values_of(snapshot, question, hits, texts, weights, calibrated=embedder == calibration.embedder)
    return calibration.relevances(values)


def values_of(
    snapshot: Snapshot,
    question: ParsedQuery,
    hits: Sequence[Ranked],
    texts: Sequence[str],
    weights: Weights,
    *,
    calibrated: bool,
) -> list[Values]:
    """What relevance is judged by: the values of each hit, and the best of the first ones as ``best_…``.

    ``held`` is the part of the query's words that a hit has, ``whole`` is 1 when it has all, ``count`` is how many it has
    (their logarithm), ``missing`` the part of its names that it lacks. ``behind`` is how far its score is from the first,
    ``place`` the logarithm of its place. ``dense`` is the cosine of its vector and ``late`` that signal, where they are
    known; a hit that has them, and is in another language than the query, has no values of words. The vectors of signs such
    as 🐙 say nothing: they are all alike.
    """
    if not hits:
        return []
    rows = np.array([hit.row for hit in hits], np.int32)
    held, count, missing = _of_words(snapshot, question, rows)
    vector = question.vector if calibrated and is_near_to_any(snapshot, question) and _in_words(question.text) else None
    dense = None if vector is None else snapshot.vectors.dots_of(rows.astype(np.intp), vector)
    # In another language than the query no word can be the same, and those of a hit say nothing about it.
    chinese, other_language = is_chinese(question.text), language_of(question.text) == "other"
    found: list[Values] = []
    for at, hit in enumerate(hits):
        values: Values = {}
        if dense is not None and snapshot.has_vector[hit.row] and _in_words(texts[at]):
            values["dense"] = float(dense[at])
            late = hit.signal("late")
            if late is not None and math.isfinite(late.value):
                values["late"] = late.value
        if not values or (is_chinese(texts[at]) is chinese and (held[at] or not other_language)):
            whole = float(held[at] >= _WHOLE)
            values |= {"held": held[at], "whole": whole, "count": count[at], "missing": missing[at]}
        found.append(values)
    best = {
        of_words: _best([one for one in found[:BEST_OF] if ("held" in one) is of_words]) for of_words in (True, False)
    }
    for at, (hit, values) in enumerate(zip(hits, found, strict=True)):
        behind = (hits[0].score - hit.score) / (weights.spread or 1.0)
        values |= {"behind": behind, "place": math.log1p(at), **best["held" in values]}
    return found


def _in_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _best(found: Sequence[Values]) -> Values:
    names = dict.fromkeys(name for values in found for name in values)
    best = {name: [values[name] for values in found if name in values] for name in names}
    return {f"best_{name}": min(some) if name == "missing" else max(some) for name, some in best.items()}


def _of_words(
    snapshot: Snapshot, question: ParsedQuery, rows: Integers
) -> tuple[list[float], list[float], list[float]]:
    """The part of the query's words that each row has, the logarithm of their number, and the part of its names it lacks.

    No word is rarer than another here: how rare a word is depends on the store, and on how much of it was read.
    """
    words = _weights(snapshot, question)
    held, total = np.zeros(len(rows)), sum(words.values())
    names: list[Flags] = []
    for term, weight in words.items():
        has = snapshot.postings.counts(term, rows) > 0
        held += weight * has
        if term in question.name_terms:
            names.append(has)
    if question.times:
        held += _PERIOD * in_period(snapshot, question, rows)
        total += _PERIOD
    missing = 1.0 - np.mean(names, 0) if names else np.zeros(len(rows))
    return (held / (total or 1.0)).tolist(), np.log1p(held).tolist(), missing.tolist()


def _weights(snapshot: Snapshot, question: ParsedQuery) -> dict[str, float]:
    """The words of a query and their weights, without words of asking.

    Everything that a speaker said has the speaker's name, so it says little. Single Chinese characters count only where the
    query has no pairs of them.
    """
    pairs = any(len(term) > 1 and not term.isascii() for term in question.terms)
    words: dict[str, float] = {}
    for term, weight in zip(question.terms, question.term_weights.tolist(), strict=True):
        if not (_ASKING.issuperset(term) or (pairs and len(term) == 1 and not term.isascii())):
            words[term] = min(weight, _NAME) if snapshot.speakers.named([term]) else weight
    return words
