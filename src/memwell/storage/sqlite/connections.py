"""The connections to one SQLite file: many readers, one writer a process, and group commit.

A write is an *operation*: a function that is given a session inside a transaction. A writer that finds no write under way
*leads*: it runs its own operation and all that have queued up meanwhile in one transaction, and commits once for all. No
work is handed to another thread, so a lone writer pays nothing for it. Each operation of a group has a savepoint: one that
fails is rolled back alone.
"""

from __future__ import annotations

import contextvars
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

import apsw

from memwell.errors import (
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    MemwellError,
    ReadOnlyStore,
    SecretRefused,
)
from memwell.storage.files import create_private
from memwell.storage.sqlite.encryption import CREATE, SALT, FileKey, Secret, check_secret, encrypted_store, first_page
from memwell.storage.sqlite.kept_log import CHECKSUM, drop_log, keep_log, page_checksum
from memwell.storage.sqlite.zeroing import zeroing_vfs
from memwell.values import drawn_between

# Errors of SQLite as memwell's


def is_sealed(error: apsw.Error) -> bool:
    """Whether a write was refused because the store is sealed: only the seal uses triggers."""
    # An error that does not come from SQLite itself has no such number.
    number: object = getattr(error, "extendedresult", None)
    return number == apsw.SQLITE_CONSTRAINT_TRIGGER


def is_wrong_page(error: apsw.Error) -> bool:
    """Whether a page that was read does not have its checksum."""
    return getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_DATA


def translated(error: apsw.Error, path: str) -> MemwellError:
    """memwell's error for a driver's."""
    if is_sealed(error):
        return ReadOnlyStore(f"the store {path!r} can only be read: {error}")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return BackendUnavailable(f"the store {path!r} stayed busy: another process holds it ({error})")
    if isinstance(error, apsw.FullError):
        return BackendError(f"the store {path!r} cannot grow: the disk is full ({error})")
    if isinstance(error, apsw.ReadOnlyError):
        return ReadOnlyStore(
            f"the store {path!r} can only be read: the file, its folder or the disk is write-protected; "
            "allow writing, or copy the store to where you may write"
        )
    if isinstance(error, apsw.CantOpenError | apsw.PermissionsError):
        return BackendError(
            f"the store {path!r} cannot be opened: check the rights of the file and its folder ({error})"
        )
    if is_wrong_page(error):
        return BackendError(
            f"the store {path!r} is damaged, or was changed by another program: a page is not as it was written; restore a "
            f"""backup, or take what can be read of it, unchecked: sqlite3 {path!r} "VACUUM INTO 'rescued.db'\""""
        )
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return BackendError(f"the store {path!r} is damaged or not a SQLite file ({error})")
    return BackendError(f"the store {path!r} failed: {type(error).__name__}: {error}")


def failure(error: BaseException, path: str) -> BaseException:
    """The error for the owner of a write that failed in another thread."""
    if isinstance(error, apsw.Error):
        ours: BaseException = translated(error, path)
        ours.__cause__ = error
        return ours
    return error if isinstance(error, Exception) else BackendError("the write was interrupted; nothing was stored")


# Forks. SQLite's locks belong to a process, but a fork copies its record of them: a child with an inherited connection
# believes that it holds the parent's locks, and loses what it writes once the parent closes. So every store closes its
# connections before a fork, and parent and child open them again lazily.


_watched: weakref.WeakSet[Connections] = weakref.WeakSet()
_prepared: list[Connections] = []


def _before() -> None:
    _prepared.extend(connections for connections in list(_watched) if connections.prepare_fork())


def _after_in_parent() -> None:
    while _prepared:
        _prepared.pop().finish_fork()


os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_prepared.clear)


# The queue of writers: one thread at a time leads, the others wait and the leader may run their operations. A thread that
# finds no leader leads at once and pays nothing for the queue.

T = TypeVar("T")

MAX_GROUP = 512
_GATHERING_S = 0.0003
"""How long a leader waits for as many writers as last time. A commit takes about as long."""


class Pending(Generic[T]):
    """An operation in the queue. Its gate opens when it is done, or when its owner becomes the leader.

    Without an operation its owner waits to lead.
    """

    __slots__ = ("done", "error", "gate", "leads", "operation", "result")

    def __init__(self, operation: Callable[[Any], T] | None) -> None:
        self.operation = operation
        self.gate = threading.Lock()
        self.gate.acquire()
        self.done = False
        self.leads = False
        self.result: T | None = None
        self.error: BaseException | None = None


