"""Relevance: the probability that a recalled memory helps to answer its query.

A score only orders the candidates of one query: the best of strangers has a high one, too. So relevance is the product of
two probabilities: that the store holds an answer at all, by how much of the query the best hits cover and how near they
are, which means the same in every store; and that this hit is part of the answer if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from memwell.language.dates import usual_names
from memwell.language.segment import query_terms
from memwell.language.words import language_of
from memwell.longterm.candidates import (
    CHINESE_FUNCTION,
    ParsedQuery,
    in_period,
    is_function_word,
    is_near_to_any,
    said_then,
)
from memwell.longterm.embedding import LateInteraction
from memwell.longterm.ranking import Ranked
from memwell.longterm.snapshot import Flags, Floats, Integers, Snapshot, is_chinese
from memwell.longterm.weights import Weights

Numbers: TypeAlias = NDArray[np.float64]
Values: TypeAlias = Mapping[str, Numbers]
"""Numbers of hits by name, one for each hit; NaN is unknown."""

MIN_RELEVANCE: Final = 0.005
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
_NAMED_TIME = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?<!\d)(?:19|20)\d\d(?!\d)|周[一二三四五六日]|(?<!\d)(?:1[0-2]|[1-9])月"
)
_WORD = re.compile("[\u3400-\u9fff]|(?<![^\\W_])[^\\W\\d_]+(?![^\\W_])").search
"""A word without digits."""
_MOST_OF_A_YEAR = 360 * 86_400
_WHOLE = 0.99
_MOST_ODDS = 30.0
_UNKNOWN = 0.5


class LogisticModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The probability of something, from values by their names."""

    base: float
    weights: dict[str, float]

    def probabilities(self, values: Values) -> Numbers:
        """The probability for each hit; NaN where a value of the model is not known."""
        weights = np.array([[weight] for weight in self.weights.values()])
        odds = self.base + (weights * [values[name] for name in self.weights]).sum(0)
        return 1.0 / (1.0 + np.exp(np.minimum(np.maximum(-odds, -_MOST_ODDS), _MOST_ODDS)))


class RelevanceModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``known``: the store holds an answer. ``helps``: this hit is part of it, if the store does."""

    known: LogisticModel
    helps: LogisticModel

    def relevances(self, values: Values) -> Numbers:
        """The relevance of each hit; NaN where a value of the model is not known."""
        return self.known.probabilities(values) * self.helps.probabilities(values)

    def fits(self, values: Values) -> bool:
        """Whether some hits may have all the values that are needed."""
        return self.known.weights.keys() | self.helps.weights.keys() <= values.keys()


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The models of the package. The first that a hit has all values for is used.

    A cosine means another thing with every embedder, so it is a value only where ``embedder`` made the vectors.
    """

    note: str
    embedder: str
    models: tuple[RelevanceModel, ...]

    def relevances(self, values: Values, count: int) -> list[float]:
        """The relevance of hits, by the first model whose values are all known; a half where none is."""
        judged = np.full(count, np.nan)
        for model in self.models:
            unknown = np.isnan(judged)
            if not unknown.any():
                break
            if model.fits(values):
                judged = np.where(unknown, model.relevances(values), judged)
        judged = np.where(np.isnan(judged), _UNKNOWN, judged)
        if "held" in values:
            # By words alone nothing speaks for a hit that has none.
            judged[(values["held"] == 0.0) & np.isnan(values.get("dense", np.full(count, np.nan)))] = 0.0
        return judged.tolist()


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
    late: LateInteraction | None = None,
) -> list[float]:
    """The relevance of hits, best first, with their texts; ``embedder`` is the name of the one that made the vectors.

    ``late`` compares the hits with the query again without the names of speakers in it, which are in all that they said.

    A query without a word of its own, such as *what do you know about me?*, asks for no particular thing: then all hits are
    as relevant as not. To marks alone, such as *?!*, nothing is relevant.
    """
    if question.text.strip() and not question.terms:
        return [0.0] * len(hits)
    if question.of_a_time:
        asked, rows = _times_asked_for(question), np.array([hit.row for hit in hits], np.intp)
        named = np.array([not asked.isdisjoint(_named_times(text)) for text in texts], np.bool_)
        return np.where(said_then(snapshot, question, rows) | named, _UNKNOWN, 0.0).tolist()
    words = zip(question.terms, question.term_weights.tolist(), strict=True)
    own = (not is_function_word(term) and (weight >= 1.0 or term in _MAY_BE_ASKED_FOR) for term, weight in words)
    if not question.times and not any(own):
        return [_UNKNOWN] * len(hits)
    calibration = default_calibration()
    values = values_of(snapshot, question, hits, texts, weights, calibrated=embedder == calibration.embedder, late=late)
    return calibration.relevances(values, len(hits))


def _named_times(text: str) -> set[str]:
    """The months, days of the week and years that a text names. Words such as *yesterday* mean another day in each text."""
    return set(_NAMED_TIME.findall(usual_names(text)))


