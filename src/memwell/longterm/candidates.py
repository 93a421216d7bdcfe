"""Candidates of a query: what the query asks for, and which records of a snapshot are worth ranking for it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memwell.language.dates import time_expressions
from memwell.language.segment import query_terms, segment
from memwell.longterm.postings import packed, unpacked
from memwell.longterm.snapshot import NOWHERE, Flags, Floats, Integers, Snapshot, is_chinese
from memwell.longterm.statements import spellings
from memwell.longterm.traits import USED
from memwell.longterm.weights import Weights
from memwell.storage.parts import K1, MAX_TERMS, B

# The query, and what can be read from it before any record is looked at.

HAN_WEIGHT = 0.3
"""The weight of a single Chinese character compared with a pair."""

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
_IN_PASSING = re.compile(
    r"\b(?:can|could|would|will)(?:n't)? you\b|\byou (?:can|could|would|may|might)\b|\b(?:thank|as) you\b"
    r"|\bdo(?:n't)? you (?:happen to |still )?(?:know|think|have|remember|recall|mind)\b"
    r"|\b(?:t(?:ell|old)|asked?|show(?:ed)?|g[ai]ve) you\b"
    r"|\b(?:say|said|mention(?:ed)?|talk(?:ed)?|speak|spoke) (?:to|with) you\b"
    r"|\b(?:tell|remind|show|give|help|let) (?:me|us)\b"
    r"|[你您]还?(?:能|可|会不会|是否|知道|知不知道|觉得|认为|有没有|有什么|有啥|记得|记不记得)|(?:请|麻烦|让)[你您]"
    r"|(?:告诉过?|[跟和对向])[你您]|(?:告诉|提醒|帮)我",
    re.IGNORECASE,
)
"""Where *I* and *you* do not say whose words are meant: in a request, and for the one spoken to."""
_LEAST_SPELT, _SHORT = 3, 5
"""Names that are shorter differ from too many words by one letter, and short ones may be others: *Dan* and *Jan*."""
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
"""Words of how something is asked: a small memory has too few texts to detect them by their frequency."""
_FRAME_WORDS = frozenset(
    segment(
        """second minute hour day week month year date ago passed since until first last latest earliest recent recently
        currently current past previous before after total number amount count order time times kind type sort name long
        often suggest suggestion recommend recommendation tip idea advice different few wondering conversation chat
        mention mentioned say said talk talked discuss discussed"""
    )
)
"""Words that mostly say which form the answer should have."""
_FRAME_WEIGHT = 0.3
_HAPPENED = re.compile(
    r"\b(?:happen(?:s|ed|ing)?|going on|went on|go|going|events?|news?|things?|stuff|today|anything|something)\b"
    r"|发生过?|做过?|干[嘛了]|[聊谈讲]过?|事情?|怎么样|如何|什么|哪些|有啥",
    re.IGNORECASE,
)
CHINESE_FUNCTION = frozenset(
    "的了是我你他她它们在有和与就都也还很吗呢吧啊呀么这那哪个不没到要会能可以什怎为对说去来上下里把被给让跟从"
)


class ParsedQuery(NamedTuple):
    """A query, and what follows from its words alone."""

    text: str
    now: float
    vector: NDArray[np.float32] | None
    terms: tuple[str, ...]
    term_weights: NDArray[np.float32]
    name_terms: frozenset[str]
    """The terms of the names in the query."""
    times: tuple[tuple[float, float], ...]
    """The periods it mentions, in seconds since 1970."""
    asks_when: bool
    asks_how_many: bool
    of_me: bool
    of_you: bool
    shared_from: int | None = None
    """From which number on its vector is comparable across languages, as its embedder says."""
    of_a_time: bool = False
    """Whether a period is all that it names, as in *what happened yesterday?*, or all but who spoke then."""
    besides: frozenset[str] = frozenset()
    """The terms that it names besides its periods."""

    @classmethod
    def of(
        cls, text: str, *, now: float, vector: NDArray[Any] | None = None, shared_from: int | None = None
    ) -> ParsedQuery:
        """Parse a query. Without a vector it is searched by its words alone."""
        times, rest = _times(_asked(text), now)
        besides = _named(rest) if times else frozenset[str]()
        return _read(text)._replace(
            now=now,
            vector=None if vector is None else np.asarray(vector, np.float32),
            times=times,
            shared_from=shared_from,
            of_a_time=bool(times) and not besides,
            besides=besides,
        )

    def understood(self, snapshot: Snapshot) -> ParsedQuery:
        """The query with its names spelt as they are there; whether it asks what a speaker said in a period."""
        query = self._spelt(snapshot)
        if query.besides and all(snapshot.speakers.named([term]) for term in query.besides):
            return query._replace(of_a_time=True)
        return query

    def _spelt(self, snapshot: Snapshot) -> ParsedQuery:
        """The query with each name that no record has spelt as the one term there that differs by a letter."""
        terms = [
            _known_spelling(term, snapshot) if term in self.name_terms and term not in snapshot.postings else term
            for term in self.terms
        ]
        if terms == list(self.terms) or len(set(terms)) < len(terms):
            return self
        called = [new for old, new in zip(self.terms, terms, strict=True) if old in self.name_terms]
        return self._replace(terms=tuple(terms), name_terms=frozenset(called))


@lru_cache(256)
def _read(text: str) -> ParsedQuery:
    """A query without what depends on the time and the embedder."""
    terms, asked, meant = weighted_terms(text), _asked(text), _IN_PASSING.sub(" ", text)
    return ParsedQuery(
        text,
        0.0,
        None,
        tuple(terms),
        np.fromiter(terms.values(), np.float32, len(terms)),
        frozenset(query_terms(" ".join(_NAME.findall(text)))),
        (),
        _WHEN.search(asked) is not None,
        _HOW_MANY.search(asked) is not None,
        _I.search(meant) is not None,
        _YOU.search(meant) is not None,
    )


def _asked(text: str) -> str:
    """The text; nothing if it is long. That is no question, and the times and numbers in it say little of what it needs."""
    return "" if len(text) > (_LONG_CHINESE if is_chinese(text) else _LONG) else text


def _known_spelling(name: str, snapshot: Snapshot) -> str:
    """A speaker, or else the only term of the records, that differs by one letter; the name itself if there is none."""
    if len(name) < _LEAST_SPELT:
        return name
    known = {other for other in snapshot.postings.known(spellings(name)) if not is_function_word(other)}
    if len(name) <= _SHORT:
        known = {other for other in known if other[0] == name[0]}
    speakers = {other for other in known if snapshot.speakers.named([other])}
    return (speakers or known).pop() if len(speakers or known) == 1 else name


def _times(text: str, now: float) -> tuple[tuple[tuple[float, float], ...], str]:
    """The past periods that a text mentions, and the text without them.

    A period that includes the present, such as *today*, says nothing.
    """
    moment = datetime.fromtimestamp(now, UTC)
    found = [
        (one.start, one.end, one.since.timestamp(), one.until.timestamp())
        for one in time_expressions(text, now=moment)
        if one.since and one.until and one.until <= moment
    ]
    besides = text
    for start, end, *_ in reversed(found):
        besides = f"{besides[:start]} {besides[end:]}"
    return tuple((since, until) for _, _, since, until in found), besides


def _named(text: str) -> frozenset[str]:
    """The terms of a text that are no words of asking, nor of talk or events in general."""
    terms = query_terms(_HAPPENED.sub(" ", text))
    return frozenset(term for term in terms if not is_function_word(term) and term not in _FRAME_WORDS)


def weighted_terms(text: str) -> dict[str, float]:
    """The terms to search for and their weights."""
    terms = {term: _FRAME_WEIGHT if term in _FRAME_WORDS else 1.0 for term in query_terms(text)}
    if not text.isascii():
        for char in _HAN.findall(text):
            terms.setdefault(char, HAN_WEIGHT)
    telling = {term: weight for term, weight in terms.items() if not is_function_word(term)}
    return dict(list((telling or terms).items())[:MAX_TERMS])


def is_function_word(term: str) -> bool:
    """Whether a term says how something is asked, and not what."""
    return term in _FUNCTION_WORDS or CHINESE_FUNCTION.issuperset(term)


# Comparing the query with every row of a snapshot.

Numbers = NDArray[Any]
Rows = NDArray[np.intp]

CANDIDATES = 150
"""How many records are ranked."""

NEIGHBOUR = 0.3
"""The weight of a neighbour's words."""
SESSION = 0.3
"""The weight of a session's words in the choice of candidates."""
TINY = 1e-9
_BROAD = 2.0  # the highest weight of a signal that does not depend on the query, in the choice
_HOUR = 3_600.0
_SAMPLE_OF = 8
_FEW_TERMS = 5  # a record cannot have all words of a long query


