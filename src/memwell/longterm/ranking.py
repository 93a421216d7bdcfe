"""The records of a pool that answer a question best, each with its reasons.

A score is the sum of the shares that the signals have in it, under the weights that are given or those that ship. The order
is decided by the score, then by the later time, then by the id, so the same question to the same records has one answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memwell.errors import InvalidInput
from memwell.language.segment import query_terms, segment
from memwell.language.words import STOP_WORDS
from memwell.longterm.candidates import Question
from memwell.longterm.signals import CANDIDATES, Observed, observe
from memwell.longterm.snapshot import Flags, Pool
from memwell.longterm.weights import Signal, Weights, default_weights
from memwell.values import shown

# Why a memory was recalled, in words for people: a few reasons with their parts of the score, in English or Chinese.


LEAST_PART = 0.03
"""A reason that is less of the score than this is not told."""

_MOST_WORDS = 4
_CLOSE = 0.5
"""Vectors with a cosine below this are of texts about the same rather than saying the same."""
_OFTEN = 0.75
"""What the signal ``uses`` is for a memory that was recalled three times."""
_REASONS = {
    "meaning": ("dense", "dense_best"),
    "words": ("words", "coverage", "rarest", "names"),
    "near_words": ("near", "window", "window_coverage", "dense_window"),
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
}
_REASON_OF = {signal: reason for reason, signals in _REASONS.items() for signal in signals}
_ALONE = {
    **dict.fromkeys(("near", "window", "window_coverage", "session"), "words"),
    **dict.fromkeys(("dense_window", "dense_session"), "meaning"),
}
"""What is said of neighbours, for a memory that has none: it was compared with itself."""
_SAYS_NOTHING_UP_TO = {"importance": 0.5}
"""Signals that every memory has, up to a value: half is what nobody has called important or not."""

_PHRASES = {
    "en": {
        "meaning": "same meaning",
        "loosely": "related meaning",
        "words": "same words",
        "near_words": "next to another good hit",
        "talk": "from a conversation about it",
        "answer": "answers such a question",
        "time": "said around the asked time",
        "when": "tells a time",
        "number": "tells a number",
        "speaker": "spoken by {speaker}",
        "anyone": "spoken by the one asked about",
        "importance": "important",
        "recency": "recent",
        "uses": "often recalled",
        "used": "recalled before",
        "reranker": "preferred by the reranker",
        "nothing": "nothing better was found",
        "named": "{reason}: {words}",
        "part": "{reason} ({part} %)",
        "and": "; ",
        "comma": ", ",
    },
    "zh": {
        "meaning": "意思相同",
        "loosely": "意思相近",
        "words": "用词相同",
        "near_words": "紧邻另一条好结果",
        "talk": "所在会话与此有关",
        "answer": "回答了类似的问题",
        "time": "时间与所问相近",
        "when": "提到了时间",
        "number": "提到了数字",
        "speaker": "由{speaker}说的",
        "anyone": "由所问的人说的",
        "importance": "重要",
        "recency": "最近",
        "uses": "常被回忆",
        "used": "曾被回忆",
        "reranker": "重排模型选中",
        "nothing": "没有更合适的",
        "named": "{reason}：{words}",
        "part": "{reason}（{part}%）",
        "and": "；",
        "comma": "、",
    },
}
_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[^\W_{_HAN}]+(?:['’][^\W_{_HAN}]+)*")
_RUN = re.compile(f"[{_HAN}]+")


def reasons(signals: Mapping[str, Signal], *, neighbours: bool) -> dict[str, float]:
    """The reasons that speak for a hit and their parts of all that does, the weightiest first.

    Without ``neighbours``, in a conversation, what is said of them is said of the memory itself.
    """
    found: dict[str, float] = {}
    total = 0.0
    for name, signal in signals.items():
        total += max(signal.share, 0.0)
        reason = _REASON_OF.get(name) if neighbours else _ALONE.get(name, _REASON_OF.get(name))
        if reason is not None and signal.value > _SAYS_NOTHING_UP_TO.get(name, 0.0):
            found[reason] = found.get(reason, 0.0) + signal.share
    told = {reason: share / total for reason, share in found.items() if share > 0.0 and share >= LEAST_PART * total}
    return dict(sorted(told.items(), key=lambda item: -item[1]))


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
) -> str:
    """The weightiest reasons in one line, as in ``same meaning (41 %); same words: milk, coffee (33 %)``.

    Words are named with ``query``; ``asked`` is what the hit was found by. Raises ``InvalidInput`` for another language.
    """
    phrases = _PHRASES[_language(language)]
    told: list[str] = []
    found = reasons(signals, neighbours=bool(session))
    if "words" in found and _only_named(query or asked, text, speaker):
        found["speaker"] = found.pop("words") + found.get("speaker", 0.0)
        found = dict(sorted(found.items(), key=lambda item: -item[1]))
    for reason, part in list(found.items())[:most]:
        phrase = phrases[_phrase_of(reason, signals, speaker)].format(speaker=speaker)
        words = shared_words(query, text) if reason == "words" else []
        if words:
            phrase = phrases["named"].format(reason=phrase, words=phrases["comma"].join(words))
        told.append(phrases["part"].format(reason=phrase, part=round(100 * part)))
    return phrases["and"].join(told) or phrases["nothing"]


def _language(given: str) -> str:
    # As it is given on a machine: zh, zh-CN or zh_CN.
    if not isinstance(given, str) or re.split("[-_]", given, maxsplit=1)[0] not in _PHRASES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"reasons are told in {' and '.join(_PHRASES)}, not in {shown(given)}")
    return given[:2]


def _only_named(query: str, text: str, speaker: str) -> bool:
    """Whether a query shares no word with a text but the name of who said it, which is a word of every memory."""
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
    """The words of a query that a text has too, as the query writes them; some of them when there are many."""
    held = set(segment(text))
    found = [word for word in _WORD.findall(query) if _is_shared(word, held)]
    found += [part for run in _RUN.findall(query) for part in _shared_parts(run, held)]
    return list(dict.fromkeys(found))[:_MOST_WORDS]


def _is_shared(word: str, held: set[str]) -> bool:
    return word.casefold() not in STOP_WORDS["en"] and not held.isdisjoint(query_terms(word))


def _shared_parts(run: str, held: set[str]) -> Iterator[str]:
    """The longest parts of a run of Chinese whose pairs of characters the text has, without what only joins words."""
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
"""Diversity chooses among this many times the limit."""


class Ranked:
    """A record found: the shares of its signals add up to its score."""

    __slots__ = ("_names", "_shares", "_values", "id", "row", "score")

    def __init__(self, identity: str, row: int, values: list[float], names: Sequence[str], shares: list[float]) -> None:
        self.id, self.row, self.score = identity, row, math.fsum(shares)
        self._values, self._names, self._shares = values, names, shares

    @property
    def signals(self) -> dict[str, Signal]:
        """Every signal that was there or had a share."""
        told = zip(self._names, self._values, self._shares, strict=True)
        return {name: Signal(value, share) for name, value, share in told if value or share}

    def __repr__(self) -> str:
        return f"Ranked(id={self.id!r}, score={self.score:.4f})"


def rank(
    pool: Pool,
    question: Question,
    *,
    allowed: Flags | None = None,
    limit: int = 10,
    weights: Weights | None = None,
    diversity: float = 0.0,
) -> list[Ranked]:
    """The best records, best first, at most ``limit``; only rows flagged in ``allowed``, when that is given.

    ``diversity`` from 0 to 1 is how much of its score a record loses for repeating one that stands above it.
    Raises ``InvalidInput`` for a negative limit, and for flags that are not one for each row.
    """
    if limit < 0:
        raise InvalidInput(f"limit must be at least 0, not {limit!r}")
    if allowed is not None and len(allowed) != pool.limit:
        raise InvalidInput(f"allowed must have a flag for each of {pool.limit} rows, not {len(allowed)!r}")
    if not limit or not len(pool):
        return []
    weights = weights or default_weights()
    # Each that is chosen is compared with all that are left, so many more than are wanted would take too long.
    wanted = max(limit, min(_LOOKED_AT * limit, CANDIDATES)) if diversity > 0.0 else limit
    observed = observe(pool, question, weights, allowed, max(CANDIDATES, wanted))
    scores = weights.pieces.scores(observed.signals)
    order = _order(pool, observed.rows, scores, wanted)
    if diversity > 0.0:
        order = _diverse(pool, observed.rows, scores, order, diversity)[:limit]
    return _reasoned(pool, observed, weights, order)


def _order(pool: Pool, rows: NDArray[np.intp], scores: NDArray[np.float64], count: int) -> list[int]:
    """The places of the best, best first. Scores that differ by rounding alone count as equal."""
    rounded = np.round(scores, _DIGITS)
    if len(rounded) > count:
        # All that tie with the last one are kept, so that the tie is decided by time and id and not by place.
        last = np.partition(rounded, len(rounded) - count)[len(rounded) - count]
        places: list[int] = np.flatnonzero(rounded >= last).tolist()
    else:
        places = list(range(len(rounded)))
    keys = {at: (-float(rounded[at]), -float(pool.times[rows[at]]), pool.ids[int(rows[at])]) for at in places}
    return sorted(places, key=keys.__getitem__)[:count]


def _diverse(
    pool: Pool, rows: NDArray[np.intp], scores: NDArray[np.float64], order: Sequence[int], diversity: float
) -> list[int]:
    """The order in which each next record is the best after what it repeats has been taken off."""
    lowest = float(scores.min(initial=0.0))
    worth = {at: float(scores[at]) - lowest for at in order}
    chosen: list[int] = []
    repeated = dict.fromkeys(order, 0.0)
    while repeated:
        best = max(repeated, key=lambda at: worth[at] * (1.0 - diversity * repeated[at]))
        chosen.append(best)
        del repeated[best]
        for at in repeated:
            repeated[at] = max(repeated[at], pool.likeness(int(rows[best]), int(rows[at])))
    return chosen


def _reasoned(pool: Pool, observed: Observed, weights: Weights, order: Sequence[int]) -> list[Ranked]:
    chosen = observed.signals[order]
    pieces = weights.pieces
    shares, names = pieces.shares(chosen), pieces.names
    rows: list[int] = observed.rows[order].tolist()
    found = zip(rows, chosen[:, pieces.own_columns].tolist(), shares.tolist(), strict=True)
    return [Ranked(pool.ids[row], row, values, names, parts) for row, values, parts in found]
