"""A store in one SQLite file, with its values and blobs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast

import apsw
import msgspec

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError, ConfigurationError, SecretRefused
from memwell.filters import Filter
from memwell.language.segment import segment
from memwell.records import Page, Space
from memwell.settings import Settings
from memwell.storage import arguments as given
from memwell.storage.parts import BaseBlobs, BaseKeyValue, StoredEntry
from memwell.storage.protocols import Backend, Entry, Written
from memwell.storage.sqlite.connections import Connections, Session, current_transaction, has_checksums
from memwell.storage.sqlite.encryption import (
    SALT,
    EncryptedReader,
    EncryptedWriter,
    Secret,
    first_page,
    is_encrypted,
    new_salt,
)
from memwell.storage.sqlite.index import SqliteIndex
from memwell.storage.sqlite.kept_log import take_up_log
from memwell.storage.sqlite.log import SqliteLog
from memwell.storage.sqlite.schema import (
    ENTRY,
    POSITION,
    THREAD_SHIFT,
    SpaceRow,
    compiled,
    drop_written,
    is_zeroed,
    migrate,
    seal,
    sealed,
    set_zeroed,
    spaces_after,
    watch,
    watched,
    written,
)
from memwell.storage.sqlite.words import Words
from memwell.storage.sqlite.zeroing import is_too_large
from memwell.values import check_text, shown

_logger = logging.getLogger("memwell.storage")

# Facts: sizes, counts, and the state of the indexes

_COUNTED = {
    "threads": "thread",
    "messages": "message WHERE body IS NOT NULL",
    "messages_indexed": "message_length",
    "entries": "entry",
    "records": "record",
    "vectors": "record_vector",
    "blobs": "blob",
}


def counted(session: Session) -> dict[str, Any]:
    """The counts of everything, and a line for every space with records."""
    return {
        "sqlite": apsw.sqlite_lib_version(),
        "format": session.rows("PRAGMA user_version")[0][0],
        "read_only": session.connection.readonly("main"),
        "sealed": sealed(session),
        **{name: session.rows(f"SELECT count(*) FROM {rows}")[0][0] for name, rows in _COUNTED.items()},
        "spaces": [_space(*row) for row in session.rows(_SPACES)],
    }


_SPACES = """
    SELECT path, records, vectors, dimensions, space.change, sidecar.change
    FROM space LEFT JOIN sidecar ON sidecar.space = space.key ORDER BY path
