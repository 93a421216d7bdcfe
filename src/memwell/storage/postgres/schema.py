"""The tables of a store, as numbered steps from an empty schema to today.

A step is never changed once released; a change is a new step. The number of steps applied is in ``memwell_store``. Every
primary key and index begins with the space, no table refers to another by a foreign key, and no number is drawn from a
sequence, so that every table but ``memwell_store`` can be distributed by space.
"""

from __future__ import annotations

from collections.abc import Iterable

import psycopg

from memwell.errors import BackendError, ConfigurationError
from memwell.storage.postgres.names import lock_key
from memwell.storage.postgres.pool import Link
from memwell.storage.postgres.record_tables import CONTENT_TABLE, RECORD_TABLE_NAMES, RECORD_TABLES

_LOG_TABLES = """
CREATE TABLE memwell_receipt (
    space text COLLATE "C" NOT NULL,
    id uuid NOT NULL,
    kept boolean NOT NULL,               -- whether the transaction itself stored it, or one who asked after it
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (space, id)
);
CREATE TABLE memwell_long_space (
    space text COLLATE "C" NOT NULL PRIMARY KEY,
    path text COLLATE "C" NOT NULL       -- of a space whose path is too long to be a key
);
CREATE TABLE memwell_thread (
    space text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,        -- as a key; the name itself where that differs is in long_id
    long_id text COLLATE "C",
    key bigint NOT NULL,                 -- drawn at random, so that a deleted thread is not mistaken for a new one
    created double precision NOT NULL,
    metadata text COLLATE "C" NOT NULL DEFAULT '{}',
    first_index bigint NOT NULL DEFAULT 0,
    next_index bigint NOT NULL DEFAULT 0,
    round bigint NOT NULL DEFAULT 0,
    ended bigint NOT NULL DEFAULT -1,    -- the round closed by hand
    messages bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    edits bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (space, id)
) WITH (fillfactor = 50);                -- its row changes with every message; room in the page keeps that cheap
CREATE TABLE memwell_message (
    space text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    index bigint NOT NULL,
    round bigint NOT NULL,
    tokens bigint NOT NULL,
    id text COLLATE "C" NOT NULL,        -- as a key, like a thread's
    long_id text COLLATE "C",
    body text COLLATE "C",               -- JSON; NULL where a message was removed
    PRIMARY KEY (space, thread, index)
);
CREATE UNIQUE INDEX memwell_message_id ON memwell_message (space, thread, id);
CREATE TABLE memwell_message_version (
    space text COLLATE "C" NOT NULL,
    thread bigint NOT NULL,
    index bigint NOT NULL,
    number bigint NOT NULL,
    replaced double precision NOT NULL,
    body text COLLATE "C",
    PRIMARY KEY (space, thread, index, number)
);
"""

