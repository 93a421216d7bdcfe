"""The connections to one SQLite file: many readers, one writer a process, and group commit.

A write is an *operation*: a function that is given a session inside a transaction. Whoever comes while no write is under
way *leads*: it runs its own operation and those of everybody who has queued up meanwhile in one transaction, and commits
once for all. Nobody hands work to another thread, so a lone writer pays nothing for it. Each operation of a group has a
savepoint: one that fails is rolled back alone.
"""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import apsw

from memwell.errors import BackendError
from memwell.storage.sqlite.failures import failure, translated
from memwell.storage.sqlite.forks import watch
from memwell.storage.sqlite.turns import Pending, Turns
from memwell.values import drawn_between

T = TypeVar("T")

_FORK_PATIENCE_S = 5.0
"""How long a fork waits for a write under way."""


class Session:
    """A connection with its pragmas set. ``execute`` reuses one cursor: consume its rows before the next call."""

    __slots__ = ("connection", "execute", "learnt")

    def __init__(self, path: str, busy_timeout_s: float, vfs: str | None, *, frozen: bool = False) -> None:
        if frozen:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            path = f"{Path(path).absolute().as_uri()}?immutable=1"
        else:
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self.connection = apsw.Connection(path, flags=flags, vfs=vfs)
        # Without this SQLite plans a statement anew whenever a parameter that its plan might depend on is bound.
        self.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self.connection.set_busy_handler(_patience(busy_timeout_s))
        self.execute = self.connection.cursor().execute
        self.learnt: dict[Any, Any] = {}
        """What operations of the transaction under way tell those after them. Gone with the next one."""
        for pragma in ("synchronous=FULL", "temp_store=MEMORY", "secure_delete=ON", "cache_size=-8000"):
            self.execute(f"PRAGMA {pragma}").fetchall()

    def begin(self) -> None:
        """Begin a transaction that writes."""
        self.execute("BEGIN IMMEDIATE")
        self.learnt.clear()

    def one(self, sql: str, bindings: Any = ()) -> tuple[Any, ...] | None:
        """The first row of a query, or None. The query is run to its end: one left open would pin the write-ahead log."""
        rows = self.execute(sql, bindings).fetchall()
        return rows[0] if rows else None

    def rows(self, sql: str, bindings: Any = ()) -> list[tuple[Any, ...]]:
        """All rows of a query, through a cursor of its own: safe while ``execute`` is being iterated."""
        return self.connection.execute(sql, bindings).fetchall()

    def close(self) -> None:
        # The last one out empties the write-ahead log. When that fails nothing is lost: the next one in reads the log.
        with suppress(apsw.Error):
            self.connection.close(True)


