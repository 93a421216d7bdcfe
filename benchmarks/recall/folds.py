"""LongMemEval cross-validated as a whole: ``python -m benchmarks.recall.folds DATA_FOLDER ENCODERS [--cache FOLDER]``.

Its questions are in five folds. Each is ranked with vectors of an encoder that was trained without it, and with weights
that were learnt without it: from the other folds, each with the vectors of its own encoder, and from the other data sets.
ENCODERS holds ``fold1.npz`` to ``fold4.npz``; that of the first fold, which the other data sets are read with too, must be
where memwell reads its own (``benchmarks/encoder/README.md``). The program prints a Markdown table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.encoder.data import FOLDS, assistant
from benchmarks.recall.evaluate import MeanScores, Query, Sample, judged, load, summary
from benchmarks.recall.examples import CachingEmbedder, Example, examples, judge
from benchmarks.recall.learn import (
    PART_WEIGHTS,
    each_session_once,
    fit,
    line,
    parts_of,
    ranked_by,
    training,
    unseen_scores,
)
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.ranking import rank
from memwell.longterm.snapshot import Snapshot, SnapshotEntry
from memwell.longterm.weights import Weights
from memwell.models.local import LocalEmbedder
from memwell.models.local.embedder import Loaded
from memwell.models.local.encoder import Encoder

_WORDS_ALONE = Weights.linear({"words": 1.0})
_DEEP = 100
"""The length of a ranking by words: as in ``memwell bench recall``."""


class FoldEmbedder(LocalEmbedder):
    """The local embedder with another English encoder."""

    def __init__(self, fold: int, weights: Path) -> None:
        super().__init__()
        self._fold = fold
        self._english = Loaded(partial(Encoder, weights.read_bytes()))

    @property
    def name(self) -> str:
        return f"{super().name}, fold {self._fold}"


def by_folds(folder: Path) -> dict[str, int]:
    """The fold of each question by its id: that of its store in training."""
    return {query.id: at % FOLDS for at, store in enumerate(assistant(folder)) for query in store.queries}


def pooled(store: Sample, folds: Mapping[str, int], encoders: Path, cache: Path | None) -> Iterator[Example]:
    """The examples of all questions, each with the encoder that was trained without it."""
    for fold in range(FOLDS):
        embedder = FoldEmbedder(fold, encoders / f"fold{fold}.npz") if fold else LocalEmbedder()
        asked = [query for query in store.queries if folds[query.id] == fold]
        yield from examples([Sample(store.name, store.units, asked)], CachingEmbedder(embedder, cache))


def by_words(store: Sample, queries: Sequence[Query]) -> MeanScores:
    """How questions are ranked by BM25 over the text with its speaker and date."""
    snapshot = Snapshot.build(SnapshotEntry(unit.id, unit.text, unit.speaker, time=unit.time) for unit in store.units)
    units = {unit.id: unit for unit in store.units}
    return summary(
        (query.type, judged(query, [units[hit.id] for hit in hits]))
        for query in queries
        for hits in [rank(snapshot, ParsedQuery.of(query.text, now=query.now), limit=_DEEP, weights=_WORDS_ALONE)]
    )


def main() -> None:
    """Learn without each fold, and print how it is ranked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.folds", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the data sets are")
    parser.add_argument("encoders", type=Path, help="where fold1.npz to fold4.npz are")
    parser.add_argument("--cache", type=Path, help="a folder to keep vectors in")
    options = parser.parse_args()
    store, folds = load("longmemeval", options.folder)[0], by_folds(options.folder)
    own = list(pooled(store, folds, options.encoders, options.cache))
    data = training(options.folder, CachingEmbedder(LocalEmbedder(), options.cache))
    others = parts_of(data, without="longmemeval")
    found = unseen_scores(own, others, PART_WEIGHTS["longmemeval"], lambda example: folds[example.query.id])
    parts = {f"fold {fold}": {one for one, at in folds.items() if at == fold} for fold in range(FOLDS)}
    print("| LongMemEval | macro nDCG@10 | nDCG@10 | R@10 | by type |\n|---|---|---|---|---|")
    for title, asked in {**parts, "all": set(folds)}.items():
        mine = judge((example, scores) for example, scores in found if example.query.id in asked)
        print(line(f"{title}, {len(asked)} questions", mine))
        words = by_words(store, [query for query in store.queries if query.id in asked])
        print(line(f"{title}, BM25", words), flush=True)
    print(line("all, each session once", judge(each_session_once(found, store))))
    print(line("all, weights learnt from the other data sets alone", ranked_by(fit(others), own)))


if __name__ == "__main__":
    main()
