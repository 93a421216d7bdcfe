"""The stores that several benchmarks search: one with 200 tenants, one with a single large space."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import RARE_CHINESE, RARE_ENGLISH, Directions, Writer, tenant_sizes
from benchmarks.report import step
from memwell.records import Record, Space
from memwell.storage.sqlite import SqliteBackend

_BATCH = 1000
PLANTED = 3
"""In every tenant so many records hold each of the rare words."""


@dataclass
class Tenants:
    """A store of many tenants: its file, its spaces with their sizes, and how long a record took to store."""

    path: Path
    sizes: dict[Space, int]
    largest: Space
    small: Space
    seconds: float
    queries: NDArray[np.float32]


def build_tenants(folder: Path, records: int) -> Tenants:
    """Make the store of many tenants."""
    path = folder / "tenants.db"
    sizes = {Space("tenant", str(number)): size for number, size in enumerate(tenant_sizes(records))}
    writer, directions = Writer(), Directions()
    step(f"building a store of {records:,} records in {len(sizes)} tenants")
    started = time.perf_counter()
    with SqliteBackend(path) as backend:
        for batch in _batches(_tenant_records(sizes, writer, directions)):
            backend.index.upsert(batch)
    seconds = time.perf_counter() - started
    step(f"… {seconds / records * 1e6:.0f} µs a record, {path.stat().st_size / 2**20:.0f} MB")
    spaces = list(sizes)
    return Tenants(path, sizes, spaces[0], spaces[1], seconds, directions.draw(200))


def _tenant_records(sizes: dict[Space, int], writer: Writer, directions: Directions) -> Iterator[Record]:
    for space, size in sizes.items():
        for number, vector in enumerate(directions.draw(size)):
            yield Record(
                text=writer.text() + _planted(number),
                space=space,
                id=f"{number}",
                metadata={"even": number % 2 == 0, "number": number},
                vector=array("f", vector.tobytes()),
            )


def _planted(number: int) -> str:
    if number < PLANTED:
        return f" {' '.join(RARE_ENGLISH)} {'，'.join(RARE_CHINESE)}"
    return ""


@dataclass
class Large:
    """A store of one large space, and its vectors as the store keeps them (half precision), in the order of their ids."""

    path: Path
    space: Space
    vectors: NDArray[np.float32]
    queries: NDArray[np.float32]


def build_large(folder: Path, records: int) -> Large:
    """Make the store of one space."""
    path, space, directions = folder / "large.db", Space("large"), Directions(seed=11)
    step(f"building a space of {records:,} vectors")
    drawn = directions.draw(records)
    with SqliteBackend(path) as backend:
        made = (
            Record(text=f"record {number}", space=space, id=f"{number}", vector=array("f", vector.tobytes()))
            for number, vector in enumerate(drawn)
        )
        for batch in _batches(made):
            backend.index.upsert(batch)
    kept = drawn.astype(np.float16).astype(np.float32)
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)
    return Large(path, space, kept, directions.draw(300))


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    for record in records:
        batch.append(record)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


__all__ = ["PLANTED", "Large", "Tenants", "build_large", "build_tenants"]
