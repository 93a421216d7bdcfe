"""How well questions find their answers, measured so that neither tiny passages nor huge ones win for free.

A passage costs what it takes in a prompt. So the answers are looked for in what fits a budget of tokens: the best passages
in their order, the last one cut where the budget ends. How much of the answer stands there is the question's score, the
mean over the whole budget, a half, a quarter and an eighth of it. A small passage that hits leaves room and has answered
early; one too small for its answer leaves some of it out; a large one fills the budget with what was not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from memwell.knowledge.documents import Found
from memwell.knowledge.tuning.questions import SyntheticQuestion

Numbers = NDArray[np.float64]

SHARES = (0.125, 0.25, 0.5, 1.0)
"""The parts of the budget that answers are looked for in."""

_RESAMPLES = 2_000
_INTERVAL = (2.5, 97.5)
_ENOUGH = 0.5  # of an answer, to have found it


class Outcome(NamedTuple):
    """How well one question found its answer."""

    found: float
    """1 when the first passages hold at least half of the answer, else 0."""
    reciprocal: float
    """One over the rank of the first passage that has to do with it."""
    covered: float
    """How much of the answer stands in what fits the budget."""
    score: float
    """The mean of that over the whole budget, a half, a quarter and an eighth of it."""


class Figures(msgspec.Struct, frozen=True):
    """Means over questions; ``low`` to ``high`` is where the score's true mean lies, 19 times out of 20."""

    recall: float
    mrr: float
    budget_recall: float
    score: float
    low: float
    high: float
    questions: int


class Interval(NamedTuple):
    """A mean and where the true one lies, 19 times out of 20."""

    mean: float
    low: float
    high: float


def outcome(
    question: SyntheticQuestion,
    passages: Sequence[Found],
    *,
    document: str,
    size: Callable[[str], int],
    budget: int,
    first: int,
) -> Outcome:
    """Judge what was recalled, best first, for a question whose answer stands in the document of that id."""
    answer = (question.start, question.end)
    spans = [(one.citation.start, one.citation.end) if one.citation.document == document else None for one in passages]
    sizes = [size(one.text) for one in passages]
    within = [_covered(answer, _fitting(spans, sizes, round(share * budget))) for share in SHARES]
    return Outcome(
        found=float(_covered(answer, [span for span in spans[:first] if span]) >= _ENOUGH),
        reciprocal=_reciprocal(answer, spans),
        covered=within[-1],
        score=sum(within) / len(within),
    )


def figures(outcomes: Sequence[Outcome], *, seed: int) -> Figures:
    """The means over questions; zeros for none."""
    if not outcomes:
        return Figures(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0)
    means = [float(np.mean(column)) for column in zip(*outcomes, strict=True)]
    scores = interval(np.array([one.score for one in outcomes]), seed=seed)
    return Figures(means[0], means[1], means[2], means[3], scores.low, scores.high, len(outcomes))


def interval(values: Numbers, *, seed: int) -> Interval:
    """The mean of values and its bootstrap interval of 95 %."""
    chance = np.random.default_rng(seed)
    means = values[chance.integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.percentile(means, _INTERVAL)
    return Interval(float(values.mean()), float(low), float(high))


Span = tuple[int, int]


def _fitting(spans: Sequence[Span | None], sizes: Sequence[int], budget: int) -> list[Span]:
    """What of the answer's document fits the budget; passages of other documents only take their room."""
    kept: list[Span] = []
    left = budget
    for span, size in zip(spans, sizes, strict=True):
        if span is not None:
            share = min(1.0, left / max(size, 1))
            kept.append((span[0], span[0] + int((span[1] - span[0]) * share)))
        left -= size
        if left <= 0:
            break
    return kept


def _covered(answer: Span, spans: Sequence[Span]) -> float:
    """The share of the answer that the spans hold together."""
    start, end = answer
    held, at = 0, start
    for one in sorted(spans):
        from_, to = max(one[0], at), min(one[1], end)
        if to > from_:
            held += to - from_
            at = to
    return held / max(end - start, 1)


def _reciprocal(answer: Span, spans: Sequence[Span | None]) -> float:
    for rank, span in enumerate(spans, 1):
        if span is not None:
            shared = min(answer[1], span[1]) - max(answer[0], span[0])
            # Of a long answer a passage may be a part, as an answer of a long passage.
            if shared >= _ENOUGH * max(1, min(answer[1] - answer[0], span[1] - span[0])):
                return 1.0 / rank
    return 0.0


__all__ = ["SHARES", "Figures", "Interval", "Outcome", "figures", "interval", "outcome"]
