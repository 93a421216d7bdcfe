"""Conversations in SQLite.

A message is one row and one index entry. What a thread's listing shows (counts, tokens, rounds) is derived from its last
row and a few corrections that only edits and trims touch, so an append writes nothing else. The words of messages are
indexed when a thread is first searched, and then as far as it has grown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

import apsw
import msgspec

from memwell.errors import Conflict, NotFound
from memwell.language.segment import query_terms
from memwell.messages import Message, decode_message, decode_messages
from memwell.records import Page, Space, Thread
from memwell.storage import arguments as given
from memwell.storage.bm25 import distinct_terms
from memwell.storage.placement import (
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
from memwell.storage.protocols import MessageLog, Place, ThreadInfo, Version
from memwell.storage.sqlite.appending import AT_ONCE, End, KnownEnds
from memwell.storage.sqlite.connections import Connections, Session
from memwell.storage.sqlite.failures import is_sealed
from memwell.storage.sqlite.message_words import MessageWords
from memwell.storage.sqlite.schema import THREAD_SHIFT
from memwell.values import check_count, check_metadata, check_text

_INDEX = (1 << THREAD_SHIFT) - 1
_CATCH_UP = 2_000
"""Messages indexed in one transaction when a search catches up, so that writers wait a moment at most."""

_COLUMNS = "key, first, next, round, total, ended, absent, token_base, created, metadata, id, edits"


_LAST = "SELECT key, round, total FROM message WHERE key >= ? AND key <= ? ORDER BY key DESC LIMIT 1"
_LAST_WITH_TIME = _LAST.replace("total", "total, body ->> 'time'")
_NEWEST = (
    "SELECT body ->> 'time' FROM message WHERE key >= ? AND key <= ? AND body IS NOT NULL ORDER BY key DESC LIMIT 1"
)


class _ThreadRow(NamedTuple):
    key: int
    first: int
    next: int
    round: int
    total: int
    ended: int
    absent: int
    token_base: int
    created: float
    metadata: str
    id: str
    edits: int

    @property
    def low(self) -> int:
        return self.key << THREAD_SHIFT


class SqliteLog(MessageLog):
    """Conversations in two tables: threads, and messages by thread and index."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock
        self.words = MessageWords(connections)
        self._ends = KnownEnds(connections)

    # Finding the thread and its end

    def _made(self, session: Session, path: str, id_: str) -> _ThreadRow:
        created = self._clock()
        session.execute("INSERT INTO thread (space, id, created) VALUES (?, ?, ?)", (path, id_, created))
        key = session.connection.last_insert_rowid()
        return _ThreadRow(key, 0, 0, 0, 0, -1, 0, 0, created, "{}", id_, 0)

    # Writing

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        if isinstance(messages, list) and 0 < len(messages) <= AT_ONCE and type(thread) is Thread and not keep_places:
            stored = self._ends.append(thread, messages)
            if stored is not None:
                return stored
        path, id_ = given.check_thread(thread).space.encoded(), thread.id
        prepared = prepare(messages, keep_places=keep_places)
        if not prepared:
            return []

        def operation(session: Session) -> tuple[list[Placed], End]:
            key, ended, next_, round_, total = self._tail(session, path, id_)
            placed = place(prepared, Tail(next_, round_, ended), keep_places=keep_places)
            low = key << THREAD_SHIFT
            for one in placed:
                total += one.tokens
                _insert(session, (low | one.index, one.id, one.round, one.tokens, total, one.body))
            if keep_places:
                skipped = placed[-1].index + 1 - next_ - len(placed)
                session.execute("UPDATE thread SET absent = absent + ? WHERE key = ?", (skipped, key))
            return placed, (low | placed[-1].index, placed[-1].round, total, ended)

        placed, end = self._connections.write(operation)
        self._ends.learn(thread, end)
        return as_stored(prepared, placed)

    def _tail(self, session: Session, path: str, id_: str) -> tuple[int, int, int, int, int]:
        """The thread's key, the round closed by hand, and its end; the thread is made if need be. On every append's way."""
        row = session.one("SELECT key, ended, next, round, total FROM thread WHERE space = ? AND id = ?", (path, id_))
        if row is None:
            return (self._made(session, path, id_).key, -1, 0, 0, 0)
        last = session.one(_LAST, (row[0] << THREAD_SHIFT, row[0] << THREAD_SHIFT | _INDEX))
        return (row[0], row[1], *_later(row[2:], last))

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        path, id_ = given.check_thread(thread).space.encoded(), thread.id
        wanted = given.check_changes(changes)

        def operation(session: Session) -> list[str | None]:
            row = _thread_row(session, path, id_)
            return [self._replace(session, row, id_, index, message) for index, message in wanted.items()]

        bodies = self._connections.write(operation)
        return [None if body is None else decode_message(body) for body in bodies]

    def _replace(
        self, session: Session, row: _ThreadRow | None, id_: str, index: int, message: Message | None
    ) -> str | None:
        key = -1 if row is None or index > _INDEX else row.low | index
        stored = session.one("SELECT id, round, tokens, body FROM message WHERE key = ?", (key,))
        if row is None or stored is None:
            raise NotFound(f"thread {id_!r} holds nothing at index {index}")
        message_id, round_, old_tokens, old_body = stored
        body = None if message is None else replaced_body(message, index, round_, message_id)
        if body is None and old_body is None:
            return None
        tokens = 0 if message is None else message.tokens or 0
        session.execute(
            "INSERT INTO message_version (key, replaced, body) VALUES (?, ?, ?)", (key, self._clock(), old_body)
        )
        session.execute("UPDATE message SET tokens = ?, body = ? WHERE key = ?", (tokens, body, key))
        session.execute(
            "UPDATE thread SET token_base = token_base - ?, absent = absent + ?, edits = edits + 1 WHERE key = ?",
            (tokens - old_tokens, (body is None) - (old_body is None), row.key),
        )
        self.words.follow(session, row.key, key, old_body, body)
        return body

    def versions(self, thread: Thread, index: int) -> list[Version]:
        path, id_ = given.check_thread(thread).space.encoded(), thread.id
        check_count(index, "an index")

        def operation(session: Session) -> list[tuple[Any, ...]]:
            row = _thread_row(session, path, id_)
            key = -1 if row is None or index > _INDEX else row.low | index
            return session.rows("SELECT body, replaced FROM message_version WHERE key = ? ORDER BY number", (key,))

        return [_version(body, at) for body, at in self._connections.read(operation)]

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        path, id_ = given.check_thread(thread).space.encoded(), thread.id
        check_count(before, "before")
        spared = given.check_places(keep)

        def operation(session: Session) -> int:
            row = _thread_row(session, path, id_)
            if row is None:
                return 0
            next_, round_, total = _end(session, row)
            end = min(before, next_)
            kept = {row.low | index for index in spared if index <= _INDEX}
            live, tokens = self._drop(session, row.key, row.low, row.low + end, kept)
            first = max(row.first, _oldest(session, row, end))
            left = next_ - row.first - row.absent - live
            absent = next_ - first - left
            session.execute(
                "UPDATE thread SET first = ?, next = ?, round = ?, total = ?, absent = ?, token_base = ?, "
                "edits = edits + ? WHERE key = ?",
                (first, next_, round_, total, absent, row.token_base + tokens, live > 0, row.key),
            )
            return live

        return self._connections.write(operation)

    def _drop(self, session: Session, thread: int, low: int, high: int, spared: Iterable[int] = ()) -> tuple[int, int]:
        """Drop the rows with low <= key < high but the spared; returns how many were live and their tokens."""
        span = "key >= ? AND key < ? AND key NOT IN (SELECT value FROM json_each(?))"
        bounds = (low, high, msgspec.json.encode(list(spared)).decode())
        counted = session.rows(f"SELECT count(body), ifnull(sum(tokens), 0) FROM message WHERE {span}", bounds)[0]
        indexed = f"SELECT key, body FROM message JOIN message_length USING (key) WHERE {span}"
        for key, body in session.rows(indexed, bounds):
            self.words.follow(session, thread, key, body, None)
        session.execute(f"DELETE FROM message_version WHERE {span}", bounds)
        session.execute(f"DELETE FROM message WHERE {span}", bounds)
        return counted[0], counted[1]

    def delete(self, thread: Thread) -> bool:
        path, id_ = given.check_thread(thread).space.encoded(), thread.id

        def operation(session: Session) -> bool:
            row = _thread_row(session, path, id_)
            if row is None:
                return False
            self._drop(session, row.key, row.low, row.low + _INDEX + 1)
            session.execute("DELETE FROM thread WHERE key = ?", (row.key,))
            return True

        return self._connections.write(operation)

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        space, id_ = given.check_thread(thread).space, thread.id
        path = space.encoded()
        encoded = None if metadata is None else given.encode_value(check_metadata(metadata))

        def operation(session: Session) -> ThreadInfo:
            row = _thread_row(session, path, id_) or self._made(session, path, id_)
            ended = _end(session, row)[1] if end_round else row.ended
            session.execute(
                "UPDATE thread SET metadata = ifnull(?, metadata), ended = ? WHERE key = ?", (encoded, ended, row.key)
            )
            changed = _thread_row(session, path, id_)
            assert changed is not None
            return _info(session, space, changed)

        return self._connections.write(operation)

    # Reading

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
        path, id_ = given.check_thread(thread).space.encoded(), thread.id
        span = given.check_span(last, first, after, before, ids)
        start = 0 if after is None else min(after, _INDEX) + 1
        end = _INDEX if before is None else min(before - 1, _INDEX)
        sql = _read_sql(last, first, span.ids is not None)

        def operation(session: Session) -> list[tuple[Any, ...]]:
            found = session.one("SELECT key FROM thread WHERE space = ? AND id = ?", (path, id_))
            if found is None:
                return []
            low = found[0] << THREAD_SHIFT
            bindings = (low + start, low + end)
            if span.ids is not None:
                bindings = (*bindings, found[0], msgspec.json.encode(span.ids).decode())
            return session.execute(sql, bindings).fetchall()

        rows = self._connections.read(operation)
        if last is not None:
            rows.reverse()
        return decode_messages([row[0] for row in rows])

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        path = given.check_space(space).encoded()
        named = None if ids is None else given.check_ids(ids)
        wanted = None if named is None else msgspec.json.encode(named).decode()
        start = given.check_name_cursor(cursor)
        given.check_limit(limit)

        def operation(session: Session) -> list[ThreadInfo]:
            if named is not None and len(named) == 1 and start is None:
                # Whoever reads a conversation asks this first, and asks often.
                row = _thread_row(session, path, named[0])
                return [] if row is None else [_info(session, space, row)]
            rows = session.rows(
                f"SELECT {_COLUMNS} FROM thread WHERE space = ? AND (? IS NULL OR id > ?) "
                "AND (? IS NULL OR id IN (SELECT value FROM json_each(?))) ORDER BY id LIMIT ?",
                (path, start, start, wanted, wanted, limit + 1),
            )
            return [_info(session, space, _ThreadRow(*row)) for row in rows]

        found = self._connections.snapshot(operation)
        return Page(found[:limit], found[limit - 1].thread.id if len(found) > limit else None)

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        path, id_ = given.check_thread(thread).space.encoded(), thread.id
        terms = distinct_terms(query_terms(check_text(text, "text")))
        return self.words.match(path, id_, terms, given.check_limit(limit))

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        path, id_ = given.check_thread(thread).space.encoded(), thread.id
        start = 0 if after is None else min(check_count(after, "after", least=-1), _INDEX) + 1
        given.check_limit(limit)

        def operation(session: Session) -> list[Place]:
            found = session.one("SELECT key FROM thread WHERE space = ? AND id = ?", (path, id_))
            return [] if found is None else _places(session, found[0] << THREAD_SHIFT, start, limit)

        return self._connections.snapshot(operation)

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        wanted = copied_thread(info)
        copied = copied_places(wanted, places)
        path, id_ = info.thread.space.encoded(), info.thread.id

        def operation(session: Session) -> None:
            row = _thread_row(session, path, id_) or self._made(session, path, id_)
            _restore(session, row, wanted, copied)

        self._connections.write(operation)


