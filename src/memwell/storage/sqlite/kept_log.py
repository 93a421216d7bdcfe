"""A second name of the write-ahead log, by which pages that another program copied out of it are known to be right.

Pages get their checksums when memwell copies them from the log into the file. A program that only reads a store copies
them too, without checksums, when it is the last to close one whose log is not empty: memwell was killed, or closed while
the other one was reading. It deletes the log afterwards. A hard link, ``app.db-log``, keeps the log. The next opening
compares: a page without its checksum that is what the log has for it gets one. Any other page stays as it is, damaged.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

import apsw

from memwell.storage.sqlite.zeroing import is_too_large, zeroed

CHECKSUM = 8
"""The bytes at the end of each page that are for its checksum."""

_MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
"""The first bytes of a log, and the byte order of its own checksums."""
_HEAD, _FRAME = 32, 24
_LOCKS = (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_RESERVED, apsw.SQLITE_LOCK_EXCLUSIVE)


def checksum(data: bytes, start: tuple[int, int] = (0, 0), order: str = "<") -> tuple[int, int]:
    """SQLite's checksum, as its log and its checksum VFS have it."""
    first, second = start
    numbers = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, two in zip(numbers[::2], numbers[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return first, second


def page_checksum(content: bytes) -> bytes:
    """The last bytes of a page with this content."""
    return struct.pack("<II", *checksum(content))


def keep_log(path: str) -> None:
    """Give the log of a store that is open its second name, where the file system has hard links."""
    log, kept = Path(f"{path}-wal"), Path(f"{path}-log")
    with suppress(OSError):
        if kept.exists():
            if kept.samefile(log):
                return
            kept.unlink()
        os.link(log, kept)


def drop_log(path: str) -> None:
    """Remove the second name after the log itself was removed."""
    with suppress(OSError):
        if not os.path.exists(f"{path}-wal"):
            os.unlink(f"{path}-log")


def take_up_log(path: str) -> None:
    """Give checksums to the pages that another program copied from a kept log into the file, and remove that log.

    Nothing is done while the log has both names, nor while another connection to the store is open.
    """
    log, kept = Path(f"{path}-wal"), Path(f"{path}-log")
    # Whatever cannot be read or written here is reported when the store is opened.
    with suppress(OSError, apsw.Error):
        if not kept.exists() or (log.exists() and kept.samefile(log)):
            return
        size, pages = _committed(kept.read_bytes())
        if pages:
            _confirm(path, size, pages)
        kept.unlink()


def _committed(log: bytes) -> tuple[int, dict[int, bytes]]:
    """The size of a page, and the last committed state of each page in a log: those frames that fit its checksums."""
    pages: dict[int, bytes] = {}
    open_: dict[int, bytes] = {}
    order = _MAGIC.get(int.from_bytes(log[:4], "big"), "")
    size = int.from_bytes(log[8:12], "big")
    if not order or len(log) < _HEAD:
        return 0, pages
    salts, sums = log[16:24], checksum(log[:24], order=order)
    if struct.pack(">II", *sums) != log[24:_HEAD]:
        return 0, pages
    for place in range(_HEAD, len(log) - _FRAME - size + 1, _FRAME + size):
        head, page = log[place : place + _FRAME], log[place + _FRAME : place + _FRAME + size]
        sums = checksum(page, checksum(head[:8], sums, order), order)
        if head[8:16] != salts or struct.pack(">II", *sums) != head[16:]:
            break
        open_[int.from_bytes(head[:4], "big")] = page
        if any(head[4:8]):
            pages |= open_
            open_.clear()
    return size, pages


def _confirm(path: str, size: int, pages: dict[int, bytes]) -> None:
    """Write the pages without their checksum that are the same in the log. Raises ``BusyError`` when others are there."""
    # Through SQLite: closing a file of its own would release the locks of all connections of this process.
    flags = [apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_MAIN_DB, 0]
    file = apsw.VFSFile("unix", str(Path(path).absolute()), flags)
    try:
        for lock in _LOCKS:
            file.xLock(lock)
        as_is = is_too_large(file.xFileSize(), size)
        for number, logged in pages.items():
            place = (number - 1) * size
            page = file.xRead(size, place)
            if page_checksum(page[:-CHECKSUM]) == page[-CHECKSUM:]:
                continue
            content, expected = (one[:-CHECKSUM] if as_is else zeroed(one, place)[:-CHECKSUM] for one in (page, logged))
            if content == expected:
                file.xWrite(content + page_checksum(content), place)
        file.xSync(apsw.SQLITE_SYNC_FULL)
        file.xUnlock(apsw.SQLITE_LOCK_NONE)
    finally:
        file.xClose()
