"""Searching records by vector and by words."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import DIMENSIONS, RARE_CHINESE, RARE_ENGLISH
from benchmarks.measuring import Contender, Timing, cycle_through, each, take_turns
from benchmarks.report import Figure, Grid, Section, step
from benchmarks.stores import PLANTED, Large, Tenants
from memwell.records import Hit, Space
from memwell.storage.protocols import Backend
from memwell.storage.sqlite import SqliteBackend

_LIMIT = 10
_COMMON_ENGLISH = "the train is late at the station"
_COMMON_CHINESE = "我们明天在火车站台见"


def near(tenants: Tenants, large: Large, *, quick: bool) -> Section:
    """The nearest vectors: exact in small spaces and in one of 20k, by a graph in one of 100k."""
    section = Section("near")
    with SqliteBackend(tenants.path) as backend:
        _near_tenants(section, backend, tenants, quick=quick)
    _near_graph(section, large, quick=quick)
    return section


def _near_tenants(section: Section, backend: Backend, tenants: Tenants, *, quick: bool) -> None:
    queries = [query.tolist() for query in tenants.queries]
    for space, target in ((tenants.largest, 1.3), (tenants.small, None)):
        step(f"near: {tenants.sizes[space]:,} vectors")
        timings = take_turns(_exact_contenders(backend, space, queries), rounds=10 if quick else 40, batch=10)
        # The query is an array for both, as embedders give it; the row for a list of floats stands beside it.
        bare, found = timings["numpy product"], timings["memwell near"]
        grid = _against_numpy(
            f"Nearest {_LIMIT} of {tenants.sizes[space]:,} vectors of {DIMENSIONS} dimensions", timings
        )
        section.grids.append(grid)
        if target is not None:
            ratio = found.ratio(bare)
            name = f"near: {tenants.sizes[space]:,} vectors, CPU to a bare numpy product"
            section.figures.append(Figure(name, "≤ 1.3×", f"{ratio:.2f}×", ratio <= target))
        else:
            name = f"near: {tenants.sizes[space]} records inside {sum(tenants.sizes.values()):,}, CPU"
            section.figures.append(Figure(name, "< 0.2 ms", f"{found.cpu_us / 1e3:.3f} ms", found.cpu_us < 200))


def _exact_contenders(backend: Backend, space: Space, queries: list[list[float]]) -> list[Contender]:
    matrix = _stored(backend, space)
    arrays = cycle_through([np.array(query, dtype=np.float32) for query in queries])

    def best(query: NDArray[np.float32]) -> NDArray[np.intp]:
        scores = matrix @ query
        return np.argpartition(scores, len(scores) - _LIMIT)[-_LIMIT:]

    return [
        Contender("numpy product", each(lambda query: matrix @ query), arrays),
        Contender("numpy product + argpartition", each(best), arrays),
        Contender("memwell near", each(lambda q: backend.index.near(space, q, limit=_LIMIT)), arrays),
        Contender(
            "memwell near, query as a list of floats",
            each(lambda q: backend.index.near(space, q, limit=_LIMIT)),
            cycle_through(queries),
        ),
        Contender(
            "memwell near, half of them filtered out",
            each(lambda q: backend.index.near(space, q, limit=_LIMIT, where={"even": True})),
            cycle_through(queries),
        ),
    ]


def _stored(backend: Backend, space: Space) -> NDArray[np.float32]:
    """The vectors of a space as a program of its own would hold them."""
    found: list[Any] = []
    cursor = None
    while True:
        page = backend.index.scan(space, limit=5000, cursor=cursor)
        found += [record.vector for record in page.items]
        cursor = page.next
        if cursor is None:
            return np.array(found, dtype=np.float32)


def _against_numpy(title: str, timings: dict[str, Timing]) -> Grid:
    bare = timings["numpy product"]
    grid = Grid(title, ["", "CPU µs", "wall µs", "CPU to the product"])
    for name, timing in timings.items():
        grid.add(name, f"{timing.cpu_us:,.0f}", f"{timing.wall_us:,.0f}", f"{timing.ratio(bare):.2f}×")
    return grid


def _near_graph(section: Section, large: Large, *, quick: bool) -> None:
    count = len(large.vectors)
    grid = Grid(f"A graph (HNSW) over {count:,} vectors", ["", ""])
    step(f"near: building a graph of {count:,} vectors")
    with SqliteBackend(large.path) as backend:
        cpu, wall = _build(backend, large)
    size = sum(file.stat().st_size for file in Path(f"{large.path}-hnsw").iterdir()) / 2**20
    grid.add("build", f"{wall:.1f} s wall, {cpu:.1f} s CPU ({cpu / count * 1e6:,.0f} µs a vector)")
    grid.add("file beside the store", f"{size:.0f} MB")
    with SqliteBackend(large.path) as backend:
        cpu, wall = _clocked(lambda: backend.index.near(large.space, large.queries[0].tolist()))
        grid.add("load and first search", f"{wall * 1e3:.0f} ms wall, {cpu * 1e3:.0f} ms CPU")
        if backend.index.info(large.space).search != "hnsw":
            raise RuntimeError("the graph that was written was not loaded")
        step("near: recall of the graph")
        recall = _recall(backend, large)
        grid.add(f"recall@{_LIMIT} over {len(large.queries)} queries", f"{recall:.4f}")
        found, asked = _found_by_themselves(backend, large, 200 if quick else 2000)
        grid.add("stored vectors that find themselves", f"{found:,} of {asked:,}")
        timings = take_turns(_graph_contenders(backend, large), rounds=5 if quick else 15, batch=10)
    section.grids += [grid, _against_numpy(f"Nearest {_LIMIT} of {count:,} vectors by graph", timings)]
    section.figures.append(
        Figure(f"near: graph of {count:,} vectors, recall@{_LIMIT}", "≥ 0.99", f"{recall:.4f}", recall >= 0.99)
    )


def _build(backend: Backend, large: Large) -> tuple[float, float]:
    """Ask once, which begins a graph in the background, and wait until it answers."""

    def wait() -> None:
        backend.index.near(large.space, large.queries[0].tolist())
        while backend.index.info(large.space).search != "hnsw":
            time.sleep(0.2)

    return _clocked(wait)


def _clocked(call: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - cpu, time.perf_counter() - wall


def _recall(backend: Backend, large: Large) -> float:
    found = 0
    for query in large.queries:
        scores = large.vectors @ query
        # A hit as near as the tenth nearest is right, whichever of equals it is.
        least = np.partition(scores, len(scores) - _LIMIT)[-_LIMIT] - 1e-6
        hits = backend.index.near(large.space, query.tolist(), limit=_LIMIT)
        found += sum(bool(scores[int(hit.record.id)] >= least) for hit in hits)
    return found / (_LIMIT * len(large.queries))


def _found_by_themselves(backend: Backend, large: Large, sample: int) -> tuple[int, int]:
    """How many of a sample of stored vectors are reached by a search for exactly them: a graph can lose some."""
    numbers = range(0, len(large.vectors), max(1, len(large.vectors) // sample))
    found = sum(
        backend.index.near(large.space, large.vectors[number], limit=1)[0].record.id == f"{number}"
        for number in numbers
    )
    return found, len(numbers)


def _graph_contenders(backend: Backend, large: Large) -> list[Contender]:
    queries = cycle_through([query.tolist() for query in large.queries])
    return [
        Contender("numpy product", each(lambda query: large.vectors @ query), cycle_through(large.queries)),
        Contender("memwell near", each(lambda q: backend.index.near(large.space, q, limit=_LIMIT)), queries),
    ]


def match(tenants: Tenants, *, quick: bool) -> Section:
    """Records by their words, in a small space and in one of 20k, English and Chinese."""
    section = Section("match")
    queries = {
        "English, 3 rare words": " ".join(RARE_ENGLISH[:3]),
        "Chinese, one word of 2 characters": RARE_CHINESE[0],
        "Chinese, 2 such words": f"{RARE_CHINESE[1]} {RARE_CHINESE[2]}",
        "English, a sentence of common words": _COMMON_ENGLISH,
        "Chinese, a sentence of common words": _COMMON_CHINESE,
    }
    worst: dict[Space, float] = {}
    with SqliteBackend(tenants.path) as backend:
        right = _match_is_right(backend, tenants)
        for space in (tenants.small, tenants.largest):
            step(f"match: {tenants.sizes[space]:,} records")
            contenders = [Contender(name, each(_matching(backend, space, text))) for name, text in queries.items()]
            timings = take_turns(contenders, rounds=5 if quick else 25, batch=4)
            grid = Grid(f"Match in a space of {tenants.sizes[space]:,} records", ["", "CPU ms", "wall ms"])
            for name, timing in timings.items():
                grid.add(name, f"{timing.cpu_us / 1e3:.2f}", f"{timing.wall_us / 1e3:.2f}")
            section.grids.append(grid)
            worst[space] = max(timing.cpu_us for timing in timings.values()) / 1e3
    total = sum(tenants.sizes.values())
    name = f"match: {tenants.sizes[tenants.small]} records inside {total:,}, slowest query, CPU"
    section.figures += [
        Figure(name, "< 3 ms", f"{worst[tenants.small]:.2f} ms", worst[tenants.small] < 3.0),
        Figure(
            "match: words of two Chinese characters, and English ones, are found",
            "all, and only those",
            right,
            right == "all",
        ),
    ]
    return section


def _matching(backend: Backend, space: Space, text: str) -> Callable[[object], list[Hit]]:
    return lambda _: backend.index.match(space, text, limit=_LIMIT)


def _match_is_right(backend: Backend, tenants: Tenants) -> str:
    """``all`` when every planted word finds the planted records of its space and no others; otherwise what went wrong."""
    for space in (tenants.small, tenants.largest):
        for word in (*RARE_ENGLISH, *RARE_CHINESE):
            found = {hit.record.id for hit in backend.index.match(space, word, limit=1000)}
            if found != {str(number) for number in range(PLANTED)}:
                return f"{word} in {space!r}: {len(found)} found"
    return "all"


__all__ = ["match", "near"]
