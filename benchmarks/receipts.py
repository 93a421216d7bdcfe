"""One user's write in a store with three million receipts, and the sweep of the old ones.

``python -m benchmarks.receipts [number]``. PostgreSQL stores a receipt with every commit and drops it after an hour; SQLite
needs none. Every store keeps the receipts of prompts, the newest 1,000 of a space.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psycopg

from memwell.records import Space
from memwell.runtime.context import Receipt, Receipts
from memwell.storage.postgres import PostgresBackend
from memwell.storage.postgres.connections import Session
from memwell.storage.protocols import Backend
from memwell.storage.sqlite import SqliteBackend
from tests.engines.postgres import Server

_NUMBER = 3_000_000
_WRITES = 300
_ANN = Space("ann")
_VALUE = '{"budget":1500,"tokens":1200,"encoding":"o200k","digest":"","id":"1"}'

_FILL = """
    WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ?)
    INSERT INTO entry SELECT '["u' || (n / 1000) || '","memwell"]', 'receipt.' || (n % 1000), ?, n + 1, NULL FROM n
"""


def main() -> None:
    """Measure both stores and print."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else _NUMBER
    with tempfile.TemporaryDirectory(prefix="memwell-receipts-") as folder:
        _sqlite(Path(folder) / "store.db", number)
    server = Server(durable=True, options={"shared_buffers": "256MB", "max_wal_size": "4GB"})
    try:
        _postgres(server, number)
    finally:
        server.remove()


def _sqlite(path: Path, number: int) -> None:
    with SqliteBackend(path) as store:
        _write(store, "SQLite, empty")
        # Through the store: another connection would write pages without checksums.
        store._connections.write(lambda session: session.execute(_FILL, (number, _VALUE)))
        _write(store, f"SQLite, {number:,} receipts of prompts")


def _postgres(server: Server, number: int) -> None:
    with PostgresBackend(server.url()) as store:
        _write(store, "PostgreSQL, empty", server)
        with psycopg.connect(server.url(), autocommit=True) as link:
            link.execute("SELECT set_config('memwell.space', '*', false)")
            link.execute(
                "INSERT INTO memwell.memwell_receipt SELECT 'u' || (n %% 3000), gen_random_uuid(), true, "
                "now() - interval '2 hours' FROM generate_series(1, %s) AS n",
                (number,),
            )
            link.execute("VACUUM ANALYZE memwell.memwell_receipt")
        time.sleep(2)
        # Before the first sweep.
        _write(store, f"PostgreSQL, {number:,} receipts of commits", server)
        _sweep(store, server)
        with psycopg.connect(server.url(), autocommit=True) as link:
            link.execute("SELECT set_config('memwell.space', '*', false)")
            link.execute(
                "INSERT INTO memwell.memwell_entry "
                """SELECT '["u' || (n / 1000) || '","memwell"]', 'receipt.' || (n %% 1000), NULL, n, NULL, %s, """
                "NULL, NULL FROM generate_series(1, %s) AS n",
                (_VALUE, number),
            )
            link.execute("VACUUM ANALYZE memwell.memwell_entry")
        # Until the server has ended that connection.
        time.sleep(2)
        _write(store, f"PostgreSQL, {number:,} receipts of prompts", server)


def _sweep(store: PostgresBackend, server: Server) -> None:
    """Write until a sweep begins, and measure the writes while it runs."""
    sweeping = store._connections._sweeping
    while not sweeping.locked():
        store.kv.put(_ANN, "first", 1)
    begun, used = time.perf_counter(), _cpu(server)
    times: list[float] = []
    while sweeping.locked():
        started = time.perf_counter()
        store.kv.put(_ANN, "during", 1)
        times.append(time.perf_counter() - started)
        time.sleep(0.02)
    took = time.perf_counter() - begun
    left = store._connections.read(None, _count)
    print(
        f"the sweep: {took:.1f} s by the clock, {_cpu(server) - used:.1f} s of the server's processors, {left:,} left"
    )
    _print("writes of one user meanwhile", times)


def _count(session: Session) -> int:
    row = session.one("SELECT count(*) FROM memwell_receipt")
    return 0 if row is None else row[0]


def _cpu(server: Server) -> float:
    """The processor seconds of those processes of a server that work for clients."""
    total = 0
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == server.pid and b"127.0.0.1(" in (place / "cmdline").read_bytes():
                total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def _write(store: Backend, name: str, server: Server | None = None) -> None:
    receipts = Receipts(store.kv, _ANN / "memwell", transaction=store.together)
    ways: dict[str, Callable[[], object]] = {
        "a value": lambda: store.kv.put(_ANN, "key", 1),
        "a receipt of a prompt": lambda: receipts.put(Receipt(budget=1500, tokens=1200, encoding="o200k", digest="")),
    }
    for way, write in ways.items():
        used, times = time.process_time() + (0 if server is None else _cpu(server)), list[float]()
        for _ in range(_WRITES):
            started = time.perf_counter()
            write()
            times.append(time.perf_counter() - started)
        used = time.process_time() + (0 if server is None else _cpu(server)) - used
        _print(f"{name}: {way}, {used / _WRITES * 1e3:.2f} ms of processor time", times)


def _print(name: str, times: list[float]) -> None:
    middle, high, most = statistics.median(times), statistics.quantiles(times, n=20)[-1], max(times)
    print(f"{name}: p50 {middle * 1e3:.1f} ms, p95 {high * 1e3:.1f} ms, at most {most * 1e3:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
