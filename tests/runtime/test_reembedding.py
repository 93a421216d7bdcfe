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
from memwell.longterm.journal import inner_space
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.runtime.reembedding import reembed
from memwell.storage import open_backend
from tests.senses import Sense

ROOT = Path(__file__).resolve().parents[2]
ANN = Space("ann")
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
    with memwell.open(store, embedder=HashEmbedder(64), space=ANN, work=False) as m:
        m.remember(["Ann plays the violin.", "Bob climbs a mountain.", "Cy bakes bread."])
        m.flush()


def stored_model(store: Path) -> str:
    with open_backend(store) as backend:
        return str(backend.kv.get(inner_space(ANN), MARK).value)  # type: ignore[union-attr]


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
        assert reembed(store, HashEmbedder(128)) == (1, 3, [])
        assert asked("recall violin") == ("Ann plays the violin.", True)
        assert asked("remember tulip") == ("Dora plants a tulip.", True)
        reader.stdin.close()
    assert stored_model(store) == HashEmbedder(128).name, "the other process did not make them back"
    with open_backend(store) as backend:
        info = backend.index.info(ANN)
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
    assert reembed(store, mine, spaces=["ann"]) == (0, 0, [ANN])
    assert stored_model(store) == HashEmbedder(64).name
    with pytest.raises(InvalidInput, match="no embedder is known"):
        reembed(store, "nobody")


def test_an_engine_with_another_embedder_does_it_in_the_background(tmp_path: Path):
    store = tmp_path / "s.db"
    filled(store)
    with memwell.open(store, embedder=HashEmbedder(64), space=ANN, work=False) as m:
        m.knowledge.add("Cheese is made of milk.", id="cheese")
    with memwell.open(store, embedder=HashEmbedder(128), space=ANN) as m:
        spaces = (ANN, m.knowledge.space)
        for _ in range(3_000):
            assert m.recall("violin", limit=1)[0].signals["dense"].value > 0.3
            assert m.knowledge.recall("milk", limit=1)[0].signals["dense"].value > 0.3
            if all(m.backend.index.info(space).dimensions == 128 for space in spaces):
                break
            time.sleep(0.02)
        assert [m.backend.index.info(space).dimensions for space in spaces] == [128, 128]
