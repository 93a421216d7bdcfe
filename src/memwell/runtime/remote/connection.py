"""The connection to a service: sends requests, retries them, and never shows the key.

Raises the library's own errors: those of the service, ``BackendUnavailable`` when it cannot be reached, ``BackendError``
for an answer that is not a memwell service's. Errors of the HTTP library hold the request with the key, so none is chained.
"""

from __future__ import annotations

import inspect
import ipaddress
import logging
import os
import re
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, NamedTuple, ParamSpec, Self, TypeVar, cast
from urllib.parse import quote, quote_plus, urlencode, urlsplit

import msgspec

from memwell._asyncify import Closing, asyncify
from memwell.errors import (
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    InvalidInput,
    MemwellError,
    MissingDependency,
    Unsupported,
)
from memwell.records import Space, space_named
from memwell.runtime.transfer.files import named
from memwell.runtime.wire.codec import MEDIA_TYPE, Problem, decode, encode, error_of
from memwell.runtime.wire.operations import Operation
from memwell.runtime.wire.table import OPERATIONS, Job
from memwell.values import check_id, drawn_between, new_id, shown

if TYPE_CHECKING:
    import httpx


T = TypeVar("T")
Body = bytes | Path | None

_log = logging.getLogger("memwell.remote")

_TRANSIENT = frozenset({429, 502, 503, 504})
"""Statuses that are retried, those of a proxy too: every write has an idempotency key."""

