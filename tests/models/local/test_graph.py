"""Graphs: what is written can be read, and onnxruntime computes what numpy does."""

from __future__ import annotations

import numpy as np
import pytest

from memwell.models.local.graph import Graph, fields, rounded, scaled, tensors
from memwell.models.local.session import Session

RANDOM = np.random.default_rng(7)


def test_constants_can_be_read_again():
    graph = Graph()
    values = [
        RANDOM.normal(size=(3, 5)).astype(np.float32),
        np.array([1, -2, 2**40]),
        RANDOM.integers(-128, 127, (2, 2), np.int8),
    ]
    names = [graph.constant(value) for value in values]
    found = tensors(graph.model({}, {}))
    assert list(found) == names
    assert all(np.array_equal(found[name], value) for name, value in zip(names, values, strict=True))


@pytest.mark.parametrize("inner", [64, 128, 320, 384])
def test_a_product_is_that_of_numpy_but_for_rounding(inner: int):
    matrix = RANDOM.normal(size=(inner, 16)).astype(np.float32)
    bias = RANDOM.normal(size=16).astype(np.float32)
    x = RANDOM.normal(size=(5, inner)).astype(np.float32)
    graph = Graph()
    out = graph.product("x", rounded(matrix), bias)
    found = Session(graph.model({"x": ["rows", inner]}, {out: ["rows", 16]})).run({"x": x})
    exact = x @ matrix + bias
    assert np.abs(found - exact).max() < 0.03 * np.abs(exact).max()


def test_without_integers_the_product_is_nearly_exact():
    matrix = RANDOM.normal(size=(128, 16)).astype(np.float32)
    bias = RANDOM.normal(size=16).astype(np.float32)
    x = RANDOM.normal(size=(5, 128)).astype(np.float32)
    graph = Graph(integers=False)
    out = graph.product("x", rounded(matrix), bias)
    found = Session(graph.model({"x": ["rows", 128]}, {out: ["rows", 16]})).run({"x": x})
    assert np.allclose(found, x @ rounded(matrix).floats() + bias, atol=1e-4)
    assert np.abs(rounded(matrix).floats() - matrix).max() < 0.02


def test_whole_numbers_with_scales_are_kept_exactly():
    numbers = RANDOM.integers(-127, 127, (128, 8), np.int8)
    scales = RANDOM.uniform(0.1, 1, (1, 8)).astype(np.float32)
    kept = scaled(numbers, scales)
    back = (kept.numbers.reshape(8, 128).astype(np.float32) - 128).T * scales
    assert np.array_equal(back, numbers * scales)


@pytest.mark.parametrize("data", [b"\x0f", b"\x80", b"\x0b"])
def test_what_is_no_message_is_refused(data: bytes):
    with pytest.raises(ValueError, match=r"number|wire"):
        list(fields(memoryview(data)))
