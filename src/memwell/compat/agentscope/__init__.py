"""AgentScope's vocabulary over the one engine: state, messages, memories, agents on a hub, caches.

Every name is here; AgentScope itself is not needed. Change the import line, and the rest of a program stays. What differs,
and which faults of the original are not here, is listed in the documentation's page on moving from AgentScope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._later import loaded_later
from memwell.compat.agentscope.agents import AgentBase, MsgHub
from memwell.compat.agentscope.core_messages import from_core, to_core
from memwell.compat.agentscope.memories import InMemoryMemory, MemoryBase, MemwellMemory, ThreadMemory, WrongType
from memwell.compat.agentscope.messages import (
    AudioBlock,
    Base64Source,
    ContentBlock,
    ImageBlock,
    Msg,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    URLSource,
    VideoBlock,
)
from memwell.compat.agentscope.session import JSONSession, MemwellSession, SessionBase, SessionNotFound, StateModule

if TYPE_CHECKING:
    from memwell.compat.agentscope.compress import MemoryWithCompress
    from memwell.compat.agentscope.embedding_cache import EmbeddingCacheBase, FileEmbeddingCache
    from memwell.compat.agentscope.long_term import (
        LongTermMemoryBase,
        NotStarted,
        ReMeLongTermMemoryBase,
        ReMePersonalLongTermMemory,
        ReMeTaskLongTermMemory,
        ReMeToolLongTermMemory,
        ToolResponse,
    )
    from memwell.compat.agentscope.message_storage import (
        InMemoryMessageStorage,
        MessageStorageBase,
        NoSuchPlace,
        ThreadMessageStorage,
    )
    from memwell.compat.agentscope.redis import RedisMemory
    from memwell.compat.agentscope.short_term import ReMeShortTermMemory
    from memwell.compat.agentscope.sql import AsyncSQLAlchemyMemory

_LATER = {
    "AsyncSQLAlchemyMemory": ".sql",
    "EmbeddingCacheBase": ".embedding_cache",
    "FileEmbeddingCache": ".embedding_cache",
    "InMemoryMessageStorage": ".message_storage",
    "LongTermMemoryBase": ".long_term",
    "MemoryWithCompress": ".compress",
    "MessageStorageBase": ".message_storage",
    "NoSuchPlace": ".message_storage",
    "NotStarted": ".long_term",
    "ReMeLongTermMemoryBase": ".long_term",
    "ReMePersonalLongTermMemory": ".long_term",
    "ReMeShortTermMemory": ".short_term",
    "ReMeTaskLongTermMemory": ".long_term",
    "ReMeToolLongTermMemory": ".long_term",
    "RedisMemory": ".redis",
    "ThreadMessageStorage": ".message_storage",
    "ToolResponse": ".long_term",
}
"""Loaded when first asked for: drivers that need not be installed, and what finds by meaning, which needs numpy."""


__getattr__, __dir__ = loaded_later(globals(), _LATER)

__all__ = [
    "AgentBase",
    "AsyncSQLAlchemyMemory",
    "AudioBlock",
    "Base64Source",
    "ContentBlock",
    "EmbeddingCacheBase",
    "FileEmbeddingCache",
    "ImageBlock",
    "InMemoryMemory",
    "InMemoryMessageStorage",
    "JSONSession",
    "LongTermMemoryBase",
    "MemoryBase",
    "MemoryWithCompress",
    "MemwellMemory",
    "MemwellSession",
    "MessageStorageBase",
    "Msg",
    "MsgHub",
    "NoSuchPlace",
    "NotStarted",
    "ReMeLongTermMemoryBase",
    "ReMePersonalLongTermMemory",
    "ReMeShortTermMemory",
    "ReMeTaskLongTermMemory",
    "ReMeToolLongTermMemory",
    "RedisMemory",
    "SessionBase",
    "SessionNotFound",
    "StateModule",
    "TextBlock",
    "ThinkingBlock",
    "ThreadMemory",
    "ThreadMessageStorage",
    "ToolResponse",
    "ToolResultBlock",
    "ToolUseBlock",
    "URLSource",
    "VideoBlock",
    "WrongType",
    "from_core",
    "to_core",
]
