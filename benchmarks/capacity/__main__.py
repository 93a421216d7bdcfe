"""``python -m benchmarks.capacity [engine …] [--sizes 10000 100000]``: measure, print, and keep what was found.

The engines are started for the run and share this machine's cores with the client. CPU is told apart by process: that of
the client, and that of the engine. A million records are stored in batches: ``--sizes 1000000 postgres``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

# Before anything loads usearch: on some machines onnxruntime crashes when it is loaded after it.
import onnxruntime  # noqa: F401

from benchmarks.capacity.loads import LARGE, ask, fill, message_bytes, search_large
from benchmarks.capacity.processes import family
from benchmarks.corpus import Writer
from benchmarks.report import RESULTS, console, step, today
from memwell.models.local import LocalEmbedder
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend

ENGINES = ("sqlite", "postgres", "sqlite+milvus")
KEPT = RESULTS / "capacity.json"


class Running(NamedTuple):
    """An engine: its store's URL, its processes, and how many bytes it takes."""

    url: str
    pids: Callable[[], list[int]]
    size: Callable[[], int]


def main() -> None:
    """Measure the engines that were named, or all of them."""
    options = _options()
    found = _known()
    for size in options.sizes:
        for engine in options.engines or ENGINES:
            step(f"{engine}: {size:,} records")
            with (
                tempfile.TemporaryDirectory(prefix="memwell-capacity-") as folder,
                started(engine, Path(folder)) as one,
            ):
                costs, pool = _measured(one, size, options.writers)
            console.print(costs)
            kept = [row for row in found["engines"].get(engine, []) if row["records"] != size]
            found["engines"][engine] = sorted([*kept, costs], key=lambda row: row["records"])
            if engine == "sqlite" and size <= 100_000:
                found["pool_bytes"] = round(pool)
            if not options.dry:
                _keep(found)
    if not options.dry and not options.keep_embedding:
        found["embed_ms"] = round(_embedding_ms(), 2)
        _keep(found)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity", description=__doc__)
    parser.add_argument("engines", nargs="*", metavar="engine", help=f"which: {', '.join(ENGINES)}; all by default")
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 100_000], help="records (10000 100000)")
    parser.add_argument("--writers", type=int, default=1, help="how many store at once (1)")
    parser.add_argument("--dry", action="store_true", help="do not write what was found")
    parser.add_argument("--keep-embedding", action="store_true", help="do not measure the local embedder again")
    options = parser.parse_args()
    unknown = set(options.engines) - set(ENGINES)
    if unknown:
        parser.error(f"no engine is called {', '.join(sorted(unknown))}; known: {', '.join(ENGINES)}")
    return options


def _known() -> dict[str, Any]:
    if KEPT.exists():
        return json.loads(KEPT.read_text(encoding="utf-8"))
    return {"measured": "", "machine": "", "embed_ms": 0.0, "pool_bytes": 0.0, "engines": {}}


@contextmanager
def started(engine: str, folder: Path) -> Iterator[Running]:
    """An engine, started for the run."""
    if engine == "postgres":
        from tests.engines.postgres import Server  # only this needs its driver

        server = Server(
            durable=True, options={"shared_buffers": "1GB", "maintenance_work_mem": "1GB", "max_wal_size": "4GB"}
        )
        try:
            yield Running(server.url(), lambda: family(server.pid), lambda: _postgres_size(server))
        finally:
            server.remove()
    else:
        url = f"sqlite:{folder / 'store.db'}"
        if engine == "sqlite+milvus":
            url += f",index=milvus:{folder / 'vectors.db'}"
        yield Running(
            url, lambda: [pid for pid in family(os.getpid()) if pid != os.getpid()], lambda: _folder_size(folder)
        )


def _postgres_size(server: Any) -> int:
    with server.admin() as connection:
        return int(connection.execute("SELECT pg_database_size(current_database())").fetchone()[0])


def _folder_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _measured(running: Running, records: int, writers: int) -> tuple[dict[str, Any], float]:
    with open_backend(running.url) as backend:
        empty = running.size()
        loaded = fill(backend, records, writers)
        _settled(backend)
        grown = running.size() - empty
        step(f"… {loaded:,.0f} records a second, {grown / records:,.0f} bytes each")
        asked = ask(backend, records, running.pids())
        large, share = search_large(backend, running.pids()) if records >= 5 * LARGE else (None, 0.0)
        said = message_bytes(backend, running.size)
    return {
        "records": records,
        "record_bytes": round(grown / records),
        "message_bytes": round(said),
        "remember_ms": round(asked.remember.own, 3),
        "remember_store_ms": round(asked.remember.server, 3),
        "recall_ms": round(asked.recall.own, 3),
        "recall_store_ms": round(asked.recall.server, 3),
        "append_ms": round(asked.append.own, 3),
        "append_store_ms": round(asked.append.server, 3),
        "load_per_s": round(loaded),
        "first_recall_ms": round(asked.first.wall, 1),
        "near_ms": round(large.wall, 2) if large else 0.0,
        "near_found": round(share, 3),
    }, asked.pool_bytes


def _settled(backend: Backend) -> None:
    """Let an engine beside the store catch up, so that it is measured with everything in it."""
    follower = getattr(backend, "follower", None)
    if follower is not None:
        follower.reconcile()


def _embedding_ms() -> float:
    embedder, writer = LocalEmbedder(), Writer(seed=17)
    embedder.embed([writer.text()])
    taken: list[float] = []
    for _ in range(40):
        text, started = writer.text(), time.process_time()
        embedder.embed([text])
        taken.append(time.process_time() - started)
    return statistics.median(taken) * 1e3


def _keep(found: dict[str, Any]) -> None:
    found["measured"] = today()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    found["machine"] = (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GB, client and engine on one machine"
    )
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    KEPT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
