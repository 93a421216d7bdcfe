"""The words of messages: indexed when a conversation is first searched, and then as far as it has grown."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memwell.language.segment import segment
from memwell.messages import Message, decode_message
from memwell.storage.sqlite.connections import Connections, Session
from memwell.storage.sqlite.schema import THREAD_SHIFT
from memwell.storage.sqlite.where import ALWAYS
from memwell.storage.sqlite.words import Collection, Words

_INDEX = (1 << THREAD_SHIFT) - 1
_CATCH_UP = 2_000
"""Messages indexed in one transaction when a search catches up, so that writers wait a moment at most."""


class MessageWords:
    """The word index of all conversations. It may be behind the rows, and never disagrees with them."""

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
        def owed(session: Session) -> bool:
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

        while self._connections.read(owed):
            self._connections.write(index_some)

    def _index(self, session: Session, thread: int, key: int, body: str) -> int:
        terms = _terms(body)
        self.index.add(session, key, thread, terms)
        session.execute("INSERT INTO message_length VALUES (?, ?)", (key, len(terms)))
        return len(terms)

    def follow(self, session: Session, thread: int, key: int, old: str | None, new: str | None) -> None:
        """Follow a change of a message, if the index has reached it."""
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


__all__ = ["MessageWords"]
