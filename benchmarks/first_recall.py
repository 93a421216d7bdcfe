"""``python -m benchmarks.first_recall [size …]``: the first recall of a process, and later ones, by the size of the space.

Texts are made up, 20 words each, in conversations of 20; vectors are drawn beforehand, so that no model is in the clock.
Each line is a process of its own: one that finds nothing saved, one that finds the snapshot that the first has saved, and
one that finds it after a hundred memories were added. With ``--folder`` the stores are kept and used again.

With ``--data FILE …`` the texts are the first 10,000 turns of data sets that ``memwell bench recall`` takes, and copies of
them that differ a little in words and vectors, with the vectors of the local embedder: to make those takes ten minutes. The
questions are those of the data sets, and their vectors are made beforehand. The hits in spaces of more than 20,000 memories
are compared with those of comparing every memory as closely as in a small space. With ``--postgres`` a server is started
for the run, in which the same memories are stored; CPU is then that of both.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import memwell
from benchmarks.corpus import Writer
from benchmarks.report import Grid, Section, console, facts, show, step
from memwell.longterm import ranking
from memwell.longterm.embedding import Embedders, TokenStore
from memwell.longterm.journal import inner_space
from memwell.longterm.recall import Recalled, looking
from memwell.longterm.snapshot_cache import Snapshots
from memwell.longterm.traits import KEY, Traits, with_traits
from memwell.models.local import LocalEmbedder
from memwell.models.ports import Embedder
from memwell.records import DEFAULT_SPACE, Record, paged, stored_record
from memwell.runtime.evaluation import Query, load
from memwell.storage.registry import open_backend
from memwell.storage.sqlite import SqliteBackend

_DIMENSIONS = 896
_HIDDEN = 64
_BATCH = 1_000
_SESSION = 20
_ASKED = 40
_MORE = 100
_DISTINCT = 10_000
_JUDGED = 100
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


class Clock:
    """CPU in seconds: of this thread, and of a PostgreSQL server, given by the process that its others come from.

    Of the thread, because another one may be making a snapshot.
    """

    def __init__(self, server: int | None = None) -> None:
        self.server = server

    def __call__(self) -> float:
        return time.thread_time() + self.of_server()

    def of_server(self) -> float:
        spent = 0
        for stat in Path("/proc").glob("[0-9]*/stat") if self.server is not None else ():
            with suppress(OSError):
                if int(stat.read_text().rpartition(")")[2].split()[1]) == self.server:
                    spent += int(stat.with_name("schedstat").read_text().split()[0])
        return spent / 1e9


class Turns(NamedTuple):
    """Memories of a store and their token vectors, by id."""

    memories: list[Record]
    tokens: dict[str, bytes]


def turns_of(path: Path) -> Turns:
    with open_backend(str(path)) as backend:
        memories = list(paged(lambda cursor: backend.index.scan(DEFAULT_SPACE, limit=_BATCH, cursor=cursor)))
        store = TokenStore(backend.kv, inner_space(DEFAULT_SPACE))
        return Turns(memories, store.read([one.id for one in memories], LocalEmbedder().name))


def add_copies(url: str, turns: Turns, size: int, clock: Clock) -> float:
    """Add copies of memories until there are ``size``. Returns how many were stored in a second of CPU."""
    random, name, spent = np.random.default_rng(3), LocalEmbedder().name, 0.0
    with open_backend(url) as backend:
        Embedders(backend.kv, inner_space(DEFAULT_SPACE), LocalEmbedder()).claim(name)
        store = TokenStore(backend.kv, inner_space(DEFAULT_SPACE))
        first = backend.index.info(DEFAULT_SPACE).records
        for start in range(first, size, _BATCH):
            made: list[Record] = []
            for at in range(start, min(start + _BATCH, size)):
                number, place = divmod(at, len(turns.memories))
                made.append(copied(turns.memories[place], number, random) if number else turns.memories[place])
            before = clock()
            backend.index.upsert(made)
            spent += clock() - before
            with backend.transaction():
                for one in made:
                    store.put(one.id, name, turns.tokens.get(one.id.partition("-")[0], b""))
    return (size - first) / max(spent, 1e-9)


def copied(one: Record, number: int, random: np.random.Generator) -> Record:
    """A memory of another session, without one of its words, with a vector beside its own."""
    words, row = one.text.split(" "), np.array(one.vector, np.float32)
    if len(words) > 1:
        del words[int(random.integers(len(words)))]
    row += (row != 0.0) * random.standard_normal(len(row), np.float32) * np.float32(_APART)
    traits = {**one.metadata[KEY], "session": f"{one.metadata[KEY]['session']}/{number}"}
    vector = array("f", (row / np.linalg.norm(row)).tobytes())
    # Without checks, which take half as long as storing it.
    return stored_record(
        " ".join(words), one.space, f"{one.id}-{number}", one.kind, one.time, {**one.metadata, KEY: traits}, vector
    )


def questions(files: Sequence[Path], count: int) -> list[Query]:
    """Questions of data sets, from all of them alike."""
    asked = [query for file in files for sample in load(file)[1] for query in sample.queries]
    return asked[:: len(asked) // count][:count]


def ask_turns(url: str, files: Sequence[Path], clock: Clock) -> dict[str, float]:
    """Ask questions of data sets in this process: the first, others, and these again; medians, in ms of CPU.

    While the snapshot of a large space is being made, a few are asked of the store's own indexes.
    """
    asked = [query.text for query in questions(files, _ASKED + 1)]
    with memwell.open(url, work=False) as memory:
        for query in asked:
            memory.similarities(query, ["-"])
        gc.collect()
        first = _timed(memory, asked[0], clock)[0]
        snapshots = memory.memory._snapshots
        searched, before = 0.0, time.process_time() + clock.of_server()
        if not snapshots.suits(DEFAULT_SPACE):
            searched = median(_timed(memory, query, clock)[0] for query in asked[1:6])
        while not snapshots.suits(DEFAULT_SPACE):
            time.sleep(1.0)
        made = time.process_time() + clock.of_server() - before
        others = [_timed(memory, query, clock)[0] for query in asked[1:]]
        again = [min(_timed(memory, query, clock)[0] for _ in range(3)) for query in asked[1:]]
        with snapshots.of(DEFAULT_SPACE) as held:
            held_mb = held.snapshot.nbytes / 2**20
    return {
        "first": first,
        "new": median(others),
        "again": median(again),
        "searched": searched,
        "made": made,
        "held_mb": held_mb,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def compare_ways(url: str, files: Sequence[Path]) -> dict[str, float]:
    """The first ten of questions, beside those of comparing every memory closely, and of searching by words alone.

    The share that is the same as with all compared closely, and nDCG@10 of the three, where a copy of what answers counts
    as that, once.
    """
    asked = judged_questions(files, _JUDGED)
    with memwell.open(url, work=False) as memory, looking():
        usual = [memory.recall(query) for query, _ in asked]
        with patch.object(ranking, "LARGE", 10**9):
            closely = [memory.recall(query) for query, _ in asked]
        with (
            patch.object(Snapshots, "suits", lambda *_: False),
            patch.object(Snapshots, "has_vectors_compared", lambda *_: False),
        ):
            by_words = [memory.recall(query) for query, _ in asked]
        hits = {_origin(hit) for ways in (usual, closely, by_words) for found in ways for hit in found}
        texts = {id_: memory.get(id_).text for id_ in hits}
    ids = [[{hit.id for hit in found} for found in way] for way in (usual, closely)]
    same = fmean(len(one & other) / 10 for one, other in zip(*ids, strict=True))
    gains = [
        fmean(_ndcg(hits, gold, texts) for hits, (_, gold) in zip(way, asked, strict=True))
        for way in (usual, closely, by_words)
    ]
    names = ("ndcg", "ndcg_closely", "ndcg_by_words")
    return {
        "asked": len(asked),
        "same": 100 * same,
        **{name: 100 * one for name, one in zip(names, gains, strict=True)},
    }


def judged_questions(files: Sequence[Path], count: int) -> list[tuple[str, frozenset[str]]]:
    """Questions of data sets with the texts that answer them."""
    found: list[tuple[str, frozenset[str]]] = []
    for file in files:
        for sample in load(file)[1]:
            texts = {unit.id: unit.text for unit in sample.units}
            found += [(one.text, frozenset(texts[id_] for id_ in one.gold)) for one in sample.queries if one.gold]
    return found[:: max(len(found) // count, 1)][:count]


def _origin(hit: Recalled) -> str:
    """The id of the memory that a hit is a copy of, or its own."""
    return hit.id.partition("-")[0]


def _ndcg(hits: Sequence[Recalled], gold: frozenset[str], texts: dict[str, str]) -> float:
    found = list(dict.fromkeys(texts[_origin(hit)] for hit in hits))
    gained = sum(1.0 / math.log2(place + 2) for place, text in enumerate(found) if text in gold)
    return gained / sum(1.0 / math.log2(place + 2) for place in range(min(len(gold), 10)))


def measure_turns(folder: Path, sizes: Sequence[int], files: Sequence[Path], *, postgres: bool) -> Section:
    """For each size a process that finds nothing saved, and one that finds the snapshot that it saved."""
    section = Section("recall among turns of data sets")
    rows = Grid(
        "Recall, without embedding the question (ms of CPU)",
        ["memories", "first of a process", "a question new to the process", "a question asked again"],
    )
    made = Grid(
        "Storing, making the snapshot, and recall until it is made (CPU)",
        ["memories", "stored a second", "first, ms", "until then, ms", "made in, s", "snapshot, MB", "most memory, MB"],
    )
    same = Grid(
        "The first ten, and those of comparing every memory closely",
        ["memories", "questions", "the same, %", "nDCG@10", "nDCG@10 closely", "nDCG@10 until the snapshot is made"],
    )
    for size in sizes:
        distinct = folder / f"turns-{min(size, _DISTINCT)}.db"
        if not distinct.exists():
            add_turns(distinct, min(size, _DISTINCT), files)
        with _stored(folder, distinct, size, postgres=postgres) as (url, per_second, server):
            one = _asked(url, files, server)
            if one["made"] > 1.0 or per_second:
                cells = (one["first"], one["searched"], one["made"], one["held_mb"], one["peak_mb"])
                made.add(f"{size:,}", f"{per_second:,.0f}", *(f"{cell:,.1f}" for cell in cells))
            one = _asked(url, files, server) if not postgres else one
            rows.add(f"{size:,}", *(f"{one[name]:.1f}" for name in ("first", "new", "again")))
            if size > ranking.LARGE:
                ways = compare_ways(url, files)
                cells = (f"{ways[name]:.1f}" for name in ("same", "ndcg", "ndcg_closely", "ndcg_by_words"))
                same.add(f"{size:,}", f"{ways['asked']}", *cells)
            step(f"{size:,}: done")
    section.grids += [grid for grid in (rows, made, same) if grid.rows]
    return section


@contextmanager
def _stored(folder: Path, distinct: Path, size: int, *, postgres: bool) -> Iterator[tuple[str, float, int | None]]:
    """A store with turns and copies of them, how many it took in a second of CPU, and the process of its server."""
    if postgres:
        # Its driver and server are wanted here alone.
        from benchmarks.servers import Server

        server = Server(options={"shared_buffers": "1GB", "max_wal_size": "4GB"})
        try:
            yield server.url(), add_copies(server.url(), turns_of(distinct), size, Clock(server.pid)), server.pid
        finally:
            server.remove()
        return
    path = folder / f"turns-{size}.db"
    yield str(path), 0.0 if path.exists() else add_copies(str(path), turns_of(distinct), size, Clock()), None


def _timed(memory: Any, query: str, clock: Callable[[], float] = time.process_time) -> tuple[float, float]:
    cpu, wall = clock(), time.perf_counter()
    assert memory.recall(query)
    return (clock() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3


def _asked(url: str, files: Sequence[Path] = (), server: int | None = None) -> dict[str, Any]:
    data = ["--data", *map(str, files)] if files else []
    data += [] if server is None else ["--server", str(server)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_recall", "--ask", url, *data],
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
            one = _asked(str(path))
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
    parser.add_argument("--postgres", action="store_true", help="in PostgreSQL, with --data")
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    parser.add_argument("--server", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        turns = options.data and ask_turns(options.ask, options.data, Clock(options.server))
        print(json.dumps(turns or ask(Path(options.ask))))
        return
    console.print(", ".join(f"{name} {value}" for name, value in facts().items()))
    with tempfile.TemporaryDirectory(prefix="memwell-bench-") as folder:
        place = options.folder or Path(folder)
        if options.data:
            show(measure_turns(place, options.sizes, options.data, postgres=options.postgres))
        else:
            show(measure(place, options.sizes))


if __name__ == "__main__":
    main()

__all__ = ["Drawn", "add", "add_turns", "ask", "ask_turns", "compare_ways", "measure", "measure_turns"]
