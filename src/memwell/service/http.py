"""HTTP: finds the operation of an address, checks access, reads bodies within limits, and makes responses.

An address is split at its slashes before it is decoded, so an id may hold any character. JSON bodies are read into memory,
files onto disk. Every response has security headers.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import ipaddress
import math
import os
import re
import tempfile
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Generator, Hashable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from email.utils import quote
from functools import cache, cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote as percent
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse

from memwell._native import counted_bytes
from memwell._package import VERSION
from memwell.errors import AccessDenied, Busy, InvalidInput
from memwell.records import Space
from memwell.runtime.wire.codec import Key, Problem, decode, http_problem
from memwell.runtime.wire.operations import Operation
from memwell.service.call import Answered, File
from memwell.service.keys import id_in_token
from memwell.service.parts import Service

PAGE_HEADER = "x-memwell-page"
"""The header of the page's own requests: what a person looks at there is not counted as use."""

SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "memwell-version": VERSION,
}
"""Headers of every answer of the API: it is data, never a page, and not cached; and which version answered."""

_SANDBOX = "default-src 'none'; sandbox; frame-ancestors 'none'"
_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Images that cannot hold a script; other files are sent as attachments."""


# Addresses


class _Node:
    """A node of the tree of addresses."""

    __slots__ = ("any", "name", "named", "routes")

    def __init__(self) -> None:
        self.named: dict[str, _Node] = {}
        self.any: _Node | None = None
        self.name = ""
        self.routes: dict[str, Operation] = {}


class Router:
    """Finds the operation of an address. A literal segment is preferred to an open one."""

    def __init__(self, routes: Iterable[Operation]) -> None:
        self._root = _Node()
        for route in routes:
            self._add(route)

    def _add(self, route: Operation) -> None:
        node = self._root
        for part in route.parts:
            if part.startswith("{"):
                node.any = node.any or _Node()
                node.any.name = part[1:-1]
                node = node.any
            else:
                node = node.named.setdefault(part, _Node())
        node.routes[route.method] = route

    def find(self, raw_path: bytes, method: str) -> tuple[Operation | None, dict[str, str], tuple[str, ...]]:
        """The operation, the values of its open segments, and the methods of the address; none for an unknown address.

        Raises ``InvalidInput`` for a segment that is not UTF-8.
        """
        parts = raw_path.split(b"?", 1)[0].removeprefix(b"/").removesuffix(b"/").split(b"/")
        for node, path in self._ends(self._root, [_decoded(part) for part in parts], {}):
            if node.routes:
                return node.routes.get(method), path, tuple(node.routes)
        return None, {}, ()

    def _ends(self, node: _Node, parts: list[str], path: dict[str, str]) -> Iterator[tuple[_Node, dict[str, str]]]:
        if not parts:
            yield node, path
            return
        first, rest = parts[0], parts[1:]
        if first in node.named:
            yield from self._ends(node.named[first], rest, path)
        if node.any is not None and first:
            yield from self._ends(node.any, rest, {**path, node.any.name: first})


def _decoded(part: bytes) -> str:
    try:
        return unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise InvalidInput("a part of the address is not UTF-8") from None


# Turns

_TOGETHER = 2
"""How many requests begin before the event loop looks again for what has arrived."""
_LISTENING_S = 0.05
"""How long those that wait may be kept waiting while more arrive."""
_MOST_SENDERS = 4_096
_HEALTH = "/health/"


class FairStart:
    """Begins requests in turns between their senders: hundreds that one sends at once do not keep others waiting.

    A sender is the tenant of a key that was valid before. All other keys count as one sender, so that guessing them wins
    nothing, and questions after the health of the service as another. The event loop accepts one connection at a time, so
    while requests wait and more arrive, those are let in first. For the event loop alone.
    """

    def __init__(self) -> None:
        self._tenants: OrderedDict[int, Hashable] = OrderedDict()
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()
        self._begun = 0
        self._begun_at = 0.0
        self._arrived = False

    def know(self, request: Request, tenant: Hashable) -> None:
        """Remember whose key the request has, by a hash of it."""
        mark = hash(request.headers["authorization"])
        self._tenants[mark] = tenant
        self._tenants.move_to_end(mark)
        if len(self._tenants) > _MOST_SENDERS:
            self._tenants.popitem(last=False)

    async def wait(self, request: Request) -> None:
        """Return when the request may begin: at once, unless others have just begun."""
        loop = asyncio.get_running_loop()
        if self._begun == 0:
            loop.call_soon(self._begin_next, loop)
        if self._begun < _TOGETHER and not self._waiting:
            self._begun += 1
            self._begun_at = time.monotonic()
            return
        turn = loop.create_future()
        self._waiting.setdefault(self._sender(request), deque()).append(turn)
        self._arrived = True
        await turn

    def _sender(self, request: Request) -> Hashable:
        known = self._tenants.get(hash(request.headers.get("authorization")))
        return request.scope["path"].startswith(_HEALTH) if known is None else known

    def _begin_next(self, loop: asyncio.AbstractEventLoop) -> None:
        arrived, self._arrived = self._arrived, False
        if not arrived or time.monotonic() - self._begun_at > _LISTENING_S:
            self._begin()
        if self._begun:
            loop.call_soon(self._begin_next, loop)

    def _begin(self) -> None:
        self._begun, self._begun_at = 0, time.monotonic()
        while self._waiting and self._begun < _TOGETHER:
            sender, turns = self._waiting.popitem(last=False)
            turn = turns.popleft()
            if turns:
                self._waiting[sender] = turns
            if not turn.done():
                turn.set_result(None)
                self._begun += 1


# Bodies

_PIECE = 2**18
_PIECES = 10
_PAUSED_EVERY, _PAUSE_S = 2**20, 0.01
"""An upload pauses after every mebibyte: it takes at most a hundred of them a second."""


class RefusedRequest(Exception):
    """A request that is refused before its operation; ``problem`` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.title)
        self.problem = problem


