"""Search by vector in SQLite: exact in memory, and by an HNSW graph in spaces too large for that.

The rows of the store are the truth. The cache of a space is made when it is first searched, and updated from the journal of
changes before every search, so that writes of this and other processes count at once. A space that has outgrown exact
search gets a graph, built in a background thread from a snapshot. The graph answers for the rows it was built from; rows
changed since are searched exactly and override it. It is written next to the store and named in it with its digest, so that
a file that is missing, torn, damaged or of another store is never used: it is built again.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from memwell._native import native_calls, product
from memwell.errors import MemwellError
from memwell.records import MAX_DIMENSIONS, Vector, as_vector
from memwell.storage.files import create_private, open_plain
from memwell.storage.sqlite.connections import Connections, Session
from memwell.storage.sqlite.encryption import FileKey, read_encrypted, write_encrypted
from memwell.storage.sqlite.schema import SpaceRow, known_change, space_row

Keys = NDArray[np.int64]
Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)

CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 256
_BUILDERS = 1
"""Threads that build a graph. With more, usearch makes up to one vector in a hundred unreachable."""
_CHUNK = 256
"""Vectors added at a time: stopping waits for no more than these."""
_READ = 4_096
"""Vectors read at a time: all rows of a large space would take three times the memory of its vectors."""
_BLOCK = 64
_FEW = 256
"""Up to this many scores are sorted whole: selecting first takes longer."""
_REBUILD_SHARE = 10
"""A graph is brought up to date when one in this many of its rows has changed."""


class Scored(NamedTuple):
    """A key and how near its vector is, by cosine."""

    score: float
    key: int


class SidecarFile(NamedTuple):
    """A graph on disk: the state it was built at, its file's name, and the SHA-256 of its bytes."""

    change: int
    file: str
    digest: str


class VectorRows:
    """The vectors of one space, half-precision, as one snapshot of the store shows them."""

    def __init__(self, session: Session, row: SpaceRow) -> None:
        assert row.dimensions is not None
        self._session = session
        self._row = row
        self.space = row.key
        self.change = row.state
        self.count = row.vectors
        self.dimensions = row.dimensions

    def all(self) -> Iterable[tuple[int, bytes]]:
        """Every key with its vector."""
        sql = "SELECT key, data FROM record_vector WHERE key >= ? AND key <= ?"
        return self._session.connection.execute(sql, self._row.bounds)

    def since(self, state: int) -> list[tuple[int, bytes | None]] | None:
        """What changed after a state: keys with their vectors, None for deleted ones; None when it is not known."""
        change = known_change(self._session, self._row, state)
        if change is None:
            return None
        low = self._row.low
        sql = (
            "SELECT DISTINCT record_change.record, data FROM record_change "
            "LEFT JOIN record_vector ON record_vector.key = record_change.record "
            "WHERE record_change.key > ? AND record_change.key <= ?"
        )
        return self._session.rows(sql, (low | change, low | self._row.change))

    def some(self, keys: Sequence[int]) -> list[tuple[int, bytes]]:
        """The vectors of some keys."""
        sql = "SELECT key, data FROM record_vector WHERE key IN (SELECT value FROM json_each(?))"
        return self._session.rows(sql, (msgspec.json.encode(list(keys)).decode(),))

    def sidecar(self) -> SidecarFile | None:
        """The graph that the store names."""
        row = self._session.one("SELECT change, file, digest FROM sidecar WHERE space = ?", (self.space,))
        return None if row is None else SidecarFile(*row)


def as_query(vector: Vector) -> Floats:
    """The vector as ``as_vector`` gives it, several times faster. Raises ``InvalidInput`` as that does."""
    narrow = _narrow(vector)
    if narrow is not None and 0 < len(narrow) <= MAX_DIMENSIONS:
        wide = narrow.astype(np.float64)
        length = math.sqrt(wide.dot(wide))
        if 1e-30 < length < math.inf:
            return (wide / length).astype(np.float32)
    return np.array(as_vector(vector), dtype=np.float32)


