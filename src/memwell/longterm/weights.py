"""The weights of ranking: a curve for every signal, from its value to its share in the score.

A curve is piecewise linear and constant outside its points, so that it can weigh one half of a signal's range only. A
record's score is the sum of the shares of its signals, and every hit can list them.
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

from memwell.errors import InvalidInput
from memwell.values import shown

SIGNALS = (
    "words", "session", "coverage", "window_coverage", "rarest",
    "dense", "dense_best", "dense_session", "answers_dense", "late", "late_best", "late_window",
    "speaker", "role", "time", "when", "how_many", "asks", "follows_question", "opens", "length",
    "importance", "recency", "uses", "access", "worth",
)  # fmt: skip
"""All signals, in the order of their columns."""

BROAD = ("importance", "recency", "uses", "access", "worth")
"""Signals that do not depend on the query; where their weight is high they help to choose the candidates."""

_RETIRED = frozenset({"translated", "near", "window", "names", "peak", "answers", "dense_window"})
"""Signals of earlier versions, which count no more."""

_OF_WORDS = frozenset(SIGNALS[: SIGNALS.index("dense")])


class Signal(msgspec.Struct, frozen=True, gc=False):
    """One reason for a score: the value of a signal, and its share."""

    value: float
    share: float


_ABOVE_ALL = 20.0


class Curve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A piecewise linear curve: ``shares[i]`` is the share at ``values[i]``; values ascend."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def spread(self) -> float:
        """The largest difference that the signal can make."""
        return max(self.shares) - min(self.shares)


@dataclass(frozen=True)
class Weights:
    """The curves by the names of their signals; a signal without a curve does not count.

    ``decay`` is the share of its recency that a record loses every hour. ``note`` says where the weights come from.
    Raises ``InvalidInput`` for an unknown signal and an invalid curve.
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
        """Weights in proportion to the values of signals, which lie between -1 and 1."""
        curves = {name: Curve((-1.0, 1.0), (-float(weight), float(weight))) for name, weight in weights.items()}
        return cls(curves, decay, note)

    @classmethod
    def time_weighted(
        cls, *, similarity: float = 1.0, recency: float = 1.0, importance: float = 1.0, decay: float = 0.01
    ) -> Weights:
        """Similarity, plus ``(1 - decay) ** hours`` since it was said or last recalled, plus its importance."""
        return cls.linear({"dense": similarity, "access": recency, "worth": importance}, decay=decay)

    @cached_property
    def piecewise(self) -> PiecewiseCurves:
        """The curves as arrays, for many records at once."""
        return piecewise_curves(self.curves)

    @cached_property
    def of_a_time(self) -> Weights:
        """The same with the time above all else, for a question that names nothing but a time."""
        time = self.curves.get("time")
        if time is None:
            return self
        above = Curve(time.values, tuple(_ABOVE_ALL * share for share in time.shares))
        return Weights({**self.curves, "time": above}, self.decay)

    @cached_property
    def spread(self) -> float:
        """The largest difference that all signals can make together."""
        return sum(curve.spread for curve in self.curves.values())

    @cached_property
    def count_words(self) -> bool:
        """Whether any signal of words counts."""
        return not _OF_WORDS.isdisjoint(self.curves)

    @cached_property
    def plain(self) -> bool:
        """Whether all weighted signals can be computed for every record, so that the candidates are exact."""
        return bool(self.curves) and all(name == "dense" or name in BROAD for name in self.curves)

    @cached_property
    def broad(self) -> tuple[tuple[str, Curve], ...]:
        """The curves of ``BROAD`` whose weight is high enough to choose candidates by."""
        largest = max((curve.spread for curve in self.curves.values()), default=0.0)
        mine = [(name, self.curves[name]) for name in BROAD if name in self.curves]
        return tuple((name, curve) for name, curve in mine if curve.spread >= largest / 2.0 > 0.0)


def _check(name: str, curve: Curve) -> None:
    if name not in SIGNALS and name not in _RETIRED:
        raise InvalidInput(f"no signal is called {shown(name)}; there are {', '.join(SIGNALS)}")
    numbers = (*curve.values, *curve.shares)
    if not curve.values or len(curve.values) != len(curve.shares) or not all(map(math.isfinite, numbers)):
        raise InvalidInput(f"the curve of {name} must have as many shares as values, at least one, all finite")
    if any(one >= two for one, two in zip(curve.values, curve.values[1:], strict=False)):
        raise InvalidInput(f"the values of the curve of {name} must rise: {shown(curve.values)}")


def loaded(data: bytes) -> Weights:
    """Decode weights from JSON. Raises ``InvalidInput``."""
    try:
        return msgspec.json.decode(data, type=Weights)
    except msgspec.DecodeError as error:
        raise InvalidInput(f"these are no weights: {error}") from None


@cache
def default_weights() -> Weights:
    """The weights of the package; their note says what they were learned from."""
    return loaded(files("memwell.longterm").joinpath("weights.json").read_bytes())


# Curves as arrays: a few operations evaluate all of them for many records.

Floats = NDArray[np.float32]
Line: TypeAlias = tuple[int, float, float, float]


class PiecewiseCurves(NamedTuple):
    """All curves as their line segments, without the constant ones."""

    names: tuple[str, ...]
    """The signals that have a curve, in the order of ``SIGNALS``."""
    own_columns: NDArray[np.intp]
    """The columns of these signals."""
    columns: NDArray[np.intp]
    lows: Floats
    scales: Floats
    rises: NDArray[np.float64]
    starts: NDArray[np.intp]
    """The first segment of each curve."""
    bases: NDArray[np.float64]
    """The share of each curve below its first point."""

    def scores(self, signals: Floats) -> NDArray[np.float64]:
        """The score of every record; ``signals`` has a row for each record and a column for each of ``SIGNALS``."""
        return self._climbed(signals).sum(0) + self.bases.sum()

    def shares(self, signals: Floats) -> NDArray[np.float64]:
        """The share of every signal of ``names`` in the score of every record."""
        if not self.names:
            return np.zeros((len(signals), 0))
        return np.add.reduceat(self._climbed(signals), self.starts, 0).T + self.bases

    def _climbed(self, signals: Floats) -> NDArray[np.float64]:
        """What each segment adds for every record: its rise, or the part of it that lies below the value."""
        # A row for each segment: signals are computed one by one, so this copies whole rows.
        climbed = signals.T.take(self.columns, 0)
        climbed -= self.lows[:, None]
        climbed *= self.scales[:, None]
        np.minimum(np.maximum(climbed, 0.0, out=climbed), 1.0, out=climbed)
        return climbed * self.rises[:, None]


def piecewise_curves(curves: Mapping[str, Curve]) -> PiecewiseCurves:
    """The curves of signals, given by name, as arrays."""
    names = tuple(name for name in SIGNALS if name in curves)
    lines: list[Line] = []
    starts: list[int] = []
    for name in names:
        starts.append(len(lines))
        lines += _lines(SIGNALS.index(name), curves[name])
    columns, lows, scales, rises = np.array(lines, np.float64).reshape(-1, 4).T
    return PiecewiseCurves(
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
    """The column, the low end, the inverse width and the rise of each segment; at least one for each curve."""
    pairs = pairwise(zip(curve.values, curve.shares, strict=True))
    lines = [
        (column, low, 1.0 / (high - low), after - before) for (low, before), (high, after) in pairs if after != before
    ]
    return lines or [(column, 0.0, 1.0, 0.0)]
