"""Who someone is, as far as is known: from their facts, and from what their memories are about.

Records are read once, in a stream; what is kept while reading is bounded, however many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from memwell.errors import InvalidInput
from memwell.language.claims import FAVOURITE, USER, relation_of
from memwell.language.keywords import keywords
from memwell.language.sentiment import sentiment
from memwell.longterm.facts import Fact, Facts, name_key
from memwell.longterm.traits import traits_of
from memwell.records import Record
from memwell.values import check_count, shown

LANGUAGES = ("en", "zh")
_WORDS_OF_A_RECORD = 6
_EVIDENCE = 5
_MOST_TOPICS = 10_000
_MOST_MONTHS = 600
_LONGEST = 2_000
_LEAST_COUNT = 2


class Trait(msgspec.Struct, frozen=True):
    """Something known of someone: a relation and its value, since when, how surely, and which records say it."""

    relation: str
    value: str
    since: datetime | None
    confidence: float
    evidence: tuple[str, ...]


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


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of someone, each entry with its evidence."""

    subject: str
    language: str = "en"
    attributes: tuple[Trait, ...] = ()
    preferences: tuple[Trait, ...] = ()
    people: tuple[Trait, ...] = ()
    topics: tuple[Topic, ...] = ()
    moods: tuple[Mood, ...] = ()
    facts: int = 0
    records: int = 0
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
    reading = _Reading(name_key(subject))
    for record in records:
        reading.add(record)
    return Profile(
        subject=subject,
        language=language,
        attributes=_traits([fact for fact in held if _is_attribute(fact)], limit),
        preferences=_traits([fact for fact in held if fact.relation in _OPINIONS], limit),
        people=_traits([fact for fact in held if _is_of_people(fact)], limit),
        topics=reading.topics(limit),
        moods=reading.moods(limit),
        facts=len(held),
        records=reading.count,
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


class _Seen:
    """Where a word was seen."""

    __slots__ = ("count", "evidence", "since", "word")

    def __init__(self, word: str, since: datetime) -> None:
        self.word = word
        self.since = since
        self.count = 0
        self.evidence: list[str] = []

    def add(self, record: Record) -> None:
        self.count += 1
        self.since = min(self.since, record.time)
        if len(self.evidence) < _EVIDENCE:
            self.evidence.append(record.id)


class _Month:
    """How the records of a month speak."""

    __slots__ = ("count", "strongest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.strongest: list[tuple[float, str]] = []

    def add(self, record: Record) -> None:
        said = sentiment(record.text)
        self.count += 1
        self.total += said
        if said:
            self.strongest = sorted([*self.strongest, (-abs(said), record.id)])[:_EVIDENCE]


class _Reading:
    """What a stream of records adds up to, in bounded space."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._topics: dict[str, _Seen] = {}
        self._months: dict[str, _Month] = {}
        self.count = 0
        self.first: datetime | None = None
        self.last: datetime | None = None

    def add(self, record: Record) -> None:
        """Take one record in, when it is the subject's."""
        if not isinstance(record, Record):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a record must be a Record, not {shown(record)}")
        if name_key(traits_of(record).speaker or USER) != self._subject:
            return
        self.count += 1
        self.first = record.time if self.first is None else min(self.first, record.time)
        self.last = record.time if self.last is None else max(self.last, record.time)
        for found in keywords(record.text, limit=_WORDS_OF_A_RECORD):
            self._topics.setdefault(found.word.casefold(), _Seen(found.word, record.time)).add(record)
        if len(self._topics) > 2 * _MOST_TOPICS:
            self._topics = dict(sorted(self._topics.items(), key=_by_count)[:_MOST_TOPICS])
        self._months.setdefault(f"{record.time:%Y-%m}", _Month()).add(record)
        if len(self._months) > _MOST_MONTHS:
            del self._months[min(self._months)]

    def topics(self, limit: int) -> tuple[Topic, ...]:
        """The words of most records; one that stands in a single record is no topic."""
        ranked = [seen for _, seen in sorted(self._topics.items(), key=_by_count) if seen.count >= _LEAST_COUNT]
        return tuple(
            Topic(seen.word, seen.count, seen.since, round(1 - 0.7**seen.count, 2), tuple(seen.evidence))
            for seen in ranked[:limit]
        )

    def moods(self, limit: int) -> tuple[Mood, ...]:
        """The latest months, in order."""
        return tuple(
            Mood(name, round(month.total / month.count, 3), month.count, tuple(id_ for _, id_ in month.strongest))
            for name, month in sorted(self._months.items())[-limit:]
        )


def _by_count(item: tuple[str, _Seen]) -> tuple[int, str]:
    return (-item[1].count, item[0])


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

__all__ = ["LANGUAGES", "Mood", "Profile", "Topic", "Trait", "profile", "relation_in_words"]
