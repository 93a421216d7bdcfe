"""LangChain's building blocks over memwell: subclasses of langchain-core's own base classes.

    from memwell.integrations.langchain_core import MemwellChatMessageHistory

    history = MemwellChatMessageHistory("trip", "app.db")

Histories, stores, caches and vector stores take the URL of a store or an open ``Backend``. What names the same URL in one
process shares one store, opened once. Importing this room raises ``MissingDependency``, which here is an ``ImportError``
too, when langchain-core is not installed.
"""

# ruff: noqa: A002 - ``filter`` is what LangChain calls it

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from msgspec.structs import replace

from memwell._asyncify import asyncify, run_blocking
from memwell.errors import Conflict, InvalidInput, MissingDependency
from memwell.filters import FilterLike, id_begins_with
from memwell.history import History
from memwell.longterm.memory import HasMemory, Memory, as_memory
from memwell.longterm.recall import Recalled
from memwell.models.ports import Embedder
from memwell.records import DEFAULT_SPACE, Hit, Record, Space, SpaceLike, Thread, as_space, paged
from memwell.storage.registry import Store, shared_backend
from memwell.transcript.langchain import apart, from_langchain, is_shown, to_langchain
from memwell.values import check_count, check_text, check_type, new_id, shown

try:
    from langchain_core.caches import BaseCache
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.stores import BaseStore
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance
    from pydantic import Field
except ModuleNotFoundError as error:

    class _MissingLangChain(MissingDependency, ImportError):
        """A program that tries the import catches ``ImportError``."""

    raise _MissingLangChain.of("memwell.integrations.langchain_core needs langchain-core", "langchain") from error

if TYPE_CHECKING:
    from memwell.models.local.embedder import Mode

__all__ = [
    "MemwellByteStore",
    "MemwellCache",
    "MemwellChatMessageHistory",
    "MemwellEmbeddings",
    "MemwellRetriever",
    "MemwellStore",
    "MemwellVectorStore",
]

DEFAULT_URL = "memwell.db"

S = TypeVar("S", bound="MemwellVectorStore")
V = TypeVar("V")
_BLOCK = 500
_DIGEST = 32
_KINDS: dict[str, type[Generation]] = {
    one.__name__: one for one in (Generation, GenerationChunk, ChatGeneration, ChatGenerationChunk)
}


def inner_space(space: SpaceLike, kind: str) -> Space:
    """The space of what LangChain stores by key or vector, separate from the memories of the same space."""
    return as_space(space) / "langchain" / kind


