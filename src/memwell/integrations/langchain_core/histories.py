"""Conversations: langchain-core's ``BaseChatMessageHistory``."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict

from memwell._asyncify import asyncify, run_blocking
from memwell.errors import Conflict
from memwell.history import History
from memwell.integrations.langchain_core.stores import DEFAULT_URL
from memwell.messages import Message
from memwell.records import DEFAULT_SPACE, SpaceLike
from memwell.storage.sharing import Store, shared_backend
from memwell.transcript.langchain import MARK, from_langchain, to_langchain
from memwell.values import new_id


class MemwellChatMessageHistory(BaseChatMessageHistory):
    """A conversation that is on disk when a call returns, and read alike by other threads and processes.

    It is the thread ``session_id`` of the space, and ``history`` is the same conversation as memwell sees it. Messages of
    every type come back as they went in, ids, tool calls, usage and artifacts included; the same id may come twice. Raises
    what ``open_backend`` raises, and ``InvalidInput`` for a session without a name.
    """

    def __init__(
        self, session_id: str, url_or_backend: Store = DEFAULT_URL, *, space: SpaceLike = DEFAULT_SPACE
    ) -> None:
        self.session_id = session_id
        self.history = History(shared_backend(url_or_backend), session_id, space=space)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All messages, in a new list. What is hidden from models is left out."""
        return messages_from_dict([to_langchain(one) for one in self.history if _is_theirs(one)])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages at the end, all or none.

        Raises ``InvalidInput`` for one that holds what is not plain JSON data, such as an object as a tool's artifact.
        """
        made = [from_langchain(message_to_dict(one)) for one in messages]
        try:
            self.history.add(*made)
        except Conflict:
            # LangChain lets an id come twice. The core does not; LangChain's id is also in the metadata.
            self.history.add(*[one.changed(id=new_id()) for one in made])

    def clear(self) -> None:
        """Drop the conversation with all it holds, for good."""
        self.history.delete()

    async def aget_messages(self) -> list[BaseMessage]:
        """The async twin of ``messages``."""
        return await run_blocking(lambda: self.messages)

    aadd_messages = asyncify(add_messages)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    aclear = asyncify(clear)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_id!r}, space={self.history.thread.space!r})"


def _is_theirs(message: Message) -> bool:
    """Whether it may go to a model, or came from LangChain, whose every message comes back."""
    return message.for_model or MARK in message.metadata
