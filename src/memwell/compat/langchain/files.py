"""A chat history in a JSON file, in the layout LangChain's own class writes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from memwell.compat.langchain.array_files import ArrayFile
from memwell.compat.langchain.histories import TailedChatMessageHistory
from memwell.compat.langchain.messages import BaseMessage, message_from_dict, message_to_dict
from memwell.errors import InvalidInput
from memwell.values import check_count


class FileChatMessageHistory(TailedChatMessageHistory):
    """The messages in the file at ``file_path``, a JSON array, which is made when it is not there.

    An append writes only what is new (or, now and then, all of a file below a megabyte), is on disk when it returns, and
    is safe for several processes; a kill at any moment loses nothing that was added before. A file that
    another program changed is read anew. Beside the file lies its journal. Raises ``InvalidInput`` naming the
    file when it is no chat history, and never writes to it then; raises ``OSError`` when it cannot be read or written.
    """

    def __init__(
        self, file_path: str | os.PathLike[str], *, encoding: str | None = None, ensure_ascii: bool = True
    ) -> None:
        self.file_path = Path(file_path)
        self.encoding = encoding
        self.ensure_ascii = ensure_ascii
        self._array = ArrayFile(self.file_path, encoding)
        self._array.create()

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All messages, oldest first, as a fresh list."""
        return self._read(self._array.elements())

    def __len__(self) -> int:
        return len(self._array.elements())

    def between(self, start: int, stop: int) -> list[BaseMessage]:
        """The messages from place ``start`` up to, but not with, place ``stop``; only these are read as messages."""
        return self._read(self._array.elements()[start:stop])

    def tail(self, count: int) -> list[BaseMessage]:
        """The last messages, at most ``count`` of them."""
        elements = self._array.elements()
        return self._read(elements[max(0, len(elements) - check_count(count, "count")) :])

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, all or none. Raises ``InvalidInput`` for one that is not plain data."""
        self._array.extend([self._written(one) for one in messages])

    def clear(self) -> None:
        """Take all messages out: the file becomes ``[]``."""
        self._array.clear()

    def _written(self, message: Any) -> str:
        try:
            return json.dumps(message_to_dict(message), ensure_ascii=self.ensure_ascii)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"a message cannot be written as JSON: {error}") from error

    def _read(self, elements: Iterable[bytes]) -> list[BaseMessage]:
        try:
            return [message_from_dict(json.loads(one)) for one in elements]
        except ValueError as error:
            raise InvalidInput(f"{os.fspath(self.file_path)!r} holds something that is no message: {error}") from error

    def __repr__(self) -> str:
        return f"{type(self).__name__}({os.fspath(self.file_path)!r})"


__all__ = ["FileChatMessageHistory"]
