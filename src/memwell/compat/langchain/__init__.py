"""LangChain's classic memory: its names, its arguments, its results, over our core.

Everything a program imports is here; change the import line and nothing else. Neither LangChain nor pydantic is needed, and
LangChain's own messages, models, prompts, retrievers and histories are taken wherever ours are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memwell._later import loaded_later
from memwell.compat.langchain.base import BaseChatMemory, BaseMemory, MissingKey, get_prompt_input_key
from memwell.compat.langchain.buffers import (
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationStringBufferMemory,
    ConversationTokenBufferMemory,
)
from memwell.compat.langchain.chains import for_chain, for_runnable
from memwell.compat.langchain.combined import (
    CombinedMemory,
    CombinedMemoryError,
    MemoryFailure,
    ReadOnlySharedMemory,
    SimpleMemory,
)
from memwell.compat.langchain.conversations import conversation
from memwell.compat.langchain.documents import Document
from memwell.compat.langchain.entities import ConversationEntityMemory, EntityInfo, ThreadEntityStore
from memwell.compat.langchain.entity_stores import (
    BaseEntityStore,
    FileEntityStore,
    InMemoryEntityStore,
    SQLiteEntityStore,
)
from memwell.compat.langchain.files import FileChatMessageHistory
from memwell.compat.langchain.graph import (
    KG_TRIPLE_DELIMITER,
    ConversationKGMemory,
    KnowledgeTriple,
    NetworkxEntityGraph,
    ThreadEntityGraph,
    parse_triples,
)
from memwell.compat.langchain.histories import (
    BaseChatMessageHistory,
    ChatMessageHistory,
    InMemoryChatMessageHistory,
    MemwellChatMessageHistory,
    TailedChatMessageHistory,
    ThreadChatMessageHistory,
)
from memwell.compat.langchain.lines import as_text, line_of
from memwell.compat.langchain.message_tools import (
    convert_to_messages,
    filter_messages,
    merge_message_runs,
    to_langchain_messages,
)
from memwell.compat.langchain.message_trimming import count_tokens_approximately, trim_messages
from memwell.compat.langchain.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
    from_core,
    get_buffer_string,
    message_from_dict,
    message_to_dict,
    messages_from_dict,
    messages_to_dict,
    to_core,
)
from memwell.compat.langchain.metrics import MemoryMetrics
from memwell.compat.langchain.models import as_llm
from memwell.compat.langchain.openai_messages import convert_to_openai_messages
from memwell.compat.langchain.prompts import (
    ENTITY_EXTRACTION_PROMPT,
    ENTITY_SUMMARIZATION_PROMPT,
    KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT,
    SUMMARY_PROMPT,
    PromptTemplate,
)
from memwell.compat.langchain.retrieval import ConversationVectorStoreTokenBufferMemory, VectorStoreRetrieverMemory
from memwell.compat.langchain.stored import StoredMessage, StoredMessages
from memwell.compat.langchain.summaries import (
    ConversationSummaryBufferMemory,
    ConversationSummaryMemory,
    SummarizerMixin,
)

if TYPE_CHECKING:
    from memwell.compat.langchain.importing import import_redis, import_sql
    from memwell.compat.langchain.redis import RedisChatMessageHistory, RedisEntityStore
    from memwell.compat.langchain.sql import BaseMessageConverter, DefaultMessageConverter, SQLChatMessageHistory
    from memwell.compat.langchain.vectorstores import MemwellRetriever, MemwellVectorStore

# These need packages that a program may not have, or that take long to load.
_LAZY = {
    "RedisChatMessageHistory": ".redis",
    "RedisEntityStore": ".redis",
    "BaseMessageConverter": ".sql",
    "DefaultMessageConverter": ".sql",
    "SQLChatMessageHistory": ".sql",
    "import_redis": ".importing",
    "import_sql": ".importing",
    "MemwellRetriever": ".vectorstores",
    "MemwellVectorStore": ".vectorstores",
}


__getattr__, __dir__ = loaded_later(globals(), _LAZY)

__all__ = [
    "AIMessage",
    "AIMessageChunk",
    "BaseChatMemory",
    "BaseChatMessageHistory",
    "BaseEntityStore",
    "BaseMemory",
    "BaseMessage",
    "BaseMessageChunk",
    "BaseMessageConverter",
    "ChatMessage",
    "ChatMessageChunk",
    "ChatMessageHistory",
    "CombinedMemory",
    "CombinedMemoryError",
    "ConversationBufferMemory",
    "ConversationBufferWindowMemory",
    "ConversationEntityMemory",
    "ConversationKGMemory",
    "ConversationStringBufferMemory",
    "ConversationSummaryBufferMemory",
    "ConversationSummaryMemory",
    "ConversationTokenBufferMemory",
    "ConversationVectorStoreTokenBufferMemory",
    "DefaultMessageConverter",
    "Document",
    "ENTITY_EXTRACTION_PROMPT",
    "ENTITY_SUMMARIZATION_PROMPT",
    "EntityInfo",
    "FileChatMessageHistory",
    "FileEntityStore",
    "FunctionMessage",
    "FunctionMessageChunk",
    "HumanMessage",
    "HumanMessageChunk",
    "InMemoryChatMessageHistory",
    "InMemoryEntityStore",
    "KG_TRIPLE_DELIMITER",
    "KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT",
    "KnowledgeTriple",
    "MemoryFailure",
    "MemoryMetrics",
    "MemwellChatMessageHistory",
    "MemwellRetriever",
    "MemwellVectorStore",
    "MissingKey",
    "NetworkxEntityGraph",
    "PromptTemplate",
    "ReadOnlySharedMemory",
    "RedisChatMessageHistory",
    "RedisEntityStore",
    "RemoveMessage",
    "SQLChatMessageHistory",
    "SQLiteEntityStore",
    "SUMMARY_PROMPT",
    "SimpleMemory",
    "StoredMessage",
    "StoredMessages",
    "SummarizerMixin",
    "SystemMessage",
    "SystemMessageChunk",
    "TailedChatMessageHistory",
    "ThreadChatMessageHistory",
    "ThreadEntityGraph",
    "ThreadEntityStore",
    "ToolMessage",
    "ToolMessageChunk",
    "VectorStoreRetrieverMemory",
    "as_llm",
    "as_text",
    "conversation",
    "convert_to_messages",
    "convert_to_openai_messages",
    "count_tokens_approximately",
    "filter_messages",
    "for_chain",
    "for_runnable",
    "from_core",
    "get_buffer_string",
    "get_prompt_input_key",
    "import_redis",
    "import_sql",
    "line_of",
    "merge_message_runs",
    "message_from_dict",
    "message_to_dict",
    "messages_from_dict",
    "messages_to_dict",
    "parse_triples",
    "to_core",
    "to_langchain_messages",
    "trim_messages",
]