class FoundTerms(NamedTuple):
    """The terms of a query that occur in a snapshot, and how many records have each."""

    terms: Sequence[str]
    postings: Sequence[Integers]
    """The packed rows and counts of each term."""
    sizes: Numbers
    telling: Floats
    asked: float
    """The weight of all terms of the query, also of those that no record has."""
    weightiest: float
    """The weight of its few weightiest terms."""


class Matches(NamedTuple):
    """The occurrences of a query's terms: row, its place among the compared, count, number of the term, score."""

    rows: Integers
    places: Integers | Rows
    counts: Floats
    terms: Integers
    scores: Floats
    telling: Floats
    """The weight of each term, by its number."""
    asked: float
    """The weight of all terms of the query, also of those that no record has."""
    weightiest: float
    """The weight of its few weightiest terms."""


class Compared(NamedTuple):
    """Scores of the compared rows for a query, by place; an extra last number, 0, stands for a missing neighbour."""

    matches: Matches
    words: Floats
    dense: Floats
    rows: Rows | None = None
    """The compared rows, in order; None when all are."""
    together: Rows | None = None
    """All rows of the candidates' sessions, if they are known already."""

    def places(self, rows: Integers | Rows) -> Integers | Rows:
        """The places of compared rows, and the last one for a missing neighbour."""
        return rows if self.rows is None else np.where(rows == NOWHERE, NOWHERE, np.searchsorted(self.rows, rows))


