"""A store in PostgreSQL, for any number of processes and machines, with its values and blobs."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

import psycopg

from memwell._asyncify import AsyncContext
from memwell.errors import BackendError, ConfigurationError, InvalidInput
from memwell.filters import Filter
from memwell.records import Page, Space
from memwell.settings import Settings
from memwell.storage import arguments as given
from memwell.storage.parts import BaseBlobs, BaseKeyValue, StoredEntry
from memwell.storage.postgres.connections import (
    HERE,
    Address,
    Connections,
    Link,
    Pool,
    Session,
    Walls,
    address_of,
    connect,
    current_transaction,
    is_of_pooler,
    is_starting,
    opened,
    session_options,
    translated,
)
from memwell.storage.postgres.index import PostgresIndex
from memwell.storage.postgres.log import PostgresLog
from memwell.storage.postgres.schema import (
    ENTRY,
    SEALED_TABLES,
    TABLES,
    WATCH,
    compiled,
    filter_document,
    keyed,
    lock_key,
    long_name,
    migrate,
    name_key,
    seal_statements,
    space_key,
    vectors_schema,
    watch_statements,
)
from memwell.storage.protocols import Backend, Entry, Written
from memwell.values import check_id, check_text

# Facts about the store and its server

_COUNTS = """
    SELECT (SELECT count(*) FROM memwell_thread), (SELECT count(*) FROM memwell_message WHERE body IS NOT NULL),
           (SELECT count(*) FROM memwell_entry), (SELECT count(*) FROM memwell_record),
           (SELECT count(*) FROM memwell_record_vector), (SELECT count(*) FROM memwell_blob),
           (SELECT version FROM memwell_store), (SELECT sealed FROM memwell_store),
           (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE oid = ANY (%s::text[]::regclass[]))::bigint
"""
_SPACES = """
    SELECT coalesce(long.path, counted.space), records, vectors, dimensions
    FROM memwell_record_space AS counted LEFT JOIN memwell_long_space AS long USING (space) ORDER BY counted.space
"""
_SERVER = """
    SELECT current_setting('server_version'), current_setting('server_version_num')::int,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
           current_setting('fsync') = 'on', current_setting('synchronous_commit'),
           current_setting('is_superuser') = 'on', (SELECT rolbypassrls FROM pg_roles WHERE rolname = current_user)
