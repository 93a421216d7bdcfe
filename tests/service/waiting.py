"""Waiting for what will happen, for as long as a crowded machine may take."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 60.0
"""How long anything may take that will happen. A quiet machine never waits so long."""


def until(true: Callable[[], bool]) -> bool:
    """Wait until something is true; False when it never was."""
    end = time.monotonic() + PATIENCE_S
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.005)
    return found
