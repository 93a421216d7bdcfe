"""A folder of files that may hold so many, or so much: the oldest go first, whoever wrote them.

Files are put in as a whole: written beside, in a folder of our own, then renamed, so that who reads finds all of one or
none. No file is synced, for what lies here can be made again: a power cut may cost the last ones.

Who may hold how much would be known by looking at every file. Instead there is a journal of what came and went, in the
order of writing, which is the lock of the writers too: each process reads only what the others have added since. A ``!``
stands there before the folder is changed, and a line with ``=`` and the folder's own time of change after it. When that
line is not the last one, somebody was killed; when the folder's time is another, a stranger changed it; in both cases the
folder is looked through and the journal begun anew. So it is when it has grown long, once in about as many writes as there
are files, so that this costs a write next to nothing, and a change that kept the folder's time is noticed then.
"""

from __future__ import annotations

import os
import re
import time
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from memwell.storage.locking import locked
from memwell.values import new_id

_HEAD = 33
"""The journal begins with an id, by which its readers see whether it is still the one they have read."""
_STALE_S = 3600.0
"""What was written beside and not renamed for so long belongs to a process that is no more."""
_LONG = 4
_SHORT = 4000


class _Listed(NamedTuple):
    size: int
    written: int


class BoundedFolder:
    """The files in the folder at ``path`` whose names match ``names``; all others are left alone.

    A name is ASCII without spaces. The folder is made when something is put in. Safe for several threads and processes,
    and under a kill at any moment. Every method raises ``OSError`` when a file cannot be read or written.
    """

    def __init__(self, path: Path, names: re.Pattern[str]) -> None:
        self.path = path
        self._names = names
        self._own = path / ".memwell"
        self._journal = self._own / "journal"
        # What the journal says, as far as it was read; used only by who holds its lock.
        self._files: OrderedDict[str, _Listed] = OrderedDict()
        self._bytes = 0
        self._head = b""
        self._read_to = 0
        self._lines = 0
        self._folder_time = -1
        self._swept = False

    def read(self, name: str) -> bytes | None:
        """What is in a file, or None when there is no such file."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None

    def put(self, name: str, data: bytes, *, most_files: int | None = None, most_bytes: int | None = None) -> None:
        """Put a file in, in the place of one with the name, and drop the oldest until the rest is within the limits."""
        beside = self._written_beside(data)
        try:
            if most_files is None and most_bytes is None and not self._journal.exists():
                beside.replace(self.path / name)
                return
            with self._changing() as journal:
                beside.replace(self.path / name)
                lines = [self._list(name, os.stat(self.path / name))]
                self._close(journal, lines + self._drop_oldest(most_files, most_bytes))
        finally:
            beside.unlink(missing_ok=True)

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
            self._begin_anew(journal)

    def _drop_all(self) -> None:
        with suppress(FileNotFoundError), os.scandir(self.path) as found:
            for one in found:
                if self._names.fullmatch(one.name) and one.is_file():
                    _dropped(Path(one.path))

    # Writing beside

    def _written_beside(self, data: bytes) -> Path:
        beside = self._own / f"{new_id()}.new"
        try:
            beside.write_bytes(data)
        except FileNotFoundError:
            self._own.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(data)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        self._sweep()
        return beside

    def _sweep(self) -> None:
        """Drop what killed processes left, once for each of us."""
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
        """Hold the lock, knowing what is in the folder, and let others know if it is not left as it should be."""
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
            self._begin_anew(journal)

    def _followed(self, added: bytes) -> bool:
        """Do in memory what the journal says was done; whether it says so to its end."""
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
        """Say in the journal what was done."""
        self._folder_time = self._folder_time_now()
        self._append(journal, "".join([*lines, f"={self._folder_time}\n"]).encode())
        self._lines += len(lines) + 2
        if self._lines > _LONG * len(self._files) + _SHORT:
            self._begin_anew(journal)

    def _begin_anew(self, journal: int) -> None:
        """Look through the folder, and write a journal that says what is there."""
        # Read before looking: what changes meanwhile is seen the next time.
        self._folder_time = self._folder_time_now()
        # Several files may have been written in one tick of the clock; then what is known of their order decides.
        places = {name: place for place, name in enumerate(self._files)}
        found = sorted(self._looked_through(), key=lambda one: (one[1].written, places.get(one[0], len(places))))
        self._files = OrderedDict(found)
        self._bytes = sum(one.size for one in self._files.values())
        self._head = f"{new_id()}\n".encode()
        lines = [_line(name, listed) for name, listed in found]
        os.ftruncate(journal, 0)
        self._read_to, self._lines = 0, len(lines) + 1
        self._append(journal, self._head + "".join([*lines, f"={self._folder_time}\n"]).encode())

    def _looked_through(self) -> Generator[tuple[str, _Listed]]:
        with os.scandir(self.path) as found:
            for one in found:
                if self._names.fullmatch(one.name) and one.is_file():
                    # A program that knows no lock may drop it meanwhile.
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
                    # A program that knows no journal has written it anew, so it is not the oldest.
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
            # One call writes it all; it stops short only where the disk is full, and the next one says so.
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


__all__ = ["BoundedFolder"]
