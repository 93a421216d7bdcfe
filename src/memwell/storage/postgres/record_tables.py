"""The tables of records, and the functions that change them: each change of a space is one statement.

``memwell_record`` holds what a record says, behind the wall. Beside it lie its words and its vector in tables without a
policy, because PostgreSQL uses neither a word index nor a graph behind one; they hold numbers, lexemes and vectors only.

Every key and index begins with the space. The words' index does too, in its way: every lexeme begins with a few letters of
the space's digest, so that a search reads the postings of its own space however large the others are. That needs no
extension. Only a graph cannot begin with a space; each is made for one space alone (``vectors.py``).

The row of a space is locked by whoever changes its records, so that its counts are true and two writers of one space wait
for each other. Numbers, changes and counts are the space's own; nothing is drawn from a sequence.
"""

from __future__ import annotations

import hashlib

_LONGEST = 200
"""Names of up to so many bytes are keys as they are. A longer one would not fit PostgreSQL's indexes."""


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
"""What a fresh store is given. ``memwell_record`` holds content and belongs behind the wall; the others do not."""

CONTENT_TABLE = "memwell_record"
RECORD_TABLE_NAMES = (
    "memwell_record_space",
    "memwell_record",
    "memwell_record_words",
    "memwell_record_vector",
    "memwell_record_change",
)

__all__ = ["CONTENT_TABLE", "RECORD_TABLES", "RECORD_TABLE_NAMES", "keyed"]
