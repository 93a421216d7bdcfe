"""Reminders: entries of the journal that say that a memory which is indexed is owed its vector."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from memwell.longterm.journal import Journal
from memwell.messages import Message
from memwell.records import Record, Space, paged
from memwell.storage.protocols import Backend

_BATCH = 200


def reminder(id_: str) -> Message:
    """An entry for the journal: the vector of a memory is owed."""
    return Message(role="human", parts=(), metadata={"embed": id_})  # pyright: ignore[reportArgumentType]


def owe_all_anew(backend: Backend, space: Space, journal: Journal) -> None:
    """Drop every vector of a space and owe it anew. Call it inside a transaction."""
    # All are read first: what is stored anew moves to another place of the scan.
    stored = list(_stored(backend, space))
    for start in range(0, len(stored), _BATCH):
        records = stored[start : start + _BATCH]
        backend.index.upsert([replace(record, vector=None) for record in records])
        journal.write([reminder(record.id) for record in records])


def owe_missing(backend: Backend, space: Space, journal: Journal) -> None:
    """Owe a vector to every memory of a space that has none. Call it inside a transaction."""
    journal.write([reminder(record.id) for record in _stored(backend, space) if record.vector is None])


def _stored(backend: Backend, space: Space) -> Iterator[Record]:
    return paged(lambda cursor: backend.index.scan(space, limit=_BATCH, cursor=cursor))


__all__ = ["owe_all_anew", "owe_missing", "reminder"]
