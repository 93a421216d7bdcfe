"""Chat histories: what a memory class writes a conversation to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any

from memwell._asyncify import asyncify, run_blocking
from memwell.compat.langchain.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    from_core,
    get_buffer_string,
    to_core,
)
from memwell.errors import Conflict
from memwell.history import History
from memwell.messages import Message
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.storage.registry import open_backend
from memwell.storage.sharing import shared_backend
from memwell.strategies.state import copy_states
from memwell.values import check_count, new_id


class BaseChatMessageHistory(ABC):
    """A conversation as a list of messages. A class of your own gives ``messages``, ``clear`` and one of ``add_message``
    and ``add_messages``; the async twins follow from those.
    """

    messages: list[BaseMessage]

    def add_user_message(self, message: Any) -> None:
        """Add what a person said: text, or a message."""
        self.add_message(HumanMessage(message) if isinstance(message, str | list) else message)

    def add_ai_message(self, message: Any) -> None:
        """Add what a model said: text, or a message."""
        self.add_message(AIMessage(message) if isinstance(message, str | list) else message)

    def add_message(self, message: Any) -> None:
        """Add one message. Raises ``NotImplementedError`` in a class that gives neither way of adding."""
        if type(self).add_messages is BaseChatMessageHistory.add_messages:
            raise NotImplementedError(
                "add_message is not implemented for this class. Please implement add_message or add_messages."
            )
        self.add_messages([message])

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order."""
        for message in messages:
            self.add_message(message)

    @abstractmethod
    def clear(self) -> None:
        """Take all messages out."""

    async def aget_messages(self) -> list[BaseMessage]:
        """The messages, read without blocking the loop."""
        return await run_blocking(lambda: self.messages)

    aadd_messages = asyncify(add_messages)
    aclear = asyncify(clear)

    def __str__(self) -> str:
        return get_buffer_string(self.messages)

    def __bool__(self) -> bool:
        # An empty conversation is still a conversation.
        return True


class TailedChatMessageHistory(BaseChatMessageHistory):
    """A history that can be read in part, so that a memory reads no more of it than it shows."""

    @abstractmethod
    def __len__(self) -> int:
        """How many messages there are."""

    @abstractmethod
    def between(self, start: int, stop: int) -> list[BaseMessage]:
        """The messages from place ``start`` up to, but not with, place ``stop``; places count from 0."""

    def tail(self, count: int) -> list[BaseMessage]:
        """The last messages, at most ``count`` of them."""
        length = len(self)
        return self.between(max(0, length - check_count(count, "count")), length)

    def since(self, index: int) -> list[BaseMessage]:
        """The messages from place ``index`` on."""
        return self.between(check_count(index, "index"), len(self))


class ThreadChatMessageHistory(BaseChatMessageHistory):
    """The messages of a conversation of ours: every store, and everything else that reads the conversation, sees them.

    ``messages`` is a fresh list each time; assigning to it replaces the conversation. Raises what the store raises.
    """

    def __init__(self, history: History) -> None:
        self.history = history

    @property
    def messages(self) -> list[BaseMessage]:
        """All messages, oldest first."""
        return [from_core(one) for one in self.history]

    @messages.setter
    def messages(self, messages: Iterable[Any]) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        made = [to_core(one) for one in messages]
        with self._together():
            self.history.delete()
            self._add(made)

    def add_messages(self, messages: Sequence[Any]) -> None:
        """Add messages in order, all or none."""
        self._add([to_core(one) for one in messages])

    def clear(self) -> None:
        """Delete the conversation."""
        self.history.delete()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Another object over the same conversation, since that is not in this object but in its store."""
        made = memo[id(self)] = type(self).__new__(type(self))
        old, new = self.history, self._history_of_a_copy()
        # Whatever else is copied along with this, such as a summary's state, must be over the same conversation.
        for part, other in ((old, new), (old.log, new.log), (old.backend, new.backend), (old.counter, new.counter)):
            memo[id(part)] = other
        vars(made).update(deepcopy(vars(self), memo))
        return made

    def _history_of_a_copy(self) -> History:
        return self.history

    def _together(self) -> AbstractContextManager[None]:
        backend = self.history.backend
        return nullcontext() if backend is None else backend.together()

    def _add(self, messages: Sequence[Message]) -> None:
        if not messages:
            return
        try:
            self.history.add(*messages)
        except Conflict:
            # LangChain lets the same message be added twice. The core wants an id of its own for each; the one LangChain
            # gave stays in the metadata.
            self.history.add(*(one.changed(id=new_id()) for one in messages))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.history.thread.id!r})"


class InMemoryChatMessageHistory(ThreadChatMessageHistory):
    """A conversation that lasts as long as the object. A deep copy is another conversation, which begins like this one."""

    def __init__(self, messages: Iterable[Any] | None = None) -> None:
        super().__init__(History(open_backend("memory:"), "chat"))
        if messages is not None:
            self.add_messages(list(messages))

    def _history_of_a_copy(self) -> History:
        new = History(open_backend("memory:"), "chat", counter=self.history.counter)
        self.history.copy_to(new)
        copy_states(self.history, new)
        return new


ChatMessageHistory = InMemoryChatMessageHistory


class MemwellChatMessageHistory(ThreadChatMessageHistory):
    """A conversation in a file that is there after a restart and is safe for several processes.

    ``url`` is a path or a store's URL; one store is opened per file and process, however many sessions are made. Raises
    what ``open_backend`` raises.
    """

    def __init__(self, session_id: str, url: str = "memwell.db", *, space: SpaceLike = DEFAULT_SPACE) -> None:
        super().__init__(History(shared_backend(url), session_id, space=space))
        self.session_id = session_id


__all__ = [
    "BaseChatMessageHistory",
    "ChatMessageHistory",
    "InMemoryChatMessageHistory",
    "MemwellChatMessageHistory",
    "TailedChatMessageHistory",
    "ThreadChatMessageHistory",
]
