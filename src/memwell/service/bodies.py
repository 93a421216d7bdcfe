"""What comes in with a request: read up to a limit, within a time, JSON into memory and files onto disk."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from starlette.requests import ClientDisconnect, Request

from memwell.runtime.wire.problems import Problem, http_problem


class Refused(Exception):
    """A request that HTTP itself refuses; ``problem`` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.title)
        self.problem = problem


async def read_json(request: Request, most: int, timeout_s: float) -> bytes:
    """The whole body. Raises ``Refused`` when it is larger than ``most`` bytes or does not arrive in time."""
    _check_length(request, most)
    kind = request.headers.get("content-type", "")
    if kind and not _is_json(kind):
        raise Refused(http_problem("media-type", f"expected application/json, not {kind[:80]}"))
    chunks: list[bytes] = []
    size = 0
    async with _InTime(timeout_s):
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                raise Refused(_too_large(most))
            chunks.append(chunk)
    return b"".join(chunks)


async def read_file(request: Request, most: int, timeout_s: float, folder: Path) -> Path | None:
    """The body as a file in ``folder``, or None when it is empty. Nothing stays behind when it is refused."""
    _check_length(request, most)
    kind = request.headers.get("content-type", "")
    if kind.startswith("multipart/"):
        raise Refused(http_problem("media-type", "send the file itself as the body, not a form around it"))
    handle, name = tempfile.mkstemp(dir=folder, prefix="upload-")
    path, size, whole = Path(name), 0, False
    try:
        with os.fdopen(handle, "wb") as file:
            # Between two pieces, and not over all: a slow line may take its time with a large file.
            stream = request.stream().__aiter__()
            while True:
                async with _InTime(timeout_s):
                    chunk = await anext(stream, None)
                if chunk is None:
                    break
                size += len(chunk)
                if size > most:
                    raise Refused(_too_large(most))
                file.write(chunk)
        whole = size > 0
    finally:
        if not whole:
            os.unlink(path)
    return path if whole else None


class _InTime:
    """Raises ``Refused`` when the body does not come within the time, or never will."""

    def __init__(self, seconds: float) -> None:
        self._limit = asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        await self._limit.__aenter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            await self._limit.__aexit__(kind, error, trace)  # pyright: ignore[reportArgumentType]
        except TimeoutError:
            raise Refused(http_problem("too-slow")) from None
        if isinstance(error, ClientDisconnect):
            raise Refused(http_problem("malformed", "the line was cut before the request was whole")) from None


def _is_json(kind: str) -> bool:
    bare = kind.partition(";")[0].strip().casefold()
    return bare == "application/json" or bare.endswith("+json")


def _check_length(request: Request, most: int) -> None:
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise Refused(http_problem("malformed", "Content-Length is not a number"))
    # Longer than any number that fits: no need to find out how much it is.
    if len(length) > 15 or int(length) > most:
        raise Refused(_too_large(most))


def _too_large(most: int) -> Problem:
    return http_problem("too-large", f"at most {most:,} bytes are taken here")