def _narrow(vector: object) -> Floats | None:
    """The numbers at single precision; None where that is slow or overflows."""
    if isinstance(vector, np.ndarray):
        array = cast("NDArray[Any]", vector)
        return cast(Floats, array) if array.ndim == 1 and array.dtype == np.float32 else _narrow(array.tolist())
    if isinstance(vector, list | tuple):
        numbers = cast("Sequence[float]", vector)
        # What single precision cannot hold is left to as_vector: here its square would overflow.
        with suppress(struct.error, OverflowError):
            return np.frombuffer(struct.pack(f"{len(numbers)}f", *numbers), dtype=np.float32)
    return None


def _floats(data: bytes, dimensions: int) -> Floats:
    """Half-precision rows as unit vectors of single precision."""
    rows = np.frombuffer(data, dtype="<f2").reshape(-1, dimensions).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


class View(NamedTuple):
    """Vectors as they were at one moment. Later changes never touch it, so a search of it needs no lock."""

    keys: Keys
    rows: Floats
    alive: Flags
    whole: bool
    """Whether all are alive."""

    def nearest(self, query: Floats, limit: int, allowed: Keys | None) -> list[Scored]:
        """The best by cosine, best first; only of ``allowed`` keys when given."""
        if self.whole and allowed is None:
            return _top(product(self.rows, query), self.keys, limit)
        alive = self.alive if allowed is None else self.alive & np.isin(self.keys, allowed)
        places = np.flatnonzero(alive)
        if len(places) * 4 < len(alive):
            return _top(product(self.rows[places], query), self.keys[places], limit)
        scores = product(self.rows, query)
        scores[~alive] = -np.inf
        return _top(scores, self.keys, min(limit, len(places)))


