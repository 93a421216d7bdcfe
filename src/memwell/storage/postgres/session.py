"""One connection in use: what is sent with its next statement, and what its transaction holds.

What a statement needs before it (the beginning of a transaction, the wall set to a space, a lock, a savepoint) is not sent
by itself but kept, and goes with the statement in one round trip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString, NamedTuple, TypeAlias, cast

import psycopg

from memwell.records import Space
from memwell.storage.postgres.names import domain_lock, space_key
from memwell.storage.postgres.pool import Link

Bindings: TypeAlias = "Sequence[Any] | Mapping[str, Any]"
Statement: TypeAlias = tuple[str, Bindings]
Rows: TypeAlias = "psycopg.Cursor[tuple[Any, ...]]"

EVERYTHING = "*"
"""The wall's setting for the store's own upkeep. No space is written so."""

HERE = "(SELECT set_config('memwell.space', %s, true) AS space OFFSET 0) AS here CROSS JOIN LATERAL"
"""Sets the wall inside a query. What stands behind it asks for ``here.space``, so no row is looked at before it is set."""

_NAME_LONG = "INSERT INTO memwell_long_space (space, path) VALUES (%s, %s) ON CONFLICT DO NOTHING"
_SHARED = "SELECT pg_advisory_xact_lock_shared(%s)"
_ALONE = "SELECT pg_advisory_xact_lock(%s)"


class Walls(NamedTuple):
    """How the sessions of one store say which space they are in."""

    schema: str
    sql: str
    """Sets the wall to the bound space, until the end of the transaction."""
    pooled: bool = False
    """Whether a session keeps nothing from one transaction to the next, so that all must be set each time."""

    def to(self, space: Space | None) -> Statement:
        """The statement that opens the wall for one space, or for the store's own upkeep."""
        return self.sql, (EVERYTHING if space is None else space_key(space),)


class Mark(NamedTuple):
    """A savepoint, and what the transaction held when it was made."""

    name: str
    held: frozenset[int]


class Session:
    """A connection as operations see it. Statements go by the wall; each value is bound."""

    def __init__(self, link: Link, walls: Walls) -> None:
        self.link = link
        self._walls = walls
        self._pending: list[Statement] = []
        self._each: Statement | None = None
        self._space: Space | None = None
        self._walled = False
        self._held: frozenset[int] = frozenset()
        self._marks = 0
        self.begun = False
        """Whether anything was sent since ``begin``."""

    # What operations use

    def execute(self, sql: str, bindings: Bindings = ()) -> Rows:
        """Run a statement; its rows are on the returned cursor."""
        before = self._pending if self._each is None else [*self._pending, self._each]
        self._pending = []
        self.begun = True
        if not before:
            return self._send(sql, bindings)
        with self.link.pipeline():
            for statement in before:
                self._send(*statement)
            return self._send(sql, bindings)

    def _send(self, sql: str, bindings: Bindings = ()) -> Rows:
        # Values are bound, and what is put together of names is ours; the driver would have it known to the type checker.
        return self.link.execute(cast("LiteralString", sql), bindings)

    def one(self, sql: str, bindings: Bindings = ()) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        return self.execute(sql, bindings).fetchone()

    def rows(self, sql: str, bindings: Bindings = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.execute(sql, bindings).fetchall()

    def at_once(self, sql: str, space: Space, bindings: Sequence[Any]) -> list[tuple[Any, ...]]:
        """All rows of a query written with ``HERE``, which sets the wall by itself: one statement instead of two."""
        kept = self._each
        if not self._walls.pooled:
            self._each = None
        try:
            return self.rows(sql, (space_key(space), *bindings))
        finally:
            self._each = kept

    # What connections use

    def look(self, space: Space | None) -> None:
        """From now on every statement is a transaction by itself, in this space."""
        self._each = self._walls.to(space)

    def begin(self, how: str = "BEGIN") -> None:
        """Begin a transaction with the next statement."""
        self._pending.append((how, ()))

    def enter(self, space: Space | None, *, alone: bool | None = None, writing: bool = False) -> None:
        """Go on in this space, and hold its domain: alone, together with other single writers, or (None) not at all."""
        if not self._walled or space != self._space:
            self._pending.append(self._walls.to(space))
            self._walled, self._space = True, space
            if writing and space is not None and (path := space.encoded()) != space_key(space):
                self._pending.append((_NAME_LONG, (space_key(space), path)))
        if alone is not None and space is not None:
            lock = domain_lock(self._walls.schema, space)
            if lock not in self._held:
                self._held |= {lock}
                self._pending.append((_ALONE if alone else _SHARED, (lock,)))

    def save(self) -> Mark:
        """Make a savepoint with the next statement."""
        self._marks += 1
        mark = Mark(f"mark_{self._marks}", self._held)
        self._pending.append((f"SAVEPOINT {mark.name}", ()))
        return mark

    def keep(self, mark: Mark) -> None:
        """Keep what was done since a savepoint."""
        if not self._unsent(mark):
            self._pending.append((f"RELEASE {mark.name}", ()))

    def undo(self, mark: Mark) -> None:
        """Undo what was done since a savepoint; with it go the locks that were taken and the wall's setting."""
        self._held, self._walled = mark.held, False
        if not self._unsent(mark):
            self._pending.clear()
            with self.link.pipeline():
                self._send(f"ROLLBACK TO {mark.name}")
                self._send(f"RELEASE {mark.name}")

    def _unsent(self, mark: Mark) -> bool:
        """Whether the savepoint was never sent; if so, it and what comes after it is dropped."""
        for place, (sql, _) in enumerate(self._pending):
            if sql == f"SAVEPOINT {mark.name}":
                del self._pending[place:]
                self._walled = False
                self._held = mark.held
                return True
        return False

    def commit(self, *last: Statement) -> None:
        """Commit, with these last statements."""
        with self.link.pipeline():
            for sql, bindings in (*self._pending, *last, ("COMMIT", ())):
                self._send(sql, bindings)
        self._pending = []

    def roll_back(self) -> None:
        """Undo the transaction."""
        self._pending.clear()
        self._send("ROLLBACK")


__all__ = ["EVERYTHING", "HERE", "Mark", "Session", "Statement", "Walls"]
