"""``summarise``: an extractive summary, made of the most important sentences, unchanged.

A summary is lines of a speaker and some sentences: ``Human: I live in Oslo. I have two cats.`` It can be parsed, so an old
summary and new messages make a new one of the same size.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from memwell.language.entities import entities
from memwell.language.segment import query_terms
from memwell.language.sentences import is_small_talk, sentences
from memwell.language.words import STOP_WORDS
from memwell.values import check_count

T = TypeVar("T")

Size: TypeAlias = Callable[[str], int]

LOOKED_AT = 100_000
"""How many characters of one text are read."""

_SPEAKER = re.compile(r"([^:：\n]{1,40})[:：] ").match
_FIRST_PERSON = re.compile(r"\b(?:I|I['’]\w+|my|mine|me|we|our|ours|us)\b|我|咱", re.I).search
_QUESTION = re.compile(r"[?？][\"'”’」』）)\]*_]*\Z|[吗呢][。！]?\Z").search
_NUMBER_OR_DATE = re.compile(
    r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|today|tomorrow|yesterday|tonight|weekend|birthday|deadline)\b"
    r"|[一二三四五六七八九十百千两][年月日号点岁个天周]|今天|明天|昨天|后天|星期|周[一二三四五六日末]|生日|下周|下个?月",
    re.I,
).search
_DECISION = re.compile(
    r"\b(?:decid\w+|decision|agreed|settled on|go(?:ing)? with|chose|chosen|picked|approved|signed off|confirmed"
    r"|cancel\w*|postpon\w+|resched\w+|chang(?:ed|ing)|switch(?:ed|ing)|moved|quit|resigned|no longer|not any ?more|instead"
    r"|from now on|must|have to|promis\w+|plan(?:s|ned|ning)? to|will)\b"
    r"|决定|同意|说好|定了|定在|定下|选了|选择|批准|确认|取消|推迟|改成|改到|改为|换成|换了|搬|辞职|不再"
    r"|以后|必须|一定要|答应|打算|计划",
    re.I,
).search
_FENCE = re.compile(r"(?:```|~~~)[\w+#.-]*\Z").match
_STOPS = STOP_WORDS["en"] | STOP_WORDS["zh"]
_MOST_TERMS = 12
_TERM, _NAME, _DATE, _OWN, _DECIDED, _QUESTIONED = 0.15, 0.5, 0.6, 0.8, 0.7, -1.0
_MOST_NAMES = 2
_MOST_REMEMBERED = 4096
_LONGEST_REMEMBERED = 500


class SummaryLine(NamedTuple):
    """A sentence and its speaker, which may be empty."""

    speaker: str
    text: str


class _Weighed(NamedTuple):
    """A sentence with its terms and weight."""

    place: int
    line: SummaryLine
    terms: frozenset[str]
    weight: float
    says: bool
    """Whether it is more than small talk or a code fence."""


def _remembered(make: Callable[[str], T]) -> Callable[[str], T]:
    """A cached function of a text: the sentences of a summary are read again every turn."""
    known = lru_cache(maxsize=_MOST_REMEMBERED)(make)
    # Long texts are read once, and a few thousand of them would fill the memory.
    return lambda text: known(text) if len(text) <= _LONGEST_REMEMBERED else make(text)


def lines_of(speaker: str, text: str) -> list[SummaryLine]:
    """The sentences of a speaker's text. A sentence that runs over a line's end is split there."""
    return [
        SummaryLine(speaker, piece.strip())
        for sentence in _cut(text.strip()[:LOOKED_AT])
        for piece in sentence.split("\n")
        if piece.strip()
    ]


@_remembered
def _cut(text: str) -> tuple[str, ...]:
    return tuple(span.text for span in sentences(text))


def read_summary(text: str) -> list[SummaryLine]:
    """The lines of a summary, as ``written`` wrote them; the speaker of an unlabelled line is empty."""
    found: list[SummaryLine] = []
    for line in text.split("\n"):
        found += lines_of(*_labelled(line))
    return found


def _labelled(line: str) -> SummaryLine:
    """The line with the speaker it names, or none."""
    label = _SPEAKER(line)
    return SummaryLine(label[1].strip(), line[label.end() :].strip()) if label else SummaryLine("", line)


def written(lines: Iterable[SummaryLine]) -> str:
    """The lines as text; consecutive sentences of one speaker share a line if they can be split again."""
    pieces: list[str] = []
    before = None
    for said in lines:
        # A label in a text without a speaker would be parsed as the speaker, so it is written as one.
        line = said if said.speaker else _labelled(said.text)
        speaker, text = line
        if before is not None and before.speaker == speaker and _parts_again(before.text, text):
            pieces += (" ", text)
        else:
            pieces += ("\n" if pieces else "", f"{speaker}: " if speaker else "", text)
        before = line
    return "".join(pieces)


# The end of a sentence depends on its own words and the next one, so a row can be split again if all its pairs can.
@lru_cache(maxsize=_MOST_REMEMBERED)
def _parts_again(one: str, other: str) -> bool:
    together = tuple(span.text for span in sentences(f"{one} {other}"))
    return together == _cut(one) + _cut(other)


def summarise(lines: Iterable[SummaryLine], *, limit: int, size: Size = len) -> list[SummaryLine]:
    """The most important sentences, in their order, within ``limit`` as ``size`` measures their text.

    When everything fits, all sentences are kept, without a speaker's repetitions. Otherwise names, numbers, dates,
    decisions, changes and statements about oneself weigh most and questions least; among equals and repetitions the newest
    is kept. Small talk is left out even if it would fit, unless there is nothing else; when no sentence fits, the beginning
    of the weightiest is returned. It is deterministic. Raises ``InvalidInput`` for an invalid limit.
    """
    check_count(limit, "limit")
    weighed = sorted(
        (_Weighed(place, line, *_read(line.text)) for place, line in enumerate(lines)),
        key=lambda one: (-one.weight, -one.place),
    )
    saying = _once([one for one in weighed if one.says] or weighed)
    measured = _Measured(size)
    chosen = _fitting(saying, limit, measured)
    if len(chosen) < len(saying):
        chosen = _fitting(_apart(saying), limit, measured)
    if chosen or not weighed:
        return [one.line for one in sorted(chosen)]
    return _beginning(saying[0].line, limit, size)


class _Measured(dict[str, int]):
    """The sizes of texts, cached: counting tokens is the most expensive part of a summary."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self._size = size

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, self._size(text))


