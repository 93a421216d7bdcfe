"""``rank``: the records of a snapshot that answer a query best, by their signals, and the reasons for each in words.

A score is the sum of the shares of its signals. Records are ordered by score, then by later time, then by id, so the same
query over the same records has one result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memwell.errors import InvalidInput
from memwell.language.segment import query_terms, segment
from memwell.language.words import STOP_WORDS, by_language, language_code
from memwell.longterm.candidates import (
    CANDIDATES,
    LARGE,
    TINY,
    Compared,
    Matches,
    Numbers,
    ParsedQuery,
    broad_signal,
    compare,
    compare_likely,
    said_then,
    session_rows,
)
from memwell.longterm.snapshot import NOWHERE, Flags, Floats, Integers, Snapshot
from memwell.longterm.weights import BROAD, SIGNALS, Signal, Weights, default_weights
from memwell.models.ports import WordMatch
from memwell.stages import stage
from memwell.storage.parts import K1, B
from memwell.values import check_count, check_text

# The reasons of a hit in words: a few of them with their parts of the score, in English or Chinese.

LEAST_PART = 0.03
"""Reasons below this part of the score are left out."""

_MOST_WORDS = 4
_CLOSE = 0.5
"""Below this cosine two texts are related rather than the same in meaning."""
_OFTEN = 0.75
"""The value of the signal ``uses`` after three recalls."""
_REASONS = {
    "meaning": ("dense", "dense_best", "late", "late_best"),
    "words": ("words", "coverage", "rarest"),
    "near_words": ("window_coverage", "late_window"),
    "talk": ("session", "dense_session"),
    "answer": ("answers_dense", "follows_question"),
    "time": ("time",),
    "when": ("when",),
    "number": ("how_many",),
    "speaker": ("speaker", "role"),
    "importance": ("importance", "worth"),
    "recency": ("recency", "access"),
    "uses": ("uses",),
    "reranker": ("reranker",),
    "current": ("current",),
}
_REASON_OF = {signal: reason for reason, signals in _REASONS.items() for signal in signals}
_ALONE = {
    **dict.fromkeys(("window_coverage", "session"), "words"),
    **dict.fromkeys(("dense_session", "late_window"), "meaning"),
}
"""The reasons of neighbour signals for a memory without neighbours: they are about the memory itself."""
_SAYS_NOTHING_UP_TO = {"importance": 0.5}
"""The value up to which a signal gives no reason: an importance of a half is the default."""

_PHRASES = by_language(
    {
        "meaning": ("same meaning", "意思相同"),
        "loosely": ("related meaning", "意思相近"),
        "words": ("same words", "用词相同"),
        "near_words": ("next to another good hit", "紧邻另一条好结果"),
        "talk": ("from a conversation about it", "所在会话与此有关"),
        "answer": ("answers such a question", "回答了类似的问题"),
        "time": ("said around the asked time", "时间与所问相近"),
        "when": ("tells a time", "提到了时间"),
        "number": ("tells a number", "提到了数字"),
        "speaker": ("spoken by {speaker}", "由{speaker}说的"),
        "anyone": ("spoken by the one asked about", "由所问的人说的"),
        "importance": ("important", "重要"),
        "recency": ("recent", "最近"),
        "uses": ("often recalled", "常被回忆"),
        "used": ("recalled before", "曾被回忆"),
        "reranker": ("preferred by the reranker", "重排模型选中"),
        "current": ("supersedes another hit", "取代了另一条结果"),
        "superseded": ("superseded by {id}", "已被 {id} 取代"),
        "nothing": ("nothing better was found", "没有更合适的"),
        "named": ("{reason}: {words}", "{reason}：{words}"),
        "part": ("{reason} ({part} %)", "{reason}（{part}%）"),
        "and": ("; ", "；"),
        "comma": (", ", "、"),
    }
)
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[^\W_{_HAN}]+(?:['’][^\W_{_HAN}]+)*")
_RUN = re.compile(f"[{_HAN}]+")


def reasons(signals: Mapping[str, Signal], *, neighbours: bool) -> dict[str, float]:
    """The reasons for a hit and their parts of the score, the weightiest first.

    Without ``neighbours``, of a conversation, the signals about neighbours are about the memory itself.
    """
    found: dict[str, float] = {}
    total = 0.0
    for name, signal in signals.items():
        total += max(signal.share, 0.0)
        reason = _REASON_OF.get(name) if neighbours else _ALONE.get(name, _REASON_OF.get(name))
        if reason is not None and signal.value > _SAYS_NOTHING_UP_TO.get(name, 0.0):
            found[reason] = found.get(reason, 0.0) + signal.share
    named = {reason: share / total for reason, share in found.items() if share > 0.0 and share >= LEAST_PART * total}
    return dict(sorted(named.items(), key=lambda item: -item[1]))


def in_words(
    signals: Mapping[str, Signal],
    *,
    text: str,
    speaker: str,
    session: str,
    query: str,
    language: str,
    most: int,
    asked: str = "",
    matches: Sequence[WordMatch] = (),
) -> str:
    """The weightiest reasons in one line, as in ``same meaning: job ~ works (41 %); same words: Ann (33 %)``.

    With ``query`` the words are named; ``asked`` is the query that found the hit, and ``matches`` are its words that the
    hit answers by others. Raises ``InvalidInput`` for another language.
    """
    phrases = _PHRASES[language_code(language, "reasons")]
    named: list[str] = []
    found = reasons(signals, neighbours=bool(session) or _follows_another(signals))
    if "words" in found and _only_named(query or asked, text, speaker):
        found["speaker"] = found.pop("words") + found.get("speaker", 0.0)
        found = dict(sorted(found.items(), key=lambda item: -item[1]))
    for reason, part in list(found.items())[:most]:
        phrase = phrases[_phrase_of(reason, signals, speaker)].format(speaker=speaker)
        words = shared_words(query, text) if reason == "words" else []
        if query and reason == "meaning":
            words = [f"{one.asked} ~ {one.found}" for one in matches if one.asked != one.found]
        if words:
            phrase = phrases["named"].format(reason=phrase, words=phrases["comma"].join(words))
        named.append(phrases["part"].format(reason=phrase, part=round(100 * part)))
    return phrases["and"].join(named) or phrases["nothing"]


def _follows_another(signals: Mapping[str, Signal]) -> bool:
    """Whether a memory without a session was taken for a turn of a conversation, and not for its first."""
    # Where there are no neighbours, the length does not count.
    return "length" in signals and "opens" not in signals


class _Hit(Protocol):
    """A hit of any kind: its text, its signals, and the query that found it."""

    @property
    def text(self) -> str: ...
    @property
    def signals(self) -> dict[str, Signal]: ...
    @property
    def asked(self) -> str: ...


def why_found(
    hit: _Hit,
    most: int,
    query: str,
    language: str,
    *,
    speaker: str = "",
    session: str = "",
    matches: Sequence[WordMatch] = (),
    superseded_by: str = "",
) -> str:
    """``in_words`` of a hit, after what superseded it.

    Raises ``InvalidInput`` for a query that is no text, and for another language.
    """
    check_text(query, "a query")
    reasoned = in_words(
        hit.signals,
        text=hit.text,
        speaker=speaker,
        session=session,
        query=query,
        language=language,
        most=check_count(most, "most"),
        asked=hit.asked,
        matches=matches,
    )
    if not superseded_by:
        return reasoned
    phrases = _PHRASES[language_code(language, "reasons")]
    return phrases["and"].join((phrases["superseded"].format(id=superseded_by), reasoned))


def _only_named(query: str, text: str, speaker: str) -> bool:
    """Whether a query and a text share no word except the name of the speaker, which every memory has."""
    return bool(speaker and shared_words(query, speaker)) and not shared_words(query, text)


def _phrase_of(reason: str, signals: Mapping[str, Signal], speaker: str) -> str:
    if reason == "speaker" and not speaker:
        return "anyone"
    nearness = signals.get("dense")
    if reason == "meaning" and nearness is not None and nearness.value < _CLOSE:
        return "loosely"
    uses = signals.get("uses")
    if reason == "uses" and uses is not None and uses.value < _OFTEN:
        return "used"
    return reason


def shared_words(query: str, text: str) -> list[str]:
    """The words of a query that a text has too, as the query writes them, at most a few."""
    held = set(segment(text))
    found = [word for word in _WORD.findall(query) if _is_shared(word, held)]
    found += [part for run in _RUN.findall(query) for part in _shared_parts(run, held)]
    return list(dict.fromkeys(found))[:_MOST_WORDS]


def _is_shared(word: str, held: set[str]) -> bool:
    return word.casefold() not in STOP_WORDS["en"] and not held.isdisjoint(query_terms(word))


def _shared_parts(run: str, held: set[str]) -> Iterator[str]:
    """The longest parts of a run of Chinese whose character pairs the text has, without stop words."""
    start = 0
    for end in range(1, len(run) + 1):
        if end < len(run) and run[end - 1 : end + 1] in held:
            continue
        part = run[start:end]
        if len(part) > 1 and part not in STOP_WORDS["zh"]:
            yield part
        start = end


_DIGITS = 6
_LOOKED_AT = 4
"""With diversity, this many times the limit are considered."""


class Ranked:
    """A ranked record. The shares of its signals add up to its score."""

    __slots__ = ("_names", "_shares", "_values", "id", "row", "score")

    def __init__(self, identity: str, row: int, values: list[float], names: Sequence[str], shares: list[float]) -> None:
        self.id, self.row, self.score = identity, row, math.fsum(shares)
        self._values, self._names, self._shares = values, names, shares

    @property
    def signals(self) -> dict[str, Signal]:
        """The signals with a value or a share."""
        rows = zip(self._names, self._values, self._shares, strict=True)
        return {name: Signal(value, share) for name, value, share in rows if value or share}

    def value(self, name: str) -> float:
        """The value of one of its signals; 0 for one that the weights leave out."""
        return self._values[self._names.index(name)] if name in self._names else 0.0

    def __repr__(self) -> str:
        return f"Ranked(id={self.id!r}, score={self.score:.4f})"


@stage("rank")
def rank(
    snapshot: Snapshot,
    question: ParsedQuery,
    *,
    allowed: Flags | None = None,
    limit: int = 10,
    weights: Weights | None = None,
    diversity: float = 0.0,
    late: BestMatches | None = None,
) -> list[Ranked]:
    """The best records, best first, at most ``limit``; only rows flagged in ``allowed``, if given.

    ``diversity`` from 0 to 1 is the share of its score that a record loses for repeating a better one. Raises
    ``InvalidInput`` for a negative limit, and for a wrong number of flags.
    """
    if limit < 0:
        raise InvalidInput(f"limit must be at least 0, not {limit!r}")
    if allowed is not None and len(allowed) != snapshot.limit:
        raise InvalidInput(f"allowed must have a flag for each of {snapshot.limit} rows, not {len(allowed)!r}")
    if not limit or not len(snapshot):
        return []
    weights = weights or default_weights()
    inside = said_then(snapshot, question, slice(snapshot.limit)) if question.of_a_time else None
    if inside is not None and (inside if allowed is None else inside & allowed).any():
        # What was said then answers it, whatever it is about.
        weights, question = weights.of_a_time, question._replace(of_a_time=False)
        parts = [inside if allowed is None else inside & allowed, ~inside if allowed is None else ~inside & allowed]
        found = [
            one
            for part in parts
            for one in rank(
                snapshot, question, allowed=part, limit=limit, weights=weights, diversity=diversity, late=late
            )
        ]
        return sorted(found, key=lambda one: -one.score)[:limit]
    # Each chosen record is compared with all that are left, so their number is limited.
    wanted = max(limit, min(_LOOKED_AT * limit, CANDIDATES)) if diversity > 0.0 else limit
    observed = observe(snapshot, question, weights, allowed, max(CANDIDATES, wanted), late, max(_CLOSELY, wanted))
    shares = weights.piecewise.shares(observed.signals)
    scores = shares.sum(1)
    order = _order(snapshot, observed.rows, scores, wanted)
    if diversity > 0.0:
        order = diverse(snapshot, observed.rows, scores, order, diversity)[:limit]
    return _reasoned(snapshot, observed, shares, weights, order)


def _order(snapshot: Snapshot, rows: NDArray[np.intp], scores: NDArray[np.float64], count: int) -> list[int]:
    """The places of the best, best first. Scores that differ by rounding only are equal."""
    rounded = np.round(scores, _DIGITS)
    if len(rounded) > count:
        # All ties with the last one are kept, so that time and id decide them.
        last = np.partition(rounded, len(rounded) - count)[len(rounded) - count]
        places: list[int] = np.flatnonzero(rounded >= last).tolist()
    else:
        places = list(range(len(rounded)))
    times = snapshot.times[rows[places]].tolist()
    keys = [(-score, -time, at) for at, score, time in zip(places, rounded[places].tolist(), times, strict=True)]
    keys.sort()
    if any(one[:2] == other[:2] for one, other in pairwise(keys)):
        # Reading an id takes longer than all else here.
        keys.sort(key=lambda key: (key[0], key[1], snapshot.ids[int(rows[key[2]])]))
    return [at for *_, at in keys[:count]]


def diverse(
    snapshot: Snapshot, rows: NDArray[np.intp], scores: NDArray[np.float64], order: Sequence[int], diversity: float
) -> list[int]:
    """The places of ``order`` in another order: each next record is the best after its repetitions are deducted."""
    lowest = float(scores.min(initial=0.0))
    worth = {at: float(scores[at]) - lowest for at in order}
    chosen: list[int] = []
    repeated = dict.fromkeys(order, 0.0)
    while repeated:
        best = max(repeated, key=lambda at: (worth[at] * (1.0 - diversity * repeated[at]), -repeated[at]))
        chosen.append(best)
        del repeated[best]
        for at in repeated:
            repeated[at] = max(repeated[at], _likeness(snapshot, int(rows[best]), int(rows[at])))
    return chosen


def _reasoned(
    snapshot: Snapshot, observed: SignalTable, shares: NDArray[np.float64], weights: Weights, order: Sequence[int]
) -> list[Ranked]:
    piecewise = weights.piecewise
    rows: list[int] = observed.rows[order].tolist()
    values = observed.signals[order][:, piecewise.own_columns].tolist()
    found = zip(rows, values, shares[order].tolist(), strict=True)
    return [Ranked(snapshot.ids[row], row, some, piecewise.names, parts) for row, some, parts in found]


# The signals of ranking: numbers that say how well a record fits a query.
#
# Words and vectors are compared over the whole snapshot, which gives the candidates; the other signals are computed for
# these only. Scores of words depend on how many and how rare the query's words are, so they are relative to the best
# candidate, which has 1 unless it has only little of the query.

BestMatches: TypeAlias = Callable[[Sequence[int]], "Floats | None"]
"""How well each piece of the query is matched by each record, given by row: a row a piece, a column a record.