"""


class Server(NamedTuple):
    """Facts about the server, read once when a store is opened."""

    version: str
    number: int
    vector: str
    syncs: bool
    """Whether an acknowledged commit is on disk. Our sessions turn ``synchronous_commit`` on if it is off."""
    commits: str
    """``synchronous_commit`` as the server has it."""
    superuser: bool
    bypasses: bool

    @property
    def wall_stands(self) -> bool:
        """Whether row level security applies."""
        return not (self.superuser or self.bypasses)

    @property
    def wall(self) -> str:
        """The same in words."""
        if not self.wall_stands:
            why = "is a superuser" if self.superuser else "has BYPASSRLS"
            return f"open: the role {why}, and PostgreSQL applies no policy to it"
        return "stands: a session sees the rows of the space it is set to, and no others"

    @property
    def durability(self) -> str:
        """What a crash of the server can lose, in words."""
        if not self.syncs:
            return "fsync is off: a crash of the server's machine can lose or damage anything"
        if self.commits == "off":
            return "a commit is on the disk when it is answered (the server's synchronous_commit=off is overruled)"
        return f"a commit is on the disk when it is answered (synchronous_commit={self.commits})"


def server_of(link: Link) -> Server:
    """Read the facts of a server."""
    row = link.execute(_SERVER).fetchone()
    assert row is not None
    return Server(*row)


def counted(session: Session) -> dict[str, Any]:
    """All counts, and a line for every space with records."""
    row = session.one(_COUNTS, (list(TABLES),))
    assert row is not None
    names = ("threads", "messages", "entries", "records", "vectors", "blobs", "format", "sealed", "bytes")
    spaces = [
        {"space": list(Space.decode(path)), "records": records, "vectors": vectors, "dimensions": dimensions}
        for path, records, vectors, dimensions in session.rows(_SPACES)
    ]
    return {**dict(zip(names, row, strict=True)), "spaces": spaces}


# Checks: the tables agree with each other

_LOOKS = {
    "thread {}: its listing counts its messages or tokens otherwise than they are": """
        SELECT thread.space || ' ' || thread.id FROM memwell_thread AS thread LEFT JOIN (
            SELECT space, thread, count(body) AS live, sum(tokens) AS tokens, min(index) AS lowest, max(index) AS highest
            FROM memwell_message GROUP BY space, thread
        ) AS held ON held.space = thread.space AND held.thread = thread.key
        WHERE thread.messages <> coalesce(held.live, 0) OR thread.tokens <> coalesce(held.tokens, 0)
            OR held.lowest < thread.first_index OR held.highest >= thread.next_index""",
    "message {}: it belongs to no thread": """
        SELECT message.space || ' ' || message.thread || ' ' || message.index FROM memwell_message AS message
        WHERE NOT EXISTS (SELECT 1 FROM memwell_thread AS thread
                          WHERE thread.space = message.space AND thread.key = message.thread)""",
    "version {}: it belongs to no message": """
        SELECT version.space || ' ' || version.thread || ' ' || version.index FROM memwell_message_version AS version
        WHERE NOT EXISTS (SELECT 1 FROM memwell_message AS message WHERE message.space = version.space
                          AND message.thread = version.thread AND message.index = version.index)""",
    "entry {}: it holds neither JSON nor bytes, or both": """
        SELECT space || ' ' || key FROM memwell_entry WHERE (value IS NULL) = (bytes IS NULL)""",
    "blob {}: its bytes are not those of its digest": """
        SELECT space || ' ' || digest FROM memwell_blob WHERE encode(sha256(data), 'hex') <> digest""",
    "space {}: it counts its records, vectors or words otherwise than they are": """
        SELECT counted.space FROM memwell_record_space AS counted
        LEFT JOIN (SELECT space, count(*) AS records, sum(length) AS length FROM memwell_record GROUP BY space) AS held
            ON held.space = counted.space
        LEFT JOIN (SELECT space, count(*) AS vectors FROM memwell_record_vector GROUP BY space) AS pointed
            ON pointed.space = counted.space
        WHERE counted.records <> coalesce(held.records, 0) OR counted.length <> coalesce(held.length, 0)
            OR counted.vectors <> coalesce(pointed.vectors, 0)""",
    "vector {}: it belongs to no record": """
        SELECT held.space || ' ' || held.number FROM memwell_record_vector AS held
        WHERE NOT EXISTS (SELECT 1 FROM memwell_record AS record
                          WHERE record.space = held.space AND record.number = held.number)""",
    "words {}: they belong to no record": """
        SELECT held.space || ' ' || held.number FROM memwell_record_words AS held
        WHERE NOT EXISTS (SELECT 1 FROM memwell_record AS record
                          WHERE record.space = held.space AND record.number = held.number)""",
    "record {}: it has no words, but its text does": """
        SELECT record.space || ' ' || record.number FROM memwell_record AS record
        WHERE record.length > 0 AND NOT EXISTS (SELECT 1 FROM memwell_record_words AS held
                                                WHERE held.space = record.space AND held.number = record.number)""",
}
_MOST = 20


def complaints(session: Session) -> list[str]:
    """The faults of the store, at most twenty of a kind."""
    return [wrong.format(row[0]) for wrong, sql in _LOOKS.items() for row in session.rows(f"{sql} LIMIT {_MOST}")]


# The list of spaces

# The next space of each table is one index lookup, however many rows a space has.
_NEXT = """
    SELECT least(
        (SELECT min(space) FROM memwell_thread WHERE space > {after}),
        (SELECT min(space) FROM memwell_entry WHERE space > {after} AND (expires IS NULL OR expires > %(now)s)),
        (SELECT min(space) FROM memwell_record WHERE space > {after}),
        (SELECT min(space) FROM memwell_blob WHERE space > {after})
    )
"""
_ALL_SPACES = f"""
    WITH RECURSIVE found (space) AS (
        {_NEXT.format(after="%(start)s")}
        UNION ALL
        SELECT ({_NEXT.format(after="found.space")}) FROM found WHERE found.space IS NOT NULL
    )
    SELECT coalesce(long.path, found.space) FROM found LEFT JOIN memwell_long_space AS long USING (space)
    WHERE found.space IS NOT NULL ORDER BY found.space LIMIT %(most)s
