"""Transactions over several stores: the home store decides, and those that joined follow its verdict.

The verdict on a joined transaction is an entry in the home store under its id, committed with everything else. Who finds
such a transaction left behind and no verdict writes one himself, *undone*, where the other can no longer write *committed*:
so a slow program and an impatient one never decide differently. A verdict stays until whoever follows it has heard it,
however long that takes.
"""

from __future__ import annotations

import contextvars
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from types import TracebackType
from typing import cast

from memwell.errors import BackendError, BackendUnavailable, Conflict
from memwell.records import Space, paged
from memwell.storage.domains import domain
from memwell.storage.joining import Joined, Joining
from memwell.storage.protocols import Backend, Entry, KeyValue

_COMMITS = Space("memwell", "commits")
_KEPT_S = 86_400.0
_UNDONE = "undone"
_SHELVES = "0123456789abcdef"
_REMOVED_TOGETHER = 2
"""Every new verdict takes so many old ones away, so that they go faster than they come."""

_current: contextvars.ContextVar[Transaction | None] = contextvars.ContextVar("memwell_composed", default=None)
current_transaction = _current
"""Carried into async callers by ``AsyncContext``."""


class Verdicts:
    """What became of the transactions that follow the home store's."""

    def __init__(self, kv: KeyValue, inside: Callable[[], bool], *, one_writer: bool) -> None:
        self._kv = kv
        self._inside = inside
        self._one_writer = one_writer
        self._heard: defaultdict[Space, deque[str]] = defaultdict(deque)

    def note(self, id_: str) -> None:
        """Committed, if the home's transaction is. Raises ``Conflict`` when somebody has decided otherwise."""
        shelf = _shelf(id_)
        self._kv.put(shelf, id_, {"committed": time.time()}, expect=0)
        # Of this shelf alone: who locks several in an order of his own may meet another who does.
        for _ in range(min(_REMOVED_TOGETHER, len(self._heard[shelf]))):
            self._kv.delete(shelf, self._heard[shelf].popleft())

    def heard(self, id_: str) -> None:
        """Whoever follows has heard the verdict, and nobody will ask for it again."""
        self._heard[_shelf(id_)].append(id_)

    def forget_heard(self) -> None:
        """Remove what was heard. What cannot be removed now stays until ``sweep``."""
        with suppress(BackendError):
            for shelf, heard in self._heard.items():
                while heard:
                    self._kv.delete(shelf, heard.popleft())

    def sweep(self) -> None:
        """Remove the verdicts that dead programs left. To be called when nothing is left behind that could ask for one."""
        before = time.time() - _KEPT_S
        for shelf in (_COMMITS / name for name in _SHELVES):
            for entry in list(paged(lambda cursor, shelf=shelf: self._kv.scan(shelf, cursor=cursor))):
                if (at := _committed_at(entry)) is not None and at < before:
                    self._kv.delete(shelf, entry.key)

    def __call__(self, id_: str) -> bool:
        """Whether it was committed; if that is still open, it is from now on not."""
        try:
            if self._one_writer and self._inside():
                # Nobody else can be about to commit, and to write beside our own transaction would wait for ourselves.
                return self._known(id_) is True
            # Outside the transaction we may be in: a decision must not be undone with it.
            return contextvars.Context().run(self._decided, id_)
        except BackendUnavailable:
            raise
        except BackendError as error:
            raise BackendUnavailable(f"the home store cannot say what became of a transaction: {error}") from error

    def _decided(self, id_: str) -> bool:
        while (known := self._known(id_)) is None:
            with suppress(Conflict):
                self._kv.put(_shelf(id_), id_, _UNDONE, ttl=_KEPT_S, expect=0)
        return known

    def _known(self, id_: str) -> bool | None:
        entry = self._kv.get(_shelf(id_), id_)
        return None if entry is None else _committed_at(entry) is not None


def _committed_at(entry: Entry) -> float | None:
    """When it was noted that a transaction is committed; None for one that is not."""
    return None if entry.value == _UNDONE else cast("dict[str, float]", entry.value)["committed"]


def _shelf(id_: str) -> Space:
    # Writers of one space may wait for each other, so the notes of all transactions are not in one.
    return _COMMITS / id_[-1]


