"""Moving in: the conversations that LangChain's own classes keep in tables and in Redis become conversations of ours.

What is there is only read. A conversation is named by its session, with a mark of its origin behind it where another has
that name already; importing again takes only what is new. Files are taken in by ``memwell import`` and by ``bring``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

import msgspec

from memwell.compat.langchain.stored import StoredMessage, StoredMessages
from memwell.longterm.remembering import Rememberer
from memwell.runtime.transfer.files import Imported, Piece, Progress, decoded
from memwell.runtime.transfer.intake import Intake, Talk
from memwell.runtime.transfer.products import OwnNames, langchain_talk

_STEP = 100


def import_sql(
    memory: Rememberer,
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

    A message that cannot be read is reported and the others come over, unless ``strict``. Raises ``NotFound`` when there is
    no such table and ``BackendUnavailable`` when the database cannot be reached.
    """
    # Only who imports from a database needs SQLAlchemy.
    tables = import_module("memwell.compat.langchain.sql")
    found = tables.stored_messages(connection, table_name, session_id_field_name)
    return _taken(memory, found, remember=remember, strict=strict, progress=progress)


def import_redis(
    memory: Rememberer,
    url: str,
    *,
    key_prefix: str = "message_store:",
    remember: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Make a conversation of every list of ``RedisChatMessageHistory`` whose key begins with ``key_prefix``; with
    ``remember`` what was said is also remembered.

    A message that cannot be read is reported and the others come over, unless ``strict``. Raises ``BackendUnavailable``
    when the server cannot be reached.
    """
    # Only who imports from Redis needs its package.
    lists = import_module("memwell.compat.langchain.redis")
    found = lists.stored_messages(url, key_prefix)
    return _taken(memory, found, remember=remember, strict=strict, progress=progress)


def _taken(
    memory: Rememberer,
    stored: StoredMessages,
    *,
    remember: bool,
    strict: bool,
    progress: Progress | None,
) -> Imported:
    names = OwnNames(memory, stored.origin)

    def read(piece: Piece) -> tuple[Talk, ...]:
        session, number, layout = msgspec.json.decode(piece.data, type=tuple[str, int, str])
        told = decoded(layout.encode())
        return (langchain_talk(names[session], number, told, origin=names.origin, remember=remember),)

    return Intake(memory, "langchain", strict=strict).take_all(_pieces(stored.total, stored.messages, progress), read)


def _pieces(total: int, messages: Iterable[StoredMessage], progress: Progress | None) -> Iterator[Piece]:
    for place, (session, number, layout) in enumerate(messages, 1):
        text = layout if isinstance(layout, str) else layout.decode(errors="replace")
        yield Piece(place, msgspec.json.encode((session, number, text)))
        if progress is not None and (place % _STEP == 0 or place == total):
            progress(place, total)


__all__ = ["import_redis", "import_sql"]
