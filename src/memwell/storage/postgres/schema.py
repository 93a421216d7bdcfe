"""The tables of a store, as numbered steps from an empty schema to today, and filters as SQL over them.

A step is never changed once released; a change is a new step. The number of steps applied is in ``memwell_store``, with the
oldest format whose programs can still use the store: so that two versions of memwell run side by side while services are
updated one by one, a step first adds what the newer version needs, and a step of a later version drops what is no longer
used (``USABLE_FROM``). Every primary key and index begins with the space (receipts have one by time, too), no table refers
to another by a foreign key, and no number is drawn from a sequence, so that every table but ``memwell_store`` can be
distributed by space.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeAlias, cast

import msgspec
import psycopg

from memwell.errors import BackendError, ConfigurationError
from memwell.filters import Where
from memwell.records import Space
from memwell.storage.arguments import domain
from memwell.storage.parts import ORDER, Condition, Dialect, FilterTarget, joined

Link: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

# Names: PostgreSQL's indexes take at most 2,700 bytes a row. A name of up to 2,000 bytes is its own *key*. A longer one is
# cut and ends in its digest: keys sort like names, except that names with the same first 2,000 bytes sort by digest.

_LONGEST_NAME = 2_000
_LAST = "\U0010ffff"
"""The largest character: a cut name sorts behind the whole names that begin alike."""


def name_key(name: str) -> str:
    """The key of a name."""
    if len(name) <= _LONGEST_NAME // 4:
        return name
    data = name.encode()
    if len(data) <= _LONGEST_NAME:
        return name
    return f"{data[:_LONGEST_NAME].decode(errors='ignore')}{_LAST}{hashlib.sha256(data).hexdigest()}"


def long_name(name: str, key: str) -> str | None:
    """The name itself, where it differs from its key."""
    return None if name is key or name == key else name


@lru_cache(maxsize=4096)
def space_key(space: Space) -> str:
    """The key of a space in every table, which the wall compares."""
    return keyed(space.encoded())


def new_thread_key() -> int:
    """A random number for a new thread."""
    return secrets.randbits(62)


def lock_key(*parts: str) -> int:
    """The number of an advisory lock. Locks are shared by a whole database, so the schema is among the parts."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


@lru_cache(maxsize=4096)
def domain_lock(schema: str, space: Space) -> int:
    """The advisory lock of the owner of a space."""
    return lock_key("domain", schema, domain(space).encoded())


# Records: their tables, and the functions that change them in one statement. ``memwell_record`` holds the content, behind
# the wall. Words and vectors are in tables without a policy, because PostgreSQL uses neither a word index nor a graph
# behind one; they hold numbers, lexemes and vectors only.
#
# Every key and index begins with the space. In the index of words every lexeme begins with a few letters of the space's
# digest, so that a search reads the postings of its own space however large the others are. A graph (``index.py``) is
# made for one space alone.
#
# The row of a space is locked by every change of its records, so that its counts are true and two writers of one space wait
# for each other. Numbers, changes and counts are the space's own; nothing is drawn from a sequence.

_LONGEST = 200
"""A name of up to this many bytes is its own key. Longer ones would not fit PostgreSQL's indexes."""


def keyed(name: str) -> str:
    """A name as a key of an index: itself, or its beginning and its digest when it is long. No two names share one."""
    if len(name) <= _LONGEST // 4:
        return name
    data = name.encode()
    if len(data) <= _LONGEST:
        return name
    # Longer than every name that is its own key, so that it cannot be mistaken for one.
    return f"{data[:_LONGEST].decode(errors='ignore')}#{hashlib.sha256(data).hexdigest()}"


