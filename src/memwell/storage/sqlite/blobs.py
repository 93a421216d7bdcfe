"""Bytes in SQLite: in the one file, inside the same transactions as what refers to them."""

from __future__ import annotations

import hashlib

from memwell.errors import NotFound
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.protocols import Blobs
from memwell.storage.sqlite.connections import Connections, Session


class SqliteBlobs(Blobs):
    """Bytes in one table, by space and digest."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def put(self, space: Space, data: bytes) -> str:
        path = given.check_space(space).encoded()
        blob = given.check_blob(data)
        digest = hashlib.sha256(blob).hexdigest()

        def operation(session: Session) -> None:
            session.execute("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", (path, digest, blob))

        self._connections.write(operation)
        return digest

    def get(self, space: Space, digest: str) -> bytes:
        path = given.check_space(space).encoded()
        given.check_digest(digest)

        def operation(session: Session) -> bytes | None:
            row = session.one("SELECT data FROM blob WHERE space = ? AND digest = ?", (path, digest))
            return None if row is None else row[0]

        data = self._connections.read(operation)
        if data is None:
            raise NotFound(f"the space holds no blob {digest!r}")
        return data

    def delete(self, space: Space, digest: str) -> bool:
        path = given.check_space(space).encoded()
        given.check_digest(digest)

        def operation(session: Session) -> bool:
            session.execute("DELETE FROM blob WHERE space = ? AND digest = ?", (path, digest))
            return session.connection.changes() > 0

        return self._connections.write(operation)

    def scan(self, space: Space, *, limit: int = 100, cursor: str | None = None) -> Page[str]:
        path = given.check_space(space).encoded()
        given.check_limit(limit)
        start = given.check_name_cursor(cursor) or ""
        sql = "SELECT digest FROM blob WHERE space = ? AND digest > ? ORDER BY digest LIMIT ?"
        rows = self._connections.read(lambda session: session.rows(sql, (path, start, limit + 1)))
        found = [digest for (digest,) in rows[:limit]]
        return Page(found, found[-1] if len(rows) > limit else None)


__all__ = ["SqliteBlobs"]
