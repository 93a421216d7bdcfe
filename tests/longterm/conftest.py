"""A memory to try things on: over the reference and over SQLite, with a clock that tests set and a small embedder."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memwell.longterm.memory import Memory
from memwell.models.ports import Embedder
from memwell.models.scripted import HashEmbedder
from memwell.records import SpaceLike
from memwell.storage import Backend, open_backend

NOON = datetime(2024, 5, 7, 12, tzinfo=UTC)


class Bench:
    """Memories over one store."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.now = NOON
        self.embedder: Embedder = HashEmbedder(64)

    def memory(self, space: SpaceLike = "ann", **options: Any) -> Memory:
        options.setdefault("embedder", self.embedder)
        return Memory(self.backend, space, clock=lambda: self.now, **options)

    def pass_time(self, **spans: float) -> datetime:
        self.now += timedelta(**spans)
        return self.now


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    store = open_backend("memory:" if request.param == "memory" else str(tmp_path / "store.db"))
    yield store
    assert store.check() == []
    store.close()


@pytest.fixture
def bench(backend: Backend) -> Bench:
    return Bench(backend)


@pytest.fixture
def memory(bench: Bench) -> Memory:
    return bench.memory()
