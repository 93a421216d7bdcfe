"""Records in PostgreSQL: rows, words and vectors, changed by one statement a space."""

from __future__ import annotations

import base64
import hashlib
import logging
import struct
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import msgspec
import psycopg
from psycopg import adapters
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

from memwell.errors import InvalidInput
from memwell.filters import FilterLike, as_filter
from memwell.language.segment import query_terms
from memwell.records import Hit, Page, Record, Space, Vector, as_vector, stored_record, unpack_half
from memwell.storage import arguments as given
from memwell.storage.parts import (
    K1,
    MOST_POSTINGS,
    B,
    PreparedRecord,
    check_dimensions,
    distinct_terms,
    packed_vectors,
    prepare_records,
)
from memwell.storage.postgres.connections import HERE, Connections, Session
from memwell.storage.postgres.schema import RECORD, Condition, compiled, filter_document, keyed, space_key
from memwell.storage.protocols import Changes, IndexInfo, RecordIndex, split_state, state_of
from memwell.values import check_text

# Vectors in halfvec. A space is searched exactly until it has many vectors; then it gets a graph (HNSW), an index of its
# vectors alone, so that other spaces pay nothing for it but a look at its condition. An operator builds the graphs that are
# due (``memwell reindex``), without blocking writers; no reader does. A graph finds candidates; scores are always computed
# from the vectors.

_logger = logging.getLogger(__name__)

GRAPH_DIMENSIONS = 4000
"""pgvector builds no graph of longer halfvecs; such spaces are searched exactly."""
_EFFORT = 200
_MOST_EFFORT = 1000
_MOST_KNOWN = 10_000
_KNOWN_S = 60.0
"""How long it is remembered whether a space has a graph: another process may build or drop it."""
_WATCHED_S = 0.5


# On the wire


class HalfvecArray:
    """Packed vectors of one size as a binary ``halfvec[]``: sending text would take longer than storing it."""

    def __init__(self, vectors: Sequence[bytes], element_type: int) -> None:
        self.vectors = vectors
        self.element_type = element_type

    def encoded(self) -> bytes:
        """The array as its server reads it."""
        if not self.vectors:
            return struct.pack(">iiI", 0, 0, self.element_type)
        size = len(self.vectors[0])
        head = struct.pack(">iiIii", 1, 0, self.element_type, len(self.vectors), 1)
        front = struct.pack(">ihh", size + 4, size // 2, 0)
        return head + b"".join([front + _turned(vector) for vector in self.vectors])


class _HalfvecArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: HalfvecArray) -> Buffer:
        return obj.encoded()


adapters.register_dumper(HalfvecArray, _HalfvecArrayDumper)


def halfvec_type(session: Session) -> int:
    """The oid of the type, which differs between databases."""
    row = session.one("SELECT 'halfvec'::regtype::oid::bigint")
    assert row is not None
    return int(row[0])


def unpacked(sent: bytes | None) -> Vector | None:
    """The vector that ``halfvec_send`` gave."""
    return None if sent is None else unpack_half(_turned(sent[4:]))


def _turned(data: bytes) -> bytes:
    """Half-precision numbers with the other order of bytes."""
    turned = bytearray(len(data))
    turned[0::2] = data[1::2]
    turned[1::2] = data[0::2]
    return bytes(turned)


def _written(vector: Vector) -> str:
    return f"[{','.join(map(repr, vector))}]"


# Searching


class Question(NamedTuple):
    """A search by vector within a space, given by its key."""

    space: str
    vector: Vector
    limit: int
    condition: Condition | None

    @property
    def dimensions(self) -> int:
        """The size of the vector, which those of the space must have."""
        return len(self.vector)

    @property
    def likely(self) -> int:
        """How many candidates are scored again at single precision."""
        return self.limit + self.limit // 2 + 16


_FIELDS = "record.number, record.id, record.kind, record.stamp, record.metadata, record.text"
_NEAREST = f"""
    WITH likely AS MATERIALIZED (
        SELECT held.number, held.vector FROM memwell_record_vector AS held {{allowed}}
        WHERE held.space = %s AND held.dimensions = %s ORDER BY {{distance}} LIMIT %s
    ), best AS MATERIALIZED (
        SELECT number, 1.0 - (vector::vector <=> %s::vector) AS score FROM likely ORDER BY score DESC, number LIMIT %s
    )
    SELECT state.vectors, state.dimensions, best.score, {_FIELDS}
    FROM memwell_record_space AS state
    LEFT JOIN (best JOIN memwell_record AS record ON record.space = %s AND record.number = best.number) ON true
    WHERE state.space = %s ORDER BY best.score DESC, best.number"""
