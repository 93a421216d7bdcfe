"""LlamaIndex over memwell: a chat store, and a memory block that remembers and recalls.

    from memwell.integrations.llama_index import MemwellChatStore, MemwellMemoryBlock

Importing this room raises ``MissingDependency``, which here is an ``ImportError`` too, when llama-index-core is missing.
"""

from __future__ import annotations

from typing import Any

from memwell._asyncify import run_blocking
from memwell.errors import MissingDependency
from memwell.integrations.verbatim import Item, VerbatimHistory
from memwell.longterm.memory import as_memory
from memwell.messages import Role
from memwell.records import DEFAULT_SPACE, as_space, paged
from memwell.storage.registry import shared_backend

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.memory.memory import BaseMemoryBlock
    from llama_index.core.storage.chat_store.base import BaseChatStore
    from pydantic import ConfigDict
except ModuleNotFoundError as error:

    class _MissingLlamaIndex(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingLlamaIndex.of("memwell.integrations.llama_index needs llama-index-core", "llama-index") from error

__all__ = ["MemwellChatStore", "MemwellMemoryBlock"]

_ROLES = {
    MessageRole.USER: Role.HUMAN,
    MessageRole.SYSTEM: Role.SYSTEM,
    MessageRole.DEVELOPER: Role.SYSTEM,
    MessageRole.TOOL: Role.TOOL,
    MessageRole.FUNCTION: Role.FUNCTION,
}


class MemwellChatStore(BaseChatStore):
    """Conversations by key: each is a thread of a space, on disk when a call returns.

    ``url_or_backend`` is a path, a URL or an open backend. The async methods of the base class run these in a thread.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    url_or_backend: Any = "memwell.db"
    space: Any = DEFAULT_SPACE

    @classmethod
    def class_name(cls) -> str:
        """The name that LlamaIndex knows it by."""
        return "MemwellChatStore"

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Put these messages in the place of all, in one transaction."""
        self._kept(key).replace([_item(one) for one in messages])

    def get_messages(self, key: str) -> list[ChatMessage]:
        """The messages, oldest first; none for an unknown key."""
        return [ChatMessage.model_validate(one) for one in self._kept(key).items()]

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Append a message."""
        self._kept(key).add([_item(message)])

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Delete a conversation and return its messages; None when there was none."""
        held = self.get_messages(key)
        self._kept(key).clear()
        return held or None

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at a place and return it; None when there is none."""
        held = self.get_messages(key)
        if not -len(held) <= idx < len(held):
            return None
        gone = held.pop(idx)
        self.set_messages(key, held)
        return gone

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Delete the last message and return it; None when there is none."""
        gone = self._kept(key).pop()
        return None if gone is None else ChatMessage.model_validate(gone)

    def get_keys(self) -> list[str]:
        """The keys of all conversations of the space."""
        log, space = shared_backend(self.url_or_backend).log, as_space(self.space)
        return [one.thread.id for one in paged(lambda cursor: log.threads(space, cursor=cursor))]

    def _kept(self, key: str) -> VerbatimHistory:
        return VerbatimHistory(self.url_or_backend, key, self.space, "llama_index")


def _item(message: ChatMessage) -> Item:
    return Item(_ROLES.get(message.role, Role.AI), message.content or "", message.model_dump(mode="json"))


class MemwellMemoryBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's ``Memory``: remembers the messages it gets, and recalls what the latest user's message asks.

    ``memory`` is what ``memwell.open`` returns, ``limit`` how many memories are recalled at most.
    """

    name: str = "memwell"
    memory: Any
    limit: int = 5

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = [one.content or "" for one in messages or [] if one.role == MessageRole.USER]
        if not asked or not asked[-1].strip():
            return ""
        hits = await as_memory(self.memory).arecall(asked[-1], limit=self.limit)
        return "\n".join(hit.text for hit in hits)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        memory = as_memory(self.memory)

        def remember() -> None:
            for one in messages:
                if one.role in (MessageRole.USER, MessageRole.ASSISTANT) and (one.content or "").strip():
                    trust = "user" if one.role == MessageRole.USER else "model"
                    memory.remember(one.content or "", session=one.additional_kwargs.get("session_id"), trust=trust)

        await run_blocking(remember)
