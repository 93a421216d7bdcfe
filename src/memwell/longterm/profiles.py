"""``Profile``: what is known of a subject, from its facts and from the content of its memories.

Records are read once, as a stream, in bounded memory.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import TypeGuard, cast

import msgspec

from memwell.language.asking import is_question
from memwell.language.claims import FAVOURITE, USER, is_secret, relation_of
from memwell.language.claims.relations import CHINESE_FAVOURITES
from memwell.language.keywords import keywords
from memwell.language.sentiment import sentiment
from memwell.language.words import by_language, language_code
from memwell.longterm.facts import Fact, Facts
from memwell.longterm.statements import BY_HAND, name_key
from memwell.longterm.traits import traits_of
from memwell.records import Record, Space
from memwell.storage.protocols import RecordIndex
from memwell.values import check_count

# Statistics of a subject's records: topics, words, moods, and counts by month and session.

_WORDS_OF_A_RECORD = 6
_EVIDENCE = 5
_MOST = 10_000
"""How many words, topics and sessions are counted; the rarest are dropped first."""
_MOST_MONTHS = 600
_LEAST_COUNT = 2
_LONGEST_WORD = 100
_TREND = 0.15
"""Smaller changes of mood count as none."""


class Topic(msgspec.Struct, frozen=True):
    """A topic of records: a word, in how many of them, since when, its confidence, and the first of them."""

    word: str
    count: int
    since: datetime
    confidence: float
    evidence: tuple[str, ...]


class Mood(msgspec.Struct, frozen=True):
    """The average sentiment of a month's records, from -1.0 to 1.0, and the strongest of them."""

    month: str
    sentiment: float
    count: int
    evidence: tuple[str, ...]


class Trend(msgspec.Struct, frozen=True):
    """The average sentiment of all records, and its change from the first month to the last.

    ``direction`` is ``better``, ``worse`` or ``steady``, and ``unknown`` for a single month. The evidence is the strongest
    records of the first and the last month.
    """

    sentiment: float
    change: float
    direction: str
    evidence: tuple[str, ...]


class Count(msgspec.Struct, frozen=True):
    """The number of records of a session or a month, its first and last time, and the first records read."""

    name: str
    count: int
    first: datetime
    last: datetime
    evidence: tuple[str, ...]


class _Occurrences:
    """The occurrences of a word, a session or a month."""

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


class _MonthMood:
    """The sentiment of a month's records."""

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


