from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.storage import Backend, open_backend


@pytest.fixture(params=["memory", "sqlite"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """An empty store, in memory and in a file."""
    with open_backend("memory:" if request.param == "memory" else str(tmp_path / "store.db")) as opened:
        yield opened
