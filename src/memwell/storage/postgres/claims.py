"""Duties as session locks on one connection of the process: whoever dies loses the connection, and with it the duties."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import psycopg

from memwell.records import Space
from memwell.storage import arguments as given
from memwell.storage.postgres.failures import is_lost, translated
from memwell.storage.postgres.names import lock_key
from memwell.storage.postgres.pool import Link
from memwell.storage.protocols import Claims
from memwell.values import check_id


class PostgresClaims(Claims):
    """Duties of one process. When the connection is lost, so are all of them; what is taken again is taken anew."""

    def __init__(self, open_link: Callable[[], Link], schema: str, place: str) -> None:
        self._open_link = open_link
        self._schema = schema
        self._place = place
        self._lock = threading.Lock()
        self._link: Link | None = None
        self._held: set[int] = set()
        self._pid = os.getpid()
        self._abandoned: list[object] = []

    def take(self, space: Space, duty: str, *, seconds: float = 30.0) -> bool:
        number = self._number(space, duty)
        with self._lock:
            return self._on_link(lambda link: self._taken(link, number))

    def _taken(self, link: Link, number: int) -> bool:
        if number in self._held:
            # Whether we still have it is whether the connection lives.
            link.execute("SELECT 1")
            return True
        row = link.execute("SELECT pg_try_advisory_lock(%s)", (number,)).fetchone()
        if row == (True,):
            self._held.add(number)
        return row == (True,)

    def release(self, space: Space, duty: str) -> None:
        number = self._number(space, duty)
        with self._lock:
            if number in self._held:
                self._on_link(lambda link: self._released(link, number))

    def _released(self, link: Link, number: int) -> bool:
        link.execute("SELECT pg_advisory_unlock(%s)", (number,))
        self._held.discard(number)
        return True

    def _number(self, space: Space, duty: str) -> int:
        return lock_key("claim", self._schema, given.check_space(space).encoded(), check_id(duty, "a duty"))

    def _on_link(self, use: Callable[[Link], bool]) -> bool:
        """Use the connection; on a fresh one, without the duties of the old, where that was lost."""
        if self._pid != os.getpid():
            # The parent's connection, and the parent's duties.
            self._abandoned.append(self._link)
            self._pid, self._link = os.getpid(), None
            self._held.clear()
        for again in (True, False):
            if self._link is None:
                self._held.clear()
                self._link = self._open_link()
            try:
                return use(self._link)
            except psycopg.Error as error:
                lost = is_lost(error, self._link)
                self._drop()
                if not (again and lost):
                    raise translated(error, self._place) from error
        raise AssertionError("the second try returns or raises")

    def _drop(self) -> None:
        link, self._link = self._link, None
        self._held.clear()
        if link is not None:
            link.close()

    def close(self) -> None:
        """Let go of all duties."""
        with self._lock:
            if self._pid == os.getpid():
                self._drop()


__all__ = ["PostgresClaims"]
