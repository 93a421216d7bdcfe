"""``memwell capacity``: a table for people, JSON for programs, in both languages."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from memwell.cli import app
from memwell.runtime.capacity import figures


def run(*arguments: str, language: str = "en") -> str:
    done = CliRunner().invoke(app, ["capacity", *arguments], env={"MEMWELL_LANGUAGE": language, "COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("engine", sorted(figures().engines))
def test_it_says_how_many_machines_and_what_that_rests_on(engine: str):
    printed = run("--users", "100000", "--engine", engine)
    assert "machines for memwell" in printed
    assert "extrapolated" in printed
    assert "your numbers" in printed
    assert figures().measured in printed


def test_it_speaks_chinese():
    printed = run("--users", "100", language="zh")
    assert "台机器" in printed
    assert "由你给定" in printed


def test_programs_get_json():
    made = json.loads(run("--users", "100", "--json"))
    assert made["engine"] == "postgres"
    assert made["machines"] >= 1


def test_more_memories_take_more_room():
    few, many = (json.loads(run("--users", "10", "--memories", one, "--json")) for one in ("10", "1000"))
    kept = [next(line["amount"] for line in made["lines"] if line["what"] == "kept") for made in (few, many)]
    assert kept[0] < kept[1]
