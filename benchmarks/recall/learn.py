"""Learn the weights of the ranking: ``python -m benchmarks.recall.learn DATA_FOLDER [--write]``.

The model is additive: the score of a record is the sum of one curve for each signal, a few points joined by lines. It is
fitted by the likelihood of the evidence among the candidates of its question (a softmax over exactly the records that would
be ranked). Most curves may only rise; all are held small and straight unless the data insist, because what is learnt must
hold for talk of kinds that were not seen. Question types weigh the same within a data set.

Learnt from: the parts of FriendsQA (Apache-2.0), QMSum (MIT), Molweni (Apache-2.0) and LongMemEval (MIT) that the encoder
was not trained on at first (its vectors are better than they should be on the others), of conversations written for it in
English and Chinese, MADial-Bench (MIT) and generated dialogues.
Nothing is fitted to LoCoMo, but it is no blind test: its results were seen while the signals, the generator and
``PART_WEIGHTS`` were chosen.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.encoder.data import held_out, written_chinese
from benchmarks.recall.dialogues import dialogues
from benchmarks.recall.evaluate import MeanScores, Sample, load
from benchmarks.recall.examples import CachingEmbedder, Example, examples, flattened, judge
from memwell.longterm.weights import SIGNALS, Curve, Weights

Floats = NDArray[np.float64]
FOLDS = 5
UNLEARNT = {"importance": 0.06, "recency": 0.01, "uses": 0.02}
"""No data set says what these are worth: they are set by hand, small, and decide between equals."""

_TENTHS = (0.0, 0.15, 0.3, 0.5, 0.7, 0.85, 1.0)
_FLAG = (0.0, 1.0)
POINTS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(SIGNALS, _TENTHS),
    **dict.fromkeys(("asks", "follows_question", "opens", "when", "how_many"), _FLAG),
    **dict.fromkeys(("dense_best", "dense_session", "answers_dense"), (0.0, 0.25, 0.5, 0.65, 0.8, 0.9, 1.0)),
    "late": (0.2, 0.35, 0.5, 0.65, 0.8, 0.95),
    **dict.fromkeys(("late_best", "late_window"), (0.4, 0.6, 0.7, 0.8, 0.9, 1.0)),
    "dense": (0.0, 0.15, 0.3, 0.45, 0.6, 0.8),
    "length": (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.65),
    "speaker": (-1.0, 0.0, 1.0),
    "role": (-1.0, 0.0, 1.0),
}
FALLING = frozenset({"asks", "follows_question", "opens", "length"})
"""These curves may fall as well; the others only rise."""
LEAST_RISE = {"speaker": 0.15, "words": 0.05, "coverage": 0.05}
"""How much a piece of a curve rises at least. In FriendsQA and meetings people are asked about what others say of them, so
that a speaker would count for nothing; in a person's own memory it does. Where there are no vectors, a few words more or
less must decide.
"""
UNUSED = frozenset({"access", "worth"})
"""Signals of ``Weights.time_weighted`` alone."""
LEARNT = tuple(name for name in SIGNALS if name not in UNLEARNT and name not in UNUSED)


class Part(NamedTuple):
    """Examples to learn from, and what they count together."""

    examples: Sequence[Example]
    weight: float


class Steps:
    """The pieces of the curves: each goes from 0 to 1 between two points, so a curve is a sum of pieces times rises."""

    def __init__(self, names: Sequence[str] = LEARNT) -> None:
        self.pieces = [
            (name, low, high) for name in names for low, high in zip(POINTS[name], POINTS[name][1:], strict=False)
        ]

    def of(self, signals: NDArray[Any]) -> NDArray[np.float32]:
        """The pieces of every row of signals."""
        columns = [
            np.clip((signals[:, SIGNALS.index(name)] - low) / (high - low), 0.0, 1.0) for name, low, high in self.pieces
        ]
        return np.stack(columns, 1).astype(np.float32)

    def curves(self, rises: Floats) -> dict[str, Curve]:
        """The curves with these rises, each 0 at its first point and left out when it is flat."""
        found: dict[str, Curve] = {}
        for name in dict.fromkeys(name for name, *_ in self.pieces):
            mine = [rise for (piece, *_), rise in zip(self.pieces, rises, strict=True) if piece == name]
            if np.abs(mine).max() > 1e-3:
                found[name] = Curve(POINTS[name], tuple(np.cumsum([0.0, *mine]).tolist()))
        return found


def fit(
    parts: Iterable[Part], *, small: float = 1e-2, straight: float = 1e-2, names: Sequence[str] = LEARNT
) -> Weights:
    """The weights under which the evidence is likeliest, held small and straight by so much."""
    # Only learning needs it, and the library does not.
    from scipy.optimize import minimize

    steps = Steps(names)
    pieces, targets, starts, importance = _table(steps, parts)
    sizes = np.diff([*starts, len(targets)])
    bends = _bends(steps)

    def loss(rises: Floats) -> tuple[float, Floats]:
        scores = (pieces @ rises.astype(np.float32)).astype(np.float64)
        highest = np.maximum.reduceat(scores, starts)
        odds = np.exp(scores - np.repeat(highest, sizes))
        totals = np.add.reduceat(odds, starts)
        likelihood = scores - np.repeat(highest + np.log(totals), sizes)
        slope = (importance * (odds / np.repeat(totals, sizes) - targets)).astype(np.float32) @ pieces
        bent = bends @ rises
        value = -(importance * targets * likelihood).sum() + small * rises @ rises + straight * bent @ bent
        return float(value), slope + 2.0 * (small * rises + straight * bends.T @ bent)

    bounds = [(None, None) if name in FALLING else (LEAST_RISE.get(name, 0.0), None) for name, *_ in steps.pieces]
    start = np.full(len(steps.pieces), 0.1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
    return Weights(steps.curves(found.x))


def _table(steps: Steps, parts: Iterable[Part]) -> tuple[NDArray[np.float32], Floats, NDArray[np.intp], Floats]:
    """All candidates under each other: their pieces and targets, where each question begins, and what each row counts."""
    signals: list[Any] = []
    targets: list[Any] = []
    counts: list[Any] = []
    for part in parts:
        usable = [example for example in part.examples if example.gold.any()]
        types = Counter(example.query.type for example in usable)
        for example in usable:
            signals.append(steps.of(example.signals))
            targets.append(example.gold / example.gold.sum())
            share = part.weight / (len(types) * types[example.query.type])
            counts.append(np.full(len(example.gold), share))
    starts = np.cumsum([0, *map(len, targets)])[:-1]
    importance = np.concatenate(counts)
    return np.vstack(signals), np.concatenate(targets), starts, importance / sum(part[0] for part in counts)


def _bends(steps: Steps) -> Floats:
    """A line for each inner point of a curve: the difference of the slopes before and after it, times the width there."""
    lines: list[Floats] = []
    for at, ((one, low, middle), (two, _, high)) in enumerate(zip(steps.pieces, steps.pieces[1:], strict=False)):
        if one == two:
            line = np.zeros(len(steps.pieces))
            width = (high - low) / 2.0
            line[at], line[at + 1] = -width / (middle - low), width / (high - middle)
            lines.append(line)
    return np.array(lines)


def shipped(weights: Weights, note: str) -> Weights:
    """Weights scaled so that the learnt curves rise by 1 together, rounded, with what is set by hand beside them."""
    total = sum(curve.spread for curve in weights.curves.values())
    scaled = {
        name: Curve(curve.values, tuple(round(share / total, 4) for share in curve.shares))
        for name, curve in weights.curves.items()
    }
    by_hand = {name: Curve((0.0, 1.0), (0.0, worth)) for name, worth in UNLEARNT.items()}
    return Weights(scaled | by_hand, note=note)


def fold_of(example: Example) -> int:
    """The fold of an example: that of its group."""
    return sum(example.group.encode()) % FOLDS


def unseen_scores(
    own: Sequence[Example],
    others: Sequence[Part],
    weight: float,
    fold: Callable[[Example], int] = fold_of,
    **options: Any,
) -> list[tuple[Example, Floats]]:
    """Examples with their scores by weights learnt from the other folds and from other data."""
    found: list[tuple[Example, Floats]] = []
    for number in sorted({fold(example) for example in own}):
        kept = [example for example in own if fold(example) != number]
        weights = fit([*others, Part(kept, weight)], **options)
        found += [(example, scores_of(weights, example)) for example in own if fold(example) == number]
    return found


def scores_of(weights: Weights, example: Example) -> Floats:
    """The scores of an example's candidates."""
    return weights.piecewise.scores(example.signals)


