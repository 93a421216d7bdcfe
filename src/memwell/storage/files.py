"""Files: locked files, atomic replacement, and folders bounded in size."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, NamedTuple

from memwell.values import new_id

COMPANIONS = ("-wal", "-log", "-shm", "-journal", "-hnsw", "-cache")
"""The endings of files that belong to a SQLite store: SQLite's own, and the folders of graphs and caches."""

# File locks between processes. The lock is the system's: it ends with the process that holds it.


@contextmanager
def locked(path: Path) -> Generator[int]:
    """Hold the lock of the file at ``path``, which is made if need be, and give its descriptor, open to read and write.

    Raises ``OSError`` when the file cannot be made or opened.
    """
    descriptor = _held(path)
    try:
        yield descriptor
    finally:
        # Closing alone would leave the lock with a child that was forked meanwhile.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _held(path: Path) -> int:
    while True:
        # Opened each time: an open descriptor would be shared with a forked child, and so would its lock.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if is_at(path, descriptor):
            return descriptor
        # The file was deleted while this process waited: the others lock another one now.
        os.close(descriptor)


def is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is the one at a path."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def open_plain(path: Path) -> BufferedReader:
    """Open a plain file to read. Raises ``OSError`` for anything else: a named pipe would be waited for without end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    return os.fdopen(descriptor, "rb")


def create_private(path: Path) -> None:
    """Create an empty file that only this user may read and write, unless there is one. Raises ``OSError``."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


# Atomic replacement: a reader finds the old file or the new one.


def replace_file(path: Path, data: bytes) -> None:
    """Replace the file at ``path`` by ``data``, with the permissions of the old file. On disk when it returns.

    Raises ``OSError`` when it cannot be written; then the file is unchanged.
    """
    temporary = path.with_name(f"{path.name}.new")
    with temporary.open("wb") as file:
        if path.exists():
            temporary.chmod(path.stat().st_mode)
        _write_synced(file, data)
    temporary.replace(path)
    sync(path.parent)


def _write_synced(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# A folder that is bounded by the number or size of its files: the oldest are dropped first.


_STALE_S = 3600.0
"""A temporary file this old belongs to a process that died."""


class _Listed(NamedTuple):
    size: int
    written: int


class BoundedFolder:
    """The files in the folder at ``path`` whose names match ``names``; all others are left alone.

    The list of the files is kept in memory, and read again when another object or program has changed the folder. The
    folder is created by the first ``put``. Safe for several threads and processes, which may be killed at any moment. Every
    method raises ``OSError`` when a file cannot be read or written.
    """

    def __init__(self, path: Path, names: re.Pattern[str]) -> None:
        self.path = path
        self._names = names
        self._own = path / ".memwell"
        self._lock = self._own / "lock"
        # Used only under the lock: the files, the oldest first, their size, and the state of the folder in which they were
        # listed. Finding the first key of a plain dict takes longer the more were deleted before it.
        self._files: OrderedDict[str, _Listed] = OrderedDict()
        self._size = 0
        self._seen: tuple[bytes, int] | None = None
        self._swept = False

    def read(self, name: str) -> bytes | None:
        """The content of a file, or None when there is none."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, name: str, data: bytes, *, most_files: int | None = None, most_bytes: int | None = None) -> None:
        """Store a file under a name, and drop the oldest until the rest is within the limits."""
        temporary = self._written(data)
        try:
            if most_files is None and most_bytes is None and not self._lock.exists():
                temporary.replace(self.path / name)
                return
            with self._changing():
                # The file system's own clock may give several files the same time.
                now = time.time_ns()
                os.utime(temporary, ns=(now, now))
                temporary.replace(self.path / name)
                self._list(name)
                self._drop_oldest(most_files, most_bytes)
        finally:
            temporary.unlink(missing_ok=True)

    def drop(self, name: str) -> bool:
        """Drop a file. Returns whether there was one."""
        if not self._lock.exists():
            return _dropped(self.path / name)
        with self._changing():
            self._unlist(name)
            return _dropped(self.path / name)

    def clear(self) -> None:
        """Drop all files whose names match."""
        if not self._lock.exists():
            self._drop_all()
            return
        with self._changing():
            self._files.clear()
            self._size = 0
            self._drop_all()

    def _drop_all(self) -> None:
        with suppress(FileNotFoundError):
            for name, _ in self._listed():
                _dropped(self.path / name)

    # Temporary files

    def _written(self, data: bytes) -> Path:
        temporary = self._own / f"{new_id()}.new"
        try:
            temporary.write_bytes(data)
        except FileNotFoundError:
            self._own.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self._sweep()
        return temporary

    def _sweep(self) -> None:
        """Drop temporary files of killed processes, once for each object."""
        if self._swept:
            return
        self._swept = True
        for left in self._own.glob("*.new"):
            with suppress(FileNotFoundError):
                if left.stat().st_mtime < time.time() - _STALE_S:
                    left.unlink()

    # Under the lock

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Hold the lock with a current list of files.

        Each change of the folder leaves a new token in the lock file. There is none after an error or a kill.
        """
        with locked(self._lock) as file:
            token = os.read(file, 100)
            if not token or self._seen != (token, self._folder_time()):
                self._files = OrderedDict(sorted(self._listed(), key=lambda one: one[1].written))
                self._size = sum(one.size for one in self._files.values())
            self._seen = None
            os.ftruncate(file, 0)
            yield
            token = new_id().encode()
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, token)
            self._seen = (token, self._folder_time())

    def _listed(self) -> Generator[tuple[str, _Listed]]:
        with os.scandir(self.path) as found:
            for one in found:
                if self._names.fullmatch(one.name) and one.is_file():
                    # A program without the lock may delete it meanwhile.
                    with suppress(FileNotFoundError):
                        stat = one.stat()
                        yield one.name, _Listed(stat.st_size, stat.st_mtime_ns)

    def _list(self, name: str) -> None:
        """Make a file the newest of the list."""
        self._unlist(name)
        found = os.stat(self.path / name)
        self._files[name] = _Listed(found.st_size, found.st_mtime_ns)
        self._size += found.st_size

    def _unlist(self, name: str) -> None:
        listed = self._files.pop(name, None)
        if listed is not None:
            self._size -= listed.size

    def _drop_oldest(self, most_files: int | None, most_bytes: int | None) -> None:
        while self._files and (
            (most_files is not None and len(self._files) > most_files)
            or (most_bytes is not None and self._size > most_bytes)
        ):
            name, listed = next(iter(self._files.items()))
            with suppress(FileNotFoundError):
                if os.stat(self.path / name).st_mtime_ns != listed.written:
                    # A program without the lock has rewritten it, so it is not the oldest.
                    self._list(name)
                    continue
                _dropped(self.path / name)
            self._unlist(name)

    def _folder_time(self) -> int:
        return os.stat(self.path).st_mtime_ns


def _dropped(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
