"""Values by key and blobs in PostgreSQL."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from memwell.errors import Conflict, NotFound
from memwell.filters import FilterLike, as_filter
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.placement import copied_entries
from memwell.storage.postgres.connections import HERE, Connections, Session
from memwell.storage.postgres.schema import long_name, name_key, space_key
from memwell.storage.postgres.where import ENTRY, compiled, filter_document
from memwell.storage.protocols import Blobs, Entry, KeyValue
from memwell.values import check_id, new_version

_SWEEP = 8
"""Every put drops up to this many entries of its space whose time is over, so that they go faster than they come."""
_ROW = "coalesce(long_key, key), value, bytes, version, expires"
_LIVE = "(expires IS NULL OR expires > %s)"
_GET = f"""
    SELECT found.* FROM {HERE} (
        SELECT {_ROW} FROM memwell_entry WHERE space = here.space AND key = %s AND {_LIVE}
    ) AS found
"""
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
# Entries as a filter sees them: what is no JSON has no fields.
_FILTERED = """
    (SELECT key AS place, coalesce(long_key, key) AS key, value, bytes, version, expires,
            coalesce(document, value, 'null')::jsonb AS document
     FROM memwell_entry WHERE space = %s) AS entry
"""


class PostgresKeyValue(KeyValue):
    """Values by key in one table; an entry whose time is over is invisible at once and dropped by later writes."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock

    def get(self, space: Space, key: str) -> Entry | None:
        given.check_space(space)
        bindings = (name_key(check_id(key, "a key")), self._clock())
        rows = self._connections.read(space, lambda session: session.at_once(_GET, space, bindings))
        return _entry(rows[0]) if rows else None

    def put(
        self,
        space: Space,
        key: str,
        value: Any,
        *,
        ttl: float | None = None,
        expect: int | None = None,
    ) -> Entry:
        path, now = space_key(given.check_space(space)), self._clock()
        check_id(key, "a key")
        expires = given.check_ttl(ttl, now)
        encoded = given.encode_value(value)
        given.check_expect(expect)
        version = new_version()
        bindings = _bindings(path, key, encoded, version, expires, value)

        def operation(session: Session) -> None:
            if expect is not None:
                self._expect(session, path, key, expect, now)
            if expect != 0:
                session.execute(_STORE, bindings)
            while expect == 0 and not _made(session, bindings, now):
                # Another was quicker; unless it is gone again by now, that is a conflict.
                self._expect(session, path, key, 0, now)
            if expires is not None:
                session.execute(_OVER, (path, path, now, _SWEEP))

        self._connections.write(space, operation)
        return Entry(key, given.decode_value(encoded), version, None if expires is None else given.moment(expires))

    @staticmethod
    def _expect(session: Session, path: str, key: str, expect: int, now: float) -> None:
        """Raises ``Conflict`` when the key is not at this version; its row is locked, so that it stays there."""
        row = session.one(
            f"SELECT version FROM memwell_entry WHERE space = %s AND key = %s AND {_LIVE} FOR UPDATE",
            (path, name_key(key), now),
        )
        at = 0 if row is None else row[0]
        if at != expect:
            raise Conflict(f"key {key!r} is at version {at}, not at the expected {expect}")

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        path, now = space_key(given.check_space(space)), self._clock()
        check_id(key, "a key")
        given.check_expect(expect)
        sql = "DELETE FROM memwell_entry WHERE space = %s AND key = %s RETURNING expires"

        def operation(session: Session) -> bool:
            if expect is not None:
                self._expect(session, path, key, expect, now)
            row = session.one(sql, (path, name_key(key)))
            return row is not None and (row[0] is None or row[0] > now)

        return self._connections.write(space, operation)

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        path, now = space_key(given.check_space(space)), self._clock()
        condition = compiled(as_filter(where), ENTRY)
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)
        left_out = given.check_skip(skip)
        sql = (
            f"SELECT key, value, bytes, version, expires FROM {_FILTERED} WHERE place > %s AND {_LIVE} "
            f"AND {condition.sql} ORDER BY place LIMIT %s OFFSET %s"
        )
        after = "" if start is None else name_key(start)
        bindings = (path, after, now, *condition.bindings, limit + 1, left_out)
        rows = self._connections.read(space, lambda session: session.rows(sql, bindings))
        items = [_entry(row) for row in rows[:limit]]
        return Page(items, items[-1].key if len(rows) > limit else None)

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        path, now = space_key(given.check_space(space)), self._clock()
        condition = compiled(as_filter(where), ENTRY)
        sql = f"SELECT count(*) FROM {_FILTERED} WHERE {_LIVE} AND {condition.sql}"
        row = self._connections.read(space, lambda session: session.one(sql, (path, now, *condition.bindings)))
        return 0 if row is None else row[0]

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        path = space_key(given.check_space(space))
        copied = copied_entries(entries)

        def operation(session: Session) -> None:
            for key, encoded, version, expires in copied.values():
                value = None if isinstance(encoded, bytes) else msgspec.json.decode(encoded)
                session.execute(_STORE, _bindings(path, key, encoded, version, expires, value))

        self._connections.write(space, operation)


def _made(session: Session, bindings: tuple[Any, ...], now: float) -> bool:
    """Store an entry that must not be there yet, but for one whose time is over; whether it was stored."""
    sql = f"{_STORE} WHERE memwell_entry.expires <= %s RETURNING 1"
    return session.one(sql, (*bindings, now)) is not None


def _bindings(
    path: str, key: str, encoded: str | bytes, version: int, expires: float | None, value: Any
) -> tuple[Any, ...]:
    kept = name_key(key)
    if isinstance(encoded, bytes):
        return (path, kept, long_name(key, kept), version, expires, None, encoded, None)
    return (path, kept, long_name(key, kept), version, expires, encoded, None, filter_document(value, encoded))


def _entry(row: tuple[Any, ...]) -> Entry:
    key, value, data, version, expires = row
    stored = given.decode_value(data if value is None else value)
    return Entry(key, stored, version, None if expires is None else given.moment(expires))


# Bytes in PostgreSQL: in the same transactions as what refers to them.


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
