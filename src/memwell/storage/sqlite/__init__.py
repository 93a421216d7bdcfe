"""A store in one SQLite file."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import apsw

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError, ConfigurationError
from memwell.messages import forget_decoded
from memwell.records import Page, Space
from memwell.settings import Settings
from memwell.storage import arguments as given
from memwell.storage.protocols import Backend
from memwell.storage.sqlite.blobs import SqliteBlobs
from memwell.storage.sqlite.checking import check_messages, check_pages, check_records
from memwell.storage.sqlite.connections import Connections, Session, current_transaction
from memwell.storage.sqlite.facts import counted, file_sizes
from memwell.storage.sqlite.index import SqliteIndex
from memwell.storage.sqlite.kv import SqliteKeyValue
from memwell.storage.sqlite.log import SqliteLog
from memwell.storage.sqlite.schema import MIGRATIONS, migrate
from memwell.storage.sqlite.sealing import seal
from memwell.storage.sqlite.spaces import spaces_after
from memwell.values import check_text, shown

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
        self._connections = Connections(str(self.path), busy_timeout_s=chosen.busy_timeout_s, vfs=vfs)
        session = self._connections.open_session()
        try:
            migrate(session, str(self.path))
        finally:
            session.close()
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

        # FTS5's own check is spelt as a write, so this waits its turn like one. It changes nothing, and is undone
        # rather than committed because a damaged index cannot be.
        found: list[str] = []
        with suppress(_Looked), self.transaction():
            found += self._connections.read(operation)
            raise _Looked
        return found

    def scrub(self) -> None:
        if self._connections.transaction_here() is not None:
            raise BackendError("a store cannot be scrubbed inside its own transaction")
        self._index.scrub()
        self._connections.empty_log()
        # What was read a moment ago is remembered for the whole process.
        forget_decoded()

    def facts(self) -> dict[str, Any]:
        counts = self._connections.snapshot(counted)
        return {"kind": "sqlite", "path": str(self.path), "bytes": file_sizes(self.path), **counts}

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

    def close(self) -> None:
        if self._connections.transaction_here() is not None:
            raise BackendError("a store cannot be closed inside its own transaction")
        with suppress(BackendError):
            self._index.close()
        self._connections.close()


class _Looked(Exception):
    """Ends the transaction of a look."""


def _complaints(what: str, look: Callable[[], list[str]]) -> list[str]:
    """What a look finds; that it cannot even look is a finding too."""
    try:
        return look()
    except apsw.Error as error:
        return [f"{what}: {error}"]


def _check_library() -> None:
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < SAFE_SQLITE:
        raise ConfigurationError(
            f"SQLite {apsw.sqlite_lib_version()} can damage its write-ahead log; "
            f"install apsw with SQLite {'.'.join(map(str, SAFE_SQLITE))} or newer: pip install -U apsw"
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
    # SQLite takes a file of less than 512 bytes for an empty one and would write over somebody's note.
    if path.is_file() and 0 < path.stat().st_size < 512:
        raise BackendError(f"the store {str(path)!r} is damaged or not a SQLite file; nothing was changed")


SCHEMA_VERSION = len(MIGRATIONS)

__all__ = ["SAFE_SQLITE", "SCHEMA_VERSION", "SqliteBackend"]
