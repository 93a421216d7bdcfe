"""Search by vector agrees with the plain definition through any changes, also where a graph is lost, damaged or stale."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.records import Hit, Record, Space, as_vector, pack_half, unpack_half
from memwell.settings import Settings
from memwell.storage.sqlite import SqliteBackend
from memwell.storage.sqlite import vectors as sqlite_vectors
from memwell.storage.sqlite.index import SqliteIndex
from memwell.storage.sqlite.vectors import (
    HnswGraph,
    Matrix,
    VectorRows,
    as_query,
    build_index,
    update_index,
)
from memwell.testing.conformance.backend import fail_inside, in_threads
from memwell.testing.strategies import vectors

Stored = dict[int, bytes]


def packed(vector: Sequence[float]) -> bytes:
    return pack_half(as_vector(vector))


def plain_scores(stored: Stored, query: Sequence[float]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for key, data in stored.items():
        vector = unpack_half(data)
        scores[key] = sum(x * y for x, y in zip(as_vector(query), vector, strict=True)) / math.hypot(*vector)
    return scores


def assert_nearest(found: Sequence[tuple[float, int]], stored: Stored, query: Sequence[float], limit: int) -> None:
    scores = plain_scores(stored, query)
    best = sorted(scores.values(), reverse=True)[:limit]
    assert [score for score, _ in found] == pytest.approx(best, abs=1e-5)
    assert all(abs(scores[key] - score) < 1e-5 for score, key in found)
    assert len({key for _, key in found}) == len(found)


CHANGES = st.lists(st.dictionaries(st.integers(0, 30), st.none() | vectors(), max_size=8), max_size=8)


@given(CHANGES, vectors(), st.integers(1, 10), st.none() | st.sets(st.integers(0, 30)))
def test_a_matrix_follows_changes_and_old_views_stay(
    changes: list[dict[int, list[float] | None]], query: list[float], limit: int, allowed: set[int] | None
):
    matrix, stored = Matrix(3, 0), Stored()
    keys = None if allowed is None else np.array(sorted(allowed), dtype=np.int64)
    views: list[tuple[object, Stored]] = []
    for number, change in enumerate(changes, 1):
        encoded = {key: None if vector is None else packed(vector) for key, vector in change.items()}
        matrix.apply(number, list(encoded.items()))
        stored = {**stored, **{k: v for k, v in encoded.items() if v is not None}}
        stored = {k: v for k, v in stored.items() if encoded.get(k, v) is not None}
        views.append((matrix.view(), stored))
    for view, held in views:
        permitted = held if allowed is None else {k: v for k, v in held.items() if k in allowed}
        assert_nearest(view.nearest(as_query(query), limit, keys), permitted, query, limit)  # type: ignore[attr-defined]


def test_a_matrix_packs_itself_and_stays_right():
    chance = np.random.default_rng(1)
    matrix, stored = Matrix(4, 0), Stored()
    for step in range(40):
        changes = {int(key): packed(chance.normal(size=4).tolist()) for key in chance.integers(0, 50, size=30)}
        matrix.apply(step, list(changes.items()))
        stored.update(changes)
        gone = [int(key) for key in chance.integers(0, 50, size=3)]
        matrix.apply(step, [(key, None) for key in gone])
        stored = {key: value for key, value in stored.items() if key not in gone}
        query = chance.normal(size=4).tolist()
        assert_nearest(matrix.view().nearest(as_query(query), 7, None), stored, query, 7)
    assert matrix.nbytes < 50 * 4 * 4 * 10


def test_many_equal_and_many_rows_are_cut_at_the_limit():
    chance = np.random.default_rng(2)
    rows = chance.normal(size=(5000, 8))
    rows[1000:1100] = rows[0]
    stored = {i: packed(row) for i, row in enumerate(rows)}
    matrix = Matrix(8, 1, stored.items())
    for limit in (1, 5, 50, 101, 200, 4999, 5000, 9000):
        found = matrix.view().nearest(as_query(rows[0]), limit, None)
        assert_nearest(found, stored, rows[0].tolist(), limit)
        # Of equals the oldest come first.
        assert [key for _, key in found[: min(limit, 101)]] == [0, *range(1000, 1100)][:limit]


def test_a_graph_answers_for_changed_rows_exactly():
    chance = np.random.default_rng(1)
    centres = chance.normal(size=(10, 8))
    stored = {i: packed(centres[i % 10] + chance.normal(size=8) * 0.2) for i in range(300)}
    index = build_index(list(stored.items()), 8, lambda: False)
    assert index is not None
    graph = HnswGraph(index, 8, 1)
    query = unpack_half(stored[5])
    graph.apply(2, [(5, None), (6, stored[5]), (1000, stored[5])])
    found = graph.view().candidates(as_query(query), 10, None)
    assert 5 not in found
    assert {6, 1000} <= set(found)
    only = np.array([6, 7, 8], dtype=np.int64)
    assert set(graph.view().candidates(as_query(query), 3, only)) == {6, 7, 8}


def test_building_and_updating_stop_when_told():
    stored = [(n, packed(np.random.default_rng(n).normal(size=8).tolist())) for n in range(50)]
    assert build_index(stored, 8, lambda: True) is None
    index = build_index(stored, 8, lambda: False)
    assert index is not None
    assert update_index(index, [(1, None)], 8, lambda: True) is False
    assert update_index(index, [(1, None), (2, stored[3][1]), (99, stored[4][1])], 8, lambda: False) is True
    assert len(index) == 50


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often all vectors of a space were read, by its key."""
    counted: Counter[int] = Counter()
    original = VectorRows.all

    def counting(self: VectorRows) -> Iterable[tuple[int, bytes]]:
        counted[self.space] += 1
        return original(self)

    monkeypatch.setattr(VectorRows, "all", counting)
    return counted


