"""The stores that several processes may have open at once, each empty and of its own for one test."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

STORES = ("sqlite", "postgres")


@contextmanager
def store(kind: str, folder: Path) -> Generator[str]:
    """The URL of an empty store of a kind. Where its server cannot start, the test is skipped by name."""
    if kind == "sqlite":
        yield str(folder / "store.db")
        return
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed: several processes over PostgreSQL were not tried")
    from tests.engines import postgres

    yield postgres.store_url(folder)
