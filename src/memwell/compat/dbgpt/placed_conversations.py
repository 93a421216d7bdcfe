"""A conversation that knows its storages: one for its row, one for its messages."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

from memwell.compat.dbgpt.message_homes import AnyStorage, HistoryHome, MessageHome, home_of
from memwell.compat.dbgpt.messages import BaseMessage
from memwell.compat.dbgpt.numbered_conversations import NumberedConversation
from memwell.compat.dbgpt.storage import StorageInterface
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.compat.dbgpt.stores import BackendStorage, InMemoryStorage
from memwell.storage.protocols import Backend
from memwell.storage.sharing import Store
from memwell.values import check_id


class PlacedConversation(NumberedConversation):
    """A conversation with a name and two storages; those that are not given are made when they are first needed."""

    def __init__(
        self,
        conv_uid: str,
        conv_storage: AnyStorage | Store | None,
        message_storage: AnyStorage | Store | None,
        messages_elsewhere: bool = False,
        **kwargs: Any,
    ) -> None:
        self._unread = False
        super().__init__(**kwargs)
        # Nobody but a storage that makes it from its row says in which round it is.
        self._is_found = conv_storage is None and message_storage is None and "chat_order" in kwargs
        self._noted_elsewhere = messages_elsewhere
        self.conv_uid = check_id(conv_uid, "a conv_uid")
        self._conv_storage: AnyStorage | None = _as_storage(conv_storage)
        self._message_storage: AnyStorage | None = _as_storage(message_storage)
        self._found_home: MessageHome | None = None
        self._message_ids: list[str] = []

    @property
    def conv_storage(self) -> AnyStorage:
        """Where the conversation's row is. It may be set: the next save goes there."""
        if self._conv_storage is None:
            self._conv_storage = InMemoryStorage[Any]()
        return self._conv_storage

    @conv_storage.setter
    def conv_storage(self, storage: AnyStorage | Store) -> None:
        self._conv_storage = _as_storage(storage)

    @property
    def message_storage(self) -> AnyStorage:
        """Where the messages are. It may be set: the next save stores all messages that are held here in the new one."""
        if self._message_storage is None:
            self._message_storage = InMemoryStorage[Any]()
        return self._message_storage

    @message_storage.setter
    def message_storage(self, storage: AnyStorage | Store) -> None:
        before = _place(self._message_storage)
        self._message_storage, self._found_home = _as_storage(storage), None
        if _place(self._message_storage) != before:
            self._know_stored(0, -1, 0)
            self._message_ids = []

    @property
    def _messages_elsewhere(self) -> bool:
        """Whether the messages are in another place than the row."""
        if self._message_storage is None:
            return self._noted_elsewhere
        return _place(self._conv_storage) != _place(self._message_storage)

    def _check_placed(self) -> None:
        """Raises ``StorageError`` for a conversation that was found and does not know where its messages or its row are."""
        if self._is_found and (self._conv_storage is None or self._message_storage is None):
            raise StorageError(
                f"the conversation {self.conv_uid!r} was found in a query and does not know all of its storages; to change "
                f"it, open it by its conv_uid, with its conv_storage and message_storage"
            )

    # What was found reads its messages when they are first needed.

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first."""
        self._read_if_due()
        return self._messages

    @messages.setter
    def messages(self, messages: list[BaseMessage]) -> None:
        self._unread = False
        self._messages = messages

    def start_new_round(self) -> None:
        """Begin the next round: what is added from now on belongs to it."""
        self._read_if_due()
        super().start_new_round()

    def _append_message(self, message: BaseMessage) -> None:
        self._read_if_due()
        super()._append_message(message)

    def _read_if_due(self) -> None:
        if self._unread:
            with self._guard:
                if self._unread:
                    self._read_messages()

    def _read_messages(self) -> None:
        """Hold the messages that are stored."""
        raise NotImplementedError

    def _home(self) -> MessageHome:
        if self._found_home is None:
            self._found_home = home_of(self.message_storage, self.conv_uid)
        return self._found_home

    @property
    def _names_are_kept(self) -> bool:
        # One that has no storage yet will get one of ours.
        return self._message_storage is not None and not isinstance(self._home(), HistoryHome)

    @contextmanager
    def _together(self) -> Generator[None]:
        """A transaction of every store of ours that is written to: the row and the messages are stored together."""
        backends = {id(one): one for one in map(_backend, (self.conv_storage, self.message_storage)) if one is not None}
        with ExitStack() as stack:
            # Always in the same order: two who begin at different ends would wait for each other.
            for _, backend in sorted(backends.items()):
                stack.enter_context(backend.transaction())
            yield


def _as_storage(given: AnyStorage | Store | None) -> AnyStorage | None:
    return given if given is None or isinstance(given, StorageInterface) else BackendStorage[Any](given)


def _backend(storage: Any) -> Backend | None:
    return storage.backend if isinstance(storage, BackendStorage) else None


def _place(storage: AnyStorage | None) -> object:
    """What two storages that hold the same messages have in common."""
    if isinstance(storage, BackendStorage) and storage.keeps_conversations:
        return id(storage.backend), storage.space
    return id(storage)


__all__ = ["PlacedConversation"]
