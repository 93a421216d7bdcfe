"""LangChain's building blocks over memwell: subclasses of langchain-core's own base classes.

    from memwell.integrations.langchain_core import MemwellChatMessageHistory

    history = MemwellChatMessageHistory("trip", "app.db")

Histories, stores, caches and vector stores take the URL of a store or an open ``Backend``. What names the same URL in one
process shares one store, opened once. Importing this room raises ``MissingDependency``, which here is an ``ImportError``
too, when langchain-core is not installed.
"""

from memwell.errors import MissingDependency

try:
    from memwell.integrations.langchain_core.stores import (
        MemwellByteStore,
        MemwellCache,
        MemwellChatMessageHistory,
        MemwellStore,
    )
    from memwell.integrations.langchain_core.vectorstores import MemwellEmbeddings, MemwellRetriever, MemwellVectorStore
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("langchain_core", "pydantic"):
        raise

    class _MissingLangChain(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingLangChain(
        'memwell.integrations.langchain_core needs langchain-core: pip install "memwell[langchain]"'
    ) from error

__all__ = [
    "MemwellByteStore",
    "MemwellCache",
    "MemwellChatMessageHistory",
    "MemwellEmbeddings",
    "MemwellRetriever",
    "MemwellStore",
    "MemwellVectorStore",
]
