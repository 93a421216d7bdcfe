"""Requests to a model's server: sent, repeated when that may help, bounded in time and size, and never with a key shown.

Raises nothing but ``ModelError`` and ``BadModelOutput``. A key is cut out of everything a server says before it is put
into a message, and the errors of the HTTP library, which hold the request, are not chained.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from memwell.errors import BadModelOutput, ConfigurationError, MissingDependency, ModelError
from memwell.values import drawn_between, shown

if TYPE_CHECKING:
    # It takes a fifth of a second to load; whoever never calls a server need not wait for it.
    import httpx

MOST_BYTES = 64 * 1024 * 1024
"""An answer may be this large."""

_EXCERPT = 200
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait and how often to try again."""

    connect_s: float = 10.0
    """Until the server is reached."""
    read_s: float = 60.0
    """Until the next bytes come."""
    total_s: float = 300.0
    """Until the answer is complete, all its bytes; a repeated request has its own."""
    retries: int = 4
    """How often a request is repeated after 408, 409, 425, 429, most of 5xx, or when the server was not reached."""
    first_wait_s: float = 0.5
    """Waits are drawn at random up to this, doubled each time, …"""
    most_wait_s: float = 30.0
    """… but never above this. A server that asks for a longer wait is not waited for."""


class Transport:
    """A connection to one server. Safe to use from several threads; ``concurrency`` requests are under way at most.

    Raises ``MissingDependency`` without httpx and ``ConfigurationError`` for an address or a key that is none.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        patience: Patience | None = None,
        concurrency: int = 8,
        proxy: str | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.address = _checked_address(base_url)
        self._key = _checked_key(key)
        self._patience = patience or Patience()
        self._slots = threading.BoundedSemaphore(concurrency)
        self._pause = pause
        self._http = _httpx()
        headers = {"authorization": f"Bearer {key}"} if key else {}
        waits = self._http.Timeout(self._patience.read_s, connect=self._patience.connect_s)
        # The environment is not asked for proxies, certificates or passwords: what is used is what was given.
        self._client = self._http.Client(headers=headers, timeout=waits, trust_env=False, proxy=proxy)
        # Whoever forgets to close it must not keep connections open.
        self._ends = weakref.finalize(self, self._client.close)

    def __repr__(self) -> str:
        return f"Transport({self.address!r})"

    def post(self, path: str, body: dict[str, Any]) -> bytes:
        """The whole answer to a request."""
        with self._answer(path, body) as response:
            return b"".join(self._chunks(response))

    def lines(self, path: str, body: dict[str, Any]) -> Iterator[str]:
        """The answer to a request, line by line as it comes."""
        with self._answer(path, body) as response:
            rest = b""
            for chunk in self._chunks(response):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from (line.decode(errors="replace").rstrip("\r") for line in whole)
            if rest:
                yield rest.decode(errors="replace")

    def close(self) -> None:
        """Let go of the connections."""
        self._ends()

    def excerpt(self, data: bytes | str) -> str:
        """The beginning of what a server said, fit for an error message."""
        text = data if isinstance(data, str) else data[: 4 * _EXCERPT].decode(errors="replace")
        text = " ".join(text.split())
        if self._key:
            text = text.replace(self._key, "***")
        return repr(text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…")

    @contextmanager
    def _answer(self, path: str, body: dict[str, Any]) -> Generator[httpx.Response]:
        """The response to a request that has succeeded; its body is still to come."""
        content = msgspec.json.encode(body)
        with self._slots:
            response = self._sent(path, content)
            try:
                yield response
            finally:
                response.close()

    def _sent(self, path: str, content: bytes) -> httpx.Response:
        for attempt in range(self._patience.retries + 1):
            last = attempt == self._patience.retries
            try:
                response = self._send(path, content)
            except (self._http.ConnectError, self._http.ConnectTimeout, self._http.RemoteProtocolError) as error:
                if last:
                    raise self._failure(error) from None
                self._pause(self._wait(attempt))
                continue
            except self._http.HTTPError as error:
                raise self._failure(error) from None
            if response.is_success:
                return response
            failure, asked = self._refusal(response)
            if last or response.status_code not in _RETRIED or (asked or 0.0) > self._patience.most_wait_s:
                raise failure
            self._pause(self._wait(attempt) if asked is None else asked)
        raise AssertionError("the last attempt returns or raises")

    def _send(self, path: str, content: bytes) -> httpx.Response:
        headers = {"content-type": "application/json"}
        request = self._client.build_request("POST", f"{self.address}/{path}", content=content, headers=headers)
        return self._client.send(request, stream=True)

    def _refusal(self, response: httpx.Response) -> tuple[ModelError, float | None]:
        """The error for an answer that is none, and how many seconds the server asks to wait."""
        try:
            said = self.excerpt(b"".join(self._chunks(response)))
        except ModelError:
            said = "nothing that could be read"
        finally:
            response.close()
        asked = _seconds(response.headers.get("retry-after"))
        later = "" if asked is None else f", and asks to wait {asked:g} s"
        status = f"{response.status_code} {response.reason_phrase}".strip()
        return ModelError(f"{self.address} answered {status}{later}: {said}"), asked

    def _chunks(self, response: httpx.Response) -> Iterator[bytes]:
        """The bytes of a body as they come, up to a size and a time."""
        ends, size = time.monotonic() + self._patience.total_s, 0
        try:
            for chunk in response.iter_bytes():
                size += len(chunk)
                if size > MOST_BYTES:
                    raise BadModelOutput(f"{self.address} answered more than {MOST_BYTES:,} bytes")
                if time.monotonic() > ends:
                    raise ModelError(f"{self.address} did not complete its answer in {self._patience.total_s:g} s")
                yield chunk
        except self._http.DecodingError:
            raise BadModelOutput(f"{self.address} answered bytes that do not decompress") from None
        except self._http.RemoteProtocolError:
            raise BadModelOutput(f"{self.address} cut its answer off after {size:,} bytes") from None
        except self._http.HTTPError as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> ModelError:
        said = str(error) or "no details"
        return ModelError(f"{self.address} failed: {type(error).__name__}: {self.excerpt(said)}")

    def _wait(self, attempt: int) -> float:
        # Drawn from the whole range, so that many callers refused together do not come back together.
        return drawn_between(0.0, min(self._patience.most_wait_s, self._patience.first_wait_s * 2**attempt))


def _seconds(retry_after: str | None) -> float | None:
    """What a Retry-After header asks for: a number of seconds, or a date."""
    if retry_after is None:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def _checked_address(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        hidden = parts.username is not None or parts.password is not None or parts.query
    except ValueError:
        raise ConfigurationError("a base_url must be an address such as 'http://localhost:11434/v1'") from None
    if hidden:
        # It is not shown: it may be a key.
        raise ConfigurationError("a base_url must not hold a password or a query; give the key as key=…")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"a base_url must be an address such as 'http://localhost:11434/v1', not {shown(base_url)}"
        )
    return base_url.rstrip("/")


def _checked_key(key: str | None) -> str | None:
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        # It is not shown, and it does not get as far as the HTTP library, whose error would show it.
        raise ConfigurationError("a key must be made of visible ASCII characters; is there a line break at its end?")
    return key


def _httpx() -> Any:
    try:
        return import_module("httpx")
    except ImportError as error:
        raise MissingDependency('models over HTTP need httpx: pip install "memwell[openai]"') from error


__all__ = ["MOST_BYTES", "Patience", "Transport"]
