"""A client of the SDK's own, inside the process and over HTTP, for whoever is asking."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

import memwell
from memwell.errors import AccessDenied
from memwell.service.mcp import CALL, McpApp, build_server
from tests.runtime.remote.serving import listening_to
from tests.service.waiting import PATIENCE_S

WORDS_ALONE: dict[str, Any] = {"embedder": None, "work": False}


class Asking:
    """A caller as a service makes one from a key."""

    def __init__(self, memory: memwell.Engine, scopes: tuple[str, ...] = ("read", "write")) -> None:
        self.memory = memory
        self.scopes = scopes
        self.logged: list[tuple[str, tuple[str, ...]]] = []
        self.refused: list[str] = []

    def allow(self, scope: str) -> None:
        if scope not in self.scopes:
            raise AccessDenied(f"the key may not {scope}", code="missing-scope")

    def note_refusal(self, action: str) -> None:
        self.refused.append(action)

    def log(self, *targets: str, action: str, **detail: str | int) -> None:
        self.logged.append((action, targets))


Work = Callable[[Client], Awaitable[Any]]


class Inside:
    """A memory with a client that is connected to it inside this process."""

    def __init__(self, memory: memwell.Engine) -> None:
        self.memory = memory
        self.caller = Asking(memory)

    def ask(self, work: Work, *, mode: str = "auto", **options: Any) -> Any:
        """Do some work with the client."""

        async def run() -> Any:
            async with Client(build_server(lambda context: self.caller, **options), mode=mode) as client:
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
    """A server on a port of this machine."""

    url: str
    keys: dict[str, Asking]

    def ask(self, key: str, work: Work, *, mode: str = "auto") -> Any:
        """Do some work with a client that has a key."""

        async def run() -> Any:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
                Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
            ):
                return await work(client)

        return asyncio.run(run())

    def post(self, body: bytes | str, key: str = "ann", **headers: str) -> httpx2.Response:
        """Send bytes as they are."""
        usual = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        return httpx2.post(self.url, content=body, headers={**usual, **headers}, timeout=PATIENCE_S)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A server with callers of two spaces: Ann, who may do all, and Bo; and Ann's keys that may only read or write."""
    with memwell.open("memory:", **WORDS_ALONE) as memory:
        ann, bo = memory.at("ann"), memory.at("bo")
        keys = {
            "ann": Asking(ann),
            "bo": Asking(bo),
            "reader": Asking(ann, ("read",)),
            "writer": Asking(ann, ("write",)),
            "nothing": Asking(ann, ()),
        }
        app = McpApp()
        with listening_to(_authenticated(app, keys), lifespan="on") as address:
            yield Served(f"{address}/mcp", keys)


def _authenticated(app: McpApp, keys: dict[str, Asking]) -> Any:
    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            assert (await receive())["type"] == "lifespan.startup"
            async with app.running():
                await send({"type": "lifespan.startup.complete"})
                assert (await receive())["type"] == "lifespan.shutdown"
            await send({"type": "lifespan.shutdown.complete"})
            return
        given = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        await app({**scope, **({CALL: keys[given]} if given in keys else {})}, receive, send)

    return serve
