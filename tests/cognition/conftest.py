"""A memory to think with: that of the tests of long-term memory."""

from __future__ import annotations

import pytest

from memwell.cognition import Cognition
from memwell.longterm.memory import Memory
from tests.longterm.conftest import backend, bench, memory

__all__ = ["backend", "bench", "memory", "mind"]


@pytest.fixture
def mind(memory: Memory) -> Cognition:
    return Cognition(memory)