"""


def spaces_after(session: Session, start: str, most: int, now: float) -> list[str]:
    """The encoded paths of spaces behind ``start``, in order."""
    bindings = {"start": keyed(start), "now": now, "most": most}
    return [row[0] for row in session.rows(_ALL_SPACES, bindings)]


# What was written while the store was watched

_PAGE_OF_WRITTEN = """
    SELECT coalesce(long.path, noted.space), noted.name, noted.number, noted.version
    FROM memwell_written AS noted LEFT JOIN memwell_long_space AS long USING (space)
    WHERE part = %s AND (noted.space, noted.number, noted.key) > (%s, %s, %s)
    ORDER BY noted.space, noted.number, noted.key LIMIT %s
"""
_DROP_WRITTEN = """
    DELETE FROM memwell_written AS noted
    USING unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::text[]) AS one (space, part, name, number, version)
    WHERE noted.space = one.space AND noted.part = one.part AND noted.number = one.number AND noted.name = one.name
        AND noted.version = one.version::bigint
"""


# Notifications: NOTIFY, and a thread that LISTENs while there are listeners

_logger = logging.getLogger("memwell.storage")
_LONGEST_TOPIC = 7_000
"""PostgreSQL takes a little less than 8,000 bytes."""
_LOOK_S = 0.5
_FIRST_NAP_S, _LONGEST_NAP_S = 0.1, 5.0


class Notifications:
    """The notifications of a store. A process that loses its connection misses those in between."""

    def __init__(self, connections: Connections, open_link: Callable[[], Link]) -> None:
        self._connections = connections
        self._open_link = open_link
        self._channel = f"memwell_{lock_key('notices', connections.walls.schema) & (2**63 - 1):x}"
        self._lock = threading.Lock()
        self._heard: dict[object, Callable[[str], None]] = {}
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._ending = threading.Event()
        self._listening = threading.Event()

    def notify(self, topic: str) -> None:
        """Notify all listeners; inside a transaction, when it commits. Raises ``InvalidInput`` for too long a topic."""
        if len(check_id(topic, "a topic").encode()) > _LONGEST_TOPIC:
            raise InvalidInput(f"a topic is at most {_LONGEST_TOPIC} bytes")

        def send(session: Session) -> None:
            session.execute("SELECT pg_notify(%s, %s)", (self._channel, topic))

        if self._connections.transaction_here() is not None:
            self._connections.write(None, send)
        else:
            self._connections.read(None, send)

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None]:
        """Call ``heard`` with each topic until the returned function is called. Returns when it is listening."""
        token = object()
        self._connections.pool.ready()
        with self._lock:
            if self._pid != os.getpid():
                self._pid, self._thread, self._heard = os.getpid(), None, {}
            self._heard[token] = heard
            if self._thread is None:
                self._ending, self._listening = threading.Event(), threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=(self._ending, self._listening), name="memwell-listen", daemon=True
                )
                self._thread.start()
        self._listening.wait(_LONGEST_NAP_S)

        def stop() -> None:
            with self._lock:
                self._heard.pop(token, None)

        return stop

    def _run(self, ending: threading.Event, listening: threading.Event) -> None:
        nap = _FIRST_NAP_S
        while not ending.is_set():
            try:
                with self._open_link() as link:
                    link.execute(f"LISTEN {self._channel}".encode())
                    listening.set()
                    nap = _FIRST_NAP_S
                    self._hear(link, ending)
            except (psycopg.Error, BackendError) as error:
                _logger.debug("listening was interrupted: %s", type(error).__name__)
                ending.wait(nap)
                nap = min(nap * 2, _LONGEST_NAP_S)

    def _hear(self, link: Link, ending: threading.Event) -> None:
        while not ending.is_set():
            for notice in link.notifies(timeout=_LOOK_S):
                self._tell(notice.payload)
                if ending.is_set():
                    return

    def _tell(self, topic: str) -> None:
        with self._lock:
            wanted = list(self._heard.values())
        for heard in wanted:
            try:
                heard(topic)
            except Exception:
                # A failing listener must not stop the others.
                _logger.exception("a listener failed")

    def close(self) -> None:
        """Stop listening."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._heard.clear()
            self._ending.set()
        if thread is not None and self._pid == os.getpid() and thread is not threading.current_thread():
            with suppress(RuntimeError):
                thread.join(_LOOK_S * 4)


