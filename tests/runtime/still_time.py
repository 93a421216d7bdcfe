"""An event loop whose time stands still while anything can run, and then goes on at once to what is due next.

A timeout then ends only what would wait for ever, however slow the machine is, and costs no time. It is for programs
that wait for nothing outside: no thread, no socket.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Instead of waiting it lets the time pass."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        self.now += max(timeout or 0.0, 0.0)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._still = _Selector()
        super().__init__(self._still)

    def time(self) -> float:
        return self._still.now


def run_in_still_time(main: Coroutine[Any, Any, T]) -> T:
    """What ``asyncio.run`` would return."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)
