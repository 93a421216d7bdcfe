"""Files: blobs in a folder by digest, locked files, atomic replacement, and folders bounded in size."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from memwell.errors import BackendError, ConfigurationError, NotFound
from memwell.records import Page, Space
from memwell.storage import arguments as given
from memwell.storage.protocols import Blobs
from memwell.values import new_id, shown

# File locks between processes. The lock is the system's: it ends with the process that holds it.


if sys.platform == "win32":
    import msvcrt

    # A byte far behind all data: Windows forbids reading what is locked.
    _FAR = 2**30

    def _lock(descriptor: int) -> None:
        while True:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            try:
                # It gives up after ten seconds: try again.
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
            except OSError:
                continue
            return

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(path: Path) -> Generator[int]:
    """Hold the lock of the file at ``path``, which is made if need be, and give its descriptor, open to read and write.

    Raises ``OSError`` when the file cannot be made or opened.
    """
    descriptor = _held(path)
    try:
        yield descriptor
    finally:
        _unlock(descriptor)
        os.close(descriptor)


def _held(path: Path) -> int:
    while True:
        # Opened each time: an open descriptor would be shared with a forked child, and so would its lock.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        _lock(descriptor)
        if _is_still_there(path, descriptor):
            return descriptor
        # The file was deleted while this process waited: the others lock another one now.
        _unlock(descriptor)
        os.close(descriptor)


def _is_still_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


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
    _sync_folder(path.parent)


def _write_synced(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    # Windows cannot open a folder, and keeps the new name without being asked.
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class FileBlobs(Blobs):
    """Blobs as files under ``folder``, which is created if need be. A file is stored whole or not at all.

    Spaces share no files, so what one deletes another keeps. Raises ``ConfigurationError`` when the folder cannot be made.
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            self._folder = Path(folder).expanduser().absolute()
            self._folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigurationError(f"{shown(str(folder))} cannot be a folder for blobs: {error}") from error

    def put(self, space: Space, data: bytes) -> str:
        place = self._place(space)
        blob = given.check_blob(data)
        digest = hashlib.sha256(blob).hexdigest()
        with _translated(self._folder):
            if not _is_there(place / digest, len(blob)):
                self._write(place, digest, blob)
        return digest

    def get(self, space: Space, digest: str) -> bytes:
        file = self._place(space) / given.check_digest(digest)
        with _translated(self._folder):
            try:
                data = file.read_bytes()
            except FileNotFoundError:
                raise NotFound(f"the space holds no blob {digest!r}") from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise BackendError(f"the file of blob {digest!r} in {str(self._folder)!r} is damaged")
        return data

    def delete(self, space: Space, digest: str) -> bool:
        place = self._place(space)
        file = place / given.check_digest(digest)
        with _translated(self._folder):
            try:
                file.unlink()
            except FileNotFoundError:
                return False
            _sync_folder(place)
            # Remove the folder with its last file.
            with suppress(OSError):
                place.rmdir()
        return True

    def scan(self, space: Space, *, limit: int = 100, cursor: str | None = None) -> Page[str]:
        place = self._place(space)
        given.check_limit(limit)
        start = given.check_name_cursor(cursor) or ""
        with _translated(self._folder):
            try:
                names = os.listdir(place)
            except FileNotFoundError:
                names = []
        # Names with a dot are left over from interrupted writes.
        found = sorted(name for name in names if "." not in name and name > start)
        return Page(found[:limit], found[limit - 1] if len(found) > limit else None)

    def _place(self, space: Space) -> Path:
        name = hashlib.sha256(given.check_space(space).encoded().encode()).hexdigest()
        return self._folder / name[:2] / name

    def _write(self, place: Path, digest: str, data: bytes) -> None:
        unfinished = place / f"{digest}.{new_id()}"
        while True:
            place.mkdir(parents=True, exist_ok=True)
            # Another process may remove the empty folder meanwhile.
            with suppress(FileNotFoundError):
                descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                break
        try:
            with open(descriptor, "wb") as file:
                _write_synced(file, data)
            os.replace(unfinished, place / digest)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
        for folder in (place, place.parent, self._folder):
            _sync_folder(folder)


