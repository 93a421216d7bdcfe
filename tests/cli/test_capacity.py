"""``memwell capacity``: a table for people, JSON for programs, in both languages."""

from __future__ import annotations

import json
import re

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
    assert re.search(r"\d machines? for memwell", printed)
    assert "extrapolated" in printed
    assert "your numbers" in printed
    assert figures().measured in printed


def test_it_speaks_chinese():
    printed = run("--users", "100", language="zh")
    assert "台机器" in printed
    assert "由你给定" in printed
    assert " 核" in printed
    assert "次/秒" in printed
    assert "同一台机器上" in printed
    assert not re.search("cores|machine|/s", printed)


def test_one_is_said_as_one_and_many_are_read_easily():
    assert re.search(r"^1 machine for memwell, 1 machine for postgres\.", run("--users", "10"), re.MULTILINE)
    assert re.search(r"^\d+,\d{3} machines for memwell", run("--users", "2000000000"), re.MULTILINE)


def test_a_file_needs_no_machine_of_its_own():
    assert "1 machine for memwell; sqlite lies in files there" in run("--users", "10", "--engine", "sqlite")
    assert "不另需机器" in run("--users", "10", "--engine", "sqlite", language="zh")


def test_programs_get_json():
    made = json.loads(run("--users", "100", "--json"))
    assert made["engine"] == "postgres"
    assert made["machines"] >= 1


def test_more_memories_take_more_room():
    few, many = (json.loads(run("--users", "10", "--memories", one, "--json")) for one in ("10", "1000"))
    kept = [next(line["amount"] for line in made["lines"] if line["what"] == "kept") for made in (few, many)]
    assert kept[0] < kept[1]
