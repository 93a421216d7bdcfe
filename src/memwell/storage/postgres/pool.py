"""The connections of one process to one server: as many as it may hold, taken and given back.

There is no thread behind it, so nothing is lost by a fork: a child leaves its parent's connections alone and opens its own.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8BinaryDumper

from memwell.errors import BackendError, BackendUnavailable
from memwell.settings import Settings
from memwell.storage.postgres.address import Address
from memwell.storage.postgres.failures import is_starting, translated

T = TypeVar("T")

_GRACE_S = 5.0
"""How much longer than the server's own limit an answer is waited for, before the connection is taken for dead."""
_QUIET_S = 1.0
"""A connection that lay idle for longer is looked at before it is used: the server may have closed it."""
_NAP_S = 0.05
_KNOWN_AWAY_S = 1.0
"""For so long after a server was not reached nobody else tries: whoever asks is told so at once."""


class Patient(psycopg.Connection[tuple[Any, ...]]):
    """A connection that does not wait for ever for an answer that a broken network swallowed."""

    patience_s: float = 65.0
    idle_since: float = 0.0

    def wait(self, gen: PQGen[T], *rest: Any, **options: Any) -> T:
        return super().wait(self._bounded(gen), *rest, **options)

    def _bounded(self, gen: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        end = time.monotonic() + self.patience_s
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > end:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(
                        f"no answer within {self.patience_s:g} s; the connection was given up"
                    )
                wanted = gen.send(ready)
        except StopIteration as finished:
            return finished.value


Link: TypeAlias = Patient


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line of the driver's log says what nobody else does.

    That a transaction could not be ended in order on one of our connections is known from the error that we raise.
    """
    about = record.args[0] if isinstance(record.args, tuple) and record.args else None
    ours = any(isinstance(getattr(about, name, about), Patient) for name in ("_conn", "connection"))
    return not (ours and str(record.msg).startswith("error ignored"))


logging.getLogger("psycopg").addFilter(_is_news)


def connect(address: Address, settings: Settings, *, path: str, extra: str = "") -> Link:
    """A fresh connection, each of whose statements is a transaction by itself. Raises ``psycopg.OperationalError``."""
    timeout = max(1, round(settings.connect_timeout_s))
    parameters: dict[str, Any] = {
        "application_name": f"memwell {address.schema} {os.getpid()}",
        "connect_timeout": timeout,
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
        **address.parameters,
    }
    if not address.pooled:
        asked = f"{parameters.get('options', '')} {session_options(settings, path)} {extra}".strip()
        parameters["options"] = asked
    link = Patient.connect(
        **parameters,
        autocommit=True,
        prepare_threshold=None if address.pooled else 2,
    )
    # Whole numbers all go as one type, so that a statement is prepared once and not for every size of its numbers.
    link.adapters.register_dumper(int, Int8BinaryDumper)
    link.patience_s = settings.statement_timeout_s + _GRACE_S
    return link


def session_options(settings: Settings, path: str) -> str:
    """What a session is started with: where names are looked up, and how long it may take."""
    chosen = {
        "search_path": path,
        "statement_timeout": f"{settings.statement_timeout_s * 1000:.0f}",
        "lock_timeout": f"{settings.busy_timeout_s * 1000:.0f}",
        # So that the locks of a client that vanished from the network are freed within a minute.
        "tcp_keepalives_idle": "30",
        "tcp_keepalives_interval": "10",
        "tcp_keepalives_count": "3",
    }
    return " ".join(f"-c {name}={value}" for name, value in chosen.items())


class Pool:
    """Connections for whoever needs one, up to ``settings.pool_size`` at a time."""

    def __init__(self, open_link: Callable[[], Link], settings: Settings, place: str) -> None:
        self._open_link = open_link
        self._size = settings.pool_size
        self._timeout_s = settings.connect_timeout_s
        self._place = place
        self.closed = False
        self._abandoned: list[object] = []
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._idle: list[Link] = []
        self._in_use = 0
        self._freed = threading.Condition(threading.Lock())
        self._away: BackendUnavailable | None = None
        self._next_try = 0.0
        self._trying = False

    def ready(self) -> None:
        """Raises ``BackendError`` when it is closed; begins anew in a forked child."""
        if self.closed:
            raise BackendError(f"the store {self._place} is closed")
        if self._pid != os.getpid():
            # They are the parent's: kept, so that nothing here closes them under it.
            self._abandoned.append(self._idle)
            self._reset()

    def take(self) -> Link:
        """A connection. Raises ``BackendUnavailable`` when none is free in time, or the server cannot be reached."""
        self.ready()
        end = time.monotonic() + self._timeout_s
        link = self._reserve(end)
        try:
            while link is not None:
                if _is_sound(link):
                    return link
                link.close()
                link = self._another_idle()
            return self._reached(end)
        except BaseException:
            self._free(None)
            raise

    def _reserve(self, end: float) -> Link | None:
        with self._freed:
            while self._in_use >= self._size and not self.closed:
                left = end - time.monotonic()
                if left <= 0 or not self._freed.wait(left):
                    raise BackendUnavailable(
                        f"all {self._size} connections to the store {self._place} stayed in use for "
                        f"{self._timeout_s:g} s; set pool_size higher, or do less at once"
                    )
            self.ready()
            self._in_use += 1
            return self._idle.pop() if self._idle else None

    def _another_idle(self) -> Link | None:
        with self._freed:
            return self._idle.pop() if self._idle else None

    def _reached(self, end: float) -> Link:
        """A fresh connection. Of a server that was not reached a moment ago, one caller tries; the others do not wait."""
        if self._away is None:
            try:
                return self._opened(end)
            except BackendUnavailable as error:
                self._away, self._next_try = error, time.monotonic() + _KNOWN_AWAY_S
                raise
        self._try_alone(self._away)
        try:
            link = self._opened(0.0)
            self._away = None
            return link
        finally:
            self._next_try = time.monotonic() + _KNOWN_AWAY_S
            self._trying = False

    def _try_alone(self, known: BackendUnavailable) -> None:
        """Raises what is known of the server, unless it is time that somebody tries again and nobody does."""
        with self._freed:
            if self._trying or time.monotonic() < self._next_try:
                raise BackendUnavailable(str(known)) from known
            self._trying = True

    def _opened(self, end: float) -> Link:
        """A fresh connection; a server that is just starting is waited for."""
        while True:
            try:
                return self._open_link()
            except psycopg.Error as error:
                if not (is_starting(error) or _refused(error)) or time.monotonic() > end:
                    raise translated(error, self._place) from error
                time.sleep(_NAP_S)

    def spare(self) -> Link:
        """A connection that is not counted, for whoever has lost his; he closes it himself."""
        self.ready()
        return self._opened(time.monotonic() + self._timeout_s)

    def give(self, link: Link) -> None:
        """Take a connection back; one that is not clean is closed."""
        if link.pgconn.transaction_status != TransactionStatus.IDLE:
            link.close()
        link.idle_since = time.monotonic()
        self._free(None if link.closed or self.closed else link)
        if self.closed:
            link.close()

    def _free(self, link: Link | None) -> None:
        with self._freed:
            self._in_use -= 1
            if link is not None:
                self._idle.append(link)
            self._freed.notify()

    def forget_idle(self) -> None:
        """Close what lies idle: where one connection was lost, the others mostly are too."""
        with self._freed:
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()

    def close(self) -> None:
        """Close what lies idle; what is in use is closed when it comes back."""
        self.closed = True
        if self._pid == os.getpid():
            self.forget_idle()
            with self._freed:
                self._freed.notify_all()


def _is_sound(link: Link) -> bool:
    """Whether an idle connection may be used; one that has something to say while nobody asked was closed."""
    if link.closed:
        return False
    if time.monotonic() - link.idle_since < _QUIET_S:
        return True
    with suppress(OSError, ValueError):
        watched = select.poll()
        watched.register(link.fileno(), select.POLLIN | select.POLLHUP)
        return not watched.poll(0)
    return False


def _refused(error: psycopg.Error) -> bool:
    return "refused" in str(error) or "closed the connection" in str(error)


__all__ = ["Link", "Pool", "connect", "session_options"]
