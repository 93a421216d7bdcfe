"""What the records' index of ids is for: getting a few must not cost what reading all costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memwell.records import Record, Space
from memwell.storage.sqlite import SqliteBackend

HOME = Space("home")


def test_records_are_got_by_their_ids_without_reading_the_others(tmp_path: Path):
    asked: list[tuple[str, Any]] = []
    with SqliteBackend(tmp_path / "store.db") as backend:
        backend.index.upsert([Record(id=str(n), text="word", space=HOME) for n in range(20)])
        backend.index.get(HOME, ["3"])
        [session] = backend._connections._readers
        session.connection.exec_trace = lambda cursor, sql, bindings: asked.append((sql, bindings)) or True
        assert [record.id for record in backend.index.get(HOME, ["3", "7"])] == ["3", "7"]
        session.connection.exec_trace = None
        [(sql, bindings)] = asked
        plan = [str(row[3]) for row in session.rows(f"EXPLAIN QUERY PLAN {sql}", bindings)]
    assert any("record_id" in step for step in plan)
    assert not any(step.startswith("SCAN record") for step in plan)
