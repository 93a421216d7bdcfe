"""What the store keeps of each space's records as a whole."""

from __future__ import annotations

from typing import NamedTuple

from memwell.storage.sqlite.connections import Session
from memwell.storage.sqlite.schema import SPACE_SHIFT

POSITION = (1 << SPACE_SHIFT) - 1
"""The part of a record's key that is its position in its space."""


class SpaceRow(NamedTuple):
    """What the store keeps of a space's records as a whole."""

    key: int
    next: int
    change: int
    forgotten: int
    records: int
    vectors: int
    dimensions: int | None
    length: int

    @property
    def low(self) -> int:
        """The key of the first record the space could have."""
        return self.key << SPACE_SHIFT

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and highest key of the space."""
        return self.low, self.low | POSITION


def space_row(session: Session, path: str) -> SpaceRow | None:
    """The space's row, or None when it has never held a record."""
    row = session.one(
        "SELECT key, next, change, forgotten, records, vectors, dimensions, length FROM space WHERE path = ?", (path,)
    )
    return None if row is None else SpaceRow(*row)


__all__ = ["POSITION", "SpaceRow", "space_row"]