def _is_there(file: Path, size: int) -> bool:
    try:
        return file.stat().st_size == size
    except FileNotFoundError:
        return False


@contextmanager
def _translated(folder: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise BackendError(f"the folder {str(folder)!r} failed: {error.strerror or error}") from error


# A folder that is bounded by the number or size of its files: the oldest are dropped first.


_HEAD = 33
"""The journal begins with an id, which changes when it is rewritten."""
_STALE_S = 3600.0
"""A temporary file this old belongs to a process that died."""
_LONG = 4
_SHORT = 4000


class _Listed(NamedTuple):
    size: int
    written: int


class BoundedFolder:
    """The files in the folder at ``path`` whose names match ``names``; all others are left alone.

    A journal in the folder lists the files in the order of writing, so that no call reads the whole folder. A name is
    ASCII without spaces. The folder is created by the first ``put``. Safe for several threads and processes, which may be
    killed at any moment. Every method raises ``OSError`` when a file cannot be read or written.
    """

    def __init__(self, path: Path, names: re.Pattern[str]) -> None:
        self.path = path
        self._names = names
        self._own = path / ".memwell"
        self._journal = self._own / "journal"
        # The content of the journal as far as it was read; used only under its lock.
        self._files: OrderedDict[str, _Listed] = OrderedDict()
        self._bytes = 0
        self._head = b""
        self._read_to = 0
        self._lines = 0
        self._folder_time = -1
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
            if most_files is None and most_bytes is None and not self._journal.exists():
                temporary.replace(self.path / name)
                return
            with self._changing() as journal:
                temporary.replace(self.path / name)
                lines = [self._list(name, os.stat(self.path / name))]
                self._close(journal, lines + self._drop_oldest(most_files, most_bytes))
        finally:
            temporary.unlink(missing_ok=True)

    def drop(self, name: str) -> bool:
        """Drop a file. Returns whether there was one."""
        if not self._journal.exists():
            return _dropped(self.path / name)
        with self._changing() as journal:
            dropped = _dropped(self.path / name)
            self._close(journal, self._unlist(name))
        return dropped

    def clear(self) -> None:
        """Drop all files whose names match."""
        if not self._journal.exists():
            self._drop_all()
            return
        with self._changing() as journal:
            self._drop_all()
            self._rewrite(journal)

    def _drop_all(self) -> None:
        with suppress(FileNotFoundError), os.scandir(self.path) as found:
            for one in found:
                if self._names.fullmatch(one.name) and one.is_file():
                    _dropped(Path(one.path))

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
    def _changing(self) -> Generator[int]:
        """Hold the lock with a current list of files. After an error the journal is read again."""
        with locked(self._journal) as journal:
            try:
                self._catch_up(journal)
                self._append(journal, b"!\n")
                yield journal
            except BaseException:
                self._head = b""
                raise

    def _catch_up(self, journal: int) -> None:
        head = _read(journal, 0, _HEAD)
        if head != self._head or not head:
            self._head, self._read_to, self._lines = head, _HEAD, 0
            self._files, self._bytes, self._folder_time = OrderedDict(), 0, -1
        if not self._followed(_read(journal, self._read_to)) or self._folder_time != self._folder_time_now():
            self._rewrite(journal)

    def _followed(self, added: bytes) -> bool:
        """Apply new lines of the journal; False when it is damaged or ends inside a change."""
        lines = added.split(b"\n")
        if lines.pop() or (lines and not lines[-1].startswith(b"=")):
            return False
        try:
            for line in lines:
                self._follow(line.decode("ascii"))
        except ValueError:
            return False
        self._read_to += len(added)
        self._lines += len(lines)
        return True

    def _follow(self, line: str) -> None:
        kind, rest = line[:1], line[1:]
        if kind == "+":
            name, size, written = rest.split(" ")
            self._unlist(name)
            self._files[name] = _Listed(int(size), int(written))
            self._bytes += int(size)
        elif kind == "-":
            self._unlist(rest)
        elif kind == "=":
            self._folder_time = int(rest)
        elif line != "!":
            raise ValueError(line)

    def _close(self, journal: int, lines: list[str]) -> None:
        """Write the lines of a finished change to the journal."""
        self._folder_time = self._folder_time_now()
        self._append(journal, "".join([*lines, f"={self._folder_time}\n"]).encode())
        self._lines += len(lines) + 2
        if self._lines > _LONG * len(self._files) + _SHORT:
            self._rewrite(journal)

    def _rewrite(self, journal: int) -> None:
        """List the folder and write a new journal from it."""
        # Read before listing: a later change is seen the next time.
        self._folder_time = self._folder_time_now()
        # Files written in one tick of the clock keep their known order.
        places = {name: place for place, name in enumerate(self._files)}
        found = sorted(self._listed(), key=lambda one: (one[1].written, places.get(one[0], len(places))))
        self._files = OrderedDict(found)
        self._bytes = sum(one.size for one in self._files.values())
        self._head = f"{new_id()}\n".encode()
        lines = [_line(name, listed) for name, listed in found]
        os.ftruncate(journal, 0)
        self._read_to, self._lines = 0, len(lines) + 1
        self._append(journal, self._head + "".join([*lines, f"={self._folder_time}\n"]).encode())

    def _listed(self) -> Generator[tuple[str, _Listed]]:
        with os.scandir(self.path) as found:
            for one in found:
                if self._names.fullmatch(one.name) and one.is_file():
                    # A program without the lock may delete it meanwhile.
                    with suppress(FileNotFoundError):
                        stat = one.stat()
                        yield one.name, _Listed(stat.st_size, stat.st_mtime_ns)

    def _drop_oldest(self, most_files: int | None, most_bytes: int | None) -> list[str]:
        lines: list[str] = []
        while self._files and (
            (most_files is not None and len(self._files) > most_files)
            or (most_bytes is not None and self._bytes > most_bytes)
        ):
            name, listed = next(iter(self._files.items()))
            with suppress(FileNotFoundError):
                found = os.stat(self.path / name)
                if found.st_mtime_ns != listed.written:
                    # A program without the journal has rewritten it, so it is not the oldest.
                    lines.append(self._list(name, found))
                    continue
                _dropped(self.path / name)
            lines += self._unlist(name)
        return lines

    def _list(self, name: str, found: os.stat_result) -> str:
        self._unlist(name)
        listed = self._files[name] = _Listed(found.st_size, found.st_mtime_ns)
        self._bytes += listed.size
        return _line(name, listed)

    def _unlist(self, name: str) -> list[str]:
        listed = self._files.pop(name, None)
        if listed is None:
            return []
        self._bytes -= listed.size
        return [f"-{name}\n"]

    def _append(self, journal: int, data: bytes) -> None:
        os.lseek(journal, self._read_to, os.SEEK_SET)
        self._read_to += len(data)
        while data:
            # One call writes all, unless the disk is full: then the next one raises.
            data = data[os.write(journal, data) :]

    def _folder_time_now(self) -> int:
        return os.stat(self.path).st_mtime_ns


def _line(name: str, listed: _Listed) -> str:
    return f"+{name} {listed.size} {listed.written}\n"


def _dropped(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def _read(file: int, start: int, length: int | None = None) -> bytes:
    wanted = os.fstat(file).st_size - start if length is None else length
    os.lseek(file, start, os.SEEK_SET)
    pieces: list[bytes] = []
    while wanted > 0 and (piece := os.read(file, wanted)):
        pieces.append(piece)
        wanted -= len(piece)
    return b"".join(pieces)