_ALLOWED = "JOIN memwell_record AS record ON record.space = %s AND record.number = held.number AND {condition}"
_BY_READING = "held.vector <=> %s::halfvec"
_BY_GRAPH = "(held.vector::halfvec({dimensions})) <=> %s::halfvec({dimensions})"
# The planner underestimates the cost of sorting all, and a generic plan could not use a graph.
_GRAPH_SETTINGS = (
    "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true), "
    "set_config('enable_sort', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)"
)
_PLAIN_SETTINGS = "SELECT set_config('enable_sort', 'on', true)"


def nearest(session: Session, question: Question, distance: str = _BY_READING) -> list[tuple[Any, ...]]:
    """The space's count and size of vectors, the score and the fields of the best, best first.

    One row with neither score nor fields when nothing is found, and none when the space has never held a record.
    """
    space, condition, vector = question.space, question.condition, _written(question.vector)
    allowed = _ALLOWED.format(condition=condition.sql) if condition else ""
    bindings = [
        *((space, *condition.bindings) if condition else ()),
        *(space, question.dimensions, vector, question.likely, vector, question.limit, space, space),
    ]
    return session.rows(_NEAREST.format(allowed=allowed, distance=distance), bindings)


def nearest_by_graph(session: Session, question: Question) -> list[tuple[Any, ...]]:
    """The same by the space's graph, which may miss a few, and finds too few with a selective filter."""
    session.execute(_GRAPH_SETTINGS, (str(min(_MOST_EFFORT, max(_EFFORT, question.likely))),))
    found = nearest(session, question, _BY_GRAPH.format(dimensions=question.dimensions))
    session.execute(_PLAIN_SETTINGS)
    return found


# Graphs


def graph_prefix(space: str) -> str:
    """The prefix of the names of a space's graphs; the size of their vectors follows."""
    return f"memwell_graph_{hashlib.sha256(space.encode()).hexdigest()[:24]}_"


_IS_BUILT = "SELECT coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)), false)"
_GRAPHS = (
    "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
    "WHERE relnamespace = %s::text::regnamespace AND starts_with(relname, 'memwell_graph_')"
)
_LARGE = (
    "SELECT space, dimensions, vectors FROM memwell_record_space WHERE vectors > %s AND dimensions <= %s ORDER BY space"
)
# Of tables that an operator has put into partitions, the one with the rows of the space.
_TABLE = "SELECT tableoid::regclass::text FROM memwell_record_vector WHERE space = %s LIMIT 1"
# CREATE INDEX takes no parameters, so PostgreSQL itself quotes the values.
_MAKE = (
    "SELECT format('CREATE INDEX CONCURRENTLY %%I ON %%s USING hnsw "
    "((vector::halfvec(%%s)) halfvec_cosine_ops) WITH (m = 16, ef_construction = 128) "
    "WHERE space = %%L AND dimensions = %%s', %s::text, %s::text, %s::text, %s::text, %s::text)"
)


class LargeSpace(NamedTuple):
    """A space with more vectors than are compared one by one, and the name of that graph."""

    space: str
    dimensions: int
    vectors: int

    @property
    def graph(self) -> str:
        return f"{graph_prefix(self.space)}{self.dimensions}"


