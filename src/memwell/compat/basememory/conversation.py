"""The messages of a chat: in a conversation of memwell's own, or in any storage. Both know who sent what.

A message has a *position*, by which it is asked for, from 0 without a gap; and a *place*, to which a reader's mark points
and which it keeps for good when it lies in a conversation. In a plain storage the two are the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from memwell.compat.basememory.handlers import Handlers, is_recalled
from memwell.compat.basememory.kinds import RecallMessage, check_position
from memwell.compat.basememory.shelf import CannotOptimize
from memwell.compat.basememory.storages import add_to, has_method
from memwell.compat.basememory.tally import Tally
from memwell.errors import Unsupported
from memwell.history import History
from memwell.messages import Message, encode_message
from memwell.storage.protocols import Backend, ThreadInfo

T = TypeVar("T")

_AT_ONCE = 2000
_Known: TypeAlias = tuple[datetime, int, int]
"""Of which conversation, after how many edits, and from which place on the tally is."""


class Chat(Protocol):
    """What a chat memory needs of its messages, wherever they are."""

    def add(self, item: Any, sender: str | None) -> int:
        """Add a message at the end and return its position."""
        ...

    def recall(self, position: int, by: RecallMessage) -> None:
        """Put ``by`` in the place of a message."""
        ...

    def end(self) -> int:
        """The place that the next message gets."""
        ...

    def place(self, position: int) -> int:
        """The place of the message at a position. Raises ``IndexError`` when there is none."""
        ...

    def position(self, place: int) -> int:
        """How many messages lie before a place."""
        ...

    def ask(self, after: int, question: Callable[[Tally], T]) -> T:
        """What the tally of everything from the place ``after`` on answers to a question."""
        ...

    def at(self, places: Sequence[int]) -> list[Any]:
        """The messages at these places, in order."""
        ...

    def sender(self, place: int) -> str | None:
        """Who sent the message at a place."""
        ...

    def owners(self) -> list[str | None]:
        """Who sent the message at each position."""
        ...

    def together(self) -> AbstractContextManager[None]:
        """Whatever is done inside is done as one."""
        ...


class StoredMessages:
    """The messages of a conversation as a storage. What was put in comes out; what another room wrote is a ``Message``."""

    def __init__(self, history: History, handlers: Handlers) -> None:
        self.history = history
        self._backend = cast(Backend, history.backend)
        self._handlers = handlers
        self._tally = Tally()
        self._known: _Known | None = None
        self._next = 0
        self._lock = threading.Lock()

    # As a storage

    def __len__(self) -> int:
        return len(self.history)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return map(self._handlers.from_core, self.history)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        place = self.place(check_position(index))
        return self._handlers.from_core(self.history.get(place))

    def append(self, item: Any) -> None:
        """Put a message at the end."""
        self.add(item, None)

    add_message = append

    def __repr__(self) -> str:
        return f"StoredMessages({self.history!r})"

    # As a chat

    def add(self, item: Any, sender: str | None) -> int:
        """Add a message at the end, on disk when it returns, and return its position."""
        stored = self.history.add(self._handlers.to_core(item, sender))[0]
        return self.position(stored.index or 0)

    def recall(self, position: int, by: RecallMessage) -> None:
        """Put ``by`` in a message's place; the conversation keeps what was there among its versions."""
        with self._backend.transaction():
            place = self.place(position)
            was = self.history.get(place)
            self.history.edit(place, by.to_core().changed(name=was.name, id=was.id, time=was.time))

    def end(self) -> int:
        """The place that the next message gets."""
        info = self.history.info()
        return info.next if info else 0

    def place(self, position: int) -> int:
        """The place of the message at a position; from the end when it is negative."""
        info = self.history.info()
        count = info.messages if info else 0
        if info is None or not -count <= position < count:
            raise IndexError(f"there is no message {position}: the chat holds {count}")
        if _without_gaps(info):
            return info.first + position % count
        from_end = position % count - count
        found = self.history.log.read(self.history.thread, last=-from_end)
        return found[0].index or 0

    def position(self, place: int) -> int:
        """How many messages lie before a place."""
        info = self.history.info()
        if info is None:
            return 0
        if _without_gaps(info):
            return min(max(place - info.first, 0), info.messages)
        return sum(len(block) for block in self._blocks(info.first, place))

    def _blocks(self, start: int, stop: int) -> Iterator[list[Message]]:
        for begin in range(start, stop, _AT_ONCE):
            yield self.history.log.read(self.history.thread, after=begin - 1, before=min(begin + _AT_ONCE, stop))

    def ask(self, after: int, question: Callable[[Tally], T]) -> T:
        """What the tally answers. Only what came since it was last asked is read, unless messages were changed."""
        while True:
            info = self.history.info()
            if info is None:
                return question(Tally())
            with self._lock:
                begun = self._begun(info, after)
                if self._next >= info.next:
                    return question(self._tally)
                start, stop = self._next, min(self._next + _AT_ONCE, info.next)
            # Read without the lock: who waits for the store while holding one may wait for who waits for that.
            block = self.history.log.read(self.history.thread, after=start - 1, before=stop)
            with self._lock:
                if self._known == begun and self._next == start:
                    self._note(block, stop)

    def _begun(self, info: ThreadInfo, after: int) -> _Known:
        known = self._known
        if known is None or known[:2] != (info.created, info.edits) or known[2] > after or self._next > info.next:
            self._tally, self._next = Tally(), max(after, info.first)
            self._known = known = (info.created, info.edits, after)
        return known

    def _note(self, messages: Iterable[Message], upto: int) -> None:
        for message in messages:
            if not is_recalled(message):
                self._tally.note(message.index or 0, message.name)
        self._next = upto

    def at(self, places: Sequence[int]) -> list[Any]:
        """The messages at these places."""
        if not places:
            return []
        wanted = set(places)
        found = (one for block in self._blocks(places[0], places[-1] + 1) for one in block)
        return [self._handlers.from_core(one) for one in found if one.index in wanted]

    def sender(self, place: int) -> str | None:
        """Who sent the message at a place."""
        return self.history.get(place).name

    def owners(self) -> list[str | None]:
        """Who sent the message at each position."""
        return [message.name for message in self.history]

    def together(self) -> AbstractContextManager[None]:
        """A transaction of the store."""
        return self._backend.transaction()

    # What strategies do with it

    def drop(self, positions: Collection[int]) -> None:
        """Take messages out, for good; the others keep their places."""
        with self._backend.transaction():
            kept = [message.index or 0 for at, message in enumerate(self.history) if at not in positions]
            self.history.log.trim(self.history.thread, self.end(), keep=kept)

    def share(self, places: object) -> None:
        """Every message has an id and a time of its own, so no two are the same."""
        raise CannotOptimize("conversation")

    def pack(self, level: int) -> int:
        """Other rooms read the conversation, and searches its words."""
        raise CannotOptimize("conversation")

    def stored_bytes(self) -> int:
        """The bytes of the messages as they are stored."""
        return sum(len(encode_message(message)) for message in self.history)


