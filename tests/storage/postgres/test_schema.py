"""PostgreSQL schema: every version opens, walls hold, and names of any length keep their order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.capacity.partitions import partition
from memwell.errors import BackendError, ConfigurationError
from memwell.filters import Filter, Where, holds
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage.postgres import PostgresBackend
from memwell.storage.postgres.schema import (
    ENTRY,
    MIGRATIONS,
    RECORD,
    TABLES,
    WALLED,
    compiled,
    long_name,
    name_key,
    space_key,
)
from memwell.testing.conformance.backend import in_threads
from memwell.testing.strategies import filters
from tests.engines.postgres import ADMIN, open_store, schema_of, server

MINE, YOURS = Space("mine"), Space("yours")


def fill(backend: PostgresBackend, space: Space) -> None:
    backend.log.append(Thread(space, "talk"), [human("secret")])
    backend.log.edit(Thread(space, "talk"), {0: human("changed")})
    backend.kv.put(space, "key", "secret")
    backend.index.upsert([Record(id="r", text="secret", space=space, vector=[1.0, 2.0])])
    backend.blobs.put(space, b"secret")


def seen(place: Path, setting: str | None) -> dict[str, set[str]]:
    """The spaces of the rows that a plain session of the store's own role sees in each table, naming none."""
    found: dict[str, set[str]] = {}
    with psycopg.connect(server().url()) as connection:
        connection.execute(f"SET search_path TO {schema_of(place)}".encode())
        if setting is not None:
            connection.execute("SELECT set_config('memwell.space', %s, true)", (setting,))
        for table in WALLED:
            found[table] = {row[0] for row in connection.execute(f"SELECT space FROM {table}".encode())}
    return found


def test_a_statement_that_names_no_space_sees_the_one_that_is_set(tmp_path: Path):
    with open_store(tmp_path) as backend:
        fill(backend, MINE)
        fill(backend, YOURS)
        assert backend.facts()["wall"].startswith("stands")
        assert seen(tmp_path, MINE.encoded()) == {table: {MINE.encoded()} for table in WALLED}
        assert seen(tmp_path, YOURS.encoded()) == {table: {YOURS.encoded()} for table in WALLED}


@pytest.mark.parametrize("setting", [None, "", "nobody", "%", '["min', "['mine']"])
def test_where_no_space_is_set_nothing_is_seen(tmp_path: Path, setting: str | None):
    with open_store(tmp_path) as backend:
        fill(backend, MINE)
        assert seen(tmp_path, setting) == {table: set() for table in WALLED}


def test_nothing_is_written_into_another_space_than_the_one_that_is_set(tmp_path: Path):
    with open_store(tmp_path) as backend:
        fill(backend, YOURS)
        with psycopg.connect(server().url()) as connection:
            connection.execute(f"SET search_path TO {schema_of(tmp_path)}".encode())
            connection.execute("SELECT set_config('memwell.space', %s, true)", (MINE.encoded(),))
            assert connection.execute("UPDATE memwell_entry SET value = '1'").rowcount == 0
            assert connection.execute("DELETE FROM memwell_message").rowcount == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(
                    "INSERT INTO memwell_entry (space, key, version, value) VALUES (%s, 'k', 1, '1')",
                    (YOURS.encoded(),),
                )
        entry = backend.kv.get(YOURS, "key")
        assert entry is not None
        assert entry.value == "secret"


def test_a_role_to_which_no_wall_applies_is_refused_unless_the_url_says_so(tmp_path: Path):
    open_store(tmp_path).close()
    with pytest.raises(ConfigurationError, match=r"is a superuser.*wall=open"):
        PostgresBackend(server().url(user=ADMIN, schema=schema_of(tmp_path)))
    with PostgresBackend(server().url(user=ADMIN, schema=schema_of(tmp_path), wall="open")) as backend:
        assert "superuser" in backend.facts()["wall"]
        assert "fsync is off" in backend.facts()["durability"]
        assert not backend.durable


def test_every_key_and_index_begins_with_the_space(tmp_path: Path):
    open_store(tmp_path).close()
    sql = (
        "SELECT c.relname, i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid, 1, true) FROM pg_index i "
        "JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s"
    )
    with server().admin() as connection:
        rows = connection.execute(sql, (schema_of(tmp_path),)).fetchall()
        foreign = connection.execute("SELECT count(*) FROM pg_constraint WHERE contype = 'f'").fetchone()
        sequences = connection.execute("SELECT count(*) FROM pg_class WHERE relkind = 'S'").fetchone()
    # The words' index is of lexemes, each of which begins with a few letters of the space's digest.
    assert {name for _, name, first in rows if first != "space"} == {
        f"{schema_of(tmp_path)}.memwell_record_words_lexemes",
        f"{schema_of(tmp_path)}.memwell_receipt_at",
    }
    assert {table for table, *_ in rows} == set(TABLES)
    assert foreign == sequences == (0,)


