"""Caches of model answers: keys and values, storages in memory or in any store, managers and clients."""

from __future__ import annotations

import math
import sys
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import InitVar, dataclass
from enum import StrEnum
from hashlib import sha256
from time import monotonic
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from memwell._asyncify import asyncify, blocking
from memwell.compat.dbgpt.storage import JsonSerializer, Serializable, Serializer, StorageError
from memwell.errors import BackendUnavailable, InvalidInput, Unsupported
from memwell.records import DEFAULT_SPACE, SpaceLike, as_space
from memwell.runtime.ring import Ring
from memwell.storage.arguments import check_ttl
from memwell.storage.sharing import Store, shared_backend
from memwell.values import check_count, check_id, check_json, shown

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S", bound=Serializable)

_MEGABYTE = 1024 * 1024
_PLACE = 240
"""The bytes that the table takes for one entry at most."""


class RetrievalPolicy(StrEnum):
    """How an entry is found. The storages here support exact keys only."""

    EXACT_MATCH = "exact_match"
    SIMILARITY_MATCH = "similarity_match"


class CachePolicy(StrEnum):
    """Which entry is dropped first when the cache is full: the least recently used, or the oldest."""

    LRU = "lru"
    FIFO = "fifo"


@dataclass
class CacheConfig:
    """Options of one call; ``ttl`` is how many seconds an entry lives. Raises ``InvalidInput`` for an invalid ``ttl``."""

    retrieval_policy: RetrievalPolicy | None = RetrievalPolicy.EXACT_MATCH
    cache_policy: CachePolicy | None = CachePolicy.LRU
    ttl: float | None = None

    def __post_init__(self) -> None:
        check_ttl(self.ttl, 0.0)


class CacheKey(Serializable, ABC, Generic[K]):
    """The key of an entry. Two keys are the same when their serialised data are equal.

    A subclass defines ``to_dict`` and ``get_value``; the rest may be overridden.
    """

    _serializer: Serializer | None = JsonSerializer()

    def __hash__(self) -> int:
        return hash(self.get_hash_bytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CacheKey) and self.serialize() == other.serialize()

    def get_hash_bytes(self) -> bytes:
        """The SHA-256 of the serialised key. A weaker hash is safe too: entries are compared by the whole key."""
        return sha256(self.serialize()).digest()

    @abstractmethod
    def get_value(self) -> K:
        """The data of the key."""


class CacheValue(Serializable, ABC, Generic[V]):
    """The value of an entry."""

    _serializer: Serializer | None = JsonSerializer()

    @abstractmethod
    def get_value(self) -> V:
        """The data of the value."""


Key: TypeAlias = CacheKey[Any] | str
"""A key object, or plain text."""


# Storages

Form: TypeAlias = Literal["bytes", "text", "json"]
_HEADER = 32


