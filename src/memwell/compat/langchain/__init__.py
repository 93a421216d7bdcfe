"""LangChain's classic memory: its names, its arguments, its results, over our core.

Everything a program imports is here; change the import line and nothing else. Neither LangChain nor pydantic is needed.
LangChain's own messages, models, prompts, retrievers and histories are taken wherever ours are. The functions on messages
that LangChain has, such as ``trim_messages``, are LangChain's own and need langchain-core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memwell._lazy import load_lazily
from memwell.compat.langchain.base import BaseChatMemory, BaseMemory, MissingKey, get_prompt_input_key
from memwell.compat.langchain.buffers import (
    ConversationBufferMemory,
    ConversationBufferWindowMemory,
    ConversationStringBufferMemory,
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
    SQLiteEntityStore,
    ThreadEntityGraph,
    ThreadEntityStore,
    parse_triples,
)
from memwell.compat.langchain.histories import (
    BaseChatMessageHistory,
    ChatMessageHistory,
    FileChatMessageHistory,
    InMemoryChatMessageHistory,
    MemwellChatMessageHistory,
    ThreadChatMessageHistory,
    conversation,
)
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
    langchain_messages,
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
    for_runnable,
)
from memwell.compat.langchain.retrieval import (
    ConversationVectorStoreTokenBufferMemory,
    Document,
    MemwellRetriever,
    MemwellVectorStore,
    VectorStoreRetrieverMemory,
)

if TYPE_CHECKING:
    from memwell.compat.langchain.importing import import_redis, import_sql
    from memwell.compat.langchain.redis import RedisChatMessageHistory, RedisEntityStore
    from memwell.compat.langchain.sql import BaseMessageConverter, DefaultMessageConverter, SQLChatMessageHistory

# These need packages that a program may not have, or that take long to load.
_LAZY = {
    **dict.fromkeys(("import_redis", "import_sql"), ".importing"),
    **dict.fromkeys(("RedisChatMessageHistory", "RedisEntityStore"), ".redis"),
    **dict.fromkeys(("BaseMessageConverter", "DefaultMessageConverter", "SQLChatMessageHistory"), ".sql"),
}
_LANGCHAINS_OWN = {
    "convert_to_messages", "convert_to_openai_messages", "count_tokens_approximately", "filter_messages",
    "merge_message_runs", "trim_messages",
}  # fmt: skip

_load, __dir__ = load_lazily(globals(), _LAZY)


def __getattr__(name: str) -> Any:
    """Load a name when it is first used. Raises ``MissingDependency`` for one of LangChain's own without langchain-core."""
    return getattr(langchain_messages().utils, name) if name in _LANGCHAINS_OWN else _load(name)


__all__ = [
    "AIMessage", "AIMessageChunk", "BaseChatMemory", "BaseChatMessageHistory", "BaseEntityStore", "BaseMemory",
    "BaseMessage", "BaseMessageChunk", "BaseMessageConverter", "ChatMessage", "ChatMessageChunk", "ChatMessageHistory",
    "CombinedMemory", "CombinedMemoryError", "ConversationBufferMemory", "ConversationBufferWindowMemory",
    "ConversationEntityMemory", "ConversationKGMemory", "ConversationStringBufferMemory",
    "ConversationSummaryBufferMemory", "ConversationSummaryMemory", "ConversationTokenBufferMemory",
    "ConversationVectorStoreTokenBufferMemory", "DefaultMessageConverter", "Document", "ENTITY_EXTRACTION_PROMPT",
    "ENTITY_SUMMARIZATION_PROMPT", "EntityInfo", "FileChatMessageHistory", "FunctionMessage", "FunctionMessageChunk",
    "HumanMessage", "HumanMessageChunk", "InMemoryChatMessageHistory", "InMemoryEntityStore", "KG_TRIPLE_DELIMITER",
    "KNOWLEDGE_TRIPLE_EXTRACTION_PROMPT", "KnowledgeTriple", "MemoryFailure", "MemoryMetrics",
    "MemwellChatMessageHistory", "MemwellRetriever", "MemwellVectorStore", "MissingKey", "NetworkxEntityGraph",
    "PromptTemplate", "ReadOnlySharedMemory", "RedisChatMessageHistory", "RedisEntityStore", "RemoveMessage",
    "SQLChatMessageHistory", "SQLiteEntityStore", "SUMMARY_PROMPT", "SimpleMemory", "SummarizerMixin", "SystemMessage",
    "SystemMessageChunk", "ThreadChatMessageHistory", "ThreadEntityGraph", "ThreadEntityStore", "ToolMessage",
    "ToolMessageChunk", "VectorStoreRetrieverMemory", "as_llm", "conversation", "for_chain", "for_runnable",
    "from_core", "get_buffer_string", "get_prompt_input_key", "import_redis", "import_sql", "message_from_dict",
    "message_to_dict", "messages_from_dict", "messages_to_dict", "parse_triples", "to_core", "to_langchain_messages",
]  # fmt: skip
