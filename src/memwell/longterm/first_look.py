"""The candidates of a large pool, without comparing every vector.

Words are looked at in all rows, those that many records have by columns of their counts. How near a vector is, its signs
say nearly; the rows that are best by both are compared as they are in a small pool, and so are the neighbours and the
sessions of those that become candidates. What a candidate scores is therefore the same number as in a small pool.
"""

from __future__ import annotations

import numpy as np

from memwell.longterm.comparing import (
    CANDIDATES,
    NEIGHBOUR,
    SESSION,
    TINY,
    Compared,
    Found,
    Matches,
    Numbers,
    Rows,
    add_broad,
    chosen,
    damping,
    found_terms,
    is_near_to_any,
    plain_scores,
    scored,
    session_rows,
)
from memwell.longterm.pool import NOWHERE, Flags, Floats, Pool
from memwell.longterm.postings import unpacked
from memwell.longterm.question import Question
from memwell.longterm.weights import Weights
from memwell.storage.bm25 import K1

LARGE = 20_000
"""A pool with so many rows is large."""

_SHORTLIST = 1_000
"""So many rows have their vectors compared before the candidates are chosen."""
_LEFT_OUT = 0.125
"""So much of what is telling in a question is left to the shortlist: its most common words, which most rows have."""
_SIGNS_SUFFICE = 128
"""Vectors of fewer numbers are compared as they are: their signs say too little."""
_DOUBT = 6.0
"""Over the root of the dimensions: a row may be nearer than its signs say by so much. It is four times the usual error."""
_SAMPLE_OF = 32
_FARTHEST = 64
_FEW = 4
"""Rows that have any of the words are few when they are less than one in so many."""
_OF_SESSIONS = ("session", "dense_session")


def look(
    pool: Pool, question: Question, weights: Weights, usable: Flags, count: int = CANDIDATES
) -> tuple[Compared, Rows]:
    """Compare the rows worth it, and choose at most ``count`` candidates among the usable ones."""
    found = found_terms(pool, question)
    choice = _Choice(pool, question, weights, found)
    likely = _likely_dots(pool, question) if is_near_to_any(pool, question) else None
    rows = choice.best(usable, likely, count)
    return _compared(pool, question, weights, found, rows, likely), rows


class _Choice:
    """What speaks for looking at each row closely: at first nearly, then exactly for those on a shortlist."""

    def __init__(self, pool: Pool, question: Question, weights: Weights, found: Found) -> None:
        self._pool, self._question, self._weights = pool, question, weights
        self._left_out: list[tuple[str, float]] = []
        self._scale = 0.0
        self._base = np.zeros(pool.limit, np.float32)
        if weights.count_words and found.terms and not weights.plain:
            self._by_words(found)
        if not weights.plain:
            add_broad(self._base, pool, question, weights)

    def _by_words(self, found: Found) -> None:
        terms = sorted(zip(found.telling.tolist(), found.terms, strict=True))
        spared = _LEFT_OUT * sum(telling for telling, _ in terms)
        words = np.zeros(self._pool.limit + 1, np.float32)
        lengths = damping(self._pool, slice(self._pool.limit))
        for telling, term in terms:
            spared -= telling
            if spared > 0.0 and self._pool.postings.column(term, self._pool.limit) is not None:
                self._left_out.append((term, telling))
            else:
                _add_term(self._pool, words, term, telling, lengths)
        self._base, self._scale = _with_those_around(self._pool, words)

    def best(self, usable: Flags, likely: Floats | None, count: int) -> Rows:
        """The candidates, in order."""
        rows = chosen(self._first(likely), usable, max(_SHORTLIST, 2 * count), _SAMPLE_OF)
        if len(rows) <= count:
            return rows
        exact = self._exact(rows, likely)
        return np.sort(rows[np.argpartition(exact, len(rows) - count)[-count:]])

    def _first(self, likely: Floats | None) -> Floats:
        """The choice of all rows, with what is likely for their vectors."""
        limit = self._pool.limit
        if self._weights.plain:
            near = np.zeros(limit, np.float32) if likely is None else likely
            return plain_scores(self._pool, self._question, self._weights, near, slice(limit))
        if likely is None:
            return self._base.copy()
        first = likely * np.float32(1.0 / max(float(likely.max()) - min(float(likely.min()), 0.0), TINY))
        first += self._base
        return first

    def _exact(self, rows: Rows, likely: Floats | None) -> Floats:
        pool, vector = self._pool, self._question.vector
        near, lowest = np.zeros(len(rows), np.float32), 0.0
        if likely is not None and vector is not None:
            far = np.flatnonzero(likely <= float(likely.min()) + _doubt(pool, likely) / 2.0)[:_FARTHEST]
            near, lowest = pool.vectors.dots_of(rows, vector), float(pool.vectors.dots_of(far, vector).min())
        if self._weights.plain:
            return plain_scores(pool, self._question, self._weights, near, rows)
        choice = self._base[rows]
        if self._left_out:
            choice += self._words_left_out(rows)
        choice += near * np.float32(1.0 / max(float(near.max()) - min(lowest, 0.0), TINY))
        return choice

    def _words_left_out(self, rows: Rows) -> Floats:
        """What the most common words add to rows, with those of their neighbours."""
        pool = self._pool
        found = np.zeros(len(rows), np.float32)
        for part, some in ((1.0, rows), (NEIGHBOUR, pool.previous.take(rows)), (NEIGHBOUR, pool.following.take(rows))):
            lengths, there = damping(pool, some), some != NOWHERE
            for term, telling in self._left_out:
                column = pool.postings.column(term, pool.limit)
                if column is not None:
                    counts = column.take(some).astype(np.float32) * there
                    found += counts * np.float32(part * self._scale * telling * (K1 + 1.0)) / (counts + lengths)
        return found


