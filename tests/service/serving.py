"""A running service with two tenants who know nothing of each other, and a plain line to it.

The service itself is started as the client's tests start it. Requests go out byte by byte as they are written here, so
that a test can say what no library would.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import memwell
from memwell.records import Space
from memwell.runtime.wire.operations import Operation
from memwell.service.app import App
from memwell.service.keys import SCOPES
from memwell.service.parts import Service
from memwell.service.server import HttpConnection
from memwell.settings import Settings
from tests.runtime.remote.serving import listening_to
from tests.service.waiting import PATIENCE_S

ANN = Space("acme", "ann")
BEN = Space("acme", "ben")


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

    @property
    def refusal(self) -> tuple[int, str]:
        """Its status and the code of the problem that it is, which is empty where it is none."""
        is_problem = self.headers.get("content-type") == "application/problem+json"
        return self.status, self.code if is_problem else ""


@dataclass
class Running:
    """A service that listens: where, and its parts."""

    port: int
    service: Service
    app: App
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

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Told:
        """One request over a line of its own; ``token`` is Ann's unless it is named, and None is none."""
        with self.line() as ask:
            return ask(method, path, body, **more)

    @contextmanager
    def line(self) -> Iterator[Callable[..., Told]]:
        """Asks as ``ask`` does, one request after the other over the same line."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)

        def ask(
            method: str,
            path: str,
            body: Any = None,
            *,
            token: str | None = "",
            headers: dict[str, str] | None = None,
            query: Any = None,
        ) -> Told:
            said = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            sent = {"Content-Type": "application/json"} if said is not None and not isinstance(body, bytes) else {}
            if token is not None:
                sent["Authorization"] = f"Bearer {token or self.token()}"
            asked = path + (f"?{urlencode(query, doseq=True)}" if query else "")
            line.request(method, asked, said, sent | (headers or {}))
            return _told(line.getresponse())

        try:
            yield ask
        finally:
            line.close()

    def raw(self, sent: bytes, *, more: Sequence[bytes] = (), end: bool = False) -> bytes:
        """All that comes back for some bytes until the service hangs up."""
        with self._sent(sent, more) as line:
            if end:
                line.shutdown(socket.SHUT_WR)
            return _all_of(line)

    def first(self, sent: bytes, *, more: Sequence[bytes] = ()) -> Told:
        """The first answer that comes back for some bytes, whether or not the service hangs up then."""
        with self._sent(sent, more) as line, http.client.HTTPResponse(line) as answer:
            answer.begin()
            return _told(answer)

    def _sent(self, sent: bytes, more: Sequence[bytes]) -> socket.socket:
        line = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        try:
            for piece in (sent, *more):
                line.sendall(piece)
        except BaseException:
            line.close()
            raise
        return line

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


def _told(answer: http.client.HTTPResponse) -> Told:
    return Told(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())


def _all_of(line: socket.socket) -> bytes:
    pieces: list[bytes] = []
    try:
        while piece := line.recv(65_536):
            pieces.append(piece)
    except ConnectionError:
        pass
    return b"".join(pieces)


def address(route: Operation, **path: str) -> str:
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
    app = App(service)
    # With lines as the service has them.
    with listening_to(app, http=HttpConnection, lifespan="on") as at:
        yield Running(int(at.rpartition(":")[2]), service, app)


class _Unbounded:
    """A test comes with more wrong keys than anybody else may."""

    def count(self, address: str) -> None:
        """Never too many."""