def test_a_space_is_read_once_and_then_its_changes(tmp_path: Path, reads: Counter[int]):
    with SqliteBackend(tmp_path / "store.db", settings=Settings(kept_changes=20)) as store:
        store.index.upsert(large(clustered(1, 100)))
        for number in range(4):
            store.index.upsert(large(clustered(number, 2), "new-"))
            store.index.delete(HOME, [str(number)])
            assert_exact(store, tmp_path / "store.db", QUERIES[:1])
        assert reads.total() == 1 + 4, "once here, and once by each store that it was compared with"
        for number in range(5):
            store.index.upsert(large(clustered(number, 20), "more-"))
        assert_exact(store, tmp_path / "store.db", QUERIES[:1])
        assert reads.total() == 2 + 5


def test_the_cache_keeps_within_its_memory(tmp_path: Path, reads: Counter[int]):
    spaces = [Space(str(number)) for number in range(6)]
    with SqliteBackend(tmp_path / "store.db", settings=Settings(vector_cache_mb=1)) as store:
        for space in spaces:
            vectors = clustered(1, 300, dimensions=256)
            store.index.upsert([Record(id=str(n), text="", space=space, vector=v) for n, v in enumerate(vectors)])
        for space in (*spaces, *reversed(spaces)):
            store.index.near(space, [1.0] * 256, limit=3)
    # Three of them fit.
    assert [count for _, count in sorted(reads.items())] == [2, 2, 2, 1, 1, 1]


def test_an_embedder_can_be_loaded_after_a_graph_was_used():
    run = "import usearch.index, onnxruntime; print('both')"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "both\n", f"ended with {done.returncode}: {done.stderr}"


# Graphs of a store

HOME = Space("home")
DIMENSIONS = 16
COUNT = 1_500
WITH_GRAPH = Settings(hnsw_above=200)
EXACT = Settings(hnsw_above=10**9)


def clustered(seed: int, count: int, dimensions: int = DIMENSIONS) -> list[list[float]]:
    chance = random.Random(seed)
    centres = [[chance.gauss(0, 1) for _ in range(dimensions)] for _ in range(20)]
    return [[x + chance.gauss(0, 0.3) for x in chance.choice(centres)] for _ in range(count)]


def large(vectors: list[list[float]], prefix: str = "") -> list[Record]:
    return [
        Record(id=f"{prefix}{i}", text="", space=HOME, vector=vector, metadata={"n": i})
        for i, vector in enumerate(vectors)
    ]


