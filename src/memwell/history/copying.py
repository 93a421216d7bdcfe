"""Copies of conversations: places, ids, times and earlier versions go with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from memwell.errors import Conflict, InvalidInput, NotFound, Unsupported
from memwell.history.handle import blobs_beside, keep_blob
from memwell.history.reading import CHUNK, HistoryReader
from memwell.messages import Media, Message, Role, ToolResult
from memwell.storage.protocols import ThreadInfo
from memwell.values import shown


def together(history: HistoryReader) -> AbstractContextManager[None]:
    """A transaction of the conversation's store, where it has them."""
    return history.backend.together() if history.backend is not None else contextlib.nullcontext()


def copy_conversation(source: HistoryReader, target: HistoryReader, end: int | None, *, versions: bool) -> int:
    """Copy messages up to index ``end`` (all without one) and the metadata; returns how many messages there are now.

    Raises ``Conflict`` when the target exists. Whatever fails, the target is left as it was.
    """
    if not isinstance(target, HistoryReader):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a conversation is copied to a History, not to {shown(target)}")
    with together(target):
        if target.info() is not None:
            raise Conflict(f"conversation {target.thread.id!r} has already begun: copy to one that does not exist yet")
        info = source.info()
        if info is None:
            return 0
        try:
            return _copy(source, target, info, end, versions=versions)
        except BaseException:
            # What is not undone with a transaction is taken away here.
            target.log.delete(target.thread)
            raise


def _copy(source: HistoryReader, target: HistoryReader, info: ThreadInfo, end: int | None, *, versions: bool) -> int:
    copied = 0
    places: list[int] = []
    stop = info.next if end is None else min(info.next, end + 1)
    for start in range(info.first, stop, CHUNK):
        upto = min(start + CHUNK, stop)
        live = source.log.read(source.thread, after=start - 1, before=upto)
        copied += len(live)
        lives = dict(_lives(source, live, start, upto)) if versions else {one.index or 0: [one] for one in live}
        _copy_blobs(source, target, (one for held in lives.values() for one in held))
        _replay(target, lives)
        places += lives
    if end is None:
        _end_alike(target, info, places)
    target.log.trim(target.thread, info.first)
    target.log.annotate(
        target.thread, metadata=info.metadata, end_round=end is None and info.ended_round == info.rounds
    )
    return copied


def _copy_blobs(source: HistoryReader, target: HistoryReader, messages: Iterable[Message | None]) -> None:
    """Keep the bytes that messages name beside the target too; what they name elsewhere stays where it is."""
    blobs = None if source.backend is None else source.backend.blobs
    named = {one.blob for one in media_of(messages) if one.blob is not None}
    for digest in sorted(named):
        if blobs is None:
            return
        try:
            data = blobs.get(blobs_beside(source.thread), digest)
        except (NotFound, InvalidInput):
            # A message may name what was never stored here, or is no digest at all.
            continue
        if target.backend is None:
            raise Unsupported("a log alone keeps no bytes of media; copy the conversation to a store")
        keep_blob(target.backend, target.thread, data)


def media_of(messages: Iterable[Message | None]) -> Iterator[Media]:
    """All media of messages, those inside tool results too."""
    for message in messages:
        for part in message.parts if message else ():
            for one in part.content if isinstance(part, ToolResult) else (part,):
                if isinstance(one, Media):
                    yield one


def _end_alike(target: HistoryReader, info: ThreadInfo, places: list[int]) -> None:
    """Let the next message get the index and round it would get in the source, also when the last were trimmed away."""
    begun = target.info()
    if info.next > (begun.next if begun else 0):
        last = Message(Role.SYSTEM, (), index=info.next - 1, round=info.rounds)
        target.log.append(target.thread, [last], keep_places=True)
        target.log.trim(target.thread, info.next, keep=places)


def _lives(
    source: HistoryReader, live: list[Message], start: int, upto: int
) -> Iterator[tuple[int, list[Message | None]]]:
    """For every place that is not empty all that it ever held, oldest first."""
    now = {message.index: message for message in live}
    for index in range(start, upto):
        held = [version.message for version in source.log.versions(source.thread, index)]
        if held or index in now:
            yield index, [*held, now.get(index)]


def _replay(target: HistoryReader, lives: Mapping[int, Sequence[Message | None]]) -> None:
    first = [held[0] for held in lives.values() if held[0] is not None]
    target.log.append(target.thread, first, keep_places=True)
    for step in range(1, max(map(len, lives.values()), default=0)):
        target.log.edit(target.thread, {index: held[step] for index, held in lives.items() if step < len(held)})


__all__ = ["copy_conversation", "media_of", "together"]
