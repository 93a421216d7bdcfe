"""Filling a store with users of 200 memories each and one large space, and asking it what a service would."""

from __future__ import annotations

import gc
import os
import statistics
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import memwell
from benchmarks.capacity.processes import cpu_s, resident_bytes
from benchmarks.corpus import DIMENSIONS, Directions, Writer
from benchmarks.report import step
from memwell.messages import human
from memwell.models.ports import Embedder
from memwell.records import Record, Space
from memwell.runtime.engine import Engine
from memwell.settings import Settings
from memwell.storage.protocols import Backend

EACH = 200
"""Memories of a user."""
LARGE = 20_000
LARGE_SPACE = Space("large")
_BATCH = 1_000
_ASKED = 200
_SETTINGS = Settings(embedding_cache_entries=0)


class Drawn(Embedder):
    """Vectors that cost nothing, so that no model is in the clock; the same text has the same one."""

    def __init__(self) -> None:
        self._drawn = Directions(seed=23).draw(4_096)

    @property
    def name(self) -> str:
        return "drawn"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._drawn[hash(text) % len(self._drawn)] for text in texts])


class Taken(NamedTuple):
    """Milliseconds a call took: CPU of this process, CPU of the server, and by the clock."""

    own: float
    server: float
    wall: float


def user(number: int) -> Space:
    """The space of a user."""
    return Space("user", str(number))


def fill(backend: Backend, records: int, writers: int = 1) -> float:
    """Store so many records in batches, by so many writers at once; how many a second, the making of them not counted.

    With several writers it is counted, because they store while the next batch is made.
    """
    seconds, started, stored = 0.0, time.perf_counter(), 0
    with ThreadPoolExecutor(writers) as pool:
        under_way: deque[Future[float]] = deque()
        for batch in _batches(records):
            under_way.append(pool.submit(_timed_upsert, backend, batch))
            while len(under_way) >= (2 * writers if writers > 1 else 1):
                seconds += under_way.popleft().result()
            stored += len(batch)
            if stored % 100_000 == 0:
                step(f"… {stored:,} records")
        seconds += sum(one.result() for one in under_way)
    return stored / (seconds if writers == 1 else time.perf_counter() - started)


def _timed_upsert(backend: Backend, batch: list[Record]) -> float:
    started = time.perf_counter()
    backend.index.upsert(batch)
    return time.perf_counter() - started


def _batches(records: int) -> Iterator[list[Record]]:
    writer, directions = Writer(), Directions()
    texts = [writer.text() for _ in range(5_000)]
    places = _places(records)
    for start in range(0, records, _BATCH):
        vectors = directions.draw(_BATCH)
        yield [
            Record(
                text=f"{texts[number % len(texts)]} {number}",
                space=next(places),
                id=f"m{number}",
                metadata={"n": number},
                vector=array("f", vectors[number - start].tobytes()),
            )
            for number in range(start, min(start + _BATCH, records))
        ]


def _places(records: int) -> Iterator[Space]:
    large = LARGE if records >= 5 * LARGE else 0
    yield from (LARGE_SPACE for _ in range(large))
    yield from (user(number // EACH) for number in range(records - large))


def users_in(records: int) -> int:
    """How many users a store of so many records has."""
    return (records - (LARGE if records >= 5 * LARGE else 0)) // EACH


def timed(pids: list[int], calls: Sequence[Callable[[], object]]) -> Taken:
    """Make the calls one after the other; what one took in the mean, and the median by the clock."""
    gc.collect()
    walls: list[float] = []
    own, server = time.process_time(), cpu_s(pids)
    for call in calls:
        started = time.perf_counter()
        call()
        walls.append(time.perf_counter() - started)
    took = time.process_time() - own, cpu_s(pids) - server
    return Taken(took[0] / len(calls) * 1e3, took[1] / len(calls) * 1e3, statistics.median(walls) * 1e3)


def opened(backend: Backend) -> Engine:
    """The engine that a service would have on the store, with its work done when it is told to."""
    return memwell.open(backend, embedder=Drawn(), settings=_SETTINGS, work=False)


class Asked(NamedTuple):
    """What the calls of a service took."""

    remember: Taken
    first: Taken
    recall: Taken
    append: Taken
    pool_bytes: float


def ask(backend: Backend, records: int, pids: list[int]) -> Asked:
    """Remember, recall and append for users chosen at random."""
    rng = np.random.default_rng(5)
    chosen = [user(int(n)) for n in rng.choice(users_in(records), size=min(_ASKED, users_in(records)), replace=False)]
    writer, memory = Writer(seed=99), opened(backend)
    memories = [memory.at(space) for space in chosen]
    questions = [" ".join(writer.text().split()[:8]) or "什么" for _ in chosen]
    held = resident_bytes([os.getpid()])
    first = timed(pids, [_recall(one, text) for one, text in zip(memories, questions, strict=True)])
    grown = resident_bytes([os.getpid()]) - held
    recall = timed(pids, [_recall(one, text) for one, text in zip(memories, reversed(questions), strict=True)])
    remember = timed(pids, [_remember(one, f"{writer.text()} {n}") for n, one in enumerate(memories)])
    append = timed(pids, [_append(one, f"{writer.text()} {n}") for n, one in enumerate(memories)])
    return Asked(remember, first, recall, append, grown / (len(chosen) * EACH))


def _recall(memory: Engine, text: str) -> Callable[[], object]:
    return lambda: memory.recall(text)


def _remember(memory: Engine, text: str) -> Callable[[], object]:
    def call() -> None:
        memory.remember(text)
        memory.flush()

    return call


def _append(memory: Engine, text: str) -> Callable[[], object]:
    return lambda: memory.thread("talk").add(human(text))


def search_large(backend: Backend, pids: list[int]) -> tuple[Taken, float]:
    """Search by vector in the large space: what it takes, and the share of the ten nearest that it finds."""
    queries = Directions(seed=31).draw(50)
    stored = backend.index.changes(LARGE_SPACE)
    vectors = np.array([record.vector for _, record in stored.records], dtype=np.float32)
    ids = [record.id for _, record in stored.records]
    found: list[float] = []

    def search(query: NDArray[np.float32]) -> None:
        hits = {hit.record.id for hit in backend.index.near(LARGE_SPACE, array("f", query.tobytes()), limit=10)}
        best = {ids[i] for i in np.argsort(-(vectors @ query))[:10]}
        found.append(len(hits & best) / 10)

    def near(query: NDArray[np.float32]) -> Callable[[], object]:
        return lambda: backend.index.near(LARGE_SPACE, array("f", query.tobytes()), limit=10)

    for query in queries:
        search(query)
    return timed(pids, [near(query) for query in queries]), statistics.mean(found)


def message_bytes(backend: Backend, size: Callable[[], int], count: int = 2_000) -> float:
    """What a message of a conversation takes in the store."""
    writer, before = Writer(seed=3), size()
    memory = opened(backend)
    for number in range(count // 20):
        memory.thread(f"sized {number}").add(*(human(writer.text()) for _ in range(20)))
    return (size() - before) / count


__all__ = [
    "EACH", "LARGE", "LARGE_SPACE", "Asked", "Taken", "ask", "fill", "message_bytes", "opened", "search_large", "timed",
]  # fmt: skip
