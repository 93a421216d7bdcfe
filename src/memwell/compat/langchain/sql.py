"""Chat histories in any SQL database, in the table of LangChain's own class. Needs SQLAlchemy 2."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

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
    from sqlalchemy import exc, orm
except ImportError as missing:
    raise MissingDependency('histories in SQL need SQLAlchemy: pip install "memwell[sql]"') from missing

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")
DBConnection: TypeAlias = "AsyncEngine | sa.Engine | str"
"""A database: its URL, or an open engine."""

_AT_ONCE = 500
# MySQL indexes no text without a length; this many characters of four bytes fit its shortest limit.
_MYSQL_PREFIX = 191
_WRONG_MODE = (
    "Attempting to use {} method in when {} mode is turned on. Please use the corresponding async method instead."
)


class BaseMessageConverter(ABC):
    """Turns messages into rows of a table and back. A subclass gives the table."""

    @abstractmethod
    def from_sql_model(self, sql_message: Any) -> BaseMessage:
        """The message of a row."""

    @abstractmethod
    def to_sql_model(self, message: Any, session_id: str) -> Any:
        """The row of a message."""

    @abstractmethod
    def get_sql_model_class(self) -> Any:
        """The class of the rows, a declarative model of SQLAlchemy with a column ``id``."""


class DefaultMessageConverter(BaseMessageConverter):
    """Messages as JSON text in a table of LangChain's layout: an id, the session's id, and the message.

    When the table is made it gets an index on the session, without which every read scans every row.
    """

    def __init__(self, table_name: str) -> None:
        columns = {
            "__tablename__": table_name,
            "__table_args__": (
                sa.Index(f"ix_{table_name}_session", "session_id", "id", mysql_length={"session_id": _MYSQL_PREFIX}),
            ),
            "id": sa.Column(sa.Integer, primary_key=True),
            "session_id": sa.Column(sa.Text),
            "message": sa.Column(sa.Text),
        }
        self.model_class: Any = type("Message", (orm.declarative_base(),), columns)

    def from_sql_model(self, sql_message: Any) -> BaseMessage:
        """The message of a row. Raises ``InvalidInput`` when the row holds none."""
        return message_from_json(sql_message.message, f"row {sql_message.id}")

    def to_sql_model(self, message: Any, session_id: str) -> Any:
        """The row of a message. Raises ``InvalidInput`` for one that is not plain data."""
        return self.model_class(session_id=session_id, message=message_to_json(message))

    def get_sql_model_class(self) -> Any:
        """The class of the rows."""
        return self.model_class


class SQLChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session in a table that LangChain's own class may share; the table is made when it is missing.

    ``connection`` is a URL or an engine, ``async_mode`` says whether a URL is for an async engine. With an async engine
    only the async methods work, with another only the blocking ones: the wrong kind raises ``InvalidInput`` (a
    ``ValueError``). Raises ``BackendUnavailable`` when the database cannot be reached.
    """

    def __init__(
        self,
        session_id: str,
        connection_string: str | None = None,
        table_name: str = "message_store",
        session_id_field_name: str = "session_id",
        custom_message_converter: BaseMessageConverter | None = None,
        connection: DBConnection | None = None,
        engine_args: dict[str, Any] | None = None,
        async_mode: bool | None = None,
    ) -> None:
        if connection_string and connection:
            # Programs written for LangChain expect an AssertionError here.
            raise AssertionError("connection_string and connection are mutually exclusive")
        self._connect(connection or connection_string, engine_args or {}, async_mode)
        self.session_id = session_id
        self.session_id_field_name = session_id_field_name
        self.converter = custom_message_converter or DefaultMessageConverter(table_name)
        self.sql_model_class: Any = self.converter.get_sql_model_class()
        if not hasattr(self.sql_model_class, session_id_field_name):
            raise InvalidInput("SQL model class must have session_id column")
        self._table_created = not self.async_mode
        if not self.async_mode:
            with _translated():
                self.sql_model_class.metadata.create_all(self.engine)

    def _connect(self, connection: Any, options: dict[str, Any], async_mode: bool | None) -> None:
        if isinstance(connection, str):
            connection = _engine(
                _asyncio().create_async_engine if async_mode else sa.create_engine, connection, options
            )
        self.async_mode = hasattr(connection, "sync_engine")
        if self.async_mode:
            self.async_engine: AsyncEngine = connection
            self.session_maker: Any = _asyncio().async_sessionmaker(bind=connection)
        elif isinstance(connection, sa.Engine):
            self.engine = connection
            self.session_maker = orm.sessionmaker(bind=connection)
        else:
            raise InvalidInput(
                "connection should be a connection string or an instance of "
                "sqlalchemy.engine.Engine or sqlalchemy.ext.asyncio.engine.AsyncEngine"
            )

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All messages, oldest first."""
        return self._run(self._read)

    def get_messages(self) -> list[BaseMessage]:
        """All messages, oldest first."""
        return self.messages

    def __len__(self) -> int:
        counted = sa.select(sa.func.count()).select_from(self.sql_model_class).where(self._mine())
        return self._run(lambda session: session.execute(counted).scalar_one())

    def between(self, start: int, stop: int) -> list[BaseMessage]:
        return self._run(lambda session: self._read(session, start, stop - start)) if start < stop else []

    async def aget_messages(self) -> list[BaseMessage]:
        """All messages, oldest first, with an async engine."""
        return await self._arun(self._read)

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, in one transaction."""
        self._run(self._adding(messages))

    async def aadd_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, in one transaction, with an async engine."""
        await self._arun(self._adding(messages))

    async def aadd_message(self, message: Any) -> None:
        """Add one message, with an async engine."""
        await self.aadd_messages([message])

    def clear(self) -> None:
        """Delete all messages of the session."""
        self._run(self._delete)

    async def aclear(self) -> None:
        """Delete all messages of the session, with an async engine."""
        await self._arun(self._delete)

    def _mine(self) -> Any:
        return getattr(self.sql_model_class, self.session_id_field_name) == self.session_id

    def _read(self, session: orm.Session, offset: int = 0, limit: int | None = None) -> list[BaseMessage]:
        rows = sa.select(self.sql_model_class).where(self._mine()).order_by(self.sql_model_class.id.asc())
        found = session.execute(rows.offset(offset or None).limit(limit)).scalars()
        return [self.converter.from_sql_model(row) for row in found]

    def _adding(self, messages: Sequence[Any]) -> Callable[[orm.Session], None]:
        rows = [self.converter.to_sql_model(one, self.session_id) for one in messages]
        return lambda session: session.add_all(rows)

    def _delete(self, session: orm.Session) -> None:
        session.execute(sa.delete(self.sql_model_class).where(self._mine()))

    def _run(self, work: Callable[[orm.Session], T]) -> T:
        if self.async_mode:
            raise InvalidInput(_WRONG_MODE.format("a sync", "async"))
        with _translated(), self.session_maker.begin() as session:
            return work(session)

    async def _arun(self, work: Callable[[orm.Session], T]) -> T:
        if not self.async_mode:
            raise InvalidInput(_WRONG_MODE.format("an async", "sync"))
        with _translated():
            if not self._table_created:
                async with self.async_engine.begin() as connection:
                    await connection.run_sync(self.sql_model_class.metadata.create_all)
                self._table_created = True
            async with self.session_maker.begin() as session:
                return await session.run_sync(work)


def stored_messages(
    connection: Any, table_name: str, session_id_field_name: str
) -> tuple[str, int, Iterator[tuple[str, int, str]]]:
    """The messages of a table: their origin, their number, and each as session, position (from 1), JSON.

    They come session by session. Nothing is written. Raises ``NotFound`` when there is no such table or it lacks a column.
    """
    if not isinstance(connection, str | sa.Engine):
        raise InvalidInput(f"an import reads through a URL or an Engine, not {shown(connection)}")
    engine = _engine(sa.create_engine, connection, {}) if isinstance(connection, str) else connection
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


def _engine(make: Any, url: str, options: dict[str, Any]) -> Any:
    try:
        return make(url, **options)
    except (exc.ArgumentError, exc.NoSuchModuleError) as error:
        raise ConfigurationError(f"the connection string names no database: {error}") from error


def _asyncio() -> Any:
    try:
        # Only an async engine needs it, and it needs greenlet.
        return import_module("sqlalchemy.ext.asyncio")
    except ImportError as error:
        raise MissingDependency('an async engine needs greenlet: pip install "memwell[sql]"') from error


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except (exc.OperationalError, exc.TimeoutError) as error:
        raise BackendUnavailable(f"the database cannot be reached or is busy: {error}") from error
    except exc.SQLAlchemyError as error:
        raise BackendError(f"the database failed: {error}") from error
