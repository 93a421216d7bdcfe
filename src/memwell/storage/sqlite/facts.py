"""What a SQLite store says of itself: sizes, counts, and the state of its indexes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from memwell.records import Space
from memwell.storage.sqlite.connections import Session
from memwell.storage.sqlite.sealing import sealed

_COUNTED = ("thread", "message", "entry", "record", "record_vector", "blob")


def counted(session: Session) -> dict[str, Any]:
    """The counts of everything, and a line for every space with records."""
    counts = {name: _number(session, f"SELECT count(*) FROM {name}") for name in _COUNTED}
    return {
        "sqlite": apsw.sqlite_lib_version(),
        "format": _number(session, "PRAGMA user_version"),
        "read_only": session.connection.readonly("main"),
        "sealed": sealed(session),
        "threads": counts["thread"],
        "messages": _number(session, "SELECT count(*) FROM message WHERE body IS NOT NULL"),
        "messages_indexed": _number(session, "SELECT count(*) FROM message_length"),
        "entries": counts["entry"],
        "records": counts["record"],
        "vectors": counts["record_vector"],
        "blobs": counts["blob"],
        "spaces": [_space(*row) for row in session.rows(_SPACES)],
    }


_SPACES = """
    SELECT path, records, vectors, dimensions, space.change, sidecar.change
    FROM space LEFT JOIN sidecar ON sidecar.space = space.key ORDER BY path
"""


def _space(
    path: str, records: int, vectors: int, dimensions: int | None, change: int, built_at: int | None
) -> dict[str, Any]:
    return {
        "space": list(Space.decode(path)),
        "records": records,
        "vectors": vectors,
        "dimensions": dimensions,
        "changes_since_graph": None if built_at is None else change - built_at,
    }


def file_sizes(path: Path) -> dict[str, int]:
    """The bytes of the store, of its write-ahead log, and of the graphs beside it."""
    graphs = Path(f"{path}-hnsw")
    return {
        "store": _size(path),
        "log": _size(Path(f"{path}-wal")),
        "graphs": sum(map(_size, graphs.iterdir())) if graphs.is_dir() else 0,
    }


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _number(session: Session, sql: str) -> int:
    row = session.one(sql)
    return int(row[0]) if row else 0


__all__ = ["counted", "file_sizes"]
