"""Vectors in halfvec: on the wire as stored, and a graph for a space that has many of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.records import Record, Space, pack_half, unpack_half
from memwell.settings import Settings
from memwell.storage.memory import MemoryBackend
from memwell.storage.postgres import PostgresBackend
from memwell.storage.postgres.index import PostgresIndex
from memwell.storage.postgres.names import space_key
from memwell.storage.postgres.vectors import GRAPH_DIMENSIONS, HalfvecArray, graph_prefix, unpacked
from memwell.testing.machine import assert_same_near
from tests.engines.postgres import open_store, schema_of, server

HOME = Space("home")
MANY = 60
SIZE = 8


def vectors(count: int, size: int = SIZE) -> list[list[float]]:
    chosen = random.Random(count * size)
    return [[chosen.gauss(0, 1) for _ in range(size)] for _ in range(count)]


def records(space: Space, count: int, size: int = SIZE) -> list[Record]:
    return [
        Record(id=str(n), text=f"word{n}", space=space, vector=vector, metadata={"n": n})
        for n, vector in enumerate(vectors(count, size))
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresBackend]:
    with open_store(tmp_path, settings=Settings(hnsw_above=MANY // 2)) as backend:
        yield backend


def index_of(store: PostgresBackend) -> PostgresIndex:
    assert isinstance(store.index, PostgresIndex)
    return store.index


def built(store: PostgresBackend, space: Space = HOME, size: int = SIZE) -> None:
    """Search once, and wait until the graph that this begins is there."""
    store.index.near(space, vectors(1, size)[0])
    index_of(store).graphs.wait(60)
    assert store.index.info(space).search == "hnsw"


def graphs(place: Path, space: Space = HOME) -> list[tuple[Any, ...]]:
    """The names of the space's graphs, and whether each is whole."""
    with server().admin() as connection:
        return connection.execute(
            "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
            "WHERE relnamespace = %s::regnamespace AND starts_with(relname, %s) ORDER BY relname",
            (schema_of(place), graph_prefix(space_key(space))),
        ).fetchall()


# On the wire


@given(st.lists(st.lists(st.floats(-1, 1, width=16), min_size=3, max_size=3), max_size=4))
def test_vectors_are_sent_as_the_server_sends_them_back(sent: list[list[float]]):
    data = HalfvecArray(sent, 4711).encoded()
    head = 20 if sent else 12
    size = 4 + 4 + 2 * 3
    assert len(data) == head + size * len(sent)
    for place, vector in enumerate(sent):
        one = data[head + place * size + 4 : head + (place + 1) * size]
        assert unpacked(one) == unpack_half(pack_half(vector))


def test_a_vector_comes_back_as_every_store_keeps_it(store: PostgresBackend):
    sent = records(HOME, 5, 300)
    store.index.upsert(sent)
    for record, got in zip(sent, store.index.get(HOME, [one.id for one in sent]), strict=True):
        assert record.vector is not None
        assert got.vector == unpack_half(pack_half(record.vector))


def test_no_vector_is_none():
    assert unpacked(None) is None


# Graphs


def test_a_large_space_gets_a_graph_and_answers_as_before(store: PostgresBackend, tmp_path: Path):
    reference, stored = MemoryBackend(), records(HOME, MANY)
    for backend in (store, reference):
        backend.index.upsert(stored)
    assert store.index.info(HOME).search == "exact"
    built(store)
    assert graphs(tmp_path) == [(f"{graph_prefix(space_key(HOME))}{SIZE}", True)]
    for where in (None, {"n": {"$lt": 20}}, {"n": 7}, {"n": -1}):
        for query in vectors(4):
            found = store.index.near(HOME, query, limit=5, where=where)
            assert_same_near(found, reference.index.near(HOME, query, limit=1000, where=where), 5)