# The store

OLDEST_SERVER = 140_000
OLDEST_VECTOR = (0, 8)


_REWRITTEN_BYTES = 16 * 2**20
"""Tables up to this size are rewritten: ``VACUUM`` frees the room of a deleted row, and leaves its bytes there until
another takes it. No one can read or write a table while it is rewritten, so larger ones are not.
"""
_LOCKED_MS = 1_000
"""How long rewriting waits for the users of a table, and new ones behind it."""
_OLDER_S = 2.0
_OLDER = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND backend_type = 'client backend' AND greatest(age(backend_xmin), age(backend_xid)) > age(%s::text::xid)
"""


# An operator may have put a table into partitions.
_WHOLE_OR_PARTS = """
    SELECT coalesce(part.relid, whole.oid)::regclass::text FROM pg_class AS whole
    LEFT JOIN LATERAL pg_partition_tree(whole.oid) AS part ON whole.relkind = 'p'
    WHERE whole.relname = ANY (%s) AND whole.relnamespace = %s::text::regnamespace
    AND whole.relkind IN ('r', 'p') AND part.isleaf IS NOT FALSE
"""


def _wait_for_older(session: Session) -> bool:
    """Wait for the transactions that see what was deleted until now; False when one goes on for longer."""
    row = session.one("SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text")
    end = time.monotonic() + _OLDER_S
    while session.one(_OLDER, row or ()) != (0,):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def _clean_table(session: Session, table: str) -> bool:
    """Rewrite or vacuum a table; False when it cannot be locked for that."""
    how = "VACUUM"
    if session.one("SELECT pg_total_relation_size(%s::text::regclass) <= %s", (table, _REWRITTEN_BYTES)) == (True,):
        how = "VACUUM FULL"
    try:
        session.execute(f"{how} {table}")
    except psycopg.errors.LockNotAvailable:
        return False
    return True


class PostgresBackend(Backend):
    """A schema of a PostgreSQL database with pgvector.

    Several threads, processes and machines may use it at once. Raises ``BackendUnavailable`` when the server cannot be
    reached, ``ConfigurationError`` when the URL cannot be read or the server lacks something, and ``BackendError`` for a
    schema that a newer memwell wrote.
    """

    def __init__(self, url: str, *, settings: Settings | None = None, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings or Settings()
        self._address = address_of(url)
        self._clock = clock
        self._options = session_options(self._settings, f"{self._address.schema},public")
        self._server = self._set_up()
        place = self._address.shown
        pool = Pool(self._open_link, self._settings, place)
        self._connections = Connections(pool, _walls(self._address, self._options), place)
        self.log = PostgresLog(self._connections, clock)
        self.kv = PostgresKeyValue(self._connections, clock)
        self._index = self.index = PostgresIndex(
            self._connections, hnsw_above=self._settings.hnsw_above, kept_changes=self._settings.kept_changes
        )
        self.blobs = PostgresBlobs(self._connections)
        self._notifications = Notifications(self._connections, self._open_link)

    def __repr__(self) -> str:
        return f"PostgresBackend({self._address.shown!r})"

    def _open_link(self) -> Link:
        return connect(self._address, self._settings, self._options)

    def _set_up(self) -> Server:
        """Check the server, migrate the schema, and choose the settings of sessions."""
        place = self._address.shown
        try:
            with self._first_link() as link:
                server = server_of(link)
                _check_server(server, place)
                if not self._address.open_wall:
                    _check_wall(server, place)
                migrate(link, self._address.schema, place)
                _check_vector(server_of(link), place)
                self._options["search_path"] = f"{self._address.schema},{vectors_schema(link)}"
                if server.commits == "off":
                    self._options["synchronous_commit"] = "on"
                return server_of(link)
        except psycopg.Error as error:
            raise translated(error, place) from error

    def _first_link(self) -> Link:
        """A connection. Where a pooler is in between and the URL does not say so, what follows is done as if it did.

        A pooler refuses our settings, or it gives out another session than the one that it seemed to open.
        """

        def link() -> Link:
            # Waits for a server that is starting up, not for one that is unavailable.
            return opened(self._open_link, self._settings.connect_timeout_s, is_starting)

        if self._address.pooled is not None:
            return link()
        try:
            first = link()
        except psycopg.Error as error:
            if not is_of_pooler(error):
                raise
        else:
            if first.execute("SELECT pg_backend_pid()").fetchone() == (first.info.backend_pid,):
                return first
            first.close()
        _logger.warning(
            "connections to %s go through a pooler such as PgBouncer, so nothing is prepared or kept in a session; say "
            "prepare=no in the URL, or prepare=yes where the pooler gives out whole sessions",
            self._address.shown,
        )
        self._address = self._address._replace(pooled=True)
        return link()

    @property
    def durable(self) -> bool:
        return self._server.syncs or self._address.vouched

    def transaction(self) -> AbstractContextManager[None]:
        return self._connections.transaction()

    def atransaction(self) -> AsyncContext[None]:
        return AsyncContext(self._connections.transaction(), current_transaction)

    def _refuse_inside(self, what: str) -> None:
        if self._connections.transaction_here() is not None:
            raise BackendError(f"a store cannot be {what} inside its own transaction")

    def check(self) -> list[str]:
        return self._connections.snapshot(None, complaints)

    @property
    def scrubs_quickly(self) -> bool:
        return False

    def scrub(self) -> bool:
        """Rewrite the small tables and ``VACUUM`` the large ones, when no transaction sees what was deleted any more."""
        self._refuse_inside("scrubbed")
        self._connections.pool.ready()
        now = self._clock()

        def drop_over(session: Session) -> None:
            session.execute("DELETE FROM memwell_entry WHERE expires <= %s", (now,))

        def clean(session: Session) -> bool:
            session.execute(f"SET lock_timeout = {_LOCKED_MS}")
            unseen = _wait_for_older(session)
            try:
                self._index.graphs.drop_unused(session)
            except psycopg.errors.LockNotAvailable:
                unseen = False
            tables = [row[0] for row in session.rows(_WHOLE_OR_PARTS, ([*TABLES], self._address.schema))]
            return all([unseen, *(_clean_table(session, table) for table in tables)])

        self._connections.write(None, drop_over)
        return self._connections.apart(clean) and super().scrub()

    def facts(self) -> dict[str, Any]:
        server = self._server
        return {
            "kind": "postgresql",
            "path": self._address.shown,
            "server": server.version,
            "pgvector": server.vector,
            "durability": server.durability,
            "wall": server.wall,
            "pooled": bool(self._address.pooled),
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

    def watch(self, name: str | None) -> bool:
        self._refuse_inside("watched")

        def operation(session: Session) -> None:
            for statement in watch_statements(watched=name is not None):
                session.execute(statement)
            if name is not None:
                session.execute("INSERT INTO memwell_written VALUES ('', %s, 0, %s, '', 0)", (WATCH, name))

        self._connections.write(None, operation)
        return True

    def watched(self) -> str | None:
        def operation(session: Session) -> str | None:
            if session.one("SELECT to_regclass('memwell_written')") == (None,):
                return None
            row = session.one("SELECT key FROM memwell_written WHERE space = '' AND part = %s", (WATCH,))
            return None if row is None else str(row[0])

        return self._connections.read(None, operation)

    def written(self, part: str, *, after: Written | None = None, limit: int = 100) -> list[Written]:
        key = keyed if part == "records" else name_key
        start = ("", -2, "") if after is None else (space_key(after.space), after.number, key(after.key))
        rows = self._connections.read(None, lambda session: session.rows(_PAGE_OF_WRITTEN, (part, *start, limit)))
        return [Written(Space.decode(path), part, *rest) for path, *rest in rows]

    def drop_written(self, notes: Sequence[Written]) -> None:
        if notes:
            noted = [(space_key(note.space), note.part, note.key, note.number, str(note.version)) for note in notes]
            rows = [list(column) for column in zip(*noted, strict=True)]
            self._connections.write(None, lambda session: session.execute(_DROP_WRITTEN, rows))

    def connections(self) -> dict[str, int]:
        return self._connections.pool.counts()

    def notify(self, topic: str) -> None:
        self._notifications.notify(topic)

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None] | None:
        return None if self._address.pooled else self._notifications.listen(heard)

    def close(self) -> None:
        self._refuse_inside("closed")
        self._notifications.close()
        self._connections.close()


def _walls(address: Address, options: Mapping[str, str]) -> Walls:
    sql = "SELECT set_config('memwell.space', %s, true)"
    if address.pooled:
        # A pooled session may be another one in the next transaction, so its settings are repeated in each.
        for name, value in options.items():
            if not name.startswith("tcp_"):
                sql += f", set_config('{name}', '{value}', true)"
    return Walls(address.schema, sql, bool(address.pooled))


def _check_server(server: Server, place: str) -> None:
    if server.number < OLDEST_SERVER:
        raise ConfigurationError(f"the store {place} is on PostgreSQL {server.version}; 14 or newer is needed")


def _check_wall(server: Server, place: str) -> None:
    if not server.wall_stands:
        raise ConfigurationError(
            f"the wall between the spaces of the store {place} would be {server.wall}. Use a role of its own (CREATE ROLE "
            "memwell LOGIN, and make it the owner of the database or of the schema), or say wall=open in the URL"
        )


def _check_vector(server: Server, place: str) -> None:
    if tuple(int(part) for part in server.vector.split(".")[:2]) < OLDEST_VECTOR:
        raise ConfigurationError(
            f"the store {place} has pgvector {server.vector}; 0.8 or newer is needed: install it on the server and let a "
            "superuser run in the database: ALTER EXTENSION vector UPDATE"
        )


# Values by key and blobs in PostgreSQL.

_SWEEP = 8
"""Every put drops up to this many entries of its space that expired, so that they go faster than they come."""
_ROW = "coalesce(long_key, key), value, bytes, version, expires"
_LIVE = "(expires IS NULL OR expires > %s)"
_GET = f"""
    SELECT found.* FROM {HERE} (
        SELECT {_ROW} FROM memwell_entry WHERE space = here.space AND key = %s AND {_LIVE}
    ) AS found
