"""Reading, writing and transactions on one PostgreSQL store.

The engine above reads and then writes inside a transaction and relies on others waiting. So a transaction holds the domain
of every space it touches alone, and a single write holds it together with other single writes; those lock the rows they
share. Readers hold nothing.

A connection may be lost while an answer is on its way. A read is asked again. A write is known by its *receipt*, a row that
it commits together with the rest: whoever stores the receipt first decides. If we can store it ourselves, the write was not
done and never will be; if it is there, it was.
"""

from __future__ import annotations

import contextvars
import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TypeVar
from uuid import UUID, uuid4

import psycopg

from memwell.errors import BackendError, BackendUnavailable
from memwell.records import Space
from memwell.storage.postgres.failures import is_clash, is_lost, translated
from memwell.storage.postgres.names import space_key
from memwell.storage.postgres.pool import Link, Pool
from memwell.storage.postgres.session import Mark, Session, Statement, Walls

T = TypeVar("T")
Operation = Callable[[Session], T]

_CLASHES = 5
"""So often a single write is run again that the server undid because it clashed with another."""
_SWEEP_EVERY = 512
_LONG_WORK_S = 86_400.0
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

_current: contextvars.ContextVar[Transaction | None] = contextvars.ContextVar("memwell_postgres", default=None)