A column of NaN is unknown; None when all are.
"""

_DAY = 86_400.0
_ENOUGH = 0.7
"""The share of the query's few weightiest words that is a full match, if no candidate has more."""
_NEARBY = 10.0  # days around the requested time within which a record still fits
_CLOSELY = 24
"""Of how many candidates the token vectors are compared: those that are the best without them."""
_LATE = frozenset({"late", "late_best", "late_window"})


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
    closely: int | None = None,
) -> SignalTable:
    """The signals of the candidates among the allowed rows (a flag for every row below the limit).

    There are at most ``count`` candidates. A signal without a curve in the weights is not computed and stays 0. With
    ``late``, which compares the pieces of the query with theirs, only the ``closely`` best by all other signals are left.
    """
    snapshot.vectors.share_from(question.shared_from)
    usable = snapshot.alive[: snapshot.limit] if allowed is None else snapshot.alive[: snapshot.limit] & allowed
    compared, rows = (compare_likely if snapshot.limit >= LARGE else compare)(
        snapshot, question, weights, usable, count
    )
    signals = np.zeros((len(SIGNALS), len(rows)), np.float32)
    if not len(rows):
        return SignalTable(rows, signals.T)
    candidates = Candidates(snapshot, question, weights.decay, compared, rows)
    names = weights.piecewise.names
    for name in names:
        found = None if name in _LATE else candidates.broad(name) if name in BROAD else getattr(candidates, name)
        if found is not None:
            signals[_COLUMNS[name]] = found
    if late is None or not candidates.has_dense or _LATE.isdisjoint(names):
        return SignalTable(rows, signals.T)
    best = slice(None)
    if closely is not None and closely < len(rows):
        best = np.sort(np.argsort(-weights.piecewise.scores(signals.T))[:closely])
    found = candidates.compare_tokens(late, best)
    if found is not None:
        rows, signals = rows[best], signals[:, best]
        for name in found.keys() & names:
            signals[_COLUMNS[name]] = found[name]
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
    ) -> None:
        self._snapshot, self._question, self._decay, self._rows = snapshot, question, decay, rows
        self._matches, self._compared = compared.matches, compared
        self._before, self._after = snapshot.previous[rows], snapshot.following[rows]
        self._own, self._earlier, self._later = map(compared.places, (rows, self._before, self._after))
        # Without neighbours the signals about them would only repeat those of the record.
        self._apart = int(self._before.max()) == NOWHERE == int(self._after.max())
        self._has_words = len(self._matches.rows) > 0
        # Where the best candidate shares one common word with the query, this is no full match.
        best = max(float(compared.words[self._own].max()), _ENOUGH * self._matches.weightiest, TINY)
        self._words = compared.words * np.float32(1.0 / best)
        self._all_dense = compared.dense
        self.has_dense = bool(compared.dense.any())
        self._best_dense = max(float(compared.dense[self._own].max()), TINY)

    @property
    def words(self) -> Numbers | None:
        """The BM25 score of its words."""
        return self._words[self._own] if self._has_words else None

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
        return self._weighed.sum(1) / self._matches.asked if self._has_words else None

    @property
    def window_coverage(self) -> Numbers | None:
        """The same for the record and its neighbours."""
        if self._apart or not self._has_words:
            return None
        return ((self._counts[1] > 0) * self._matches.telling).sum(1) / self._matches.asked

    @property
    def rarest(self) -> Numbers | None:
        """The weight of its rarest matching word, relative to the rarest word found."""
        return self._weighed.max(1) / self._matches.telling.max() if self._has_words else None

    @property
    def dense(self) -> Numbers | None:
        """The dot product of its vector with the query's."""
        return self._all_dense[self._own] if self.has_dense else None

    @property
    def dense_best(self) -> Numbers | None:
        """The same, relative to the nearest candidate."""
        return _floored(self._all_dense[self._own] / self._best_dense) if self.has_dense else None

    @property
    def dense_session(self) -> Numbers | None:
        """The same for the nearest record of its session, relative to the nearest candidate."""
        if self._apart or not self.has_dense:
            return None
        snapshot = self._snapshot
        together = self._compared.together
        rows = session_rows(snapshot, self._rows) if together is None else together
        highest = np.full(snapshot.session_limit, -1.0, np.float32)
        np.maximum.at(highest, snapshot.session.take(rows), self._all_dense.take(self._compared.places(rows)))
        return _floored(highest[snapshot.session[self._rows]] / self._best_dense)

    @property
    def answers_dense(self) -> Numbers | None:
        """The vector score of the question before it."""
        if self._apart or not self.has_dense:
            return None
        return np.maximum(self._all_dense[self._earlier] / self._best_dense, 0.0) * self._answering

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

    def compare_tokens(self, late: BestMatches, places: NDArray[np.intp] | slice) -> dict[str, Numbers] | None:
        """Late interaction of the candidates at these places; None where none of them has token vectors.

        ``late`` is the mean, over the pieces of the query, of the best match among its own; ``late_best`` the same,
        relative to the best candidate; ``late_window`` that of the record and the one before it as one text.
        """
        # A missing neighbour is the record itself.
        rows, before = self._rows[places], self._before[places]
        before = np.where(before == NOWHERE, rows, before)
        both = np.concatenate((rows, before))
        wanted = np.array(sorted(set(both.tolist())), np.intp)
        at = wanted.searchsorted(both)
        best = late(wanted.tolist())
        if best is None:
            return None
        best[:, ~self._snapshot.has_vector[wanted]] = np.nan
        own, earlier = best[:, at[: len(rows)]], best[:, at[len(rows) :]]
        scores = np.array((own.sum(0), np.fmax(own, earlier).sum(0)))
        unknown = np.isnan(scores[0])
        if unknown.all():
            return None
        if unknown.any():
            # As far from the others as its vector is: a text of another language must not lose for having no tokens.
            dense = self._all_dense[self._own[places]]
            known = np.float32(len(unknown) - np.count_nonzero(unknown))
            mean = np.where(unknown, 0.0, scores).sum(1, keepdims=True) / known
            scores = np.where(unknown, mean + dense - np.where(unknown, 0.0, dense).sum() / known, scores)
        found = {"late": scores[0], "late_best": _relative(scores[0])}
        return found if self._apart else {**found, "late_window": _relative(scores[1])}

    @cached_property
    def _counts(self) -> tuple[Numbers, Numbers]:
        """The count of each term in each candidate, and in each candidate with its neighbours."""
        places = np.full(len(self._words), NOWHERE, np.int32)
        for some in (self._earlier, self._later, self._own):
            places[some] = 0
        # The last place was set for missing neighbours.
        places[-1] = NOWHERE
        wanted = np.flatnonzero(places != NOWHERE)
        places[wanted] = np.arange(len(wanted))
        # The last row of the table stays empty, for missing neighbours.
        table = _tally(self._matches, places.take(self._matches.places), len(wanted) + 1)
        own = table[places[self._own]]
        return own, own if self._apart else own + table[places[self._earlier]] + table[places[self._later]]

    @cached_property
    def _weighed(self) -> Numbers:
        """The weight of each term in each candidate that has it."""
        return (self._counts[0] > 0) * self._matches.telling

    @cached_property
    def _answering(self) -> Numbers:
        return _at(self._snapshot.asks, self._before)

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
    return (counts * (K1 + 1.0) / (counts + (K1 * (1.0 - B) + K1 * B * lengths)[:, None]) * telling).sum(1)


def _at(column: NDArray[Any], rows: Integers) -> Numbers:
    """The column's values at rows, 0 where there is no row."""
    return np.where(rows != NOWHERE, column[rows], 0).astype(np.float32)


def _relative(scores: Numbers) -> Numbers:
    return scores / max(float(scores.max()), TINY)


def _floored(values: Numbers) -> Numbers:
    return np.maximum(values, -1.0)


def _likeness(snapshot: Snapshot, one: int, other: int) -> float:
    """The similarity of two rows from 0 to 1: of their words, or of their vectors when these are very near."""
    mine, theirs = snapshot.postings.words_of(one), snapshot.postings.words_of(other)
    shared = len(mine & theirs) / max(len(mine | theirs), 1)
    if not (snapshot.has_vector[one] and snapshot.has_vector[other]):
        return shared
    near = snapshot.vectors.cosine(one, other)
    return max(shared, min(near, 1.0) ** 4 if near > 0.0 else 0.0)


_COLUMNS = {name: column for column, name in enumerate(SIGNALS)}