def _version(body: str | None, replaced: float) -> Version:
    return Version(None if body is None else decode_message(body), given.moment(replaced))


def _oldest(session: Session, row: _ThreadRow, end: int) -> int:
    """The first index below ``end`` that has a row, or ``end``."""
    found = session.one("SELECT min(key) FROM message WHERE key >= ? AND key < ?", (row.low, row.low + end))
    return end if found is None or found[0] is None else found[0] & _INDEX


def _places(session: Session, low: int, start: int, limit: int) -> list[Place]:
    rows = session.rows(
        "SELECT key, round, id, body FROM message WHERE key >= ? AND key <= ? ORDER BY key LIMIT ?",
        (low + start, low | _INDEX, limit),
    )
    versions: dict[int, list[Version]] = {}
    if rows:
        sql = "SELECT key, body, replaced FROM message_version WHERE key >= ? AND key <= ? ORDER BY number"
        for key, body, at in session.rows(sql, (rows[0][0], rows[-1][0])):
            versions.setdefault(key, []).append(_version(body, at))
    return [
        Place(key & _INDEX, round_, id_, None if body is None else decode_message(body), versions.get(key, []))
        for key, round_, id_, body in rows
    ]


def _restore(session: Session, row: _ThreadRow, wanted: CopiedThread, copied: Sequence[CopiedPlace]) -> None:
    last = session.one(_LAST, (row.low, row.low | _INDEX))
    for one in copied[:1]:
        check_follows(one, -1 if last is None else last[0] & _INDEX)
    next_, _, total = _later((row.next, row.round, row.total), last)
    total += _restore_places(session, row.low, copied, total)
    live = next_ - row.first - row.absent + sum(one.body is not None for one in copied)
    _take_over(session, row.key, wanted, total, live)


