"""How long a move refuses writes: the time between sealing the source and the end of the move.

``python -m benchmarks.moving [FROM] [TO]``, each of ``sqlite``, ``postgres`` and ``redis``. The store has many small
spaces; 100 writes are made right before the source is sealed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from memwell.messages import ai, human
from memwell.records import Record, Space, Thread
from memwell.runtime.transfer import move
from memwell.storage import open_backend
from memwell.storage.protocols import Backend
from tests.engines import redis as redis_engine
from tests.engines.postgres import Server

_SPACES, _RECORDS, _THREADS, _MESSAGES, _WRITES = 2_000, 50, 500, 20, 100
_DIMENSIONS = 64


def main() -> None:
    """Fill a store, move it, and print the seconds of the move and of the stop."""
    source_kind, target_kind = sys.argv[1:] or ("sqlite", "postgres")
    closing: list[Callable[[], object]] = []
    with tempfile.TemporaryDirectory(prefix="memwell-move-") as folder:
        try:
            here = open_backend(_url(source_kind, Path(folder) / "source", closing))
            there = open_backend(_url(target_kind, Path(folder) / "target", closing))
            with here as source, there as target:
                _fill(source)
                _measure(source, target, f"{source_kind} to {target_kind}")
        finally:
            for close in closing:
                close()


def _url(kind: str, folder: Path, closing: list[Callable[[], object]]) -> str:
    folder.mkdir()
    if kind == "sqlite":
        return str(folder / "store.db")
    if kind == "postgres":
        server = Server(durable=True)
        closing.append(server.remove)
        return server.url()
    redis = redis_engine.Server(folder, "--appendonly", "yes", "--appendfsync", "always")
    closing.append(redis.stop)
    return f"redis://127.0.0.1:{redis.port}/0"


def _fill(store: Backend) -> None:
    random = np.random.default_rng(1)
    for number in range(_SPACES):
        space = Space("user", f"{number:05}")
        store.kv.put(space, "profile", {"number": number})
        if "records" in store.abilities:
            vectors = random.standard_normal((_RECORDS, _DIMENSIONS)).astype("float32")
            texts = (f"note {n} of user {number}: the tea stands in the blue tin" for n in range(_RECORDS))
            store.index.upsert(
                [Record(id=f"r{n}", text=text, space=space, vector=vectors[n]) for n, text in enumerate(texts)]
            )
        if number < _THREADS:
            talk = [one for n in range(_MESSAGES // 2) for one in (human(f"question {n}"), ai(f"answer {n}"))]
            store.log.append(Thread(space, "talk"), talk)


def _write(store: Backend) -> None:
    for number in range(_WRITES):
        space = Space("user", f"{number * 7:05}")
        if number % 3 == 0:
            store.log.append(Thread(space, "talk"), [human("one more")])
        elif number % 3 == 1 or "records" not in store.abilities:
            store.kv.put(space, "profile", {"number": -number})
        else:
            store.index.upsert([Record(id="new", text="one more note", space=space, vector=[1.0] * _DIMENSIONS)])


def _measure(source: Backend, target: Backend, name: str) -> None:
    seal, sealed = source.seal, list[tuple[float, float]]()

    def noted(reason: str | None) -> None:
        if reason is not None:
            _write(source)
            sealed.append((time.perf_counter(), time.process_time()))
        seal(reason)

    source.seal = noted
    begun = time.perf_counter(), time.process_time()
    moved = move(source, target, seal=True)
    end = time.perf_counter(), time.process_time()
    [stop] = sealed
    print(f"{name}: {moved.spaces} spaces, {moved.records} records, {moved.messages} messages")
    print(f"copied and checked in {stop[0] - begun[0]:.1f} s ({stop[1] - begun[1]:.1f} s of this process)")
    print(f"writes refused for {end[0] - stop[0]:.3f} s ({end[1] - stop[1]:.3f} s of this process)", flush=True)


if __name__ == "__main__":
    main()
