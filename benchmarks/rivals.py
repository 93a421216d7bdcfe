"""The stores of memories that users would pick instead, behind one face. One that is not installed is said to be so.

Each is used as its own documentation shows, with its own defaults, and is given ready-made vectors, so that what is
measured is the store and never a model. None reaches for the network: what reports home is turned off the documented way.
"""

from __future__ import annotations

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

# They are read when the packages are imported, so they are set before.
os.environ["ANONYMIZED_TELEMETRY"] = "False"
os.environ["MEM0_TELEMETRY"] = "False"

Embed = Callable[[str], list[float]]
"""From a text to the vector prepared for it."""

_AT_ONCE = 500


class Item(NamedTuple):
    """A memory to be stored: whose it is, and what it says."""

    user: str
    text: str


class Rival(ABC):
    """A long-term memory by somebody else, in fresh files in a folder."""

    name: str
    package: str
    most_memories: int = 10**9
    """With more than this in all, one search takes longer than is worth waiting for."""

    @abstractmethod
    def __init__(self, folder: Path, dimensions: int, embed: Embed) -> None: ...

    @abstractmethod
    def fill(self, items: Sequence[Item]) -> None:
        """Store many, the fastest way it has."""

    @abstractmethod
    def add(self, item: Item) -> None:
        """Store one."""

    @abstractmethod
    def find(self, user: str, query: str, limit: int) -> list[str]:
        """The texts of a user that are nearest to a query."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the files."""

    @property
    def label(self) -> str:
        """Its name with its version."""
        return f"{self.name} {version(self.package)}"


class LanggraphMemories(Rival):
    """langgraph's ``SqliteStore`` with its index of vectors, a namespace a user."""

    name = "langgraph SqliteStore"
    package = "langgraph-checkpoint-sqlite"

    def __init__(self, folder: Path, dimensions: int, embed: Embed) -> None:
        from langgraph.store.sqlite import SqliteStore

        # Its documentation calls them "fields", which it does not read: then it would embed the JSON around the text.
        embedding = {"embed": lambda texts: [embed(text) for text in texts], "text_fields": ["text"]}
        index: Any = {"dims": dimensions, **embedding}
        self._connection = _extensible(folder / "langgraph-memories.db")
        self._store = SqliteStore(self._connection, index=index)
        self._store.setup()
        self._numbers = count()

    def fill(self, items: Sequence[Item]) -> None:
        from langgraph.store.base import PutOp

        for start in range(0, len(items), _AT_ONCE):
            batch = items[start : start + _AT_ONCE]
            self._store.batch(
                [PutOp(("bench", one.user), str(next(self._numbers)), {"text": one.text}) for one in batch]
            )

    def add(self, item: Item) -> None:
        self._store.put(("bench", item.user), str(next(self._numbers)), {"text": item.text})

    def find(self, user: str, query: str, limit: int) -> list[str]:
        return [hit.value["text"] for hit in self._store.search(("bench", user), query=query, limit=limit)]

    def close(self) -> None:
        self._connection.close()


def _extensible(path: Path) -> Any:
    """A connection as the store itself would make it. Many builds of Python leave out the loading of extensions, which
    its index needs; there the same module comes from a package.
    """
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        module: Any = sqlite3
    else:
        import sqlean as module
    return module.connect(str(path), check_same_thread=False, isolation_level=None)


class Chroma(Rival):
    """chromadb's ``PersistentClient``, one collection, the user in the metadata."""

    name = "chromadb"
    package = "chromadb"

    def __init__(self, folder: Path, dimensions: int, embed: Embed) -> None:
        import chromadb

        client = chromadb.PersistentClient(str(folder / "chroma"))
        # Any: it is typed for every kind of content, and takes plain lists.
        self._collection: Any = client.create_collection("memories", embedding_function=None)
        self._embed = embed
        self._numbers = count()

    def fill(self, items: Sequence[Item]) -> None:
        for start in range(0, len(items), _AT_ONCE):
            self._store(items[start : start + _AT_ONCE])

    def add(self, item: Item) -> None:
        self._store([item])

    def _store(self, items: Sequence[Item]) -> None:
        self._collection.add(
            ids=[str(next(self._numbers)) for _ in items],
            embeddings=[self._embed(one.text) for one in items],
            documents=[one.text for one in items],
            metadatas=[{"user": one.user} for one in items],
        )

    def find(self, user: str, query: str, limit: int) -> list[str]:
        found = self._collection.query(
            query_embeddings=[self._embed(query)], n_results=limit, where={"user": user}, include=["documents"]
        )
        return found["documents"][0]

    def close(self) -> None:
        """It has no way to be closed; its files go with the folder."""


