"""``rank``: the records of a snapshot that answer a query best, and the reasons for each in words.

A score is the sum of the shares of its signals. Records are ordered by score, then by later time, then by id, so the same
query over the same records has one result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memwell.errors import InvalidInput
from memwell.language.segment import query_terms, segment
from memwell.language.words import STOP_WORDS, by_language, language_code
from memwell.longterm.candidates import ParsedQuery, in_period
from memwell.longterm.signals import CANDIDATES, BestMatches, SignalTable, observe
from memwell.longterm.snapshot import Flags, Snapshot
from memwell.longterm.weights import Signal, Weights, default_weights
from memwell.models.ports import WordMatch
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
    "words": ("words", "coverage", "rarest", "names"),
    "near_words": ("near", "window", "window_coverage", "dense_window", "late_window"),
    "talk": ("session", "dense_session"),
    "answer": ("answers", "answers_dense", "follows_question"),
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
    **dict.fromkeys(("near", "window", "window_coverage", "session"), "words"),
    **dict.fromkeys(("dense_window", "dense_session", "late_window"), "meaning"),
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

    def signal(self, name: str) -> Signal | None:
        """One of its signals; None when it has neither a value nor a share."""
        at = self._names.index(name) if name in self._names else None
        if at is None or not (self._values[at] or self._shares[at]):
            return None
        return Signal(self._values[at], self._shares[at])

    def __repr__(self) -> str:
        return f"Ranked(id={self.id!r}, score={self.score:.4f})"


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
    inside = in_period(snapshot, question, slice(snapshot.limit)) if question.of_a_time else None
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
    observed = observe(snapshot, question, weights, allowed, max(CANDIDATES, wanted), late)
    scores = weights.piecewise.scores(observed.signals)
    order = _order(snapshot, observed.rows, scores, wanted)
    if diversity > 0.0:
        order = diverse(snapshot, observed.rows, scores, order, diversity)[:limit]
    return _reasoned(snapshot, observed, weights, order)


def _order(snapshot: Snapshot, rows: NDArray[np.intp], scores: NDArray[np.float64], count: int) -> list[int]:
    """The places of the best, best first. Scores that differ by rounding only are equal."""
    rounded = np.round(scores, _DIGITS)
    if len(rounded) > count:
        # All ties with the last one are kept, so that time and id decide them.
        last = np.partition(rounded, len(rounded) - count)[len(rounded) - count]
        places: list[int] = np.flatnonzero(rounded >= last).tolist()
    else:
        places = list(range(len(rounded)))
    keys = {at: (-float(rounded[at]), -float(snapshot.times[rows[at]]), snapshot.ids[int(rows[at])]) for at in places}
    return sorted(places, key=keys.__getitem__)[:count]


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
            repeated[at] = max(repeated[at], snapshot.likeness(int(rows[best]), int(rows[at])))
    return chosen


def _reasoned(snapshot: Snapshot, observed: SignalTable, weights: Weights, order: Sequence[int]) -> list[Ranked]:
    chosen = observed.signals[order]
    piecewise = weights.piecewise
    shares, names = piecewise.shares(chosen), piecewise.names
    rows: list[int] = observed.rows[order].tolist()
    found = zip(rows, chosen[:, piecewise.own_columns].tolist(), shares.tolist(), strict=True)
    return [Ranked(snapshot.ids[row], row, values, names, parts) for row, values, parts in found]
