"""``BaseChatMessageMemory``: the messages of a chat and the state of its people, right however many write at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Any, cast

from msgspec.structs import replace

from memwell._asyncify import asyncify
from memwell.compat.basememory.conversation import Chat, PlainChat, StoredMessages
from memwell.compat.basememory.handlers import Handler, Handlers
from memwell.compat.basememory.kinds import RecallMessage, check_position
from memwell.compat.basememory.memory import BaseMemory
from memwell.compat.basememory.shelf import Shelf
from memwell.compat.basememory.states import (
    ChatState,
    GivenRows,
    Row,
    Rows,
    StoredRows,
    Typing,
    UserState,
    moment,
    moved_up,
)
from memwell.compat.basememory.storages import ListStorage, Storage
from memwell.errors import InvalidInput, NotGranted
from memwell.history import History
from memwell.records import DEFAULT_SPACE, SpaceLike, Thread, as_space
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend
from memwell.storage.sharing import Store, shared_backend
from memwell.values import check_id, shown


class BaseChatMessageMemory(BaseMemory):
    """A chat: its messages, and who is there, types, has read how far.

    ``messages`` is any storage, or a ``History``; without one it is a list in memory, or the conversation ``thread`` of
    ``store``. ``state`` is where what is known of people is kept, if it has ``__setitem__``; without one it lies beside the
    conversation. Raises what ``BaseMemory`` raises.
    """

    messages: Any
    state: Any

    def __init__(
        self,
        messages: Storage | History | None = None,
        state: Storage | None = None,
        *,
        data: Storage | None = None,
        items: Iterable[Any] | None = None,
        store: Store | None = None,
        thread: str = "chat",
        space: SpaceLike = DEFAULT_SPACE,
        online_seconds: float = 60.0,
        typing_seconds: float = 6.0,
        clock: Callable[[], float] = time.time,
        **storages: Any,
    ) -> None:
        self._online_seconds = _seconds(online_seconds, "online_seconds")
        self._typing_seconds = _seconds(typing_seconds, "typing_seconds")
        self._clock = clock
        self._handlers = Handlers()
        backend, name = _home(messages, store, Thread(as_space(space), thread))
        if messages is None and store is not None:
            messages = History(backend, name.id, space=name.space)
        held: Any = StoredMessages(messages, self._handlers) if isinstance(messages, History) else messages
        held = ListStorage() if held is None else held
        view = ChatState(self.state_of, self.users) if state is None else state
        super().__init__(data, items, messages=held, state=view, **storages)
        self._chat: Chat = held if isinstance(held, StoredMessages) else PlainChat(held, self._handlers, self._lock)
        own = state is not None and hasattr(type(state), "__setitem__") and not isinstance(state, list)
        self._rows: Rows = GivenRows(state) if own else StoredRows(backend, name)
        self._typing = Typing(backend, name)

    # Messages

    def register(self, class_: type, handler: Handler | None = None) -> None:
        """Take messages of a class of yours; one that derives from ``ChatMessage`` needs no handler.

        Raises ``Conflict`` for a class or a kind that has a handler already.
        """
        self._handlers.register(class_, handler)

    def add_message(self, message: Any, sender: str | None = None) -> int | None:
        """Add a message of any kind and return its position. ``sender`` is who says it, if it does not say so itself.

        A ``RecallMessage``, or a dict of the type ``recall``, goes into the place of its ``target``. Raises
        ``InvalidInput`` for a message that the storage cannot keep, and ``NotGranted`` for a recall by somebody else than
        the sender; then nothing is added.
        """
        self._check_open()
        if sender is not None:
            check_id(sender, "a sender")
            self._typing.sent(sender)
        target = _target(message)
        if target is not None:
            self._take_back(target, self._handlers.sender_of(message) or sender, by_sender=True)
            return target
        return self._chat.add(message, sender)

    def get_message(self, index: int, *, reader: str | None = None) -> Any:
        """The message at a position, from the end when it is negative; with ``reader`` it and all before are read now.

        Raises ``IndexError`` when there is none, ``InvalidInput`` for what is no position.
        """
        _check_index(self.messages, index)
        if reader is None:
            return self.messages[index]
        # As one: another message may come, and the last one is another then.
        with self._chat.together():
            found = self.messages[index]
            self.read(reader, upto=index)
            return found

    def recall(self, index: int, *, by: str | None = None) -> None:
        """Take a message back: a ``RecallMessage`` stands in its place, and it is nobody's unread any more.

        Without ``by`` it is whoever runs the chat, who may. Raises ``NotGranted`` when ``by`` did not send it,
        ``IndexError`` when there is none, and ``Unsupported`` when the storage has no ``__setitem__``.
        """
        self._check_open()
        self._take_back(check_position(index), by, by_sender=by is not None)

    def _take_back(self, index: int, by: str | None, *, by_sender: bool) -> None:
        with self._chat.together():
            sender = self._chat.sender(self._chat.place(index))
            if by_sender:
                _check_own(index, sender, by)
            self._chat.recall(index, RecallMessage(sender=sender))

    # Reading

    def unread(self, user: str) -> int:
        """How many messages somebody has not read: those after the last one read that others sent and did not take back."""
        # Places of a plain storage move when items are dropped, and marks with them; those of a conversation never do.
        with self._chat.together() if isinstance(self._chat, PlainChat) else nullcontext():
            row = self._row(user)
            return 0 if row.member is False else self._chat.ask(row.read, lambda tally: tally.count(user, row.read))

    def unread_counts(self) -> dict[str, int]:
        """The number of unread messages of everybody who is known and did not leave."""
        return {user: self.unread(user) for user in self.users() if self._row(user).member is not False}

    def get_unread(self, user: str, *, mark: bool = True) -> list[Any]:
        """The messages somebody has not read, in order; they are read then, unless ``mark`` is False.

        Of several calls at once for the same person each message is in one alone.
        """
        with self._chat.together(), self._rows.together():
            row = self._row(user)
            if row.member is False:
                return []
            places = self._chat.ask(row.read, lambda tally: tally.unread(user, row.read))
            found = self._chat.at(places)
            if mark and places:
                self._keep(replace(row, read=places[-1] + 1))
            return found

    def read(self, user: str, upto: int | None = None) -> int:
        """Mark everything as read, up to and with the message at the position ``upto``; returns how many are still unread.

        What was read stays read. Raises ``IndexError`` when there is no message at ``upto``.
        """
        with self._chat.together(), self._rows.together():
            row = self._row(user)
            end = self._chat.end() if upto is None else self._chat.place(check_position(upto)) + 1
            self._keep(replace(row, read=max(row.read, end)))
            return self.unread(user)

    # People

    def _row(self, user: str) -> Row:
        return self._rows.get(check_id(user, "a user")) or Row(user)

    def _keep(self, row: Row) -> None:
        self._check_open()
        self._rows.put(row)

    def _change(self, user: str, **fields: Any) -> None:
        with self._rows.together():
            self._keep(replace(self._row(user), **fields))

    def users(self) -> list[str]:
        """Everybody who joined, was online or has read something."""
        return self._rows.users()

    def join(self, *users: str) -> None:
        """Make people members of the group. What was said before is not their unread."""
        with self._chat.together(), self._rows.together():
            for user in users:
                row = self._row(user)
                if not row.member:
                    self._keep(replace(row, member=True, read=max(row.read, self._chat.end())))

    def leave(self, *users: str) -> None:
        """End membership: nothing is unread for them from now on. Who is no member is left alone."""
        with self._rows.together():
            for user in users:
                if self._row(user).member:
                    self._change(user, member=False)

    def members(self) -> list[str]:
        """The members of the group."""
        return [user for user in self.users() if self._row(user).member]

    def heartbeat(self, user: str) -> None:
        """Somebody is there, and counts as online for the next ``online_seconds``."""
        now = self._clock()
        self._change(user, seen=now, online_until=now + self._online_seconds)

    def offline(self, user: str) -> None:
        """Somebody goes."""
        self._change(user, seen=self._clock(), online_until=0.0)

    def is_online(self, user: str) -> bool:
        """Whether somebody's last heartbeat is recent enough."""
        return self._row(user).online_until > self._clock()

    def online_users(self) -> list[str]:
        """Everybody who is online."""
        return [user for user in self.users() if self.is_online(user)]

    def set_typing(self, user: str, typing: bool = True) -> None:
        """Somebody types, for the next ``typing_seconds`` or until they send something, or types no longer."""
        self._check_open()
        check_id(user, "a user")
        if typing:
            self._typing.start(user, self._clock(), self._typing_seconds)
        else:
            self._typing.stop(user)

    def typing_users(self) -> list[str]:
        """Everybody who is typing."""
        return self._typing.users(self._clock())

    def state_of(self, user: str) -> UserState:
        """All that is known of somebody now."""
        row = self._row(user)
        read = self._chat.position(row.read)
        return UserState(
            user=user,
            online=row.online_until > self._clock(),
            last_seen=moment(row.seen),
            unread=self.unread(user),
            last_read=read - 1 if read else None,
            typing=user in self.typing_users(),
            member=bool(row.member),
        )

    # Memory

    def _optimizable(self) -> tuple[str, ...]:
        # What is known of people is small, and nobody is to be evicted unasked.
        return tuple(name for name in self.names if name != "state")

    def _shelf(self, name: str, storage: Any) -> Shelf:
        return Shelf(name, storage, owners=self._chat.owners() if storage is self.messages else None)

    def _dropped(self, shelf: Shelf) -> None:
        if shelf.storage is self.messages and isinstance(self._chat, PlainChat):
            self._chat.dropped(shelf.dropped)
            with self._rows.together():
                moved_up(self._rows, shelf.dropped)

    def close(self) -> None:
        """Nobody types here any more, and nothing more is written. A store named by its path stays open for the process."""
        self._typing.close()
        super().close()

    aadd_message = asyncify(add_message)
    aget_message = asyncify(get_message)
    arecall = asyncify(recall)
    aunread = asyncify(unread)
    aunread_counts = asyncify(unread_counts)
    aget_unread = asyncify(get_unread)
    aread = asyncify(read)
    ajoin = asyncify(join)
    aleave = asyncify(leave)
    aheartbeat = asyncify(heartbeat)
    aoffline = asyncify(offline)
    aset_typing = asyncify(set_typing)
    astate_of = asyncify(state_of)


