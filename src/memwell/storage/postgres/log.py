"""Conversations in PostgreSQL: threads, messages by thread and index, and what messages were before."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from memwell.errors import Conflict, InvalidInput, NotFound
from memwell.messages import Message, Role
from memwell.records import Space, Thread
from memwell.storage import arguments as given
from memwell.storage.parts import (
    MAX_INDEX,
    BaseLog,
    CopiedPlace,
    CopiedThread,
    Placed,
    Prepared,
    StoredPlace,
    Tail,
    ThreadRow,
    check_follows,
    place,
    replaced_body,
)
from memwell.storage.postgres.connections import HERE, Connections, Link, Session
from memwell.storage.postgres.schema import domain_lock, long_name, name_key, new_thread_key, space_key
from memwell.storage.protocols import ThreadInfo

# Appending: one call of a function in the server, which is one round trip and one commit. An append with a lost answer is
# repeated. The ids of its messages show whether the first try was stored: an id is used once in a thread, so either ours
# are refused and the same messages are there, or they are stored now.

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


def _placed(prepared: Prepared, row: tuple[Any, ...] | None) -> list[Placed]:
    assert row is not None, "the function gives one row"
    if len(row) == 3:
        return place(prepared, Tail(*row), keep_places=False)
    (message, encoded), (index, round_) = prepared[0], row
    body = f'{{"index":{index},"round":{round_},{encoded}'
    return [Placed(index, round_, message.id, message.tokens or 0, body)]


@contextmanager
def _refusals(thread: Thread, prepared: Prepared) -> Generator[None]:
    """Translate what the server refuses."""
    try:
        yield
    except psycopg.errors.UniqueViolation:
        ids = ", ".join(repr(message.id) for message, _ in prepared[:3])
        raise Conflict(f"the thread {thread.id!r} already holds a message with the id {ids}") from None
    except psycopg.DatabaseError as error:
        if error.sqlstate == FULL:
            raise InvalidInput(f"a thread holds at most {MAX_INDEX + 1:,} messages; {thread.id!r} is full") from None
        raise


# Reading

COLUMNS = (
    "coalesce(long_id, id), key, first_index, next_index, messages, tokens, round, created, metadata, ended, edits"
)
_UPDATED = """(SELECT body::json ->> 'time' FROM memwell_message AS message
    WHERE message.space = thread.space AND message.thread = thread.key AND body IS NOT NULL
    ORDER BY index DESC LIMIT 1)"""
_LISTED = f"SELECT {COLUMNS}, {_UPDATED} FROM memwell_thread AS thread WHERE space = %s"
_MESSAGES = (
    "FROM memwell_thread AS thread JOIN memwell_message AS message ON message.space = %s AND message.thread = thread.key "
    "WHERE thread.space = %s AND thread.id = %s AND message.index BETWEEN %s AND %s"
)
# A nested loop over one row keeps the order of the inner rows.
_READ = f"""
    SELECT found.body FROM {HERE} (
        SELECT message.body FROM memwell_thread AS thread
        JOIN memwell_message AS message ON message.space = here.space AND message.thread = thread.key
        WHERE thread.space = here.space AND thread.id = %s AND message.index BETWEEN %s AND %s AND body IS NOT NULL"""


def _held(session: Session, path: str, rows: Sequence[tuple[Any, ...]]) -> dict[int, list[tuple[Any, ...]]]:
    """The versions of these places, by index."""
    held: dict[int, list[tuple[Any, ...]]] = {}
    if rows:
        for index, *version in session.rows(
            "SELECT index, body, replaced FROM memwell_message_version WHERE space = %s AND thread = %s "
            "AND index BETWEEN %s AND %s ORDER BY index, number",
            (path, rows[0][4], rows[0][0], rows[-1][0]),
        ):
            held.setdefault(index, []).append(tuple(version))
    return held


def listed(session: Session, space: Space, sql: str, bindings: Sequence[Any]) -> list[ThreadInfo]:
    """The threads of a space that satisfy a further piece of SQL."""
    rows = session.rows(f"{_LISTED} {sql}", (space_key(space), *bindings))
    return [ThreadRow(*row[2:-1]).info(Thread(space, row[0]), row[-1]) for row in rows]


_LOCKED = f"SELECT {COLUMNS} FROM memwell_thread WHERE space = %s AND id = %s FOR UPDATE"


class PostgresLog(BaseLog):
    """Conversations in three tables. Every change of a thread locks its row."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock

    # Reading

    def _read(self, thread: Thread, wanted: given.MessageRange) -> list[str]:
        bindings: list[Any] = [name_key(thread.id), wanted.low, wanted.high]
        sql = _READ
        if wanted.ids is not None:
            sql += " AND message.id = ANY (%s)"
            bindings.append([name_key(id_) for id_ in wanted.ids])
        sql += f" ORDER BY message.index {'ASC' if wanted.last is None else 'DESC'} LIMIT %s) AS found"
        most = wanted.last if wanted.last is not None else wanted.first
        bindings.append(MAX_INDEX + 1 if most is None else min(most, MAX_INDEX + 1))
        space = thread.space
        rows = self._connections.read(space, lambda session: session.at_once(sql, space, bindings))
        if wanted.last is not None:
            rows.reverse()
        return [row[0] for row in rows]

    def _versions(self, thread: Thread, index: int) -> list[tuple[Any, ...]]:
        path = space_key(thread.space)
        sql = (
            "SELECT version.body, version.replaced FROM memwell_thread AS thread "
            "JOIN memwell_message_version AS version ON version.space = %s AND version.thread = thread.key "
            "WHERE thread.space = %s AND thread.id = %s AND version.index = %s ORDER BY version.number"
        )
        bindings = (path, path, name_key(thread.id), index)
        return self._connections.read(thread.space, lambda session: session.rows(sql, bindings))

    def _places(self, thread: Thread, start: int, limit: int) -> list[StoredPlace]:
        path = space_key(thread.space)
        sql = (
            f"SELECT message.index, message.round, coalesce(message.long_id, message.id), body, thread.key {_MESSAGES} "
            "ORDER BY message.index LIMIT %s"
        )

        def operation(session: Session) -> list[StoredPlace]:
            rows = session.rows(sql, (path, path, name_key(thread.id), start, MAX_INDEX, limit))
            held = _held(session, path, rows)
            return [(index, round_, id_, body, held.get(index, [])) for index, round_, id_, body, _ in rows]

        return self._connections.snapshot(thread.space, operation)

    def _threads(self, space: Space, ids: list[str] | None, after: str | None, limit: int) -> list[ThreadInfo]:
        sql, bindings = "", list[Any]()
        if ids is not None:
            sql += " AND id = ANY (%s)"
            bindings.append([name_key(id_) for id_ in ids])
        if after is not None:
            sql += " AND id > %s"
            bindings.append(name_key(after))
        sql += " ORDER BY id LIMIT %s"
        return self._connections.read(space, lambda session: listed(session, space, sql, (*bindings, limit)))

    # Writing

    def _append(self, thread: Thread, prepared: Prepared, *, keep_places: bool) -> list[Placed]:
        if not prepared:
            self._connections.pool.ready()
            return []
        if not keep_places:
            return self._appended(thread, prepared)

        def operation(session: Session) -> list[Placed]:
            key, row = self._opened(session, thread)
            placed = place(prepared, Tail(row.next, row.round, row.ended), keep_places=True)
            end = (placed[-1].index + 1, placed[-1].round)
            wanted = CopiedThread(row.created, row.metadata, row.first, *end, row.ended, row.edits)
            self._take_over(session, thread, key, row, wanted, [CopiedPlace(*one, []) for one in placed])
            return placed

        return self._connections.write(thread.space, operation)

    def _appended(self, thread: Thread, prepared: Prepared) -> list[Placed]:
        """Store messages with places that the server assigns."""
        connections, space = self._connections, thread.space
        connections.pool.ready()
        sql, bindings = self._append_call(thread, prepared)
        if connections.transaction_here() is None and space_key(space) == space.encoded():
            return self._alone(thread, prepared, sql, bindings)

        def operation(session: Session) -> list[Placed]:
            with _refusals(thread, prepared):
                return _placed(prepared, session.one(sql, bindings))

        return connections.write(space, operation)

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
        """The places of these very messages, if an earlier try with a lost answer has stored them."""
        session.look(thread.space)
        ids = [name_key(message.id) for message, _ in prepared]
        rows = session.rows(_FOUND, (space_key(thread.space), name_key(thread.id), ids))
        found = [Placed(*row) for row in rows]
        ours = [
            f'{{"index":{one.index},"round":{one.round},{body}' for one, (_, body) in zip(found, prepared, strict=False)
        ]
        return found if len(found) == len(prepared) and [one.body for one in found] == ours else None

    def _append_call(self, thread: Thread, prepared: Prepared) -> tuple[str, tuple[Any, ...]]:
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

    def _opened(self, session: Session, thread: Thread) -> tuple[int, ThreadRow]:
        """The thread's key and row, locked; created if need be."""
        row = self._locked(session, thread)
        if row is not None:
            return row
        key = name_key(thread.id)
        session.execute(
            "INSERT INTO memwell_thread (space, id, long_id, key, created) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            (space_key(thread.space), key, long_name(thread.id, key), new_thread_key(), self._clock()),
        )
        row = self._locked(session, thread)
        assert row is not None, "a thread that was just made is there"
        return row

    @staticmethod
    def _locked(session: Session, thread: Thread) -> tuple[int, ThreadRow] | None:
        row = session.one(_LOCKED, (space_key(thread.space), name_key(thread.id)))
        return None if row is None else (row[1], ThreadRow(*row[2:]))

    @staticmethod
    def _update(session: Session, thread: Thread, **columns: object) -> None:
        names = ", ".join(f"{name} = %s" for name in columns)
        session.execute(
            f"UPDATE memwell_thread SET {names} WHERE space = %s AND id = %s",
            (*columns.values(), space_key(thread.space), name_key(thread.id)),
        )

    @staticmethod
    def _insert(
        session: Session, thread: Thread, key: int, rows: Sequence[tuple[int, int, int, str, str | None]]
    ) -> None:
        indexes, rounds, tokens, ids, bodies = map(list, zip(*rows, strict=True))
        keys = [name_key(id_) for id_ in ids]
        longs = [long_name(id_, key) for id_, key in zip(ids, keys, strict=True)]
        try:
            session.execute(
                "INSERT INTO memwell_message (space, thread, index, round, tokens, id, long_id, body) "
                "SELECT %s, %s, * FROM "
                "unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[])",
                (space_key(thread.space), key, indexes, rounds, tokens, keys, longs, bodies),
            )
        except psycopg.errors.UniqueViolation:
            raise Conflict(f"the thread {thread.id!r} already holds a message with one of the ids {ids!r}") from None

    def _edit(self, thread: Thread, wanted: dict[int, Message | None]) -> list[str | None]:
        def operation(session: Session) -> list[str | None]:
            known = self._locked(session, thread)
            key = None if known is None else known[0]
            return [self._replace(session, key, thread, index, message) for index, message in wanted.items()]

        return self._connections.write(thread.space, operation)

    def _replace(
        self, session: Session, key: int | None, thread: Thread, index: int, message: Message | None
    ) -> str | None:
        at = (space_key(thread.space), -1 if key is None else key, min(index, MAX_INDEX + 1))
        stored = session.one(
            "SELECT coalesce(long_id, id), round, tokens, body FROM memwell_message "
            "WHERE space = %s AND thread = %s AND index = %s",
            at,
        )
        if stored is None:
            raise NotFound(f"thread {thread.id!r} holds nothing at index {index}")
        message_id, round_, old_tokens, old_body = stored
        body = None if message is None else replaced_body(message, index, round_, message_id)
        if body is None and old_body is None:
            return None
        tokens = 0 if message is None else message.tokens or 0
        session.execute(
            "INSERT INTO memwell_message_version (space, thread, index, number, replaced, body) "
            "SELECT %s, %s, %s, coalesce(max(number), 0) + 1, %s, %s FROM memwell_message_version "
            "WHERE space = %s AND thread = %s AND index = %s",
            (*at, self._clock(), old_body, *at),
        )
        session.execute(
            "UPDATE memwell_message SET tokens = %s, body = %s WHERE space = %s AND thread = %s AND index = %s",
            (tokens, body, *at),
        )
        session.execute(
            "UPDATE memwell_thread SET tokens = tokens + %s, messages = messages + %s, edits = edits + 1 "
            "WHERE space = %s AND id = %s",
            (tokens - old_tokens, (body is not None) - (old_body is not None), at[0], name_key(thread.id)),
        )
        return body

    def _trim(self, thread: Thread, before: int, spared: set[int]) -> int:
        def operation(session: Session) -> int:
            known = self._locked(session, thread)
            if known is None:
                return 0
            key, row = known
            end = min(before, row.next)
            live, tokens = self._drop(session, thread, key, end, list(spared))
            oldest = session.one(
                "SELECT min(index) FROM memwell_message WHERE space = %s AND thread = %s AND index < %s",
                (space_key(thread.space), key, end),
            )
            first = max(row.first, end if oldest is None or oldest[0] is None else oldest[0])
            self._update(
                session,
                thread,
                first_index=first,
                messages=row.messages - live,
                tokens=row.tokens - tokens,
                edits=row.edits + (live > 0),
            )
            return live

        return self._connections.write(thread.space, operation)

    @staticmethod
    def _drop(session: Session, thread: Thread, key: int, end: int, spared: list[int]) -> tuple[int, int]:
        """Drop the places below an index but the spared; returns how many held a message, and their tokens."""
        span = "space = %s AND thread = %s AND index < %s AND index <> ALL (%s::bigint[])"
        bounds = (space_key(thread.space), key, end, spared)
        session.execute(f"DELETE FROM memwell_message_version WHERE {span}", bounds)
        row = session.one(
            f"WITH gone AS (DELETE FROM memwell_message WHERE {span} RETURNING body IS NOT NULL AS live, tokens) "
            "SELECT count(*) FILTER (WHERE live), coalesce(sum(tokens), 0)::bigint FROM gone",
            bounds,
        )
        assert row is not None
        return row[0], row[1]

    def _delete(self, thread: Thread) -> bool:
        def operation(session: Session) -> bool:
            known = self._locked(session, thread)
            if known is None:
                return False
            self._drop(session, thread, known[0], MAX_INDEX + 1, [])
            session.execute(
                "DELETE FROM memwell_thread WHERE space = %s AND id = %s",
                (space_key(thread.space), name_key(thread.id)),
            )
            return True

        return self._connections.write(thread.space, operation)

    def _annotate(self, thread: Thread, metadata: str | None, end_round: bool) -> ThreadInfo:
        def operation(session: Session) -> ThreadInfo:
            _, row = self._opened(session, thread)
            changed = {} if metadata is None else {"metadata": metadata}
            self._update(session, thread, ended=row.round if end_round else row.ended, **changed)
            return listed(session, thread.space, "AND id = %s", (name_key(thread.id),))[0]

        return self._connections.write(thread.space, operation)

    def _restore(self, thread: Thread, wanted: CopiedThread, places: list[CopiedPlace]) -> None:
        def operation(session: Session) -> None:
            key, row = self._opened(session, thread)
            last = session.one(
                "SELECT max(index) FROM memwell_message WHERE space = %s AND thread = %s",
                (space_key(thread.space), key),
            )
            for one in places[:1]:
                check_follows(one, -1 if last is None or last[0] is None else last[0])
            self._take_over(session, thread, key, row, wanted, places)

        self._connections.write(thread.space, operation)

    def _take_over(
        self,
        session: Session,
        thread: Thread,
        key: int,
        row: ThreadRow,
        wanted: CopiedThread,
        copied: Sequence[CopiedPlace],
    ) -> None:
        if copied:
            self._insert(session, thread, key, [(p.index, p.round, p.tokens, p.id, p.body) for p in copied])
        for one in copied:
            for number, (body, replaced) in enumerate(one.versions, 1):
                session.execute(
                    "INSERT INTO memwell_message_version (space, thread, index, number, replaced, body) "
                    "VALUES (%s, %s, %s, %s, %s, %s)",
                    (space_key(thread.space), key, one.index, number, replaced, body),
                )
        self._update(
            session,
            thread,
            created=wanted.created,
            metadata=wanted.metadata,
            first_index=wanted.first,
            next_index=wanted.next,
            round=wanted.round,
            ended=wanted.ended,
            edits=wanted.edits,
            messages=row.messages + sum(one.body is not None for one in copied),
            tokens=row.tokens + sum(one.tokens for one in copied),
        )
