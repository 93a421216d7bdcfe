"""Who thinks: the ports that models are reached through, and the models that come along.

``ports`` has the contracts, ``callables`` makes a model of a plain function, ``local`` embeds on this machine's processor,
``http`` reaches any server that speaks OpenAI's API, ``scripted`` answers in tests.
"""

from memwell.models.callables import as_chat_model, as_embedder, as_reranker
from memwell.models.ports import ChatModel, ChatOptions, Completion, Delta, Embedder, Reranker, Tool, Usage

__all__ = [
    "ChatModel",
    "ChatOptions",
    "Completion",
    "Delta",
    "Embedder",
    "Reranker",
    "Tool",
    "Usage",
    "as_chat_model",
    "as_embedder",
    "as_reranker",
]
