"""Nearest vectors: exact in memory, and a graph (HNSW) beside the store for spaces too large for that.

The rows of the store are the only truth. What is here is a cache of them, made when a space is first searched and brought
up to date from the store's record of changes before every search, so that writes of this and other processes count at once.
A graph answers for the rows it was built from; rows changed since are searched exactly and win over it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

Keys = NDArray[np.int64]
Floats = NDArray[np.float32]

CONNECTIVITY = 16
EXPANSION_ADD = 128
EXPANSION_SEARCH = 256
_CHUNK = 4096


class Scored(NamedTuple):
    """A key and how near its vector is, by cosine."""

    score: float
    key: int


class SidecarFile(NamedTuple):
    """A graph on disk: the change it was built at, its file's name, and the SHA-256 of its bytes."""

    change: int
    file: str
    digest: str


class VectorRows(Protocol):
    """The vectors of one space as one snapshot of the store shows them."""

    space: int
    change: int
    count: int
    dimensions: int

    def all(self) -> Iterable[tuple[int, bytes]]:
        """Every key with its half-precision vector."""
        ...

    def since(self, change: int) -> list[tuple[int, bytes | None]] | None:
        """What changed after ``change``: keys with their vectors now, None for gone; None when that is forgotten."""
        ...

    def some(self, keys: Sequence[int]) -> list[tuple[int, bytes]]:
        """The vectors of some keys."""
        ...

    def sidecar(self) -> SidecarFile | None:
        """The graph the store knows of."""
        ...


def _floats(data: bytes, dimensions: int) -> Floats:
    """Half-precision rows as unit vectors of single precision."""
    rows = np.frombuffer(data, dtype="<f2").reshape(-1, dimensions).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