def test_tables_that_an_operator_put_into_partitions_work(tmp_path: Path):
    open_store(tmp_path).close()
    with server().admin() as connection:
        partition(connection, 3, schema_of(tmp_path))
    spaces = [Space(f"user{number}") for number in range(8)]
    with open_store(tmp_path) as backend:
        in_threads(8, lambda number: fill(backend, spaces[number]))
        for space in spaces:
            assert [one.text for one in backend.log.read(Thread(space, "talk"))] == ["changed"]
            assert [hit.record.id for hit in backend.index.near(space, [1.0, 2.0])] == ["r"]
            assert [hit.record.id for hit in backend.index.match(space, "secret")] == ["r"]
        assert backend.index.delete(MINE, ["r"]) == 0
        assert backend.index.delete(spaces[0], ["r"]) == 1
        assert backend.scrub()
        assert backend.check() == []
    assert seen(tmp_path, space_key(spaces[1]))["memwell_entry"] == {space_key(spaces[1])}
    with server().admin() as connection:
        rows = connection.execute(
            f"SELECT count(DISTINCT tableoid) > 1 FROM {schema_of(tmp_path)}.memwell_record".encode()
        )
        assert rows.fetchone() == (True,)


def test_many_that_open_a_new_store_at_once_make_it_once(tmp_path: Path):
    def work(_: int) -> int:
        with open_store(tmp_path) as backend:
            return backend.facts()["format"]

    assert in_threads(6, work) == [len(MIGRATIONS)] * 6


def test_two_versions_use_a_store_at_once_when_the_newer_one_only_adds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    talk = Thread(MINE, "talk")
    step = "ALTER TABLE memwell_thread ADD COLUMN colour text; CREATE TABLE memwell_more (space text PRIMARY KEY);"
    with open_store(tmp_path) as earlier:
        earlier.log.append(talk, [human("one")])
        with monkeypatch.context() as newer:
            newer.setattr("memwell.storage.postgres.schema.MIGRATIONS", (*MIGRATIONS, step))
            with open_store(tmp_path) as later:
                assert later.facts()["format"] == len(MIGRATIONS) + 1
                done = in_threads(4, lambda number: fill(earlier if number % 2 else later, Space(f"user{number}")))
                assert len(done) == 4
                later.log.append(talk, [human("two")])
                earlier.log.append(talk, [human("three")])
                assert [one.text for one in later.log.read(talk)] == ["one", "two", "three"]
        # One of the earlier version that starts anew, as after a crash in the middle of an update.
        with open_store(tmp_path) as again:
            again.log.append(talk, [human("four")])
            assert len(earlier.log.read(talk)) == 4
            assert again.facts()["format"] == len(MIGRATIONS) + 1


def test_a_store_that_a_newer_memwell_wrote_is_refused(tmp_path: Path):
    open_store(tmp_path).close()
    with server().admin() as connection:
        connection.execute(f"UPDATE {schema_of(tmp_path)}.memwell_store SET version = 99, usable_from = 98".encode())
    with pytest.raises(BackendError, match="newer memwell"):
        open_store(tmp_path)


def test_samples_of_content_that_an_earlier_format_let_the_server_take_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def samples() -> int:
        sql = "SELECT 1 FROM pg_stats WHERE schemaname = %s AND attname IN ('text', 'body', 'value', 'words')"
        with server().admin() as connection:
            connection.execute("ANALYZE")
            return len(connection.execute(sql, (schema_of(tmp_path),)).fetchall())

    with monkeypatch.context() as earlier:
        earlier.setattr("memwell.storage.postgres.schema.MIGRATIONS", (MIGRATIONS[0] + MIGRATIONS[3],))
        with open_store(tmp_path) as backend:
            fill(backend, MINE)
        assert samples() > 0
    with open_store(tmp_path) as backend:
        assert backend.facts()["format"] == len(MIGRATIONS)
        assert [one.text for one in backend.index.get(MINE, ["r"])] == ["secret"]
        fill(backend, YOURS)
    assert samples() == 0


def test_a_server_without_the_extension_says_what_to_run(tmp_path: Path):
    database = f"without_{schema_of(tmp_path)}"
    with server().admin() as connection:
        connection.execute(f"CREATE DATABASE {database}".encode())
    with pytest.raises(ConfigurationError, match="CREATE EXTENSION vector"):
        PostgresBackend(server().url(database=database))


def test_a_role_that_may_not_make_a_schema_is_told_what_to_run(tmp_path: Path):
    role = f"plain_{schema_of(tmp_path)}"
    with server().admin() as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
    with pytest.raises(ConfigurationError, match=f"CREATE SCHEMA {schema_of(tmp_path)} AUTHORIZATION {role}"):
        PostgresBackend(server().url(user=role, schema=schema_of(tmp_path)))