"""


def _space(
    path: str, records: int, vectors: int, dimensions: int | None, change: int, built_at: int | None
) -> dict[str, Any]:
    return {
        "space": list(Space.decode(path)),
        "records": records,
        "vectors": vectors,
        "dimensions": dimensions,
        "changes_since_graph": None if built_at is None else change - built_at,
    }


def file_sizes(path: Path) -> dict[str, int]:
    """The bytes of the store, of its write-ahead log, of its graphs and of its caches."""
    graphs, caches = Path(f"{path}-hnsw"), Path(f"{path}-cache")
    return {
        "store": _size(path),
        "log": _size(Path(f"{path}-wal")),
        "graphs": sum(map(_size, graphs.iterdir())) if graphs.is_dir() else 0,
        "caches": sum(map(_size, caches.iterdir())) if caches.is_dir() else 0,
    }


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


# Checks: whether words, vectors and counts agree with the rows

_INDEX = (1 << THREAD_SHIFT) - 1


def check_pages(session: Session) -> list[str]:
    """Faults that SQLite finds in its file."""
    return [row[0] for row in session.rows("PRAGMA integrity_check") if row[0] != "ok"]


def check_messages(session: Session, words: Words) -> list[str]:
    """Faults of messages and their word index."""
    _verify(session, words)
    wrong = _check_postings(session, "message", "message_length") + _check_threads(session)
    for key, count, length in session.rows("SELECT key, indexed_count, indexed_length FROM thread"):
        low = key << THREAD_SHIFT
        stored = session.rows("SELECT key, length FROM message_length WHERE key >= ? AND key <= ?", (low, low | _INDEX))
        if (len(stored), sum(row[1] for row in stored)) != (count, length):
            wrong.append(f"thread {key}: the word index counts {count} messages, but holds {len(stored)}")
    return wrong


def _verify(session: Session, words: Words) -> None:
    # FTS5's own check is a write statement, so a read-only store goes without it.
    if not session.connection.readonly("main"):
        words.verify(session)


def _check_postings(session: Session, name: str, lengths: str) -> list[str]:
    """Every row with words has postings, and every posting has a row."""
    [(indexed,)] = session.rows(f"SELECT count(DISTINCT doc) FROM {name}_terms")
    [(present,)] = session.rows(f"SELECT count(*) FROM {lengths} WHERE length > 0")
    return [] if indexed == present else [f"the word index holds {indexed} {name}s, but {present} have words"]


def _check_threads(session: Session) -> list[str]:
    """The counts of a thread agree with its rows."""
    wrong: list[str] = []
    for key, first, next_, total, absent, base in session.rows(
        "SELECT key, first, next, total, absent, token_base FROM thread"
    ):
        bounds = (key << THREAD_SHIFT, key << THREAD_SHIFT | _INDEX)
        [(live, tokens)] = session.rows(
            "SELECT count(body), ifnull(sum(tokens), 0) FROM message WHERE key >= ? AND key <= ?", bounds
        )
        last = session.one(
            "SELECT key, total FROM message WHERE key >= ? AND key <= ? ORDER BY key DESC LIMIT 1", bounds
        )
        if last is not None and last[0] & _INDEX >= next_:
            next_, total = (last[0] & _INDEX) + 1, last[1]
        if (live, tokens) != (next_ - first - absent, total - base):
            wrong.append(f"thread {key}: {live} messages of {tokens} tokens, but its listing counts otherwise")
    return wrong


def check_records(session: Session, words: Words) -> list[str]:
    """Faults of records, their word index and vectors."""
    _verify(session, words)
    wrong = _check_postings(session, "record", "record")
    for path, *fields in session.rows(
        "SELECT path, key, next, change, forgotten, records, vectors, dimensions, length FROM space"
    ):
        row = SpaceRow(*fields)
        counted = session.rows(
            "SELECT count(*), ifnull(sum(length), 0) FROM record WHERE key >= ? AND key <= ?", row.bounds
        )[0]
        if counted != (row.records, row.length):
            wrong.append(f"space {path}: {counted[0]} records where {row.records} are counted")
        vectors = session.rows(
            "SELECT count(*), count(record.key), ifnull(sum(length(data) <> 2 * ?), 0) FROM record_vector "
            "LEFT JOIN record USING (key) WHERE record_vector.key >= ? AND record_vector.key <= ?",
            (row.dimensions or 0, *row.bounds),
        )[0]
        if vectors != (row.vectors, row.vectors, 0):
            wrong.append(f"space {path}: {vectors[0]} vectors ({vectors[1]} with a record) of {row.vectors} counted")
        wrong.extend(_check_words(session, row, path))
    return wrong


def _check_words(session: Session, row: SpaceRow, path: str) -> list[str]:
    """Every record is found by its first and last word."""
    wrong: list[str] = []
    for key, text in session.rows("SELECT key, text FROM record WHERE key >= ? AND key <= ?", row.bounds):
        terms = segment(text)
        for term in {terms[0], terms[-1]} if terms else ():
            query = f'"{row.key}x{term}"'
            found = session.rows("SELECT 1 FROM record_words WHERE record_words MATCH ? AND rowid = ?", (query, key))
            if not found:
                wrong.append(f"space {path}: record {key & POSITION} is not found by its word {term!r}")
    return wrong


# The store

SAFE_SQLITE = (3, 51, 3)
"""Older versions carry a bug that can damage a write-ahead log when it is reset."""


class SqliteBackend(Backend):
    """One file, written through a write-ahead log with a sync at every commit.

    Several threads and processes may use the file at once. Raises ``BackendError`` when the file is damaged, belongs to
    another program, or was written by a newer memwell; ``ConfigurationError`` when its folder does not exist.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.time,
        vfs: str | None = None,
    ) -> None:
        chosen = settings or Settings()
        self._clock = clock
        self.path = Path(path)
        _check_library()
        _check_place(self.path)
        self._secret = Secret.of(chosen)
        take_up_log(str(self.path))
        self._connections = Connections(
            str(self.path), busy_timeout_s=chosen.busy_timeout_s, vfs=vfs, secret=self._secret
        )
        session = self._connections.open_session()
        try:
            migrate(session, str(self.path))
        except BaseException:
            session.close()
            self._connections.close()
            raise
        self._connections.lend(session)
        self._log = self.log = SqliteLog(self._connections, clock)
        self.kv = SqliteKeyValue(self._connections, clock)
        self._index = self.index = SqliteIndex(
            self._connections,
            vector_cache_mb=chosen.vector_cache_mb,
            hnsw_above=chosen.hnsw_above,
            kept_changes=chosen.kept_changes,
        )
        self.blobs = SqliteBlobs(self._connections)

    @property
    def durable(self) -> bool:
        return True

    @property
    def read_only(self) -> bool:
        return self._connections.read(lambda one: one.connection.readonly("main") or sealed(one) is not None)

    def transaction(self) -> AbstractContextManager[None]:
        return self._connections.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return AsyncContext(self._connections.transaction(), current_transaction)

    def check(self) -> list[str]:
        def operation(session: Session) -> list[str]:
            return [
                *_complaints("the file", lambda: check_pages(session)),
                *_complaints("the words of messages", lambda: check_messages(session, self._log.words.index)),
                *_complaints("the words of records", lambda: check_records(session, self._index.words)),
            ]

        # FTS5's own check is a write statement, so this waits like a writer. It is rolled back, because a damaged index
        # cannot be committed.
        found: list[str] = []
        with suppress(_Checked), self.transaction():
            found += self._connections.read(operation)
            raise _Checked
        return found

    def scrub(self) -> bool:
        if self._connections.transaction_here() is not None:
            raise BackendError("a store cannot be scrubbed inside its own transaction")
        super().scrub()
        self._index.scrub()
        [(page,)] = self._connections.read(lambda session: session.rows("PRAGMA page_size"))
        if self._secret is None and is_too_large(self.path.stat().st_size, page):
            _logger.warning("the file is over 64 GiB: copies of erased rows may stay in the unused part of its pages")
        if self._secret is not None or self._connections.read(is_zeroed):
            return self._connections.empty_log()
        # A store of an older memwell. From now on every page is zeroed when it is written.
        self._connections.rebuild()
        emptied = self._connections.empty_log()
        if emptied:
            self._connections.write(set_zeroed)
        return emptied and self._connections.empty_log()

    @property
    def encrypted(self) -> bool:
        return self._secret is not None

    def export_writer(self, path: Path) -> BinaryIO:
        if self._secret is None:
            return super().export_writer(path)
        return cast(BinaryIO, EncryptedWriter(path, self._secret.key(new_salt(), "export")))

    def export_reader(self, path: Path) -> BinaryIO | None:
        page = first_page(path)
        if self._secret is None or not is_encrypted(page):
            return super().export_reader(path)
        try:
            reader = self._secret.opened(page[:SALT], "export", lambda key: EncryptedReader(path, key))
        except SecretRefused as refused:
            raise SecretRefused.of("wrong-export", str(path)) from refused
        return BufferedReader(reader)

    def facts(self) -> dict[str, Any]:
        counts = self._connections.snapshot(counted)
        own: dict[str, Any] = {"kind": "sqlite", "path": str(self.path), "encrypted": self.encrypted}
        if not self.encrypted:
            own["checksums"] = bool(has_checksums(self.path))
        return {**own, "bytes": file_sizes(self.path), **counts}

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        given.check_limit(limit)
        start, now = given.check_name_cursor(cursor) or "", self._clock()
        paths = self._connections.snapshot(lambda session: spaces_after(session, start, limit + 1, now))
        return Page([Space.decode(path) for path in paths[:limit]], paths[limit - 1] if len(paths) > limit else None)

    def seal(self, reason: str | None) -> None:
        if self._connections.transaction_here() is not None:
            raise BackendError("a store cannot be sealed inside its own transaction")
        wanted = None if reason is None else check_text(reason, "a reason")
        self._connections.write(lambda session: seal(session, wanted))

    def watch(self, name: str | None) -> bool:
        if self._connections.transaction_here() is not None:
            raise BackendError("a store cannot be watched inside its own transaction")
        self._connections.write(lambda session: watch(session, name))
        return True

    def watched(self) -> str | None:
        return self._connections.read(watched)

    def written(self, part: str, *, after: Written | None = None, limit: int = 100) -> list[Written]:
        return self._connections.read(lambda session: written(session, part, after, limit))

    def drop_written(self, notes: Sequence[Written]) -> None:
        self._connections.write(lambda session: drop_written(session, notes))

    def close(self) -> None:
        if self._connections.transaction_here() is not None:
            raise BackendError("a store cannot be closed inside its own transaction")
        with suppress(BackendError):
            self._index.close()
        self._connections.close()


