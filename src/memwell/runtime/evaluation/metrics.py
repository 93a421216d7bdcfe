"""How well a ranking found what it should: recall and nDCG with binary gains, and their means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memwell.runtime.evaluation.datasets import Query, Unit


class Scores(NamedTuple):
    """How well one ranking found its gold."""

    recall5: float
    recall10: float
    ndcg10: float


def score(ranking: Sequence[str], gold: frozenset[str]) -> Scores:
    """R@5, R@10 and nDCG@10 with binary gains of one ranking, best first."""
    return Scores(recall(ranking, gold, 5), recall(ranking, gold, 10), ndcg(ranking, gold, 10))


def recall(ranking: Sequence[str], gold: frozenset[str], k: int) -> float:
    """The share of the gold among the first ``k``."""
    return len(gold.intersection(ranking[:k])) / len(gold)


def ndcg(ranking: Sequence[str], gold: frozenset[str], k: int) -> float:
    """Discounted gain of the first ``k`` over that of the best possible order."""
    gained = sum(1.0 / math.log2(place + 2) for place, unit in enumerate(ranking[:k]) if unit in gold)
    return gained / sum(1.0 / math.log2(place + 2) for place in range(min(len(gold), k)))


def judged(query: Query, ranking: Sequence[Unit]) -> Scores:
    """The scores of units, best first: by their sessions where the query has golden sessions.

    A session stands where its best unit stands, so a ranking must be long enough to name ten sessions.
    """
    if query.gold_sessions:
        return score(list(dict.fromkeys(unit.session for unit in ranking)), query.gold_sessions)
    return score([unit.id for unit in ranking], query.gold)


class Summary(NamedTuple):
    """Means over questions: by type, over all, without the adversarial ones, and the macro mean of the types' nDCG@10."""

    by_type: dict[str, Scores]
    all: Scores
    answerable: Scores
    macro: float


def summary(found: Iterable[tuple[str, Scores]]) -> Summary:
    """The means over questions, given as (type, scores)."""
    results = list(found)
    kinds = sorted({kind for kind, _ in results})
    by_type = {kind: mean([scores for each, scores in results if each == kind]) for kind in kinds}
    return Summary(
        by_type,
        mean([scores for _, scores in results]),
        mean([scores for kind, scores in results if kind != "adversarial"]),
        sum(scores.ndcg10 for scores in by_type.values()) / max(len(by_type), 1),
    )


def mean(scores: Sequence[Scores]) -> Scores:
    """The mean of each metric."""
    return Scores(*(sum(column) / len(scores) for column in zip(*scores, strict=True))) if scores else Scores(0, 0, 0)


__all__ = ["Scores", "Summary", "judged", "mean", "ndcg", "recall", "score", "summary"]