def _home(messages: object, store: Store | None, named: Thread) -> tuple[Backend, Thread]:
    """The store of the state, and the conversation it lies beside."""
    if isinstance(messages, History):
        if messages.backend is None:
            raise InvalidInput("a History over a MessageLog alone cannot be a chat: make it over a Backend")
        return messages.backend, messages.thread
    return open_backend("memory:") if store is None else shared_backend(store), named


def _check_index(messages: object, index: object) -> None:
    """Raises ``InvalidInput`` for what is no position. Messages that are kept by key are asked for by that."""
    if not isinstance(messages, Mapping):
        check_position(index)


def _check_own(index: int, sender: str | None, by: str | None) -> None:
    """Raises ``NotGranted`` when the message that somebody takes back is another's."""
    if sender is not None and sender != by:
        who = "the recall does not say who takes" if by is None else f"{shown(by)} cannot take"
        raise NotGranted(f"{who} back message {index}, which {shown(sender)} sent")


def _target(message: object) -> int | None:
    if isinstance(message, RecallMessage):
        return message.target
    fields = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    recalls = fields.get("type") == "recall" and fields.get("target") is not None
    return check_position(fields["target"]) if recalls else None


def _seconds(value: float, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"{what} must be a number of seconds above 0, not {shown(value)}")
    return float(value)


__all__ = ["BaseChatMessageMemory"]
