"""What a stream of someone's records adds up to: topics, words, moods, and how much was said when.

Records are read once; what is kept while reading is bounded, however many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeGuard, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.language.claims import USER
from memwell.language.keywords import keywords
from memwell.language.sentiment import sentiment
from memwell.longterm.facts import name_key
from memwell.longterm.traits import traits_of
from memwell.records import Record
from memwell.values import shown

_WORDS_OF_A_RECORD = 6
_EVIDENCE = 5
_MOST = 10_000
"""How many words, topics and sessions are kept in mind; the ones seen least go first."""
_MOST_MONTHS = 600
_LEAST_COUNT = 2
_LONGEST_WORD = 100
_TREND = 0.15
"""A change of mood that is smaller is none."""


class Topic(msgspec.Struct, frozen=True):
    """What records are about: a word, in how many of them, since when, how surely it matters, and the first of them."""

    word: str
    count: int
    since: datetime
    confidence: float
    evidence: tuple[str, ...]


class Mood(msgspec.Struct, frozen=True):
    """How a month's records speak, from -1.0 to 1.0, and the ones that speak most strongly."""

    month: str
    sentiment: float
    count: int
    evidence: tuple[str, ...]


class Trend(msgspec.Struct, frozen=True):
    """How all records speak on average, and how that has changed from the first month to the last.

    ``direction`` is ``better``, ``worse`` or ``steady``, and ``unknown`` where there is but one month. The evidence speaks
    most strongly in the first month and in the last.
    """

    sentiment: float
    change: float
    direction: str
    evidence: tuple[str, ...]


class Count(msgspec.Struct, frozen=True):
    """How many records a session or a month has, from when to when, and the first that were read."""

    name: str
    count: int
    first: datetime
    last: datetime
    evidence: tuple[str, ...]


class _Seen:
    """Where a word, a session or a month was seen."""

    __slots__ = ("count", "evidence", "first", "last", "weight", "word")

    def __init__(self, word: str, time: datetime) -> None:
        self.word = word
        self.first = self.last = time
        self.count = 0
        self.weight = 0.0
        self.evidence: list[str] = []

    def add(self, record: Record, weight: float = 1.0) -> None:
        self.count += 1
        self.weight += weight
        self.first = min(self.first, record.time)
        self.last = max(self.last, record.time)
        if len(self.evidence) < _EVIDENCE:
            self.evidence.append(record.id)

    def topic(self) -> Topic:
        return Topic(self.word, self.count, self.first, round(1 - 0.7**self.count, 2), tuple(self.evidence))

    def counted(self) -> Count:
        return Count(self.word, self.count, self.first, self.last, tuple(self.evidence))


