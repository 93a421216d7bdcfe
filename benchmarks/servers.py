"""PostgreSQL and Redis beside their bare drivers: what memwell adds to an insert and a commit, and what a search takes.

The servers are started for the run, on this machine, with a sync at every commit. They share its cores with the client, so
times by the clock are of both.
"""

from __future__ import annotations

import statistics
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import redis as redis_driver

import memwell
from benchmarks.capacity.loads import Drawn
from benchmarks.corpus import Directions, Writer, message_text, tenant_sizes
from benchmarks.measuring import Contender, Timing, each, take_turns
from benchmarks.report import Figure, Grid, Section, step
from memwell.messages import Message, encode_message, human
from memwell.records import Record, Space, Thread
from memwell.settings import Settings
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend
from tests.engines.postgres import Server
from tests.servers import redis_server

_TEXT = message_text()
_THREAD = Thread(Space("bench"), "thread")
_LARGEST, _SMALL = 20_000, 98
RAW_POSTGRES = "raw psycopg, insert + commit"
RAW_REDIS = "raw redis-py, MULTI pipeline"
MEMWELL = "memwell log.append"


def _said() -> Message:
    return human(_TEXT)


def _row() -> tuple[str, str]:
    made = human(_TEXT)
    return made.id, encode_message(made).decode()


@contextmanager
def _postgres() -> Iterator[str]:
    server = Server(durable=True, options={"shared_buffers": "512MB", "maintenance_work_mem": "512MB"})
    try:
        yield server.url()
    finally:
        server.remove()


def postgres(_folder: Path, *, quick: bool = False) -> Section:
    """Append beside psycopg, and searches in a small and a large space of 100,000 records."""
    section = Section("postgres")
    with _postgres() as url, open_backend(url) as backend:
        timings = _append_to_postgres(url, backend, rounds=10 if quick else 60)
        section.grids.append(_append_grid("Append to one conversation on PostgreSQL", timings, RAW_POSTGRES))
        ratio = timings[MEMWELL].wall_ratio(timings[RAW_POSTGRES])
        figure = Figure("PostgreSQL append ÷ raw insert + commit, by the clock", "≤ 1.5", f"{ratio:.2f}", ratio <= 1.5)
        section.figures.append(figure)
        _search(section, backend, 10_000 if quick else 100_000)
    return section


def _append_to_postgres(url: str, backend: Backend, rounds: int) -> dict[str, Timing]:
    with psycopg.connect(url.partition("?")[0]) as raw:
        raw.execute("CREATE TABLE raw_message (thread text, idx bigint, id text, body text, PRIMARY KEY (thread, idx))")
        raw.execute("CREATE UNIQUE INDEX ON raw_message (thread, id)")
        raw.commit()
        place = iter(range(10**9))

        def insert(row: tuple[str, str]) -> None:
            raw.execute("INSERT INTO raw_message VALUES (%s, %s, %s, %s)", ("thread", next(place), *row))
            raw.commit()

        return take_turns(
            [
                Contender(RAW_POSTGRES, each(insert), _row),
                Contender(MEMWELL, each(lambda one: backend.log.append(_THREAD, [one])), _said),
            ],
            rounds=rounds,
            batch=20,
        )


def _append_grid(title: str, timings: dict[str, Timing], raw: str) -> Grid:
    grid = Grid(title, ["", "µs by the clock", "µs of CPU here", "÷ raw, clock", "÷ raw, CPU"])
    for name, timing in timings.items():
        ratios = timing.wall_ratio(timings[raw]), timing.ratio(timings[raw])
        grid.add(name, f"{timing.wall_us:.0f}", f"{timing.cpu_us:.0f}", *(f"{one:.2f}" for one in ratios))
    return grid


