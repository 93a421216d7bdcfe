from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import memwell
from memwell._products import product

TINY = np.full(8, 1e-30, np.float32)


def test_it_is_the_product():
    rows, vector = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    assert product(rows, vector).tolist() == [8.0, 26.0]
    assert float(product(vector, vector)) == 14.0
    assert product(np.array([[True, False]]), np.array([0.5, 9.0], np.float32)).tolist() == [0.5]
    assert product(np.zeros((0, 3)), vector).tolist() == []


@pytest.mark.parametrize(
    ("one", "other"),
    [((35, 512), (512, 128)), ((12, 96), (96, 7500)), ((7500, 96), (96, 3)), ((3000, 50), (50,)), ((50,), (50, 3000)),
     ((2, 900), (900, 900)), ((0, 4), (4, 9)), ((3, 0), (0, 2))],
)  # fmt: skip
def test_large_products_are_made_in_blocks_and_are_the_same(one: tuple[int, ...], other: tuple[int, ...]):
    random = np.random.default_rng(5)
    left, right = random.standard_normal(one, np.float32), random.standard_normal(other, np.float32)
    made = product(left, right)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, left.astype(np.float64) @ right.astype(np.float64), rtol=1e-4, atol=1e-3)


def test_no_product_of_two_matrices_is_large_enough_for_a_second_thread(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    usual = np.matmul

    def noted(one: Any, other: Any, **options: Any) -> Any:
        sizes.append(one.size * other.shape[1])
        return usual(one, other, **options)

    monkeypatch.setattr(np, "matmul", noted)
    product(np.ones((35, 512), np.float32), np.ones((512, 128), np.float32))
    assert len(sizes) > 1
    assert max(sizes) < 2**19


def test_a_flag_of_the_processor_is_no_error_where_the_result_is_finite():
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError):
            _ = TINY * TINY
        assert product(TINY[None, :], TINY).tolist() == [0.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e38])
def test_what_is_really_no_number_is_warned_of(bad: float):
    rows = np.array([[1.0, bad], [1.0, 1.0]], np.float32)
    with pytest.warns(RuntimeWarning, match="not a number") as told:
        assert np.isfinite(product(rows, np.array([1.0, 2.0], np.float32))).tolist() == [False, True]
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert product(rows[1:], np.array([1.0, 2.0], np.float32)).tolist() == [3.0]


def test_every_matrix_product_of_the_library_is_this_one():
    """The processor's flags after ``a @ b`` mean nothing, so no module may let numpy look at them."""
    found: list[str] = []
    for path in Path(memwell.__file__).parent.rglob("*.py"):
        if path.name != "_products.py":
            products = (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.BinOp))
            found += [f"{path.name}:{node.lineno}" for node in products if isinstance(node.op, ast.MatMult)]
    assert found == []
