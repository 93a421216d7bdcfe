"""A memory to think with: over the reference and over SQLite, with a clock that tests set and a small embedder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memwell.cognition import Cognition
from memwell.longterm.memory import Memory
from memwell.models.scripted import HashEmbedder
from memwell.records import SpaceLike
from memwell.storage import Backend, open_backend

NOON = datetime(2024, 5, 7, 12, tzinfo=UTC)


class Bench:
    """Memories over one store."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.now = NOON

    def memory(self, space: SpaceLike = "ann", **options: Any) -> Memory:
        options.setdefault("embedder", HashEmbedder(64))
        return Memory(self.backend, space, clock=lambda: self.now, **options)

    def pass_time(self, **spans: float) -> None:
        self.now += timedelta(**spans)


@pytest.fixture(params=["memory", "sqlite"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    backend = open_backend("memory:" if request.param == "memory" else str(tmp_path / "store.db"))
    yield Bench(backend)
    backend.close()


@pytest.fixture
def memory(bench: Bench) -> Memory:
    return bench.memory()


@pytest.fixture
def mind(memory: Memory) -> Cognition:
    return Cognition(memory)
