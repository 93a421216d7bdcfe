"""Knowledge to try things on, over the reference and over SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.knowledge import Knowledge
from memwell.storage import Backend, open_backend
from tests.knowledge.bench import knowledge_over


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    opened = open_backend("memory:" if request.param == "memory" else str(tmp_path / "store.db"))
    yield opened
    opened.close()


@pytest.fixture
def knowledge(backend: Backend) -> Knowledge:
    return knowledge_over(backend)