class _Month:
    """How the records of a month speak."""

    __slots__ = ("count", "strongest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.strongest: list[tuple[float, str]] = []

    def add(self, record: Record) -> None:
        said = _sentiment(record)
        self.count += 1
        self.total += said
        if said:
            self.strongest = sorted([*self.strongest, (-abs(said), record.id)])[:_EVIDENCE]

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def evidence(self) -> tuple[str, ...]:
        return tuple(id_ for _, id_ in self.strongest)


class Reading:
    """What the records of one subject add up to, in bounded space."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._given: dict[str, _Seen] = {}
        self._words: dict[str, _Seen] = {}
        self._sessions: dict[str, _Seen] = {}
        self._per_month: dict[str, _Seen] = {}
        self._moods: dict[str, _Month] = {}
        self.count = 0
        self.first: datetime | None = None
        self.last: datetime | None = None

    def add(self, record: Record) -> None:
        """Take one record in, when it is the subject's. Raises ``InvalidInput`` for what is no record."""
        if not isinstance(record, Record):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a record must be a Record, not {shown(record)}")
        traits = traits_of(record)
        if name_key(traits.speaker or USER) != self._subject:
            return
        self.count += 1
        self.first = record.time if self.first is None else min(self.first, record.time)
        self.last = record.time if self.last is None else max(self.last, record.time)
        month = f"{record.time:%Y-%m}"
        self._moods.setdefault(month, _Month()).add(record)
        _add(self._per_month, month, record)
        if traits.session:
            _add(self._sessions, traits.session, record)
        self._add_words(record)
        self._keep_bounds()

    def _add_words(self, record: Record) -> None:
        topic = _metadata(record).get("topic")
        if _is_word(topic):
            _add(self._given, topic, record)
        for word, weight in _words(record):
            _add(self._words, word, record, weight)

    def _keep_bounds(self) -> None:
        for held in (self._given, self._words, self._sessions):
            if len(held) > 2 * _MOST:
                kept = dict(sorted(held.items(), key=_by_count)[:_MOST])
                held.clear()
                held.update(kept)
        for months in (self._moods, self._per_month):
            if len(months) > _MOST_MONTHS:
                del months[min(months)]

    def topics(self, limit: int) -> tuple[Topic, ...]:
        """The topics that were given, then the words of most records; a word of a single record is no topic."""
        given = [seen for _, seen in sorted(self._given.items(), key=_by_count)]
        found = [
            seen
            for key, seen in sorted(self._words.items(), key=_by_weight)
            if seen.count >= _LEAST_COUNT and key not in self._given
        ]
        return tuple(seen.topic() for seen in _without_parts([*given, *found], limit))

    def keywords(self, limit: int) -> tuple[Topic, ...]:
        """The words of most records, of those seen as often the weightiest first."""
        ranked = [seen for _, seen in sorted(self._words.items(), key=_by_weight)]
        return tuple(seen.topic() for seen in _without_parts(ranked, limit))

    def moods(self, limit: int) -> tuple[Mood, ...]:
        """The latest months, in order."""
        return tuple(
            Mood(name, round(month.mean, 3), month.count, month.evidence)
            for name, month in sorted(self._moods.items())[-limit:]
        )

    def trend(self) -> Trend | None:
        """How the mood has gone; None where nothing was said."""
        if not self._moods:
            return None
        months = [month for _, month in sorted(self._moods.items())]
        mean = sum(month.total for month in months) / sum(month.count for month in months)
        if len(months) == 1:
            return Trend(round(mean, 3), 0.0, "unknown", months[0].evidence)
        change = _change([(month.mean, month.count) for month in months])
        direction = "steady" if abs(change) < _TREND else "better" if change > 0 else "worse"
        ends = dict.fromkeys((*months[0].evidence[:2], *months[-1].evidence[:3]))
        return Trend(round(mean, 3), round(change, 3), direction, tuple(ends))

    @property
    def sessions(self) -> int:
        """How many sessions the records come from, as far as they were kept in mind."""
        return len(self._sessions)

    def by_session(self, limit: int) -> tuple[Count, ...]:
        """The sessions with the most records."""
        return tuple(seen.counted() for _, seen in sorted(self._sessions.items(), key=_by_count)[:limit])

    def by_month(self, limit: int) -> tuple[Count, ...]:
        """The latest months, in order."""
        return tuple(seen.counted() for _, seen in sorted(self._per_month.items())[-limit:])


def _add(held: dict[str, _Seen], word: str, record: Record, weight: float = 1.0) -> None:
    key = word.casefold()
    seen = held.get(key)
    if seen is None:
        seen = held[key] = _Seen(word, record.time)
    seen.add(record, weight)


def _words(record: Record) -> Iterable[tuple[str, float]]:
    """The keywords that the record was given, or else those of its text."""
    given = _metadata(record).get("keywords")
    if isinstance(given, list):
        words = {word.casefold(): word for word in cast("list[object]", given) if _is_word(word)}
        # They come with the weightiest first.
        return [(word, 1 / (place + 1)) for place, word in enumerate(list(words.values())[:_WORDS_OF_A_RECORD])]
    return [(found.word, found.score) for found in keywords(record.text, limit=_WORDS_OF_A_RECORD)]


def _metadata(record: Record) -> Mapping[str, object]:
    return record.metadata


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_WORD


def _sentiment(record: Record) -> float:
    """The sentiment that the record was given, or else that of its text."""
    given = _metadata(record).get("sentiment")
    if isinstance(given, int | float) and not isinstance(given, bool) and -1 <= given <= 1:
        return float(given)
    return sentiment(record.text)


def _change(months: list[tuple[float, int]]) -> float:
    """From the first month to the last along the line that fits best; a month counts as its records do."""
    total = sum(count for _, count in months)
    middle = sum(at * count for at, (_, count) in enumerate(months)) / total
    mean = sum(mood * count for mood, count in months) / total
    spread = sum(count * (at - middle) ** 2 for at, (_, count) in enumerate(months))
    slope = sum(count * (at - middle) * (mood - mean) for at, (mood, count) in enumerate(months)) / spread
    return slope * (len(months) - 1)


def _without_parts(ranked: Iterable[_Seen], limit: int) -> list[_Seen]:
    """The first, without words that a chosen one holds and that were seen no more often."""
    chosen: list[_Seen] = []
    for seen in ranked:
        if len(chosen) == limit:
            break
        if not any(_is_part(seen.word, other.word) and seen.count <= other.count for other in chosen):
            chosen.append(seen)
    return chosen


def _is_part(word: str, longer: str) -> bool:
    """Whether a word stands in a longer one; one with spaces around it in its script must have them there too."""
    word, longer = word.casefold(), longer.casefold()
    return f" {word} " in f" {longer} " if word.isascii() else word in longer


def _by_count(item: tuple[str, _Seen]) -> tuple[int, str]:
    return (-item[1].count, item[0])


def _by_weight(item: tuple[str, _Seen]) -> tuple[int, float, str]:
    """Of words seen as often the weightier first, so that a phrase comes before its parts."""
    return (-item[1].count, -item[1].weight, item[0])


__all__ = ["Count", "Mood", "Reading", "Topic", "Trend"]
