"""The command run inside a test: in an empty folder, with settings and a terminal that are always the same."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NamedTuple

import pytest
import typer.main
import typer.rich_utils
import typer.testing
from rich.console import Console

from memwell.cli import demo, main
from memwell.cli.terminal import console
from memwell.history import History


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]
_OF_THE_MACHINE = ("MEMWELL_", "LC_", "LANG", "FORCE_COLOR", "NO_COLOR", "TTY_", "LINES")
_get_command = typer.main.get_command


@cache
def _built(app: typer.Typer, style: str | None) -> Any:
    del style  # Only tells one way of building from the other.
    return _get_command(app)


def in_an_ordinary_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the machine says of the language, of its terminal and of memwell."""
    for name in [name for name in os.environ if name.startswith(_OF_THE_MACHINE)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    # These were read when the module was loaded.
    for name in ("MAX_WIDTH", "FORCE_TERMINAL"):
        monkeypatch.setattr(typer.rich_utils, name, None)
    # All commands are built at every call, which takes far longer than most of them do; people call once.
    for module, name in ((typer.main, "get_command"), (typer.testing, "_get_command")):
        monkeypatch.setattr(module, name, lambda app: _built(app, app.rich_markup_mode))


def running(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> Run:
    in_an_ordinary_terminal(monkeypatch)
    monkeypatch.chdir(folder)
    # The option --secret-file sets the variable, which is to be as before when the test is over.
    monkeypatch.setenv("MEMWELL_SECRET_FILE", "")
    monkeypatch.delenv("MEMWELL_SECRET_FILE")

    def run_it(*arguments: object, language: str = "en") -> Outcome:
        monkeypatch.setenv("MEMWELL_LANGUAGE", language)
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), out, err)

    return run_it


def demonstrated_here(step: str, path: Path, language: str, screen: Console) -> CompletedProcess[str]:
    """What the processes of the demonstration do, but for the death of the one that writes."""
    if step == "write":
        with History.open(str(path), demo.THREAD) as history:
            stored = history.add(*demo.conversation(language))
        told = "".join(json.dumps({"id": one.id}) + "\n" for one in stored)
        return CompletedProcess([], -signal.SIGKILL, told, "")
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        demo.show_survivors(str(path), language, console(width=screen.width, colours=screen.is_terminal))
    return CompletedProcess([], 0, shown.getvalue(), "")


def announce_only(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let ``memwell serve`` say where it listens, and end, without listening."""
    # Only these tests need a web server.
    from memwell.service import server

    monkeypatch.setattr(server, "serve", lambda service, ready: ready(address))
    # Those that other tests left in this process: with threads left the command ends its process at once.
    monkeypatch.setattr(server, "threads_left", lambda: False)
