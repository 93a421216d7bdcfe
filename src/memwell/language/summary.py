"""A summary made of the sentences that say most: every one is taken from the text as it stands, none is made up.

A summary is lines, each a speaker and some sentences: ``Human: I live in Oslo. I have two cats.`` It can be read back, so
an old summary and what was said since make a new one, of a size that never grows.
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
from memwell.language.words import STOP_WORDS, check_string
from memwell.values import check_count

T = TypeVar("T")

Size: TypeAlias = Callable[[str], int]

LOOKED_AT = 100_000
"""How much of one text is read, in characters."""

_SPEAKER = re.compile(r"([^:：\n]{1,40})[:：] ").match
_FIRST_PERSON = re.compile(r"\b(?:I|I['’]\w+|my|mine|me|we|our|ours|us)\b|我|咱", re.I).search
_QUESTION = re.compile(r"[?？][\"'”’」』）)\]*_]*\Z|[吗呢][。！]?\Z").search
_NUMBER_OR_DATE = re.compile(
    r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|june|july|august|september|october"
    r"|november|december|today|tomorrow|yesterday|tonight|weekend|birthday|deadline)\b"
    r"|[一二三四五六七八九十百千两][年月日号点岁个天周]|今天|明天|昨天|后天|星期|周[一二三四五六日末]|生日|下周|下个?月",
    re.I,
).search
_FENCE = re.compile(r"(?:```|~~~)[\w+#.-]*\Z").match
_STOPS = STOP_WORDS["en"] | STOP_WORDS["zh"]
_MOST_TERMS = 12
_TERM, _NAME, _DATE, _OWN, _QUESTIONED = 0.15, 0.5, 0.6, 0.8, -1.0
_MOST_NAMES = 2
_MOST_REMEMBERED = 4096
_LONGEST_REMEMBERED = 500


class Line(NamedTuple):
    """A sentence and who says it; the speaker may be empty."""

    speaker: str
    text: str


class _Weighed(NamedTuple):
    place: int
    line: Line
    terms: frozenset[str]
    weight: float
    says: bool
    """Whether it is more than small talk or the mark of a block of code."""


def _remembered(make: Callable[[str], T]) -> Callable[[str], T]:
    """A function of a text that remembers: what a summary holds is read again with every turn."""
    known = lru_cache(maxsize=_MOST_REMEMBERED)(make)
    # Long texts come once, and a few thousand of them would fill the memory.
    return lambda text: known(text) if len(text) <= _LONGEST_REMEMBERED else make(text)


def lines_of(speaker: str, text: str) -> list[Line]:
    """What a speaker says, sentence by sentence. A sentence that runs over a line's end is cut there.

    Raises ``InvalidInput`` for a text that is no string.
    """
    return [
        Line(speaker, piece.strip())
        for sentence in _cut(check_string(text).strip()[:LOOKED_AT])
        for piece in sentence.split("\n")
        if piece.strip()
    ]


@_remembered
def _cut(text: str) -> tuple[str, ...]:
    return tuple(span.text for span in sentences(text))


def read_summary(text: str) -> list[Line]:
    """The lines of a summary, as ``written`` wrote them; a line without a speaker has an empty one."""
    found: list[Line] = []
    for line in check_string(text).split("\n"):
        found += lines_of(*_labelled(line))
    return found


def _labelled(line: str) -> Line:
    """The line with the speaker it names, or with none."""
    label = _SPEAKER(line)
    return Line(label[1].strip(), line[label.end() :].strip()) if label else Line("", line)


def written(lines: Iterable[Line]) -> str:
    """The lines as text, the sentences of one speaker in a row wherever they can be told apart again."""
    pieces: list[str] = []
    before = None
    for said in lines:
        # Without a speaker, one that stands in the text is read back as the speaker: it is written as that.
        line = said if said.speaker else _labelled(said.text)
        speaker, text = line
        if before is not None and before.speaker == speaker and _parts_again(before.text, text):
            pieces += (" ", text)
        else:
            pieces += ("\n" if pieces else "", f"{speaker}: " if speaker else "", text)
        before = line
    return "".join(pieces)


# Where a sentence ends is decided by its own words and the one after it, so a row parts again when all its pairs do.
@lru_cache(maxsize=_MOST_REMEMBERED)
def _parts_again(one: str, other: str) -> bool:
    together = tuple(span.text for span in sentences(f"{one} {other}"))
    return together == _cut(one) + _cut(other)


def summarise(lines: Iterable[Line], *, limit: int, size: Size = len) -> list[Line]:
    """The sentences that say most, in their order, together no larger than ``limit`` as ``size`` measures their text.

    When all that is said fits, all of it is kept, each sentence of a speaker once. Otherwise names, numbers, dates and what
    people say of themselves weigh most and questions least; of sentences that weigh the same, and of those that say the
    same, the newest is kept. Small talk is left out even if it would fit, unless there is nothing else; when not one
    sentence fits, it is the beginning of the weightiest. The same lines give the same summary. Raises ``InvalidInput`` for
    a limit that is no whole number of at least 0.
    """
    check_count(limit, "limit")
    weighed = sorted(_weigh(lines), key=lambda one: (-one.weight, -one.place))
    saying = _once([one for one in weighed if one.says] or weighed)
    measured = _Measured(size)
    chosen = _fitting(saying, limit, measured)
    if len(chosen) < len(saying):
        chosen = _fitting(_apart(saying), limit, measured)
    if chosen or not weighed:
        return [one.line for one in sorted(chosen)]
    return _beginning(saying[0].line, limit, size)


class _Measured(dict[str, int]):
    """The sizes of texts, each measured once: counting tokens is the dearest part of a summary."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self._size = size

    def __missing__(self, text: str) -> int:
        return self.setdefault(text, self._size(text))