class _KeyValueStore(BaseStore[str, V]):
    """Values by key, in the order of the keys' code points. A batch is stored whole or not at all.

    A store sees the keys of its own space only. Raises ``InvalidInput`` for a key that is empty or too long.
    """

    def __init__(self, url_or_backend: Store = DEFAULT_URL, *, space: SpaceLike = DEFAULT_SPACE) -> None:
        self.backend = shared_backend(url_or_backend)
        self.space = inner_space(space, "store")

    def mget(self, keys: Sequence[str]) -> list[V | None]:
        """The values of the keys, in their order; None where there is none."""
        entries = [self.backend.kv.get(self.space, key) for key in keys]
        return [None if entry is None else cast(V, entry.value) for entry in entries]

    def mset(self, key_value_pairs: Sequence[tuple[str, V]]) -> None:
        """Store values, all or none. Raises ``InvalidInput`` for a value that this store does not take."""
        pairs = [(key, self._checked(key, value)) for key, value in key_value_pairs]
        with self.backend.together():
            for key, value in pairs:
                self.backend.kv.put(self.space, key, value)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete keys; a missing key is no error."""
        with self.backend.together():
            for key in keys:
                self.backend.kv.delete(self.space, key)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """The keys that begin with ``prefix``, or all, in order."""
        where = id_begins_with(check_text(prefix, "a prefix")) if prefix else None
        scan = partial(self.backend.kv.scan, self.space, where=where, limit=_BLOCK)
        return (entry.key for entry in paged(lambda cursor: scan(cursor=cursor)))

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        for key in await run_blocking(lambda: list(self.yield_keys(prefix=prefix))):
            yield key

    amget = asyncify(mget)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    amset = asyncify(mset)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    amdelete = asyncify(mdelete)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared

    def _checked(self, key: str, value: V) -> V:
        return value


class MemwellStore(_KeyValueStore[Any]):
    """Values by key: plain JSON data or bytes, which come back as they went in. A batch is stored whole or not at all."""


class MemwellByteStore(_KeyValueStore[bytes]):
    """Bytes by key, as ``CacheBackedEmbeddings`` and the like want them; shares its keys with ``MemwellStore``."""

    def _checked(self, key: str, value: bytes) -> bytes:
        rule = f"the value of {shown(key)} must be bytes"
        return bytes(check_type(value, (bytes, bytearray, memoryview), rule, "; MemwellStore takes JSON"))


class MemwellCache(BaseCache):
    """Answers by their whole question: the prompt and the model's settings. Several processes may share it.

    ``ttl`` is for how many seconds an answer is kept; None is until ``clear``. A cache sees the answers of its own space
    only. Reading creates langchain-core's own generations and messages and no other objects.
    """

    def __init__(
        self, url_or_backend: Store = DEFAULT_URL, *, space: SpaceLike = DEFAULT_SPACE, ttl: float | None = None
    ) -> None:
        self.backend = shared_backend(url_or_backend)
        self.space = inner_space(space, "cache")
        self.ttl = ttl

    def lookup(self, prompt: str, llm_string: str) -> Sequence[Generation] | None:
        """The answer that was stored for this question, or None. One that cannot be read counts as none."""
        entry = self.backend.kv.get(self.space, _key(prompt, llm_string))
        if entry is None:
            return None
        try:
            return [_generation(one) for one in cast("list[dict[str, Any]]", entry.value)]
        except (TypeError, ValueError, LookupError):
            # Another version of langchain-core may have written it; asking the model again is always right.
            return None

    def update(self, prompt: str, llm_string: str, return_val: Sequence[Generation]) -> None:
        """Store the answer to a question. One that is not plain JSON data, or is too large, is not kept."""
        try:
            self.backend.kv.put(self.space, _key(prompt, llm_string), [_kept(one) for one in return_val], ttl=self.ttl)
        except InvalidInput:
            # The caller has its answer already: failing to cache it must not fail the call.
            return

    def clear(self, **kwargs: Any) -> None:
        """Delete every answer of this cache, all or none."""
        with self.backend.together():
            while entries := self.backend.kv.scan(self.space, limit=_BLOCK).items:
                for entry in entries:
                    self.backend.kv.delete(self.space, entry.key)

    alookup = asyncify(lookup)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    aupdate = asyncify(update)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    aclear = asyncify(clear)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared


def _key(prompt: str, llm_string: str) -> str:
    first, second = (one.encode("utf-8", "surrogatepass") for one in (prompt, llm_string))
    # The length in front keeps two pairs apart that read the same when written one behind the other.
    return blake2b(b"%d:%b%b" % (len(first), first, second), digest_size=_DIGEST).hexdigest()


def _kept(generation: Generation) -> dict[str, Any]:
    kind = type(generation).__name__
    if _KINDS.get(kind) is not type(generation):
        raise InvalidInput(f"a {kind} cannot be cached")
    kept: dict[str, Any] = {"kind": kind, "info": generation.generation_info}
    if isinstance(generation, ChatGeneration):
        return {**kept, "message": message_to_dict(generation.message)}
    return {**kept, "text": generation.text}


def _generation(kept: dict[str, Any]) -> Generation:
    kind = _KINDS[kept["kind"]]
    if issubclass(kind, ChatGeneration):
        return kind(message=messages_from_dict([kept["message"]])[0], generation_info=kept["info"])
    return kind(text=kept["text"], generation_info=kept["info"])


class MemwellChatMessageHistory(BaseChatMessageHistory):
    """A conversation that is on disk when a call returns, and read alike by other threads and processes.

    It is the thread ``session_id`` of the space. Messages of every type come back as they went in, ids, tool calls, usage
    and artifacts included; the same id may come twice. The store is opened with the first call, so that making a history
    never blocks an event loop; that call raises what ``open_backend`` raises. Raises ``InvalidInput`` for a session without
    a name.
    """

    def __init__(
        self, session_id: str, url_or_backend: Store = DEFAULT_URL, *, space: SpaceLike = DEFAULT_SPACE
    ) -> None:
        self.session_id = session_id
        self._store = url_or_backend
        self._thread = Thread(as_space(space), session_id)

    @cached_property
    def history(self) -> History:
        """The same conversation as memwell sees it."""
        return History(shared_backend(self._store), self.session_id, space=self._thread.space)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All messages, in a new list. What is hidden from models is left out."""
        held = (one for message in self.history if is_shown(message) for one in apart(message))
        return messages_from_dict([to_langchain(one) for one in held])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages at the end, all or none.

        Raises ``InvalidInput`` for one that holds what is not plain JSON data, such as an object as a tool's artifact.
        """
        made = [from_langchain(message_to_dict(one)) for one in messages]
        try:
            self.history.add(*made)
        except Conflict:
            # LangChain lets an id come twice. The core does not; LangChain's id is also in the metadata.
            self.history.add(*[one.changed(id=new_id()) for one in made])

    def clear(self) -> None:
        """Delete the conversation."""
        self.history.delete()

    async def aget_messages(self) -> list[BaseMessage]:
        return await run_blocking(lambda: self.messages)

    aadd_messages = asyncify(add_messages)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    aclear = asyncify(clear)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_id!r}, space={self._thread.space!r})"


# Documents found by meaning


class MemwellEmbeddings(Embeddings):
    """Embeddings that need no key, no server and no download; or those of any memwell ``Embedder``.

    ``model`` is ``"local"`` (English and 15 more languages), ``"minilm"`` (English), ``"use"`` (many languages) or an
    embedder. Rows have unit length; a text with nothing to embed has a row of zeros. Raises ``ConfigurationError`` for an
    unknown name.
    """

    def __init__(self, model: Mode | Embedder = "local") -> None:
        self.embedder = model if isinstance(model, Embedder) else _local(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for every text, in order. Raises ``InvalidInput`` for something that is not a text."""
        return self.embedder.embed(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return self.embed_documents([text])[0]

    aembed_documents = asyncify(embed_documents)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    aembed_query = asyncify(embed_query)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.embedder.name!r})"


