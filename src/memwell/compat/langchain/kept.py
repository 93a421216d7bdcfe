"""What a memory showed of a conversation, brought up to date by what was added since instead of read again.

A memory shows nearly the same lines after every turn. They are kept with what each counts, and as long as nothing but
appends happened in the conversation, which one small question to the store tells, only what is new is read. This is for
plain questions and answers in a store of ours; whatever is more than that is read anew each time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from datetime import datetime
from typing import Any, NamedTuple

from memwell.compat.langchain.lines import line_of
from memwell.history.reading import HistoryReader
from memwell.messages import Message, Role, Text
from memwell.records import Thread
from memwell.storage.protocols import ThreadInfo

_MOST_NEW = 64
"""After more than this the whole is read anew, which may be less than all that is new."""

_SPOKEN = frozenset({Role.HUMAN, Role.AI})


class Line(NamedTuple):
    """A message, how it is shown, and what that counts."""

    message: Message
    text: str
    tokens: int


class _Mark(NamedTuple):
    """The conversation that the lines are of, and how often it was edited by then."""

    thread: Thread
    created: datetime
    edits: int


class KeptEnd:
    """The lines at the end of a conversation. Take the ``lock`` for as long as they are looked at."""

    def __init__(self, count: Callable[[Message], int], human_prefix: str, ai_prefix: str) -> None:
        self.lock = threading.Lock()
        self.lines: deque[Line] = deque()
        self.total = 0
        self.rounds = 0
        self.start = 0
        """All messages from this index on are here."""
        self._count = count
        self._prefixes = human_prefix, ai_prefix
        self._mark: _Mark | None = None
        self._next = 0

    def __deepcopy__(self, memo: dict[int, Any]) -> KeptEnd:
        # The copy reads its conversation anew.
        return KeptEnd(deepcopy(self._count, memo), *self._prefixes)

    def begin(self, info: ThreadInfo, messages: Sequence[Message], start: int | None = None) -> bool:
        """Keep these messages, all from the index ``start`` or that of the first on; False when they are not plain.

        ``info`` must have been asked before they were read: then a change in between is noticed the next time.
        """
        self._mark = None
        self.lines.clear()
        self.total = self.rounds = 0
        self.start = _index(messages[0]) if start is None else start
        self._next = _index(messages[-1]) + 1 if messages else self.start
        if not self._add(messages):
            return False
        self._mark = _mark_of(info)
        return True

    def follow(self, history: HistoryReader, info: ThreadInfo | None) -> bool:
        """Take in what was added since; False when more than that has happened and all must be read anew."""
        if self._mark is None or info is None or _mark_of(info) != self._mark or info.next < self._next:
            return False
        if info.next == self._next:
            return True
        if info.next - self._next > _MOST_NEW:
            return False
        fresh = history.log.read(history.thread, after=self._next - 1)
        if not self._add(fresh):
            self._mark = None
            return False
        self._next = _index(fresh[-1]) + 1 if fresh else info.next
        return True

    def drop_round(self) -> None:
        """Let go of the oldest round."""
        number = self.lines[0].message.round
        while self.lines and self.lines[0].message.round == number:
            self._drop_first()

    def drop_below(self, index: int) -> None:
        """Let go of all messages below an index."""
        while self.lines and _index(self.lines[0].message) < index:
            self._drop_first()
        self.start = max(self.start, index)

    def _drop_first(self) -> None:
        line = self.lines.popleft()
        self.total -= line.tokens
        self.start = _index(line.message) + 1
        self.rounds -= not self.lines or self.lines[0].message.round != line.message.round

    def _add(self, messages: Sequence[Message]) -> bool:
        for message in messages:
            if not message.for_model:
                continue
            opens = not self.lines or self.lines[-1].message.round != message.round
            # An answer to nothing is not shown at the front, which these lines could not tell when they come to be there.
            if not _is_plain(message) or (opens and message.role is not Role.HUMAN):
                return False
            tokens = self._count(message)
            self.rounds += opens
            self.lines.append(Line(message, line_of(message, *self._prefixes), tokens))
            self.total += tokens
        return True


def _is_plain(message: Message) -> bool:
    """Whether it is a question or an answer of nothing but text, inside a round."""
    return (
        message.role in _SPOKEN
        and bool(message.round)
        and not message.metadata
        and len(message.parts) == 1
        and type(message.parts[0]) is Text
    )


def _index(message: Message) -> int:
    return message.index or 0


def _mark_of(info: ThreadInfo) -> _Mark:
    return _Mark(info.thread, info.created, info.edits)


__all__ = ["KeptEnd", "Line"]
