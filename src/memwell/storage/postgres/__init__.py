"""A store in PostgreSQL, for any number of processes and machines."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any

import psycopg

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError, ConfigurationError
from memwell.messages import forget_decoded
from memwell.records import Page, Space
from memwell.settings import Settings
from memwell.storage import arguments as given
from memwell.storage.postgres.address import Address, address_of
from memwell.storage.postgres.blobs import PostgresBlobs
from memwell.storage.postgres.checking import complaints
from memwell.storage.postgres.connections import Connections, Session, current_transaction
from memwell.storage.postgres.facts import Server, counted, server_of
from memwell.storage.postgres.failures import is_starting, translated
from memwell.storage.postgres.index import PostgresIndex
from memwell.storage.postgres.kv import PostgresKeyValue
from memwell.storage.postgres.log import PostgresLog
from memwell.storage.postgres.pool import Link, Pool, connect, session_options
from memwell.storage.postgres.schema import SEALED_TABLES, TABLES, migrate, seal_statements, vectors_schema
from memwell.storage.postgres.session import Walls
from memwell.storage.postgres.spaces import spaces_after
from memwell.storage.postgres.waking import Waking
from memwell.storage.protocols import Backend
from memwell.values import check_text

OLDEST_SERVER = 140_000
OLDEST_VECTOR = (0, 8)


class PostgresBackend(Backend):
    """A schema of a PostgreSQL database with pgvector.

    Several threads, processes and machines may use it at once. Raises ``BackendUnavailable`` when the server cannot be
    reached, ``ConfigurationError`` when the URL cannot be read or the server lacks something, and ``BackendError`` for a
    schema that a newer memwell wrote.
    """

    def __init__(
        self,
        url: str,
        *,
        settings: Settings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings or Settings()
        self._address = address_of(url)
        self._clock = clock
        self._path = f"{self._address.schema},public"
        self._extra = ""
        self._server = self._set_up()
        place = self._address.shown
        pool = Pool(self._open_link, self._settings, place)
        self._connections = Connections(pool, _walls(self._address, self._settings, self._path, self._extra), place)
        self.log = PostgresLog(self._connections, clock)
        self.kv = PostgresKeyValue(self._connections, clock)
        self._index = self.index = PostgresIndex(
            self._connections, hnsw_above=self._settings.hnsw_above, kept_changes=self._settings.kept_changes
        )
        self.blobs = PostgresBlobs(self._connections)
        self._waking = Waking(self._connections, self._open_link)

    def __repr__(self) -> str:
        return f"PostgresBackend({self._address.shown!r})"

    def _open_link(self) -> Link:
        return connect(self._address, self._settings, path=self._path, extra=self._extra)

    def _set_up(self) -> Server:
        """Look at the server, make the tables, and learn how sessions are to be started."""
        place = self._address.shown
        try:
            with self._first_link() as link:
                server = server_of(link)
                _check_server(server, place)
                migrate(link, self._address.schema, place)
                _check_vector(server_of(link), place)
                self._path = f"{self._address.schema},{vectors_schema(link)}"
                if server.commits == "off":
                    self._extra = "-c synchronous_commit=on"
                return server_of(link)
        except psycopg.Error as error:
            raise translated(error, place) from error

    def _first_link(self) -> Link:
        """A first connection. A server that is just starting is waited for, one that is not there is not."""
        end = time.monotonic() + self._settings.connect_timeout_s
        while True:
            try:
                return self._open_link()
            except psycopg.Error as error:
                if not is_starting(error) or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    @property
    def durable(self) -> bool:
        return self._server.durable or self._address.vouched

    def transaction(self) -> AbstractContextManager[None]:
        return self._connections.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return AsyncContext(self._connections.transaction(), current_transaction)

    def _refuse_inside(self, what: str) -> None:
        if self._connections.transaction_here() is not None:
            raise BackendError(f"a store cannot be {what} inside its own transaction")

    def check(self) -> list[str]:
        return self._connections.snapshot(None, complaints)

    def scrub(self) -> None:
        self._refuse_inside("scrubbed")
        self._connections.pool.ready()
        now = self._clock()

        def drop_over(session: Session) -> None:
            session.execute("DELETE FROM memwell_entry WHERE expires <= %s", (now,))

        def vacuum(session: Session) -> None:
            for table in TABLES:
                session.execute(f"VACUUM {self._address.schema}.{table}")

        self._connections.write(None, drop_over)
        self._connections.apart(vacuum)
        # What was read a moment ago is remembered for the whole process.
        forget_decoded()

    def facts(self) -> dict[str, Any]:
        server = self._server
        return {
            "kind": "postgresql",
            "path": self._address.shown,
            "server": server.version,
            "pgvector": server.vector,
            "durability": server.durability,
            "wall": server.wall,
            "pooled": self._address.pooled,
            **self._connections.snapshot(None, counted),
        }

    def spaces(self, *, limit: int = 100, cursor: str | None = None) -> Page[Space]:
        given.check_limit(limit)
        start, now = given.check_name_cursor(cursor) or "", self._clock()
        paths = self._connections.read(None, lambda session: spaces_after(session, start, limit + 1, now))
        return Page([Space.decode(path) for path in paths[:limit]], paths[limit - 1] if len(paths) > limit else None)

    def seal(self, reason: str | None) -> None:
        self._refuse_inside("sealed")
        wanted = None if reason is None else check_text(reason, "a reason")

        def operation(session: Session) -> None:
            session.execute("UPDATE memwell_store SET sealed = %s", (wanted,))
            for statement in seal_statements(SEALED_TABLES, sealed=wanted is not None):
                session.execute(statement)

        self._connections.write(None, operation)

    def notify(self, topic: str) -> None:
        self._waking.notify(topic)

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None] | None:
        return None if self._address.pooled else self._waking.listen(heard)

    def close(self) -> None:
        self._refuse_inside("closed")
        with suppress(BackendError):
            self._index.close()
        self._waking.close()
        self._connections.close()


def _walls(address: Address, settings: Settings, path: str, extra: str) -> Walls:
    sql = "SELECT set_config('memwell.space', %s, true)"
    if address.pooled:
        # What a session was started with is another's by the next transaction, so it is said again in each.
        for option in f"{session_options(settings, path)} {extra}".split("-c "):
            name, _, value = option.strip().partition("=")
            if name and not name.startswith("tcp_"):
                sql += f", set_config('{name}', '{value}', true)"
    return Walls(address.schema, sql, address.pooled)


def _check_server(server: Server, place: str) -> None:
    if server.number < OLDEST_SERVER:
        raise ConfigurationError(f"the store {place} is on PostgreSQL {server.version}; 14 or newer is needed")


def _check_vector(server: Server, place: str) -> None:
    if tuple(int(part) for part in server.vector.split(".")[:2]) < OLDEST_VECTOR:
        raise ConfigurationError(
            f"the store {place} has pgvector {server.vector}; 0.8 or newer is needed: install it on the server and let a "
            "superuser run in the database: ALTER EXTENSION vector UPDATE"
        )


__all__ = ["OLDEST_SERVER", "OLDEST_VECTOR", "PostgresBackend"]
