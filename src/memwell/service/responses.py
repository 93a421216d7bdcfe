"""Answers as HTTP has them: JSON, files and streams of events, each with the headers that keep it harmless."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Executor
from email.utils import quote
from pathlib import Path
from typing import Any
from urllib.parse import quote as percent

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response, StreamingResponse

from memwell.runtime.wire.codec import decode, encode
from memwell.runtime.wire.problems import Problem
from memwell.service.answering import Answered
from memwell.service.call import Events, File
from memwell.service.parts import Service

SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""On every answer of the API: it is data, never a page, and nobody keeps it."""

_SANDBOX = "default-src 'none'; sandbox; frame-ancestors 'none'"
_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Pictures that cannot hold a script; everything else is saved and not shown."""

_LINE_OPEN_S = 15.0


def response_of(answered: Answered, headers: dict[str, str], *, pool: Executor, service: Service) -> Response:
    """The response for an answer."""
    headers = {**SAFE, **headers, **dict(answered.headers)}
    if answered.replayed:
        headers["idempotent-replayed"] = "true"
    match answered.body:
        case File() as file:
            return _file(file, headers)
        case Events() as events:
            stream = _stream(events, pool, service)
            return StreamingResponse(stream, headers=headers, media_type="text/event-stream")
        case body:
            if answered.code:
                headers |= _problem_headers(answered, body)
            return Response(body, answered.status, headers, answered.media_type)


def _problem_headers(answered: Answered, body: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    if answered.status == 401:
        headers["www-authenticate"] = 'Bearer realm="memwell"'
    problem: Problem = decode(body, Problem)
    if problem.retry_after is not None:
        headers["retry-after"] = str(max(1, math.ceil(problem.retry_after)))
    return headers


def _file(file: File, headers: dict[str, str]) -> Response:
    kind = file.media_type.partition(";")[0]
    headers["content-security-policy"] = _SANDBOX
    if kind not in _SHOWN:
        headers["content-disposition"] = _attachment(file.name)
    if isinstance(file.content, bytes):
        return Response(file.content, 200, headers, file.media_type)
    gone = BackgroundTask(file.content.unlink, missing_ok=True) if file.forget else None
    return FileResponse(Path(file.content), headers=headers, media_type=file.media_type, background=gone)


def _attachment(name: str) -> str:
    if not name:
        return "attachment"
    plain = quote("".join(one if " " <= one <= "~" else "_" for one in name))
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{percent(name, safe='')}"


async def _stream(events: Events, pool: Executor, service: Service) -> AsyncIterator[bytes]:
    """Each value as an event. A comment now and then keeps proxies from cutting a quiet line."""
    loop = asyncio.get_running_loop()
    sent = time.monotonic()
    while not service.stopping:
        more, value = await loop.run_in_executor(pool, _next, events.values)
        if not more:
            return
        if value is not None:
            sent = time.monotonic()
            yield b"data: " + encode(value) + b"\n\n"
        elif time.monotonic() - sent > _LINE_OPEN_S:
            sent = time.monotonic()
            yield b": still here\n\n"
        await asyncio.sleep(events.pause_s)


def _next(values: Iterator[Any]) -> tuple[bool, Any]:
    # StopIteration cannot be raised into a future.
    for value in values:
        return True, value
    return False, None