class Matrix:
    """Vectors of one space in memory. A search uses a state that later changes never touch, so it needs no lock.

    A changed vector is added at the end and its old row declared dead; when a quarter is dead the rows are packed anew.
    """

    def __init__(self, dimensions: int, change: int, rows: Iterable[tuple[int, bytes]] = ()) -> None:
        listed = list(rows)
        self.dimensions = dimensions
        self.change = change
        self._keys: Keys = np.array([key for key, _ in listed], dtype=np.int64)
        self._rows = _floats(b"".join(data for _, data in listed), dimensions)
        self._alive = np.ones(len(listed), dtype=np.bool_)
        self._place: dict[int, int] | None = None
        self._used: int = len(listed)

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return self._rows.nbytes + self._keys.nbytes + self._alive.nbytes

    @property
    def count(self) -> int:
        """How many vectors it holds."""
        return int(self._alive[: self._used].sum())

    def apply(self, change: int, changes: Sequence[tuple[int, bytes | None]]) -> None:
        """Take changes over. Only one thread may do this at a time."""
        if self._place is None:
            live = np.flatnonzero(self._alive[: self._used])
            self._place = {int(self._keys[i]): int(i) for i in live}
        alive = self._alive.copy()
        added = [(key, data) for key, data in changes if data is not None]
        for key, _ in changes:
            place = self._place.pop(key, None)
            if place is not None:
                alive[place] = False
        self._reserve(self._used + len(added))
        if len(alive) < len(self._rows):
            alive = np.concatenate([alive, np.zeros(len(self._rows) - len(alive), dtype=np.bool_)])
        if added:
            end = self._used + len(added)
            self._rows[self._used : end] = _floats(b"".join(data for _, data in added), self.dimensions)
            self._keys[self._used : end] = [key for key, _ in added]
            alive[self._used : end] = True
            self._place.update({key: self._used + i for i, (key, _) in enumerate(added)})
            self._used = end
        self._alive = alive
        self.change = change
        self._pack()

    def _reserve(self, needed: int) -> None:
        if needed <= len(self._rows):
            return
        room = max(needed, len(self._rows) * 5 // 4, 64)
        rows = np.zeros((room, self.dimensions), dtype=np.float32)
        rows[: self._used] = self._rows[: self._used]
        keys = np.zeros(room, dtype=np.int64)
        keys[: self._used] = self._keys[: self._used]
        self._rows, self._keys = rows, keys

    def _pack(self) -> None:
        live = np.flatnonzero(self._alive[: self._used])
        if self._used - len(live) <= max(64, self._used // 4):
            return
        self._rows, self._keys = self._rows[live], self._keys[live]
        self._alive = np.ones(len(live), dtype=np.bool_)
        self._used, self._place = len(live), None

    def nearest(self, query: Floats, limit: int, allowed: Keys | None) -> list[Scored]:
        """The best by cosine, best first; only of ``allowed`` keys (sorted) when given."""
        used = self._used
        rows, keys, alive = self._rows[:used], self._keys[:used], self._alive[:used]
        if allowed is not None:
            alive = alive & np.isin(keys, allowed)
        if alive.all():
            return _top(rows @ query, keys, limit)
        places = np.flatnonzero(alive)
        if len(places) * 4 < used:
            return _top(rows[places] @ query, keys[places], limit)
        scores = rows @ query
        scores[~alive] = -np.inf
        return _top(scores, keys, min(limit, len(places)))


def _top(scores: Floats, keys: Keys, limit: int) -> list[Scored]:
    if limit < len(scores):
        best = np.argpartition(scores, len(scores) - limit)[len(scores) - limit :]
        scores, keys = scores[best], keys[best]
    order = np.lexsort((keys, -scores))[:limit]
    return [Scored(float(scores[i]), int(keys[i])) for i in order]


class Graph:
    """An HNSW index of the rows as they were at ``change``, and the rows changed since, held exactly."""

    def __init__(self, index: Index, dimensions: int, change: int) -> None:
        self.index = index
        self.built_at = change
        self.recent = Matrix(dimensions, change)
        self.stale: frozenset[int] = frozenset()

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self.index.memory_usage) + self.recent.nbytes

    def apply(self, change: int, changes: Sequence[tuple[int, bytes | None]]) -> None:
        """Take changes over without touching the graph itself."""
        self.recent.apply(change, changes)
        self.stale |= {key for key, _ in changes}

    def nearest(self, query: Floats, limit: int, allowed: Keys | None) -> list[int]:
        """Keys of the likely best, in no order."""
        wanted = min(limit + len(self.stale), len(self.index))
        found: list[int] = []
        if wanted:
            matches = self.index.search(query, wanted)
            found = [int(key) for key in matches.keys if int(key) not in self.stale]
        if allowed is not None:
            permitted = np.isin(np.array(found, dtype=np.int64), allowed)
            found = [key for key, ok in zip(found, permitted, strict=True) if ok]
        return found[:limit] + [hit.key for hit in self.recent.nearest(query, limit, allowed)]


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


def build_index(rows: Sequence[tuple[int, bytes]], dimensions: int, stopped: Callable[[], bool]) -> Index | None:
    """A graph of all rows, or None when told to stop."""
    index = new_index(dimensions)
    for start in range(0, len(rows), _CHUNK):
        if stopped():
            return None
        chunk = rows[start : start + _CHUNK]
        vectors = _floats(b"".join(data for _, data in chunk), dimensions)
        index.add(np.array([key for key, _ in chunk], dtype=np.uint64), vectors)
    return index


def update_index(
    index: Index, changes: Sequence[tuple[int, bytes | None]], dimensions: int, stopped: Callable[[], bool]
) -> bool:
    """Take changes into a graph; False when told to stop, which leaves it half done."""
    for start in range(0, len(changes), _CHUNK):
        if stopped():
            return False
        chunk = changes[start : start + _CHUNK]
        index.remove(np.array([key for key, _ in chunk if key in index], dtype=np.uint64))
        added = [(key, data) for key, data in chunk if data is not None]
        if added:
            vectors = _floats(b"".join(data for _, data in added), dimensions)
            index.add(np.array([key for key, _ in added], dtype=np.uint64), vectors)
    return True


def save_index(index: Index, folder: Path, space: int, change: int) -> SidecarFile:
    """Write a graph beside the store so that it is there whole or not at all."""
    folder.mkdir(exist_ok=True)
    name = f"{space}-{change}.usearch"
    written = folder / f"{name}.{os.getpid()}-{threading.get_ident()}.tmp"
    try:
        index.save(str(written))  # pyright: ignore[reportUnknownMemberType] - usearch is not fully typed
        data = written.read_bytes()
        with written.open("rb+") as file:
            os.fsync(file.fileno())
        written.replace(folder / name)
    finally:
        written.unlink(missing_ok=True)
    return SidecarFile(change, name, hashlib.sha256(data).hexdigest())


def load_index(folder: Path, sidecar: SidecarFile, dimensions: int) -> Index | None:
    """The graph in a file, or None when the file is missing, damaged or of something else."""
    path = folder / Path(sidecar.file).name
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data).hexdigest() != sidecar.digest:
        return None
    index = new_index(dimensions)
    index.load(data)  # pyright: ignore[reportUnknownMemberType] - usearch is not fully typed
    # The search's effort is ours to choose, not the file's.
    index.expansion_search = EXPANSION_SEARCH
    return index if index.ndim == dimensions else None


