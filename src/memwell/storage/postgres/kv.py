"""Values by key and blobs in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memwell.filters import Filter
from memwell.records import Space
from memwell.storage import arguments as given
from memwell.storage.parts import BaseBlobs, BaseKeyValue, StoredEntry
from memwell.storage.postgres.connections import HERE, Connections, Session
from memwell.storage.postgres.schema import ENTRY, compiled, filter_document, long_name, name_key, space_key
from memwell.storage.protocols import Entry

_SWEEP = 8
"""Every put drops up to this many entries of its space that expired, so that they go faster than they come."""
_ROW = "coalesce(long_key, key), value, bytes, version, expires"
_LIVE = "(expires IS NULL OR expires > %s)"
_GET = f"""
    SELECT found.* FROM {HERE} (
        SELECT {_ROW} FROM memwell_entry WHERE space = here.space AND key = %s AND {_LIVE}
    ) AS found
"""
_GET_MANY = _GET.replace("key = %s", "key = ANY(%s)")
_STORE = """
    INSERT INTO memwell_entry (space, key, long_key, version, expires, value, bytes, document)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (space, key) DO UPDATE SET version = excluded.version, expires = excluded.expires,
        value = excluded.value, bytes = excluded.bytes, document = excluded.document
"""
_OVER = """
    DELETE FROM memwell_entry WHERE space = %s AND key IN (
        SELECT key FROM memwell_entry WHERE space = %s AND expires <= %s ORDER BY expires LIMIT %s FOR UPDATE SKIP LOCKED
    )
"""
# Entries for filters: a value that is no JSON has no fields.
_FILTERED = """
    (SELECT key AS place, coalesce(long_key, key) AS key, value, bytes, version, expires,
            coalesce(document, value, 'null')::jsonb AS document
     FROM memwell_entry WHERE space = %s) AS entry
"""


class PostgresKeyValue(BaseKeyValue):
    """Values by key in one table. An expired entry is invisible at once and dropped by later writes."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock

    def _get(self, space: Space, key: str, now: float) -> StoredEntry | None:
        bindings = (name_key(key), now)
        rows = self._connections.read(space, lambda session: session.at_once(_GET, space, bindings))
        return _stored(rows[0]) if rows else None

    def _get_many(self, space: Space, keys: Sequence[str], now: float) -> list[StoredEntry]:
        bindings = ([name_key(key) for key in keys], now)
        rows = self._connections.read(space, lambda session: session.at_once(_GET_MANY, space, bindings))
        return [_stored(row) for row in rows]

    def _put(self, space: Space, entry: StoredEntry, expect: int | None, now: float) -> None:
        path, bindings = space_key(space), _bindings(space, entry)

        def operation(session: Session) -> None:
            if expect is not None:
                _expect(session, path, entry.key, expect, now)
            if expect != 0:
                session.execute(_STORE, bindings)
            while expect == 0 and not _made(session, bindings, now):
                # Another caller was faster; unless its entry is gone again, that is a conflict.
                _expect(session, path, entry.key, 0, now)
            if entry.expires is not None:
                session.execute(_OVER, (path, path, now, _SWEEP))

        self._connections.write(space, operation)

    def _delete(self, space: Space, key: str, expect: int | None, now: float) -> bool:
        path = space_key(space)
        sql = "DELETE FROM memwell_entry WHERE space = %s AND key = %s RETURNING expires"

        def operation(session: Session) -> bool:
            if expect is not None:
                _expect(session, path, key, expect, now)
            row = session.one(sql, (path, name_key(key)))
            return row is not None and (row[0] is None or row[0] > now)

        return self._connections.write(space, operation)

    def _scan(
        self, space: Space, where: Filter | None, after: str | None, limit: int, skip: int, now: float
    ) -> list[Entry]:
        condition = compiled(where, ENTRY)
        sql = (
            f"SELECT key, value, bytes, version, expires FROM {_FILTERED} WHERE place > %s AND {_LIVE} "
            f"AND {condition.sql} ORDER BY place LIMIT %s OFFSET %s"
        )
        start = "" if after is None else name_key(after)
        bindings = (space_key(space), start, now, *condition.bindings, limit, skip)
        rows = self._connections.read(space, lambda session: session.rows(sql, bindings))
        return [_stored(row).entry() for row in rows]

    def _count(self, space: Space, where: Filter | None, now: float) -> int:
        condition = compiled(where, ENTRY)
        sql = f"SELECT count(*) FROM {_FILTERED} WHERE {_LIVE} AND {condition.sql}"
        bindings = (space_key(space), now, *condition.bindings)
        row = self._connections.read(space, lambda session: session.one(sql, bindings))
        return 0 if row is None else row[0]

    def _restore(self, space: Space, entries: list[StoredEntry]) -> None:
        def operation(session: Session) -> None:
            for entry in entries:
                session.execute(_STORE, _bindings(space, entry))

        self._connections.write(space, operation)


def _expect(session: Session, path: str, key: str, expect: int, now: float) -> None:
    """Raises ``Conflict`` when the key is not at this version; its row is locked, so that it stays there."""
    row = session.one(
        f"SELECT version FROM memwell_entry WHERE space = %s AND key = %s AND {_LIVE} FOR UPDATE",
        (path, name_key(key), now),
    )
    given.check_version(key, 0 if row is None else row[0], expect)


def _made(session: Session, bindings: tuple[Any, ...], now: float) -> bool:
    """Store an entry unless a live one exists; whether it was stored."""
    sql = f"{_STORE} WHERE memwell_entry.expires <= %s RETURNING 1"
    return session.one(sql, (*bindings, now)) is not None


def _bindings(space: Space, entry: StoredEntry) -> tuple[Any, ...]:
    key, value = name_key(entry.key), entry.value
    stored = (None, value, None) if isinstance(value, bytes) else (value, None, filter_document(value))
    return (space_key(space), key, long_name(entry.key, key), entry.version, entry.expires, *stored)


def _stored(row: tuple[Any, ...]) -> StoredEntry:
    key, value, data, version, expires = row
    return StoredEntry(key, data if value is None else value, version, expires)


# Blobs: in the same transactions as what refers to them.


class PostgresBlobs(BaseBlobs):
    """Bytes in one table, by space and digest."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _put(self, space: Space, digest: str, blob: bytes) -> None:
        sql = "INSERT INTO memwell_blob (space, digest, data) VALUES (%s, %s, %b) ON CONFLICT DO NOTHING"
        self._connections.write(space, lambda session: session.execute(sql, (space_key(space), digest, blob)))

    def _get(self, space: Space, digest: str) -> bytes | None:
        sql = "SELECT data FROM memwell_blob WHERE space = %s AND digest = %s"
        row = self._connections.read(space, lambda session: session.one(sql, (space_key(space), digest)))
        return None if row is None else row[0]

    def _delete(self, space: Space, digest: str) -> bool:
        sql, bindings = "DELETE FROM memwell_blob WHERE space = %s AND digest = %s", (space_key(space), digest)
        return self._connections.write(space, lambda session: session.execute(sql, bindings).rowcount > 0)

    def _scan(self, space: Space, after: str, limit: int) -> list[str]:
        sql = "SELECT digest FROM memwell_blob WHERE space = %s AND digest > %s ORDER BY digest LIMIT %s"
        bindings = (space_key(space), after, limit)
        return [row[0] for row in self._connections.read(space, lambda session: session.rows(sql, bindings))]
