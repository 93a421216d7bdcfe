"""Runs the service: opens the socket, starts uvicorn around the application, and shuts down in order."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import httptools
import uvicorn
from msgspec.structs import replace
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from memwell._asyncify import Closing
from memwell.errors import ConfigurationError, MemwellError
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space
from memwell.runtime.opening import open as open_memory
from memwell.runtime.wire.codec import MEDIA_TYPE, Key, encode, http_problem
from memwell.service import logs
from memwell.service.app import App
from memwell.service.keys import BUNDLES
from memwell.service.parts import Service
from memwell.settings import Settings, load_settings
from memwell.storage import Backend
from memwell.values import now

# Connections: limits on the size and the time of a request's head

MOST_HEAD = 65_536
"""The most bytes of a request's address and headers."""

HEAD_S = 30.0
"""How long they may take to arrive."""

_DRAIN_S = 15.0
"""How long the rest of a refused body is read and dropped: some clients read the answer only after they sent it."""


class HttpConnection(HttpToolsProtocol):
    """An HTTP/1.1 connection that refuses a request head that is too long or too slow."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._in_head = False
        self._whole = True
        self._head = 0
        self._refusal = "malformed"
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._start_timer(HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_in_head = self._in_head
        super().data_received(data)
        if self._in_head and was_in_head:
            # The parser reports whole headers, so an endless one is only seen here.
            self._head += len(data)
            if self._head > MOST_HEAD:
                self._refuse("head-too-large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._whole, self._head = True, False, 0
        self._start_timer(HEAD_S)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MOST_HEAD:
            self._refusal = "head-too-large"
            raise httptools.HttpParserError("the head of the request is too long")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._whole = True
        self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._whole:
            self._start_timer(_DRAIN_S)

    def send_400_response(self, msg: str) -> None:
        """A request that the parser cannot read is answered with a problem too."""
        self._refuse(self._refusal)

    def _refuse(self, code: str) -> None:
        problem = http_problem(code)
        body = encode(problem)
        head = f"HTTP/1.1 {problem.status} {problem.title}\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
        self._in_head = False
        self._stop_timer()
        self.transport.write(head.encode() + b"cache-control: no-store\r\nconnection: close\r\n\r\n" + body)
        self.transport.close()

    def _start_timer(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(seconds, self._on_timeout)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_timeout(self) -> None:
        if self._in_head:
            self._refuse("too-slow")
        else:
            self.transport.close()


# The temporary key of the user who starts the service

_LONGEST = timedelta(hours=12)
_LEASE = timedelta(minutes=2)
"""How long the key of a visit outlives a service that was killed. A running service renews it every few seconds."""


class Visit:
    """A temporary key for the user who starts the service, so that the page opens signed in. It ends with the service.

    It grants nothing new: a user who can start the service can open the store, and make keys.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._latest = now() + _LONGEST
        self._ended = False
        expires = now() + _LEASE
        self.key, self.token = service.keys.create(
            "this visit", space=DEFAULT_SPACE, scopes=BUNDLES["operator"], expires=expires
        )
        service.at_tick(self.renew)

    def renew(self) -> None:
        """Extend the key while the service runs."""
        if not self._ended:
            self._service.keys.renew(self.key.id, expires=min(now() + _LEASE, self._latest))

    def end(self) -> None:
        """Revoke the key."""
        self._ended = True
        with suppress(MemwellError):
            self._service.keys.revoke(self.key.id)


# Serving

_PATIENCE_S = 5
"""How long requests may go on when the service stops. It ends within ten seconds in all."""

_OURS = "memwell"
"""The prefix of the names of our threads."""

_BACKLOG = 2048
_TURN_S = 0.0005
_LAST_PORT = 65_535


class _Server(uvicorn.Server):
    """A web server that marks the service as stopping at once, so that streams end and waiting requests are refused."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.stopping = True
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        # Uvicorn would raise the signal again at the end, and kill the process instead of letting it exit.
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def serve(service: Service, *, ready: Callable[[str], None] = lambda address: None) -> None:
    """Serve until the process is signalled to stop, then close the service.

    ``ready`` is called with the address once the service listens.
    Raises ``ConfigurationError`` for an address that is taken or not of this machine, and for TLS files that do not fit.
    """
    check_tls(service.settings)
    logs.set_up(service.settings.serve_log)
    with _switching_often():
        server, listening = web_server(service)
        with listening:
            ready(address_of(service.settings, listening.getsockname()[1]))
            with suppress(KeyboardInterrupt):
                server.run(sockets=[listening])


@contextmanager
def _switching_often() -> Generator[None]:
    """Let threads take turns ten times as often as Python does by default, every 5 ms.

    A request gives up its turn at every call of the store or the model. Where another thread indexes, it then waits that
    long each time, and a recall makes dozens of such calls.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def web_server(service: Service) -> tuple[uvicorn.Server, socket.socket]:
    """A web server for the service, and its listening socket. Raises ``ConfigurationError`` as ``serve`` does."""
    settings = service.settings
    listening = _listening(settings)
    config = uvicorn.Config(
        App(service),
        http=HttpConnection,
        loop="auto",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ssl_certfile=settings.serve_tls_certificate or None,
        ssl_keyfile=settings.serve_tls_key or None,
        timeout_graceful_shutdown=_PATIENCE_S,
        timeout_keep_alive=30,
        backlog=_BACKLOG,
    )
    return _Server(config, service), listening