def _times_asked_for(question: ParsedQuery) -> set[str]:
    """The times that a query names, and the years that it means without naming them: *three years ago*."""
    years = [since for since, until in question.times if until - since > _MOST_OF_A_YEAR]
    return _named_times(question.text) | {str(datetime.fromtimestamp(since, UTC).year) for since in years}


def values_of(
    snapshot: Snapshot,
    question: ParsedQuery,
    hits: Sequence[Ranked],
    texts: Sequence[str],
    weights: Weights,
    *,
    calibrated: bool,
    late: LateInteraction | None = None,
) -> Values:
    """What relevance is judged by: the values of the hits, and the best of the first ones as ``best_…``; NaN: unknown.

    ``held`` is the part of the query's words that a hit has, ``whole`` is 1 when it has all, ``count`` is how many it has
    (their logarithm), ``missing`` the part of its names that it lacks, ``named`` whether the query names a speaker.
    ``dense`` is the cosine of its vector and ``late`` that signal, where they are known; a hit that has them, and is in
    another language than the query, has no values of words. The vectors of signs such as 🐙 say nothing: they are all
    alike. Nor do those of *hunter2*: it means only itself.
    """
    if not hits:
        return {}
    rows = np.array([hit.row for hit in hits], np.int32)
    held, count, missing = _of_words(snapshot, question, rows)
    values: dict[str, Numbers] = {}
    of_words = np.ones(len(hits), np.bool_)
    if calibrated and question.vector is not None and is_near_to_any(snapshot, question) and _WORD(question.text):
        known = snapshot.has_vector[rows] & np.array([_in_words(text) for text in texts], np.bool_)
        near = _without_speakers(snapshot, question, late, rows)
        if near is None:
            near = np.array([hit.value("late") or np.nan for hit in hits])
        if "dense" in weights.curves:
            dense = np.array([hit.value("dense") for hit in hits])
        else:
            dense = snapshot.vectors.dots_of(rows.astype(np.intp), question.vector)
        values["dense"] = np.where(known, dense, np.nan)
        values["late"] = np.where(known & np.isfinite(near), near, np.nan)
        # In another language than the query no word can be the same, and those of a hit say nothing about it.
        chinese, other_language = is_chinese(question.text), language_of(question.text) == "other"
        same = np.array([is_chinese(text) is chinese for text in texts], np.bool_)
        of_words = ~known | (same & ((held > 0.0) | (not other_language)))
    named = np.full(len(hits), float(bool(snapshot.speakers.named(question.terms))))
    words = {
        "held": held, "whole": (held >= _WHOLE).astype(np.float64), "count": count, "missing": missing, "named": named
    }  # fmt: skip
    values |= words if of_words.all() else {name: np.where(of_words, some, np.nan) for name, some in words.items()}
    values |= _best(values, of_words)
    return values


def _without_speakers(
    snapshot: Snapshot, question: ParsedQuery, late: LateInteraction | None, rows: Integers
) -> Floats | None:
    """The late interaction of rows without the names of speakers in the query; None where it names none."""
    if late is None or not snapshot.speakers.named(question.terms):
        return None
    return late.best_but_for(
        [bool(snapshot.speakers.named(query_terms(word))) for word in late.query.words], rows.tolist()
    )


def _in_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _best(values: Values, of_words: Flags) -> dict[str, Numbers]:
    """The best of each value among the first hits: of those that are judged by words, and of the others."""
    signs = np.array([[-1.0 if name == "missing" else 1.0] for name in values])
    table = np.array(list(values.values())) * signs
    best = np.full(table.shape, np.nan)
    for group in (of_words, ~of_words):
        first = np.flatnonzero(group)[:BEST_OF]
        if len(first):
            # fmax passes over what is not known.
            best[:, group] = np.fmax.reduce(table[:, first], 1, keepdims=True)
    return dict(zip((f"best_{name}" for name in values), best * signs, strict=True))


def _of_words(snapshot: Snapshot, question: ParsedQuery, rows: Integers) -> tuple[Numbers, Numbers, Numbers]:
    """The part of the query's words that each row has, the logarithm of their number, and the part of its names it lacks.

    No word is rarer than another here: how rare a word is depends on the store, and on how much of it was read.
    """
    words = _weights(snapshot, question)
    held, total = np.zeros(len(rows)), sum(words.values())
    names: list[Numbers] = []
    for term, weight in words.items():
        has = snapshot.postings.has(term, rows)
        held += weight * has
        if term in question.name_terms:
            names.append(has.astype(np.float64))
    if question.times:
        held += _PERIOD * in_period(snapshot, question, rows)
        total += _PERIOD
    missing = 1.0 - np.add.reduce(names) / len(names) if names else np.zeros(len(rows))
    return held / (total or 1.0), np.log1p(held), missing


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
