"""MCP over the standard streams, for a client that starts the program itself."""

from __future__ import annotations

import logging
import sys

import anyio
from mcp.server.stdio import stdio_server

from memwell.runtime.engine import Engine
from memwell.service.mcp.calls import READ, WRITE, LocalCaller
from memwell.service.mcp.server import Choice, build_server


def serve_stdio(memory: Engine, *, tools: Choice = "all", read_only: bool = False) -> None:
    """Answer what comes in until the input ends. Nothing but the protocol is written out; logs go to the error stream."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    caller = LocalCaller(memory, (READ,) if read_only else (READ, WRITE))
    anyio.run(_serve, caller, tools)


async def _serve(caller: LocalCaller, tools: Choice) -> None:
    server = build_server(lambda context: caller, tools)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


__all__ = ["serve_stdio"]