class _Checked(Exception):
    """Rolls back the transaction of a check."""


def _complaints(what: str, look: Callable[[], list[str]]) -> list[str]:
    """The faults that a check finds; that it fails is a fault too."""
    try:
        return look()
    except apsw.Error as error:
        return [f"{what}: {error}"]


def _check_library() -> None:
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < SAFE_SQLITE:
        raise ConfigurationError(
            f"SQLite {apsw.sqlite_lib_version()} can damage its write-ahead log; "
            f"install apsw with SQLite {'.'.join(map(str, SAFE_SQLITE))} or newer: pip install -U apsw-sqlite3mc"
        )


def _check_place(path: Path) -> None:
    try:
        _check_file(path)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{shown(str(path))} cannot be the file of a store: {error}") from error


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise ConfigurationError(f"{str(path)!r} is a folder; name a file in it, such as {str(path / 'memwell.db')!r}")
    if not path.absolute().parent.is_dir():
        raise ConfigurationError(f"the folder {str(path.absolute().parent)!r} does not exist; make it first")
    # SQLite takes a file of less than 512 bytes for an empty one and would overwrite a user's note.
    if path.is_file() and 0 < path.stat().st_size < 512:
        raise BackendError(f"the store {str(path)!r} is damaged or not a SQLite file; nothing was changed")


# Values by key.

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

    _put_many = _restore


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
