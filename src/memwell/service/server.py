"""Runs the service: opens the socket, starts uvicorn around the application, and shuts down in order."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any

import httptools
import msgspec
import uvicorn
from msgspec.structs import replace
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from memwell._asyncify import Closing
from memwell.errors import ConfigurationError, MemwellError
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space, paged
from memwell.runtime.engine import open as open_memory
from memwell.runtime.wire.codec import MEDIA_TYPE, encode, http_problem
from memwell.runtime.wire.running import Key
from memwell.service import request_log as logs
from memwell.service.app import create_app
from memwell.service.keys import SCOPES, SERVICE
from memwell.service.parts import Service
from memwell.settings import Settings, load_settings
from memwell.storage import Backend
from memwell.values import new_id, now

# One connection, as the web server reads it: how long the head of a request may be, and how long it may take.


MOST_HEAD = 65_536
"""How many bytes the address and the headers of a request may take together."""

HEAD_S = 30.0
"""How long they may take to arrive."""

_DRAIN_S = 15.0
"""How long the rest of a body is read and thrown away that was refused. Some look at the answer only then."""


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
        self._within(HEAD_S)

    def connection_lost(self, exc: Exception | None) -> None:
        self._at_ease()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        was_in_head = self._in_head
        super().data_received(data)
        if self._in_head and was_in_head:
            # A header is told of when it is whole, so one that never ends is seen here alone.
            self._head += len(data)
            if self._head > MOST_HEAD:
                self._refuse("head-too-large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._whole, self._head = True, False, 0
        self._within(HEAD_S)

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._at_ease()
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > MOST_HEAD:
            self._refusal = "head-too-large"
            raise httptools.HttpParserError("the head of the request is too long")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._whole = True
        self._at_ease()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._whole:
            self._within(_DRAIN_S)

    def send_400_response(self, msg: str) -> None:
        """What the parser cannot read is told as a problem too."""
        self._refuse(self._refusal)

    def _refuse(self, code: str) -> None:
        problem = http_problem(code)
        body = encode(problem)
        head = f"HTTP/1.1 {problem.status} {problem.title}\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
        self._in_head = False
        self._at_ease()
        self.transport.write(head.encode() + b"cache-control: no-store\r\nconnection: close\r\n\r\n" + body)
        self.transport.close()

    def _within(self, seconds: float) -> None:
        self._at_ease()
        self._timer = self.loop.call_later(seconds, self._too_late)

    def _at_ease(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_late(self) -> None:
        if self._in_head:
            self._refuse("too-slow")
        else:
            self.transport.close()


# Visits: the key of whoever started the service, which must not outlive it, however it ends.


_VISITS = SERVICE / "visits"
_LONGEST = timedelta(hours=12)
_LEASE = timedelta(minutes=2)
"""A service ticks every few seconds. One that was not heard of for so long is gone."""

_THIS = new_id()
"""This process: another after it may get the same number."""


class _Noted(msgspec.Struct, frozen=True):
    """Whose visit it is, and until when that is known to be there."""

    process: str
    host: str
    number: int
    until: datetime


class Visit:
    """A temporary key for the user who starts the service, so that the page opens signed in. It ends with the service.

    Whoever can start it has the store, and could make a key of their own.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._ended = False
        ends = now() + _LONGEST
        self.key, self.token = service.keys.create("this visit", space=DEFAULT_SPACE, scopes=SCOPES, expires=ends)
        self.stay()
        service.at_tick(self.stay)

    def stay(self) -> None:
        """Say that the service is still there."""
        if not self._ended:
            noted = _Noted(_THIS, _host(), os.getpid(), now() + _LEASE)
            self._service.backend.kv.put(_VISITS, self.key.id, msgspec.to_builtins(noted))

    def end(self) -> None:
        """Revoke it."""
        self._ended = True
        with suppress(MemwellError):
            _end(self._service, self.key.id)