_APPENDING = """
CREATE FUNCTION memwell_append(
    p_space text, p_lock bigint, p_thread text, p_long_thread text, p_key bigint, p_now double precision,
    p_human boolean, p_tokens bigint, p_id text, p_long_id text, p_body text,
    OUT o_index bigint, OUT o_round bigint
) LANGUAGE plpgsql AS $$
DECLARE
    v_key bigint;
BEGIN
    PERFORM set_config('memwell.space', p_space, true), pg_advisory_xact_lock_shared(p_lock);
    LOOP
        UPDATE memwell_thread SET
            next_index = next_index + 1, messages = messages + 1, tokens = tokens + p_tokens,
            round = CASE WHEN p_human OR round = ended THEN round + 1 ELSE round END
            WHERE space = p_space AND id = p_thread
            RETURNING key, next_index - 1, round INTO v_key, o_index, o_round;
        EXIT WHEN FOUND;
        INSERT INTO memwell_thread (space, id, long_id, key, created)
            VALUES (p_space, p_thread, p_long_thread, p_key, p_now) ON CONFLICT DO NOTHING;
    END LOOP;
    IF o_index > 4294967295 THEN
        RAISE EXCEPTION 'the thread is full' USING ERRCODE = 'MWS02';
    END IF;
    INSERT INTO memwell_message (space, thread, index, round, tokens, id, long_id, body)
        VALUES (p_space, v_key, o_index, o_round, p_tokens, p_id, p_long_id,
                '{"index":' || o_index || ',"round":' || o_round || ',' || p_body);
END $$;

CREATE FUNCTION memwell_append_some(
    p_space text, p_lock bigint, p_thread text, p_long_thread text, p_key bigint, p_now double precision,
    p_human boolean[], p_tokens bigint[], p_ids text[], p_long_ids text[], p_bodies text[],
    OUT o_next bigint, OUT o_round bigint, OUT o_ended bigint
) LANGUAGE plpgsql AS $$
DECLARE
    v_key bigint;
    v_round bigint;
    v_rounds bigint[] := '{}';
    v_human boolean;
BEGIN
    PERFORM set_config('memwell.space', p_space, true), pg_advisory_xact_lock_shared(p_lock);
    LOOP
        SELECT key, next_index, round, ended INTO v_key, o_next, o_round, o_ended FROM memwell_thread
            WHERE space = p_space AND id = p_thread FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO memwell_thread (space, id, long_id, key, created)
            VALUES (p_space, p_thread, p_long_thread, p_key, p_now) ON CONFLICT DO NOTHING;
    END LOOP;
    IF o_next + cardinality(p_ids) > 4294967296 THEN
        RAISE EXCEPTION 'the thread is full' USING ERRCODE = 'MWS02';
    END IF;
    v_round := o_round;
    FOREACH v_human IN ARRAY p_human LOOP
        v_round := CASE WHEN v_human OR v_round = o_ended THEN v_round + 1 ELSE v_round END;
        v_rounds := v_rounds || v_round;
    END LOOP;
    UPDATE memwell_thread SET
        next_index = o_next + cardinality(p_ids), messages = messages + cardinality(p_ids), round = v_round,
        tokens = tokens + (SELECT sum(one) FROM unnest(p_tokens) AS one)
        WHERE space = p_space AND id = p_thread;
    INSERT INTO memwell_message (space, thread, index, round, tokens, id, long_id, body)
        SELECT p_space, v_key, o_next + place - 1, v_rounds[place], one.tokens, one.id, one.long_id,
               '{"index":' || o_next + place - 1 || ',"round":' || v_rounds[place] || ',' || one.body
        FROM unnest(p_tokens, p_ids, p_long_ids, p_bodies) WITH ORDINALITY AS one (tokens, id, long_id, body, place);
END $$;
"""

_KEY_TABLES = """
CREATE TABLE memwell_entry (
    space text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    long_key text COLLATE "C",
    version bigint NOT NULL,
    expires double precision,
    value text COLLATE "C",              -- JSON, or NULL where there are bytes
    bytes bytea,
    document text COLLATE "C",           -- JSON for filters, where it is not the value's own
    PRIMARY KEY (space, key)
);
CREATE INDEX memwell_entry_expires ON memwell_entry (space, expires) WHERE expires IS NOT NULL;
CREATE TABLE memwell_blob (
    space text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (space, digest)
);
ALTER TABLE memwell_blob ALTER COLUMN data SET STORAGE EXTERNAL;
"""

WALLED = (
    "memwell_thread",
    "memwell_message",
    "memwell_message_version",
    "memwell_entry",
    "memwell_blob",
    CONTENT_TABLE,
)
"""The tables with content: what they hold is seen by who is in the space, and by the store's own upkeep."""

TABLES = tuple(dict.fromkeys((*WALLED, "memwell_long_space", "memwell_receipt", *RECORD_TABLE_NAMES)))
"""All tables that are written to."""

SEALED_TABLES = tuple(table for table in TABLES if table != "memwell_receipt")
"""Those that a seal closes: all but the receipts, since sealing itself leaves one."""

_SEALING = """
CREATE FUNCTION memwell_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', (SELECT sealed FROM memwell_store) USING ERRCODE = 'MWS01';
END $$;
"""


