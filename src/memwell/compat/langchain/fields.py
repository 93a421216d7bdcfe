"""Classes made by keyword from their annotated attributes, as LangChain's pydantic models are, without pydantic.

An annotated class attribute is a field and its value the default; one without a value must be given. A subclass adds
fields of its own the same way, and may give another default by plain assignment.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, TypeVar, cast

from memwell.errors import InvalidInput
from memwell.values import shown

T = TypeVar("T")
_MISSING: Any = object()


class _Made:
    """The mark of a default that is made anew for every object."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def made_by(make: Callable[[], T]) -> T:
    """A default that is made anew for every object by calling ``make``."""
    return cast(T, _Made(make))


class WithFields:
    """An object whose fields are given by keyword.

    Raises ``InvalidInput`` for a keyword that is no field, naming those there are, and for a field that must be given and
    is not.
    """

    _positional: ClassVar[tuple[str, ...]] = ()
    """The fields that may also be given without their names, in this order."""
    _computed: ClassVar[tuple[str, ...]] = ()
    """Properties that can be set like fields when an object is made."""

    def __init__(self, *args: Any, **given: Any) -> None:
        given = self._named(args, given)
        known = self._fields()
        for name in given:
            if name not in known and name not in self._computed:
                fields = ", ".join([*known, *self._computed])
                raise InvalidInput(f"{type(self).__name__} has no field {shown(name)}; its fields are {fields}")
        for name in known:
            setattr(self, name, given[name] if name in given else self._default(name))
        for name in self._computed:
            if name in given:
                setattr(self, name, given[name])

    def _named(self, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
        if len(args) > len(self._positional):
            raise InvalidInput(
                f"{type(self).__name__} takes {len(self._positional)} values without a name, not {len(args)}"
            )
        named = dict(zip(self._positional, args, strict=False))
        if twice := named.keys() & given.keys():
            raise InvalidInput(f"{type(self).__name__} got {', '.join(sorted(twice))} twice")
        return {**named, **given}

    @classmethod
    def _fields(cls) -> list[str]:
        """The names of the fields, those of the base classes first."""
        found: dict[str, None] = {}
        for one in reversed(cls.__mro__):
            for name, kind in inspect.get_annotations(one).items():
                if not name.startswith("_") and "ClassVar" not in str(kind):
                    found[name] = None
        # What a subclass turned into a property is no longer a field.
        return [name for name in found if not isinstance(getattr(cls, name, None), property)]

    def _default(self, name: str) -> Any:
        default = getattr(type(self), name, _MISSING)
        if default is _MISSING:
            raise InvalidInput(f"{type(self).__name__} needs {name!r}: Field required")
        if isinstance(default, _Made):
            return default.make()
        # A list in the class would be shared by all objects.
        return copy(default) if isinstance(default, list | dict | set) else default  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]

    def __repr__(self) -> str:
        shows = ", ".join(f"{name}={shown(getattr(self, name, None))}" for name in self._fields())
        return f"{type(self).__name__}({shows})"


__all__ = ["WithFields", "made_by"]
