"""Values by key and blobs in SQLite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from memwell.filters import Filter
from memwell.records import Space
from memwell.storage import arguments as given
from memwell.storage.parts import BaseBlobs, BaseKeyValue, StoredEntry
from memwell.storage.protocols import Entry
from memwell.storage.sqlite.connections import Connections, Session
from memwell.storage.sqlite.schema import ENTRY, compiled

_SWEEP = 8
"""Every put drops up to this many expired entries, so that they go faster than they come."""

_LIVE = "space = ? AND ifnull(expires > ?, 1)"
_STORE = "INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?)"


class SqliteKeyValue(BaseKeyValue):
    """Values by key in one table. An expired entry is invisible at once and dropped by later writes."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock

    def _get(self, space: Space, key: str, now: float) -> StoredEntry | None:
        return self._connections.read(lambda session: _live(session, space, key, now))

    def _get_many(self, space: Space, keys: Sequence[str], now: float) -> list[StoredEntry]:
        # The keys come first, so that each is looked up by the primary key.
        sql = (
            "SELECT entry.key, entry.value, version, expires FROM json_each(?) AS wanted CROSS JOIN entry "
            f"ON entry.key = wanted.value WHERE {_LIVE}"
        )
        bindings = (msgspec.json.encode(keys).decode(), space.encoded(), now)
        return [StoredEntry(*row) for row in self._connections.read(lambda session: session.rows(sql, bindings))]

    def _put(self, space: Space, entry: StoredEntry, expect: int | None, now: float) -> None:
        def operation(session: Session) -> None:
            if expect is not None:
                _expect(session, space, entry.key, expect, now)
            session.execute(_STORE, (space.encoded(), *entry))
            expired = session.execute(
                "SELECT space, key FROM entry WHERE expires <= ? ORDER BY expires LIMIT ?", (now, _SWEEP)
            ).fetchall()
            for one in expired:
                session.execute("DELETE FROM entry WHERE space = ? AND key = ?", one)

        self._connections.write(operation)

    def _delete(self, space: Space, key: str, expect: int | None, now: float) -> bool:
        def operation(session: Session) -> bool:
            live = _expect(session, space, key, expect, now)
            session.execute("DELETE FROM entry WHERE space = ? AND key = ?", (space.encoded(), key))
            return live

        return self._connections.write(operation)

    def _scan(
        self, space: Space, where: Filter | None, after: str | None, limit: int, skip: int, now: float
    ) -> list[Entry]:
        condition = compiled(where, ENTRY)
        sql = (
            f"SELECT key, value, version, expires FROM entry WHERE {_LIVE} AND (? IS NULL OR key > ?) "
            f"AND {condition.sql} ORDER BY key LIMIT ? OFFSET ?"
        )
        bindings = (space.encoded(), now, after, after, *condition.bindings, limit, skip)
        rows = self._connections.read(lambda session: session.rows(sql, bindings))
        return [StoredEntry(*row).entry() for row in rows]

    def _count(self, space: Space, where: Filter | None, now: float) -> int:
        condition = compiled(where, ENTRY)
        sql = f"SELECT count(*) FROM entry WHERE {_LIVE} AND {condition.sql}"
        bindings = (space.encoded(), now, *condition.bindings)
        row = self._connections.read(lambda session: session.one(sql, bindings))
        return 0 if row is None else row[0]

    def _restore(self, space: Space, entries: list[StoredEntry]) -> None:
        def operation(session: Session) -> None:
            for entry in entries:
                session.execute(_STORE, (space.encoded(), *entry))

        self._connections.write(operation)


def _live(session: Session, space: Space, key: str, now: float) -> StoredEntry | None:
    sql = f"SELECT key, value, version, expires FROM entry WHERE {_LIVE} AND key = ?"
    row = session.one(sql, (space.encoded(), now, key))
    return None if row is None else StoredEntry(*row)


def _expect(session: Session, space: Space, key: str, expect: int | None, now: float) -> bool:
    """Whether there is an entry. Raises ``Conflict`` when it is not at the expected version."""
    found = _live(session, space, key, now)
    given.check_version(key, 0 if found is None else found.version, expect)
    return found is not None


# Blobs: in the same file, and in the same transactions as what refers to them.


class SqliteBlobs(BaseBlobs):
    """Bytes in one table, by space and digest."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _put(self, space: Space, digest: str, blob: bytes) -> None:
        row = (space.encoded(), digest, blob)
        self._connections.write(lambda session: session.execute("INSERT OR IGNORE INTO blob VALUES (?, ?, ?)", row))

    def _get(self, space: Space, digest: str) -> bytes | None:
        sql, bindings = "SELECT data FROM blob WHERE space = ? AND digest = ?", (space.encoded(), digest)
        row = self._connections.read(lambda session: session.one(sql, bindings))
        return None if row is None else row[0]

    def _delete(self, space: Space, digest: str) -> bool:
        def operation(session: Session) -> bool:
            session.execute("DELETE FROM blob WHERE space = ? AND digest = ?", (space.encoded(), digest))
            return session.connection.changes() > 0

        return self._connections.write(operation)

    def _scan(self, space: Space, after: str, limit: int) -> list[str]:
        sql = "SELECT digest FROM blob WHERE space = ? AND digest > ? ORDER BY digest LIMIT ?"
        bindings = (space.encoded(), after, limit)
        return [row[0] for row in self._connections.read(lambda session: session.rows(sql, bindings))]
