"""The times that a text speaks of, in English and Chinese."""

from __future__ import annotations

from memwell.language.dates.expressions import TimeExpression, shown_date, time_expressions

__all__ = ["TimeExpression", "shown_date", "time_expressions"]
