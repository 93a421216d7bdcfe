"""``python -m benchmarks.questions [--write]``: learn which relation a question asks for, from its vector.

``questions.jsonl`` has a question a line, in English or Chinese, with the relations whose value answers it; with none if it
asks for something else: of another, of a thing, for help. Each question is judged by a model that has learnt from four
fifths of the others; ``--write`` learns from all and writes the model of the package. It takes two minutes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import memwell.longterm
from benchmarks.report import Grid, Section, show
from memwell.language.claims import FAVOURITE, USER
from memwell.language.fact_questions import FactQuestion, fact_question, relations_with
from memwell.language.words import han_share
from memwell.longterm.question_model import QuestionModel, may_be_of_speaker
from memwell.models.local import LocalEmbedder

DATA = Path(__file__).with_name("questions.jsonl")
MODEL = Path(memwell.longterm.__file__).with_name("questions.npz")
_FOLDS, _STEPS, _RATE, _DECAY = 5, 400, 0.05, 0.01
_BASE = -3.0

Floats = NDArray[np.float32]


def learnt(vectors: Floats, wanted: Floats, name: str, relations: Iterable[str]) -> QuestionModel:
    """The weights that make what was seen likeliest, kept small."""
    weights = np.zeros((vectors.shape[1], wanted.shape[1]), np.float32)
    base = np.full(wanted.shape[1], _BASE, np.float32)
    moments = [np.zeros_like(one) for one in (weights, base, weights, base)]
    for step in range(1, _STEPS + 1):
        missed = 1.0 / (1.0 + np.exp(-(vectors @ weights + base))) - wanted
        slopes = (vectors.T @ missed + 2.0 * _DECAY * weights, missed.sum(0))
        for at, (part, slope) in enumerate(zip((weights, base), slopes, strict=True)):
            moments[at] = 0.9 * moments[at] + 0.1 * slope
            moments[at + 2] = 0.99 * moments[at + 2] + 0.01 * slope**2
            mean, spread = moments[at] / (1.0 - 0.9**step), moments[at + 2] / (1.0 - 0.99**step)
            part -= _RATE * (1.0 - step / (_STEPS + 1)) * mean / (np.sqrt(spread) + 1e-8)
    return QuestionModel(name, tuple(relations), weights, base)


def judged(rows: list[dict[str, Any]], vectors: Floats, wanted: Floats, name: str, relations: list[str]) -> Section:
    """How many are understood, by the rules and where these say nothing by a model that has not seen them."""
    folds = np.random.default_rng(0).integers(0, _FOLDS, len(rows))
    found: list[tuple[set[str], set[str]]] = [(set(), set())] * len(rows)
    for fold in range(_FOLDS):
        model = learnt(vectors[folds != fold], wanted[folds != fold], name, relations)
        for at in np.flatnonzero(folds == fold):
            known = fact_question(rows[at]["text"])
            likely = model.fact(vectors[at]) if known is None and may_be_of_speaker(rows[at]["text"]) else None
            found[at] = (_relations(known), _relations(likely))
    grid = Grid(
        "Questions, each judged by a model that has not seen it",
        ["", "questions", "of those for a fact: right", "another fact", "of those for none: taken for one"],
    )
    for language, chinese in (("English", False), ("Chinese", True)):
        some = [at for at, row in enumerate(rows) if (han_share(row["text"]) > 0.0) is chinese]
        for way, by in (("rules", 0), ("the model besides", 1)):
            asks = [(found[at][by], set(rows[at]["relations"])) for at in some if rows[at]["relations"]]
            rest = [found[at][by] for at in some if not rows[at]["relations"]]
            right = sum(bool(one & wanted) for one, wanted in asks)
            wrong = sum(bool(one) for one, _ in asks) - right
            taken = sum(map(bool, rest))
            grid.add(f"{language}, {way}", f"{len(asks)} + {len(rest)}", f"{right}", f"{wrong}", f"{taken}")
    section = Section("what questions ask for")
    section.grids.append(grid)
    return section


def _relations(asked: FactQuestion | None) -> set[str]:
    """By what a question is taken to ask of the speaker; a favourite is liked."""
    if asked is None or asked.subject != USER:
        return set()
    relations = asked.relations or relations_with(asked.called)
    return {"likes" if one.startswith(FAVOURITE) else one for one in relations}


def main() -> None:
    """Learn, judge and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.questions", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the model of the package")
    options = parser.parse_args()
    rows = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
    relations = sorted({name for row in rows for name in row["relations"]})
    embedder = LocalEmbedder()
    vectors = np.asarray(embedder.embed([row["text"] for row in rows]), np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    wanted = np.array([[name in row["relations"] for name in relations] for row in rows], np.float32)
    show(judged(rows, vectors, wanted, embedder.name, relations))
    if options.write:
        model = learnt(vectors, wanted, embedder.name, relations)
        np.savez(
            MODEL,
            embedder=np.array(model.embedder),
            relations=np.array(model.relations),
            weights=model.weights.astype(np.float16),
            base=model.base.astype(np.float16),
        )


if __name__ == "__main__":
    main()
