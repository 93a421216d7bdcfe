"""The relations between a subject and an object that can be stated, and the claim that states one.

A relation has one value at a time (``lives_in``) or many (``speaks``). One value may exclude another: a person who dislikes
a thing no longer likes it. ``favourite:<what>`` is open: any short word or phrase may follow the colon.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from memwell.errors import InvalidInput
from memwell.language.dates import TimeExpression, time_expressions
from memwell.values import check_text, shown

USER = "user"
"""The subject for *I* when the speaker is unknown."""

NICKNAME = 0.65
"""The confidence of a name that others call someone. It does not replace the name itself, and no other claim has it."""
FAVOURITE = "favourite:"
_LONGEST_FAVOURITE = 60
CHINESE_FAVOURITES: dict[str, str] = {
    pair.partition("=")[0]: pair.partition("=")[2]
    for pair in (
        "颜色=colour 水果=fruit 季节=season 歌手=singer 乐队=band 书=book 小说=novel 电影=film 作家=author "
        "作者=author "
        "球队=team 城市=city 游戏=game 菜=dish 食物=food "
        "美食=food 运动=sport 歌=song 歌曲=song 动物=animal 花=flower 演员=actor 导演=director 饮料=drink "
        "甜品=dessert "
        "甜点=dessert 动漫=anime 动画=anime 科目=subject 学科=subject "
        "球星=player 球员=player 地方=place 国家=country 节日=festival 餐厅=restaurant 明星=star 品牌=brand "
        "零食=snack "
        "茶=tea 酒=drink 数字=number 诗人=poet 画家=painter "
        "电视剧=show 剧=show 综艺=show 鸟=bird 咖啡=coffee 口味=flavour 专辑=album 诗=poem 早餐=breakfast "
        "蔬菜=vegetable "
        "音乐=music 树=tree 车=car 漫画=comic 主食=staple 菜系=cuisine 火锅=hotpot 奶茶=drink 月份=month "
        "天气=weather "
        "味道=flavour 偶像=idol"
    ).split()
}
"""What a favourite is of, in English as in the other relations' names; other words stay as they are."""


class Relation(msgspec.Struct, frozen=True):
    """The properties of a relation."""

    name: str
    single: bool = False
    """Whether it has only one value at a time."""
    lasting: bool = False
    """Whether the value cannot change, so that two of them contradict each other."""
    family: str = ""
    """Relations of one family are opposites: only one of them holds of an object. Empty: it has none."""
    people: bool = False
    """Whether its object is a person."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of a text about someone. ``start`` and ``end`` bound the characters that state it.

    ``valid_from`` and ``valid_to`` are when it holds, None where the text does not say. A ``negated`` claim says that it
    does not, or no longer, hold; one without an object negates every value. One that is not negated and has no object says
    that what was said at ``valid_from`` to be over was meant in jest. ``time`` is when it was said.
    """

    subject: str
    relation: str
    object: str
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    start: int = 0
    end: int = 0
    confidence: float = 0.8
    negated: bool = False
    time: datetime | None = None


RELATIONS: dict[str, Relation] = {
    relation.name: relation
    for relation in (
        Relation("name", single=True),
        Relation("age", single=True),
        Relation("birthday", single=True, lasting=True),
        Relation("from", single=True, lasting=True),
        Relation("nationality", single=True),
        Relation("lives_in", single=True),
        Relation("works_at", single=True),
        Relation("works_in", single=True),
        Relation("occupation", single=True),
        Relation("studies_at", single=True),
        Relation("studies_in", single=True),
        Relation("studies"),
        Relation("graduated_from"),
        Relation("speaks"),
        Relation("email", single=True),
        Relation("phone", single=True),
        Relation("married_to", single=True, people=True),
        Relation("partner", single=True, people=True),
        Relation("parent", people=True),
        Relation("child", people=True),
        Relation("sibling", people=True),
        Relation("relative", people=True),
        Relation("friend", people=True),
        Relation("colleague", people=True),
        Relation("pet"),
        Relation("kind", single=True),
        Relation("owns"),
        Relation("likes", family="opinion"),
        Relation("dislikes", family="opinion"),
        Relation("hobby"),
        Relation("allergic_to"),
        Relation("diet", single=True),
        Relation("plans"),
        Relation("visited"),
        Relation("bought"),
        Relation("believes"),
    )
}


