"""Files for imports and exports, the report of an import, and a store read as a stream.

A file is written whole or not at all. An imported file may come from anywhere: a line of a gigabyte or a million nested
brackets is one problem in the report. Files of lines are read line by line, a JSON array whole. What may cost much is read
in a worker (``memwell.confined``), whose result is small.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from array import array
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, TypeVar

import msgspec

from memwell.confined import confined
from memwell.errors import FileError, InvalidInput, MemwellError
from memwell.messages import Message, encode_message
from memwell.records import Page, Record, Space, Thread
from memwell.storage.files import sync
from memwell.storage.protocols import Backend, Entry, Place, ThreadInfo
from memwell.values import TOO_DEEP, new_id

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with how much is done and of how much, None when that is not known: bytes when reading, lines when writing."""

T = TypeVar("T")

MOST_NOTES = 1000
"""How many skipped things and problems are listed; more are only counted."""


class Note(msgspec.Struct, frozen=True):
    """Something that was not imported: the number of its line or item (from 1), and why."""

    number: int
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """The report of an import. ``counts`` has the new things by kind; importing the same file again makes them all 0."""

    format: str
    counts: dict[str, int]
    known: int
    """How many things were stored already and stay as they are."""
    skipped: list[Note]
    """What was left out on purpose: refused by the gate, expired or hidden."""
    problems: list[Note]
    """What could not be read or stored. The rest was imported."""
    failed: int
    """How many problems there were, also those that are not listed."""
    hints: list[str] = []
    """What the user should know, although nothing went wrong."""

    @property
    def new(self) -> int:
        """How many things were stored."""
        return sum(self.counts.values())


class ImportCounts:
    """The counts of a running import. With ``strict`` the first problem ends it."""

    def __init__(self, format_: str, *, strict: bool = False) -> None:
        self._format = format_
        self._strict = strict
        self._counts: dict[str, int] = {}
        self._known = 0
        self._skipped: list[Note] = []
        self._problems: list[Note] = []
        self._failed = 0
        self._future = 0

    def add(self, what: str, number: int = 1) -> None:
        """Something new was stored."""
        if number:
            self._counts[what] = self._counts.get(what, 0) + number

    def add_known(self, number: int = 1) -> None:
        """Something was stored already."""
        self._known += number

    def add_future(self, number: int = 1) -> None:
        """The file gave something a time in the future; it got that of the import."""
        self._future += number

    def count(self, what: str, *, new: bool) -> None:
        """Something was stored now, or was stored already."""
        self.add(what, int(new))
        self.add_known(int(not new))

    def skip(self, number: int, reason: str) -> None:
        """Something was left out on purpose."""
        if len(self._skipped) < MOST_NOTES:
            self._skipped.append(Note(number, reason))

    def problem(self, number: int, error: MemwellError | str) -> None:
        """Something in the file is wrong. Raises ``InvalidInput`` when ``strict``."""
        if self._strict:
            raise InvalidInput(f"{self._format}, {number}: {error}")
        self._failed += 1
        if len(self._problems) < MOST_NOTES:
            self._problems.append(Note(number, str(error)))

    @contextlib.contextmanager
    def attempt(self) -> Generator[None]:
        """A block whose counts are taken back when it raises."""
        counts, known, skipped = dict(self._counts), self._known, len(self._skipped)
        try:
            yield
        except BaseException:
            self._counts, self._known = counts, known
            del self._skipped[skipped:]
            raise

    def report(self) -> Imported:
        """The report, with its notes in the order of the file."""
        skipped, problems = (sorted(notes, key=lambda one: one.number) for notes in (self._skipped, self._problems))
        hints = [f"a time in the future became that of the import: {self._future:,}"] if self._future else []
        return Imported(self._format, self._counts, self._known, skipped, problems, self._failed, hints)


FileLike: TypeAlias = str | os.PathLike[str] | BinaryIO
"""The path of a file, or an open binary file."""

LONGEST = 128 * 1024 * 1024
"""The most bytes of a line or item: more than the largest memory takes as JSON."""

MOST_VALUES = 100_000
"""The most values of a line or item that is read in a worker: more would keep this process busy for long."""

MOST_ITEMS = 1_000_000
"""The most items of a JSON array."""

