"""Whose job is next: spaces take turns, so that one with many or long jobs does not keep the others from theirs."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from typing import Generic, TypeVar

from memwell.errors import Busy
from memwell.records import Space

T = TypeVar("T")

MOST_WAITING = 64
"""So many jobs may wait for a thread; who wants to start one more is told to come again."""

MOST_WAITING_EACH = 16
"""So many of them may be of one space."""


class Turns(Generic[T]):
    """What waits, by its space, and how many of each space run. Whoever uses it holds a lock."""

    def __init__(self, threads: int) -> None:
        self._free = threads
        # The last thread is for another space: a long job of each does not stop the rest.
        self._most_running = max(1, threads - 1)
        self._waiting: dict[Space, deque[T]] = {}
        """The space that was served longest ago stands first."""
        self._running: Counter[Space] = Counter()

    def add(self, space: Space, one: T) -> None:
        """Let it wait for its turn."""
        self._waiting.setdefault(space, deque()).append(one)

    def take(self) -> T | None:
        """Who runs now, or None when there is no thread for anybody who waits. Its ``ended`` must follow."""
        space = self._next() if self._free else None
        if space is None:
            return None
        queue = self._waiting.pop(space)
        taken = queue.popleft()
        if queue:
            self._waiting[space] = queue
        self._running[space] += 1
        self._free -= 1
        return taken

    def _next(self) -> Space | None:
        fewest = min((self._running[space] for space in self._waiting), default=self._most_running)
        if fewest >= self._most_running:
            return None
        return next(space for space in self._waiting if self._running[space] == fewest)

    def drop(self, space: Space, one: T) -> bool:
        """Take it out of those that wait; whether it was there."""
        queue = self._waiting.get(space)
        if queue is None or one not in queue:
            return False
        queue.remove(one)
        if not queue:
            del self._waiting[space]
        return True

    def drop_all(self) -> list[T]:
        """Take all out that wait."""
        dropped = [one for queue in self._waiting.values() for one in queue]
        self._waiting.clear()
        return dropped

    def ended(self, space: Space) -> None:
        """One that was taken needs its thread no more."""
        self._free += 1
        self._running[space] -= 1
        if not self._running[space]:
            del self._running[space]

    @property
    def running(self) -> int:
        """How many were taken and have not ended."""
        return self._running.total()


def check_room(waiting: Collection[Space], space: Space) -> None:
    """Raises ``Busy`` when no more may wait, in all or of this space; ``waiting`` has the space of each that does."""
    if len(waiting) >= MOST_WAITING:
        raise Busy(f"{MOST_WAITING} jobs are waiting already; try again in a while", retry_after=5.0)
    if sum(one == space for one in waiting) >= MOST_WAITING_EACH:
        raise Busy(f"{MOST_WAITING_EACH} of your jobs are waiting already; try again in a while", retry_after=5.0)


__all__ = ["MOST_WAITING", "MOST_WAITING_EACH", "Turns", "check_room"]