class Graphs:
    """Which large spaces have a graph. Builds those that are due, and drops those that serve no space any more."""

    def __init__(self, connections: Connections, above: int) -> None:
        self._connections = connections
        self.above = above
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int], tuple[bool, float]] = OrderedDict()
        self._missed: set[str] = set()

    def serves(self, session: Session, space: str, dimensions: int) -> bool:
        """Whether the space has a graph for vectors of this size."""
        if dimensions > GRAPH_DIMENSIONS:
            return False
        with self._lock:
            found, until = self._known.get((space, dimensions), (False, 0.0))
        if time.monotonic() < until:
            return found
        found = session.one(_IS_BUILT, (f"{graph_prefix(space)}{dimensions}",)) == (True,)
        with self._lock:
            self._known[space, dimensions] = found, time.monotonic() + _KNOWN_S
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return found

    def hint_at_missing(self, space: str, dimensions: int, vectors: int) -> None:
        """Log, once for each space, that a search was exact because a large space has no graph."""
        if vectors <= self.above or dimensions > GRAPH_DIMENSIONS:
            return
        with self._lock:
            if space in self._missed or self._known.get((space, dimensions), (False,))[0]:
                return
            self._missed.add(space)
        _logger.warning("a space of %d vectors is searched without a graph; memwell reindex builds it", vectors)

    def tend(self, progress: Callable[[int, int | None], None] = lambda done, total: None) -> tuple[int, int]:
        """Build the graphs that are due, and drop those that serve no space; how many were built and dropped.

        ``progress`` is called with how many vectors are done, and of how many. What another process is building is left to
        it. If this one is killed, the server stops building within seconds.
        """

        def work(session: Session) -> tuple[int, int]:
            with suppress(psycopg.errors.InvalidParameterValue):  # not every server's platform can
                session.execute("SET client_connection_check_interval = '5s'")
            dropped = self.drop_unused(session)
            due = [one for one in self._large(session) if session.one(_IS_BUILT, (one.graph,)) != (True,)]
            total, done, built = sum(one.vectors for one in due), 0, 0
            for one in due:
                progress(done, total)
                with self._watched(one, lambda ready, before=done: progress(before + ready, total)):
                    built += _build(session, one)
                done += one.vectors
            progress(done, total)
            return built, dropped

        counts = self._connections.apart(work)
        with self._lock:
            self._known.clear()
        return counts

    def drop_unused(self, session: Session) -> int:
        """Drop the graphs that were left unfinished, and those of spaces that are small, gone or of another size."""
        wanted, dropped = {one.graph for one in self._large(session)}, 0
        for name, valid in session.rows(_GRAPHS, (self._connections.walls.schema,)):
            if (valid and name in wanted) or not _lock_graph(session, name):
                continue
            # Not concurrently, which would wait for every transaction; the lock is asked for no longer than others wait.
            session.execute(f"DROP INDEX IF EXISTS {self._connections.walls.schema}.{name}")
            dropped += 1
            _unlock_graph(session, name)
        return dropped

    def _large(self, session: Session) -> list[LargeSpace]:
        return [LargeSpace(*row) for row in session.rows(_LARGE, (self.above, GRAPH_DIMENSIONS))]

    @contextmanager
    def _watched(self, one: LargeSpace, ready: Callable[[int], None]) -> Generator[None]:
        """Tell how many vectors are in a graph, while it is built."""
        done = threading.Event()

        def watch(session: Session) -> None:
            sql = "SELECT tuples_done FROM pg_stat_progress_create_index WHERE index_relid = to_regclass(%s)"
            while not done.wait(_WATCHED_S):
                row = session.one(sql, (one.graph,))
                ready(0 if row is None else min(int(row[0]), one.vectors))

        with ThreadPoolExecutor(1) as pool:
            watching = pool.submit(self._connections.apart, watch)
            try:
                yield
            finally:
                done.set()
        watching.result()


def _lock_graph(session: Session, name: str) -> bool:
    """Whether no other process builds a graph, or drops it: two at once would deadlock."""
    return session.one("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)) == (True,)


def _unlock_graph(session: Session, name: str) -> None:
    session.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (name,))


def _build(session: Session, one: LargeSpace) -> bool:
    """Build a graph. False when another process does, or the space has just been emptied."""
    table = session.one(_TABLE, (one.space,))
    if table is None or not _lock_graph(session, one.graph):
        return False
    row = session.one(_MAKE, (one.graph, table[0], one.dimensions, one.space, one.dimensions))
    assert row is not None
    # A percent sign in the name of the space is no placeholder.
    session.execute(str(row[0]).replace("%", "%%"))
    _unlock_graph(session, one.graph)
    return True


# Words in tsvector, ranked by BM25. A lexeme is a term with a few letters of its space's digest in front, so that the index
# groups the postings by space. That is for speed alone: a search always compares the space too. A tsvector has each term
# once; counts above one are in another column. A text with more terms than a tsvector takes has several rows, and no term
# is in two of them.

_MOST_BYTES = 500_000
"""The limit for one tsvector. PostgreSQL takes a mebibyte of lexemes."""
_PREFIX = 4
_MOST_OF_A_TERM = MOST_POSTINGS // 4
"""Of a term in more rows than this not all are read."""


