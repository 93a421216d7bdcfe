from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import memwell
from memwell.cli import app


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