def _is_frozen(path: Path) -> bool:
    """Whether the file lies where nothing can be made beside it, with all that was written in it.

    SQLite needs files beside a store to share it with who writes. Where it cannot make them, and finds none, it is told
    that nobody writes. A write-ahead log that holds something would be passed over, so then the store is not opened.
    """
    log = Path(f"{path}-wal")
    if not path.is_file() or (log.exists() and log.stat().st_size > 0):
        return False
    return not os.access(path.absolute().parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _patience(timeout_s: float) -> Callable[[int], bool]:
    """Wait for other processes with short random naps: SQLite's own handler sleeps up to 100 ms and starves some."""
    started = 0.0

    def handler(calls: int) -> bool:
        nonlocal started
        if calls == 0:
            started = time.monotonic()
        elif time.monotonic() - started > timeout_s:
            return False
        time.sleep(drawn_between(0.0001, min(0.0002 * (calls + 1), 0.01)))
        return True

    return handler


Operation = Callable[[Session], T]


_current: contextvars.ContextVar[Transaction | None] = contextvars.ContextVar("memwell_sqlite", default=None)


class Connections:
    """All sessions of one file in this process. Safe to use from any thread, and after a fork."""

    def __init__(self, path: str, *, busy_timeout_s: float = 60.0, vfs: str | None = None) -> None:
        self.path = path
        self._busy_timeout_s = busy_timeout_s
        self._vfs = vfs
        self.closed = False
        self._abandoned: list[object] = []
        self._reset()
        watch(self)

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._readers: list[Session] = []
        self._writer: Session | None = None
        self.turns = Turns()

    def _ready(self) -> None:
        if self.closed:
            raise BackendError(f"the store {self.path!r} is closed")
        if self._pid != os.getpid():
            # What crossed the fork in use is kept alive, so that it is not closed under the parent.
            self._abandoned.extend((self._readers, self._writer))
            self._reset()

    def open_session(self) -> Session:
        """A fresh session; one that can only read where nothing may be written. Raises ``BackendError``."""
        try:
            try:
                return Session(self.path, self._busy_timeout_s, self._vfs)
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                if not _is_frozen(Path(self.path)):
                    raise
                return Session(self.path, self._busy_timeout_s, self._vfs, frozen=True)
        except apsw.Error as error:
            raise translated(error, self.path) from error

    # Reading

    def read(self, operation: Operation[T]) -> T:
        """Run an operation that only reads; inside a transaction it sees what the transaction wrote."""
        self._ready()
        transaction = self.transaction_here()
        if transaction is not None:
            return transaction.run(operation, savepoint=False)
        try:
            session = self._readers.pop()
        except IndexError:
            session = self.open_session()
        try:
            return operation(session)
        except apsw.Error as error:
            raise translated(error, self.path) from error
        finally:
            if self.closed:
                session.close()
            else:
                self._readers.append(session)

    def snapshot(self, operation: Operation[T]) -> T:
        """Like ``read``, with every query of the operation seeing the same state of the store."""

        def held(session: Session) -> T:
            if session.connection.in_transaction:
                return operation(session)
            session.execute("BEGIN")
            try:
                return operation(session)
            finally:
                session.execute("ROLLBACK")

        return self.read(held)

    # Writing

    def write(self, operation: Operation[T]) -> T:
        """Run an operation in a transaction and return when it is on disk. An operation that raises changes nothing.

        An operation may be run again after a failed commit, so it must not change anything but the store.
        """
        self._ready()
        transaction = self.transaction_here()
        if transaction is not None:
            return transaction.run(operation, savepoint=True)
        if self.turns.take():
            return self._write_alone(operation)
        mine = Pending(operation)
        if self.turns.wait(mine):
            self.turns.lead(mine, self._commit)
        if mine.error is not None:
            raise mine.error
        return mine.result  # type: ignore[return-value]

    def statement(self, sql: str, bindings: tuple[Any, ...]) -> bool | None:
        """Commit one statement by itself; False, and nothing done, when it would break a constraint.

        None when others are writing, and the statement must go with theirs through ``write``.
        """
        if self._pid != os.getpid() or self.closed or _current.get() is not None:
            return False
        if not self.turns.take():
            return None
        try:
            (self._writer or self.writer()).execute(sql, bindings)
            return True
        except apsw.ConstraintError:
            return False
        except apsw.Error as error:
            self.roll_back()
            raise translated(error, self.path) from error
        finally:
            self.turns.hand_on()

    def _write_alone(self, operation: Operation[T]) -> T:
        """The usual case, without a group: nobody else was writing when we came."""
        try:
            session = self.writer()
            session.begin()
            result = operation(session)
            session.execute("COMMIT")
            return result
        except BaseException as error:
            self.roll_back()
            if isinstance(error, apsw.Error):
                raise translated(error, self.path) from error
            raise
        finally:
            self.turns.hand_on()

    def writer(self) -> Session:
        """The one writing session. Only for who leads."""
        if self._writer is None:
            if self.closed:
                raise BackendError(f"the store {self.path!r} is closed")
            self._writer = self.open_session()
        return self._writer

    def _commit(self, group: list[Pending[Any]]) -> None:
        try:
            session = self.writer()
            session.begin()
            if not self._run_together(group, session):
                session.execute("ROLLBACK")
                session.begin()
                for one in group:
                    _run_in_savepoint(one, session, self.path)
            session.execute("COMMIT")
        except BaseException as error:
            self.roll_back()
            for one in group:
                one.error = one.error or failure(error, self.path)
            if not isinstance(error, Exception):
                # An interrupt belongs to the thread it reached, not to those it was working for.
                raise

    def _run_together(self, group: list[Pending[Any]], session: Session) -> bool:
        """Run all operations; False when one of a group failed, and they must be run again, each by itself.

        Failing is rare, and a savepoint for every operation costs as much as some operations.
        """
        try:
            for one in group:
                one.result = one.operation(session)  # type: ignore[misc]
        except Exception:
            if len(group) == 1 or not session.connection.in_transaction:
                raise
            return False
        return True

    def roll_back(self) -> None:
        """Undo the writer's transaction; if even that fails, drop the connection, which undoes it too."""
        session = self._writer
        if session is None:
            return
        try:
            if session.connection.in_transaction:
                session.execute("ROLLBACK")
        except apsw.Error:
            self._writer = None
            session.close()

    def empty_log(self) -> None:
        """Move the write-ahead log into the file and cut it to nothing, unless another process is reading it."""
        self.lead_for_transaction()
        try:
            # Our own idle readers hold nothing; one at work is waited for by SQLite's busy handler.
            self.writer().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except apsw.Error as error:
            raise translated(error, self.path) from error
        finally:
            self.turns.hand_on()

    # Transactions

    def transaction(self) -> Transaction:
        """Everything written inside is committed together."""
        return Transaction(self)

    def transaction_here(self) -> Transaction | None:
        """The open transaction on this file that the calling context is inside of."""
        transaction = _current.get()
        while transaction is not None:
            if transaction.connections is self and transaction.open:
                return transaction
            transaction = transaction.outer
        return None

    def lead_for_transaction(self) -> None:
        """Wait until nobody else writes, and keep the writer until ``turns.hand_on``."""
        self._ready()
        self.turns.wait(Pending(None))

    def close(self) -> None:
        """Close every idle session; one in use is closed when it comes back."""
        if self.closed or self._pid != os.getpid():
            self.closed = True
            return
        self.lead_for_transaction()
        try:
            self.closed = True
            self._close_idle()
        finally:
            self.turns.hand_on()

    def _close_idle(self) -> None:
        """Close the writer and the readers that nobody uses. Only for who leads."""
        while self._readers:
            self._readers.pop().close()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    # Forking

    def prepare_fork(self) -> bool:
        """Close the sessions and keep others from writing; whether that was done, and ``finish_fork`` must follow.

        It is not done inside a transaction, nor beside one that lasts longer than the patience.
        """
        if self.closed or self._pid != os.getpid() or self.transaction_here() is not None:
            return False
        if not self.turns.wait(Pending(None), _FORK_PATIENCE_S):
            return False
        self._close_idle()
        return True

    def finish_fork(self) -> None:
        """Let others write again, in the parent. The child begins anew."""
        self.turns.hand_on()


def _run_in_savepoint(one: Pending[Any], session: Session, path: str) -> None:
    """Run one operation of a group so that it can fail alone."""
    session.execute("SAVEPOINT one")
    try:
        one.result = one.operation(session)  # type: ignore[misc]
    except Exception as error:
        if not session.connection.in_transaction:
            raise
        one.error = failure(error, path)
        session.execute("ROLLBACK TO one")
    session.execute("RELEASE one")


class Transaction:
    """One explicit transaction; a context manager. Inside another on the same file it is a part that can fail alone."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.open = False
        self.outer: Transaction | None = None
        self._around: Transaction | None = None
        self._lock = threading.RLock()
        self._failed: BaseException | None = None

    def __enter__(self) -> None:
        self.outer = _current.get()
        self._around = self.connections.transaction_here()
        if self._around is not None:
            self._around.run(lambda session: session.execute("SAVEPOINT nested"), savepoint=False)
            return
        connections = self.connections
        connections.lead_for_transaction()
        try:
            connections.writer().begin()
        except BaseException as error:
            connections.roll_back()
            connections.turns.hand_on()
            if isinstance(error, apsw.Error):
                raise translated(error, connections.path) from error
            raise
        self.open = True
        _current.set(self)

    def run(self, operation: Operation[T], *, savepoint: bool) -> T:
        """Run an operation inside; one that raises is rolled back alone and leaves the transaction open."""
        with self._lock:
            if not self.open:
                raise BackendError("the transaction has ended")
            if self._failed is not None:
                # What is written now would be stored at once, and alone.
                raise BackendError("the transaction was given up after an error inside it; nothing was stored")
            session = self.connections.writer()
            try:
                if not savepoint:
                    return operation(session)
                session.execute("SAVEPOINT inner")
                try:
                    result = operation(session)
                except BaseException:
                    session.execute("ROLLBACK TO inner")
                    session.execute("RELEASE inner")
                    raise
                session.execute("RELEASE inner")
                return result
            except apsw.Error as error:
                if not session.connection.in_transaction:
                    # SQLite gave the whole transaction up (disk full, I/O error): what was written is gone.
                    self._failed = error
                raise translated(error, self.connections.path) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._around is not None:
            self._around.run(lambda session: _leave_savepoint(session, error), savepoint=False)
            return
        with self._lock:
            self.open = False
            _current.set(self.outer)
            try:
                self._finish(error)
            finally:
                self.connections.turns.hand_on()

    def _finish(self, error: BaseException | None) -> None:
        connections = self.connections
        if error is not None:
            connections.roll_back()
            return
        if self._failed is not None:
            raise BackendError("the transaction was given up after an error inside it; nothing was stored")
        try:
            connections.writer().execute("COMMIT")
        except apsw.Error as failure:
            connections.roll_back()
            raise translated(failure, connections.path) from failure


def _leave_savepoint(session: Session, error: BaseException | None) -> None:
    if error is not None and session.connection.in_transaction:
        session.execute("ROLLBACK TO nested")
    if session.connection.in_transaction:
        session.execute("RELEASE nested")


current_transaction = _current
"""Carried into async callers by ``AsyncContext``."""

__all__ = ["Connections", "Session", "Transaction", "current_transaction"]
