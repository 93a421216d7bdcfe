"""Records in PostgreSQL: rows, words and vectors, changed by one statement a space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from memwell.errors import InvalidInput
from memwell.filters import FilterLike, as_filter
from memwell.language.segment import query_terms, segment
from memwell.records import Hit, Page, Record, Space, Vector, as_vector, stored_record, unpack_half
from memwell.storage import arguments as given
from memwell.storage.bm25 import distinct_terms
from memwell.storage.placement import packed_vectors
from memwell.storage.postgres.connections import Connections, Session
from memwell.storage.postgres.names import space_key
from memwell.storage.postgres.record_tables import keyed
from memwell.storage.postgres.vectors import (
    Graphs,
    HalfvecArray,
    Question,
    halfvec_type,
    nearest,
    nearest_by_graph,
    unpacked,
)
from memwell.storage.postgres.where import RECORD, compiled, filter_document
from memwell.storage.postgres.words import parts, search, space_prefix
from memwell.storage.protocols import Changes, IndexInfo, RecordIndex
from memwell.values import check_text

_decode = msgspec.json.Decoder().decode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_AT_ONCE = 2_000
"""How many records one statement takes: its parameters lie in memory on both sides."""
_FIELDS = "record.number, record.id, record.kind, record.stamp, record.metadata, record.text"
_WHOLE = (
    f"SELECT {_FIELDS}, halfvec_send(held.vector) FROM memwell_record AS record "
    "LEFT JOIN memwell_record_vector AS held ON held.space = record.space AND held.number = record.number "
    "WHERE record.space = %s"
)
_UPSERT = (
    "SELECT memwell_upsert_records(%s, %s::bigint, %s::text[], %s::text[], %s::text[], %s::double precision[], "
    "%s::bigint[], %s::integer[], %s::text[], %s::text[], %s::text[], %s::integer[], %s::integer[], %s::text[], "
    "%s::text[], %s::integer, %s::integer[], %b::halfvec[])"
)
_STATE = "SELECT change, forgotten, records, vectors, dimensions, length FROM memwell_record_space WHERE space = %s"


class _State(NamedTuple):
    """What is kept of a space's records as a whole."""

    change: int = 0
    forgotten: int = 0
    records: int = 0
    vectors: int = 0
    dimensions: int | None = None
    length: int = 0


class _Prepared(NamedTuple):
    record: Record
    terms: list[str]
    metadata: str


