"""Transactions of a composed store: those of its home, with work to do when they end."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

from memwell.storage.protocols import Backend

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
