from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import BackendError, Conflict, InvalidInput, MissingDependency
from memwell.records import Space
from memwell.runtime.batch import DIED, Batch, BatchOutcome, OnRay
from memwell.storage import Backend, open_backend
from tests.runtime.batch import sample_works
from tests.runtime.batch.sample_works import NOTES

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_RAY = importlib.util.find_spec("ray") is None


def runs(store: Path, piece: int) -> int:
    with open_backend(store) as backend:
        return noted(backend, str(piece))


def noted(backend: Backend, what: str) -> int:
    entry = backend.kv.get(NOTES, what)
    return 0 if entry is None else int(entry.value)


@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_results_are_the_same_and_in_order_however_it_is_run(tmp_path: Path, runner: Any):
    check_results(tmp_path / "s.db", runner)


def check_results(store: Path, runner: Any) -> None:
    told: list[tuple[int, int]] = []
    batch = Batch(store, "squares", list(range(7)), sample_works.square, workers=2, runner=runner)
    outcome = batch.run(progress=lambda done, total: told.append((done, total)))
    assert outcome == BatchOutcome([{"square": n * n} for n in range(7)], [])
    assert told == sorted(told)
    assert (told[0], told[-1]) == ((0, 7), (7, 7))
    assert runner != "inline" or told == [(n, 7) for n in range(8)]
    assert batch.run() == outcome
    assert [runs(store, n) for n in range(7)] == [1] * 7, "a second run does nothing"
    assert batch.run(again=True) == outcome
    assert runs(store, 6) == 2


@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_a_piece_that_fails_is_tried_again_and_then_reported(tmp_path: Path, runner: Any):
    store = tmp_path / "s.db"
    batch = Batch(store, "picky", list(range(6)), sample_works.picky, workers=2, runner=runner)
    outcome = batch.run()
    assert outcome.results == [0, 1, 4, None, 16, 25]
    assert [(one.number, one.piece, one.error, one.tries) for one in outcome.failures] == [
        (3, 3, "ValueError: not this one", 3)
    ]
    assert not outcome.complete
    assert (runs(store, 3), runs(store, 4)) == (3, 2)
    assert batch.run().failures[0].number == 3
    assert (runs(store, 3), runs(store, 5)) == (6, 1), "the next run tries it again, and it alone"


def test_a_process_that_dies_takes_only_its_own_piece_with_it(tmp_path: Path):
    outcome = Batch(tmp_path / "s.db", "d", list(range(6)), sample_works.deadly, workers=2, runner="processes").run()
    assert outcome.results == [0, 1, 4, None, 16, 25]
    assert [(one.number, one.error) for one in outcome.failures] == [(3, DIED)]


@pytest.fixture
def ray_started() -> Iterator[None]:
    """Ray, started as a batch would start it."""
    with OnRay(2):
        yield


# One test, because Ray takes half a minute to start where much else is going on.
@pytest.mark.skipif(WITHOUT_RAY, reason="Ray is not installed")
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("ray_started")
def test_ray_has_the_same_results_and_replaces_a_worker_that_dies(tmp_path: Path):
    check_results(tmp_path / "s.db", "ray")
    outcome = Batch(tmp_path / "d.db", "d", [2, 4, 5], sample_works.deadly, workers=2).run()
    assert outcome == BatchOutcome([4, 16, 25], []), "Ray runs, so it is used"


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path):
    store = tmp_path / "s.db"
    script = (
        "from memwell.runtime.batch import Batch\n"
        f"Batch({str(store)!r}, 'slow', list(range(10)), 'tests.runtime.batch.sample_works:slow',"
        " workers=2, runner='processes').run()\n"
    )
    with open_backend(store) as backend:
        driver = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env={**os.environ, "PYTHONPATH": _path()})
        while len(under_way := [n for n in range(6, 10) if noted(backend, f"begun {n}")]) < 2:
            assert driver.poll() is None, "it ended before it was killed"
            time.sleep(0.01)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        backend.kv.put(NOTES, "go on", 1)
    batch = Batch(store, "slow", list(range(10)), sample_works.slow, workers=2, runner="processes")
    assert batch.run() == BatchOutcome([n * n for n in range(10)], [])
    others = [n for n in range(10) if n not in under_way]
    assert [runs(store, n) for n in others] == [1] * 8, "only what was under way may be done twice"
    assert {runs(store, n) for n in under_way} <= {1, 2}


