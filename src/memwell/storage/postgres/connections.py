"""Reading, writing and transactions on one PostgreSQL store.

Callers read and then write inside a transaction and rely on others waiting. So a transaction takes an exclusive advisory
lock on the owner of every space it touches, and a single write takes a shared one; single writes lock the rows they share.
Readers take no locks.

A connection may be lost before the answer arrives. A read is repeated. A write has a *receipt*, a row that it commits
together with the rest: the first to store the receipt decides. If we can store it ourselves, the write was not committed
and never will be; if it exists, it was.
"""

from __future__ import annotations

import contextvars
import itertools
import logging
import os
import re
import select
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, LiteralString, NamedTuple, TypeAlias, TypeVar, cast
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from uuid import UUID, uuid4

import psycopg
from psycopg import errors, pq
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper

from memwell.errors import BackendError, BackendUnavailable, ConfigurationError, MemwellError, ReadOnlyStore
from memwell.records import Space
from memwell.settings import Settings
from memwell.storage.postgres.schema import domain_lock, space_key
from memwell.storage.urls import check_login
from memwell.values import shown

# Addresses: the URL of a store, parsed

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_OURS = ("schema", "prepare", "durable", "wall")
_YES, _NO = frozenset(("yes", "on", "true", "1")), frozenset(("no", "off", "false", "0"))


class Address(NamedTuple):
    """Where a store is. ``parameters`` holds secrets; ``shown`` does not."""

    parameters: dict[str, str]
    schema: str
    pooled: bool | None
    """Whether connections go through a transaction pooler such as PgBouncer (``prepare=no``); None is not said."""
    vouched: bool
    """Whether the user vouches for the server's durability, whatever its settings say (``durable=yes``)."""
    open_wall: bool
    """Whether a role may be used to which PostgreSQL applies no row level security (``wall=open``)."""

    @property
    def shown(self) -> str:
        """The URL without user and password."""
        known = self.parameters
        place = f"{known.get('host', 'localhost')}:{known.get('port', '5432')}/{known.get('dbname', '')}"
        return f"postgresql://{place}?schema={self.schema}"


def address_of(url: str) -> Address:
    """Parse a URL. Raises ``ConfigurationError`` without the URL's secrets."""
    check_login(url, "the PostgreSQL store")
    parts = urlsplit(url)
    asked = _parameters(parts.query)
    schema = asked.pop("schema", "memwell")
    if not _SCHEMA.fullmatch(schema) or schema.startswith("pg_"):
        raise ConfigurationError(
            f"schema={shown(schema)} cannot be the schema of a store: lower-case letters, digits and _, up to 63 of them"
        )
    prepared = _switch(asked, "prepare")
    vouched = bool(_switch(asked, "durable"))
    wall = asked.pop("wall", None)
    if wall not in (None, "open"):
        raise ConfigurationError(f"wall={shown(wall)} must be left out or open")
    try:
        known = conninfo_to_dict(urlunsplit(parts._replace(scheme="postgresql", query=urlencode(asked))))
    except psycopg.ProgrammingError:
        # Its message quotes what it could not read, which may be the password.
        raise ConfigurationError(
            "the URL of the PostgreSQL store cannot be read; write postgresql://user:password@host:port/database, "
            "with special characters of the password as %-escapes"
        ) from None
    parameters = {name: str(value) for name, value in known.items() if value is not None}
    return Address(parameters, schema, None if prepared is None else not prepared, vouched, wall == "open")


def _parameters(query: str) -> dict[str, str]:
    """The parameters of the query. Raises ``ConfigurationError`` for what neither memwell nor libpq knows."""
    if any(part and "=" not in part for part in query.split("&")):
        # It may be what comes after an & in a password, so it is not shown.
        raise ConfigurationError(
            "the URL of the PostgreSQL store has something in its query that is no name=value; write & in a value as %26"
        )
    asked = dict(parse_qsl(query, keep_blank_values=True))
    unknown = asked.keys() - set(_OURS) - {option.keyword.decode() for option in pq.Conninfo.get_defaults()}
    if unknown:
        raise ConfigurationError(
            f"the URL of the PostgreSQL store has an unknown parameter {shown(min(unknown))}; memwell's own are "
            f"{', '.join(_OURS)}, and those of libpq are known too (sslmode, connect_timeout and so on)"
        )
    return asked


