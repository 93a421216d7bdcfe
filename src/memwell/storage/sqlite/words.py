"""Full-text search with FTS5 and BM25 within a collection: the records of a space, or the messages of a thread.

Every term is stored with the key of its collection in front, so that a search reads the postings of its own collection and
no other's, however large the store. Lengths and counts are kept per collection: a score depends on nothing outside it.

In large collections common words ("the", "的") cost most of the time and change scores least. They are left out of
the first pass, and added to the few candidates whose rank they can still change; the answer is exact. Of a query whose
words are in more rows than ``MOST_POSTINGS`` together, the most common words are left out altogether.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from memwell.language.segment import segment
from memwell.messages import Message, decode_message
from memwell.storage.parts import K1, MOST_POSTINGS, B, inverse_frequency
from memwell.storage.sqlite.connections import Connections, Session
from memwell.storage.sqlite.schema import ALWAYS, THREAD_SHIFT, Condition

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
        self._verify = f"INSERT INTO {name}_words ({name}_words) VALUES ('integrity-check')"
        self._lengths = lengths
        self._terms = f"{name}_terms"
        self._frequencies = f"SELECT doc FROM {name}_frequency WHERE term = ?"

    def add(self, session: Session, key: int, collection: int, terms: Sequence[str]) -> None:
        """Index a row's terms."""
        if terms:
            session.execute(self._add, (key, _body(collection, terms)))

    def remove(self, session: Session, key: int, collection: int, terms: Sequence[str]) -> None:
        """Remove a row's terms; they must be those it was added with."""
        if terms:
            session.execute(self._remove, (key, _body(collection, terms)))

    def verify(self, session: Session) -> None:
        """Raises ``apsw.Error`` when the index is damaged."""
        # Through a new cursor: a shared one would report the damage again at its next use.
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
        known = _rarest(self._known(session, collection, terms))
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
        # Only a query of one term can have more rows than are read.
        read = f"LIMIT {MOST_POSTINGS}" if terms[0].rows > MOST_POSTINGS else ""
        sql = f"""
            WITH query (term, weight) AS (VALUES {query}),
                 read (key, term, weight) AS (
                     SELECT posting.doc, query.term, query.weight
                     FROM query CROSS JOIN {self._terms} AS posting ON posting.term = query.term {read}
                 ),
                 found (key, weight, count) AS (SELECT key, weight, count(*) FROM read GROUP BY term, key)
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


def _rarest(terms: Sequence[_Term]) -> list[_Term]:
    """The rarest terms that are in at most ``MOST_POSTINGS`` rows together; one, if that is in more."""
    found: list[_Term] = []
    left = MOST_POSTINGS
    for term in sorted(terms, key=lambda one: one.rows):
        left -= term.rows
        if left >= 0 or not found:
            found.append(term)
    return found


def _score(words: Sequence[str], terms: Sequence[_Term], average: float) -> float:
    total = 0.0
    for term in terms:
        count = words.count(term.text)
        total += term.weight * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * len(words) / average))
    return total


def _body(collection: int, terms: Sequence[str]) -> str:
    prefix = f"{collection}x"
    return prefix + f" {prefix}".join(terms)


# Words of messages: indexed when a conversation is first searched, and then as far as it has grown

_INDEX = (1 << THREAD_SHIFT) - 1
_CATCH_UP = 2_000
"""Messages that a search indexes in one transaction, so that writers do not wait long."""


class MessageWords:
    """The word index of all conversations. It may be behind the rows, but never contradicts them."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self.index = Words("message", "message_length")

    def match(self, path: str, id_: str, terms: Sequence[str], limit: int) -> list[tuple[Message, float]]:
        """The best messages of a thread with their scores, after indexing those that no search has seen yet."""
        self._catch_up(path, id_)
        if not terms:
            return []

        def operation(session: Session) -> list[tuple[Message, float]]:
            row = session.one(
                "SELECT key, indexed_count, indexed_length FROM thread WHERE space = ? AND id = ?", (path, id_)
            )
            if row is None or not row[1]:
                return []

            def bodies(keys: list[int]) -> dict[int, str]:
                sql = "SELECT key, body FROM message WHERE key IN (SELECT value FROM json_each(?))"
                return dict(session.rows(sql, (msgspec.json.encode(keys).decode(),)))

            def stored_terms(keys: list[int]) -> dict[int, Sequence[str]]:
                return {key: _terms(body) for key, body in bodies(keys).items()}

            found = self.index.search(session, Collection(*row), terms, limit, ALWAYS, stored_terms)
            texts = bodies([key for _, key in found])
            return [(decode_message(texts[key]), score) for score, key in found]

        return self._connections.snapshot(operation)

    def _catch_up(self, path: str, id_: str) -> None:
        def pending(session: Session) -> bool:
            row = session.one("SELECT key, indexed FROM thread WHERE space = ? AND id = ?", (path, id_))
            if row is None:
                return False
            low = row[0] << THREAD_SHIFT
            sql = "SELECT 1 FROM message WHERE key >= ? AND key <= ? LIMIT 1"
            return session.one(sql, (low + row[1], low | _INDEX)) is not None

        def index_some(session: Session) -> None:
            row = session.one("SELECT key, indexed FROM thread WHERE space = ? AND id = ?", (path, id_))
            if row is None:
                return
            low = row[0] << THREAD_SHIFT
            rows = session.rows(
                "SELECT key, body FROM message WHERE key >= ? AND key <= ? ORDER BY key LIMIT ?",
                (low + row[1], low | _INDEX, _CATCH_UP),
            )
            lengths = [self._index(session, row[0], key, body) for key, body in rows if body is not None]
            self._count(session, row[0], len(lengths), sum(lengths))
            if rows:
                session.execute("UPDATE thread SET indexed = ? WHERE key = ?", ((rows[-1][0] & _INDEX) + 1, row[0]))

        while self._connections.read(pending):
            self._connections.write(index_some)

    def _index(self, session: Session, thread: int, key: int, body: str) -> int:
        terms = _terms(body)
        self.index.add(session, key, thread, terms)
        session.execute("INSERT INTO message_length VALUES (?, ?)", (key, len(terms)))
        return len(terms)

    def follow(self, session: Session, thread: int, key: int, old: str | None, new: str | None) -> None:
        """Update the index after a change of a message, if it has reached the message."""
        length = session.one("SELECT length FROM message_length WHERE key = ?", (key,))
        if length is not None and old is not None:
            self.index.remove(session, key, thread, _terms(old))
            session.execute("DELETE FROM message_length WHERE key = ?", (key,))
            self._count(session, thread, -1, -length[0])
        indexed = session.one("SELECT indexed FROM thread WHERE key = ?", (thread,))
        if new is not None and indexed is not None and key & _INDEX < indexed[0]:
            self._count(session, thread, 1, self._index(session, thread, key, new))

    @staticmethod
    def _count(session: Session, thread: int, rows: int, length: int) -> None:
        session.execute(
            "UPDATE thread SET indexed_count = indexed_count + ?, indexed_length = indexed_length + ? WHERE key = ?",
            (rows, length, thread),
        )


def _terms(body: str) -> list[str]:
    return segment(decode_message(body).searchable)
