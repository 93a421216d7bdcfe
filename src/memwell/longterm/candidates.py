"""The candidates for an answer: what a question asks, and which memories it is compared with, by words and by vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memwell.language.dates import time_expressions
from memwell.language.segment import query_terms, segment
from memwell.longterm.postings import unpacked
from memwell.longterm.snapshot import NOWHERE, Flags, Floats, Integers, Pool, is_chinese
from memwell.longterm.weights import Weights
from memwell.storage.bm25 import K1, MAX_TERMS, B

# A question put to the memory, and what can be read off it once, before any record is looked at.


HAN_WEIGHT = 0.3
"""What a single Chinese character counts beside the pairs, which say more."""

_LONG, _LONG_CHINESE = 300, 60
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_WHEN = re.compile(
    r"\bwhen\b|\bhow long ago\b|\b(?:what|which) (?:date|day|month|year|time|week|season)\b"
    r"|什么时[候间]|何时|哪[天年月]|几[号月点]|多久",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"\bhow (?:many|much|often|old|long)\b|多少|几[个次天年本名位条张件岁]|多[久大长]", re.IGNORECASE
)
_I = re.compile(r"\b(?:i|my|me|mine|myself|we|our|us)\b|我", re.IGNORECASE)
_YOU = re.compile(r"\b(?:you|your|yours)\b|你|您", re.IGNORECASE)
_NAME = re.compile(r"(?<![.!?] )(?<!\A)\b[A-Z][\w'-]+")


_FUNCTION_WORDS = frozenset(
    segment(
        """a an the this that these those there here it its itself i me my mine myself we us our ours you your yours he him
        his she her hers they them their theirs who whom whose which what when where why how and or but nor so if then than
        because as while of to in on at by for from with without about into onto over under up down out off between during
        is am are was were be been being do does did doing done has have had having can could will would shall should may
        might must not no yes any some all both each every other another such just also only very too much many more most
        ever still again s t d ll re ve m isnt arent wasnt werent dont doesnt didnt cant couldnt wont wouldnt
        please tell remind remember know"""
    )
)
"""Words that say how something is asked and not what: in a small memory they are too rare to be told by their frequency."""
_FRAME_WORDS = frozenset(
    segment(
        """second minute hour day week month year date ago passed since until first last latest earliest recent recently
        currently current past previous before after total number amount count order time times kind type sort name long
        often suggest suggestion recommend recommendation tip idea advice different few wondering conversation chat
        mention mentioned say said talk talked discuss discussed"""
    )
)
"""Words that mostly say what form the answer should have."""
_FRAME_WEIGHT = 0.3
_CHINESE_FUNCTION = frozenset(
    "的了是我你他她它们在有和与就都也还很吗呢吧啊呀么这那哪个不没到要会能可以什怎为对说去来上下里把被给让跟从"
)


class Question(NamedTuple):
    """What is asked, and what follows from its words alone."""

    text: str
    now: float
    vector: NDArray[np.float32] | None
    terms: tuple[str, ...]
    term_weights: NDArray[np.float32]
    name_terms: frozenset[str]
    """Terms of the names in the question."""
    times: tuple[tuple[float, float], ...]
    """The stretches of time it speaks of, in seconds since 1970."""
    asks_when: bool
    asks_how_many: bool
    of_me: bool
    of_you: bool

    @classmethod
    def of(cls, text: str, *, now: float, vector: NDArray[Any] | None = None) -> Question:
        """Read a question. Without a vector it is looked for by its words alone."""
        terms = weighted_terms(text)
        # A long text is talk, not a question: what it asks and when it speaks of says little about what it needs.
        asked = "" if len(text) > (_LONG_CHINESE if is_chinese(text) else _LONG) else text
        return cls(
            text,
            now,
            None if vector is None else np.asarray(vector, np.float32),
            tuple(terms),
            np.fromiter(terms.values(), np.float32, len(terms)),
            frozenset(query_terms(" ".join(_NAME.findall(text)))),
            _times(asked, now),
            _WHEN.search(asked) is not None,
            _HOW_MANY.search(asked) is not None,
            _I.search(text) is not None,
            _YOU.search(text) is not None,
        )


def _times(text: str, now: float) -> tuple[tuple[float, float], ...]:
    """The stretches of the past that are named. One that holds the present, such as *today*, says nothing of a record."""
    moment = datetime.fromtimestamp(now, UTC)
    found = time_expressions(text, now=moment)
    return tuple(
        (one.since.timestamp(), one.until.timestamp())
        for one in found
        if one.since and one.until and one.until <= moment
    )


def weighted_terms(text: str) -> dict[str, float]:
    """The terms to look for, each once, with what a match counts."""
    terms = {term: _FRAME_WEIGHT if term in _FRAME_WORDS else 1.0 for term in query_terms(text)}
    if not text.isascii():
        for char in _HAN.findall(text):
            terms.setdefault(char, HAN_WEIGHT)
    telling = {term: weight for term, weight in terms.items() if not _is_function(term)}
    return dict(list((telling or terms).items())[:MAX_TERMS])


def _is_function(term: str) -> bool:
    return term in _FUNCTION_WORDS or _CHINESE_FUNCTION.issuperset(term)


# The question against every record of a pool, by words and by vectors: this gives the candidates.


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


# The candidates of a large pool, without comparing every vector.


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
_ROWS_SAMPLED = 32
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
        rows = chosen(self._first(likely), usable, max(_SHORTLIST, 2 * count), _ROWS_SAMPLED)
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
