"""The graph beside a store is an acceleration and never the truth: lost, damaged or stale, the answers stay right."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from memwell.records import Hit, Record, Space
from memwell.settings import Settings
from memwell.storage.sqlite import SqliteBackend
from memwell.storage.sqlite.index import SqliteIndex
from memwell.testing.conformance.backend import fail_inside, in_threads

HOME = Space("home")
DIMENSIONS = 16
COUNT = 1_500
WITH_GRAPH = Settings(hnsw_above=200)
EXACT = Settings(hnsw_above=10**9)


def clustered(seed: int, count: int, dimensions: int = DIMENSIONS) -> list[list[float]]:
    chance = random.Random(seed)
    centres = [[chance.gauss(0, 1) for _ in range(dimensions)] for _ in range(20)]
    return [[x + chance.gauss(0, 0.3) for x in chance.choice(centres)] for _ in range(count)]


def records(vectors: list[list[float]], prefix: str = "") -> list[Record]:
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
        store.index.upsert(records(clustered(1, COUNT)))
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


def assert_exact(store: SqliteBackend, place: Path) -> None:
    """Every answer is that of a store that has no graph."""
    with SqliteBackend(place, settings=EXACT) as exact:
        for query in QUERIES:
            assert store.index.near(HOME, query) == exact.index.near(HOME, query)


def test_a_large_space_gets_a_graph_that_finds_nearly_all(place: Path):
    with SqliteBackend(place, settings=WITH_GRAPH) as store:
        assert recall(store, place) >= 0.99
        assert store.index.info(HOME).search == "hnsw"
        assert len(sidecars(place)) == 1
        assert store.check() == []


def test_a_small_space_has_none(tmp_path: Path):
    with SqliteBackend(tmp_path / "store.db", settings=WITH_GRAPH) as store:
        store.index.upsert(records(clustered(1, 200)))
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
        other.index.upsert(records(clustered(99, COUNT)))
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
    "truncated": _truncate,
    "one bit flipped": _flip,
    "emptied": lambda file: file.write_bytes(b""),
    "noise": _fill_with_noise,
    "deleted": lambda file: file.unlink(),
    "of another store": _of_another,
    "a folder": lambda file: (file.unlink(), file.mkdir()),
}


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
        other.index.upsert(records(clustered(2, COUNT // 5), "later-"))
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
        store.index.upsert(records(clustered(3, 300), "more-"))
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
        store.index.upsert(records(clustered(5, 300, dimensions=4)))
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
        store.index.upsert(records(clustered(1, COUNT)))

        def work(number: int) -> None:
            for i in range(15):
                if number == 0:
                    store.index.upsert(records(clustered(i, 20), f"{i}-"))
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
        store.index.upsert(records(clustered(1, COUNT)))
        store.index.near(HOME, QUERIES[0])
    with SqliteBackend(tmp_path / "store.db", settings=WITH_GRAPH) as store:
        build(store)
        assert recall(store, store.path) >= 0.99
