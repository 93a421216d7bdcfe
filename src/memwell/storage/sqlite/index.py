"""Records in SQLite: rows, words and vectors in one transaction."""

from __future__ import annotations

import mmap
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import msgspec

from memwell.errors import InvalidInput, MemwellError
from memwell.filters import FilterLike, as_filter
from memwell.language.segment import query_terms, segment
from memwell.records import Hit, Page, Record, Space, Vector, stored_record, unpack_half
from memwell.storage import arguments as given
from memwell.storage.files import open_plain
from memwell.storage.parts import PreparedRecord, check_dimensions, distinct_terms, packed_vectors, prepare_records
from memwell.storage.protocols import TOKEN_BITS, Changes, IndexInfo, KeptCache, RecordIndex, state_of
from memwell.storage.sqlite.connections import Connections, Session
from memwell.storage.sqlite.encryption import read_encrypted, write_encrypted
from memwell.storage.sqlite.schema import (
    POSITION,
    RECORD,
    Condition,
    SpaceRow,
    compiled,
    journaled,
    known_change,
    save_space,
    space_row,
)
from memwell.storage.sqlite.words import Collection, Words
from memwell.values import check_text

if TYPE_CHECKING:
    from memwell.storage.sqlite.vectors import SqliteVectors

_decode = msgspec.json.Decoder().decode
_FIELDS = "record.key, record.id, record.kind, record.stamp, record.metadata, record.text"


_PIECE = 4_096
_TRIES = 8
_NO_SPACE = SpaceRow(0, 0, 0, 0, 0, 0, None, 0)
_WHOLE = f"SELECT {_FIELDS}, record_vector.data FROM record LEFT JOIN record_vector ON record_vector.key = record.key"
_OF_SPACE = f"{_WHOLE} WHERE record.key >= ? AND record.key <= ?"
# The plus takes the column's affinity away, without which SQLite would not use the index of ids.
_BY_IDS = (
    f"SELECT {_FIELDS}, record_vector.data FROM space CROSS JOIN json_each(?) AS wanted "
    "CROSS JOIN record ON record.key >> 36 = +space.key AND record.id = wanted.value "
    "LEFT JOIN record_vector ON record_vector.key = record.key WHERE space.path = ?"
)
_METADATA_BY_IDS = (
    "SELECT record.id, record.metadata FROM space CROSS JOIN json_each(?) AS wanted "
    "CROSS JOIN record ON record.key >> 36 = +space.key AND record.id = wanted.value WHERE space.path = ?"
)
_BY_KEYS = f"SELECT {_FIELDS} FROM record WHERE key IN (SELECT value FROM json_each(?))"
_OUTDATED_GRAPHS = (
    "SELECT sidecar.space FROM sidecar JOIN space ON space.key = sidecar.space "
    f"WHERE space.change > sidecar.change >> {TOKEN_BITS}"
)


