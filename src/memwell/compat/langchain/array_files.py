"""A file that holds one JSON array and grows at its end, safely for several processes and under a kill at any moment.

Appending writes no more than the new elements, but for some appends to a small file, which replace it. Beside the file
lies its journal, which is the lock too. An append is written there and synced first; then the end of the array is
overwritten by one write, and synced. Who takes the lock next finishes what a killed process left half done.

The journal also says what the file was when one of us last left it: if it is something else now, another program changed
it, and it is read and checked anew. (Told by its size, its inode and the time of its last change: a change that keeps
all three, within one tick of the clock, goes unseen.)
"""

from __future__ import annotations

import codecs
import errno
import json
import locale
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from memwell.compat.langchain.journals import Append, Journal, Left
from memwell.errors import InvalidInput
from memwell.storage.files import locked, replace_file
from memwell.values import new_version

_BLOCK = _PAGE = 4096
_SMALL = 1 << 20
_SPACE = b" \t\r\n"
_WRITE_PROTECTED = (errno.EACCES, errno.EPERM, errno.EROFS)
_split = msgspec.json.Decoder(list[msgspec.Raw]).decode


class ArrayFile:
    """The array in the file at ``path``, written in ``encoding``, or the machine's own when that is None.

    Every method raises ``OSError`` when a file cannot be read or written, and ``InvalidInput`` naming the file when it is
    not a JSON array of objects; a file that is not is never written to.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        # The journal of a file that is reached through a link lies beside the file.
        self._path = Path(os.path.realpath(path))
        self._journal = self._path.with_name(f"{self._path.name}.journal")
        self._encoding = encoding or locale.getpreferredencoding(False)
        self._tail_encoding = _tail_encoding(self._encoding)
        self._elements: list[bytes] = []
        self._end = 0
        self._seen: Left | None = None

    def create(self) -> None:
        """Make the file, with an empty array, unless it is there."""
        if not self._path.exists():
            with self._held():
                if not self._path.exists():
                    self._replace([])

    def elements(self) -> Sequence[bytes]:
        """The elements, each as its JSON in UTF-8. What has been read before is not read again."""
        try:
            with self._held() as journal:
                self._refresh(journal)
        except OSError as error:
            # A folder that may only be read has no journal, and nobody who appends.
            if error.errno not in _WRITE_PROTECTED:
                raise
            self._refresh(None)
        return self._elements

    def extend(self, elements: Sequence[str]) -> None:
        """Put elements, each as its JSON, at the end, all or none. On disk when it returns."""
        if not elements:
            return
        encoded = [self._encoded(one) for one in elements]
        new = [one.encode("utf-8", "surrogatepass") for one in elements]
        with self._held() as journal:
            left = self._left(journal)
            if self._tail_encoding is None:
                self._refresh(journal)
                self._replace([*self._elements, *new])
            else:
                self._append(journal, left, encoded, new)

    def clear(self) -> None:
        """Make it an empty array."""
        with self._held() as journal:
            self._replace([])
            journal.forget()

    # Under the lock

    @contextmanager
    def _held(self) -> Generator[Journal]:
        with locked(self._journal) as descriptor:
            journal = Journal(descriptor)
            self._heal(journal)
            yield journal

    def _heal(self, journal: Journal) -> None:
        """Finish what a killed process began, unless the file has been changed since by somebody else."""
        append = journal.unfinished()
        if append is None:
            return
        if self._path.exists():
            with _opened(self._path, os.O_RDWR) as file:
                found = os.fstat(file)
                now = _read(file, append.offset, found.st_size)
                if append.is_due(now, changed_since=found.st_mtime_ns > journal.written):
                    _put(file, append.offset, append.after)
        journal.finish()

    def _left(self, journal: Journal) -> Left:
        """What the file is now, known or found out by reading all of it."""
        if not self._path.exists():
            self._replace([])
        left = journal.left()
        if left is None or left != _state(self._path, left):
            self._read_all(journal, None)
            left = self._seen
        assert left is not None
        return left

    def _append(self, journal: Journal, left: Left, encoded: Sequence[bytes], new: Sequence[bytes]) -> None:
        with _opened(self._path, os.O_RDWR) as file:
            end, tail = _end_of_array(file, left.size)
            started = bool(tail.strip(_SPACE))
            opening = b", " if left.count else b"" if started else b"["
            spoken = opening + b", ".join(encoded)
            append = Append(end, tail, spoken + (tail if started else b"]"))
            if not self._replaced(file, append):
                journal.begin(append, rights=os.fstat(file).st_mode)
                _overwrite(file, append, journal)
        grown = _state(self._path, left, count=left.count + len(encoded))
        journal.leave(grown)
        journal.finish()
        if self._seen == left:
            self._seen, self._end = grown, end + len(spoken)
            self._elements += new

    def _replaced(self, file: int, append: Append) -> bool:
        """Append to a copy and put that in the file's place, where this is cheap and the other way is not quite safe.

        A kill may tear a write between two pages of memory; who heals it is only the next of us. So an append that crosses
        into another page replaces the file, as long as that is small: the cost has a limit, and so has the risk.
        """
        found = os.fstat(file)
        crosses = append.offset // _PAGE != (append.offset + len(append.after) - 1) // _PAGE
        # A file with another name, or of another owner, must stay the file it is.
        ours = found.st_nlink == 1 and (os.name != "posix" or found.st_uid == os.geteuid())
        if not crosses or not ours or found.st_size > _SMALL:
            return False
        try:
            replace_file(self._path, _read(file, 0, append.offset) + append.after)
        except OSError as error:
            # It is mounted by itself, or open in a program on Windows, or its folder is write-protected.
            if error.errno not in (errno.EBUSY, *_WRITE_PROTECTED):
                raise
            return False
        return True

    def _refresh(self, journal: Journal | None) -> None:
        """Read what has come since the last time; everything, when anything else may have changed."""
        if not self._path.exists():
            self._elements, self._end, self._seen = [], 0, None
            return
        left = journal.left() if journal else self._seen
        if left is None or left != _state(self._path, left):
            self._read_all(journal, None)
        elif self._seen is None or self._seen.generation != left.generation:
            self._read_all(journal, left)
        elif self._seen != left:
            self._read_on(left)

    def _read_on(self, left: Left) -> None:
        with _opened(self._path, os.O_RDONLY) as file:
            data = _read(file, self._end, left.size)
        rest = data.lstrip(_SPACE).removeprefix(b",") if self._elements else data.strip(_SPACE).removeprefix(b"[")
        new = self._elements_of(b"[" + rest)
        self._elements = [*self._elements, *new]
        self._seen, self._end = left, left.size - len(data) + len(data.rstrip(_SPACE)[:-1].rstrip(_SPACE))

    def _read_all(self, journal: Journal | None, left: Left | None) -> None:
        before = left or _state(self._path, Left(generation=new_version()))
        data = self._path.read_bytes()
        self._elements = self._elements_of(data)
        self._end = len(data.rstrip(_SPACE).removesuffix(b"]").rstrip(_SPACE))
        self._seen = msgspec.structs.replace(before, count=len(self._elements))
        if journal and left is None:
            journal.leave(self._seen)

    def _elements_of(self, data: bytes) -> list[bytes]:
        try:
            # Some programs write a byte order mark where the encoding that was named has none.
            return _elements(data.decode(self._encoding).removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{os.fspath(self._path)!r} is no chat history, a JSON array of messages: {error}; it is left as it is"
            ) from error

    def _encoded(self, element: str) -> bytes:
        try:
            return element.encode(self._tail_encoding or self._encoding)
        except UnicodeEncodeError as error:
            raise InvalidInput(f"a message cannot be written in {self._encoding!r}: {error}") from error

    def _replace(self, elements: Sequence[bytes]) -> None:
        """Put another array in the file's place at once: who reads finds the old or the new."""
        text = f"[{', '.join(one.decode('utf-8', 'surrogatepass') for one in elements)}]"
        replace_file(self._path, text.encode(self._encoding))
        self._seen = None


