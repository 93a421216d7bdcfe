"""A running service with two tenants who know nothing of each other, and a plain line to it.

The service itself is started as the client's tests start it. Requests go out byte by byte as they are written here, so
that a test can say what no library would.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import uvicorn

import memwell
from memwell.records import Space
from memwell.runtime.wire.routes import Route
from memwell.service.app import create_app
from memwell.service.keys import SCOPES
from memwell.service.line import Line
from memwell.service.parts import Service
from memwell.settings import Settings

ANN = Space("acme", "ann")
BEN = Space("acme", "ben")
PATIENCE_S = 20.0


@dataclass(frozen=True)
class Told:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of the problem that it is."""
        assert self.headers["content-type"] == "application/problem+json", (self.status, self.headers, self.body[:200])
        problem = self.json
        assert problem["status"] == self.status
        assert "Traceback" not in self.body.decode()
        return problem["code"]


@dataclass
class Running:
    """A service that listens: where, and its parts."""

    port: int
    service: Service
    quiet_s: float = 1.5
    _tokens: dict[tuple[Space, tuple[str, ...]], str] = field(default_factory=dict)

    def token(self, space: Space = ANN, scopes: Sequence[str] = SCOPES) -> str:
        """A token of a key with these scopes, the same each time."""
        asked = (space, tuple(scopes))
        if asked not in self._tokens:
            self._tokens[asked] = self.service.keys.create("test", space=space, scopes=scopes, rate=0)[1]
        return self._tokens[asked]

    def expired(self) -> str:
        from memwell.service.keys import Keys
        from memwell.values import now

        past = Keys(self.service.backend, clock=lambda: now() - timedelta(days=2))
        return past.create("old", space=ANN, scopes=SCOPES, expires=now() - timedelta(days=1))[1]

    def revoked(self) -> str:
        key, token = self.service.keys.create("gone", space=ANN, scopes=SCOPES)
        self.service.keys.revoke(key.id)
        return token

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
        query: Any = None,
    ) -> Told:
        """One request over a line of its own; ``token`` is Ann's unless it is named, and None is none."""
        said = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if said is not None and not isinstance(body, bytes) else {}
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.token()}"
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            line.request(
                method, path + (f"?{urlencode(query, doseq=True)}" if query else ""), said, sent | (headers or {})
            )
            answer = line.getresponse()
            return Told(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            line.close()

    def raw(self, sent: bytes, *, more: Sequence[bytes] = (), end: bool = False) -> bytes:
        """All that comes back for some bytes, until the service hangs up or says nothing for a while."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=self.quiet_s) as line:
            line.sendall(sent)
            for piece in more:
                line.sendall(piece)
            if end:
                line.shutdown(socket.SHUT_WR)
            return _all_of(line)

    def counts(self) -> dict[str, int]:
        """How much the store holds of each tenant."""
        found: dict[str, int] = {}
        for space in (ANN, BEN):
            memory = self.service.memory_of(space)
            name = space.encoded()
            found[f"{name} memories"] = memory.count()
            found[f"{name} documents"] = memory.knowledge.count().documents
            threads = memory.threads().items
            found[f"{name} messages"] = sum(thread.messages for thread in threads)
            found[f"{name} grants"] = len(memory.grants())
        found["keys"] = len(self.service.keys.all())
        return found


def _all_of(line: socket.socket) -> bytes:
    pieces: list[bytes] = []
    try:
        while piece := line.recv(65_536):
            pieces.append(piece)
    except (TimeoutError, ConnectionError):
        pass
    return b"".join(pieces)


def address(route: Route, **path: str) -> str:
    """The address of a route, with ids in its open places; ``x`` where none is named."""
    parts = [
        quote(path.get(part[1:-1], "0" if part == "{index}" else "x"), safe="") if part[0] == "{" else part
        for part in route.parts
    ]
    return "/" + "/".join(parts)


@contextmanager
def running(store: str | Path = "memory:", *, embedder: Any = None, **settings: Any) -> Iterator[Running]:
    """A service over a store, on a free port, until this ends."""
    chosen = Settings(language="en", **{"serve_log": "off", "serve_rate": 0, **settings})
    service = Service(memwell.open(store, embedder=embedder, settings=chosen, work=False), chosen)
    service.failures = _Unbounded()  # pyright: ignore[reportAttributeAccessIssue]
    with listening(create_app(service)) as port:
        yield Running(port, service)


class _Unbounded:
    """A test comes with more wrong keys than anybody else may."""

    def count(self, address: str) -> None:
        """Never too many."""


@contextmanager
def listening(app: Any) -> Iterator[int]:
    """The port of an application in a web server in a thread, with lines as the service has them."""
    import threading
    import time

    config = uvicorn.Config(app, http=Line, ws="none", lifespan="on", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        end = time.monotonic() + PATIENCE_S
        while not server.started and thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        assert server.started, "the service did not come up"
        try:
            yield sock.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), "the service did not stop"


__all__ = ["ANN", "BEN", "Running", "Told", "address", "listening", "running"]
