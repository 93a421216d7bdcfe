"""Just enough of ONNX to read the constants of a file and to write a graph of our own for onnxruntime.

A file is one protocol buffer; the numbers of its fields are those of the published format, and what is not needed is
skipped. Matrices go into a graph as 8-bit integers with scales, and onnxruntime multiplies them as integers: less than
half the time of single precision on the processors at hand, and a quarter of the memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 7: np.int64, 9: np.bool_}
_NUMBERS: dict[np.dtype[Any], int] = {np.dtype(kind): number for number, kind in _TYPES.items()}
_IR_VERSION, _OPSET = 10, 17
_VENDOR = "com.microsoft"
_BLOCKS = (128, 64)

Array = NDArray[np.generic]
Floats = NDArray[np.float32]


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message: their numbers and values. Raises ``ValueError`` for what is no message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {kind}")
        yield tag >> 3, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise ValueError("the message ends within a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def tensors(model: bytes) -> dict[str, Array]:
    """The constants of a model by name, in the order of the file. They are views of ``model``, not copies."""
    found: dict[str, Array] = {}
    for graph in _all(memoryview(model), 7):
        for one in _all(graph, 5):
            name, array = _tensor(one)
            found[name] = array
    return found


def _all(message: memoryview, number: int) -> Iterator[memoryview]:
    return (value for field, value in fields(message) if field == number and isinstance(value, memoryview))


def _tensor(message: memoryview) -> tuple[str, Array]:
    shape: list[int] = []
    name, kind, raw = "", 1, memoryview(b"")
    for number, value in fields(message):
        if number == 1:
            shape += [value] if isinstance(value, int) else _packed(value)
        elif number == 2 and isinstance(value, int):
            kind = value
        elif number == 8 and isinstance(value, memoryview):
            name = bytes(value).decode()
        elif number == 9 and isinstance(value, memoryview):
            raw = value
    return name, np.frombuffer(raw, _TYPES[kind]).reshape(shape)


def _packed(data: memoryview) -> list[int]:
    numbers: list[int] = []
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        numbers.append(value)
    return numbers


class Matrix(NamedTuple):
    """A matrix as the kernel wants it: a column at a time, in blocks, shifted by 128, with a scale for every block."""

    numbers: NDArray[np.uint8]
    scales: Floats

    def floats(self) -> Floats:
        """The matrix as it was, but for rounding."""
        outer, blocks, block = self.numbers.shape
        plain = (self.numbers.astype(np.float32) - 128) * self.scales.reshape(outer, blocks, 1)
        return np.ascontiguousarray(plain.reshape(outer, blocks * block).T)


def scaled(numbers: Array, scales: Array) -> Matrix:
    """The matrix of 8-bit integers ``numbers`` whose columns are multiplied by ``scales``."""
    inner, outer = numbers.shape
    block = _block(inner)
    shifted = (numbers.T.astype(np.int16) + 128).astype(np.uint8)
    repeated = np.repeat(scales.reshape(-1), inner // block).astype(np.float32)
    return Matrix(shifted.reshape(outer, inner // block, block), repeated)


def rounded(matrix: Floats) -> Matrix:
    """A matrix of single precision, rounded to 8-bit integers block by block."""
    inner, outer = matrix.shape
    block = _block(inner)
    blocks = matrix.T.reshape(outer, inner // block, block)
    scales = np.maximum(np.abs(blocks).max(axis=2), np.float32(1e-12)) / 127
    numbers = np.rint(blocks / scales[:, :, None]) + 128
    return Matrix(numbers.astype(np.uint8), scales.reshape(-1).astype(np.float32))


def _block(inner: int) -> int:
    return next(block for block in _BLOCKS if inner % block == 0)


class Graph:
    """A graph being written: constants and nodes, in the order in which they are computed.

    With ``integers=False`` matrices are multiplied in single precision: slower, and possible everywhere.
    """

    def __init__(self, *, integers: bool = True) -> None:
        self._integers = integers
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

    def node(self, kind: str, inputs: Sequence[str], outputs: int = 1, domain: str = "", /, **attributes: float) -> str:
        """Add a node and return the name of its output; of several, ``name``, ``name.1`` and so on."""
        name = self._name()
        names = [name, *(f"{name}.{number}" for number in range(1, outputs))]
        message = b"".join(_text(1, one) for one in inputs) + b"".join(_text(2, one) for one in names)
        message += _text(4, kind) + b"".join(_bytes(5, _attribute(*one)) for one in attributes.items())
        self._nodes.append(message + _text(7, domain))
        return name

    def vendored(self, kind: str, inputs: Sequence[str], **attributes: float) -> str:
        """Add a node that only onnxruntime has."""
        return self.node(kind, inputs, 1, _VENDOR, **attributes)

    def product(self, x: str, matrix: Matrix, bias: Array | None = None) -> str:
        """Add ``x`` times a matrix, plus a bias."""
        if not self._integers:
            made = self.node("MatMul", [x, self.constant(matrix.floats())])
            return made if bias is None else self.node("Add", [made, self.constant(bias)])
        inputs = [x, self.constant(matrix.numbers), self.constant(matrix.scales)]
        # Between the scales and the bias the kernel has two inputs that are not needed here.
        inputs += [] if bias is None else ["", "", self.constant(bias)]
        outer, blocks, block = matrix.numbers.shape
        # Level 4: the numbers of x, too, are multiplied as 8-bit integers, with a scale for every row and block.
        sizes = {"K": blocks * block, "N": outer, "bits": 8, "block_size": block, "accuracy_level": 4}
        return self.vendored("MatMulNBits", inputs, **sizes)

    def _name(self) -> str:
        self._made += 1
        return f"t{self._made}"

    def model(self, inputs: Mapping[str, Sequence[str | int]], outputs: Mapping[str, Sequence[str | int]]) -> bytes:
        """The whole as an ONNX file; shapes are sizes, or words for sizes that vary. All are of single precision."""
        graph = b"".join(_bytes(1, node) for node in self._nodes) + _text(2, "memwell")
        graph += b"".join(_bytes(5, constant) for constant in self._constants)
        graph += b"".join(_bytes(11, _value(*one)) for one in inputs.items())
        graph += b"".join(_bytes(12, _value(*one)) for one in outputs.items())
        opsets = _bytes(8, _text(1, "") + _number(2, _OPSET)) + _bytes(8, _text(1, "com.microsoft") + _number(2, 1))
        return _number(1, _IR_VERSION) + _bytes(7, graph) + opsets


def _attribute(name: str, value: float) -> bytes:
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
    # A negative number is written as its complement of 64 bits.
    value &= 2**64 - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


__all__ = ["Array", "Floats", "Graph", "Matrix", "fields", "rounded", "scaled", "tensors"]