class Arrivals:
    """Limits what the requests of one tenant hold together while they arrive, wait and are answered."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._held: Counter[Hashable] = Counter()

    @contextmanager
    def hold(self, tenant: Hashable, size: int) -> Generator[None]:
        """Count a request of this size. Raises ``Busy`` when the tenant holds too much already."""
        if self._held[tenant] + size > self._most and self._held[tenant]:
            message = f"this key has {self._what} under way already; send the next when one was answered"
            raise Busy(message, code="rate-limited", retry_after=1)
        self._held[tenant] += size
        try:
            yield
        finally:
            self._held[tenant] -= size
            if not self._held[tenant]:
                del self._held[tenant]


def declared_size(request: Request, most: int) -> int:
    """How large the body will be at most: as declared, or ``most``."""
    length = request.headers.get("content-length")
    return most if length is None else min(int(length), most) if length.isascii() and length.isdigit() else 0


MOST_VALUES = 500_000
"""How many values the JSON of a request may hold: to read more at once would keep others waiting."""


async def read_json(request: Request, most: int, timeout_s: float, *, most_values: int = MOST_VALUES) -> bytes:
    """The whole body.

    Raises ``RefusedRequest`` when it is larger than ``most`` bytes, holds too many values, or does not arrive in time.
    """
    _check_length(request, most)
    kind = request.headers.get("content-type", "")
    bare = kind.partition(";")[0].strip().casefold()
    if kind and bare != "application/json" and not bare.endswith("+json"):
        raise RefusedRequest(http_problem("media-type", f"expected application/json, not {kind[:80]}"))
    chunks: list[bytes] = []
    size = values = 0
    async with _in_time(timeout_s):
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise RefusedRequest(_too_large(most))
            # As it arrives: all at once would keep other requests waiting. Commas in its texts count too.
            values += counted_bytes(chunk, b",[{")
            if values > most_values:
                raise RefusedRequest(http_problem("too-large", f"at most {most_values:,} values are taken here"))
            chunks.append(chunk)
    return b"".join(chunks)


async def read_file(request: Request, most: int, timeout_s: float, folder: Path) -> Path | None:
    """The body as a file in ``folder``, or None when it is empty. No file is left when it is refused.

    Each piece has ``timeout_s``, and the whole ten times as long: a large file may take long on a slow connection.
    """
    _check_length(request, most)
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/"):
        raise RefusedRequest(http_problem("media-type", "send the file itself as the body, not a form around it"))
    handle, name = tempfile.mkstemp(dir=folder, prefix="upload-")
    path, size, whole = Path(name), 0, False
    try:
        with os.fdopen(handle, "wb") as file:
            stream, latest = request.stream().__aiter__(), time.monotonic() + timeout_s * _PIECES
            while True:
                async with _in_time(min(timeout_s, latest - time.monotonic())):
                    chunk = await anext(stream, None)
                if chunk is None:
                    break
                size += len(chunk)
                if size > most:
                    raise RefusedRequest(_too_large(most))
                file.write(chunk)
                if size // _PAUSED_EVERY > (size - len(chunk)) // _PAUSED_EVERY:
                    # A fast upload would keep the event loop busy, and others waiting, until it is here.
                    await asyncio.sleep(_PAUSE_S)
        whole = size > 0
    finally:
        if not whole:
            os.unlink(path)
    return path if whole else None


@asynccontextmanager
async def _in_time(seconds: float) -> AsyncGenerator[None]:
    """Raises ``RefusedRequest`` when the body does not arrive in time, or the client disconnects."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise RefusedRequest(http_problem("too-slow")) from None
    except ClientDisconnect:
        raise RefusedRequest(http_problem("malformed", "the connection closed before the request ended")) from None


