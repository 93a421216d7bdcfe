from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.longterm.codes import Codes


def _unit(seed: int, rows: int, dimensions: int) -> np.ndarray:
    found = np.random.default_rng(seed).standard_normal((rows, dimensions)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1)[:, None]


def _codes(vectors: np.ndarray) -> Codes:
    codes = Codes()
    for row, vector in enumerate(vectors):
        codes.grow(row + 1)
        codes[row] = vector
    return codes


@given(seed=st.integers(0, 10_000), rows=st.integers(1, 40), dimensions=st.integers(1, 300))
def test_products_and_cosines_are_nearly_those_of_the_vectors(seed: int, rows: int, dimensions: int) -> None:
    vectors = _unit(seed, rows + 1, dimensions)
    question, kept = vectors[-1], vectors[:-1]
    codes = _codes(kept)
    # A code is off by half a step at most, and a step is a 127th of the largest number.
    assert codes.dots(question, rows) == pytest.approx(kept @ question, abs=0.02)
    assert codes.cosine(0, rows - 1) == pytest.approx(float(kept[0] @ kept[-1]), abs=0.02)


def test_a_vector_with_the_direction_of_the_question_is_the_nearest_whatever_its_length() -> None:
    vectors = _unit(3, 50, 64)
    codes = _codes(vectors * np.linspace(0.1, 900.0, 50, dtype=np.float32)[:, None])
    lengths = np.linalg.norm(vectors, axis=1) * np.linspace(0.1, 900.0, 50)
    assert [int(np.argmax(codes.dots(one, 50) / lengths)) for one in vectors] == list(range(50))


def test_a_row_that_is_taken_out_or_has_no_direction_is_near_to_nothing() -> None:
    codes = _codes(_unit(1, 3, 8))
    del codes[1]
    codes[2] = np.zeros(8, np.float32)
    dots = codes.dots(np.ones(8, np.float32), 3)
    assert dots[0] != 0.0
    assert dots[1:].tolist() == [0.0, 0.0]
    assert codes.cosine(0, 1) == 0.0


def test_codes_take_little_more_than_a_byte_a_number() -> None:
    codes = _codes(_unit(1, 64, 100))
    assert 6_400 <= codes.nbytes <= 2 * 6_400


def test_some_rows_have_the_products_that_all_rows_have() -> None:
    vectors = _unit(4, 70, 33)
    codes, some = _codes(vectors), np.array([3, 0, 68])
    assert codes.dots_of(some, vectors[9]).tolist() == codes.dots(vectors[9], 70)[some].tolist()
    assert codes.dots_of(some[:0], vectors[9]).tolist() == []


def test_signs_tell_the_nearest_from_the_rest_whatever_changed_since() -> None:
    vectors = _unit(6, 5000, 200)
    codes = Codes()
    codes.grow(6000)
    codes.put(range(5000), list(vectors))
    likely = codes.likely_dots(3.0 * vectors[4500], 5000)
    assert int(np.argmax(likely)) == 4500
    assert float(np.abs(likely - 3.0 * vectors @ vectors[4500]).max()) < 3.0 * 6.0 / 200**0.5
    codes[17], codes[5500] = vectors[4500], 2.0 * vectors[4500]
    del codes[4500]
    again = codes.likely_dots(vectors[4500], 6000)
    assert again[17] == pytest.approx(1.0, abs=1e-6)
    assert again[5500] == pytest.approx(2.0, abs=1e-6)
    assert again[[4500, 5999]].tolist() == [0.0, 0.0]
