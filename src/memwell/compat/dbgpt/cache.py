"""Caches of model answers: keys and values, a storage in memory, and clients.

A storage is called plainly, as in DB-GPT, or awaited, as in its document: ``await storage.get("key")`` is the value.
"""

from __future__ import annotations

import math
import sys
import threading
from abc import ABC, abstractmethod
from asyncio import _get_running_loop as running_loop  # pyright: ignore - get_running_loop raises without one, which is slow
from collections import OrderedDict
from collections.abc import Generator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from enum import StrEnum
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec

from memwell._asyncify import asyncify, run_blocking
from memwell.compat.dbgpt.storage import JsonSerializer, Serializable, Serializer, StorageError
from memwell.errors import InvalidInput, Unsupported
from memwell.storage.arguments import check_ttl
from memwell.values import check_json, check_shape, shown

K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S", bound=Serializable)

_MEGABYTE = 1024 * 1024
_PLACE = 120
"""The bytes that a table takes for one entry at most."""


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
    """Options of one call."""

    retrieval_policy: RetrievalPolicy | None = RetrievalPolicy.EXACT_MATCH
    cache_policy: CachePolicy | None = CachePolicy.LRU


class CacheKey(Serializable, ABC, Generic[K]):
    """The key of an entry. Two keys are the same when their serialised data are equal.

    A subclass defines ``to_dict`` and ``get_value``; the rest may be overridden.
    """

    _serializer: Serializer | None = JsonSerializer()
    _serialized: bytes | None = None
    """What ``serialize`` gave, in a class that keeps it."""

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
"""A key object, also one of DB-GPT's own, or plain text."""


# Storages

Form: TypeAlias = Literal["bytes", "text", "json"]


class _Ready:
    """What is awaited without waiting, also as a task: it has the methods of a coroutine, which is at its end at once."""

    __slots__ = ()

    @property
    def _awaited(self) -> Any:
        raise NotImplementedError

    def __await__(self) -> Generator[Any, None, Any]:
        return self._awaited
        yield  # pyright: ignore[reportUnreachable] - it makes this a generator, which waits for nothing

    def send(self, value: Any) -> Any:
        """The first step of a task, and its last."""
        raise StopIteration(self._awaited)

    def throw(self, error: BaseException) -> Any:
        """Raise what a task is cancelled with."""
        raise error

    def close(self) -> None:
        """Do nothing: it was never suspended."""