class PostgresIndex(RecordIndex):
    """Records in rows, their words in tsvector, their vectors in halfvec."""

    def __init__(self, connections: Connections, *, hnsw_above: int, kept_changes: int) -> None:
        self._connections = connections
        self._kept_changes = kept_changes
        self.graphs = Graphs(connections, hnsw_above)
        self._element_type: int | None = None

    def close(self) -> None:
        """Begin nothing more in the background."""
        self.graphs.close()

    # Writing

    def upsert(self, records: Sequence[Record]) -> None:
        prepared: dict[Space, list[_Prepared]] = {}
        for record in given.check_records(records).values():
            metadata = str(given.encode_value(record.metadata))
            prepared.setdefault(record.space, []).append(_Prepared(record, segment(record.text), metadata))
        if len(prepared) == 1:
            for space, group in prepared.items():
                self._upsert(space, group)
        elif prepared:
            with self._connections.transaction():
                # All in one order, so that no two wait for each other.
                for space, group in sorted(prepared.items()):
                    self._upsert(space, group)

    def _upsert(self, space: Space, group: list[_Prepared]) -> None:
        dimensions = _one_size([(one.record.id, one.record.vector) for one in group if one.record.vector is not None])
        path = space_key(space)

        def operation(session: Session) -> None:
            for start in range(0, len(group), _AT_ONCE):
                piece = group[start : start + _AT_ONCE]
                row = session.one(_UPSERT, self._row_values(session, path, piece, dimensions))
                if row is not None and row[0] is not None:
                    first = next(one.record for one in group if one.record.vector is not None)
                    raise _other_size(first.id, dimensions or 0, row[0])

        self._connections.write(space, operation)

    def _row_values(
        self, session: Session, path: str, piece: list[_Prepared], dimensions: int | None
    ) -> tuple[Any, ...]:
        records = [one.record for one in piece]
        keys = [keyed(record.id) for record in records]
        prefix = space_prefix(path)
        words = [
            (place, number, *part)
            for place, one in enumerate(piece, 1)
            for number, part in enumerate(parts(prefix, one.terms))
        ]
        vectors = [(place, r.vector) for place, r in enumerate(records, 1) if r.vector is not None]
        return (
            path,
            self._kept_changes,
            keys,
            [None if key == record.id else record.id for key, record in zip(keys, records, strict=True)],
            [record.kind for record in records],
            [record.time.timestamp() for record in records],
            [(record.time - _EPOCH) // _MICROSECOND for record in records],
            [len(one.terms) for one in piece],
            [filter_document(one.record.metadata, one.metadata) for one in piece],
            [one.metadata for one in piece],
            [record.text for record in records],
            *([row[column] for row in words] for column in range(4)),
            dimensions,
            [place for place, _ in vectors],
            self._sent(session, [vector for _, vector in vectors]),
        )

    def _sent(self, session: Session, vectors: Sequence[Vector]) -> HalfvecArray:
        if self._element_type is None:
            self._element_type = halfvec_type(session)
        return HalfvecArray(vectors, self._element_type)

    def delete(self, space: Space, ids: Iterable[str]) -> int:
        path = space_key(given.check_space(space))
        keys = list(dict.fromkeys(map(keyed, given.check_ids(ids))))
        if not keys:
            return 0

        def operation(session: Session) -> int:
            row = session.one(
                "SELECT memwell_delete_records(%s, %s::bigint, %s::text[])", (path, self._kept_changes, keys)
            )
            return int(row[0]) if row else 0

        return self._connections.write(space, operation)

    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        path = space_key(given.check_space(space))
        pairs = [(id_, unpack_half(data)) for id_, data in packed_vectors(vectors).items()]
        dimensions = _one_size(pairs)

        def operation(session: Session) -> None:
            session.execute("SELECT memwell_clear_vectors(%s, %s::bigint)", (path, self._kept_changes))
            for start in range(0, len(pairs), _AT_ONCE):
                piece = pairs[start : start + _AT_ONCE]
                session.execute(
                    "SELECT memwell_set_vectors(%s, %s::bigint, %s::text[], %s::integer, %b::halfvec[])",
                    (
                        path,
                        self._kept_changes,
                        [keyed(id_) for id_, _ in piece],
                        dimensions,
                        self._sent(session, [vector for _, vector in piece]),
                    ),
                )

        self._connections.write(space, operation)

    # Reading

    def get(self, space: Space, ids: Iterable[str]) -> list[Record]:
        path = space_key(given.check_space(space))
        wanted = given.check_ids(ids)
        if not wanted:
            # Nothing to look for, but a closed store says so.
            self._connections.read(space, lambda session: session.execute("SELECT 1"))
            return []
        keys = list(dict.fromkeys(map(keyed, wanted)))
        sql = f"{_WHOLE} AND record.key = ANY (%s::text[])"
        found = {row[1]: row for row in self._connections.read(space, lambda session: session.rows(sql, (path, keys)))}
        return [_record(space, found[id_][:6], found[id_][6]) for id_ in wanted if id_ in found]

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Record]:
        path = space_key(given.check_space(space))
        condition = compiled(as_filter(where), RECORD)
        start = given.check_cursor(cursor)
        given.check_limit(limit)
        bounds: tuple[Any, ...] = () if cursor is None else (start,)
        behind = "" if cursor is None else f"AND record.number {'<' if newest_first else '>'} %s::bigint"
        order = "DESC" if newest_first else "ASC"
        sql = f"{_WHOLE} {behind} AND {condition.sql} ORDER BY record.number {order} LIMIT %s"
        bindings = (path, *bounds, *condition.bindings, limit + 1)
        rows = self._connections.read(space, lambda session: session.rows(sql, bindings))
        items = [_record(space, row[:6], row[6]) for row in rows[:limit]]
        return Page(items, str(rows[limit - 1][0]) if len(rows) > limit else None)

    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        path = space_key(given.check_space(space))
        condition = None if where is None else compiled(as_filter(where), RECORD)
        question = Question(path, as_vector(vector), given.check_limit(limit), condition)
        rows = self._nearest(space, question)
        if not rows:
            return []
        vectors, dimensions = rows[0][:2]
        if dimensions is not None and dimensions != question.dimensions:
            raise InvalidInput(f"a vector of {question.dimensions} dimensions cannot search a space of {dimensions}")
        if self._connections.transaction_here() is None:
            self.graphs.make_if_due(path, question.dimensions, vectors)
        return [Hit(_record(space, row[3:], None), row[2]) for row in rows if row[2] is not None]

    def _nearest(self, space: Space, question: Question) -> list[tuple[Any, ...]]:
        def by_reading(session: Session) -> list[tuple[Any, ...]] | None:
            if self.graphs.serves(session, question.space, question.dimensions):
                return None
            return nearest(session, question, _FIELDS)

        def by_graph(session: Session) -> list[tuple[Any, ...]]:
            rows = nearest_by_graph(session, question, _FIELDS)
            # A filter that few satisfy: a graph gives up before it has met them all.
            found = sum(row[2] is not None for row in rows)
            complete = not rows or found >= min(question.limit, rows[0][0])
            return rows if complete else nearest(session, question, _FIELDS)

        rows = self._connections.read(space, by_reading)
        return self._connections.snapshot(space, by_graph) if rows is None else rows

    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        path = space_key(given.check_space(space))
        terms = distinct_terms(query_terms(check_text(text, "text")))
        condition = None if where is None else compiled(as_filter(where), RECORD)
        given.check_limit(limit)

        def operation(session: Session) -> list[tuple[Any, ...]]:
            return search(session, path, terms, limit, condition, _FIELDS)

        # Text without a word asks for nothing, and finds nothing; but a closed store says that it is closed.
        return [Hit(_record(space, row[1:], None), row[0]) for row in self._connections.read(space, operation)]

    def changes(self, space: Space, since: int | None = None) -> Changes:
        path = space_key(given.check_space(space))
        inside = self._connections.transaction_here() is not None
        if since is not None and not inside:
            state = self._connections.read(space, lambda session: _state(session, path))
            if state.change == since:
                return Changes(since, False, [], [])
        return self._connections.snapshot(space, lambda session: _changes(session, space, path, since, inside=inside))

    def info(self, space: Space) -> IndexInfo:
        path = space_key(given.check_space(space))

        def operation(session: Session) -> IndexInfo:
            state = _state(session, path)
            searched = "exact"
            if state.dimensions is not None and state.vectors > self.graphs.above:
                searched = "hnsw" if self.graphs.serves(session, path, state.dimensions) else "exact"
            return IndexInfo(state.records, state.vectors, state.dimensions, searched, state.change)

        return self._connections.read(space, operation)