class WordRow(NamedTuple):
    """A row of words: lexemes with a space between, and the counts of those that occur more than once."""

    lexemes: str
    repeated: str | None


def space_prefix(space: str) -> str:
    """The prefix of the lexemes of a space. Spaces that share it are slower to search, but never mixed up."""
    return base64.urlsafe_b64encode(hashlib.sha256(space.encode()).digest())[:_PREFIX].decode()


def word_rows(prefix: str, terms: Sequence[str]) -> list[WordRow]:
    """The terms of a text, ready to be stored; none for a text without words."""
    if not terms:
        return []
    counts = Counter(terms)
    if sum(map(len, counts)) * 4 + len(counts) * _PREFIX < _MOST_BYTES:
        return [_word_row(prefix, list(counts), counts)]
    return [_word_row(prefix, group, counts) for group in _groups(list(counts))]


def _word_row(prefix: str, group: Sequence[str], counts: Counter[str]) -> WordRow:
    lexemes = prefix + f" {prefix}".join(group)
    if len(group) == counts.total():
        return WordRow(lexemes, None)
    repeated = {term: counts[term] for term in group if counts[term] > 1}
    return WordRow(lexemes, msgspec.json.encode(repeated).decode() if repeated else None)


def _groups(terms: Sequence[str]) -> list[list[str]]:
    """Terms in groups that fit a tsvector each."""
    groups: list[list[str]] = []
    left = 0
    for term in terms:
        size = len(term.encode()) + _PREFIX
        if size > left:
            groups.append([])
            left = _MOST_BYTES
        groups[-1].append(term)
        left -= size
    return groups


def search(
    session: Session, space: str, terms: Sequence[str], limit: int, condition: Condition | None
) -> list[tuple[Any, ...]]:
    """The exact BM25 score and the fields of the best records, best first, the newest first among equals."""
    prefix = space_prefix(space)
    allowed = _ALLOWED_MATCHES.format(condition=condition.sql) if condition else ""
    bindings = (
        space,
        list(terms),
        [_quoted(prefix + term) for term in terms],
        space,
        _MOST_OF_A_TERM,
        _MOST_OF_A_TERM,
        *((space, *condition.bindings) if condition else ()),
        limit,
        space,
    )
    return session.rows(_SEARCH.format(allowed=allowed), bindings)


def _quoted(lexeme: str) -> str:
    # Terms hold neither quotes nor backslashes today.
    doubled = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{doubled}'"


# Each term is looked up by itself, so that only the index is read and no tsvector. With a plain "=" and a plain join the
# planner would read the whole space for each. A term of which not all rows are read is left out, if there are others.
_SEARCH = f"""
    WITH state AS MATERIALIZED (
        SELECT records::double precision AS records, greatest(length, 1)::double precision / records AS average
        FROM memwell_record_space WHERE space = %s AND records > 0
    ), found AS MATERIALIZED (
        SELECT asked.place, posting.number, posting.length,
               coalesce((posting.repeated ->> asked.term)::double precision, 1.0) AS count
        FROM unnest(%s::text[], %s::tsquery[]) WITH ORDINALITY AS asked (term, lexeme, place)
        CROSS JOIN LATERAL (
            SELECT number, length, repeated FROM memwell_record_words
            WHERE words @@ asked.lexeme AND space IS NOT DISTINCT FROM %s LIMIT %s + 1
        ) AS posting
    ), term AS MATERIALIZED (
        SELECT place, count(*) AS size FROM found GROUP BY place
    ), weight AS (
        SELECT place, ln(1.0 + (records - size + 0.5) / (size + 0.5)) AS weight FROM term CROSS JOIN state
        WHERE size = (SELECT min(size) FROM term) OR size <= %s
    ), scored AS (
        SELECT number, sum(weight * count * {K1 + 1.0} / (count + {K1} * ({1.0 - B} + {B} * length / average))) AS score
        FROM found JOIN weight USING (place) CROSS JOIN state GROUP BY number
    ), best AS MATERIALIZED (
        SELECT scored.score, scored.number FROM scored {{allowed}} ORDER BY score DESC, scored.number DESC LIMIT %s
    )
    SELECT best.score, {_FIELDS} FROM best
    JOIN memwell_record AS record ON record.space = %s AND record.number = best.number
    ORDER BY best.score DESC, best.number DESC"""