_JSON = {"content-type": "application/json"}
_FILE = {"content-type": "application/octet-stream"}
_PIECE = 1 << 16
_ENCODE_ERRORS = (UnicodeEncodeError, TypeError, NotImplementedError, OverflowError, RecursionError, ValueError)


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Timeouts, and how often a request is retried."""

    connect_s: float = 10.0
    """Until the service is reached."""
    read_s: float = 120.0
    """Until the next bytes of an answer come."""
    retries: int = 5
    """How often a request is retried when the connection broke or the service is busy."""
    total_s: float = 60.0
    """No retry begins later than this after the first attempt."""
    first_wait_s: float = 0.1
    """The first random wait is up to this; the limit doubles each time, …"""
    most_wait_s: float = 5.0
    """… up to this, unless the service asks for longer."""


class _Sending(NamedTuple):
    """A request to send, the same at every attempt."""

    method: str
    url: str
    headers: dict[str, str]
    body: Body


class _Failure(NamedTuple):
    """A failed attempt: the error, whether to retry, and the wait that the service asks for."""

    error: MemwellError
    transient: bool = False
    after: float | None = None


class Connection(Closing):
    """A connection to one service with one key. Safe to use from several threads, and after a fork.

    Raises ``ConfigurationError`` for an address or a key that is none, ``MissingDependency`` without httpx.
    """

    def __init__(
        self, url: str, *, key: str, patience: RetryPolicy | None = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self.address = check_address(url)
        self.pause = pause
        self._headers = {"authorization": f"Bearer {check_key(key)}"}
        self._key = key
        self._patience = patience or RetryPolicy()
        self._http = _httpx()
        self._lock = threading.Lock()
        self._clients: dict[int, httpx.Client] = {}
        self._closed = False
        self._named = ""
        self._whole: Connection | None = None
        """Of a view for a space: the connection it is of, which closes the sockets when nothing refers to it."""
        # An abandoned connection closes its sockets too.
        self._ends = weakref.finalize(self, _close, self._clients)
        if self.address.lower().startswith("http:") and not is_loopback(self.address):
            _log.warning("%s is not encrypted: the key and all memories can be read on the way to it", self.address)

    def __repr__(self) -> str:
        return f"Connection({self.address!r})"

    def at(self, space: Space) -> Self:
        """The same connection, for requests that name a space. Closing either closes both."""
        view = copy(self)
        # A single segment with a slash is given as a list: as a text it would be split there.
        values = list(space) if space_named(space) == space else [space.encoded()]
        view._named = urlencode([("space", value) for value in values])
        view._whole = self._whole or self
        return view

    def call(self, name: str, asked: Any = None, /, **path: str) -> Any:
        """Call an operation and return its answer. ``path`` are the open segments of its address."""
        return self.upload(name, asked, None, **path)

    def upload(self, name: str, asked: Any, body: Body, /, **path: str) -> Any:
        """Call an operation with a file, by its bytes or its path. Raises ``FileError`` when it cannot be read."""
        operation = OPERATIONS[name]
        response = self._answered(self._sending(operation, asked, body, path), stream=False)
        try:
            return decode(response.content, operation.reads or operation.gives)
        except InvalidInput as error:
            if response.headers.get("idempotent-replayed"):
                raise BackendError("it was done, but its answer is no longer stored") from None
            raise BackendError(f"{self._foreign(response)}: {error}") from None

    def fetch(self, name: str, /, **path: str) -> bytes:
        """Download a file of the service."""
        return self._answered(self._sending(OPERATIONS[name], None, None, path), stream=False).content

    def download(self, name: str, file: BinaryIO, /, **path: str) -> int:
        """Download a file of the service into an open file; its size in bytes.

        Raises ``BackendUnavailable`` when the connection breaks.
        """
        response = self._answered(self._sending(OPERATIONS[name], None, None, path), stream=True)
        failure: _Failure | None = None
        size = 0
        try:
            for piece in response.iter_bytes(_PIECE):
                size += file.write(piece)
        except self._http.HTTPError as error:
            failure = self._cut(error)
        finally:
            response.close()
        if failure is not None:
            raise failure.error
        return size

    def close(self) -> None:
        """Close the connection. Later calls raise ``BackendError``."""
        (self._whole or self)._closed = True
        self._ends()

    @property
    def _is_closed(self) -> bool:
        return (self._whole or self)._closed

    # Sending

    def _sending(self, route: Operation, asked: Any, body: Body, path: dict[str, str]) -> _Sending:
        try:
            url = self.address + target_of(route, path, asked)
            if self._named:
                url += ("&" if "?" in url else "?") + self._named
            if asked is not None and not route.takes_query:
                body = encode(asked)
        except _ENCODE_ERRORS as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput(f"that cannot be written as JSON: {shown(str(error))}") from None
        headers = dict(_JSON if not route.upload and body is not None else _FILE if body is not None else {})
        if route.has_effect:
            # The same at every attempt of a call, so that a retry has no second effect.
            headers["idempotency-key"] = new_id()
        return _Sending(route.method, url, headers, body)

    def _answered(self, sending: _Sending, *, stream: bool) -> httpx.Response:
        """The answer to a request, after retries."""
        ends = time.monotonic() + self._patience.total_s
        attempt = 0
        while True:
            answer = self._attempt(sending, stream=stream)
            if not isinstance(answer, _Failure):
                return answer
            wait = self._wait(attempt, answer.after)
            if not answer.transient or attempt >= self._patience.retries or time.monotonic() + wait > ends:
                raise answer.error
            self.pause(wait)
            attempt += 1

    def _attempt(self, sending: _Sending, *, stream: bool) -> httpx.Response | _Failure:
        client = self._client()
        with _content(sending.body) as content:
            request = client.build_request(sending.method, sending.url, headers=sending.headers, content=content)
            try:
                response = client.send(request, stream=stream)
                if not response.is_success:
                    response.read()
            except self._http.HTTPError as error:
                return self._cut(error)
            except RuntimeError:
                # The client was closed meanwhile.
                return _Failure(self._closed_error())
        return response if response.is_success else self._refused(response)

    def _client(self) -> httpx.Client:
        client = self._clients.get(os.getpid())
        return self._new_client() if client is None or self._is_closed else client

    def _new_client(self) -> httpx.Client:
        with self._lock:
            if self._is_closed:
                raise self._closed_error()
            # A fork has sockets of its own: on a shared one, processes would read each other's answers.
            if os.getpid() not in self._clients:
                waits = self._http.Timeout(self._patience.read_s, connect=self._patience.connect_s)
                # Shorter than the keep-alive of the service, so that it seldom closes a socket that is about to be used.
                limits = self._http.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=15.0)
                here = is_loopback(self.address)
                plain = here and self.address.lower().startswith("http:")
                self._clients[os.getpid()] = self._http.Client(
                    headers=self._headers,
                    timeout=waits,
                    limits=limits,
                    # Without TLS no certificates: loading them would take longer than connecting.
                    verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
                    # No proxy for this machine itself.
                    trust_env=not here,
                )
            return self._clients[os.getpid()]

    def _wait(self, attempt: int, asked: float | None) -> float:
        # Random over the whole range, so that clients that were refused together do not retry together.
        drawn = drawn_between(0.0, min(self._patience.most_wait_s, self._patience.first_wait_s * 2**attempt))
        return drawn if asked is None else asked + drawn

    # Failures

    def _cut(self, error: Exception) -> _Failure:
        http = self._http
        said = self._without_key(str(error)) or type(error).__name__
        if isinstance(error, http.ConnectError | http.ConnectTimeout):
            return _Failure(BackendUnavailable(f"no service can be reached at {self.address}: {said}"), transient=True)
        if isinstance(error, http.TimeoutException):
            waited = f"{self._patience.read_s:g} s; it may still be working"
            return _Failure(BackendUnavailable(f"{self.address} did not answer within {waited}"))
        if isinstance(error, http.NetworkError | http.RemoteProtocolError):
            return _Failure(BackendUnavailable(f"the connection to {self.address} broke: {said}"), transient=True)
        return _Failure(BackendError(f"{self.address} cannot be asked: {said}"))

    def _refused(self, response: httpx.Response) -> _Failure:
        status, after = response.status_code, _seconds(response.headers.get("retry-after"))
        if response.headers.get("content-type", "").partition(";")[0].strip() != MEDIA_TYPE:
            return _Failure(BackendError(self._foreign(response)), status in _TRANSIENT, after)
        try:
            problem: Problem = decode(response.content, Problem)
        except InvalidInput:
            return _Failure(BackendError(self._foreign(response)))
        if problem.code == "no-such-address":
            nothing = (
                f"nothing of a memwell service is at {self.address}: {response.request.url.path} is no address of it. Give "
                "the address that memwell serve prints, such as http://127.0.0.1:7411, without a page or /v1 behind it"
            )
            return _Failure(ConfigurationError(nothing))
        # The service has retried a failed model itself.
        transient = (status in _TRANSIENT and problem.code != "model") or problem.code == "in-progress"
        return _Failure(error_of(problem), transient, after if after is not None else problem.retry_after)

    def _foreign(self, response: httpx.Response) -> str:
        kind = self._without_key(response.headers.get("content-type", "nothing"))
        status = f"{response.status_code} {response.reason_phrase}".strip()
        moved = response.headers.get("location", "") if response.is_redirect else ""
        hint = f" and points to {shown(self._without_key(moved))}" if moved else ""
        return (
            f"{self.address} is no memwell service, or there is something before it: it answers {status} ({kind}){hint}"
        )

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "…")

    def _closed_error(self) -> BackendError:
        return BackendError(f"the connection to {self.address} was closed")


@contextmanager
def _content(body: Body) -> Generator[Any]:
    """The body of an attempt: a file is opened each time."""
    with ExitStack() as held:
        if isinstance(body, Path):
            held.enter_context(named(body, "read"))
            yield held.enter_context(body.open("rb"))
        else:
            yield body


def _close(clients: dict[int, httpx.Client]) -> None:
    client = clients.pop(os.getpid(), None)
    if client is not None:
        client.close()


def _seconds(retry_after: str | None) -> float | None:
    """The seconds of a Retry-After header, or None for another form."""
    try:
        return None if retry_after is None else max(0.0, float(retry_after))
    except ValueError:
        return None


def _httpx() -> Any:
    try:
        return import_module("httpx")
    except ImportError as error:
        raise MissingDependency.of("a service over HTTP needs httpx", "server") from error


# Addresses

_EXAMPLE = "such as 'http://127.0.0.1:7411'"
_LONGEST_ADDRESS = 60_000
"""The longest address. Most servers refuse a little more."""

_UNREADABLE = re.compile(r"[^!-~]")


def check_address(url: object) -> str:
    """The address of a service without a slash at its end.

    Raises ``ConfigurationError`` for another scheme, and for an address with a password or a query, which it does not
    show: it may be a key.
    """
    text = str(url)
    try:
        parts = urlsplit(text)
        _ = parts.port
        hidden = parts.username is not None or parts.password is not None or parts.query or parts.fragment
    except ValueError:
        raise ConfigurationError(f"a service is named by its address, {_EXAMPLE}") from None
    if hidden:
        raise ConfigurationError("an address must hold no key, no password and no query; give the key as key=…")
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname or _UNREADABLE.search(text):
        raise ConfigurationError(f"a service is named by its address, {_EXAMPLE}, not {shown(text)}")
    return text.rstrip("/")


def check_key(key: object) -> str:
    """The key, if it has the form of one. Raises ``ConfigurationError``, which does not show it."""
    if not isinstance(key, str) or not key:
        raise ConfigurationError(
            "a service needs a key: memwell.open(url, key='mw_…'), or MEMWELL_KEY; `memwell keys create` makes one"
        )
    if _UNREADABLE.search(key):
        # The error of the HTTP library would show it.
        raise ConfigurationError("a key is made of visible ASCII characters; is there a line break at its end?")
    return key


def is_loopback(address: str) -> bool:
    """Whether an address is of this machine."""
    host = urlsplit(address).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def target_of(route: Operation, path: dict[str, str], asked: Any) -> str:
    """The path and query of a request. Raises ``InvalidInput`` for a segment that is no id, and for a query that is too
    long.
    """
    parts = [_segment(path[part[1:-1]]) if part.startswith("{") else part for part in route.parts]
    target = "/" + "/".join(parts)
    if asked is None or not route.takes_query:
        return target
    query = "&".join(f"{name}={quote_plus(value, safe='[]{},:')}" for name, value in _pairs(asked))
    if len(query) > _LONGEST_ADDRESS:
        raise InvalidInput(
            f"the request goes into an address, which holds {_LONGEST_ADDRESS:,} characters, not {len(query):,}; a "
            "letter that is not ASCII takes three for each of its bytes"
        )
    return f"{target}?{query}" if query else target


def _segment(value: object) -> str:
    text = quote(check_id(value, "an id"), safe="")
    # Proxies resolve dot segments.
    return text.replace(".", "%2E") if text in (".", "..") else text


def _pairs(asked: Any) -> Iterator[tuple[str, str]]:
    for name, said in cast("dict[str, Any]", msgspec.to_builtins(asked)).items():
        for value in cast("list[Any]", said) if isinstance(said, list | tuple) else [said]:
            if value is not None:
                yield name, str(value).lower() if isinstance(value, bool) else str(value)


# Jobs

Progress = Callable[[int, int | None], None]

_FIRST_S, _MOST_S = 0.01, 1.0
_ENDED = ("done", "failed")


def finished(connection: Connection, job: Job, progress: Progress | None = None) -> Job:
    """Wait for a job; ``progress`` is called after each change. Raises the error of a job that failed."""
    wait, seen = _FIRST_S, (0, cast("int | None", None))
    while job.status not in _ENDED:
        connection.pause(wait)
        wait = min(2 * wait, _MOST_S)
        job = connection.call("job", id=job.id)
        if progress is not None and (job.done, job.of) != seen:
            seen = (job.done, job.of)
            progress(*seen)
    if job.status == "failed":
        try:
            raise error_of(msgspec.convert(job.problem, Problem))
        except msgspec.ValidationError:
            raise MemwellError(f"the job {job.action!r} failed") from None
    return job


def result_of(job: Job, gives: type[T]) -> T:
    """The result of a job. Raises ``BackendError`` when it is of another type."""
    try:
        return decode(encode(job.result), gives)
    except InvalidInput as error:
        raise BackendError(f"the job {job.action!r} ended with something else than expected: {error}") from None


def number_of(job: Job, name: str) -> int:
    """A number in a job's result; 0 when it is missing."""
    return int((job.result or {}).get(name, 0))


