from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import InvalidInput
from memwell.longterm.embedding import MARK
from memwell.longterm.journal import inner_space
from memwell.longterm.memory import Memory
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.runtime.batch.upkeep import audits, consolidation, reembed, spaces_with_memories
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


def test_only_spaces_with_memories_are_pieces(store: Path):
    with open_backend(store) as backend:
        assert set(spaces_with_memories(backend)) == {ANN, BOB}


@pytest.mark.parametrize("runner", ["inline", "processes"])
def test_an_audit_of_all_spaces_is_that_of_each(store: Path, runner: Any):
    outcome = audits(store, workers=2, runner=runner).run()
    with open_backend(store) as backend:
        reports = {space: Memory(backend, space).audit() for space in (ANN, BOB)}
    found = {Space(*one["space"]): one for one in outcome.results}
    assert outcome.complete
    assert set(found) == {ANN, BOB}
    for space, report in reports.items():
        assert found[space]["records"] == report.records
        assert found[space]["counts"] == report.counts
        assert [step["record"] for step in found[space]["plan"]] == [step.record for step in report.plan]


def test_a_consolidation_done_again_changes_nothing_more(store: Path):
    first = consolidation(store, runner="inline").run()
    again = consolidation(store, runner="inline").run(again=True)
    assert first.complete
    ann = next(one for one in first.results if one["space"] == ["ann"])
    assert ann["insights"]
    for before, after in zip(first.results, again.results, strict=True):
        assert after["after"] == after["before"] == before["after"] + len(before["insights"])
        assert after["insights"] == before["insights"]
    with open_backend(store) as backend:
        assert {record.kind for record in backend.index.get(ANN, ann["insights"])} == {"insight"}


ROOT = Path(__file__).resolve().parents[3]
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
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
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