RECORD_TABLES = """
CREATE TABLE memwell_record_space (
    space text COLLATE "C" NOT NULL PRIMARY KEY,
    next bigint NOT NULL DEFAULT 0,
    change bigint NOT NULL DEFAULT 0,
    forgotten bigint NOT NULL DEFAULT 0,
    records bigint NOT NULL DEFAULT 0,
    vectors bigint NOT NULL DEFAULT 0,
    dimensions integer,
    length bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE memwell_record (
    space text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    time double precision NOT NULL,
    stamp bigint NOT NULL,
    length integer NOT NULL,
    document jsonb NOT NULL,
    metadata text NOT NULL,
    text text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, number)
);
CREATE UNIQUE INDEX memwell_record_key ON memwell_record (space, key);

CREATE TABLE memwell_record_words (
    space text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    part integer NOT NULL,
    length integer NOT NULL,
    words tsvector NOT NULL,
    repeated jsonb,
    PRIMARY KEY (space, number, part)
);
-- Every search reads what waits to be put into the index, of whatever space; so little may wait.
CREATE INDEX memwell_record_words_lexemes ON memwell_record_words USING gin (words) WITH (gin_pending_list_limit = 256);

CREATE TABLE memwell_record_vector (
    space text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    dimensions integer NOT NULL,
    vector halfvec NOT NULL,
    PRIMARY KEY (space, number)
) WITH (toast_tuple_target = 8160);

CREATE TABLE memwell_record_change (
    space text COLLATE "C" NOT NULL,
    change bigint NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (space, change)
);

CREATE FUNCTION memwell_locked_record_space(p_space text) RETURNS memwell_record_space LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    known memwell_record_space;
BEGIN
    SELECT * INTO known FROM memwell_record_space WHERE space = p_space FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO memwell_record_space (space) VALUES (p_space) ON CONFLICT DO NOTHING;
        SELECT * INTO known FROM memwell_record_space WHERE space = p_space FOR UPDATE;
    END IF;
    RETURN known;
END $$;

CREATE FUNCTION memwell_note_record_changes(
    p_space text, p_change bigint, p_forgotten bigint, p_numbers bigint[], p_kept bigint
) RETURNS bigint LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    latest bigint := p_change + cardinality(p_numbers);
BEGIN
    INSERT INTO memwell_record_change (space, change, number)
        SELECT p_space, p_change + place, number FROM unnest(p_numbers) WITH ORDINALITY AS noted (number, place);
    IF latest - p_forgotten <= 2 * p_kept THEN
        RETURN p_forgotten;
    END IF;
    DELETE FROM memwell_record_change WHERE space = p_space AND change <= latest - p_kept;
    RETURN latest - p_kept;
END $$;

CREATE FUNCTION memwell_upsert_records(
    p_space text, p_kept bigint, p_keys text[], p_ids text[], p_kinds text[], p_times double precision[],
    p_stamps bigint[], p_lengths integer[], p_documents text[], p_metadata text[], p_texts text[],
    p_word_rows integer[], p_word_parts integer[], p_words text[], p_repeated text[],
    p_dimensions integer, p_vector_rows integer[], p_vectors halfvec[]
) RETURNS integer LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    known memwell_record_space := memwell_locked_record_space(p_space);
    numbers bigint[];
    replaced bigint[];
    replaced_length bigint;
    replaced_vectors bigint := 0;
    forgotten_now bigint;
BEGIN
    IF known.dimensions <> p_dimensions THEN
        RETURN known.dimensions;
    END IF;
    SELECT array_agg(coalesce(held.number, known.next + fresh - 1) ORDER BY place),
           array_agg(held.number) FILTER (WHERE held.number IS NOT NULL), coalesce(sum(held.length), 0)
        INTO numbers, replaced, replaced_length
        FROM (
            SELECT given.place, old.number, old.length,
                   count(*) FILTER (WHERE old.number IS NULL) OVER (ORDER BY given.place) AS fresh
            FROM unnest(p_keys) WITH ORDINALITY AS given (key, place)
            -- One by one: a plain join may read all of a large space.
            LEFT JOIN LATERAL (
                SELECT number, length FROM memwell_record WHERE space = p_space AND key = given.key LIMIT 1
            ) AS old ON true
        ) AS held;
    IF replaced IS NOT NULL THEN
        DELETE FROM memwell_record_words WHERE space = p_space AND number = ANY (replaced);
        DELETE FROM memwell_record_vector WHERE space = p_space AND number = ANY (replaced);
        GET DIAGNOSTICS replaced_vectors = ROW_COUNT;
        DELETE FROM memwell_record WHERE space = p_space AND number = ANY (replaced);
    END IF;
    INSERT INTO memwell_record (space, number, key, id, kind, time, stamp, length, document, metadata, text)
        SELECT p_space, given.number, given.key, coalesce(given.id, given.key), given.kind, given.time, given.stamp,
               given.length, coalesce(given.document, given.metadata)::jsonb, given.metadata, given.text
        FROM unnest(numbers, p_keys, p_ids, p_kinds, p_times, p_stamps, p_lengths, p_documents, p_metadata, p_texts)
            AS given (number, key, id, kind, time, stamp, length, document, metadata, text);
    INSERT INTO memwell_record_words (space, number, part, length, words, repeated)
        SELECT p_space, numbers[given.place], given.part, p_lengths[given.place],
               array_to_tsvector(string_to_array(given.words, ' ')), given.repeated::jsonb
        FROM unnest(p_word_rows, p_word_parts, p_words, p_repeated) AS given (place, part, words, repeated);
    INSERT INTO memwell_record_vector (space, number, dimensions, vector)
        SELECT p_space, numbers[given.place], p_dimensions, given.vector
        FROM unnest(p_vector_rows, p_vectors) AS given (place, vector);
    forgotten_now := memwell_note_record_changes(p_space, known.change, known.forgotten, numbers, p_kept);
    UPDATE memwell_record_space SET
        next = known.next + cardinality(numbers) - coalesce(cardinality(replaced), 0),
        change = known.change + cardinality(numbers),
        forgotten = forgotten_now,
        records = known.records + cardinality(numbers) - coalesce(cardinality(replaced), 0),
        vectors = known.vectors + cardinality(p_vectors) - replaced_vectors,
        dimensions = CASE WHEN known.vectors + cardinality(p_vectors) > replaced_vectors
                          THEN coalesce(p_dimensions, known.dimensions) END,
        length = known.length + (SELECT sum(one) FROM unnest(p_lengths) AS one) - replaced_length
        WHERE space = p_space;
    RETURN NULL;
END $$;

CREATE FUNCTION memwell_delete_records(p_space text, p_kept bigint, p_keys text[]) RETURNS bigint
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    known memwell_record_space;
    numbers bigint[];
    gone_length bigint;
    gone_vectors bigint;
    forgotten_now bigint;
BEGIN
    SELECT * INTO known FROM memwell_record_space WHERE space = p_space FOR UPDATE;
    WITH gone AS (DELETE FROM memwell_record WHERE space = p_space AND key = ANY (p_keys) RETURNING number, length)
        SELECT array_agg(number ORDER BY number), sum(length) INTO numbers, gone_length FROM gone;
    IF numbers IS NULL THEN
        RETURN 0;
    END IF;
    DELETE FROM memwell_record_words WHERE space = p_space AND number = ANY (numbers);
    DELETE FROM memwell_record_vector WHERE space = p_space AND number = ANY (numbers);
    GET DIAGNOSTICS gone_vectors = ROW_COUNT;
    forgotten_now := memwell_note_record_changes(p_space, known.change, known.forgotten, numbers, p_kept);
    UPDATE memwell_record_space SET
        change = known.change + cardinality(numbers),
        forgotten = forgotten_now,
        records = known.records - cardinality(numbers),
        vectors = known.vectors - gone_vectors,
        dimensions = CASE WHEN known.vectors > gone_vectors THEN known.dimensions END,
        length = known.length - gone_length
        WHERE space = p_space;
    RETURN cardinality(numbers);
END $$;

CREATE FUNCTION memwell_clear_vectors(p_space text, p_kept bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    known memwell_record_space;
    numbers bigint[];
    forgotten_now bigint;
BEGIN
    SELECT * INTO known FROM memwell_record_space WHERE space = p_space FOR UPDATE;
    WITH gone AS (DELETE FROM memwell_record_vector WHERE space = p_space RETURNING number)
        SELECT array_agg(number ORDER BY number) INTO numbers FROM gone;
    IF numbers IS NULL THEN
        RETURN;
    END IF;
    forgotten_now := memwell_note_record_changes(p_space, known.change, known.forgotten, numbers, p_kept);
    UPDATE memwell_record_space
        SET change = known.change + cardinality(numbers), forgotten = forgotten_now, vectors = 0, dimensions = NULL
        WHERE space = p_space;
END $$;

CREATE FUNCTION memwell_set_vectors(
    p_space text, p_kept bigint, p_keys text[], p_dimensions integer, p_vectors halfvec[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    known memwell_record_space;
    numbers bigint[];
    forgotten_now bigint;
BEGIN
    SELECT * INTO known FROM memwell_record_space WHERE space = p_space FOR UPDATE;
    WITH stored AS (
        INSERT INTO memwell_record_vector (space, number, dimensions, vector)
            SELECT p_space, record.number, p_dimensions, given.vector
            FROM unnest(p_keys, p_vectors) AS given (key, vector)
            CROSS JOIN LATERAL (
                SELECT number FROM memwell_record WHERE space = p_space AND key = given.key LIMIT 1
            ) AS record
            RETURNING number
    )
        SELECT array_agg(number ORDER BY number) INTO numbers FROM stored;
    IF numbers IS NULL THEN
        RETURN;
    END IF;
    forgotten_now := memwell_note_record_changes(p_space, known.change, known.forgotten, numbers, p_kept);
    UPDATE memwell_record_space SET
        change = known.change + cardinality(numbers), forgotten = forgotten_now,
        vectors = known.vectors + cardinality(numbers), dimensions = p_dimensions
        WHERE space = p_space;
END $$;
"""
"""The tables and functions of records. Only ``memwell_record`` holds content and is behind the wall."""

