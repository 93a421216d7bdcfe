"""Checks the headers of a request first: the host name, the origin of the page, and the API key."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request

from memwell.errors import AccessDenied
from memwell.runtime.wire.codec import http_problem
from memwell.runtime.wire.running import Key
from memwell.service.http import RefusedRequest
from memwell.service.keys import id_in_token
from memwell.service.parts import Service
from memwell.settings import Settings

_OWN_NAMES = frozenset({"localhost", "memwell"})
_SHORT = 200
_CHECKING = 4
"""How many keys are checked at once in a remote store."""


class Doorway:
    """Checks the host, the origin and the API key of each request."""

    def __init__(self, service: Service, later: Callable[[Callable[[], object]], object]) -> None:
        self._service = service
        self._later = later
        # A pool of its own: requests without a valid key must not use up the threads of the others.
        self._pool = ThreadPoolExecutor(_CHECKING, thread_name_prefix="memwell-key")
        self._hosts = _named(service.settings)
        self.origins = frozenset(_listed(service.settings.serve_origins))

    def close(self) -> None:
        """Stop checking keys."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def check_host(self, request: Request) -> None:
        """Raises ``RefusedRequest`` for the name of another host.

        This stops DNS rebinding: a web page can make its own name point to this machine, but no IP address.
        """
        host = _without_port(request.headers.get("host", "")).casefold()
        if "*" in self._hosts or host in self._hosts or host in _OWN_NAMES or _is_number(host):
            return
        detail = f"{host[:_SHORT]!r} is not a name of this service; set serve_hosts to add it"
        raise RefusedRequest(http_problem("foreign-host", detail))

    def check_origin(self, request: Request) -> None:
        """Raises ``AccessDenied`` for a call from a web page that is neither ours nor allowed."""
        origin = request.headers.get("origin")
        if origin is None or origin in self.origins:
            return
        own = (f"http://{request.headers.get('host', '')}", f"https://{request.headers.get('host', '')}")
        if origin not in own:
            raise AccessDenied(
                f"pages of {origin[:_SHORT]!r} may not call this service; set serve_origins to allow them",
                code="foreign-origin",
            )

    async def key_of(self, request: Request) -> Key:
        """The valid key of a request. Raises ``AccessDenied`` when there is none, ``Busy`` when that happens often."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            if kind.casefold() != "bearer" or not token:
                raise AccessDenied("send your key as 'Authorization: Bearer mw_…'")
            key = await self._checked(token.strip())
        except AccessDenied:
            self._count_refusal(request, token)
            raise
        self._service.keys.note_use(key)
        return key

    async def _checked(self, token: str) -> Key:
        keys = self._service.keys
        if not keys.far:
            # Reading a file takes less time than starting a thread.
            return keys.check(token)
        # The event loop must not wait for a remote store.
        return keys.recent(token) or await asyncio.get_running_loop().run_in_executor(self._pool, keys.check, token)

    def _count_refusal(self, request: Request, token: str) -> None:
        self._service.failures.count(request.client.host if request.client else "")
        known = id_in_token(token.strip()) if token else None
        # Not on the event loop: a write may wait for others.
        self._later(lambda: self._service.log.append("sign-in", key=known, outcome="refused"))

    def note_refusal(self, request: Request, action: str, code: str, key: Key | None) -> None:
        """Log in the audit log that a key, or a page without a key, was refused."""
        known = self._key_quietly(request) if key is None else key
        self._service.log.refuse(
            action,
            code=code,
            key=None if known is None else known.id,
            space=None if known is None else known.space,
            address=request.client.host if request.client else "",
            later=self._later,
        )

    def _key_quietly(self, request: Request) -> Key | None:
        """The valid key of a request that was refused for another reason, or None."""
        _, _, token = request.headers.get("authorization", "").partition(" ")
        keys = self._service.keys
        try:
            return keys.recent(token.strip()) if keys.far else keys.check(token.strip())
        except AccessDenied:
            return None

    def shared_headers(self, request: Request) -> dict[str, str]:
        """The CORS headers for a page of an allowed origin."""
        origin = request.headers.get("origin")
        if origin is None or origin not in self.origins:
            return {}
        return {
            "access-control-allow-origin": origin,
            "access-control-expose-headers": "X-Request-Id, Retry-After, Idempotent-Replayed, Content-Disposition",
            "vary": "Origin",
        }

    def preflight_headers(self, request: Request) -> dict[str, str]:
        """The CORS headers of a preflight response."""
        return {
            **self.shared_headers(request),
            "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
            "access-control-allow-headers": "Authorization, Content-Type, Idempotency-Key",
            "access-control-max-age": "600",
        }


def _named(settings: Settings) -> frozenset[str]:
    return frozenset(name.casefold() for name in (settings.serve_host, *_listed(settings.serve_hosts)))


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0][1:]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
