"""Running the service: a socket, a web server around the application, and an orderly end."""

from __future__ import annotations

import signal
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import uvicorn

from memwell.errors import ConfigurationError
from memwell.records import DEFAULT_SPACE
from memwell.runtime.wire.running import Key
from memwell.service import logs
from memwell.service.app import create_app
from memwell.service.keys import SCOPES
from memwell.service.line import Line
from memwell.service.parts import Service
from memwell.service.visits import Visit, end_left_visits
from memwell.settings import Settings

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
        http=Line,
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


__all__ = ["Visit", "address_of", "check_tls", "first_key", "serve", "threads_left", "web_server"]
