"""LangChain's classic memory: its names, its arguments, its results, over our core.

Everything a program imports is here; change the import line and nothing else. Neither LangChain nor pydantic is needed.
LangChain's own messages, models, prompts, retrievers and histories are taken wherever ours are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._package import load_lazily
from memwell.compat.langchain.base import BaseChatMemory, BaseMemory, get_prompt_input_key
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
    PostgresChatMessageHistory,
    RedisChatMessageHistory,
    SQLChatMessageHistory,
    ThreadChatMessageHistory,
    conversation,
)
from memwell.compat.langchain.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    InputTokenDetails,
    OutputTokenDetails,
    RemoveMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UsageMetadata,
    get_buffer_string,
    message_chunk_to_message,
    message_from_dict,
    message_to_dict,
    messages_from_dict,
    messages_to_dict,
    to_langchain_messages,
    tool_call,
)
from memwell.compat.langchain.models import (
    ENTITY_EXTRACTION_PROMPT,
    ENTITY_SUMMARIZATION_PROMPT,
    KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT,
    SUMMARY_PROMPT,
    PromptTemplate,
    for_chain,
)
from memwell.compat.langchain.retrieval import (
    Document,
    MemwellRetriever,
    MemwellVectorStore,
    VectorStoreRetrieverMemory,
)

if TYPE_CHECKING:
    from memwell.runtime.transfer.langchain import import_redis, import_sql

_LAZY = {"import_redis": "memwell.runtime.transfer.langchain", "import_sql": "memwell.runtime.transfer.langchain"}
"""Loaded when first used, because they take long to load."""

if not TYPE_CHECKING:
    # A type checker would take any name for one of the package.
    __getattr__, __dir__ = load_lazily(globals(), _LAZY)

__all__ = [
    "AIMessage", "AnyMessage", "BaseChatMemory", "BaseChatMessageHistory", "BaseEntityStore", "BaseMemory",
    "BaseMessage", "ChatMessage", "ChatMessageHistory", "CombinedMemory", "ConversationBufferMemory",
    "ConversationBufferWindowMemory", "ConversationEntityMemory", "ConversationKGMemory",
    "ConversationSummaryBufferMemory", "ConversationSummaryMemory", "ConversationTokenBufferMemory", "Document",
    "ENTITY_EXTRACTION_PROMPT", "ENTITY_SUMMARIZATION_PROMPT", "EntityInfo", "FileChatMessageHistory",
    "FunctionMessage", "HumanMessage", "InMemoryChatMessageHistory", "InMemoryEntityStore", "InputTokenDetails",
    "KG_TRIPLE_DELIMITER", "KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT", "KnowledgeTriple", "MemoryMetrics",
    "MemwellChatMessageHistory", "MemwellRetriever", "MemwellVectorStore", "NetworkxEntityGraph", "OutputTokenDetails",
    "PostgresChatMessageHistory", "PromptTemplate", "ReadOnlySharedMemory", "RedisChatMessageHistory",
    "RedisEntityStore", "RemoveMessage", "SQLChatMessageHistory", "SQLiteEntityStore", "SUMMARY_PROMPT",
    "SimpleMemory", "SummarizerMixin", "SystemMessage", "ThreadChatMessageHistory", "ThreadEntityStore", "ToolCall",
    "ToolMessage", "UsageMetadata", "VectorStoreRetrieverMemory", "conversation", "for_chain", "get_buffer_string",
    "get_prompt_input_key", "import_redis", "import_sql", "message_chunk_to_message", "message_from_dict",
    "message_to_dict", "messages_from_dict", "messages_to_dict", "parse_triples", "to_langchain_messages", "tool_call",
]  # fmt: skip
