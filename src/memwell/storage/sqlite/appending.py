"""The short way of one message to the end of a thread: a single statement, when nobody else has written there since.

Where a thread ends is remembered from the last append that was committed. The statement stores the message only if the
thread still ends there, so what is remembered may be out of date and costs nothing but the longer way. It matters because
after every sync the processor's caches are cold: each line of Python on the way of an append costs several times what it
costs in a loop.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from memwell.messages import Message, Role, plain_json
from memwell.records import Thread
from memwell.storage.placement import MAX_INDEX, MAX_TOKENS
from memwell.storage.sqlite.connections import Connections
from memwell.storage.sqlite.schema import THREAD_SHIFT

_MOST = 4096
# A thread that does not end where we think leaves the id NULL, which the table refuses. An INSERT ... SELECT would say
# the same more plainly, but takes ten microseconds more.
_APPEND = """
    INSERT INTO message VALUES (
        ?1,
        (SELECT ?2 FROM thread WHERE key = ?7 AND ended = ?8 AND next <= ?9
         AND (SELECT max(key) FROM message WHERE key >= ?10 AND key <= ?11) = ?12),
        ?3, ?4, ?5, ?6
    )"""


class End(NamedTuple):
    """Where a thread ends: its key, the key of its last message, that one's round and running total, the round closed."""

    thread: int
    last: int
    round: int
    total: int
    ended: int


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
        self._ends[thread] = end

    def append(self, thread: Thread, message: Message) -> Message | None:
        """Store a plain message and return it with its place, or None when it must go the longer way."""
        end = self._ends.get(thread)
        encoded = None if end is None else plain_json(message)
        if end is None or encoded is None:
            return None
        key, last, round_, total, ended = end
        if message.role is Role.HUMAN or round_ == ended:
            round_ += 1
        low = key << THREAD_SHIFT
        index = last + 1 - low
        if index > MAX_INDEX:
            return None
        body = f'{{"index":{index},"round":{round_},{encoded}'
        tokens = message.tokens or 0
        if tokens > MAX_TOKENS:
            return None
        row = (last + 1, message.id, round_, tokens, total + tokens, body)
        if not self._connections.statement(_APPEND, (*row, key, ended, index, low, low | MAX_INDEX, last)):
            return None
        self._ends[thread] = End(key, last + 1, round_, total + tokens, ended)
        return replace(message, index=index, round=round_, metadata={})


__all__ = ["End", "KnownEnds"]