@pytest.mark.parametrize("schema", ["Memwell", "a b", "a;drop", "", "pg_x", "1a", "x" * 64])
def test_a_schema_that_could_be_anything_else_is_refused(schema: str):
    with pytest.raises(ConfigurationError, match="schema"):
        PostgresBackend(server().url(schema=schema))


CHARACTERS = st.sampled_from("a!#~é好龍\U0001f600\U0010ffff")


NAMES = st.builds(lambda start, end: (start * 1024)[:1010] + end, CHARACTERS, st.text(CHARACTERS, max_size=14))


ANY = st.one_of(NAMES, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))


@given(ANY, ANY)
def test_keys_are_short_and_tell_names_apart(one: str, other: str):
    assert (name_key(one) == name_key(other)) is (one == other)
    assert len(name_key(one).encode()) <= 2_100
    assert long_name(one, name_key(one)) in (None, one)


@given(ANY, ANY)
def test_keys_are_in_the_order_of_the_names_up_to_their_cut(one: str, other: str):
    if one.encode()[:1_990] != other.encode()[:1_990]:
        assert (name_key(one) < name_key(other)) is (one < other)


def test_the_longest_names_are_kept_found_and_listed(tmp_path: Path):
    spaces = [Space(*["好" * 1024] * 16), Space(*["好" * 1024] * 15, "x"), Space("x")]
    ids = ["\U0001f600" * 1024, "\U0001f600" * 1023, "x" * 1024, "y"]
    with open_store(tmp_path) as backend:
        for space in spaces:
            for id_ in ids:
                [stored] = backend.log.append(Thread(space, id_), [human("hello", id=id_)])
                assert stored.id == id_
                backend.log.edit(Thread(space, id_), {0: None})
                assert backend.log.places(Thread(space, id_))[0].id == id_
                backend.kv.put(space, id_, id_)
            assert {info.thread.id for info in backend.log.threads(space).items} == set(ids)
            assert {entry.key for entry in backend.kv.scan(space).items} == set(ids)
            assert [entry.key for entry in backend.kv.scan(space, where={"@id": ids[0]}).items] == [ids[0]]
        assert set(backend.spaces().items) == set(spaces)
        assert len({space_key(space) for space in spaces}) == 3
        assert backend.check() == []


# Filters pushed down to jsonb: nothing of a filter enters a statement, and numbers agree to the last bit.


HOME = Space("home")
NUMBERS = (
    0, -0.0, 0.1, 1, 1.0, 5e-324, -5e-324, 2**53, 2.0**53, 2**53 + 1, 2.0**53 + 2, 2**63 - 1, 2.0**63, -(2.0**63),
)  # fmt: skip
LARGE = (*NUMBERS, 1e16, 1e300, -1e300, 1.7976931348623157e308, 1.152921504606847e18, 1152921504606846976)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresBackend]:
    with open_store(tmp_path_factory.mktemp("where")) as backend:
        yield backend


def found(store: PostgresBackend, where: Filter) -> list[str]:
    return [record.id for record in store.index.scan(HOME, where=where, limit=1000).items]


def kept(store: PostgresBackend, documents: list[dict[str, Any]]) -> list[Record]:
    store.index.delete(HOME, [record.id for record in store.index.scan(HOME, limit=1000).items])
    records = [Record(id=str(n), text="", space=HOME, metadata=one) for n, one in enumerate(documents)]
    store.index.upsert(records)
    return records


@pytest.mark.parametrize("operator", ["eq", "ne", "lt", "le", "gt", "ge", "contains"])
def test_numbers_are_compared_as_python_compares_them(store: PostgresBackend, operator: str):
    records = kept(store, [{"n": [number, number] if operator == "contains" else number} for number in LARGE])
    for number in LARGE:
        where = Where("n", operator, number)
        assert found(store, where) == [one.id for one in records if holds(where, one)], where
    assert [record.metadata for record in store.index.scan(HOME).items] == [one.metadata for one in records]


@given(filters())
def test_nothing_of_a_filter_is_spliced_into_the_statement(where: Filter):
    for target in (RECORD, ENTRY):
        condition = compiled(where, target)
        assert condition.sql.count("%s") == len(condition.bindings)
        # What is left without the places of values is made of our own words alone.
        assert condition.sql.replace("%s", "").isascii()
        assert "%" not in condition.sql.replace("%s", "")


def test_what_is_given_back_is_what_was_stored(store: PostgresBackend):
    metadata = {"z": 1, "a": -0.0, "m": 1e22, "deep": {"b": [1.0, 1]}}
    kept(store, [metadata])
    [record] = store.index.scan(HOME).items
    assert msgspec.json.encode(record.metadata) == msgspec.json.encode(metadata)
