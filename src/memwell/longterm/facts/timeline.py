"""From what was said to what holds when: a pure function of a set of statements, whatever the order they came in.

The statements of one question ("where does Ann live?") are laid over each other in the order in which they were said. One
that holds from a moment on covers what was said before it, from that moment; one that ended ends its own value only.
A value whose beginning nobody named reaches back to the earliest times, as long as nothing else is known of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from memwell.longterm.facts.names import digest

EARLIEST = datetime.min.replace(tzinfo=UTC)
LATEST = datetime.max.replace(tzinfo=UTC)
_MOST_CERTAIN = 0.99


class Source(msgspec.Struct, frozen=True):
    """A record that says something, and the characters of its text that do."""

    record: str
    start: int = 0
    end: int = 0


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Something that holds, or held, of a subject.

    ``valid_from`` and ``valid_to`` are when it holds in the world, None where that is open; where they are equal it is not
    known when it held. ``learned_at`` and ``retired_at`` are when it was first believed and when it was retracted.
    """

    id: str
    subject: str
    relation: str
    object: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    learned_at: datetime
    retired_at: datetime | None = None
    superseded_by: str | None = None
    evidence: tuple[Source, ...] = ()
    confidence: float = 0.8
    said_at: datetime

    def holds_at(self, moment: datetime) -> bool:
        """Whether it holds in the world at this moment."""
        return (self.valid_from or EARLIEST) <= moment < (self.valid_to or LATEST)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of one record, as it is stored."""

    key: str
    subject: str
    relation: str
    object: str
    value: str
    """The relation and the object in the form in which they are compared; empty for every value."""
    valid_from: datetime | None
    valid_to: datetime | None
    negated: bool
    said_at: datetime
    learned_at: datetime
    retired_at: datetime | None
    confidence: float
    source: Source

    @property
    def begins(self) -> datetime:
        """From when on it certainly holds."""
        return self.valid_from or self.said_at

    @property
    def is_past(self) -> bool:
        """Whether it says of something only that it is over, not since when it was."""
        return self.valid_from is None and self.valid_to is not None and self.valid_to <= self.said_at


class _Stretch(NamedTuple):
    start: datetime
    value: str | None


def timeline(statements: Iterable[Statement]) -> list[Fact]:
    """The facts that the statements of one question add up to, the earliest first; what was retracted comes last."""
    given = list(statements)
    if len(given) == 1 and _stands_alone(given[0]):
        # Most questions have one answer, given once: nothing is to be weighed.
        return [_fact(_Span(0, "", *_bounds(given[0]), None), {0: digest(given[0].key)}, given[0], given)]
    given.sort(key=_order)
    held = [one for one in given if one.retired_at is None]
    facts = _facts(held)
    believed = {one.value for one in held if not one.negated}
    gone = [one for one in given if one.retired_at is not None and one.value not in believed]
    return facts + [_retired(fact, gone) for fact in _facts(gone)]


def _stands_alone(one: Statement) -> bool:
    since, until = _bounds(one)
    return not one.negated and one.retired_at is None and since < until


def _bounds(one: Statement) -> tuple[datetime, datetime]:
    return one.valid_from or EARLIEST, one.valid_to or LATEST


def _order(one: Statement) -> tuple[datetime, datetime, int, str, str]:
    # Nothing of when it was learned: the picture must not depend on the order of learning.
    return (one.said_at, one.begins, one.source.start, one.value, one.key)


def _retired(fact: Fact, gone: Iterable[Statement]) -> Fact:
    records = {source.record for source in fact.evidence}
    ends = [one.retired_at for one in gone if one.retired_at is not None and one.source.record in records]
    return msgspec.structs.replace(fact, retired_at=max(ends), superseded_by=None)


def _facts(statements: list[Statement]) -> list[Fact]:
    positive = [one for one in statements if not one.negated]
    shown = _spans(_painted(statements))
    supporters = _supporters(positive, shown)
    spans = _reaching_back(shown, supporters, positive)
    # A fact is named after what it was first learned from, so more evidence never renames it.
    first = {place: min(backing, key=lambda one: (one.learned_at, one.key)) for place, backing in supporters.items()}
    ids = {place: digest(one.key) for place, one in first.items()}
    return [_fact(span, ids, first[span.place], supporters[span.place]) for span in spans if span.place in supporters]


def _painted(statements: Iterable[Statement]) -> list[_Stretch]:
    """The line of time, cut where the value changes: each stretch runs to the next one's start."""
    line = [_Stretch(EARLIEST, None)]
    for one in statements:
        if one.negated:
            line = _laid(line, one.begins, one.valid_to or LATEST, None, only=one.value)
        elif one.is_past:
            line = _laid(line, one.valid_to or LATEST, LATEST, None, only=one.value)
        else:
            line = _laid(line, one.begins, one.valid_to or LATEST, one.value)
    return line