CONTENT_TABLE = "memwell_record"
RECORD_TABLE_NAMES = (
    "memwell_record_space",
    "memwell_record",
    "memwell_record_words",
    "memwell_record_vector",
    "memwell_record_change",
)


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
"""The tables with content. Their rows are visible to sessions of their space, and to maintenance."""

TABLES = tuple(dict.fromkeys((*WALLED, "memwell_long_space", "memwell_receipt", *RECORD_TABLE_NAMES)))
"""All tables that are written to."""

SEALED_TABLES = tuple(table for table in TABLES if table != "memwell_receipt")
"""The tables that a seal closes: all but the receipts, because sealing itself stores one."""

_SEALING = """
CREATE FUNCTION memwell_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', (SELECT sealed FROM memwell_store) USING ERRCODE = 'MWS01';
END $$;
"""


def _wall(table: str) -> list[str]:
    # A subquery, so that the setting is read once a statement and not once a row.
    setting = "(SELECT current_setting('memwell.space', true))"
    return [
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY memwell_wall ON {table} "
        f"USING (space = {setting} OR {setting} = '*') WITH CHECK (space = {setting} OR {setting} = '*')",
    ]


def _walls() -> str:
    return "".join(f"{statement};\n" for table in WALLED for statement in _wall(table))


