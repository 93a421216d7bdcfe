"""The records of a pool that answer a question best, each with its reasons.

A score is the sum of the shares that the signals have in it, under the weights that are given or those that ship. The order
is decided by the score, then by the later time, then by the id, so the same question to the same records has one answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memwell.errors import InvalidInput
from memwell.longterm.pool import Flags, Pool
from memwell.longterm.question import Question
from memwell.longterm.signals import CANDIDATES, Observed, observe
from memwell.longterm.weights import Signal, Weights, default_weights

_DIGITS = 6
_LOOKED_AT = 4
"""Diversity chooses among this many times the limit."""


class Ranked:
    """A record found: the shares of its signals add up to its score."""

    __slots__ = ("_names", "_shares", "_values", "id", "row", "score")

    def __init__(self, identity: str, row: int, values: list[float], names: Sequence[str], shares: list[float]) -> None:
        self.id, self.row, self.score = identity, row, math.fsum(shares)
        self._values, self._names, self._shares = values, names, shares

    @property
    def signals(self) -> dict[str, Signal]:
        """Every signal that was there or had a share."""
        told = zip(self._names, self._values, self._shares, strict=True)
        return {name: Signal(value, share) for name, value, share in told if value or share}

    def __repr__(self) -> str:
        return f"Ranked(id={self.id!r}, score={self.score:.4f})"


def rank(
    pool: Pool,
    question: Question,
    *,
    allowed: Flags | None = None,
    limit: int = 10,
    weights: Weights | None = None,
    diversity: float = 0.0,
) -> list[Ranked]:
    """The best records, best first, at most ``limit``; only rows flagged in ``allowed``, when that is given.

    ``diversity`` from 0 to 1 is how much of its score a record loses for repeating one that stands above it.
    Raises ``InvalidInput`` for a negative limit, and for flags that are not one for each row.
    """
    if limit < 0:
        raise InvalidInput(f"limit must be at least 0, not {limit!r}")
    if allowed is not None and len(allowed) != pool.limit:
        raise InvalidInput(f"allowed must have a flag for each of {pool.limit} rows, not {len(allowed)!r}")
    if not limit or not len(pool):
        return []
    weights = weights or default_weights()
    # Each that is chosen is compared with all that are left, so many more than are wanted would take too long.
    wanted = max(limit, min(_LOOKED_AT * limit, CANDIDATES)) if diversity > 0.0 else limit
    observed = observe(pool, question, weights, allowed, max(CANDIDATES, wanted))
    scores = weights.pieces.scores(observed.signals)
    order = _order(pool, observed.rows, scores, wanted)
    if diversity > 0.0:
        order = _diverse(pool, observed.rows, scores, order, diversity)[:limit]
    return _reasoned(pool, observed, weights, order)


def _order(pool: Pool, rows: NDArray[np.intp], scores: NDArray[np.float64], count: int) -> list[int]:
    """The places of the best, best first. Scores that differ by rounding alone count as equal."""
    rounded = np.round(scores, _DIGITS)
    if len(rounded) > count:
        # All that tie with the last one are kept, so that the tie is decided by time and id and not by place.
        last = np.partition(rounded, len(rounded) - count)[len(rounded) - count]
        places: list[int] = np.flatnonzero(rounded >= last).tolist()
    else:
        places = list(range(len(rounded)))
    keys = {at: (-float(rounded[at]), -float(pool.times[rows[at]]), pool.ids[int(rows[at])]) for at in places}
    return sorted(places, key=keys.__getitem__)[:count]


def _diverse(
    pool: Pool, rows: NDArray[np.intp], scores: NDArray[np.float64], order: Sequence[int], diversity: float
) -> list[int]:
    """The order in which each next record is the best after what it repeats has been taken off."""
    lowest = float(scores.min(initial=0.0))
    worth = {at: float(scores[at]) - lowest for at in order}
    chosen: list[int] = []
    repeated = dict.fromkeys(order, 0.0)
    while repeated:
        best = max(repeated, key=lambda at: worth[at] * (1.0 - diversity * repeated[at]))
        chosen.append(best)
        del repeated[best]
        for at in repeated:
            repeated[at] = max(repeated[at], pool.likeness(int(rows[best]), int(rows[at])))
    return chosen


def _reasoned(pool: Pool, observed: Observed, weights: Weights, order: Sequence[int]) -> list[Ranked]:
    chosen = observed.signals[order]
    pieces = weights.pieces
    shares, names = pieces.shares(chosen), pieces.names
    rows: list[int] = observed.rows[order].tolist()
    found = zip(rows, chosen[:, pieces.own_columns].tolist(), shares.tolist(), strict=True)
    return [Ranked(pool.ids[row], row, values, names, parts) for row, values, parts in found]


__all__ = ["Ranked", "Signal", "rank"]
