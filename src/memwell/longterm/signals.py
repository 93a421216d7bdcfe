"""The signals of ranking: numbers that say how well a record fits a query.

Words and vectors are compared over the whole snapshot, which gives the candidates; the other signals are computed for these
only. Scores of words depend on how many and how rare the query's words are, so they are relative to the best candidate,
which has 1 unless it has only little of the query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memwell._native import product
from memwell.longterm.candidates import (
    CANDIDATES,
    LARGE,
    NEIGHBOUR,
    TINY,
    Compared,
    Matches,
    Numbers,
    ParsedQuery,
    broad_signal,
    compare,
    compare_likely,
    session_rows,
)
from memwell.longterm.snapshot import NOWHERE, Flags, Floats, Integers, Snapshot
from memwell.longterm.weights import BROAD, SIGNALS, Weights
from memwell.storage.parts import K1, B

BestMatches: TypeAlias = Callable[[Sequence[str]], "Floats | None"]
"""How well each piece of the query is matched by each record, given by id: a row a piece, a column a record.

A column of NaN is unknown; None when all are.
"""

_DAY = 86_400.0
_ENOUGH = 0.7
"""The share of the query's few weightiest words that is a full match, if no candidate has more."""
_NEARBY = 10.0  # days around the requested time within which a record still fits


class SignalTable(NamedTuple):
    """The rows of the candidates and their signals, a column for each of ``SIGNALS``."""

    rows: NDArray[np.intp]
    signals: Floats


def observe(
    snapshot: Snapshot,
    question: ParsedQuery,
    weights: Weights,
    allowed: Flags | None = None,
    count: int = CANDIDATES,
    late: BestMatches | None = None,
) -> SignalTable:
    """The signals of the candidates among the allowed rows (a flag for every row below the limit).

    There are at most ``count`` candidates. A signal without a curve in the weights is not computed and stays 0. ``late``
    compares the pieces of the query with those of records.
    """
    snapshot.vectors.share_from(question.shared_from)
    usable = snapshot.alive[: snapshot.limit] if allowed is None else snapshot.alive[: snapshot.limit] & allowed
    compared, rows = (compare_likely if snapshot.limit >= LARGE else compare)(
        snapshot, question, weights, usable, count
    )
    signals = np.zeros((len(SIGNALS), len(rows)), np.float32)
    if len(rows):
        candidates = Candidates(snapshot, question, weights.decay, compared, rows, late)
        for name in weights.piecewise.names:
            found = candidates.broad(name) if name in BROAD else getattr(candidates, name)
            if found is not None:
                signals[_COLUMNS[name]] = found
    return SignalTable(rows, signals.T)


