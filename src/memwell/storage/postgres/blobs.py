"""Bytes in PostgreSQL: in the same transactions as what refers to them."""

from __future__ import annotations

import hashlib

from memwell.errors import NotFound
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.postgres.connections import Connections, Session
from memwell.storage.postgres.schema import space_key
from memwell.storage.protocols import Blobs


class PostgresBlobs(Blobs):
    """Bytes in one table, by space and digest."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def put(self, space: Space, data: bytes) -> str:
        path = space_key(given.check_space(space))
        blob = given.check_blob(data)
        digest = hashlib.sha256(blob).hexdigest()

        def operation(session: Session) -> None:
            session.execute(
                "INSERT INTO memwell_blob (space, digest, data) VALUES (%s, %s, %b) ON CONFLICT DO NOTHING",
                (path, digest, blob),
            )

        self._connections.write(space, operation)
        return digest

    def get(self, space: Space, digest: str) -> bytes:
        path = space_key(given.check_space(space))
        given.check_digest(digest)
        sql = "SELECT data FROM memwell_blob WHERE space = %s AND digest = %s"
        row = self._connections.read(space, lambda session: session.one(sql, (path, digest)))
        if row is None:
            raise NotFound(f"the space holds no blob {digest!r}")
        return row[0]

    def delete(self, space: Space, digest: str) -> bool:
        path = space_key(given.check_space(space))
        given.check_digest(digest)
        sql = "DELETE FROM memwell_blob WHERE space = %s AND digest = %s"
        return self._connections.write(space, lambda session: session.execute(sql, (path, digest)).rowcount > 0)

    def scan(self, space: Space, *, limit: int = 100, cursor: str | None = None) -> Page[str]:
        path = space_key(given.check_space(space))
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)
        sql = "SELECT digest FROM memwell_blob WHERE space = %s AND digest > %s ORDER BY digest LIMIT %s"
        rows = self._connections.read(space, lambda session: session.rows(sql, (path, start or "", limit + 1)))
        found = [row[0] for row in rows]
        return Page(found[:limit], found[limit - 1] if len(found) > limit else None)


__all__ = ["PostgresBlobs"]
