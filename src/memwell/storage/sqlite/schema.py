"""The tables of a store, as numbered steps from an empty file to today, and filters as SQL over them.

A step is never changed once released; a change is a new step. The number of steps applied is the file's ``user_version``.
Keys are made so that what is read together lies together: a message's key is its thread's key and its index, a record's
is its space's key and its position, so that no table needs an index to find the rows of a thread or a space.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import apsw

from memwell.errors import BackendError
from memwell.filters import Where
from memwell.records import Space
from memwell.storage.parts import ORDER, Condition, Dialect, FilterTarget, joined
from memwell.storage.protocols import TOKEN_BITS, Written, split_state, state_of
from memwell.storage.sqlite.connections import Session, translated

APPLICATION_ID = 0x6D656D77
"""``memw``: how a store is known from any other SQLite file."""

THREAD_SHIFT = 32
SPACE_SHIFT = 36

_FIRST = """
CREATE TABLE thread (
    key INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used twice, so that a deleted thread cannot be mistaken for a new one
    space TEXT NOT NULL,
    id TEXT NOT NULL,
    created REAL NOT NULL,
    metadata TEXT NOT NULL DEFAULT '{}',
    first INTEGER NOT NULL DEFAULT 0,       -- indexes below were trimmed away
    next INTEGER NOT NULL DEFAULT 0,        -- next, round and total: the tail as it was at the last trim
    round INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT -1,      -- the round closed by hand
    absent INTEGER NOT NULL DEFAULT 0,      -- indexes from first on that hold no message
    token_base INTEGER NOT NULL DEFAULT 0,  -- tokens in the thread = the last message's total - token_base
    indexed INTEGER NOT NULL DEFAULT 0,     -- messages below this index are in message_words
    indexed_count INTEGER NOT NULL DEFAULT 0,
    indexed_length INTEGER NOT NULL DEFAULT 0,
    UNIQUE (space, id)
) STRICT;

CREATE TABLE message (
    key INTEGER PRIMARY KEY,                -- thread key << 32 | index
    id TEXT NOT NULL,
    round INTEGER NOT NULL,
    tokens INTEGER NOT NULL,                -- as it is now
    total INTEGER NOT NULL,                 -- of the thread up to here, as appended
    body TEXT                               -- JSON; NULL where a message was removed
) STRICT;
CREATE UNIQUE INDEX message_id ON message (key >> 32, id);

CREATE TABLE message_version (
    number INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    replaced REAL NOT NULL,
    body TEXT
) STRICT;
CREATE INDEX message_version_key ON message_version (key);

CREATE TABLE message_length (key INTEGER PRIMARY KEY, length INTEGER NOT NULL) STRICT;
CREATE VIRTUAL TABLE message_words USING fts5(body, content='', columnsize=0, tokenize='ascii');
CREATE VIRTUAL TABLE message_terms USING fts5vocab(message_words, instance);
CREATE VIRTUAL TABLE message_frequency USING fts5vocab(message_words, row);
INSERT INTO message_words (message_words, rank) VALUES ('secure-delete', 1);

