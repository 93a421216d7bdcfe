"""A conversation of JSON items of another library, each kept word for word together with the text that memwell reads.

The text, the role and the name are what ``History`` shows and searches; the item itself is in the message's metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from memwell.history import History
from memwell.messages import Message, Role, Text
from memwell.records import SpaceLike, Thread, as_space
from memwell.storage.registry import Store, shared_backend
from memwell.values import check_count


class Item(NamedTuple):
    """What goes into a conversation: who, the words, and the item as the other library has it (plain JSON)."""

    role: Role
    text: str
    data: Any


class VerbatimHistory:
    """The thread ``thread`` of a space; ``key`` names the library. Nothing is opened before the first call."""

    def __init__(self, store: Store, thread: str, space: SpaceLike, key: str) -> None:
        self._store = store
        self._thread = Thread(as_space(space), thread)
        self._key = key

    @cached_property
    def history(self) -> History:
        """The same conversation as memwell sees it."""
        return History(shared_backend(self._store), self._thread.id, space=self._thread.space)

    def items(self, limit: int | None = None) -> list[Any]:
        """The items, or the last ``limit`` of them, oldest first. What other programs wrote is left out."""
        if limit is None:
            held: Iterable[Message] = self.history
        else:
            held = self.history.last(check_count(limit, "a limit")) if limit > 0 else ()
        return [one.metadata[self._key] for one in held if self._key in one.metadata]

    def add(self, items: Sequence[Item]) -> None:
        """Append items, all or none. Raises ``InvalidInput`` for one that is not plain JSON data."""
        if items:
            self.history.add(*map(self._message, items))

    def pop(self) -> Any:
        """Remove the last item and return it; None when there is none."""
        with shared_backend(self._store).together():
            last = self.history.last(1)
            if not last:
                return None
            self.history.remove(last[0])
            return last[0].metadata.get(self._key)

    def replace(self, items: Sequence[Item]) -> None:
        """Put other items in the place of all, in one transaction."""
        with shared_backend(self._store).together():
            self.history.delete()
            self.add(items)

    def clear(self) -> None:
        """Delete the conversation."""
        self.history.delete()

    def _message(self, item: Item) -> Message:
        return Message(item.role, (Text(item.text),) if item.text else (), metadata={self._key: item.data})
