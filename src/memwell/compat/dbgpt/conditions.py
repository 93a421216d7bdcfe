"""Conditions of a query: those a backend answers, and those that are asked of the items it found."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import InvalidInput
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.values import check_text, shown

_MISSING = object()
_INT64 = range(-(2**63), 2**63)


class ClassFacts(NamedTuple):
    """What is known of a class of items: its constructor's parameters with their defaults, and whether it takes more."""

    parameters: Mapping[str, Any]
    is_open: bool


class Conditions(NamedTuple):
    """The conditions of a query, taken apart."""

    pushed: Filter | None
    """What the backend is asked."""
    compared: Mapping[str, Any]
    """What is asked of each item that it finds."""

    def hold_for(self, item: Any) -> bool:
        """Whether an item that was found satisfies the rest. Raises ``StorageError`` for an attribute it lacks."""
        return all(attribute(item, name) == value for name, value in self.compared.items())


@functools.cache
def class_facts(cls: type[Any]) -> ClassFacts:
    """What is known of a class. Parameters that a constructor hands on to its base class count too."""
    parameters: dict[str, Any] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base) or base is object:
            continue
        found = list(inspect.signature(base.__init__).parameters.values())[1:]
        for one in found:
            if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
                parameters.setdefault(one.name, _MISSING if one.default is one.empty else one.default)
        if not any(one.kind is one.VAR_KEYWORD for one in found):
            return ClassFacts(parameters, is_open=False)
    return ClassFacts(parameters, is_open=True)


def checked(conditions: object, cls: type[Any]) -> Mapping[str, Any]:
    """The conditions, all of them on attributes of ``cls``. Raises ``StorageError`` naming the first that is not."""
    if not isinstance(conditions, Mapping):
        raise StorageError(f"conditions must be a dict of attributes and values, not {shown(conditions)}")
    facts = class_facts(cls)
    wanted = cast("Mapping[object, Any]", conditions)
    for name in wanted:
        if not isinstance(name, str) or not (name in facts.parameters or facts.is_open or hasattr(cls, name)):
            known = ", ".join(sorted(facts.parameters))
            raise StorageError(f"{cls.__name__} has no attribute {shown(name)} to ask for; it has {known}")
    return cast("Mapping[str, Any]", wanted)


def taken_apart(conditions: Mapping[str, Any], cls: type[Any], *, push: bool = True) -> Conditions:
    """The conditions on ``cls``, as many of them for the backend as it can answer. Raises as ``checked`` does."""
    wanted = checked(conditions, cls)
    if not wanted:
        return Conditions(None, {})
    parameters = class_facts(cls).parameters
    pushed: list[Filter] = []
    compared: dict[str, Any] = {}
    for name, value in wanted.items():
        if push and name in parameters and is_scalar(value):
            pushed.append(_filter(name, value, parameters[name]))
        else:
            compared[name] = value
    if not pushed:
        return Conditions(None, compared)
    return Conditions(pushed[0] if len(pushed) == 1 else AllOf(tuple(pushed)), compared)


def is_scalar(value: object) -> bool:
    """Whether it is text, a number, a boolean or None that any store can keep."""
    kind = type(value)
    if kind is str:
        try:
            check_text(value, "a value")
        except InvalidInput:
            return False
        return True
    if kind is float:
        return math.isfinite(cast(float, value))
    if kind is int:
        return value in _INT64
    return value is None or kind is bool


def _filter(name: str, value: Any, default: object) -> Filter:
    # To Python True is 1; to a filter it is not.
    is_flag = isinstance(value, int | float) and value in (0, 1)
    equal = Where(name, "in", (bool(value), int(value))) if is_flag else Where(name, "eq", value)
    # An item may leave out what is at its default.
    is_default = default is not _MISSING and type(default) in (str, int, float, bool, type(None)) and default == value
    return AnyOf((equal, Not(Where(name, "exists")))) if is_default else equal


def attribute(item: Any, name: str) -> Any:
    """An attribute of an item. Raises ``StorageError`` when it has none of that name."""
    try:
        return getattr(item, name)
    except AttributeError:
        raise StorageError(f"a {type(item).__name__} has no attribute {name!r}") from None


__all__ = ["ClassFacts", "Conditions", "attribute", "checked", "class_facts", "is_scalar", "taken_apart"]