def chosen(choice: Floats, usable: Flags, times: Numbers, count: int = CANDIDATES, sample_of: int = _SAMPLE_OF) -> Rows:
    """The usable rows with the highest choice, in order; of equal ones the latest. Overwrites the others."""
    if len(choice) <= count:
        return np.flatnonzero(usable)
    if not usable.all():
        choice[~usable] = -np.inf
    # The bound from a sample lets two or three hundred rows pass, which is several times faster than sorting all.
    sample = choice[::sample_of]
    bound = -np.inf
    if len(sample) > count:
        place = len(sample) - 2 * count // sample_of - 1
        bound = np.partition(sample, place)[place]
    rows = np.flatnonzero(choice >= bound)
    if len(rows) < count:
        rows = np.arange(len(choice))
    if len(rows) > count:
        rows = np.sort(_highest(rows, count, choice[rows], times[rows]))
    return rows[choice[rows] > -np.inf]


def _highest(rows: Rows, count: int, *orders: Numbers) -> Rows:
    """The rows with the highest numbers, which the next numbers order where they are equal, and their places at last.

    numpy's own choice among equal numbers depends on the instructions of the processor.
    """
    if not orders or len(rows) <= count:
        return rows[-count:]
    numbers, *rest = orders
    last = np.partition(numbers, len(rows) - count)[len(rows) - count]
    higher, equal = rows[numbers > last], np.flatnonzero(numbers == last)
    ties = _highest(rows[equal], count - len(higher), *(one[equal] for one in rest))
    return np.concatenate((higher, ties))


def compare(
    snapshot: Snapshot, question: ParsedQuery, weights: Weights, usable: Flags, count: int = CANDIDATES
) -> tuple[Compared, Rows]:
    """Compare all rows with the query, and choose at most ``count`` candidates among the usable ones."""
    limit = snapshot.limit
    matches = matches_of(snapshot, question)
    words, dense = np.zeros(limit + 1, np.float32), np.zeros(limit + 1, np.float32)
    choice = np.zeros(limit, np.float32)
    if len(matches.rows):
        words[:limit] = np.bincount(matches.rows, matches.scores, limit)
        if weights.count_words:
            choice += _with_those_around(snapshot, words)[0]
    if is_near_to_any(snapshot, question):
        assert question.vector is not None
        dense[:limit] = snapshot.vectors.dots(question.vector, limit)
        lowest, highest = float(dense.min()), float(dense.max())
        near = (dense[:limit] - lowest) * np.float32(1.0 / max(highest - lowest, TINY))
        choice += _with_translations(near, snapshot, question, weights, slice(limit))
    if weights.plain:
        choice = plain_scores(snapshot, question, weights, dense[:limit], slice(limit))
    elif weights.broad:
        add_broad(choice, snapshot, question, weights)
    return Compared(matches, words, dense), chosen(choice, usable, snapshot.times, count)


