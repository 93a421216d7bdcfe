"""Who uses a cache: a client for one kind of key and value, over a manager that knows where the entries are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from memwell._asyncify import blocking, run_blocking
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, CacheValue, K, V
from memwell.compat.dbgpt.cache.memory import MemoryCacheStorage
from memwell.compat.dbgpt.cache.storage import CacheStorage, StorageItem
from memwell.compat.dbgpt.serialization import JsonSerializer, Serializable, Serializer
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import InvalidInput
from memwell.values import shown

S = TypeVar("S", bound=Serializable)


class CacheClient(ABC, Generic[K, V]):
    """A cache of one kind of key and value."""

    @abstractmethod
    async def get(self, key: CacheKey[K], cache_config: CacheConfig | None = None) -> CacheValue[V] | None:
        """The value of a key, or None."""

    @abstractmethod
    async def set(self, key: CacheKey[K], value: CacheValue[V], cache_config: CacheConfig | None = None) -> None:
        """Keep a value. Raises what the storage's ``set`` raises."""

    @abstractmethod
    async def exists(self, key: CacheKey[K], cache_config: CacheConfig | None = None) -> bool:
        """Whether the key would be found."""

    @abstractmethod
    def new_key(self, **kwargs: Any) -> CacheKey[K]:
        """A key of these fields. Raises ``InvalidInput`` for fields that are no key."""

    @abstractmethod
    def new_value(self, **kwargs: Any) -> CacheValue[V]:
        """A value of these fields. Raises ``InvalidInput`` for fields that are no value."""

    get_sync = blocking(get)
    set_sync = blocking(set)  # noqa: A003  (the method above)
    exists_sync = blocking(exists)


class CacheManager(ABC):
    """Where clients keep their entries, and how values are written."""

    name = "dbgpt_model_cache_manager"

    def __init__(self, system_app: Any = None) -> None:
        self.system_app = system_app

    def init_app(self, system_app: Any) -> None:
        """Belong to an application. Nothing here needs one."""
        self.system_app = system_app

    @abstractmethod
    async def set(self, key: CacheKey[K], value: CacheValue[V], cache_config: CacheConfig | None = None) -> None:
        """Keep a value. Raises what the storage's ``set`` raises."""

    @abstractmethod
    async def get(self, key: CacheKey[K], cls: type[S], cache_config: CacheConfig | None = None) -> S | None:
        """The value of a key as a fresh ``cls``, or None. What does not fit ``cls`` is a miss."""

    @property
    @abstractmethod
    def serializer(self) -> Serializer:
        """What writes and reads the values."""

    get_sync = blocking(get)
    set_sync = blocking(set)  # noqa: A003  (the method above)


class LocalCacheManager(CacheManager):
    """Entries in one storage: in memory unless another is given. No application is needed."""

    def __init__(
        self, system_app: Any = None, serializer: Serializer | None = None, storage: CacheStorage | None = None
    ) -> None:
        super().__init__(system_app)
        self._serializer = serializer or JsonSerializer()
        # A storage may be empty, and so be false.
        self._storage = MemoryCacheStorage() if storage is None else storage

    @property
    def serializer(self) -> Serializer:
        """What writes and reads the values."""
        return self._serializer

    @property
    def storage(self) -> CacheStorage:
        """Where the entries are."""
        return self._storage

    async def set(self, key: CacheKey[K], value: CacheValue[V], cache_config: CacheConfig | None = None) -> None:
        """Keep a value. Raises what the storage's ``set`` raises."""
        if self._storage.support_async():
            await self._storage.aset(key, value, cache_config)
        else:
            await run_blocking(lambda: self._storage.set(key, value, cache_config))

    async def get(self, key: CacheKey[K], cls: type[S], cache_config: CacheConfig | None = None) -> S | None:
        """The value of a key as a fresh ``cls``, or None. What does not fit ``cls`` is a miss."""
        if self._storage.support_async():
            item = await self._storage.aget(key, cache_config)
        else:
            item = await run_blocking(lambda: self._storage.get(key, cache_config))
        return value_of(item, cls, self._serializer)


def check_value(value: object) -> None:
    """Raises ``InvalidInput`` for what is no value of a cache."""
    if not isinstance(value, CacheValue):
        raise InvalidInput(f"a client keeps a CacheValue, such as its new_value makes, not {shown(value)}")


def value_of(item: StorageItem | None, cls: type[S], serializer: Serializer) -> S | None:
    """The value of an item; None without one, or when it is not of this class: it is asked for again then."""
    if item is None:
        return None
    try:
        return serializer.deserialize(item.value_data, cls)
    except StorageError:
        return None


def manager_of(given: CacheManager | CacheStorage | None, serializer: Serializer | None = None) -> CacheManager:
    """The manager given, or one over the storage given, or one in memory."""
    return given if isinstance(given, CacheManager) else LocalCacheManager(None, serializer, given)


__all__ = ["CacheClient", "CacheManager", "LocalCacheManager", "check_value", "manager_of", "value_of"]
