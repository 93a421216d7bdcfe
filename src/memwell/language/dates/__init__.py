"""The times that a text mentions, in English and Chinese."""

from __future__ import annotations

from memwell.language.dates.expressions import TimeExpression, shown_date, time_expressions

__all__ = ["TimeExpression", "shown_date", "time_expressions"]
