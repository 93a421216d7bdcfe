"""Stores turned into what the ranking learns from and is judged by: the signals of every question's candidates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.recall.evaluate import MeanScores, Query, Sample, Scores, Unit, judged, summary
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.embedding import best_matches
from memwell.longterm.ranking import SignalTable, observe
from memwell.longterm.snapshot import Snapshot, SnapshotEntry, embedded_text
from memwell.longterm.weights import SIGNALS, Weights
from memwell.models.ports import QueryTokens, TokenEmbedder

Vectors = NDArray[np.float32]
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


class CachingEmbedder:
    """An embedder that keeps the vectors of lists of texts in a folder, if there is one."""

    def __init__(self, embedder: TokenEmbedder, folder: Path | None = None) -> None:
        self.embedder = embedder
        self._folder = folder

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """The vectors and the token vectors of texts."""
        if self._folder is None:
            return self.embedder.embed_tokens(texts)
        digest = hashlib.sha256(chr(0).join([self.embedder.name, *texts]).encode()).hexdigest()[:24]
        path = self._folder / f"{digest}.msgpack"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            rows, tokens = self.embedder.embed_tokens(texts)
            path.write_bytes(msgspec.msgpack.encode((rows.astype(np.float32).tobytes(), tokens)))
        packed, tokens = msgspec.msgpack.decode(path.read_bytes(), type=tuple[bytes, list[bytes]])
        return np.frombuffer(packed, np.float32).reshape(len(texts), -1), tokens


class EmbeddedSample:
    """A store with its vectors."""

    def __init__(self, store: Sample, vectors: CachingEmbedder) -> None:
        self.store = store
        self._embedder = vectors.embedder
        rows, tokens = vectors.embed([embedded_text(unit.speaker, unit.text) for unit in store.units])
        plain = (
            SnapshotEntry(unit.id, unit.text, unit.speaker, unit.session, unit.position, unit.time)
            for unit in store.units
        )
        self.snapshot = Snapshot.build(entry._replace(vector=row) for entry, row in zip(plain, rows, strict=True))
        self._tokens = self._embedder.unpacked(tokens)

    def observe(self, query: Query) -> SignalTable:
        """The signals of the candidates of a question."""
        vector, tokens = self._embedder.embed_query(query.text)
        shared = self._embedder.shared_from
        vector = self._embedder.towards_answers(vector) if vector.any() else vector
        question = ParsedQuery.of(query.text, now=query.now, vector=vector, shared_from=shared)
        late = None if tokens is None else partial(self._late, tokens)
        return observe(self.snapshot, question, _EVERYTHING, late=late)

    def _late(self, tokens: QueryTokens, rows: Sequence[int]) -> Vectors | None:
        return best_matches(self._embedder, tokens, [self._tokens[row] for row in rows])


def flattened(store: Sample, step: int = 3) -> Sample:
    """The same units as memories that stand alone: no sessions, the speaker in the text; every ``step``-th question."""
    units = [
        unit._replace(text=f"{unit.speaker}: {unit.text}", speaker="", session="", position=0) for unit in store.units
    ]
    return Sample(f"{store.name}-flat", units, store.queries[::step])


def examples(stores: Iterable[Sample], vectors: CachingEmbedder) -> Iterator[Example]:
    """Every question of every store with its candidates, exactly those that would be ranked."""
    for store in stores:
        embedded, units = EmbeddedSample(store, vectors), {unit.id: unit for unit in store.units}
        for query in store.queries:
            observed = embedded.observe(query)
            found = [units[embedded.snapshot.ids[row]] for row in observed.rows]
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


__all__ = ["CachingEmbedder", "EmbeddedSample", "Example", "Vectors", "examples", "flattened", "judge"]