def _laid(
    line: list[_Stretch], start: datetime, end: datetime, value: str | None, *, only: str | None = None
) -> list[_Stretch]:
    """The line with a value from ``start`` to ``end``; with ``only``, just where that value stood ("" for any)."""
    if start >= end:
        return line
    if only is None and end == LATEST and start > line[-1].start:
        # What is said last mostly holds last: no need to walk the whole line.
        _push(line, _Stretch(start, value))
        return line
    laid: list[_Stretch] = []
    for place, stretch in enumerate(line):
        ends = line[place + 1].start if place + 1 < len(line) else LATEST
        if ends <= start or stretch.start >= end or (only and stretch.value != only):
            _push(laid, stretch)
            continue
        if stretch.start < start:
            _push(laid, stretch)
        _push(laid, _Stretch(max(start, stretch.start), value))
        if end < ends:
            _push(laid, _Stretch(end, stretch.value))
    return laid


def _push(line: list[_Stretch], stretch: _Stretch) -> None:
    if not line or line[-1].value != stretch.value:
        line.append(stretch)


class _Span(NamedTuple):
    """A stretch of one value. ``place`` tells those of one line apart; ``adjacent`` is the place that follows at once."""

    place: int
    value: str
    start: datetime
    end: datetime
    adjacent: int | None


def _spans(line: list[_Stretch]) -> list[_Span]:
    spans: list[_Span] = []
    for place, (start, value) in enumerate(line):
        last = place + 1 == len(line)
        if value is not None:
            follows = None if last or line[place + 1].value is None else place + 1
            spans.append(_Span(place, value, start, LATEST if last else line[place + 1].start, follows))
    return spans


def _supporters(positive: Iterable[Statement], spans: list[_Span]) -> dict[int, list[Statement]]:
    """Which statements stand behind each span; those that no span shows have places of their own, below zero."""
    by_value: dict[str, list[_Span]] = {}
    for span in spans:
        by_value.setdefault(span.value, []).append(span)
    found: dict[int, list[Statement]] = {}
    hidden: dict[str, int] = {}
    for one in positive:
        span = _nearest(one, by_value.get(one.value, ()))
        place = hidden.setdefault(one.value, -1 - len(hidden)) if span is None else span.place
        found.setdefault(place, []).append(one)
    return found


def _nearest(one: Statement, spans: Iterable[_Span]) -> _Span | None:
    """The span that a statement speaks of: the one it lies in, or the last that begins before it, or the first."""
    found: _Span | None = None
    moment = one.valid_to if one.is_past and one.valid_to is not None else one.begins
    for span in spans:
        if found is not None and span.start > moment:
            break
        found = span
    return found


def _reaching_back(
    spans: list[_Span], supporters: dict[int, list[Statement]], positive: list[Statement]
) -> list[_Span]:
    """With the spans of values that no stretch shows, and one span reaching back to the earliest times.

    Of several that could, the one said to be past comes first, then the first span, then what was covered; the others
    are left without a time.
    """
    first = min((span.start for span in spans), default=LATEST)
    hidden = [_hidden(place, backing, spans, first) for place, backing in supporters.items() if place < 0]
    past = [span for span in hidden if supporters[span.place][-1].is_past]
    covered = [span for span in hidden if supporters[span.place][-1].valid_from is None and span not in past]
    opening = [span for span in spans if span.start == first and _start_unknown(span, positive)]
    everything = spans + hidden
    choices = past[-1:] or opening or covered[-1:]
    if choices:
        chosen = choices[0]
        ends = chosen.end if chosen.place >= 0 else min(chosen.start, first)
        adjacent = chosen.adjacent if chosen.place >= 0 else _place_at(spans, ends)
        everything[everything.index(chosen)] = chosen._replace(start=EARLIEST, end=ends, adjacent=adjacent)
    return sorted(everything, key=lambda span: (span.start, span.end, span.place))


def _hidden(place: int, backing: list[Statement], spans: list[_Span], first: datetime) -> _Span:
    """A span without a length, for a value that nothing of the line shows."""
    last = backing[-1]
    moment = last.valid_to if last.is_past and last.valid_to is not None else last.begins
    if last.valid_from is None and last.valid_to is None:
        moment = min(moment, first)
    return _Span(place, last.value, moment, moment, _place_at(spans, moment))


def _start_unknown(span: _Span, positive: Iterable[Statement]) -> bool:
    return any(one.value == span.value and one.begins == span.start and one.valid_from is None for one in positive)


def _place_at(spans: Iterable[_Span], moment: datetime) -> int | None:
    return next((span.place for span in spans if span.start <= moment < span.end), None)


def _fact(span: _Span, ids: dict[int, str], first: Statement, backing: list[Statement]) -> Fact:
    return Fact(
        id=ids[span.place],
        subject=first.subject,
        relation=first.relation,
        object=first.object,
        valid_from=None if span.start == EARLIEST else span.start,
        valid_to=None if span.end == LATEST else span.end,
        learned_at=first.learned_at,
        superseded_by=None if span.adjacent is None else ids.get(span.adjacent),
        evidence=tuple(one.source for one in backing),
        confidence=_together(backing),
        said_at=backing[-1].said_at,
    )


def _together(backing: Iterable[Statement]) -> float:
    """Several records that say the same are surer than one; a record counts once."""
    surest: dict[str, float] = {}
    for one in backing:
        surest[one.source.record] = max(one.confidence, surest.get(one.source.record, 0.0))
    doubt = 1.0
    for confidence in surest.values():
        doubt *= 1.0 - confidence
    return round(min(max(_MOST_CERTAIN, *surest.values()), 1.0 - doubt), 4)


__all__ = ["EARLIEST", "LATEST", "Fact", "Source", "Statement", "timeline"]
