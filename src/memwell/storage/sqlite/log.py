"""Conversations in SQLite.

A message is one row and one index entry. What a thread's listing shows (counts, tokens, rounds) is derived from its last
row and a few corrections that only edits and trims touch, so an append writes nothing else. The words of messages are
indexed when a thread is first searched, and then as far as it has grown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import apsw
import msgspec
from msgspec.structs import replace

from memwell.errors import NotFound
from memwell.language.segment import query_terms
from memwell.messages import Message, Role, decode_message, plain_json
from memwell.records import Space, Thread
from memwell.storage import arguments as given
from memwell.storage.parts import (
    MAX_INDEX,
    MAX_TOKENS,
    BaseLog,
    CopiedPlace,
    CopiedThread,
    Placed,
    Prepared,
    StoredPlace,
    Tail,
    ThreadRow,
    check_follows,
    distinct_terms,
    place,
    replaced_body,
    taken_id,
)
from memwell.storage.protocols import ThreadInfo
from memwell.storage.sqlite.connections import Connections, Session, is_sealed
from memwell.storage.sqlite.schema import THREAD_SHIFT
from memwell.storage.sqlite.words import MessageWords

# The fast path of an append: a few messages in one statement. The end of a thread is cached after each commit. The
# statement stores the messages only if the thread still ends there; otherwise the append takes the slow path. It matters
# because the processor's caches are cold after every sync: each line of Python costs several times what it does in a loop.

_MOST = 4096
AT_ONCE = 4
"""How many messages the fast path takes: a question and its answer, with a tool call in between."""
# Where the thread ends elsewhere the id is NULL, which the table refuses. An INSERT ... SELECT would be plainer, but takes
# ten microseconds more.
_FIRST = """(
        ?1,
        (SELECT ?2 FROM thread WHERE key = ?1 >> 32 AND ended = ?7 AND next <= ?1 & 0xffffffff
         AND (SELECT max(key) FROM message WHERE key >= ?1 & ~0xffffffff AND key <= ?1 | 0xffffffff) = ?1 - 1),
        ?3, ?4, ?5, ?6
    )"""
_APPEND = [
    f"INSERT INTO message VALUES {', '.join([_FIRST] + ['(?, ?, ?, ?, ?, ?)'] * more)}" for more in range(AT_ONCE)
]


End: TypeAlias = tuple[int, int, int, int]
"""The end of a thread: the key, round and running total of its last message, and the round closed by hand."""

Row: TypeAlias = tuple[int, str, int, int, int, str]
"""A row of the table ``message``."""


class KnownEnds:
    """A cache of the ends of threads, and the fast path of appends."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._ends: dict[Thread, End] = {}

    def learn(self, thread: Thread, end: End) -> None:
        """Cache the end of a thread. Inside a transaction it is dropped instead: a rollback frees the key for another."""
        if self._connections.transaction_here() is not None:
            self._ends.pop(thread, None)
            return
        if len(self._ends) >= _MOST:
            self._ends.clear()
        # The writers of one group come here in any order.
        if self._ends.get(thread, end) <= end:
            self._ends[thread] = end

    def append(self, thread: Thread, messages: Sequence[Message]) -> list[Message] | None:
        """Store plain messages, all or none, and return them with their places; None for the slow path."""
        end = self._ends.get(thread)
        if end is None:
            return None
        if len(messages) == 1:
            # Written out for one message: the loops below would cost a fifth of its time.
            stored = self._append_one(thread, end, messages[0])
            return None if stored is None else [stored]
        encoded = _encoded(messages)
        if encoded is None:
            return None
        rows = _rows(end, messages, encoded)
        alone = self._connections.statement(*_statement(rows, end[3]))
        if alone is None:
            rows = self._connections.write(lambda session: self._together(session, thread, messages, encoded))
        if alone is False or rows is None:
            return None
        key, _, round_, _, total, _ = rows[-1]
        self.learn(thread, (key, round_, total, end[3]))
        return [_stored(message, row) for message, row in zip(messages, rows, strict=True)]

    def _append_one(self, thread: Thread, end: End, message: Message) -> Message | None:
        encoded = plain_json(message)
        if encoded is None or (message.tokens or 0) > MAX_TOKENS:
            return None
        row = _row(end, message, encoded)
        alone = self._connections.statement(_APPEND[0], (*row, end[3]))
        if alone is None:
            together = self._connections.write(lambda session: self._together(session, thread, [message], [encoded]))
            if together is None:
                return None
            row = together[0]
        elif alone is False:
            return None
        self.learn(thread, (row[0], row[2], row[4], end[3]))
        return _stored(message, row)

    def _together(
        self, session: Session, thread: Thread, messages: Sequence[Message], encoded: list[str]
    ) -> list[Row] | None:
        """The same in a group, whose other writers may have moved the end of the thread."""
        end = session.learnt.get(thread) or self._ends.get(thread)
        if end is None:
            return None
        rows = _rows(end, messages, encoded)
        try:
            session.execute(*_statement(rows, end[3]))
        except apsw.ConstraintError:
            return None
        key, _, round_, _, total, _ = rows[-1]
        session.learnt[thread] = (key, round_, total, end[3])
        return rows


