"""Stores turned into what the ranking learns from and is judged by: the signals of every question's candidates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.evaluate import MeanScores, Query, Sample, Scores, Unit, judged, summary
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.signals import observe
from memwell.longterm.snapshot import Snapshot, SnapshotEntry, embedded_text
from memwell.longterm.weights import SIGNALS, Weights

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]
_EVERYTHING = Weights.linear(dict.fromkeys(SIGNALS, 0.0))
_JUDGED = 120
"""A ranking is judged by its first units; ten sessions are always among so many."""


class Example(NamedTuple):
    """A question with the signals of its candidates, which of them are gold, and where it may be learnt from."""

    query: Query
    units: list[Unit]
    signals: Vectors
    gold: NDArray[np.bool_]
    group: str
    """Questions of one group share evidence: they are never split between learning and judging."""


def cached(embed: Embed, folder: Path | None) -> Embed:
    """The same embedder, which keeps its vectors in a folder by what it was asked."""
    if folder is None:
        return embed

    def remembered(texts: Sequence[str]) -> Vectors:
        path = folder / f"{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:24]}.npy"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            np.save(path, embed(texts))
        return np.load(path)

    return remembered


def entries(store: Sample, embed: Embed) -> list[SnapshotEntry]:
    """The units of a store as entries with vectors."""
    plain = [
        SnapshotEntry(unit.id, unit.text, unit.speaker, unit.session, unit.position, unit.time) for unit in store.units
    ]
    vectors = embed([embedded_text(entry) for entry in plain])
    return [entry._replace(vector=vector) for entry, vector in zip(plain, vectors, strict=True)]


def flattened(store: Sample, step: int = 3) -> Sample:
    """The same units as memories that stand alone: no sessions, the speaker in the text; every ``step``-th question."""
    units = [
        unit._replace(text=f"{unit.speaker}: {unit.text}", speaker="", session="", position=0) for unit in store.units
    ]
    return Sample(f"{store.name}-flat", units, store.queries[::step])


def examples(stores: Iterable[Sample], embed: Embed) -> Iterator[Example]:
    """Every question of every store with its candidates, exactly those that would be ranked."""
    for store in stores:
        snapshot, units = Snapshot.build(entries(store, embed)), {unit.id: unit for unit in store.units}
        vectors = embed([query.text for query in store.queries])
        for query, vector in zip(store.queries, vectors, strict=True):
            observed = observe(snapshot, ParsedQuery.of(query.text, now=query.now, vector=vector), _EVERYTHING)
            found = [units[snapshot.ids[row]] for row in observed.rows]
            gold = np.array([unit.id in query.gold for unit in found])
            yield Example(query, found, observed.signals, gold, _group(store, query))


def _group(store: Sample, query: Query) -> str:
    # In a pooled store the sessions of one question, and of those that share them, have ids with the same stem.
    return min(query.gold_sessions).rsplit("_", 1)[0] if query.gold_sessions else f"{store.name} {query.id}"


def judge(found: Iterable[tuple[Example, NDArray[Any]]]) -> MeanScores:
    """The summary of examples with the scores of their candidates."""
    return summary((example.query.type, _scores(example, scores)) for example, scores in found)


def _scores(example: Example, scores: NDArray[Any]) -> Scores:
    order = np.argsort(-np.round(scores, 6), kind="stable")[:_JUDGED]
    return judged(example.query, [example.units[at] for at in order])


__all__ = ["Embed", "Example", "Vectors", "cached", "entries", "examples", "flattened", "judge"]