def _without_gaps(info: ThreadInfo) -> bool:
    return info.messages == info.next - info.first


class PlainChat:
    """A chat over any storage. Who sent a message is noted here beside it; its place is its position."""

    def __init__(self, storage: Any, handlers: Handlers, lock: threading.RLock) -> None:
        self.storage = storage
        self._handlers = handlers
        self._lock = lock
        self._senders: list[str | None] = []
        self._recalled: set[int] = set()
        self._tally = Tally()

    def add(self, item: Any, sender: str | None) -> int:
        """Add a message by the storage's own ``add_message`` or ``append``, and return its position."""
        with self._lock:
            self._catch_up()
            add_to(self.storage, "messages", item)
            self._note(item, self._handlers.sender_of(item) or sender)
            return len(self._senders) - 1

    def _note(self, item: Any, sender: str | None) -> None:
        place = len(self._senders)
        self._senders.append(sender)
        if is_recalled(item):
            self._recalled.add(place)
        else:
            self._tally.note(place, sender)

    def _catch_up(self) -> None:
        """Note what was put into the storage, or taken out of it, without us."""
        count = len(self.storage)
        if count < len(self._senders):
            self._renew(self._senders[:count], {place for place in self._recalled if place < count})
        for position in range(len(self._senders), count):
            item = self.storage[position]
            self._note(item, self._handlers.sender_of(item))

    def _renew(self, senders: list[str | None], recalled: set[int]) -> None:
        self._senders, self._recalled, self._tally = senders, recalled, Tally()
        for place, sender in enumerate(senders):
            if place not in recalled:
                self._tally.note(place, sender)

    def recall(self, position: int, by: RecallMessage) -> None:
        """Put ``by`` in a message's place. Raises ``Unsupported`` when the storage has no ``__setitem__``."""
        if not has_method(self.storage, "__setitem__"):
            raise Unsupported(f"{type(self.storage).__name__} cannot take a message back: it has no __setitem__")
        with self._lock:
            place = self.place(position)
            self._catch_up()
            self.storage[place] = by
            self._renew(self._senders, self._recalled | {place})

    def end(self) -> int:
        """The place that the next message gets."""
        return len(self.storage)

    def place(self, position: int) -> int:
        """The same as the position; from the end when it is negative."""
        count = len(self.storage)
        if not -count <= position < count:
            raise IndexError(f"there is no message {position}: the chat holds {count}")
        return position % count

    def position(self, place: int) -> int:
        """How many messages lie before a place."""
        return min(place, len(self.storage))

    def ask(self, after: int, question: Callable[[Tally], T]) -> T:
        """What the tally answers."""
        with self._lock:
            self._catch_up()
            return question(self._tally)

    def at(self, places: Sequence[int]) -> list[Any]:
        """The messages at these places."""
        return [self.storage[place] for place in places]

    def sender(self, place: int) -> str | None:
        """Who sent the message at a place."""
        with self._lock:
            self._catch_up()
            return self._senders[place]

    def owners(self) -> list[str | None]:
        """Who sent the message at each position; nobody is known of a sketch, whose length is no number."""
        if not isinstance(cast(Any, type(cast(object, self.storage))).__len__(self.storage), int):
            return []
        self._catch_up()
        return list(self._senders)

    @contextmanager
    def together(self) -> Generator[None]:
        """The memory's lock."""
        with self._lock:
            yield

    def dropped(self, gone: Iterable[int]) -> None:
        """Forget the senders of messages that a strategy dropped."""
        lost = set(gone)
        kept = [place for place in range(len(self._senders)) if place not in lost]
        moved = {place: at for at, place in enumerate(kept)}
        recalled = {moved[place] for place in self._recalled if place in moved}
        self._renew([self._senders[place] for place in kept], recalled)


__all__ = ["Chat", "PlainChat", "StoredMessages"]
