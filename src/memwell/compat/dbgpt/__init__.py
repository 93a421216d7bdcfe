"""DB-GPT's memory vocabulary over the memwell engine: storage, conversations, cache, agent memory, plans.

Every name is here; DB-GPT itself is not needed. Change the import line, and the rest of a program stays. The page on moving
from DB-GPT lists what differs, and which faults of the original are not here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._package import load_lazily
from memwell.compat.dbgpt.cache import (
    CacheClient,
    CacheConfig,
    CacheKey,
    CachePolicy,
    CacheStorage,
    CacheStorageItem,
    CacheValue,
    LLMCacheClient,
    LLMCacheKey,
    LLMCacheValue,
    MemoryCacheStorage,
    ModelOutput,
    RetrievalPolicy,
)
from memwell.compat.dbgpt.conversations import (
    ConversationIdentifier,
    MessageIdentifier,
    MessageStorageItem,
    OnceConversation,
    StorageConversation,
)
from memwell.compat.dbgpt.gpts import (
    DefaultGptsMessageMemory,
    DefaultGptsPlansMemory,
    GptsMemory,
    GptsMessage,
    GptsMessageMemory,
    GptsPlan,
    GptsPlansMemory,
    Status,
)
from memwell.compat.dbgpt.memory import (
    AgentMemoryFragment,
    ContentImportanceScorer,
    DiscardedMemoryFragments,
    EnhancedShortTermMemory,
    ImportanceScorer,
    InsightExtractor,
    InsightMemoryFragment,
    Memory,
    MemoryFragment,
    SensoryMemory,
    ShortTermMemory,
    WriteOperation,
)
from memwell.compat.dbgpt.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    MediaContent,
    MediaObject,
    ModelMessage,
    ModelMessageRoleType,
    SystemMessage,
    ViewMessage,
)
from memwell.compat.dbgpt.storage import (
    BackendStorage,
    DefaultStorageItemAdapter,
    InMemoryStorage,
    JsonSerializer,
    PaginationResult,
    QuerySpec,
    ResourceIdentifier,
    Serializable,
    Serializer,
    StorageError,
    StorageInterface,
    StorageItem,
    StorageItemAdapter,
)
from memwell.runtime.agents import DONE

if TYPE_CHECKING:
    from memwell.compat.dbgpt.long_term import Chunk, HybridMemory, LongTermMemory, LongTermRetriever

_LAZY = {
    "Chunk": ".long_term",
    "HybridMemory": ".long_term",
    "LongTermMemory": ".long_term",
    "LongTermRetriever": ".long_term",
}
"""Loaded when first used, because they load numpy."""

if not TYPE_CHECKING:
    # A type checker would take any name for one of the package.
    __getattr__, __dir__ = load_lazily(globals(), _LAZY)

__all__ = [
    "AIMessage", "AgentMemoryFragment", "BackendStorage", "BaseMessage", "CacheClient", "CacheConfig", "CacheKey",
    "CachePolicy", "CacheStorage", "CacheStorageItem", "CacheValue", "Chunk", "ContentImportanceScorer",
    "ConversationIdentifier", "DONE", "DefaultGptsMessageMemory", "DefaultGptsPlansMemory",
    "DefaultStorageItemAdapter", "DiscardedMemoryFragments", "EnhancedShortTermMemory", "GptsMemory", "GptsMessage",
    "GptsMessageMemory", "GptsPlan", "GptsPlansMemory", "HumanMessage", "HybridMemory", "ImportanceScorer",
    "InMemoryStorage", "InsightExtractor", "InsightMemoryFragment", "JsonSerializer", "LLMCacheClient",
    "LLMCacheKey", "LLMCacheValue", "LongTermMemory", "LongTermRetriever", "MediaContent", "MediaObject", "Memory",
    "MemoryCacheStorage", "MemoryFragment", "MessageIdentifier", "MessageStorageItem", "ModelMessage",
    "ModelMessageRoleType", "ModelOutput", "OnceConversation", "PaginationResult", "QuerySpec",
    "ResourceIdentifier", "RetrievalPolicy", "SensoryMemory", "Serializable", "Serializer", "ShortTermMemory",
    "Status", "StorageConversation", "StorageError", "StorageInterface", "StorageItem", "StorageItemAdapter",
    "SystemMessage", "ViewMessage", "WriteOperation",
]  # fmt: skip