def _with_translations(
    near: Floats, snapshot: Snapshot, question: ParsedQuery, weights: Weights, rows: Rows | slice
) -> Floats:
    """How near rows are, raised where they are in another language than the query and have no words to be chosen by."""
    assert question.vector is not None, "is_near_to_any() checked it"
    foreign = snapshot.vectors.foreign(question.vector, rows) if weights.count_words else None
    return near if foreign is None else np.where(foreign, near + near * np.maximum(near, 0.0), near)


def add_broad(choice: Floats, snapshot: Snapshot, question: ParsedQuery, weights: Weights) -> None:
    """Add the signals that do not depend on the query, where their weight is high."""
    for name, curve in weights.broad:
        values = broad_signal(name, snapshot, question.now, weights.decay, slice(snapshot.limit))
        none, all_of_it = np.interp((0.0, 1.0), curve.values, curve.shares)
        rise = np.interp(values, curve.values, curve.shares) - none
        choice += (rise * (_BROAD / max(abs(all_of_it - none), TINY))).astype(np.float32)


def plain_scores(
    snapshot: Snapshot, question: ParsedQuery, weights: Weights, dense: Floats, rows: Rows | slice
) -> Floats:
    """The scores of rows under weights that need only vectors and query-independent signals; ``dense`` is by row."""
    scores = np.zeros(len(dense), np.float32)
    for name, curve in weights.curves.items():
        if not curve.spread:
            continue
        near = name == "dense"
        values = dense if near else broad_signal(name, snapshot, question.now, weights.decay, rows)
        if len(curve.values) == 2 and curve.values[0] <= -1.0 and curve.values[1] >= 1.0:
            # A straight line over the whole range is a multiplication; its constant is the same for all rows.
            values = values * ((curve.shares[1] - curve.shares[0]) / (curve.values[1] - curve.values[0]))
        else:
            values = np.interp(values, curve.values, curve.shares)
        scores += values.astype(np.float32)
    return scores


def in_period(snapshot: Snapshot, question: ParsedQuery, rows: Integers | Rows | slice) -> Flags:
    """Which rows were said in a period that the question mentions."""
    times = snapshot.times[rows]
    return np.any([(since <= times) & (times < until) for since, until in question.times], 0)


def said_then(snapshot: Snapshot, question: ParsedQuery, rows: Integers | Rows | slice) -> Flags:
    """Which rows were said in a period that the question mentions, by a speaker whom it names if it names one."""
    speakers = snapshot.speakers.named(question.besides)
    then = in_period(snapshot, question, rows)
    return then & np.isin(snapshot.speaker[rows], speakers) if speakers else then


def is_near_to_any(snapshot: Snapshot, question: ParsedQuery) -> bool:
    """Whether vectors are compared: the query has one of the same length, and nearly all records have theirs.

    While many records lack a vector, the others must not win by having one.
    """
    if question.vector is None or len(question.vector) != snapshot.dimensions:
        return False
    return 10 * int(np.count_nonzero(snapshot.has_vector[: snapshot.limit])) >= 9 * len(snapshot)


def found_terms(snapshot: Snapshot, question: ParsedQuery) -> FoundTerms:
    """The query's terms that occur in the snapshot, in the query's order, with their weights."""
    asked = dict(zip(question.terms, question.term_weights.tolist(), strict=True))
    postings = {term: posting for term in asked if (posting := snapshot.postings.get(term)) is not None}
    sizes = np.array([len(posting) for posting in postings.values()])
    rarity = np.log1p((len(snapshot) - sizes + 0.5) / (sizes + 0.5))
    telling = (rarity * [asked[term] for term in postings]).astype(np.float32)
    rarest = math.log1p(2 * len(snapshot) + 1)
    every = sorted([*telling.tolist(), *(rarest * asked[term] for term in asked.keys() - postings.keys())])
    return FoundTerms(list(postings), list(postings.values()), sizes, telling, sum(every), sum(every[-_FEW_TERMS:]))


def matches_of(snapshot: Snapshot, question: ParsedQuery) -> Matches:
    """The occurrences of the query's terms in the snapshot, scored by BM25."""
    found = found_terms(snapshot, question)
    if not found.terms:
        return scored(snapshot, found, np.zeros(0, np.int32), np.zeros(0, np.int32), found.sizes)
    rows, counts = unpacked(np.concatenate(found.postings))
    return scored(snapshot, found, rows, counts, found.sizes)


