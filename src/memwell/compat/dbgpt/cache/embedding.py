"""A cache of embeddings: a text is embedded once by each model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import msgspec

from memwell._asyncify import asyncify, blocking
from memwell.compat.dbgpt.cache.clients import CacheClient, CacheManager, LocalCacheManager, manager_of, value_of
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, CacheValue, FieldsKey
from memwell.compat.dbgpt.cache.similarity import embedder_of
from memwell.compat.dbgpt.cache.storage import CacheStorage
from memwell.compat.dbgpt.serialization import MsgpackSerializer, Serializer
from memwell.errors import InvalidInput
from memwell.values import shown


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
        """Keep a vector."""
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
    """Embeddings that remember: each text is asked for once, also within one call.

    ``embeddings`` is an embedder, a function of texts, or an object with ``embed_documents``; ``cache`` a client, a
    manager or a storage, in memory by default. ``model_name`` keeps the vectors of several models apart.
    """

    def __init__(
        self,
        embeddings: Any,
        cache: EmbeddingCacheClient | CacheManager | CacheStorage | None = None,
        *,
        model_name: str | None = None,
    ) -> None:
        self._embedder = embedder_of(embeddings)
        self._client = cache if isinstance(cache, EmbeddingCacheClient) else EmbeddingCacheClient(cache)
        self._model = model_name or self._embedder.name

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for every text. Raises what the embedder raises, and keeps nothing then."""
        keys = [self._client.new_key(text=text, model_name=self._model) for text in texts]
        found = {key.config.text: self._get(key) for key in dict.fromkeys(keys)}
        missing = [text for text, vector in found.items() if vector is None]
        if missing:
            rows = cast("list[list[float]]", self._embedder.embed(missing).tolist())
            found.update(zip(missing, rows, strict=True))
            for key in dict.fromkeys(keys):
                if key.config.text in missing:
                    self._set(key, found[key.config.text] or [])
        return [list(found[key.config.text] or []) for key in keys]

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.embed_documents([text])[0]

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


__all__ = [
    "CachedEmbeddings",
    "EmbeddingCacheClient",
    "EmbeddingCacheKey",
    "EmbeddingCacheKeyData",
    "EmbeddingCacheValue",
]