class SubjectStats:
    """The statistics of one subject's records, in bounded memory."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)
        self._given: dict[str, _Occurrences] = {}
        self._words: dict[str, _Occurrences] = {}
        self._stated: dict[str, _Occurrences] = {}
        self._sessions: dict[str, _Occurrences] = {}
        self._per_month: dict[str, _Occurrences] = {}
        self._moods: dict[str, _MonthMood] = {}
        self.count = 0
        self.first: datetime | None = None
        self.last: datetime | None = None

    def add(self, record: Record) -> None:
        """Count a record, if it is the subject's."""
        traits = traits_of(record)
        if name_key(traits.speaker or USER) not in self._names or (not traits.speaker and traits.trust == "model"):
            return
        self.count += 1
        self.first = record.time if self.first is None else min(self.first, record.time)
        self.last = record.time if self.last is None else max(self.last, record.time)
        month = f"{record.time:%Y-%m}"
        self._moods.setdefault(month, _MonthMood()).add(record)
        _add(self._per_month, month, record)
        if traits.session:
            _add(self._sessions, traits.session, record)
        self._add_words(record)
        self._keep_bounds()

    def _add_words(self, record: Record) -> None:
        topic = _metadata(record).get("topic")
        if _is_word(topic):
            _add(self._given, topic, record)
        # What someone asks about need not be what they care for.
        counted = (self._words,) if is_question(record.text) else (self._words, self._stated)
        for word, weight in _words(record):
            for held in counted:
                _add(held, word, record, weight)

    def _keep_bounds(self) -> None:
        for held in (self._given, self._words, self._stated, self._sessions):
            if len(held) > 2 * _MOST:
                kept = dict(sorted(held.items(), key=_by_count)[:_MOST])
                held.clear()
                held.update(kept)
        for months in (self._moods, self._per_month):
            if len(months) > _MOST_MONTHS:
                del months[min(months)]

    def topics(self, limit: int) -> tuple[Topic, ...]:
        """The given topics, then the words of most records that ask nothing; a word of a single record is no topic."""
        given = [seen for _, seen in sorted(self._given.items(), key=_by_count)]
        found = [
            seen
            for key, seen in sorted(self._stated.items(), key=_by_weight)
            if seen.count >= _LEAST_COUNT and key not in self._given
        ]
        return tuple(seen.topic() for seen in _without_parts([*given, *found], limit))

    def keywords(self, limit: int) -> tuple[Topic, ...]:
        """The words of most records, at the same count the weightiest first."""
        ranked = [seen for _, seen in sorted(self._words.items(), key=_by_weight)]
        return tuple(seen.topic() for seen in _without_parts(ranked, limit))

    def moods(self, limit: int) -> tuple[Mood, ...]:
        """The latest months, in order."""
        return tuple(
            Mood(name, round(month.mean, 3), month.count, month.evidence)
            for name, month in sorted(self._moods.items())[-limit:]
        )

    def trend(self) -> Trend | None:
        """The change of mood; None without records."""
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
        """The number of sessions, as far as they were counted."""
        return len(self._sessions)

    def by_session(self, limit: int) -> tuple[Count, ...]:
        """The sessions with the most records."""
        return tuple(seen.counted() for _, seen in sorted(self._sessions.items(), key=_by_count)[:limit])

    def by_month(self, limit: int) -> tuple[Count, ...]:
        """The latest months, in order."""
        return tuple(seen.counted() for _, seen in sorted(self._per_month.items())[-limit:])


def _add(held: dict[str, _Occurrences], word: str, record: Record, weight: float = 1.0) -> None:
    key = word.casefold()
    seen = held.get(key)
    if seen is None:
        seen = held[key] = _Occurrences(word, record.time)
    seen.add(record, weight)


def _words(record: Record) -> Iterable[tuple[str, float]]:
    """The keywords given with the record, or those of its text, unless that speaks of a secret."""
    given = _metadata(record).get("keywords")
    if isinstance(given, list):
        words = {word.casefold(): word for word in cast("list[object]", given) if _is_word(word)}
        # They are given with the weightiest first.
        return [(word, 1 / (place + 1)) for place, word in enumerate(list(words.values())[:_WORDS_OF_A_RECORD])]
    found = () if is_secret("", record.text) else keywords(record.text, limit=_WORDS_OF_A_RECORD)
    return [(one.word, one.score) for one in found]


def _metadata(record: Record) -> Mapping[str, object]:
    return record.metadata


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_WORD


def _sentiment(record: Record) -> float:
    """The sentiment given with the record, or that of its text."""
    given = _metadata(record).get("sentiment")
    if isinstance(given, int | float) and not isinstance(given, bool) and -1 <= given <= 1:
        return float(given)
    return sentiment(record.text)


def _change(months: list[tuple[float, int]]) -> float:
    """The change from the first month to the last on a regression line; a month's weight is its record count."""
    total = sum(count for _, count in months)
    middle = sum(at * count for at, (_, count) in enumerate(months)) / total
    mean = sum(mood * count for mood, count in months) / total
    spread = sum(count * (at - middle) ** 2 for at, (_, count) in enumerate(months))
    slope = sum(count * (at - middle) * (mood - mean) for at, (mood, count) in enumerate(months)) / spread
    return slope * (len(months) - 1)


def _without_parts(ranked: Iterable[_Occurrences], limit: int) -> list[_Occurrences]:
    """The first ``limit``, without words that are part of a chosen one and no more frequent."""
    chosen: list[_Occurrences] = []
    for seen in ranked:
        if len(chosen) == limit:
            break
        if not any(_is_part(seen.word, other.word) and seen.count <= other.count for other in chosen):
            chosen.append(seen)
    return chosen


