"""What the reference backend holds, and its transactions."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable, Generator
from typing import TypeVar

import msgspec

from memwell.errors import BackendError
from memwell.records import Page, Record, Space, Thread
from memwell.storage.placement import Placed, Tail

T = TypeVar("T")


class ThreadState(msgspec.Struct):
    created: float
    rows: dict[int, tuple[str, Placed | None]] = {}
    """By index: the id, and what is there now (None when removed)."""
    versions: dict[int, list[tuple[str | None, float]]] = {}
    metadata: str = "{}"
    first: int = 0
    tail: Tail = Tail(0, 0, -1)


class State(msgspec.Struct):
    """All that the store holds. Only its dicts are ever changed, so copying them is a snapshot."""

    threads: dict[Thread, ThreadState] = {}
    entries: dict[tuple[Space, str], tuple[str | bytes, int, float | None]] = {}
    records: dict[Space, dict[str, tuple[int, Record]]] = {}
    changed: dict[Space, list[int]] = {}
    """The numbers of a space's records in the order in which they were stored, changed or dropped."""
    blobs: dict[tuple[Space, str], bytes] = {}
    counter: int = 0


class Store:
    """The state, its lock, its clock and its transactions, shared by the four parts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        self.nesting = 0
        self.closed = False
        self._state = State()

    @contextlib.contextmanager
    def use(self) -> Generator[State]:
        with self.lock:
            if self.closed:
                raise BackendError("the store is closed")
            yield self._state

    def inside(self) -> bool:
        """Whether the calling thread is inside a transaction."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            return self.nesting > 0
        finally:
            self.lock.release()

    @contextlib.contextmanager
    def transaction(self) -> Generator[None]:
        with self.lock:
            if self.closed:
                raise BackendError("the store is closed")
            before = copy.deepcopy(self._state)
            self.nesting += 1
            try:
                yield
            except BaseException:
                self._state = before
                raise
            finally:
                self.nesting -= 1


def page_of(items: list[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    return Page(items[:limit], cursor(items[limit - 1]) if len(items) > limit else None)


__all__ = ["State", "Store", "ThreadState", "page_of"]