class WriterQueue:
    """The queue of one store's writers in this process.

    The leader holds the lock. A thread that finds it taken enters the queue and tries once more: either that succeeds, or
    the leader sees it in the queue after releasing the lock. So a lone writer pays for one lock, and none is forgotten.
    """

    def __init__(self) -> None:
        self._leading = threading.Lock()
        self._queue: deque[Pending[Any]] = deque()
        self._crowd = 1
        self._bell = threading.Lock()
        self._bell.acquire()
        self._awaited = MAX_GROUP

    @property
    def waiting(self) -> int:
        """The length of the queue."""
        return len(self._queue)

    def take(self) -> bool:
        """Become the leader if no other thread is writing."""
        return self._crowd == 1 and self._leading.acquire(False)

    def wait(self, mine: Pending[Any], timeout_s: float = -1) -> bool:
        """Whether the caller leads now; otherwise a leader has run its operation, or the time is over."""
        if self._leading.acquire(False):
            return True
        self._queue.append(mine)
        if len(self._queue) >= self._awaited:
            self._ring()
        try:
            if self._leading.acquire(False):
                self._choose_next()
            in_time = mine.gate.acquire(timeout=timeout_s)
        except BaseException:
            self._give_up(mine)
            raise
        if not in_time:
            self._give_up(mine)
        return in_time and not mine.done

    def _give_up(self, mine: Pending[Any]) -> None:
        """Leave the queue after an interrupt; a new leader hands on."""
        with suppress(ValueError):
            self._queue.remove(mine)
            return
        # The interrupt may have come just after the gate opened: then it never opens again.
        while not (mine.done or mine.leads):
            mine.gate.acquire(timeout=0.01)
        if not mine.done:
            self.hand_on()

    def lead(self, mine: Pending[Any], serve: Callable[[list[Pending[Any]]], None]) -> None:
        """Run the operations of the caller and the queue, then hand on. Only for the leader."""
        group = [mine]
        try:
            if self._crowd > 1:
                self._gather()
            self._collect(group)
            self._crowd = len(group)
            serve(group)
        finally:
            for one in group:
                one.done = True
            self.hand_on()
            for one in group:
                if one is not mine:
                    one.gate.release()

    def _gather(self) -> None:
        """Wait a moment for the writers of the last group, so that they share this commit too."""
        self._bell.acquire(False)  # a late ring of an earlier group
        self._awaited = self._crowd - 1
        if len(self._queue) < self._awaited:
            self._bell.acquire(timeout=_GATHERING_S)
        self._awaited = MAX_GROUP

    def _ring(self) -> None:
        """Wake the leader: all that it waits for are in the queue. Two threads may ring at once."""
        self._awaited = MAX_GROUP
        with suppress(RuntimeError):
            self._bell.release()

    def _collect(self, group: list[Pending[Any]]) -> None:
        """Move operations from the queue to the group, up to the first that has none."""
        with suppress(IndexError):
            while len(group) < MAX_GROUP:
                one = self._queue.popleft()
                if one.operation is None:
                    self._queue.appendleft(one)
                    return
                group.append(one)

    def hand_on(self) -> None:
        """Stop leading, and make the next in the queue the leader."""
        self._leading.release()
        if self._queue and self._leading.acquire(False):
            self._choose_next()

    def _choose_next(self) -> None:
        """Make the first in the queue the leader; release the lock when it is empty. Only for the leader."""
        while True:
            try:
                chosen = self._queue.popleft()
            except IndexError:
                self._leading.release()
            else:
                chosen.leads = True
                chosen.gate.release()
                return
            # A thread that entered the queue just before the release waits for us.
            if not self._queue or not self._leading.acquire(False):
                return


_CHECKPOINT_PAGES = 1_000
"""How many pages the write-ahead log grows by before it is copied into the file, as SQLite does by itself."""
_EMPTYING_S = 1.0
"""How long a checkpoint waits for readers."""
_FORK_PATIENCE_S = 5.0
"""How long a fork waits for a write under way."""