def address_of(settings: Settings, port: int) -> str:
    """The address of the service for a browser on this machine."""
    scheme = "https" if settings.serve_tls_certificate else "http"
    host = settings.serve_host
    if host in ("0.0.0.0", "::", ""):
        host = "127.0.0.1"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def check_tls(settings: Settings) -> None:
    """Raises ``ConfigurationError`` when the certificate or its key is missing, cannot be read, or they do not fit."""
    certificate, key = settings.serve_tls_certificate, settings.serve_tls_key
    if not certificate and not key:
        return
    if not certificate or not key:
        raise ConfigurationError("TLS needs both files: serve_tls_certificate and serve_tls_key")
    for path in (certificate, key):
        if not Path(path).is_file():
            raise ConfigurationError(f"there is no file {path!r} for TLS")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise ConfigurationError(f"the TLS files {certificate!r} and {key!r} cannot be used: {error}") from None


def _listening(settings: Settings) -> socket.socket:
    if not 0 <= settings.serve_port <= _LAST_PORT:
        raise ConfigurationError(f"a port is from 0 to {_LAST_PORT}, not {settings.serve_port}")
    try:
        return socket.create_server(
            (settings.serve_host, settings.serve_port),
            family=socket.AF_INET6 if ":" in settings.serve_host else socket.AF_INET,
            backlog=_BACKLOG,
        )
    except OSError as error:
        where = f"{settings.serve_host}:{settings.serve_port}"
        raise ConfigurationError(f"the service cannot listen on {where}: {error}; choose another port") from None


def first_key(service: Service) -> tuple[Key, str] | None:
    """A key that may do everything, when the store has none yet, and None otherwise.

    When several processes start over an empty store, one of them gets it.
    """
    with service.backend.transaction():
        if service.keys.page(limit=1).items:
            return None
        key, token = service.keys.create("first key", space=DEFAULT_SPACE, scopes=BUNDLES["operator"])
        service.log.append("create_key", key=key.id, space=key.space, targets=[key.id])
    return key, token


def threads_left() -> bool:
    """Whether a thread of memwell still runs in this process."""
    return any(one.name.startswith(_OURS) for one in threading.enumerate() if one is not threading.current_thread())


# A service in a thread of this process, for tests and notebooks

_LOCAL_PATIENCE_S = 30.0


class Local(Closing):
    """A running service at ``url``. ``key`` opens its default space, and ``key_for`` makes keys for others.

    ``with Local("memory:") as served: m = memwell.open(served.url, key=served.key)``. Options are those of
    ``memwell.open``. Raises what ``memwell.open`` raises, and ``ConfigurationError`` when the service does not start.
    """

    def __init__(self, store: str | Path | Backend = "memory:", **options: Any) -> None:
        settings = replace(options.pop("settings", None) or load_settings(), serve_host="127.0.0.1", serve_port=0)
        self.service = Service(open_memory(store, settings=settings, **options), settings)
        self.key = self.key_for(self.service.engine.space)
        self._server, listening = web_server(self.service)
        self.url = address_of(settings, listening.getsockname()[1])
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listening]}, name="memwell-service", daemon=True
        )
        self._thread.start()
        end = time.monotonic() + _LOCAL_PATIENCE_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise ConfigurationError("the service did not start; its log says why")
            time.sleep(0.005)

    def key_for(self, space: SpaceLike, *scopes: str) -> str:
        """The token of a new key for a space; without scopes it may do everything."""
        return self.service.keys.create("local", space=as_space(space), scopes=scopes or BUNDLES["operator"])[1]

    def close(self) -> None:
        """Stop the service, and close the store."""
        self._server.should_exit = True
        self._thread.join(_LOCAL_PATIENCE_S)
