"""Memories that find earlier turns by meaning, in any retriever, LangChain's own or ours."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, TypeAlias, cast

from memwell.compat.langchain.base import OneVariable, check_keys
from memwell.compat.langchain.messages import is_message, text_of
from memwell.errors import InvalidInput, NotFound, Unsupported
from memwell.longterm.gate import Gate, GateVerdict
from memwell.longterm.memory import Memory
from memwell.models.ports import Embedder, as_embedder
from memwell.records import SpaceLike, as_space
from memwell.storage.registry import Store, open_backend, shared_backend
from memwell.values import check_count, check_metadata, check_shape, check_text, new_id, shown

_MOST_CACHED = 100


class Document:
    """A text with metadata and, once it is stored, an id."""

    def __init__(self, page_content: str, metadata: Mapping[str, Any] | None = None, *, id: str | None = None) -> None:  # noqa: A002 - LangChain's name for it
        self.page_content = check_text(page_content, "page_content")
        self.metadata = dict(metadata or {})
        self.id = id
        self.type = "Document"

    def __eq__(self, other: object) -> bool:
        if not hasattr(other, "page_content"):
            return NotImplemented
        theirs = (getattr(other, name, None) for name in ("page_content", "metadata", "id"))
        return (self.page_content, self.metadata, self.id) == tuple(theirs)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - its metadata may change

    def __str__(self) -> str:
        return f"page_content='{self.page_content}'" + (f" metadata={self.metadata}" if self.metadata else "")

    def __repr__(self) -> str:
        id_ = "" if self.id is None else f"id={self.id!r}, "
        return f"Document({id_}metadata={self.metadata}, page_content={self.page_content!r})"


class VectorStoreRetrieverMemory(OneVariable):
    """Stores every turn as a document of what was said; loading finds those that are relevant to the input.

    ``retriever`` is a retriever or a vector store, LangChain's own or ours. A document reads ``Human: …`` and ``AI: …``;
    its metadata has its time, which is shown before it, the input, the output and a conversation id. Answers of the
    retriever are cached for the last ``cache_size`` queries, 0 for none, until this memory writes or the ``version`` of its
    vector store, where it has one, changes.
    """

    retriever: Any
    input_key: str | None = None
    return_docs: bool = False
    exclude_input_keys: Sequence[str] = ()
    cache_size: int = _MOST_CACHED

    _positional = ("retriever", "memory_key", "input_key", "return_docs", "exclude_input_keys")

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        check_count(self.cache_size, "cache_size")
        self.exclude_input_keys = tuple(self.exclude_input_keys or ())
        self._cached_version: object = None
        self._query_cache = OrderedDict[str, list[Any]]()
        self._begin()

    def _begin(self) -> None:
        self._saved: list[str] = []
        self._query_cache.clear()
        self._contexts_saved = self._documents_stored = self._retrievals = self._cache_hits = 0
        self._retrieval_time = 0.0

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The turns that are relevant to the input: their texts, each after its time, or the documents with
        ``return_docs``.

        Raises ``InvalidInput`` when it is not clear which the input is, or when it is no text.
        """
        asked = self._input(inputs)
        documents = self._retrieved(check_text(text_of(asked.content) if is_message(asked) else asked, "the input"))
        return {self.memory_key: documents if self.return_docs else "\n\n".join(map(_dated, documents))}

    def _retrieved(self, query: str) -> list[Any]:
        version = getattr(getattr(self.retriever, "vectorstore", None), "version", None)
        current = version() if callable(version) else None
        if current != self._cached_version:
            self._query_cache.clear()
            self._cached_version = current
        if query in self._query_cache:
            self._query_cache.move_to_end(query)
            self._cache_hits += 1
            return list(self._query_cache[query])
        begun = time.perf_counter()
        self._query_cache[query] = found = list(_asked(self.retriever, query))
        self._retrieval_time += time.perf_counter() - begun
        self._retrievals += 1
        while len(self._query_cache) > self.cache_size:
            self._query_cache.popitem(last=False)
        return list(found)

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Store the turn as one document: a line for every input and output.

        The input is the line ``Human: …`` and the output ``AI: …``; of several, each line begins with its own key.
        """
        left_out = {self.memory_key, *self.exclude_input_keys}
        asked = {key: _words(value) for key, value in check_keys(inputs, "inputs").items() if key not in left_out}
        answered = {key: _words(value) for key, value in check_keys(outputs, "outputs").items()}
        metadata = {
            "input": "\n".join(asked.values()),
            "output": "\n".join(answered.values()),
            "timestamp": time.time(),
            # The same inputs have the same id.
            "conversation_id": hashlib.blake2b(str(asked).encode(errors="replace"), digest_size=4).hexdigest(),
        }
        lines = [*_lines("Human", self.input_key, asked), *_lines("AI", "output", answered)]
        self._saved += _add_document(self.retriever, Document("\n".join(lines), metadata))
        self._contexts_saved += 1
        self._documents_stored += 1
        self._query_cache.clear()

    def clear(self) -> None:
        """Delete all documents of the store, and reset the cache and the counts.

        In a store without ``delete_collection`` only the documents that this object stored are deleted. Raises
        ``Unsupported`` for a store that cannot delete those either.
        """
        store = getattr(self.retriever, "vectorstore", self.retriever)
        if callable(delete_all := getattr(store, "delete_collection", None)):
            delete_all()
        elif len(self._saved) == self._documents_stored and callable(delete := getattr(store, "delete", None)):
            delete(list(self._saved))
        elif self._documents_stored:
            raise Unsupported(
                f"{shown(store)} cannot delete documents: it has neither delete_collection nor ids to delete"
            )
        self._begin()

    def get_retrieval_stats(self) -> dict[str, Any]:
        """How many turns were stored, how often and how long the retriever was asked, and how often the cache answered."""
        loads = self._retrievals + self._cache_hits
        return {
            "total_contexts_saved": self._contexts_saved,
            "total_retrievals": self._retrievals,
            "average_retrieval_time": self._retrieval_time / self._retrievals if self._retrievals else 0.0,
            "total_documents_stored": self._documents_stored,
            "cache_hits": self._cache_hits,
            "cache_hit_rate": self._cache_hits / loads if loads else 0.0,
            "cache_size": len(self._query_cache),
            "memory_type": "VectorStoreRetrieverMemory",
        }


def _words(value: Any) -> str:
    return text_of(value.content) if is_message(value) else str(value)


def _lines(speaker: str, key: str | None, said: Mapping[str, str]) -> Iterator[str]:
    spoken = next(iter(said)) if len(said) == 1 else key
    return (f"{speaker if name == spoken else name}: {text}" for name, text in said.items())


def _dated(document: Any) -> str:
    when = document.metadata.get("timestamp")
    if not isinstance(when, int | float):
        return document.page_content
    return f"[{datetime.fromtimestamp(when).astimezone():%Y-%m-%d %H:%M}] {document.page_content}"


def _asked(retriever: Any, query: str) -> Sequence[Any]:
    for method in ("invoke", "get_relevant_documents", "similarity_search"):
        found: Any = getattr(retriever, method, None)
        if callable(found):
            return cast("Sequence[Any]", found(query))
    raise InvalidInput(f"a retriever has 'invoke', which {shown(retriever)} has not")


def _add_document(retriever: Any, document: Document) -> list[str]:
    """Store a document by the method that the retriever or its store has, and return the ids that the store gave."""
    store: Any = getattr(retriever, "vectorstore", retriever)
    for owner in (retriever, store):
        if hasattr(owner, "add_documents"):
            return list(map(str, owner.add_documents([document]) or ()))
    if hasattr(store, "add_texts"):
        return list(map(str, store.add_texts(texts=[document.page_content], metadatas=[document.metadata]) or ()))
    raise InvalidInput(f"a retriever that remembers has 'add_documents', which {shown(retriever)} has not")


_Metadatas: TypeAlias = Sequence[Mapping[str, Any]]
_WRITTEN = "vectorstore/written"


class _AdmitsAll(Gate):
    """Admits every text: a document that is stored must be found again."""

    def judge(self, text: str, *, speaker: str = "", trust: str = "user") -> GateVerdict:
        return GateVerdict(True, text)


class MemwellVectorStore:
    """Documents in the store at ``url``, durable and safe for several processes.

    ``embedder`` is ``"local"`` (runs in this process, downloads nothing), None for words alone, any embedder or function,
    or LangChain's embeddings.
    """

    def __init__(self, url: Store = "memory:", *, space: SpaceLike = "vectorstore", embedder: Any = "local") -> None:
        # Each store in memory is separate.
        self.backend = open_backend("memory:") if url == "memory:" else shared_backend(url)
        self.space = as_space(space)
        self.memory = Memory(self.backend, self.space, embedder=_embedder(embedder), gate=_AdmitsAll())

    def add_texts(
        self, texts: Iterable[str], metadatas: _Metadatas | None = None, *, ids: Sequence[str] | None = None
    ) -> list[str]:
        """Store texts, on disk when it returns, and return their ids; a text replaces the stored one of its id.

        Raises ``InvalidInput`` when there are not as many metadata or ids as texts, or metadata is not plain JSON data.
        """
        given = [check_text(text, "a document's text") for text in texts]
        for what, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(given):
                raise InvalidInput(f"there are {len(given)} texts and {len(values)} {what}")
        names = [new_id() for _ in given] if ids is None else list(ids)
        # Checked before the stored documents of these ids are erased.
        fields = [check_metadata(one) for one in metadatas or [dict[str, Any]()] * len(given)]
        self._drop(ids or ())
        for id_, text, metadata in zip(names, given, fields, strict=True):
            self.memory.remember(text, id=id_, metadata=metadata, kind="document", trust="document")
        self._written()
        return names

    def add_documents(self, documents: Sequence[Any], *, ids: Sequence[str] | None = None) -> list[str]:
        """Store documents, ours or LangChain's own, and return their ids."""
        for one in documents:
            check_shape(one, ("page_content", "metadata"), "a vector store holds Documents")
        named = [getattr(one, "id", None) or new_id() for one in documents] if ids is None else ids
        return self.add_texts([one.page_content for one in documents], [one.metadata for one in documents], ids=named)

    def similarity_search(self, query: str, k: int = 4) -> list[Document]:
        """The documents that answer the query best, best first."""
        found = self.memory.recall(query, limit=k) if check_text(query, "a query").strip() else []
        return [Document(one.text, one.metadata, id=one.id) for one in found]

    def delete(self, ids: Sequence[str] | None = None) -> bool:
        """Erase documents; a missing one is no error. Without ids nothing is erased."""
        self._drop(ids or ())
        self._written()
        return True

    def delete_collection(self) -> None:
        """Erase all documents."""
        self.memory.erase_all()
        self._written()

    def version(self) -> int:
        """A number that changes with every write, in this process or another."""
        entry = self.backend.kv.get(self.space / "memwell", _WRITTEN)
        return 0 if entry is None else entry.version

    def as_retriever(self, *, search_kwargs: Mapping[str, Any] | None = None, **_: Any) -> MemwellRetriever:
        """A retriever over it; ``search_kwargs`` are those of ``similarity_search``, such as ``{"k": 1}``."""
        return MemwellRetriever(self, dict(search_kwargs or {}))

    def _written(self) -> None:
        self.backend.kv.put(self.space / "memwell", _WRITTEN, True)

    def _drop(self, ids: Iterable[str]) -> None:
        for id_ in ids:
            with suppress(NotFound):
                self.memory.get(id_)
                self.memory.erase([id_])


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


def _embedder(given: Any) -> Embedder | None:
    if given is None:
        return None
    if given == "local":
        # Loads a model's run-time, which only a program that stores documents needs.
        from memwell.models.local import LocalEmbedder  # noqa: PLC0415

        return LocalEmbedder()
    if hasattr(given, "embed_documents"):
        # LangChain's embeddings.
        return as_embedder(given.embed_documents, name=type(given).__name__)
    return as_embedder(given)
