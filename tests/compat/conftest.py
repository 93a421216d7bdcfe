"""Fixtures for all rooms: a file to store in, stores that are closed after each test, and the original libraries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from memwell.storage.registry import close_shared


@pytest.fixture(autouse=True)
def stores_closed() -> Iterator[None]:
    yield
    close_shared()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "m.db")


RunWithOriginals: TypeAlias = Callable[[str, str], list[str]]

ORIGINALS = Path(sys.prefix) / "originals"
"""Where the Makefile puts AgentScope and DB-GPT: apart, since they need other versions of what the tests need."""


@pytest.fixture
def run_with_originals() -> RunWithOriginals:
    """Run a program in a process that can import an original library; what it prints, by lines."""

    def run(library: str, program: str) -> list[str]:
        if not (ORIGINALS / library).is_dir():
            pytest.skip(f"{library} is not in {ORIGINALS}: `make test` puts it there where it can be downloaded")
        path = os.pathsep.join([str(ORIGINALS), *filter(None, sys.path)])
        # DB-GPT prints a line of its own when it is imported where CI is set.
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            env={**environment, "PYTHONPATH": path},
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()

    return run
