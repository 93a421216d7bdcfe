"""A clock for tests that moves only when it is advanced."""

from __future__ import annotations

import time


class Clock:
    """The time in seconds, for a backend's ``clock``. It starts at a fixed moment and moves only by ``advance``.

    A backend whose clock is its server's sets ``sleeps`` in its ``open``: then the time is the real one, and to advance is
    to wait.
    """

    def __init__(self) -> None:
        self.now = 1_750_000_000.25
        self.sleeps = False

    def __call__(self) -> float:
        return time.time() if self.sleeps else self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        if self.sleeps:
            time.sleep(seconds)
        self.now += seconds