def _fitting(weighed: Iterable[_Weighed], limit: int, size: Mapping[str, int]) -> list[_Weighed]:
    """As many from the front as fit together, without those that are too large."""
    likely: list[_Weighed] = []
    used = 0
    for one in weighed:
        needed = size[one.line.text]
        if used + needed <= limit and (likely or size[written([one.line])] <= limit):
            likely.append(one)
            used += needed
    # Labels count too, and a line may measure more than its sentences: the lightest are dropped. The search ends at a place
    # that was measured and fits, for any ``size``.
    most = bisect_right(
        range(len(likely)), limit, key=lambda place: size[written(one.line for one in sorted(likely[: place + 1]))]
    )
    return likely[:most]


def _beginning(line: SummaryLine, limit: int, size: Size) -> list[SummaryLine]:
    """As much of a sentence as fits, with its speaker if possible."""
    for speaker in dict.fromkeys((line.speaker, "")):
        low, high = 0, len(line.text)
        while low < high:
            middle = (low + high + 1) // 2
            fits = size(written([SummaryLine(speaker, line.text[:middle])])) <= limit
            low, high = (middle, high) if fits else (low, middle - 1)
        piece = line.text[:low].strip()
        # A shorter text may measure more than a longer one, so the rest is measured again.
        if piece and size(written([SummaryLine(speaker, piece)])) <= limit:
            return [SummaryLine(speaker, piece)]
    return []


@_remembered
def _read(text: str) -> tuple[frozenset[str], float, bool]:
    """The terms of a sentence, its weight, and whether it has content."""
    terms = frozenset(term for term in query_terms(text) if term not in _STOPS)
    return terms, _weight(text, len(terms)), not (_FENCE(text) or is_small_talk(text))


def _weight(text: str, terms: int) -> float:
    weight = _TERM * min(terms, _MOST_TERMS) + _NAME * min(len(entities(text)), _MOST_NAMES)
    weight += _DATE if _NUMBER_OR_DATE(text) else 0.0
    if _QUESTION(text):
        return weight + _QUESTIONED
    return weight + (_OWN if _FIRST_PERSON(text) else 0.0) + (_DECIDED if _DECISION(text) else 0.0)


def is_statement(text: str) -> bool:
    """Whether a sentence says something: it is no question, no small talk and no fence of code."""
    return _QUESTION(text) is None and _read(text)[2]


def _once(weighed: Sequence[_Weighed]) -> list[_Weighed]:
    """Without a speaker's exact repetitions: the newest stays."""
    newest: dict[tuple[str, str], int] = {}
    for one in weighed:
        key = (one.line.speaker, one.line.text.casefold())
        newest[key] = max(one.place, newest.get(key, -1))
    kept = set(newest.values())
    return [one for one in weighed if one.place in kept]


def _apart(weighed: Sequence[_Weighed]) -> list[_Weighed]:
    """Without sentences whose terms are all in a newer one."""
    holders: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    kept: set[int] = set()
    for one in sorted(weighed, key=lambda one: -one.place):
        if _is_said(one.terms, holders):
            continue
        kept.add(one.place)
        for term in one.terms:
            holders[term].append(one.terms)
    return [one for one in weighed if one.place in kept]


def _is_said(terms: frozenset[str], holders: Mapping[str, Sequence[frozenset[str]]]) -> bool:
    """Whether one of the newer sentences has all of these terms."""
    if not terms or not holders.keys() >= terms:
        return False
    rarest = min((holders[term] for term in terms), key=len)
    return any(terms <= others for others in rarest)
