"""What speaks for a record: each signal is a number, the same for the same pool and question.

Signals are taken in two steps. Words and vectors are compared over the whole pool, which gives the candidates; everything
else is looked at for these alone. Scores of words depend on how many and how rare the words of a question are, so they are
given relative to the best candidate: 1 is the best there is.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memwell._products import product
from memwell.longterm.candidates import (
    CANDIDATES,
    LARGE,
    NEIGHBOUR,
    TINY,
    Compared,
    Matches,
    Numbers,
    Question,
    broad_signal,
    compare,
    look,
    session_rows,
)
from memwell.longterm.snapshot import NOWHERE, Flags, Floats, Integers, Pool
from memwell.longterm.weights import SIGNALS, Weights
from memwell.storage.bm25 import K1, B

_DAY = 86_400.0
_NEARBY = 10.0  # days over which a record near to the time that is asked for still fits


class Observed(NamedTuple):
    """The candidates' rows and their signals, a column for each of ``SIGNALS``."""

    rows: NDArray[np.intp]
    signals: Floats


def observe(
    pool: Pool, question: Question, weights: Weights, allowed: Flags | None = None, count: int = CANDIDATES
) -> Observed:
    """The signals of the records worth looking at, among those that are allowed (a flag for every row below the limit).

    At most ``count`` are looked at. A signal that has no curve in the weights is not computed and stays 0.
    """
    usable = pool.alive[: pool.limit] if allowed is None else pool.alive[: pool.limit] & allowed
    compared, rows = (look if pool.limit >= LARGE else compare)(pool, question, weights, usable, count)
    signals = np.zeros((len(SIGNALS), len(rows)), np.float32)
    if len(rows):
        candidates = Candidates(pool, question, weights.decay, compared, rows)
        for name in weights.pieces.names:
            found = getattr(candidates, name)
            if found is not None:
                signals[_COLUMNS[name]] = found
    return Observed(rows, signals.T)


