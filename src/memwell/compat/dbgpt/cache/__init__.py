"""Caches: of models' answers and of embeddings, in memory or shared between processes, exact or by similar text."""

from memwell.compat.dbgpt.cache.clients import CacheClient, CacheManager, LocalCacheManager
from memwell.compat.dbgpt.cache.embedding import (
    CachedEmbeddings,
    EmbeddingCacheClient,
    EmbeddingCacheKey,
    EmbeddingCacheKeyData,
    EmbeddingCacheValue,
)
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, CachePolicy, CacheValue, FieldsKey, RetrievalPolicy
from memwell.compat.dbgpt.cache.llm import (
    CacheOutputType,
    LLMCacheClient,
    LLMCacheKey,
    LLMCacheKeyData,
    LLMCacheValue,
    LLMCacheValueData,
    ModelOutput,
    is_success_model_output,
)
from memwell.compat.dbgpt.cache.memory import MemoryCacheStorage
from memwell.compat.dbgpt.cache.shared import KeyValueCacheStorage
from memwell.compat.dbgpt.cache.storage import CacheStorage, CacheStorageItem

__all__ = [
    "CacheClient",
    "CacheConfig",
    "CacheKey",
    "CacheManager",
    "CacheOutputType",
    "CachePolicy",
    "CacheStorage",
    "CacheStorageItem",
    "CacheValue",
    "CachedEmbeddings",
    "EmbeddingCacheClient",
    "EmbeddingCacheKey",
    "EmbeddingCacheKeyData",
    "EmbeddingCacheValue",
    "FieldsKey",
    "KeyValueCacheStorage",
    "LLMCacheClient",
    "LLMCacheKey",
    "LLMCacheKeyData",
    "LLMCacheValue",
    "LLMCacheValueData",
    "LocalCacheManager",
    "MemoryCacheStorage",
    "ModelOutput",
    "RetrievalPolicy",
    "is_success_model_output",
]