class VectorCache:
    """The matrices and graphs of recently searched spaces, bounded in memory; the least recently searched go first."""

    def __init__(self, folder: Path, *, most_bytes: int, graph_above: int) -> None:
        self.folder = folder
        self.graph_above = graph_above
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._matrices: OrderedDict[int, Matrix] = OrderedDict()
        self._graphs: OrderedDict[int, Graph] = OrderedDict()
        self._missing: set[tuple[int, str]] = set()

    def nearest(
        self, rows: VectorRows, query: Floats, limit: int, allowed: Keys | None, *, shared: bool
    ) -> list[Scored]:
        """The nearest of a space. With ``shared`` false (inside a transaction) nothing is cached that others may see."""
        graph = self._graph(rows) if shared and rows.count > self.graph_above else None
        if graph is not None and (allowed is None or len(allowed) * 2 > rows.count):
            widened = limit if allowed is None else limit * rows.count // max(len(allowed), 1) * 2
            return _rescored(rows, query, graph.nearest(query, widened, allowed), limit)
        if graph is not None and allowed is not None:
            return Matrix(rows.dimensions, rows.change, rows.some(allowed.tolist())).nearest(query, limit, None)
        return self._matrix(rows, shared=shared).nearest(query, limit, allowed)

    def _matrix(self, rows: VectorRows, *, shared: bool) -> Matrix:
        with self._lock:
            matrix = self._matrices.get(rows.space)
            if matrix is not None and matrix.dimensions == rows.dimensions:
                if matrix.change == rows.change:
                    self._matrices.move_to_end(rows.space)
                    return matrix
                changes = rows.since(matrix.change) if shared and matrix.change < rows.change else None
                if changes is not None:
                    matrix.apply(rows.change, changes)
                    self._matrices.move_to_end(rows.space)
                    return matrix
        fresh = Matrix(rows.dimensions, rows.change, rows.all())
        if shared:
            with self._lock:
                known = self._matrices.get(rows.space)
                if known is None or known.change < fresh.change:
                    self._matrices[rows.space] = fresh
                self._shrink()
        return fresh

    def _shrink(self) -> None:
        held = sum(m.nbytes for m in self._matrices.values()) + sum(g.nbytes for g in self._graphs.values())
        for cache in (self._matrices, self._graphs):
            while held > self._most_bytes and cache:
                _, gone = cache.popitem(last=False)
                held -= gone.nbytes

    def _graph(self, rows: VectorRows) -> Graph | None:
        with self._lock:
            graph = self._graphs.get(rows.space)
            if graph is None:
                graph = self._loaded(rows)
            if graph is None:
                return None
            if graph.recent.change < rows.change:
                changes = rows.since(graph.recent.change)
                if changes is None:
                    del self._graphs[rows.space]
                    return None
                graph.apply(rows.change, changes)
            elif graph.recent.change > rows.change:
                return None
            self._graphs.move_to_end(rows.space)
            return graph

    def _loaded(self, rows: VectorRows) -> Graph | None:
        sidecar = rows.sidecar()
        if sidecar is None or sidecar.change > rows.change or (rows.space, sidecar.file) in self._missing:
            return None
        index = load_index(self.folder, sidecar, rows.dimensions)
        if index is None:
            self._missing.add((rows.space, sidecar.file))
            return None
        graph = self._graphs[rows.space] = Graph(index, rows.dimensions, sidecar.change)
        self._matrices.pop(rows.space, None)
        self._shrink_around(rows.space)
        return graph

    def _shrink_around(self, space: int) -> None:
        self._graphs.move_to_end(space)
        graph = self._graphs.pop(space)
        self._shrink()
        self._graphs[space] = graph

    def take(self, space: int, graph: Graph) -> None:
        """Use a graph that was just built."""
        with self._lock:
            self._graphs[space] = graph
            self._matrices.pop(space, None)
            self._missing = {one for one in self._missing if one[0] != space}

    def graph_of(self, space: int) -> Graph | None:
        """The graph in memory, if there is one."""
        with self._lock:
            return self._graphs.get(space)


def _rescored(rows: VectorRows, query: Floats, keys: Sequence[int], limit: int) -> list[Scored]:
    """Exact scores for likely candidates: the graph computes at half precision."""
    return Matrix(rows.dimensions, rows.change, rows.some(keys)).nearest(query, limit, None)


__all__ = [
    "Graph",
    "Matrix",
    "Scored",
    "SidecarFile",
    "VectorCache",
    "VectorRows",
    "build_index",
    "load_index",
    "save_index",
    "update_index",
]
