"""Reminders: entries of the journal that say that a memory which is indexed is owed its vector."""

from __future__ import annotations

from collections.abc import Iterator

from memwell.longterm.journal import Journal, inner_space
from memwell.messages import Message
from memwell.records import Record, Space, paged
from memwell.storage.protocols import Backend

_BATCH = 200
_SKIPPED = "without-vectors"


def reminder(id_: str) -> Message:
    """An entry for the journal: the vector of a memory is owed."""
    return Message(role="human", parts=(), metadata={"embed": id_})  # pyright: ignore[reportArgumentType]


def note_skipped(backend: Backend, space: Space) -> None:
    """Note that somebody without an embedder worked memories off. Call it inside a transaction."""
    backend.kv.put(inner_space(space), _SKIPPED, True)


def make_up_for_skipped(backend: Backend, space: Space, journal: Journal) -> None:
    """Where that was noted, owe a vector to every memory of the space that has none."""
    if backend.kv.get(inner_space(space), _SKIPPED) is None:
        return
    with backend.transaction():
        journal.write([reminder(record.id) for record in _stored(backend, space) if record.vector is None])
        backend.kv.delete(inner_space(space), _SKIPPED)


def _stored(backend: Backend, space: Space) -> Iterator[Record]:
    return paged(lambda cursor: backend.index.scan(space, limit=_BATCH, cursor=cursor))


__all__ = ["make_up_for_skipped", "note_skipped", "reminder"]
