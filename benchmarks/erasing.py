"""Erasing by many users at once: how long a call takes, and how often the store is scrubbed.

Three ways take turns on one store: each erasure cleans the whole store before it returns, as memwell did once; the worker
does it afterwards for all; and ``wait=True``, where those who wait share a pass.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

import memwell
from benchmarks.report import Grid, Section, step
from memwell.storage.postgres import PostgresBackend
from memwell.storage.postgres.schema import TABLES
from memwell.storage.protocols import Backend
from memwell.storage.scrubbing import pending_scrubs, scrub_pending
from tests.engines import redis as redis_engine
from tests.engines.postgres import Server

_USERS = 24
_MEMORIES = 120
"""How many each user has at first."""
_PATIENCE_S = 3.0
ALONE, LATER, WAITING = "the whole cleaning in each call", "erase(), the worker cleans", "erase(wait=True)"


def erase(folder: Path, *, quick: bool = False) -> Section:
    """Erasing on PostgreSQL, on SQLite with values in Redis, and on SQLite."""
    section = Section("erase")
    turns = 1 if quick else 7
    for name, place in (("PostgreSQL", _postgres), ("SQLite with values in Redis", _redis), ("SQLite", _sqlite)):
        inner = folder / name.replace(" ", "-")
        inner.mkdir()
        step(f"erase: {name}")
        with place(inner) as url:
            section.grids.append(_grid(name, _measured(url, turns), turns))
    return section


@contextmanager
def _postgres(folder: Path) -> Iterator[str]:
    server = Server(durable=True)
    try:
        yield server.url()
    finally:
        server.remove()


@contextmanager
def _redis(folder: Path) -> Iterator[str]:
    server = redis_engine.Server(folder, "--appendonly", "yes", "--appendfsync", "always")
    try:
        yield f"sqlite:{folder}/store.db,kv=redis://127.0.0.1:{server.port}/0"
    finally:
        server.stop()


@contextmanager
def _sqlite(folder: Path) -> Iterator[str]:
    yield str(folder / "store.db")


class _Calls:
    """The seconds of calls, of one user and of many at once, and how many passes those of the many took."""

    def __init__(self) -> None:
        self.alone: list[float] = []
        self.together: list[float] = []
        self.passes = 0


def _measured(url: str, turns: int) -> dict[str, _Calls]:
    """The calls, by the way."""
    ways: dict[str, Callable[[memwell.Engine, str], object]] = {
        ALONE: lambda user, id_: (user.erase(id_), _cleaned(user.backend, url)),
        LATER: lambda user, id_: user.erase(id_),
        WAITING: lambda user, id_: user.erase(id_, wait=True),
    }
    found = {name: _Calls() for name in ways}
    with memwell.open(url, embedder=None, work=False) as engine:
        users = [engine.at(f"user{number}") for number in range(_USERS)]
        ids = [user.remember([f"Note {number}." for number in range(_MEMORIES)]).ids for user in users]
        for user in users:
            user.flush()
    for _ in range(turns):
        for name, way in ways.items():
            with memwell.open(url, embedder=None, work=name == LATER) as engine:
                users = [engine.at(f"user{number}") for number in range(_USERS)]
                # The first call of each opens connections and loads what it needs.
                _at_once(users, [own.pop() for own in ids], lambda user, id_: user.erase(id_))
                _wait(engine.backend)
                found[name].alone += [_at_once(users[:1], [ids[0].pop()], way)[0] for _ in range(3)]
                _wait(engine.backend)
                passes = _counted(engine.backend)
                found[name].together += _at_once(users, [own.pop() for own in ids], way)
                if name == LATER:
                    _wait(engine.backend)
                found[name].passes += len(users) if name == ALONE else len(passes)
                scrub_pending(engine.backend)
    return found


def _wait(backend: Backend) -> None:
    """Until the worker has cleaned; without one it is done here."""
    end = time.monotonic() + _PATIENCE_S
    while pending_scrubs(backend).count and time.monotonic() < end:
        time.sleep(0.05)
    scrub_pending(backend)


def _at_once(users: list[memwell.Engine], ids: list[str], way: Callable[[memwell.Engine, str], object]) -> list[float]:
    together = threading.Barrier(len(users))

    def call(number: int) -> float:
        together.wait()
        begun = time.perf_counter()
        way(users[number], ids[number])
        return time.perf_counter() - begun

    with ThreadPoolExecutor(len(users)) as pool:
        return list(pool.map(call, range(len(users))))


def _counted(backend: Backend) -> list[bool]:
    """Every pass of a store from now on."""
    passes, scrub = list[bool](), backend.scrub

    def counted() -> bool:
        passes.append(True)
        return scrub()

    backend.scrub = counted
    return passes


def _cleaned(backend: Backend, url: str) -> None:
    """As an erasure did it once: every table vacuumed, or the files of Redis rewritten."""
    if not isinstance(backend, PostgresBackend):
        backend.scrub()
        return
    with psycopg.connect(url, autocommit=True) as connection:
        for table in TABLES:
            connection.execute(sql.SQL("VACUUM {}").format(sql.Identifier("memwell", table)))


def _grid(name: str, found: dict[str, _Calls], turns: int) -> Grid:
    columns = ["way", "one user, p50 ms", f"{_USERS} users, p50 ms", "p95 ms", "p50 to the first", "passes for all"]
    grid = Grid(f"{_USERS} users erase one memory each at once: {name}", columns)
    for way, calls in found.items():
        one, many = statistics.median(calls.alone), statistics.median(calls.together)
        high = statistics.quantiles(calls.together, n=20)[-1]
        ratio = many / statistics.median(found[ALONE].together)
        milliseconds = (f"{value * 1e3:,.0f}" for value in (one, many, high))
        grid.add(way, *milliseconds, f"{ratio:.2f}×", f"{calls.passes / turns:.1f}")
    return grid