def ranked_by(weights: Weights, own: Iterable[Example]) -> MeanScores:
    """How examples are ranked by these weights."""
    return judge((example, scores_of(weights, example)) for example in own)


def line(name: str, found: MeanScores) -> str:
    """A summary as a line of a Markdown table: macro, nDCG@10 and R@10 of the answerable, and nDCG@10 by type."""
    types = ", ".join(f"{kind} {100 * scores.ndcg10:.1f}" for kind, scores in found.by_type.items())
    plain = found.answerable
    return f"| {name} | {100 * found.macro:.1f} | {100 * plain.ndcg10:.1f} | {100 * plain.recall10:.1f} | {types} |"


NOTE = (
    "Learnt by benchmarks/recall/learn.py from parts of FriendsQA (Apache-2.0), QMSum (MIT), Molweni (Apache-2.0), "
    "LongMemEval (MIT) and conversations written for it that the encoder was not trained on, MADial-Bench zh (MIT), and "
    "written and generated dialogues in English and Chinese. Nothing was fitted to LoCoMo, but its results were looked at "
    "while the signals, the generated data and the share of each data set were chosen. Importance, recency and uses are "
    "set by hand."
)
PART_WEIGHTS = {
    "friends": 1.0,
    "meetings": 0.5,
    "chats": 0.3,
    "assistant": 0.5,
    "written": 1.5,
    "written-zh": 0.1,
    "longmemeval": 2.0,
    "dialogues": 0.5,
    "flat": 0.1,
    "madial": 2.5,
}
"""What each data set counts in learning; the last change was chosen among four by the cross-validated figures."""
_ASKED_AGAIN = {"longmemeval": "assistant"}
"""A data set whose questions another asks of smaller stores: that is not learnt from where the first is judged."""
_SEED = 4001
"""The encoder was trained on dialogues of other seeds."""


