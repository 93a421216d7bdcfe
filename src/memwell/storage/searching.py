"""Exact search over records held in memory: the definition of every search, which all backends must agree with.

Records come with their numbers, in rising order. What is found is the caller's to copy: nothing here changes a record.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from memwell.filters import Filter, holds
from memwell.language.segment import query_terms, segment
from memwell.records import Hit, Page, Record, Vector
from memwell.storage import arguments as given
from memwell.storage import bm25
from memwell.values import check_text

Numbered: TypeAlias = tuple[int, Record]
"""A record and its number."""


def filtered(held: Iterable[Numbered], where: Filter | None) -> list[Numbered]:
    """Those that satisfy the filter."""
    return [pair for pair in held if where is None or holds(where, pair[1])]


def page(found: Sequence[Numbered], *, limit: int, cursor: str | None, newest_first: bool) -> Page[Record]:
    """One page of records in rising order, or falling, behind the cursor. Raises ``InvalidInput`` for a bad one."""
    start = given.check_cursor(cursor)
    given.check_limit(limit)
    if newest_first:
        rest = [pair for pair in reversed(found) if cursor is None or pair[0] < start]
    else:
        rest = [pair for pair in found if pair[0] > start]
    following = str(rest[limit - 1][0]) if len(rest) > limit else None
    return Page([record for _, record in rest[:limit]], following)


def nearest(held: Iterable[Numbered], query: Vector, limit: int) -> list[Hit]:
    """The best by cosine, best first, the oldest first among equals; the hits come without their vectors."""
    found = [
        Hit(msgspec.structs.replace(record, vector=None), _cosine(query, record.vector))
        for _, record in held
        if record.vector is not None
    ]
    return heapq.nlargest(limit, found, key=lambda hit: hit.score)


def matching(held: Mapping[int, Record], text: str, limit: int, where: Filter | None) -> list[Hit]:
    """The best by BM25 over all that is held, best first, the newest first among equals; without their vectors."""
    terms = asked_terms(text)
    scores = bm25.scores({number: segment(record.text) for number, record in held.items()}, terms)
    kept = ((score, number) for number, score in scores.items() if where is None or holds(where, held[number]))
    best = heapq.nlargest(limit, kept)
    return [Hit(msgspec.structs.replace(held[number], vector=None), score) for score, number in best]


def asked_terms(text: str) -> list[str]:
    """The terms that a text asks for. Raises ``InvalidInput`` for what is no text."""
    return bm25.distinct_terms(query_terms(check_text(text, "text")))


def _cosine(query: Vector, vector: Vector) -> float:
    return sum(map(float.__mul__, query, vector)) / math.hypot(*vector)


class Postings:
    """Which texts hold which terms, kept up as texts come and go, so that a search need not cut them all anew.

    It scores as ``bm25.scores`` does, to the last bit. Only one thread may use it at a time.
    """

    def __init__(self) -> None:
        self._counts: dict[str, dict[int, int]] = {}
        self._lengths: dict[int, int] = {}
        self._length = 0
        self._pairs = 0
        self._borrowed: set[str] = set()

    @property
    def pairs(self) -> int:
        """How many terms are held, each once for every text that it is in."""
        return self._pairs

    def fork(self) -> Postings:
        """Another that knows the same and can be changed by itself, as long as this one is not."""
        other = Postings()
        other._counts, other._lengths = dict(self._counts), dict(self._lengths)
        other._length, other._pairs = self._length, self._pairs
        other._borrowed = set(self._counts)
        return other

    def add(self, number: int, text: str) -> None:
        """Take in a text under a number that is not in use."""
        terms = segment(text)
        for term, count in Counter(terms).items():
            self._own(term)[number] = count
            self._pairs += 1
        self._lengths[number] = len(terms)
        self._length += len(terms)

    def remove(self, number: int, text: str) -> None:
        """Take out the text that was added under a number."""
        for term in set(segment(text)):
            held = self._own(term)
            del held[number]
            self._pairs -= 1
            if not held:
                del self._counts[term]
        self._length -= self._lengths.pop(number)

    def _own(self, term: str) -> dict[int, int]:
        """The counts of a term, to be changed."""
        if term in self._borrowed:
            self._borrowed.discard(term)
            self._counts[term] = dict(self._counts[term])
        return self._counts.setdefault(term, {})

    def scores(self, terms: Sequence[str]) -> dict[int, float]:
        """The score of every text that holds one of the terms."""
        texts = len(self._lengths)
        average = self._length / max(texts, 1) or 1.0
        found: dict[int, float] = {}
        for term in terms:
            held = self._counts.get(term, {})
            weight = bm25.inverse_frequency(texts, len(held))
            for number, count in held.items():
                weakened = bm25.K1 * (1.0 - bm25.B + bm25.B * self._lengths[number] / average)
                score = weight * (count * (bm25.K1 + 1.0)) / (count + weakened)
                found[number] = found.get(number, 0) + score
        return found