"""
_GET_MANY = _GET.replace("key = %s", "key = ANY(%s)")
_INTO = "INSERT INTO memwell_entry (space, key, long_key, version, expires, value, bytes, document)"
_REPLACING = """
    ON CONFLICT (space, key) DO UPDATE SET version = excluded.version, expires = excluded.expires,
        value = excluded.value, bytes = excluded.bytes, document = excluded.document
"""
_PUT = (
    "SELECT memwell_put(%s, %s::bigint, %s::uuid, %s, %s, %s, %s::double precision, %s, %s::bytea, %s, %s::bigint, %s, "
    "%s::integer)"
)
_DELETE = "SELECT o_version, o_lived FROM memwell_delete_entry(%s, %s::bigint, %s::uuid, %s, %s::bigint, %s)"
_STORE_MANY = f"""
    {_INTO} SELECT here.space, given.* FROM {HERE} unnest(
        %s::text[], %s::text[], %s::bigint[], %s::double precision[], %s::text[], %s::bytea[], %s::text[]
    ) AS given {_REPLACING} RETURNING 1
"""
_AT_ONCE = 500
"""How many entries one statement stores."""
# Entries for filters: a value that is no JSON has no fields.
_FILTERED = """
    (SELECT key AS place, coalesce(long_key, key) AS key, value, bytes, version, expires,
            coalesce(document, value, 'null')::jsonb AS document
     FROM memwell_entry WHERE space = here.space) AS entry
