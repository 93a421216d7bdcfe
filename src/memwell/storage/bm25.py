"""Okapi BM25 with the statistics of one space or one thread.

No other space's words enter a score, so a score says nothing of other spaces' records, and every backend gives the same.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence

from memwell.language.segment import query_terms, segment
from memwell.messages import Message

K1 = 1.2
B = 0.75
MAX_TERMS = 256
"""A query uses at most this many different terms."""


def inverse_frequency(documents: int, containing: int) -> float:
    """The weight of a term: always above 0, the rarer the larger."""
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


def best_messages(messages: Iterable[Message], text: str, limit: int) -> list[tuple[Message, float]]:
    """The messages of one thread that share a word with ``text``, best first, for a store without an index of words."""
    placed = {message.index or 0: message for message in messages}
    found = scores({index: segment(one.searchable) for index, one in placed.items()}, distinct_terms(query_terms(text)))
    best = heapq.nlargest(limit, ((score, index) for index, score in found.items()))
    return [(placed[index], score) for score, index in best]
