"""Values by key and blobs in SQLite."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from memwell.errors import Conflict, NotFound
from memwell.filters import FilterLike, as_filter
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.placement import copied_entries
from memwell.storage.protocols import Blobs, Entry, KeyValue
from memwell.storage.sqlite.connections import Connections, Session
from memwell.storage.sqlite.where import ENTRY, compiled
from memwell.values import check_id, new_version

_SWEEP = 8
"""Every put drops up to this many entries whose time is over, so that they go faster than they come."""


class SqliteKeyValue(KeyValue):
    """Values by key in one table; an entry whose time is over is invisible at once and dropped by later writes."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock

    def get(self, space: Space, key: str) -> Entry | None:
        path, now = given.check_space(space).encoded(), self._clock()
        check_id(key, "a key")
        row = self._connections.read(lambda session: self._row(session, path, key, now))
        return None if row is None else _entry(row)

    @staticmethod
    def _row(session: Session, path: str, key: str, now: float) -> tuple[Any, ...] | None:
        return session.one(
            "SELECT key, value, version, expires FROM entry WHERE space = ? AND key = ? AND ifnull(expires > ?, 1)",
            (path, key, now),
        )

    def put(
        self,
        space: Space,
        key: str,
        value: Any,
        *,
        ttl: float | None = None,
        expect: int | None = None,
    ) -> Entry:
        path, now = given.check_space(space).encoded(), self._clock()
        check_id(key, "a key")
        expires = given.check_ttl(ttl, now)
        encoded = given.encode_value(value)
        given.check_expect(expect)
        row = (key, encoded, new_version(), expires)

        def operation(session: Session) -> None:
            self._expect(session, path, key, expect, now)
            session.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", (path, *row))
            self._sweep(session, now)

        self._connections.write(operation)
        return _entry(row)

    def _expect(self, session: Session, path: str, key: str, expect: int | None, now: float) -> None:
        if expect is None:
            return
        row = self._row(session, path, key, now)
        at = 0 if row is None else row[2]
        if at != expect:
            raise Conflict(f"key {key!r} is at version {at}, not at the expected {expect}")

    @staticmethod
    def _sweep(session: Session, now: float) -> None:
        over = session.execute(
            "SELECT space, key FROM entry WHERE expires <= ? ORDER BY expires LIMIT ?", (now, _SWEEP)
        ).fetchall()
        for path, key in over:
            session.execute("DELETE FROM entry WHERE space = ? AND key = ?", (path, key))

    def delete(self, space: Space, key: str, *, expect: int | None = None) -> bool:
        path, now = given.check_space(space).encoded(), self._clock()
        check_id(key, "a key")
        given.check_expect(expect)

        def operation(session: Session) -> bool:
            self._expect(session, path, key, expect, now)
            live = self._row(session, path, key, now) is not None
            session.execute("DELETE FROM entry WHERE space = ? AND key = ?", (path, key))
            return live

        return self._connections.write(operation)

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        skip: int = 0,
    ) -> Page[Entry]:
        path, now = given.check_space(space).encoded(), self._clock()
        condition = compiled(as_filter(where), ENTRY)
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)
        left_out = given.check_skip(skip)
        sql = (
            "SELECT key, value, version, expires FROM entry WHERE space = ? AND (? IS NULL OR key > ?) "
            f"AND ifnull(expires > ?, 1) AND {condition.sql} ORDER BY key LIMIT ? OFFSET ?"
        )
        bindings = (path, start, start, now, *condition.bindings, limit + 1, left_out)
        rows = self._connections.read(lambda session: session.execute(sql, bindings).fetchall())
        items = [_entry(row) for row in rows[:limit]]
        return Page(items, items[-1].key if len(rows) > limit else None)

    def count(self, space: Space, *, where: FilterLike | None = None) -> int:
        path, now = given.check_space(space).encoded(), self._clock()
        condition = compiled(as_filter(where), ENTRY)
        sql = f"SELECT count(*) FROM entry WHERE space = ? AND ifnull(expires > ?, 1) AND {condition.sql}"
        row = self._connections.read(lambda session: session.one(sql, (path, now, *condition.bindings)))
        return 0 if row is None else row[0]

    def restore(self, space: Space, entries: Sequence[Entry]) -> None:
        path = given.check_space(space).encoded()
        rows = [(path, *one) for one in copied_entries(entries).values()]
        if not rows:
            return

        def operation(session: Session) -> None:
            for row in rows:
                session.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)", row)

        self._connections.write(operation)


def _entry(row: tuple[Any, ...]) -> Entry:
    key, value, version, expires = row
    return Entry(key, given.decode_value(value), version, None if expires is None else given.moment(expires))


# Bytes in SQLite: in the one file, inside the same transactions as what refers to them.


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