class CacheStorageItem(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One entry of a cache as bytes. ``length`` is what these take in memory; ``form`` says what the value was."""

    length: int
    key_hash: bytes
    key_data: bytes
    value_data: bytes
    form: Form = "bytes"

    @staticmethod
    def build_from(key_hash: bytes, key_data: bytes, value_data: bytes, form: Form = "bytes") -> CacheStorageItem:
        """An item of these bytes, with its length."""
        length = _HEADER + sum(_aligned(one) for one in (key_hash, key_data, value_data))
        return CacheStorageItem(length, key_hash, key_data, value_data, form)

    @staticmethod
    def build_from_kv(key: Key, value: Any) -> CacheStorageItem:
        """An item of a key and a value: a ``CacheValue``, bytes, text, or plain JSON data.

        Raises ``InvalidInput`` for anything else, and what serialising raises.
        """
        return CacheStorageItem.build_from(*_key_parts(key), *_value_parts(value))

    @property
    def value(self) -> Any:
        """The value as bytes, text or new JSON data; of a ``CacheValue`` its serialised bytes."""
        if self.form == "bytes":
            return self.value_data
        return self.value_data.decode() if self.form == "text" else msgspec.json.decode(self.value_data)

    def serialize(self) -> bytes:
        """The item as MessagePack."""
        return msgspec.msgpack.encode(self)

    @staticmethod
    def deserialize(data: bytes) -> CacheStorageItem:
        """The item that ``serialize`` wrote. Raises ``StorageError`` for other bytes."""
        try:
            item = msgspec.msgpack.decode(data, type=CacheStorageItem)
            # Reading it here finds damage while it can still be called a miss.
            _ = item.value
        except (msgspec.DecodeError, UnicodeError) as error:
            raise StorageError(f"these bytes are no cache item: {error}") from error
        return item


def _aligned(data: bytes) -> int:
    """The size of a bytes object, rounded up to 8 bytes."""
    return (sys.getsizeof(data) + 7) & ~7


def _key_parts(key: Key) -> tuple[bytes, bytes]:
    """The hash bytes and the key as bytes. Raises what serialising it raises."""
    if isinstance(key, str):
        data = key.encode(errors="surrogatepass")
        return data, data
    return key.get_hash_bytes(), key.serialize()


def _value_parts(value: Any) -> tuple[bytes, Form]:
    """The value as bytes, and its form."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(cast("bytes", value)), "bytes"
    if isinstance(value, str):
        try:
            return value.encode(), "text"
        except UnicodeEncodeError as error:
            raise InvalidInput(f"a cached text must not contain lone surrogates: {error}") from None
    if isinstance(value, Serializable):
        return bytes(value.serialize()), "bytes"
    check_json(value, "a cached value")
    return msgspec.json.encode(value), "json"


class CacheStorage(ABC):
    """Stores the entries of a cache. A subclass defines ``get`` and ``set``."""

    def check_config(self, cache_config: CacheConfig | None = None, raise_error: bool | None = True) -> bool:
        """Whether the storage supports a config: exact keys only. Raises ``Unsupported`` when not and ``raise_error`` is
        true.
        """
        if cache_config is None:
            return True
        if not isinstance(cache_config, CacheConfig):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"cache_config is a CacheConfig, not {shown(cache_config)}; a time to live is ttl=…")
        if cache_config.retrieval_policy in (None, RetrievalPolicy.EXACT_MATCH):
            return True
        if raise_error:
            raise Unsupported(f"{type(self).__name__} finds exact keys, not {cache_config.retrieval_policy}")
        return False

    def support_async(self) -> bool:
        """Whether ``aget`` and ``aset`` are more than the blocking calls in a thread."""
        return False

    @abstractmethod
    def get(self, key: Key, cache_config: CacheConfig | None = None) -> CacheStorageItem | None:
        """The item of a key, or None. Raises ``Unsupported`` as ``check_config``."""

    @abstractmethod
    def set(self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None) -> None:
        """Store a value, for ``ttl`` seconds when given here or in the config.

        Raises ``InvalidInput`` for an invalid value and for one that is larger than the cache.
        """

    def exists(self, key: Key, cache_config: CacheConfig | None = None) -> bool:
        """Whether the key would be found."""
        return self.get(key, cache_config) is not None

    def delete(self, key: Key) -> bool:
        """Delete the entry of this key. Returns whether there was one."""
        raise Unsupported(f"{type(self).__name__} cannot delete single entries")

    def clear(self) -> None:
        """Delete all entries."""
        raise Unsupported(f"{type(self).__name__} cannot be cleared")

    aget = asyncify(get)
    aset = asyncify(set)  # noqa: A003  (the method above)
    aexists = asyncify(exists)
    adelete = asyncify(delete)
    aclear = asyncify(clear)


def _renews(policy: CachePolicy | None, cache_config: CacheConfig | None) -> bool:
    """Whether a use makes an entry the newest, by the policy of the storage, else of the call."""
    return (policy or (cache_config and cache_config.cache_policy)) != CachePolicy.FIFO


def _lifetime(cache_config: CacheConfig | None, ttl: float | None) -> float | None:
    return check_ttl(ttl if ttl is not None or cache_config is None else cache_config.ttl, 0.0)


class _Entry(NamedTuple):
    item: CacheStorageItem
    cost: int
    expires: float


