"""Curves as arrays: all of them are followed for many records by a few operations."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memwell._products import product
from memwell.longterm.weights import SIGNALS, Curve

Floats = NDArray[np.float32]
Line: TypeAlias = tuple[int, float, float, float]


class Pieces(NamedTuple):
    """All curves cut into the lines between their points, lines that do not rise left out."""

    names: tuple[str, ...]
    """The signals that have a curve, in the order of ``SIGNALS``."""
    own_columns: NDArray[np.intp]
    """And their columns; a signal that has no curve is not looked at."""
    columns: NDArray[np.intp]
    lows: Floats
    scales: Floats
    rises: NDArray[np.float64]
    starts: NDArray[np.intp]
    """Where the lines of each curve begin."""
    bases: NDArray[np.float64]
    """The share of each curve before its first point."""

    def scores(self, signals: Floats) -> NDArray[np.float64]:
        """The score of every record, for a matrix with a row for each and a column for each of ``SIGNALS``."""
        return product(self._climbed(signals), self.rises) + self.bases.sum()

    def shares(self, signals: Floats) -> NDArray[np.float64]:
        """The share of every signal in ``names`` in the score of every record."""
        if not self.names:
            return np.zeros((len(signals), 0))
        return np.add.reduceat(self._climbed(signals) * self.rises, self.starts, 1) + self.bases

    def _climbed(self, signals: Floats) -> Floats:
        """How much of each line lies below each value, from 0 to 1."""
        climbed = signals[:, self.columns]
        climbed -= self.lows
        climbed *= self.scales
        return np.minimum(np.maximum(climbed, 0.0, out=climbed), 1.0, out=climbed)


def pieces_of(curves: Mapping[str, Curve]) -> Pieces:
    """The pieces of curves, given by the names of their signals."""
    names = tuple(name for name in SIGNALS if name in curves)
    lines: list[Line] = []
    starts: list[int] = []
    for name in names:
        starts.append(len(lines))
        lines += _lines(SIGNALS.index(name), curves[name])
    columns, lows, scales, rises = np.array(lines, np.float64).reshape(-1, 4).T
    return Pieces(
        names,
        np.array([SIGNALS.index(name) for name in names], np.intp),
        columns.astype(np.intp),
        lows.astype(np.float32),
        scales.astype(np.float32),
        rises,
        np.array(starts, np.intp),
        np.array([curves[name].shares[0] for name in names], np.float64),
    )


def _lines(column: int, curve: Curve) -> list[Line]:
    """The column, the low end, one over the width and the rise of each line; at least one, because a curve has a base."""
    pairs = pairwise(zip(curve.values, curve.shares, strict=True))
    lines = [
        (column, low, 1.0 / (high - low), after - before) for (low, before), (high, after) in pairs if after != before
    ]
    return lines or [(column, 0.0, 1.0, 0.0)]


__all__ = ["Pieces", "pieces_of"]
