"""Chat histories in any database SQLAlchemy speaks to, in the table LangChain's own class uses. Needs SQLAlchemy 2."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from memwell.compat.langchain.histories import TailedChatMessageHistory
from memwell.compat.langchain.messages import BaseMessage, message_from_dict, message_to_dict
from memwell.compat.langchain.stored import StoredMessage, StoredMessages
from memwell.errors import (
    BackendError,
    BackendUnavailable,
    ConfigurationError,
    InvalidInput,
    MissingDependency,
    NotFound,
)
from memwell.values import check_count, shown

try:
    from sqlalchemy import (
        Column,
        Engine,
        Index,
        Integer,
        MetaData,
        Select,
        Table,
        Text,
        create_engine,
        delete,
        func,
        select,
    )
    from sqlalchemy.exc import (
        ArgumentError,
        NoSuchModuleError,
        NoSuchTableError,
        OperationalError,
        SQLAlchemyError,
    )
    from sqlalchemy.exc import TimeoutError as PoolTimeout
    from sqlalchemy.orm import Session, declarative_base, sessionmaker
except ImportError as missing:
    raise MissingDependency('histories in SQL need SQLAlchemy: pip install "memwell[sql]"') from missing

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

DBConnection: TypeAlias = "AsyncEngine | Engine | str"
"""What names a database: a URL, or an engine that is open."""

_AT_ONCE = 500
# MySQL indexes no text without a length; this many characters of four bytes fit its shortest limit.
_MYSQL_PREFIX = 191


class BaseMessageConverter(ABC):
    """Turns messages into rows of a table and back. A class of your own gives the table."""

    @abstractmethod
    def from_sql_model(self, sql_message: Any) -> BaseMessage:
        """The message of a row."""

    @abstractmethod
    def to_sql_model(self, message: Any, session_id: str) -> Any:
        """The row of a message."""

    @abstractmethod
    def get_sql_model_class(self) -> Any:
        """The class of the rows, a declarative model of SQLAlchemy with a column ``id``."""


def create_message_model(table_name: str, base: Any) -> Any:
    """The model of a table of messages: an id, the session's, and the message as JSON text.

    When the table is made it gets an index on the session, without which every read looks at every row.
    """
    index = Index(f"ix_{table_name}_session", "session_id", "id", mysql_length={"session_id": _MYSQL_PREFIX})
    columns = {
        "id": Column(Integer, primary_key=True),
        "session_id": Column(Text),
        "message": Column(Text),
    }
    return type("Message", (base,), {"__tablename__": table_name, "__table_args__": (index,), **columns})


class DefaultMessageConverter(BaseMessageConverter):
    """Messages as JSON text in a table of LangChain's layout."""

    def __init__(self, table_name: str) -> None:
        self.model_class = create_message_model(table_name, declarative_base())

    def from_sql_model(self, sql_message: Any) -> BaseMessage:
        """The message of a row. Raises ``InvalidInput`` when the row holds none."""
        try:
            return message_from_dict(json.loads(sql_message.message))
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"row {sql_message.id} holds something that is no message: {error}") from error

    def to_sql_model(self, message: Any, session_id: str) -> Any:
        """The row of a message. Raises ``InvalidInput`` for one that is not plain data."""
        try:
            written = json.dumps(message_to_dict(message))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"a message cannot be written as JSON: {error}") from error
        return self.model_class(session_id=session_id, message=written)

    def get_sql_model_class(self) -> Any:
        """The class of the rows."""
        return self.model_class


