"""What a grammar of dates makes of some words, before it is given a zone."""

from __future__ import annotations

from typing import NamedTuple

from memwell.language.dates.calendars import Stretch


class Reading(NamedTuple):
    """Words from ``start`` to ``end`` and the local time they mean; no time for a duration or what recurs."""

    start: int
    end: int
    when: Stretch | None
    kind: str = "date"
    grain: str = ""
    seconds: float | None = None


def timed(start: int, end: int, when: Stretch, kind: str = "") -> Reading:
    """A reading with the grain of its stretch; it is a *time* where that is shorter than a day, unless told."""
    within_a_day = when.grain in ("part", "hour", "minute", "second")
    return Reading(start, end, when, kind or ("time" if within_a_day else "date"), when.grain)


__all__ = ["Reading", "timed"]