# ANALYZE copies values into the server's catalogue as samples, where they would outlive what is erased. Plans depend on
# keys, which are unique or numbers, so no samples of names and content are needed. Setting the type drops earlier ones.
_NO_SAMPLES = """
DO $$
DECLARE
    one record;
BEGIN
    FOR one IN
        SELECT attrelid::regclass AS place, attname AS name, format_type(atttypid, atttypmod) AS kind,
            CASE WHEN attcollation = '"C"'::regcollation THEN ' COLLATE "C"' ELSE '' END AS sorted
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname LIKE 'memwell!_%' ESCAPE '!'
            AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('space', 'kind')
            AND format_type(atttypid, NULL) ~ '^(text|jsonb|tsvector|bytea|(.*[.])?halfvec)$'
    LOOP
        EXECUTE format(
            'ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0, ALTER COLUMN %I TYPE %s%s',
            one.place, one.name, one.name, one.kind, one.sorted
        );
    END LOOP;
END $$;
"""


_USABLE = "ALTER TABLE memwell_store ADD COLUMN IF NOT EXISTS usable_from integer NOT NULL DEFAULT 1;"

# A change has a token: the last 27 bits of the microsecond of its transaction. After a failover or a restored dump that
# lost changes, others get the numbers of the lost ones, and other tokens.
_TOKENS = """
ALTER TABLE memwell_record_change
    ADD COLUMN token integer NOT NULL DEFAULT ((extract(epoch FROM now()) * 1000000)::bigint & 134217727)::integer;
"""

