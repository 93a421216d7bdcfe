"""``memwell bench``: what it measures, and where that is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import memwell
from memwell.runtime.metrics import Metrics, figures_of, last_quality
from tests.commands import Run, running


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    return running(capsys, monkeypatch, tmp_path)


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