def _local(mode: Mode) -> Embedder:
    # Loads numpy, which a program with an embedder of its own may not need.
    from memwell.models.local import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder(mode)


class MemwellVectorStore(VectorStore):
    """Documents with their vectors in a memwell store. A store sees the documents of its own space only.

    ``embedding`` is any of LangChain's; by default the local models are used. A document with the id of a stored one
    replaces it, and a call stores all of its documents or none. A score is a cosine: the higher the better. A search takes
    ``filter``, memwell's (``{"city": "Paris", "year": {"$ge": 2020}}``), and raises ``InvalidInput`` for an unknown
    argument.
    """

    def __init__(
        self,
        embedding: Embeddings | None = None,
        url_or_backend: Store = DEFAULT_URL,
        *,
        space: SpaceLike = DEFAULT_SPACE,
    ) -> None:
        self.embedding = MemwellEmbeddings() if embedding is None else embedding
        self.backend = shared_backend(url_or_backend)
        self.space = inner_space(space, "documents")

    @property
    def embeddings(self) -> Embeddings:
        """What makes the vectors."""
        return self.embedding

    @classmethod
    def from_texts(
        cls: type[S],
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> S:
        """A store with these texts added; ``url_or_backend`` and ``space`` say which."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts, all or none, and return their ids; one without an id gets a new one.

        Raises ``InvalidInput`` for lists of different lengths and for metadata that is not plain JSON data.
        """
        given = list(texts)
        count = len(given)
        rows = zip(given, _as_many("metadatas", metadatas, count), _as_many("ids", ids, count), strict=True)
        # Checked before an embedder is paid for them.
        records = [
            Record(
                text=text,
                space=self.space,
                id=new_id() if id_ is None else id_,
                kind="document",
                metadata=dict(metadata or {}),
            )
            for text, metadata, id_ in rows
        ]
        vectors = self.embedding.embed_documents(given)
        if len(vectors) != count:
            raise InvalidInput(f"the embedding made {len(vectors)} vectors of {count} texts")
        # A text with nothing to embed has no direction: it is kept without a vector, for get_by_ids.
        pairs = zip(records, vectors, strict=True)
        self.backend.index.upsert([replace(record, vector=vector if any(vector) else None) for record, vector in pairs])
        return [record.id for record in records]

    def delete(self, ids: list[str] | None = None, *, filter: FilterLike | None = None, **kwargs: Any) -> bool:
        """Delete the documents of these ids, or those that satisfy ``filter``, or, without either, all of them."""
        _refuse(kwargs)
        if ids is not None and filter is not None:
            raise InvalidInput("delete takes 'ids' or 'filter', not both")
        if ids is not None:
            self.backend.index.delete(self.space, ids)
            return True
        with self.backend.transaction():
            while found := self.backend.index.scan(self.space, where=filter, limit=_BLOCK).items:
                self.backend.index.delete(self.space, [record.id for record in found])
        return True

    adelete = asyncify(delete)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The stored documents of these ids, in the order of the ids."""
        return [_document(record) for record in self.backend.index.get(self.space, ids)]

    aget_by_ids = asyncify(get_by_ids)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The ``k`` documents nearest in meaning, best first."""
        return self.similarity_search_by_vector(self.embedding.embed_query(query), k, **kwargs)

    def similarity_search_by_vector(self, embedding: list[float], k: int = 4, **kwargs: Any) -> list[Document]:
        """The ``k`` documents nearest to a vector, best first."""
        return [_document(hit.record) for hit in self._hits(embedding, k, **kwargs)]

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        """The ``k`` documents nearest in meaning, best first, each with its cosine from −1 to 1."""
        hits = self._hits(self.embedding.embed_query(query), k, **kwargs)
        return [(_document(hit.record), hit.score) for hit in hits]

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """Of the ``fetch_k`` nearest documents, ``k`` that differ: ``lambda_mult`` 1 looks at nearness alone, 0 at
        difference alone."""
        vector = self.embedding.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **kwargs: Any
    ) -> list[Document]:
        """The same for a vector. Raises ``InvalidInput`` for a ``lambda_mult`` that is not from 0 to 1."""
        if not 0 <= lambda_mult <= 1:
            raise InvalidInput(f"lambda_mult must be from 0 to 1, not {shown(lambda_mult)}")
        hits = self._hits(embedding, max(check_count(k, "k"), check_count(fetch_k, "fetch_k")), **kwargs)
        # Hits come without their vectors.
        records = self.backend.index.get(self.space, [hit.record.id for hit in hits])
        vectors = [list(record.vector or ()) for record in records]
        return [
            _document(records[at]) for at in maximal_marginal_relevance(np.array(embedding), vectors, lambda_mult, k)
        ]

    aadd_texts = asyncify(add_texts)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    asimilarity_search = asyncify(similarity_search)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    asimilarity_search_with_score = asyncify(similarity_search_with_score)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    asimilarity_search_by_vector = asyncify(similarity_search_by_vector)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    amax_marginal_relevance_search = asyncify(max_marginal_relevance_search)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared
    amax_marginal_relevance_search_by_vector = asyncify(max_marginal_relevance_search_by_vector)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared

    def _hits(
        self, vector: Sequence[float], count: int, *, filter: FilterLike | None = None, **unknown: Any
    ) -> list[Hit]:
        _refuse(unknown)
        if not check_count(count, "k") or not any(vector):
            return []
        return self.backend.index.near(self.space, vector, limit=count, where=filter)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # Opposite meanings are not less relevant than unrelated ones, and a stored vector's rounding may go over 1.
        return lambda cosine: min(max(cosine, 0.0), 1.0)