def test_two_programs_share_the_pieces_of_one_batch(tmp_path: Path):
    store = tmp_path / "s.db"
    batches = [Batch(store, "squares", list(range(30)), sample_works.square, workers=2, runner="processes")] * 2
    with ThreadPoolExecutor(2) as pool:
        # The second begins when the pieces are stored.
        first = pool.submit(batches[0].run)
        while len(batches[0].outcome().results) < 30:
            time.sleep(0.01)
        assert (
            pool.submit(batches[1].run).result()
            == first.result()
            == BatchOutcome([{"square": n * n} for n in range(30)], [])
        )
    assert [runs(store, n) for n in range(30)] == [1] * 30


def test_a_worker_that_cannot_begin_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BackendError, match="before they begin"):
        Batch(tmp_path / "s.db", "b", [1, 2], sample_works.square, workers=2, runner="processes").run()


def test_a_batch_that_an_earlier_version_began_begins_again(tmp_path: Path):
    """Its pieces were a page of a list, its results and failures entries of their own."""
    space, work = Space("memwell", "batch", "squares"), "tests.runtime.batch.sample_works:square"
    with open_backend(tmp_path / "s.db") as backend:
        backend.kv.put(space, "head", {"work": work, "count": 3})
        backend.kv.put(space, "pieces/00000000", [5, 6, 7])
        backend.kv.put(space, "result/000000000001", [{"square": 36}])
        backend.kv.put(space, "failed/000000000002", {"number": 2, "piece": 7, "error": "?", "tries": 3})
        outcome = Batch(backend, "squares", [5, 6, 7], work, runner="inline").run()
        assert outcome == BatchOutcome([{"square": 25}, {"square": 36}, {"square": 49}], [])
        assert [entry.key for entry in backend.kv.scan(space).items] == ["head"]


def _path() -> str:
    return os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])


def test_pieces_may_be_listed_by_a_function_once():
    asked: list[int] = []

    def pieces(store: Any) -> list[int]:
        asked.append(len(store.kv.scan(NOTES).items))
        return list(range(600))

    with open_backend("memory:") as backend:
        batch = Batch(backend, "many", pieces, sample_works.square)
        assert len(batch.run().results) == 600
        assert batch.outcome().results[599] == {"square": 599 * 599}
        batch.run()
        assert asked == [0]
        batch.forget()
        assert batch.outcome() == BatchOutcome([], [])


def test_a_batch_of_other_pieces_or_another_work_is_refused(tmp_path: Path):
    Batch(tmp_path / "s.db", "b", [1, 2], sample_works.square, runner="inline").run()
    with pytest.raises(Conflict, match="other pieces"):
        Batch(tmp_path / "s.db", "b", [1, 3], sample_works.square, runner="inline").run()
    with pytest.raises(Conflict, match="sample_works:square"):
        Batch(tmp_path / "s.db", "b", [1, 2], sample_works.slow, runner="inline").run()


def test_what_is_no_json_is_a_failure():
    with open_backend("memory:") as backend:
        outcome = Batch(backend, "b", [1], sample_works.no_json, tries=1).run()
        assert outcome.results == [None]
        assert "InvalidInput" in outcome.failures[0].error
        assert Batch(backend, "empty", [], sample_works.square).run() == BatchOutcome([], [])


def _inner(store: Any, piece: Any) -> None: ...


def test_values_that_break_a_rule_are_refused(tmp_path: Path):
    url = tmp_path / "s.db"
    for work in (lambda store, piece: 1, "nowhere:at_all", "memwell.runtime.batch:nothing", "memwell", "os:sep"):
        with pytest.raises(InvalidInput):
            Batch(url, "b", [1], work)
    with pytest.raises(InvalidInput, match="runner"):
        Batch(url, "b", [1], _inner, runner="threads")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="workers"):
        Batch(url, "b", [1], _inner, workers=0)
    with pytest.raises(InvalidInput, match="no other process"):
        Batch("memory:", "b", [1], _inner, runner="processes")
    assert not url.exists()


def test_without_ray_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependency, match=r'pip install "memwell\[ray\]"'):
        Batch(tmp_path / "s.db", "b", [1, 2], sample_works.square, runner="ray").run()
