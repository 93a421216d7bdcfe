"""Vectors in halfvec: how they are sent, and how the nearest are found.

A space is searched exactly until it has many vectors; then it gets a graph (HNSW), an index of its vectors alone, so that
other spaces pay nothing for it when they are written and its own search meets no strangers. The graph is made in the
background by whoever first searches so large a space, without holding up writers, while the search stays exact. A graph
finds likely records; their scores are always computed from the vectors themselves, at single precision.
"""

from __future__ import annotations

import hashlib
import logging
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

from psycopg import adapters
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

from memwell.errors import MemwellError
from memwell.records import Vector, unpack_half
from memwell.storage.postgres.connections import Connections, Session
from memwell.storage.postgres.where import Condition

_logger = logging.getLogger(__name__)

GRAPH_DIMENSIONS = 4000
"""pgvector makes no graph of longer halfvecs; such spaces are searched exactly."""
_EFFORT = 200
_MOST_EFFORT = 1000
_MOST_KNOWN = 10_000
_PAUSE_S = 30.0
"""How long to wait after a graph could not be made, or another process was found making it."""


# On the wire


class HalfvecArray:
    """Vectors of one size as a binary ``halfvec[]``: sending them as text would take longer than storing them."""

    def __init__(self, vectors: Sequence[Vector], element_type: int) -> None:
        self.vectors = vectors
        self.element_type = element_type

    def encoded(self) -> bytes:
        """The array as its server reads it."""
        if not self.vectors:
            return struct.pack(">iiI", 0, 0, self.element_type)
        size = len(self.vectors[0])
        one = struct.Struct(f">ihh{size}e")
        head = struct.pack(">iiIii", 1, 0, self.element_type, len(self.vectors), 1)
        return head + b"".join([one.pack(one.size - 4, size, 0, *vector) for vector in self.vectors])


class _HalfvecArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: HalfvecArray) -> Buffer:
        return obj.encoded()


adapters.register_dumper(HalfvecArray, _HalfvecArrayDumper)


def halfvec_type(session: Session) -> int:
    """What this database calls the type: it differs from one to the next."""
    row = session.one("SELECT 'halfvec'::regtype::oid::bigint")
    assert row is not None
    return int(row[0])


def unpacked(sent: bytes | None) -> Vector | None:
    """The vector that ``halfvec_send`` gave."""
    if sent is None:
        return None
    turned = bytearray(len(sent) - 4)
    turned[0::2] = sent[5::2]
    turned[1::2] = sent[4::2]
    return unpack_half(bytes(turned))


def _written(vector: Vector) -> str:
    return f"[{','.join(map(repr, vector))}]"


# Searching


class Question(NamedTuple):
    """A search by vector within a space, which is named as the tables know it."""

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
        """How many candidates are scored anew: the first look is at half precision."""
        return self.limit + self.limit // 2 + 16


_NEAREST = """
    WITH likely AS MATERIALIZED (
        SELECT held.number, held.vector FROM memwell_record_vector AS held {allowed}
        WHERE held.space = %s AND held.dimensions = %s ORDER BY {distance} LIMIT %s
    ), best AS MATERIALIZED (
        SELECT number, 1.0 - (vector::vector <=> %s::vector) AS score FROM likely ORDER BY score DESC, number LIMIT %s
    )
    SELECT state.vectors, state.dimensions, best.score, {fields}
    FROM memwell_record_space AS state
    LEFT JOIN (best JOIN memwell_record AS record ON record.space = %s AND record.number = best.number) ON true
    WHERE state.space = %s ORDER BY best.score DESC, best.number"""
_ALLOWED = "JOIN memwell_record AS record ON record.space = %s AND record.number = held.number AND {condition}"
_BY_READING = "held.vector <=> %s::halfvec"
_BY_GRAPH = "(held.vector::halfvec({dimensions})) <=> %s::halfvec({dimensions})"
# Sorting all would be as right, and seems cheaper to the planner than it is. A plan for any space could not use a graph.
_GRAPH_SETTINGS = (
    "SELECT set_config('hnsw.ef_search', %s, true), set_config('hnsw.iterative_scan', 'relaxed_order', true), "
    "set_config('enable_sort', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)"
)
_PLAIN_SETTINGS = "SELECT set_config('enable_sort', 'on', true)"


def nearest(session: Session, question: Question, fields: str) -> list[tuple[Any, ...]]:
    """The space's count and size of vectors, the score and the fields of the best, best first.

    One row with neither score nor fields when nothing is found, and none when the space has never held a record.
    """
    return _asked(session, question, fields, _BY_READING)


def nearest_by_graph(session: Session, question: Question, fields: str) -> list[tuple[Any, ...]]:
    """The same by the space's graph, which may miss a few, or find fewer than there are when a filter lets few through."""
    session.execute(_GRAPH_SETTINGS, (str(min(_MOST_EFFORT, max(_EFFORT, question.likely))),))
    found = _asked(session, question, fields, _BY_GRAPH.format(dimensions=question.dimensions))
    session.execute(_PLAIN_SETTINGS)
    return found


