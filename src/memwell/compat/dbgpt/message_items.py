"""What names conversations and messages, and a message as an item of a storage."""

from __future__ import annotations

from typing import Any, ClassVar

from memwell.compat.dbgpt.message_rows import MessageRows
from memwell.compat.dbgpt.messages import BaseMessage, message_from_dict
from memwell.compat.dbgpt.rows import RowsMaker
from memwell.compat.dbgpt.storage import ResourceIdentifier, StorageItem
from memwell.errors import InvalidInput
from memwell.values import shown


class ConversationIdentifier(ResourceIdentifier):
    """Names a conversation."""

    def __init__(self, conv_uid: str, identifier_type: str = "conversation") -> None:
        self.conv_uid = conv_uid
        self.identifier_type = identifier_type

    @property
    def str_identifier(self) -> str:
        """``conversation:<uid>``."""
        return f"{self.identifier_type}:{self.conv_uid}"

    def to_dict(self) -> dict[str, Any]:
        """The identifier as plain data."""
        return {"conv_uid": self.conv_uid, "identifier_type": self.identifier_type}


class MessageIdentifier(ResourceIdentifier):
    """Names a message: the conversation, and its index there."""

    identifier_split: ClassVar[str] = "___"
    kept_as: ClassVar[RowsMaker | None] = MessageRows

    def __init__(self, conv_uid: str, index: int, identifier_type: str = "message") -> None:
        self.conv_uid = conv_uid
        self.index = index
        self.identifier_type = identifier_type

    @property
    def str_identifier(self) -> str:
        """``message___<uid>___<index>``."""
        return self.identifier_split.join((self.identifier_type, self.conv_uid, str(self.index)))

    @staticmethod
    def from_str_identifier(str_identifier: str) -> MessageIdentifier:
        """The identifier of a text, whose uid may hold the separator. Raises ``InvalidInput`` for any other text."""
        split = MessageIdentifier.identifier_split
        kind, first, rest = str_identifier.partition(split)
        uid, second, index = rest.rpartition(split)
        if not (first and second and index.isascii() and index.isdigit()):
            raise InvalidInput(f"Invalid str identifier: {shown(str_identifier)}")
        return MessageIdentifier(uid, int(index), kind)

    def to_dict(self) -> dict[str, Any]:
        """The identifier as plain data."""
        return {"conv_uid": self.conv_uid, "index": self.index, "identifier_type": self.identifier_type}


class MessageStorageItem(StorageItem):
    """A message to be stored: its conversation, its index, and the message as ``to_dict`` gives it."""

    kept_as: ClassVar[RowsMaker | None] = MessageRows

    def __init__(self, conv_uid: str, index: int, message_detail: dict[str, Any]) -> None:
        self.conv_uid = conv_uid
        self.index = index
        self.message_detail = message_detail
        self._id = MessageIdentifier(conv_uid, index)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.conv_uid!r}, {self.index}, {shown(self.message_detail)})"

    @property
    def identifier(self) -> MessageIdentifier:
        """What names the message."""
        return self._id

    def to_dict(self) -> dict[str, Any]:
        """The item as plain data."""
        return {"conv_uid": self.conv_uid, "index": self.index, "message_detail": self.message_detail}

    def to_message(self) -> BaseMessage:
        """The message. Raises ``InvalidInput`` for details that are no message's."""
        return message_from_dict(self.message_detail)

    def merge(self, other: StorageItem) -> None:
        """Take over what another message says. Raises ``InvalidInput`` for an item that is no message."""
        if not isinstance(other, MessageStorageItem):
            raise InvalidInput(f"Can not merge {shown(other)} to {shown(self)}")
        self.message_detail = other.message_detail


__all__ = ["ConversationIdentifier", "MessageIdentifier", "MessageStorageItem"]
