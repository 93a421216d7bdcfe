"""Storing fragments in a task that may be cancelled: what was cancelled is not stored.

A thread that writes to a store cannot be stopped. It is asked to give up before it commits; when it is too late for that,
what it stored is taken back.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from memwell._asyncify import run_blocking
from memwell.compat.dbgpt.stored_fragments import GivenUp, Stored, Written, store, take_back
from memwell.errors import BackendError, MemwellError
from memwell.longterm.memory import Memory

T = TypeVar("T")


class Storing:
    """Fragments on their way into a memory."""

    def __init__(self, memory: Memory, items: Sequence[Stored]) -> None:
        self._memory = memory
        self._items = items
        self._given_up = threading.Event()
        self._written = Written([], [])

    async def run(self) -> None:
        """Store them, all or none. Raises what ``store`` raises; when the task is cancelled, none is stored."""
        written, cancelled = await _settled(run_blocking(self._stored), self._given_up.set)
        self._written = written
        if cancelled is not None:
            await self.take_back()
            raise cancelled

    def _stored(self) -> Written:
        try:
            return store(self._memory, self._items, self._given_up)
        except GivenUp:
            return Written([], [])

    async def take_back(self) -> None:
        """Erase what ``run`` stored and undo what it changed. Raises ``BackendError`` when that fails."""
        try:
            await _settled(run_blocking(partial(take_back, self._memory, self._written)))
        except (MemwellError, OSError) as error:
            raise BackendError(
                f"the write was cancelled when it was stored already, and it cannot be taken back; it stays stored: {error}"
            ) from error


async def finished(work: Coroutine[Any, Any, T]) -> T:
    """Wait for the end of what works in a thread, also when cancelled: only then raise the cancellation."""
    done, cancelled = await _settled(work)
    if cancelled is not None:
        raise cancelled
    return done


async def _settled(
    work: Coroutine[Any, Any, T], when_cancelled: Callable[[], None] | None = None
) -> tuple[T, asyncio.CancelledError | None]:
    """What the work gave, and the cancellation that came meanwhile. Raises what the work raises."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
            if when_cancelled is not None:
                when_cancelled()
    return task.result(), cancelled


__all__ = ["Storing", "finished"]