CREATE TABLE entry (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value ANY NOT NULL,                     -- TEXT is JSON, BLOB is bytes
    version INTEGER NOT NULL,
    expires REAL,
    PRIMARY KEY (space, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_expires ON entry (expires) WHERE expires IS NOT NULL;

CREATE TABLE space (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    next INTEGER NOT NULL DEFAULT 0,        -- the position the next new record gets
    change INTEGER NOT NULL DEFAULT 0,      -- counts every change of a record of the space
    forgotten INTEGER NOT NULL DEFAULT 0,   -- changes up to this one are no longer in record_change
    records INTEGER NOT NULL DEFAULT 0,
    vectors INTEGER NOT NULL DEFAULT 0,
    dimensions INTEGER,
    length INTEGER NOT NULL DEFAULT 0       -- terms in all texts of the space
) STRICT;

CREATE TABLE record (
    key INTEGER PRIMARY KEY,                -- space key << 36 | position
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    time REAL NOT NULL,
    stamp TEXT NOT NULL,                    -- the time in full, as ISO 8601
    length INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX record_id ON record (key >> 36, id);
CREATE TABLE record_vector (key INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE record_change (
    key INTEGER PRIMARY KEY,                -- space key << 36 | change
    record INTEGER NOT NULL
) STRICT;
CREATE VIRTUAL TABLE record_words USING fts5(body, content='', columnsize=0, tokenize='ascii');
CREATE VIRTUAL TABLE record_terms USING fts5vocab(record_words, instance);
CREATE VIRTUAL TABLE record_frequency USING fts5vocab(record_words, row);
INSERT INTO record_words (record_words, rank) VALUES ('secure-delete', 1);

CREATE TABLE sidecar (
    space INTEGER PRIMARY KEY,
    change INTEGER NOT NULL,                -- the space's change the file is of
    file TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;

CREATE TABLE blob (
    space TEXT NOT NULL,
    digest TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (space, digest)
) STRICT;

CREATE TABLE store (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
"""


# A value of more than a quarter of a page takes pages of its own in a table without rowids, and is found half as fast.
_ENTRIES_BY_ROWID = """
ALTER TABLE entry RENAME TO entry_before;
CREATE TABLE entry (
    space TEXT NOT NULL,
    key TEXT NOT NULL,
    value ANY NOT NULL,                     -- TEXT is JSON, BLOB is bytes
    version INTEGER NOT NULL,
    expires REAL,
    PRIMARY KEY (space, key)
) STRICT;
INSERT INTO entry SELECT space, key, value, version, expires FROM entry_before;
DROP TABLE entry_before;
CREATE INDEX entry_expires ON entry (expires) WHERE expires IS NOT NULL;
"""


def _create(session: Session) -> None:
    session.connection.execute(_FIRST)
    session.execute("INSERT INTO store VALUES ('created', ?)", (time.time(),))
    set_zeroed(session)


def _count_edits(session: Session) -> None:
    session.execute("ALTER TABLE thread ADD COLUMN edits INTEGER NOT NULL DEFAULT 0")


def _keep_entries_by_rowid(session: Session) -> None:
    session.connection.execute(_ENTRIES_BY_ROWID)


def _add_tokens(session: Session) -> None:
    session.execute("ALTER TABLE space ADD COLUMN token INTEGER NOT NULL DEFAULT 0")
    session.execute("ALTER TABLE record_change ADD COLUMN token INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: list[Callable[[Session], None]] = [_create, _keep_entries_by_rowid, _count_edits, _add_tokens]
"""Step n brings a file from version n to n + 1."""

USABLE_FROM = 3
"""The format that a program must know to use a store of today's. A step that only adds leaves it as it is, so that two
versions of memwell can use a store at once; a later one drops what neither uses any more, and raises it."""


def migrate(session: Session, path: str) -> None:
    """Migrate a file to the current version, or create it. Each step is one transaction.

    Raises ``BackendError`` when the file belongs to something else, or was written by a newer memwell.
    """
    try:
        # Identify the file before changing anything of it, the journal's mode included.
        if _version(session, path) < len(MIGRATIONS) or session.one("PRAGMA journal_mode") != ("wal",):
            _use_wal(session)
        while _version(session, path) < len(MIGRATIONS):
            _step(session, path)
    except apsw.Error as error:
        raise translated(error, path) from error


def _use_wal(session: Session) -> None:
    # SQLite does not call the busy handler for this pragma.
    deadline = time.monotonic() + 30.0
    while True:
        try:
            session.execute("PRAGMA journal_mode=WAL").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def _step(session: Session, path: str) -> None:
    session.execute("BEGIN IMMEDIATE")
    try:
        # Read again inside the transaction: another process may have made the step meanwhile.
        version = _version(session, path)
        if version < len(MIGRATIONS):
            MIGRATIONS[version](session)
            session.execute("INSERT OR REPLACE INTO store VALUES ('usable_from', ?)", (USABLE_FROM,))
            session.execute(f"PRAGMA user_version = {version + 1}")
            session.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        session.execute("COMMIT")
    except BaseException:
        if session.connection.in_transaction:
            session.execute("ROLLBACK")
        raise


def _version(session: Session, path: str) -> int:
    # One query, so that another process cannot create the store in between.
    row = session.one(
        "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema) "
        "FROM pragma_user_version, pragma_application_id"
    )
    version, application, tables = row or (0, 0, 0)
    if application != APPLICATION_ID and tables:
        raise BackendError(f"{path!r} is a SQLite file of another program, not a memwell store")
    if version < 0:
        raise BackendError(f"the store {path!r} is damaged: no format has the number {version}")
    if version > len(MIGRATIONS) < _usable_from(session, version):
        raise BackendError(
            f"{path!r} was written by a newer memwell (format {version}, this one knows up to {len(MIGRATIONS)}); "
            "upgrade memwell to open it. Nothing was changed."
        )
    return version


def _usable_from(session: Session, version: int) -> int:
    row = session.one("SELECT value FROM store WHERE name = 'usable_from'")
    return version if row is None else int(row[0])


# Sealing: triggers on every table with content refuse writes. They are part of the file's schema, so they bind at once
# every process that has it open, and an unsealed store has none. Search may still update its indexes (words, graphs).

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


# Watching: triggers note what is written, in a table that exists only while a store is watched. Like the seal they bind
# every process that has the file open.

_OPERATIONS = {"thread": ("insert", "update", "delete"), "message": ("insert",)}
_BOTH = ("insert", "delete")
_WRITTEN_PARTS = {
    # The part, then the space, the key and the number of what was written, from a row that is called ``changed``.
    "thread": ("threads", "SELECT changed.space, changed.id, -1"),
    "message": ("threads", "SELECT space, id, -1 FROM thread WHERE key = changed.key >> 32"),
    "entry": ("entries", "SELECT changed.space, changed.key, -1"),
    # The counter of the space is saved after its records.
    "record": (
        "records",
        "SELECT path, changed.id, iif(changed.key & 0xfffffffff >= next, changed.key & 0xfffffffff, -1) "
        "FROM space WHERE key = changed.key >> 36",
    ),
    "record_vector": (
        "records",
        "SELECT path, id, -1 FROM record JOIN space ON space.key = record.key >> 36 WHERE record.key = changed.key",
    ),
    "blob": ("blobs", "SELECT changed.space, changed.digest, -1"),
}
_WATCH = "watch"


def watch(session: Session, name: str | None) -> None:
    """Make the table and the triggers, or drop them."""
    for table in _WRITTEN_PARTS:
        for event in _OPERATIONS.get(table, _BOTH):
            session.execute(f"DROP TRIGGER IF EXISTS written_{table}_{event}")
    session.execute("DROP TABLE IF EXISTS written")
    if name is None:
        return
    session.execute(
        "CREATE TABLE written (part TEXT NOT NULL, space TEXT NOT NULL, number INTEGER NOT NULL, key TEXT NOT NULL, "
        "version INTEGER NOT NULL, PRIMARY KEY (part, space, number, key)) STRICT, WITHOUT ROWID"
    )
    session.execute("INSERT INTO written VALUES (?, '', 0, ?, 0)", (_WATCH, name))
    for table, (part, found) in _WRITTEN_PARTS.items():
        for event in _OPERATIONS.get(table, _BOTH):
            row = found.replace("changed.", "OLD." if event == "delete" else "NEW.")
            # Deleted first: how a conflict is resolved in here depends on the statement outside.
            session.execute(
                f"CREATE TRIGGER written_{table}_{event} AFTER {event}{_columns(session, table, event)} ON {table} BEGIN "
                f"DELETE FROM written WHERE part = '{part}' AND (space, key, number) = ({row}); "
                f"INSERT INTO written (part, space, key, number, version) "
                f"SELECT '{part}', *, random() FROM ({row}); END"
            )


def watched(session: Session) -> str | None:
    """The name of the watch, or None."""
    if session.one("SELECT 1 FROM sqlite_schema WHERE name = 'written'") is None:
        return None
    row = session.one("SELECT key FROM written WHERE part = ?", (_WATCH,))
    return None if row is None else str(row[0])


def written(session: Session, part: str, after: Written | None, limit: int) -> list[Written]:
    """The notes about one part behind ``after``, in order."""
    start = ("", -2, "") if after is None else (after.space.encoded(), after.number, after.key)
    rows = session.rows(
        "SELECT space, key, number, version FROM written WHERE part = ? AND (space, number, key) > (?, ?, ?) "
        "ORDER BY space, number, key LIMIT ?",
        (part, *start, limit),
    )
    return [Written(Space.decode(path), part, *rest) for path, *rest in rows]


def drop_written(session: Session, notes: Sequence[Written]) -> None:
    """Drop the notes that are as they were read."""
    for note in notes:
        session.execute(
            "DELETE FROM written WHERE part = ? AND space = ? AND number = ? AND key = ? AND version = ?",
            (note.part, note.space.encoded(), note.number, note.key, note.version),
        )


# Whether all that was ever written to the file went there with zeros in the unused part of pages.


def set_zeroed(session: Session) -> None:
    """Note that it did."""
    session.execute("INSERT OR REPLACE INTO store VALUES ('zeroed', 1)")


def is_zeroed(session: Session) -> bool:
    """Whether it did."""
    return session.one("SELECT 1 FROM store WHERE name = 'zeroed'") is not None


# Spaces: counts and counters of each space's records

POSITION = (1 << SPACE_SHIFT) - 1
"""The part of a record's key that is its position in its space."""


class SpaceRow(NamedTuple):
    """Counts and counters of a space's records."""

    key: int
    next: int
    change: int
    forgotten: int
    records: int
    vectors: int
    dimensions: int | None
    length: int
    token: int = 0
    """A number drawn for the last change: see ``state_of``."""

    @property
    def state(self) -> int:
        """The state of the space."""
        return state_of(self.change, self.token)

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
        "SELECT key, next, change, forgotten, records, vectors, dimensions, length, token FROM space WHERE path = ?",
        (path,),
    )
    return None if row is None else SpaceRow(*row)


def journaled(session: Session, row: SpaceRow, key: int) -> SpaceRow:
    """Journal a change of a record; returns the space's row, which the caller saves."""
    change, token = row.change + 1, secrets.randbits(TOKEN_BITS)
    session.execute("INSERT INTO record_change VALUES (?, ?, ?)", (row.low | change, key, token))
    return row._replace(change=change, token=token)


def known_change(session: Session, row: SpaceRow, state: int) -> int | None:
    """The number of the last change of a state; None when it is too old, or not of this history of the space."""
    change, token = split_state(state)
    if not row.forgotten <= change <= row.change:
        return None
    if change == row.change:
        return change if token == row.token else None
    found = session.one("SELECT token FROM record_change WHERE key = ?", (row.low | change,))
    return change if (found or (0,)) == (token,) else None


def save_space(session: Session, row: SpaceRow, kept_changes: int) -> None:
    """Save a space's row. Now and then drops journal entries older than the last ``kept_changes``."""
    forgotten = row.forgotten
    if row.change - forgotten > 2 * kept_changes:
        forgotten = row.change - kept_changes
        # The entry at the limit stays, for its token.
        session.execute("DELETE FROM record_change WHERE key >= ? AND key < ?", (row.low, row.low | forgotten))
    session.execute(
        "UPDATE space SET next = ?, change = ?, forgotten = ?, records = ?, vectors = ?, dimensions = ?, length = ?, "
        "token = ? WHERE key = ?",
        (
            row.next,
            row.change,
            forgotten,
            row.records,
            row.vectors,
            row.dimensions if row.vectors else None,
            row.length,
            row.token,
            row.key,
        ),
    )


# The next space of each table is one index lookup, however many rows a space has.
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


# Filters as SQL: the whole tree is pushed down. Every name and value is a bound parameter; nothing is spliced in.

RECORD = FilterTarget(
    {"@id": "record.id", "@kind": "record.kind", "@text": "record.text", "@time": "record.time"}, "record.metadata"
)
ENTRY = FilterTarget(
    {"@id": "entry.key"},
    "(CASE WHEN typeof(entry.value) = 'text' AND json_type(entry.value) = 'object' THEN entry.value ELSE '{}' END)",
)
ALWAYS = Condition("1", ())
_NEVER = Condition("0", ())
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


def _of_attribute(node: Where, column: str) -> Condition:
    return _compared(node, "'real'" if node.field == "@time" else "'text'", column)


def _in_document(node: Where, path: tuple[str, ...], document: str) -> Condition:
    """Walk down with json_each, whose keys are compared as values: no key can act as a JSON path."""
    tables: list[str] = []
    whole = document
    for depth in range(len(path)):
        tables.append(f"json_each({document}) AS j{depth}")
        # Only an object is parsed as one.
        document = f"(CASE j{depth}.type WHEN 'object' THEN j{depth}.value ELSE '{{}}' END)"
    keys = " AND ".join(f"j{depth}.key = ?" for depth in range(len(path)))
    last = f"j{len(path) - 1}"
    found = _compared(node, f"{last}.type", f"{last}.value")
    held = f"EXISTS (SELECT 1 FROM {', '.join(tables)} WHERE {keys} AND {found.sql})"
    bindings = (*path, *found.bindings)
    # Most records of a space lack a rare key: a third of the time, since their metadata need not be parsed. It is stored as
    # msgspec writes it, which escapes no letters.
    if whole == RECORD.document and _PLAIN.fullmatch(path[-1]):
        held, bindings = f"(instr({whole}, ?) > 0 AND {held})", (f'"{path[-1]}"', *bindings)
    # With the plus SQLite does not turn it into a join, whose rows it would only reach after all other conditions.
    return Condition(f"+{held}", bindings)


def _compared(node: Where, kind: str, value: str) -> Condition:
    if node.operator == "exists":
        return ALWAYS
    if node.operator == "eq":
        return _equal(node.value, kind, value)
    if node.operator == "in":
        members = [_equal(one, kind, value) for one in node.value]
        return joined(" OR ", members) if members else _NEVER
    if node.operator == "contains":
        return _contains(node.value, kind, value)
    return _ordered(ORDER[node.operator], node.value, kind, value)


def _equal(wanted: Any, kind: str, value: str) -> Condition:
    if wanted is None or isinstance(wanted, bool):
        name = {None: "null", True: "true", False: "false"}[wanted]
        return Condition(f"({kind} = '{name}')", ())
    return _ordered("=", wanted, kind, value)


def _ordered(symbol: str, wanted: Any, kind: str, value: str) -> Condition:
    if isinstance(wanted, str):
        return Condition(f"({kind} = 'text' AND {value} {symbol} ?)", (wanted,))
    if wanted is None or isinstance(wanted, bool):
        return _NEVER
    return Condition(f"({kind} IN ('integer', 'real') AND {value} {symbol} ?)", (wanted,))


def _contains(wanted: Any, kind: str, value: str) -> Condition:
    element = _equal(wanted, "element.type", "element.value")
    array = f"(CASE {kind} WHEN 'array' THEN {value} ELSE '[]' END)"
    inside = Condition(f"EXISTS (SELECT 1 FROM json_each({array}) AS element WHERE {element.sql})", element.bindings)
    if not isinstance(wanted, str):
        return inside
    part = Condition(f"({kind} = 'text' AND instr({value}, ?) > 0)", (wanted,))
    return joined(" OR ", [part, inside])


compiled = Dialect(ALWAYS, _NEVER, _of_attribute, _in_document).compiled
