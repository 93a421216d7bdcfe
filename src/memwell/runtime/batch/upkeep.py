"""The upkeep of a whole store as batches, a piece for every space that holds memories: audits and consolidation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from memwell.longterm.journal import MARKS, inner_space
from memwell.longterm.memory import Memory
from memwell.records import Space, paged
from memwell.runtime import engine
from memwell.runtime.batch import Batch, RunnerName
from memwell.storage import Backend

_DOCUMENTS = ("memwell", "knowledge")


def spaces_with_memories(backend: Backend) -> Iterator[Space]:
    """Every space in which something was remembered."""
    for inner in paged(lambda cursor: backend.spaces(limit=500, cursor=cursor)):
        owner = Space(*inner[:-1]) if len(inner) > 1 else None
        if owner is None or inner_space(owner) != inner or owner[-2:] == _DOCUMENTS:
            continue
        if backend.kv.get(inner, MARKS) is not None or backend.log.threads(inner, ids=["journal"]).items:
            yield owner


def audits(
    store: str | Path | Backend, name: str = "audit", *, workers: int | None = None, runner: RunnerName = "auto"
) -> Batch:
    """The audit of every memory of a store: what it found by kind, and its plan. It changes nothing."""
    return Batch(store, name, list_spaces, audit_space, workers=workers, runner=runner)


def consolidation(
    store: str | Path | Backend, name: str = "consolidate", *, workers: int | None = None, runner: RunnerName = "auto"
) -> Batch:
    """The consolidation of every memory of a store: near duplicates are merged, insights drawn. All can be undone."""
    return Batch(store, name, list_spaces, consolidate_space, workers=workers, runner=runner)


def list_spaces(store: Backend) -> list[list[str]]:
    """The pieces: the spaces that hold memories."""
    return [list(space) for space in spaces_with_memories(store)]


def audit_space(store: Backend, piece: list[str]) -> dict[str, Any]:
    """The work of an audit."""
    report = Memory(store, Space(*piece)).audit()
    plan = msgspec.to_builtins(report.plan)
    return {"space": piece, "records": report.records, "counts": report.counts, "plan": plan}


def consolidate_space(store: Backend, piece: list[str]) -> dict[str, Any]:
    """The work of a consolidation. Done twice, it finds nothing more to merge and draws the same insights."""
    # Not closed: the caller opened the store, and goes on with the next piece.
    memory = engine.open(store, space=Space(*piece), work=False)
    merged = memory.compress()
    insights = memory.reflect()
    return {
        "space": piece,
        "before": merged.before,
        "after": merged.after,
        "insights": [insight.id for insight in insights],
    }