class Candidates:
    """The candidates of a question, and each signal under its own name: a number for each, or None where it is silent."""

    def __init__(
        self, pool: Pool, question: Question, decay: float, compared: Compared, rows: NDArray[np.intp]
    ) -> None:
        self._pool, self._question, self._decay, self._rows = pool, question, decay, rows
        self._matches, words, dense, self._together = compared
        self._before, self._after = pool.previous[rows], pool.following[rows]
        # Where no candidate has a neighbour, what is said of neighbours would only repeat what is said of the record.
        self._apart = int(self._before.max()) == NOWHERE == int(self._after.max())
        self._has_words = len(self._matches.rows) > 0
        self._words = words * np.float32(1.0 / max(float(words[rows].max()), TINY))
        self._all_dense = dense
        self._has_dense = bool(dense.any())
        self._best_dense = max(float(dense[rows].max()), TINY)

    @property
    def words(self) -> Numbers | None:
        """How well its words fit, by BM25."""
        return self._words[self._rows] if self._has_words else None

    @property
    def near(self) -> Numbers | None:
        """The same with a part of its neighbours' words."""
        if self._apart or not self._has_words:
            return None
        neighbours = self._words[self._before] + self._words[self._after]
        return _relative(self._words[self._rows] + NEIGHBOUR * neighbours)

    @property
    def window(self) -> Numbers | None:
        """How well the words of the record and its two neighbours fit, taken as one text."""
        if self._apart or not self._has_words:
            return None
        pool = self._pool
        lengths = pool.lengths[self._rows] + _at(pool.lengths, self._before) + _at(pool.lengths, self._after)
        average = 3.0 * pool.total_words / len(pool)
        return _relative(_bm25(self._counts[1], lengths / average, self._matches.telling))

    @property
    def session(self) -> Numbers | None:
        """How well the words of its whole session fit, taken as one text."""
        if self._apart or not self._has_words:
            return None
        pool, matches = self._pool, self._matches
        own = pool.session[self._rows]
        places = np.full(pool.session_limit, NOWHERE, np.int32)
        places[own] = 0
        sessions = np.flatnonzero(places != NOWHERE)
        places[sessions] = np.arange(len(sessions))
        counts = _tally(matches, places.take(pool.session.take(matches.rows)), len(sessions))
        average = pool.total_words / pool.session_count
        return _relative(_bm25(counts, pool.session_lengths[sessions] / average, matches.telling)[places[own]])

    @property
    def coverage(self) -> Numbers | None:
        """How much of what is telling in the question it holds."""
        return self._covered(0) if self._has_words else None

    @property
    def window_coverage(self) -> Numbers | None:
        """The same of the record and its neighbours."""
        return None if self._apart or not self._has_words else self._covered(1)

    @property
    def rarest(self) -> Numbers | None:
        """The most telling word that it holds, beside the most telling of all that were found."""
        telling = self._matches.telling
        return (self._held * telling).max(1) / telling.max() if self._has_words else None

    @property
    def names(self) -> Numbers | None:
        """How many of the names in the question it holds."""
        names = self._matches.names
        return self._held[:, names].mean(1) if names.any() else None

    @property
    def peak(self) -> Numbers | None:
        """How much better its words fit than its neighbours'."""
        if self._apart or not self._has_words:
            return None
        return self._words[self._rows] - np.maximum(self._words[self._before], self._words[self._after])

    @property
    def answers(self) -> Numbers | None:
        """How well the words of the question before it fit."""
        return self._words[self._before] * self._answering if self._has_words and not self._apart else None

    @property
    def dense(self) -> Numbers | None:
        """How near its vector is."""
        return self._all_dense[self._rows] if self._has_dense else None

    @property
    def dense_best(self) -> Numbers | None:
        """The same, beside the nearest of all."""
        return _floored(self._all_dense[self._rows] / self._best_dense) if self._has_dense else None

    @property
    def dense_window(self) -> Numbers | None:
        """How near its vector and its neighbours' are, beside the nearest of all."""
        if self._apart or not self._has_dense:
            return None
        dense = self._all_dense
        return _floored(
            (dense[self._rows] + 0.5 * (dense[self._before] + dense[self._after])) / (2.0 * self._best_dense)
        )

    @property
    def dense_session(self) -> Numbers | None:
        """How near the nearest of its session is, beside the nearest of all."""
        if self._apart or not self._has_dense:
            return None
        pool = self._pool
        rows = session_rows(pool, self._rows) if self._together is None else self._together
        highest = np.full(pool.session_limit, -1.0, np.float32)
        np.maximum.at(highest, pool.session.take(rows), self._all_dense.take(rows))
        return _floored(highest[pool.session[self._rows]] / self._best_dense)

    @property
    def answers_dense(self) -> Numbers | None:
        """How near the vector of the question before it is."""
        if self._apart or not self._has_dense:
            return None
        return np.maximum(self._all_dense[self._before] / self._best_dense, 0.0) * self._answering

    @property
    def speaker(self) -> Numbers | None:
        """1 when the question names its speaker, -1 when it names another."""
        return self._told_apart(self._pool.speakers.named(self._question.terms))

    @property
    def role(self) -> Numbers | None:
        """1 when the question means its speaker by *I* or *you*, -1 when it means another."""
        question = self._question
        asker = question.of_me and not question.of_you
        return self._told_apart(self._pool.speakers.meant(asker=asker, helper=question.of_you))

    @property
    def time(self) -> Numbers | None:
        """How near it is to the times that are asked for: 1 inside, less and less outside."""
        if not self._question.times:
            return None
        times = self._pool.times[self._rows]
        away = np.full(len(times), np.inf)
        for since, until in self._question.times:
            away = np.minimum(away, np.maximum(np.maximum(since - times, times - until), 0.0))
        return np.where(times != 0.0, np.exp(away / (-_NEARBY * _DAY)), 0.0)

    @property
    def when(self) -> Numbers | None:
        """Whether it tells a time, when that is asked."""
        return self._pool.tells_time[self._rows] if self._question.asks_when else None

    @property
    def how_many(self) -> Numbers | None:
        """Whether it tells a number, when that is asked."""
        return self._pool.tells_number[self._rows] if self._question.asks_how_many else None

    @property
    def asks(self) -> Numbers | None:
        """Whether it asks something itself."""
        return None if self._apart else self._pool.asks[self._rows]

    @property
    def follows_question(self) -> Numbers | None:
        """Whether the record before it asks something."""
        return None if self._apart else self._answering

    @property
    def opens(self) -> Numbers | None:
        """Whether it is the first of its session."""
        return None if self._apart else self._before == NOWHERE

    @property
    def length(self) -> Numbers | None:
        """How long it is: the logarithm, 1 at 65,536 characters."""
        return None if self._apart else np.log2(1.0 + self._pool.text_lengths[self._rows]) * (1.0 / 16.0)

    @property
    def importance(self) -> Numbers | None:
        """How important it is held to be."""
        return self._broad("importance")

    @property
    def recency(self) -> Numbers | None:
        """1 for what happened just now, losing ``decay`` every hour."""
        return self._broad("recency")

    @property
    def uses(self) -> Numbers | None:
        """How often it was of use: 0 for never, a half for once, towards 1."""
        return self._broad("uses")

    @property
    def access(self) -> Numbers | None:
        """1 for what was said or recalled just now, losing ``decay`` every hour."""
        return self._broad("access")

    @property
    def worth(self) -> Numbers | None:
        """The importance that it was given, or found to have by its content, whatever its uses."""
        return self._broad("worth")

    @cached_property
    def _counts(self) -> tuple[Numbers, Numbers]:
        """How often each candidate, and each window of it with its neighbours, has each term."""
        places = np.full(self._pool.limit + 1, NOWHERE, np.int32)
        for rows in (self._before, self._after, self._rows):
            places[rows] = 0
        # The last place is where a neighbour that is not there was written.
        places[-1] = NOWHERE
        wanted = np.flatnonzero(places != NOWHERE)
        places[wanted] = np.arange(len(wanted))
        # The last line of the table stays empty: it is what a neighbour that is not there has.
        table = _tally(self._matches, places.take(self._matches.rows), len(wanted) + 1)
        own = table[places[self._rows]]
        return own, own if self._apart else own + table[places[self._before]] + table[places[self._after]]

    @cached_property
    def _held(self) -> Flags:
        return self._counts[0] > 0

    @cached_property
    def _answering(self) -> Numbers:
        return _at(self._pool.asks, self._before)

    def _covered(self, which: int) -> Numbers:
        telling = self._matches.telling
        held = self._held if which == 0 else self._counts[which] > 0
        return product(held, telling) / telling.sum()

    def _told_apart(self, meant: list[int]) -> Numbers | None:
        if not meant:
            return None
        speakers = self._pool.speaker[self._rows]
        mine = speakers == meant[0] if len(meant) == 1 else np.isin(speakers, meant)
        return np.where(mine, 1.0, -1.0)

    def _broad(self, name: str) -> Numbers:
        return broad_signal(name, self._pool, self._question.now, self._decay, self._rows)


def _tally(matches: Matches, places: Integers, count: int) -> Numbers:
    """How often each place has each term; an occurrence without a place is left out."""
    terms = len(matches.telling)
    inside = np.flatnonzero(places != NOWHERE)
    keys = places.take(inside) * terms + matches.terms.take(inside)
    return np.bincount(keys, matches.counts.take(inside), count * terms).astype(np.float32).reshape(count, terms)


def _bm25(counts: Numbers, lengths: Numbers, telling: Floats) -> Numbers:
    """BM25 of texts whose lengths are given relative to the average."""
    return product(counts * (K1 + 1.0) / (counts + (K1 * (1.0 - B) + K1 * B * lengths)[:, None]), telling)


def _at(column: NDArray[Any], rows: Integers) -> Numbers:
    """The column's values at rows, 0 where there is no row."""
    return np.where(rows != NOWHERE, column[rows], 0).astype(np.float32)


def _relative(scores: Numbers) -> Numbers:
    return scores / max(float(scores.max()), TINY)


def _floored(values: Numbers) -> Numbers:
    return np.maximum(values, -1.0)


_COLUMNS = {name: column for column, name in enumerate(SIGNALS)}