class Candidates:
    """The candidates of a query; each property is a signal: a number for each candidate, or None where it is unknown."""

    def __init__(
        self,
        snapshot: Snapshot,
        question: ParsedQuery,
        decay: float,
        compared: Compared,
        rows: NDArray[np.intp],
        late: BestMatches | None = None,
    ) -> None:
        self._best_matches = late
        self._snapshot, self._question, self._decay, self._rows = snapshot, question, decay, rows
        self._matches, words, dense, self._together = compared
        self._before, self._after = snapshot.previous[rows], snapshot.following[rows]
        # Without neighbours the signals about them would only repeat those of the record.
        self._apart = int(self._before.max()) == NOWHERE == int(self._after.max())
        self._has_words = len(self._matches.rows) > 0
        # Where the best candidate shares one common word with the query, this is no full match.
        best = max(float(words[rows].max()), _ENOUGH * self._matches.weightiest, TINY)
        self._words = words * np.float32(1.0 / best)
        self._all_dense = dense
        self._has_dense = bool(dense.any())
        self._best_dense = max(float(dense[rows].max()), TINY)

    @property
    def words(self) -> Numbers | None:
        """The BM25 score of its words."""
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
        """The BM25 score of the record and its two neighbours as one text."""
        if self._apart or not self._has_words:
            return None
        snapshot = self._snapshot
        lengths = (
            snapshot.lengths[self._rows] + _at(snapshot.lengths, self._before) + _at(snapshot.lengths, self._after)
        )
        average = 3.0 * snapshot.total_words / len(snapshot)
        return _relative(_bm25(self._counts[1], lengths / average, self._matches.telling))

    @property
    def session(self) -> Numbers | None:
        """The BM25 score of its whole session as one text."""
        if self._apart or not self._has_words:
            return None
        snapshot, matches = self._snapshot, self._matches
        own = snapshot.session[self._rows]
        places = np.full(snapshot.session_limit, NOWHERE, np.int32)
        places[own] = 0
        sessions = np.flatnonzero(places != NOWHERE)
        places[sessions] = np.arange(len(sessions))
        counts = _tally(matches, places.take(snapshot.session.take(matches.rows)), len(sessions))
        average = snapshot.total_words / snapshot.session_count
        return _relative(_bm25(counts, snapshot.session_lengths[sessions] / average, matches.telling)[places[own]])

    @property
    def coverage(self) -> Numbers | None:
        """The share of the query's weight, of all its words, in the words it has."""
        return self._covered(0) if self._has_words else None

    @property
    def window_coverage(self) -> Numbers | None:
        """The same for the record and its neighbours."""
        return None if self._apart or not self._has_words else self._covered(1)

    @property
    def rarest(self) -> Numbers | None:
        """The weight of its rarest matching word, relative to the rarest word found."""
        telling = self._matches.telling
        return (self._held * telling).max(1) / telling.max() if self._has_words else None

    @property
    def names(self) -> Numbers | None:
        """The share of the query's names that it has."""
        names = self._matches.names
        return self._held[:, names].mean(1) if names.any() else None

    @property
    def peak(self) -> Numbers | None:
        """How much higher its words score than its neighbours'."""
        if self._apart or not self._has_words:
            return None
        return self._words[self._rows] - np.maximum(self._words[self._before], self._words[self._after])

    @property
    def answers(self) -> Numbers | None:
        """The word score of the question before it."""
        return self._words[self._before] * self._answering if self._has_words and not self._apart else None

    @property
    def dense(self) -> Numbers | None:
        """The dot product of its vector with the query's."""
        return self._all_dense[self._rows] if self._has_dense else None

    @property
    def dense_best(self) -> Numbers | None:
        """The same, relative to the nearest candidate."""
        return _floored(self._all_dense[self._rows] / self._best_dense) if self._has_dense else None

    @property
    def dense_window(self) -> Numbers | None:
        """The same for the record and its neighbours, relative to the nearest candidate."""
        if self._apart or not self._has_dense:
            return None
        dense = self._all_dense
        return _floored(
            (dense[self._rows] + 0.5 * (dense[self._before] + dense[self._after])) / (2.0 * self._best_dense)
        )

    @property
    def dense_session(self) -> Numbers | None:
        """The same for the nearest record of its session, relative to the nearest candidate."""
        if self._apart or not self._has_dense:
            return None
        snapshot = self._snapshot
        rows = session_rows(snapshot, self._rows) if self._together is None else self._together
        highest = np.full(snapshot.session_limit, -1.0, np.float32)
        np.maximum.at(highest, snapshot.session.take(rows), self._all_dense.take(rows))
        return _floored(highest[snapshot.session[self._rows]] / self._best_dense)

    @property
    def answers_dense(self) -> Numbers | None:
        """The vector score of the question before it."""
        if self._apart or not self._has_dense:
            return None
        return np.maximum(self._all_dense[self._before] / self._best_dense, 0.0) * self._answering

    @property
    def late(self) -> Numbers | None:
        """The mean, over the pieces of the query, of the best match among its own."""
        return None if self._late is None else self._late[0]

    @property
    def late_best(self) -> Numbers | None:
        """The same, relative to the best candidate."""
        return None if self._late is None else _relative(self._late[0])

    @property
    def late_window(self) -> Numbers | None:
        """The same for the record and the one before it as one text."""
        return None if self._late is None or self._apart else _relative(self._late[1])

    @property
    def speaker(self) -> Numbers | None:
        """1 when the query names its speaker, -1 when it names another."""
        return self._speaker_match(self._snapshot.speakers.named(self._question.terms))

    @property
    def role(self) -> Numbers | None:
        """1 when the query means its speaker by *I* or *you*, -1 when it means another."""
        question = self._question
        asker = question.of_me and not question.of_you
        return self._speaker_match(self._snapshot.speakers.meant(asker=asker, helper=question.of_you))

    @property
    def time(self) -> Numbers | None:
        """1 inside the requested times, and less the further away."""
        if not self._question.times:
            return None
        times = self._snapshot.times[self._rows]
        away = np.full(len(times), np.inf)
        for since, until in self._question.times:
            away = np.minimum(away, np.maximum(np.maximum(since - times, times - until), 0.0))
        return np.where(times != 0.0, np.exp(away / (-_NEARBY * _DAY)), 0.0)

    @property
    def when(self) -> Numbers | None:
        """Whether it mentions a time, when the query asks for one."""
        return self._snapshot.tells_time[self._rows] if self._question.asks_when else None

    @property
    def how_many(self) -> Numbers | None:
        """Whether it mentions a number, when the query asks for one."""
        return self._snapshot.tells_number[self._rows] if self._question.asks_how_many else None

    @property
    def asks(self) -> Numbers | None:
        """Whether it is a question."""
        return None if self._apart else self._snapshot.asks[self._rows]

    @property
    def follows_question(self) -> Numbers | None:
        """Whether the record before it is a question."""
        return None if self._apart else self._answering

    @property
    def opens(self) -> Numbers | None:
        """Whether it is the first of its session."""
        return None if self._apart else self._before == NOWHERE

    @property
    def length(self) -> Numbers | None:
        """The logarithm of its length, 1 at 65,536 characters."""
        return None if self._apart else np.log2(1.0 + self._snapshot.text_lengths[self._rows]) * (1.0 / 16.0)

    @cached_property
    def _late(self) -> Floats | None:
        """Late interaction of each candidate: alone, and with the record before it as one text."""
        if self._best_matches is None or not self._has_dense:
            return None
        # A missing neighbour is the record itself.
        rows = self._rows
        before = np.where(self._before == NOWHERE, rows, self._before)
        wanted, places = np.unique(np.concatenate((rows, before)), return_inverse=True)
        best = self._best_matches([self._snapshot.ids[row] for row in wanted.tolist()])
        if best is None:
            return None
        best[:, ~self._snapshot.has_vector[wanted]] = np.nan
        own, earlier = (best[:, part] for part in np.split(places, 2))
        unknown = np.isnan(own[0])
        if unknown.all():
            return None
        scores = np.stack((own.sum(0), np.fmax(own, earlier).sum(0)))
        if unknown.any():
            # As far from the others as its vector is: a text of another language must not lose for having no tokens.
            dense = self._all_dense[rows]
            scores[:, unknown] = scores[:, ~unknown].mean(1, keepdims=True) + dense[unknown] - dense[~unknown].mean()
        return scores

    @cached_property
    def _counts(self) -> tuple[Numbers, Numbers]:
        """The count of each term in each candidate, and in each candidate with its neighbours."""
        places = np.full(self._snapshot.limit + 1, NOWHERE, np.int32)
        for rows in (self._before, self._after, self._rows):
            places[rows] = 0
        # The last place was set for missing neighbours.
        places[-1] = NOWHERE
        wanted = np.flatnonzero(places != NOWHERE)
        places[wanted] = np.arange(len(wanted))
        # The last row of the table stays empty, for missing neighbours.
        table = _tally(self._matches, places.take(self._matches.rows), len(wanted) + 1)
        own = table[places[self._rows]]
        return own, own if self._apart else own + table[places[self._before]] + table[places[self._after]]

    @cached_property
    def _held(self) -> Flags:
        return self._counts[0] > 0

    @cached_property
    def _answering(self) -> Numbers:
        return _at(self._snapshot.asks, self._before)

    def _covered(self, which: int) -> Numbers:
        telling = self._matches.telling
        held = self._held if which == 0 else self._counts[which] > 0
        return product(held, telling) / self._matches.asked

    def _speaker_match(self, meant: list[int]) -> Numbers | None:
        if not meant:
            return None
        speakers = self._snapshot.speaker[self._rows]
        mine = speakers == meant[0] if len(meant) == 1 else np.isin(speakers, meant)
        return np.where(mine, 1.0, -1.0)

    def broad(self, name: str) -> Numbers:
        """A signal that does not depend on the query."""
        return broad_signal(name, self._snapshot, self._question.now, self._decay, self._rows)


def _tally(matches: Matches, places: Integers, count: int) -> Numbers:
    """The count of each term at each place; occurrences without a place are left out."""
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
