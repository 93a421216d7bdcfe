"""The question against every record of a pool, by words and by vectors: this gives the candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memwell.longterm.pool import Flags, Floats, Integers, Pool
from memwell.longterm.postings import unpacked
from memwell.longterm.question import Question
from memwell.longterm.weights import Weights
from memwell.storage.bm25 import K1, B

Numbers = NDArray[Any]
Rows = NDArray[np.intp]

CANDIDATES = 150
"""So many records are looked at closely."""

NEIGHBOUR = 0.3
"""What the words of a neighbour count."""
SESSION = 0.3
"""What those of its whole session count in the choice of candidates."""
TINY = 1e-9
_BROAD = 2.0  # what a signal that does not depend on the question counts at most in the choice
_HOUR = 3_600.0
_SAMPLE_OF = 8


class Found(NamedTuple):
    """The terms of a question that occur in a pool, each with how many records have it."""

    terms: Sequence[str]
    sizes: Numbers
    telling: Floats
    names: Flags


class Matches(NamedTuple):
    """Where the terms of a question occur: row, count, number of the term and score of each occurrence."""

    rows: Integers
    counts: Floats
    terms: Integers
    scores: Floats
    telling: Floats
    """How telling each term is, by its number."""
    names: Flags
    """Which terms belong to names."""


class Compared(NamedTuple):
    """Rows of a pool against the question; a last number, 0, stands for the neighbour that is not there."""

    matches: Matches
    words: Floats
    dense: Floats
    together: Rows | None = None
    """All rows of the candidates' sessions, where they had to be found already."""


def chosen(choice: Floats, usable: Flags, count: int = CANDIDATES, sample_of: int = _SAMPLE_OF) -> Rows:
    """The rows of the best choices among the usable ones, in order. It spoils the choices of the others."""
    if len(choice) <= count:
        return np.flatnonzero(usable)
    choice[~usable] = -np.inf
    # A sample gives a bound that some two or three hundred pass: to sort all the others out costs several times more.
    sample = choice[::sample_of]
    bound = -np.inf
    if len(sample) > count:
        place = len(sample) - 2 * count // sample_of - 1
        bound = np.partition(sample, place)[place]
    rows = np.flatnonzero(choice >= bound)
    if len(rows) < count:
        rows = np.arange(len(choice))
    if len(rows) > count:
        best = choice[rows]
        rows = np.sort(rows[np.argpartition(best, len(rows) - count)[-count:]])
    return rows[choice[rows] > -np.inf]


def compare(
    pool: Pool, question: Question, weights: Weights, usable: Flags, count: int = CANDIDATES
) -> tuple[Compared, Rows]:
    """Compare all rows, and choose at most ``count`` candidates among the usable ones."""
    limit = pool.limit
    matches = matches_of(pool, question)
    words, dense = np.zeros(limit + 1, np.float32), np.zeros(limit + 1, np.float32)
    choice = np.zeros(limit, np.float32)
    if len(matches.rows):
        words[:limit] = np.bincount(matches.rows, matches.scores, limit)
        if weights.count_words:
            choice += _choice_by_words(pool, matches, words[:limit])
    if is_near_to_any(pool, question):
        assert question.vector is not None
        dense[:limit] = pool.vectors.dots(question.vector, limit)
        lowest, highest = float(dense.min()), float(dense.max())
        choice += (dense[:limit] - lowest) * (1.0 / max(highest - lowest, TINY))
    if weights.plain:
        choice = plain_scores(pool, question, weights, dense[:limit], slice(limit))
    elif weights.broad:
        add_broad(choice, pool, question, weights)
    return Compared(matches, words, dense), chosen(choice, usable, count)


def add_broad(choice: Floats, pool: Pool, question: Question, weights: Weights) -> None:
    """Add what speaks for records whatever is asked, where that counts much."""
    for name, curve in weights.broad:
        values = broad_signal(name, pool, question.now, weights.decay, slice(pool.limit))
        none, all_of_it = np.interp((0.0, 1.0), curve.values, curve.shares)
        rise = np.interp(values, curve.values, curve.shares) - none
        choice += (rise * (_BROAD / max(abs(all_of_it - none), TINY))).astype(np.float32)


def plain_scores(pool: Pool, question: Question, weights: Weights, dense: Floats, rows: Rows | slice) -> Floats:
    """The scores of rows, under weights that need nothing but what is at hand for all; ``dense`` is given for each."""
    scores = np.zeros(len(dense), np.float32)
    for name, curve in weights.curves.items():
        if not curve.spread:
            continue
        near = name == "dense"
        values = dense if near else broad_signal(name, pool, question.now, weights.decay, rows)
        if len(curve.values) == 2 and curve.values[0] <= -1.0 and curve.values[1] >= 1.0:
            # A straight line over all that a signal can be is followed many times faster; its start is the same for all.
            values = values * ((curve.shares[1] - curve.shares[0]) / (curve.values[1] - curve.values[0]))
        else:
            values = np.interp(values, curve.values, curve.shares)
        scores += values.astype(np.float32)
    return scores


