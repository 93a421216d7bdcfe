"""Files in and out: written whole or not at all, read piece by piece, never trusted; and the report of an import.

A file that is imported may come from anywhere. It is read in pieces of a bounded size, so that a line of a gigabyte or a
nest of a million brackets costs no more than a line in the report.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, TypeVar

import msgspec

from memwell.errors import FileError, InvalidInput, MemwellError
from memwell.messages import Message, encode_message
from memwell.records import Page, Record, Space, Thread
from memwell.storage.protocols import Backend, Entry, Place, ThreadInfo

# The report of an import


Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with how far it is and how far it goes, None when that is not known: bytes when reading, lines when writing."""

MOST_NOTES = 1000
"""How many skipped things and problems are listed one by one; more are only counted."""


class Note(msgspec.Struct, frozen=True):
    """Something that did not come over: the number of its line or item (from 1), and why."""

    number: int
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """What an import did. ``counts`` says how many of each thing are new; importing the same again makes them all 0."""

    format: str
    counts: dict[str, int]
    known: int
    """How many things were there already and were left as they are."""
    skipped: list[Note]
    """What was left out on purpose: refused by the gate, expired, hidden."""
    problems: list[Note]
    """What could not be read or stored. The rest came over."""
    failed: int
    """How many problems there were, also when too many to list."""
    hints: list[str] = []
    """What the user should know, although nothing went wrong."""

    @property
    def new(self) -> int:
        """How many things were stored."""
        return sum(self.counts.values())


class Tally:
    """Counts while an import runs. With ``strict`` the first problem ends it."""

    def __init__(self, format_: str, *, strict: bool = False) -> None:
        self._format = format_
        self._strict = strict
        self._counts: dict[str, int] = {}
        self._known = 0
        self._skipped: list[Note] = []
        self._problems: list[Note] = []
        self._failed = 0

    def took(self, what: str, number: int = 1) -> None:
        """Something new was stored."""
        if number:
            self._counts[what] = self._counts.get(what, 0) + number

    def knew(self, number: int = 1) -> None:
        """Something was there already."""
        self._known += number

    def count(self, what: str, *, new: bool) -> None:
        """Something was stored, or was there already."""
        if new:
            self.took(what)
        else:
            self.knew()

    def skip(self, number: int, reason: str) -> None:
        """Something was left out on purpose."""
        if len(self._skipped) < MOST_NOTES:
            self._skipped.append(Note(number, reason))

    def problem(self, number: int, error: MemwellError | str) -> None:
        """Something is wrong with the file. Raises ``InvalidInput`` when nothing may be wrong."""
        if self._strict:
            raise InvalidInput(f"{self._format}, {number}: {error}")
        self._failed += 1
        if len(self._problems) < MOST_NOTES:
            self._problems.append(Note(number, str(error)))

    def mark(self) -> tuple[dict[str, int], int, int]:
        """What was counted so far, to come back to."""
        return dict(self._counts), self._known, len(self._skipped)

    def back_to(self, mark: tuple[dict[str, int], int, int]) -> None:
        """Forget what was counted since: it was undone."""
        self._counts, self._known = dict(mark[0]), mark[1]
        del self._skipped[mark[2] :]

    @property
    def failed(self) -> int:
        """How many problems there were so far."""
        return self._failed

    def report(self) -> Imported:
        """What came of it."""
        return Imported(self._format, self._counts, self._known, self._skipped, self._problems, self._failed)


# Files


FileLike: TypeAlias = str | os.PathLike[str] | BinaryIO
"""The path of a file, or an open binary file."""

LONGEST = 128 * 1024 * 1024
"""A line or item of a file may be this many bytes long: more than the largest memory takes when it is written as JSON."""

_CHUNK = 1 << 16
_PROGRESS_EVERY = 1 << 18
_BOM = b"\xef\xbb\xbf"
_DECODE_ERRORS = (msgspec.DecodeError, UnicodeError, RecursionError, ValueError, OverflowError)


class Piece(NamedTuple):
    """A line or an item of a file: its number, and its bytes or else why there are none."""

    number: int
    data: bytes
    wrong: str = ""


@contextlib.contextmanager
def written(target: FileLike) -> Generator[BinaryIO]:
    """A file to write to. A path has its new content when this ends well, on disk, and the old one otherwise.

    Raises ``FileError`` when it cannot be written.
    """
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    path = Path(target)
    with named(path, "written"), _replacing(path) as file:
        yield file


@contextlib.contextmanager
def named(path: Path, done: str) -> Generator[None]:
    """Errors of the system name the file that was asked for and not one made on the way to it."""
    try:
        yield
    except (FileError, BrokenPipeError):
        raise
    except OSError as error:
        folder = path.absolute().parent
        reason = f"the folder {str(folder)!r} does not exist" if not folder.exists() else error.strerror or str(error)
        raise FileError(f"the file {str(path)!r} cannot be {done}: {reason}") from error