def _encoded(messages: Sequence[Message]) -> list[str] | None:
    found: list[str] = []
    for message in messages:
        encoded = plain_json(message)
        if encoded is None or (message.tokens or 0) > MAX_TOKENS:
            return None
        found.append(encoded)
    return found


def _row(end: End, message: Message, encoded: str) -> Row:
    last, round_, total, ended = end
    if message.role is Role.HUMAN or round_ == ended:
        round_ += 1
    tokens = message.tokens or 0
    body = f'{{"index":{(last + 1) & MAX_INDEX},"round":{round_},{encoded}'
    return (last + 1, message.id, round_, tokens, total + tokens, body)


def _rows(end: End, messages: Sequence[Message], encoded: list[str]) -> list[Row]:
    rows: list[Row] = []
    for message, one in zip(messages, encoded, strict=True):
        row = _row(end, message, one)
        rows.append(row)
        end = (row[0], row[2], row[4], end[3])
    return rows


def _statement(rows: list[Row], ended: int) -> tuple[str, tuple[Any, ...]]:
    first, *others = rows
    return _APPEND[len(others)], (*first, ended, *chain.from_iterable(others))


def _stored(message: Message, row: Row) -> Message:
    if message.metadata:
        # It must not be shared with the caller, and a tuple in it was stored as a list.
        return decode_message(row[5])
    return replace(message, index=row[0] & MAX_INDEX, round=row[2], metadata={})


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