"""


class PostgresKeyValue(BaseKeyValue):
    """Values by key in one table. An expired entry is invisible at once and dropped by later writes."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock

    def _get(self, space: Space, key: str, now: float) -> StoredEntry | None:
        bindings = (name_key(key), now)
        rows = self._connections.read(space, lambda session: session.at_once(_GET, space, bindings))
        return _stored(rows[0]) if rows else None

    def _get_many(self, space: Space, keys: Sequence[str], now: float) -> list[StoredEntry]:
        bindings = ([name_key(key) for key in keys], now)
        rows = self._connections.read(space, lambda session: session.at_once(_GET_MANY, space, bindings))
        return [_stored(row) for row in rows]

    def _put(self, space: Space, entry: StoredEntry, expect: int | None, now: float) -> None:
        _, *columns = _bindings(space, entry)
        row = self._connections.call(space, _PUT, (*columns, expect, now, _SWEEP), answered=(None,))
        if row[0] is not None:
            given.check_version(entry.key, row[0], expect or 0)

    def _delete(self, space: Space, key: str, expect: int | None, now: float) -> bool:
        row = self._connections.call(space, _DELETE, (name_key(key), expect, now), answered=(None, True))
        if row[0] is not None:
            given.check_version(key, row[0], expect or 0)
        return row[1]

    def _scan(
        self, space: Space, where: Filter | None, after: str | None, limit: int, skip: int, now: float
    ) -> list[Entry]:
        condition = compiled(where, ENTRY)
        sql = (
            f"SELECT found.* FROM {HERE} (SELECT key, value, bytes, version, expires FROM {_FILTERED} "
            f"WHERE place > %s AND {_LIVE} AND {condition.sql} ORDER BY place LIMIT %s OFFSET %s) AS found"
        )
        start = "" if after is None else name_key(after)
        bindings = (start, now, *condition.bindings, limit, skip)
        rows = self._connections.read(space, lambda session: session.at_once(sql, space, bindings))
        return [_stored(row).entry() for row in rows]

    def _count(self, space: Space, where: Filter | None, now: float) -> int:
        condition = compiled(where, ENTRY)
        sql = (
            f"SELECT found.* FROM {HERE} (SELECT count(*) FROM {_FILTERED} WHERE {_LIVE} AND {condition.sql}) AS found"
        )
        bindings = (now, *condition.bindings)
        return self._connections.read(space, lambda session: session.at_once(sql, space, bindings))[0][0]

    def _restore(self, space: Space, entries: list[StoredEntry]) -> None:
        # In one order, so that two writers do not deadlock; a key that is there twice has its last value.
        rows = [_bindings(space, one) for _, one in sorted({entry.key: entry for entry in entries}.items())]

        def operation(session: Session) -> None:
            for start in range(0, len(rows), _AT_ONCE):
                _, *columns = map(list, zip(*rows[start : start + _AT_ONCE], strict=True))
                session.at_once(_STORE_MANY, space, columns)

        self._connections.write(space, operation, whole=len(rows) <= _AT_ONCE)

    _put_many = _restore


