"""One writer at a time, over tasks, threads and event loops, without holding up a thread.

``asyncio.Lock`` belongs to one loop, and a memory is written from several: the caller's own and the one that the blocking
twins run in.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import NamedTuple


class _Waiting(NamedTuple):
    token: object
    loop: asyncio.AbstractEventLoop
    called: asyncio.Future[None]


_held: ContextVar[tuple[object, ...]] = ContextVar("memwell_dbgpt_turns", default=())


class Turns:
    """Turns are given in the order they are asked for. Who has one may ask again, and goes on at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: object | None = None
        self._waiting: deque[_Waiting] = deque()

    @property
    def free(self) -> bool:
        """Whether nobody has the turn at this moment."""
        return self._holder is None

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[None]:
        """Wait for a turn and have it until the block ends, however it ends."""
        held = _held.get()
        # A task that was started inside a turn may outlive it: then the holder is another, and it waits like any.
        if self._holder is not None and self._holder in held:
            yield
            return
        token = object()
        await self._take(token)
        reset = _held.set((*held, token))
        try:
            yield
        finally:
            # First of all: a task that nobody ends is closed in another context, where the reset is refused.
            self._pass_on()
            _held.reset(reset)

    async def _take(self, token: object) -> None:
        with self._lock:
            if self._holder is None:
                self._holder = token
                return
            loop = asyncio.get_running_loop()
            waiting = _Waiting(token, loop, loop.create_future())
            self._waiting.append(waiting)
        try:
            await waiting.called
        except BaseException:
            self._give_up(waiting)
            raise

    def _give_up(self, waiting: _Waiting) -> None:
        with self._lock:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                return
        # Its turn came in the same moment: the next one must not wait for somebody who left.
        self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            self._holder = None
            while self._waiting and self._holder is None:
                following = self._waiting.popleft()
                try:
                    following.loop.call_soon_threadsafe(_call, following.called)
                except RuntimeError:
                    # That loop was closed while somebody waited in it; nobody is there any more.
                    continue
                self._holder = following.token


def _call(called: asyncio.Future[None]) -> None:
    if not called.done():
        called.set_result(None)


__all__ = ["Turns"]
