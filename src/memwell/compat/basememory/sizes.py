"""How many bytes things really take."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType

_NOT_DATA = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, CodeType, FrameType)


def deep_size(*things: object) -> int:
    """The bytes of the things and of everything they hold, each object counted once however often it is held.

    Classes, functions and modules are not counted: they are there without the data too.
    """
    seen: set[int] = set()
    total = 0
    waiting: list[object] = list(things)
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _NOT_DATA):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        waiting.extend(_held(one))
    return total


def _held(one: object) -> Iterable[object]:
    # Asking the collector finds what any kind of object holds, also one that is written in C.
    return gc.get_referents(one)


def in_bytes(count: int) -> str:
    """A number of bytes for people to read."""
    sign, size = ("-" if count < 0 else ""), float(abs(count))
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{sign}{size:.0f} {unit}" if unit == "B" else f"{sign}{size:.1f} {unit}"
        size /= 1000
    return f"{sign}{size:.1f} GB"


__all__ = ["deep_size", "in_bytes"]