def relation_of(name: str) -> Relation | None:
    """The relation of this name, or None. Raises ``InvalidInput`` for a name that is no string."""
    found = RELATIONS.get(check_text(name, "a relation"))
    if found is None and name.startswith(FAVOURITE) and 0 < len(name[len(FAVOURITE) :].strip()) <= _LONGEST_FAVOURITE:
        return Relation(name, single=True)
    return found


def known_relation(name: str) -> Relation:
    """The relation of this name. Raises ``InvalidInput``, which names the known ones, for another."""
    found = relation_of(name)
    if found is None:
        known = ", ".join(sorted(RELATIONS))
        raise InvalidInput(f"unknown relation {shown(name)}; the known ones are {known}, and such as {FAVOURITE}food")
    return found


# When a claim holds: the times in its clause, by the kind of the statement.

STATE, PAST, STARTED, EVENT, PLAN = "state", "past", "started", "event", "plan"
"""The kinds of statements: it is so, it was so, it became so, it happened, it will happen."""

_HINT = re.compile(
    r"\d|\b(?:ago|last|next|this|since|yesterday|today|tomorrow|tonight|years?|months?|weeks?|summer|winter|spring"
    r"|autumn|"
    r"fall|jan|feb|mar|apr|may|june?|july?|aug|sep|sept|oct|nov|dec|january|february|march|april|august|september"
    r"|october|"
    r"november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend"
    r"|christmas|easter|thanksgiving|halloween)\b|[年月日周号天前昨今明节]|星期|去年|上个|下个|国庆|元旦|中秋|端午|除夕|圣诞",
    re.IGNORECASE,
).search
_LONG_AGO = re.compile(
    r"\b(?:ago|when (?:i|he|she|we|they) (?:was|were)|as an? (?:child|kid|teen\w*|student|baby|boy|girl)|years|decades?"
    r"|long|in (?:my|his|her|our) (?:teens|youth|childhood|\w+ies)|at (?:age|the age|\d)|back (?:in|when|then)|once|before"
    r"|after (?:school|uni\w*|college|graduat\w*|the war)|originally|already|always|first)\b"
    r"|小时候|多年|[好几十两三]年|年轻|那年|早就|当年|时候|毕业|以前|从小|岁|已经|早已|后来|曾",
    re.IGNORECASE,
).search
_SINCE = re.compile(r"since\b|from\b|自|从|.*(?:起|以来|开始)$", re.IGNORECASE | re.DOTALL).match


_UNTIL = re.compile(r"(?:\b(?:until|till|up to)(?: about| around)?|[直住干做待呆]到|工作到)\s*\Z", re.IGNORECASE).search


class Timing(NamedTuple):
    """When a claim holds, and the span of its time in the clause (-1 without one)."""

    valid_from: datetime | None = None
    valid_to: datetime | None = None
    start: int = -1
    end: int = -1


_ON_THE = re.compile(r"(?<=\bon )the (?P<day>[12]?\d|3[01])(?:st|nd|rd|th)\b(?! of\b| floor\b)", re.IGNORECASE).search


def _next_day(day: int, time: datetime) -> datetime | None:
    """The end of the next day of a month with this number after a time; None for none."""
    try:
        found = next((one for ahead in range(62) if (one := time + timedelta(days=ahead)).day == day), None)
        return found and found.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    except OverflowError:
        return None


_VAGUELY = re.compile(
    r"\b(?:at |by |before )?the end of (?:the|this) (?P<unit>week|month|year)\b"
    r"|\bin (?:the )?(?P<season>spring|summer|autumn|winter)\b|(?<![下上个今明])(?:本)?(?P<end>[月年])[底末]",
    re.IGNORECASE,
).search
"""Times to come that name no day."""


