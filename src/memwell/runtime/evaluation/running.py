"""A data set through the public interface: remember every unit in order, recall every query, keep the raw rankings."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from memwell.errors import InvalidInput, MemwellError
from memwell.models.ports import Embedder
from memwell.records import Space
from memwell.runtime.batch import Batch
from memwell.runtime.engine import Engine
from memwell.runtime.engine import open as open_engine
from memwell.runtime.evaluation.datasets import Query, Store, Unit, load
from memwell.runtime.evaluation.metrics import Scores, Summary, judged, summary
from memwell.runtime.transfer import Progress
from memwell.storage import Backend
from memwell.values import shown

MEMWELL = "memwell, shipped defaults"
WORDS = "its words alone (BM25, text only)"
MEANING = "its vectors alone"
_DEEP = 100
"""How far a ranking is kept. Where sessions are judged, many of the best units may be of one session."""


class Run(msgspec.Struct, frozen=True):
    """What was measured: the scores of each way of searching, and every ranking."""

    data: str
    stores: int
    units: int
    queries: int
    summaries: dict[str, Summary]
    rankings: list[dict[str, Any]]
    settings: dict[str, Any]

    def write(self, folder: Path) -> Path:
        """Keep the raw rankings, one line a query, with the settings in the first."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{''.join(c if c.isalnum() else '-' for c in self.data.lower())}.jsonl"
        lines = [{"data": self.data, **self.settings}, *self.rankings]
        path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
        return path


def evaluate(
    path: Path,
    *,
    embedder: Embedder | Callable[..., Any] | str | None = "local",
    progress: Progress | None = None,
    most_queries: int | None = None,
    workers: int = 1,
) -> Run:
    """Measure recall on the data set in a file, with the shipped defaults. Raises ``InvalidInput`` for an unknown file.

    With several ``workers`` its stores are measured by so many processes, with the same results; the embedder is then one
    that is known by its name. Raises ``InvalidInput`` for another.
    """
    name, stores = load(path)
    if workers > 1:
        parts = _in_processes(path, stores, embedder, progress, most_queries, workers)
    else:
        total = sum(len(store.units) + len(store.queries[:most_queries]) for store in stores)
        count = _Count(progress, total)
        parts = [_measured(store, embedder, most_queries, count.tell) for store in stores]
    rankings = [ranking for part in parts for ranking in part.rankings]
    found = {way: [one for part in parts for one in part.found[way]] for way in (MEMWELL, WORDS, MEANING)}
    return Run(
        name,
        len(stores),
        sum(len(store.units) for store in stores),
        len(rankings),
        {way: summary(results) for way, results in found.items() if results},
        rankings,
        {"embedder": parts[0].embedder if parts else None, "limit": _DEEP},
    )


class _Part(msgspec.Struct):
    """What one store of a data set came to, as it travels between processes."""

    embedder: str | None
    found: dict[str, list[tuple[str, Scores]]]
    rankings: list[dict[str, Any]]


class _Count:
    """Adds up the steps done, and tells of it."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def tell(self, steps: int) -> None:
        self._done += steps
        if self._progress is not None:
            self._progress(self._done, self._total)


def _measured(
    store: Store,
    embedder: Embedder | Callable[..., Any] | str | None,
    most_queries: int | None,
    tell: Callable[[int], None],
) -> _Part:
    """Remember one store of a data set, and ask its queries."""
    found: dict[str, list[tuple[str, Scores]]] = {MEMWELL: [], WORDS: [], MEANING: []}
    rankings: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="memwell-bench-") as folder,
        open_engine(Path(folder) / "bench.db", embedder=embedder, work=False) as engine,
    ):
        memory = engine.at(Space("bench", store.name))
        _remember(memory, store, tell)
        for query in store.queries[:most_queries]:
            rankings.append(_asked(memory, store, query, found))
            tell(1)
        used = engine.embedder
    return _Part(None if used is None else used.name, found, rankings)


def _in_processes(
    path: Path, stores: Sequence[Store], embedder: object, progress: Progress | None, most: int | None, workers: int
) -> list[_Part]:
    if embedder is not None and not isinstance(embedder, str):
        raise InvalidInput(f"several processes need an embedder that is known by its name, not {shown(embedder)}")
    pieces = [
        {"path": str(path.resolve()), "store": number, "embedder": embedder, "queries": most}
        for number in range(len(stores))
    ]
    with tempfile.TemporaryDirectory(prefix="memwell-bench-") as folder:
        batch = Batch(Path(folder) / "batch.db", "recall", pieces, measure_store, workers=workers, runner="processes")
        outcome = batch.run(progress=progress)
    if outcome.failures:
        raise MemwellError(f"a store of the data set could not be measured: {outcome.failures[0].error}")
    return [msgspec.convert(result, _Part) for result in outcome.results]


def measure_store(_: Backend, piece: dict[str, Any]) -> Any:
    """The work of a batch: measure one store of a data set, in a file of its own."""
    number: int = piece["store"]
    store = load(Path(piece["path"]))[1][number]
    return msgspec.to_builtins(_measured(store, piece["embedder"], piece["queries"], lambda steps: None))


def _remember(memory: Engine, store: Store, tell: Callable[[int], None]) -> None:
    for unit in store.units:
        memory.remember(
            unit.text or "…",
            id=unit.id,
            speaker=unit.speaker,
            session=unit.session,
            time=datetime.fromtimestamp(unit.time, UTC) if unit.time else None,
        )
    while worked := memory.indexer.work():
        tell(worked)


def _asked(memory: Engine, store: Store, query: Query, found: Mapping[str, list[tuple[str, Scores]]]) -> dict[str, Any]:
    """Ask one query in every way, and note how it did."""
    units = {unit.id: unit for unit in store.units}
    now = datetime.fromtimestamp(query.now, UTC) if query.now else None
    ways = {MEMWELL: [hit.id for hit in memory.recall(query.text, limit=_DEEP, now=now)]}
    ways[WORDS] = [hit.record.id for hit in memory.backend.index.match(memory.space, query.text, limit=_DEEP)]
    if memory.embedder is not None:
        vector = memory.embedder.embed([query.text])[0]
        if vector.any():
            hits = memory.backend.index.near(memory.space, vector.tolist(), limit=_DEEP)
            ways[MEANING] = [hit.record.id for hit in hits]
    for way, ids in ways.items():
        found[way].append((query.type, judged(query, _units(ids, units))))
    return {
        "store": store.name,
        "query": query.id,
        "type": query.type,
        "gold": sorted(query.gold),
        "ranking": ways[MEMWELL],
    }


def _units(ids: Sequence[str], units: Mapping[str, Unit]) -> list[Unit]:
    return [units[id_] for id_ in ids]


__all__ = ["MEANING", "MEMWELL", "WORDS", "Run", "evaluate", "measure_store"]
