"""Visits: the key of whoever started the service, which must not outlive it, however it ends.

A process that was killed can revoke nothing. So each notes whose visits there are, and says every few seconds that it is
there; the next to start, and whoever runs beside it, ends those that nobody stands for any more.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec

from memwell.errors import MemwellError
from memwell.records import DEFAULT_SPACE, paged
from memwell.service.keys import SCOPES, SERVICE
from memwell.service.parts import Service
from memwell.values import new_id, now

_VISITS = SERVICE / "visits"
_LONGEST = timedelta(hours=12)
_LEASE = timedelta(minutes=2)
"""A service ticks every few seconds. One that was not heard of for so long is gone."""

_THIS = new_id()
"""This process: another after it may get the same number."""


class _Noted(msgspec.Struct, frozen=True):
    """Whose visit it is, and until when that is known to be there."""

    process: str
    host: str
    number: int
    until: datetime


class Visit:
    """A key for whoever started the service, so that the page opens signed in. It ends with the service.

    Whoever can start it has the store, and could make a key of their own.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._ended = False
        ends = now() + _LONGEST
        self.key, self.token = service.keys.create("this visit", space=DEFAULT_SPACE, scopes=SCOPES, expires=ends)
        self.stay()
        service.at_tick(self.stay)

    def stay(self) -> None:
        """Say that the service is still there."""
        if not self._ended:
            noted = _Noted(_THIS, _host(), os.getpid(), now() + _LEASE)
            self._service.backend.kv.put(_VISITS, self.key.id, msgspec.to_builtins(noted))

    def end(self) -> None:
        """Revoke it."""
        self._ended = True
        with suppress(MemwellError):
            _end(self._service, self.key.id)


def end_left_visits(service: Service) -> int:
    """Revoke the keys of visits to services that are gone, and return how many. Those of services that run stay."""
    kv = service.backend.kv
    ended = 0
    for entry in list(paged(lambda cursor: kv.scan(_VISITS, limit=500, cursor=cursor))):
        if not _is_there(msgspec.convert(entry.value, _Noted)):
            with suppress(MemwellError):
                _end(service, entry.key)
                ended += 1
    return ended


def _end(service: Service, id_: str) -> None:
    service.keys.revoke(id_)
    service.backend.kv.delete(_VISITS, id_)


def _is_there(noted: _Noted) -> bool:
    if noted.process == _THIS:
        return True
    if noted.until <= now():
        return False
    # On another machine, nothing but the time tells.
    return noted.host != _host() or (noted.number != os.getpid() and _runs(noted.number))


def _host() -> str:
    """Where a number of a process means the same: this machine, or this container."""
    numbers = ""
    with suppress(OSError):
        numbers = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()} {numbers}".strip()


def _runs(number: int) -> bool:
    if os.name != "posix":
        # Elsewhere the question itself would end the process.
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # It is another user's.
        return True
    return True


__all__ = ["Visit", "end_left_visits"]
