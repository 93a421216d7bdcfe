"""Moments with and without a zone, side by side: a naive one is local time, as ``datetime.now()`` gives it."""

from __future__ import annotations

from datetime import UTC, datetime

from memwell.errors import InvalidInput
from memwell.values import shown


def check_moment(moment: object, what: str = "a time") -> datetime:
    """Return ``moment`` when it is a datetime that can be told in UTC; raises ``InvalidInput`` otherwise."""
    as_aware(moment, what)
    assert isinstance(moment, datetime)
    return moment


def as_aware(moment: object, what: str = "a time") -> datetime:
    """The moment with a zone: its own, or the local one. Raises ``InvalidInput`` for what is no datetime."""
    if not isinstance(moment, datetime):
        raise InvalidInput(f"{what} must be a datetime, not {shown(moment)}")
    try:
        aware = moment.astimezone() if moment.utcoffset() is None else moment
        # Near the ends of the calendar a moment may exist here and not in UTC, and then it could not be compared.
        aware.astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        raise InvalidInput(f"{what} must be between the years 1 and 9999 in UTC, not {shown(moment)}") from None
    return aware


def hours_between(earlier: datetime, later: datetime) -> float:
    """The hours from one moment to the other, below 0 when they are the other way round."""
    return (as_aware(later).astimezone(UTC) - as_aware(earlier).astimezone(UTC)).total_seconds() / 3600


__all__ = ["as_aware", "check_moment", "hours_between"]