def _fitting(weighed: Iterable[_Weighed], limit: int, size: Mapping[str, int]) -> list[_Weighed]:
    """As many from the front as fit together, passing over those that are too large."""
    likely: list[_Weighed] = []
    used = 0
    for one in weighed:
        needed = size[one.line.text]
        if used + needed <= limit and (likely or size[written([one.line])] <= limit):
            likely.append(one)
            used += needed
    # Speakers count too, and a row may measure more than its sentences one by one: the lightest give way. Whatever it
    # measures, what is found fits: a search ends behind a place that was looked at and was not over the limit.
    most = bisect_right(range(len(likely)), limit, key=lambda place: size[_text(likely[: place + 1])])
    return likely[:most]


def _text(chosen: Iterable[_Weighed]) -> str:
    return written(one.line for one in sorted(chosen))


def _beginning(line: Line, limit: int, size: Size) -> list[Line]:
    """As much of a sentence as fits, with its speaker or, where he alone is too long, without."""
    for speaker in dict.fromkeys((line.speaker, "")):
        low, high = 0, len(line.text)
        while low < high:
            middle = (low + high + 1) // 2
            fits = size(written([Line(speaker, line.text[:middle])])) <= limit
            low, high = (middle, high) if fits else (low, middle - 1)
        piece = line.text[:low].strip()
        # A shorter text may measure more than a longer one, so look at what is left.
        if piece and size(written([Line(speaker, piece)])) <= limit:
            return [Line(speaker, piece)]
    return []


def _weigh(lines: Iterable[Line]) -> list[_Weighed]:
    return [_Weighed(place, line, *_read(line.text)) for place, line in enumerate(lines)]


@_remembered
def _read(text: str) -> tuple[frozenset[str], float, bool]:
    """The terms of a sentence, its weight, and whether it says anything."""
    terms = frozenset(term for term in query_terms(text) if term not in _STOPS)
    return terms, _weight(text, len(terms)), not (_FENCE(text) or is_small_talk(text))


def _weight(text: str, terms: int) -> float:
    weight = _TERM * min(terms, _MOST_TERMS) + _NAME * min(len(entities(text)), _MOST_NAMES)
    weight += _DATE if _NUMBER_OR_DATE(text) else 0.0
    if _QUESTION(text):
        weight += _QUESTIONED
    elif _FIRST_PERSON(text):
        weight += _OWN
    return weight


def _once(weighed: Sequence[_Weighed]) -> list[_Weighed]:
    """Without what the same speaker says again, word for word: the newest stays."""
    newest: dict[tuple[str, str], int] = {}
    for one in weighed:
        key = (one.line.speaker, one.line.text.casefold())
        newest[key] = max(one.place, newest.get(key, -1))
    kept = set(newest.values())
    return [one for one in weighed if one.place in kept]


def _apart(weighed: Sequence[_Weighed]) -> list[_Weighed]:
    """Without those whose terms a newer one has as well: they say hardly more."""
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