class SqliteIndex(RecordIndex):
    """Records in rows, their words in FTS5, their vectors as half-precision blobs."""

    def __init__(self, connections: Connections, *, vector_cache_mb: int, hnsw_above: int, kept_changes: int) -> None:
        self._connections = connections
        self.words = Words("record", "record")
        self.caches = SpaceCaches(connections)
        self._kept_changes = kept_changes
        self._vector_options = (vector_cache_mb * 2**20, hnsw_above)
        self._loaded_vectors: SqliteVectors | None = None

    @property
    def vectors(self) -> SqliteVectors:
        """Search by vector, loaded lazily: importing numpy and usearch takes longer than opening a store."""
        if self._loaded_vectors is None:
            from memwell.storage.sqlite.vectors import SqliteVectors  # noqa: PLC0415 - see above

            self._loaded_vectors = SqliteVectors(self._connections, *self._vector_options)
        return self._loaded_vectors

    def scrub(self) -> None:
        """Drop the graphs of spaces that have changed since, and the caches of those that lost a record."""
        self.caches.scrub()
        spaces = [key for (key,) in self._connections.read(lambda session: session.rows(_OUTDATED_GRAPHS))]
        if spaces:
            self.vectors.drop(spaces)

    # Writing

    def upsert(self, records: Sequence[Record]) -> None:
        prepared = prepare_records(records)
        if not prepared:
            return

        def operation(session: Session) -> None:
            for space, group in prepared.items():
                self._upsert(session, space.encoded(), group)

        self._connections.write(operation)

    def _upsert(self, session: Session, path: str, group: list[PreparedRecord]) -> None:
        row = space_row(session, path)
        if row is None:
            session.execute("INSERT INTO space (path) VALUES (?)", (path,))
            row = SpaceRow(session.connection.last_insert_rowid(), 0, 0, 0, 0, 0, None, 0)
        for one in group:
            row = self._store(session, row, one)
        save_space(session, row, self._kept_changes)

    def _store(self, session: Session, row: SpaceRow, one: PreparedRecord) -> SpaceRow:
        dimensions = row.dimensions
        if one.vector is not None:
            dimensions = check_dimensions(one.record.id, len(one.vector) // 2, dimensions)
        old = session.one("SELECT key, text FROM record WHERE key >> 36 = ? AND id = ?", (row.key, one.record.id))
        if old is None:
            key = row.low | row.next
            row = row._replace(next=row.next + 1)
        else:
            key = old[0]
            row = self._clear(session, row, key, old[1])
        record, stamp = one.record, one.record.time.isoformat()
        session.execute(
            "INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (key, record.id, record.kind, record.time.timestamp(), stamp, len(one.terms), one.metadata, record.text),
        )
        self.words.add(session, key, row.key, one.terms)
        if one.vector is not None:
            session.execute("INSERT INTO record_vector VALUES (?, ?)", (key, one.vector))
        return journaled(session, row, key)._replace(
            records=row.records + 1,
            vectors=row.vectors + (one.vector is not None),
            dimensions=dimensions,
            length=row.length + len(one.terms),
        )

    def _clear(self, session: Session, row: SpaceRow, key: int, text: str) -> SpaceRow:
        """Remove a record's words and vector. The caller replaces or deletes its row."""
        terms = segment(text)
        self.words.remove(session, key, row.key, terms)
        session.execute("DELETE FROM record_vector WHERE key = ?", (key,))
        vectors = row.vectors - session.connection.changes()
        return row._replace(records=row.records - 1, vectors=vectors, length=row.length - len(terms))

    def delete(self, space: Space, ids: Iterable[str]) -> int:
        path = given.check_space(space).encoded()
        wanted = list(dict.fromkeys(given.check_ids(ids)))

        def operation(session: Session) -> int:
            row = space_row(session, path)
            if row is None:
                return 0
            gone = 0
            for id_ in wanted:
                found = session.one("SELECT key, text FROM record WHERE key >> 36 = ? AND id = ?", (row.key, id_))
                if found is not None:
                    row = journaled(session, self._clear(session, row, *found), found[0])
                    session.execute("DELETE FROM record WHERE key = ?", (found[0],))
                    gone += 1
            if gone:
                save_space(session, row, self._kept_changes)
            return gone

        return self._connections.write(operation)

    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        path = given.check_space(space).encoded()
        packed = packed_vectors(vectors)

        def operation(session: Session) -> int | None:
            row = space_row(session, path)
            if row is None:
                return None
            save_space(session, _revectored(session, row, packed), self._kept_changes)
            return row.key

        changed = self._connections.write(operation)
        if changed is not None and self._connections.transaction_here() is None and self._has_graph(changed):
            # Its vectors are replaced, so it is of no use. Inside a transaction that is not certain yet.
            self.vectors.drop([changed])

    def _has_graph(self, space: int) -> bool:
        sql = "SELECT 1 FROM sidecar WHERE space = ?"
        return self._connections.read(lambda session: session.one(sql, (space,))) is not None

    # Reading

    def get(self, space: Space, ids: Iterable[str]) -> list[Record]:
        path = given.check_space(space).encoded()
        wanted = given.check_ids(ids)

        def operation(session: Session) -> list[tuple[Any, ...]]:
            return session.execute(_BY_IDS, (msgspec.json.encode(wanted).decode(), path)).fetchall()

        found = {row[1]: row for row in self._connections.read(operation)}
        return [_record(space, found[id_][:6], found[id_][6]) for id_ in wanted if id_ in found]

    def scan(
        self,
        space: Space,
        *,
        where: FilterLike | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = False,
    ) -> Page[Record]:
        path = given.check_space(space).encoded()
        condition = compiled(as_filter(where), RECORD)
        start = given.check_cursor(cursor)
        given.check_limit(limit)

        def operation(session: Session) -> list[tuple[Any, ...]]:
            row = space_row(session, path)
            if row is None:
                return []
            low, high = row.bounds
            if not newest_first:
                low = min(low + start + 1, high + 1)
            elif cursor is not None:
                high = min(low + start - 1, high)
            order = "DESC" if newest_first else "ASC"
            sql = f"{_OF_SPACE} AND {condition.sql} ORDER BY record.key {order} LIMIT ?"
            return session.execute(sql, (low, high, *condition.bindings, limit + 1)).fetchall()

        rows = self._connections.snapshot(operation)
        items = [_record(space, row[:6], row[6]) for row in rows[:limit]]
        return Page(items, str(rows[limit - 1][0] & POSITION) if len(rows) > limit else None)

    def near(self, space: Space, vector: Vector, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        path = given.check_space(space).encoded()
        query = self.vectors.query(vector)
        condition = None if where is None else compiled(as_filter(where), RECORD)
        given.check_limit(limit)

        def operation(session: Session) -> list[Hit] | None:
            row = space_row(session, path)
            if row is None or row.dimensions is None:
                return []
            if len(query) != row.dimensions:
                raise InvalidInput(f"a vector of {len(query)} dimensions cannot search a space of {row.dimensions}")
            allowed = None if condition is None else self._keys(session, row, condition)
            found = self.vectors.nearest(session, row, query, limit, allowed)
            return None if found is None else self._hits(session, space, found)

        for tries in count(1):
            # None: another thread has searched a newer state. Read again.
            hits = self._connections.snapshot(operation)
            if hits is not None:
                return hits
            if tries >= _TRIES:
                # No newer state comes: what is cached is of a history that was lost.
                self.vectors.forget(self._connections.read(lambda session: space_row(session, path)))
        raise AssertionError("unreachable")

    @staticmethod
    def _keys(session: Session, row: SpaceRow, condition: Condition) -> list[int]:
        sql = f"SELECT key FROM record WHERE key >= ? AND key <= ? AND {condition.sql} ORDER BY key"
        return [key for (key,) in session.execute(sql, (*row.bounds, *condition.bindings))]

    @staticmethod
    def _hits(session: Session, space: Space, found: Sequence[tuple[float, int]]) -> list[Hit]:
        keys = msgspec.json.encode([key for _, key in found]).decode()
        rows = {row[0]: row for row in session.execute(_BY_KEYS, (keys,)).fetchall()}
        return [Hit(_record(space, rows[key], None), score) for score, key in found]

    def match(self, space: Space, text: str, *, limit: int = 10, where: FilterLike | None = None) -> list[Hit]:
        path = given.check_space(space).encoded()
        terms = distinct_terms(query_terms(check_text(text, "text")))
        condition = compiled(as_filter(where), RECORD)
        given.check_limit(limit)
        if not terms:
            return []

        def operation(session: Session) -> list[Hit]:
            row = space_row(session, path)
            if row is None or not row.records:
                return []

            def stored_terms(keys: list[int]) -> dict[int, Sequence[str]]:
                sql = "SELECT key, text FROM record WHERE key IN (SELECT value FROM json_each(?))"
                return {key: segment(t) for key, t in session.rows(sql, (msgspec.json.encode(keys).decode(),))}

            collection = Collection(row.key, row.records, row.length)
            found = self.words.search(session, collection, terms, limit, condition, stored_terms)
            return self._hits(session, space, found)

        return self._connections.snapshot(operation)

    def changes(self, space: Space, since: int | None = None) -> Changes:
        path = given.check_space(space).encoded()

        def operation(session: Session) -> Changes:
            inside = self._connections.transaction_here() is not None
            return _changes(session, space, space_row(session, path), since, inside=inside)

        return self._connections.snapshot(operation)

    def numbered(self, space: Space, numbers: Mapping[str, int]) -> list[Record]:
        path, keys = given.check_space(space).encoded(), msgspec.json.encode(list(numbers.values())).decode()
        sql = f"{_BY_KEYS} AND record.key >> 36 = (SELECT space.key FROM space WHERE space.path = ?)"
        rows = self._connections.read(lambda session: session.rows(sql, (keys, path)))
        found = {row[1]: _record(space, row, None) for row in rows if numbers.get(row[1]) == row[0]}
        return [found[id_] for id_ in numbers if id_ in found]

    def metadata_of(self, space: Space, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        bindings = (msgspec.json.encode(given.check_ids(ids)).decode(), given.check_space(space).encoded())
        rows = self._connections.read(lambda session: session.rows(_METADATA_BY_IDS, bindings))
        return {id_: _decode(metadata) for id_, metadata in rows}

    def metadata(self, space: Space) -> Iterable[tuple[int, dict[str, Any]]]:
        return ((key, _decode(metadata)) for key, metadata in self._column(space, "metadata"))

    def texts(self, space: Space) -> Iterable[tuple[int, str]]:
        return ((key, text) for key, text in self._column(space, "text"))

    def _column(self, space: Space, name: str) -> list[tuple[Any, ...]]:
        path = given.check_space(space).encoded()

        def operation(session: Session) -> list[tuple[Any, ...]]:
            row = space_row(session, path) or _NO_SPACE
            return session.rows(f"SELECT key, {name} FROM record WHERE key >= ? AND key <= ?", row.bounds)

        return self._connections.snapshot(operation)

    def pieces(self, space: Space) -> Iterator[Changes]:
        path = given.check_space(space).encoded()
        row = self._connections.read(lambda session: space_row(session, path)) or _NO_SPACE
        state = None if self._connections.transaction_here() is not None else row.state
        start, end = row.bounds
        whole = more = True
        while more:
            rows = self._connections.read(partial(_piece, start=start, end=end))
            # They are looked at several times.
            yield Changes(state, whole, list(_Numbered(space, rows)), [])
            whole, more = False, len(rows) == _PIECE
            start = rows[-1][0] + 1 if more else end

    def info(self, space: Space) -> IndexInfo:
        path = given.check_space(space).encoded()
        row = self._connections.read(lambda session: space_row(session, path))
        if row is None:
            return IndexInfo(0, 0, None, "exact")
        loaded = self._loaded_vectors is not None and self._loaded_vectors.has_graph(row.key)
        search = "hnsw" if loaded else "exact"
        return IndexInfo(row.records, row.vectors, row.dimensions, search, row.state, state_of(row.forgotten))

    def keep_cache(self, space: Space, state: int, parts: Iterable[bytes | memoryview]) -> bool:
        return self.caches.keep(given.check_space(space).encoded(), state, parts)

    def kept_cache(self, space: Space) -> KeptCache | None:
        return self.caches.kept(given.check_space(space).encoded())

    def close(self) -> None:
        """Stop the background work."""
        if self._loaded_vectors is not None:
            self._loaded_vectors.close()


def _revectored(session: Session, row: SpaceRow, packed: Mapping[str, bytes]) -> SpaceRow:
    """Replace all vectors of a space, and journal every record that got or lost one."""
    held = session.rows("SELECT key FROM record_vector WHERE key >= ? AND key <= ?", row.bounds)
    touched = {key for (key,) in held}
    session.execute("DELETE FROM record_vector WHERE key >= ? AND key <= ?", row.bounds)
    stored = 0
    for id_, data in packed.items():
        found = session.one("SELECT key FROM record WHERE key >> 36 = ? AND id = ?", (row.key, id_))
        if found is not None:
            session.execute("INSERT INTO record_vector VALUES (?, ?)", (found[0], data))
            touched.add(found[0])
            stored += 1
    for key in sorted(touched):
        row = journaled(session, row, key)
    size = len(next(iter(packed.values()), b"")) // 2
    return row._replace(vectors=stored, dimensions=size if stored else None)


def _changes(session: Session, space: Space, known: SpaceRow | None, since: int | None, *, inside: bool) -> Changes:
    row = known or _NO_SPACE
    state = None if inside else row.state
    change = None if since is None else known_change(session, row, since)
    if change is None:
        return Changes(state, True, _Numbered(space, _whole_rows(session, row, None)), [])
    if change == row.change:
        return Changes(state, False, [], [])
    keys = _changed_keys(session, row, change)
    found = list(_Numbered(space, _whole_rows(session, row, keys)))
    return Changes(state, False, found, sorted(set(keys) - {number for number, _ in found}))


def _piece(session: Session, *, start: int, end: int) -> list[tuple[Any, ...]]:
    return session.rows(f"{_OF_SPACE} ORDER BY record.key LIMIT ?", (start, end, _PIECE))


class _Numbered(Sequence[tuple[int, Record]]):
    """Rows as records with their numbers, each made when it is asked for: as rows they take a third of the memory."""

    def __init__(self, space: Space, rows: list[tuple[Any, ...]]) -> None:
        self._space, self._rows = space, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> tuple[int, Record]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[tuple[int, Record]]: ...
    def __getitem__(self, place: int | slice) -> tuple[int, Record] | Sequence[tuple[int, Record]]:
        if isinstance(place, slice):
            return _Numbered(self._space, self._rows[place])
        row = self._rows[place]
        return row[0], _record(self._space, row[:-1], row[-1])


def _changed_keys(session: Session, row: SpaceRow, since: int) -> list[int]:
    sql = "SELECT DISTINCT record FROM record_change WHERE key > ? AND key <= ?"
    return [int(key) for (key,) in session.rows(sql, (row.low | since, row.low | row.change))]


def _whole_rows(session: Session, row: SpaceRow, keys: Sequence[int] | None) -> list[tuple[Any, ...]]:
    """Records with their vectors: those of the keys, or all of the space."""
    if keys is None:
        return session.rows(f"{_OF_SPACE} ORDER BY record.key", row.bounds)
    sql = f"{_WHOLE} WHERE record.key IN (SELECT value FROM json_each(?)) ORDER BY record.key"
    return session.rows(sql, (msgspec.json.encode(keys).decode(),))


def _record(space: Space, row: tuple[Any, ...], vector: bytes | None) -> Record:
    _, id_, kind, stamp, metadata, text = row
    unpacked = None if vector is None else unpack_half(vector)
    return stored_record(text, space, id_, kind, datetime.fromisoformat(stamp), _decode(metadata), unpacked)


# Caches of spaces in files next to the store: one for each space, named in the store. A file has a name that is never used
# twice, and only the one that the store names is read, so that a file of another store, of a restored backup's future, or
# of a process that died while writing is never used. What was deleted from a space goes from its cache too: ``scrub``
# removes each cache from whose space a record was deleted since, and each file without a name.

_PREFIX = "cache "
_MAPPED_FROM = 4 * 2**20
"""Smaller files are read."""
_UNFINISHED_S = 3_600.0
"""After this time a file that the store does not name is left over from a process that died."""


class _Named(msgspec.Struct, frozen=True):
    """The cache of a space: its file, and the state that it was made at."""

    file: str
    change: int
    """The state. Earlier versions had no tokens, and no state of theirs is known."""


class SpaceCaches:
    """The caches of a store's spaces."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._folder = Path(f"{connections.path}-cache")

    def keep(self, path: str, change: int, parts: Iterable[bytes | memoryview]) -> bool:
        """Write the cache of a space and name it. False when it cannot be written, or a record was deleted since."""
        if self._connections.read(lambda session: session.connection.readonly("main")):
            return False
        file = self._folder / f"{secrets.token_hex(16)}.cache"
        named: str | None = None
        try:
            self._make_folder()
            self._write(file, parts)
            named = self._connections.write(lambda session: self._name(session, path, file, change))
        except (MemwellError, OSError):
            # A cache only saves time.
            named = None
        if named is None:
            _remove(file)
            return False
        _remove(self._folder / named if named else None)
        self._remove_unnamed(_UNFINISHED_S)
        return True

    def kept(self, path: str) -> KeptCache | None:
        """The cache of a space, or None when there is none that fits."""

        def operation(session: Session) -> _Named | None:
            row = space_row(session, path)
            named = None if row is None else _named(session, row.key)
            fits = row is not None and named is not None and known_change(session, row, named.change) is not None
            return named if fits else None

        found = self._connections.snapshot(operation)
        if found is None:
            return None
        try:
            file = self._folder / Path(found.file).name
            key = self._connections.key_of(f"cache {file.name}")
            return KeptCache(found.change, _mapped(file) if key is None else read_encrypted(file, key))
        except (OSError, ValueError):
            return None

    def scrub(self) -> None:
        """Remove the caches of spaces from which a record was deleted since, and all files that the store does not name."""
        if self._folder.is_dir():
            outdated = self._connections.read(_outdated)
            if outdated:
                self._connections.write(lambda session: _unname(session, outdated))
            self._remove_unnamed(0.0)

    def _name(self, session: Session, path: str, file: Path, change: int) -> str | None:
        """Name a file in the store. The file that was named before, or empty; None when the new one cannot be used."""
        row = space_row(session, path)
        if row is None or _lost_any(session, row, change) or not file.is_file():
            return None
        before = _named(session, row.key)
        value = msgspec.json.encode(_Named(file.name, change)).decode()
        session.execute("INSERT OR REPLACE INTO store VALUES (?, ?)", (f"{_PREFIX}{row.key}", value))
        return "" if before is None else before.file

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(0o700, exist_ok=True)
            # Who may read the store may look into the folder.
            mode = self._connections.mode
            self._folder.chmod(mode | (mode & 0o444) >> 2)

    def _write(self, file: Path, parts: Iterable[bytes | memoryview]) -> None:
        key = self._connections.key_of(f"cache {file.name}")
        if key is not None:
            write_encrypted(file, key, parts)
            file.chmod(self._connections.mode)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with os.fdopen(os.open(file, flags, 0o600), "wb") as written:
            file.chmod(self._connections.mode)
            for part in parts:
                written.write(part)
            written.flush()
            os.fsync(written.fileno())

    def _files(self) -> list[Path]:
        with suppress(OSError):
            return list(self._folder.glob("*.cache"))
        return []

    def _remove_unnamed(self, older_s: float) -> None:
        """Remove files that the store does not name. A process that is still writing one then finds that it is gone."""
        listed = self._files()
        named = self._connections.read(_all_files)
        for file in listed:
            with suppress(OSError):
                if file.name not in named and time.time() - file.stat().st_mtime >= older_s:
                    file.unlink()


def _mapped(path: Path) -> Any:
    """The bytes of a file, to be written by this process alone: a change of them does not reach the file."""
    with open_plain(path) as file:
        # A map holds the file open, and many small ones would be too many.
        if os.fstat(file.fileno()).st_size < _MAPPED_FROM:
            return bytearray(file.read())
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def _remove(file: Path | None) -> None:
    if file is not None:
        with suppress(OSError):
            file.unlink(missing_ok=True)


def _all_files(session: Session) -> set[str]:
    rows = session.rows("SELECT value FROM store WHERE name >= ? AND name < ?", (_PREFIX, f"{_PREFIX}:"))
    return {msgspec.json.decode(value, type=_Named).file for (value,) in rows}


def _named(session: Session, space: int) -> _Named | None:
    row = session.one("SELECT value FROM store WHERE name = ?", (f"{_PREFIX}{space}",))
    return None if row is None else msgspec.json.decode(row[0], type=_Named)


def _outdated(session: Session) -> list[int]:
    """The spaces from which a record was deleted since their cache was made."""
    # In this order, because other values of the store are no JSON.
    changed = session.rows(
        "SELECT space.path, store.value ->> '$.change' FROM space CROSS JOIN store ON store.name = ? || space.key "
        f"WHERE store.value ->> '$.change' <> space.change << {TOKEN_BITS} | space.token",
        (_PREFIX,),
    )
    rows = [(space_row(session, path), made_at) for path, made_at in changed]
    return [row.key for row, made_at in rows if row is not None and _lost_any(session, row, made_at)]


def _unname(session: Session, spaces: Iterable[int]) -> None:
    for space in spaces:
        session.execute("DELETE FROM store WHERE name = ?", (f"{_PREFIX}{space}",))


def _lost_any(session: Session, row: SpaceRow, since: int) -> bool:
    """Whether a record of the space was deleted after a state, or that is not known."""
    change = known_change(session, row, since)
    if change is None:
        return True
    sql = (
        "SELECT 1 FROM record_change LEFT JOIN record ON record.key = record_change.record "
        "WHERE record_change.key > ? AND record_change.key <= ? AND record.key IS NULL LIMIT 1"
    )
    return session.one(sql, (row.low | change, row.low | row.change)) is not None
