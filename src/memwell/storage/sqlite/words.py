"""Words in FTS5: which rows of a collection (a space or a thread) hold which terms, and how well they fit a query.

Every term is stored with the key of its collection in front, so that a search reads the postings of its own collection and
no other's, however large the store. Lengths and counts are kept per collection: a score depends on nothing outside it.

For large collections common words ("the", "的") would cost most of the time and say least. They are left out of the first
pass, and added exactly to the few candidates whose score they can still decide; the answer is the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memwell.storage.bm25 import K1, B, inverse_frequency
from memwell.storage.sqlite.connections import Session
from memwell.storage.sqlite.where import Condition

_COMMON_ABOVE = 2_000
"""A term in more rows than this is common, when it is in an eighth of the collection or more."""
_MOST_CANDIDATES = 400


class Collection(NamedTuple):
    """What a search is within: the key in front of its terms, how many rows it has, and how many terms they hold."""

    key: int
    rows: int
    length: int


class _Term(NamedTuple):
    text: str
    weight: float
    rows: int

    @property
    def most(self) -> float:
        """The most this term can add to a score."""
        return self.weight * (K1 + 1.0)


StoredTerms = Callable[[list[int]], dict[int, Sequence[str]]]
"""Gives the terms of rows by their keys."""


class Words:
    """One full-text index: ``record`` or ``message``. ``lengths`` is the table that has a row's length by key."""

    def __init__(self, name: str, lengths: str) -> None:
        self._add = f"INSERT INTO {name}_words (rowid, body) VALUES (?, ?)"
        self._remove = f"INSERT INTO {name}_words ({name}_words, rowid, body) VALUES ('delete', ?, ?)"
        self._clear = f"INSERT INTO {name}_words ({name}_words) VALUES ('delete-all')"
        self._verify = f"INSERT INTO {name}_words ({name}_words) VALUES ('integrity-check')"
        self._lengths = lengths
        self._terms = f"{name}_terms"
        self._frequencies = f"SELECT doc FROM {name}_frequency WHERE term = ?"

    def add(self, session: Session, key: int, collection: int, terms: Sequence[str]) -> None:
        """Index a row's terms."""
        if terms:
            session.execute(self._add, (key, _body(collection, terms)))

    def remove(self, session: Session, key: int, collection: int, terms: Sequence[str]) -> None:
        """Take a row's terms out again; they must be those it was added with."""
        if terms:
            session.execute(self._remove, (key, _body(collection, terms)))

    def clear(self, session: Session) -> None:
        """Forget all rows, to index them anew."""
        session.execute(self._clear)

    def verify(self, session: Session) -> None:
        """Raises ``apsw.Error`` when the index is damaged."""
        # Through a cursor of its own: a shared one would report the damage again at its next use.
        session.rows(self._verify)

    def search(
        self,
        session: Session,
        collection: Collection,
        terms: Sequence[str],
        limit: int,
        condition: Condition,
        stored_terms: StoredTerms,
    ) -> list[tuple[float, int]]:
        """The best rows with their exact BM25 scores, best first, the newest first among equals."""
        known = self._known(session, collection, terms)
        telling = [t for t in known if t.rows <= _COMMON_ABOVE or t.rows * 8 <= collection.rows]
        if telling and len(telling) < len(known):
            found = self._pruned(session, collection, known, telling, limit, condition, stored_terms)
            if found is not None:
                return found
        return self._scored(session, collection, known, limit, condition)

    def _known(self, session: Session, collection: Collection, terms: Sequence[str]) -> list[_Term]:
        found: list[_Term] = []
        for term in terms:
            row = session.one(self._frequencies, (f"{collection.key}x{term}",))
            if row is not None:
                found.append(_Term(term, inverse_frequency(collection.rows, row[0]), row[0]))
        return found

    def _scored(
        self, session: Session, collection: Collection, terms: Sequence[_Term], limit: int, condition: Condition
    ) -> list[tuple[float, int]]:
        if not terms:
            return []
        query = ", ".join("(?, ?)" for _ in terms)
        bindings = [value for t in terms for value in (f"{collection.key}x{t.text}", t.weight)]
        average = collection.length / collection.rows
        sql = f"""
            WITH query (term, weight) AS (VALUES {query}),
                 found (key, weight, count) AS (
                     SELECT posting.doc, query.weight, count(*)
                     FROM query CROSS JOIN {self._terms} AS posting ON posting.term = query.term
                     GROUP BY query.term, posting.doc
                 )
            SELECT sum(weight * count * {K1 + 1.0} / (count + {K1} * ({1.0 - B} + {B} * length / ?))) AS score,
                   found.key
            FROM found JOIN {self._lengths} ON {self._lengths}.key = found.key
            WHERE {condition.sql}
            GROUP BY found.key ORDER BY score DESC, found.key DESC LIMIT ?"""
        return session.rows(sql, (*bindings, average, *condition.bindings, limit))

    def _pruned(
        self,
        session: Session,
        collection: Collection,
        known: Sequence[_Term],
        telling: Sequence[_Term],
        limit: int,
        condition: Condition,
        stored_terms: StoredTerms,
    ) -> list[tuple[float, int]] | None:
        """The exact answer without reading the common terms' postings, or None when that cannot be sure."""
        rest = sum(term.most for term in known) - sum(term.most for term in telling)
        wanted = max(_MOST_CANDIDATES, 2 * limit)
        partial = self._scored(session, collection, telling, wanted, condition)
        # A row without a telling term scores at most `rest`; the limit-th row here scores at least its partial score.
        if len(partial) < limit or partial[limit - 1][0] <= rest:
            return None
        least = partial[limit - 1][0] - rest
        if len(partial) == wanted and partial[-1][0] >= least:
            return None
        candidates = [key for score, key in partial if score >= least]
        average = collection.length / collection.rows
        scored = ((_score(words, known, average), key) for key, words in stored_terms(candidates).items())
        return heapq.nlargest(limit, scored)


def _score(words: Sequence[str], terms: Sequence[_Term], average: float) -> float:
    total = 0.0
    for term in terms:
        count = words.count(term.text)
        total += term.weight * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * len(words) / average))
    return total


def _body(collection: int, terms: Sequence[str]) -> str:
    prefix = f"{collection}x"
    return prefix + f" {prefix}".join(terms)


__all__ = ["Collection", "Words"]
