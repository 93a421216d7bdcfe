"""The short way of one message to the end of a thread: a single statement, when nobody else has written there since.

Where a thread ends is remembered from the last append that was committed. The statement stores the message only if the
thread still ends there, so what is remembered may be out of date and costs nothing but the longer way. It matters because
after every sync the processor's caches are cold: each line of Python on the way of an append costs several times what it
costs in a loop.
"""

from __future__ import annotations

from typing import TypeAlias

import apsw
from msgspec.structs import replace

from memwell.messages import Message, Role, decode_message, plain_json
from memwell.records import Thread
from memwell.storage.placement import MAX_INDEX, MAX_TOKENS
from memwell.storage.sqlite.connections import Connections, Session

_MOST = 4096
# A thread that does not end where we think leaves the id NULL, which the table refuses. An INSERT ... SELECT would say
# the same more plainly, but takes ten microseconds more.
_APPEND = """
    INSERT INTO message VALUES (
        ?1,
        (SELECT ?2 FROM thread WHERE key = ?1 >> 32 AND ended = ?7 AND next <= ?1 & 0xffffffff
         AND (SELECT max(key) FROM message WHERE key >= ?1 & ~0xffffffff AND key <= ?1 | 0xffffffff) = ?1 - 1),
        ?3, ?4, ?5, ?6
    )"""


End: TypeAlias = tuple[int, int, int, int]
"""Where a thread ends: the key of its last message, that one's round and running total, and the round closed by hand."""

Row: TypeAlias = tuple[int, str, int, int, int, str, int]
"""What the statement is given."""


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

    def append(self, thread: Thread, message: Message) -> Message | None:
        """Store a plain message and return it with its place, or None when it must go the longer way."""
        end = self._ends.get(thread)
        encoded = None if end is None else plain_json(message)
        if end is None or encoded is None or (message.tokens or 0) > MAX_TOKENS:
            return None
        row = _row(end, message, encoded)
        alone = self._connections.statement(_APPEND, row)
        if alone is None:
            row = self._connections.write(lambda session: self._append(session, thread, message, encoded))
        if alone is False or row is None:
            return None
        key, _, round_, _, total, body, ended = row
        self.learn(thread, (key, round_, total, ended))
        if message.metadata:
            # It must not be shared with the caller, and a tuple in it was stored as a list.
            return decode_message(body)
        return replace(message, index=key & MAX_INDEX, round=round_, metadata={})

    def _append(self, session: Session, thread: Thread, message: Message, encoded: str) -> Row | None:
        """The same among others of a group, who may have moved the thread's end just now."""
        end = session.learnt.get(thread) or self._ends.get(thread)
        if end is None:
            return None
        row = _row(end, message, encoded)
        try:
            session.execute(_APPEND, row)
        except apsw.ConstraintError:
            return None
        session.learnt[thread] = (row[0], row[2], row[4], end[3])
        return row


def _row(end: End, message: Message, encoded: str) -> Row:
    last, round_, total, ended = end
    if message.role is Role.HUMAN or round_ == ended:
        round_ += 1
    tokens = message.tokens or 0
    body = f'{{"index":{(last + 1) & MAX_INDEX},"round":{round_},{encoded}'
    return (last + 1, message.id, round_, tokens, total + tokens, body, ended)


__all__ = ["End", "KnownEnds"]
