"""Children that are forked, heard through a pipe, and may be killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LONGEST_LIFE_S = 60


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """Start a process that does ``work`` with the end of a pipe to tell by; returns its id and the end to hear by.

    It ends with 0, or with 1 when ``work`` raised.
    """
    hear, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(tell)
        return pid, hear
    os.close(hear)
    # Nobody kills a child whose parent was interrupted.
    signal.alarm(_LONGEST_LIFE_S)
    try:
        work(tell)
    except BaseException:  # noqa: BLE001 - a child must never go on as its parent, whatever happened
        os._exit(1)
    os._exit(0)


@contextmanager
def child(work: Callable[[int], None]) -> Iterator[tuple[int, int]]:
    """The same, waited for when the block ends; killed first when the block ends by an error."""
    pid, pipe = forked(work)
    try:
        yield pid, pipe
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.waitpid(pid, 0)
        os.close(pipe)


def rest_of(pipe: int) -> bytes:
    """What comes until every process that could write to it has ended."""
    pieces: list[bytes] = []
    while piece := os.read(pipe, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces)


__all__ = ["child", "forked", "rest_of"]