# Methods derived from the table of operations, and names that are refused

P = ParamSpec("P")
C = TypeVar("C", bound=type)


class Remote:
    """The base of remote classes. ``fixed`` are the segments and fields of all its requests."""

    def __init__(self, connection: Connection, **fixed: Any) -> None:
        self._connection = connection
        self._fixed = fixed


def called(
    name: str,
    like: Callable[Concatenate[Any, P], T],
    *,
    reads: Callable[[Any], Any] | None = None,
    nothing: Mapping[str, Callable[[], Any]] | None = None,
) -> tuple[Callable[Concatenate[Any, P], T], Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]]:
    """The method that calls an operation, and its async twin, with the signature of the engine's method.

    ``reads`` converts the answer. ``nothing`` names arguments that need no request when they are empty, and the results
    for that.
    """
    operation = OPERATIONS[name]
    signature = inspect.signature(operation.does)
    positional = list(signature.parameters)[1:]

    @wraps(like)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        fixed: dict[str, Any] = self._fixed
        given: dict[str, Any] = {**bound.arguments, **fixed}
        named = iter(positional)
        path = {place: fixed[place] if place in fixed else given.pop(next(named)) for place in operation.places}
        asked = operation.request(given)
        for argument, empty in (nothing or {}).items():
            if not getattr(asked, argument):
                return empty()
        answer = self._connection.call(name, asked, **path)
        result = getattr(answer, operation.field) if operation.field else answer
        return result if reads is None else reads(result)

    return call, asyncify(call)


class RefusedName:
    """A name that a remote memory does not have. Reading it raises ``Unsupported`` with the reason."""

    def __init__(self, name: str, why: str) -> None:
        self._name, self._why = name, why

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            return self
        raise Unsupported(f"{self._name!r} is not available for a memory behind a service: {self._why}")


def refuses(why: str, *names: str) -> Callable[[C], C]:
    """A class decorator: refuse some names of the local class, and their async twins, for a reason."""

    def refusing(class_: C) -> C:
        for name in names:
            setattr(class_, name, RefusedName(name, why))
            setattr(class_, f"a{name}", RefusedName(f"a{name}", why))
        return class_

    return refusing