def _one_size(pairs: Sequence[tuple[str, Vector]]) -> int | None:
    """The size of all the vectors, None when there are none. Raises ``InvalidInput`` when they are not of one."""
    if not pairs:
        return None
    size = len(pairs[0][1])
    for id_, vector in pairs:
        if len(vector) != size:
            raise _other_size(id_, len(vector), size)
    return size


def _other_size(id_: str, size: int, expected: int) -> InvalidInput:
    return InvalidInput(f"record {id_!r} has a vector of {size} dimensions in a space of {expected}")


def _state(session: Session, path: str) -> _State:
    row = session.one(_STATE, (path,))
    return _State() if row is None else _State(*row)


def _changes(session: Session, space: Space, path: str, since: int | None, *, inside: bool) -> Changes:
    state = _state(session, path)
    at = None if inside else state.change
    if since is None or not state.forgotten <= since <= state.change:
        rows = session.rows(f"{_WHOLE} ORDER BY record.number", (path,))
        return Changes(at, True, [(row[0], _record(space, row[:6], row[6])) for row in rows], [])
    if since == state.change:
        return Changes(at, False, [], [])
    sql = "SELECT DISTINCT number FROM memwell_record_change WHERE space = %s AND change > %s::bigint"
    numbers = [int(number) for (number,) in session.rows(sql, (path, since))]
    rows = session.rows(f"{_WHOLE} AND record.number = ANY (%s::bigint[]) ORDER BY record.number", (path, numbers))
    found = [(int(row[0]), _record(space, row[:6], row[6])) for row in rows]
    return Changes(at, False, found, sorted(set(numbers) - {number for number, _ in found}))


def _record(space: Space, row: tuple[Any, ...], sent: bytes | None) -> Record:
    _, id_, kind, stamp, metadata, text = row
    time = _EPOCH + timedelta(microseconds=stamp)
    return stored_record(text, space, id_, kind, time, _decode(metadata), unpacked(sent))


__all__ = ["PostgresIndex"]