def test_a_graph_follows_every_change(store: PostgresBackend):
    store.index.upsert(records(HOME, MANY))
    built(store)
    wanted = [1.0] + [0.0] * (SIZE - 1)
    with store.transaction():
        store.index.upsert([Record(id="new", text="", space=HOME, vector=wanted)])
        assert store.index.near(HOME, wanted, limit=1)[0].record.id == "new"
    assert store.index.near(HOME, wanted, limit=1)[0].record.id == "new"
    store.index.delete(HOME, ["new"])
    assert "new" not in {hit.record.id for hit in store.index.near(HOME, wanted, limit=MANY)}
    assert len(store.index.near(HOME, wanted, limit=10 * MANY)) == MANY


def test_a_small_space_gets_none(store: PostgresBackend, tmp_path: Path):
    store.index.upsert(records(HOME, MANY // 2))
    store.index.near(HOME, vectors(1)[0])
    index_of(store).graphs.wait(60)
    assert (store.index.info(HOME).search, graphs(tmp_path)) == ("exact", [])


def test_vectors_too_long_for_a_graph_are_searched_exactly(store: PostgresBackend, tmp_path: Path):
    size = GRAPH_DIMENSIONS + 1
    store.index.upsert(records(HOME, MANY // 2 + 1, size))
    assert len(store.index.near(HOME, vectors(1, size)[0], limit=3)) == 3
    index_of(store).graphs.wait(60)
    assert graphs(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["a'b", 'a"b', "a\\b", "%s %I", "{}", "'; DROP TABLE memwell_record; --", "x" * 1024, "中😀"]
)
def test_any_space_can_have_a_graph(store: PostgresBackend, tmp_path: Path, name: str):
    space, other = Space(name), Space("other")
    store.index.upsert(records(space, MANY) + records(other, 3))
    built(store, space)
    assert len(graphs(tmp_path, space)) == 1
    assert len(store.index.near(space, vectors(1)[0], limit=1000)) == MANY
    assert len(store.index.near(other, vectors(1)[0], limit=1000)) == 3


def test_vectors_of_another_size_get_a_graph_of_their_own(store: PostgresBackend, tmp_path: Path):
    store.index.upsert(records(HOME, MANY))
    built(store)
    store.index.revector(HOME, {str(n): vector for n, vector in enumerate(vectors(MANY, 5))})
    assert store.index.info(HOME).search == "exact"
    built(store, HOME, 5)
    # The old one would cost and find nothing.
    assert graphs(tmp_path) == [(f"{graph_prefix(space_key(HOME))}5", True)]


def test_what_a_killed_builder_left_is_made_anew(store: PostgresBackend, tmp_path: Path):
    store.index.upsert(records(HOME, MANY))
    built(store)
    [(name, _)] = graphs(tmp_path)
    with server().admin() as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", (f"{schema_of(tmp_path)}.{name}",)
        )
    assert graphs(tmp_path) == [(name, False)]
    with open_store(tmp_path, settings=Settings(hnsw_above=MANY // 2)) as other:
        assert other.index.info(HOME).search == "exact"
        built(other)
    assert graphs(tmp_path) == [(name, True)]


def test_one_process_at_a_time_builds_a_graph(store: PostgresBackend, tmp_path: Path):
    store.index.upsert(records(HOME, MANY))
    path = space_key(HOME)
    with server().admin() as connection:
        connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (graph_prefix(path),))
        assert index_of(store).graphs.build(path, SIZE) is False
    assert graphs(tmp_path) == []
    assert index_of(store).graphs.build(path, SIZE) is True


def test_a_graph_that_cannot_be_made_leaves_the_search_exact(
    store: PostgresBackend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr("memwell.storage.postgres.vectors._MAKE", "SELECT 'CREATE INDEX nonsense', %s, %s, %s, %s")
    store.index.upsert(records(HOME, MANY))
    assert len(store.index.near(HOME, vectors(1)[0], limit=3)) == 3
    index_of(store).graphs.wait(60)
    assert "could not be built" in caplog.text
    assert len(store.index.near(HOME, vectors(1)[0], limit=3)) == 3