_LIGHT = 20_000
"""How many commas and brackets JSON may have to be read in place."""

_SMALL = 1 << 16
"""How many bytes of a JSON array are read in place."""

_CHUNK = 1 << 16
_PROGRESS_EVERY = 1 << 18
_BOM = b"\xef\xbb\xbf"
_DECODE_ERRORS = (msgspec.DecodeError, UnicodeError, ValueError, OverflowError)


class Piece(NamedTuple):
    """A line or an item of a file: its number, and its bytes or what is wrong with it."""

    number: int
    data: bytes
    wrong: str = ""


@contextlib.contextmanager
def written(target: FileLike) -> Generator[BinaryIO]:
    """A file to write to. A path is replaced, and synced to disk, when the block succeeds; else it stays as it was.

    Raises ``FileError`` when it cannot be written.
    """
    if not isinstance(target, str | os.PathLike):
        yield target
        return
    with written_by(Path(target), _private) as file:
        yield file


@contextlib.contextmanager
def written_by(path: Path, new: Callable[[Path], BinaryIO]) -> Generator[BinaryIO]:
    """Like ``written``, with a file that ``new`` opens at a temporary path."""
    temporary = path.with_name(f".{path.name[:100]}.{new_id()}.part")
    with named(path, "written"):
        if path.is_dir():
            # Now, and not after everything is written.
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        try:
            with new(temporary) as file:
                yield file
            sync(temporary)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync(path.absolute().parent)


def _private(path: Path) -> BinaryIO:
    """A new file that only this user may read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


@contextlib.contextmanager
def named(path: Path, done: str) -> Generator[None]:
    """Turn errors of the system into ``FileError``, with the name of this file instead of a temporary one."""
    try:
        yield
    except (FileError, BrokenPipeError):
        raise
    except OSError as error:
        folder = path.absolute().parent
        reason = f"the folder {str(folder)!r} does not exist" if not folder.exists() else error.strerror or str(error)
        raise FileError(f"the file {str(path)!r} cannot be {done}: {reason}") from error


# Temporary folders

_FOLDERS = "memwell-*"
_LOCK = ".lock"
_LEFT_BEHIND_S = 86_400.0


class PrivateFolder:
    """A temporary folder that only this user may open, removed by ``close``.

    What a killed process left is removed when the next one is made, by any process: a living one holds a lock.
    """

    def __init__(self, purpose: str) -> None:
        remove_left_behind()
        self.path = Path(tempfile.mkdtemp(prefix=f"memwell-{purpose}-"))
        # Named when it is locked: until then another process must not take the folder for one that was left.
        handle, name = tempfile.mkstemp(dir=self.path)
        _is_locked(handle)
        os.rename(name, self.path / _LOCK)
        self._handle = handle

    def close(self) -> None:
        """Remove the folder with everything in it."""
        if self._handle >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._handle)
            self._handle = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *raised: object) -> None:
        self.close()


def remove_left_behind() -> None:
    """Remove this user's folders of processes that were killed: those whose lock is free, and old ones without a lock."""
    for folder in Path(tempfile.gettempdir()).glob(_FOLDERS):
        with contextlib.suppress(OSError):
            found = folder.lstat()
            own = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if own and stat.S_ISDIR(found.st_mode) and _is_left(folder, found.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path, changed: float) -> bool:
    try:
        handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return folder.name.startswith(("memwell-jobs-", "memwell-uploads-")) and changed < time.time() - _LEFT_BEHIND_S
    try:
        return _is_locked(handle)
    finally:
        os.close(handle)


