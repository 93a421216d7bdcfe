from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import memwell
from memwell.errors import InvalidInput
from memwell.longterm.embedding import MARK
from memwell.longterm.journal import MARKS, inner_space
from memwell.longterm.memory import Memory
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.runtime.batch import audit_all, consolidate_all, reembed
from memwell.storage import open_backend
from tests.senses import Sense

ANN, BOB = Space("ann"), Space("team", "bob")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.db"
    with memwell.open(path, embedder=None, space=ANN, work=False) as m:
        m.remember(["My key is sk-proj-abcdefghijklmnopqrstuvwx1234567890.", "Ann likes green tea very much."])
        m.remember([f"Ann drinks tea with Cora on day {n}." for n in range(4)])
        m.at(BOB).remember(["Bob sails a boat on the lake.", "Bob sails a boat on the lake!!", "Bob reads."])
        m.knowledge.add("Cheese is made of milk.", id="cheese")
        m.thread("talk").add(memwell.human("Hello"))
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_an_audit_of_all_spaces_is_that_of_each(store: Path, workers: int):
    told: list[tuple[int, int | None]] = []
    outcome = audit_all(store, workers=workers, progress=lambda done, total: told.append((done, total)))
    with open_backend(store) as backend:
        reports = {space: Memory(backend, space).audit() for space in (ANN, BOB)}
    assert outcome.failures == []
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert [Space(*one["space"]) for one in outcome.results] == [ANN, BOB]
    for one, report in zip(outcome.results, reports.values(), strict=True):
        assert (one["records"], one["counts"]) == (report.records, report.counts)
        assert [step["record"] for step in one["plan"]] == [step.record for step in report.plan]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_space_that_fails_is_reported_and_the_others_go_on(store: Path, workers: int):
    with open_backend(store) as backend:
        backend.kv.put(inner_space(BOB), MARKS, "damaged")
    outcome = audit_all(store, workers=workers)
    assert [Space(*one["space"]) for one in outcome.results] == [ANN]
    assert [failure.space for failure in outcome.failures] == [BOB]


def test_an_open_store_is_worked_on_here():
    with open_backend("memory:") as backend:
        for space in (ANN, BOB):
            Memory(backend, space).remember("Tea is warm.")
        assert [one["records"] for one in audit_all(backend, workers=2).results] == [1, 1]


def test_processes_end_when_their_program_is_killed(tmp_path: Path):
    script = tmp_path / "program.py"
    script.write_text(
        "import os, time\n"
        "from memwell.runtime.batch import process_pool\n"
        "if __name__ == '__main__':\n"
        "    pool = process_pool(1)\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, env=environment()) as program:
        assert program.stdout is not None
        assert int(program.stdout.readline())
        program.kill()
        # The worker holds the other end of the pipe, too.
        assert program.stdout.read() == b""


def test_a_consolidation_done_again_changes_nothing_more(store: Path):
    first, again = consolidate_all(store), consolidate_all(store)
    ann = first.results[0]
    assert ann["insights"]
    for before, after in zip(first.results, again.results, strict=True):
        assert after["after"] == after["before"] == before["after"] + len(before["insights"])
        assert after["insights"] == before["insights"]
    with open_backend(store) as backend:
        assert {record.kind for record in backend.index.get(ANN, ann["insights"])} == {"insight"}


ROOT = Path(__file__).resolve().parents[2]
REEMBEDDING_ANN = Space("ann")
READER = """
import sys
import time
import memwell
from memwell.models.scripted import HashEmbedder

with memwell.open(sys.argv[1], embedder=HashEmbedder(64), space="ann") as m:
    for line in sys.stdin:
        if line.startswith("remember"):
            m.remember("Dora plants a tulip.")
        hit = m.recall(line.split(maxsplit=1)[1], limit=1)[0]
        dense = hit.signals.get("dense")
        print(hit.text, "|", 0 if dense is None else round(dense.value, 2), flush=True)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}


def filled(store: Path) -> None:
    with memwell.open(store, embedder=HashEmbedder(64), space=REEMBEDDING_ANN, work=False) as m:
        m.remember(["Ann plays the violin.", "Bob climbs a mountain.", "Cy bakes bread."])
        m.flush()


def stored_model(store: Path) -> str:
    with open_backend(store) as backend:
        return str(backend.kv.get(inner_space(REEMBEDDING_ANN), MARK).value)  # type: ignore[union-attr]


def test_another_process_with_the_old_embedder_goes_on(tmp_path: Path):
    store = tmp_path / "s.db"
    filled(store)
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None

        def asked(line: str) -> tuple[str, bool]:
            print(line, file=reader.stdin, flush=True)
            text, dense = reader.stdout.readline().rsplit(" | ", 1)  # type: ignore[union-attr]
            return text, float(dense) > 0.3

        assert asked("recall violin") == ("Ann plays the violin.", True)
        assert reembed(store, HashEmbedder(128), workers=1) == (1, 3, [])
        assert asked("recall violin") == ("Ann plays the violin.", True)
        assert asked("remember tulip") == ("Dora plants a tulip.", True)
        reader.stdin.close()
    assert stored_model(store) == HashEmbedder(128).name, "the other process did not make them back"
    with open_backend(store) as backend:
        info = backend.index.info(REEMBEDDING_ANN)
        assert (info.dimensions, info.vectors) == (128, 4)


def test_an_embedder_of_ones_own_is_used_here(tmp_path: Path):
    store = tmp_path / "s.db"
    filled(store)
    told: list[tuple[int, int | None]] = []
    mine = Sense("my very own")
    assert reembed(store, mine, progress=lambda done, total: told.append((done, total))) == (1, 3, [])
    assert stored_model(store) == "my very own"
    assert told[-1] == (3, 3)
    assert mine.embedded == 3


def test_a_space_whose_texts_cannot_be_taken_is_reported_and_keeps_its_vectors(tmp_path: Path):
    store = tmp_path / "s.db"
    filled(store)
    mine = Sense("out of order")
    mine.fails_on = " "
    assert reembed(store, mine, spaces=["ann"]) == (0, 0, [REEMBEDDING_ANN])
    assert stored_model(store) == HashEmbedder(64).name
    with pytest.raises(InvalidInput, match="no embedder is known"):
        reembed(store, "nobody")


def test_an_engine_with_another_embedder_does_it_in_the_background(tmp_path: Path):
    store = tmp_path / "s.db"
    filled(store)
    with memwell.open(store, embedder=HashEmbedder(64), space=REEMBEDDING_ANN, work=False) as m:
        m.knowledge.add("Cheese is made of milk.", id="cheese")
    with memwell.open(store, embedder=HashEmbedder(128), space=REEMBEDDING_ANN) as m:
        spaces = (REEMBEDDING_ANN, m.knowledge.space)
        for _ in range(3_000):
            assert m.recall("violin", limit=1)[0].signals["dense"].value > 0.3
            assert m.knowledge.recall("milk", limit=1)[0].signals["dense"].value > 0.3
            if all(m.backend.index.info(space).dimensions == 128 for space in spaces):
                break
            time.sleep(0.02)
        assert [m.backend.index.info(space).dimensions for space in spaces] == [128, 128]
