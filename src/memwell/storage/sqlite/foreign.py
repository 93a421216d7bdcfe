"""SQLite files of other programs: read, never written, and not trusted."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from memwell.errors import FileError, InvalidInput

_LONGEST = 16 * 2**20
"""The most bytes of a value that is read."""


class ForeignDatabase:
    """An open file: its ordinary tables and their rows. No view, trigger or virtual table of it is used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = apsw.Connection(f"{path.absolute().as_uri()}?mode=ro", flags=_FLAGS)
        self._connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LONGEST)
        for setting, value in _SETTINGS:
            self._connection.config(setting, value)
        made = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'"
        self.tables: frozenset[str] = frozenset(str(name) for (name,) in self._connection.execute(made))

    def rows(self, query: str, *values: Any, of: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query on the table ``of``. Raises ``InvalidInput`` when there is no such ordinary table."""
        if of not in self.tables:
            raise InvalidInput(f"{str(self._path)!r} has no table {of!r}")
        return self._connection.execute(query, values)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


_FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_SETTINGS = (
    (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
    (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
)


@contextmanager
def foreign(path: Path) -> Generator[ForeignDatabase]:
    """A SQLite file of another program. Raises ``FileError`` when it cannot be read or is damaged."""
    try:
        database = ForeignDatabase(path)
        try:
            yield database
        finally:
            database.close()
    except apsw.Error as error:
        raise FileError(f"{str(path)!r} cannot be read as a SQLite file: {error}") from error
