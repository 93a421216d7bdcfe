"""Who someone is, as far as is known: from their facts, and from what their memories are about.

Records are read once, in a stream; what is kept while reading is bounded, however many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeGuard, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.language.claims import FAVOURITE, USER, relation_of
from memwell.language.keywords import keywords
from memwell.language.sentiment import sentiment
from memwell.longterm.facts import Fact, Facts, name_key
from memwell.longterm.traits import traits_of
from memwell.records import Record
from memwell.values import check_count, shown

# What a stream of someone's records adds up to: topics, words, moods, and how much was said when.


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


LANGUAGES = ("en", "zh")
_LONGEST = 2_000
_SUMMED_UP = 5
"""How many entries of a kind a summary names."""
_MOOD = 0.1
"""A sentiment nearer to 0 speaks neither way."""


class Trait(msgspec.Struct, frozen=True):
    """Something known of someone: a relation and its value, since when, how surely, and which records say it."""

    relation: str
    value: str
    since: datetime | None
    confidence: float
    evidence: tuple[str, ...]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of someone, each entry with its evidence."""

    subject: str
    language: str = "en"
    attributes: tuple[Trait, ...] = ()
    preferences: tuple[Trait, ...] = ()
    people: tuple[Trait, ...] = ()
    topics: tuple[Topic, ...] = ()
    """What the records are about: the ``topic`` of their metadata, then what several of them speak of."""
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
        """The profile in words, of at most ``limit`` characters; the same profile gives the same words.

        Raises ``InvalidInput`` for a language other than ``en`` and ``zh``.
        """
        words = _PHRASES[_checked(self.language if language is None else language)]
        lines = [
            (words["attributes"], [_trait(one, words) for one in self.attributes]),
            (words["likes"], [one.value for one in self.preferences if one.relation == "likes"]),
            (words["dislikes"], [one.value for one in self.preferences if one.relation == "dislikes"]),
            (words["people"], [_trait(one, words) for one in self.people]),
            (words["topics"], [f"{one.word} ({one.count})" for one in self.topics]),
            (words["moods"], [f"{one.month} {one.sentiment:+.2f}" for one in self.moods]),
        ]
        return _within(check_count(limit, "limit", least=1), self._title(words), lines, words)

    def summary(self, language: str | None = None, *, evidence: bool = False) -> str:
        """The profile in two or three sentences; with ``evidence`` the ids that each rests on stand behind it.

        Raises ``InvalidInput`` for a language other than ``en`` and ``zh``.
        """
        words = _PHRASES[_checked(self.language if language is None else language)]
        said = self._sentences(words)
        ids = [list(dict.fromkeys(rests_on)) if evidence else [] for _, rests_on in said]
        told = [
            f"{sentence} [{', '.join(held)}]" if held else sentence
            for (sentence, _), held in zip(said, ids, strict=True)
        ]
        return words["space"].join(told)

    def _sentences(self, words: dict[str, str]) -> list[tuple[str, list[str]]]:
        """Each sentence of the summary, and the ids it rests on."""
        subject = words[USER] if self.subject == USER else self.subject
        if not self.records or self.first is None or self.last is None:
            return [(words["nothing"].format(subject=subject), [])]
        sessions = words["in_sessions"].format(count=self.sessions) if self.sessions else ""
        days = {"first": f"{self.first:%Y-%m-%d}", "last": f"{self.last:%Y-%m-%d}"}
        dated = words["one_day" if days["first"] == days["last"] else "days"].format(**days)
        said = words["said"].format(subject=subject, count=self.records, sessions=sessions, dated=dated)
        told = [(said, [one.evidence[0] for one in self.by_month[:_SUMMED_UP] if one.evidence])]
        about = (self.topics or self.keywords)[:_SUMMED_UP]
        if about:
            named = words["and"].join(words["times"].format(word=one.word, count=one.count) for one in about)
            told.append((words["about"].format(topics=named), [one.evidence[0] for one in about]))
        if self.trend is not None:
            told.append((_mood_in_words(self.trend, words), list(self.trend.evidence)))
        return told

    def _title(self, words: dict[str, str]) -> str:
        if self.first is None or self.last is None:
            return words["title_empty"].format(subject=self.subject)
        return words["title"].format(
            subject=self.subject, count=self.records, first=f"{self.first:%Y-%m-%d}", last=f"{self.last:%Y-%m-%d}"
        )


def profile(
    facts: Facts, records: Iterable[Record], *, subject: str = USER, language: str = "en", limit: int = 20
) -> Profile:
    """What is known of a subject; of each kind of entry at most ``limit``, those first that are surest.

    Of the records those count that the subject said; what names no speaker was said by the user. Raises ``InvalidInput``
    for an empty subject, another language than ``en`` and ``zh``, a limit below 1, and what is no record.
    """
    if not isinstance(records, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"records must be a list of records, not {shown(records)}")
    check_count(limit, "limit", least=1)
    _checked(language)
    held = facts.about(subject)
    reading = Reading(name_key(subject))
    for record in records:
        reading.add(record)
    return Profile(
        subject=subject,
        language=language,
        attributes=_traits([fact for fact in held if _is_attribute(fact)], limit),
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
    for place, name in enumerate(("name", "age", "birthday", "lives_in", "from", "works_at", "occupation", *_OPINIONS))
}


def _is_of_people(fact: Fact) -> bool:
    relation = relation_of(fact.relation)
    return relation is not None and relation.people


def _is_attribute(fact: Fact) -> bool:
    return fact.relation not in _OPINIONS and not _is_of_people(fact)


