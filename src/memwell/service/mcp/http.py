"""MCP over streamable HTTP, for a service that has found out who is asking.

The service puts the caller into the scope of each request under ``memwell.call``. There are no sessions: every request is
answered for the caller it came with.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import cast

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from memwell.service.mcp.calls import Caller
from memwell.service.mcp.server import Choice, Context, build_server

CALL = "memwell.call"
"""Where the caller is found in the scope of a request."""

MOST_BYTES = 10_000_000
_LOCAL = ("127.0.0.1", "localhost", "[::1]")


class McpApp:
    """An ASGI app at one address. Run it inside ``running``, once.

    ``hosts`` and ``origins`` are those a request may name, in addition to the machine itself: ``"memory.example.org"`` or
    ``"memory.example.org:*"``, and ``"https://memory.example.org"``. A request for another host is answered 421, one from a
    page of another origin 403, before anything is read of it.
    """

    def __init__(
        self,
        *,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        tools: Choice = "all",
        most_bytes: int = MOST_BYTES,
        at_once: int = 16,
    ) -> None:
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[*_with_ports(_LOCAL), *hosts],
            allowed_origins=[*(f"http://{host}" for host in _with_ports(_LOCAL)), *origins],
        )
        self._check = TransportSecurityMiddleware(security).validate_request
        self._manager = StreamableHTTPSessionManager(
            build_server(_caller, tools, at_once=at_once),
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=most_bytes,
        )

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[McpApp]:
        """Accept requests until the block ends; those that are being answered then are broken off."""
        async with self._manager.run():
            yield self

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Only a POST is one: nothing is ever sent unasked, and there is no session to end."""
        is_post = scope["method"] == "POST"
        refusal = await self._check(Request(scope), is_post=is_post)
        if refusal is None and CALL not in scope:
            refusal = Response("the request has no caller", status_code=401)
        if refusal is None and not is_post:
            refusal = Response("only POST is answered here", status_code=405, headers={"Allow": "POST"})
        await (refusal or self._manager.handle_request)(scope, receive, send)


def _with_ports(hosts: Iterable[str]) -> list[str]:
    return [name for host in hosts for name in (host, f"{host}:*")]


def _caller(context: Context) -> Caller:
    """The caller of a request, from its scope."""
    request = cast(Request, context.request)
    return cast(Caller, request.scope[CALL])
