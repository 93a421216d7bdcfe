"""Import of conversations that LangChain's own classes stored in SQL tables and in Redis.

The source is not changed. A conversation has its session's name, followed by a mark of its origin when that name is taken;
importing again adds only new messages. ``memwell import`` and ``import_file`` import files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from memwell.errors import NotFound
from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.remembering import Rememberer
from memwell.runtime.transfer.files import Imported, Piece, Progress, read_piece
from memwell.runtime.transfer.intake import Intake, Talk
from memwell.runtime.transfer.products import OwnNames, langchain_talk
from memwell.storage.clients import redis_client, redis_errors, sql_engine, sql_errors, sqlalchemy
from memwell.values import shown

_STEP = 100
_AT_ONCE = 500
"""How many messages are read from a server or a database in one step."""


def import_sql(
    memory: MemoryLike,
    connection: Any,
    *,
    table_name: str = "message_store",
    session_id_field_name: str = "session_id",
    remember: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Make a conversation of every session in a table of ``SQLChatMessageHistory``; with ``remember`` what was said is
    also remembered. ``connection`` is a URL or an engine of SQLAlchemy.

    A message that cannot be read is reported and the others are imported, unless ``strict``. Raises ``NotFound`` when there
    is no such table and ``BackendUnavailable`` when the database cannot be reached.
    """
    found = _in_sql(connection, table_name, session_id_field_name)
    return _imported(as_memory(memory), found, remember, strict, progress)


def import_redis(
    memory: MemoryLike,
    url: str,
    *,
    key_prefix: str = "message_store:",
    remember: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Make a conversation of every list of ``RedisChatMessageHistory`` whose key begins with ``key_prefix``; with
    ``remember`` what was said is also remembered.

    A message that cannot be read is reported and the others are imported, unless ``strict``. Raises ``BackendUnavailable``
    when the server cannot be reached.
    """
    return _imported(as_memory(memory), _in_redis(url, key_prefix), remember, strict, progress)


def _imported(
    memory: Rememberer,
    found: tuple[str, int, Iterator[tuple[str, int, str]]],
    remember: bool,
    strict: bool,
    progress: Progress | None,
) -> Imported:
    origin, total, messages = found
    names = OwnNames(memory, origin)

    def pieces() -> Iterator[Piece]:
        for place, message in enumerate(messages, 1):
            yield Piece(place, msgspec.json.encode(message))
            if progress is not None and (place % _STEP == 0 or place == total):
                progress(place, total)

    def read(piece: Piece) -> tuple[Talk, ...]:
        session, number, layout = msgspec.json.decode(piece.data, type=tuple[str, int, str])
        return (read_piece(langchain_talk, layout.encode(), names[session], number, names.origin, remember),)

    return Intake(memory, "langchain", strict=strict).take_all(pieces(), read)


def _in_redis(url: str, key_prefix: str) -> tuple[str, int, Iterator[tuple[str, int, str]]]:
    """The messages under a prefix: their origin, their number, and each as session, position, JSON.

    They come session by session, with positions from 1. Nothing is written.
    """
    client = redis_client(url)
    with redis_errors():
        found = {bytes(key) for key in client.scan_iter(match=_literally(key_prefix) + "*", count=_AT_ONCE)}
        keys = sorted(key for key in found if client.type(key) == b"list")
        total = sum(int(client.llen(key)) for key in keys)

    def rows() -> Iterator[tuple[str, int, str]]:
        for key in keys:
            session = key.decode(errors="replace").removeprefix(key_prefix)
            start, batch = 1, [b""] * _AT_ONCE
            while len(batch) == _AT_ONCE:
                with redis_errors():
                    batch = client.lrange(key, -(start + _AT_ONCE - 1), -start)
                for place, written in enumerate(reversed(batch), start):
                    yield session, place, written.decode(errors="replace")
                start += _AT_ONCE

    where = client.connection_pool.connection_kwargs
    origin = f"redis {where.get('host')} {where.get('port')} {where.get('path')} {where.get('db')} {key_prefix}"
    return origin, total, rows()


def _literally(text: str) -> str:
    """A pattern that matches this text alone."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", text)


def _in_sql(
    connection: Any, table_name: str, session_id_field_name: str
) -> tuple[str, int, Iterator[tuple[str, int, str]]]:
    """The messages of a table: their origin, their number, and each as session, position (from 1), JSON.

    They come session by session. Nothing is written. Raises ``NotFound`` when there is no such table or it lacks a column.
    """
    sa, engine = sqlalchemy(), sql_engine(connection, {})
    file = engine.url.database if engine.url.get_backend_name() == "sqlite" else None
    if file and not file.startswith((":", "file:")) and not Path(file).exists():
        # SQLite would make it.
        raise NotFound(f"there is no database {shown(file)}")
    with sql_errors():
        try:
            table = sa.Table(table_name, sa.MetaData(), autoload_with=engine)
            session, number, message = (table.c[name] for name in (session_id_field_name, "id", "message"))
        except (sa.exc.NoSuchTableError, KeyError) as error:
            raise NotFound(
                f"there is no table {shown(table_name)} with the columns id, message and {session_id_field_name}"
            ) from error
        with engine.connect() as connected:
            total = connected.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()

    def rows() -> Iterator[tuple[str, int, str]]:
        statement = sa.select(session, message).order_by(session, number)
        with sql_errors(), engine.connect() as connected:
            found = connected.execution_options(yield_per=_AT_ONCE).execute(statement)
            for whose, of_one in groupby(found, key=lambda row: str(row[0])):
                for place, (_, layout) in enumerate(of_one, 1):
                    # A column of PostgreSQL's own JSON type comes as data.
                    yield whose, place, layout if isinstance(layout, str) else json.dumps(layout)

    where = engine.url
    # One file has one name however its path is written; a password does not belong in it and may change.
    name = Path(where.database).resolve() if where.database and not where.host else where.database
    return f"{where.get_backend_name()} {where.host} {where.port} {name} {table_name}", total, rows()