def scored(
    snapshot: Snapshot, found: FoundTerms, rows: Integers, counts: Numbers, sizes: Numbers, places: Rows | None = None
) -> Matches:
    """Scored occurrences of terms, given term by term; ``sizes`` is the number for each term."""
    terms = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes.astype(np.intp))
    counts = counts.astype(np.float32)
    scores = (found.telling.take(terms) * counts * (K1 + 1.0) / (counts + damping(snapshot, rows))).astype(np.float32)
    at = rows if places is None else places
    return Matches(rows, at, counts, terms, scores, found.telling, found.asked, found.weightiest)


def damping(snapshot: Snapshot, rows: Integers | Rows) -> Floats:
    """The part of BM25 that depends on the length of a record."""
    # take() with small integers is three times as fast as indexing.
    return K1 * (1.0 - B) + (K1 * B * len(snapshot) / max(snapshot.total_words, 1)) * snapshot.lengths.take(rows)


def session_rows(snapshot: Snapshot, rows: Rows) -> Rows:
    """All rows of the sessions of some rows."""
    own = np.zeros(snapshot.session_limit, np.bool_)
    own[snapshot.session[rows]] = True
    # A freed row still has the number of its old session.
    found = snapshot.session_runs.rows(own)
    return found[snapshot.alive[found]]


def broad_signal(name: str, snapshot: Snapshot, now: float, decay: float, rows: NDArray[np.intp] | slice) -> Numbers:
    """A signal that does not depend on the query."""
    if name == "importance":
        return np.minimum(snapshot.importance[rows] + np.float32(USED) * np.log1p(snapshot.uses[rows]), 1.0)
    if name == "uses":
        return 1.0 - 1.0 / (1.0 + snapshot.uses[rows])
    if name == "worth":
        return snapshot.worth[rows]
    times = snapshot.times[rows]
    if name == "access":
        return _access(times, snapshot.accessed[rows], now, decay)
    hours = np.maximum(now - times, 0.0) * (1.0 / _HOUR)
    return np.where(times != 0.0, (1.0 - decay) ** hours, 0.0)


def _access(times: Numbers, accessed: Numbers, now: float, decay: float) -> Numbers:
    # A query as of an earlier time ignores later recalls.
    last = np.where(accessed <= now, np.maximum(times, accessed), times)
    hours = np.maximum(now - last, 0.0) * (1.0 / _HOUR)
    # exp() is ten times as fast as a power.
    return np.where(last != 0.0, np.exp(hours * np.log1p(-decay)), 0.0)


# Large snapshots: a cheap prefilter over all rows, then exact scores for a shortlist.

LARGE = 20_000
"""From this many rows on the prefilter is used."""

_SHORTLIST = 1_000
"""How many rows have exact scores before the candidates are chosen."""
_LEFT_OUT = 0.125
"""The share of the query's weight, in its most common words, that only the shortlist is scored by."""
_COMMON = 16
"""A word that at least one in this many rows has is common."""
_SIGNS_SUFFICE = 128
"""Shorter vectors are compared exactly: their signs say too little."""
_DOUBT = 6.0
"""The error bound of a sign estimate, times the root of the dimensions: four times the usual error."""
_ROWS_SAMPLED = 32
_FARTHEST = 64
_FEWER = 8
_OF_SESSIONS = ("session", "dense_session")


def compare_likely(
    snapshot: Snapshot, question: ParsedQuery, weights: Weights, usable: Flags, count: int = CANDIDATES
) -> tuple[Compared, Rows]:
    """Compare the rows of a large snapshot that pass the prefilter, and choose at most ``count`` candidates."""
    found = found_terms(snapshot, question)
    choice = _Shortlist(snapshot, question, weights, found)
    likely = _likely_dots(snapshot, question) if is_near_to_any(snapshot, question) else None
    rows = choice.best(usable, likely, count)
    return _compared(snapshot, question, weights, found, rows, likely), rows


