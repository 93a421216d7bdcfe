"""The way back: whoever changes what the reference backend holds does it here, and it can be undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar

from memwell.errors import ReadOnlyStore

K = TypeVar("K")
V = TypeVar("V")


class Undo:
    """Changes of dicts, lists and fields. Those made in a ``with`` block are undone, latest first, when it raises.

    Blocks nest, and each can fail alone. A change costs what it touches: nothing is copied beforehand to come back to.
    """

    def __init__(self) -> None:
        self._steps: list[Callable[[], None]] = []
        self._marks: list[int] = []
        self.sealed: str | None = None
        """Why nothing may be changed. Whoever changes something anyway is told so by ``ReadOnlyStore``."""

    def _change(self, back: Callable[[], None]) -> None:
        if self.sealed is not None:
            raise ReadOnlyStore(f"the store can only be read: {self.sealed}")
        self._steps.append(back)

    def __enter__(self) -> None:
        self._marks.append(len(self._steps))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        mark = self._marks.pop()
        while kind is not None and len(self._steps) > mark:
            self._steps.pop()()
        if not self._marks:
            self._steps.clear()

    def update(self, held: dict[K, V], changes: Mapping[K, V]) -> None:
        """Put values under their keys."""
        old = {key: held[key] for key in changes if key in held}
        new = [key for key in changes if key not in held]

        def back() -> None:
            for key in new:
                held.pop(key, None)
            held.update(old)

        self._change(back)
        held.update(changes)

    def opened(self, held: dict[K, V], key: K, make: Callable[[], V]) -> V:
        """What is under a key, made if need be."""
        if key not in held:
            self.update(held, {key: make()})
        return held[key]

    def drop(self, held: dict[K, V], keys: Iterable[K]) -> None:
        """Take out the keys that are there."""
        gone = {key: held[key] for key in keys if key in held}
        if gone:
            self._change(lambda: held.update(gone))
        for key in gone:
            del held[key]

    def splice(self, held: list[V], start: int, stop: int, items: list[V]) -> None:
        """Put items in the place of those from ``start`` to ``stop``."""
        old, end = held[start:stop], start + len(items)
        if not old and not items:
            return

        def back() -> None:
            held[start:end] = old

        self._change(back)
        held[start:stop] = items

    def extend(self, held: list[V], items: list[V]) -> None:
        """Put items at the end."""
        self.splice(held, len(held), len(held), items)

    def assign(self, held: object, **fields: Any) -> None:
        """Set fields of an object."""
        old = {name: getattr(held, name) for name in fields}
        self._change(lambda: _set(held, old))
        _set(held, fields)


def _set(held: object, fields: Mapping[str, Any]) -> None:
    for name, value in fields.items():
        setattr(held, name, value)


__all__ = ["Undo"]
