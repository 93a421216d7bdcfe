"""A server of the test's own on the loopback, which behaves as badly as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Reply = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Gives the next reply of the script; the last one is given again and again."""

    protocol_version = "HTTP/1.1"
    server: BadServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.seen.append((self.path, dict(self.headers), json.loads(body)))
        script = self.server.script
        reply = script.pop(0) if len(script) > 1 else script[0]
        try:
            reply(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


class BadServer(ThreadingHTTPServer):
    """What it shall reply, and what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Reply] = []
        self.seen: list[tuple[str, dict[str, str], Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @staticmethod
    def raw(body: bytes | str, status: int = 200, **headers: str) -> Reply:
        """A reply of these bytes."""
        data = body if isinstance(body, bytes) else body.encode()
        return lambda handler: handler.send(data, status, **headers)

    @staticmethod
    def answer(text: str | None = "Hello", **message: Any) -> Reply:
        """A good reply."""
        shape = {"role": "assistant", "content": text, **message}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        choice = {"index": 0, "message": shape, "finish_reason": "stop"}
        return BadServer.raw(json.dumps({"model": "served", "choices": [choice], "usage": usage}))

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what is tested."""


@pytest.fixture
def server() -> Iterator[BadServer]:
    bad = BadServer()
    thread = threading.Thread(target=bad.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield bad
    bad.shutdown()
    bad.server_close()