class _Shortlist:
    """The choice of candidates: estimated for all rows, then exact for a shortlist."""

    def __init__(self, snapshot: Snapshot, question: ParsedQuery, weights: Weights, found: FoundTerms) -> None:
        self._snapshot, self._question, self._weights = snapshot, question, weights
        self._left_out: list[tuple[str, float]] = []
        self._scale = 0.0
        self._base = np.zeros(snapshot.limit, np.float32)
        if weights.count_words and found.terms and not weights.plain:
            self._by_words(found)
        if not weights.plain:
            add_broad(self._base, snapshot, question, weights)

    def _by_words(self, found: FoundTerms) -> None:
        terms = sorted(zip(found.telling.tolist(), found.terms, found.postings, strict=True), key=lambda one: one[:2])
        spared = _LEFT_OUT * sum(telling for telling, *_ in terms)
        words = np.zeros(self._snapshot.limit + 1, np.float32)
        for telling, term, posting in terms:
            spared -= telling
            if spared > 0.0 and len(posting) * _COMMON >= self._snapshot.limit:
                self._left_out.append((term, telling))
            else:
                _add_term(self._snapshot, words, posting, telling)
        self._base, self._scale = _with_those_around(self._snapshot, words)

    def best(self, usable: Flags, likely: Floats | None, count: int) -> Rows:
        """The candidates, in order."""
        rows = chosen(self._first(likely), usable, self._snapshot.times, max(_SHORTLIST, 2 * count), _ROWS_SAMPLED)
        if len(rows) <= count:
            return rows
        return np.sort(_highest(rows, count, self._exact(rows, likely), self._snapshot.times[rows]))

    def _first(self, likely: Floats | None) -> Floats:
        """The estimated choice of all rows."""
        limit = self._snapshot.limit
        if self._weights.plain:
            near = np.zeros(limit, np.float32) if likely is None else likely
            return plain_scores(self._snapshot, self._question, self._weights, near, slice(limit))
        if likely is None:
            return self._base.copy()
        near = likely * np.float32(1.0 / max(float(likely.max()) - min(float(likely.min()), 0.0), TINY))
        near = _with_translations(near, self._snapshot, self._question, self._weights, slice(limit))
        near += self._base
        return near

    def _exact(self, rows: Rows, likely: Floats | None) -> Floats:
        snapshot, vector = self._snapshot, self._question.vector
        near, lowest = np.zeros(len(rows), np.float32), 0.0
        if likely is not None and vector is not None:
            far = np.flatnonzero(likely <= float(likely.min()) + _doubt(snapshot, likely) / 2.0)[:_FARTHEST]
            near, lowest = snapshot.vectors.dots_of(rows, vector), float(snapshot.vectors.dots_of(far, vector).min())
        if self._weights.plain:
            return plain_scores(snapshot, self._question, self._weights, near, rows)
        choice = self._base[rows]
        if self._left_out:
            choice += self._words_left_out(rows)
        if vector is not None:
            near *= np.float32(1.0 / max(float(near.max()) - min(lowest, 0.0), TINY))
            choice += _with_translations(near, snapshot, self._question, self._weights, rows)
        return choice

    def _words_left_out(self, rows: Rows) -> Floats:
        """The scores of the most common words in rows and their neighbours."""
        snapshot = self._snapshot
        found = np.zeros(len(rows), np.float32)
        for part, some in (
            (1.0, rows.astype(np.int32)),
            (NEIGHBOUR, snapshot.previous.take(rows)),
            (NEIGHBOUR, snapshot.following.take(rows)),
        ):
            lengths = damping(snapshot, some)
            for term, telling in self._left_out:
                counts = snapshot.postings.counts(term, some).astype(np.float32)
                found += counts * np.float32(part * self._scale * telling * (K1 + 1.0)) / (counts + lengths)
        return found


def _add_term(snapshot: Snapshot, words: Floats, posting: Integers, telling: float) -> None:
    """Add the score of a term to each row."""
    rows, counts = unpacked(posting)
    rows, counts = rows.astype(np.intp), counts.astype(np.float32)
    np.add.at(words, rows, counts * np.float32(telling * (K1 + 1.0)) / (counts + damping(snapshot, rows)))


def _with_those_around(snapshot: Snapshot, words: Floats) -> tuple[Floats, float]:
    """The scores of words with those of neighbours and sessions, and the factor they were scaled by."""
    limit = snapshot.limit
    rows = np.flatnonzero(words != 0.0)
    own = words.take(rows)
    part, choice = np.float32(NEIGHBOUR) * own, words.copy()
    for column in (snapshot.previous, snapshot.following):
        # The last place stands for missing neighbours.
        np.add.at(choice, column.take(rows), part)
    choice = choice[:limit]
    scale = 1.0 / max(float(choice.max()), TINY)
    choice *= np.float32(scale)
    sessions = snapshot.session[:limit]
    together = np.bincount(sessions.take(rows), own, snapshot.session_limit)
    together *= SESSION / max(float(together.max()), TINY)
    choice += snapshot.session_runs.spread(together.astype(np.float32))
    return choice, scale


