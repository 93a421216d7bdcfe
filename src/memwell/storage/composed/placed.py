"""Placement: conversations and values of a composed store in Redis, its transactions and its spaces."""

from __future__ import annotations

import contextvars
import hashlib
import heapq
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import groupby, islice
from types import TracebackType
from typing import Any, TypeVar, cast

from memwell.records import MAX_SEGMENTS, Page, Space, Thread, paged
from memwell.storage.arguments import REMEMBERED, is_memwells
from memwell.storage.protocols import Backend, ThreadInfo

T = TypeVar("T")

_PAGE = 500


# Transactions of a composed store: those of its home, with work to do when they end.

current: contextvars.ContextVar[Transaction | None] = contextvars.ContextVar("memwell_composed", default=None)
"""The innermost transaction of the calling context."""


class Transaction:
    """A transaction of the home store. Inside another it is a savepoint."""

    def __init__(self, home: Backend) -> None:
        self.home = home
        self.open = False
        self.outer: Transaction | None = None
        self._around: Transaction | None = None
        self._inner: AbstractContextManager[None] = home.transaction()
        self.after_commit: list[Callable[[], object]] = []
        """Run after the commit."""

    def __enter__(self) -> None:
        self.outer = current.get()
        self._around = transaction_on(self.home)
        self._inner.__enter__()
        if self._around is None:
            self.open = True
            current.set(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._around is None:
            self.open = False
            current.set(self.outer)
        self._inner.__exit__(kind, error, trace)
        if error is None:
            for work in self.after_commit:
                work()


def transaction_on(home: Backend) -> Transaction | None:
    """The open transaction on this home that the calling context is inside of."""
    transaction = current.get()
    while transaction is not None and not (transaction.home is home and transaction.open):
        transaction = transaction.outer
    return transaction


def afterwards(home: Backend, work: Callable[[], object]) -> None:
    """Run ``work`` when the current transaction on this home is committed; at once where there is none."""
    transaction = transaction_on(home)
    if transaction is None:
        work()
    else:
        transaction.after_commit.append(work)


# Internal spaces


def own_space(space: Space, name: str) -> Space:
    """The space for internal data about a space: under it, so that a store that locks by owner locks both."""
    if len(space) + 2 <= MAX_SEGMENTS:
        return Space(*space, "memwell", name)
    return Space(*space[: MAX_SEGMENTS - 3], "memwell", name, hashlib.sha256(space.encoded().encode()).hexdigest())


def is_own(space: Space) -> bool:
    """Whether a space holds internal data of the composed store. Those are not listed."""
    if space[:1] == ("memwell",) and space[1:2] in (("index",), ("parts",)):
        return True
    return any(space[depth : depth + 2] == ("memwell", "index-gone") for depth in range(1, len(space) - 1))


# Conversations and values


def placed(part: type[T], home: T, other: T) -> T:
    """A log or values that sends calls about memwell's internal spaces to ``home`` and all others to ``other``."""

    def routed(name: str) -> Callable[..., Any]:
        def call(_: object, *args: Any, **options: Any) -> Any:
            # The first argument: a space, a thread, or the listing of a thread.
            about = args[0] if args else options.get("thread", options.get("space", options.get("info")))
            return getattr(home if _is_memwells(about) else other, name)(*args, **options)

        return call

    methods = [name for name, one in vars(part).items() if inspect.isfunction(one) and name[0] != "_"]
    blocking = [name for name in methods if not inspect.iscoroutinefunction(getattr(part, name))]
    return cast(T, type(f"Placed{part.__name__}", (part,), {name: routed(name) for name in blocking})())


def _is_memwells(about: object) -> bool:
    thread = about.thread if isinstance(about, ThreadInfo) else about
    space = thread.space if isinstance(thread, Thread) else thread
    # The other store refuses what names no space.
    return isinstance(space, Space) and is_memwells(space)


# The spaces of several stores in one order, without the internal spaces of the composed store.


_SURE = 196
"""Every store orders paths by at least this many bytes."""

_PART_OF = REMEMBERED.encoded()
"""The space in which a part keeps the id of its home."""


def spaces_of(home: Backend, others: Sequence[Backend], limit: int, cursor: str | None) -> Page[Space]:
    """One page of all spaces. A cursor is a position in the order of encoded paths, the same for every store."""
    own = (path for path in _paths(home, cursor) if not is_own(Space.decode(path)))
    placed = ((path for path in _paths(one, cursor) if path != _PART_OF) for one in others)
    found = [path for path, _ in islice(groupby(heapq.merge(own, *placed)), limit + 1)]
    return Page([Space.decode(path) for path in found[:limit]], found[limit - 1] if len(found) > limit else None)


def _paths(store: Backend, after: str | None) -> Iterator[str]:
    """The encoded paths behind a cursor, in order.

    A store may order long paths by their beginnings alone. Those that begin alike are few, and sorted here.
    """
    start = after if after is None or len(_beginning(after)) < _SURE else _beginning(after).decode(errors="ignore")

    def read(cursor: str | None) -> Page[Space]:
        return store.spaces(limit=_PAGE, cursor=start if cursor is None else cursor)

    for _, alike in groupby((space.encoded() for space in paged(read)), key=_beginning):
        for path in sorted(alike):
            if after is None or path > after:
                yield path


def _beginning(path: str) -> bytes:
    return path.encode()[:_SURE]
