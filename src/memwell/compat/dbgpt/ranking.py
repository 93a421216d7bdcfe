"""Which fragments come first: by how lately they were used, how well they fit, and how much they matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from operator import mul
from typing import NamedTuple

from memwell.compat.dbgpt.fragments import MemoryFragment, check_importance
from memwell.compat.dbgpt.times import hours_between
from memwell.language.segment import query_terms, segment

DECAY_RATE = 0.01


class Coefficients(NamedTuple):
    """How much recency, relevance and importance weigh."""

    alpha: float
    beta: float
    gamma: float


def coefficients(alpha: float | None, beta: float | None, gamma: float | None) -> Coefficients | None:
    """Those given, and 1 for the others; None when none is given. Raises ``InvalidInput`` for what is no finite number."""
    if alpha is None and beta is None and gamma is None:
        return None
    given = {"alpha": alpha, "beta": beta, "gamma": gamma}
    return Coefficients(*(1.0 if one is None else check_importance(one, what) for what, one in given.items()))


def recency(last_used: datetime, present: datetime, decay_rate: float = DECAY_RATE) -> float:
    """From 1, just used, down to 0: a moment in the future counts as now."""
    return (1.0 - decay_rate) ** max(hours_between(last_used, present), 0.0)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """How alike two vectors of one size are, from -1 to 1; 0 when one of them has no direction."""
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(map(mul, one, other)) / lengths if lengths else 0.0


class Question:
    """What is asked, read once for many fragments: by its words, and by its vector where there is one."""

    def __init__(self, text: str, vector: Sequence[float] | None = None) -> None:
        self._terms = frozenset(query_terms(text))
        self._vector = vector

    def relevance(self, fragment: MemoryFragment) -> float:
        """The cosine of the vectors, or else the share of the question's words that the fragment has."""
        vector = fragment.embeddings
        # Vectors of different sizes are of different models.
        if self._vector is not None and vector is not None and len(vector) == len(self._vector):
            return cosine(self._vector, vector)
        if not self._terms:
            return 0.0
        return len(self._terms.intersection(segment(fragment.raw_observation))) / len(self._terms)

    def score(self, fragment: MemoryFragment, last_used: datetime, present: datetime, weights: Coefficients) -> float:
        """What a fragment is worth as an answer."""
        score = weights.alpha * recency(last_used, present) + weights.beta * self.relevance(fragment)
        return score + weights.gamma * (fragment.importance or 0.0)


__all__ = ["DECAY_RATE", "Coefficients", "Question", "coefficients", "cosine", "recency"]
