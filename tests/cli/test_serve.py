from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from string import Formatter

import pytest
import typer

from memwell import cli
from memwell.cli import serve as command
from memwell.service.keys import Keys
from memwell.storage import open_backend
from tests.commands import Run, announce_only, running

TOKEN = re.compile(r"mw_[0-9a-f]{16}_[0-9a-f]{64}")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    whole = typer.Typer(pretty_exceptions_enable=False)
    whole.command("serve")(command.serve_command)
    whole.callback()(lambda: None)
    monkeypatch.setattr(cli, "app", whole)
    return running(capsys, monkeypatch, tmp_path)


def started(store: Path) -> str:
    """What the command says from its start to its end, with one question to it in between."""
    log = (store.parent / "log").open("w+")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMWELL_")}
    environment |= {"MEMWELL_LANGUAGE": "en", "COLUMNS": "60"}
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "memwell",
            "serve",
            "--store",
            str(store),
            "--port",
            "0",
            "--no-browser",
            "--log",
            "json",
        ],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    said = process.stdout.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert address is not None, said
    with urllib.request.urlopen(f"{address[0]}/health/live", timeout=20) as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGTERM)
    with process.stdout:
        out = process.stdout.read()
    code = process.wait(60)
    with log:
        log.seek(0)
        err = log.read()
    assert code == 0, err
    assert TOKEN.search(err) is None
    assert '"route": "live"' in err
    return said + out


def test_the_first_start_shows_the_key_once_and_the_second_does_not(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = tmp_path / "s.db"
    first = started(store)
    tokens = TOKEN.findall(first)
    assert len(set(tokens)) == 1, first
    assert f"/#key={tokens[0]}" in first
    assert "Stopped" in first
    with open_backend(store) as backend:
        assert Keys(backend).check(tokens[0])
    announce_only(monkeypatch, "http://127.0.0.1:7411")
    second = run("serve", "--store", store, "--no-browser", language="zh")
    assert (second.code, second.err) == (0, "")
    assert TOKEN.search(second.out) is None
    assert "keys create" in second.out
    assert "已停止" in second.out


def test_a_port_that_is_taken_is_one_line_and_makes_no_key(run: Run, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = run("serve", "--store", tmp_path / "s.db", "--port", taken.getsockname()[1], "--no-browser")
    assert outcome.code == 1
    assert outcome.err.count("\n") <= 3
    assert "another port" in " ".join(outcome.err.split())
    assert TOKEN.search(outcome.out) is None
    with open_backend(tmp_path / "s.db") as backend:
        assert Keys(backend).all() == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tls-certificate", "cert.pem"], "both files"),
        (["--tls-certificate", "cert.pem", "--tls-key", "key.pem"], "cert.pem"),
        (["--log", "xml"], "xml"),
    ],
)
def test_what_cannot_be_is_one_line(options: list[str], told: str, run: Run, tmp_path: Path):
    outcome = run("serve", "--store", tmp_path / "s.db", "--port", 0, "--no-browser", *options)
    assert outcome.code == 1
    assert told in outcome.err
    assert "Traceback" not in outcome.err


def test_everything_is_said_in_both_languages():
    phrases: dict[str, tuple[str, str]] = vars(command)["_PHRASES"]
    for english, chinese in phrases.values():
        assert {part[1] for part in Formatter().parse(english)} == {part[1] for part in Formatter().parse(chinese)}
        assert not chinese.isascii()