class MemoryCacheStorage(CacheStorage):
    """Entries in memory. When they take more than ``max_memory_mb``, the oldest are dropped, by the policy.

    ``cache_policy`` holds for every call; without it the config of each call decides, and LRU is the default. Thread-safe.
    Raises ``InvalidInput`` for a limit that is no number above 0.
    """

    def __init__(self, max_memory_mb: float = 256, *, cache_policy: CachePolicy | None = None) -> None:
        if type(max_memory_mb) not in (int, float) or not 0 < max_memory_mb < math.inf:
            raise InvalidInput(f"max_memory_mb must be a number above 0, not {shown(max_memory_mb)}")
        self.max_memory = int(max_memory_mb * _MEGABYTE)
        self._policy = cache_policy
        # A text is its own name and a key object is named by its bytes, so that the two never collide.
        self._entries: OrderedDict[str | bytes, _Entry] = OrderedDict()
        self._used = 0
        self._lock = threading.Lock()

    @property
    def current_memory_usage(self) -> int:
        """The bytes that the entries take now."""
        return self._used

    def __len__(self) -> int:
        with self._lock:
            moment = monotonic()
            return sum(one.expires > moment for one in self._entries.values())

    def get(self, key: Key, cache_config: CacheConfig | None = None) -> CacheStorageItem | None:
        return self._found(key, cache_config, is_use=True)

    def exists(self, key: Key, cache_config: CacheConfig | None = None) -> bool:
        """Whether the key would be found. It does not count as a use."""
        return self._found(key, cache_config, is_use=False) is not None

    def set(self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None) -> None:
        self.check_config(cache_config)
        item, lifetime = CacheStorageItem.build_from_kv(key, value), _lifetime(cache_config, ttl)
        name = _name_of(key) if isinstance(key, str) else item.key_data
        cost = sum(map(sys.getsizeof, (name, item, item.key_hash, item.key_data, item.value_data))) + _PLACE
        if cost > self.max_memory:
            raise InvalidInput(f"the entry takes {cost:,} bytes, over the {self.max_memory:,} of the whole cache")
        with self._lock:
            old = self._entries.get(name)
            self._entries[name] = _Entry(item, cost, math.inf if lifetime is None else monotonic() + lifetime)
            self._used += cost - (old.cost if old else 0)
            if _renews(self._policy, cache_config):
                self._entries.move_to_end(name)
            while self._used > self.max_memory:
                self._used -= self._entries.popitem(last=False)[1].cost

    def delete(self, key: Key) -> bool:
        with self._lock:
            entry = self._entries.pop(_name_of(key), None)
            self._used -= entry.cost if entry else 0
        return entry is not None and entry.expires > monotonic()

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._used = 0

    def _found(self, key: Key, cache_config: CacheConfig | None, *, is_use: bool) -> CacheStorageItem | None:
        self.check_config(cache_config)
        name = _name_of(key)
        with self._lock:
            entry = self._entries.get(name)
            if entry is None:
                return None
            if entry.expires <= monotonic():
                self._used -= self._entries.pop(name).cost
                return None
            if is_use and _renews(self._policy, cache_config):
                self._entries.move_to_end(name)
            return entry.item


def _name_of(key: Key) -> str | bytes:
    # A subclass of str may compare as it likes; here only the characters count.
    return str.__str__(key) if isinstance(key, str) else key.serialize()


