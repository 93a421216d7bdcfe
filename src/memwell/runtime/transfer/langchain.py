"""LangChain's ``FileChatMessageHistory``: a JSON list of messages, each a type and its data. It becomes a conversation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from memwell.longterm.remembering import Rememberer
from memwell.messages import Message
from memwell.runtime.transfer.files import FileLike, Piece, decoded, items, reading
from memwell.runtime.transfer.incoming import Intake, Talk, as_object, derived_id
from memwell.runtime.transfer.report import Imported, Progress
from memwell.transcript.langchain import from_langchain
from memwell.values import check_json


def import_langchain(
    memory: Rememberer,
    file: FileLike,
    *,
    thread: str | None = None,
    remember: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Make a conversation of a history file, named ``thread`` or like the file; with ``remember`` its messages are also
    remembered.

    The file holds no times: a message's is that of the import. A file that has grown is taken on from where it was. Raises
    ``FileError`` when it cannot be read.
    """
    name = thread or (Path(file).stem if isinstance(file, str | os.PathLike) else "langchain")
    intake = Intake(memory, "langchain", strict=strict)

    def read(piece: Piece) -> Sequence[Talk]:
        return (langchain_talk(name, piece.number, decoded(piece.data), remember=remember),)

    with reading(file, progress) as source:
        return intake.take_all(items(source, ("messages",)), read)


def langchain_talk(thread: str, number: int, layout: object, *, remember: bool) -> Talk:
    """One message of a conversation, which has a number there (from 1). Raises ``InvalidInput`` for what is no message."""
    message = _message(thread, number, as_object(layout, "a message of LangChain"))
    return Talk(id=thread, messages=[message], metadata={"source": "langchain"}, remember=remember)


def _message(thread: str, number: int, item: dict[str, Any]) -> Message:
    kind, data = item.get("type"), as_object(item.get("data"), "the data of a message of LangChain")
    content = data.get("content", "")
    check_json(content, "the content of a message")
    # The place is in the id: the same words may be said twice, and a file only ever grows at its end.
    written = msgspec.json.encode([kind, content], order="sorted").decode()
    return from_langchain(item, id=derived_id("langchain", thread, number, written))


__all__ = ["import_langchain", "langchain_talk"]