# In the order of time, so that sweeping reads no more than it drops.
_RECEIPTS_BY_TIME = "CREATE INDEX memwell_receipt_at ON memwell_receipt (at);"

# Storing and deleting one entry: one call of a function, which is one round trip and one commit. Each gives the version in
# the way where another one was expected, and then changes nothing. ``p_lock`` and ``p_receipt`` are NULL in a transaction,
# which has its own.
_PUTTING = """
CREATE OR REPLACE FUNCTION memwell_put(
    p_space text, p_lock bigint, p_receipt uuid, p_key text, p_long_key text, p_version bigint,
    p_expires double precision, p_value text, p_bytes bytea, p_document text, p_expect bigint, p_now double precision,
    p_sweep integer
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_found bigint;
BEGIN
    PERFORM set_config('memwell.space', p_space, true), pg_advisory_xact_lock_shared(p_lock);
    LOOP
        IF p_expect > 0 THEN
            UPDATE memwell_entry SET
                version = p_version, expires = p_expires, value = p_value, bytes = p_bytes, document = p_document
                WHERE space = p_space AND key = p_key AND version = p_expect AND (expires IS NULL OR expires > p_now);
        ELSE
            INSERT INTO memwell_entry AS held (space, key, long_key, version, expires, value, bytes, document)
                VALUES (p_space, p_key, p_long_key, p_version, p_expires, p_value, p_bytes, p_document)
                ON CONFLICT (space, key) DO UPDATE SET
                    version = p_version, expires = p_expires, value = p_value, bytes = p_bytes, document = p_document
                    WHERE p_expect IS NULL OR held.expires <= p_now;
        END IF;
        EXIT WHEN FOUND;
        SELECT version INTO v_found FROM memwell_entry
            WHERE space = p_space AND key = p_key AND (expires IS NULL OR expires > p_now);
        IF FOUND OR p_expect > 0 THEN
            RETURN coalesce(v_found, 0);
        END IF;
        -- The entry that was in the way is gone again.
    END LOOP;
    IF p_expires IS NOT NULL THEN
        DELETE FROM memwell_entry WHERE space = p_space AND key IN (
            SELECT key FROM memwell_entry WHERE space = p_space AND expires <= p_now
            ORDER BY expires LIMIT p_sweep FOR UPDATE SKIP LOCKED
        );
    END IF;
    IF p_receipt IS NOT NULL THEN
        INSERT INTO memwell_receipt (space, id, kept) VALUES (p_space, p_receipt, true);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION memwell_delete_entry(
    p_space text, p_lock bigint, p_receipt uuid, p_key text, p_expect bigint, p_now double precision,
    OUT o_version bigint, OUT o_lived boolean
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('memwell.space', p_space, true), pg_advisory_xact_lock_shared(p_lock);
    o_lived := false;
    IF p_expect IS NOT NULL THEN
        SELECT version INTO o_version FROM memwell_entry
            WHERE space = p_space AND key = p_key AND (expires IS NULL OR expires > p_now) FOR UPDATE;
        o_version := coalesce(o_version, 0);
        IF o_version <> p_expect THEN
            RETURN;
        END IF;
        o_version := NULL;
    END IF;
    DELETE FROM memwell_entry WHERE space = p_space AND key = p_key
        RETURNING expires IS NULL OR expires > p_now INTO o_lived;
    IF FOUND AND p_receipt IS NOT NULL THEN
        INSERT INTO memwell_receipt (space, id, kept) VALUES (p_space, p_receipt, true);
    END IF;
    o_lived := coalesce(o_lived, false);
END $$;
"""