class Connections:
    """All that one process does on one store goes through here. Safe to use from any thread, and after a fork."""

    def __init__(self, pool: Pool, walls: Walls, place: str) -> None:
        self.pool = pool
        self.walls = walls
        self.place = place
        self._writes = itertools.count(1)

    # Reading

    def read(self, space: Space | None, operation: Operation[T]) -> T:
        """Run an operation that only reads; inside a transaction it sees what the transaction wrote."""

        def look(session: Session) -> T:
            session.look(space)
            return operation(session)

        return self._read(space, operation, look)

    def snapshot(self, space: Space | None, operation: Operation[T]) -> T:
        """Like ``read``, with every query of the operation seeing the same state of the store."""

        def held(session: Session) -> T:
            session.begin(_SNAPSHOT)
            session.enter(space)
            result = operation(session)
            if session.begun:
                session.roll_back()
            return result

        return self._read(space, operation, held)

    def _read(self, space: Space | None, inside: Operation[T], outside: Operation[T]) -> T:
        self.pool.ready()
        transaction = self.transaction_here()
        if transaction is not None:
            return transaction.run(space, inside, writing=False)
        for again in (True, False):
            link = self.pool.take()
            try:
                return outside(Session(link, self.walls))
            except psycopg.Error as error:
                if not (again and is_lost(error, link)):
                    raise translated(error, self.place, reading=True) from error
                self.pool.forget_idle()
            finally:
                self._return(link)
        raise AssertionError("the second try returns or raises")

    def apart(self, operation: Operation[T]) -> T:
        """Run long work of the store's own on a connection beside the pool, each statement by itself, without a time limit.

        There is no wall around it and nothing is retried.
        """
        link = self.pool.spare()
        try:
            link.execute("SET statement_timeout = 0")
            link.patience_s = _LONG_WORK_S
            return operation(Session(link, self.walls))
        except psycopg.Error as error:
            raise translated(error, self.place) from error
        finally:
            link.close()

    # Writing

    def write(self, space: Space | None, operation: Operation[T]) -> T:
        """Run an operation in a transaction and return when it is committed. An operation that raises changes nothing.

        An operation may be run again after a lost connection, so it must not change anything but the store.
        """
        self.pool.ready()
        transaction = self.transaction_here()
        if transaction is not None:
            return transaction.run(space, operation, writing=True)
        result = self.again(lambda link: self._write(link, space, operation))
        if next(self._writes) % _SWEEP_EVERY == 0:
            self._sweep_receipts()
        return result

    def again(self, attempt: Callable[[Link], T]) -> T:
        """Make an attempt on a connection; once more after a lost one, and some times more after clashes.

        The attempt must be such that being made twice has one effect.
        """
        lost, clashes = 0, 0
        while True:
            link = self.pool.take()
            try:
                return attempt(link)
            except psycopg.Error as error:
                lost += is_lost(error, link)
                clashes += is_clash(error)
                retried = lost == 1 if is_lost(error, link) else is_clash(error) and clashes < _CLASHES
                if not retried:
                    raise translated(error, self.place) from error
                if lost:
                    self.pool.forget_idle()
            finally:
                self._return(link)

    def _write(self, link: Link, space: Space | None, operation: Operation[T]) -> T:
        session = Session(link, self.walls)
        session.begin()
        session.enter(space, alone=False, writing=True)
        try:
            result = operation(session)
        except BaseException:
            self._roll_back(session)
            raise
        if session.begun:
            self.commit(session, space)
        return result

    def commit(self, session: Session, space: Space | None) -> None:
        """Commit with a receipt. Raises ``psycopg.Error`` when nothing was, and never will be, committed."""
        receipt, owner = uuid4(), "" if space is None else space_key(space)
        try:
            session.commit(_receipt(owner, receipt, kept=True))
        except psycopg.Error as error:
            if not is_lost(error, session.link):
                self._roll_back(session)
                raise
            self.pool.forget_idle()
            if not self._was_kept(owner, receipt):
                raise

    def _was_kept(self, owner: str, receipt: UUID) -> bool:
        """Whether a transaction whose end we did not hear of was committed; if not, see to it that it never is."""

        def decide(session: Session) -> bool:
            session.look(None)
            session.execute(*_receipt(owner, receipt, kept=False))
            sql = "SELECT kept FROM memwell_receipt WHERE space = %s AND id = %s"
            return session.one(sql, (owner, receipt)) == (True,)

        try:
            return self._asked(decide)
        except BackendError as error:
            raise BackendUnavailable(
                f"the connection to the store {self.place} was lost while it committed, and it cannot be asked; "
                "what was written may or may not be stored"
            ) from error

    def _asked(self, decide: Operation[bool]) -> bool:
        """Ask on a connection beside the pool: its places may all be taken by those who ask."""
        for again in (True, False):
            link = self.pool.spare()
            try:
                return decide(Session(link, self.walls))
            except psycopg.Error as error:
                if not (again and is_lost(error, link)):
                    raise translated(error, self.place) from error
            finally:
                link.close()
        raise AssertionError("the second try returns or raises")

    def _sweep_receipts(self) -> None:
        def sweep(session: Session) -> None:
            session.execute("DELETE FROM memwell_receipt WHERE at < now() - interval '1 hour'")

        # Somebody's write is done and well; that sweeping failed is not his concern.
        with suppress(BackendError):
            self.read(None, sweep)

    @staticmethod
    def _roll_back(session: Session) -> None:
        """Undo a transaction; where that fails, the connection is closed, which undoes it too."""
        try:
            if not session.link.closed and session.begun:
                session.roll_back()
        except psycopg.Error:
            session.link.close()

    def _return(self, link: Link) -> None:
        self.pool.give(link)

    # Transactions

    def transaction(self) -> Transaction:
        """Everything written inside is committed together."""
        return Transaction(self)

    def transaction_here(self) -> Transaction | None:
        """The open transaction on this store that the calling context is inside of."""
        transaction = _current.get()
        while transaction is not None:
            if transaction.connections is self and transaction.open:
                return transaction
            transaction = transaction.outer
        return None

    def close(self) -> None:
        """Close every idle connection; one in use is closed when it comes back."""
        self.pool.close()


def _receipt(owner: str, receipt: UUID, *, kept: bool) -> Statement:
    # What is stored by the transaction itself must not be there yet; what decides afterwards may find it there.
    rest = "" if kept else " ON CONFLICT DO NOTHING"
    return f"INSERT INTO memwell_receipt (space, id, kept) VALUES (%s, %s, %s){rest}", (owner, receipt, kept)