def _restore_places(session: Session, low: int, copied: Sequence[CopiedPlace], total: int) -> int:
    """Store the places behind a running total of tokens; returns how much they add to it."""
    added = 0
    for one in copied:
        key = low | one.index
        added += one.tokens
        _insert(session, (key, one.id, one.round, one.tokens, total + added, one.body))
        for body, replaced in one.versions:
            session.execute("INSERT INTO message_version (key, replaced, body) VALUES (?, ?, ?)", (key, replaced, body))
    return added


def _take_over(session: Session, key: int, wanted: CopiedThread, total: int, live: int) -> None:
    session.execute(
        "UPDATE thread SET created = ?, metadata = ?, first = ?, next = ?, round = ?, ended = ?, edits = ?, total = ?, "
        "absent = ? WHERE key = ?",
        (*wanted, total, wanted.next - wanted.first - live, key),
    )


def _info(session: Session, space: Space, row: _ThreadRow) -> ThreadInfo:
    last = session.one(_LAST_WITH_TIME, (row.low, row.low | _INDEX))
    next_, round_, total = _later((row.next, row.round, row.total), None if last is None else last[:3])
    newest = None if last is None else last[3]
    if last is not None and newest is None:
        # The last one was removed, so an earlier one is the newest.
        found = session.one(_NEWEST, (row.low, row.low | _INDEX))
        newest = None if found is None else found[0]
    created = given.moment(row.created)
    return ThreadInfo(
        thread=Thread(space, row.id),
        first=row.first,
        next=next_,
        messages=next_ - row.first - row.absent,
        tokens=total - row.token_base,
        rounds=round_,
        created=created,
        updated=created if newest is None else datetime.fromisoformat(newest),
        metadata=msgspec.json.decode(row.metadata),
        ended_round=row.ended if row.ended >= 0 else None,
        edits=row.edits,
    )