def end_left_visits(service: Service) -> int:
    """Revoke the keys of visits to services that are gone, and return how many. Those of services that run stay."""
    kv = service.backend.kv
    ended = 0
    for entry in list(paged(lambda cursor: kv.scan(_VISITS, limit=500, cursor=cursor))):
        if not _is_there(msgspec.convert(entry.value, _Noted)):
            with suppress(MemwellError):
                _end(service, entry.key)
                ended += 1
    return ended


def _end(service: Service, id_: str) -> None:
    service.keys.revoke(id_)
    service.backend.kv.delete(_VISITS, id_)


def _is_there(noted: _Noted) -> bool:
    if noted.process == _THIS:
        return True
    if noted.until <= now():
        return False
    # On another machine, nothing but the time tells.
    return noted.host != _host() or (noted.number != os.getpid() and _runs(noted.number))


def _host() -> str:
    """Where a number of a process means the same: this machine, or this container."""
    numbers = ""
    with suppress(OSError):
        numbers = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()} {numbers}".strip()


def _runs(number: int) -> bool:
    if os.name != "posix":
        # Elsewhere the question itself would end the process.
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It is another user's.
        return True
    return True


_PATIENCE_S = 5
"""How long requests under way may take after the service was told to stop. All of it ends within ten seconds."""

_OURS = "memwell"
"""What the names of our threads begin with."""

_BACKLOG = 2048
_LAST_PORT = 65_535


class _Server(uvicorn.Server):
    """Tells the application at once that the end has come, so that streams end and waiting requests are sent away."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.stopping = True
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        # The web server would raise the signal once more at the end, and the process die of it instead of ending well.
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
    """Serve until the process is told to stop, then close the service.

    ``ready`` is told the address once the service listens, and not before: what must not be done in vain belongs there.
    Raises ``ConfigurationError`` for an address that is taken or not of this machine, and for TLS files that do not fit.
    """
    check_tls(service.settings)
    logs.set_up(service.settings.serve_log)
    server, listening = web_server(service)
    end_left_visits(service)
    service.at_tick(lambda: end_left_visits(service))
    ready(address_of(service.settings, listening.getsockname()[1]))
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def web_server(service: Service) -> tuple[uvicorn.Server, socket.socket]:
    """A web server around the service, and the socket it is to serve. Raises ``ConfigurationError`` as ``serve`` does."""
    settings = service.settings
    listening = _listening(settings)
    config = uvicorn.Config(
        create_app(service),
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
    """Where a browser on this machine finds the service."""
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


def first_key(service: Service, name: str = "first key") -> tuple[Key, str] | None:
    """A key that may do everything, when the store has none yet, and None otherwise.

    Of several processes that start together over an empty store one gets it.
    """
    with service.backend.transaction():
        if service.keys.all():
            return None
        key, token = service.keys.create(name, space=DEFAULT_SPACE, scopes=SCOPES)
        service.log.append("create_key", key=key.id, space=key.space, targets=[key.id])
    return key, token


def threads_left() -> bool:
    """Whether a thread of ours still works at something in this process."""
    return any(one.name.startswith(_OURS) for one in threading.enumerate() if one is not threading.current_thread())


# A service in a thread of this process, on a free port: for tests of what calls it, and for notebooks.


_LOCAL_PATIENCE_S = 30.0


class Local(Closing):
    """A running service: ``url`` is where, ``key`` opens its default space, and ``key_for`` makes keys for others.

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
        self._wait()

    def key_for(self, space: SpaceLike, *scopes: str) -> str:
        """The token of a new key for a space; without scopes it may do everything."""
        return self.service.keys.create("local", space=as_space(space), scopes=scopes or SCOPES)[1]

    def _wait(self) -> None:
        end = time.monotonic() + _LOCAL_PATIENCE_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                raise ConfigurationError("the service did not start; its log says why")
            time.sleep(0.005)

    def close(self) -> None:
        """Stop it, and close the store."""
        self._server.should_exit = True
        self._thread.join(_LOCAL_PATIENCE_S)
