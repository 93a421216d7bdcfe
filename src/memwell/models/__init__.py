"""Models: the interfaces of embedders, chat models and rerankers, and their implementations.

``ports`` has the interfaces and wraps plain functions, ``local`` embeds on this machine's CPU, ``http`` calls
any server with OpenAI's API, ``scripted`` is for tests.
"""

from memwell.models.ports import (
    ChatModel,
    ChatOptions,
    Completion,
    Embedder,
    Reranker,
    Tool,
    Usage,
    as_chat_model,
    as_embedder,
    as_reranker,
)

__all__ = [
    "ChatModel",
    "ChatOptions",
    "Completion",
    "Embedder",
    "Reranker",
    "Tool",
    "Usage",
    "as_chat_model",
    "as_embedder",
    "as_reranker",
]