class KeyValueCacheStorage(CacheStorage):
    """At most ``max_entries`` entries in any store; the oldest are dropped first, by the policy.

    ``store`` is a URL, the path of a file or an open backend. LRU is approximate: a use makes an entry the newest if it is
    in the older half, so that most reads write nothing. A damaged entry is a miss. One entry takes 16 MB at most.
    """

    def __init__(
        self,
        store: Store,
        *,
        space: SpaceLike = DEFAULT_SPACE,
        name: str = "cache",
        max_entries: int = 10_000,
        cache_policy: CachePolicy | None = None,
    ) -> None:
        self._backend = shared_backend(store)
        space = as_space(space) / "dbgpt-cache" / check_id(name, "the name of a cache")
        self._policy = cache_policy
        slots = check_count(max_entries, "max_entries", least=1)
        self._ring = Ring(self._backend.kv, space, "item", slots, self._backend.transaction, renews=True)

    def __len__(self) -> int:
        return self._ring.count()

    def get(self, key: Key, cache_config: CacheConfig | None = None) -> CacheStorageItem | None:
        self.check_config(cache_config)
        digest, item = self._read(key)
        if item is not None and _renews(self._policy, cache_config):
            # A reader does not wait for a busy store to note a use.
            with suppress(BackendUnavailable):
                self._ring.renew(digest)
        return item

    def exists(self, key: Key, cache_config: CacheConfig | None = None) -> bool:
        """Whether the key would be found. It does not count as a use."""
        self.check_config(cache_config)
        return self._read(key)[1] is not None

    def set(self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None) -> None:
        self.check_config(cache_config)
        item, digest = CacheStorageItem.build_from_kv(key, value), _digest(key)
        with self._backend.transaction():
            self._ring.write({digest: item.serialize()}, ttl=_lifetime(cache_config, ttl))
            if _renews(self._policy, cache_config):
                self._ring.renew(digest)

    def delete(self, key: Key) -> bool:
        with self._backend.transaction():
            digest, item = self._read(key)
            if item is not None:
                self._ring.drop(digest)
        return item is not None

    def clear(self) -> None:
        self._ring.clear()

    def _read(self, key: Key) -> tuple[str, CacheStorageItem | None]:
        """The digest of a key, and its item or None."""
        digest = _digest(key)
        value = self._ring.read(digest)
        try:
            item = CacheStorageItem.deserialize(value) if isinstance(value, bytes) else None
        except StorageError:
            item = None
        return digest, item if item is not None and item.key_data == _key_parts(key)[1] else None


def _digest(key: Key) -> str:
    kind = "s" if isinstance(key, str) else "k"
    return kind + sha256(_key_parts(key)[0]).hexdigest()


# Managers and clients


class CacheManager:
    """The storage and the serializer of clients: in memory unless another storage is given. No application is needed."""

    name = "dbgpt_model_cache_manager"

    def __init__(
        self, system_app: Any = None, serializer: Serializer | None = None, storage: CacheStorage | None = None
    ) -> None:
        self.system_app = system_app
        self._serializer = serializer or JsonSerializer()
        # An empty storage is false.
        self._storage = MemoryCacheStorage() if storage is None else storage

    def init_app(self, system_app: Any) -> None:
        """Set the application. Nothing here needs one."""
        self.system_app = system_app

    @property
    def serializer(self) -> Serializer:
        return self._serializer

    @property
    def storage(self) -> CacheStorage:
        return self._storage

    async def set(self, key: CacheKey[K], value: CacheValue[V], cache_config: CacheConfig | None = None) -> None:
        """Store a value. Raises what the storage's ``set`` raises."""
        await self._storage.aset(key, value, cache_config)

    async def get(self, key: CacheKey[K], cls: type[S], cache_config: CacheConfig | None = None) -> S | None:
        """The value of a key as a new ``cls``, or None, also for data that does not fit ``cls``."""
        item = await self._storage.aget(key, cache_config)
        try:
            return None if item is None else self._serializer.deserialize(item.value_data, cls)
        except StorageError:
            return None

    get_sync = blocking(get)
    set_sync = blocking(set)  # noqa: A003  (the method above)


class LocalCacheManager(CacheManager):
    """``CacheManager`` under DB-GPT's name of the implementation."""


class CacheClient(Generic[K, V]):
    """A cache of one kind of key and value over a manager or a storage. A subclass names the two classes."""

    key_class: ClassVar[type[CacheKey[Any]]]
    value_class: ClassVar[type[CacheValue[Any]]]

    def __init__(self, cache_manager: CacheManager | CacheStorage | None = None) -> None:
        is_manager = isinstance(cache_manager, CacheManager)
        self._manager = cache_manager if is_manager else LocalCacheManager(storage=cache_manager)

    async def get(self, key: CacheKey[K], cache_config: CacheConfig | None = None) -> CacheValue[V] | None:
        """The value of a key, or None."""
        return await self._manager.get(key, self.value_class, cache_config)

    async def set(self, key: CacheKey[K], value: CacheValue[V], cache_config: CacheConfig | None = None) -> None:
        """Store a value. Raises what the storage's ``set`` raises."""
        await self._manager.set(key, value, cache_config)

    async def exists(self, key: CacheKey[K], cache_config: CacheConfig | None = None) -> bool:
        """Whether the key would be found."""
        return await self.get(key, cache_config) is not None

    def new_key(self, **kwargs: Any) -> CacheKey[K]:
        """A key of these fields. Raises ``InvalidInput`` for invalid fields."""
        return self._new(self.key_class, kwargs)

    def new_value(self, **kwargs: Any) -> CacheValue[V]:
        """A value of these fields. Raises ``InvalidInput`` for invalid fields."""
        return self._new(self.value_class, kwargs)

    def _new(self, cls: type[S], fields: dict[str, Any]) -> S:
        try:
            made = cls(**fields)
        except TypeError as error:
            raise InvalidInput(f"no {cls.__name__} can be made of {shown(fields)}: {error}") from None
        made.set_serializer(self._manager.serializer)
        return made

    get_sync = blocking(get)
    set_sync = blocking(set)  # noqa: A003  (the method above)
    exists_sync = blocking(exists)


