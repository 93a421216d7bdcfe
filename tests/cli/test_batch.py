from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import memwell
from memwell.cli import app
from memwell.longterm.embedding import MARK, STAGED
from memwell.longterm.journal import inner_space, knowledge_space
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.storage import Backend, open_backend


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "s.db"
    with memwell.open(path, embedder=None, space="ann", work=False) as m:
        m.remember([f"Ann drinks tea with Cora on day {n}." for n in range(4)])
        m.at("bob").remember("Bob reads.")
    return str(path)


def test_every_space_is_audited_and_the_next_run_prints_what_was_found(store: str):
    first = CliRunner().invoke(app, ["batch", "audit", "-s", store, "--workers", "1"])
    assert first.exit_code == 0, first.output
    assert "ann" in first.output
    assert "bob" in first.output
    with memwell.open(store, embedder=None, space="bob", work=False) as m:
        m.remember("Bob writes.")
    for arguments, records in (([], 1), (["--again"], 2)):
        done = CliRunner().invoke(app, ["batch", "audit", "-s", store, "-w", "1", "--json", *arguments])
        found = {one["space"][0]: one["records"] for one in json.loads(done.stdout)}
        assert found == {"ann": 4, "bob": records}


def test_every_space_is_consolidated(store: str):
    done = CliRunner().invoke(app, ["batch", "consolidate", "-s", store, "--workers", "1", "--json"])
    assert done.exit_code == 0, done.output
    found = {one["space"][0]: one for one in json.loads(done.stdout)}
    assert found["ann"]["insights"]
    shown = CliRunner().invoke(app, ["batch", "consolidate", "-s", store])
    assert "insights" in shown.output or "归纳" in shown.output


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path):
    done = CliRunner().invoke(app, ["batch", "audit", "-s", str(tmp_path / "no.db")])
    assert "There is no store" in str(done.exception)
    assert not (tmp_path / "no.db").exists()


ROOT = Path(__file__).resolve().parents[2]


OLD, NEW = HashEmbedder(64), HashEmbedder(48)


ANN = Space("ann")


def filled(store: Path, memories: int = 5) -> None:
    with memwell.open(store, embedder=OLD, space=ANN, work=False) as m:
        m.remember([f"Ann saw film number {n}." for n in range(memories)])
        m.flush()
        m.at("bob").remember("Bob likes milk.")
        m.at("bob").flush()
        m.knowledge.add("Cheese is made of milk.", id="cheese")


def whose(backend: Backend, space: Space) -> str:
    entry = backend.kv.get(inner_space(space), MARK)
    return "" if entry is None else str(entry.value)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_whole_store_gets_other_vectors(tmp_path: Path, workers: str):
    store = tmp_path / "app.db"
    filled(store, 520)
    done = CliRunner().invoke(app, ["reembed", "-s", str(store), "--embedder", NEW.name, "--workers", workers])
    assert done.exit_code == 0, done.output
    assert "522 records in 3 spaces" in done.output
    assert f"MEMWELL_EMBEDDER={NEW.name}" in done.output
    with open_backend(store) as backend:
        for space in (ANN, Space("bob"), knowledge_space(ANN)):
            info = backend.index.info(space)
            assert (whose(backend, space), info.dimensions) == (NEW.name, 48)
            assert info.vectors == info.records
        assert not [
            entry for entry in backend.kv.scan(inner_space(ANN), limit=900).items if entry.key.startswith(STAGED)
        ]
        assert backend.kv.scan(Space("memwell", "batch", f"reembed {NEW.name}")).items == []
    again = CliRunner().invoke(app, ["reembed", "-s", str(store), "--embedder", NEW.name])
    assert "0 records in 0 spaces" in again.output


def test_one_space_alone(tmp_path: Path):
    store = tmp_path / "app.db"
    filled(store)
    done = CliRunner().invoke(app, ["reembed", "-s", str(store), "--embedder", NEW.name, "--space", "bob"])
    assert "1 records in 1 spaces" in done.output
    with open_backend(store) as backend:
        assert (whose(backend, ANN), whose(backend, Space("bob"))) == (OLD.name, NEW.name)


def test_killed_in_the_middle_the_old_vectors_serve_and_the_next_run_goes_on(tmp_path: Path):
    store = tmp_path / "app.db"
    filled(store, 700)
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "memwell", "reembed", "-s", str(store), "--embedder", NEW.name, "-w", "2"]
    driver = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path})
    with open_backend(store) as backend:
        while driver.poll() is None and not any(
            entry.key.startswith(STAGED) for entry in backend.kv.scan(inner_space(ANN), limit=5000).items
        ):
            time.sleep(0.02)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        assert whose(backend, ANN) == OLD.name
        assert backend.index.info(ANN).dimensions == 64
    with memwell.open(store, embedder=OLD, space=ANN, work=False) as m:
        assert m.recall("which film was number 7?", limit=1)[0].signals["dense"].value > 0
    done = CliRunner().invoke(app, ["reembed", "-s", str(store), "--embedder", NEW.name, "-w", "1"])
    assert done.exit_code == 0, done.output
    with open_backend(store) as backend:
        info = backend.index.info(ANN)
        assert (whose(backend, ANN), info.dimensions, info.vectors) == (NEW.name, 48, 700)


def test_what_is_not_there_is_refused(tmp_path: Path):
    runner = CliRunner()
    assert "There is no store" in str(runner.invoke(app, ["reembed", "-s", str(tmp_path / "no.db")]).exception)
    filled(tmp_path / "app.db")
    unknown = runner.invoke(app, ["reembed", "-s", str(tmp_path / "app.db"), "--embedder", "nobody's"])
    assert "no embedder is known by the name" in str(unknown.exception)
    assert "is a service" in str(runner.invoke(app, ["reembed", "-s", "http://memory.example"]).exception)
