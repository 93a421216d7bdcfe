from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.runtime.wire.codec import Key
from memwell.service.parts import Service
from tests.service.asking import key_of, service_at


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service over an empty store, without a server."""
    with service_at(tmp_path / "app.db") as opened:
        yield opened


@pytest.fixture
def ann(service: Service) -> Key:
    """A key of a space of that service, which may do everything."""
    return key_of(service, "acme", "ann")
