"""A locked file, so that processes take turns. The lock is the system's: it ends with the process that held it."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    # A byte far behind anything that is written: Windows forbids reading what is locked.
    _FAR = 2**30

    def _lock(descriptor: int) -> None:
        while True:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            try:
                # It gives up after ten seconds; a long queue is no reason to fail.
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
        # Opened anew each time: a descriptor kept open would be shared with a forked child, and so would its lock.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        _lock(descriptor)
        if _is_still_there(path, descriptor):
            return descriptor
        # Somebody deleted the file while we waited: the others lock another one now.
        _unlock(descriptor)
        os.close(descriptor)


def _is_still_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


__all__ = ["locked"]
