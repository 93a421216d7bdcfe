"""Closing a store to writers: triggers on every table with content refuse what would change it.

They are part of the file's schema, so they hold at once against every process that has it open, and a store that is not
sealed has none and pays nothing. What a search notes down for itself (words, graphs) is not content and stays possible.
"""

from __future__ import annotations

from memwell.storage.sqlite.connections import Session

_KEPT_BY_SEARCH = {"indexed", "indexed_count", "indexed_length"}
"""Columns of ``thread`` that say how far its words are indexed."""
_CONTENT = ("thread", "message", "message_version", "entry", "record", "record_vector", "blob")


def seal(session: Session, reason: str | None) -> None:
    """Make the triggers, with this reason, or drop them."""
    for table in _CONTENT:
        for event in ("insert", "update", "delete"):
            session.execute(f"DROP TRIGGER IF EXISTS sealed_{table}_{event}")
    session.execute("DELETE FROM store WHERE name = 'sealed'")
    if reason is None:
        return
    session.execute("INSERT INTO store VALUES ('sealed', ?)", (reason,))
    quoted = "'" + reason.replace("'", "''") + "'"
    for table in _CONTENT:
        for event in ("insert", "update", "delete"):
            session.execute(
                f"CREATE TRIGGER sealed_{table}_{event} BEFORE {event}{_columns(session, table, event)} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, {quoted}); END"
            )


def _columns(session: Session, table: str, event: str) -> str:
    if event != "update":
        return ""
    names = [name for (name,) in session.rows("SELECT name FROM pragma_table_info(?)", (table,))]
    return f" OF {', '.join(name for name in names if name not in _KEPT_BY_SEARCH)}"


def sealed(session: Session) -> str | None:
    """The reason why the store is sealed, or None."""
    row = session.one("SELECT value FROM store WHERE name = 'sealed'")
    return None if row is None else str(row[0])


__all__ = ["seal", "sealed"]
