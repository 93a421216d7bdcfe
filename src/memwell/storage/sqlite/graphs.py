"""Search by vector in a SQLite store: its rows for the vector cache, and building graphs in the background.

A space that has outgrown exact search gets a graph, built in a thread of its own from a snapshot while searches go on
exactly. It is written next to the store and named in it with its digest, so that a file that is missing, torn, damaged
or of another store is never used: it is built again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np

from memwell.errors import MemwellError
from memwell.records import Vector
from memwell.storage.sqlite.connections import Connections, Session
from memwell.storage.sqlite.schema import SpaceRow, space_row
from memwell.storage.vectors import (
    Floats,
    HnswGraph,
    Scored,
    SidecarFile,
    VectorCache,
    as_query,
    build_index,
    load_index,
    save_index,
    update_index,
)

_REBUILD_SHARE = 10
"""A graph is brought up to date when one in this many of its rows has changed."""


class SqliteVectorRows:
    """The vectors of one space as a session sees them."""

    def __init__(self, session: Session, row: SpaceRow) -> None:
        assert row.dimensions is not None
        self._session = session
        self._row = row
        self.space = row.key
        self.change = row.change
        self.count = row.vectors
        self.dimensions = row.dimensions

    def all(self) -> Iterable[tuple[int, bytes]]:
        sql = "SELECT key, data FROM record_vector WHERE key >= ? AND key <= ?"
        return self._session.connection.execute(sql, self._row.bounds)

    def since(self, change: int) -> list[tuple[int, bytes | None]] | None:
        if change < self._row.forgotten:
            return None
        low = self._row.low
        sql = (
            "SELECT DISTINCT record_change.record, data FROM record_change "
            "LEFT JOIN record_vector ON record_vector.key = record_change.record "
            "WHERE record_change.key > ? AND record_change.key <= ?"
        )
        return self._session.rows(sql, (low | change, low | self.change))

    def some(self, keys: Sequence[int]) -> list[tuple[int, bytes]]:
        sql = "SELECT key, data FROM record_vector WHERE key IN (SELECT value FROM json_each(?))"
        return self._session.rows(sql, (msgspec.json.encode(list(keys)).decode(),))

    def sidecar(self) -> SidecarFile | None:
        row = self._session.one("SELECT change, file, digest FROM sidecar WHERE space = ?", (self.space,))
        return None if row is None else SidecarFile(*row)


class SqliteVectors:
    """Search by vector for one store."""

    def __init__(self, connections: Connections, most_bytes: int, graph_above: int) -> None:
        self._connections = connections
        folder = Path(f"{connections.path}-hnsw")
        self._cache = VectorCache(folder, most_bytes=most_bytes, graph_above=graph_above)
        self._lock = threading.Lock()
        self._building: dict[int, threading.Thread] = {}
        self._stopped = False

    @staticmethod
    def query(vector: Vector) -> Floats:
        """A vector to search for. Raises ``InvalidInput`` for one that has no direction."""
        return as_query(vector)

    def nearest(
        self, session: Session, row: SpaceRow, query: Floats, limit: int, allowed: list[int] | None
    ) -> list[Scored] | None:
        """The nearest vectors of a space, exact or by its graph. Starts building a graph where one is due.

        None when another thread has already searched a newer state of the space than this session sees.
        """
        inside = self._connections.transaction_here() is not None
        rows = SqliteVectorRows(session, row)
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
        index_graph, change = fresh
        self._cache.folder.mkdir(exist_ok=True)
        sidecar = save_index(index_graph.index, self._cache.folder, space, change)
        self._connections.write(lambda session: self._name(session, space, sidecar))
        self._cache.take(space, index_graph)
        self._remove_older(space, sidecar.file)
        return True

    def _row(self, session: Session, space: int) -> SpaceRow | None:
        path = session.one("SELECT path FROM space WHERE key = ?", (space,))
        return None if path is None else space_row(session, path[0])

    def _updated(self, session: Session, space: int, known: HnswGraph | None) -> tuple[HnswGraph, int] | None:
        """The last written graph with the changes since added, when they are few."""
        row = self._row(session, space)
        if known is None or row is None or row.dimensions is None:
            return None
        rows = SqliteVectorRows(session, row)
        sidecar = rows.sidecar()
        changes = None if sidecar is None else rows.since(sidecar.change)
        if sidecar is None or changes is None or len(changes) * 3 > row.vectors:
            return None
        index = load_index(self._cache.folder, sidecar, row.dimensions)
        if index is None or not update_index(index, changes, row.dimensions, lambda: self._stopped):
            return None
        return HnswGraph(index, row.dimensions, row.change), row.change

    def _rebuilt(self, space: int) -> tuple[HnswGraph, int] | None:
        def read(session: Session) -> tuple[SpaceRow, list[tuple[int, bytes]]] | None:
            row = self._row(session, space)
            if row is None or row.dimensions is None:
                return None
            return row, list(SqliteVectorRows(session, row).all())

        # The snapshot ends before the long part: an open one would keep the write-ahead log growing.
        found = self._connections.snapshot(read)
        if found is None:
            return None
        row, rows = found
        dimensions = row.dimensions or 0
        index = build_index(rows, dimensions, lambda: self._stopped)
        return None if index is None else (HnswGraph(index, dimensions, row.change), row.change)

    @staticmethod
    def _name(session: Session, space: int, sidecar: SidecarFile) -> None:
        session.execute("INSERT OR REPLACE INTO sidecar VALUES (?, ?, ?, ?)", (space, *sidecar))

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