def _bindings(space: Space, entry: StoredEntry) -> tuple[Any, ...]:
    key, value = name_key(entry.key), entry.value
    stored = (None, value, None) if isinstance(value, bytes) else (value, None, filter_document(value))
    return (space_key(space), key, long_name(entry.key, key), entry.version, entry.expires, *stored)


def _stored(row: tuple[Any, ...]) -> StoredEntry:
    key, value, data, version, expires = row
    return StoredEntry(key, data if value is None else value, version, expires)


# Blobs: in the same transactions as what refers to them.


class PostgresBlobs(BaseBlobs):
    """Bytes in one table, by space and digest."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _put(self, space: Space, digest: str, blob: bytes) -> None:
        sql = "INSERT INTO memwell_blob (space, digest, data) VALUES (%s, %s, %b) ON CONFLICT DO NOTHING"
        self._connections.write(space, lambda session: session.execute(sql, (space_key(space), digest, blob)))

    def _get(self, space: Space, digest: str) -> bytes | None:
        sql = "SELECT data FROM memwell_blob WHERE space = %s AND digest = %s"
        row = self._connections.read(space, lambda session: session.one(sql, (space_key(space), digest)))
        return None if row is None else row[0]

    def _delete(self, space: Space, digest: str) -> bool:
        sql, bindings = "DELETE FROM memwell_blob WHERE space = %s AND digest = %s", (space_key(space), digest)
        return self._connections.write(space, lambda session: session.execute(sql, bindings).rowcount > 0)

    def _scan(self, space: Space, after: str, limit: int) -> list[str]:
        sql = "SELECT digest FROM memwell_blob WHERE space = %s AND digest > %s ORDER BY digest LIMIT %s"
        bindings = (space_key(space), after, limit)
        return [row[0] for row in self._connections.read(space, lambda session: session.rows(sql, bindings))]