def _is_part(word: str, longer: str) -> bool:
    """Whether a word is part of a longer one; in scripts with spaces, as a whole word."""
    word, longer = word.casefold(), longer.casefold()
    return f" {word} " in f" {longer} " if word.isascii() else word in longer


def _by_count(item: tuple[str, _Occurrences]) -> tuple[int, str]:
    return (-item[1].count, item[0])


def _by_weight(item: tuple[str, _Occurrences]) -> tuple[int, float, str]:
    """At the same count the weightier first, so that a phrase comes before its parts."""
    return (-item[1].count, -item[1].weight, item[0])


class _Counted:
    """The statistics of one subject up to a state of the space, and what they were made from."""

    def __init__(self, names: Iterable[str]) -> None:
        self.stats = SubjectStats(*names)
        self.state: int | None = None
        self.seen: dict[int, int] = {}
        """A digest of each record of the subject, by its number."""
        self.expires: datetime | None = None
        """When the first of them ends."""

    def add(self, number: int, record: Record, now: datetime) -> bool:
        """Count a record; False if it was counted already, and has changed."""
        digest = hash((record.text, record.time, msgspec.json.encode(record.metadata)))
        if number in self.seen:
            return self.seen[number] == digest
        traits = traits_of(record)
        if traits.active and (traits.expires is None or traits.expires > now):
            before = self.stats.count
            self.stats.add(record)
            if self.stats.count > before:
                self.seen[number] = digest
                if traits.expires is not None:
                    self.expires = min(traits.expires, self.expires or traits.expires)
        return True


class KeptStats:
    """The statistics of the subjects that were asked for lately, brought up to date by what was stored since.

    They are counted again when a record that was counted has changed, is gone, or has expired. Thread-safe.
    """

    def __init__(self, index: RecordIndex, space: Space) -> None:
        self._index, self._space = index, space
        self._lock = threading.Lock()
        self._held: dict[tuple[str, ...], _Counted] = {}

    def of(self, names: Sequence[str], now: datetime) -> SubjectStats:
        """The statistics of what was said under these names. Use them before the next call."""
        with self._lock:
            held = self._held.pop(tuple(names), None)
            if held is None or not self._is_followed(held, now):
                held = _Counted(names)
                for piece in self._index.pieces(self._space):
                    held.state = piece.state
                    for number, record in piece.records:
                        held.add(number, record, now)
            if held.state is not None:
                # The one that was asked for last is dropped last.
                self._held[tuple(names)] = held
                for other in list(self._held)[:-_MOST_SUBJECTS]:
                    del self._held[other]
            return held.stats

    def _is_followed(self, held: _Counted, now: datetime) -> bool:
        """Whether the changes since could be added."""
        if held.expires is not None and held.expires <= now:
            return False
        changes = self._index.changes(self._space, held.state)
        if changes.whole or changes.state is None or not held.seen.keys().isdisjoint(changes.gone):
            return False
        held.state = changes.state
        return all(held.add(number, record, now) for number, record in changes.records)


_MOST_SUBJECTS = 16

LANGUAGES = ("en", "zh")
_LONGEST = 2_000
_SUMMED_UP = 5
"""How many entries of a kind a summary names."""
_MOOD = 0.1
"""A sentiment nearer to 0 is neutral."""


