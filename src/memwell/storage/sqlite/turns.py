"""Whose turn it is to write: one at a time leads, the others queue up and may be served by who leads.

Nobody hands work to another thread: whoever comes while nobody leads, leads at once and pays nothing for the queue.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MAX_GROUP = 512
_GATHERING_S = 0.0003
"""How long a leader waits for a group as large as the last one. A commit takes about as long."""


class Pending(Generic[T]):
    """An operation that waits for its turn. Its gate opens when it is done, or when its owner is to lead.

    Without an operation nobody can do it for its owner, who waits to lead.
    """

    __slots__ = ("done", "error", "gate", "leads", "operation", "result")

    def __init__(self, operation: Callable[[Any], T] | None) -> None:
        self.operation = operation
        self.gate = threading.Lock()
        self.gate.acquire()
        self.done = False
        self.leads = False
        self.result: T | None = None
        self.error: BaseException | None = None


class Turns:
    """The queue of one store's writers in this process."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._queue: deque[Pending[Any]] = deque()
        self._busy = False
        self._crowd = 1

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)

    def take(self) -> bool:
        """Lead, if that can be had for nothing."""
        if self._crowd > 1 or not self._mutex.acquire(blocking=False):
            return False
        free = not self._busy
        self._busy = True
        self._mutex.release()
        return free

    def wait(self, mine: Pending[Any], timeout_s: float = -1) -> bool:
        """Whether the caller leads now; otherwise somebody has done its work, or the time is over."""
        with self._mutex:
            if not self._busy:
                self._busy = True
                return True
            self._queue.append(mine)
        try:
            in_time = mine.gate.acquire(timeout=timeout_s)
        except BaseException:
            self._give_up(mine)
            raise
        if not in_time:
            self._give_up(mine)
        return in_time and not mine.done

    def _give_up(self, mine: Pending[Any]) -> None:
        """Leave the queue after an interrupt; who was just told to lead tells the next one."""
        with self._mutex:
            if mine in self._queue:
                self._queue.remove(mine)
                return
        # The interrupt may have come just after the gate was passed, and then it would never open again.
        while not (mine.done or mine.leads):
            mine.gate.acquire(timeout=0.01)
        if not mine.done:
            self.hand_on()

    def lead(self, mine: Pending[Any], serve: Callable[[list[Pending[Any]]], None]) -> None:
        """Serve the caller and those who wait behind it, then hand on. Only for who leads."""
        group = [mine]
        try:
            if self._crowd > 1:
                self._gather()
            if self._queue:
                with self._mutex:
                    while self._queue and self._queue[0].operation is not None and len(group) < MAX_GROUP:
                        group.append(self._queue.popleft())
            self._crowd = len(group)
            serve(group)
        finally:
            for one in group:
                one.done = True
            self.hand_on()
            for one in group:
                if one is not mine:
                    one.gate.release()

    def _gather(self) -> None:
        """Give those who wrote together with us last time a moment to come back, so that they share this commit, too."""
        deadline = time.perf_counter() + _GATHERING_S
        while len(self._queue) < self._crowd - 1 and time.perf_counter() < deadline:
            time.sleep(0)

    def hand_on(self) -> None:
        """Stop leading: wake the next in the queue, if any."""
        with self._mutex:
            if self._queue:
                chosen = self._queue.popleft()
                chosen.leads = True
                chosen.gate.release()
            else:
                self._busy = False


__all__ = ["MAX_GROUP", "Pending", "Turns"]
