"""A vector engine for tests that searches exactly: the index of another store."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from memwell.errors import Conflict
from memwell.records import MAX_SEGMENTS, Record, Space, Vector, paged
from memwell.storage import arguments as given
from memwell.storage.protocols import Backend, VectorEngine
from memwell.values import new_id

PAGE = 1000
_VECTORS = Space("memwell", "vectors")
_DEEP_VECTORS = Space("memwell", "deep-vectors")


class StoreVectors(VectorEngine):
    """The vectors of one store in the index of another, in spaces under ``("memwell", "vectors")`` there."""

    most = given.MAX_LIMIT

    def __init__(self, store: Backend, name: str = "store") -> None:
        self.name = name
        self._store = store

    def identity(self, dimensions: int) -> str:
        while True:
            known = self._store.kv.get(_VECTORS, "identity")
            if known is not None:
                return str(known.value)
            try:
                return str(self._store.kv.put(_VECTORS, "identity", new_id(), expect=0).value)
            except Conflict:
                continue

    def store(self, space: Space, records: Sequence[Record]) -> None:
        there = _there(space)
        self._store.index.upsert([Record(id=one.id, text="", space=there, vector=one.vector) for one in records])

    def drop(self, space: Space, ids: Iterable[str]) -> None:
        self._store.index.delete(_there(space), ids)

    def near(self, space: Space, vector: Vector, limit: int) -> list[tuple[str, float]]:
        return [(hit.record.id, hit.score) for hit in self._store.index.near(_there(space), vector, limit=limit)]

    def ids(self, space: Space) -> Iterator[str]:
        found = paged(lambda cursor: self._store.index.scan(_there(space), limit=PAGE, cursor=cursor))
        return (one.id for one in found)

    def count(self, space: Space) -> int:
        return self._store.index.info(_there(space)).records

    def forget(self, space: Space) -> None:
        index, there = self._store.index, _there(space)
        while ids := [one.id for one in index.scan(there, limit=PAGE).items]:
            index.delete(there, ids)

    def spaces(self) -> Iterator[Space]:
        for space in paged(lambda cursor: self._store.spaces(limit=PAGE, cursor=cursor)):
            # A space too deep to be stored under this one has a digest there, which does not name it.
            if (
                space[: len(_VECTORS)] == _VECTORS
                and len(space) > len(_VECTORS)
                and self._store.index.info(space).records
            ):
                yield Space(*space[len(_VECTORS) :])

    def facts(self) -> dict[str, Any]:
        return {"kind": self._store.facts().get("kind", "store")}

    def close(self) -> None:
        self._store.close()


def _there(space: Space) -> Space:
    if len(space) + len(_VECTORS) <= MAX_SEGMENTS:
        return Space(*_VECTORS, *space)
    return Space(*_DEEP_VECTORS, hashlib.sha256(space.encoded().encode()).hexdigest())
