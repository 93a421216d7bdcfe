"""What each signal brings: ``python -m benchmarks.recall.ablation DATA_FOLDER`` prints a Markdown table.

Each signal is taken out of the shipped weights, and each is left alone in them. The weights are not learnt again, so what a
signal loses when taken out is what it brings beside the others as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.recall.evaluate import MeanScores, load
from benchmarks.recall.examples import CachingEmbedder, Example, examples
from benchmarks.recall.learn import ranked_by, training
from memwell.longterm.weights import Weights, default_weights

DATA = ("friends", "longmemeval", "madial")
"""Beside LoCoMo; of FriendsQA and LongMemEval the questions that the encoder was not trained on."""
GROUPS = {
    "*all of words*": ("words", "session", "coverage", "window_coverage", "rarest"),
    "*all of vectors*": ("dense", "dense_best", "dense_session", "answers_dense"),
    "*all of late interaction*": ("late", "late_best", "late_window"),
    "*vectors and late interaction*": (
        *("dense", "dense_best", "dense_session", "answers_dense", "late", "late_best", "late_window"),
    ),
    "*all of neighbours and sessions*": (
        *("session", "window_coverage", "dense_session", "answers_dense", "follows_question", "opens"),
    ),
    "*all of who and when*": ("speaker", "role", "time", "when", "how_many"),
    "*all of form*": ("asks", "follows_question", "opens", "length"),
}
"""Signals that stand in for each other: taking one out shows less than it brings."""


def table(data: Mapping[str, Sequence[Example]], weights: Weights) -> Iterable[str]:
    """The lines of the table, nDCG@10 in per cent: macro for LoCoMo, over all questions for the others."""
    yield "| signal | " + " | ".join(f"{name} without | alone" for name in data) + " |"
    yield "|---" * (1 + 2 * len(data)) + "|"
    full = {name: _figure(name, ranked_by(weights, found)) for name, found in data.items()}
    yield "| *all signals* | " + " | ".join(f"{full[name]:.1f} | " for name in data) + " |"
    for title, signals in {**GROUPS, **{name: (name,) for name in weights.curves}}.items():
        cells = [cell for name, found in data.items() for cell in _cells(name, found, weights, signals, full[name])]
        yield f"| {title} | {' | '.join(cells)} |"


def _cells(name: str, found: Sequence[Example], weights: Weights, signals: Sequence[str], full: float) -> list[str]:
    without = _figure(name, ranked_by(_kept(weights, lambda one: one not in signals), found))
    alone = _figure(name, ranked_by(_kept(weights, lambda one: one in signals), found))
    return [f"{without - full:+.1f}", f"{alone:.1f}"]


def _kept(weights: Weights, wanted: Callable[[str], bool]) -> Weights:
    return Weights({name: curve for name, curve in weights.curves.items() if wanted(name)}, weights.decay)


def _figure(name: str, found: MeanScores) -> float:
    return 100.0 * (found.macro if name == "locomo" else found.all.ndcg10)


def main() -> None:
    """Print the table for the shipped weights."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall.ablation", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the data sets are")
    parser.add_argument("--cache", type=Path, help="a folder to keep vectors in")
    options = parser.parse_args()
    # Loading the models takes a while; --help should not.
    from memwell.models.local import LocalEmbedder

    vectors = CachingEmbedder(LocalEmbedder(), options.cache)
    learnt = training(options.folder, vectors)
    data = {"locomo": list(examples(load("locomo", options.folder), vectors)), **{name: learnt[name] for name in DATA}}
    print("\n".join(table(data, default_weights())))


if __name__ == "__main__":
    main()

__all__ = ["table"]
