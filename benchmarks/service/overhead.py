"""What the service adds to the library: the CPU of a recall over HTTP, beside the same in the process."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import memwell
from benchmarks.report import Figure, Grid, Section, step
from benchmarks.service.serving import Served, make_key
from benchmarks.service.talking import Talking

_ROUNDS = 7
_QUERIES = [
    f"what did {name} say about {thing}?" for name in "Ann Ben Eva".split() for thing in "trains music tea".split()
]
_AIM_MS = 2.0


def service(folder: Path, *, quick: bool) -> Section:
    """All of it."""
    section = Section("service")
    grid = Grid(
        "Over HTTP and in the process", ["", "library, CPU ms", "service, CPU ms", "added", "wall ms over HTTP"]
    )
    added: list[float] = []
    for count in (200,) if quick else (200, 10_000):
        store = folder / f"served-{count}.db"
        _fill(store, count)
        step(f"service: {count:,} memories are there")
        library, served, wall = _compared(store, 20 if quick else 200)
        grid.add(
            f"recall of 10 from {count:,}", *(f"{value:.2f}" for value in (library, served, served - library, wall))
        )
        added.append(served - library)
    grid.note = (
        "The service's CPU is that of its process; the client beside it is left out. "
        "Queries are asked again, so that their vectors are known to both."
    )
    section.grids.append(grid)
    worst = max(added)
    section.figures.append(
        Figure("REST recall: CPU beyond the library's", f"≤ {_AIM_MS:g} ms", f"{worst:.2f} ms", worst <= _AIM_MS)
    )
    return section


def _fill(store: Path, count: int) -> None:
    texts = [
        f"{name} said that {thing} number {number} was fine."
        for number in range(count)
        for name, thing in (
            (("Ann", "Ben", "Eva")[number % 3], ("the train", "the music", "the tea")[number // 3 % 3]),
        )
    ]
    with memwell.open(store, work=False) as memory:
        for start in range(0, count, 500):
            memory.remember(texts[start : start + 500])
        memory.flush()


def _compared(store: Path, batch: int) -> tuple[float, float, float]:
    """Medians of the rounds: CPU of the library, CPU of the service, and the time over HTTP, in milliseconds a recall."""
    token = make_key(store)
    served = Served(store)
    here: list[float] = []
    there: list[float] = []
    wall: list[float] = []
    try:
        with memwell.open(store, work=False) as memory:

            def ask_here() -> None:
                for number in range(batch):
                    memory.recall(_QUERIES[number % len(_QUERIES)])

            def ask_there() -> None:
                asyncio.run(_ask(served.port, token, batch))

            ask_here()
            ask_there()
            for _ in range(_ROUNDS):
                here.append(_timed(ask_here, time.process_time) / batch)
                begun = time.perf_counter()
                there.append(_timed(ask_there, lambda: served.cpu) / batch)
                wall.append((time.perf_counter() - begun) / batch)
    finally:
        served.stop()
    return tuple(1000 * statistics.median(times) for times in (here, there, wall))  # type: ignore[return-value]


def _timed(call: Callable[[], None], clock: Callable[[], float]) -> float:
    begun = clock()
    call()
    return clock() - begun


async def _ask(port: int, token: str, batch: int) -> None:
    line = Talking(port, token)
    for number in range(batch):
        status, body = await line.ask("POST", "/v1/recall", {"query": _QUERIES[number % len(_QUERIES)]})
        if status != 200:
            raise RuntimeError(f"{status} {body[:200]!r}")
    line.close()


__all__ = ["service"]
