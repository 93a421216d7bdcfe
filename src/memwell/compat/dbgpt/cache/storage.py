"""The contract of a cache's storage, and the item it keeps: key and value as bytes."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import Any, TypeAlias, cast

import msgspec

from memwell._asyncify import asyncify
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey
from memwell.compat.dbgpt.serialization import Serializable
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import InvalidInput, Unsupported
from memwell.storage.arguments import check_ttl
from memwell.values import check_json, shown

Key: TypeAlias = CacheKey[Any] | str
"""A key object, or plain text."""

_HEADER = 32
_KEY_HASH, _KEY_DATA, _VALUE_DATA = 1, 2, 3
_FORMS = ("bytes", "text", "json")


class StorageItem(msgspec.Struct, frozen=True, gc=False):
    """One entry of a cache as bytes. ``length`` is what these take in memory; ``form`` says what the value was."""

    length: int
    key_hash: bytes
    key_data: bytes
    value_data: bytes
    form: str = "bytes"

    @staticmethod
    def build_from(key_hash: bytes, key_data: bytes, value_data: bytes) -> StorageItem:
        """An item of these bytes, with its length."""
        return _item(key_hash, key_data, value_data, "bytes")

    @staticmethod
    def build_from_kv(key: Key, value: Any) -> StorageItem:
        """An item of a key and a value: a ``CacheValue``, bytes, text, or plain JSON data.

        Raises ``InvalidInput`` for what is none of these, and what serialising them raises.
        """
        return named_item(key, value)[1]

    @property
    def value(self) -> Any:
        """What was set: bytes, text or JSON data, fresh each time. Of a ``CacheValue`` it is the serialised bytes."""
        if self.form == "bytes":
            return self.value_data
        return self.value_data.decode() if self.form == "text" else msgspec.json.decode(self.value_data)

    def serialize(self) -> bytes:
        """The item as MessagePack, the three byte strings as extension types 1, 2 and 3."""
        fields: dict[str, Any] = {
            "length": self.length,
            "key_hash": msgspec.msgpack.Ext(_KEY_HASH, self.key_hash),
            "key_data": msgspec.msgpack.Ext(_KEY_DATA, self.key_data),
            "value_data": msgspec.msgpack.Ext(_VALUE_DATA, self.value_data),
        }
        if self.form != "bytes":
            fields["form"] = self.form
        return msgspec.msgpack.encode(fields)

    @staticmethod
    def deserialize(data: bytes) -> StorageItem:
        """The item that ``serialize`` wrote. Raises ``StorageError`` for other bytes."""
        try:
            fields: Any = msgspec.msgpack.decode(data)
            return _checked(fields)
        except (msgspec.DecodeError, UnicodeError, TypeError, ValueError, LookupError, RecursionError) as error:
            raise StorageError(f"these bytes are no cache item: {error}") from error


def _checked(fields: dict[str, Any]) -> StorageItem:
    parts = [
        _extension(fields[name], code)
        for name, code in (("key_hash", _KEY_HASH), ("key_data", _KEY_DATA), ("value_data", _VALUE_DATA))
    ]
    length, form = fields["length"], fields.get("form", "bytes")
    if type(length) is not int or form not in _FORMS:
        raise ValueError(f"its length is {shown(length)} and its form {shown(form)}")
    item = StorageItem(length, *parts, form=form)
    if form != "bytes":
        # Reading it here finds damage while it can still be called a miss.
        _ = item.value
    return item


def _extension(value: object, code: int) -> bytes:
    if not isinstance(value, msgspec.msgpack.Ext) or value.code != code:
        raise ValueError(f"expected bytes of extension type {code}, not {shown(value)}")
    return bytes(value.data)


def _item(key_hash: bytes, key_data: bytes, value_data: bytes, form: str) -> StorageItem:
    length = _HEADER + _aligned(key_hash) + _aligned(key_data) + _aligned(value_data)
    return StorageItem(length, key_hash, key_data, value_data, form)


def _aligned(data: bytes) -> int:
    """What a bytes object takes, to the next 8 bytes."""
    return (sys.getsizeof(data) + 7) & ~7


def key_parts(key: Key) -> tuple[str | bytes, bytes, bytes]:
    """What names the entry (text for text, hash bytes for a key), the hash bytes, and the key as bytes.

    Raises ``InvalidInput`` for what is no key, and what serialising it raises.
    """
    if isinstance(key, str):
        # A subclass may compare as it likes; here only the characters count.
        text = str.__str__(key)
        data = text.encode(errors="surrogatepass")
        return text, data, data
    if not isinstance(key, CacheKey):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"a cache key must be a CacheKey or a string, not {shown(key)}")
    key_hash, data = key.identity()
    if type(key_hash) is not bytes or type(data) is not bytes:
        raise InvalidInput(f"{type(key).__name__} must give its hash and itself as bytes, not {shown(key_hash)}")
    return key_hash, key_hash, data


def named_item(key: Key, value: Any) -> tuple[str | bytes, StorageItem]:
    """What names the entry, and the entry. Raises as ``StorageItem.build_from_kv`` does."""
    name, key_hash, key_data = key_parts(key)
    return name, _item(key_hash, key_data, *_value_parts(value))


def _value_parts(value: Any) -> tuple[bytes, str]:
    """The value as bytes, and what it was."""
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
    """Where a cache keeps its entries. A subclass gives ``get`` and ``set``."""

    def check_config(self, cache_config: CacheConfig | None = None, raise_error: bool | None = True) -> bool:
        """Whether the storage can work so. Raises ``InvalidInput`` when it cannot, unless ``raise_error`` is false."""
        try:
            if cache_config is not None:
                _check_config(cache_config)
        except InvalidInput:
            if raise_error:
                raise
            return False
        return True

    def support_async(self) -> bool:
        """Whether ``aget`` and ``aset`` are more than the blocking calls in a thread."""
        return False

    @abstractmethod
    def get(self, key: Key, cache_config: CacheConfig | None = None) -> StorageItem | None:
        """The item of a key, or None. Raises ``InvalidInput`` for a key or a config that is none."""

    @abstractmethod
    def set(self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None) -> None:
        """Keep a value, for ``ttl`` seconds when given here or in the config.

        Raises ``InvalidInput`` for a value that is none or is larger than the cache.
        """

    def exists(self, key: Key, cache_config: CacheConfig | None = None) -> bool:
        """Whether the key would be found."""
        return self.get(key, cache_config) is not None

    def delete(self, key: Key) -> bool:
        """Drop the entry of exactly this key. Returns whether there was one."""
        raise Unsupported(f"{type(self).__name__} cannot delete single entries")

    def clear(self) -> None:
        """Drop everything."""
        raise Unsupported(f"{type(self).__name__} cannot be cleared")

    aget = asyncify(get)
    aset = asyncify(set)  # noqa: A003  (the method above)
    aexists = asyncify(exists)
    adelete = asyncify(delete)
    aclear = asyncify(clear)


def _check_config(cache_config: object) -> None:
    if not isinstance(cache_config, CacheConfig):
        raise InvalidInput(f"cache_config must be a CacheConfig, not {shown(cache_config)}; a time to live is ttl=…")
    if cache_config.renews is None:
        cache_config.check()


def time_to_live(cache_config: CacheConfig | None, ttl: float | None) -> float | None:
    """How long an entry lives: as the call says, else as its config says. Raises ``InvalidInput`` for no such time."""
    return check_ttl(ttl if ttl is not None or cache_config is None else cache_config.ttl, 0.0)


CacheStorageItem = StorageItem

__all__ = ["CacheStorage", "CacheStorageItem", "Key", "StorageItem", "key_parts", "named_item", "time_to_live"]
