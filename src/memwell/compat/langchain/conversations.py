"""Any chat history as a conversation of our core, to read: what the memory classes build their windows on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol, runtime_checkable

from memwell.compat.langchain.messages import kind_of, to_core
from memwell.errors import InvalidInput, Unsupported
from memwell.history import HistoryReader
from memwell.messages import Message
from memwell.records import Page, Space, Thread
from memwell.storage.protocols import MessageLog, Place, ThreadInfo, Version
from memwell.tokens import TokenCounter
from memwell.values import check_count, now, shown

_THREAD = "chat"
_LOOK_BACK = 8


@runtime_checkable
class Tailed(Protocol):
    """A history that can be read in part: ours over files, Redis and SQL are."""

    def __len__(self) -> int:
        """How many messages there are."""
        ...

    def between(self, start: int, stop: int) -> Sequence[Any]:
        """The messages from place ``start`` up to, but not with, place ``stop``."""
        ...


def conversation(chat_memory: Any, *, counter: TokenCounter | None = None) -> HistoryReader:
    """The conversation that a chat history holds: its own, or a view of its messages, read as they are asked for.

    In a view a message's place is its index, and a round is numbered by the place its human message has, counted from 1.
    Raises ``InvalidInput`` for an object that is no chat history.
    """
    history = getattr(chat_memory, "history", None)
    if isinstance(history, HistoryReader):
        return history
    if not isinstance(chat_memory, Tailed) and not hasattr(chat_memory, "messages"):
        raise InvalidInput(f"a chat history has 'messages', which {shown(chat_memory)} has not")
    return ChatReader(ChatLog(chat_memory), _THREAD, counter=counter)


class ChatReader(HistoryReader):
    """A view of a chat history."""

    @property
    def tokens(self) -> int:
        """How many tokens the whole conversation has; all of it is read to count them."""
        return sum(map(self.counter.count_message, self))


class ChatLog(MessageLog):
    """The one thread of a chat history, read only; what is read is turned into our messages, nothing else is."""

    def __init__(self, chat_memory: Any) -> None:
        self._memory = chat_memory
        self._made = now()

    def read(
        self,
        thread: Thread,
        *,
        last: int | None = None,
        first: int | None = None,
        after: int | None = None,
        before: int | None = None,
        ids: Iterable[str] | None = None,
    ) -> list[Message]:
        """The messages of these places; ``last`` keeps that many from the end, ``first`` from the beginning."""
        source = self._source()
        length = len(source)
        start = 0 if after is None else max(0, after + 1)
        stop = length if before is None else min(before, length)
        if ids is not None:
            wanted = set(ids)
            return [one for one in self._messages(source, start, stop) if one.id in wanted]
        if last is not None:
            start = max(start, stop - check_count(last, "last"))
        if first is not None:
            stop = min(stop, start + check_count(first, "first"))
        return self._messages(source, start, stop)

    def threads(
        self, space: Space, *, ids: Iterable[str] | None = None, limit: int = 100, cursor: str | None = None
    ) -> Page[ThreadInfo]:
        """The one thread, once it has a message; its ``tokens`` are not counted."""
        source = self._source()
        length = len(source)
        if not length or cursor is not None or (ids is not None and _THREAD not in set(ids)):
            return Page([], None)
        rounds = self._round_at(source, length - 1)
        info = ThreadInfo(Thread(space, _THREAD), 0, length, length, 0, rounds, self._made, self._made, {})
        return Page([info], None)

    def versions(self, thread: Thread, index: int) -> list[Version]:
        """Nothing: a chat history keeps no versions."""
        return []

    def _source(self) -> Tailed:
        return self._memory if isinstance(self._memory, Tailed) else _Listed(self._memory.messages)

    def _messages(self, source: Tailed, start: int, stop: int) -> list[Message]:
        if start >= stop:
            return []
        found = source.between(start, stop)
        round_ = 0 if kind_of(found[0]) == "human" else self._round_at(source, start - 1)
        made: list[Message] = []
        for index, one in enumerate(found, start):
            round_ = index + 1 if kind_of(one) == "human" else round_
            # The id is the place: a message without an id of its own must have the same one whenever it is read.
            made.append(to_core(one).changed(id=f"{_THREAD}-{index}", index=index, round=round_, time=self._made))
        return made

    def _round_at(self, source: Tailed, index: int) -> int:
        """The round a place is in: one above the place of the last human message up to it, 0 when there is none."""
        stop, size = index + 1, _LOOK_BACK
        while stop > 0:
            start = max(0, stop - size)
            for back, one in enumerate(reversed(source.between(start, stop))):
                if kind_of(one) == "human":
                    return stop - back
            stop, size = start, size * 2
        return 0

    def _refuse(self) -> NoReturn:
        raise Unsupported("this is a view of a chat history, to read; write through the chat history itself")

    def append(self, thread: Thread, messages: Sequence[Message], *, keep_places: bool = False) -> list[Message]:
        """Raises ``Unsupported``."""
        self._refuse()

    def edit(self, thread: Thread, changes: Mapping[int, Message | None]) -> list[Message | None]:
        """Raises ``Unsupported``."""
        self._refuse()

    def trim(self, thread: Thread, before: int, *, keep: Iterable[int] = ()) -> int:
        """Raises ``Unsupported``."""
        self._refuse()

    def delete(self, thread: Thread) -> bool:
        """Raises ``Unsupported``."""
        self._refuse()

    def annotate(
        self, thread: Thread, *, metadata: Mapping[str, Any] | None = None, end_round: bool = False
    ) -> ThreadInfo:
        """Raises ``Unsupported``."""
        self._refuse()

    def match(self, thread: Thread, text: str, *, limit: int = 10) -> list[tuple[Message, float]]:
        """Raises ``Unsupported``: a chat history has no index of its words."""
        self._refuse()

    def places(self, thread: Thread, *, after: int | None = None, limit: int = 1000) -> list[Place]:
        """The messages of the places; a chat history keeps nothing of what they were before."""
        found = self.read(thread, after=after, first=limit)
        return [Place(one.index or 0, one.round or 0, one.id, one) for one in found]

    def restore(self, info: ThreadInfo, places: Sequence[Place]) -> None:
        """Raises ``Unsupported``."""
        self._refuse()


class _Listed:
    """The messages of a history that can only be read whole."""

    def __init__(self, messages: Sequence[Any]) -> None:
        self._messages = messages

    def __len__(self) -> int:
        return len(self._messages)

    def between(self, start: int, stop: int) -> Sequence[Any]:
        return self._messages[start:stop]


__all__ = ["ChatLog", "ChatReader", "Tailed", "conversation"]
