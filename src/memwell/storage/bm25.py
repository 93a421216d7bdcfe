"""How well words fit: Okapi BM25 with the statistics of one space (or one thread) alone.

No other space's words enter a score, so nobody can learn of another's records from it, and every backend gives the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

K1 = 1.2
B = 0.75
MAX_TERMS = 256
"""A query uses at most this many different terms; a longer text has said what it is about by then."""


def inverse_frequency(documents: int, containing: int) -> float:
    """How telling a term is: always above 0, the rarer the larger."""
    return math.log(1.0 + (documents - containing + 0.5) / (containing + 0.5))


def distinct_terms(terms: Iterable[str]) -> list[str]:
    """The terms of a query, each once, in their order, at most ``MAX_TERMS``."""
    return list(dict.fromkeys(terms))[:MAX_TERMS]


def scores(documents: Mapping[int, Sequence[str]], terms: Sequence[str]) -> dict[int, float]:
    """The score of every document that holds one of the terms: the plain definition, for small collections."""
    counts = {key: {term: words.count(term) for term in terms if term in words} for key, words in documents.items()}
    containing = {term: sum(term in found for found in counts.values()) for term in terms}
    average = sum(map(len, documents.values())) / max(len(documents), 1) or 1.0
    return {
        key: sum(
            inverse_frequency(len(documents), containing[term])
            * (count * (K1 + 1.0))
            / (count + K1 * (1.0 - B + B * len(documents[key]) / average))
            for term, count in found.items()
        )
        for key, found in counts.items()
        if found
    }
