"""Idempotency: a request sent again with the same ``Idempotency-Key`` has one effect and one answer.

``call.answer`` calls ``begin`` before the work and ``finish`` after it, or ``abandon`` when the work failed. A request
under way holds a lease on its header for a minute; if its process is killed, another may try after that. If it was only
slow, both reach ``finish``; the second one raises, and its transaction is rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from memwell.errors import Busy, Conflict, InvalidInput
from memwell.longterm.base import utc_now
from memwell.records import Space, paged
from memwell.runtime.wire.codec import Key
from memwell.service.keys import SERVICE, holds_token
from memwell.storage.protocols import Backend, Entry
from memwell.values import shown

LARGEST_KEPT = 1_000_000
"""Of an answer with a larger body only the status is stored."""

_ONCE = SERVICE / "once"
"""Each key has its own space in it, so that requests of different keys do not wait for each other."""

_VISIBLE = re.compile("[!-~]{1,255}")
_LEASE_S = 60.0
_KEPT_S = 86_400.0
_TRIES = 20


def kept_under(key: Key, space: Space) -> str:
    """Under which name the answers of a key are stored, for one of the spaces that its requests name."""
    return key.id if space == key.space else f"{key.id} {sha256(space.encoded().encode()).hexdigest()}"


class Mismatch(Conflict):
    """Another request was made under the same header. ``code`` is ``idempotency-mismatch``."""

    code = "idempotency-mismatch"


class Overtaken(Conflict):
    """Another process finished the same request. Roll back here; ``begin`` returns its answer."""


class KeptAnswer(msgspec.Struct, frozen=True):
    """A stored answer. When it is not ``whole``, its ``body`` was not stored, and is empty."""

    status: int
    body: bytes
    whole: bool = True


class _Held(msgspec.Struct, frozen=True, array_like=True):
    """The stored value of a header: a lease until there is an answer."""

    fingerprint: bytes
    answer: KeptAnswer | None = None


class Once:
    """The requests with an ``Idempotency-Key``, by API key."""

    def __init__(self, backend: Backend, clock: Callable[[], datetime] = utc_now) -> None:
        self._kv = backend.kv
        self._clock = clock

    def begin(self, key_id: str, header: str, fingerprint: bytes) -> KeptAnswer | None:
        """Reserve the header and return None: go ahead. Or return the answer that was given to this request.

        Call it outside of a transaction: the reservation is for others to see. Raises ``Mismatch`` when the header came
        with another request, ``Busy`` (``in-progress``) while the same one is worked on, and ``InvalidInput`` for a header
        that is not 1 to 255 visible ASCII characters.
        """
        own, name = _ONCE / key_id, _name(header)
        for _ in range(_TRIES):
            entry = self._kv.get(own, name)
            if entry is not None:
                return _answered(_held(entry), fingerprint)
            try:
                self._kv.put(own, name, _written(_Held(fingerprint)), ttl=_LEASE_S, expect=0)
            except Conflict:
                # Another request was faster; its reservation can be read now.
                continue
            return None
        raise Busy("the same request is being worked on, again and again", code="in-progress")

    def finish(self, key_id: str, header: str, fingerprint: bytes, status: int, body: bytes) -> None:
        """Keep the answer, for a day. Inside a transaction it is stored with the rest of it, or not at all.

        Raises ``Overtaken`` when another process took the header over after its minute and has finished, or asks for
        something else. A body of more than a megabyte is left out, and one that holds the token of a key: it was to be
        seen once, and is stored nowhere.
        """
        own, name = _ONCE / key_id, _name(header)
        entry = self._kv.get(own, name)
        held = None if entry is None else _held(entry)
        if held is not None and (held.answer is not None or held.fingerprint != fingerprint):
            raise Overtaken("the same request was finished by another process")
        whole = len(body) <= LARGEST_KEPT and not holds_token(body)
        answer = KeptAnswer(status, body if whole else b"", whole)
        version = 0 if entry is None else entry.version
        try:
            self._kv.put(own, name, _written(_Held(fingerprint, answer)), ttl=_KEPT_S, expect=version)
        except Conflict as error:
            raise Overtaken("another process is working on the same request") from error

    def abandon(self, key_id: str, header: str, fingerprint: bytes) -> None:
        """Let the request be tried again at once. Does nothing when it was finished, or is another one.

        Only after ``begin`` returned None: after ``Busy`` it would end the reservation of the request at work.
        """
        own, name = _ONCE / key_id, _name(header)
        entry = self._kv.get(own, name)
        if entry is not None and _held(entry) == _Held(fingerprint):
            with suppress(Conflict):
                self._kv.delete(own, name, expect=entry.version)

    def drop_bodies(self, key_id: str) -> int:
        """Drop the bodies of all answers kept for a key, and return how many. What was done is still not done again.

        For when memories are erased: an answer may hold their words. Call it in the transaction of the erasure.
        """
        own = _ONCE / key_id
        entries = list(paged(lambda cursor: self._kv.scan(own, cursor=cursor)))
        return sum(self._drop_body(own, entry) for entry in entries)

    def _drop_body(self, own: Space, entry: Entry) -> bool:
        held = _held(entry)
        if held.answer is None or not held.answer.body or entry.expires is None:
            return False
        left = max((entry.expires - self._clock()).total_seconds(), 1.0)
        emptied = _Held(held.fingerprint, replace(held.answer, body=b"", whole=False))
        self._kv.put(own, entry.key, _written(emptied), ttl=left)
        return True


def fingerprint_of(method: str, path: str, body: bytes) -> bytes:
    """What tells one request from another: its method, its address and its body."""
    # The lengths keep the end of one from passing for the beginning of the next.
    first = f"{len(method)} {method} {len(path)} {path} ".encode(errors="surrogatepass")
    return sha256(first + body).digest()


def _answered(held: _Held, fingerprint: bytes) -> KeptAnswer:
    if held.fingerprint != fingerprint:
        raise Mismatch("another request was made with this Idempotency-Key; choose a new one for each request")
    if held.answer is None:
        raise Busy("the same request is being worked on; try again in a moment", code="in-progress")
    return held.answer


def _name(header: str) -> str:
    if _VISIBLE.fullmatch(header) is None:
        raise InvalidInput(f"an Idempotency-Key is 1 to 255 visible ASCII characters, not {shown(header)}")
    return header


def _written(held: _Held) -> bytes:
    return msgspec.msgpack.encode(held)


def _held(entry: Entry) -> _Held:
    return msgspec.msgpack.decode(entry.value, type=_Held)