def _likely_dots(snapshot: Snapshot, question: ParsedQuery) -> Floats:
    """Estimated dot products of all vectors with the query's; 0 for a row without a vector."""
    vector, limit = question.vector, snapshot.limit
    assert vector is not None, "is_near_to_any() checked it"
    if snapshot.dimensions < _SIGNS_SUFFICE:
        return snapshot.vectors.dots(vector, limit)
    return snapshot.vectors.likely_dots(vector, limit)


def _compared(
    snapshot: Snapshot, question: ParsedQuery, weights: Weights, found: FoundTerms, rows: Rows, likely: Floats | None
) -> Compared:
    """The comparison of the candidates, their neighbours and their sessions, and of no other row."""
    limit = snapshot.limit
    wanted = np.zeros(limit + 1, np.bool_)
    for some in (rows, snapshot.previous[rows], snapshot.following[rows]):
        wanted[some] = True
    # The last place was set for missing neighbours.
    wanted[-1] = False
    near = among = np.flatnonzero(wanted)
    together: Rows | None = None
    if not weights.curves.keys().isdisjoint(_OF_SESSIONS):
        together = session_rows(snapshot, rows)
        wanted[together] = True
        among = np.flatnonzero(wanted)
    matches = _matches_among(snapshot, found, wanted, among)
    words = np.zeros(len(among) + 1, np.float32)
    words[:-1] = np.bincount(matches.places, matches.scores, len(among))
    dense = np.zeros(len(among) + 1, np.float32)
    if likely is not None and question.vector is not None:
        if together is not None:
            wanted[:] = False
            for some in (near, _may_be_nearest(snapshot, together, likely)):
                wanted[some] = True
            near = np.flatnonzero(wanted)
        # Rows that are not compared must not be the nearest of their session.
        dense[:-1] = -1.0
        dense[np.searchsorted(among, near)] = snapshot.vectors.dots_of(near, question.vector)
    return Compared(matches, words, dense, among, together)


def _doubt(snapshot: Snapshot, likely: Floats) -> float:
    """The error bound of the difference of two estimates."""
    return _DOUBT / snapshot.dimensions**0.5 * max(float(likely.max(initial=0.0)), -float(likely.min(initial=0.0)))


def _may_be_nearest(snapshot: Snapshot, rows: Rows, likely: Floats) -> Rows:
    """The rows that may be the nearest of their session."""
    sessions, near = snapshot.session.take(rows), likely.take(rows)
    best = np.full(snapshot.session_limit, -np.inf, np.float32)
    np.maximum.at(best, sessions, near)
    short_of_it = best.take(sessions) - near
    places = np.flatnonzero(short_of_it <= _doubt(snapshot, near))
    if len(places) > _SHORTLIST:
        places = _highest(places, _SHORTLIST, -short_of_it[places])
    return rows[places]


def _matches_among(snapshot: Snapshot, found: FoundTerms, wanted: Flags, among: Rows) -> Matches:
    """The occurrences of terms in the wanted rows, given as flags and as rows."""
    places: list[Rows] = [np.zeros(0, np.intp)]
    counts: list[Numbers] = [np.zeros(0, np.int32)]
    for posting in found.postings:
        if len(posting) > _FEWER * len(among):
            # Looking for each wanted row takes less than looking at each of the term's.
            inside = posting.take(posting.searchsorted(packed(among)), mode="clip")
            at = np.flatnonzero(unpacked(inside)[0] == among)
            places.append(at)
            counts.append(unpacked(inside.take(at))[1])
        else:
            where, how_often = unpacked(posting)
            inside = np.flatnonzero(wanted.take(where))
            places.append(np.searchsorted(among, where[inside]))
            counts.append(how_often.take(inside))
    sizes = np.array([len(some) for some in places[1:]])
    whole = np.concatenate(places)
    return scored(snapshot, found, among.take(whole).astype(np.int32), np.concatenate(counts), sizes, whole)
