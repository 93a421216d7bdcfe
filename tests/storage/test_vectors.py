"""Vectors in memory agree with the plain definition through any changes, and files are used only when they are whole."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.records import as_vector, pack_half, unpack_half
from memwell.storage.vectors import (
    HnswGraph,
    Matrix,
    SidecarFile,
    VectorCache,
    as_query,
    build_index,
    load_index,
    save_index,
    update_index,
)
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


@given(vectors() | st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5))
def test_a_query_is_the_vector_that_a_record_would_have(vector: list[float]):
    try:
        expected = as_vector(vector)
    except InvalidInput:
        with pytest.raises(InvalidInput):
            as_query(vector)
        return
    for given_as in (vector, tuple(vector), np.array(vector)):
        assert as_query(given_as).tolist() == pytest.approx(list(expected), abs=1e-6)  # type: ignore[arg-type]


def clustered(count: int, seed: int = 1) -> Stored:
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(10, 8))
    return {i: packed(centres[i % 10] + chance.normal(size=8) * 0.2) for i in range(count)}


def never() -> bool:
    return False


def test_a_graph_comes_back_from_its_file_whole_or_not_at_all(tmp_path: Path):
    stored = clustered(500)
    index = build_index(list(stored.items()), 8, never)
    assert index is not None
    sidecar = save_index(index, tmp_path / "graphs", 3, 77)
    folder = tmp_path / "graphs"
    assert (sidecar.change, [file.name for file in folder.iterdir()]) == (77, [sidecar.file])
    loaded = load_index(folder, sidecar, 8)
    assert loaded is not None
    assert len(loaded) == 500
    assert load_index(folder, sidecar._replace(digest="0" * 64), 8) is None
    assert load_index(folder, sidecar._replace(file="missing"), 8) is None
    assert load_index(folder, sidecar._replace(file="../graphs/" + sidecar.file), 8) is not None
    assert load_index(folder, sidecar, 9) is None
    (folder / sidecar.file).write_bytes((folder / sidecar.file).read_bytes()[:-1])
    assert load_index(folder, sidecar, 8) is None


def test_building_and_updating_stop_when_told():
    stored = list(clustered(50).items())
    assert build_index(stored, 8, lambda: True) is None
    index = build_index(stored, 8, never)
    assert index is not None
    assert update_index(index, [(1, None)], 8, lambda: True) is False
    assert update_index(index, [(1, None), (2, stored[3][1]), (99, stored[4][1])], 8, never) is True
    assert len(index) == 50


def test_a_graph_answers_for_changed_rows_exactly():
    stored = clustered(300)
    index = build_index(list(stored.items()), 8, never)
    assert index is not None
    graph = HnswGraph(index, 8, 1)
    query = unpack_half(stored[5])
    graph.apply(2, [(5, None), (6, stored[5]), (1000, stored[5])])
    found = graph.view().candidates(as_query(query), 10, None)
    assert 5 not in found
    assert {6, 1000} <= set(found)
    only = np.array([6, 7, 8], dtype=np.int64)
    assert set(graph.view().candidates(as_query(query), 3, only)) == {6, 7, 8}


class Rows:
    """A space's vectors with a record of its changes, as a store would give them."""

    def __init__(self, space: int, stored: Stored) -> None:
        self.space = space
        self.dimensions = 8
        self.change = 1
        self.stored = stored
        self.count = len(stored)
        self.changes: list[tuple[int, int]] = []
        self.reads = 0
        self.forgotten = False

    def put(self, key: int, data: bytes | None) -> None:
        self.change += 1
        self.stored = {k: v for k, v in {**self.stored, key: data}.items() if v is not None}
        self.count = len(self.stored)
        self.changes.append((self.change, key))

    def all(self) -> Iterable[tuple[int, bytes]]:
        self.reads += 1
        return self.stored.items()

    def since(self, change: int) -> list[tuple[int, bytes | None]] | None:
        if self.forgotten:
            return None
        return [(key, self.stored.get(key)) for key in {key for at, key in self.changes if at > change}]

    def some(self, keys: Sequence[int]) -> list[tuple[int, bytes]]:
        return [(key, self.stored[key]) for key in keys if key in self.stored]

    def sidecar(self) -> SidecarFile | None:
        return None


