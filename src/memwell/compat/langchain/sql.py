"""Chat histories in any SQL database, in the table of LangChain's own class. Needs SQLAlchemy 2."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

from memwell.compat.langchain.histories import BaseChatMessageHistory
from memwell.compat.langchain.messages import BaseMessage, message_from_json, message_to_json
from memwell.errors import (
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    InvalidInput,
    MissingDependency,
    NotFound,
)
from memwell.values import shown

try:
    import sqlalchemy as sa
    from sqlalchemy import exc
except ImportError as missing:
    raise MissingDependency('histories in SQL need SQLAlchemy: pip install "memwell[sql]"') from missing

_AT_ONCE = 500
# MySQL indexes no text without a length; this many characters of four bytes fit its shortest limit.
_MYSQL_PREFIX = 191


class SQLChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session in a table that LangChain's own class may share; the table is made when it is missing.

    ``connection`` is a URL or an engine of SQLAlchemy. A table that is made here has an index on the session, without which
    every read scans every row. Raises ``BackendUnavailable`` when the database cannot be reached.
    """

    def __init__(
        self,
        session_id: str,
        connection_string: str | None = None,
        table_name: str = "message_store",
        session_id_field_name: str = "session_id",
        *,
        connection: sa.Engine | str | None = None,
        engine_args: dict[str, Any] | None = None,
    ) -> None:
        if connection_string and connection:
            # Programs written for LangChain expect an AssertionError here.
            raise AssertionError("connection_string and connection are mutually exclusive")
        self.engine = _engine(connection or connection_string, engine_args or {})
        self.session_id = session_id
        self._session = sa.Column(session_id_field_name, sa.Text)
        self._id = sa.Column("id", sa.Integer, primary_key=True)
        self._message = sa.Column("message", sa.Text)
        self._table = sa.Table(table_name, sa.MetaData(), self._id, self._session, self._message)
        prefix = {session_id_field_name: _MYSQL_PREFIX}
        sa.Index(f"ix_{table_name}_session", self._session, self._id, mysql_length=prefix)
        with _translated():
            self._table.create(self.engine, checkfirst=True)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All messages, oldest first."""
        rows = sa.select(self._id, self._message).where(self._session == self.session_id).order_by(self._id)
        with _translated(), self.engine.connect() as connected:
            found = connected.execute(rows).all()
        return [message_from_json(message, f"row {number}") for number, message in found]

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, in one transaction. Raises ``InvalidInput`` for one that is not plain data."""
        rows = [{self._session.name: self.session_id, "message": message_to_json(one)} for one in messages]
        if rows:
            with _translated(), self.engine.begin() as connected:
                connected.execute(sa.insert(self._table), rows)

    def clear(self) -> None:
        """Delete all messages of the session."""
        with _translated(), self.engine.begin() as connected:
            connected.execute(sa.delete(self._table).where(self._session == self.session_id))


def stored_messages(
    connection: Any, table_name: str, session_id_field_name: str
) -> tuple[str, int, Iterator[tuple[str, int, str]]]:
    """The messages of a table: their origin, their number, and each as session, position (from 1), JSON.

    They come session by session. Nothing is written. Raises ``NotFound`` when there is no such table or it lacks a column.
    """
    engine = _engine(connection, {})
    with _translated():
        try:
            table = sa.Table(table_name, sa.MetaData(), autoload_with=engine)
            session, number, message = (table.c[name] for name in (session_id_field_name, "id", "message"))
        except (exc.NoSuchTableError, KeyError) as error:
            raise NotFound(
                f"there is no table {shown(table_name)} with the columns id, message and {session_id_field_name}"
            ) from error
        with engine.connect() as connected:
            total = connected.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()

    def rows() -> Iterator[tuple[str, int, str]]:
        statement = sa.select(session, message).order_by(session, number)
        with _translated(), engine.connect() as connected:
            found = connected.execution_options(yield_per=_AT_ONCE).execute(statement)
            for whose, of_one in groupby(found, key=lambda row: str(row[0])):
                for place, (_, layout) in enumerate(of_one, 1):
                    # A column of PostgreSQL's own JSON type comes as data.
                    yield whose, place, layout if isinstance(layout, str) else json.dumps(layout)

    where = engine.url
    # One file has one name however its path is written; a password does not belong in it and may change.
    name = Path(where.database).resolve() if where.database and not where.host else where.database
    return f"{where.get_backend_name()} {where.host} {where.port} {name} {table_name}", total, rows()


def _engine(connection: Any, options: dict[str, Any]) -> sa.Engine:
    """The engine for a URL, or the one given. Raises ``ConfigurationError`` for a URL that names no database."""
    if isinstance(connection, sa.Engine):
        return connection
    if not isinstance(connection, str):
        raise InvalidInput(
            f"connection should be a connection string or an Engine of SQLAlchemy, not {shown(connection)}"
        )
    try:
        return sa.create_engine(connection, **options)
    except (exc.ArgumentError, exc.NoSuchModuleError) as error:
        raise ConfigurationError(f"the connection string names no database: {error}") from error


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except (exc.OperationalError, exc.TimeoutError) as error:
        raise BackendUnavailable(f"the database cannot be reached or is busy: {error}") from error
    except exc.SQLAlchemyError as error:
        raise BackendError(f"the database failed: {error}") from error
