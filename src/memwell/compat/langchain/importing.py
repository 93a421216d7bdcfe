"""Import: the conversations of LangChain's own classes in tables and in Redis become conversations of ours.

The source is only read. A conversation has its session's name, with a mark of its origin behind it where another has that
name already; importing again takes only what is new. ``memwell import`` and ``bring`` import files.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import msgspec

from memwell.longterm.memory import MemoryLike, as_memory
from memwell.longterm.remembering import Rememberer
from memwell.runtime.transfer.files import Imported, Piece, Progress, decoded
from memwell.runtime.transfer.intake import Intake, Talk
from memwell.runtime.transfer.products import OwnNames, langchain_talk

_STEP = 100


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
    # Only an import from a database needs SQLAlchemy.
    memory = as_memory(memory)
    tables = import_module("memwell.compat.langchain.sql")
    found = tables.stored_messages(connection, table_name, session_id_field_name)
    return _imported(memory, *found, remember=remember, strict=strict, progress=progress)


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
    memory = as_memory(memory)
    lists = import_module("memwell.compat.langchain.redis")
    return _imported(
        memory, *lists.stored_messages(url, key_prefix), remember=remember, strict=strict, progress=progress
    )


def _imported(
    memory: Rememberer,
    origin: str,
    total: int,
    messages: Iterator[tuple[str, int, str]],
    *,
    remember: bool,
    strict: bool,
    progress: Progress | None,
) -> Imported:
    names = OwnNames(memory, origin)

    def pieces() -> Iterator[Piece]:
        for place, message in enumerate(messages, 1):
            yield Piece(place, msgspec.json.encode(message))
            if progress is not None and (place % _STEP == 0 or place == total):
                progress(place, total)

    def read(piece: Piece) -> tuple[Talk, ...]:
        session, number, layout = msgspec.json.decode(piece.data, type=tuple[str, int, str])
        message = decoded(layout.encode())
        return (langchain_talk(names[session], number, message, origin=names.origin, remember=remember),)

    return Intake(memory, "langchain", strict=strict).take_all(pieces(), read)