def test_the_cache_reads_a_space_once_and_then_its_changes(tmp_path: Path):
    cache = VectorCache(tmp_path, most_bytes=10**9, graph_above=10**9)
    rows = Rows(1, clustered(100))
    query = [1.0, 2, 3, 4, 5, 6, 7, 8]
    for key, data in [(3, None), (4, rows.stored[9]), (500, rows.stored[8]), (500, None)]:
        rows.put(key, data)
        found = cache.nearest(rows, as_query(query), 10, None, shared=True)
        assert found is not None
        assert_nearest(found, rows.stored, query, 10)
    assert rows.reads == 1
    rows.forgotten = True
    rows.put(5, None)
    found = cache.nearest(rows, as_query(query), 10, None, shared=True)
    assert found is not None
    assert_nearest(found, rows.stored, query, 10)
    assert rows.reads == 2


def test_the_cache_keeps_within_its_memory(tmp_path: Path):
    one = Matrix(8, 1, clustered(100).items()).nbytes
    cache = VectorCache(tmp_path, most_bytes=3 * one, graph_above=10**9)
    spaces = [Rows(number, clustered(100, number)) for number in range(6)]
    query = as_query([1.0] * 8)
    for rows in spaces:
        cache.nearest(rows, query, 3, None, shared=True)
    for rows in reversed(spaces):
        cache.nearest(rows, query, 3, None, shared=True)
    assert [rows.reads for rows in spaces] == [2, 2, 2, 1, 1, 1]


def test_what_a_transaction_sees_is_not_kept(tmp_path: Path):
    cache = VectorCache(tmp_path, most_bytes=10**9, graph_above=10**9)
    rows = Rows(1, clustered(100))
    query = as_query([1.0] * 8)
    before = cache.nearest(rows, query, 100, None, shared=True)
    inside = Rows(1, {**rows.stored, 700: rows.stored[1]})
    inside.change = 2
    found = cache.nearest(inside, query, 200, None, shared=False)
    assert found is not None
    assert 700 in {hit.key for hit in found}
    assert cache.nearest(rows, query, 100, None, shared=True) == before


def test_an_older_state_than_the_cache_is_told_to_come_again(tmp_path: Path):
    cache = VectorCache(tmp_path, most_bytes=10**9, graph_above=10**9)
    rows, query = Rows(1, clustered(20)), as_query([1.0] * 8)
    older = Rows(1, rows.stored)
    rows.put(1, None)
    assert cache.nearest(rows, query, 3, None, shared=True) is not None
    assert cache.nearest(older, query, 3, None, shared=True) is None


def test_searches_in_threads_see_one_state_each(tmp_path: Path):
    cache = VectorCache(tmp_path, most_bytes=10**9, graph_above=10**9)
    stored = clustered(200)
    states = [Rows(1, stored)]
    for number in range(60):
        following = Rows(1, states[-1].stored)
        following.change, following.changes = states[-1].change, list(states[-1].changes)
        following.put(number, stored[number + 100] if number % 2 else None)
        states.append(following)
    query = [1.0, 2, 3, 4, 5, 6, 7, 8]
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            for rows in states:
                found = cache.nearest(rows, as_query(query), 20, None, shared=True)
                if found is not None:
                    assert_nearest(found, rows.stored, query, 20)
        except BaseException as error:  # noqa: BLE001 - reported by the test
            wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_embedder_can_be_loaded_after_a_graph_was_used():
    run = "import usearch.index, onnxruntime; print('both')"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "both\n", f"ended with {done.returncode}: {done.stderr}"