# Page checksums, by SQLite's checksum VFS: the last eight bytes of each page are its checksum, which every read verifies.
# They are in force while that of the first page is right. A store that was made without them, or that another program has
# copied or changed since (which writes the first page, and no checksum), is used without.

_CHECKSUMS = "cksmvfs"
_HEADER = 100
_MOST_PAGE = 65_536
_LOOKS_S = (0.001, 0.004, 0.0)


@cache
def _checksum_vfs() -> str | None:
    """The name of the checksum VFS, after it was loaded; None where apsw was built without it."""
    try:
        import apsw.sqlite_extra as extra  # noqa: PLC0415 - absent from builds that are not apsw's own

        usual, loader = apsw.vfs_names()[0], apsw.Connection(":memory:")
        extra.load(loader, "cksumvfs")
        loader.close()
        # Loading makes it the default, also for databases of others in this process.
        apsw.set_default_vfs(usual)
    except Exception:  # noqa: BLE001 - whatever is wrong with it, stores work without
        return None
    return _CHECKSUMS


def connect(
    path: str, secret: Secret | None = None, flags: int = CREATE, *, frozen: bool = False, zeroing: bool = False
) -> apsw.Connection:
    """A connection to the file of a store. With a secret a new file is encrypted; else it gets page checksums.

    A frozen file is opened as one that never changes. With ``zeroing`` the unused part of each page of a file that is not
    encrypted is written as zeros. Raises ``SecretRefused``; ``ConfigurationError`` for a store with
    checksums where they cannot be had, since writing would make them wrong.
    """
    page = first_page(Path(path))
    check_secret(path, page, secret)
    place = path
    if frozen:
        flags, place = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, f"{Path(path).absolute().as_uri()}?immutable=1"
    if secret is not None:
        # The cipher authenticates every page, so it needs no checksum.
        return encrypted_store(path, place, page, secret, flags)
    checked = has_checksums(Path(path), page)
    if page and not checked:
        return apsw.Connection(place, flags=flags, vfs=zeroing_vfs(None) if zeroing else None)
    vfs = _checksum_vfs()
    if vfs is None and checked:
        raise ConfigurationError(
            f"the store {path!r} has page checksums, which this build of apsw cannot keep; "
            "install apsw-sqlite3mc from PyPI"
        )
    connection = apsw.Connection(place, flags=flags, vfs=zeroing_vfs(vfs) if zeroing else vfs)
    if vfs is not None and not page:
        connection.reserve_bytes("main", CHECKSUM)
    return connection


def has_checksums(path: Path, page: bytes | None = None) -> bool:
    """Whether the pages of a file have checksums. ``page`` is its first page, if that was read already."""
    for wait_s in _LOOKS_S:
        page = first_page(path) if page is None else page
        if len(page) < _HEADER or page[20] != CHECKSUM:
            return False
        size = int.from_bytes(page[16:18], "big")
        page = page[: _MOST_PAGE if size == 1 else size]
        if page_checksum(page[:-CHECKSUM]) == page[-CHECKSUM:]:
            return True
        # Another process may have been writing this page.
        time.sleep(wait_s)
        page = None
    return False


