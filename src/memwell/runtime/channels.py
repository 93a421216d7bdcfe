"""A bounded queue between writers and readers, with an end."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from typing import Any

from memwell._asyncify import block_on
from memwell.values import check_count

DONE = "[DONE]"
"""What a reader gets after the last item."""


class Channel:
    """A bounded queue of items for any number of writers and readers; each item goes to one reader.

    When it is full, the oldest item is dropped: no writer ever waits. Works across threads and event loops. It has the
    methods of ``asyncio.Queue`` that programs use.
    """

    def __init__(self, maxsize: int = 100) -> None:
        """Raises ``InvalidInput`` unless there is room for one item at least."""
        self.maxsize = check_count(maxsize, "the size of a channel", least=1)
        self._items: deque[Any] = deque(maxlen=maxsize)
        self._takers: deque[Future[Any]] = deque()
        self._completed = False
        # Never held while something is awaited.
        self._lock = threading.Lock()

    async def put(self, item: Any) -> bool:
        """Add an item. Returns False when the channel is completed already. ``put("[DONE]")`` completes it."""
        if _is_done(item):
            self.complete()
            return True
        with self._lock:
            if self._completed:
                return False
            if not self._handed_over(item):
                self._items.append(item)
        return True

    def complete(self) -> None:
        """Accept no more items. Readers get the remaining ones, then ``"[DONE]"``. Completing twice is fine."""
        with self._lock:
            self._completed = True
            while self._takers:
                _give(self._takers.popleft(), DONE)

    async def get(self) -> Any:
        """The next item, waiting for one; ``"[DONE]"`` once the channel is completed and empty, to every reader.

        When the wait is cancelled no item is lost.
        """
        with self._lock:
            if self._items:
                return self._items.popleft()
            if self._completed:
                return DONE
            taking: Future[Any] = Future()
            self._takers.append(taking)
        try:
            return await asyncio.wrap_future(taking)
        except asyncio.CancelledError:
            self._give_back(taking)
            raise

    async def __aiter__(self) -> AsyncIterator[Any]:
        while not _is_done(item := await self.get()):
            yield item

    def __iter__(self) -> Iterator[Any]:
        while not _is_done(item := block_on(self.get())):
            yield item

    def _give_back(self, taking: Future[Any]) -> None:
        with self._lock:
            if taking.cancel() or _is_done(taking.result()):
                return
            # The item arrived at the moment of the cancellation: the next reader gets it first.
            if not self._handed_over(taking.result()) and len(self._items) < self.maxsize:
                self._items.appendleft(taking.result())

    def _handed_over(self, item: Any) -> bool:
        """Give an item to a waiting reader, if there is one. Called with the lock held."""
        while self._takers:
            if _give(self._takers.popleft(), item):
                return True
        return False

    def qsize(self) -> int:
        """How many items wait to be read."""
        return len(self._items)

    def empty(self) -> bool:
        """Whether no item waits to be read."""
        return not self._items

    def task_done(self) -> None:
        """Do nothing: finished items are not counted."""

    @property
    def completed(self) -> bool:
        """Whether no more items are accepted."""
        return self._completed


def _give(future: Future[Any], value: Any) -> bool:
    """Set the result of a future, unless the wait for it was cancelled."""
    if not future.set_running_or_notify_cancel():
        return False
    future.set_result(value)
    return True


def _is_done(item: Any) -> bool:
    return isinstance(item, str) and item == DONE
