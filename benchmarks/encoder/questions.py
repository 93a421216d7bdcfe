"""Learn to turn a question's vector towards its answers: ``python -m benchmarks.encoder.questions DATA_FOLDER [--whole]``.

The multilingual model gives like vectors to texts that sound alike, and a question seldom sounds like its answer. A matrix
and a vector that is added, applied to questions only, make up for much of that; stored vectors stay as they are. Both are
learnt from the written conversations in Chinese and English, and help in both. One conversation in five is held out, unless
``--whole`` is given. The program writes ``questions.npz``, prints its digest, which belongs into
``memwell.models.local.onnx``, and how the cosine ranks what was held out, before and after.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.encoder.data import held_out, written, written_chinese
from benchmarks.recall.evaluate import Sample
from memwell.longterm.snapshot import embedded_text
from memwell.models.local import LocalEmbedder, embedder
from memwell.runtime.evaluation import ndcg

OUT = Path(embedder.__file__).with_name("questions.npz")
EPOCHS, RATE, SCALE, NEAR_TO_NOTHING = 10, 1e-4, 20.0, 1e-3
"""The last holds the matrix near to one that changes nothing."""

Floats = NDArray[np.float32]


class Embedded(NamedTuple):
    """The vectors of a store's turns and questions, and which turns answer each question."""

    turns: Floats
    questions: Floats
    gold: list[list[int]]


def embedded(stores: Sequence[Sample]) -> list[Embedded]:
    """The vectors of stores by the multilingual model."""
    model = LocalEmbedder("use")
    found: list[Embedded] = []
    for store in stores:
        at = {unit.id: number for number, unit in enumerate(store.units)}
        turns = model.embed([embedded_text(unit.speaker, unit.text) for unit in store.units])
        questions = model.embed([query.text for query in store.queries])
        found.append(Embedded(turns, questions, [sorted(at[one] for one in query.gold) for query in store.queries]))
    return found


def fit(stores: Sequence[Embedded], seed: int = 0) -> tuple[Floats, Floats]:
    """The matrix and the vector under which the turns that answer are likeliest among those of their store."""
    random = np.random.default_rng(seed)
    size = stores[0].turns.shape[1]
    same = np.eye(size, dtype=np.float32)
    learnt = [same.copy(), np.zeros(size, np.float32)]
    means, squares = ([np.zeros_like(one) for one in learnt] for _ in range(2))
    step = 0
    for epoch in range(EPOCHS):
        for at in random.permutation(len(stores)):
            step += 1
            slopes = _slopes(stores[at], *learnt)
            slopes[0] += NEAR_TO_NOTHING * (learnt[0] - same)
            for one, slope, mean, square in zip(learnt, slopes, means, squares, strict=True):
                mean += 0.1 * (slope - mean)
                square += 0.01 * (slope**2 - square)
                change = mean / (1.0 - 0.9**step) / (np.sqrt(square / (1.0 - 0.99**step)) + 1e-8)
                one -= np.float32(RATE * (1.0 - epoch / EPOCHS)) * change
    return learnt[0], learnt[1]


def _slopes(store: Embedded, matrix: Floats, shift: Floats) -> list[Floats]:
    turned = store.questions @ matrix.T + shift
    lengths = np.linalg.norm(turned, axis=1, keepdims=True)
    turned /= lengths
    odds = np.exp(SCALE * (turned @ store.turns.T - 1.0))
    wrong = odds / odds.sum(1, keepdims=True)
    for row, gold in zip(wrong, store.gold, strict=True):
        row[gold] -= 1.0 / len(gold)
    slope = SCALE / len(wrong) * (wrong @ store.turns)
    slope = (slope - turned * (turned * slope).sum(1, keepdims=True)) / lengths
    return [slope.T @ store.questions, slope.sum(0)]


def ranked(stores: Sequence[Embedded], matrix: Floats, shift: Floats) -> float:
    """The mean nDCG@10 of the questions, in per cent."""
    found: list[float] = []
    for store in stores:
        scores = (store.questions @ matrix.T + shift) @ store.turns.T
        for row, gold in zip(scores, store.gold, strict=True):
            order = np.argsort(-row, kind="stable")[:10]
            found.append(ndcg([str(one) for one in order], frozenset(map(str, gold)), 10))
    return 100.0 * float(np.mean(found))


def main() -> None:
    """Learn, judge, and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoder.questions", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of the data sets")
    parser.add_argument("--whole", action="store_true", help="learn from what is held out as well")
    options = parser.parse_args()
    chinese, held_chinese = written_chinese(options.data)
    held_english = held_out(options.data)["written"]
    names = {store.name for store in held_english}
    # Half of the English conversations are enough.
    english = [store for store in written(options.data) if store.name not in names][::2]
    judged = {"Chinese": embedded(held_chinese), "English": embedded(held_english)}
    learnt = embedded([*chinese, *english])
    if options.whole:
        learnt += [store for stores in judged.values() for store in stores]
    matrix, shift = fit(learnt)
    for language, stores in judged.items():
        plain = ranked(stores, np.eye(len(shift), dtype=np.float32), np.zeros_like(shift))
        print(f"{language}: {plain:.1f} -> {ranked(stores, matrix, shift):.1f}")
    scales = np.abs(matrix).max(1) / 127.0
    np.savez(
        OUT, rows=np.round(matrix / scales[:, None]).astype(np.int8), scales=scales.astype(np.float32), shift=shift
    )
    print(f"{OUT}: {OUT.stat().st_size:,} bytes, SHA-256 {hashlib.sha256(OUT.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
