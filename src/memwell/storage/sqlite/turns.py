"""Whose turn it is to write: one at a time leads, the others queue up and may be served by who leads.

Nobody hands work to another thread: whoever comes while nobody leads, leads at once and pays nothing for the queue.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
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
    """The queue of one store's writers in this process.

    Who holds the lock leads. Who finds it taken queues up first and tries once more: either that succeeds, or the one who
    leads will see it in the queue after letting go. So a lone writer pays for one lock, and nobody is forgotten.
    """

    def __init__(self) -> None:
        self._leading = threading.Lock()
        self._queue: deque[Pending[Any]] = deque()
        self._crowd = 1
        self._bell = threading.Lock()
        self._bell.acquire()
        self._awaited = MAX_GROUP

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)

    def take(self) -> bool:
        """Lead, if that can be had for nothing."""
        return self._crowd == 1 and self._leading.acquire(False)

    def wait(self, mine: Pending[Any], timeout_s: float = -1) -> bool:
        """Whether the caller leads now; otherwise somebody has done its work, or the time is over."""
        if self._leading.acquire(False):
            return True
        self._queue.append(mine)
        if len(self._queue) >= self._awaited:
            self._ring()
        try:
            if self._leading.acquire(False):
                self._choose_next()
            in_time = mine.gate.acquire(timeout=timeout_s)
        except BaseException:
            self._give_up(mine)
            raise
        if not in_time:
            self._give_up(mine)
        return in_time and not mine.done

    def _give_up(self, mine: Pending[Any]) -> None:
        """Leave the queue after an interrupt; who was just told to lead tells the next one."""
        with suppress(ValueError):
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
            self._collect(group)
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
        self._bell.acquire(False)  # a late ring of an earlier time
        self._awaited = self._crowd - 1
        if len(self._queue) < self._awaited:
            self._bell.acquire(timeout=_GATHERING_S)
        self._awaited = MAX_GROUP

    def _ring(self) -> None:
        """Tell the one who leads that all it waits for are here. Two may ring at once."""
        self._awaited = MAX_GROUP
        with suppress(RuntimeError):
            self._bell.release()

    def _collect(self, group: list[Pending[Any]]) -> None:
        """Take those who wait into the group, up to the first who must lead itself."""
        with suppress(IndexError):
            while len(group) < MAX_GROUP:
                one = self._queue.popleft()
                if one.operation is None:
                    self._queue.appendleft(one)
                    return
                group.append(one)

    def hand_on(self) -> None:
        """Stop leading: wake the next in the queue, if any."""
        self._leading.release()
        if self._queue and self._leading.acquire(False):
            self._choose_next()

    def _choose_next(self) -> None:
        """Let the first in the queue lead; when all have left meanwhile, let go. Only for who leads."""
        while True:
            try:
                chosen = self._queue.popleft()
            except IndexError:
                self._leading.release()
            else:
                chosen.leads = True
                chosen.gate.release()
                return
            # Who queued up between the two lines above found the lock taken and waits for us.
            if not self._queue or not self._leading.acquire(False):
                return


__all__ = ["MAX_GROUP", "Pending", "Turns"]
