"""The thread that keeps an engine in step. It begins with the first space that is due, and ends with the store."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable

from memwell.errors import MemwellError
from memwell.records import Space

_TAKEN_NAP_S = 1.0
_LAST_WAIT_S = 10.0


class Feeder:
    """Feeds the spaces that are due, and tries again what it could not.

    ``feed`` brings one space up to date and says whether it did; ``due`` lists all spaces that were left behind by those
    who had the store open before.
    """

    def __init__(self, feed: Callable[[Space], bool], left_behind: Callable[[], Iterable[Space]]) -> None:
        self._feed = feed
        self._left_behind = left_behind
        self._due: set[Space] = set()
        self._changed = threading.Condition()
        self._stopped = False
        self._idle = True
        self._thread: threading.Thread | None = None
        self._process = 0

    def due(self, spaces: Iterable[Space]) -> None:
        """Let these be fed soon."""
        with self._changed:
            self._due.update(spaces)
            if self._stopped or not self._due:
                return
            # A thread does not cross a fork.
            if self._thread is None or self._process != os.getpid():
                self._process = os.getpid()
                self._thread = threading.Thread(target=self._run, name="memwell-feeder", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is due; whether that came to be."""
        end = time.monotonic() + seconds
        with self._changed:
            while self._due or not self._idle:
                if self._stopped or not self._changed.wait(max(0.0, end - time.monotonic())):
                    return False
            return True

    def stop(self) -> None:
        """End the thread, after the piece of work that it is at."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        thread = self._thread
        if thread is not None and self._process == os.getpid() and thread is not threading.current_thread():
            thread.join(_LAST_WAIT_S)

    def _run(self) -> None:
        swept = False
        while (work := self._next()) is not None:
            failed = {space for space in work if not self._try(space)}
            if not swept and not failed:
                swept = self._sweep()
            with self._changed:
                self._due |= failed
                self._idle = True
                self._changed.notify_all()
                if failed and not self._stopped:
                    self._changed.wait(_TAKEN_NAP_S)

    def _next(self) -> list[Space] | None:
        with self._changed:
            while not self._due and not self._stopped:
                self._changed.wait()
            if self._stopped:
                return None
            work = list(self._due)
            self._due.clear()
            self._idle = False
            return work

    def _try(self, space: Space) -> bool:
        if self._stopped:
            return True
        try:
            return self._feed(space)
        except MemwellError:
            # The engine is away or the home store refuses: nothing is lost, the mark stays where it is.
            return False

    def _sweep(self) -> bool:
        try:
            for space in self._left_behind():
                if self._stopped:
                    break
                self._try(space)
        except MemwellError:
            return False
        return True


__all__ = ["Feeder"]
