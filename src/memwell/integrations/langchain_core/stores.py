"""LangChain's chat history, key-value store and cache over a memwell store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, TypeVar, cast

from langchain_core.caches import BaseCache
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk
from langchain_core.stores import BaseStore

from memwell._asyncify import asyncify, run_blocking
from memwell.errors import Conflict, InvalidInput
from memwell.filters import id_begins_with
from memwell.history import History
from memwell.messages import Message
from memwell.records import DEFAULT_SPACE, Space, SpaceLike, as_space, paged
from memwell.storage.registry import Store, shared_backend
from memwell.transcript.langchain import MARK, from_langchain, to_langchain
from memwell.values import check_text, check_type, new_id, shown

DEFAULT_URL = "memwell.db"

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

    It is the thread ``session_id`` of the space, and ``history`` is the same conversation as memwell sees it. Messages of
    every type come back as they went in, ids, tool calls, usage and artifacts included; the same id may come twice. Raises
    what ``open_backend`` raises, and ``InvalidInput`` for a session without a name.
    """

    def __init__(
        self, session_id: str, url_or_backend: Store = DEFAULT_URL, *, space: SpaceLike = DEFAULT_SPACE
    ) -> None:
        self.session_id = session_id
        self.history = History(shared_backend(url_or_backend), session_id, space=space)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """All messages, in a new list. What is hidden from models is left out."""
        return messages_from_dict([to_langchain(one) for one in self.history if _is_theirs(one)])

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
        return f"{type(self).__name__}({self.session_id!r}, space={self.history.thread.space!r})"


def _is_theirs(message: Message) -> bool:
    """Whether it may go to a model, or came from LangChain, whose every message comes back."""
    return message.for_model or MARK in message.metadata