def _add_term(pool: Pool, words: Floats, term: str, telling: float, lengths: Floats) -> None:
    """Add to each row what it scores by a term."""
    telling *= K1 + 1.0
    column = pool.postings.column(term, pool.limit)
    if column is None:
        rows, whole = unpacked(pool.postings[term])
        counts, rows = whole.astype(np.float32), rows.astype(np.intp)
        words[rows] += counts * np.float32(telling) / (counts + lengths[rows])
    else:
        counts = column[: pool.limit].astype(np.float32)
        damped = counts + lengths
        counts *= np.float32(telling)
        counts /= damped
        words[:-1] += counts


def _with_those_around(pool: Pool, words: Floats) -> tuple[Floats, float]:
    """What words say for rows, with those of their neighbours and sessions, and the factor by which they count."""
    limit = pool.limit
    present = words != 0.0
    few = int(np.count_nonzero(present)) * _FEW < limit
    rows = np.flatnonzero(present) if few else np.zeros(0, np.intp)
    own = words[rows] if few else words[:limit]
    # What goes to or comes from a neighbour that is not there is at the last place.
    before, after = (column.take(rows) if few else column[:limit] for column in (pool.previous, pool.following))
    choice = words.copy()
    if few:
        part = np.float32(NEIGHBOUR) * own
        np.add.at(choice, before, part)
        np.add.at(choice, after, part)
    else:
        beside = words.take(before)
        beside += words.take(after)
        beside *= np.float32(NEIGHBOUR)
        choice[:limit] += beside
    choice = choice[:limit]
    scale = 1.0 / max(float(choice.max()), TINY)
    choice *= np.float32(scale)
    sessions = pool.session[:limit]
    together = np.bincount((sessions.take(rows) if few else sessions).astype(np.intp), own, pool.session_limit)
    together *= SESSION / max(float(together.max()), TINY)
    choice += together.astype(np.float32).take(sessions)
    return choice, scale


def _likely_dots(pool: Pool, question: Question) -> Floats:
    """About the products of every vector with the question's; 0 where there is none."""
    vector, limit = question.vector, pool.limit
    assert vector is not None, "without one nothing is near"
    if pool.dimensions < _SIGNS_SUFFICE:
        return pool.vectors.dots(vector, limit)
    return pool.vectors.likely_dots(vector, limit)


def _compared(
    pool: Pool, question: Question, weights: Weights, found: Found, rows: Rows, likely: Floats | None
) -> Compared:
    """All that the signals of the candidates will ask for, and nothing of other rows."""
    limit = pool.limit
    wanted = np.zeros(limit + 1, np.bool_)
    for some in (rows, pool.previous[rows], pool.following[rows]):
        wanted[some] = True
    # The last place is where a neighbour that is not there was written.
    wanted[-1] = False
    near = among = np.flatnonzero(wanted)
    together: Rows | None = None
    if not weights.curves.keys().isdisjoint(_OF_SESSIONS):
        together = session_rows(pool, rows)
        wanted[together] = True
        among = np.flatnonzero(wanted)
    matches, places = _matches_among(pool, found, wanted, among)
    words, dense = np.zeros(limit + 1, np.float32), np.zeros(limit + 1, np.float32)
    words[among] = np.bincount(places, matches.scores, len(among))
    if likely is not None and question.vector is not None:
        # A row that is not compared is not the nearest of its session.
        dense[:limit] = -1.0
        if together is not None:
            wanted[:] = False
            for some in (near, _may_be_nearest(pool, together, likely)):
                wanted[some] = True
            near = np.flatnonzero(wanted)
        dense[near] = pool.vectors.dots_of(near, question.vector)
    return Compared(matches, words, dense, together)


def _doubt(pool: Pool, likely: Floats) -> float:
    """By how much two products may differ from what is likely for them."""
    return _DOUBT / pool.dimensions**0.5 * max(float(likely.max(initial=0.0)), -float(likely.min(initial=0.0)))


def _may_be_nearest(pool: Pool, rows: Rows, likely: Floats) -> Rows:
    """Those rows that may be the nearest of their session."""
    sessions, near = pool.session.take(rows), likely.take(rows)
    best = np.full(pool.session_limit, -np.inf, np.float32)
    np.maximum.at(best, sessions, near)
    short_of_it = best.take(sessions) - near
    places = np.flatnonzero(short_of_it <= _doubt(pool, near))
    if len(places) > _SHORTLIST:
        places = places[np.argpartition(short_of_it[places], _SHORTLIST)[:_SHORTLIST]]
    return rows[places]


def _matches_among(pool: Pool, found: Found, wanted: Flags, among: Rows) -> tuple[Matches, Rows]:
    """Where the terms of a question occur among the wanted rows, given as flags and as rows; and the place of each."""
    places: list[Rows] = [np.zeros(0, np.intp)]
    counts: list[Numbers] = [np.zeros(0, np.int32)]
    for term in found.terms:
        column = pool.postings.column(term, pool.limit)
        if column is None:
            where, how_often = unpacked(pool.postings[term])
            inside = np.flatnonzero(wanted.take(where))
            places.append(np.searchsorted(among, where[inside]))
        else:
            how_often = column.take(among)
            inside = np.flatnonzero(how_often != 0)
            places.append(inside)
        counts.append(how_often.take(inside))
    sizes = np.array([len(some) for some in places[1:]])
    whole = np.concatenate(places)
    return scored(pool, found, among.take(whole).astype(np.int32), np.concatenate(counts), sizes), whole


__all__ = ["LARGE", "look"]
