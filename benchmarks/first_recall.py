"""``python -m benchmarks.first_recall [size …]``: the first recall of a process, and later ones, by the size of the space.

Texts are made up, 20 words each, in conversations of 20; vectors are drawn beforehand, so that no model is in the clock.
Each line is a process of its own: one that finds nothing saved, one that finds the snapshot that the first has saved, and
one that finds it after a hundred memories were added. With ``--folder`` the stores are kept and used again.

With ``--data FILE …`` the texts are the first 10,000 turns of data sets that ``memwell bench recall`` takes, and copies of
them that differ a little in words and vectors, with the vectors of the local embedder: to make those takes ten minutes. The
questions are those of the data sets, and their vectors are made beforehand.
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
from msgspec.structs import replace
from numpy.typing import NDArray

import memwell
from benchmarks.corpus import Writer
from benchmarks.report import Grid, Section, console, facts, show
from memwell.longterm.embedding import Embedders, TokenStore
from memwell.longterm.journal import inner_space
from memwell.longterm.traits import Traits, own_metadata, traits_of, with_traits
from memwell.models.local import LocalEmbedder
from memwell.models.ports import Embedder
from memwell.records import DEFAULT_SPACE, Record, paged
from memwell.runtime.evaluation import load
from memwell.storage.sqlite import SqliteBackend

_DIMENSIONS = 896
_HIDDEN = 64
_BATCH = 1_000
_SESSION = 20
_ASKED = 40
_MORE = 100
_DISTINCT = 10_000
_APART = 0.012
"""How far the numbers of a copy's vector are from those of the memory."""
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


def add_turns(path: Path, size: int, files: Sequence[Path]) -> None:
    """Store the first turns of data sets."""
    units = [
        (f"{sample.name}/{unit.session}", unit) for file in files for sample in load(file)[1] for unit in sample.units
    ]
    with memwell.open(path, work=False) as memory:
        for session, unit in units[:size]:
            said = datetime.fromtimestamp(unit.time, UTC)
            memory.remember(unit.text, speaker=unit.speaker, session=session, time=said)
        memory.flush()


def add_copies(path: Path, size: int) -> None:
    """Copy the memories of a store until there are ``size``."""
    backend, name, random = SqliteBackend(path), LocalEmbedder().name, np.random.default_rng(3)
    first = list(paged(lambda cursor: backend.index.scan(DEFAULT_SPACE, limit=_BATCH, cursor=cursor)))
    store = TokenStore(backend.kv, inner_space(DEFAULT_SPACE))
    tokens = store.read([one.id for one in first], name)
    for number in range(len(first), size, _BATCH):
        with backend.transaction():
            for at in range(number, min(number + _BATCH, size)):
                one = first[at % len(first)]
                made = copied(one, at // len(first), random)
                backend.index.upsert([made])
                store.put(made.id, name, tokens.get(one.id, b""))
    backend.close()


def copied(one: Record, number: int, random: np.random.Generator) -> Record:
    """A memory of another session, without one of its words, with a vector beside its own."""
    words, row = one.text.split(" "), np.array(one.vector, np.float32)
    if len(words) > 1:
        del words[int(random.integers(len(words)))]
    row += (row != 0.0) * random.standard_normal(len(row)).astype(np.float32) * np.float32(_APART)
    traits = traits_of(one)
    return replace(
        one,
        id=f"{one.id}-{number}",
        text=" ".join(words),
        metadata=with_traits(own_metadata(one), replace(traits, session=f"{traits.session}/{number}")),
        vector=(row / np.linalg.norm(row)).tolist(),
    )


def ask_turns(path: Path, files: Sequence[Path]) -> dict[str, float]:
    """Ask questions of data sets in this process: the first, others, and these again; medians, in ms of CPU."""
    asked = [query.text for file in files for sample in load(file)[1] for query in sample.queries]
    asked = asked[:: len(asked) // (_ASKED + 1)][: _ASKED + 1]
    with memwell.open(path, work=False) as memory:
        for query in asked:
            memory.similarities(query, ["-"])
        gc.collect()
        first, *others = (_timed(memory, query)[0] for query in asked)
        again = [min(_timed(memory, query)[0] for _ in range(3)) for query in asked[1:]]
    return {"first": first, "new": median(others), "again": median(again)}


def measure_turns(folder: Path, sizes: Sequence[int], files: Sequence[Path]) -> Section:
    """A process for each size, after one that has saved the snapshot."""
    section = Section("recall among turns of data sets")
    grid = Grid(
        "Recall, without embedding the question (ms of CPU)",
        ["memories", "first of a process", "a question new to the process", "a question asked again"],
    )
    for size in sizes:
        path, distinct = folder / f"turns-{size}.db", folder / f"turns-{min(size, _DISTINCT)}.db"
        if not distinct.exists():
            add_turns(distinct, min(size, _DISTINCT), files)
        if not path.exists():
            shutil.copy(distinct, path)
            add_copies(path, size)
        _asked(path, files)
        one = _asked(path, files)
        grid.add(f"{size:,}", *(f"{one[name]:.1f}" for name in ("first", "new", "again")))
    section.grids.append(grid)
    return section


def _timed(memory: Any, query: str) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    assert memory.recall(query)
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3


def _asked(path: Path, files: Sequence[Path] = ()) -> dict[str, Any]:
    data = ["--data", *map(str, files)] if files else []
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_recall", "--ask", str(path), *data],
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
    parser.add_argument(
        "--data", type=Path, nargs="+", default=(), help="data sets: LoCoMo, LongMemEval, or in the common form"
    )
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(ask_turns(options.ask, options.data) if options.data else ask(options.ask)))
        return
    console.print(", ".join(f"{name} {value}" for name, value in facts().items()))
    with tempfile.TemporaryDirectory(prefix="memwell-bench-") as folder:
        place = options.folder or Path(folder)
        show(measure_turns(place, options.sizes, options.data) if options.data else measure(place, options.sizes))


if __name__ == "__main__":
    main()

__all__ = ["Drawn", "add", "add_turns", "ask", "ask_turns", "measure", "measure_turns"]
