"""``memwell capacity`` and ``memwell bench``: what they print, in both languages."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import memwell
from memwell.runtime.capacity import figures
from memwell.runtime.metrics import Metrics, figures_of, last_quality
from tests.commands import Run, running


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    return running(capsys, monkeypatch, tmp_path)


@pytest.mark.parametrize("engine", sorted(figures().engines))
def test_it_says_how_many_machines_and_what_that_rests_on(run: Run, engine: str):
    printed = run("capacity", "--users", "100000", "--engine", engine).out
    assert re.search(r"\d machines? for memwell", printed)
    assert "extrapolated" in printed
    assert "your numbers" in printed
    assert figures().measured in printed


def test_it_speaks_chinese(run: Run):
    printed = run("capacity", "--users", "100", language="zh").out
    assert "台机器" in printed
    assert "由你给定" in printed
    assert " 核" in printed
    assert "次/秒" in printed
    assert "同一台机器上" in printed
    assert not re.search("cores|machine|/s", printed)


def test_one_is_said_as_one_and_many_are_read_easily(run: Run):
    assert re.search(
        r"^1 machine for memwell, 1 machine for postgres\.", run("capacity", "--users", "10").out, re.MULTILINE
    )
    assert re.search(r"^\d+,\d{3} machines for memwell", run("capacity", "--users", "2000000000").out, re.MULTILINE)


def test_a_file_needs_no_machine_of_its_own(run: Run):
    assert (
        "1 machine for memwell; sqlite lies in files there"
        in run("capacity", "--users", "10", "--engine", "sqlite").out
    )
    assert "不另需机器" in run("capacity", "--users", "10", "--engine", "sqlite", language="zh").out


def test_programs_get_json(run: Run):
    made = json.loads(run("capacity", "--users", "100", "--json").out)
    assert made["engine"] == "postgres"
    assert made["machines"] >= 1


# Benchmarks


@pytest.fixture
def data(tmp_path: Path) -> Path:
    units = [{"id": f"u{n}", "text": text, "speaker": "Ann", "time": "2024-05-07", "session": "s"}
             for n, text in enumerate(["I like green tea.", "My bicycle is red.", "Rome was hot."])]  # fmt: skip
    queries = [{"id": "q", "text": "what colour is the bicycle?", "gold": ["u1"], "cat": "plain", "time": "2024-05-08"}]
    path = tmp_path / "small.json"
    path.write_text(json.dumps([{"name": "one", "units": units, "queries": queries}]))
    return path


def test_the_result_is_in_the_overview_of_the_store(run: Run, data: Path, tmp_path: Path):
    store = tmp_path / "app.db"
    memwell.open(store, embedder=None, work=False).close()
    outcome = run("bench", "recall", data, "--note-in", store)
    assert (outcome.code, outcome.err) == (0, "")
    with memwell.open(store, embedder=None, work=False) as engine:
        told = figures_of(Metrics(engine.backend), engine).quality
        assert told is not None
        assert (told.data, told.ndcg10, told.recall10, told.queries) == ("small", 1.0, 1.0, 1)
        assert told == last_quality(engine.backend.kv)


def test_a_store_that_is_not_there_is_not_made_and_nothing_is_measured(run: Run, data: Path, tmp_path: Path):
    outcome = run("bench", "recall", data, "--note-in", tmp_path / "none.db", "--keep", tmp_path / "kept")
    assert outcome.code == 1
    assert "none.db" in outcome.err
    assert not (tmp_path / "none.db").exists()
    assert not (tmp_path / "kept").exists()