def _check_length(request: Request, most: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise RefusedRequest(http_problem("malformed", "Content-Length is not a number"))
    if len(length) > 15 or int(length) > most:
        raise RefusedRequest(_too_large(most))


def _too_large(most: int) -> Problem:
    return http_problem("too-large", f"at most {most:,} bytes are taken here")


# Responses


def response_of(answered: Answered, headers: dict[str, str]) -> Response:
    """The response for an answer."""
    headers = {**SAFE, **headers, **dict(answered.headers)}
    if answered.replayed:
        headers["idempotent-replayed"] = "true"
    if isinstance(answered.body, File):
        return _file(answered.body, headers)
    if answered.status == 401:
        headers["www-authenticate"] = 'Bearer realm="memwell"'
    if answered.code:
        problem: Problem = decode(answered.body, Problem)
        if problem.retry_after is not None:
            headers["retry-after"] = str(max(1, math.ceil(problem.retry_after)))
    return Response(answered.body, answered.status, headers, answered.media_type)


def _file(file: File, headers: dict[str, str]) -> Response:
    kind = file.media_type.partition(";")[0]
    headers["content-security-policy"] = _SANDBOX
    if kind not in _SHOWN:
        headers["content-disposition"] = _attachment(file.name)
    if isinstance(file.content, bytes):
        return Response(file.content, 200, headers, file.media_type)
    if isinstance(file.content, Path):
        return FileResponse(file.content, headers=headers, media_type=file.media_type)
    return StreamingResponse(_pieces(file.content), headers=headers, media_type=file.media_type)


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece


def _attachment(name: str) -> str:
    if not name:
        return "attachment"
    plain = quote("".join(one if " " <= one <= "~" else "_" for one in name))
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{percent(name, safe='')}"


# Access: the host name, the origin of the page, and the API key

_OWN_NAMES = frozenset({"localhost", "memwell"})
_SHORT = 200
_CHECKING = 4
"""How many keys are checked at once in a remote store."""


class AccessCheck:
    """Checks the host, the origin and the API key of each request."""

    def __init__(self, service: Service, later: Callable[[Callable[[], object]], object]) -> None:
        self._service = service
        self._later = later
        # A pool of its own: requests without a valid key must not use up the threads of the others.
        self._pool = ThreadPoolExecutor(_CHECKING, thread_name_prefix="memwell-key")
        named = (service.settings.serve_host, *_listed(service.settings.serve_hosts))
        self._hosts = frozenset(name.casefold() for name in named)
        self.origins = frozenset(_listed(service.settings.serve_origins))

    def close(self) -> None:
        """Stop checking keys."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def check_headers(request: Request) -> None:
        """Raises ``RefusedRequest`` for two of a header that decides who asks: a proxy may have read the other one."""
        for name in ("Authorization", "Host"):
            if len(request.headers.getlist(name)) > 1:
                raise RefusedRequest(http_problem("malformed", f"the header {name} may be there once"))

    def check_host(self, request: Request) -> None:
        """Raises ``RefusedRequest`` for the name of another host.

        This stops DNS rebinding: a web page can make its own name point to this machine, but no IP address.
        """
        host = _without_port(request.headers.get("host", "")).casefold()
        if "*" in self._hosts or host in self._hosts or host in _OWN_NAMES or _is_number(host):
            return
        detail = f"{host[:_SHORT]!r} is not a name of this service; set serve_hosts to add it"
        raise RefusedRequest(http_problem("foreign-host", detail))

    def check_origin(self, request: Request) -> None:
        """Raises ``AccessDenied`` for a call from a web page that is neither ours nor allowed."""
        origin = request.headers.get("origin")
        if origin is None or origin in self.origins:
            return
        own = (f"http://{request.headers.get('host', '')}", f"https://{request.headers.get('host', '')}")
        if origin not in own:
            raise AccessDenied(
                f"pages of {origin[:_SHORT]!r} may not call this service; set serve_origins to allow them",
                code="foreign-origin",
            )

    async def key_of(self, request: Request) -> Key:
        """The valid key of a request. Raises ``AccessDenied`` when there is none, ``Busy`` when that happens often."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            if kind.casefold() != "bearer" or not token:
                raise AccessDenied("send your key as 'Authorization: Bearer mw_…'")
            key = await self._checked(token.strip())
        except AccessDenied:
            self._count_refusal(request, token)
            raise
        self._service.keys.note_use(key)
        return key

    async def _checked(self, token: str) -> Key:
        keys = self._service.keys
        if not keys.far:
            # Reading a file takes less time than starting a thread.
            return keys.check(token)
        # The event loop must not wait for a remote store.
        return keys.recent(token) or await asyncio.get_running_loop().run_in_executor(self._pool, keys.check, token)

    def _count_refusal(self, request: Request, token: str) -> None:
        self._service.failures.count(request.client.host if request.client else "")
        known = id_in_token(token.strip()) if token else None
        # Not on the event loop: a write may wait for others.
        self._later(lambda: self._service.log.append("sign-in", key=known, outcome="refused"))

    def note_refusal(
        self, request: Request, action: str, code: str, key: Key | None, *, space: Space | None = None, tried: str = ""
    ) -> None:
        """Log in the audit log that a key, or a page without a key, was refused, and the space that was asked for."""
        known = self._key_quietly(request) if key is None else key
        self._service.log.refuse(
            action,
            code=code,
            key=None if known is None else known.id,
            space=space if known is None or space is not None else known.space,
            address=request.client.host if request.client else "",
            tried=tried,
            later=self._later,
        )

    def _key_quietly(self, request: Request) -> Key | None:
        """The valid key of a request that was refused for another reason, or None."""
        _, _, token = request.headers.get("authorization", "").partition(" ")
        keys = self._service.keys
        try:
            return keys.recent(token.strip()) if keys.far else keys.check(token.strip())
        except AccessDenied:
            return None

    def shared_headers(self, request: Request) -> dict[str, str]:
        """The CORS headers for a page of an allowed origin."""
        origin = request.headers.get("origin")
        if origin is None or origin not in self.origins:
            return {}
        return {
            "access-control-allow-origin": origin,
            "access-control-expose-headers": "X-Request-Id, Retry-After, Idempotent-Replayed, Content-Disposition",
            "vary": "Origin",
        }

    def preflight_headers(self, request: Request) -> dict[str, str]:
        """The CORS headers of a preflight response."""
        return {
            **self.shared_headers(request),
            "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
            "access-control-allow-headers": "Authorization, Content-Type, Idempotency-Key",
            "access-control-max-age": "600",
        }


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


_IN_BRACKETS = re.compile(r"\[([^\[\]]*)\](?::[0-9]*)?")


def _without_port(host: str) -> str:
    """The host of a Host header. One that only begins as an address in brackets stays as it is, and is no known name."""
    if found := _IN_BRACKETS.fullmatch(host):
        return found[1]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


# The dashboard's files, and their headers
#
# The page itself stands at ``/``, its files under ``/dashboard/``. The page names them under a digest of all files, so a
# browser keeps them for good and a new version has new addresses, without a build step.

FOLDER = files("memwell.service") / "dashboard"

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load: its own files, and no inline script."""

_SAFE = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Memwell-Version": VERSION,
}
"""Headers that keep a browser from doing more with a file than it should."""

_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_TEXT = "text/plain; charset=utf-8"
_PLACES = {
    "/": "index.html",
    "/index.html": "index.html",
    "/docs": "reference.html",
    "/favicon.ico": "favicon.svg",
}
_PREFIX = "/dashboard/"
_VERSIONED = re.compile(r"([0-9a-f]{16})/(.+)", re.DOTALL).fullmatch
_FOR_GOOD = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_LEAST_PACKED = 256
"""Shorter files are not compressed."""


class DashboardFile:
    """One file of the dashboard, as it is served."""

    def __init__(self, body: bytes, media_type: str, cache_control: str) -> None:
        self.body = body
        self.media_type = media_type
        self.cache_control = cache_control

    @cached_property
    def etag(self) -> str:
        """The ETag of the content. It is weak: it stands for the compressed form too."""
        return f'W/"{hashlib.sha256(self.body).hexdigest()[:16]}"'

    @cached_property
    def gzipped(self) -> bytes | None:
        """The compressed content, or None when compression does not help."""
        if len(self.body) < _LEAST_PACKED:
            return None
        packed = gzip.compress(self.body, 9, mtime=0)
        return packed if len(packed) < len(self.body) else None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the file, whether it is sent compressed, plain or not at all."""
        return {
            **_SAFE,
            "Content-Type": self.media_type,
            "Cache-Control": self.cache_control,
            "ETag": self.etag,
            "Vary": "Accept-Encoding",
        }

    def answer(self, *, accept_encoding: str = "", if_none_match: str = "") -> tuple[int, dict[str, str], bytes]:
        """The status, the headers and the body for a request with these two headers."""
        if self._is_known(if_none_match):
            return 304, self.headers, b""
        packed = self.gzipped if _takes_gzip(accept_encoding) else None
        if packed is None:
            return 200, self.headers, self.body
        return 200, {**self.headers, "Content-Encoding": "gzip"}, packed

    def _is_known(self, if_none_match: str) -> bool:
        marks = [mark.strip().removeprefix("W/") for mark in if_none_match.split(",")]
        return "*" in marks or self.etag.removeprefix("W/") in marks


def page_at(path: str) -> DashboardFile | None:
    """The file at a path, or None when it is not of the dashboard. No path leads out of the folder."""
    if path in _PLACES:
        return _dashboard_file(_PLACES[path], _ASK_AGAIN)
    if not path.startswith(_PREFIX):
        return None
    name, kept = path.removeprefix(_PREFIX), _ASK_AGAIN
    if versioned := _VERSIONED(name):
        # A page that was opened before an upgrade still asks under the old digest; it gets what there is now.
        name, kept = versioned[2], _FOR_GOOD if versioned[1] == version() else _ASK_AGAIN
    return None if name.endswith(".html") else _dashboard_file(name, kept)


@cache
def version() -> str:
    """The digest of all files of the dashboard."""
    digest = hashlib.sha256()
    for name, file in sorted(_all_files().items()):
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


@cache
def _all_files() -> dict[str, Traversable]:
    return dict(_walk(FOLDER, ""))


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _walk(entry, f"{prefix}{entry.name}/")
        else:
            found.append((prefix + entry.name, entry))
    return found


def _dashboard_file(name: str, cache_control: str) -> DashboardFile | None:
    # Not cached by the name asked for: that could be anything, any number of times.
    return _known_file(name, cache_control) if name in _all_files() else None


@cache
def _known_file(name: str, cache_control: str) -> DashboardFile:
    body = _all_files()[name].read_bytes()
    if name.endswith(".html"):
        body = body.replace(b'"dashboard/', b'"dashboard/' + version().encode() + b"/")
    return DashboardFile(body, _MEDIA_TYPES.get(name.rpartition(".")[2], _TEXT), cache_control)


def _takes_gzip(accept_encoding: str) -> bool:
    for part in accept_encoding.split(","):
        coding, _, weight = part.partition(";")
        if coding.strip().lower() in ("gzip", "*"):
            return not re.fullmatch(r"\s*q=0(\.0*)?\s*", weight)
    return False
