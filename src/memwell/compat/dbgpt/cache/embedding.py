"""A cache of embeddings: a text is embedded once by each model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, ClassVar, TypeAlias

import msgspec

from memwell._asyncify import asyncify, blocking
from memwell.compat.dbgpt.cache.clients import (
    CacheClient,
    CacheManager,
    LocalCacheManager,
    check_value,
    manager_of,
    value_of,
)
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, CacheValue, FieldsKey
from memwell.compat.dbgpt.cache.similarity import embedder_of
from memwell.compat.dbgpt.cache.storage import CacheStorage
from memwell.compat.dbgpt.serialization import MsgpackSerializer, Serializer
from memwell.errors import BadModelOutput, InvalidInput
from memwell.models.callables import answer_of
from memwell.models.ports import Embedder
from memwell.values import shown

_Embed: TypeAlias = Callable[[list[str]], list[list[float]]]


class EmbeddingCacheKeyData(msgspec.Struct, frozen=True):
    """Which text, and by which model. Raises ``InvalidInput`` for a text that is none."""

    text: str
    model_name: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not isinstance(self.model_name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a text and the name of a model must be strings, not {shown(self.text)}")


class EmbeddingCacheKey(FieldsKey[EmbeddingCacheKeyData]):
    """The key of a text's vector."""

    text_field: ClassVar[str | None] = "text"
    _serializer: Serializer | None = MsgpackSerializer()

    def __init__(self, text: str, model_name: str) -> None:
        super().__init__(EmbeddingCacheKeyData(text, model_name))

    def to_dict(self) -> dict[str, Any]:
        """The fields."""
        return msgspec.structs.asdict(self.config)


class EmbeddingCacheValue(CacheValue[list[float]]):
    """A text's vector. Raises ``InvalidInput`` for what is not numbers."""

    _serializer: Serializer | None = MsgpackSerializer()

    def __init__(self, embeddings: Sequence[float]) -> None:
        try:
            self.embeddings = [float(number) for number in embeddings]
        except (TypeError, ValueError):
            raise InvalidInput(f"an embedding must be numbers, not {shown(embeddings)}") from None

    def to_dict(self) -> dict[str, Any]:
        """The value as plain data."""
        return {"embeddings": self.embeddings}

    def get_value(self) -> list[float]:
        """The vector."""
        return self.embeddings


class EmbeddingCacheClient(CacheClient[EmbeddingCacheKeyData, list[float]]):
    """A cache of embeddings over a manager, or over a storage."""

    def __init__(self, cache_manager: CacheManager | CacheStorage | None = None) -> None:
        self._manager = manager_of(cache_manager, MsgpackSerializer())

    @property
    def manager(self) -> CacheManager:
        """Where the vectors are kept."""
        return self._manager

    async def get(
        self, key: CacheKey[EmbeddingCacheKeyData], cache_config: CacheConfig | None = None
    ) -> EmbeddingCacheValue | None:
        """The vector of a key, or None."""
        return await self._manager.get(key, EmbeddingCacheValue, cache_config)

    async def set(
        self,
        key: CacheKey[EmbeddingCacheKeyData],
        value: CacheValue[list[float]],
        cache_config: CacheConfig | None = None,
    ) -> None:
        """Keep a vector. Raises ``InvalidInput`` for what is none."""
        check_value(value)
        await self._manager.set(key, value, cache_config)

    async def exists(self, key: CacheKey[EmbeddingCacheKeyData], cache_config: CacheConfig | None = None) -> bool:
        """Whether there is a vector."""
        return await self.get(key, cache_config) is not None

    def new_key(self, **kwargs: Any) -> EmbeddingCacheKey:
        """A key of ``text`` and ``model_name``. Raises ``InvalidInput`` for other fields."""
        return self._made(EmbeddingCacheKey, kwargs)

    def new_value(self, **kwargs: Any) -> EmbeddingCacheValue:
        """A value of ``embeddings``. Raises ``InvalidInput`` for other fields."""
        return self._made(EmbeddingCacheValue, kwargs)

    def _made(self, kind: Any, fields: dict[str, Any]) -> Any:
        try:
            made = kind(**fields)
        except TypeError as error:
            raise InvalidInput(f"an {kind.__name__} cannot be made so: {error}") from None
        made.set_serializer(self._manager.serializer)
        return made

    get_sync = blocking(get)
    set_sync = blocking(set)  # noqa: A003  (the method above)
    exists_sync = blocking(exists)


