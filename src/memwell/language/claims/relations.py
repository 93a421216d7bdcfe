"""What can be known of someone: the closed list of relations, and the claim that says one.

A relation holds one value at a time (``lives_in``) or many (``speaks``). One value may also rule out another: who dislikes
a thing no longer likes it. ``favourite:<what>`` is open: any short word or phrase may stand after the colon.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from memwell.language.dates import TimeExpression, time_expressions
from memwell.values import check_text

USER = "user"
"""Who is meant by *I* when nobody says who speaks."""

FAVOURITE = "favourite:"
_LONGEST_FAVOURITE = 60


class Relation(msgspec.Struct, frozen=True):
    """What a relation's facts obey."""

    name: str
    single: bool = False
    """Whether only one value holds at a time."""
    lasting: bool = False
    """Whether the value cannot change, so that two of them contradict each other."""
    family: str = ""
    """Relations of one family are opposites: of one object only one of them holds. Empty: it has none."""
    people: bool = False
    """Whether its object is a person."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a text says of someone. ``start`` and ``end`` bound the characters that say it.

    ``valid_from`` and ``valid_to`` are when it holds, None where the text does not say. A ``negated`` claim says that it
    does not hold, or no longer; one without an object denies every value. ``time`` is when it was said.
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
        Relation("occupation", single=True),
        Relation("studies_at", single=True),
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
    """The relation of this name, or None when there is none. Raises ``InvalidInput`` for a name that is no string."""
    found = RELATIONS.get(check_text(name, "a relation"))
    if found is None and name.startswith(FAVOURITE) and 0 < len(name[len(FAVOURITE) :].strip()) <= _LONGEST_FAVOURITE:
        return Relation(name, single=True)
    return found


# When a claim holds: the times named in its clause, read by what kind of thing is said.


STATE, PAST, STARTED, EVENT, PLAN = "state", "past", "started", "event", "plan"
"""What is said: that it is so, that it was so, that it became so, that it happened, or that it will."""

_HINT = re.compile(
    r"\d|\b(?:ago|last|next|this|since|yesterday|today|tomorrow|tonight|years?|months?|weeks?|summer|winter|spring|autumn|"
    r"fall|jan|feb|mar|apr|may|june?|july?|aug|sep|sept|oct|nov|dec|january|february|march|april|august|september|october|"
    r"november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|weekend)\b"
    r"|[年月日周号天前昨今明]|星期|去年|上个|下个",
    re.IGNORECASE,
).search
_SINCE = re.compile(r"since\b|from\b|自|从|.*(?:起|以来|开始)$", re.IGNORECASE | re.DOTALL).match


class Timing(NamedTuple):
    """When something holds, and where in its clause that is named (-1 where it is not)."""

    valid_from: datetime | None = None
    valid_to: datetime | None = None
    start: int = -1
    end: int = -1


def timing_of(clause: str, kind: str, time: datetime, *, lasting: bool = False) -> Timing:
    """When what a clause says holds; ``lasting`` is for "has been", where a length of time ends now."""
    named = _named(clause, time, lasting) if _HINT(clause) else None
    if named is None:
        return Timing(None, time if kind == PAST else None)
    since, until = _interval(named, kind, time, lasting)
    return Timing(since, until, named.start, named.end)


def _interval(
    named: TimeExpression, kind: str, time: datetime, lasting: bool
) -> tuple[datetime | None, datetime | None]:
    """From when to when something holds of which a time is named."""
    if kind == PAST:
        known = named.since is not None and named.until is not None and named.since < time
        return (named.since, min(named.until or time, time)) if known else (None, time)
    if kind == PLAN:
        return None, named.until
    if named.since is None:
        return (_before(time, named.seconds) if lasting and named.seconds is not None else None), None
    # "I work at X this week" says nothing of when it began, and what is still to come has not begun.
    begun = named.since <= time and (kind != STATE or _SINCE(named.text))
    return (named.since if begun else None), None


def _before(time: datetime, seconds: float) -> datetime | None:
    try:
        # A length of time is never meant to the hour.
        return (time - timedelta(seconds=seconds)).replace(hour=0, minute=0, second=0, microsecond=0)
    except OverflowError:
        return None


def _named(clause: str, time: datetime, lasting: bool) -> TimeExpression | None:
    wanted = ("date", "time", "range", "duration") if lasting else ("date", "time", "range")
    return next((found for found in time_expressions(clause, now=time) if found.kind in wanted), None)


# What a rule has found in a sentence, before it becomes a claim.


class Found(NamedTuple):
    """A relation read off a sentence; places are counted in the sentence.

    ``subject`` is empty for the speaker; ``kin`` is set when the subject is the speaker's ("my mother"). The clause that
    says it runs from ``start`` to ``end``, its object from ``object_start`` to ``object_end``; ``object`` replaces the
    words there when it is not empty.
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
