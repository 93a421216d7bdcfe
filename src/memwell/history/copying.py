"""Copies of conversations: places, ids, times and earlier versions go with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager

from memwell.errors import Conflict
from memwell.history.reading import CHUNK, HistoryReader
from memwell.messages import Message
from memwell.storage.protocols import ThreadInfo


def together(history: HistoryReader) -> AbstractContextManager[None]:
    """A transaction of the conversation's store, where there is one to be had."""
    return history.backend.transaction() if history.backend is not None else contextlib.nullcontext()


def copy_conversation(source: HistoryReader, target: HistoryReader, end: int | None, *, versions: bool) -> int:
    """Copy messages up to index ``end`` (all without one) and the metadata; returns how many messages there are now.

    Raises ``Conflict`` when the target has begun. Whatever fails, the target is left as it was.
    """
    with together(target):
        begun = target.info()
        if begun is not None and begun.next > 0:
            raise Conflict(f"conversation {target.thread.id!r} has already begun")
        info = source.info()
        if info is None:
            return 0
        try:
            return _copy(source, target, info, end, versions=versions)
        except BaseException:
            if target.backend is None:
                target.log.delete(target.thread)
            raise


def _copy(source: HistoryReader, target: HistoryReader, info: ThreadInfo, end: int | None, *, versions: bool) -> int:
    copied = 0
    stop = info.next if end is None else min(info.next, end + 1)
    for start in range(info.first, stop, CHUNK):
        upto = min(start + CHUNK, stop)
        live = source.log.read(source.thread, after=start - 1, before=upto)
        copied += len(live)
        if versions:
            _replay(target, dict(_lives(source, live, start, upto)))
        else:
            target.log.append(target.thread, live, keep_places=True)
    target.log.annotate(
        target.thread, metadata=info.metadata, end_round=end is None and info.ended_round == info.rounds
    )
    return copied


def _lives(
    source: HistoryReader, live: list[Message], start: int, upto: int
) -> Iterator[tuple[int, list[Message | None]]]:
    """For every place all that it ever held, oldest first."""
    now = {message.index: message for message in live}
    for index in range(start, upto):
        held = [version.message for version in source.log.versions(source.thread, index)]
        if held or index in now:
            yield index, [*held, now.get(index)]


def _replay(target: HistoryReader, lives: dict[int, list[Message | None]]) -> None:
    first = [held[0] for held in lives.values() if held[0] is not None]
    target.log.append(target.thread, first, keep_places=True)
    for step in range(1, max(map(len, lives.values()), default=0)):
        target.log.edit(target.thread, {index: held[step] for index, held in lives.items() if step < len(held)})


__all__ = ["copy_conversation", "together"]