class Session:
    """A connection with its pragmas set. ``execute`` reuses one cursor: consume its rows before the next call."""

    __slots__ = ("connection", "execute", "learnt")

    def __init__(
        self,
        path: str,
        busy_timeout_s: float,
        vfs: str | None,
        secret: Secret | None = None,
        *,
        frozen: bool = False,
        zeroing: bool = False,
    ) -> None:
        if vfs is not None:
            self.connection = _through(zeroing_vfs(vfs) if zeroing else vfs, path, frozen=frozen)
        else:
            if not frozen:
                # SQLite gives its log and its other files the permissions of this one. If it cannot be made, it says why.
                with suppress(OSError):
                    create_private(Path(path))
            self.connection = connect(path, secret, frozen=frozen, zeroing=zeroing)
        # Only a session that zeroes the unused part of pages copies the log into the file.
        self.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, not zeroing)
        self.connection.wal_autocheckpoint(0)
        # Without this SQLite plans a statement again whenever a parameter that its plan might depend on is bound.
        self.connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self.connection.set_busy_handler(_patience(busy_timeout_s))
        self.execute = self.connection.cursor().execute
        self.learnt: dict[Any, Any] = {}
        """Values that operations of the current transaction leave for later ones. Cleared by the next transaction."""
        if secret is not None:
            self._check(path)
        for pragma in ("synchronous=FULL", "temp_store=MEMORY", "secure_delete=ON", "cache_size=-8000"):
            self.execute(f"PRAGMA {pragma}").fetchall()

    def _check(self, path: str) -> None:
        """Raises ``SecretRefused`` when the first page cannot be read with the secret."""
        try:
            self.execute("PRAGMA schema_version").fetchall()
        except apsw.NotADBError as error:
            self.connection.close(True)
            raise SecretRefused.of("wrong", path) from error

    def begin(self) -> None:
        """Begin a transaction that writes."""
        self.execute("BEGIN IMMEDIATE")
        self.learnt.clear()

    def one(self, sql: str, bindings: Any = ()) -> tuple[Any, ...] | None:
        """The first row of a query, or None. The query is run to its end: an open one would pin the write-ahead log."""
        rows = self.execute(sql, bindings).fetchall()
        return rows[0] if rows else None

    def rows(self, sql: str, bindings: Any = ()) -> list[tuple[Any, ...]]:
        """All rows of a query, through a cursor of its own: safe while ``execute`` is being iterated."""
        return self.connection.execute(sql, bindings).fetchall()

    def close(self) -> None:
        # The last one, if it zeroes, checkpoints the log. When that fails nothing is lost: the next one reads the log.
        with suppress(apsw.Error):
            self.connection.close(True)


def _through(vfs: str, path: str, *, frozen: bool) -> apsw.Connection:
    if not frozen:
        return apsw.Connection(path, vfs=vfs)
    place = f"{Path(path).absolute().as_uri()}?immutable=1"
    return apsw.Connection(place, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, vfs=vfs)


