"""What each signal counts: a curve for every signal, from its value to its share in the score.

A curve is a row of points joined by straight lines and level outside them, so it can say that the first half of a signal
matters and the rest does not. A record's score is the sum of the shares of its signals: nothing else enters it, and every
hit can say where its score comes from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from memwell._products import product
from memwell.errors import InvalidInput
from memwell.values import shown

SIGNALS = (
    "words", "near", "window", "session", "coverage", "window_coverage", "rarest", "names", "peak", "answers",
    "dense", "dense_best", "dense_window", "dense_session", "answers_dense",
    "speaker", "role", "time", "when", "how_many", "asks", "follows_question", "opens", "length",
    "importance", "recency", "uses", "access", "worth",
)  # fmt: skip
"""The signals there are, in the order of the columns in which they are computed."""

BROAD = ("importance", "recency", "uses", "access", "worth")
"""Signals that do not depend on what is asked; where they count much, they help to choose the candidates."""


_OF_WORDS = frozenset(SIGNALS[: SIGNALS.index("dense")])


class Signal(msgspec.Struct, frozen=True, gc=False):
    """One reason for a score: what was observed, and what it added."""

    value: float
    share: float


class Curve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``shares[i]`` is the share at the value ``values[i]``; values rise."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def spread(self) -> float:
        """The largest difference that the signal can make."""
        return max(self.shares) - min(self.shares)


@dataclass(frozen=True)
class Weights:
    """Curves by the name of their signal; a signal without one does not count.

    ``decay`` is what the recency of a record loses every hour. ``note`` says where the weights come from.
    Raises ``InvalidInput`` for an unknown signal, and for a curve that is not one.
    """

    curves: Mapping[str, Curve]
    decay: float = 0.001
    note: str = ""

    def __post_init__(self) -> None:
        if not 0.0 <= self.decay < 1.0:
            raise InvalidInput(f"decay must be at least 0 and below 1, not {shown(self.decay)}")
        for name, curve in self.curves.items():
            _check(name, curve)

    @classmethod
    def linear(cls, weights: Mapping[str, float], *, decay: float = 0.001, note: str = "") -> Weights:
        """Weights under which each signal counts in proportion to its value, which lies between -1 and 1."""
        curves = {name: Curve((-1.0, 1.0), (-float(weight), float(weight))) for name, weight in weights.items()}
        return cls(curves, decay, note)

    @classmethod
    def time_weighted(
        cls, *, similarity: float = 1.0, recency: float = 1.0, importance: float = 1.0, decay: float = 0.01
    ) -> Weights:
        """Similarity, plus ``(1 - decay) ** hours`` since it was said or last recalled, plus its importance."""
        return cls.linear({"dense": similarity, "access": recency, "worth": importance}, decay=decay)

    @cached_property
    def pieces(self) -> Pieces:
        """The curves as arrays, for many records at once."""
        # It brings numpy, which takes a tenth of a second to load; weights are named long before anything is ranked.
        from memwell.longterm.weights import pieces_of  # noqa: PLC0415

        return pieces_of(self.curves)

    @cached_property
    def count_words(self) -> bool:
        """Whether any signal of words counts."""
        return not _OF_WORDS.isdisjoint(self.curves)

    @cached_property
    def plain(self) -> bool:
        """Whether every signal that counts is at hand for all records: then the candidates are the best of all."""
        return bool(self.curves) and all(name == "dense" or name in BROAD for name in self.curves)

    @cached_property
    def broad(self) -> tuple[tuple[str, Curve], ...]:
        """The curves of ``BROAD`` that count enough to decide which records are looked at closely."""
        largest = max((curve.spread for curve in self.curves.values()), default=0.0)
        mine = [(name, self.curves[name]) for name in BROAD if name in self.curves]
        return tuple((name, curve) for name, curve in mine if curve.spread >= largest / 2.0 > 0.0)


def _check(name: str, curve: Curve) -> None:
    if name not in SIGNALS:
        raise InvalidInput(f"no signal is called {shown(name)}; there are {', '.join(SIGNALS)}")
    numbers = (*curve.values, *curve.shares)
    if not curve.values or len(curve.values) != len(curve.shares) or not all(map(math.isfinite, numbers)):
        raise InvalidInput(f"the curve of {name} must have as many shares as values, at least one, all finite")
    if any(one >= two for one, two in zip(curve.values, curve.values[1:], strict=False)):
        raise InvalidInput(f"the values of the curve of {name} must rise: {shown(curve.values)}")


def loaded(data: bytes) -> Weights:
    """Weights from JSON. Raises ``InvalidInput`` when it holds something else."""
    try:
        return msgspec.json.decode(data, type=Weights)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"these are no weights: {error}") from None


@cache
def default_weights() -> Weights:
    """The weights that ship with the library; their note says what they were learnt from."""
    return loaded(files("memwell.longterm").joinpath("weights.json").read_bytes())


# Curves as arrays: all of them are followed for many records by a few operations.


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