class SqliteLog(BaseLog):
    """Conversations in two tables: threads, and messages by thread and index."""

    def __init__(self, connections: Connections, clock: Callable[[], float]) -> None:
        self._connections = connections
        self._clock = clock
        self.words = MessageWords(connections)
        self._ends = KnownEnds(connections)

    def _made(self, session: Session, thread: Thread) -> _ThreadRow:
        """The row of a thread, made if need be."""
        row = _thread_row(session, thread)
        if row is not None:
            return row
        created = self._clock()
        bindings = (thread.space.encoded(), thread.id, created)
        session.execute("INSERT INTO thread (space, id, created) VALUES (?, ?, ?)", bindings)
        return _ThreadRow(session.connection.last_insert_rowid(), 0, 0, 0, 0, -1, 0, 0, created, "{}", thread.id, 0)

    # Writing

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        if isinstance(messages, list) and 0 < len(messages) <= AT_ONCE and type(thread) is Thread and not keep_places:
            stored = self._ends.append(thread, messages)
            if stored is not None:
                return stored
        return super().append(thread, messages, keep_places=keep_places)

    def _append(self, thread: Thread, prepared: Prepared, *, keep_places: bool) -> list[Placed]:
        if not prepared:
            return []

        def operation(session: Session) -> tuple[list[Placed], End]:
            key, ended, next_, round_, total = self._tail(session, thread)
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
        return placed

    def _tail(self, session: Session, thread: Thread) -> tuple[int, int, int, int, int]:
        """The thread's key, the round closed by hand, and its end; the thread is made if need be. Every append runs it."""
        sql = "SELECT key, ended, next, round, total FROM thread WHERE space = ? AND id = ?"
        row = session.one(sql, (thread.space.encoded(), thread.id))
        if row is None:
            return (self._made(session, thread).key, -1, 0, 0, 0)
        last = session.one(_LAST, (row[0] << THREAD_SHIFT, row[0] << THREAD_SHIFT | MAX_INDEX))
        return (row[0], row[1], *_later(row[2:], last))

    def _edit(self, thread: Thread, wanted: dict[int, Message | None]) -> list[str | None]:
        def operation(session: Session) -> list[str | None]:
            row = _thread_row(session, thread)
            return [self._replace(session, row, thread.id, index, message) for index, message in wanted.items()]

        return self._connections.write(operation)

    def _replace(
        self, session: Session, row: _ThreadRow | None, id_: str, index: int, message: Message | None
    ) -> str | None:
        key = -1 if row is None or index > MAX_INDEX else row.low | index
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

    def _trim(self, thread: Thread, before: int, spared: set[int]) -> int:
        def operation(session: Session) -> int:
            row = _thread_row(session, thread)
            if row is None:
                return 0
            next_, round_, total = _end(session, row)
            end = min(before, next_)
            kept = {row.low | index for index in spared}
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

    def _delete(self, thread: Thread) -> bool:
        def operation(session: Session) -> bool:
            row = _thread_row(session, thread)
            if row is None:
                return False
            self._drop(session, row.key, row.low, row.low + MAX_INDEX + 1)
            session.execute("DELETE FROM thread WHERE key = ?", (row.key,))
            return True

        return self._connections.write(operation)

    def _annotate(self, thread: Thread, metadata: str | None, end_round: bool) -> ThreadInfo:
        def operation(session: Session) -> ThreadInfo:
            row = self._made(session, thread)
            ended = _end(session, row)[1] if end_round else row.ended
            session.execute(
                "UPDATE thread SET metadata = ifnull(?, metadata), ended = ? WHERE key = ?", (metadata, ended, row.key)
            )
            return _info(session, thread.space, self._made(session, thread))

        return self._connections.write(operation)

    def _restore(self, thread: Thread, wanted: CopiedThread, places: list[CopiedPlace]) -> None:
        self._connections.write(lambda session: _restore(session, self._made(session, thread), wanted, places))

    # Reading

    def _read(self, thread: Thread, wanted: given.MessageRange) -> list[str]:
        sql = _read_sql(wanted.last, wanted.first, wanted.ids is not None)

        def operation(session: Session) -> list[tuple[Any, ...]]:
            key = _key(session, thread)
            if key is None:
                return []
            low = key << THREAD_SHIFT
            bindings = (low + wanted.low, low + wanted.high)
            if wanted.ids is not None:
                bindings = (*bindings, key, msgspec.json.encode(wanted.ids).decode())
            return session.execute(sql, bindings).fetchall()

        rows = self._connections.read(operation)
        if wanted.last is not None:
            rows.reverse()
        return [row[0] for row in rows]

    def _versions(self, thread: Thread, index: int) -> list[tuple[Any, ...]]:
        def operation(session: Session) -> list[tuple[Any, ...]]:
            key = _key(session, thread)
            at = -1 if key is None or index > MAX_INDEX else key << THREAD_SHIFT | index
            return session.rows("SELECT body, replaced FROM message_version WHERE key = ? ORDER BY number", (at,))

        return self._connections.read(operation)

    def _threads(self, space: Space, ids: list[str] | None, after: str | None, limit: int) -> list[ThreadInfo]:
        wanted = None if ids is None else msgspec.json.encode(ids).decode()

        def operation(session: Session) -> list[ThreadInfo]:
            if ids is not None and len(ids) == 1 and after is None:
                # Every reader of a conversation asks this first, and often.
                row = _thread_row(session, Thread(space, ids[0]))
                return [] if row is None else [_info(session, space, row)]
            rows = session.rows(
                f"SELECT {_COLUMNS} FROM thread WHERE space = ? AND (? IS NULL OR id > ?) "
                "AND (? IS NULL OR id IN (SELECT value FROM json_each(?))) ORDER BY id LIMIT ?",
                (space.encoded(), after, after, wanted, wanted, limit),
            )
            return [_info(session, space, _ThreadRow(*row)) for row in rows]

        return self._connections.snapshot(operation)

    def _match(self, thread: Thread, text: str, limit: int) -> list[tuple[Message, float]]:
        return self.words.match(thread.space.encoded(), thread.id, distinct_terms(query_terms(text)), limit)

    def _places(self, thread: Thread, start: int, limit: int) -> list[StoredPlace]:
        def operation(session: Session) -> list[StoredPlace]:
            key = _key(session, thread)
            return [] if key is None else _places(session, key << THREAD_SHIFT, start, limit)

        return self._connections.snapshot(operation)