def is_near_to_any(pool: Pool, question: Question) -> bool:
    """Whether vectors are compared: the question has one such as the records have, and nearly all of these have theirs.

    While many still lack theirs, the few that have one must not win by it.
    """
    if question.vector is None or len(question.vector) != pool.dimensions:
        return False
    return 10 * int(np.count_nonzero(pool.has_vector[: pool.limit])) >= 9 * len(pool)


def _choice_by_words(pool: Pool, matches: Matches, words: Floats) -> Floats:
    """What the words of every record, of its neighbours and of its session say for looking at it closely."""
    limit = pool.limit
    # The place after the last row takes what goes to a neighbour that is not there.
    around = np.concatenate((pool.previous.take(matches.rows), pool.following.take(matches.rows))) % (limit + 1)
    beside = np.bincount(around, np.tile(NEIGHBOUR * matches.scores, 2), limit + 1)[:limit]
    choice = (words + beside).astype(np.float32)
    choice *= 1.0 / max(float(choice.max()), TINY)
    together = np.bincount(pool.session[matches.rows], matches.scores, len(pool.session_lengths))
    choice += (together * (SESSION / max(float(together.max()), TINY))).astype(np.float32)[pool.session[:limit]]
    return choice


def found_terms(pool: Pool, question: Question) -> Found:
    """The terms of a question that the pool knows, in the question's order, and how telling each one is."""
    asked = zip(question.terms, question.term_weights.tolist(), strict=True)
    weights = {term: weight for term, weight in asked if term in pool.postings}
    sizes = np.array([len(pool.postings[term]) for term in weights])
    rarity = np.log1p((len(pool) - sizes + 0.5) / (sizes + 0.5))
    telling = (rarity * list(weights.values())).astype(np.float32)
    return Found(list(weights), sizes, telling, np.array([term in question.name_terms for term in weights], np.bool_))


def matches_of(pool: Pool, question: Question) -> Matches:
    """Where the terms of the question occur in the pool, scored by BM25."""
    found = found_terms(pool, question)
    if not found.terms:
        return scored(pool, found, np.zeros(0, np.int32), np.zeros(0, np.int32), found.sizes)
    rows, counts = unpacked(np.concatenate([pool.postings[term] for term in found.terms]))
    return scored(pool, found, rows, counts, found.sizes)


def scored(pool: Pool, found: Found, rows: Integers, counts: Numbers, sizes: Numbers) -> Matches:
    """Occurrences of terms with their scores; they are given term by term, as many of each as ``sizes`` says."""
    terms = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes.astype(np.intp))
    counts = counts.astype(np.float32)
    scores = (found.telling.take(terms) * counts * (K1 + 1.0) / (counts + damping(pool, rows))).astype(np.float32)
    return Matches(rows, counts, terms, scores, found.telling, found.names)


def damping(pool: Pool, rows: Integers | Rows | slice) -> Floats:
    """What the length of a record takes off the weight of its words, in BM25."""
    # Taking by small integers is three times as fast as indexing with them.
    lengths = pool.lengths[rows] if isinstance(rows, slice) else pool.lengths.take(rows)
    return K1 * (1.0 - B) + (K1 * B * len(pool) / max(pool.total_words, 1)) * lengths


def session_rows(pool: Pool, rows: Rows) -> Rows:
    """All rows of the sessions that rows belong to."""
    own = np.zeros(pool.session_limit, np.bool_)
    own[pool.session[rows]] = True
    # A freed row still names the session it was in, and must not speak for it.
    return np.flatnonzero(own.take(pool.session[: pool.limit]) & pool.alive[: pool.limit])


def broad_signal(name: str, pool: Pool, now: float, decay: float, rows: NDArray[np.intp] | slice) -> Numbers:
    """A signal that does not depend on what is asked."""
    if name == "importance":
        return pool.importance[rows]
    if name == "uses":
        return 1.0 - 1.0 / (1.0 + pool.uses[rows])
    if name == "worth":
        return pool.worth[rows]
    times = pool.times[rows]
    if name == "access":
        return _access(times, pool.accessed[rows], now, decay)
    hours = np.maximum(now - times, 0.0) * (1.0 / _HOUR)
    return np.where(times != 0.0, (1.0 - decay) ** hours, 0.0)


def _access(times: Numbers, accessed: Numbers, now: float, decay: float) -> Numbers:
    # What is asked as of an earlier moment knows nothing of what was recalled after it.
    last = np.where(accessed <= now, np.maximum(times, accessed), times)
    hours = np.maximum(now - last, 0.0) * (1.0 / _HOUR)
    # A power of one base is an exponential, and ten times as fast as one.
    return np.where(last != 0.0, np.exp(hours * np.log1p(-decay)), 0.0)


__all__ = [
    "CANDIDATES",
    "NEIGHBOUR",
    "SESSION",
    "TINY",
    "Compared",
    "Found",
    "Matches",
    "Numbers",
    "Rows",
    "add_broad",
    "broad_signal",
    "chosen",
    "compare",
    "damping",
    "found_terms",
    "is_near_to_any",
    "matches_of",
    "plain_scores",
    "scored",
    "session_rows",
]
