"""``python -m benchmarks.first_recall [size …]``: the first recall of a process, and later ones, by the size of the space.

Texts are made up, 20 words each, in conversations of 20; vectors are drawn beforehand, so that no model is in the clock.
Each line is a process of its own: one that finds nothing saved, one that finds the snapshot that the first has saved, and
one that finds it after a hundred memories were added. With ``--folder`` the stores are kept and used again.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import memwell
from benchmarks.corpus import Writer
from benchmarks.report import Grid, Section, console, facts, show
from memwell.longterm.embedding import Embedders
from memwell.longterm.journal import inner_space
from memwell.longterm.traits import Traits, with_traits
from memwell.models.ports import Embedder
from memwell.records import DEFAULT_SPACE, Record
from memwell.storage.sqlite import SqliteBackend

_DIMENSIONS = 896
_HIDDEN = 64
_BATCH = 1_000
_SESSION = 20
_ASKED = 40
_MORE = 100
_SIZES = (1_000, 10_000, 100_000)
_START = datetime(2025, 1, 1, tzinfo=UTC)


class Drawn(Embedder):
    """Draws vectors near a surface of 64 dimensions; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._surface = np.random.default_rng(7).standard_normal((_HIDDEN, _DIMENSIONS)).astype(np.float32)
        self._random = np.random.default_rng(seed)

    @property
    def name(self) -> str:
        return "drawn"

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.tanh(self._random.standard_normal((len(texts), _HIDDEN)).astype(np.float32) @ self._surface / 8.0)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def short(text: str) -> str:
    return " ".join(text.split()[:20]) if text.isascii() else text[:40]


def add(path: Path, first: int, count: int) -> None:
    """Store memories from number ``first`` on, with words and vectors."""
    backend, writer, drawn = SqliteBackend(path), Writer(first + 7), Drawn(first)
    Embedders(backend.kv, inner_space(DEFAULT_SPACE), drawn).claim(drawn.name)
    for start in range(first, first + count, _BATCH):
        numbers = range(start, min(start + _BATCH, first + count))
        texts = [short(writer.text()) for _ in numbers]
        rows = drawn.embed(texts)
        backend.index.upsert([memory_of(*one) for one in zip(numbers, texts, rows, strict=True)])
    backend.close()


def memory_of(number: int, text: str, row: NDArray[np.float32]) -> Record:
    traits = Traits(
        speaker=("Ann", "Ben")[number % 2], session=f"s{number // _SESSION}", position=number, importance=0.5, stated=()
    )
    moment = _START + timedelta(minutes=number)
    return Record(
        text=text,
        space=DEFAULT_SPACE,
        id=f"m{number:08}",
        time=moment,
        metadata=with_traits({"tag": f"t{number % 7}"}, traits),
        vector=row.tolist(),
    )


def ask(path: Path) -> dict[str, Any]:
    """Ask in this process: the first question, and the median of later ones, in ms."""
    writer, drawn = Writer(11), Drawn(11)
    with memwell.open(path, embedder=drawn, work=False) as memory:
        queries = [" ".join(short(writer.text()).split()[:8])[:40] + "?" for _ in range(_ASKED + 1)]
        # When the collector next looks through all that was imported is chance, and takes 25 ms.
        gc.collect()
        first = _timed(memory, queries[0])
        later = [_timed(memory, query) for query in queries[1:]]
        while not any(Path(f"{path}-cache").glob("*.cache")):
            # That of a large space is made in the background, and given up when the store is closed.
            time.sleep(0.1)
        before = time.perf_counter()
    return {
        "first_cpu": first[0],
        "first_wall": first[1],
        "later_cpu": median(cpu for cpu, _ in later),
        "later_wall": median(wall for _, wall in later),
        "close": (time.perf_counter() - before) * 1e3,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _timed(memory: Any, query: str) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    assert memory.recall(query)
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3


def _asked(path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_recall", "--ask", str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def measure(folder: Path, sizes: Sequence[int]) -> Section:
    """The three processes for each size."""
    section = Section("first recall")
    grid = Grid(
        "The first recall of a process and later ones, without embedding the question (CPU, wall in brackets)",
        ["memories", "the process finds", "first, ms", "later, ms", "closing, ms", "most memory, MB"],
    )
    for size in sizes:
        path = folder / f"{size}.db"
        if not path.exists():
            add(path, 0, size)
        shutil.rmtree(f"{path}-cache", ignore_errors=True)
        for found in ("nothing saved", "a snapshot", f"a snapshot, {_MORE} new"):
            if found.endswith("new"):
                add(path, size, _MORE)
            one = _asked(path)
            grid.add(
                f"{size:,}",
                found,
                f"{one['first_cpu']:,.1f} ({one['first_wall']:,.1f})",
                f"{one['later_cpu']:.1f} ({one['later_wall']:.1f})",
                f"{one['close']:,.0f}",
                f"{one['peak_mb']:,.0f}",
            )
    section.grids.append(grid)
    return section


def main() -> None:
    """Measure and print, or ask once."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_recall", description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=_SIZES)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(ask(options.ask)))
        return
    console.print(", ".join(f"{name} {value}" for name, value in facts().items()))
    with tempfile.TemporaryDirectory(prefix="memwell-bench-") as folder:
        show(measure(options.folder or Path(folder), options.sizes))


if __name__ == "__main__":
    main()

__all__ = ["Drawn", "add", "ask", "measure"]
