"""Media in a memory: over the reference and over SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.longterm.media import MediaMemory
from memwell.longterm.memory import Memory
from memwell.models.scripted import HashEmbedder
from memwell.records import SpaceLike
from memwell.storage import Backend, open_backend


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    store = open_backend("memory:" if request.param == "memory" else str(tmp_path / "store.db"))
    yield store
    assert store.check() == []
    store.close()


def media_of(backend: Backend, space: SpaceLike = "ann") -> MediaMemory:
    return MediaMemory(Memory(backend, space, embedder=HashEmbedder(64)))


@pytest.fixture
def media(backend: Backend) -> MediaMemory:
    return media_of(backend)
