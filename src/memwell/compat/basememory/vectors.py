"""Vectors made small: components that hardly count are dropped, the others kept in fewer bytes, within a given error."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec

from memwell.errors import InvalidInput
from memwell.values import shown

Form: TypeAlias = Literal["int8", "float16", "float32"]

_WIDER: dict[str, tuple[Form, ...]] = {
    "int8": ("int8", "float16", "float32"),
    "float16": ("float16", "float32"),
    "float32": ("float32",),
}
_CODES = {"int8": "b", "float16": "e", "float32": "f"}
_LEVELS = 127
_FEWEST = 8
"""A list of fewer numbers is taken for something else than a vector."""


class SparseVector(msgspec.Struct, frozen=True):
    """A vector in few bytes. It reads like the list it was: by index, by iteration, and as a whole by ``dense``.

    ``error`` is how far it is from what it was, relative to that one's length.
    """

    size: int
    form: Form
    scale: float
    numbers: bytes
    places: bytes | None
    error: float

    def dense(self) -> list[float]:
        """All numbers, with a zero for each that was dropped."""
        held = struct.unpack(
            f"<{len(self.numbers) // struct.calcsize(_CODES[self.form])}{_CODES[self.form]}", self.numbers
        )
        if self.places is None:
            return [number * self.scale for number in held]
        whole = [0.0] * self.size
        for place, number in zip(_unpacked(self.places, self.size), held, strict=True):
            whole[place] = number * self.scale
        return whole

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[float]:
        return iter(self.dense())

    def __getitem__(self, index: int) -> float:
        return self.dense()[index]


def _place_code(size: int) -> str:
    return "H" if size <= 2**16 else "I"


def _unpacked(places: bytes, size: int) -> tuple[int, ...]:
    code = _place_code(size)
    return struct.unpack(f"<{len(places) // struct.calcsize(code)}{code}", places)


def numbers_of(item: object) -> list[float] | None:
    """The numbers of an item that is a vector: a list, tuple or array of floats, also of numpy; None for anything else."""
    if hasattr(item, "tolist") and getattr(item, "ndim", 1) == 1:
        item = cast(Any, item).tolist()
    if isinstance(item, array):
        item = cast("array[float]", item).tolist()
    if not isinstance(item, list | tuple) or len(cast("list[object]", item)) < _FEWEST:
        return None
    numbers = list(cast("list[object]", item))
    if not all(type(one) is float and math.isfinite(one) for one in numbers):
        return None
    return cast("list[float]", numbers)


def sparsified(numbers: Sequence[float], *, error: float, form: Form = "int8") -> SparseVector | None:
    """The vector in as few bytes as ``error`` allows, in ``form`` or the next wider; None when it allows nothing.

    Raises ``InvalidInput`` for an error that is not between 0 and 1, or for an unknown form.
    """
    if isinstance(error, bool) or not isinstance(error, int | float) or not 0 < error < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"error must be between 0 and 1, not {shown(error)}")
    if not isinstance(form, str) or form not in _WIDER:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"unknown form {shown(form)}; known: {', '.join(_WIDER)}")
    length = math.hypot(*numbers)
    if not length or not math.isfinite(length):
        return None
    for wide in _WIDER[form]:
        made = _in_form(numbers, wide, error * length, length)
        if made is not None:
            return made
    return None


def _in_form(numbers: Sequence[float], form: Form, budget: float, length: float) -> SparseVector | None:
    largest = max(map(abs, numbers))
    scale = largest / _LEVELS if form == "int8" else largest
    if not scale:
        return None
    code = _CODES[form]
    rounded = [round(one / scale) if form == "int8" else one / scale for one in numbers]
    kept = struct.unpack(f"<{len(rounded)}{code}", struct.pack(f"<{len(rounded)}{code}", *rounded))
    off = [(one - held * scale) / length for one, held in zip(numbers, kept, strict=True)]
    spent = math.fsum(one * one for one in off)
    allowed = (budget / length) ** 2
    if spent > allowed:
        return None
    dropped = _droppable(numbers, off, length, allowed - spent)
    return _packed(numbers, kept, scale, form, dropped, length)


def _droppable(numbers: Sequence[float], off: Sequence[float], length: float, allowed: float) -> set[int]:
    """The places of the smallest numbers, as many as may be dropped."""
    dropped: set[int] = set()
    for place in sorted(range(len(numbers)), key=lambda one: abs(numbers[one])):
        # What is dropped is off by all of it instead of by its rounding.
        allowed -= (numbers[place] / length) ** 2 - off[place] ** 2
        if allowed < 0:
            break
        dropped.add(place)
    return dropped


def _packed(
    numbers: Sequence[float], kept: Sequence[float], scale: float, form: Form, dropped: set[int], length: float
) -> SparseVector:
    size, code = len(numbers), _CODES[form]
    places = [place for place in range(size) if place not in dropped]
    a_place, a_number = struct.calcsize(_place_code(size)), struct.calcsize(code)
    sparse = len(places) * (a_place + a_number) < size * a_number
    held = [kept[place] for place in places] if sparse else kept
    packed_places = struct.pack(f"<{len(places)}{_place_code(size)}", *places) if sparse else None
    made = SparseVector(size, form, scale, struct.pack(f"<{len(held)}{code}", *held), packed_places, 0.0)
    apart = math.dist(numbers, made.dense()) / length
    return msgspec.structs.replace(made, error=apart)


__all__ = ["Form", "SparseVector", "numbers_of", "sparsified"]
