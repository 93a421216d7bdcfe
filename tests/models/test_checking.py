"""Nothing a model says is believed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memwell.errors import BadModelOutput, InvalidInput
from memwell.models.checking import checked_scores, checked_vectors, given_texts


@given(arrays.arrays(np.float32, (3, 4), elements=st.floats(-100, 100, width=32)))
def test_vectors_come_out_at_unit_length_or_zero(rows: np.ndarray):
    found = checked_vectors(rows.tolist(), 3, "m", 4)
    lengths = np.linalg.norm(found, axis=1)
    expected = np.linalg.norm(rows.astype(float), axis=1) > 0
    assert np.allclose(lengths, expected, atol=1e-5)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "vector",
        7,
        [],
        [[1.0, 2.0]],
        [[1.0], [1.0, 2.0]],
        [[1.0, math.nan], [1.0, 2.0]],
        [[1.0, math.inf], [1.0, 2.0]],
        [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]],
        [["a", "b"], ["c", "d"]],
        [[], []],
        [[1e300, 1e300], [1e308, 1e308]],
        [{"embedding": [1, 2]}, {"embedding": [1, 2]}],
        [[True, False], [True, True]],
        [None, None],
        np.zeros((2, 2, 2)),
        [[10**400, 1], [1, 1]],
    ],
)
def test_vectors_that_are_none_are_refused(value: object):
    with np.errstate(over="ignore"), pytest.raises(BadModelOutput, match="the model"):
        checked_vectors(value, 2, "the model", 2)


@pytest.mark.parametrize("value", [None, 5, "ab", [1.0], [1.0, "x"], [1.0, math.nan], [1, None], [[1], [2]]])
def test_scores_that_are_none_are_refused(value: object):
    with pytest.raises(BadModelOutput, match="the model"):
        checked_scores(value, 2, "the model")
    assert checked_scores(iter([1, 2.5]), 2, "m") == [1.0, 2.5]


@pytest.mark.parametrize("texts", ["text", b"x", None, 3, ["a", None], [b"a"]])
def test_what_is_no_list_of_texts_is_refused(texts: object):
    with pytest.raises(InvalidInput, match="must be"):
        given_texts(texts)
