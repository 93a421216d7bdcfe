"""The service as an ASGI application: receives every request and sends every response."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Hashable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import copy_context
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qs, urlencode

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

import memwell.service.rest  # noqa: F401 - registers the handlers # pyright: ignore[reportUnusedImport]
from memwell.errors import Busy, InvalidInput, MemwellError
from memwell.records import DEFAULT_SPACE, Space, space_named
from memwell.runtime.metrics import Kind
from memwell.runtime.transfer.files import PrivateFolder
from memwell.runtime.wire.codec import Key, http_problem, problem_of
from memwell.runtime.wire.operations import ANY_KEY, ANYONE, Operation
from memwell.runtime.wire.table import OPERATIONS
from memwell.service import logs, openapi
from memwell.service.call import Answered, Call, RequestData, answer, refused
from memwell.service.http import (
    PAGE_HEADER,
    SAFE,
    AccessCheck,
    Arrivals,
    DashboardFile,
    FairStart,
    RefusedRequest,
    Router,
    declared_size,
    page_at,
    read_file,
    read_json,
    response_of,
)
from memwell.service.keys import in_space
from memwell.service.parts import Service
from memwell.values import now, shown

if TYPE_CHECKING:
    from memwell.service.mcp.server import StreamableHTTPSessionManager


# MCP, loaded with its first request: its packages take longer to load than the rest of the service


class LazyMcp:
    """An ASGI app that starts MCP for the first request. Close it in the same event loop.

    A request raises ``MissingDependency`` where the package is not installed; the rest of the service needs none.
    """

    def __init__(self) -> None:
        self._started: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._running: asyncio.Task[None] | None = None
        self._end = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, after MCP is loaded."""
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._started))
        # A client that disconnects must not cancel the loading for the others.
        manager = await asyncio.shield(self._started)
        await manager.handle_request(scope, receive, send)

    async def _run(self, started: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """Run MCP in one task: its task groups must be entered and left in the same one."""
        try:
            manager = await asyncio.to_thread(_load)
            async with manager.run():
                started.set_result(manager)
                await self._end.wait()
        except Exception as error:
            if started.done():
                raise
            # It is raised to the requests that wait.
            started.set_exception(error)

    async def close(self) -> None:
        """Stop MCP and cancel its requests."""
        self._end.set()
        if self._running is not None:
            await self._running


def _load() -> StreamableHTTPSessionManager:
    from memwell.service.mcp import http_manager  # noqa: PLC0415 - slow to load

    return http_manager()


_LOOK_S = 5.0
_LOOKS_A_TICK = 3
_MEGABYTE = 1_000_000
_MOST_FIELDS = 100
_LAST_MOMENT_S = 1.0
"""How long closing waits for requests whose clients were disconnected already."""

_AT_ONCE = frozenset({"live"})
"""Operations that are answered even when the service is overloaded."""

_OWN_THREAD = frozenset({"ready"})
"""Operations that do not use the request pool, whose threads may all wait for the store."""

_MOST_UPLOADS = 32
"""How many files of one tenant may be under way at once."""

_SMALL_BODY = 65_536
_LARGE_BODIES = 4
"""The larger bodies of one tenant that are under way take no more memory than four of the largest."""

_MOST_MCP = 1_000_000
_MOST_MCP_VALUES = 10_000
"""How large a request over MCP may be, which its package reads on the event loop: others wait meanwhile."""

_LOGGED_REFUSALS = frozenset({"missing-scope", "foreign-space", "not-granted", "foreign-origin"})
"""Refusals of a valid key or of a page, which the audit log has."""

_NO_KEY = Key(id="", name="no key", space=DEFAULT_SPACE, scopes=(), created=now())
_MCP = Operation(name="mcp", method="POST", path="/mcp", scope=ANYONE, tag="mcp", kind="other")
_PAGE = Operation(name="page", method="GET", path="/", scope=ANYONE, tag="page", kind="other")
_UNKNOWN = Operation(name="unknown", method="GET", path="", scope=ANYONE, tag="page", kind="other")


class _Seen:
    """What is known of a request so far, for metrics and the request log."""

    __slots__ = (
        "begun",
        "code",
        "id",
        "key",
        "named",
        "received",
        "route",
        "sent",
        "space",
        "speaker",
        "started",
        "status",
        "trace",
    )

    def __init__(self) -> None:
        self.id = secrets.token_hex(8)
        self.begun = time.perf_counter()
        self.route = _UNKNOWN
        self.key: Key | None = None
        self.named: Space | None = None
        """The space that it names in its address."""
        self.space: Space | None = None
        """The space that it is about: the named one, where the key may go there, or else the key's."""
        self.speaker: str | None = None
        self.code = ""
        self.status = 500
        self.started = False
        self.received = 0
        self.sent = 0
        """How many bytes the bodies of the request and its answer had."""
        self.trace = ""


class App:
    """The ASGI application. It owns the service: shutting it down closes the store."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.settings = service.settings
        self._router = Router(OPERATIONS.values())
        self._mcp = LazyMcp()
        self._access = AccessCheck(service, service.threads.later)
        self._starts = FairStart()
        self._under_way: Counter[Hashable] = Counter()
        self._uploads = Arrivals(_MOST_UPLOADS, f"{_MOST_UPLOADS} files")
        most = int(self.settings.serve_max_json_mb * _MEGABYTE) * _LARGE_BODIES
        self._bodies = Arrivals(most, f"{most:,} bytes of JSON")
        self._folder = PrivateFolder("uploads")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1003})

    # Beginning and end

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self._running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _running(self) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(asyncio.to_thread, self._close)
            stack.push_async_callback(self._mcp.close)
            self.service.threads.later(self.service.warm)
            ticking = asyncio.create_task(self._tick())
            stack.callback(ticking.cancel)
            yield
            self.service.stopping = True

    def _close(self) -> None:
        self.service.stopping = True
        self._access.close()
        ending = threading.Thread(target=self.service.threads.close, daemon=True)
        ending.start()
        ending.join(_LAST_MOMENT_S)
        # Its client got no answer, and the store keeps nothing unfinished.
        self.service.lingering = ending.is_alive()
        self.service.close()
        self._folder.close()

    async def _tick(self) -> None:
        for turn in count():
            if turn:
                await asyncio.sleep(_LOOK_S)
            await self._attempt(self.service.rates.share, "what keys have used could not be shared with other services")
            await self._attempt(self.service.look, "jobs of other processes could not be taken over")
            if turn and turn % _LOOKS_A_TICK == 0:
                await self._attempt(self.service.tick, "metrics could not be stored")

    async def _attempt(self, work: Callable[[], None], otherwise: str) -> None:
        try:
            await asyncio.to_thread(work)
        except Exception as error:  # noqa: BLE001 - tried again at the next tick
            logs.warn(otherwise, error)

    # Requests

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = _Seen()
        request, metrics = Request(scope, _counted(receive, seen)), self.service.metrics
        await self._starts.wait(request)
        with (
            metrics.in_flight(),
            self.service.tracer.request(request.method, request.headers, scheme=request.url.scheme) as span,
        ):
            seen.trace = span.trace_id
            try:
                response = await self._response(request, seen, send)
                if response is not None:
                    await self._send(response, request, seen, send)
            finally:
                span.answered(seen.route.path, seen.status, code=seen.code)
                took, name, kind = time.perf_counter() - seen.begun, seen.route.name, cast("Kind", seen.route.kind)
                metrics.observe(
                    name,
                    kind,
                    took,
                    status=seen.status,
                    space=seen.space,
                    speaker=seen.speaker,
                    code=seen.code,
                    received=seen.received,
                    sent=seen.sent,
                )
                logs.request(seen.id, request.method, name, seen.status, took, seen.key, trace=seen.trace)

    async def _send(self, response: Response, request: Request, seen: _Seen, send: Send) -> None:
        try:
            await response(request.scope, request.receive, _watched(send, seen, {}))
        except Exception as error:
            if seen.started:
                # The connection is closed, so that the client sees that the answer is incomplete.
                raise
            logs.failure(seen.id, seen.route.name, error, trace=seen.trace)
            problem = self._response_of(refused(problem_of(MemwellError(), request=seen.id)), request, seen)
            await problem(request.scope, request.receive, _watched(send, seen, {}))

    async def _response(self, request: Request, seen: _Seen, send: Send) -> Response | None:
        """The answer, or None when it was sent already."""
        try:
            self._access.check_headers(request)
            # What asks for the health of a pod or a machine names it as it likes, and learns no more than that it answers.
            if not _raw_path(request).startswith(b"/health/"):
                self._access.check_host(request)
            self._access.check_origin(request)
            if request.method == "OPTIONS" and "access-control-request-method" in request.headers:
                answered = Answered(204, b"", headers=tuple(self._access.preflight_headers(request).items()))
            elif _raw_path(request) != b"/mcp":
                answered = await self._answered(request, seen)
            elif request.method == "POST":
                return await self._to_mcp(request, seen, send)
            else:
                answered = _not_that_way(("POST",), seen.id)
        except RefusedRequest as refusal:
            answered = refused(replace(refusal.problem, request=seen.id))
        except MemwellError as error:
            answered = refused(problem_of(error, request=seen.id), error)
        except Exception as error:  # noqa: BLE001 - any defect becomes a problem; the service goes on
            answered = refused(problem_of(MemwellError(), request=seen.id), error)
        if isinstance(answered, Response):
            return answered
        seen.code = answered.code
        if answered.code in _LOGGED_REFUSALS:
            # The origin is checked before the address.
            route = self._meant(request) if seen.route is _UNKNOWN else seen.route
            tried = "" if seen.named is None or seen.code != "foreign-space" else "/".join(seen.named)
            self._access.note_refusal(request, route.name, seen.code, seen.key, space=seen.space, tried=tried)
        if answered.failed is not None:
            logs.failure(seen.id, seen.route.name, answered.failed, trace=seen.trace)
        return self._response_of(answered, request, seen)

    def _meant(self, request: Request) -> Operation:
        path = _raw_path(request)
        if path == b"/mcp":
            return _MCP
        try:
            return self._router.find(path, request.method)[0] or _UNKNOWN
        except InvalidInput:
            return _UNKNOWN

    def _response_of(self, answered: Answered, request: Request, seen: _Seen) -> Response:
        headers = {"x-request-id": seen.id, **self._access.shared_headers(request)}
        return response_of(answered, headers)

    async def _answered(self, request: Request, seen: _Seen) -> Answered | Response:
        found, path, methods = self._router.find(_raw_path(request), request.method)
        if found is None:
            return self._page(request, methods, seen)
        seen.route = found
        key = _NO_KEY
        if found.scope != ANYONE:
            key = await self._key_of(request, seen)
        query = _query(request)
        named = [] if "space" in getattr(found.takes, "__struct_fields__", ()) else query.pop("space", [])
        call = self._call(seen, found, key, named, path, from_page=PAGE_HEADER in request.headers)
        key = call.key
        call.allow(found.scope)
        sent = urlencode(query, doseq=True).encode() if named else request.scope.get("query_string", b"")
        # However a space is spelt: answers are kept apart by space.
        target = (_raw_path(request) + b"?" + sent).decode("latin-1")
        asked = RequestData(request.method, target, query, once=request.headers.get("idempotency-key"))
        if found.name in _AT_ONCE:
            return answer(call, asked)
        tenant = _tenant(key)
        with self._arriving(request, found.upload, tenant):
            try:
                asked = await self._with_body(request, call, asked)
                with self._place(tenant):
                    latest = time.monotonic() + self.settings.serve_timeout_s
                    # In the context of the request, so that its stages are traced below it.
                    work = partial(copy_context().run, partial(_in_turn, call, asked, latest))
                    if found.name in _OWN_THREAD:
                        return await asyncio.get_running_loop().run_in_executor(None, work)
                    return await asyncio.wrap_future(self.service.threads.submit(tenant, work))
            finally:
                seen.speaker = call.speaker
                if call.upload is not None:
                    call.upload.unlink(missing_ok=True)

    async def _key_of(self, request: Request, seen: _Seen) -> Key:
        """The valid key of a request. Raises ``AccessDenied``, and ``Busy`` when it is used too often."""
        key = seen.key = await self._access.key_of(request)
        seen.space = key.space
        self._starts.know(request, _tenant(key))
        self.service.rates.check(key)
        return key

    def _call(
        self,
        seen: _Seen,
        route: Operation,
        caller: Key,
        named: list[str],
        path: dict[str, str],
        *,
        from_page: bool = False,
    ) -> Call:
        """The call of a key, in its space or the one that the request names: by segments, or once with ``/`` in between."""
        key = caller
        if named and caller is not _NO_KEY:
            seen.named = space_named(named)
            key = in_space(caller, seen.named)
            seen.space = key.space
        return Call(self.service, route, key, path, id=seen.id, from_page=from_page, caller=caller)

    @contextmanager
    def _arriving(self, request: Request, upload: bool, tenant: Hashable) -> Generator[None]:
        """Limit the bodies of a tenant. Raises ``Busy`` for too many files, or too much JSON."""
        if self.service.stopping:
            raise Busy("the service is stopping", code="stopping", retry_after=5)
        size = (
            0 if request.method == "GET" else declared_size(request, int(self.settings.serve_max_json_mb * _MEGABYTE))
        )
        if upload:
            with self._uploads.hold(tenant, 1):
                yield
        elif size > _SMALL_BODY:
            with self._bodies.hold(tenant, size):
                yield
        else:
            yield

    @contextmanager
    def _place(self, tenant: Hashable) -> Generator[None]:
        """Count a request as under way, after its body has arrived. Raises ``Busy`` when too many are.

        A quarter of those that may wait is for other tenants.
        """
        if self.service.stopping:
            raise Busy("the service is stopping", code="stopping", retry_after=5)
        most = self.settings.serve_threads + self.settings.serve_most_waiting
        if self._under_way.total() >= most:
            raise Busy("too many requests are waiting", code="overloaded", retry_after=1)
        if self._under_way[tenant] >= most - self.settings.serve_most_waiting // 4:
            raise Busy("too many requests of this key are waiting", code="rate-limited", retry_after=1)
        self._under_way[tenant] += 1
        try:
            yield
        finally:
            self._under_way[tenant] -= 1
            if not self._under_way[tenant]:
                del self._under_way[tenant]

    async def _with_body(self, request: Request, call: Call, asked: RequestData) -> RequestData:
        patience = self.settings.serve_timeout_s
        if call.route.upload:
            most = int(self.settings.serve_max_upload_mb * _MEGABYTE)
            call.upload = await read_file(request, most, patience, self._folder.path)
            return asked
        if request.method == "GET":
            return asked
        most = int(self.settings.serve_max_json_mb * _MEGABYTE)
        return asked._replace(body=await read_json(request, most, patience))

    def _page(self, request: Request, methods: tuple[str, ...], seen: _Seen) -> Answered | Response:
        """The dashboard, the OpenAPI description, or a problem for an unknown address."""
        if methods:
            return _not_that_way(methods, seen.id)
        path: str = request.scope["path"]
        if request.method in ("GET", "HEAD"):
            if path == "/openapi.json":
                seen.route = _PAGE
                return Answered(200, openapi.description())
            page = page_at(path)
            if page is not None:
                seen.route = _PAGE
                return _file(page, request)
        return refused(http_problem("no-such-address", request=seen.id))

    async def _to_mcp(self, request: Request, seen: _Seen, send: Send) -> None:
        seen.route = _MCP
        key = await self._key_of(request, seen)
        query = _query(request)
        call = self._call(seen, _MCP, key, query.pop("space", []), {})
        tools = query.pop("tools", ["memory"])
        if query:
            raise InvalidInput(f"{shown(min(query))} is not known here; /mcp takes space and tools")
        if len(tools) != 1 or tools[0] not in ("memory", "graph", "all"):
            raise InvalidInput(f"tools is memory, graph or all, not {shown(','.join(tools))}")
        key = call.key
        call.allow(ANY_KEY)
        most = min(_MOST_MCP, int(self.settings.serve_max_json_mb * _MEGABYTE))
        body = await read_json(request, most, self.settings.serve_timeout_s, most_values=_MOST_MCP_VALUES)
        with self._place(_tenant(key)):
            scope = {**request.scope, "memwell.call": call, "memwell.tools": tools[0]}
            headers = {**SAFE, "x-request-id": seen.id, **self._access.shared_headers(request)}
            await self._mcp(scope, _again(body, request.receive), _watched(send, seen, headers))


def _tenant(key: Key) -> Hashable:
    return None if key is _NO_KEY else key.space


def _in_turn(call: Call, asked: RequestData, latest: float) -> Answered:
    """The answer, or a problem when the request waited longer than its client does."""
    if time.monotonic() > latest:
        late = Busy("it was not this request's turn in time", code="overloaded", retry_after=5)
        return refused(problem_of(late, request=call.id))
    return answer(call, asked)


def _not_that_way(methods: tuple[str, ...], request: str) -> Answered:
    allowed = ", ".join(methods)
    problem = http_problem("method", f"this address takes {allowed}", request=request)
    return refused(problem)._replace(headers=(("allow", allowed),))


def _raw_path(request: Request) -> bytes:
    return request.scope.get("raw_path") or request.scope["path"].encode()


def _query(request: Request) -> dict[str, list[str]]:
    raw = request.scope.get("query_string", b"")
    if not raw:
        return {}
    try:
        return parse_qs(raw.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except (ValueError, UnicodeDecodeError):
        raise RefusedRequest(http_problem("malformed", "the query cannot be read")) from None


def _file(page: DashboardFile, request: Request) -> Response:
    accepted, known = request.headers.get("accept-encoding", ""), request.headers.get("if-none-match", "")
    status, headers, body = page.answer(accept_encoding=accepted, if_none_match=known)
    return Response(body if request.method == "GET" else b"", status, headers)


def _again(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that gives a body that was read already."""
    sent = False

    async def read() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return read


def _counted(receive: Receive, seen: _Seen) -> Receive:
    """A ``receive`` that counts the bytes of the body."""

    async def count_body() -> Message:
        message = await receive()
        seen.received += len(message.get("body", b""))
        return message

    return count_body


def _watched(send: Send, seen: _Seen, headers: dict[str, str]) -> Send:
    """A ``send`` that notes the status and adds headers."""
    added = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def watch(message: Message) -> None:
        if message["type"] == "http.response.start":
            seen.started, seen.status = True, message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        else:
            seen.sent += len(message.get("body", b""))
        await send(message)

    return watch
