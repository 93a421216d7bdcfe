"""A client of the SDK's own, inside the process and over HTTP, for whoever is asking."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

import memwell
from memwell.errors import AccessDenied
from memwell.service.mcp import build_server
from memwell.service.mcp.tools import LocalCaller
from tests.service.serving import Running, running

WORDS_ALONE: dict[str, Any] = {"embedder": None, "work": False}


class Asking:
    """A caller as a service makes one from a key."""

    def __init__(self, memory: memwell.Engine, scopes: tuple[str, ...] = ("read", "write")) -> None:
        self.memory = memory
        self.scopes = scopes
        self.logged: list[tuple[str, tuple[str, ...]]] = []

    def allow(self, scope: str) -> None:
        if scope not in self.scopes:
            raise AccessDenied(f"the key may not {scope}", code="missing-scope")

    def note_refusal(self, action: str) -> None:
        """Nothing is noted."""

    def log(self, *targets: str, action: str, **detail: str | int) -> None:
        self.logged.append((action, targets))

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        return LocalCaller(self.memory).submit(work)


Work = Callable[[Client], Awaitable[Any]]


class Inside:
    """A memory with a client that is connected to it inside this process."""

    def __init__(self, memory: memwell.Engine) -> None:
        self.memory = memory
        self.caller = Asking(memory)

    def ask(self, work: Work, *, mode: str = "auto", **options: Any) -> Any:
        """Do some work with the client."""

        async def run() -> Any:
            server = build_server(lambda context: self.caller, **{"tools": "all", **options})
            async with Client(server, mode=mode) as client:
                return await work(client)

        return asyncio.run(run())

    def use(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers."""
        return self.ask(lambda client: client.call_tool(tool, arguments))


@pytest.fixture
def inside() -> Iterator[Inside]:
    """A client of an empty memory that finds by words alone."""
    with memwell.open("memory:", **WORDS_ALONE) as memory:
        yield Inside(memory)


class Served(NamedTuple):
    """A service on a port of this machine."""

    run: Running

    def ask(self, token: str, work: Work, *, mode: str = "auto", query: str = "?tools=all") -> Any:
        """Do some work with a client that has a key."""

        async def run() -> Any:
            url = f"http://127.0.0.1:{self.run.port}/mcp{query}"
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
                Client(streamable_http_client(url, http_client=http), mode=mode) as client,
            ):
                return await work(client)

        return asyncio.run(run())


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A service whose memories are found by words alone."""
    with running() as run:
        yield Served(run)