class Matrix:
    """The vectors of one space in memory, brought up to date by changes.

    A changed vector is added at the end and its old row declared dead, so that views taken before stay as they are; when a
    quarter is dead the rows are compacted. Only one thread may change or view it at a time.
    """

    def __init__(
        self, dimensions: int, change: int, rows: Iterable[tuple[int, bytes]] = (), *, expected: int = 0
    ) -> None:
        """From rows that are read in blocks; with how many are ``expected`` nothing is copied as it grows."""
        self.dimensions = dimensions
        self.change = change
        self._keys: Keys = np.zeros(expected, dtype=np.int64)
        self._rows: Floats = np.zeros((expected, dimensions), dtype=np.float32)
        self._alive: Flags = np.ones(expected, dtype=np.bool_)
        self._used: int = 0
        self._place: dict[int, int] | None = None
        self._view: View | None = None
        left = iter(rows)
        while block := list(islice(left, _READ)):
            self._append(block)

    def _append(self, rows: Sequence[tuple[int, bytes]]) -> None:
        end = self._used + len(rows)
        self._reserve(end)
        self._rows[self._used : end] = _floats(b"".join(data for _, data in rows), self.dimensions)
        self._keys[self._used : end] = [key for key, _ in rows]
        self._alive[self._used : end] = True
        self._used = end

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self._rows.nbytes + self._keys.nbytes + self._alive.nbytes

    def view(self) -> View:
        """The vectors as they are now."""
        if self._view is None:
            alive = self._alive[: self._used]
            self._view = View(self._keys[: self._used], self._rows[: self._used], alive, bool(alive.all()))
        return self._view

    def apply(self, change: int, changes: Sequence[tuple[int, bytes | None]]) -> None:
        """Apply changes: keys with their new vectors, or None for deleted ones."""
        if self._place is None:
            live = np.flatnonzero(self._alive[: self._used])
            self._place = {int(self._keys[i]): int(i) for i in live}
        added = [(key, data) for key, data in changes if data is not None]
        gone = [place for key, _ in changes if (place := self._place.pop(key, None)) is not None]
        # Views taken before have the old flags.
        self._alive = self._alive.copy()
        self._alive[gone] = False
        if added:
            self._place.update({key: self._used + i for i, (key, _) in enumerate(added)})
            self._append(added)
        self.change, self._view = change, None
        self._pack()

    def _reserve(self, needed: int) -> None:
        if needed <= len(self._rows):
            return
        room = max(needed, len(self._rows) * 5 // 4, 64)
        self._rows = _grown(self._rows, room)
        self._keys = _grown(self._keys, room)
        self._alive = _grown(self._alive, room)

    def _pack(self) -> None:
        live = np.flatnonzero(self._alive[: self._used])
        if self._used - len(live) <= max(64, self._used // 4):
            return
        self._rows, self._keys = self._rows[live], self._keys[live]
        self._alive = np.ones(len(live), dtype=np.bool_)
        self._used, self._place = len(live), None


def _grown(array: NDArray[Number], room: int) -> NDArray[Number]:
    larger = np.zeros((room, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _top(scores: Floats, keys: Keys, limit: int) -> list[Scored]:
    if len(scores) > max(limit, _FEW):
        best = np.flatnonzero(scores >= _bar(scores, limit))
        scores, keys = scores[best], keys[best]
    order = np.lexsort((keys, -scores))[:limit]
    return list(map(Scored, scores[order].tolist(), keys[order].tolist()))


def _bar(scores: Floats, limit: int) -> np.float32:
    """A threshold that at least ``limit`` of the scores reach, and few more."""
    blocks = len(scores) // _BLOCK
    if blocks > 4 * limit:
        # The maxima of blocks are scores too, so a threshold among them is one among all. Partitioning all is slower.
        scores = scores[: blocks * _BLOCK].reshape(_BLOCK, blocks).max(axis=0)
    return np.partition(scores, len(scores) - limit)[len(scores) - limit]


class HnswGraph:
    """An HNSW index of the rows as they were when it was built, and the rows changed since, held exactly."""

    def __init__(self, index: Index, dimensions: int, change: int) -> None:
        self.index = index
        self.recent = Matrix(dimensions, change)
        self.stale: frozenset[int] = frozenset()

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self.index.memory_usage) + self.recent.nbytes

    def apply(self, change: int, changes: Sequence[tuple[int, bytes | None]]) -> None:
        """Apply changes without touching the graph itself."""
        self.recent.apply(change, changes)
        self.stale |= {key for key, _ in changes}

    def view(self) -> GraphView:
        """The graph and what changed since, as they are now."""
        return GraphView(self.index, self.stale, self.recent.view())


class GraphView(NamedTuple):
    """A graph at one moment, the keys of rows changed since, and those rows."""

    graph: Index
    stale: frozenset[int]
    recent: View

    def candidates(self, query: Floats, limit: int, allowed: Keys | None) -> list[int]:
        """Keys of the likely best, in no order: at least ``limit`` of them if the graph can give as many."""
        permitted = None if allowed is None else frozenset(allowed.tolist())
        wanted = 2 * limit
        while True:
            wanted = min(wanted, len(self.graph))
            found = self._nearest(query, wanted) if wanted else []
            found = [k for k in found if k not in self.stale and (permitted is None or k in permitted)]
            if len(found) >= limit or wanted == len(self.graph):
                return found + [hit.key for hit in self.recent.nearest(query, limit, allowed)]
            wanted *= 4

    def _nearest(self, query: Floats, wanted: int) -> list[int]:
        with native_calls:
            return [int(key) for key in self.graph.search(query, wanted).keys]


def new_index(dimensions: int) -> Index:
    """An empty graph of the kind we use."""
    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="f16",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=EXPANSION_SEARCH,
    )


def build_index(rows: Iterable[tuple[int, bytes]], dimensions: int, stopped: Callable[[], bool]) -> Index | None:
    """A graph of all rows, or None when stopped."""
    index = new_index(dimensions)
    left = iter(rows)
    while chunk := list(islice(left, _CHUNK)):
        if stopped():
            return None
        _add(index, chunk, dimensions)
    return index


def _add(index: Index, rows: Sequence[tuple[int, bytes]], dimensions: int) -> None:
    vectors = _floats(b"".join(data for _, data in rows), dimensions)
    with native_calls:
        index.add(np.array([key for key, _ in rows], dtype=np.uint64), vectors, threads=_BUILDERS)


def update_index(
    index: Index, changes: Sequence[tuple[int, bytes | None]], dimensions: int, stopped: Callable[[], bool]
) -> bool:
    """Apply changes to a graph; False when stopped, which leaves it half done."""
    for start in range(0, len(changes), _CHUNK):
        if stopped():
            return False
        chunk = changes[start : start + _CHUNK]
        with native_calls:
            index.remove(np.array([key for key, _ in chunk if key in index], dtype=np.uint64))
        added = [(key, data) for key, data in chunk if data is not None]
        if added:
            _add(index, added, dimensions)
    return True


def save_index(
    index: Index, folder: Path, space: int, change: int, mode: int = 0o600, key: FileKey | None = None
) -> SidecarFile:
    """Write a graph next to the store, atomically, with the permissions ``mode``; encrypted with a key."""
    if not folder.is_dir():
        folder.mkdir(0o700, exist_ok=True)
        # Who may read the store may look into the folder.
        folder.chmod(mode | (mode & 0o444) >> 2)
    name = f"{space}-{change}.usearch"
    written = folder / f"{name}.{os.getpid()}-{threading.get_ident()}.tmp"
    try:
        if key is None:
            # It is written into a file of ours, which keeps its permissions.
            create_private(written)
            with native_calls:
                index.save(str(written))  # pyright: ignore[reportUnknownMemberType] - usearch is not fully typed
            data = written.read_bytes()
            with written.open("rb+") as file:
                os.fsync(file.fileno())
        else:
            with native_calls:
                data = cast(bytes, index.save())  # pyright: ignore[reportUnknownMemberType] - as above
            write_encrypted(written, key, [data])
        written.chmod(mode)
        written.replace(folder / name)
    finally:
        written.unlink(missing_ok=True)
    return SidecarFile(change, name, hashlib.sha256(data).hexdigest())


def load_index(folder: Path, sidecar: SidecarFile, dimensions: int, key: FileKey | None = None) -> Index | None:
    """The graph in a file, or None when the file is missing, damaged or of something else."""
    path = folder / Path(sidecar.file).name
    try:
        data = _read(path) if key is None else read_encrypted(path, key)
    except OSError:
        return None
    if hashlib.sha256(data).hexdigest() != sidecar.digest:
        return None
    index = new_index(dimensions)
    with native_calls:
        index.load(data)  # pyright: ignore[reportUnknownMemberType] - usearch is not fully typed
    # The file stores another value.
    index.expansion_search = EXPANSION_SEARCH
    return index if index.ndim == dimensions else None


def _read(path: Path) -> bytes:
    with open_plain(path) as file:
        return file.read()


class VectorCache:
    """The matrices and graphs of recently searched spaces, bounded in memory; the least recently searched go first."""

    def __init__(
        self,
        folder: Path,
        *,
        most_bytes: int,
        graph_above: int,
        key: Callable[[], FileKey | None] = lambda: None,
    ) -> None:
        self.key = key
        self.folder = folder
        self.graph_above = graph_above
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._matrices: OrderedDict[int, Matrix] = OrderedDict()
        self._graphs: OrderedDict[int, HnswGraph] = OrderedDict()
        self._missing: set[tuple[int, str]] = set()

    def nearest(
        self, rows: VectorRows, query: Floats, limit: int, allowed: Keys | None, *, shared: bool
    ) -> list[Scored] | None:
        """The nearest of a space, or None when the rows are an older state than the cache is at already.

        With ``shared`` false (inside a transaction) nothing is cached that others could see.
        """
        if not shared:
            whole = Matrix(rows.dimensions, rows.change, rows.all(), expected=rows.count)
            return whole.view().nearest(query, limit, allowed)
        with self._lock:
            if self._is_ahead(rows):
                return None
            graph = self._graph(rows) if rows.count > self.graph_above else None
            view = None if graph is None else graph.view()
            exact = self._matrix(rows).view() if view is None else None
        if exact is not None:
            return exact.nearest(query, limit, allowed)
        assert view is not None
        permitted = rows.count if allowed is None else len(allowed)
        if permitted * 4 < rows.count or limit * 4 > permitted:
            # A graph is for finding few among many: it may not reach every row, and most of a space is read as fast.
            pool = rows.all() if allowed is None else rows.some(allowed.tolist())
            return Matrix(rows.dimensions, rows.change, pool).view().nearest(query, limit, None)
        return _rescored(rows, query, view.candidates(query, limit, allowed), limit)

    def _is_ahead(self, rows: VectorRows) -> bool:
        matrix, graph = self._matrices.get(rows.space), self._graphs.get(rows.space)
        newest = max(matrix.change if matrix else -1, graph.recent.change if graph else -1)
        return newest > rows.change

    def _matrix(self, rows: VectorRows) -> Matrix:
        matrix = self._matrices.get(rows.space)
        if matrix is not None and matrix.dimensions == rows.dimensions:
            changes = [] if matrix.change == rows.change else rows.since(matrix.change)
            if changes is not None:
                if changes:
                    matrix.apply(rows.change, changes)
                self._matrices.move_to_end(rows.space)
                return matrix
        matrix = Matrix(rows.dimensions, rows.change, rows.all(), expected=rows.count)
        self._matrices[rows.space] = matrix
        self._matrices.move_to_end(rows.space)
        self._shrink()
        return matrix

    def _shrink(self) -> None:
        held = sum(m.nbytes for m in self._matrices.values()) + sum(g.nbytes for g in self._graphs.values())
        for cache in (self._matrices, self._graphs):
            # The one just used stays, however large: it is needed now.
            while held > self._most_bytes and len(cache) > 1:
                _, gone = cache.popitem(last=False)
                held -= gone.nbytes

    def _graph(self, rows: VectorRows) -> HnswGraph | None:
        graph = self._graphs.get(rows.space) or self._loaded(rows)
        if graph is None:
            return None
        changes = [] if graph.recent.change == rows.change else rows.since(graph.recent.change)
        if changes is None or graph.recent.dimensions != rows.dimensions:
            del self._graphs[rows.space]
            return None
        if changes:
            graph.apply(rows.change, changes)
        self._graphs.move_to_end(rows.space)
        return graph

    def _loaded(self, rows: VectorRows) -> HnswGraph | None:
        sidecar = rows.sidecar()
        if sidecar is None or sidecar.change > rows.change or (rows.space, sidecar.file) in self._missing:
            return None
        index = load_index(self.folder, sidecar, rows.dimensions, self.key())
        if index is None:
            self._missing.add((rows.space, sidecar.file))
            return None
        graph = HnswGraph(index, rows.dimensions, sidecar.change)
        self._matrices.pop(rows.space, None)
        self._graphs[rows.space] = graph
        self._shrink()
        return graph

    def take(self, space: int, graph: HnswGraph) -> None:
        """Use a graph that was just built."""
        with self._lock:
            self._graphs[space] = graph
            self._matrices.pop(space, None)
            self._missing = {one for one in self._missing if one[0] != space}

    def drop(self, space: int) -> None:
        """Drop what is cached of a space."""
        with self._lock:
            self._graphs.pop(space, None)
            self._matrices.pop(space, None)

    def graph_of(self, space: int) -> HnswGraph | None:
        """The graph in memory, if there is one."""
        with self._lock:
            return self._graphs.get(space)


def _rescored(rows: VectorRows, query: Floats, keys: Sequence[int], limit: int) -> list[Scored]:
    """Exact scores for likely candidates: the graph computes at half precision."""
    return Matrix(rows.dimensions, rows.change, rows.some(keys)).view().nearest(query, limit, None)


class SqliteVectors:
    """Search by vector for one store."""

    def __init__(self, connections: Connections, most_bytes: int, graph_above: int) -> None:
        self._connections = connections
        folder = Path(f"{connections.path}-hnsw")
        self._cache = VectorCache(
            folder, most_bytes=most_bytes, graph_above=graph_above, key=lambda: connections.key_of("graph")
        )
        self._lock = threading.Lock()
        self._building: dict[int, threading.Thread] = {}
        self._stopped = False

    query = staticmethod(as_query)

    def nearest(
        self, session: Session, row: SpaceRow, query: Floats, limit: int, allowed: list[int] | None
    ) -> list[Scored] | None:
        """The nearest vectors of a space, exact or by its graph. Starts building a graph where one is due.

        None when another thread has already searched a newer state of the space than this session sees.
        """
        inside = self._connections.transaction_here() is not None
        rows = VectorRows(session, row)
        keys = None if allowed is None else np.array(allowed, dtype=np.int64)
        found = self._cache.nearest(rows, query, limit, keys, shared=not inside)
        if not inside and self._graph_is_due(row):
            self._build_in_background(row.key)
        return found

    def has_graph(self, space: int) -> bool:
        """Whether the space has a graph."""
        return self._cache.graph_of(space) is not None

    def _graph_is_due(self, row: SpaceRow) -> bool:
        if row.vectors <= self._cache.graph_above:
            return False
        graph = self._cache.graph_of(row.key)
        return graph is None or len(graph.stale) * _REBUILD_SHARE > row.vectors

    def _build_in_background(self, space: int) -> None:
        with self._lock:
            if self._stopped or space in self._building:
                return
            thread = threading.Thread(target=self._build_quietly, args=(space,), name="memwell-hnsw", daemon=True)
            self._building[space] = thread
        thread.start()

    def _build_quietly(self, space: int) -> None:
        # A graph only makes search faster: when it cannot be built or written, search stays exact.
        try:
            with suppress(MemwellError, OSError, RuntimeError):
                self.build(space)
        finally:
            with self._lock:
                self._building.pop(space, None)

    def build(self, space: int) -> bool:
        """Build or update the space's graph now, write it next to the store, and use it. False when stopped."""
        known = self._cache.graph_of(space)
        fresh = self._connections.snapshot(lambda session: self._updated(session, space, known))
        if fresh is None:
            fresh = self._rebuilt(space)
        if fresh is None or self._stopped:
            return False
        sidecar = save_index(
            fresh.index, self._cache.folder, space, fresh.recent.change, self._connections.mode, self._cache.key()
        )
        sql, bindings = "INSERT OR REPLACE INTO sidecar VALUES (?, ?, ?, ?)", (space, *sidecar)
        self._connections.write(lambda session: session.execute(sql, bindings))
        self._cache.take(space, fresh)
        self._remove_older(space, sidecar.file)
        return True

    def _row(self, session: Session, space: int) -> SpaceRow | None:
        path = session.one("SELECT path FROM space WHERE key = ?", (space,))
        return None if path is None else space_row(session, path[0])

    def _updated(self, session: Session, space: int, known: HnswGraph | None) -> HnswGraph | None:
        """The last written graph with the changes since added, when they are few."""
        row = self._row(session, space)
        if known is None or row is None or row.dimensions is None:
            return None
        rows = VectorRows(session, row)
        sidecar = rows.sidecar()
        changes = None if sidecar is None else rows.since(sidecar.change)
        if sidecar is None or changes is None or len(changes) * 3 > row.vectors:
            return None
        index = load_index(self._cache.folder, sidecar, row.dimensions, self._cache.key())
        if index is None or not update_index(index, changes, row.dimensions, lambda: self._stopped):
            return None
        return HnswGraph(index, row.dimensions, row.state)

    def _rebuilt(self, space: int) -> HnswGraph | None:
        row = self._connections.snapshot(lambda session: self._row(session, space))
        if row is None or row.dimensions is None:
            return None
        index = build_index(self._all(row), row.dimensions, lambda: self._stopped)
        return None if index is None else HnswGraph(index, row.dimensions, row.state)

    def _all(self, row: SpaceRow) -> Iterator[tuple[int, bytes]]:
        """Every key of a space with its vector, read in blocks.

        Each block is a snapshot of its own: an open one would keep the write-ahead log growing. What changes meanwhile is
        among the changes since the row was read, which are searched in addition to the graph.
        """
        start, end = row.bounds
        size = 2 * (row.dimensions or 0)
        sql = "SELECT key, data FROM record_vector WHERE key >= ? AND key <= ? ORDER BY key LIMIT ?"
        while True:
            bindings = (start, end, _READ)
            block = self._connections.snapshot(lambda session, given=bindings: session.rows(sql, given))
            yield from ((key, data) for key, data in block if len(data) == size)
            if len(block) < _READ:
                return
            start = block[-1][0] + 1

    def _remove_older(self, space: int, current: str) -> None:
        for file in self._cache.folder.glob(f"{space}-*.usearch"):
            if file.name != current:
                file.unlink(missing_ok=True)

    def drop(self, spaces: Sequence[int]) -> None:
        """Drop the graphs of spaces, with their files. They are built again when they are due."""
        self.wait()

        def forget(session: Session) -> None:
            for space in spaces:
                session.execute("DELETE FROM sidecar WHERE space = ?", (space,))

        self._connections.write(forget)
        for space in spaces:
            self._cache.drop(space)
            self._remove_older(space, "")

    def forget(self, row: SpaceRow | None) -> None:
        """Drop what is cached of a space in memory."""
        if row is not None:
            self._cache.drop(row.key)

    def wait(self) -> None:
        """Wait until no graph is being built."""
        while True:
            with self._lock:
                # A forked child has the table of building threads, but not the threads.
                running = [thread for thread in self._building.values() if thread.is_alive()]
            if not running:
                return
            for thread in running:
                thread.join()

    def close(self) -> None:
        """Stop building, and wait for the builder to end."""
        self._stopped = True
        self.wait()
