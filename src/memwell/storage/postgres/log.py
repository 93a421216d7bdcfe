"""Conversations in PostgreSQL: threads, messages by thread and index, and what messages were before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import psycopg

from memwell.errors import Conflict, NotFound
from memwell.messages import Message, decode_message
from memwell.records import Thread
from memwell.storage import arguments as given
from memwell.storage.placement import (
    MAX_INDEX,
    CopiedPlace,
    CopiedThread,
    Placed,
    Tail,
    as_stored,
    check_follows,
    copied_places,
    copied_thread,
    place,
    prepare,
    replaced_body,
)
from memwell.storage.postgres.appending import Appending
from memwell.storage.postgres.connections import Connections, Session
from memwell.storage.postgres.names import long_name, name_key, new_thread_key, space_key
from memwell.storage.postgres.reading import COLUMNS, ReadLog, ThreadRow, listed
from memwell.storage.protocols import Place, ThreadInfo
from memwell.values import check_count, check_metadata

_LOCKED = f"SELECT {COLUMNS} FROM memwell_thread WHERE space = %s AND id = %s FOR UPDATE"


class PostgresLog(ReadLog):
    """Conversations in three tables. The row of a thread is locked by whoever changes the thread."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        super().__init__(connections)
        self._clock = clock
        self._appending = Appending(connections, clock)

    # Writing

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        given.check_thread(thread)
        prepared = prepare(messages, keep_places=keep_places)
        if not prepared:
            self._connections.pool.ready()
            return []
        if not keep_places:
            return self._appending.append(thread, prepared)

        def operation(session: Session) -> list[Placed]:
            row = self._opened(session, thread)
            placed = place(prepared, Tail(row.next, row.round, row.ended), keep_places=True)
            self._insert(
                session, thread, row.key, [(one.index, one.round, one.tokens, one.id, one.body) for one in placed]
            )
            self._update(
                session,
                thread,
                next_index=placed[-1].index + 1,
                round=placed[-1].round,
                messages=row.messages + len(placed),
                tokens=row.tokens + sum(one.tokens for one in placed),
            )
            return placed

        return as_stored(prepared, self._connections.write(thread.space, operation))

    def _opened(self, session: Session, thread: Thread) -> ThreadRow:
        """The thread's row, locked; made if need be."""
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
    def _locked(session: Session, thread: Thread) -> ThreadRow | None:
        row = session.one(_LOCKED, (space_key(thread.space), name_key(thread.id)))
        return None if row is None else ThreadRow(*row)

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

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        given.check_thread(thread)
        wanted = given.check_changes(changes)

        def operation(session: Session) -> list[str | None]:
            row = self._locked(session, thread)
            return [self._replace(session, row, thread, index, message) for index, message in wanted.items()]

        bodies = self._connections.write(thread.space, operation)
        return [None if body is None else decode_message(body) for body in bodies]

    def _replace(
        self, session: Session, row: ThreadRow | None, thread: Thread, index: int, message: Message | None
    ) -> str | None:
        at = (space_key(thread.space), -1 if row is None else row.key, min(index, MAX_INDEX + 1))
        stored = session.one(
            "SELECT coalesce(long_id, id), round, tokens, body FROM memwell_message "
            "WHERE space = %s AND thread = %s AND index = %s",
            at,
        )
        if row is None or stored is None:
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

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        given.check_thread(thread)
        check_count(before, "before")
        spared = [index for index in given.check_places(keep) if index <= MAX_INDEX]

        def operation(session: Session) -> int:
            row = self._locked(session, thread)
            if row is None:
                return 0
            end = min(before, row.next)
            live, tokens = self._drop(session, thread, row.key, end, spared)
            oldest = session.one(
                "SELECT min(index) FROM memwell_message WHERE space = %s AND thread = %s AND index < %s",
                (space_key(thread.space), row.key, end),
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

    def delete(self, thread: Thread) -> bool:
        given.check_thread(thread)

        def operation(session: Session) -> bool:
            row = self._locked(session, thread)
            if row is None:
                return False
            self._drop(session, thread, row.key, MAX_INDEX + 1, [])
            session.execute(
                "DELETE FROM memwell_thread WHERE space = %s AND id = %s",
                (space_key(thread.space), name_key(thread.id)),
            )
            return True

        return self._connections.write(thread.space, operation)

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        given.check_thread(thread)
        encoded = None if metadata is None else given.encode_value(check_metadata(metadata))

        def operation(session: Session) -> ThreadInfo:
            row = self._opened(session, thread)
            changed = {} if encoded is None else {"metadata": encoded}
            self._update(session, thread, ended=row.round if end_round else row.ended, **changed)
            return listed(session, thread.space, "AND id = %s", (name_key(thread.id),))[0]

        return self._connections.write(thread.space, operation)

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        wanted = copied_thread(info)
        copied = copied_places(wanted, places)
        thread = info.thread

        def operation(session: Session) -> None:
            row = self._opened(session, thread)
            last = session.one(
                "SELECT max(index) FROM memwell_message WHERE space = %s AND thread = %s",
                (space_key(thread.space), row.key),
            )
            for one in copied[:1]:
                check_follows(one, -1 if last is None or last[0] is None else last[0])
            self._take_over(session, thread, row, wanted, copied)

        self._connections.write(thread.space, operation)

    def _take_over(
        self, session: Session, thread: Thread, row: ThreadRow, wanted: CopiedThread, copied: Sequence[CopiedPlace]
    ) -> None:
        if copied:
            self._insert(session, thread, row.key, [(p.index, p.round, p.tokens, p.id, p.body) for p in copied])
        for one in copied:
            for number, (body, replaced) in enumerate(one.versions, 1):
                session.execute(
                    "INSERT INTO memwell_message_version (space, thread, index, number, replaced, body) "
                    "VALUES (%s, %s, %s, %s, %s, %s)",
                    (space_key(thread.space), row.key, one.index, number, replaced, body),
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


__all__ = ["PostgresLog"]