MIGRATIONS = (
    _LOG_TABLES + _APPENDING + _KEY_TABLES + RECORD_TABLES + _SEALING + _walls(),
    _USABLE + _NO_SAMPLES,
    _TOKENS + _RECEIPTS_BY_TIME,
    _PUTTING,
)

USABLE_FROM = 1
"""The format that a program must know to use a store of today's: the steps since then only added to it."""


def migrate(link: Link, schema: str, place: str) -> None:
    """Migrate a schema to the current version, one process at a time.

    Raises ``BackendError`` for one that a newer memwell wrote, ``ConfigurationError`` where something must be set up first.
    """
    if _version(link, schema, place) >= len(MIGRATIONS):
        return
    _ensure_vectors(link, place)
    with link.transaction():
        # A second process waits here, and then has nothing to do.
        link.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key("migrate", schema),))
        _ensure_schema(link, schema, place)
        version = _version(link, schema, place)
        if version >= len(MIGRATIONS):
            return
        _run(link, f"SET LOCAL search_path TO {schema}, {vectors_schema(link)}")
        if not version:
            columns = "version integer NOT NULL, sealed text, usable_from integer NOT NULL DEFAULT 1"
            _run(link, f"CREATE TABLE memwell_store ({columns})")
            _run(link, "INSERT INTO memwell_store (version) VALUES (0)")
        for step in MIGRATIONS[version:]:
            _run(link, step)
        link.execute("UPDATE memwell_store SET version = %s, usable_from = %s", (len(MIGRATIONS), USABLE_FROM))


def _run(link: Link, sql: str) -> None:
    # Through the simple protocol, which takes many statements at once.
    link.execute(sql.encode())


def _version(link: Link, schema: str, place: str) -> int:
    """The format of a store, 0 where there is none. Raises ``BackendError`` for one that this memwell cannot use."""
    found = link.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{schema}.memwell_store",)).fetchone()
    if found != (True,):
        return 0
    # The first format has no column ``usable_from``.
    sql = f"SELECT version, to_jsonb(store) -> 'usable_from' FROM {schema}.memwell_store AS store"
    row = link.execute(sql.encode()).fetchone()
    version, usable_from = (0, None) if row is None else row
    if version > len(MIGRATIONS) < (usable_from or version):
        raise BackendError(
            f"the store {place} has the format {version}, which a newer memwell wrote; this one knows up to "
            f"{len(MIGRATIONS)}; update memwell"
        )
    return int(version)


def _ensure_schema(link: Link, schema: str, place: str) -> None:
    known = link.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
    if known is not None:
        return
    # Read now: after an error the transaction takes no more queries.
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
    """The schema of pgvector, quoted; None where it is not installed."""
    row = link.execute(
        "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'vector'"
    ).fetchone()
    return None if row is None else str(row[0])


def _role(link: Link) -> str:
    row = link.execute("SELECT quote_ident(current_user)").fetchone()
    return "" if row is None else str(row[0])


def seal_statements(tables: Iterable[str], *, sealed: bool) -> list[str]:
    """The statements that make every later write fail, also on open connections, or lift that."""
    if not sealed:
        return [f"DROP TRIGGER IF EXISTS memwell_sealed ON {table}" for table in tables]
    return [
        f"CREATE OR REPLACE TRIGGER memwell_sealed BEFORE INSERT OR UPDATE OR DELETE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION memwell_refuse()"
        for table in tables
    ]


