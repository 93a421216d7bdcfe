"""Fixtures for all rooms: a file to store in, and stores that are closed after each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.storage.registry import close_shared


@pytest.fixture(autouse=True)
def stores_closed() -> Iterator[None]:
    yield
    close_shared()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "m.db")