def _thread_row(session: Session, path: str, id_: str) -> _ThreadRow | None:
    row = session.one(f"SELECT {_COLUMNS} FROM thread WHERE space = ? AND id = ?", (path, id_))
    return None if row is None else _ThreadRow(*row)


def _end(session: Session, row: _ThreadRow) -> tuple[int, int, int]:
    """The next index, the latest round and the running total of tokens."""
    last = session.one(_LAST, (row.low, row.low | _INDEX))
    return _later((row.next, row.round, row.total), last)


def _insert(session: Session, row: tuple[Any, ...]) -> None:
    try:
        session.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)", row)
    except apsw.ConstraintError as error:
        if is_sealed(error):
            raise
        raise Conflict(f"the thread already holds a message with the id {row[1]!r}") from None


@lru_cache(maxsize=256)
def _read_sql(last: int | None, first: int | None, by_ids: bool) -> str:
    count = last if last is not None else first
    limit = "" if count is None else f"LIMIT {count:d}"
    order = "DESC" if last is not None else "ASC"
    ids = "AND key >> 32 = ? AND id IN (SELECT value FROM json_each(?))" if by_ids else ""
    return (
        f"SELECT body FROM message WHERE key >= ? AND key <= ? AND body IS NOT NULL {ids} ORDER BY key {order} {limit}"
    )


def _later(kept: tuple[int, int, int], last: tuple[int, int, int] | None) -> tuple[int, int, int]:
    """The end of a thread: that of its last row, unless what came behind it was trimmed away."""
    return kept if last is None or (last[0] & _INDEX) < kept[0] else ((last[0] & _INDEX) + 1, last[1], last[2])


__all__ = ["SqliteLog"]