@contextlib.contextmanager
def _replacing(path: Path) -> Generator[BinaryIO]:
    if path.is_dir():
        # Said before all is written, and not when it takes its place.
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Have the new name itself on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Reading:
    """A file being read, with reports of how far it is."""

    def __init__(self, file: BinaryIO, progress: Progress | None) -> None:
        self._file = file
        self._progress = progress
        self._done = self._told = 0
        self.total = _size(file)

    def line(self, most: int) -> bytes:
        """The next line, or so much of it."""
        return self._count(self._file.readline(most))

    def chunk(self) -> bytes:
        """The next bytes; none at the end."""
        return self._count(self._file.read(_CHUNK))

    def _count(self, data: bytes) -> bytes:
        self._done += len(data)
        if self._progress is not None and (self._done - self._told >= _PROGRESS_EVERY or not data):
            self._told = self._done
            self._progress(self._done, self.total)
        return data


@contextlib.contextmanager
def reading(source: FileLike, progress: Progress | None = None) -> Generator[Reading]:
    """A file to read. Raises ``FileError`` when it cannot be opened."""
    if not isinstance(source, str | os.PathLike):
        yield Reading(source, progress)
        return
    with opened(Path(source)) as file:
        yield Reading(file, progress)


def opened(path: Path) -> BinaryIO:
    """A file, open to be read. Raises ``FileError``."""
    with named(path, "read"):
        return path.open("rb")


def _size(file: BinaryIO) -> int | None:
    try:
        return os.fstat(file.fileno()).st_size
    except (OSError, AttributeError, ValueError):
        # A file in memory, or one that another library made up.
        return None