def _end_of(found: re.Match[str], time: datetime) -> datetime | None:
    """When a time is over that names no day: the end of this month, or the next spring."""
    unit, season, end = found["unit"], found["season"], found["end"]
    asked = (f"this {season}", f"next {season}") if season else (f"the end of this {unit}",) if unit else ()
    asked = asked or (f"{'这个月' if end == '月' else '今年年'}底",)
    ends = (one.until for words in asked for one in time_expressions(words, now=time, ahead=True))
    return next((until for until in ends if until is not None and until > time), None)


def timing_of(clause: str, kind: str, time: datetime, *, lasting: bool = False) -> Timing:
    """When the statement of a clause holds; ``lasting`` is for "has been", where a duration ends now."""
    named = _named(clause, time, lasting, ahead=kind == PLAN) if _HINT(clause) else None
    if kind == PLAN and (named is None or named.kind == "time") and (found := _ON_THE(clause)) is not None:
        return Timing(None, _next_day(int(found["day"]), time), *found.span())
    if named is None and kind == PLAN and (found := _VAGUELY(clause)) is not None:
        # 年底 may be in the middle of a plan.
        return Timing(None, _end_of(found, time), *((-1, -1) if found["end"] else found.span()))
    if named is None:
        # People say that something began when it is new, if nothing says that it is old.
        new = kind in (STARTED, EVENT) and not _LONG_AGO(clause)
        return Timing(time if new else None, time if kind == PAST else None)
    if kind == PAST and named.since is not None and _UNTIL(clause[: named.start]):
        # It was over then, and what was before is not said.
        return Timing(None, min(named.since, time), named.start, named.end)
    since, until = _interval(named, kind, time, lasting)
    return Timing(since, until, named.start, named.end)


def _interval(
    named: TimeExpression, kind: str, time: datetime, lasting: bool
) -> tuple[datetime | None, datetime | None]:
    """The interval in which something holds, by the time that is mentioned."""
    if kind == PAST:
        known = named.since is not None and named.until is not None and named.since < time
        return (named.since, min(named.until or time, time)) if known else (None, time)
    if kind == PLAN:
        # A time that is over is not when it will happen.
        return None, named.until if named.until is not None and named.until > time else None
    if named.since is None:
        return (_before(time, named.seconds) if lasting and named.seconds is not None else None), None
    # "I work at X this week" does not say when it began, and a future time is no beginning.
    begun = named.since <= time and (kind != STATE or _SINCE(named.text))
    return (named.since if begun else None), None


def _before(time: datetime, seconds: float) -> datetime | None:
    try:
        # A duration is never exact to the hour.
        return (time - timedelta(seconds=seconds)).replace(hour=0, minute=0, second=0, microsecond=0)
    except OverflowError:
        return None


def _named(clause: str, time: datetime, lasting: bool, *, ahead: bool) -> TimeExpression | None:
    wanted = ("date", "time", "range", "duration") if lasting else ("date", "time", "range")
    return next((found for found in time_expressions(clause, now=time, ahead=ahead) if found.kind in wanted), None)


# The match of a rule in a sentence, before it becomes a claim.


class RuleMatch(NamedTuple):
    """A relation found in a sentence; positions are in the sentence.

    ``subject`` is empty for the speaker; ``kin`` is set when the subject is a relative ("my mother"). The clause is at
    ``start`` to ``end``, its object at ``object_start`` to ``object_end``; a non-empty ``object`` replaces the words there.
    """

    relation: str
    object_start: int
    object_end: int
    start: int
    end: int
    subject: str = ""
    kin: str = ""
    object: str = ""
    kind: str = STATE
    lasting: bool = False
    negated: bool = False
    confidence: float = 0.8

    def moved(self, by: int) -> RuleMatch:
        """The same match in a text that begins so much earlier."""
        return self._replace(
            object_start=self.object_start + by,
            object_end=self.object_end + by,
            start=max(0, self.start + by),
            end=self.end + by,
        )