def _switch(asked: dict[str, str], name: str) -> bool | None:
    given = asked.pop(name, None)
    if given is None:
        return None
    if given not in _YES | _NO:
        raise ConfigurationError(f"{name}={shown(given)} must be yes or no")
    return given in _YES


# Translation of the driver's errors

SEALED = "MWS01"
"""The SQLSTATE of a write that a sealed store refuses."""

_AWAY = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.IdleInTransactionSessionTimeout)
_AGAIN = (errors.DeadlockDetected, errors.SerializationFailure)


def is_lost(error: psycopg.Error, connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    """Whether the connection was lost, so that the outcome of the statement is unknown."""
    return connection.closed or isinstance(error, _AWAY)


def is_clash(error: psycopg.Error) -> bool:
    """Whether the server rolled a transaction back because of a deadlock or conflict: it may be retried."""
    return isinstance(error, _AGAIN)


def is_of_pooler(error: psycopg.Error) -> bool:
    """Whether a pooler such as PgBouncer refused a connection because of settings that it does not pass on."""
    return "unsupported startup parameter" in str(error)


def is_starting(error: psycopg.Error) -> bool:
    """Whether the server is starting up."""
    return isinstance(error, errors.CannotConnectNow) or "starting up" in str(error) or "recovery" in str(error)


def translated(error: psycopg.Error, place: str, *, reading: bool = False) -> MemwellError:
    """memwell's error for the driver's. A read does not say that nothing was stored."""
    said = _first_line(error)
    stored = "" if reading else "nothing was stored; "
    if error.sqlstate == SEALED:
        return ReadOnlyStore(f"the store {place} is sealed: {said}")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return ReadOnlyStore(
            f"the store {place} can only be read: the server is a replica or set to read only ({said})"
        )
    if isinstance(error, errors.QueryCanceled):
        return BackendUnavailable(
            f"the store {place} gave a statement up because it took too long; "
            f"{stored}try again, or raise statement_timeout_s ({said})"
        )
    if isinstance(error, errors.LockNotAvailable):
        return BackendUnavailable(f"the store {place} stayed busy: another holds it; {stored}try again ({said})")
    if is_clash(error):
        return BackendUnavailable(
            f"the store {place} undid a transaction that stood in the way of another; {stored}try again"
        )
    if isinstance(error, errors.DiskFull):
        return BackendError(f"the store {place} cannot grow: the server's disk is full ({said})")
    if isinstance(error, errors.InsufficientPrivilege):
        return BackendError(f"the store {place} does not allow it: {said}")
    if isinstance(error, psycopg.OperationalError):
        return BackendUnavailable(f"the store {place} cannot be reached: {said}")
    return BackendError(f"the store {place} failed: {type(error).__name__}: {said}")


def _first_line(error: psycopg.Error) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


# The pool: the connections of one process to one server. It has no thread, so a fork loses nothing: a child leaves its
# parent's connections alone and opens its own. psycopg_pool 3.3 gives a forked child its parent's connections.

T = TypeVar("T")

_GRACE_S = 5.0
"""How much longer than the server's own limit to wait for an answer before the connection counts as dead."""
_QUIET_S = 1.0
"""A connection that was idle for longer is checked before it is used: the server may have closed it."""
_NAP_S = 0.05
_KNOWN_AWAY_S = 1.0
"""How long after a failed connect other callers fail at once, without an attempt of their own."""


class Link(psycopg.Connection[tuple[Any, ...]]):
    """A connection with a time limit for answers, which a broken network may swallow."""

    patience_s: float = 65.0
    idle_since: float = 0.0

    def wait(self, gen: PQGen[T], *rest: Any, **options: Any) -> T:
        return super().wait(self._bounded(gen), *rest, **options)

    def _bounded(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        end = time.monotonic() + self.patience_s
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > end:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(
                        f"no answer within {self.patience_s:g} s; the connection was given up"
                    )
                wanted = gen.send(ready)
        except StopIteration as finished:
            return finished.value


def _is_news(record: logging.LogRecord) -> bool:
    """Hides log lines of the driver about our connections whose error is raised anyway."""
    about = record.args[0] if isinstance(record.args, tuple) and record.args else None
    ours = any(isinstance(getattr(about, name, about), Link) for name in ("_conn", "connection"))
    return not (ours and str(record.msg).startswith("error ignored"))


logging.getLogger("psycopg").addFilter(_is_news)


def connect(address: Address, settings: Settings, options: Mapping[str, str]) -> Link:
    """A new connection in autocommit mode, with these settings. Raises ``psycopg.OperationalError``."""
    timeout = max(1, round(settings.connect_timeout_s))
    parameters: dict[str, Any] = {
        "application_name": f"memwell {address.schema} {os.getpid()}",
        "connect_timeout": timeout,
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
        **address.parameters,
    }
    if not address.pooled:
        chosen = " ".join(f"-c {name}={value}" for name, value in options.items())
        parameters["options"] = f"{parameters.get('options', '')} {chosen}".strip()
    link = Link.connect(**parameters, autocommit=True, prepare_threshold=None if address.pooled else 2)
    # All integers are sent as one type, so that a statement is prepared once and not for every size of integer.
    link.adapters.register_dumper(int, Int8BinaryDumper)
    link.patience_s = settings.statement_timeout_s + _GRACE_S
    return link


def session_options(settings: Settings, path: str) -> dict[str, str]:
    """The settings of a session: the search path and time limits."""
    return {
        "search_path": path,
        "statement_timeout": f"{settings.statement_timeout_s * 1000:.0f}",
        "lock_timeout": f"{settings.busy_timeout_s * 1000:.0f}",
        # Frees the locks of a client that vanished from the network within a minute.
        "tcp_keepalives_idle": "30",
        "tcp_keepalives_interval": "10",
        "tcp_keepalives_count": "3",
    }


class Pool:
    """The connections of a process, up to ``settings.pool_size`` at a time."""

    def __init__(self, open_link: Callable[[], Link], settings: Settings, place: str) -> None:
        self._open_link = open_link
        self._size = settings.pool_size
        self._timeout_s = settings.connect_timeout_s
        self._place = place
        self.closed = False
        self._abandoned: list[object] = []
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._idle: list[Link] = []
        self._in_use = 0
        self._free = threading.Semaphore(self._size)
        self._lock = threading.Lock()
        self._away: BackendUnavailable | None = None
        self._next_try = 0.0
        self._trying = False

    def ready(self) -> None:
        """Raises ``BackendError`` when it is closed. Starts empty in a forked child."""
        if self.closed:
            raise BackendError(f"the store {self._place} is closed")
        if self._pid != os.getpid():
            # The parent's connections: kept alive, so that they are not closed here.
            self._abandoned.append(self._idle)
            self._reset()

    def take(self) -> Link:
        """A connection. Raises ``BackendUnavailable`` when none is free in time, or the server cannot be reached."""
        self.ready()
        end = time.monotonic() + self._timeout_s
        if not self._free.acquire(timeout=self._timeout_s):
            raise BackendUnavailable(
                f"all {self._size} connections to the store {self._place} stayed in use for {self._timeout_s:g} s; "
                "set pool_size higher, or do less at once"
            )
        try:
            self.ready()
            link = self._idle_link() or self._reached(end)
        except BaseException:
            self._free.release()
            raise
        with self._lock:
            self._in_use += 1
        return link

    def _idle_link(self) -> Link | None:
        try:
            while True:
                link = self._idle.pop()
                if _is_sound(link):
                    return link
                link.close()
        except IndexError:
            return None

    def _reached(self, end: float) -> Link:
        """A new connection. While the server is unavailable one caller at a time tries; the others fail at once."""
        if self._away is None:
            try:
                return self._opened(end)
            except BackendUnavailable as error:
                self._away, self._next_try = error, time.monotonic() + _KNOWN_AWAY_S
                raise
        self._try_alone(self._away)
        try:
            link = self._opened(0.0)
            self._away = None
            return link
        finally:
            self._next_try = time.monotonic() + _KNOWN_AWAY_S
            self._trying = False

    def _try_alone(self, known: BackendUnavailable) -> None:
        """Raise the last error again, unless it is time for another attempt and no other thread makes one."""
        with self._lock:
            if self._trying or time.monotonic() < self._next_try:
                raise BackendUnavailable(str(known)) from known
            self._trying = True

    def _opened(self, end: float) -> Link:
        """A new connection; waits for a server that is starting up."""
        try:
            return opened(self._open_link, end - time.monotonic(), lambda error: is_starting(error) or _refused(error))
        except psycopg.Error as error:
            raise translated(error, self._place) from error

    def spare(self) -> Link:
        """A connection outside the pool, which the caller closes."""
        self.ready()
        return self._opened(time.monotonic() + self._timeout_s)

    def give(self, link: Link) -> None:
        """Return a connection; one inside a transaction is closed."""
        if link.pgconn.transaction_status != TransactionStatus.IDLE:
            link.close()
        link.idle_since = time.monotonic()
        if not link.closed:
            self._idle.append(link)
        with self._lock:
            self._in_use -= 1
        self._free.release()
        if self.closed:
            self.forget_idle()

    def counts(self) -> dict[str, int]:
        """How many connections are in use, and how many are open and idle."""
        return {"in_use": self._in_use, "idle": len(self._idle)}

    def forget_idle(self) -> None:
        """Close the idle connections: where one was lost, the others mostly are too."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def close(self) -> None:
        """Close the idle connections; those in use are closed when they are returned."""
        self.closed = True
        if self._pid == os.getpid():
            self.forget_idle()


def opened(open_link: Callable[[], Link], patience_s: float, passes: Callable[[psycopg.Error], bool]) -> Link:
    """A new connection, tried again for a while after errors that pass. Raises ``psycopg.Error``."""
    end = time.monotonic() + patience_s
    while True:
        try:
            return open_link()
        except psycopg.Error as error:
            if not passes(error) or time.monotonic() > end:
                raise
            time.sleep(_NAP_S)


def _is_sound(link: Link) -> bool:
    """Whether an idle connection is still open; one with unread data was closed by the server."""
    if link.closed:
        return False
    if time.monotonic() - link.idle_since < _QUIET_S:
        return True
    with suppress(OSError, ValueError):
        watched = select.poll()
        watched.register(link.fileno(), select.POLLIN | select.POLLHUP)
        return not watched.poll(0)
    return False


def _refused(error: psycopg.Error) -> bool:
    return "refused" in str(error) or "closed the connection" in str(error)


# Sessions: a connection in use. What must precede a statement (BEGIN, the wall's setting, a lock, a savepoint) is kept and
# sent with the statement in one round trip. The *wall* is row level security: a session sees the space it is set to.

Bindings: TypeAlias = "Sequence[Any] | Mapping[str, Any]"
Statement: TypeAlias = tuple[str, Bindings]
Rows: TypeAlias = "psycopg.Cursor[tuple[Any, ...]]"

EVERYTHING = "*"
"""The wall's setting for maintenance of the whole store. No space is encoded so."""

HERE = "(SELECT set_config('memwell.space', %s, true) AS space OFFSET 0) AS here CROSS JOIN LATERAL"
"""Sets the wall inside a query. The rest uses ``here.space``, so no row is read before the wall is set."""

_NAME_LONG = "INSERT INTO memwell_long_space (space, path) VALUES (%s, %s) ON CONFLICT DO NOTHING"
_SHARED = "SELECT pg_advisory_xact_lock_shared(%s)"
_ALONE = "SELECT pg_advisory_xact_lock(%s)"


class Walls(NamedTuple):
    """How the sessions of a store set the wall."""

    schema: str
    sql: str
    """Sets the wall to the bound space, until the end of the transaction."""
    pooled: bool = False
    """Whether a session loses its settings after each transaction, so that all are set each time."""

    def to(self, space: Space | None) -> Statement:
        """The statement that opens the wall for one space, or for maintenance (None)."""
        return self.sql, (EVERYTHING if space is None else space_key(space),)


class Savepoint(NamedTuple):
    """A savepoint, and the locks that the transaction held before it."""

    name: str
    held: frozenset[int]


class Session:
    """A connection for operations, with the wall set. Values are always bound."""

    def __init__(self, link: Link, walls: Walls) -> None:
        self.link = link
        self._walls = walls
        self._pending: list[Statement] = []
        self._each: Statement | None = None
        self._space: Space | None = None
        self._walled = False
        self._wall_due = False
        self._held: frozenset[int] = frozenset()
        self._savepoints = 0
        self.begun = False
        """Whether anything was sent since ``begin``."""

    # For operations

    def execute(self, sql: str, bindings: Bindings = ()) -> Rows:
        """Run a statement; its rows are on the returned cursor."""
        before = [*self._pending]
        if self._wall_due:
            before.append(self._walls.to(self._space))
        if self._each is not None:
            before.append(self._each)
        self._pending, self._wall_due = [], False
        self.begun = True
        if not before:
            return self._send(sql, bindings)
        with self.link.pipeline():
            for statement in before:
                self._send(*statement)
            return self._send(sql, bindings)

    def _send(self, sql: str, bindings: Bindings = ()) -> Rows:
        # The driver's types ask for literal strings. Values are bound; only our own names are formatted into statements.
        return self.link.execute(cast("LiteralString", sql), bindings)

    def one(self, sql: str, bindings: Bindings = ()) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        return self.execute(sql, bindings).fetchone()

    def rows(self, sql: str, bindings: Bindings = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.execute(sql, bindings).fetchall()

    def at_once(self, sql: str, space: Space, bindings: Sequence[Any]) -> list[tuple[Any, ...]]:
        """All rows of a query that sets the wall to its first value itself: one statement instead of two."""
        kept = self._each
        if not self._walls.pooled:
            self._each, self._wall_due = None, False
        try:
            return self.rows(sql, (space_key(space), *bindings))
        finally:
            self._each = kept

    # For ``Connections``

    def look(self, space: Space | None) -> None:
        """Set the wall before every statement, each of which is a transaction by itself."""
        self._each = self._walls.to(space)

    def begin(self, how: str = "BEGIN") -> None:
        """Begin a transaction with the next statement."""
        self._pending.append((how, ()))

    def enter(self, space: Space | None, *, alone: bool | None = None, writing: bool = False) -> None:
        """Set the wall to a space and lock its owner: exclusively, shared, or (None) not at all."""
        if not self._walled or space != self._space:
            # Sent with the next statement, unless that sets the wall itself.
            self._wall_due = self._walled = True
            self._space = space
            if writing and space is not None and (path := space.encoded()) != space_key(space):
                self._pending += [self._walls.to(space), (_NAME_LONG, (space_key(space), path))]
        if alone is not None and space is not None:
            lock = domain_lock(self._walls.schema, space)
            if lock not in self._held:
                self._held |= {lock}
                self._pending.append((_ALONE if alone else _SHARED, (lock,)))

    def save(self) -> Savepoint:
        """Make a savepoint with the next statement."""
        self._savepoints += 1
        savepoint = Savepoint(f"mark_{self._savepoints}", self._held)
        self._pending.append((f"SAVEPOINT {savepoint.name}", ()))
        return savepoint

    def keep(self, savepoint: Savepoint) -> None:
        """Release a savepoint."""
        if not self._unsent(savepoint):
            self._pending.append((f"RELEASE {savepoint.name}", ()))

    def undo(self, savepoint: Savepoint) -> None:
        """Roll back to a savepoint, which also frees later locks and resets the wall."""
        self._held, self._walled = savepoint.held, False
        if not self._unsent(savepoint):
            self._pending.clear()
            with self.link.pipeline():
                self._send(f"ROLLBACK TO {savepoint.name}")
                self._send(f"RELEASE {savepoint.name}")

    def _unsent(self, savepoint: Savepoint) -> bool:
        """Whether the savepoint was not sent yet; then it and what follows is dropped."""
        for place, (sql, _) in enumerate(self._pending):
            if sql == f"SAVEPOINT {savepoint.name}":
                del self._pending[place:]
                self._walled = False
                self._held = savepoint.held
                return True
        return False

    def commit(self, *last: Statement) -> None:
        """Commit, with these last statements."""
        with self.link.pipeline():
            for sql, bindings in (*self._pending, *last, ("COMMIT", ())):
                self._send(sql, bindings)
        self._pending = []

    def roll_back(self) -> None:
        """Undo the transaction."""
        self._pending.clear()
        self._send("ROLLBACK")


Operation = Callable[[Session], T]

_CLASHES = 5
"""How often a single write is tried that conflicts with others."""
_SWEEP_EVERY = 512
_SWEPT_AT_ONCE = 1_000
_OLD_RECEIPTS = f"""
    DELETE FROM memwell_receipt WHERE (space, id) IN (
        SELECT space, id FROM memwell_receipt WHERE at < now() - interval '1 hour'
        ORDER BY at LIMIT {_SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED
    )
"""
_LONG_WORK_S = 86_400.0
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

current_transaction: contextvars.ContextVar[Transaction | None] = contextvars.ContextVar(
    "memwell_postgres", default=None
)


class Connections:
    """Runs all operations of a process on a store. Safe for any thread, and after a fork."""

    def __init__(self, pool: Pool, walls: Walls, place: str) -> None:
        self.pool = pool
        self.walls = walls
        self.place = place
        self._writes = itertools.count(1)
        self._sweeping = threading.Lock()

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
        return self.again(lambda link: outside(Session(link, self.walls)), reading=True)

    def apart(self, operation: Operation[T]) -> T:
        """Run long maintenance on a connection outside the pool, without a transaction, time limit, wall or retry."""
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

    def write(self, space: Space | None, operation: Operation[T], *, whole: bool = False) -> T:
        """Run an operation in a transaction and return when it is committed. An operation that raises changes nothing.

        An operation may be run again after a lost connection, so it must not change anything but the store. One that is
        ``whole`` is a single statement, which changes nothing when it refuses: it needs no savepoint.
        """
        self.pool.ready()
        transaction = self.transaction_here()
        if transaction is not None:
            return transaction.run(space, operation, writing=True, whole=whole)
        return self._counted(self.again(lambda link: self._write(link, space, operation)))

    def call(self, space: Space, sql: str, bindings: Sequence[Any], *, answered: tuple[Any, ...]) -> tuple[Any, ...]:
        """Call a function that changes a space, with one statement; its row.

        The function sets the wall. The first three values are the space, the lock to take and the receipt to store with a
        change; the last two are NULL in a transaction, which has its own. ``answered`` is the row of a change whose answer
        was lost.
        """
        if self.transaction_here() is not None or self.walls.pooled or space_key(space) != space.encoded():
            return self.write(
                space, lambda session: session.at_once(sql, space, (None, None, *bindings))[0], whole=True
            )
        self.pool.ready()
        return self._counted(self.again(lambda link: self._call(link, space, sql, bindings, answered)))

    def _call(
        self, link: Link, space: Space, sql: str, bindings: Sequence[Any], answered: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        receipt, lock = uuid4(), domain_lock(self.walls.schema, space)
        try:
            return Session(link, self.walls).at_once(sql, space, (lock, receipt, *bindings))[0]
        except psycopg.Error as error:
            if not is_lost(error, link):
                raise
            self.pool.forget_idle()
            if not self._was_kept(space_key(space), receipt):
                raise
            return answered

    def _counted(self, result: T) -> T:
        """Count a write, and drop old receipts now and then."""
        if next(self._writes) % _SWEEP_EVERY == 0:
            self._sweep_soon()
        return result

    def again(self, attempt: Callable[[Link], T], *, reading: bool = False, apart: bool = False) -> T:
        """Run an idempotent attempt on a connection; again after a lost connection, and a few times after conflicts.

        With ``apart`` the connection is not one of the pool.
        """
        lost, clashes = 0, 0
        while True:
            link = self.pool.spare() if apart else self.pool.take()
            try:
                return attempt(link)
            except psycopg.Error as error:
                lost += is_lost(error, link)
                clashes += is_clash(error)
                retried = lost == 1 if is_lost(error, link) else is_clash(error) and clashes < _CLASHES
                if not retried:
                    raise translated(error, self.place, reading=reading) from error
                if lost:
                    self.pool.forget_idle()
            finally:
                if apart:
                    link.close()
                else:
                    self.pool.give(link)

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
        """Whether a transaction with a lost answer was committed; if not, make sure that it never is."""

        def decide(link: Link) -> bool:
            session = Session(link, self.walls)
            session.look(None)
            session.execute(*_receipt(owner, receipt, kept=False))
            sql = "SELECT kept FROM memwell_receipt WHERE space = %s AND id = %s"
            return session.one(sql, (owner, receipt)) == (True,)

        try:
            # Outside the pool, all of whose connections may be waiting for this.
            return self.again(decide, apart=True)
        except BackendError as error:
            raise BackendUnavailable(
                f"the connection to the store {self.place} was lost while it committed, and it cannot be asked; "
                "what was written may or may not be stored"
            ) from error

    def _sweep_soon(self) -> None:
        """Drop old receipts in a thread, unless one is at it: no write waits for that."""
        if self._sweeping.acquire(blocking=False):
            threading.Thread(target=self._sweep_receipts, name="memwell-receipts", daemon=True).start()

    def _sweep_receipts(self) -> None:
        # What is left is dropped by the next sweep.
        with suppress(BackendError):
            while self.read(None, lambda session: session.execute(_OLD_RECEIPTS).rowcount) == _SWEPT_AT_ONCE:
                pass
        self._sweeping.release()

    @staticmethod
    def _roll_back(session: Session) -> None:
        """Roll back; where that fails, close the connection, which does the same."""
        try:
            if not session.link.closed and session.begun:
                session.roll_back()
        except psycopg.Error:
            session.link.close()

    # Transactions

    def transaction(self) -> Transaction:
        """Everything written inside is committed together."""
        return Transaction(self)

    def transaction_here(self) -> Transaction | None:
        """The open transaction on this store that the calling context is inside of."""
        transaction = current_transaction.get()
        while transaction is not None:
            if transaction.connections is self and transaction.open:
                return transaction
            transaction = transaction.outer
        return None

    def close(self) -> None:
        """Close every idle connection; one in use is closed when it comes back."""
        self.pool.close()


def _receipt(owner: str, receipt: UUID, *, kept: bool) -> Statement:
    # The transaction itself must be the first to store its receipt; the one who decides later may find it.
    rest = "" if kept else " ON CONFLICT DO NOTHING"
    return f"INSERT INTO memwell_receipt (space, id, kept) VALUES (%s, %s, %s){rest}", (owner, receipt, kept)


class Transaction:
    """An explicit transaction, a context manager. Inside another on the same store it is a savepoint."""

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.open = False
        self.outer: Transaction | None = None
        self._around: Transaction | None = None
        self._savepoint: Savepoint | None = None
        self._session: Session | None = None
        self._owner: Space | None = None
        self._wrote = False
        self._lock = threading.RLock()
        self._failed: BaseException | None = None

    def __enter__(self) -> None:
        self.outer = current_transaction.get()
        self._around = self.connections.transaction_here()
        if self._around is not None:
            self._savepoint = self._around.savepoint()
            return
        self.connections.pool.ready()
        self.open = True
        current_transaction.set(self)

    def _usable(self) -> Session:
        if not self.open:
            raise BackendError("the transaction has ended")
        if self._failed is not None:
            raise BackendUnavailable(
                "the transaction was given up after an error inside it; nothing was stored"
            ) from self._failed
        if self._session is None:
            # Lazy: no connection is taken before the first read or write.
            self._session = Session(self.connections.pool.take(), self.connections.walls)
            self._session.begin()
        return self._session

    def savepoint(self) -> Savepoint:
        """Make a savepoint."""
        with self._lock:
            return self._usable().save()

    def leave(self, savepoint: Savepoint, error: BaseException | None) -> None:
        """Release a savepoint, or roll back to it after an error."""
        with self._lock:
            if self._failed is not None and error is not None:
                return
            session = self._usable()
            try:
                if error is None:
                    session.keep(savepoint)
                else:
                    session.undo(savepoint)
            except psycopg.Error as failure:
                self._give_up(session, failure)

    def run(self, space: Space | None, operation: Operation[T], *, writing: bool, whole: bool = False) -> T:
        """Run an operation inside; a write that raises is rolled back alone and leaves the transaction open.

        One that is ``whole`` has no savepoint: after an error of the server the transaction is given up.
        """
        with self._lock:
            session = self._usable()
            # Before the savepoint: a rollback to it would release the lock.
            session.enter(space, alone=True, writing=writing)
            try:
                if not writing:
                    return operation(session)
                if not whole:
                    return self._written(session, space, operation)
                result = operation(session)
                self._wrote, self._owner = True, self._owner or space
                return result
            except psycopg.Error as error:
                if whole or not writing:
                    self._give_up(session, error)
                raise translated(error, self.connections.place) from error

    def _written(self, session: Session, space: Space | None, operation: Operation[T]) -> T:
        savepoint = session.save()
        try:
            result = operation(session)
        except BaseException:
            try:
                session.undo(savepoint)
            except psycopg.Error as broken:
                # The connection was lost, or the savepoint was never made.
                self._give_up(session, broken)
            raise
        session.keep(savepoint)
        self._wrote, self._owner = True, self._owner or space
        return result

    def _give_up(self, session: Session, error: psycopg.Error) -> None:
        """The server has rolled the whole transaction back."""
        self._failed = error
        with suppress(psycopg.Error):
            session.roll_back()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._around is not None:
            assert self._savepoint is not None, "left before it was entered"
            self._around.leave(self._savepoint, error)
            return
        with self._lock:
            self.open = False
            current_transaction.set(self.outer)
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