def _is_locked(handle: int) -> bool:
    """Lock a file; False when it is locked by another."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class Reading:
    """A file that is being read, with progress reports."""

    def __init__(self, file: BinaryIO, progress: Progress | None) -> None:
        self._file = file
        self._progress = progress
        self._done = self._reported = 0
        self.total = _size(file)

    def line(self, most: int) -> bytes:
        """The next line, or its first ``most`` bytes."""
        return self._count(self._file.readline(most))

    def rest(self) -> bytes:
        """All that is left, without a byte order mark."""
        data = self._count(self._file.read())
        self._count(b"")
        return data.removeprefix(_BOM)

    def _count(self, data: bytes) -> bytes:
        self._done += len(data)
        if self._progress is not None and (self._done - self._reported >= _PROGRESS_EVERY or not data):
            self._reported = self._done
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
    """A file that is open for reading. Raises ``FileError``."""
    with named(path, "read"):
        return path.open("rb")


def decrypting(backend: Backend | None, path: Path) -> BinaryIO | None:
    """An encrypted file, open for reading with the secret of a store. Raises ``FileError``, ``SecretRefused``."""
    with named(path, "read"):
        return None if backend is None else backend.export_reader(path)


def _size(file: BinaryIO) -> int | None:
    try:
        return os.fstat(file.fileno()).st_size
    except (OSError, AttributeError, ValueError):
        # A file in memory, or an object of another library.
        return None


def lines(file: Reading, longest: int = LONGEST) -> Iterator[Piece]:
    """The lines of a file without their ends; empty ones are skipped but counted."""
    number = 0
    while line := file.line(longest + 1):
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        if len(line) > longest and not line.endswith(b"\n"):
            while line and not line.endswith(b"\n"):
                line = file.line(_CHUNK)
            yield Piece(number, b"", f"the line is longer than {longest:,} bytes")
        elif line.strip():
            yield Piece(number, line.rstrip(b"\r\n"))


def decoded(data: bytes, kind: Any = Any) -> Any:
    """JSON decoded as a type. Raises ``InvalidInput`` when it is malformed, nested too deep, or of another type."""
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError:
        raise InvalidInput(f"it is {TOO_DEEP}") from None
    except _DECODE_ERRORS as error:
        raise InvalidInput(f"not what belongs here: {error}") from error


def read_piece(reader: Callable[..., T], data: bytes, *arguments: Any) -> T:
    """What ``reader(data, *arguments)`` makes of a line or an item: in a worker, unless its JSON is short or flat.

    The reader is a function that ``confined`` takes, and passes its result through ``few``.
    """
    return reader(data, *arguments) if _is_light(data) else confined(reader, data, *arguments)


def _is_light(data: bytes) -> bool:
    found = 0
    # In pieces: one count of a long text would keep other threads waiting.
    for start in range(0, len(data) if len(data) > _LIGHT else 0, _CHUNK):
        found += sum(map(data[start : start + _CHUNK].count, (b",", b"[", b"{")))
        if found > _LIGHT:
            return False
    return True


def few(found: T) -> T:
    """A result of a reader. Raises ``InvalidInput`` when it holds more than ``MOST_VALUES`` values."""
    number, waiting = 0, [msgspec.to_builtins(found)]
    while waiting and number <= MOST_VALUES:
        one = waiting.pop()
        number += 1
        if isinstance(one, list | tuple | dict):
            waiting.extend(one.values() if isinstance(one, dict) else one)  # pyright: ignore[reportUnknownArgumentType]
    if waiting:
        raise InvalidInput(f"it holds more than {MOST_VALUES:,} values, which is the limit for one line or item")
    return found


def items(file: Reading, keys: tuple[str, ...] = ()) -> Iterator[Piece]:
    """The items of the JSON array in a file: of the file itself, or under the first of these keys that has one.

    The file is read whole; one that is no JSON, or has more than ``MOST_ITEMS``, is a single problem.
    """
    data, places = file.rest(), array("Q")
    try:
        found = places_of(data, keys) if len(data) <= _SMALL else confined(places_of, data, keys)
    except InvalidInput as error:
        yield Piece(0, b"", f"the file holds no JSON array: {error}")
        return
    places.frombytes(found)
    for number in range(len(places) // 2):
        yield Piece(number + 1, data[places[2 * number] : places[2 * number + 1]])


def places_of(data: bytes, keys: tuple[str, ...]) -> bytes:
    """Where each item of a JSON array begins and ends: two 64-bit numbers an item. Raises ``InvalidInput``."""
    found, place = parts_of(data), 0
    if isinstance(found, dict):
        array_ = next((bytes(found[key]) for key in keys if key in found), b"null")
        found, place = list_of(array_), data.find(array_)
    if len(found) > MOST_ITEMS:
        raise InvalidInput(f"it has {len(found):,} items, over the limit of {MOST_ITEMS:,}; cut it into several files")
    places = array("Q")
    for item in found:
        # Before it are only blanks, a comma or the open bracket of the array: it does not match there, being whole.
        place = data.find(bytes(item), place)
        places.append(place)
        place += len(memoryview(item))
        places.append(place)
    return places.tobytes()


def list_of(data: bytes) -> list[msgspec.Raw]:
    """The items of a JSON array, as ``parts_of``. Raises ``InvalidInput``."""
    found = parts_of(data)
    if isinstance(found, dict):
        raise InvalidInput("not what belongs here: Expected `array`, got `object`")
    return found


def parts_of(data: bytes) -> list[msgspec.Raw] | dict[str, msgspec.Raw]:
    """The items of a JSON array, or the values of an object by their names. Raises ``InvalidInput``.

    Where one of them is no JSON or nested too deep, they are cut by their brackets alone, so that the others can be read.
    """
    try:
        return decoded(data, list[msgspec.Raw] | dict[str, msgspec.Raw])
    except InvalidInput:
        parts = _by_brackets(data)
        if parts is None:
            raise
        return parts


_MARK = re.compile(rb'"(?:[^"\\]|\\.)*+"|["\[\]{},:]', re.DOTALL)


def _by_brackets(data: bytes) -> list[msgspec.Raw] | dict[str, msgspec.Raw] | None:
    """As ``parts_of``, whatever is between the brackets; None where these do not enclose the whole."""
    items, named = list[msgspec.Raw](), dict[str, msgspec.Raw]()
    depth, start, name, opening = 0, 0, b"", b""

    def close(end: int) -> None:
        part = data[start:end].strip()
        if opening == b"{" and name:
            named[decoded(name, str)] = msgspec.Raw(part)
        elif opening == b"[" and (part or items):
            items.append(msgspec.Raw(part))

    for found in _MARK.finditer(data):
        mark = found[0]
        if mark == b'"' or (not depth and (mark not in b"[{" or data[: found.start()].strip())):
            return None
        if mark in (b"[", b"{"):
            depth += 1
            if depth == 1:
                opening, start = mark, found.end()
        elif mark in (b"]", b"}"):
            depth -= 1
            if not depth:
                close(found.start())
                is_whole = mark == {b"[": b"]", b"{": b"}"}[opening] and not data[found.end() :].strip()
                return (named if opening == b"{" else items) if is_whole else None
        elif depth == 1 and mark == b",":
            close(found.start())
            start, name = found.end(), b""
        elif depth == 1 and mark == b":" and opening == b"{":
            name, start = data[start : found.start()].strip(), found.end()
    return None


MOVING = Space("memwell", "moving")
"""Where a move keeps its notes, in both stores. It is never copied."""

MOST_BYTES = 8 * 2**20
"""The aim for the size of a page: the next one is shorter after a larger page, and longer after a much smaller one."""
_FIRST = 16
_MOST = 1000


def _pages(
    read: Callable[[str | None, int], Page[T]], weight: Callable[[T], int], cursor: str | None = None
) -> Iterator[T]:
    """All items behind a cursor, read in pages of about ``MOST_BYTES``."""
    limit = _FIRST
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


def spaces_of(backend: Backend, after: str | None = None) -> Iterator[Space]:
    """Every space except ``MOVING``, in the order of their encoded paths, from behind one of these."""
    found = _pages(lambda cursor, limit: backend.spaces(limit=limit, cursor=cursor), lambda _: 0, after)
    return (space for space in found if space != MOVING)


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
    """The places between two indexes, in pages."""
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
    """The approximate size of an entry in bytes."""
    return len(entry.value if isinstance(entry.value, bytes | str) else canonical(entry.value)) + 100


def record_weight(record: Record) -> int:
    """The approximate size of a record in bytes."""
    return len(record.text) * 2 + 4 * len(record.vector or ()) + len(canonical(record.metadata)) + 200


def _place_weight(place: Place) -> int:
    held: list[Message | None] = [place.message, *(version.message for version in place.versions)]
    return 100 + sum(len(encode_message(message)) for message in held if message is not None)


def canonical(value: Any) -> bytes:
    """A value as JSON, with sorted keys: the same on every backend."""
    return msgspec.json.encode(value, order="deterministic")