QUERIES = clustered(7, 30)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a graph, to be copied: building takes a moment."""
    folder = tmp_path_factory.mktemp("graph")
    with SqliteBackend(folder / "store.db", settings=WITH_GRAPH) as store:
        store.index.upsert(large(clustered(1, COUNT)))
        build(store)
    return folder


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Path:
    for file in built.rglob("*"):
        if file.is_file():
            copy = tmp_path / file.relative_to(built)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(file.read_bytes())
    return tmp_path / "store.db"


def build(store: SqliteBackend) -> None:
    """Search once, which begins a graph where one is due, and wait for it."""
    store.index.near(HOME, QUERIES[0])
    wait(store)
    store.index.near(HOME, QUERIES[0])
    assert store.index.info(HOME).search == "hnsw"


def wait(store: SqliteBackend) -> None:
    index = store.index
    assert isinstance(index, SqliteIndex)
    index.vectors.wait()


def sidecars(place: Path) -> list[Path]:
    return sorted(Path(f"{place}-hnsw").iterdir())


def ids(hits: list[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


def recall(store: SqliteBackend, place: Path, **options: object) -> float:
    """Which share of the true ten nearest are found."""
    with SqliteBackend(place, settings=EXACT) as exact:
        found = 0
        for query in QUERIES:
            true = exact.index.near(HOME, query, **options)  # type: ignore[arg-type]
            hits = store.index.near(HOME, query, **options)  # type: ignore[arg-type]
            assert len(hits) == len(true)
            assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
            found += len(set(ids(true)) & set(ids(hits)))
        assert exact.index.info(HOME).search == "exact"
    return found / (len(QUERIES) * len(true))


def assert_exact(store: SqliteBackend, place: Path, queries: Sequence[list[float]] = QUERIES) -> None:
    """Every answer is that of a store that has no graph."""
    with SqliteBackend(place, settings=EXACT) as exact:
        for query in queries:
            assert store.index.near(HOME, query) == exact.index.near(HOME, query)


def test_a_large_space_gets_a_graph_that_finds_nearly_all(place: Path):
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        assert recall(store, place) >= 0.99
        assert store.index.info(HOME).search == "hnsw"
        assert len(sidecars(place)) == 1
        assert store.check() == []


def test_the_vectors_of_a_large_space_are_read_in_blocks(monkeypatch: pytest.MonkeyPatch, place: Path):
    blocks: list[int] = []
    usual = sqlite_vectors._floats

    def counting(data: bytes, dimensions: int) -> np.ndarray:
        blocks.append(len(data) // (2 * dimensions))
        return usual(data, dimensions)

    monkeypatch.setattr(sqlite_vectors, "_floats", counting)
    monkeypatch.setattr(sqlite_vectors, "_READ", 100)
    for file in sidecars(place):
        file.unlink()
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        # Exact search takes them from the store in pieces, and so does building a graph.
        assert store.index.near(HOME, QUERIES[0])
        wait(store)
        assert sum(blocks) >= 2 * COUNT
        assert max(blocks) <= 256
        assert recall(store, place) > 0.95


def test_a_small_space_has_none(tmp_path: Path):
    with SqliteBackend(tmp_path / "store.db", settings=WITH_GRAPH) as store:
        store.index.upsert(large(clustered(1, 200)))
        store.index.near(HOME, QUERIES[0])
        wait(store)
        assert store.index.info(HOME).search == "exact"
        assert not Path(f"{tmp_path / 'store.db'}-hnsw").exists()


def test_filters_hold_with_a_graph(place: Path):
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        assert recall(store, place, where={"n": {"$lt": 20}}) == 1.0
        assert recall(store, place, where={"n": {"$ge": 300}}) >= 0.99
        assert recall(store, place, limit=400) >= 0.99
        assert store.index.near(HOME, QUERIES[0], where={"n": -1}) == []
        assert len(store.index.near(HOME, QUERIES[0], limit=10_000)) == COUNT


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1000])


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def _of_another(file: Path) -> None:
    with SqliteBackend(file.parent / "another.db", settings=WITH_GRAPH) as other:
        other.index.upsert(large(clustered(99, COUNT)))
        build(other)
        [foreign] = sidecars(other.path)
        file.write_bytes(foreign.read_bytes())


def _fill_with_noise(file: Path) -> None:
    file.write_bytes(random.Random(1).randbytes(50_000))


def _replace_folder(file: Path) -> None:
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("in the way")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "truncated": _truncate, "one bit flipped": _flip, "emptied": lambda file: file.write_bytes(b""),
    "noise": _fill_with_noise, "deleted": lambda file: file.unlink(), "of another store": _of_another,
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_graph_is_not_used_and_built_anew(place: Path, name: str):
    [file] = sidecars(place)
    DAMAGES[name](file)
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        [first] = [store.index.near(HOME, QUERIES[0])]
        with SqliteBackend(place, settings=EXACT) as exact:
            assert first == exact.index.near(HOME, QUERIES[0])
        if name != "a folder":
            build(store)
        assert recall(store, place) >= 0.99
        assert store.check() == []


def test_a_graph_that_cannot_be_written_leaves_search_exact(place: Path):
    [file] = sidecars(place)
    _replace_folder(file)
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        assert_exact(store, place)
        wait(store)
        assert_exact(store, place)
        assert store.index.info(HOME).search == "exact"


def test_changes_of_another_process_count_at_once(place: Path):
    with SqliteBackend(place, settings=WITH_GRAPH) as store, SqliteBackend(place, settings=EXACT) as other:
        build(store)
        best = ids(store.index.near(HOME, QUERIES[0], limit=5))
        other.index.delete(HOME, best[:2])
        other.index.upsert([Record(id=best[2], text="", space=HOME, vector=[-x for x in QUERIES[0]])])
        other.index.upsert([Record(id="new", text="", space=HOME, vector=QUERIES[0])])
        found = ids(store.index.near(HOME, QUERIES[0], limit=5))
        assert found[:3] == ["new", best[3], best[4]]
        assert not set(found) & set(best[:3])
        assert recall(store, place) >= 0.99


def test_a_stale_graph_is_brought_up_to_date(place: Path):
    [old] = sidecars(place)
    with SqliteBackend(place, settings=EXACT) as other:
        other.index.upsert(large(clustered(2, COUNT // 5), "later-"))
        other.index.delete(HOME, [str(n) for n in range(100)])
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        assert recall(store, place) >= 0.99
        build(store)
        assert recall(store, place) >= 0.99
    assert [file.name for file in sidecars(place)] != [old.name]
    assert len(sidecars(place)) == 1


def test_a_graph_older_than_the_kept_changes_is_built_anew(place: Path):
    forgetful = Settings(hnsw_above=200, kept_changes=10)
    with SqliteBackend(place, settings=forgetful) as store:
        build(store)
        for number in range(60):
            store.index.upsert([Record(id=f"x{number}", text="", space=HOME, vector=QUERIES[number % 30])])
        store.index.upsert(large(clustered(3, 300), "more-"))
        assert recall(store, place) >= 0.99
        build(store)
        assert recall(store, place) >= 0.99


def test_a_transaction_sees_its_own_writes_and_leaks_none(place: Path):
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        build(store)
        before = store.index.near(HOME, QUERIES[0])

        def change() -> None:
            store.index.upsert([Record(id="mine", text="", space=HOME, vector=QUERIES[0])])
            store.index.delete(HOME, [before[0].record.id])
            inside = ids(store.index.near(HOME, QUERIES[0]))
            assert inside[0] == "mine"
            assert before[0].record.id not in inside
            assert in_threads(1, lambda _: store.index.near(HOME, QUERIES[0])) == [before]

        with pytest.raises(ZeroDivisionError):
            fail_inside(store, change)
        assert store.index.near(HOME, QUERIES[0]) == before
        # The numbers of the changes that were undone are given to others now.
        store.index.upsert([Record(id="other", text="", space=HOME, vector=[-x for x in QUERIES[0]])])
        store.index.delete(HOME, [before[1].record.id])
        assert before[1].record.id not in ids(store.index.near(HOME, QUERIES[0]))
        assert recall(store, place) >= 0.99


def test_an_emptied_space_may_take_vectors_of_another_size(place: Path):
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        build(store)
        store.index.delete(HOME, [str(n) for n in range(COUNT)])
        assert store.index.near(HOME, QUERIES[0]) == []
        store.index.upsert(large(clustered(5, 300, dimensions=4)))
        [query] = clustered(6, 1, dimensions=4)
        with SqliteBackend(place, settings=EXACT) as exact:
            expected = exact.index.near(HOME, query)
        assert store.index.near(HOME, query) == expected
        wait(store)
        assert set(ids(store.index.near(HOME, query))) == set(ids(expected))
        assert store.check() == []


def test_searches_and_writes_run_while_a_graph_is_built(tmp_path: Path):
    place = tmp_path / "store.db"
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        store.index.upsert(large(clustered(1, COUNT)))

        def work(number: int) -> None:
            for i in range(15):
                if number == 0:
                    store.index.upsert(large(clustered(i, 20), f"{i}-"))
                    store.index.delete(HOME, [str(i)])
                else:
                    hits = store.index.near(HOME, QUERIES[i], limit=20)
                    assert len({hit.record.id for hit in hits}) == 20

        in_threads(4, work)
        wait(store)
        assert recall(store, place) >= 0.99
        assert store.check() == []


def test_closing_stops_a_graph_under_way(tmp_path: Path):
    with SqliteBackend(tmp_path / "store.db", settings=WITH_GRAPH) as store:
        store.index.upsert(large(clustered(1, COUNT)))
        store.index.near(HOME, QUERIES[0])
    with SqliteBackend(tmp_path / "store.db", settings=WITH_GRAPH) as store:
        build(store)
        assert recall(store, store.path) >= 0.99
