"""LangChain's ``FileChatMessageHistory``: a JSON list of messages, each a type and its data. It becomes a conversation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
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

    The file holds no times: a message's is that of the import. A file that has grown is taken on from where it was; where
    a conversation from elsewhere has the name already, this one gets a longer name. Raises ``FileError`` when it cannot be
    read.
    """
    is_path = isinstance(file, str | os.PathLike)
    origin = str(Path(file).resolve()) if is_path else "langchain"
    names = OwnNames(memory, origin)
    name = thread or names[Path(file).stem if is_path else "langchain"]
    intake = Intake(memory, "langchain", strict=strict)

    def read(piece: Piece) -> Sequence[Talk]:
        return (langchain_talk(name, piece.number, decoded(piece.data), origin=names.origin, remember=remember),)

    with reading(file, progress) as source:
        return intake.take_all(items(source, ("messages",)), read)


class OwnNames(dict[str, str]):
    """The names that the conversations of one origin have here, by those they have there.

    Two files may both be called ``chat.json``, and two databases have a session of the same name. The first to come has the
    name; another that has it too gets a mark of its origin behind it, always the same, so that nothing is mixed up.
    """

    def __init__(self, memory: Rememberer, origin: str) -> None:
        super().__init__()
        self._memory = memory
        self.origin = blake2b(origin.encode(errors="surrogatepass"), digest_size=8).hexdigest()

    def __missing__(self, name: str) -> str:
        found = self._memory.backend.log.threads(self._memory.space, ids=[name]).items
        is_ours = not found or found[0].metadata.get("origin", self.origin) == self.origin
        self[name] = own = name if is_ours else f"{name} ({self.origin[:6]})"
        return own


def langchain_talk(thread: str, number: int, layout: object, *, origin: str, remember: bool) -> Talk:
    """One message of a conversation, which has a number there (from 1). Raises ``InvalidInput`` for what is no message."""
    message = _message(thread, number, as_object(layout, "a message of LangChain"))
    metadata = {"source": "langchain", "origin": origin}
    return Talk(id=thread, messages=[message], metadata=metadata, remember=remember)


def _message(thread: str, number: int, item: dict[str, Any]) -> Message:
    kind, data = item.get("type"), as_object(item.get("data"), "the data of a message of LangChain")
    content = data.get("content", "")
    check_json(content, "the content of a message")
    # The place is in the id: the same words may be said twice, and a file only ever grows at its end.
    written = msgspec.json.encode([kind, content], order="sorted").decode()
    return from_langchain(item, id=derived_id("langchain", thread, number, written))


__all__ = ["OwnNames", "import_langchain", "langchain_talk"]
