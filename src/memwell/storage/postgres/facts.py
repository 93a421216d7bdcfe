"""What a PostgreSQL store and its server say of themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

from memwell.records import Space
from memwell.storage.postgres.pool import Link
from memwell.storage.postgres.schema import TABLES
from memwell.storage.postgres.session import Session

_COUNTS = """
    SELECT (SELECT count(*) FROM memwell_thread), (SELECT count(*) FROM memwell_message WHERE body IS NOT NULL),
           (SELECT count(*) FROM memwell_entry), (SELECT count(*) FROM memwell_record),
           (SELECT count(*) FROM memwell_record_vector), (SELECT count(*) FROM memwell_blob),
           (SELECT version FROM memwell_store), (SELECT sealed FROM memwell_store),
           (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE oid = ANY (%s::text[]::regclass[]))::bigint
"""
_SPACES = """
    SELECT coalesce(long.path, counted.space), records, vectors, dimensions
    FROM memwell_record_space AS counted LEFT JOIN memwell_long_space AS long USING (space) ORDER BY counted.space
"""
_SERVER = """
    SELECT current_setting('server_version'), current_setting('server_version_num')::int,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
           current_setting('fsync') = 'on', current_setting('synchronous_commit'),
           current_setting('is_superuser') = 'on', (SELECT rolbypassrls FROM pg_roles WHERE rolname = current_user)
"""


class Server(NamedTuple):
    """What the server is, asked once when a store is opened."""

    version: str
    number: int
    vector: str
    syncs: bool
    commits: str
    """``synchronous_commit`` as the server has it."""
    superuser: bool
    bypasses: bool

    @property
    def durable(self) -> bool:
        """Whether a commit that was answered is on the disk. Our sessions turn ``synchronous_commit`` on if it is off."""
        return self.syncs

    @property
    def wall(self) -> str:
        """Whether row level security holds, in words."""
        if self.superuser or self.bypasses:
            why = "is a superuser" if self.superuser else "has BYPASSRLS"
            return f"open: the role {why}, and PostgreSQL applies no policy to it; use a role of its own"
        return "stands: a session sees the rows of the space it is set to, and no others"

    @property
    def durability(self) -> str:
        """What a crash of the server can lose, in words."""
        if not self.syncs:
            return "fsync is off: a crash of the server's machine can lose or damage anything"
        if self.commits == "off":
            return "a commit is on the disk when it is answered (the server's synchronous_commit=off is overruled)"
        return f"a commit is on the disk when it is answered (synchronous_commit={self.commits})"


def server_of(link: Link) -> Server:
    """Ask the server what it is."""
    row = link.execute(_SERVER).fetchone()
    assert row is not None
    return Server(*row)


def counted(session: Session) -> dict[str, Any]:
    """The counts of everything, and a line for every space with records."""
    row = session.one(_COUNTS, (list(TABLES),))
    assert row is not None
    names = ("threads", "messages", "entries", "records", "vectors", "blobs", "format", "sealed", "bytes")
    spaces = [
        {"space": list(Space.decode(path)), "records": records, "vectors": vectors, "dimensions": dimensions}
        for path, records, vectors, dimensions in session.rows(_SPACES)
    ]
    return {**dict(zip(names, row, strict=True)), "spaces": spaces}


__all__ = ["Server", "counted", "server_of"]