_ALLOWED_MATCHES = (
    "JOIN memwell_record AS record ON record.space = %s AND record.number = scored.number AND {condition}"
)


_decode = msgspec.json.Decoder().decode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_AT_ONCE = 2_000
"""How many records one statement takes: its parameters are in memory on both sides."""
_WHOLE = (
    f"SELECT {_FIELDS}, halfvec_send(held.vector) FROM memwell_record AS record "
    "LEFT JOIN memwell_record_vector AS held ON held.space = record.space AND held.number = record.number "
    "WHERE record.space = %s"
)
# Each is looked up by itself: without statistics the planner would read the whole space, and all of its vectors.
_OWN_VECTOR = """
    LEFT JOIN LATERAL (
        SELECT vector FROM memwell_record_vector AS own
        WHERE own.space = record.space AND own.number = record.number OFFSET 0
    ) AS held ON true"""
_BY_KEYS = f"""
    SELECT {_FIELDS}, halfvec_send(held.vector) FROM {HERE} unnest(%s::text[]) AS wanted (one) CROSS JOIN LATERAL (
        SELECT * FROM memwell_record WHERE space = here.space AND key = wanted.one OFFSET 0
    ) AS record {_OWN_VECTOR}"""
_METADATA_BY_KEY = f"""
    SELECT found.* FROM {HERE} (
        SELECT id, metadata FROM memwell_record WHERE space = here.space AND key = %s
    ) AS found"""
_METADATA_BY_KEYS = _METADATA_BY_KEY.replace("key = %s", "key = ANY (%s)")
# The state, whether its history has the token of the last change that is known, and the records that changed since.
_SINCE = f"""
    SELECT state.change, state.token, state.known, changed.number, {_FIELDS}, halfvec_send(held.vector)
    FROM {HERE} (
        SELECT own.change, coalesce(last.token, 0) AS token,
            own.forgotten <= asked.change AND asked.change <= own.change AND coalesce(met.token, 0) = asked.token AS known,
            asked.change AS since
        FROM (SELECT %s::bigint AS change, %s::integer AS token) AS asked CROSS JOIN memwell_record_space AS own
        LEFT JOIN memwell_record_change AS last ON last.space = own.space AND last.change = own.change
        LEFT JOIN memwell_record_change AS met ON met.space = own.space AND met.change = asked.change
        WHERE own.space = here.space OFFSET 0
    ) AS state
    LEFT JOIN LATERAL (
        SELECT DISTINCT number FROM memwell_record_change
        WHERE state.known AND space = here.space AND change > state.since
    ) AS changed ON true
    LEFT JOIN LATERAL (
        SELECT * FROM memwell_record AS own WHERE own.space = here.space AND own.number = changed.number OFFSET 0
    ) AS record ON true {_OWN_VECTOR}
    ORDER BY changed.number"""
_NUMBERED = f"""
    SELECT found.* FROM {HERE} (
        SELECT {_FIELDS} FROM memwell_record AS record
        WHERE record.space = here.space AND record.number = ANY (%s::bigint[])
    ) AS found"""
_UPSERT = (
    f"SELECT done.other FROM {HERE} "
    "memwell_upsert_records(here.space, %s::bigint, %s::text[], %s::text[], %s::text[], %s::double precision[], "
    "%s::bigint[], %s::integer[], %s::text[], %s::text[], %s::text[], %s::integer[], %s::integer[], %s::text[], "
    "%s::text[], %s::integer, %s::integer[], %b::halfvec[]) "
    "AS done (other)"
)
_STATE = f"""
    SELECT found.* FROM {HERE} (
        SELECT change, forgotten, records, vectors, dimensions, length, coalesce((
            SELECT token FROM memwell_record_change AS noted WHERE noted.space = held.space AND noted.change = held.change
        ), 0) FROM memwell_record_space AS held WHERE space = here.space
    ) AS found"""


class _State(NamedTuple):
    """Counts and counters of a space's records."""

    change: int = 0
    forgotten: int = 0
    records: int = 0
    vectors: int = 0
    dimensions: int | None = None
    length: int = 0
    token: int = 0
    """The token of the last change."""

    @property
    def state(self) -> int:
        """The state of the space."""
        return state_of(self.change, self.token)