class SQLChatMessageHistory(TailedChatMessageHistory):
    """The messages of a session in a table, which is made when it is not there; LangChain's own tables just work.

    ``connection`` is a URL or an engine, ``async_mode`` says whether a URL is for an async engine. With an async engine
    only the async methods work, with another only the others: the wrong kind raises ``InvalidInput`` (a ``ValueError``).
    Raises ``BackendUnavailable`` when the database cannot be reached.
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
            # An AssertionError is what programs written for LangChain expect here.
            raise AssertionError("connection_string and connection are mutually exclusive")
        self._connect(connection or connection_string, engine_args or {}, async_mode)
        self.session_id = session_id
        self.session_id_field_name = session_id_field_name
        self.converter = custom_message_converter or DefaultMessageConverter(table_name)
        self.sql_model_class: Any = self.converter.get_sql_model_class()
        if not hasattr(self.sql_model_class, session_id_field_name):
            raise InvalidInput("SQL model class must have session_id column")
        self._table_created = False
        if not self.async_mode:
            with _translated():
                self.sql_model_class.metadata.create_all(self.engine)
            self._table_created = True

    def _connect(self, connection: Any, options: dict[str, Any], async_mode: bool | None) -> None:
        if isinstance(connection, str):
            try:
                make = _asyncio().create_async_engine if async_mode else create_engine
                connection = make(connection, **options)
            except (ArgumentError, NoSuchModuleError) as error:
                raise ConfigurationError(f"the connection string names no database: {error}") from error
        # Asked in this order, so that SQLAlchemy's async part is loaded only for an engine that is async.
        if isinstance(connection, Engine):
            self.async_mode, self.engine = False, connection
            self.session_maker: Any = sessionmaker(bind=connection)
        elif hasattr(connection, "sync_engine") and isinstance(connection, _asyncio().AsyncEngine):
            self.async_mode, self.async_engine = True, cast("AsyncEngine", connection)
            self.session_maker = _asyncio().async_sessionmaker(bind=connection)
        else:
            raise InvalidInput(
                "connection should be a connection string or an instance of "
                "sqlalchemy.engine.Engine or sqlalchemy.ext.asyncio.engine.AsyncEngine"
            )

    # Reading

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All messages, oldest first."""
        return self._read(self._rows())

    def get_messages(self) -> list[BaseMessage]:
        """All messages, oldest first."""
        return self.messages

    def __len__(self) -> int:
        counting = select(func.count()).select_from(self.sql_model_class).where(self._mine())
        with self._session() as session:
            return session.execute(counting).scalar_one()

    def between(self, start: int, stop: int) -> list[BaseMessage]:
        """The messages from place ``start`` up to, but not with, place ``stop``; only these are fetched."""
        return self._read(self._rows().offset(start).limit(stop - start)) if start < stop else []

    def tail(self, count: int) -> list[BaseMessage]:
        """The last messages, at most ``count`` of them."""
        newest_first = select(self.sql_model_class).where(self._mine()).order_by(self.sql_model_class.id.desc())
        return self._read(newest_first.limit(check_count(count, "count")))[::-1]

    async def aget_messages(self) -> list[BaseMessage]:
        """All messages, oldest first, with an async engine."""
        async with self._async_session() as session:
            rows = (await session.execute(self._rows())).scalars()
            return [self.converter.from_sql_model(row) for row in rows]

    # Writing

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, in one transaction."""
        rows = self._made(messages)
        with self._session() as session:
            session.add_all(rows)
            session.commit()

    async def aadd_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, in one transaction, with an async engine."""
        rows = self._made(messages)
        async with self._async_session() as session:
            session.add_all(rows)
            await session.commit()

    async def aadd_message(self, message: Any) -> None:
        """Add one message, with an async engine."""
        await self.aadd_messages([message])

    def clear(self) -> None:
        """Take all messages of the session out."""
        with self._session() as session:
            session.execute(delete(self.sql_model_class).where(self._mine()))
            session.commit()

    async def aclear(self) -> None:
        """Take all messages of the session out, with an async engine."""
        async with self._async_session() as session:
            await session.execute(delete(self.sql_model_class).where(self._mine()))
            await session.commit()

    # Statements and sessions

    def _mine(self) -> Any:
        return getattr(self.sql_model_class, self.session_id_field_name) == self.session_id

    def _rows(self) -> Select[Any]:
        return select(self.sql_model_class).where(self._mine()).order_by(self.sql_model_class.id.asc())

    def _read(self, statement: Select[Any]) -> list[BaseMessage]:
        with self._session() as session:
            return [self.converter.from_sql_model(row) for row in session.execute(statement).scalars()]

    def _made(self, messages: Sequence[Any]) -> list[Any]:
        return [self.converter.to_sql_model(one, self.session_id) for one in messages]

    @contextmanager
    def _session(self) -> Generator[Session]:
        if self.async_mode:
            raise InvalidInput(
                "Attempting to use a sync method in when async mode is turned on. "
                "Please use the corresponding async method instead."
            )
        with _translated(), cast(Session, self.session_maker()) as session:
            yield session

    @asynccontextmanager
    async def _async_session(self) -> AsyncGenerator[AsyncSession]:
        if not self.async_mode:
            raise InvalidInput(
                "Attempting to use an async method in when sync mode is turned on. "
                "Please use the corresponding async method instead."
            )
        with _translated():
            if not self._table_created:
                async with self.async_engine.begin() as connection:
                    await connection.run_sync(self.sql_model_class.metadata.create_all)
                self._table_created = True
            async with cast("AsyncSession", self.session_maker()) as session:
                yield session


def stored_messages(connection: DBConnection, table_name: str, session_id_field_name: str) -> StoredMessages:
    """What a table of messages holds, one session after the other; nothing of it is changed.

    Raises ``NotFound`` when there is no such table or it lacks a column.
    """
    engine = _sync_engine(connection)
    with _translated():
        try:
            table = Table(table_name, MetaData(), autoload_with=engine)
            session, number, message = (table.c[name] for name in (session_id_field_name, "id", "message"))
        except (NoSuchTableError, KeyError) as error:
            raise NotFound(
                f"there is no table {shown(table_name)} with the columns id, message and {session_id_field_name}"
            ) from error
        with engine.connect() as connected:
            total = connected.execute(select(func.count()).select_from(table)).scalar_one()

    def rows() -> Iterator[StoredMessage]:
        statement = select(session, message).order_by(session, number)
        with _translated(), engine.connect() as connected:
            found = connected.execution_options(yield_per=_AT_ONCE).execute(statement)
            for whose, of_one in groupby(found, key=lambda row: str(row[0])):
                for place, row in enumerate(of_one, 1):
                    yield StoredMessage(whose, place, _text(row[1]))

    where = engine.url
    # A file is the same however its path is written; a password is nobody's business and may change.
    name = Path(where.database).resolve() if where.database and not where.host else where.database
    origin = f"{where.get_backend_name()} {where.host} {where.port} {name} {table_name}"
    return StoredMessages(origin, total, rows())


def _text(value: object) -> str:
    # A column of PostgreSQL's own JSON type comes as data.
    return value if isinstance(value, str) else json.dumps(value)


def _sync_engine(connection: DBConnection) -> Engine:
    if isinstance(connection, Engine):
        return connection
    if not isinstance(connection, str):
        raise InvalidInput(f"an import reads through a URL or an Engine, not {shown(connection)}")
    try:
        return create_engine(connection)
    except (ArgumentError, NoSuchModuleError) as error:
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
    except (OperationalError, PoolTimeout) as error:
        raise BackendUnavailable(f"the database cannot be reached or is busy: {error}") from error
    except SQLAlchemyError as error:
        raise BackendError(f"the database failed: {error}") from error


__all__ = [
    "BaseMessageConverter",
    "DBConnection",
    "DefaultMessageConverter",
    "SQLChatMessageHistory",
    "create_message_model",
    "stored_messages",
]
