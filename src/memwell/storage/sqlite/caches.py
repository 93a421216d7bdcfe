"""Caches of spaces in files next to the store: one for each space, named in the store.

A file has a name that is never used twice, and only the one that the store names is read, so that a file of another store,
of a restored backup's future, or of a process that died while writing is never used. What was deleted from a space goes
from its cache too: ``scrub`` removes each cache from whose space a record was deleted since, and each file without a name.
"""

from __future__ import annotations

import mmap
import os
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from memwell.errors import MemwellError
from memwell.storage.protocols import KeptCache
from memwell.storage.sqlite.connections import Connections, Session
from memwell.storage.sqlite.schema import SpaceRow, space_row

_PREFIX = "cache "
_MAPPED_FROM = 4 * 2**20
"""Smaller files are read."""
_UNFINISHED_S = 3_600.0
"""After this time a file that the store does not name is left over from a process that died."""


class _Named(msgspec.Struct, frozen=True):
    """The cache of a space: its file, and the change that it was made at."""

    file: str
    change: int


class SpaceCaches:
    """The caches of a store's spaces."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._folder = Path(f"{connections.path}-cache")

    def keep(self, path: str, change: int, parts: Iterable[bytes | memoryview]) -> bool:
        """Write the cache of a space and name it. False when it cannot be written, or a record was deleted since."""
        if self._connections.read(lambda session: session.connection.readonly("main")):
            return False
        file = self._folder / f"{secrets.token_hex(16)}.cache"
        named: str | None = None
        try:
            self._make_folder()
            self._write(file, parts)
            named = self._connections.write(lambda session: self._name(session, path, file, change))
        except (MemwellError, OSError):
            # A cache only saves time.
            named = None
        if named is None:
            _remove(file)
            return False
        _remove(self._folder / named if named else None)
        self._remove_unnamed(_UNFINISHED_S)
        return True

    def kept(self, path: str) -> KeptCache | None:
        """The cache of a space, or None when there is none that fits."""

        def operation(session: Session) -> tuple[SpaceRow | None, _Named | None]:
            row = space_row(session, path)
            return row, None if row is None else _named(session, row.key)

        row, found = self._connections.snapshot(operation)
        if row is None or found is None or not row.forgotten <= found.change <= row.change:
            return None
        try:
            return KeptCache(found.change, _mapped(self._folder / Path(found.file).name))
        except (OSError, ValueError):
            return None

    def scrub(self) -> None:
        """Remove the caches of spaces from which a record was deleted since, and all files that the store does not name."""
        if self._folder.is_dir():
            outdated = self._connections.read(_outdated)
            if outdated:
                self._connections.write(lambda session: _unname(session, outdated))
            self._remove_unnamed(0.0)

    def _name(self, session: Session, path: str, file: Path, change: int) -> str | None:
        """Name a file in the store. The file that was named before, or empty; None when the new one cannot be used."""
        row = space_row(session, path)
        if row is None or _lost_any(session, row, change) or not file.is_file():
            return None
        before = _named(session, row.key)
        value = msgspec.json.encode(_Named(file.name, change)).decode()
        session.execute("INSERT OR REPLACE INTO store VALUES (?, ?)", (f"{_PREFIX}{row.key}", value))
        return "" if before is None else before.file

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(0o700, exist_ok=True)
            # Who may read the store may look into the folder.
            self._folder.chmod(self._mode | (self._mode & 0o444) >> 2)

    def _write(self, file: Path, parts: Iterable[bytes | memoryview]) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(file, flags, 0o600), "wb") as written:
            file.chmod(self._mode)
            for part in parts:
                written.write(part)
            written.flush()
            os.fsync(written.fileno())

    @property
    def _mode(self) -> int:
        """The permissions of the store's file."""
        return os.stat(self._connections.path).st_mode & 0o666

    def _files(self) -> list[Path]:
        with suppress(OSError):
            return list(self._folder.glob("*.cache"))
        return []

    def _remove_unnamed(self, older_s: float) -> None:
        """Remove files that the store does not name. A process that is still writing one then finds that it is gone."""
        listed = self._files()
        named = self._connections.read(_all_files)
        for file in listed:
            with suppress(OSError):
                if file.name not in named and time.time() - file.stat().st_mtime >= older_s:
                    file.unlink()


def _mapped(path: Path) -> Any:
    """The bytes of a file, to be written by this process alone: a change of them does not reach the file."""
    with path.open("rb") as file:
        # A map holds the file open, and many small ones would be too many.
        if os.fstat(file.fileno()).st_size < _MAPPED_FROM:
            return bytearray(file.read())
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _remove(file: Path | None) -> None:
    if file is not None:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _all_files(session: Session) -> set[str]:
    rows = session.rows("SELECT value FROM store WHERE name >= ? AND name < ?", (_PREFIX, f"{_PREFIX}:"))
    return {msgspec.json.decode(value, type=_Named).file for (value,) in rows}


def _named(session: Session, space: int) -> _Named | None:
    row = session.one("SELECT value FROM store WHERE name = ?", (f"{_PREFIX}{space}",))
    return None if row is None else msgspec.json.decode(row[0], type=_Named)


def _outdated(session: Session) -> list[int]:
    """The spaces from which a record was deleted since their cache was made."""
    # In this order, because other values of the store are no JSON.
    changed = session.rows(
        "SELECT space.path, store.value ->> '$.change' FROM space CROSS JOIN store ON store.name = ? || space.key "
        "WHERE store.value ->> '$.change' <> space.change",
        (_PREFIX,),
    )
    rows = [(space_row(session, path), made_at) for path, made_at in changed]
    return [row.key for row, made_at in rows if row is not None and _lost_any(session, row, made_at)]


def _unname(session: Session, spaces: Iterable[int]) -> None:
    for space in spaces:
        session.execute("DELETE FROM store WHERE name = ?", (f"{_PREFIX}{space}",))


def _lost_any(session: Session, row: SpaceRow, since: int) -> bool:
    """Whether a record of the space was deleted after a change, or that is no longer known."""
    if not row.forgotten <= since <= row.change:
        return True
    sql = (
        "SELECT 1 FROM record_change LEFT JOIN record ON record.key = record_change.record "
        "WHERE record_change.key > ? AND record_change.key <= ? AND record.key IS NULL LIMIT 1"
    )
    return session.one(sql, (row.low | since, row.low | row.change)) is not None
