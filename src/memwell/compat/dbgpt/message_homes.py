"""Where the messages of one conversation are: in a store of ours, or in a storage that somebody else wrote."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from memwell.compat.dbgpt.core_messages import from_core
from memwell.compat.dbgpt.message_items import MessageIdentifier, MessageStorageItem
from memwell.compat.dbgpt.messages import BaseMessage
from memwell.compat.dbgpt.storage import QuerySpec, StorageInterface
from memwell.compat.dbgpt.stores import BackendStorage
from memwell.history import History

AnyStorage: TypeAlias = StorageInterface[Any, Any]


class Held(NamedTuple):
    """Messages that are stored, and the index that the next one gets."""

    messages: list[BaseMessage]
    next: int


class MessageHome(ABC):
    """The stored messages of a conversation. Every method raises what the storage raises."""

    def __init__(self, storage: AnyStorage, conv_uid: str) -> None:
        self._storage = storage
        self._uid = conv_uid

    def add(self, messages: Sequence[BaseMessage]) -> None:
        """Store new messages. Raises ``StorageError`` when an index is taken."""
        self._storage.save_list(self._items(messages))

    def change(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages in the place of what they were."""
        self._storage.save_or_update_list(self._items(messages))

    def _items(self, messages: Sequence[BaseMessage]) -> list[MessageStorageItem]:
        return [MessageStorageItem(self._uid, one.index, one.to_dict()) for one in messages]

    @abstractmethod
    def load(self, names: Sequence[str], *, whole: bool) -> Held:
        """The messages, or only as much of them as says where they end."""

    @abstractmethod
    def since(self, index: int) -> list[BaseMessage]:
        """The messages behind an index, in order."""

    @abstractmethod
    def names(self, known: Sequence[str]) -> list[str]:
        """The identifiers of all messages, in order."""

    @abstractmethod
    def delete(self, names: Sequence[str]) -> None:
        """Drop all messages for good."""


class HistoryHome(MessageHome):
    """The messages are a conversation of ours, which finds them all by itself."""

    def __init__(self, storage: BackendStorage[Any], conv_uid: str) -> None:
        super().__init__(storage, conv_uid)
        self.history: History = storage.history(conv_uid)

    def load(self, names: Sequence[str], *, whole: bool) -> Held:
        """The messages, or only the last."""
        found = [from_core(one) for one in (self.history if whole else self.history.last(1))]
        info = self.history.info()
        # A place whose message was taken out is not used again.
        return Held(found, _behind(found) if info is None else max(info.next, _behind(found)))

    def since(self, index: int) -> list[BaseMessage]:
        """The messages behind an index, in order."""
        return [from_core(one) for one in self.history.log.read(self.history.thread, after=index)]

    def names(self, known: Sequence[str]) -> list[str]:
        """The identifiers of all messages, in order."""
        return [MessageIdentifier(self._uid, one.index or 0).str_identifier for one in self.history]

    def delete(self, names: Sequence[str]) -> None:
        """Delete the conversation with all that was made of it."""
        self.history.delete()


class NamedHome(MessageHome):
    """The messages are items of any storage, and the conversation's row names them."""

    def load(self, names: Sequence[str], *, whole: bool) -> Held:
        """The messages of these names."""
        identifiers = [MessageIdentifier.from_str_identifier(one) for one in names]
        found = self._storage.load_list(identifiers if whole else identifiers[-1:], MessageStorageItem)
        messages = [one.to_message() for one in found]
        last = max((one.index for one in identifiers), default=-1)
        return Held(messages, max(_behind(messages), last + 1))

    def since(self, index: int) -> list[BaseMessage]:
        """The messages behind an index, in order."""
        found = self._storage.query(QuerySpec({"conv_uid": self._uid}), MessageStorageItem)
        newer = sorted((one for one in found if one.index > index), key=lambda one: one.index)
        return [one.to_message() for one in newer]

    def names(self, known: Sequence[str]) -> list[str]:
        """The names that the row holds."""
        return list(known)

    def delete(self, names: Sequence[str]) -> None:
        """Drop the messages of these names."""
        self._storage.delete_list([MessageIdentifier.from_str_identifier(one) for one in names])


def home_of(storage: AnyStorage, conv_uid: str) -> MessageHome:
    """Where a storage keeps the messages of a conversation."""
    if isinstance(storage, BackendStorage) and storage.keeps_conversations:
        return HistoryHome(storage, conv_uid)
    return NamedHome(storage, conv_uid)


def _behind(messages: Sequence[BaseMessage]) -> int:
    return max((one.index for one in messages), default=-1) + 1


__all__ = ["AnyStorage", "Held", "HistoryHome", "MessageHome", "NamedHome", "home_of"]