def _asked(session: Session, question: Question, fields: str, distance: str) -> list[tuple[Any, ...]]:
    space, condition, vector = question.space, question.condition, _written(question.vector)
    allowed = _ALLOWED.format(condition=condition.sql) if condition else ""
    bindings = [
        *((space, *condition.bindings) if condition else ()),
        *(space, question.dimensions, vector, question.likely, vector, question.limit, space, space),
    ]
    return session.rows(_NEAREST.format(allowed=allowed, distance=distance, fields=fields), bindings)


# Graphs


def graph_prefix(space: str) -> str:
    """What the names of a space's graphs begin with; the size of their vectors comes behind."""
    return f"memwell_graph_{hashlib.sha256(space.encode()).hexdigest()[:24]}_"


_IS_BUILT = "SELECT coalesce((SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)), false)"
_OTHERS = (
    "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
    "WHERE indrelid = 'memwell_record_vector'::regclass AND starts_with(relname, %s) AND (relname <> %s OR NOT indisvalid)"
)
# A statement that makes an index takes no parameters, so PostgreSQL itself quotes what must be quoted.
_MAKE = (
    "SELECT format('CREATE INDEX CONCURRENTLY %%I ON memwell_record_vector USING hnsw "
    "((vector::halfvec(%%s)) halfvec_cosine_ops) WITH (m = 16, ef_construction = 128) "
    "WHERE space = %%L AND dimensions = %%s', %s::text, %s::text, %s::text, %s::text)"
)


class Graphs:
    """Which spaces have a graph, as far as this process knows, and the making of those that are due."""

    def __init__(self, connections: Connections, above: int) -> None:
        self._connections = connections
        self.above = above
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, int], bool] = OrderedDict()
        self._building: dict[tuple[str, int], threading.Thread] = {}
        self._tried: dict[tuple[str, int], float] = {}
        self._stopped = False

    def serves(self, session: Session, space: str, dimensions: int) -> bool:
        """Whether the space has a graph for vectors of this size."""
        with self._lock:
            known = self._known.get((space, dimensions))
        return self._look(session, space, dimensions) if known is None else known

    def _look(self, session: Session, space: str, dimensions: int) -> bool:
        if dimensions > GRAPH_DIMENSIONS:
            return False
        row = session.one(_IS_BUILT, (f"{graph_prefix(space)}{dimensions}",))
        found = row is not None and bool(row[0])
        self._remember(space, dimensions, found)
        return found

    def _remember(self, space: str, dimensions: int, found: bool) -> None:
        with self._lock:
            self._known[space, dimensions] = found
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)

    def make_if_due(self, space: str, dimensions: int, vectors: int) -> None:
        """Begin a graph in the background where one is due and not yet begun here."""
        if vectors <= self.above or dimensions > GRAPH_DIMENSIONS:
            return
        name = (space, dimensions)
        with self._lock:
            if self._stopped or self._known.get(name) or name in self._building:
                return
            if time.monotonic() < self._tried.get(name, -_PAUSE_S) + _PAUSE_S:
                return
            self._tried[name] = time.monotonic()
            thread = threading.Thread(
                target=self._build_quietly, args=(space, dimensions), name="memwell-hnsw", daemon=True
            )
            self._building[name] = thread
        thread.start()

    def _build_quietly(self, space: str, dimensions: int) -> None:
        # A graph is only an acceleration: when it cannot be made, search stays exact and tries again.
        try:
            self.build(space, dimensions)
        except MemwellError as error:
            _logger.warning("a graph of %d dimensions could not be built: %s", dimensions, error)
        finally:
            with self._lock:
                self._building.pop((space, dimensions), None)

    def build(self, space: str, dimensions: int) -> bool:
        """Make the space's graph now, and drop those of other sizes. False when another process is at it."""
        found = self._connections.apart(lambda session: _built(session, space, dimensions))
        if found:
            self._remember(space, dimensions, True)
        return found

    def wait(self, timeout: float) -> None:
        """Wait until what is being built has been built."""
        with self._lock:
            threads = list(self._building.values())
        for thread in threads:
            thread.join(timeout)

    def close(self) -> None:
        """Begin no more."""
        with self._lock:
            self._stopped = True


def _built(session: Session, space: str, dimensions: int) -> bool:
    prefix = graph_prefix(space)
    name = f"{prefix}{dimensions}"
    # Two that build at once would wait for each other's statements until one is chosen to fail.
    if session.one("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", (prefix,)) != (True,):
        return False
    # Invalid ones too: what a builder leaves that was killed.
    for (other,) in session.rows(_OTHERS, (prefix, name)):
        session.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {other}")
    if session.one(_IS_BUILT, (name,)) != (True,):
        row = session.one(_MAKE, (name, dimensions, space, dimensions))
        assert row is not None
        # A percent sign in the name of the space is no place for a value.
        session.execute(str(row[0]).replace("%", "%%"))
    return True


__all__ = [
    "GRAPH_DIMENSIONS",
    "Graphs",
    "HalfvecArray",
    "Question",
    "graph_prefix",
    "halfvec_type",
    "nearest",
    "nearest_by_graph",
    "unpacked",
]
