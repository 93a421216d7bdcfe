from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import Run, in_an_ordinary_terminal, running


@pytest.fixture(autouse=True)
def ordinary_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No command here depends on the language of the machine, or on how wide its terminal is."""
    in_an_ordinary_terminal(monkeypatch)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs the command in an empty folder."""
    return running(capsys, monkeypatch, tmp_path)