class Transaction:
    """One transaction on the home store and on all that joined; inside another of its store, a part that can fail alone."""

    def __init__(self, home: Backend, joining: Sequence[Backend], verdicts: Verdicts) -> None:
        self._home = home
        self._joining = joining
        self._verdicts = verdicts
        self.open = False
        self.outer: Transaction | None = None
        self._around: Transaction | None = None
        self._parts = ExitStack()
        self._home_part: AbstractContextManager[None] | None = None
        self._joined: list[Joined] = []
        self._afterwards: list[Callable[[], None]] = []
        self._undone: list[Callable[[], None]] = []
        self._undone_before = 0
        self._held: list[Space] = []
        self._held_before = 0

    @property
    def home(self) -> Backend:
        """The store that decides: what this is a transaction of."""
        return self._home

    def __enter__(self) -> None:
        self.outer = _current.get()
        self._around = transaction_on(self._home)
        if self._around is not None:
            self._undone_before = len(self._around._undone)
            self._held_before = len(self._around._held)
            with ExitStack() as parts:
                for one in (self._home, *self._joining):
                    parts.enter_context(one.transaction())
                self._parts = parts.pop_all()
            return
        self._home_part = self._home.transaction()
        self._home_part.__enter__()
        try:
            for one in self._joining:
                assert isinstance(one, Joining)
                joined = one.joined()
                joined.__enter__()
                self._joined.append(joined)
        except BaseException as error:
            self._undo(error)
            raise
        self.open = True
        _current.set(self)

    def hold(self, space: Space) -> None:
        """Let others who need this space, in whatever store, wait until the end."""
        owner = domain(space)
        if owner not in self._held:
            # Inside a transaction a store that locks by owner does so for a read, too.
            self._home.kv.get(owner, "turn")
            self._held.append(owner)

    def afterwards(self, work: Callable[[], None]) -> None:
        """Do this when everything is committed."""
        self._afterwards.append(work)

    def if_undone(self, work: Callable[[], None]) -> None:
        """Do this at the end if what was written until now is undone."""
        self._undone.append(work)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._around is not None:
            self._parts.__exit__(kind, error, trace)
            if error is not None:
                # Undone already, whatever becomes of the whole; and what was first held there was let go.
                del self._around._held[self._held_before :]
                self._around._afterwards += self._around._undone[self._undone_before :]
            return
        self.open = False
        _current.set(self.outer)
        if error is not None:
            self._undo(error)
            _do_all(self._undone)
            return
        try:
            self._commit()
        except BaseException:
            _do_all(self._undone)
            raise
        _do_all(self._afterwards)

    def _commit(self) -> None:
        home = self._home_part
        assert home is not None
        noted: set[str] = set()
        try:
            for joined in self._joined:
                if joined.prepare():
                    self._verdicts.note(joined.id)
                    noted.add(joined.id)
        except BaseException as error:
            self._undo(error)
            if isinstance(error, Conflict):
                raise BackendUnavailable(
                    "the transaction took too long and was given up by others; try again"
                ) from error
            raise
        try:
            home.__exit__(None, None, None)
        except BaseException as error:
            self._leave(self._joined, error)
            raise
        # The verdict is out: who cannot hear it now asks for it later.
        for id_ in self._leave(self._joined, None) & noted:
            self._verdicts.heard(id_)

    def _undo(self, error: BaseException) -> None:
        try:
            if self._home_part is not None:
                self._home_part.__exit__(type(error), error, error.__traceback__)
        finally:
            # Afterwards, because who had made himself ready asks the home for its verdict.
            self._leave(self._joined, error)

    @staticmethod
    def _leave(parts: Iterable[Joined], error: BaseException | None) -> set[str]:
        """End them all; the ids of those that could be told."""
        told: set[str] = set()
        for joined in reversed(list(parts)):
            with suppress(BackendError):
                joined.__exit__(None if error is None else type(error), error, None)
                told.add(joined.id)
        return told


def _do_all(works: Iterable[Callable[[], None]]) -> None:
    for work in works:
        work()


def transaction_on(home: Backend) -> Transaction | None:
    """The open transaction, decided by this store, that the calling context is inside of."""
    transaction = _current.get()
    while transaction is not None:
        if transaction.home is home and transaction.open:
            return transaction
        transaction = transaction.outer
    return None


__all__ = ["Transaction", "Verdicts", "current_transaction", "transaction_on"]
