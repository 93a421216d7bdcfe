"""A store, and a clock that goes when it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memwell
from memwell.runtime.engine import Engine

NOON = 1_800_014_400.0
"""The beginning of an hour, and the middle of a day in UTC."""


class Hand:
    """A clock that stands still until somebody turns it."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with memwell.open(tmp_path / "app.db", embedder=None, work=False) as opened:
        yield opened
