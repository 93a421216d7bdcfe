"""No command shows the password that stands in the URL of a store: it would stay in logs, in histories and on screens."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from memwell.messages import human
from memwell.records import Space, Thread
from memwell.storage import open_backend
from tests.commands import Run, running
from tests.engines.postgres import schema_of, server
from tests.engines.redis import single

SECRET = "Tr0ub4dor"
ROOT = Path(__file__).parents[2]
HOSTILE = [
    f"postgresql://memwell:{SECRET}/{SECRET}#{SECRET}@127.0.0.1/db",
    f"postgresql://memwell:1?{SECRET}={SECRET}@127.0.0.1/db",
    f"postgresql://memwell:{SECRET}@{SECRET}/{SECRET}@127.0.0.1/db",
    f"postgresql://memwell:[{SECRET}@127.0.0.1/db",
    f"postgresql://memwell:{SECRET}%zz@127.0.0.1/db",
    f"postgresql://memwell:{SECRET}",
    f"postgresql:memwell:{SECRET}@127.0.0.1/db",
    f"postgresql://127.0.0.1/db?password={SECRET}&{SECRET}",
    f"redis://u:{SECRET}/{SECRET}@127.0.0.1:6379",
    f"redis://u:[{SECRET}@127.0.0.1:6379",
    f"redis://u:{SECRET}℀@127.0.0.1:6379",
    f"rediss+cluster://u:{SECRET}?{SECRET}@127.0.0.1:6379",
    f"nothing://u:{SECRET}/{SECRET}@127.0.0.1",
    f" postgresql://u:{SECRET}@127.0.0.1/db",
    f"sqlite:app.db,log=redis://u:{SECRET}/{SECRET}@127.0.0.1:6379",
    f"sqlite:app.db,index=milvus://u:{SECRET}/{SECRET}@127.0.0.1:1",
    f"sqlite:app.db,blobs=other://u:{SECRET}/{SECRET}@127.0.0.1",
    f"http://u:{SECRET}@127.0.0.1:1",
]


def with_secret(place: Path) -> str:
    """A store on a server that takes any password."""
    return (
        f"postgresql://memwell:{urllib.parse.quote(SECRET + '/#@', safe='')}@127.0.0.1:{server().port}/memwell"
        f"?schema={schema_of(place)}&durable=yes"
    )


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    with open_backend(tmp_path / "app.db") as store:
        store.log.append(Thread(Space("acme"), "t"), [human("one")])
    return running(capsys, monkeypatch, tmp_path)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_command_shows_the_password_of_a_store_that_it_uses(run: Run, tmp_path: Path, language: str):
    url = with_secret(tmp_path / language)
    for code, *command in (
        (0, "move", "app.db", url),
        (1, "move", url, "app.db"),
        (0, "move", "app.db", url, "--seal"),
        (0, "doctor", "--store", url),
        (0, "doctor", "--store", url, "--json"),
        (0, "threads", "--store", url),
        (0, "threads", "--store", url, "--space", "acme"),
        (1, "backup", "copy.db", "--store", url),
        (1, "restore", "app.db", "--store", url),
        (1, "demo", "--store", url),
        (0, "keys", "list", "--store", url),
    ):
        outcome = run(*command, language=language)
        assert outcome.code == code, (command, outcome)
        assert SECRET not in outcome.out + outcome.err, command


@pytest.mark.parametrize("url", HOSTILE)
def test_no_command_shows_the_password_of_a_url_that_it_cannot_use(run: Run, url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMWELL_CONNECT_TIMEOUT_S", "1")
    for command in (
        ("threads", "--store", url),
        ("move", "app.db", url),
        ("backup", "copy.db", "--store", url),
        ("serve", "--no-browser", "--port", "0", "--store", url) if "index=" not in url else ("doctor", "-s", url),
    ):
        outcome = run(*command)
        assert SECRET not in outcome.out + outcome.err, (command, outcome)
        assert "Traceback" not in outcome.err


def test_what_must_be_escaped_is_told(run: Run):
    for url in HOSTILE[:4]:
        assert "%2F" in run("threads", "--store", url).err
    assert "%2F" in run("threads", "--store", HOSTILE[8]).err


def test_what_a_server_says_of_a_wrong_password_does_not_show_it(run: Run):
    outcome = run("threads", "--store", f"redis://:{SECRET}@127.0.0.1:{single().port}")
    assert outcome.code == 1
    assert SECRET not in outcome.err


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_backup_of_a_server_says_what_to_do(run: Run, tmp_path: Path, language: str):
    url = with_secret(tmp_path)
    made = run("backup", "copy.db", "--store", url, language=language)
    assert (made.code, made.err.count("\n")) == (1, 1)
    for word in ("pg_dump", "BYPASSRLS", "memwell move"):
        assert word in made.err
    back = run("restore", "app.db", "--store", url, language=language)
    assert "pg_restore" in back.err
    assert "pg_dump" not in run("backup", "copy.db", "--store", "memory:", language=language).err


def test_the_service_does_not_show_the_password_when_it_starts(tmp_path: Path):
    url = with_secret(tmp_path)
    first, second = started(url), started(url)
    for said in (first, second):
        assert SECRET not in said
        assert f"memwell:***@127.0.0.1:{server().port}/memwell" in said
    assert "keys create" in second


def started(url: str) -> str:
    """All that the service says from its start to its end, the second time without a key."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMWELL_")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "MEMWELL_LANGUAGE": "en", "MEMWELL_URL": url}
    process = subprocess.Popen(
        [sys.executable, "-m", "memwell", "serve", "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    said = ""
    with process.stdout:
        while not re.search(r"Ctrl\+C", said):
            line = process.stdout.readline()
            assert line, said
            said += line
        address = re.search(r"http://127\.0\.0\.1:\d+", said)
        assert address is not None
        with urllib.request.urlopen(f"{address[0]}/health/live", timeout=20) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        said += process.stdout.read()
    assert process.wait(60) == 0, said
    return said