class ProfileEntry(msgspec.Struct, frozen=True):
    """One thing known of a subject: a relation and its value, since when, how certain, and which records say it."""

    relation: str
    value: str
    since: datetime | None
    confidence: float
    evidence: tuple[str, ...]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a subject, each entry with its evidence."""

    subject: str
    language: str = "en"
    attributes: tuple[ProfileEntry, ...] = ()
    preferences: tuple[ProfileEntry, ...] = ()
    people: tuple[ProfileEntry, ...] = ()
    topics: tuple[Topic, ...] = ()
    """Topics: the ``topic`` of the records' metadata, then words of several records."""
    keywords: tuple[Topic, ...] = ()
    """The words of most records, also of a single one."""
    moods: tuple[Mood, ...] = ()
    trend: Trend | None = None
    facts: int = 0
    records: int = 0
    sessions: int = 0
    by_session: tuple[Count, ...] = ()
    by_month: tuple[Count, ...] = ()
    first: datetime | None = None
    last: datetime | None = None

    def text(self, language: str | None = None, *, limit: int = _LONGEST) -> str:
        """The facts as lines of at most ``limit`` characters together, the most important first, below the name.

        It changes only when a fact does, so that a prompt that begins with it stays the same; empty without facts. Raises
        ``InvalidInput`` for a language other than ``en`` and ``zh``.
        """
        words = _PHRASES[_code(self.language if language is None else language)]
        entries = sorted((*self.attributes, *self.people, *self.preferences), key=_place)
        lines = [
            (_one_line(_label(relation, words)), [_one_line(_value(one, words)) for one in group])
            for relation, group in groupby(entries, key=attrgetter("relation"))
        ]
        return _within(check_count(limit, "limit", least=1), _one_line(self.subject), lines, words)

    def summary(self, language: str | None = None, *, evidence: bool = False) -> str:
        """The profile in two or three sentences; with ``evidence``, each followed by the ids it is based on.

        Raises ``InvalidInput`` for a language other than ``en`` and ``zh``.
        """
        words = _PHRASES[_code(self.language if language is None else language)]
        said = self._sentences(words)
        ids = [list(dict.fromkeys(sources)) if evidence else [] for _, sources in said]
        lines = [f"{one} [{', '.join(held)}]" if held else one for (one, _), held in zip(said, ids, strict=True)]
        return words["space"].join(lines)

    def _known(self, subject: str, words: dict[str, str]) -> tuple[str, list[str]]:
        """The most important facts of someone who said nothing, and the ids they are based on."""
        entries = sorted((*self.attributes, *self.people, *self.preferences), key=_place)[:_SUMMED_UP]
        if not entries:
            return words["nothing"].format(subject=subject), []
        lines = [f"{_label(one.relation, words)}{words['colon']}{_one_line(_value(one, words))}" for one in entries]
        ids = [id_ for one in entries for id_ in one.evidence[:1] if id_ != BY_HAND]
        return words["known"].format(subject=subject, facts=words["comma"].join(lines)), ids

    def _sentences(self, words: dict[str, str]) -> list[tuple[str, list[str]]]:
        """Each sentence of the summary, and the ids it is based on."""
        subject = words[USER] if self.subject == USER else self.subject
        if not self.records or self.first is None or self.last is None:
            return [self._known(subject, words)]
        several = words["in_one_session" if self.sessions == 1 else "in_sessions"].format(count=self.sessions)
        sessions = several if self.sessions else ""
        days = {"first": f"{self.first:%Y-%m-%d}", "last": f"{self.last:%Y-%m-%d}"}
        dated = words["one_day" if days["first"] == days["last"] else "days"].format(**days)
        said = words["said_once" if self.records == 1 else "said"].format(
            subject=subject, count=self.records, sessions=sessions, dated=dated
        )
        found = [(said, [one.evidence[0] for one in self.by_month[:_SUMMED_UP] if one.evidence])]
        often = [one for one in self.keywords if one.count >= _LEAST_COUNT]
        about = (self.topics or often)[:_SUMMED_UP]
        if about:
            named = words["and"].join(words["times"].format(word=one.word, count=one.count) for one in about)
            found.append((words["about"].format(topics=named), [one.evidence[0] for one in about]))
        if self.trend is not None and (
            abs(self.trend.sentiment) >= _MOOD or self.trend.direction in ("better", "worse")
        ):
            found.append((_mood_in_words(self.trend, words), list(self.trend.evidence)))
        return found


