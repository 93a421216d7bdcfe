"""When a claim holds: the times named in its clause, read by what kind of thing is said."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from memwell.language.dates import TimeExpression, time_expressions

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


__all__ = ["EVENT", "PAST", "PLAN", "STARTED", "STATE", "Timing", "timing_of"]