def _key(session: Session, thread: Thread) -> int | None:
    sql = "SELECT key FROM thread WHERE space = ? AND id = ?"
    found = session.one(sql, (thread.space.encoded(), thread.id))
    return None if found is None else found[0]


def _oldest(session: Session, row: _ThreadRow, end: int) -> int:
    """The first index below ``end`` that has a row, or ``end``."""
    found = session.one("SELECT min(key) FROM message WHERE key >= ? AND key < ?", (row.low, row.low + end))
    return end if found is None or found[0] is None else found[0] & MAX_INDEX


def _places(session: Session, low: int, start: int, limit: int) -> list[StoredPlace]:
    rows = session.rows(
        "SELECT key, round, id, body FROM message WHERE key >= ? AND key <= ? ORDER BY key LIMIT ?",
        (low + start, low | MAX_INDEX, limit),
    )
    versions: dict[int, list[tuple[Any, ...]]] = {}
    if rows:
        sql = "SELECT key, body, replaced FROM message_version WHERE key >= ? AND key <= ? ORDER BY number"
        for key, *version in session.rows(sql, (rows[0][0], rows[-1][0])):
            versions.setdefault(key, []).append(tuple(version))
    return [(key & MAX_INDEX, round_, id_, body, versions.get(key, [])) for key, round_, id_, body in rows]


def _restore(session: Session, row: _ThreadRow, wanted: CopiedThread, copied: Sequence[CopiedPlace]) -> None:
    last = session.one(_LAST, (row.low, row.low | MAX_INDEX))
    for one in copied[:1]:
        check_follows(one, -1 if last is None else last[0] & MAX_INDEX)
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
    last = session.one(_LAST_WITH_TIME, (row.low, row.low | MAX_INDEX))
    next_, round_, total = _later((row.next, row.round, row.total), None if last is None else last[:3])
    newest = None if last is None else last[3]
    if last is not None and newest is None:
        # The last one was removed, so an earlier one is the newest.
        found = session.one(_NEWEST, (row.low, row.low | MAX_INDEX))
        newest = None if found is None else found[0]
    listed = ThreadRow(
        *(row.first, next_, next_ - row.first - row.absent, total - row.token_base, round_),
        *(row.created, row.metadata, row.ended, row.edits),
    )
    return listed.info(Thread(space, row.id), newest)


def _thread_row(session: Session, thread: Thread) -> _ThreadRow | None:
    sql = f"SELECT {_COLUMNS} FROM thread WHERE space = ? AND id = ?"
    row = session.one(sql, (thread.space.encoded(), thread.id))
    return None if row is None else _ThreadRow(*row)


def _end(session: Session, row: _ThreadRow) -> tuple[int, int, int]:
    """The next index, the latest round and the running total of tokens."""
    last = session.one(_LAST, (row.low, row.low | MAX_INDEX))
    return _later((row.next, row.round, row.total), last)


def _insert(session: Session, row: tuple[Any, ...]) -> None:
    try:
        session.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)", row)
    except apsw.ConstraintError as error:
        if is_sealed(error):
            raise
        raise taken_id(row[1]) from None


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
    """The end of a thread: that of its last row, unless later rows were trimmed away."""
    return kept if last is None or (last[0] & MAX_INDEX) < kept[0] else ((last[0] & MAX_INDEX) + 1, last[1], last[2])