# Watching: triggers note what is written, in a table that exists only while a store is watched.

_WRITTEN = {
    # The part, then the key, the name and the number of what was written, from a row that is called ``changed``.
    "memwell_thread": ("threads", "SELECT changed.id, coalesce(changed.long_id, changed.id), -1::bigint"),
    "memwell_entry": ("entries", "SELECT changed.key, coalesce(changed.long_key, changed.key), -1::bigint"),
    "memwell_blob": ("blobs", "SELECT changed.digest, changed.digest, -1::bigint"),
    # The counter of the space is saved after its records.
    "memwell_record": (
        "records",
        "SELECT changed.key, changed.id, "
        "CASE WHEN changed.number >= next AND TG_OP = 'INSERT' THEN changed.number ELSE -1 END "
        "FROM memwell_record_space WHERE space = changed.space",
    ),
    "memwell_record_vector": (
        "records",
        "SELECT key, id, -1::bigint FROM memwell_record WHERE space = changed.space AND number = changed.number",
    ),
}
WATCH = "watch"
_WRITTEN_TABLE = """
CREATE TABLE memwell_written (
    space text COLLATE "C" NOT NULL,
    part text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (space, part, number, key)
);
"""


def watch_statements(*, watched: bool) -> list[str]:
    """The statements that make the table and the triggers of a watch, after those that drop earlier ones."""
    made = [f"DROP TRIGGER IF EXISTS memwell_written ON {table}" for table in _WRITTEN]
    made += [f"DROP FUNCTION IF EXISTS {table}_written()" for table in _WRITTEN]
    made.append("DROP TABLE IF EXISTS memwell_written")
    if not watched:
        return made
    made += [_WRITTEN_TABLE, *_wall("memwell_written")]
    for table, (part, found) in _WRITTEN.items():
        made += [
            f"""
            CREATE FUNCTION {table}_written() RETURNS trigger LANGUAGE plpgsql AS $$
            DECLARE
                changed {table};
            BEGIN
                changed := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
                INSERT INTO memwell_written (space, part, key, name, number, version)
                    SELECT changed.space, '{part}', one.key, one.name, one.number, (random() * 1e15)::bigint
                    FROM ({found}) AS one (key, name, number)
                    ON CONFLICT (space, part, number, key) DO UPDATE SET version = EXCLUDED.version;
                RETURN NULL;
            END $$
            """,
            f"CREATE TRIGGER memwell_written AFTER INSERT OR UPDATE OR DELETE ON {table} "
            f"FOR EACH ROW EXECUTE FUNCTION {table}_written()",
        ]
    return made


# Filters as SQL over jsonb: the whole tree is pushed down. Every name and value is a bound parameter. Numbers agree with
# the reference to the last bit. jsonb keeps decimal numbers exactly as they are written, and Python writes a float so that
# no other float is nearer; that orders floats among themselves, and among whole numbers up to 2**53. Above it a float is
# written into the document that is filtered as the whole number that it is.

RECORD = FilterTarget(
    {"@id": "record.id", "@kind": "record.kind", "@text": "record.text", "@time": "record.time"}, "record.document"
)
ENTRY = FilterTarget({"@id": "entry.key"}, "entry.document")
ALWAYS = Condition("true", ())
_NEVER = Condition("false", ())
_EXACT_UP_TO = 2.0**53
# A float from 2**53 on is written with an exponent or with sixteen digits. Other text may match too.
_MAY_BE_LARGE = re.compile(r"\de|\d{16}").search


def filter_document(encoded: str) -> str | None:
    """The JSON to filter instead of a value's own; None where its own will do."""
    if _MAY_BE_LARGE(encoded) is None:
        return None
    value = msgspec.json.decode(encoded)
    exact = _exact(value)
    return None if exact is value else msgspec.json.encode(exact).decode()