def _search(section: Section, backend: Backend, records: int) -> None:
    sizes = {Space("tenant", str(number)): size for number, size in enumerate(tenant_sizes(records))}
    largest = next(iter(sizes))
    small = next(space for space, size in sizes.items() if size <= _SMALL)
    step(f"storing {records:,} records in {len(sizes)} spaces")
    started, writer, directions = time.perf_counter(), Writer(), Directions()
    kept: Any = None
    for space, size in sizes.items():
        vectors = directions.draw(size)
        kept = vectors if space == largest else kept
        for start in range(0, size, 1_000):
            backend.index.upsert(
                [
                    Record(text=writer.text(), space=space, id=str(start + n), vector=array("f", vector.tobytes()))
                    for n, vector in enumerate(vectors[start : start + 1_000])
                ]
            )
    step(f"… {records / (time.perf_counter() - started):.0f} records a second, texts and vectors made meanwhile")
    queries = directions.draw(100)
    texts = [" ".join(writer.text().split()[:6]) for _ in range(50)]
    memory = memwell.open(backend, embedder=Drawn(), settings=Settings(embedding_cache_entries=0), work=False)
    grid = Grid(
        f"Searches among {records:,} records in {len(sizes)} spaces on PostgreSQL, ms by the clock (median)",
        ["space", "near", "match", "recall, its memories held", "recall, first"],
        note="recall's question is embedded by a stand-in that costs nothing.",
    )
    for space in (small, largest):
        first = _median([lambda space=space: memory.at(space).recall(texts[0])])
        near = _median([lambda q=q, s=space: backend.index.near(s, array("f", q.tobytes())) for q in queries])
        match = _median([lambda t=t, s=space: backend.index.match(s, t) for t in texts])
        recall = _median([lambda t=t, s=space: memory.at(s).recall(t) for t in texts])
        grid.add(f"{sizes[space]:,} records", *(f"{one:.2f}" for one in (near, match, recall, first)))
        if space == small:
            slowest = max(near, recall)
            section.figures.append(
                Figure(
                    f"PostgreSQL: recall and near in {sizes[space]} of {records:,} records",
                    "< 5 ms",
                    f"{recall:.2f} and {near:.2f} ms",
                    slowest < 5,
                )
            )
    section.grids.append(grid)
    found = _found(backend, largest, kept, queries)
    section.figures.append(
        Figure(f"PostgreSQL: recall@10 in a space of {sizes[largest]:,}", "≥ 0.99", f"{found:.3f}", found >= 0.99)
    )


def _median(calls: list[Callable[[], object]]) -> float:
    walls: list[float] = []
    for call in calls:
        started = time.perf_counter()
        call()
        walls.append(time.perf_counter() - started)
    return statistics.median(walls) * 1e3


def _found(backend: Backend, space: Space, vectors: Any, queries: Any) -> float:
    kept = vectors.astype(np.float16).astype(np.float32)
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)
    shares: list[float] = []
    for query in queries:
        best = {str(n) for n in np.argsort(-(kept @ query))[:10]}
        hits = {hit.record.id for hit in backend.index.near(space, array("f", query.tobytes()), limit=10)}
        shares.append(len(best & hits) / 10)
    return statistics.mean(shares)


def redis(folder: Path, *, quick: bool = False) -> Section:
    """Append beside what a careful user would write by hand: a pipeline that stores the body, the id and the end."""
    section = Section("redis")
    place = folder / "redis"
    place.mkdir(exist_ok=True)
    with redis_server(place) as url, open_backend(url) as backend:
        client = redis_driver.Redis.from_url(url)
        for size in (1, 10):
            timings = _append_to_redis(client, backend, size, rounds=10 if quick else 80)
            title = f"Append {size} to one conversation on Redis (nothing synced, so that the disk is not in it)"
            section.grids.append(_append_grid(title, timings, RAW_REDIS))
            speed = 1 / timings[MEMWELL].wall_ratio(timings[RAW_REDIS])
            section.figures.append(
                Figure(
                    f"Redis append of {size}: throughput ÷ raw pipeline",
                    "≥ 0.8",
                    f"{speed:.2f}",
                    speed >= 0.8,
                )
            )
        client.close()
    return section


def _append_to_redis(client: Any, backend: Backend, size: int, rounds: int) -> dict[str, Timing]:
    def by_hand(rows: list[tuple[str, str]]) -> None:
        pipeline = client.pipeline(transaction=True)
        pipeline.rpush("{raw}:messages", *[body for _, body in rows])
        pipeline.hset("{raw}:ids", mapping={id_: 1 for id_, _ in rows})
        pipeline.hincrby("{raw}:info", "next", len(rows))
        pipeline.execute()

    return take_turns(
        [
            Contender(RAW_REDIS, each(by_hand), lambda: [_row() for _ in range(size)]),
            Contender(
                MEMWELL, each(lambda said: backend.log.append(_THREAD, said)), lambda: [_said() for _ in range(size)]
            ),
        ],
        rounds=rounds,
        batch=50,
    )


__all__ = ["postgres", "redis"]