def _walls() -> str:
    # The setting is looked up once a statement, not once a row, because it is asked for in a query of its own.
    setting = "(SELECT current_setting('memwell.space', true))"
    return "".join(
        f"""
        ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
        ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
        CREATE POLICY memwell_wall ON {table}
            USING (space = {setting} OR {setting} = '*') WITH CHECK (space = {setting} OR {setting} = '*');
        """
        for table in WALLED
    )


MIGRATIONS = (_LOG_TABLES + _APPENDING + _KEY_TABLES + RECORD_TABLES + _SEALING + _walls(),)


def migrate(link: Link, schema: str, place: str) -> None:
    """Bring a schema to today's step, one process at a time; one that is there already is only read.

    Raises ``BackendError`` for one that a newer memwell wrote, ``ConfigurationError`` where something must be set up first.
    """
    if _version(link, schema) == len(MIGRATIONS):
        return
    _ensure_vectors(link, place)
    with link.transaction():
        # Whoever comes second waits here, and then finds it done.
        link.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key("migrate", schema),))
        _ensure_schema(link, schema, place)
        version = _version(link, schema)
        if version > len(MIGRATIONS):
            raise BackendError(
                f"the store {place} has the format {version}, which a newer memwell wrote; this one knows up to "
                f"{len(MIGRATIONS)}; update memwell"
            )
        _run(link, f"SET LOCAL search_path TO {schema}, {vectors_schema(link)}")
        if not version:
            _run(link, "CREATE TABLE memwell_store (version integer NOT NULL, sealed text)")
            _run(link, "INSERT INTO memwell_store (version) VALUES (0)")
        for step in MIGRATIONS[version:]:
            _run(link, step)
        link.execute("UPDATE memwell_store SET version = %s", (len(MIGRATIONS),))


def _run(link: Link, sql: str) -> None:
    # Through the plain protocol, which takes many statements at once.
    link.execute(sql.encode())


def _version(link: Link, schema: str) -> int:
    found = link.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{schema}.memwell_store",)).fetchone()
    if found != (True,):
        return 0
    row = link.execute(f"SELECT version FROM {schema}.memwell_store".encode()).fetchone()
    return 0 if row is None else int(row[0])


def _ensure_schema(link: Link, schema: str, place: str) -> None:
    known = link.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
    if known is not None:
        return
    # Asked now: when it has failed, nothing can be asked any more.
    role = _role(link)
    try:
        _run(link, f"CREATE SCHEMA {schema}")
    except psycopg.errors.InsufficientPrivilege as error:
        raise ConfigurationError(
            f"the store {place} has no schema {schema!r} and may not make one; let who may run: "
            f"CREATE SCHEMA {schema} AUTHORIZATION {role}"
        ) from error


def _ensure_vectors(link: Link, place: str) -> None:
    if vectors_schema(link) is not None:
        return
    try:
        with link.transaction():
            link.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key("extension"),))
            _run(link, "CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.Error as error:
        raise ConfigurationError(
            f"the store {place} needs the extension 'vector' (pgvector 0.8 or newer); install it on the server and let "
            "a superuser run in the database: CREATE EXTENSION vector"
        ) from error


def vectors_schema(link: Link) -> str | None:
    """The schema that pgvector lies in, as SQL writes it; None where it is not installed."""
    row = link.execute(
        "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'vector'"
    ).fetchone()
    return None if row is None else str(row[0])


def _role(link: Link) -> str:
    row = link.execute("SELECT quote_ident(current_user)").fetchone()
    return "" if row is None else str(row[0])


def seal_statements(tables: Iterable[str], *, sealed: bool) -> list[str]:
    """What makes every later write fail, also those of connections that are open already, or lets them through again."""
    if not sealed:
        return [f"DROP TRIGGER IF EXISTS memwell_sealed ON {table}" for table in tables]
    return [
        f"CREATE OR REPLACE TRIGGER memwell_sealed BEFORE INSERT OR UPDATE OR DELETE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION memwell_refuse()"
        for table in tables
    ]


__all__ = ["MIGRATIONS", "SEALED_TABLES", "TABLES", "WALLED", "migrate", "seal_statements", "vectors_schema"]
