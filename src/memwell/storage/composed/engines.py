"""Another store as an engine: its index searches, and nothing else of it is used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memwell.errors import Conflict
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.records import MAX_SEGMENTS, Record, Space, Vector, paged
from memwell.storage.arguments import MAX_LIMIT
from memwell.storage.engines import VectorEngine
from memwell.storage.protocols import Backend
from memwell.values import new_id

_ROOM = Space("memwell", "vectors")
_DEEP = Space("memwell", "deep-vectors")
_PAGE = 1000


class StoreVectors(VectorEngine):
    """The vectors of one store in the index of another, in spaces under ``("memwell", "vectors")`` there.

    Texts stay at home, so a filter on ``@text`` is not looked at here.
    """

    most = MAX_LIMIT

    def __init__(self, store: Backend, name: str = "store") -> None:
        self.name = name
        self._store = store

    def identity(self, dimensions: int) -> str:
        while True:
            known = self._store.kv.get(_ROOM, "identity")
            if known is not None:
                return str(known.value)
            try:
                return str(self._store.kv.put(_ROOM, "identity", new_id(), expect=0).value)
            except Conflict:
                continue

    def store(self, space: Space, records: Sequence[Record]) -> None:
        self._store.index.upsert([_without_text(one, _there(space)) for one in records])

    def drop(self, space: Space, ids: Iterable[str]) -> None:
        self._store.index.delete(_there(space), ids)

    def near(self, space: Space, vector: Vector, limit: int, where: Filter | None) -> list[tuple[str, float]]:
        pushed = None if where is None else _without_texts(where)
        hits = self._store.index.near(_there(space), vector, limit=limit, where=pushed)
        return [(hit.record.id, hit.score) for hit in hits]

    def ids(self, space: Space) -> Iterator[str]:
        found = paged(lambda cursor: self._store.index.scan(_there(space), limit=_PAGE, cursor=cursor))
        return (one.id for one in found)

    def count(self, space: Space) -> int:
        return self._store.index.info(_there(space)).records

    def forget(self, space: Space) -> None:
        index, there = self._store.index, _there(space)
        while ids := [one.id for one in index.scan(there, limit=_PAGE).items]:
            index.delete(there, ids)

    def spaces(self) -> Iterator[Space]:
        for space in paged(lambda cursor: self._store.spaces(limit=_PAGE, cursor=cursor)):
            # A space that is too deep for a place under the room has a digest there, which names nobody.
            if space[: len(_ROOM)] == _ROOM and len(space) > len(_ROOM) and self._store.index.info(space).records:
                yield Space(*space[len(_ROOM) :])

    def facts(self) -> dict[str, Any]:
        return {"kind": self._store.facts().get("kind", "store")}

    def close(self) -> None:
        self._store.close()


def _there(space: Space) -> Space:
    if len(space) + len(_ROOM) <= MAX_SEGMENTS:
        return Space(*_ROOM, *space)
    return Space(*_DEEP, hashlib.sha256(space.encoded().encode()).hexdigest())


def _without_text(record: Record, there: Space) -> Record:
    return Record(
        text="",
        space=there,
        id=record.id,
        kind=record.kind,
        time=record.time,
        metadata=record.metadata,
        vector=record.vector,
    )


def _without_texts(node: Filter) -> Filter | None:
    """The filter without its questions about texts, so that it holds wherever the whole one does; None for any."""
    if isinstance(node, Where):
        return None if node.field == "@text" else node
    if isinstance(node, Not):
        # What is left out of the inner one would be asked for the more.
        return None if _asks_for_text(node) else node
    kept = [one for one in map(_without_texts, node.filters) if one is not None]
    if isinstance(node, AllOf):
        return AllOf(tuple(kept)) if kept else None
    return AnyOf(tuple(kept)) if len(kept) == len(node.filters) else None


def _asks_for_text(node: Filter) -> bool:
    if isinstance(node, Where):
        return node.field == "@text"
    return _asks_for_text(node.filter) if isinstance(node, Not) else any(map(_asks_for_text, node.filters))


__all__ = ["StoreVectors"]