class PostgresIndex(RecordIndex):
    """Records in rows, their words in tsvector, their vectors in halfvec."""

    def __init__(self, connections: Connections, *, hnsw_above: int, kept_changes: int) -> None:
        self._connections = connections
        self._kept_changes = kept_changes
        self.graphs = Graphs(connections, hnsw_above)
        self._element_type: int | None = None

    # Writing

    def upsert(self, records: Sequence[Record]) -> None:
        prepared = prepare_records(records)
        if len(prepared) == 1:
            for space, group in prepared.items():
                self._upsert(space, group)
        elif prepared:
            with self._connections.transaction():
                # In one order, so that two transactions do not deadlock.
                for space, group in sorted(prepared.items()):
                    self._upsert(space, group)

    def _upsert(self, space: Space, group: list[PreparedRecord]) -> None:
        path, dimensions = space_key(space), None
        for one in group:
            if one.vector is not None:
                dimensions = check_dimensions(one.record.id, len(one.vector) // 2, dimensions)

        def operation(session: Session) -> None:
            for start in range(0, len(group), _AT_ONCE):
                piece = group[start : start + _AT_ONCE]
                [(other,)] = session.at_once(_UPSERT, space, self._row_values(session, path, piece, dimensions))
                if other is not None:
                    first = next(one.record for one in group if one.vector is not None)
                    check_dimensions(first.id, dimensions or 0, other)

        self._connections.write(space, operation, whole=len(group) <= _AT_ONCE)

    def _row_values(
        self, session: Session, path: str, piece: list[PreparedRecord], dimensions: int | None
    ) -> tuple[Any, ...]:
        records = [one.record for one in piece]
        keys = [keyed(record.id) for record in records]
        prefix = space_prefix(path)
        words = [
            (place, number, *row)
            for place, one in enumerate(piece, 1)
            for number, row in enumerate(word_rows(prefix, one.terms))
        ]
        vectors = [(place, one.vector) for place, one in enumerate(piece, 1) if one.vector is not None]
        return (
            self._kept_changes,
            keys,
            [None if key == record.id else record.id for key, record in zip(keys, records, strict=True)],
            [record.kind for record in records],
            [record.time.timestamp() for record in records],
            [(record.time - _EPOCH) // _MICROSECOND for record in records],
            [len(one.terms) for one in piece],
            [filter_document(one.metadata) for one in piece],
            [one.metadata for one in piece],
            [record.text for record in records],
            *([row[column] for row in words] for column in range(4)),
            dimensions,
            [place for place, _ in vectors],
            self._sent(session, [vector for _, vector in vectors]),
        )

    def _sent(self, session: Session, vectors: Sequence[bytes]) -> HalfvecArray:
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
        pairs = list(packed_vectors(vectors).items())
        dimensions = len(pairs[0][1]) // 2 if pairs else None

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
        given.check_space(space)
        wanted = given.check_ids(ids)
        keys = (list(dict.fromkeys(map(keyed, wanted))),)
        rows = self._connections.read(space, lambda session: session.at_once(_BY_KEYS, space, keys))
        found = {row[1]: row for row in rows}
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
        self.graphs.hint_at_missing(path, question.dimensions, vectors)
        return [Hit(_record(space, row[3:], None), row[2]) for row in rows if row[2] is not None]

    def _nearest(self, space: Space, question: Question) -> list[tuple[Any, ...]]:
        def by_reading(session: Session) -> list[tuple[Any, ...]] | None:
            if self.graphs.serves(session, question.space, question.dimensions):
                return None
            return nearest(session, question)

        def by_graph(session: Session) -> list[tuple[Any, ...]]:
            rows = nearest_by_graph(session, question)
            # With a selective filter a graph stops before it has found enough.
            found = sum(row[2] is not None for row in rows)
            complete = not rows or found >= min(question.limit, rows[0][0])
            return rows if complete else nearest(session, question)

        rows = self._connections.read(space, by_reading)
        return self._connections.snapshot(space, by_graph) if rows is None else rows

    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        path = space_key(given.check_space(space))
        terms = distinct_terms(query_terms(check_text(text, "text")))
        condition = None if where is None else compiled(as_filter(where), RECORD)
        given.check_limit(limit)

        # Text without a word finds nothing, but a closed store raises.
        rows = self._connections.read(space, lambda session: search(session, path, terms, limit, condition))
        return [Hit(_record(space, row[1:], None), row[0]) for row in rows]

    def changes(self, space: Space, since: int | None = None) -> Changes:
        path = space_key(given.check_space(space))
        inside = self._connections.transaction_here() is not None
        if since is not None:
            asked = split_state(since)
            rows = self._connections.read(space, lambda session: session.at_once(_SINCE, space, asked))
            if rows and rows[0][2]:
                return _changes_since(space, rows, inside=inside)

        def everything(session: Session) -> Changes:
            at = None if inside else _state(session, space).state
            found = session.rows(f"{_WHOLE} ORDER BY record.number", (path,))
            return Changes(at, True, [(row[0], _record(space, row[:6], row[6])) for row in found], [])

        return self._connections.snapshot(space, everything)

    def numbered(self, space: Space, numbers: Mapping[str, int]) -> list[Record]:
        given.check_space(space)
        wanted = (list(numbers.values()),)
        rows = self._connections.read(space, lambda session: session.at_once(_NUMBERED, space, wanted))
        found = {row[1]: _record(space, row, None) for row in rows if numbers.get(row[1]) == row[0]}
        return [found[id_] for id_ in numbers if id_ in found]

    def metadata_of(self, space: Space, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        given.check_space(space)
        keys = list(dict.fromkeys(map(keyed, given.check_ids(ids))))
        # The server would plan a list of one again each time.
        sql, wanted = (_METADATA_BY_KEY, keys) if len(keys) == 1 else (_METADATA_BY_KEYS, [keys])
        rows = self._connections.read(space, lambda session: session.at_once(sql, space, wanted))
        return {id_: _decode(metadata) for id_, metadata in rows}

    def metadata(self, space: Space) -> Iterable[tuple[int, dict[str, Any]]]:
        return ((int(number), _decode(metadata)) for number, metadata in self._column(space, "metadata"))

    def texts(self, space: Space) -> Iterable[tuple[int, str]]:
        return ((int(number), text) for number, text in self._column(space, "text"))

    def _column(self, space: Space, name: str) -> list[tuple[Any, ...]]:
        sql = f"SELECT number, {name} FROM memwell_record WHERE space = %s"
        path = space_key(given.check_space(space))
        return self._connections.read(space, lambda session: session.rows(sql, (path,)))

    def pieces(self, space: Space) -> Iterator[Changes]:
        path = space_key(given.check_space(space))
        state = self._connections.read(space, lambda session: _state(session, space)).state
        at = None if self._connections.transaction_here() is not None else state
        sql = f"{_WHOLE} AND record.number > %s::bigint ORDER BY record.number LIMIT %s"
        last, whole, more = -1, True, True
        while more:
            rows = self._connections.read(space, partial(Session.rows, sql=sql, bindings=(path, last, _AT_ONCE)))
            yield Changes(at, whole, [(row[0], _record(space, row[:6], row[6])) for row in rows], [])
            whole, more = False, len(rows) == _AT_ONCE
            last = rows[-1][0] if rows else last

    def info(self, space: Space) -> IndexInfo:
        path = space_key(given.check_space(space))

        def operation(session: Session) -> IndexInfo:
            state = _state(session, space)
            searched = "exact"
            if state.dimensions is not None and state.vectors > self.graphs.above:
                searched = "hnsw" if self.graphs.serves(session, path, state.dimensions) else "exact"
            return IndexInfo(
                state.records, state.vectors, state.dimensions, searched, state.state, state_of(state.forgotten)
            )

        return self._connections.read(space, operation)


def _state(session: Session, space: Space) -> _State:
    rows = session.at_once(_STATE, space, ())
    return _State(*rows[0]) if rows else _State()


def _changes_since(space: Space, rows: Sequence[tuple[Any, ...]], *, inside: bool) -> Changes:
    """The rows of ``_SINCE``, of a state that is known."""
    at = None if inside else state_of(*rows[0][:2])
    changed = [row[3:] for row in rows if row[3] is not None]
    found = [(int(number), _record(space, tuple(row[:6]), row[6])) for number, *row in changed if row[1] is not None]
    return Changes(at, False, found, [int(number) for number, *row in changed if row[1] is None])


def _record(space: Space, row: tuple[Any, ...], sent: bytes | None) -> Record:
    _, id_, kind, stamp, metadata, text = row
    time = _EPOCH + timedelta(microseconds=stamp)
    return stored_record(text, space, id_, kind, time, _decode(metadata), unpacked(sent))
