"""Weights: values that check themselves, and curves that mean what they say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.longterm.weights import SIGNALS, Curve, Weights, default_weights, loaded


def test_the_shipped_weights_say_what_they_saw() -> None:
    weights = default_weights()
    assert "Nothing was fitted to LoCoMo" in weights.note
    assert {"words", "dense", "session", "speaker", "time", "importance", "recency", "uses"} <= set(weights.curves)


@given(st.floats(-2, 2), st.lists(st.floats(-1, 1), min_size=4, max_size=4))
def test_a_curve_joins_its_points_and_is_level_outside(value: float, shares: list[float]) -> None:
    curve = Curve((-1.0, 0.0, 0.25, 1.0), tuple(shares))
    signals = np.zeros((1, len(SIGNALS)), np.float32)
    signals[0, SIGNALS.index("words")] = value
    piecewise = Weights({"words": curve}).piecewise
    expected = np.interp(value, curve.values, curve.shares)
    assert piecewise.scores(signals)[0] == pytest.approx(expected, abs=1e-5)
    assert piecewise.shares(signals)[0].tolist() == pytest.approx([expected], abs=1e-5)


def test_a_curve_of_one_point_is_level_and_no_curve_scores_nothing() -> None:
    signals = np.ones((2, len(SIGNALS)), np.float32)
    assert Weights({"words": Curve((0.5,), (3.0,))}).piecewise.scores(signals).tolist() == [3.0, 3.0]
    nothing = Weights({}).piecewise
    assert nothing.scores(signals).tolist() == [0.0, 0.0]
    assert nothing.shares(signals).shape == (2, 0)


@pytest.mark.parametrize(
    ("curves", "complaint"),
    [
        ({"wrods": Curve((0.0,), (0.0,))}, "no signal is called 'wrods'"),
        ({"words": Curve((), ())}, "at least one"),
        ({"words": Curve((0.0, 1.0), (0.0,))}, "as many shares as values"),
        ({"words": Curve((0.0, 1.0), (0.0, float("nan")))}, "finite"),
        ({"words": Curve((1.0, 1.0), (0.0, 1.0))}, "must rise"),
    ],
)
def test_what_is_no_curve_is_refused(curves: dict[str, Curve], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        Weights(curves)


def test_what_is_no_decay_and_no_file_is_refused() -> None:
    with pytest.raises(InvalidInput, match="decay"):
        Weights({}, decay=1.0)
    with pytest.raises(InvalidInput, match="no weights"):
        loaded(b'{"curves": 3}')
    assert loaded(b'{"curves": {}, "decay": 0.5}').decay == 0.5
