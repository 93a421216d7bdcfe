"""A bounded queue between writers and readers, with back-pressure and an end."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from memwell._asyncify import block_on
from memwell.values import check_count

DONE = "[DONE]"
"""What a reader gets after the last item."""


@dataclass(eq=False)
class _Waiting:
    """An item that did not fit into a full channel, and the future that its writer awaits."""

    item: Any
    taken: Future[None] = field(default_factory=Future[None])


class Channel:
    """A bounded queue of items for any number of writers and readers; each item goes to one reader.

    While the channel has a reader, a writer waits when it is full, and no item is lost. Without readers, writers never
    wait: the channel keeps the latest items and drops the oldest. An iteration over the channel is a reader until it
    ends, and so is a task that has called ``get`` until the task ends. Works across threads and event loops. It has the
    methods of ``asyncio.Queue`` that programs use.
    """

    def __init__(self, maxsize: int = 100) -> None:
        """Raises ``InvalidInput`` unless there is room for one item at least."""
        self.maxsize = check_count(maxsize, "the size of a channel", least=1)
        self._items: deque[Any] = deque()
        self._writers: deque[_Waiting] = deque()
        self._takers: deque[Future[Any]] = deque()
        self._readers: set[object] = set()
        self._completed = False
        # Never held while something is awaited.
        self._lock = threading.Lock()

    async def put(self, item: Any) -> bool:
        """Add an item, waiting for room while there is a reader. Returns False when the channel is completed already.

        ``put("[DONE]")`` completes it. When the wait is cancelled the item is not added, unless room was made for it at the
        same moment. A task does not wait for itself as a reader.
        """
        if isinstance(item, str) and item == DONE:
            self.complete()
            return True
        with self._lock:
            if self._completed:
                return False
            if self._handed_over(item):
                return True
            if len(self._items) < self.maxsize or not self._readers.difference((asyncio.current_task(),)):
                self._keep(item)
                return True
            waiting = _Waiting(item)
            self._writers.append(waiting)
        await self._wait_for_room(waiting)
        return True

    def complete(self) -> None:
        """Accept no more items. Readers get the remaining ones, then ``"[DONE]"``. Completing twice is fine."""
        with self._lock:
            self._completed = True
            self._let_writers_in(all_of_them=True)
            while self._takers:
                _give(self._takers.popleft(), DONE)

    async def _wait_for_room(self, waiting: _Waiting) -> None:
        try:
            await asyncio.wrap_future(waiting.taken)
        except asyncio.CancelledError:
            with self._lock, contextlib.suppress(ValueError):
                self._writers.remove(waiting)
            raise

    async def get(self) -> Any:
        """The next item, waiting for one; ``"[DONE]"`` once the channel is completed and empty, to every reader.

        From now on writers wait for the calling task, until it ends. When the wait is cancelled no item is lost.
        """
        task = asyncio.current_task()
        if task is not None and task not in self._readers:
            self._arrive(task)
            task.add_done_callback(self._leave)
        return await self._next()

    async def __aiter__(self) -> AsyncIterator[Any]:
        with self._reading():
            while not _is_done(item := await self._next()):
                yield item

    def __iter__(self) -> Iterator[Any]:
        with self._reading():
            while not _is_done(item := block_on(self._next())):
                yield item

    async def _next(self) -> Any:
        with self._lock:
            if self._items:
                item = self._items.popleft()
                self._let_writers_in()
                return item
            if self._completed:
                return DONE
            taking: Future[Any] = Future()
            self._takers.append(taking)
        try:
            return await asyncio.wrap_future(taking)
        except asyncio.CancelledError:
            self._give_back(taking)
            raise

    def _give_back(self, taking: Future[Any]) -> None:
        with self._lock:
            if taking.cancel() or _is_done(taking.result()):
                return
            # The item arrived at the moment of the cancellation: the next reader gets it first.
            if not self._handed_over(taking.result()):
                self._items.appendleft(taking.result())

    @contextlib.contextmanager
    def _reading(self) -> Generator[None]:
        reader = object()
        self._arrive(reader)
        try:
            yield
        finally:
            self._leave(reader)

    def _arrive(self, reader: object) -> None:
        with self._lock:
            self._readers.add(reader)

    def _leave(self, reader: object) -> None:
        with self._lock:
            self._readers.discard(reader)
            if not self._readers:
                self._let_writers_in(all_of_them=True)

    # The next three are called with the lock held.

    def _handed_over(self, item: Any) -> bool:
        while self._takers:
            if _give(self._takers.popleft(), item):
                return True
        return False

    def _keep(self, item: Any) -> None:
        if len(self._items) >= self.maxsize and not self._completed:
            self._items.popleft()
        self._items.append(item)

    def _let_writers_in(self, *, all_of_them: bool = False) -> None:
        while self._writers and (all_of_them or len(self._items) < self.maxsize):
            waiting = self._writers.popleft()
            if _give(waiting.taken, None):
                self._keep(waiting.item)

    def qsize(self) -> int:
        """How many items wait to be read."""
        return len(self._items)

    def empty(self) -> bool:
        """Whether no item waits to be read."""
        return not self._items

    def full(self) -> bool:
        """Whether a writer would have to wait if there is a reader."""
        return len(self._items) >= self.maxsize

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