class CachedEmbeddings:
    """Embeddings that remember: each text is asked for once, also within one call, and comes back as the model gave it.

    ``embeddings`` is an embedder, a function of texts, or an object with ``embed_documents``; if it has ``embed_query``
    too, questions are embedded by that and kept apart. ``cache`` is a client, a manager or a storage, in memory by default.
    ``model_name`` keeps the vectors of several models apart.
    """

    def __init__(
        self,
        embeddings: Any,
        cache: EmbeddingCacheClient | CacheManager | CacheStorage | None = None,
        *,
        model_name: str | None = None,
    ) -> None:
        name = embedder_of(embeddings).name
        self._documents = _documents(embeddings, name)
        self._questions = _questions(embeddings, name)
        self._client = cache if isinstance(cache, EmbeddingCacheClient) else EmbeddingCacheClient(cache)
        self._model = model_name or name

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for every text. Raises what the embedder raises, and keeps nothing then."""
        return self._embedded(texts, self._model, self._documents)

    def embed_query(self, text: str) -> list[float]:
        """The vector of one question."""
        if self._questions is None:
            return self.embed_documents([text])[0]
        return self._embedded([text], f"{self._model} (questions)", self._questions)[0]

    def _embedded(self, texts: Sequence[str], model: str, embed: _Embed) -> list[list[float]]:
        keys = [self._client.new_key(text=text, model_name=model) for text in texts]
        found = {key.config.text: self._get(key) for key in dict.fromkeys(keys)}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            found.update(zip(missing, embed(missing), strict=True))
            for key in dict.fromkeys(keys):
                if key.config.text in missing:
                    self._set(key, found[key.config.text] or [])
        return [list(found[key.config.text] or []) for key in keys]

    def _get(self, key: EmbeddingCacheKey) -> list[float] | None:
        manager = self._client.manager
        if isinstance(manager, LocalCacheManager):
            # Straight to the storage: no event loop stands between.
            value = value_of(manager.storage.get(key), EmbeddingCacheValue, manager.serializer)
        else:
            value = manager.get_sync(key, EmbeddingCacheValue)
        return None if value is None else value.embeddings

    def _set(self, key: EmbeddingCacheKey, vector: list[float]) -> None:
        manager = self._client.manager
        value = self._client.new_value(embeddings=vector)
        if isinstance(manager, LocalCacheManager):
            manager.storage.set(key, value)
        else:
            manager.set_sync(key, value)

    aembed_documents = asyncify(embed_documents)
    aembed_query = asyncify(embed_query)


def _documents(embeddings: Any, name: str) -> _Embed:
    if isinstance(embeddings, Embedder):
        return lambda texts: _vectors(name, embeddings.embed(texts), len(texts))
    call = getattr(embeddings, "embed_documents", None) or getattr(embeddings, "embed", embeddings)
    return lambda texts: _vectors(name, answer_of(name, call, texts), len(texts))


def _questions(embeddings: Any, name: str) -> _Embed | None:
    call = getattr(embeddings, "embed_query", None)
    if isinstance(embeddings, Embedder) or not callable(call):
        return None
    return lambda texts: _vectors(name, [answer_of(name, call, text) for text in texts], len(texts))


def _vectors(name: str, rows: Any, count: int) -> list[list[float]]:
    """The vectors as they are. Raises ``BadModelOutput`` for anything but as many vectors of finite numbers."""
    try:
        vectors = [[float(number) for number in row] for row in rows]
    except (TypeError, ValueError):
        raise BadModelOutput(f"{name} must give vectors of numbers, not {shown(rows)}") from None
    if len(vectors) != count or not all(map(math.isfinite, chain.from_iterable(vectors))):
        raise BadModelOutput(f"{name} must give one vector of finite numbers for each text; it gave {len(vectors)}")
    return vectors


__all__ = [
    "CachedEmbeddings",
    "EmbeddingCacheClient",
    "EmbeddingCacheKey",
    "EmbeddingCacheKeyData",
    "EmbeddingCacheValue",
]