def _is_frozen(path: Path) -> bool:
    """Whether the file is complete, in a folder where no file can be created.

    SQLite needs more files in the folder to share a store with writers. Where it cannot create them, the store is opened
    as immutable. That would ignore a write-ahead log, so a store with one is not opened.
    """
    log = Path(f"{path}-wal")
    if not path.is_file() or (log.exists() and log.stat().st_size > 0):
        return False
    return not os.access(path.absolute().parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _patience(timeout_s: float) -> Callable[[int], bool]:
    """A busy handler with short random sleeps: SQLite's own sleeps up to 100 ms and starves some processes."""
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


current_transaction: contextvars.ContextVar[Transaction | None] = contextvars.ContextVar("memwell_sqlite", default=None)


class Connections:
    """All sessions of one file in this process. Safe to use from any thread, and after a fork."""

    def __init__(
        self, path: str, *, busy_timeout_s: float = 60.0, vfs: str | None = None, secret: Secret | None = None
    ) -> None:
        self.path = path
        self._secret = secret
        self._busy_timeout_s = busy_timeout_s
        self._vfs = vfs
        self._keeps_log = vfs is None and secret is None
        self.closed = False
        self._abandoned: list[object] = []
        self._reset()
        _watched.add(self)

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._readers: list[Session] = []
        self._writer: Session | None = None
        self._frames = self._checked = 0
        self.writers = WriterQueue()

    @property
    def mode(self) -> int:
        """The permissions of the store's file, for files next to it. Raises ``OSError``."""
        return os.stat(self.path).st_mode & 0o666

    def key_of(self, use: str) -> FileKey | None:
        """The key for a file next to the store; None where the store is not encrypted."""
        if self._secret is None:
            return None
        salt = first_page(Path(self.path))[:SALT]
        return self._secret.key(salt, use)

    def _ready(self) -> None:
        if self.closed:
            raise BackendError(f"the store {self.path!r} is closed")
        if self._pid != os.getpid():
            # Sessions in use at the fork are kept alive, so that they are not closed under the parent.
            self._abandoned.extend((self._readers, self._writer))
            self._reset()

    def open_session(self, *, zeroing: bool = False) -> Session:
        """A new session, read-only where the folder is. Raises ``BackendError``."""
        try:
            try:
                timeout_s = min(_EMPTYING_S, self._busy_timeout_s) if zeroing else self._busy_timeout_s
                return Session(self.path, timeout_s, self._vfs, self._secret, zeroing=zeroing)
            except (apsw.CantOpenError, apsw.ReadOnlyError):
                if not _is_frozen(Path(self.path)):
                    raise
                return Session(self.path, self._busy_timeout_s, self._vfs, self._secret, frozen=True)
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

    def lend(self, session: Session) -> None:
        """Give a session that is idle to the readers."""
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
                # After some errors SQLite has done so itself.
                if session.connection.in_transaction:
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
        if self.writers.take():
            return self._write_alone(operation)
        mine = Pending(operation)
        if self.writers.wait(mine):
            self.writers.lead(mine, self._commit)
        if mine.error is not None:
            raise mine.error
        return mine.result  # type: ignore[return-value]

    def statement(self, sql: str, bindings: tuple[Any, ...]) -> bool | None:
        """Commit one statement by itself; False, and nothing done, when it would break a constraint.

        None when others are writing, and the statement must go with theirs through ``write``.
        """
        if self._pid != os.getpid() or self.closed or current_transaction.get() is not None:
            return False
        if not self.writers.take():
            return None
        try:
            (self._writer or self.writer()).execute(sql, bindings)
            self.checkpoint_if_due()
            return True
        except apsw.ConstraintError:
            return False
        except apsw.Error as error:
            self.roll_back()
            raise translated(error, self.path) from error
        finally:
            self.writers.hand_on()

    def _write_alone(self, operation: Operation[T]) -> T:
        """Run one operation without a group: no other thread is writing."""
        try:
            session = self.writer()
            session.begin()
            result = operation(session)
            session.execute("COMMIT")
            self.checkpoint_if_due()
            return result
        except BaseException as error:
            self.roll_back()
            if isinstance(error, apsw.Error):
                raise translated(error, self.path) from error
            raise
        finally:
            self.writers.hand_on()

    def writer(self) -> Session:
        """The one writing session. Only for the leader."""
        if self._writer is None:
            if self.closed:
                raise BackendError(f"the store {self.path!r} is closed")
            self._writer = self.open_session()
            self._writer.connection.set_wal_hook(self._note_frames)
            if self._keeps_log:
                keep_log(self.path)
        return self._writer

    # The log

    def _note_frames(self, connection: apsw.Connection, name: str, frames: int) -> int:
        self._frames = frames
        return apsw.SQLITE_OK

    def checkpoint_if_due(self) -> None:
        """Copy the write-ahead log into the file when it has grown enough. Only for the leader, after a commit."""
        if self._frames < self._checked:
            # The log was begun again.
            self._checked = 0
        if self._frames - self._checked >= _CHECKPOINT_PAGES:
            self._checked = self._frames
            # The commit is in the log. A later one tries again.
            with suppress(MemwellError):
                self._checkpoint("PASSIVE")

    def _checkpoint(self, mode: str) -> bool:
        """Copy the log into the file, with zeros in the unused part of pages. Whether no reader was in the way."""
        session = self.open_session(zeroing=True)
        try:
            [(busy, _, _)] = session.rows(f"PRAGMA wal_checkpoint({mode})")
            return not busy
        except apsw.Error as error:
            raise translated(error, self.path) from error
        finally:
            session.close()

    def empty_log(self) -> bool:
        """Checkpoint the write-ahead log and truncate it. False when a reader kept it from that for a second."""
        self.lead_for_transaction()
        try:
            return self._checkpoint("TRUNCATE")
        finally:
            self.writers.hand_on()

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
            self.checkpoint_if_due()
        except BaseException as error:
            self.roll_back()
            for one in group:
                one.error = one.error or failure(error, self.path)
            if not isinstance(error, Exception):
                # An interrupt belongs to the thread it reached, not to the others of the group.
                raise

    def _run_together(self, group: list[Pending[Any]], session: Session) -> bool:
        """Run all operations; False when one of a group failed, and they must be run again in savepoints.

        Failures are rare, and a savepoint costs as much as a small operation.
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
        """Roll back the writer's transaction; if that fails, close the connection, which does the same."""
        session = self._writer
        if session is None:
            return
        try:
            if session.connection.in_transaction:
                session.execute("ROLLBACK")
        except apsw.Error:
            self._writer = None
            session.close()

    def rebuild(self) -> None:
        """Write all content to new pages. It takes as long as copying the store, and as much room again."""
        self.lead_for_transaction()
        session = self.open_session()
        try:
            # In a file, as the content may not fit in memory.
            session.execute("PRAGMA temp_store=FILE")
            session.execute("VACUUM")
        except apsw.Error as error:
            raise translated(error, self.path) from error
        finally:
            session.close()
            self.writers.hand_on()

    # Transactions

    def transaction(self) -> Transaction:
        """Everything written inside is committed together."""
        return Transaction(self)

    def transaction_here(self) -> Transaction | None:
        """The open transaction on this file that the calling context is inside of."""
        transaction = current_transaction.get()
        while transaction is not None:
            if transaction.connections is self and transaction.open:
                return transaction
            transaction = transaction.outer
        return None

    def lead_for_transaction(self) -> None:
        """Wait to lead, and lead until ``writers.hand_on``."""
        self._ready()
        self.writers.wait(Pending(None))

    def close(self) -> None:
        """Close every idle session; one in use is closed when it comes back."""
        if self.closed or self._pid != os.getpid():
            self.closed = True
            return
        self.lead_for_transaction()
        try:
            self.closed = True
            if not self._close_with_log():
                self._close_idle()
                self._close_log()
            drop_log(self.path)
        finally:
            self.writers.hand_on()

    def _close_with_log(self) -> bool:
        """Close the idle readers so that the last one removes the log, if that is empty. Only for the leader."""
        log = Path(f"{self.path}-wal")
        if self._writer is not None or not self._readers or (log.exists() and log.stat().st_size):
            return False
        self._readers[0].connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        self._close_idle()
        return True

    def _close_log(self) -> None:
        """Copy the log into the file and remove it, if no other process has the store open. Only for the leader."""
        # When that fails nothing is lost: the next process reads the log.
        with suppress(MemwellError, apsw.Error):
            if Path(self.path).exists():
                session = self.open_session(zeroing=True)
                try:
                    # Where another program has it open, that one would copy the rest, without checksums.
                    session.rows("PRAGMA wal_checkpoint(PASSIVE)")
                finally:
                    session.close()

    def _close_idle(self) -> None:
        """Close the writer and the idle readers. Only for the leader."""
        while self._readers:
            self._readers.pop().close()
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    # Forking

    def prepare_fork(self) -> bool:
        """Close the sessions and block writers; whether that was done, and ``finish_fork`` must follow.

        It is not done inside a transaction, nor during one that lasts longer than the timeout.
        """
        if self.closed or self._pid != os.getpid() or self.transaction_here() is not None:
            return False
        if not self.writers.wait(Pending(None), _FORK_PATIENCE_S):
            return False
        self._close_idle()
        return True

    def finish_fork(self) -> None:
        """Unblock writers, in the parent. The child opens new sessions."""
        self.writers.hand_on()


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
    """An explicit transaction, a context manager. Inside another on the same file it is a savepoint."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.open = False
        self.outer: Transaction | None = None
        self._around: Transaction | None = None
        self._lock = threading.RLock()
        self._failed: BaseException | None = None

    def __enter__(self) -> None:
        self.outer = current_transaction.get()
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
            connections.writers.hand_on()
            if isinstance(error, apsw.Error):
                raise translated(error, connections.path) from error
            raise
        self.open = True
        current_transaction.set(self)

    def run(self, operation: Operation[T], *, savepoint: bool) -> T:
        """Run an operation inside; one that raises is rolled back alone and leaves the transaction open."""
        with self._lock:
            if not self.open:
                raise BackendError("the transaction has ended")
            if self._failed is not None:
                # A write would now be committed by itself.
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
                    # SQLite rolled the whole transaction back (disk full, I/O error).
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
            current_transaction.set(self.outer)
            try:
                self._finish(error)
            finally:
                self.connections.writers.hand_on()

    def _finish(self, error: BaseException | None) -> None:
        connections = self.connections
        if error is not None:
            connections.roll_back()
            return
        if self._failed is not None:
            raise BackendError("the transaction was given up after an error inside it; nothing was stored")
        try:
            connections.writer().execute("COMMIT")
            connections.checkpoint_if_due()
        except apsw.Error as failure:
            connections.roll_back()
            raise translated(failure, connections.path) from failure


def _leave_savepoint(session: Session, error: BaseException | None) -> None:
    if error is not None and session.connection.in_transaction:
        session.execute("ROLLBACK TO nested")
    if session.connection.in_transaction:
        session.execute("RELEASE nested")
