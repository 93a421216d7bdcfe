"""Waking other processes: NOTIFY, and a thread that LISTENs for as long as somebody wants to hear."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress

import psycopg

from memwell.errors import BackendError, InvalidInput
from memwell.storage.postgres.connections import Connections, Session
from memwell.storage.postgres.names import lock_key
from memwell.storage.postgres.pool import Link
from memwell.values import check_id

_logger = logging.getLogger("memwell.storage")
_LONGEST = 7_000
"""PostgreSQL carries a little less than 8,000 bytes."""
_LOOK_S = 0.5
_FIRST_NAP_S, _LONGEST_NAP_S = 0.1, 5.0


class Waking:
    """The notices of one store. A process that was away for a moment misses what was said meanwhile."""

    def __init__(self, connections: Connections, open_link: Callable[[], Link]) -> None:
        self._connections = connections
        self._open_link = open_link
        self._channel = f"memwell_{lock_key('notices', connections.walls.schema) & (2**63 - 1):x}"
        self._lock = threading.Lock()
        self._heard: dict[object, Callable[[str], None]] = {}
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._ending = threading.Event()
        self._listening = threading.Event()

    def notify(self, topic: str) -> None:
        """Tell all listeners; inside a transaction, when it commits. Raises ``InvalidInput`` for too long a topic."""
        if len(check_id(topic, "a topic").encode()) > _LONGEST:
            raise InvalidInput(f"a topic is at most {_LONGEST} bytes")

        def tell(session: Session) -> None:
            session.execute("SELECT pg_notify(%s, %s)", (self._channel, topic))

        if self._connections.transaction_here() is not None:
            self._connections.write(None, tell)
        else:
            self._connections.read(None, tell)

    def listen(self, heard: Callable[[str], None]) -> Callable[[], None]:
        """Call ``heard`` with each topic until the returned function is called. Returns when it is listening."""
        token = object()
        self._connections.pool.ready()
        with self._lock:
            if self._pid != os.getpid():
                self._pid, self._thread, self._heard = os.getpid(), None, {}
            self._heard[token] = heard
            if self._thread is None:
                self._ending, self._listening = threading.Event(), threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=(self._ending, self._listening), name="memwell-listen", daemon=True
                )
                self._thread.start()
        self._listening.wait(_LONGEST_NAP_S)

        def stop() -> None:
            with self._lock:
                self._heard.pop(token, None)

        return stop

    def _run(self, ending: threading.Event, listening: threading.Event) -> None:
        nap = _FIRST_NAP_S
        while not ending.is_set():
            try:
                with self._open_link() as link:
                    link.execute(f"LISTEN {self._channel}".encode())
                    listening.set()
                    nap = _FIRST_NAP_S
                    self._hear(link, ending)
            except (psycopg.Error, BackendError) as error:
                _logger.debug("listening was interrupted: %s", type(error).__name__)
                ending.wait(nap)
                nap = min(nap * 2, _LONGEST_NAP_S)

    def _hear(self, link: Link, ending: threading.Event) -> None:
        while not ending.is_set():
            for notice in link.notifies(timeout=_LOOK_S):
                self._tell(notice.payload)
                if ending.is_set():
                    return

    def _tell(self, topic: str) -> None:
        with self._lock:
            wanted = list(self._heard.values())
        for heard in wanted:
            try:
                heard(topic)
            except Exception:
                # Whoever fails to hear must not keep the others from hearing.
                _logger.exception("a listener failed")

    def close(self) -> None:
        """Listen no more."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._heard.clear()
            self._ending.set()
        if thread is not None and self._pid == os.getpid() and thread is not threading.current_thread():
            with suppress(RuntimeError):
                thread.join(_LOOK_S * 4)


__all__ = ["Waking"]
