"""Conversations in PostgreSQL, as far as they are read."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from memwell.language.segment import query_terms, segment
from memwell.messages import Message, decode_message, decode_messages
from memwell.records import Page, Space, Thread
from memwell.storage import arguments as given
from memwell.storage import bm25
from memwell.storage.placement import MAX_INDEX
from memwell.storage.postgres.connections import Connections, Session
from memwell.storage.postgres.names import name_key, space_key
from memwell.storage.postgres.session import HERE
from memwell.storage.protocols import MessageLog, Place, ThreadInfo, Version
from memwell.values import check_count, check_text

COLUMNS = (
    "coalesce(long_id, id), key, first_index, next_index, round, ended, messages, tokens, edits, created, metadata"
)
_UPDATED = """(SELECT body::json ->> 'time' FROM memwell_message AS message
    WHERE message.space = thread.space AND message.thread = thread.key AND body IS NOT NULL
    ORDER BY index DESC LIMIT 1)"""
_LISTED = f"SELECT {COLUMNS}, {_UPDATED} FROM memwell_thread AS thread WHERE space = %s"
_MESSAGES = (
    "FROM memwell_thread AS thread JOIN memwell_message AS message ON message.space = %s AND message.thread = thread.key "
    "WHERE thread.space = %s AND thread.id = %s AND message.index BETWEEN %s AND %s"
)
# A loop over one row gives the rows behind it in their own order.
_READ = f"""
    SELECT found.body FROM {HERE} (
        SELECT message.body FROM memwell_thread AS thread
        JOIN memwell_message AS message ON message.space = here.space AND message.thread = thread.key
        WHERE thread.space = here.space AND thread.id = %s AND message.index BETWEEN %s AND %s AND body IS NOT NULL"""


class ThreadRow(NamedTuple):
    """A thread's row, as ``COLUMNS`` names it."""

    id: str
    key: int
    first: int
    next: int
    round: int
    ended: int
    messages: int
    tokens: int
    edits: int
    created: float
    metadata: str


class ReadLog(MessageLog):
    """What can be asked of conversations."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(
        self,
        thread: Thread,
        *,
        last: int | None = None,
        first: int | None = None,
        after: int | None = None,
        before: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Message]:
        space = given.check_thread(thread).space
        span = given.check_span(last, first, after, before, ids)
        start = 0 if after is None else min(after, MAX_INDEX) + 1
        end = MAX_INDEX if before is None else min(before - 1, MAX_INDEX)
        bindings: list[Any] = [name_key(thread.id), start, end]
        sql = _READ
        if span.ids is not None:
            sql += " AND message.id = ANY (%s)"
            bindings.append([name_key(id_) for id_ in span.ids])
        sql += f" ORDER BY message.index {'ASC' if last is None else 'DESC'} LIMIT %s) AS found"
        bindings.append(min(last if last is not None else MAX_INDEX + 1 if first is None else first, MAX_INDEX + 1))
        rows = self._connections.read(space, lambda session: session.at_once(sql, space, bindings))
        if last is not None:
            rows.reverse()
        return decode_messages([row[0] for row in rows])

    def versions(self, thread: Thread, index: int) -> list[Version]:
        path = space_key(given.check_thread(thread).space)
        check_count(index, "an index")
        sql = (
            "SELECT version.body, version.replaced FROM memwell_thread AS thread "
            "JOIN memwell_message_version AS version ON version.space = %s AND version.thread = thread.key "
            "WHERE thread.space = %s AND thread.id = %s AND version.index = %s ORDER BY version.number"
        )
        bindings = (path, path, name_key(thread.id), min(index, MAX_INDEX + 1))
        return _versions(self._connections.read(thread.space, lambda session: session.rows(sql, bindings)))

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        path = space_key(given.check_thread(thread).space)
        start = -1 if after is None else check_count(after, "after", least=-1)
        given.check_limit(limit)
        bounds = (path, path, name_key(thread.id), min(start, MAX_INDEX) + 1, MAX_INDEX)
        sql = (
            f"SELECT message.index, message.round, coalesce(message.long_id, message.id), body, thread.key {_MESSAGES} "
            "ORDER BY message.index LIMIT %s"
        )

        def operation(session: Session) -> list[Place]:
            rows = session.rows(sql, (*bounds, limit))
            held = _held(session, path, rows)
            return [
                Place(index, round_, id_, _message(body), _versions(held.get(index, ())))
                for index, round_, id_, body, _ in rows
            ]

        return self._connections.snapshot(thread.space, operation)

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        given.check_space(space)
        named = None if ids is None else [name_key(id_) for id_ in given.check_ids(ids)]
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)
        more: list[Any] = []
        sql = ""
        if named is not None:
            sql += " AND id = ANY (%s)"
            more.append(named)
        if start is not None:
            sql += " AND id > %s"
            more.append(name_key(start))
        sql += " ORDER BY id LIMIT %s"
        found = self._connections.read(space, lambda session: listed(session, space, sql, (*more, limit + 1)))
        return Page(found[:limit], found[limit - 1].thread.id if len(found) > limit else None)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        terms = bm25.distinct_terms(query_terms(check_text(text, "text")))
        given.check_limit(limit)
        messages = {message.index or 0: message for message in self.read(thread)}
        scores = bm25.scores({index: segment(m.searchable) for index, m in messages.items()}, terms)
        best = heapq.nlargest(limit, ((score, index) for index, score in scores.items()))
        return [(messages[index], score) for score, index in best]


def _message(body: str | None) -> Message | None:
    return None if body is None else decode_message(body)


def _versions(rows: Iterable[tuple[Any, ...]]) -> list[Version]:
    return [Version(_message(body), given.moment(replaced)) for body, replaced in rows]


def _held(session: Session, path: str, rows: Sequence[tuple[Any, ...]]) -> dict[int, list[tuple[Any, ...]]]:
    """What these places held before, by index."""
    held: dict[int, list[tuple[Any, ...]]] = {}
    if rows:
        for index, body, replaced in session.rows(
            "SELECT index, body, replaced FROM memwell_message_version WHERE space = %s AND thread = %s "
            "AND index BETWEEN %s AND %s ORDER BY index, number",
            (path, rows[0][4], rows[0][0], rows[-1][0]),
        ):
            held.setdefault(index, []).append((body, replaced))
    return held


def listed(session: Session, space: Space, sql: str, bindings: Sequence[Any]) -> list[ThreadInfo]:
    """The threads of a space that satisfy a further piece of SQL."""
    rows = session.rows(f"{_LISTED} {sql}", (space_key(space), *bindings))
    return [_info(space, ThreadRow(*row[:-1]), row[-1]) for row in rows]


def _info(space: Space, row: ThreadRow, newest: str | None) -> ThreadInfo:
    created = given.moment(row.created)
    return ThreadInfo(
        thread=Thread(space, row.id),
        first=row.first,
        next=row.next,
        messages=row.messages,
        tokens=row.tokens,
        rounds=row.round,
        created=created,
        updated=created if newest is None else datetime.fromisoformat(newest),
        metadata=msgspec.json.decode(row.metadata),
        ended_round=row.ended if row.ended >= 0 else None,
        edits=row.edits,
    )


__all__ = ["COLUMNS", "ReadLog", "ThreadRow", "listed"]