class CacheStorageItem(_Ready, msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One entry of a cache as bytes. ``form`` says what the value was: of a ``CacheValue`` it is the class."""

    key_data: bytes
    value_data: bytes
    form: Form | type[Any]
    serializer: Any = None
    """What wrote a ``CacheValue``, and reads it."""

    @staticmethod
    def build_from_kv(key: Key, value: Any) -> CacheStorageItem:
        """An item of a key and a value: a ``CacheValue``, bytes, text, or plain JSON data.

        Raises ``InvalidInput`` for anything else, and what serialising raises.
        """
        return CacheStorageItem(_key_data(key), *_value_parts(value))

    @property
    def value(self) -> Any:
        """The value as it was stored: bytes, text, or new JSON data or a new ``CacheValue``.

        Raises ``StorageError`` when the class of the value cannot be made from its data.
        """
        if isinstance(self.form, type):
            return self.serializer.deserialize(self.value_data, self.form)
        if self.form == "bytes":
            return self.value_data
        return self.value_data.decode() if self.form == "text" else msgspec.json.decode(self.value_data)

    @property
    def _awaited(self) -> Any:
        return self.value


class _Answer(_Ready):
    """What a call inside a coroutine returns where there is no item: false if the result is, and awaited the result."""

    def __init__(self, result: Any) -> None:
        self._result = result

    def __bool__(self) -> bool:
        return bool(self._result)

    @property
    def _awaited(self) -> Any:
        return self._result


def _answer(result: Any) -> Any:
    return result if running_loop() is None else _Answer(result)


def _key_data(key: Key) -> bytes:
    """The key as bytes. Raises what serialising it raises."""
    return key.encode(errors="surrogatepass") if isinstance(key, str) else _serialized(key)


def _value_parts(value: Any) -> tuple[bytes, Form | type[Any], Any]:
    """The value as bytes, its form, and what reads it if it is an object."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(cast("bytes", value)), "bytes", None
    if isinstance(value, str):
        try:
            return value.encode(), "text", None
        except UnicodeEncodeError as error:
            raise InvalidInput(f"a cached text must not contain lone surrogates: {error}") from None
    if callable(getattr(value, "serialize", None)):
        serializer = getattr(value, "_serializer", None)
        return bytes(value.serialize()), "bytes" if serializer is None else cast("type[Any]", type(value)), serializer
    check_json(value, "a cached value")
    return msgspec.json.encode(value), "json", None


class CacheStorage(ABC):
    """Stores the entries of a cache. A subclass defines ``get`` and ``set``."""

    def check_config(self, cache_config: CacheConfig | None = None, raise_error: bool | None = True) -> bool:
        """Whether a config, ours or DB-GPT's own, asks for exact keys.

        Raises ``Unsupported`` instead of False unless ``raise_error`` is off, and ``InvalidInput`` for what is no config.
        """
        if cache_config is None:
            return True
        policy = getattr(cache_config, "retrieval_policy", self)
        if policy is self:
            raise InvalidInput(f"cache_config is a CacheConfig, not {shown(cache_config)}; a time to live is ttl=…")
        is_exact = getattr(policy, "value", policy) in (None, RetrievalPolicy.EXACT_MATCH.value)
        if raise_error and not is_exact:
            raise Unsupported(f"{type(self).__name__} finds exact keys, not {policy}")
        return is_exact

    def support_async(self) -> bool:
        """Whether DB-GPT's own manager should call ``aget`` and ``aset``; it may as well use threads of its own."""
        return False

    @abstractmethod
    def get(self, key: Key, cache_config: CacheConfig | None = None) -> Any:
        """The item of a key, or None; awaited, the value or None. Raises ``Unsupported`` as ``check_config``."""

    @abstractmethod
    def set(self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None) -> Any:
        """Store a value, for ``ttl`` seconds when given. It is stored when the call returns, and may be awaited.

        Raises ``InvalidInput`` for an invalid value and for one that is larger than the cache.
        """

    def exists(self, key: Key, cache_config: CacheConfig | None = None) -> Any:
        """Whether the key would be found; may be awaited."""
        return _answer(bool(self.get(key, cache_config)))

    aget = asyncify(get)
    aset = asyncify(set)  # noqa: A003  (the method above)


def _renews(cache_config: CacheConfig | None) -> bool:
    """Whether a use makes an entry the newest."""
    policy = getattr(cache_config, "cache_policy", None)
    return getattr(policy, "value", policy) != CachePolicy.FIFO.value


class MemoryCacheStorage(CacheStorage):
    """Entries in memory. When they take more than ``max_memory_mb``, the oldest are dropped, by the policy of the calls.

    Thread-safe. Raises ``InvalidInput`` for a limit that is no number above 0.
    """

    def __init__(self, max_memory_mb: float = 256) -> None:
        if type(max_memory_mb) not in (int, float) or not 0 < max_memory_mb < math.inf:
            raise InvalidInput(f"max_memory_mb must be a number above 0, not {shown(max_memory_mb)}")
        self.max_memory = int(max_memory_mb * _MEGABYTE)
        self._entries: OrderedDict[str | bytes, CacheStorageItem] = OrderedDict()
        self._expires: dict[str | bytes, float] = {}
        """The times of the entries that have one."""
        self._used = 0
        self._lock = threading.Lock()

    @property
    def current_memory_usage(self) -> int:
        """The bytes that the entries take now."""
        return self._used

    def get(self, key: Key, cache_config: CacheConfig | None = None) -> Any:
        # Without the lock, which would take half the time: a call of a table whose keys are text or bytes is one step.
        if cache_config is not None:
            self.check_config(cache_config)
        name = key if type(key) is str else _name(key)
        item = self._entries.get(name)
        if item is None or (name in self._expires and not self.exists(key)):
            return _answer(None)
        if cache_config is None or _renews(cache_config):
            try:  # noqa: SIM105 (suppress would take as long as all the rest)
                self._entries.move_to_end(name)
            except KeyError:
                # Another thread dropped it in the meantime.
                pass
        return item

    def exists(self, key: Key, cache_config: CacheConfig | None = None) -> Any:
        """Whether the key would be found. It does not count as a use. May be awaited."""
        self.check_config(cache_config)
        name = _name(key)
        with self._lock:
            return _answer(name in self._entries and not self._is_over(name))

    def set(self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None) -> Any:
        self.check_config(cache_config)
        item, lifetime = CacheStorageItem.build_from_kv(key, value), check_ttl(ttl, 0.0)
        name = _name(key) if isinstance(key, str) else item.key_data
        cost = _cost(name, item) + (0 if lifetime is None else _PLACE)
        if cost > self.max_memory:
            raise InvalidInput(f"the entry takes {cost:,} bytes, over the {self.max_memory:,} of the whole cache")
        with self._lock:
            if (old := self._entries.get(name)) is not None:
                self._uncount(name, old)
            self._used += cost
            self._entries[name] = item
            if lifetime is not None:
                self._expires[name] = monotonic() + lifetime
            if _renews(cache_config):
                self._entries.move_to_end(name)
            while self._used > self.max_memory:
                self._uncount(*self._entries.popitem(last=False))
        return _answer(None)

    def _is_over(self, name: str | bytes) -> bool:
        """Whether the time of an entry is over; then it is dropped."""
        is_over = self._expires.get(name, math.inf) <= monotonic()
        if is_over:
            self._uncount(name, self._entries.pop(name))
        return is_over

    def _uncount(self, name: str | bytes, item: CacheStorageItem) -> None:
        """Take an entry that goes out of the account, with its time."""
        self._used -= _cost(name, item) + (0 if self._expires.pop(name, None) is None else _PLACE)


def _name(key: Key) -> str | bytes:
    """What an entry is found by: a text itself, or a key object as bytes, which never equal a text."""
    # A subclass of str may compare as it likes.
    return str.__str__(key) if isinstance(key, str) else _serialized(key)


def _serialized(key: CacheKey[Any]) -> bytes:
    return check_shape(key, ("serialize",), "a key of a cache is text or a CacheKey").serialize()


def _cost(name: str | bytes, item: CacheStorageItem) -> int:
    """The bytes that an entry takes, the same at any time: a text grows when something asks for its UTF-8."""
    data = item.key_data
    text = sys.getsizeof(data.decode(errors="surrogatepass")) if isinstance(name, str) else 0
    return sum(map(sys.getsizeof, (item, data, item.value_data))) + text + _PLACE


# Clients


class CacheClient(Generic[K, V]):
    """A cache of one kind of key and value over a storage, by default one in memory. A subclass names the two classes.

    The storage may be one of DB-GPT's own.
    ``serializer`` writes keys and values, and reads values back; it is JSON unless another is given.
    """

    key_class: ClassVar[type[CacheKey[Any]]]
    value_class: ClassVar[type[CacheValue[Any]]]

    def __init__(self, storage: CacheStorage | None = None, *, serializer: Serializer | None = None) -> None:
        self._storage = storage or MemoryCacheStorage()
        self._serializer = serializer or JsonSerializer()

    async def get(self, key: CacheKey[K], cache_config: CacheConfig | None = None) -> CacheValue[V] | None:
        """The value of a key, or None, also for data that does not fit the class of values."""
        item = await run_blocking(partial(self._storage.get, key, cache_config))
        try:
            return None if item is None else self._serializer.deserialize(item.value_data, self.value_class)
        except StorageError:
            return None

    async def set(self, key: CacheKey[K], value: CacheValue[V], cache_config: CacheConfig | None = None) -> None:
        """Store a value. Raises what the storage's ``set`` raises."""
        await run_blocking(partial(self._storage.set, key, value, cache_config))

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
        made.set_serializer(self._serializer)
        return made


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

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        vars(self).pop("_serialized", None)

    def serialize(self) -> bytes:
        """The key as bytes, made once and again after a field was set. Raises as ``Serializable.serialize`` does."""
        data = self._serialized
        if data is None:
            data = vars(self)["_serialized"] = super().serialize()
        return data

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
        check_shape(value, ("get_value",), "a cached answer is an LLMCacheValue")
        output = value.get_value().output
        last = output[-1] if isinstance(output, list) else output
        if last.error_code in (0, "0"):
            await super().set(key, value, cache_config)
