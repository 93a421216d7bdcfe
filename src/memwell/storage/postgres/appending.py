"""The way of messages to the end of a thread: one call of a function in the server, which is one round trip and one commit.

An append whose answer was lost is made again. The ids of its messages tell whether it had been stored: an id is in a thread
once, so either ours are refused and found there as we sent them, or they were not stored and are now.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import psycopg

from memwell.errors import Conflict, InvalidInput
from memwell.messages import Message, Role
from memwell.records import Thread
from memwell.storage.placement import MAX_INDEX, Placed, Tail, as_stored, place
from memwell.storage.postgres.connections import Connections, Session
from memwell.storage.postgres.names import domain_lock, long_name, name_key, new_thread_key, space_key
from memwell.storage.postgres.pool import Link

Prepared: TypeAlias = Sequence[tuple[Message, str]]
"""Messages, each with its JSON without what comes first in it: the place."""

FULL = "MWS02"
"""The SQLSTATE of an append to a thread that has no index left."""

_ONE = "SELECT o_index, o_round FROM memwell_append(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_SOME = (
    "SELECT o_next, o_round, o_ended FROM memwell_append_some("
    "%s, %s, %s, %s, %s, %s, %s::boolean[], %s::bigint[], %s::text[], %s::text[], %s::text[])"
)
_FOUND = (
    "SELECT message.index, message.round, coalesce(message.long_id, message.id), message.tokens, body "
    "FROM memwell_thread AS thread JOIN memwell_message AS message "
    "ON message.space = thread.space AND message.thread = thread.key "
    "WHERE thread.space = %s AND thread.id = %s AND message.id = ANY (%s) ORDER BY message.index"
)


class Appending:
    """Appends to threads, with places given by the server."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock

    def append(self, thread: Thread, prepared: Prepared) -> list[Message]:
        """Store messages, all or none. Raises ``Conflict`` for an id that the thread holds."""
        connections, space = self._connections, thread.space
        connections.pool.ready()
        sql, bindings = self._call(thread, prepared)
        if connections.transaction_here() is None and space_key(space) == space.encoded():
            return as_stored(prepared, self._alone(thread, prepared, sql, bindings))

        def operation(session: Session) -> list[Placed]:
            with _refusals(thread, prepared):
                return _placed(prepared, session.one(sql, bindings))

        return as_stored(prepared, connections.write(space, operation))

    def _alone(self, thread: Thread, prepared: Prepared, sql: str, bindings: tuple[Any, ...]) -> list[Placed]:
        tries = 0

        def attempt(link: Link) -> list[Placed]:
            nonlocal tries
            tries += 1
            session = Session(link, self._connections.walls)
            if self._connections.walls.pooled:
                session.look(thread.space)
            try:
                with _refusals(thread, prepared):
                    return _placed(prepared, session.one(sql, bindings))
            except Conflict:
                stored = self._stored(session, thread, prepared) if tries > 1 else None
                if stored is None:
                    raise
                return stored

        return self._connections.again(attempt)

    @staticmethod
    def _stored(session: Session, thread: Thread, prepared: Prepared) -> list[Placed] | None:
        """The places of these very messages, where an earlier try whose answer was lost has stored them."""
        session.look(thread.space)
        ids = [name_key(message.id) for message, _ in prepared]
        rows = session.rows(_FOUND, (space_key(thread.space), name_key(thread.id), ids))
        found = [Placed(*row) for row in rows]
        ours = [
            f'{{"index":{one.index},"round":{one.round},{body}' for one, (_, body) in zip(found, prepared, strict=False)
        ]
        return found if len(found) == len(prepared) and [one.body for one in found] == ours else None

    def _call(self, thread: Thread, prepared: Prepared) -> tuple[str, tuple[Any, ...]]:
        space, key = thread.space, name_key(thread.id)
        where = (
            space_key(space),
            domain_lock(self._connections.walls.schema, space),
            key,
            long_name(thread.id, key),
            new_thread_key(),
            self._clock(),
        )
        if len(prepared) == 1:
            message, body = prepared[0]
            id_ = name_key(message.id)
            what = (message.role is Role.HUMAN, message.tokens or 0, id_, long_name(message.id, id_), body)
            return _ONE, (*where, *what)
        messages = [message for message, _ in prepared]
        ids = [name_key(message.id) for message in messages]
        return _SOME, (
            *where,
            [message.role is Role.HUMAN for message in messages],
            [message.tokens or 0 for message in messages],
            ids,
            [long_name(message.id, id_) for message, id_ in zip(messages, ids, strict=True)],
            [body for _, body in prepared],
        )


def _placed(prepared: Prepared, row: tuple[Any, ...] | None) -> list[Placed]:
    assert row is not None, "the function gives one row"
    if len(row) == 3:
        return place(prepared, Tail(*row), keep_places=False)
    (message, encoded), (index, round_) = prepared[0], row
    body = f'{{"index":{index},"round":{round_},{encoded}'
    return [Placed(index, round_, message.id, message.tokens or 0, body)]


@contextmanager
def _refusals(thread: Thread, prepared: Prepared) -> Generator[None]:
    """What the server refuses, in memwell's errors."""
    try:
        yield
    except psycopg.errors.UniqueViolation:
        ids = ", ".join(repr(message.id) for message, _ in prepared[:3])
        raise Conflict(f"the thread {thread.id!r} already holds a message with the id {ids}") from None
    except psycopg.DatabaseError as error:
        if error.sqlstate == FULL:
            raise InvalidInput(f"a thread holds at most {MAX_INDEX + 1:,} messages; {thread.id!r} is full") from None
        raise


__all__ = ["Appending", "Prepared"]
