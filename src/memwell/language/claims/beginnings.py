"""What begins on a day that is still to come: a new job and a move are plans until then, and true from then on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from memwell.language.claims.relations import PLAN, Claim, timing_of
from memwell.language.dates import time_expressions
from memwell.language.entities import ORGANISATIONS
from memwell.language.patterns import LazyPattern
from memwell.language.sentences import TextSpan, sentences

_STARTS = LazyPattern(
    r"\b(?:(?:I|we)(?:['’]ll| will|['’]m going to|['’](?:m|re)| am| are)?(?: be)?(?: only| officially| actually)? "
    r"(?:start|begin|join)(?:ing)?|(?:\A|[,;.!] ?)(?:and |then )*start (?:at|with)"
    r"|[A-Z]\w+ (?:starts|begins|joins)|starting|beginning|first day|start date)\b|入职|报到|上班|上岗",
    re.IGNORECASE,
).search
_JOB = LazyPattern(
    r"\b(?:jobs?|offer(?:ed)?|roles?|position|hired|contract|salary|employer|company|work|working|join(?:ed|ing)?"
    r"|notice|resign(?:ed|ing|ation)?)\b",
    re.I,
).search
_PLANNED_JOB = LazyPattern(
    r"(?:(?:to )?(?:start|begin|join)(?:ing|s)?(?: (?:work|working|(?:a|my|the)(?: new)? (?:job|role"
    r"|position)))?(?: (?:at|with|for))?"
    r"|(?:an? |my |the )?(?:new )?(?:job|role|position)(?: (?:at|with|for)))"
    r" (?P<o>(?:the )?[A-Z][\w&'’.-]*(?: (?:of |and |& )?[A-Z][\w&'’.-]*){0,3})"
).match
_PLANNED_JOB_ZH = LazyPattern(
    "(?:去|到|来|进)(?P<o>(?!公司|单位|哪)[^\\W\\d_]{2,12}?)(?:上班|工作|入职|报到|任职)|(?:入职|加入)(?P<o2>[^\\W\\d_]{2,12})"
).fullmatch
_OFFER_ZH = LazyPattern(
    "(?:拿到?|收到|接受?|签)了?(?P<o>[^\\W\\d_]{2,12}?)的?(?:offer|录用通知|聘书|入职通知)", re.IGNORECASE
).search
_PLANNED_HOME = LazyPattern(
    r"(?:to )?(?:mov(?:e|ing|ed)|relocat(?:e|ing|ed)|emigrat(?:e|ing)|being (?:moved|relocated|transferred))"
    r"(?: (?:house|home|back|over|up|down|out|away|across|in|here|permanently))*(?: from [A-Z]\w+)?"
    r" (?:to|into) (?:(?:an?|our|my|the) (?:[a-z-]+ ){0,4}?(?:house|flat|home|place|apartment|cottage|bungalow|condo"
    r"|studio) (?:in|near) )?"
    r"(?P<o>(?!(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July|August|September"
    r"|October|November|December)\b)[A-Z][\w'’-]*+(?: [A-Z][\w'’-]*+){0,2}+)"
    r"(?! (?:for (?:the|an?)|[a-z]+ (?:office|branch|team))\b)"
    "|(?:要|会|就)?(?:搬家?|迁|移居)(?:到|去|回)(?P<o2>[^\\W\\d_A-Za-z]{2,6}?)(?:[和跟与][^，。]{1,6})?(?:一起|去|住|了|生活|发展)*\\Z"
).match
_JOINS = LazyPattern(r"mov(?:e|ing) in\b").match
home_in = LazyPattern(
    r"\b(?:house|flat|home|place|apartment|cottage|bungalow|condo|studio|maisonette|mov(?:e|ing)(?: house)?) "
    r"(?:in|to|near) "
    r"(?P<o>[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})"
    r"|搬[到去](?P<o2>[^\W\d_A-Za-z]{2,6})"
).search
"""The place of a home that words speak of: "a flat in York"."""
_KEYS = LazyPattern(
    r"\b(?:keys|mov(?:e|ing)(?: in)?|completion|complete)(?: (?:is|are|day is))? (?:on|next|this|in|at) |交房", re.I
).search
_WORK = frozenset("works_at works_in occupation studies_at".split())


def beginning_later(said: Sequence[Claim], text: str, time: datetime) -> list[Claim]:
    """The claims, with those of a job that a text says to begin on a day to come from that day on."""
    start = _first_day(text, time) if any(_is_new(one, time) for one in said) else None
    if start is None:
        return list(said)
    return [replace(one, valid_from=start.day) if _is_new(one, time, start) else one for one in said]


def coming(said: Sequence[Claim], text: str) -> list[Claim]:
    """What claims say besides of a job or a home to come: that it is a plan until its first day, and true from then on."""
    found: list[Claim] = []
    for one in said:
        if one.time is None or one.negated:
            continue
        if one.relation == "works_at" and one.valid_from and one.valid_from > one.time:
            found.append(
                replace(one, relation="plans", object=_in_words(one.object), valid_from=None, valid_to=one.valid_from)
            )
        elif one.relation == "plans" and (employer := _employer(one, text)) and (start := _first_day(text, one.time)):
            found.append(replace(one, relation="works_at", object=employer, valid_from=start.day, valid_to=None))
        elif (home := _home(one, text)) and (day := _day_of(one, text)):
            found.append(replace(one, relation="lives_in", object=home, valid_from=day, valid_to=None))
    return found


def _home(one: Claim, text: str) -> str:
    """The place where someone plans to live, or bought a home that is not theirs yet; or nothing."""
    if one.relation == "plans":
        found = home_in(text) if _JOINS(one.object) else _PLANNED_HOME(one.object)
    else:
        found = home_in(one.object) if one.relation == "bought" else None
    place = next((one for one in found.groups() if one), "") if found else ""
    # "I'm moving to Google in March" is of a job.
    return "" if place in ORGANISATIONS else place


def _day_of(one: Claim, text: str) -> datetime | None:
    """When a home begins that is planned or bought: when the plan is over, or when there are keys."""
    if one.relation == "plans" or one.time is None:
        return one.valid_to
    return day_of_keys(text, one.time)


def day_of_keys(text: str, time: datetime) -> datetime | None:
    """The end of the day to come on which a home is handed over, or none: "keys on the 3rd"."""
    keys = _KEYS(text)
    return None if keys is None else timing_of(text[keys.start() :], PLAN, time).valid_to


def _employer(plan: Claim, text: str) -> str:
    """Where a plan is to work, or nothing."""
    job = (_PLANNED_JOB(plan.object) if _JOB(text) else None) or _PLANNED_JOB_ZH(plan.object)
    if job is None and plan.object in ("入职", "报到", "上班"):
        job = _OFFER_ZH(text)
    return next((name for name in job.groups() if name), "") if job else ""


class _Start(NamedTuple):
    """A day to come on which something starts, and where a text says so."""

    day: datetime
    said: TextSpan


def _is_new(one: Claim, time: datetime, start: _Start | None = None) -> bool:
    """Whether a claim says that a job was begun just now, or where a text says when it starts."""
    if one.relation not in _WORK or one.negated or one.valid_from is None or one.valid_from > time:
        return False
    return start is None or one.valid_from == time or (one.start < start.said.end and start.said.start < one.end)


def _first_day(text: str, time: datetime) -> _Start | None:
    """The day to come on which something starts, by the first sentence that says so."""
    for one in sentences(text):
        if _STARTS(one.text) is not None:
            found = time_expressions(one.text, now=time, ahead=True)
            days = (each.since for each in found if each.kind != "duration")
            return next((_Start(day, one) for day in days if day is not None and day > time), None)
    return None


def _in_words(employer: str) -> str:
    return f"start at {employer}" if employer.isascii() else f"入职{employer}"
