"""LangChain's classic memory: its names, its arguments, its results, over our core.

Everything a program imports is here; change the import line and nothing else. Neither LangChain nor pydantic is needed.
LangChain's own messages, models, prompts, retrievers and histories are taken wherever ours are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._package import load_lazily
from memwell.compat.langchain.base import BaseChatMemory, BaseMemory, MissingKey, get_prompt_input_key
from memwell.compat.langchain.buffers import (
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    ConversationTokenBufferMemory,
    SummarizerMixin,
)
from memwell.compat.langchain.combined import (
    CombinedMemory,
    CombinedMemoryError,
    MemoryFailure,
    MemoryMetrics,
    ReadOnlySharedMemory,
    SimpleMemory,
)
from memwell.compat.langchain.entities import (
    KG_TRIPLE_DELIMITER,
    BaseEntityStore,
    ConversationEntityMemory,
    ConversationKGMemory,
    EntityInfo,
    InMemoryEntityStore,
    KnowledgeTriple,
    NetworkxEntityGraph,
    RedisEntityStore,
    SQLiteEntityStore,
    ThreadEntityStore,
    parse_triples,
)
from memwell.compat.langchain.histories import (
    BaseChatMessageHistory,
    ChatMessageHistory,
    FileChatMessageHistory,
    InMemoryChatMessageHistory,
    MemwellChatMessageHistory,
    RedisChatMessageHistory,
    SQLChatMessageHistory,
    ThreadChatMessageHistory,
    conversation,
)
from memwell.compat.langchain.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    from_core,
    get_buffer_string,
    message_from_dict,
    message_to_dict,
    messages_from_dict,
    messages_to_dict,
    to_core,
    to_langchain_messages,
)
from memwell.compat.langchain.models import (
    ENTITY_EXTRACTION_PROMPT,
    ENTITY_SUMMARIZATION_PROMPT,
    KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT,
    SUMMARY_PROMPT,
    PromptTemplate,
    as_llm,
    for_chain,
)
from memwell.compat.langchain.retrieval import (
    Document,
    MemwellRetriever,
    MemwellVectorStore,
    VectorStoreRetrieverMemory,
)

if TYPE_CHECKING:
    from memwell.compat.langchain.importing import import_redis, import_sql

_LAZY = {"import_redis": ".importing", "import_sql": ".importing"}
"""Loaded when first used, because they take long to load."""

__getattr__, __dir__ = load_lazily(globals(), _LAZY)

__all__ = [
    "AIMessage", "BaseChatMemory", "BaseChatMessageHistory", "BaseEntityStore", "BaseMemory", "BaseMessage",
    "ChatMessage", "ChatMessageHistory", "CombinedMemory", "CombinedMemoryError", "ConversationBufferMemory",
    "ConversationBufferWindowMemory", "ConversationEntityMemory", "ConversationKGMemory",
    "ConversationSummaryBufferMemory", "ConversationSummaryMemory", "ConversationTokenBufferMemory", "Document",
    "ENTITY_EXTRACTION_PROMPT", "ENTITY_SUMMARIZATION_PROMPT", "EntityInfo", "FileChatMessageHistory",
    "FunctionMessage", "HumanMessage", "InMemoryChatMessageHistory", "InMemoryEntityStore", "KG_TRIPLE_DELIMITER",
    "KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT", "KnowledgeTriple", "MemoryFailure", "MemoryMetrics",
    "MemwellChatMessageHistory", "MemwellRetriever", "MemwellVectorStore", "MissingKey", "NetworkxEntityGraph",
    "PromptTemplate", "ReadOnlySharedMemory", "RedisChatMessageHistory", "RedisEntityStore", "RemoveMessage",
    "SQLChatMessageHistory", "SQLiteEntityStore", "SUMMARY_PROMPT", "SimpleMemory", "SummarizerMixin", "SystemMessage",
    "ThreadChatMessageHistory", "ThreadEntityStore", "ToolMessage", "VectorStoreRetrieverMemory", "as_llm",
    "conversation", "for_chain", "from_core", "get_buffer_string", "get_prompt_input_key", "import_redis", "import_sql",
    "message_from_dict", "message_to_dict", "messages_from_dict", "messages_to_dict", "parse_triples", "to_core",
    "to_langchain_messages",
]  # fmt: skip
