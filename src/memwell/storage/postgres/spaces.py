"""Every space that holds something."""

from __future__ import annotations

from memwell.storage.postgres.record_tables import keyed
from memwell.storage.postgres.session import Session

# The next space of each table is one look into its index, however much the space holds.
_NEXT = """
    SELECT least(
        (SELECT min(space) FROM memwell_thread WHERE space > {after}),
        (SELECT min(space) FROM memwell_entry WHERE space > {after} AND (expires IS NULL OR expires > %(now)s)),
        (SELECT min(space) FROM memwell_record WHERE space > {after}),
        (SELECT min(space) FROM memwell_blob WHERE space > {after})
    )
"""
_SPACES = f"""
    WITH RECURSIVE found (space) AS (
        {_NEXT.format(after="%(start)s")}
        UNION ALL
        SELECT ({_NEXT.format(after="found.space")}) FROM found WHERE found.space IS NOT NULL
    )
    SELECT coalesce(long.path, found.space) FROM found LEFT JOIN memwell_long_space AS long USING (space)
    WHERE found.space IS NOT NULL ORDER BY found.space LIMIT %(most)s
"""


def spaces_after(session: Session, start: str, most: int, now: float) -> list[str]:
    """The encoded paths of spaces behind ``start``, in order."""
    bindings = {"start": keyed(start), "now": now, "most": most}
    return [row[0] for row in session.rows(_SPACES, bindings)]


__all__ = ["spaces_after"]
