"""The journal beside a file that grows at its end: what the file was when it was left, and the append under way."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from typing import TypeVar

import msgspec

T = TypeVar("T")

_HEADER = 256
_DIGEST = 32


class Left(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What the file was when one of us last left it. Within one ``generation`` it has only grown, and only by us."""

    generation: int
    count: int = 0
    inode: int = 0
    size: int = 0
    modified: int = 0


class Append(msgspec.Struct, frozen=True, array_like=True):
    """An append: at ``offset``, where the file ended with ``before``, it ends with ``after`` when done."""

    offset: int
    before: bytes
    after: bytes

    def is_due(self, now: bytes, *, changed_since: bool) -> bool:
        """Whether the append was not begun or is half done, judged by what the file holds at the offset ``now``.

        If the file was changed since the append was written down and holds neither of its two ends nor a mixture, somebody
        else has written there, and the append is void.
        """
        if now == self.after:
            return False
        if now == self.before:
            return not changed_since
        same = _shared(now, self.after)
        if same < len(self.before):
            return now == self.after[:same] + self.before[same:]
        # After a power cut the part that did not reach the disk may read as zeros.
        return not now[same:].strip(b"\0")


class Journal:
    """The journal behind an open, locked descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._file = descriptor
        self.written = os.fstat(descriptor).st_mtime_ns

    def left(self) -> Left | None:
        """What the file was when one of us last left it; None when nobody did."""
        os.lseek(self._file, 0, os.SEEK_SET)
        return _decoded(os.read(self._file, _HEADER).rstrip(b"\0 "), Left)

    def leave(self, left: Left) -> None:
        """Say what the file is now."""
        os.lseek(self._file, 0, os.SEEK_SET)
        os.write(self._file, msgspec.json.encode(left).ljust(_HEADER))

    def forget(self) -> None:
        """Say that nothing is known of the file."""
        os.ftruncate(self._file, 0)

    def unfinished(self) -> Append | None:
        """The append that was begun and not finished."""
        if os.fstat(self._file).st_size <= _HEADER:
            return None
        os.lseek(self._file, _HEADER, os.SEEK_SET)
        data = _all(self._file)
        written = data[_DIGEST:]
        if sha256(written).digest() == data[:_DIGEST]:
            return _decoded(written, Append)
        # Half a journal means that the file was not touched yet.
        self.finish()
        return None

    def begin(self, append: Append, *, rights: int | None = None) -> None:
        """Write down what is about to be appended, for nobody to read who may not read the file itself.

        On disk when it returns. Raises ``OSError`` when it cannot be written.
        """
        if rights is not None and os.name == "posix" and os.fstat(self._file).st_mode != rights:
            os.fchmod(self._file, stat.S_IMODE(rights))
        written = msgspec.json.encode(append)
        rest = memoryview(sha256(written).digest() + written)
        os.ftruncate(self._file, _HEADER)
        os.lseek(self._file, _HEADER, os.SEEK_SET)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        os.fsync(self._file)

    def finish(self) -> None:
        """Say that nothing is under way."""
        if os.fstat(self._file).st_size > _HEADER:
            os.ftruncate(self._file, _HEADER)


def _decoded(data: bytes, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        return None


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    differing = (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return next(differing, min(len(one), len(other)))


def _all(file: int) -> bytes:
    pieces: list[bytes] = []
    while piece := os.read(file, 1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


__all__ = ["Append", "Journal", "Left"]
