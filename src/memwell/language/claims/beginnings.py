"""What begins on a day that is still to come: a job that was accepted is a plan until then, and true from then on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from memwell.language.claims.relations import Claim
from memwell.language.dates import time_expressions
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
_WORK = frozenset("works_at works_in occupation studies_at".split())


def beginning_later(said: Sequence[Claim], text: str, time: datetime) -> list[Claim]:
    """The claims, with those of a job that a text says to begin on a day to come from that day on."""
    start = _first_day(text, time) if any(_is_new(one, time) for one in said) else None
    if start is None:
        return list(said)
    return [replace(one, valid_from=start.day) if _is_new(one, time, start) else one for one in said]


def planned_jobs(said: Sequence[Claim], text: str) -> list[Claim]:
    """What claims say besides of a job to come: that it is a plan until its first day, and true from then on."""
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
    return found


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