def _exact(value: Any) -> Any:
    """The value with its large floats as integers; the same object where there are none."""
    if type(value) is float:
        # msgspec writes no integers of more than 64 bits, but takes JSON as it is.
        return msgspec.Raw(str(int(value)).encode()) if abs(value) >= _EXACT_UP_TO else value
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value)
        changed = {key: _exact(item) for key, item in items.items()}
        return changed if any(changed[key] is not item for key, item in items.items()) else items
    if isinstance(value, list | tuple):
        members = cast("list[Any]", value)
        found = [_exact(one) for one in members]
        return found if any(one is not other for one, other in zip(found, members, strict=True)) else members
    return value


# Attributes: columns of one type that are never NULL


def _of_attribute(node: Where, column: str) -> Condition:
    # A timestamp is a float, and too small for rounding of integers to matter.
    kind = "double precision" if node.field == "@time" else "text"
    if node.operator == "exists":
        return ALWAYS
    if node.operator in ("eq", "in"):
        asked = node.value if node.operator == "in" else (node.value,)
        wanted = [one if kind == "text" else float(one) for one in asked if _suits(one, kind)]
        return Condition(f"({column} = ANY (%s::{kind}[]))", (wanted,)) if wanted else _NEVER
    if not _suits(node.value, kind):
        return _NEVER
    if node.operator == "contains":
        return Condition(f"(strpos({column}, %s::text) > 0)", (node.value,)) if kind == "text" else _NEVER
    return Condition(f"({column} {ORDER[node.operator]} %s::{kind})", (node.value,))


def _suits(wanted: Any, kind: str) -> bool:
    if kind == "text":
        return isinstance(wanted, str)
    return isinstance(wanted, int | float) and not isinstance(wanted, bool)


# The document


def _in_document(node: Where, path: tuple[str, ...], document: str) -> Condition:
    """Walk down with ``-> text``, which opens objects only and takes keys literally."""
    place = Condition(f"({document}{' -> %s::text' * len(path)})", path)
    if node.operator == "exists":
        return Condition(f"({place.sql} IS NOT NULL)", path)
    if node.operator == "eq":
        return Condition(f"(({place.sql} = %s::jsonb) IS TRUE)", (*path, _literal(node.value)))
    if node.operator == "in":
        wanted = [_literal(one) for one in node.value]
        return Condition(f"(({place.sql} = ANY (%s::jsonb[])) IS TRUE)", (*path, wanted))
    if node.operator == "contains":
        return _contains(node.value, place)
    return _ordered(ORDER[node.operator], node.value, place)


def _literal(wanted: Any) -> str:
    return msgspec.json.encode(_exact(wanted)).decode()


def _contains(wanted: Any, place: Condition) -> Condition:
    element = f"({place.sql} @> %s::jsonb)"
    array = Condition(
        f"((CASE jsonb_typeof({place.sql}) WHEN 'array' THEN {element} END) IS TRUE)",
        (*place.bindings, *place.bindings, f"[{_literal(wanted)}]"),
    )
    if not isinstance(wanted, str):
        return array
    return joined(" OR ", [_of_type("string", f"strpos({_text(place.sql)}, %s::text) > 0", wanted, place), array])


def _ordered(symbol: str, wanted: Any, place: Condition) -> Condition:
    if isinstance(wanted, str):
        return _of_type("string", f'{_text(place.sql)} COLLATE "C" {symbol} %s::text', wanted, place)
    if wanted is None or isinstance(wanted, bool):
        return _NEVER
    return _of_type("number", f"{place.sql}::numeric {symbol} %s::numeric", _literal(wanted), place)


def _of_type(kind: str, comparison: str, wanted: str, place: Condition) -> Condition:
    """A comparison of values of one type: casting another type would be an error."""
    sql = f"((CASE jsonb_typeof({place.sql}) WHEN '{kind}' THEN {comparison} END) IS TRUE)"
    return Condition(sql, (*place.bindings, *place.bindings, wanted))


def _text(place: str) -> str:
    return f"({place} #>> '{{}}')"


compiled = Dialect(ALWAYS, _NEVER, _of_attribute, _in_document).compiled
