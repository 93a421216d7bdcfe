"""Servers that tests start for themselves, each with nothing in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engines.redis import Server


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """The URL of a Redis server with nothing in it; the test is skipped, and says why, where there is none to start."""
    server = Server(folder, "--appendonly", "no")
    try:
        yield f"redis://127.0.0.1:{server.port}/0"
    finally:
        server.stop()


__all__ = ["redis_server"]
