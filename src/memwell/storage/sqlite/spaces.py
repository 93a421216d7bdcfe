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


def noted(session: Session, row: SpaceRow, key: int) -> SpaceRow:
    """Note that a record was stored, changed or dropped; the space's row, which is the caller's to save."""
    change = row.change + 1
    session.execute("INSERT INTO record_change VALUES (?, ?)", (row.low | change, key))
    return row._replace(change=change)


def save_space(session: Session, row: SpaceRow, kept_changes: int) -> None:
    """Write a space's row back, and forget changes that are older than the last ``kept_changes``, now and then."""
    forgotten = row.forgotten
    if row.change - forgotten > 2 * kept_changes:
        forgotten = row.change - kept_changes
        session.execute("DELETE FROM record_change WHERE key >= ? AND key <= ?", (row.low, row.low | forgotten))
    session.execute(
        "UPDATE space SET next = ?, change = ?, forgotten = ?, records = ?, vectors = ?, dimensions = ?, length = ? "
        "WHERE key = ?",
        (
            row.next,
            row.change,
            forgotten,
            row.records,
            row.vectors,
            row.dimensions if row.vectors else None,
            row.length,
            row.key,
        ),
    )


# Each part is asked for its next space by itself, by the index that begins with it: a store of a million entries in a few
# spaces is not read for its list of spaces.
_NEXT = """
    SELECT min(path) FROM (
        SELECT * FROM (SELECT space AS path FROM thread WHERE space > ?1 ORDER BY space LIMIT 1)
        UNION ALL SELECT * FROM (
            SELECT space FROM entry WHERE space > ?1 AND ifnull(expires > ?2, 1) ORDER BY space LIMIT 1)
        UNION ALL SELECT * FROM (SELECT path FROM space WHERE path > ?1 AND records > 0 ORDER BY path LIMIT 1)
        UNION ALL SELECT * FROM (SELECT space FROM blob WHERE space > ?1 ORDER BY space LIMIT 1)
    )
"""


def spaces_after(session: Session, path: str, limit: int, now: float) -> list[str]:
    """The encoded paths above ``path`` that hold anything at the moment ``now``, in order."""
    found: list[str] = []
    while len(found) < limit:
        row = session.one(_NEXT, (path, now))
        if row is None or row[0] is None:
            break
        path = str(row[0])
        found.append(path)
    return found


__all__ = ["POSITION", "SpaceRow", "noted", "save_space", "space_row", "spaces_after"]
