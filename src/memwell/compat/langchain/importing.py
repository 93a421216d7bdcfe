"""Import of conversations that LangChain's own classes stored in SQL tables and in Redis.

The source is not changed. A conversation has its session's name, followed by a mark of its origin when that name is taken;
importing again adds only new messages. ``memwell import`` and ``bring`` import files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from memwell.compat.langchain.histories import redis_messages, sql_messages
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
    found = sql_messages(connection, table_name, session_id_field_name)
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
    return _imported(as_memory(memory), redis_messages(url, key_prefix), remember, strict, progress)


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
        message = decoded(layout.encode())
        return (langchain_talk(names[session], number, message, origin=names.origin, remember=remember),)

    return Intake(memory, "langchain", strict=strict).take_all(pieces(), read)