def training(folder: Path, vectors: CachingEmbedder) -> dict[str, list[Example]]:
    """What is learnt from, by name."""
    held = held_out(folder)
    talks = dialogues(english=6, chinese=4, seed=_SEED)
    asked = {query.id for store in held["assistant"] for query in store.queries}
    pooled = [
        Sample(store.name, store.units, [query for query in store.queries if query.id in asked or not query.gold])
        for store in load("longmemeval", folder)
    ]
    found = {**held, "longmemeval": pooled, "dialogues": talks, "flat": [*map(flattened, talks)]}
    found["written-zh"] = written_chinese(folder)[1]
    found["madial"] = load("madial", folder)
    # A question in two is enough of these, and costs half the time.
    found["written"] = found["written"][::2]
    return {name: list(examples(stores, vectors)) for name, stores in found.items()}


def each_session_once(found: Sequence[tuple[Example, Floats]], store: Sample) -> list[tuple[Example, Floats]]:
    """The same examples and scores, where sessions that repeat another word for word are judged as that one.

    79 of LongMemEval's 940 sessions do, most of them those of questions that are left out. No ranking can tell which of
    the two a question wants.
    """
    texts: dict[str, list[str]] = {}
    for unit in store.units:
        texts.setdefault(unit.session, []).append(unit.text)
    first: dict[tuple[str, ...], str] = {}
    same = {session: first.setdefault(tuple(said), session) for session, said in texts.items()}

    def judged_once(one: Example) -> Example:
        gold = frozenset(same[session] for session in one.query.gold_sessions)
        units = [unit._replace(session=same[unit.session]) for unit in one.units]
        return one._replace(query=one.query._replace(gold_sessions=gold), units=units)

    return [(judged_once(example), scores) for example, scores in found]


def parts_of(data: dict[str, list[Example]], *, without: str = "") -> list[Part]:
    """All that is learnt from, but for one data set and what asks its questions again."""
    left_out = {without, _ASKED_AGAIN.get(without)}
    return [Part(found, PART_WEIGHTS[name]) for name, found in data.items() if name not in left_out]


def main() -> None:
    """Learn, print how well each data set is ranked, and write the weights when asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.learn", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the data sets are")
    parser.add_argument("--cache", type=Path, help="a folder to keep vectors in")
    parser.add_argument("--look", action="store_true", help="rank LoCoMo too")
    parser.add_argument("--write", action="store_true", help="write src/memwell/longterm/weights.json")
    options = parser.parse_args()
    # Loading the models takes a while; --help should not.
    from memwell.models.local import LocalEmbedder

    vectors = CachingEmbedder(LocalEmbedder(), options.cache)
    data = training(options.folder, vectors)
    weights = shipped(fit(parts_of(data)), NOTE)
    if options.write:
        path = Path(__file__).parents[2] / "src/memwell/longterm/weights.json"
        path.write_text(json.dumps(_plain(weights), indent=1, ensure_ascii=False) + "\n", "utf-8")
    print("| data | macro nDCG@10 | nDCG@10 | R@10 | by type |\n|---|---|---|---|---|")
    for name in ("longmemeval", "madial", "friends", "meetings", "chats", "written", "written-zh"):
        found = unseen_scores(data[name], parts_of(data, without=name), PART_WEIGHTS[name])
        print(line(f"{name}, cross-validated", judge(found)), flush=True)
        if name == "longmemeval":
            found = each_session_once(found, load(name, options.folder)[0])
            print(line(f"{name}, each session once, cross-validated", judge(found)), flush=True)
    if options.look:
        locomo = list(examples(load("locomo", options.folder), vectors))
        print(line("locomo, not fitted to", ranked_by(weights, locomo)))


def _plain(weights: Weights) -> dict[str, Any]:
    curves = {name: {"values": curve.values, "shares": curve.shares} for name, curve in weights.curves.items()}
    return {"note": weights.note, "decay": weights.decay, "curves": curves}


if __name__ == "__main__":
    main()
