"""Records in PostgreSQL: many at once, many writers, their words and their vectors."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.capacity.partitions import partition
from memwell.language.segment import segment
from memwell.records import Record, Space
from memwell.settings import Settings
from memwell.storage.memory import MemoryBackend
from memwell.storage.postgres import PostgresBackend, index
from memwell.storage.postgres.connections import Session
from memwell.storage.postgres.index import (
    GRAPH_DIMENSIONS,
    PostgresIndex,
    graph_prefix,
)
from memwell.storage.postgres.schema import keyed, space_key
from memwell.storage.protocols import Changes, split_state
from memwell.testing.conformance.congruence import assert_same_match, assert_same_near
from tests.engines.postgres import open_store, schema_of, server

HOME, AWAY = Space("home"), Space("away")
KEPT = 20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresBackend]:
    with open_store(tmp_path, settings=Settings(kept_changes=KEPT)) as backend:
        yield backend
        assert backend.check() == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that operations send from now on."""
    sent: list[str] = []
    plain = Session.execute

    def execute(self: Session, sql: str, bindings: Any = ()) -> Any:
        sent.append(sql)
        return plain(self, sql, bindings)

    monkeypatch.setattr(Session, "execute", execute)
    return sent


def record(id_: str, text: str = "tea", **fields: Any) -> Record:
    return Record(id=id_, text=text, **{"space": HOME, **fields})


def test_what_changed_since_a_state_is_one_statement(store: PostgresBackend, asked: list[str]):
    store.index.upsert([record("a", vector=[1.0, 0.0]), record("b"), record("c")])
    state = store.index.changes(HOME).state
    asked.clear()
    assert store.index.changes(HOME, state) == Changes(state, False, [], [])
    assert len(asked) == 1
    store.index.upsert([record("b", "coffee", vector=[0.0, 1.0]), record("d")])
    store.index.delete(HOME, ["a"])
    asked.clear()
    changes = store.index.changes(HOME, state)
    assert len(asked) == 1
    whole = store.index.changes(HOME)
    assert (changes.state, changes.whole, changes.gone) == (whole.state, False, [0])
    assert changes.records == [one for one in whole.records if one[1].id in "bd"]


def test_more_records_than_one_statement_takes(store: PostgresBackend):
    records = [record(str(n), f"word{n}", vector=[1.0, n]) for n in range(4_500)]
    store.index.upsert(records)
    info = store.index.info(HOME)
    assert (info.records, info.vectors, split_state(info.state)[0]) == (4_500, 4_500, 4_500)
    page = store.index.scan(HOME, limit=5_000)
    assert [one.id for one in page.items] == [one.id for one in records]
    assert [hit.record.id for hit in store.index.match(HOME, "word4444")] == ["4444"]


def test_the_most_common_words_are_left_out_where_their_rows_are_too_many(
    store: PostgresBackend, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index, "_MOST_OF_A_TERM", 10)
    store.index.upsert([record(str(n), f"tea time {'quartz' if n % 5 == 0 else n}") for n in range(30)])
    found = store.index.match(HOME, "quartz", limit=30)
    assert len(found) == 6
    again = store.index.match(HOME, "tea quartz time", limit=30)
    assert [(hit.record.id, hit.score) for hit in again] == [(hit.record.id, hit.score) for hit in found]
    # A text of common words alone still finds some.
    assert 10 <= len(store.index.match(HOME, "tea time", limit=30)) <= 22


def test_a_space_is_read_in_pieces(store: PostgresBackend, monkeypatch: pytest.MonkeyPatch):
    records = [record(str(n), f"word{n}", vector=[1.0, n]) for n in range(10)]
    store.index.upsert([*records, record("other", space=AWAY)])
    monkeypatch.setattr(index, "_AT_ONCE", 4)
    pieces = list(store.index.pieces(HOME))
    state = store.index.info(HOME).state
    assert [(piece.state, piece.whole, len(piece.records)) for piece in pieces] == [
        (state, True, 4),
        (state, False, 4),
        (state, False, 2),
    ]
    assert [found for piece in pieces for found in piece.records] == list(store.index.changes(HOME).records)
    assert [len(piece.records) for piece in store.index.pieces(Space("empty"))] == [0]