def profile(
    facts: Facts,
    records: Iterable[Record] | SubjectStats,
    *,
    subject: str = USER,
    language: str = "en",
    limit: int = 20,
    sources: Container[str] | None = None,
) -> Profile:
    """What is known of a subject, with at most ``limit`` entries of each kind, the most important first.

    It reads the records that the subject said, unless it is given their statistics; one without a speaker counts as the
    user's. With ``sources`` only facts count that one of these records states, or a person by hand. Raises
    ``InvalidInput`` for an empty subject, a language other than ``en`` and ``zh``, and a limit below 1.
    """
    check_count(limit, "limit", least=1)
    _code(language)
    held = facts.about(subject)
    if sources is not None:
        held = [one for one in held if any(of.record in sources or of.record == BY_HAND for of in one.evidence)]
    if isinstance(records, SubjectStats):
        reading = records
    else:
        reading = SubjectStats(*facts.names_of(subject))
        for record in records:
            reading.add(record)
    return Profile(
        subject=subject,
        language=language,
        attributes=_traits([one for one in held if not (one.relation in _OPINIONS or _is_of_people(one))], limit),
        preferences=_traits([fact for fact in held if fact.relation in _OPINIONS], limit),
        people=_traits([fact for fact in held if _is_of_people(fact)], limit),
        topics=reading.topics(limit),
        keywords=reading.keywords(limit),
        moods=reading.moods(limit),
        trend=reading.trend(),
        facts=len(held),
        records=reading.count,
        sessions=reading.sessions,
        by_session=reading.by_session(limit),
        by_month=reading.by_month(limit),
        first=reading.first,
        last=reading.last,
    )


_OPINIONS = ("likes", "dislikes")
_ORDER = {
    name: place
    for place, name in enumerate(
        (
            *("allergic_to", "diet", "name", "age", "birthday", "lives_in", "from", "works_at", "occupation"),
            *("married_to", "partner", "child", "parent", "sibling", *_OPINIONS),
        )
    )
}
"""What is named first: what may harm, then who it is. Other relations follow."""


def _is_of_people(fact: Fact) -> bool:
    relation = relation_of(fact.relation)
    return relation is not None and relation.people


def _place(one: Fact | ProfileEntry) -> tuple[int, str]:
    return _ORDER.get(one.relation, len(_ORDER)), one.relation


def _traits(facts: Iterable[Fact], limit: int) -> tuple[ProfileEntry, ...]:
    ranked = sorted(facts, key=lambda fact: (*_place(fact), -fact.confidence, fact.id))
    return tuple(
        ProfileEntry(
            fact.relation,
            fact.object,
            fact.valid_from,
            fact.confidence,
            tuple(dict.fromkeys(source.record for source in fact.evidence)),
        )
        for fact in ranked[:limit]
    )


def _code(language: str) -> str:
    return language_code(language, "profiles")


def relation_in_words(relation: str, language: str) -> str:
    """A relation in words: ``lives_in`` is *lives in* or 住在. One without a translation is returned as it is."""
    return _label(relation, _PHRASES[_code(language)])


_FAVOURITES = {english: word for word, english in reversed(CHINESE_FAVOURITES.items())}
"""The usual Chinese word for what a favourite is of, by the English one."""


def _label(relation: str, words: dict[str, str]) -> str:
    if relation.startswith(FAVOURITE):
        what = relation[len(FAVOURITE) :]
        return words["favourite"].format(what=what if words["favourite"].isascii() else _FAVOURITES.get(what, what))
    return words.get(relation, relation)


def _value(trait: ProfileEntry, words: dict[str, str]) -> str:
    return f"{trait.value}{words['since'].format(date=f'{trait.since:%Y-%m}') if trait.since else ''}"


def _one_line(text: str) -> str:
    # In a prompt, a line of its own could pass for someone's words.
    return " ".join(text.split())


def _mood_in_words(trend: Trend, words: dict[str, str]) -> str:
    mood = "good" if trend.sentiment >= _MOOD else "bad" if trend.sentiment <= -_MOOD else "even"
    turn = words.get(trend.direction, "")
    return words["mood"].format(mood=words[mood], sentiment=trend.sentiment, turn=turn)


