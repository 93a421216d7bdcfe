"""The command run inside a test: in an empty folder, with settings and a terminal that are always the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from memwell.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def running(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: Path) -> Run:
    for name in [name for name in os.environ if name.startswith(("MEMWELL_", "LC_", "LANG"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.chdir(folder)

    def run_it(*arguments: object, language: str = "en") -> Outcome:
        monkeypatch.setenv("MEMWELL_LANGUAGE", language)
        with pytest.raises(SystemExit) as ended:
            main([str(one) for one in arguments])
        out, err = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), out, err)

    return run_it