def _traits(facts: Iterable[Fact], limit: int) -> tuple[Trait, ...]:
    ranked = sorted(
        facts, key=lambda fact: (_ORDER.get(fact.relation, len(_ORDER)), -fact.confidence, fact.relation, fact.id)
    )
    return tuple(
        Trait(
            fact.relation,
            fact.object,
            fact.valid_from,
            fact.confidence,
            tuple(dict.fromkeys(source.record for source in fact.evidence)),
        )
        for fact in ranked[:limit]
    )


def _checked(language: str) -> str:
    if language not in LANGUAGES:
        raise InvalidInput(f"a profile is written in {' or '.join(LANGUAGES)}, not {shown(language)}")
    return language


def relation_in_words(relation: str, language: str) -> str:
    """What people call a relation: ``lives_in`` is *lives in*, or 住在. One without a word of its own is named as it is."""
    return _label(relation, _PHRASES[_checked(language)])


def _label(relation: str, words: dict[str, str]) -> str:
    if relation.startswith(FAVOURITE):
        return words["favourite"].format(what=relation[len(FAVOURITE) :])
    return words.get(relation, relation)


def _trait(trait: Trait, words: dict[str, str]) -> str:
    label = _label(trait.relation, words)
    since = words["since"].format(date=f"{trait.since:%Y-%m}") if trait.since else ""
    return f"{label}{words['colon']}{trait.value}{since}"


def _mood_in_words(trend: Trend, words: dict[str, str]) -> str:
    mood = "good" if trend.sentiment >= _MOOD else "bad" if trend.sentiment <= -_MOOD else "even"
    turn = words.get(trend.direction, "")
    return words["mood"].format(mood=words[mood], sentiment=trend.sentiment, turn=turn)


def _within(limit: int, title: str, lines: Sequence[tuple[str, list[str]]], words: dict[str, str]) -> str:
    """As many lines, and of each as many entries, as fit; nothing is cut in the middle but a title that is too long."""
    text = title[:limit]
    for label, entries in lines:
        line = f"\n{label}{words['colon']}"
        fitting = 0
        for entry in entries:
            longer = f"{line}{words['comma'] if fitting else ''}{entry}"
            if len(text) + len(longer) > limit:
                break
            line, fitting = longer, fitting + 1
        text += line if fitting else ""
    return text


_PHRASES: dict[str, dict[str, str]] = {
    "en": {
        "title": "{subject}: {count} memories from {first} to {last}",
        "title_empty": "{subject}",
        "attributes": "Known",
        "likes": "Likes",
        "dislikes": "Dislikes",
        "people": "People",
        "topics": "Topics",
        "moods": "Mood by month",
        "since": " (since {date})",
        "favourite": "favourite {what}",
        "said": "{subject}: {count} messages{sessions}{dated}.",
        "in_sessions": " in {count} sessions",
        "days": ", from {first} to {last}",
        "one_day": ", on {first}",
        "nothing": "{subject}: nothing is known yet.",
        USER: "The user",
        "about": "Mostly about {topics}.",
        "times": "{word} ({count})",
        "and": ", ",
        "mood": "The mood is {mood} ({sentiment:+.2f}){turn}.",
        "good": "good",
        "bad": "bad",
        "even": "neutral",
        "better": ", and getting better",
        "worse": ", and getting worse",
        "steady": ", and steady",
        "space": " ",
        "colon": ": ",
        "comma": "; ",
        "lives_in": "lives in",
        "works_at": "works at",
        "studies_at": "studies at",
        "graduated_from": "graduated from",
        "allergic_to": "allergic to",
        "married_to": "married to",
    },
    "zh": {
        "title": "{subject}：{first} 至 {last} 共 {count} 条记忆",
        "title_empty": "{subject}",
        "attributes": "已知",
        "likes": "喜欢",
        "dislikes": "不喜欢",
        "people": "人物",
        "topics": "话题",
        "moods": "每月情绪",
        "since": "（自 {date}）",
        "favourite": "最喜欢的{what}",
        "said": "{subject}：{dated}{sessions}共有 {count} 条消息。",
        "in_sessions": "在 {count} 次会话中",
        "days": "从 {first} 到 {last}，",
        "one_day": "{first}，",
        "nothing": "{subject}：还没有任何记录。",
        USER: "用户",
        "about": "主要关注{topics}。",
        "times": "{word}（{count} 次）",
        "and": "、",
        "mood": "整体情绪{mood}（{sentiment:+.2f}）{turn}。",
        "good": "积极",
        "bad": "消极",
        "even": "平和",
        "better": "，并且在好转",
        "worse": "，并且在变差",
        "steady": "，保持平稳",
        "space": "",
        "colon": "：",
        "comma": "；",
        "name": "名字",
        "age": "年龄",
        "birthday": "生日",
        "from": "来自",
        "nationality": "国籍",
        "lives_in": "住在",
        "works_at": "工作单位",
        "occupation": "职业",
        "studies_at": "就读于",
        "studies": "学习",
        "graduated_from": "毕业于",
        "speaks": "会说",
        "email": "邮箱",
        "phone": "电话",
        "married_to": "配偶",
        "partner": "伴侣",
        "parent": "父母",
        "child": "子女",
        "sibling": "兄弟姐妹",
        "relative": "亲戚",
        "friend": "朋友",
        "colleague": "同事",
        "pet": "宠物",
        "kind": "种类",
        "owns": "拥有",
        "hobby": "爱好",
        "allergic_to": "过敏",
        "diet": "饮食",
        "plans": "计划",
        "visited": "去过",
        "bought": "买了",
        "believes": "相信",
    },
}