def _tail_encoding(encoding: str) -> str | None:
    """The encoding in which a piece may be put behind others; None for one where only the whole can be written."""
    name = codecs.lookup(encoding).name
    if name == "utf-8-sig":
        return "utf-8"
    stateful = name.startswith(("iso2022", "hz", "utf-7"))
    return None if stateful or "[]".encode(name) != b"[]" else encoding


def _elements(text: str) -> list[bytes]:
    """The elements of an array of objects. Raises ``ValueError`` when it is not one."""
    if not text.strip():
        # A file that was made and not yet written to.
        return []
    try:
        found = [bytes(one) for one in _split(text)]
    except msgspec.DecodeError:
        # The standard library reads more than the standard allows, and writes it too: NaN, lone surrogates.
        items = json.loads(text)
        if not isinstance(items, list):
            raise ValueError(f"it holds {type(items).__name__}") from None
        found = [json.dumps(one).encode() for one in items]  # pyright: ignore[reportUnknownVariableType]
    if not all(one.startswith(b"{") for one in found):
        raise ValueError("an element is no object")
    return found


def _end_of_array(file: int, size: int) -> tuple[int, bytes]:
    """Where the last element ends, and what follows it there."""
    block = _BLOCK
    while True:
        start = max(0, size - block)
        tail = _read(file, start, size)
        kept = tail.rstrip(_SPACE).removesuffix(b"]").rstrip(_SPACE)
        if kept or start == 0:
            return start + len(kept), tail[len(kept) :]
        block *= 2


def _state(path: Path, known: Left, *, count: int | None = None) -> Left:
    """What the file is now, with the generation and the count that are known of it."""
    found = os.stat(path)
    return Left(
        generation=known.generation,
        count=known.count if count is None else count,
        inode=found.st_ino,
        size=found.st_size,
        modified=found.st_mtime_ns,
    )


@contextmanager
def _opened(path: Path, flags: int) -> Generator[int]:
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read(file: int, start: int, stop: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    pieces: list[bytes] = []
    while start < stop and (piece := os.read(file, stop - start)):
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)


def _overwrite(file: int, append: Append, journal: Journal) -> None:
    try:
        _write(file, append.offset, append.after)
        os.fsync(file)
    except OSError:
        # A full disk: what did go in comes out again, and nobody is to finish it later.
        _put(file, append.offset, append.before)
        journal.finish()
        raise


def _put(file: int, start: int, data: bytes) -> None:
    """Make the file end with ``data`` from ``start`` on."""
    _write(file, start, data)
    os.ftruncate(file, start + len(data))
    os.fsync(file)


def _write(file: int, start: int, data: bytes) -> None:
    os.lseek(file, start, os.SEEK_SET)
    written = 0
    while written < len(data):
        # One call writes it all; it stops short only where the disk is full, and the next one says so.
        written += os.write(file, data[written:] if written else data)


__all__ = ["ArrayFile"]
