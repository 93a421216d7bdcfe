"""Points that Qdrant's local mode stores: pickled, and read here without unpickling.

A pickle is a program that may call anything. This module reads its instructions one by one and carries out only those
that build plain values: texts, numbers, lists and mappings. Of an object it keeps the fields; no name is imported, nothing
is called, and any other instruction is refused.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from memwell.errors import InvalidInput

_MOST_REPEATED = 2**20
"""The most characters that a pickle may take from texts it has already given: a short one could else become very long."""


class _Mark:
    """Where a list of instructions' values begins."""


class _Thing:
    """An object or a class of the pickle, of which nothing but the fields is known."""

    fields: Any = None


class _Machine:
    """The stack and the memo of a pickle that is read."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.named: dict[int, Any] = {}
        self.repeated = 0

    def after_mark(self) -> list[Any]:
        """What was put on the stack since the last mark."""
        at = len(self.stack) - 1
        while not isinstance(self.stack[at], _Mark):
            at -= 1
            if at < 0:
                raise InvalidInput("it has no mark")
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found

    def put(self, key: int) -> None:
        """Note the value on top, to be repeated."""
        self.named[key] = self.stack[-1]

    def get(self, key: int) -> None:
        """Repeat a value. What holds others is not repeated, as its copies could grow without end."""
        value = self.named[key]
        if not isinstance(value, str | int | float | None | _Thing) or getattr(value, "fields", None) is not None:
            raise InvalidInput("a list or mapping occurs twice")
        self.repeated += len(value) if isinstance(value, str) else 1
        if self.repeated > _MOST_REPEATED:
            raise InvalidInput("its texts are repeated too often")
        self.stack.append(value)

    def put_items(self) -> None:
        """Put keys and values into the mapping below them."""
        found = self.after_mark()
        self._mapping().update(zip(found[::2], found[1::2], strict=True))

    def put_item(self) -> None:
        """Put one key and value into the mapping below them."""
        value, key = self.stack.pop(), self.stack.pop()
        self._mapping()[key] = value

    def extend(self, found: list[Any]) -> None:
        """Add values to the list or set below them."""
        top = self.stack[-1]
        if isinstance(top, set):
            cast("set[Any]", top).update(found)
        elif isinstance(top, list):
            cast("list[Any]", top).extend(found)
        else:
            raise InvalidInput("values are added to what is no list")

    def make(self, number: int) -> None:
        """Replace values by an object."""
        del self.stack[-number:]
        self.stack.append(_Thing())

    def build(self) -> None:
        """Give the object below it its fields."""
        fields, thing = self.stack.pop(), self.stack[-1]
        if not isinstance(thing, _Thing):
            raise InvalidInput("fields are given to what is no object")
        thing.fields = fields

    def take(self, number: int) -> None:
        """Replace the last values by a list of them."""
        found = self.stack[len(self.stack) - number :]
        del self.stack[len(self.stack) - number :]
        self.stack.append(found)

    def _mapping(self) -> dict[Any, Any]:
        if not isinstance(self.stack[-1], dict):
            raise InvalidInput("keys are set in what is no mapping")
        return cast("dict[Any, Any]", self.stack[-1])


_VALUES = frozenset(
    "BININT BININT1 BININT2 LONG1 BINFLOAT SHORT_BINUNICODE BINUNICODE BINUNICODE8 SHORT_BINBYTES BINBYTES".split()
)
_STEPS: Final[dict[str, Callable[[_Machine, Any], object]]] = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "MARK": lambda machine, _: machine.stack.append(_Mark()),
    "NONE": lambda machine, _: machine.stack.append(None),
    "NEWTRUE": lambda machine, _: machine.stack.append(True),
    "NEWFALSE": lambda machine, _: machine.stack.append(False),
    "EMPTY_DICT": lambda machine, _: machine.stack.append({}),
    "EMPTY_LIST": lambda machine, _: machine.stack.append([]),
    "EMPTY_SET": lambda machine, _: machine.stack.append(set()),
    "EMPTY_TUPLE": lambda machine, _: machine.stack.append([]),
    "TUPLE": lambda machine, _: machine.stack.append(machine.after_mark()),
    "TUPLE1": lambda machine, _: machine.take(1),
    "TUPLE2": lambda machine, _: machine.take(2),
    "TUPLE3": lambda machine, _: machine.take(3),
    "MEMOIZE": lambda machine, _: machine.put(len(machine.named)),
    "BINPUT": lambda machine, key: machine.put(key),
    "LONG_BINPUT": lambda machine, key: machine.put(key),
    "BINGET": lambda machine, key: machine.get(key),
    "LONG_BINGET": lambda machine, key: machine.get(key),
    "SETITEM": lambda machine, _: machine.put_item(),
    "SETITEMS": lambda machine, _: machine.put_items(),
    "APPEND": lambda machine, _: machine.extend([machine.stack.pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine.after_mark()),
    "ADDITEMS": lambda machine, _: machine.extend(machine.after_mark()),
    "GLOBAL": lambda machine, _: machine.stack.append(_Thing()),
    "STACK_GLOBAL": lambda machine, _: machine.make(2),
    "NEWOBJ": lambda machine, _: machine.make(2),
    "BUILD": lambda machine, _: machine.build(),
}


def point_json(data: bytes) -> bytes:
    """The id and the payload of a stored point, as JSON ``[id, payload]``. Raises ``InvalidInput`` for anything else."""
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in _VALUES:
                machine.stack.append(argument)
            elif opcode.name == "STOP":
                break
            elif opcode.name in _STEPS:
                _STEPS[opcode.name](machine, argument)
            else:
                raise InvalidInput(f"it has the instruction {opcode.name}")
        [point] = machine.stack
        fields = point.fields["__dict__"]
        return msgspec.json.encode([fields["id"], fields["payload"] or {}])
    except InvalidInput as error:
        raise InvalidInput(f"not a point as Qdrant stores it: {error}") from None
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InvalidInput(f"not a point as Qdrant stores it: {type(error).__name__}") from None
