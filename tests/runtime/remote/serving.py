"""A real service on a free port of this machine, for as long as a test wants it, and a line to it that can be cut."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn

import memwell
from memwell.records import Space, SpaceLike
from memwell.runtime.remote import Connection, RemoteMemory, RetryPolicy
from memwell.service.app import App
from memwell.service.keys import BUNDLES
from memwell.service.parts import Service
from memwell.settings import Settings

PATIENCE_S = 60.0
QUICK = RetryPolicy(connect_s=2.0, read_s=20.0, retries=3, total_s=10.0, first_wait_s=0.01, most_wait_s=0.05)


@dataclass(frozen=True)
class Served:
    """A running service: its address, and its parts to look behind the wire."""

    address: str
    service: Service

    def token(self, space: SpaceLike = "default", scopes: Sequence[str] = BUNDLES["owner"]) -> str:
        made = space if isinstance(space, Space) else Space(space)
        return self.service.keys.create("test", space=made, scopes=scopes)[1]

    def memory(self, space: SpaceLike = "default", scopes: Sequence[str] = BUNDLES["owner"]) -> RemoteMemory:
        return RemoteMemory.connect(self.address, key=self.token(space, scopes), patience=QUICK)

    def patient(self, waits: list[float], address: str = "", space: SpaceLike = "default") -> RemoteMemory:
        """A memory that notes how long it would wait, and waits a moment only."""

        def pause(seconds: float) -> None:
            waits.append(seconds)
            time.sleep(0.005)

        return RemoteMemory(Connection(address or self.address, key=self.token(space), patience=QUICK, pause=pause))


@contextmanager
def serving(
    url: str = "memory:",
    *,
    embedder: str | None = None,
    work: bool = True,
    around: Callable[[Any], Any] = lambda app: app,
    **settings: Any,
) -> Iterator[Served]:
    """A service over a store of its own, which is gone when this ends; ``around`` may put something before it."""
    chosen = Settings(language="en", serve_log="off", **settings)
    service = Service(memwell.open(url, embedder=embedder, settings=chosen, work=work), chosen)
    with listening_to(around(App(service))) as address:
        yield Served(address, service)


class _Telling(uvicorn.Server):
    """A web server that says when it answers, or that it never will."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.decided = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        finally:
            self.decided.set()


@contextmanager
def listening_to(app: Any, **options: Any) -> Iterator[str]:
    """The address of an application in a web server of its own, in a thread, stopped and waited for at the end.

    ``options`` are the web server's, such as ``lifespan``.
    """
    usual = {"http": "httptools", "ws": "none", "lifespan": "auto", "log_config": None, "access_log": False}
    server = _Telling(uvicorn.Config(app, **{**usual, **options}))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        server.decided.wait(PATIENCE_S)
        assert server.started, "the service did not come up"
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), "the service did not stop"


@dataclass
class Line:
    """A line to a service. ``cut`` is asked with each piece of an answer whether the line is cut, and before it is passed.

    It gives None to pass the piece on, True to pass it and cut then, False to cut before.
    """

    address: str = ""
    cut: Callable[[bytes], bool | None] = field(default=lambda piece: None)
    cuts: int = 0


@contextmanager
def line_to(address: str) -> Iterator[Line]:
    """A line between a client and a service."""
    port = int(address.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        line = Line(f"http://127.0.0.1:{listening.getsockname()[1]}")
        ended = threading.Event()

        def accept() -> None:
            while not ended.is_set():
                with suppress(OSError):
                    near, _ = listening.accept()
                    threading.Thread(target=_pass_on, args=(line, near, port, ended), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield line
        finally:
            ended.set()
            with suppress(OSError):
                socket.create_connection(listening.getsockname()).close()


def _pass_on(line: Line, near: socket.socket, port: int, ended: threading.Event) -> None:
    with near, socket.create_connection(("127.0.0.1", port)) as far, suppress(OSError):
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not ended.is_set():
            readable, _, _ = select.select([near, far], [], [], 0.2)
            if near in readable:
                sent = near.recv(4096)
                if not sent:
                    return
                far.sendall(sent)
            if far in readable:
                piece = far.recv(4096)
                verdict = line.cut(piece) if piece else True
                if verdict is not False:
                    near.sendall(piece)
                if verdict is not None:
                    line.cuts += bool(piece)
                    return