class _Prepared:
    """The face of an embedder that mem0 asks for."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self._embed(text)

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [self._embed(text) for text in texts]


class Mem0(Rival):
    """mem0's ``Memory`` over its default store, qdrant in a local folder, without a model reading what is added."""

    name = "mem0 + qdrant"
    package = "mem0ai"
    most_memories = 1_000

    def __init__(self, folder: Path, dimensions: int, embed: Embed) -> None:
        os.environ["MEM0_DIR"] = str(folder / "mem0-home")
        from mem0 import Memory

        qdrant = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": dimensions}
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        self._memory: Any = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": {"collection_name": "memories", **qdrant}},
                "history_db_path": str(folder / "mem0-history.db"),
                "llm": unused,
                "embedder": unused,
            }
        )
        self._memory.embedding_model = _Prepared(embed)

    def fill(self, items: Sequence[Item]) -> None:
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        self._memory.add(item.text, user_id=item.user, infer=False)

    def find(self, user: str, query: str, limit: int) -> list[str]:
        # By default it drops what is little like the query; here all of them are to give ten.
        found = self._memory.search(query, filters={"user_id": user}, top_k=limit, threshold=0.0)
        return [hit["memory"] for hit in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


class LangchainMemories(Rival):
    """langchain-core's ``InMemoryVectorStore``, the user in the metadata. It keeps nothing after the process."""

    name = "langchain InMemoryVectorStore"
    package = "langchain-core"

    def __init__(self, folder: Path, dimensions: int, embed: Embed) -> None:
        from langchain_core.embeddings import Embeddings
        from langchain_core.vectorstores import InMemoryVectorStore

        class Given(Embeddings):
            def embed_documents(self, texts: list[str]) -> list[list[float]]:
                return [embed(text) for text in texts]

            def embed_query(self, text: str) -> list[float]:
                return embed(text)

        self._store = InMemoryVectorStore(Given())

    def fill(self, items: Sequence[Item]) -> None:
        self._store.add_texts([one.text for one in items], [{"user": one.user} for one in items])

    def add(self, item: Item) -> None:
        self.fill([item])

    def find(self, user: str, query: str, limit: int) -> list[str]:
        found = self._store.similarity_search(query, limit, filter=lambda one: one.metadata["user"] == user)
        return [one.page_content for one in found]

    def close(self) -> None:
        """There is nothing to be closed."""


class LlamaIndexMemories(Rival):
    """LlamaIndex's ``VectorStoreIndex`` over its default store, in memory; the user in the metadata."""

    name = "llama-index VectorStoreIndex"
    package = "llama-index-core"

    def __init__(self, folder: Path, dimensions: int, embed: Embed) -> None:
        from llama_index.core import MockEmbedding, VectorStoreIndex

        class Given(MockEmbedding):
            def _get_text_embedding(self, text: str) -> list[float]:
                return embed(text)

            def _get_query_embedding(self, query: str) -> list[float]:
                return embed(query)

        self._index = VectorStoreIndex([], embed_model=Given(embed_dim=dimensions))

    def fill(self, items: Sequence[Item]) -> None:
        from llama_index.core.schema import TextNode

        # Otherwise the metadata would be embedded with the text.
        self._index.insert_nodes(
            [
                TextNode(text=one.text, metadata={"user": one.user}, excluded_embed_metadata_keys=["user"])
                for one in items
            ]
        )

    def add(self, item: Item) -> None:
        self.fill([item])

    def find(self, user: str, query: str, limit: int) -> list[str]:
        from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

        own = MetadataFilters(filters=[ExactMatchFilter(key="user", value=user)])
        found = self._index.as_retriever(similarity_top_k=limit, filters=own).retrieve(query)
        return [one.node.get_content() for one in found]

    def close(self) -> None:
        """There is nothing to be closed."""


KINDS: tuple[type[Rival], ...] = (LanggraphMemories, Chroma, Mem0)
IN_MEMORY: tuple[type[Rival], ...] = (LangchainMemories, LlamaIndexMemories)


def installed_rivals(
    folder: Path, dimensions: int, embed: Embed, kinds: Sequence[type[Rival]] = KINDS
) -> tuple[list[Rival], list[str]]:
    """The rivals that are installed, each with fresh files in ``folder``, and what to say of those that are not."""
    found: list[Rival] = []
    missing: list[str] = []
    for kind in kinds:
        try:
            version(kind.package)
            found.append(kind(folder, dimensions, embed))
        except (PackageNotFoundError, ImportError) as error:
            missing.append(f"{kind.name}: not installed ({error}); pip install {kind.package}")
    return found, missing


__all__ = ["IN_MEMORY", "KINDS", "Item", "Rival", "installed_rivals"]