class Transaction:
    """One explicit transaction; a context manager. Inside another on the same store it is a part that can fail alone."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.open = False
        self.outer: Transaction | None = None
        self._around: Transaction | None = None
        self._mark: Mark | None = None
        self._session: Session | None = None
        self._owner: Space | None = None
        self._wrote = False
        self._lock = threading.RLock()
        self._failed: BaseException | None = None

    def __enter__(self) -> None:
        self.outer = _current.get()
        self._around = self.connections.transaction_here()
        if self._around is not None:
            self._mark = self._around.mark()
            return
        self.connections.pool.ready()
        self.open = True
        _current.set(self)

    def _usable(self) -> Session:
        if not self.open:
            raise BackendError("the transaction has ended")
        if self._failed is not None:
            raise BackendUnavailable(
                "the transaction was given up after an error inside it; nothing was stored"
            ) from self._failed
        if self._session is None:
            # Nothing is asked of the server, and no connection is held, before something is read or written inside.
            self._session = Session(self.connections.pool.take(), self.connections.walls)
            self._session.begin()
        return self._session

    def mark(self) -> Mark:
        """A point to which a part can be undone."""
        with self._lock:
            return self._usable().save()

    def leave(self, mark: Mark, error: BaseException | None) -> None:
        """End the part that began at a mark: keep what it did, or undo it."""
        with self._lock:
            if self._failed is not None and error is not None:
                return
            session = self._usable()
            try:
                if error is None:
                    session.keep(mark)
                else:
                    session.undo(mark)
            except psycopg.Error as failure:
                self._give_up(session, failure)

    def run(self, space: Space | None, operation: Operation[T], *, writing: bool) -> T:
        """Run an operation inside; a write that raises is undone alone and leaves the transaction open."""
        with self._lock:
            session = self._usable()
            # Before the savepoint: what a failed write locked would be let go with it.
            session.enter(space, alone=True, writing=writing)
            try:
                return self._written(session, space, operation) if writing else operation(session)
            except psycopg.Error as error:
                if not writing:
                    self._give_up(session, error)
                raise translated(error, self.connections.place) from error

    def _written(self, session: Session, space: Space | None, operation: Operation[T]) -> T:
        mark = session.save()
        try:
            result = operation(session)
        except BaseException:
            try:
                session.undo(mark)
            except psycopg.Error as broken:
                # The connection is lost, or what came before the savepoint failed: then it was never made.
                self._give_up(session, broken)
            raise
        session.keep(mark)
        self._wrote, self._owner = True, self._owner or space
        return result

    def _give_up(self, session: Session, error: psycopg.Error) -> None:
        """The server gave the whole transaction up: what was written is gone."""
        self._failed = error
        with suppress(psycopg.Error):
            session.roll_back()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._around is not None:
            assert self._mark is not None, "left before it was entered"
            self._around.leave(self._mark, error)
            return
        with self._lock:
            self.open = False
            _current.set(self.outer)
            session, self._session = self._session, None
            try:
                self._finish(session, error)
            finally:
                if session is not None:
                    self.connections.pool.give(session.link)

    def _finish(self, session: Session | None, error: BaseException | None) -> None:
        if error is None and self._failed is not None:
            raise BackendUnavailable(
                "the transaction was given up after an error inside it; nothing was stored"
            ) from self._failed
        if session is None or not session.begun:
            return
        try:
            if error is not None or not self._wrote:
                session.roll_back()
            else:
                self.connections.commit(session, self._owner)
        except psycopg.Error as failure:
            session.link.close()
            if error is None and self._wrote:
                raise translated(failure, self.connections.place) from failure


current_transaction = _current
"""Carried into async callers by ``AsyncContext``."""

__all__ = ["Connections", "Operation", "Session", "Transaction", "current_transaction"]
