"""One connection, as the web server reads it: how long the head of a request may be, and how long it may take.

The web server itself would read a head without an end, and wait for one for ever.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from memwell.runtime.wire.codec import encode
from memwell.runtime.wire.problems import MEDIA_TYPE, http_problem

MOST_HEAD = 65_536
"""How many bytes the address and the headers of a request may take together."""

HEAD_S = 30.0
"""How long they may take to arrive."""

_DRAIN_S = 15.0
"""How long the rest of a body is read and thrown away that was refused. Some look at the answer only then."""


class Line(HttpToolsProtocol):
    """A connection of HTTP/1.1 that refuses a head which is too long or too slow, and ends when more is sent for long."""

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


__all__ = ["HEAD_S", "MOST_HEAD", "Line"]
