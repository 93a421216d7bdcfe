"""Storages as users write them."""

from __future__ import annotations

from typing import Any


class Sketch:
    """A storage whose methods do nothing yet."""

    def __len__(self) -> Any:
        pass

    def __getitem__(self, index: Any) -> Any:
        pass


class Bare:
    """A storage that never makes its list."""

    rows: list[Any]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Any:
        return self.rows[index]


class Readable(Bare):
    """A storage that makes its list."""

    def __init__(self, *items: Any) -> None:
        self.rows = list(items)


class Writable(Readable):
    """A storage whose items can be replaced and deleted."""

    def __setitem__(self, index: int, value: Any) -> None:
        self.rows[index] = value

    def __delitem__(self, index: int) -> None:
        del self.rows[index]
