"""MCP within the service, loaded with its first request: its packages take longer to load than all the rest of a start."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from memwell.errors import MissingDependency

if TYPE_CHECKING:
    from memwell.service.mcp.http import McpApp


class LazyMcp:
    """An ASGI app that is MCP's, and starts it for the first request. Close it in the loop it was used in.

    Raises ``MissingDependency`` at once where the package is not installed.
    """

    def __init__(self) -> None:
        if find_spec("mcp") is None:
            raise MissingDependency('the MCP server needs the package mcp: pip install "memwell[server]"')
        self._started: asyncio.Future[McpApp] | None = None
        self._running: asyncio.Task[None] | None = None
        self._end = asyncio.Event()

    @property
    def is_loaded(self) -> bool:
        """Whether a request has loaded it."""
        return self._running is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Those that come while it is loaded wait for that."""
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._started))
        # One who hangs up must not end the wait of the others.
        app = await asyncio.shield(self._started)
        await app(scope, receive, send)

    async def _run(self, started: asyncio.Future[McpApp]) -> None:
        """Run it in one task from beginning to end, as its own tasks must be."""
        try:
            app = await asyncio.to_thread(_load)
            async with app.running():
                started.set_result(app)
                await self._end.wait()
        except Exception as error:
            if started.done():
                raise
            # It is raised to those who ask.
            started.set_exception(error)

    async def close(self) -> None:
        """End it; requests that are being answered are broken off."""
        self._end.set()
        if self._running is not None:
            await self._running


def _load() -> McpApp:
    from memwell.service.mcp.http import McpApp  # noqa: PLC0415 - this is what takes long

    return McpApp()