def test_an_upsert_is_one_statement_and_so_is_news_of_nothing(store: PostgresBackend, asked: list[str]):
    store.index.upsert([record("warm", vector=[1.0, 0.0])])
    asked.clear()
    store.index.upsert([record(str(n), vector=[1.0, n]) for n in range(50)])
    assert len(asked) == 1
    state = store.index.changes(HOME).state
    asked.clear()
    assert store.index.changes(HOME, state).records == []
    assert len(asked) == 1


def test_a_short_search_by_vector_is_one_statement(store: PostgresBackend, asked: list[str]):
    store.index.upsert([record(str(n), vector=[1.0, n]) for n in range(5)])
    store.index.near(HOME, [1.0, 0.0])
    asked.clear()
    assert store.index.near(HOME, [1.0, 0.0], where={"@id": "3"})[0].record.id == "3"
    assert len(asked) == 1


def test_what_happened_too_long_ago_is_told_as_a_whole(store: PostgresBackend):
    store.index.upsert([record("a")])
    early = store.index.changes(HOME).state
    for n in range(3 * KEPT):
        store.index.upsert([record("b", f"cup {n}")])
    late = store.index.changes(HOME, early)
    assert late.whole
    assert [one.id for _, one in late.records] == ["a", "b"]
    assert late.state is not None
    store.index.upsert([record("b", "last")])
    again = store.index.changes(HOME, late.state)
    assert (again.whole, [one.text for _, one in again.records]) == (False, ["last"])


def test_times_come_back_to_the_microsecond(store: PostgresBackend):
    times = [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2300, 5, 6, 7, 8, 9, 123457, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
    ]
    store.index.upsert([record(str(n), time=time) for n, time in enumerate(times)])
    assert [one.time for one in store.index.scan(HOME).items] == times
    for time in times:
        assert [one.time for one in store.index.scan(HOME, where={"@time": time}).items] == [time]


# Names


def test_names_of_any_length_have_keys_of_their_own():
    names = [
        "a", "a" * 200, "a" * 201, "a" * 300 + "b", "a" * 300 + "c", "中" * 66, "中" * 67, "中" * 500, "😀" * 50,
        "😀" * 51,
    ]  # fmt: skip
    names += [keyed(name) for name in names if keyed(name) != name]
    assert len({keyed(name) for name in names}) == len(names)
    assert all(len(keyed(name).encode()) <= 400 for name in names)
    assert [keyed(name) for name in names[:2]] == names[:2]


# Writers side by side


def test_writers_of_one_space_wait_for_each_other(store: PostgresBackend):
    def write(writer: int) -> None:
        for n in range(15):
            store.index.upsert([record(f"{writer}-{n}", vector=[1.0, n]), record(f"shared-{n}", f"cup {writer}")])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    info = store.index.info(HOME)
    assert (info.records, info.vectors, split_state(info.state)[0]) == (75, 60, 120)
    numbers = [number for number, _ in store.index.changes(HOME).records]
    assert len(set(numbers)) == 75


def test_writers_of_other_spaces_do_not_wait(store: PostgresBackend):
    done = threading.Event()

    def write() -> None:
        store.index.upsert([record("b", space=AWAY)])
        done.set()

    other = threading.Thread(target=write)
    with store.transaction():
        store.index.upsert([record("a")])
        other.start()
        assert done.wait(20), "a transaction of one space held up another space"
    other.join()
    assert store.index.info(AWAY).records == 1


MANY, SIZE = 60, 8


def vectors(count: int, size: int = SIZE) -> list[list[float]]:
    chosen = random.Random(count * size)
    return [[chosen.gauss(0, 1) for _ in range(size)] for _ in range(count)]


def records(space: Space, count: int, size: int = SIZE) -> list[Record]:
    return [
        Record(id=str(n), text=f"word{n}", space=space, vector=vector, metadata={"n": n})
        for n, vector in enumerate(vectors(count, size))
    ]


