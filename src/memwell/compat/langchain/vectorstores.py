"""A vector store that needs nothing installed: documents in long-term memory, found by their words and their meaning."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memwell._asyncify import asyncify
from memwell.compat.langchain.documents import Document
from memwell.errors import InvalidInput, NotFound
from memwell.filters import FilterLike
from memwell.longterm.gate import Gate, Verdict
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.models.callables import as_embedder
from memwell.models.ports import Embedder
from memwell.records import SpaceLike, as_space
from memwell.storage.protocols import Backend
from memwell.storage.registry import open_backend
from memwell.storage.sharing import shared_backend
from memwell.values import check_text, new_id

_MARK = "vectorstore/written"


class _TakesAll(Gate):
    """Whoever puts a document into a store wants that document back, whatever it says."""

    def judge(self, text: str, *, speaker: str = "", trust: str = "user") -> Verdict:
        return Verdict(True, text)


class MemwellVectorStore:
    """Documents in the store at ``url``, there after a restart and safe for several processes.

    ``embedder`` is ``"local"`` (runs here, nothing is fetched), None for words alone, or any embedder or function.
    """

    def __init__(
        self,
        url: str | os.PathLike[str] | Backend = "memory:",
        *,
        space: SpaceLike = "vectorstore",
        embedder: Any = "local",
    ) -> None:
        self.backend = _backend(url)
        self.space = as_space(space)
        self.memory = Memory(self.backend, self.space, embedder=_embedder(embedder), gate=_TakesAll())

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: Any = "local",
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **how: Any,
    ) -> MemwellVectorStore:
        """A store with these texts in it."""
        store = cls(embedder=embedding, **how)
        store.add_texts(texts, metadatas)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> list[str]:
        """Store texts, on disk when it returns, and return their ids; one with the id of a stored one takes its place.

        Raises ``InvalidInput`` when there are not as many metadata or ids as texts.
        """
        given = [check_text(text, "a document's text") for text in texts]
        for what, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(given):
                raise InvalidInput(f"there are {len(given)} texts and {len(values)} {what}")
        names = [new_id() for _ in given] if ids is None else list(ids)
        self._drop(names if ids is not None else ())
        for place, text in enumerate(given):
            metadata = None if metadatas is None else metadatas[place]
            self.memory.remember(text, id=names[place], metadata=metadata, kind="document", trust="document")
        self._written()
        return names

    def add_documents(self, documents: Sequence[Any], *, ids: Sequence[str] | None = None) -> list[str]:
        """Store documents, ours or LangChain's own, and return their ids."""
        named = [getattr(one, "id", None) or new_id() for one in documents] if ids is None else ids
        return self.add_texts([one.page_content for one in documents], [one.metadata for one in documents], ids=named)

    def similarity_search(self, query: str, k: int = 4, filter: FilterLike | None = None) -> list[Document]:  # noqa: A002 - LangChain's name for it
        """The documents that answer the query best, best first."""
        return [document for document, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: FilterLike | None = None,  # noqa: A002 - LangChain's name for it
    ) -> list[tuple[Document, float]]:
        """The same, each with its score: the higher the better."""
        found = self.memory.recall(query, limit=k, where=filter) if query.strip() else []
        return [(_document(one), one.score) for one in found]

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of these ids that are there."""
        return [_document(one) for id_ in ids if (one := self._found(id_)) is not None]

    def delete(self, ids: Sequence[str] | None = None) -> bool:
        """Erase documents for good; those that are not there are no error. Without ids nothing is erased."""
        self._drop(ids or ())
        self._written()
        return True

    def delete_collection(self) -> None:
        """Erase all documents for good."""
        self.memory.erase_all()
        self._written()

    def version(self) -> int:
        """A number that changes with every write, in this process or another."""
        entry = self.backend.kv.get(self.space / "memwell", _MARK)
        return 0 if entry is None else entry.version

    def as_retriever(self, *, search_kwargs: Mapping[str, Any] | None = None, **_: Any) -> MemwellRetriever:
        """A retriever over it; ``search_kwargs`` are those of ``similarity_search``, such as ``{"k": 1}``."""
        return MemwellRetriever(self, dict(search_kwargs or {}))

    def _written(self) -> None:
        self.backend.kv.put(self.space / "memwell", _MARK, True)

    def _drop(self, ids: Iterable[str]) -> None:
        there = [id_ for id_ in ids if self._found(id_) is not None]
        if there:
            self.memory.erase(there)

    def _found(self, id_: str) -> Recalled | None:
        try:
            return self.memory.get(id_)
        except NotFound:
            return None

    aadd_texts = asyncify(add_texts)
    aadd_documents = asyncify(add_documents)
    asimilarity_search = asyncify(similarity_search)
    asimilarity_search_with_score = asyncify(similarity_search_with_score)
    aget_by_ids = asyncify(get_by_ids)
    adelete = asyncify(delete)
    adelete_collection = asyncify(delete_collection)


class MemwellRetriever:
    """Finds documents in a vector store."""

    def __init__(self, vectorstore: MemwellVectorStore, search_kwargs: Mapping[str, Any]) -> None:
        self.vectorstore = vectorstore
        self.search_kwargs = dict(search_kwargs)

    def invoke(self, query: str) -> list[Document]:
        """The documents that answer the query best, best first."""
        return self.vectorstore.similarity_search(query, **self.search_kwargs)

    def get_relevant_documents(self, query: str) -> list[Document]:
        """The older name of ``invoke``."""
        return self.invoke(query)

    def add_documents(self, documents: Sequence[Any], *, ids: Sequence[str] | None = None) -> list[str]:
        """Store documents, and return their ids."""
        return self.vectorstore.add_documents(documents, ids=ids)

    ainvoke = asyncify(invoke)
    aget_relevant_documents = asyncify(get_relevant_documents)
    aadd_documents = asyncify(add_documents)


def _backend(url: str | os.PathLike[str] | Backend) -> Backend:
    if isinstance(url, Backend):
        return url
    # A store in memory has no name by which somebody else could mean the same one.
    return open_backend(url) if url == "memory:" else shared_backend(url)


def _document(found: Recalled) -> Document:
    return Document(found.text, found.metadata, id=found.id)


def _embedder(given: Any) -> Embedder | None:
    if given is None:
        return None
    if given == "local":
        # Loads a model's run-time, which a program that stores no documents should not pay for.
        from memwell.models.local import LocalEmbedder  # noqa: PLC0415

        return LocalEmbedder()
    if hasattr(given, "embed_documents"):
        # LangChain's embeddings.
        return as_embedder(given.embed_documents, name=type(given).__name__)
    return as_embedder(given)


__all__ = ["MemwellRetriever", "MemwellVectorStore"]