def _as_many(what: str, values: Sequence[Any] | None, count: int) -> Sequence[Any]:
    if not values:
        return [None] * count
    if len(values) != count:
        raise InvalidInput(f"there must be as many {what} as texts, {count}, not {len(values)}")
    return values


def _refuse(unknown: Mapping[str, Any]) -> None:
    # A search that ignored a misspelt filter would return documents that the caller meant to exclude.
    if unknown:
        raise InvalidInput(f"unknown arguments {', '.join(map(repr, unknown))}; a search narrows by 'filter' alone")


def _document(record: Record) -> Document:
    return Document(id=record.id, page_content=record.text, metadata=record.metadata)


class MemwellRetriever(BaseRetriever):
    """Recalls from a memory that ``memwell.open`` gave: words, meaning, time and people together.

    A document has the memory's text and id; its metadata has the memory's own and, above them, ``id``, ``score``, ``when``
    (ISO 8601, UTC), ``speaker``, ``session``, ``kind`` and ``why``. A call may name ``k`` or any option of ``recall``:
    ``retriever.invoke("who?", k=3, speaker="Ann")``. Raises ``InvalidInput`` for an option that breaks a rule.
    """

    memory: Memory | HasMemory
    """Where to look: what ``memwell.open`` returns, or its ``at(space)``."""
    k: int = 5
    """How many documents at most."""
    search_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Options of ``recall`` for every call, such as ``{"speaker": "Ann", "diversity": 0.3}``."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        asked: dict[str, Any] = {"k": self.k, **self.search_kwargs, **options}
        found = as_memory(self.memory).recall(query, limit=asked.pop("k"), **asked)
        return [_recalled(hit, query) for hit in found]

    _aget_relevant_documents = asyncify(_get_relevant_documents)  # pyright: ignore[reportAssignmentType] - a function, where an async method is declared


def _recalled(hit: Recalled, query: str) -> Document:
    fields = {
        "id": hit.id,
        "score": hit.score,
        "when": hit.time.isoformat(),
        "speaker": hit.speaker,
        "session": hit.session,
        "kind": hit.kind,
        "why": hit.why(query=query),
    }
    return Document(id=hit.id, page_content=hit.text, metadata={**hit.metadata, **fields})
