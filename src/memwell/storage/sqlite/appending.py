"""The short way of a message or a few to the end of a thread: one statement, when nobody else has written there since.

Where a thread ends is remembered from the last append that was committed. The statement stores the messages only if the
thread still ends there, so what is remembered may be out of date and costs nothing but the longer way. It matters because
after every sync the processor's caches are cold: each line of Python on the way of an append costs several times what it
costs in a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias

import apsw
from msgspec.structs import replace

from memwell.messages import Message, Role, decode_message, plain_json
from memwell.records import Thread
from memwell.storage.placement import MAX_INDEX, MAX_TOKENS
from memwell.storage.sqlite.connections import Connections, Session

_MOST = 4096
AT_ONCE = 4
"""So many messages may go the short way together: a question and its answer, with a tool called in between."""
# A thread that does not end where we think leaves the id NULL, which the table refuses. An INSERT ... SELECT would say
# the same more plainly, but takes ten microseconds more.
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
"""Where a thread ends: the key of its last message, that one's round and running total, and the round closed by hand."""

Row: TypeAlias = tuple[int, str, int, int, int, str]
"""A message as the table keeps it."""


class KnownEnds:
    """The ends of threads that were appended to, as far as they are known."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._ends: dict[Thread, End] = {}

    def learn(self, thread: Thread, end: End) -> None:
        """Remember where a thread ends, unless that may yet be undone: then its key may be given to another thread."""
        if self._connections.transaction_here() is not None:
            self._ends.pop(thread, None)
            return
        if len(self._ends) >= _MOST:
            self._ends.clear()
        # Those who wrote together come here in any order.
        if self._ends.get(thread, end) <= end:
            self._ends[thread] = end

    def append(self, thread: Thread, messages: Sequence[Message]) -> list[Message] | None:
        """Store plain messages, all or none, and return them with their places; None when they must go the longer way."""
        end = self._ends.get(thread)
        if end is None:
            return None
        if len(messages) == 1:
            # What is written out for one message below is what the loops would do: they cost it a fifth of its time.
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
        """The same among others of a group, who may have moved the thread's end just now."""
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


__all__ = ["AT_ONCE", "End", "KnownEnds"]
