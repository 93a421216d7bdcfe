"""What the reference backend holds, and its transactions."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

import msgspec

from memwell.errors import BackendError
from memwell.records import Page, Record, Space, Thread
from memwell.storage.memory.undo import Undo
from memwell.storage.placement import Tail

T = TypeVar("T")

Stored: TypeAlias = tuple[str | bytes, int, float | None]
"""A value as it is kept: encoded, with its version and the moment when its time is over."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """A place of a thread, and the JSON of the message there: None, and no tokens, when it was removed."""

    id: str
    round: int
    tokens: int
    body: str | None


class ThreadState(msgspec.Struct):
    """A thread: its rows by index, and beside them what would otherwise have to be found by looking at them all."""

    created: float
    rows: dict[int, Row] = {}
    ids: dict[str, int] = {}
    """The index of each id."""
    order: list[int] = []
    """The indexes of all rows, rising."""
    live: list[int] = []
    """The indexes of the rows that hold a message, rising."""
    tokens: int = 0
    versions: dict[int, list[tuple[str | None, float]]] = {}
    metadata: str = "{}"
    first: int = 0
    tail: Tail = Tail(0, 0, -1)
    edits: int = 0


class State(msgspec.Struct):
    """All that the store holds. It is changed through the store's ``Undo`` alone."""

    threads: dict[Space, dict[str, ThreadState]] = {}
    entries: dict[Space, dict[str, Stored]] = {}
    records: dict[Space, dict[str, tuple[int, Record]]] = {}
    changed: dict[Space, list[int]] = {}
    """The numbers of a space's records in the order in which they were stored, changed or dropped."""
    blobs: dict[tuple[Space, str], bytes] = {}
    counter: int = 0

    def thread(self, thread: Thread) -> ThreadState | None:
        return self.threads.get(thread.space, {}).get(thread.id)


class Store:
    """The state, its lock, its clock and its transactions, shared by the four parts."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        self.undo = Undo()
        self.nesting = 0
        self.closed = False
        self._state = State()

    @contextlib.contextmanager
    def use(self) -> Generator[State]:
        """The state, for one call: what it changes is undone if it raises."""
        with self.lock:
            if self.closed:
                raise BackendError("the store is closed")
            with self.undo:
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
        with self.use():
            self.nesting += 1
            try:
                yield
            finally:
                self.nesting -= 1


def page_of(items: list[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    return Page(items[:limit], cursor(items[limit - 1]) if len(items) > limit else None)


__all__ = ["Row", "State", "Store", "Stored", "ThreadState", "page_of"]
