"""Which class an item is of: noted with each item, so that items of several classes may share a storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memwell.compat.dbgpt.rows import StoragePlace
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.storage.arguments import MAX_LIMIT

CLASS = "@class"
"""The field that holds the name of an item's class; no parameter has such a name."""


class ItemClasses:
    """The names of the classes that a storage's items are of.

    A storage of one class is asked as it is; only where there are others is a query told which items to look at.
    """

    def __init__(self, place: StoragePlace) -> None:
        self._kv = place.backend.kv
        # Beside the items, and not among them.
        self._space = place.space / "dbgpt" / place.name / "classes"
        self._noted: set[str] = set()
        self._trusted = True

    def note(self, items: Sequence[Any]) -> None:
        """Say that items are about to be stored."""
        unknown = {name for item in items if (name := type(item).__name__) not in self._noted}
        for name in unknown:
            self._note(name)

    def _note(self, name: str) -> None:
        if self._kv.get(self._space, name) is None:
            # It is sure to stay only once it is found by another call: a transaction around this one may still fail.
            self._kv.put(self._space, name, True)
        else:
            self._noted.add(name)

    def narrowed(self, pushed: Filter | None, cls: type[Any]) -> Filter | None:
        """A filter for items of a class, of those it comes from and of those that come from it."""
        related = set(_related(cls))
        if self._trusted and self._names() <= related:
            return pushed
        of_class = AnyOf((Where((CLASS,), "in", sorted(related)), Not(Where((CLASS,), "exists"))))
        return of_class if pushed is None else AllOf((of_class, pushed))

    def distrust(self) -> bool:
        """Something does not fit: from now on always ask for the class. Returns whether that is new.

        A note is missing when it was rolled back with a transaction that others of its class came behind in.
        """
        before, self._trusted = self._trusted, False
        self._noted.clear()
        return before

    def _names(self) -> set[str]:
        return {one.key for one in self._kv.scan(self._space, limit=MAX_LIMIT).items}


def unnoted(value: Any) -> Any:
    """What is stored of an item without the note of its class, which is taken out of it."""
    if type(value) is dict:
        value.pop(CLASS, None)  # pyright: ignore[reportUnknownMemberType]
    return value  # pyright: ignore[reportUnknownVariableType]


def _related(cls: type[Any]) -> Iterator[str]:
    """The names of a class, its bases and all that come from it."""
    yield from (base.__name__ for base in cls.__mro__)
    waiting = cls.__subclasses__()
    while waiting:
        one = waiting.pop()
        yield one.__name__
        waiting += one.__subclasses__()


__all__ = ["CLASS", "ItemClasses", "unnoted"]
