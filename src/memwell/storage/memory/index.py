"""Records in memory: the reference."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from memwell.errors import InvalidInput
from memwell.filters import FilterLike, as_filter
from memwell.records import Hit, Page, Record, Space, Vector, as_vector, pack_half, unpack_half
from memwell.storage import arguments as given
from memwell.storage import searching
from memwell.storage.copies import packed_vectors
from memwell.storage.memory.state import Store
from memwell.storage.protocols import Changes, IndexInfo, RecordIndex
from memwell.storage.searching import Numbered


class MemoryIndex(RecordIndex):
    """Records in memory, searched by looking at every one of the space."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def upsert(self, records: Sequence[Record]) -> None:
        checked = {name: _as_stored(record) for name, record in given.check_records(records).items()}
        undo = self._store.undo
        with self._store.use() as state:
            sizes = {space: _dimensions(state.records.get(space, {})) for space, _ in checked}
            for (space, _), record in checked.items():
                sizes[space] = _check_dimensions(record, sizes[space])
            for (space, id_), record in checked.items():
                held = undo.opened(state.records, space, dict[str, tuple[int, Record]])
                undo.assign(state, counter=state.counter + 1)
                position = held[id_][0] if id_ in held else state.counter
                undo.update(held, {id_: (position, record)})
                undo.extend(undo.opened(state.changed, space, list[int]), [position])

    def get(self, space: Space, ids: Iterable[str]) -> list[Record]:
        given.check_space(space)
        wanted = given.check_ids(ids)
        with self._store.use() as state:
            held = state.records.get(space, {})
            return [copy.deepcopy(held[id_][1]) for id_ in wanted if id_ in held]

    def delete(self, space: Space, ids: Iterable[str]) -> int:
        given.check_space(space)
        wanted = given.check_ids(ids)
        with self._store.use() as state:
            held = state.records.get(space, {})
            gone = [held[id_][0] for id_ in dict.fromkeys(wanted) if id_ in held]
            self._store.undo.drop(held, wanted)
            self._store.undo.extend(self._store.undo.opened(state.changed, space, list[int]), gone)
            return len(gone)

    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        given.check_space(space)
        wanted = {id_: unpack_half(data) for id_, data in packed_vectors(vectors).items()}
        undo = self._store.undo
        with self._store.use() as state:
            held = state.records.get(space, {})
            touched = {id_: pair for id_, pair in held.items() if pair[1].vector is not None or id_ in wanted}
            for id_, (position, record) in touched.items():
                undo.update(held, {id_: (position, msgspec.structs.replace(record, vector=wanted.get(id_)))})
            if touched:
                undo.extend(state.changed[space], [position for position, _ in touched.values()])

    def _all(self, space: Space, where: FilterLike | None) -> list[Numbered]:
        given.check_space(space)
        wanted = as_filter(where)
        with self._store.use() as state:
            held = sorted(state.records.get(space, {}).values(), key=lambda pair: pair[0])
            return copy.deepcopy(searching.filtered(held, wanted))

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Record]:
        return searching.page(self._all(space, where), limit=limit, cursor=cursor, newest_first=newest_first)

    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        query = as_vector(vector)
        given.check_limit(limit)
        with self._store.use() as state:
            dimensions = _dimensions(state.records.get(given.check_space(space), {}))
        if dimensions is not None and len(query) != dimensions:
            raise InvalidInput(f"a vector of {len(query)} dimensions cannot search a space of {dimensions}")
        return searching.nearest(self._all(space, where), query, limit)

    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        given.check_limit(limit)
        return searching.matching(dict(self._all(space, None)), text, limit, as_filter(where))

    def changes(self, space: Space, since: int | None = None) -> Changes:
        given.check_space(space)
        with self._store.use() as state:
            changed = state.changed.get(space, [])
            known = since if since is not None and 0 <= since <= len(changed) else None
            held = state.records.get(space, {}).values()
            touched = None if known is None else set(changed[known:])
            found = sorted((pair for pair in held if touched is None or pair[0] in touched), key=lambda pair: pair[0])
            gone = sorted((touched or set()) - {number for number, _ in found})
            at = None if self._store.inside() else len(changed)
            return Changes(at, known is None, copy.deepcopy(found), gone)

    def info(self, space: Space) -> IndexInfo:
        records = [record for _, record in self._all(space, None)]
        vectors = [record.vector for record in records if record.vector is not None]
        with self._store.use() as state:
            changed = len(state.changed.get(space, ()))
        return IndexInfo(len(records), len(vectors), len(vectors[0]) if vectors else None, "exact", changed)


def _as_stored(record: Record) -> Record:
    vector = None if record.vector is None else unpack_half(pack_half(record.vector))
    metadata = given.decode_value(given.encode_value(record.metadata))
    return msgspec.structs.replace(record, vector=vector, metadata=metadata)


def _dimensions(held: dict[str, tuple[int, Record]]) -> int | None:
    return next((len(record.vector) for _, record in held.values() if record.vector is not None), None)


def _check_dimensions(record: Record, dimensions: int | None) -> int | None:
    if record.vector is None:
        return dimensions
    if dimensions is not None and len(record.vector) != dimensions:
        raise InvalidInput(
            f"record {record.id!r} has a vector of {len(record.vector)} dimensions in a space of {dimensions}"
        )
    return len(record.vector)


__all__ = ["MemoryIndex"]