def lines(file: Reading, longest: int = LONGEST, *, empty: bool = False) -> Iterator[Piece]:
    """The lines of a file without their ends; unless ``empty`` is set, empty ones are passed over but counted."""
    number = 0
    while line := file.line(longest + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        if len(line) > longest and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = file.line(_CHUNK)
            yield Piece(number, b"", f"the line is longer than {longest:,} bytes")
        elif empty or line.strip():
            yield Piece(number, line.rstrip(b"\r\n"))


def decoded(data: bytes, kind: Any = Any) -> Any:
    """JSON as a value of a type. Raises ``InvalidInput`` when it is malformed, nested too deep, or of another type."""
    try:
        return msgspec.json.decode(data, type=kind)
    except _DECODE_ERRORS as error:
        raise InvalidInput(f"not what belongs here: {error}") from error


_OUTSIDE = re.compile(rb'["\[\]{},]')
_INSIDE = re.compile(rb'["\\]')


class _Scanner:
    """Cuts the items of a JSON array out of a stream, without understanding them.

    The array is the file itself, or the first array of an object under one of ``keys``.
    """

    def __init__(self, keys: tuple[str, ...], longest: int) -> None:
        self._keys = tuple(f'"{key}"'.encode() for key in keys)
        self._longest = longest
        self._depth = 0
        self._base: int | None = None
        self._in_string = self._escaped = self._too_long = False
        self._kept = bytearray()
        self._number = 0
        self.ended = False

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The items that end in a chunk."""
        place = 0
        if self._escaped and chunk:
            self._keep(chunk[:1])
            self._escaped, place = False, 1
        while place < len(chunk) and not self.ended:
            found = (_INSIDE if self._in_string else _OUTSIDE).search(chunk, place)
            if found is None:
                self._keep(chunk[place:])
                return
            self._keep(chunk[place : found.start()])
            place = found.end()
            if found[0] == b"\\":
                self._keep(chunk[found.start() : place + 1])
                self._escaped = place == len(chunk)
                place += 1
            else:
                yield from self._mark(found[0])

    def _mark(self, mark: bytes) -> Iterator[Piece]:
        if mark == b'"':
            self._in_string = not self._in_string
        elif mark in b"[{":
            self._depth += 1
            if self._base is None and self._opens(mark):
                self._base = self._depth
                self._kept.clear()
                return
        elif mark in b"]}":
            self._depth -= 1
            if self._base is not None and self._depth < self._base:
                self.ended = True
                yield from self._item()
                return
        elif self._depth == self._base:
            yield from self._item()
            return
        elif self._base is None:
            self._kept.clear()
        self._keep(mark)

    def _opens(self, mark: bytes) -> bool:
        """Whether the array of the items begins here."""
        if mark != b"[":
            return False
        return self._depth == 1 or (self._depth == 2 and any(key in self._kept for key in self._keys))

    def _keep(self, data: bytes) -> None:
        if len(self._kept) + len(data) > self._longest:
            self._too_long = True
            self._kept.clear()
        if not self._too_long:
            self._kept += data

    def _item(self) -> Iterator[Piece]:
        data, too_long = bytes(self._kept).strip(), self._too_long
        self._kept.clear()
        self._too_long = False
        if too_long or data:
            self._number += 1
            yield Piece(self._number, data, f"the item is longer than {self._longest:,} bytes" if too_long else "")

    def rest(self) -> Iterator[Piece]:
        """What is wrong when the file ends here."""
        if self._base is None:
            yield Piece(0, b"", "the file holds no JSON array")
        elif not self.ended:
            yield Piece(self._number + 1, b"", "the file ends in the middle")


def items(file: Reading, keys: tuple[str, ...] = (), longest: int = LONGEST) -> Iterator[Piece]:
    """The items of the JSON array in a file, each by itself: the file is never held whole."""
    scanner = _Scanner(keys, longest)
    while chunk := file.chunk():
        yield from scanner.feed(chunk)
    yield from scanner.rest()


# Reading a store as a stream, a little at a time, and what it holds in one form that is the same on every backend.


T = TypeVar("T")
U = TypeVar("U")

MOVING = Space("memwell", "moving")
"""Where a move keeps its own notes, on both sides. It is never copied."""

MOST_BYTES = 8 * 2**20
"""A page is made smaller when it was more than this, and larger again when it was much less."""
_FIRST = 16
_MOST = 1000


def _pages(read: Callable[[str | None, int], Page[T]], weight: Callable[[T], int]) -> Iterator[T]:
    """All items, in pages whose length follows the weight of what they held."""
    cursor, limit = None, _FIRST
    while True:
        page = read(cursor, limit)
        yield from page.items
        if page.next is None:
            return
        cursor, limit = page.next, _next_limit(limit, sum(map(weight, page.items)))


def _next_limit(limit: int, weight: int) -> int:
    if weight > MOST_BYTES:
        return max(1, limit // 4)
    return min(_MOST, limit * 2) if weight < MOST_BYTES // 4 else limit


def spaces_of(backend: Backend) -> Iterator[Space]:
    """Every space but our own, in the order of their paths."""
    for space in _pages(lambda cursor, limit: backend.spaces(limit=limit, cursor=cursor), lambda _: 0):
        if space != MOVING:
            yield space


def entries_of(backend: Backend, space: Space) -> Iterator[Entry]:
    """The live entries, by key."""
    return _pages(lambda cursor, limit: backend.kv.scan(space, limit=limit, cursor=cursor), entry_weight)


def records_of(backend: Backend, space: Space) -> Iterator[Record]:
    """The records with their vectors, in the order in which they were first stored."""
    if "records" not in backend.abilities:
        return iter(())
    return _pages(lambda cursor, limit: backend.index.scan(space, limit=limit, cursor=cursor), record_weight)


def threads_of(backend: Backend, space: Space) -> Iterator[ThreadInfo]:
    """The threads, by id."""
    return _pages(lambda cursor, limit: backend.log.threads(space, limit=limit, cursor=cursor), lambda _: 1000)


def digests_of(backend: Backend, space: Space) -> Iterator[str]:
    """The digests of the blobs, in order."""
    if "blobs" not in backend.abilities:
        return iter(())
    return _pages(lambda cursor, limit: backend.blobs.scan(space, limit=limit, cursor=cursor), lambda _: 64)


def place_pages(backend: Backend, thread: Thread, after: int, before: int) -> Iterator[list[Place]]:
    """The places between two indexes, in pieces."""
    limit = _FIRST
    while True:
        page = backend.log.places(thread, after=after, limit=limit)
        wanted = [place for place in page if place.index < before]
        if wanted:
            yield wanted
        if len(page) < limit or len(wanted) < len(page):
            return
        after, limit = page[-1].index, _next_limit(limit, sum(map(_place_weight, page)))


def entry_weight(entry: Entry) -> int:
    """About how many bytes an entry takes."""
    return len(entry.value if isinstance(entry.value, bytes | str) else canonical(entry.value)) + 100


def record_weight(record: Record) -> int:
    """About how many bytes a record takes."""
    return len(record.text) * 2 + 4 * len(record.vector or ()) + len(canonical(record.metadata)) + 200


def _place_weight(place: Place) -> int:
    held: list[Message | None] = [place.message, *(version.message for version in place.versions)]
    return 100 + sum(len(encode_message(message)) for message in held if message is not None)


def canonical(value: Any) -> bytes:
    """A value as JSON, with sorted keys: the same on every backend."""
    return msgspec.json.encode(value, order="deterministic")
