"""DB-GPT's memory vocabulary over the one engine: storage, conversations, cache, agent memory, plans.

Every name is here; DB-GPT itself is not needed. Change the import line, and the rest of a program stays. What differs, and
which faults of the original are not here, is listed in the documentation's page on moving from DB-GPT.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._later import loaded_later
from memwell.compat.dbgpt.agent import AgentMemory
from memwell.compat.dbgpt.cache import (
    CacheClient,
    CacheConfig,
    CachedEmbeddings,
    CacheKey,
    CacheManager,
    CachePolicy,
    CacheStorage,
    CacheStorageItem,
    CacheValue,
    EmbeddingCacheClient,
    EmbeddingCacheKey,
    EmbeddingCacheValue,
    KeyValueCacheStorage,
    LLMCacheClient,
    LLMCacheKey,
    LLMCacheValue,
    LocalCacheManager,
    MemoryCacheStorage,
    ModelOutput,
    RetrievalPolicy,
)
from memwell.compat.dbgpt.conversations import OnceConversation
from memwell.compat.dbgpt.enhanced import EnhancedShortTermMemory
from memwell.compat.dbgpt.fragments import (
    AgentMemoryFragment,
    DiscardedMemoryFragments,
    InsightMemoryFragment,
    MemoryFragment,
    StructuredAgentMemoryFragment,
    StructuredObservation,
    WriteOperation,
)
from memwell.compat.dbgpt.gpts import (
    DONE,
    ActionOutput,
    DefaultGptsMessageMemory,
    DefaultGptsPlansMemory,
    GptsMemory,
    GptsMessage,
    GptsMessageMemory,
    GptsPlan,
    GptsPlansMemory,
    Status,
    html_page,
    mermaid_dialogue,
    mermaid_plan,
)
from memwell.compat.dbgpt.media import (
    MediaContent,
    MediaObject,
)
from memwell.compat.dbgpt.memory import Memory
from memwell.compat.dbgpt.message_items import (
    ConversationIdentifier,
    MessageIdentifier,
    MessageStorageItem,
)
from memwell.compat.dbgpt.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ViewMessage,
    message_from_dict,
    messages_from_dict,
    messages_to_dict,
)
from memwell.compat.dbgpt.model_messages import (
    ModelMessage,
    ModelMessageRoleType,
    parse_model_messages,
)
from memwell.compat.dbgpt.models import (
    BaseLLMCaller,
    LLMImportanceScorer,
    LLMInsightExtractor,
    ModelRequest,
)
from memwell.compat.dbgpt.scoring import (
    ContentImportanceScorer,
    ImportanceScorer,
    InsightExtractor,
    SentenceInsightExtractor,
)
from memwell.compat.dbgpt.sensory import SensoryMemory
from memwell.compat.dbgpt.serialization import (
    JsonSerializable,
    JsonSerializer,
    MsgpackSerializer,
    Serializable,
    Serializer,
)
from memwell.compat.dbgpt.short_term import ShortTermMemory
from memwell.compat.dbgpt.storage import (
    DefaultStorageItemAdapter,
    PaginationResult,
    QuerySpec,
    ResourceIdentifier,
    StorageError,
    StorageInterface,
    StorageItem,
    StorageItemAdapter,
)
from memwell.compat.dbgpt.stored_conversations import StorageConversation
from memwell.compat.dbgpt.stores import (
    BackendStorage,
    InMemoryStorage,
)

if TYPE_CHECKING:
    from memwell.compat.dbgpt.hybrid import HybridMemory
    from memwell.compat.dbgpt.long_term import Chunk, ForgetReport, LongTermMemory, LongTermRetriever

_LATER = {
    "Chunk": ".long_term",
    "ForgetReport": ".long_term",
    "HybridMemory": ".hybrid",
    "LongTermMemory": ".long_term",
    "LongTermRetriever": ".long_term",
}
"""Loaded when first asked for: what finds by meaning needs numpy, and a program that only converses does not."""


__getattr__, __dir__ = loaded_later(globals(), _LATER)

__all__ = [
    "AIMessage",
    "ActionOutput",
    "AgentMemory",
    "AgentMemoryFragment",
    "BackendStorage",
    "BaseLLMCaller",
    "BaseMessage",
    "CacheClient",
    "CacheConfig",
    "CacheKey",
    "CacheManager",
    "CachePolicy",
    "CacheStorage",
    "CacheStorageItem",
    "CacheValue",
    "CachedEmbeddings",
    "Chunk",
    "ContentImportanceScorer",
    "ConversationIdentifier",
    "DONE",
    "DefaultGptsMessageMemory",
    "DefaultGptsPlansMemory",
    "DefaultStorageItemAdapter",
    "DiscardedMemoryFragments",
    "EmbeddingCacheClient",
    "EmbeddingCacheKey",
    "EmbeddingCacheValue",
    "EnhancedShortTermMemory",
    "ForgetReport",
    "GptsMemory",
    "GptsMessage",
    "GptsMessageMemory",
    "GptsPlan",
    "GptsPlansMemory",
    "HumanMessage",
    "HybridMemory",
    "ImportanceScorer",
    "InMemoryStorage",
    "InsightExtractor",
    "InsightMemoryFragment",
    "JsonSerializable",
    "JsonSerializer",
    "KeyValueCacheStorage",
    "LLMCacheClient",
    "LLMCacheKey",
    "LLMCacheValue",
    "LLMImportanceScorer",
    "LLMInsightExtractor",
    "LocalCacheManager",
    "LongTermMemory",
    "LongTermRetriever",
    "MediaContent",
    "MediaObject",
    "Memory",
    "MemoryCacheStorage",
    "MemoryFragment",
    "MessageIdentifier",
    "MessageStorageItem",
    "ModelMessage",
    "ModelMessageRoleType",
    "ModelOutput",
    "ModelRequest",
    "MsgpackSerializer",
    "OnceConversation",
    "PaginationResult",
    "QuerySpec",
    "ResourceIdentifier",
    "RetrievalPolicy",
    "SensoryMemory",
    "SentenceInsightExtractor",
    "Serializable",
    "Serializer",
    "ShortTermMemory",
    "Status",
    "StorageConversation",
    "StorageError",
    "StorageInterface",
    "StorageItem",
    "StorageItemAdapter",
    "StructuredAgentMemoryFragment",
    "StructuredObservation",
    "SystemMessage",
    "ViewMessage",
    "WriteOperation",
    "html_page",
    "mermaid_dialogue",
    "mermaid_plan",
    "message_from_dict",
    "messages_from_dict",
    "messages_to_dict",
    "parse_model_messages",
]