@pytest.fixture
def graphed(tmp_path: Path) -> Iterator[PostgresBackend]:
    with open_store(tmp_path, settings=Settings(hnsw_above=MANY // 2)) as backend:
        yield backend


def index_of(graphed: PostgresBackend) -> PostgresIndex:
    assert isinstance(graphed.index, PostgresIndex)
    return graphed.index


def built(graphed: PostgresBackend, space: Space = HOME) -> None:
    """Build the graphs that are due, that of a space among them."""
    assert index_of(graphed).graphs.tend()[0] >= 1
    assert graphed.index.info(space).search == "hnsw"


def graphs(place: Path, space: Space = HOME) -> list[tuple[Any, ...]]:
    """The names of the space's graphs, and whether each is whole."""
    with server().admin() as connection:
        return connection.execute(
            "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
            "WHERE relnamespace = %s::regnamespace AND starts_with(relname, %s) ORDER BY relname",
            (schema_of(place), graph_prefix(space_key(space))),
        ).fetchall()


# On the wire


# Graphs


def test_a_large_space_gets_a_graph_and_answers_as_before(graphed: PostgresBackend, tmp_path: Path):
    reference, stored = MemoryBackend(), records(HOME, MANY)
    for backend in (graphed, reference):
        backend.index.upsert(stored)
    assert graphed.index.info(HOME).search == "exact"
    built(graphed)
    assert graphs(tmp_path) == [(f"{graph_prefix(space_key(HOME))}{SIZE}", True)]
    for where in (None, {"n": {"$lt": 20}}, {"n": 7}, {"n": -1}):
        for query in vectors(4):
            found = graphed.index.near(HOME, query, limit=5, where=where)
            assert_same_near(found, reference.index.near(HOME, query, limit=1000, where=where), 5)


def test_a_graph_follows_every_change(graphed: PostgresBackend):
    graphed.index.upsert(records(HOME, MANY))
    built(graphed)
    wanted = [1.0] + [0.0] * (SIZE - 1)
    with graphed.transaction():
        graphed.index.upsert([Record(id="new", text="", space=HOME, vector=wanted)])
        assert graphed.index.near(HOME, wanted, limit=1)[0].record.id == "new"
    assert graphed.index.near(HOME, wanted, limit=1)[0].record.id == "new"
    graphed.index.delete(HOME, ["new"])
    assert "new" not in {hit.record.id for hit in graphed.index.near(HOME, wanted, limit=MANY)}
    assert len(graphed.index.near(HOME, wanted, limit=10 * MANY)) == MANY


def test_a_small_space_gets_none(graphed: PostgresBackend, tmp_path: Path):
    graphed.index.upsert(records(HOME, MANY // 2))
    assert index_of(graphed).graphs.tend() == (0, 0)
    assert (graphed.index.info(HOME).search, graphs(tmp_path)) == ("exact", [])


def test_vectors_too_long_for_a_graph_are_searched_exactly(graphed: PostgresBackend, tmp_path: Path):
    size = GRAPH_DIMENSIONS + 1
    graphed.index.upsert(records(HOME, MANY // 2 + 1, size))
    assert len(graphed.index.near(HOME, vectors(1, size)[0], limit=3)) == 3
    assert index_of(graphed).graphs.tend() == (0, 0)
    assert graphs(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["a'b", 'a"b', "a\\b", "%s %I", "{}", "'; DROP TABLE memwell_record; --", "x" * 1024, "中😀"]
)
def test_any_space_can_have_a_graph(graphed: PostgresBackend, tmp_path: Path, name: str):
    space, other = Space(name), Space("other")
    graphed.index.upsert(records(space, MANY) + records(other, 3))
    built(graphed, space)
    assert len(graphs(tmp_path, space)) == 1
    assert len(graphed.index.near(space, vectors(1)[0], limit=1000)) == MANY
    assert len(graphed.index.near(other, vectors(1)[0], limit=1000)) == 3


def test_vectors_of_another_size_get_a_graph_of_their_own(graphed: PostgresBackend, tmp_path: Path):
    graphed.index.upsert(records(HOME, MANY))
    built(graphed)
    graphed.index.revector(HOME, {str(n): vector for n, vector in enumerate(vectors(MANY, 5))})
    assert graphed.index.info(HOME).search == "exact"
    built(graphed)
    # The old one would cost and find nothing.
    assert graphs(tmp_path) == [(f"{graph_prefix(space_key(HOME))}5", True)]


def test_what_a_killed_builder_left_is_made_anew(graphed: PostgresBackend, tmp_path: Path):
    graphed.index.upsert(records(HOME, MANY))
    built(graphed)
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


def test_one_process_at_a_time_builds_a_graph(graphed: PostgresBackend, tmp_path: Path):
    graphed.index.upsert(records(HOME, MANY))
    name = f"{graph_prefix(space_key(HOME))}{SIZE}"
    with server().admin() as connection:
        connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (name,))
        assert index_of(graphed).graphs.tend() == (0, 0)
        # At the end of a connection the server lets go of its locks in its own time.
        connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (name,))
    assert graphs(tmp_path) == []
    assert index_of(graphed).graphs.tend() == (1, 0)
    assert index_of(graphed).graphs.tend() == (0, 0)


def test_a_reader_builds_no_graph_and_says_once_that_one_is_due(
    graphed: PostgresBackend, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    graphed.index.upsert(records(HOME, MANY))
    for _ in range(3):
        assert len(graphed.index.near(HOME, vectors(1)[0], limit=3)) == 3
    assert caplog.text.count("memwell reindex") == 1
    assert graphs(tmp_path) == []
    caplog.clear()
    built(graphed)
    graphed.index.near(HOME, vectors(1)[0])
    assert not caplog.text


def test_progress_counts_the_vectors(graphed: PostgresBackend):
    graphed.index.upsert(records(HOME, MANY) + records(Space("other"), MANY + 1))
    told: list[tuple[int, int | None]] = []
    assert index_of(graphed).graphs.tend(lambda done, total: told.append((done, total))) == (2, 0)
    assert {total for _, total in told} == {2 * MANY + 1}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == 2 * MANY + 1


def test_a_graph_of_a_space_that_was_emptied_is_dropped(graphed: PostgresBackend, tmp_path: Path):
    graphed.index.upsert(records(HOME, MANY) + records(Space("other"), MANY))
    built(graphed)
    graphed.index.delete(HOME, [str(n) for n in range(MANY)])
    assert graphed.scrub()
    assert graphs(tmp_path) == []
    assert len(graphs(tmp_path, Space("other"))) == 1
    graphed.index.upsert(records(HOME, MANY))
    assert len(graphed.index.near(HOME, vectors(1)[0], limit=3)) == 3


def test_graphs_lie_in_the_partition_of_their_space(tmp_path: Path):
    open_store(tmp_path).close()
    with server().admin() as connection:
        partition(connection, 3, schema_of(tmp_path))
    with open_store(tmp_path, settings=Settings(hnsw_above=MANY // 2)) as backend:
        spaces = [Space(f"user{number}") for number in range(4)]
        backend.index.upsert([record for space in spaces for record in records(space, MANY)])
        assert index_of(backend).graphs.tend() == (4, 0)
        assert [backend.index.info(space).search for space in spaces] == ["hnsw"] * 4
        assert all(len(backend.index.near(space, vectors(1)[0], limit=1000)) == MANY for space in spaces)


def test_a_record_with_more_words_than_a_tsvector_takes_is_found_by_any(tmp_path: Path):
    text = " ".join(f"q{number}z" for number in range(70_000)) + " tea" * 300
    records = [Record(id="long", text=text, space=HOME), Record(id="short", text="tea q1z", space=HOME)]
    reference = MemoryBackend()
    with open_store(tmp_path) as store:
        for backend in (store, reference):
            backend.index.upsert(records)
        for query in ("q1z", "q69999z tea", "q35000z q1z q69999z", "tea"):
            assert_same_match(store.index.match(HOME, query), reference.index.match(HOME, query), 10)
        assert store.check() == []
        assert store.index.delete(HOME, ["long"]) == 1
        assert store.index.match(HOME, "q69999z") == []
        assert store.check() == []


def test_spaces_that_share_a_prefix_are_not_mixed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.storage.postgres.index.space_prefix", lambda space: "same")
    with open_store(tmp_path) as store:
        store.index.upsert([Record(id="a", text="tea", space=HOME), Record(id="b", text="cup", space=HOME)])
        alone = store.index.match(HOME, "tea")
        store.index.upsert([Record(id=str(n), text="tea tea", space=AWAY) for n in range(5)])
        assert store.index.match(HOME, "tea") == alone
        assert [hit.record.id for hit in alone] == ["a"]


def test_a_query_of_very_many_terms(tmp_path: Path):
    text = " ".join(f"w{number}" for number in range(400))
    with open_store(tmp_path) as store:
        store.index.upsert([Record(id="a", text=text, space=HOME), Record(id="b", text="w5 w399", space=HOME)])
        found = [hit.record.id for hit in store.index.match(HOME, text + " 'quoted' \\ : & | ! ( ) <-> *")]
    assert found == ["a", "b"]
    assert len(segment(text)) == 400
