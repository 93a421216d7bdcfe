"""No command shows the password that stands in the URL of a store: it would stay in logs, in histories and on screens."""

from __future__ import annotations

import subprocess
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.messages import human
from memwell.records import Space, Thread
from memwell.storage import open_backend
from tests.commands import Run, announce_only, running
from tests.engines.postgres import schema_of, server
from tests.engines.redis import single
from tests.ports import closed_port
from tests.service.children import serve_command, served_once

SECRET = "Tr0ub4dor"
TO_ESCAPE = (
    "postgresql://memwell:{secret}/{secret}#{secret}@127.0.0.1:{port}/db",
    "postgresql://memwell:1?{secret}={secret}@127.0.0.1:{port}/db",
    "postgresql://memwell:{secret}@{secret}/{secret}@127.0.0.1:{port}/db",
    "postgresql://memwell:[{secret}@127.0.0.1:{port}/db",
    "redis://u:{secret}/{secret}@127.0.0.1:{port}",
)
HOSTILE = (
    *TO_ESCAPE, "postgresql://memwell:{secret}%zz@127.0.0.1:{port}/db", "postgresql://memwell:{secret}",
    "postgresql:memwell:{secret}@127.0.0.1:{port}/db", "postgresql://127.0.0.1:{port}/db?password={secret}&{secret}",
    "redis://u:[{secret}@127.0.0.1:{port}", "redis://u:{secret}℀@127.0.0.1:{port}",
    "rediss+cluster://u:{secret}?{secret}@127.0.0.1:{port}", "nothing://u:{secret}/{secret}@127.0.0.1:{port}",
    " postgresql://u:{secret}@127.0.0.1:{port}/db", "sqlite:app.db,log=redis://u:{secret}/{secret}@127.0.0.1:{port}",
    "sqlite:app.db,index=milvus://u:{secret}/{secret}@127.0.0.1:{port}",
    "sqlite:app.db,index=other://u:{secret}/{secret}@127.0.0.1:{port}", "http://u:{secret}@127.0.0.1:{port}",
)  # fmt: skip


@pytest.fixture
def nowhere() -> Iterator[int]:
    """A port at which nothing answers."""
    with closed_port() as port:
        yield port


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


def test_no_command_shows_the_password_of_a_url_that_it_cannot_use(
    run: Run, monkeypatch: pytest.MonkeyPatch, nowhere: int
):
    monkeypatch.setenv("MEMWELL_CONNECT_TIMEOUT_S", "1")
    showing: list[object] = []
    for pattern in HOSTILE:
        url = pattern.format(secret=SECRET, port=nowhere)
        for command in (
            ("threads", "--store", url),
            ("move", "app.db", url),
            ("backup", "copy.db", "--store", url),
            ("serve", "--no-browser", "--port", "0", "--store", url) if "index=" not in url else ("doctor", "-s", url),
        ):
            outcome = run(*command)
            if SECRET in outcome.out + outcome.err or "Traceback" in outcome.err:
                showing.append((command, outcome))
    assert showing == []


def test_what_must_be_escaped_is_told(run: Run, nowhere: int):
    for pattern in TO_ESCAPE:
        url = pattern.format(secret=SECRET, port=nowhere)
        assert "%2F" in run("threads", "--store", url).err, url


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


def test_the_service_does_not_show_the_password_when_it_starts(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    url = with_secret(tmp_path)
    announce_only(monkeypatch, "http://127.0.0.1:7411")
    first = run("serve", "--no-browser", "--store", url)
    second = served_once(serve_command(MEMWELL_URL=url), subprocess.STDOUT)
    for said in (first.out + first.err, second):
        assert SECRET not in said
        assert f"memwell:***@127.0.0.1:{server().port}/memwell" in said
    assert "/#once=" in second
