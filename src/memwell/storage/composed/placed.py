"""Placement: conversations, values and blobs of a composed store in other stores, its transactions and its spaces."""

from __future__ import annotations

import contextvars
import hashlib
import heapq
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import groupby, islice
from types import TracebackType
from typing import Any, TypeAlias, TypeVar, cast

from memwell.errors import BackendError, BackendUnavailable, NotFound
from memwell.records import MAX_SEGMENTS, Page, Space, Thread, paged
from memwell.storage.arguments import REMEMBERED, is_memwells
from memwell.storage.parts import BaseBlobs, copy_thread
from memwell.storage.protocols import Backend, Blobs, Entry, ThreadInfo

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
        self.after_rollback: list[Callable[[], object]] = []
        """Run at the end if what was written until now is rolled back."""
        self._undone_before = 0

    def __enter__(self) -> None:
        self.outer = current.get()
        self._around = transaction_on(self.home)
        self._inner.__enter__()
        if self._around is not None:
            self._undone_before = len(self._around.after_rollback)
            return
        self.open = True
        current.set(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._around is not None:
            self._inner.__exit__(kind, error, trace)
            if error is not None:
                # Rolled back already, whatever becomes of the whole.
                self._around.after_commit += self._around.after_rollback[self._undone_before :]
            return
        self.open = False
        current.set(self.outer)
        committed = False
        try:
            self._inner.__exit__(kind, error, trace)
            committed = error is None
        finally:
            for work in self.after_commit if committed else self.after_rollback:
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


def if_undone(home: Backend, work: Callable[[], object]) -> None:
    """Run ``work`` at the end of the current transaction on this home if what was written until now is rolled back."""
    transaction = transaction_on(home)
    assert transaction is not None, "called inside a transaction"
    transaction.after_rollback.append(work)


# Internal spaces

_OWN = ("blob-references", "index-gone")


def own_space(space: Space, name: str) -> Space:
    """The space for internal data about a space: under it, so that a store that locks by owner locks both."""
    if len(space) + 2 <= MAX_SEGMENTS:
        return Space(*space, "memwell", name)
    return Space(*space[: MAX_SEGMENTS - 3], "memwell", name, hashlib.sha256(space.encoded().encode()).hexdigest())


def is_own(space: Space) -> bool:
    """Whether a space holds internal data of the composed store. Those are not listed."""
    if space[:1] == ("memwell",) and space[1:2] in (("index",), ("commits",), ("blob-spaces",), ("parts",)):
        return True
    return any(space[depth] == "memwell" and space[depth + 1] in _OWN for depth in range(1, len(space) - 1))


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


def take_home(home: Backend, part: Backend, kinds: Iterable[str]) -> None:
    """Move memwell's internal data from a part (its ``log``, its ``kv``) to the home. Earlier versions kept it there.

    What the home has already is not overwritten, so the next call finishes one that died half-way.
    """
    for space in list(paged(lambda cursor: part.spaces(limit=_PAGE, cursor=cursor))):
        if not is_memwells(space) or space == REMEMBERED:
            continue
        threads, entries = list[Thread](), list[Entry]()
        if "log" in kinds:
            threads = [one.thread for one in paged(lambda cursor, at=space: part.log.threads(at, cursor=cursor))]
        if "kv" in kinds:
            entries = list(paged(lambda cursor, at=space: part.kv.scan(at, cursor=cursor)))
        with home.transaction():
            home.kv.restore(space, [one for one in entries if home.kv.get(space, one.key) is None])
            for thread in threads:
                if not home.log.threads(space, ids=[thread.id]).items:
                    copy_thread(part.log, home.log, thread)
        for thread in threads:
            part.log.delete(thread)
        for entry in entries:
            part.kv.delete(space, entry.key)


# Blobs in another store, and the references to them in the home store. Bytes without a reference do not count.


REFERENCES = "blob-references"
_BLOBS_PAGE = 1000


class Bytes:
    """A place for blobs, opened lazily: a folder, or the blobs of a store, which it closes."""

    def __init__(self, opener: Callable[[], Blobs | Backend], place: str, kind: str = "store") -> None:
        self._opener = opener
        self.place = place
        """Where it is, without secrets."""
        self.kind = kind
        self._lock = threading.Lock()
        self._opened: Blobs | Backend | None = None

    def open(self) -> Blobs:
        """The blobs there. Raises ``BackendUnavailable``."""
        with self._lock:
            if self._opened is None:
                try:
                    self._opened = self._opener()
                except BackendError as error:
                    raise BackendUnavailable(f"the blobs at {self.place} are unavailable: {error}") from error
            return self._opened.blobs if isinstance(self._opened, Backend) else self._opened

    def close(self) -> None:
        """Close the store."""
        if isinstance(self._opened, Backend):
            self._opened.close()


class PlacedBlobs(BaseBlobs):
    """The blobs of another store that the home store has references to."""

    def __init__(self, home: Backend, placed: Bytes) -> None:
        self._home = home
        self._kv = home.kv
        self._part = placed.open
        self._place = placed.place
        self._kind = placed.kind
        self.close = placed.close

    def _put(self, space: Space, digest: str, blob: bytes) -> None:
        with Transaction(self._home):
            self._kv.put(own_space(space, REFERENCES), digest, {"bytes": len(blob), "space": list(space)})
            if_undone(self._home, lambda: self._remove(space, digest))
            self._part().put(space, blob)

    def _get(self, space: Space, digest: str) -> bytes | None:
        if not self._refers(space, digest):
            return None
        try:
            return self._part().get(space, digest)
        except NotFound as error:
            # Another caller may have deleted it meanwhile.
            if not self._refers(space, digest):
                return None
            raise BackendError(f"the bytes of blob {digest!r} are missing from {self._place}") from error

    def _refers(self, space: Space, digest: str) -> bool:
        return self._kv.get(own_space(space, REFERENCES), digest) is not None

    def _delete(self, space: Space, digest: str) -> bool:
        with Transaction(self._home):
            known = self._kv.delete(own_space(space, REFERENCES), digest)
            if known:
                afterwards(self._home, lambda: self._remove(space, digest))
        return known

    def _scan(self, space: Space, after: str, limit: int) -> list[str]:
        found = paged(lambda cursor: self._kv.scan(own_space(space, REFERENCES), cursor=cursor or after or None))
        return [entry.key for entry in islice(found, limit)]

    def _remove(self, space: Space, digest: str) -> bool:
        """Delete bytes without a reference; whether that was done. While their store is unavailable they stay, unseen."""
        with suppress(BackendError), Transaction(self._home):
            if not self._refers(space, digest):
                return self._part().delete(space, digest)
        return False

    def count(self, spaces: Iterator[Space]) -> int:
        """How many references there are in these spaces of the home store."""
        return sum(self._kv.count(space) for space in spaces if REFERENCES in space and is_own(space))

    # Checks

    def problems(self, spaces: Iterator[Space]) -> list[str]:
        """References without bytes, and bytes without a reference, in words."""
        return [complaint for space in spaces for complaint in self._compared(space)]

    def _compared(self, space: Space) -> Iterator[str]:
        referred, there = self._both(space)
        for digest in sorted(referred - there):
            yield f"the bytes of blob {digest} of the space {space!r} are missing from {self._place}"
        for digest in sorted(there - referred):
            yield f"nothing refers to the blob {digest} of the space {space!r} in {self._place}: run memwell reindex"

    def reconcile(self, spaces: Iterator[Space]) -> int:
        """Remove bytes without a reference; how many there were. Raises ``BackendUnavailable``."""
        removed = 0
        for space in spaces:
            referred, there = self._both(space)
            removed += sum(self._remove(space, digest) for digest in sorted(there - referred))
        return removed

    def _both(self, space: Space) -> tuple[set[str], set[str]]:
        part = self._part()
        there = set(paged(lambda cursor: part.scan(space, limit=_BLOBS_PAGE, cursor=cursor)))
        return set(paged(lambda cursor: self.scan(space, limit=_BLOBS_PAGE, cursor=cursor))), there

    def facts(self) -> dict[str, Any]:
        """The kind and place of the bytes, and whether it answers."""
        own = {"kind": self._kind, "place": self._place}
        try:
            self._part().scan(Space("memwell", "asked"), limit=1)
        except BackendError as error:
            return {**own, "answers": False, "why": str(error)}
        return {**own, "answers": True}


# The spaces of several stores in one order, without the internal spaces of the composed store.


_SURE = 196
"""Every store orders paths by at least this many bytes."""

_PART_OF = REMEMBERED.encoded()
"""The space in which a part keeps the id of its home."""

_Item: TypeAlias = tuple[str, str]
"""The sort key of a space, and its encoded path: the same, but for a few that are listed at their references."""


def spaces_of(home: Backend, others: Sequence[Backend], limit: int, cursor: str | None) -> Page[Space]:
    """One page of all spaces. A cursor is a position in the order of encoded paths, the same for every store."""
    sources = [_of_home(home, cursor), *(_of_other(one, cursor) for one in others)]
    found: list[_Item] = []
    for item in heapq.merge(*sources):
        if found and item == found[-1]:
            continue
        found.append(item)
        if len(found) > limit:
            break
    items = [Space.decode(path) for _, path in found[:limit]]
    return Page(items, found[limit - 1][0] if len(found) > limit else None)


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


def _of_other(store: Backend, after: str | None) -> Iterator[_Item]:
    return ((path, path) for path in _paths(store, after) if path != _PART_OF)


def _of_home(home: Backend, after: str | None) -> Iterator[_Item]:
    """The home's spaces; for references to blobs, the space that owns the blobs.

    A space sorts behind all spaces under it, so its references come before itself. References before the cursor belong to
    spaces above the cursor's.
    """
    owners = [] if after is None else list(_owners_above(home, Space.decode(after)))
    heapq.heapify(owners)
    for path in _paths(home, after):
        space = Space.decode(path)
        while owners and owners[0] < path:
            owner = heapq.heappop(owners)
            yield owner, owner
        if not is_own(space):
            yield path, path
        elif REFERENCES in space:
            owner = _owner(home, space)
            if owner is None:
                continue
            if own_space(owner, REFERENCES)[: len(owner)] == owner:
                heapq.heappush(owners, owner.encoded())
            elif not _is_listed(home, owner.encoded()):
                # It is too deep to have its references under it, and may sort before them.
                yield path, owner.encoded()
    while owners:
        owner = heapq.heappop(owners)
        yield owner, owner


def _owner(home: Backend, references: Space) -> Space | None:
    entries = home.kv.scan(references, limit=1).items
    return Space(*cast("dict[str, list[str]]", entries[0].value)["space"]) if entries else None


def _is_listed(home: Backend, path: str) -> bool:
    # Nothing but the path itself sorts between the two.
    before = path[:-1] + "\\"
    return next(_paths(home, before), None) == path


def _owners_above(home: Backend, space: Space) -> Iterator[str]:
    for depth in range(1, len(space)):
        above = Space(*space[:depth])
        if home.kv.scan(own_space(above, REFERENCES), limit=1).items:
            yield above.encoded()
