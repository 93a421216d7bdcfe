"""Dialogues that were read lately, kept decoded and never out of date."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from memwell.compat.dbgpt.gpts.dialogues import as_gpts
from memwell.compat.dbgpt.gpts.values import GptsMessage
from memwell.history import History
from memwell.storage.protocols import ThreadInfo

MOST_CHARACTERS = 16_000_000
_PER_MESSAGE = 1_000


class _Dialogue(NamedTuple):
    created: datetime
    edits: int
    next: int
    messages: tuple[GptsMessage, ...]
    size: int


class RecentDialogues:
    """Decoded dialogues, those read latest, up to a size in characters (a message counts a thousand beside its texts).

    Every read asks the store whether the conversation has changed, and reads what came since. So it is right whoever
    wrote: another object, another thread, another process. What it returns is shared; whoever hands it on copies it.
    """

    def __init__(self, most: int = MOST_CHARACTERS) -> None:
        self._most = most
        self._known: OrderedDict[str, _Dialogue] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """How many characters are held."""
        return self._size

    def of(self, history: History) -> Sequence[GptsMessage]:
        """All messages of the dialogue, in order."""
        conv_id, info = history.thread.id, history.info()
        if info is None:
            self.forget(conv_id)
            return ()
        with self._lock:
            known = self._known.get(conv_id)
        if known is None or (known.created, known.edits) != (info.created, info.edits) or known.next > info.next:
            known = _Dialogue(info.created, info.edits, 0, (), 0)
        if known.next < info.next or not known.next:
            known = _grown(known, history, info)
        self._remember(conv_id, known)
        return known.messages

    def forget(self, conv_id: str) -> None:
        """Let go of a dialogue."""
        with self._lock:
            dropped = self._known.pop(conv_id, None)
            self._size -= dropped.size if dropped else 0

    def _remember(self, conv_id: str, dialogue: _Dialogue) -> None:
        with self._lock:
            before = self._known.pop(conv_id, None)
            self._known[conv_id] = dialogue
            self._size += dialogue.size - (before.size if before else 0)
            while self._size > self._most:
                self._size -= self._known.popitem(last=False)[1].size


def _grown(known: _Dialogue, history: History, info: ThreadInfo) -> _Dialogue:
    read = history.log.read(history.thread, after=known.next - 1 if known.next else None, before=info.next)
    new = tuple(as_gpts(core, history.thread.id) for core in read)
    size = known.size + sum(map(_size, new))
    return known._replace(next=info.next, messages=known.messages + new, size=size)


def _size(message: GptsMessage) -> int:
    return _PER_MESSAGE + sum(len(value) for value in vars(message).values() if isinstance(value, str))


__all__ = ["MOST_CHARACTERS", "RecentDialogues"]