def _within(limit: int, title: str, lines: Sequence[tuple[str, list[str]]], words: dict[str, str]) -> str:
    """The lines and entries that fit below the title; nothing if none does."""
    text = title
    for label, entries in lines:
        line = f"\n{label}{words['colon']}"
        fitting = 0
        for entry in entries:
            longer = f"{line}{words['comma'] if fitting else ''}{entry}"
            if len(text) + len(longer) > limit:
                break
            line, fitting = longer, fitting + 1
        text += line if fitting else ""
    return "" if text == title else text


_PHRASES = by_language(
    {
        "likes": ("likes", "喜欢"),
        "dislikes": ("dislikes", "不喜欢"),
        "since": (" (since {date})", "（自 {date}）"),
        "favourite": ("favourite {what}", "最喜欢的{what}"),
        "said": ("{subject}: {count} messages{sessions}{dated}.", "{subject}：{dated}{sessions}共有 {count} 条消息。"),
        "said_once": ("{subject}: one message{sessions}{dated}.", "{subject}：{dated}{sessions}有一条消息。"),
        "in_sessions": (" in {count} sessions", "在 {count} 次会话中"),
        "in_one_session": (" in one session", "在一次会话中"),
        "days": (", from {first} to {last}", "从 {first} 到 {last}，"),
        "one_day": (", on {first}", "{first}，"),
        "nothing": ("{subject}: nothing is known yet.", "{subject}：还没有任何记录。"),
        "known": ("{subject}: {facts}.", "{subject}：{facts}。"),
        USER: ("The user", "用户"),
        "about": ("Mostly about {topics}.", "主要关注{topics}。"),
        "times": ("{word} ({count})", "{word}（{count} 次）"),
        "and": (", ", "、"),
        "mood": ("The mood is {mood} ({sentiment:+.2f}){turn}.", "整体情绪{mood}（{sentiment:+.2f}）{turn}。"),
        "good": ("good", "积极"),
        "bad": ("bad", "消极"),
        "even": ("neutral", "平和"),
        "better": (", and getting better", "，并且在好转"),
        "worse": (", and getting worse", "，并且在变差"),
        "steady": (", and steady", "，保持平稳"),
        "space": (" ", ""),
        "colon": (": ", "："),
        "comma": ("; ", "；"),
        "lives_in": ("lives in", "住在"),
        "works_at": ("works at", "工作单位"),
        "works_in": ("works in", "工作地点"),
        "studies_at": ("studies at", "就读于"),
        "studies_in": ("studies in", "求学地点"),
        "graduated_from": ("graduated from", "毕业于"),
        "allergic_to": ("allergic to", "过敏"),
        "married_to": ("married to", "配偶"),
        "name": ("name", "名字"),
        "age": ("age", "年龄"),
        "birthday": ("birthday", "生日"),
        "from": ("from", "来自"),
        "nationality": ("nationality", "国籍"),
        "occupation": ("occupation", "职业"),
        "studies": ("studies", "学习"),
        "speaks": ("speaks", "会说"),
        "email": ("email", "邮箱"),
        "phone": ("phone", "电话"),
        "partner": ("partner", "伴侣"),
        "parent": ("parent", "父母"),
        "child": ("child", "子女"),
        "sibling": ("sibling", "兄弟姐妹"),
        "relative": ("relative", "亲戚"),
        "friend": ("friend", "朋友"),
        "colleague": ("colleague", "同事"),
        "pet": ("pet", "宠物"),
        "kind": ("kind", "种类"),
        "owns": ("owns", "拥有"),
        "hobby": ("hobby", "爱好"),
        "diet": ("diet", "饮食"),
        "plans": ("plans", "计划"),
        "visited": ("visited", "去过"),
        "bought": ("bought", "买了"),
        "believes": ("believes", "相信"),
    }
)