# Answers of models


@dataclass
class ModelOutput:
    """The output of a model: its text (or other content as plain data), and 0 as ``error_code`` if it succeeded.

    Raises ``InvalidInput`` for both a text and a content, or neither.
    """

    error_code: int
    text: str | None = None
    content: Any = None
    incremental: bool = False
    model_context: dict[str, Any] | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None
    metrics: Any = None

    def __post_init__(self) -> None:
        if self.text is not None and self.content is not None:
            raise InvalidInput("Cannot pass both text and content")
        if self.text is None and self.content is None:
            raise InvalidInput("Must pass either text or content")

    @property
    def success(self) -> bool:
        return self.error_code == 0

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "content" or value is not None}


@dataclass(eq=False)
class LLMCacheKey(CacheKey["LLMCacheKey"]):
    """A prompt for a model with its options."""

    prompt: str
    model_name: str
    temperature: float | None = 0.7
    max_new_tokens: int | None = None
    top_p: float | None = 1.0
    model_type: str | None = "huggingface"

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def get_value(self) -> LLMCacheKey:
        return self


@dataclass
class LLMCacheValue(CacheValue["LLMCacheValue"]):
    """The answer of a model: one output, or the outputs of a stream. Raises ``InvalidInput`` without an output.

    An output is a ``ModelOutput``, its fields as a mapping, or an object of another library whose ``to_dict`` gives them.
    """

    output: ModelOutput | list[ModelOutput]
    user: str | None = None
    _is_list: InitVar[bool] = False
    """Stored with a value; the output itself tells."""

    def __post_init__(self, _is_list: bool) -> None:
        given: Any = self.output
        if not given:
            raise InvalidInput("an LLMCacheValue needs an output")
        is_list = isinstance(given, list | tuple)
        self.output = [_output(one) for one in cast("Sequence[object]", given)] if is_list else _output(given)

    @property
    def is_list(self) -> bool:
        """Whether it is the list of a stream."""
        return isinstance(self.output, list)

    def to_dict(self) -> dict[str, Any]:
        output = self.output
        data: Any = [one.to_dict() for one in output] if isinstance(output, list) else output.to_dict()
        return {"output": data, "_is_list": self.is_list, "user": self.user}

    def get_value(self) -> LLMCacheValue:
        return self


def _output(given: Any) -> ModelOutput:
    if isinstance(given, ModelOutput):
        return given
    if callable(getattr(given, "to_dict", None)):
        given = given.to_dict()
    if isinstance(given, Mapping):
        return ModelOutput(**cast("Mapping[str, Any]", given))
    raise InvalidInput(f"an output must be a ModelOutput or a mapping, not {shown(given)}")


class LLMCacheClient(CacheClient[LLMCacheKey, LLMCacheValue]):
    """A cache of model answers. Failed answers are not stored."""

    key_class = LLMCacheKey
    value_class = LLMCacheValue

    async def set(
        self, key: CacheKey[LLMCacheKey], value: CacheValue[LLMCacheValue], cache_config: CacheConfig | None = None
    ) -> None:
        """Store an answer, unless the model failed."""
        output = value.get_value().output
        last = output[-1] if isinstance(output, list) else output
        if last.error_code in (0, "0"):
            await super().set(key, value, cache_config)
