"""Items as bytes and back, and storages of a user's own."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.cache.keys import CacheConfig
from memwell.compat.dbgpt.cache.llm import LLMCacheKey, LLMCacheValue, ModelOutput
from memwell.compat.dbgpt.cache.storage import CacheStorage, CacheStorageItem, Key, StorageItem
from memwell.compat.dbgpt.storage_errors import StorageError
from memwell.errors import InvalidInput, Unsupported

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("k"), inner, max_size=1),
    max_leaves=5,
)


@given(st.binary(max_size=40), st.binary(max_size=300), st.binary(max_size=300))
def test_an_item_comes_back_from_its_bytes(key_hash: bytes, key_data: bytes, value_data: bytes):
    item = StorageItem.build_from(key_hash, key_data, value_data)
    assert StorageItem.deserialize(item.serialize()) == item
    # As pympler measures bytes: a header of 33, to the next 8.
    sizes = [(33 + len(part) + 7) // 8 * 8 for part in (key_hash, key_data, value_data)]
    assert item.length == 32 + sum(sizes)


def test_the_bytes_are_those_of_the_documented_form():
    fields = msgspec.msgpack.decode(StorageItem.build_from(b"h", b"k", b"v").serialize())
    assert list(fields) == ["length", "key_hash", "key_data", "value_data"]
    assert [fields[name].code for name in ("key_hash", "key_data", "value_data")] == [1, 2, 3]
    assert [bytes(fields[name].data) for name in ("key_hash", "key_data", "value_data")] == [b"h", b"k", b"v"]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.binary(max_size=20) | json_values)
def test_a_plain_value_comes_back_as_it_was(value: Any):
    item = StorageItem.deserialize(StorageItem.build_from_kv("key", value).serialize())
    assert item.value == value
    assert type(item.value) is type(value)


def test_an_item_of_a_key_and_a_value_holds_both_serialised():
    key = LLMCacheKey(prompt="hi", model_name="m")
    value = LLMCacheValue(output=ModelOutput(error_code=0, text="你好"))
    item = CacheStorageItem.build_from_kv(key, value)
    assert (item.key_hash, item.key_data, item.value_data) == (
        key.get_hash_bytes(),
        key.serialize(),
        value.serialize(),
    )


@given(st.binary(max_size=60))
def test_other_bytes_are_no_item(data: bytes):
    with pytest.raises(StorageError):
        StorageItem.deserialize(data)


@pytest.mark.parametrize("cut", range(0, 60, 7))
def test_a_cut_or_damaged_item_is_none(cut: int):
    whole = StorageItem.build_from_kv("key", {"a": [1, 2, 3]}).serialize()
    with pytest.raises(StorageError):
        StorageItem.deserialize(whole[:cut])
    fields = msgspec.msgpack.decode(whole)
    for name in fields:
        with pytest.raises(StorageError):
            StorageItem.deserialize(msgspec.msgpack.encode(fields | {name: [b"wrong"]}))


@pytest.mark.parametrize("value", [object(), {1: 2}, float("nan"), {"a": object()}, "\ud800"])
def test_what_is_no_value_is_refused(value: object):
    with pytest.raises(InvalidInput):
        StorageItem.build_from_kv("key", value)


@pytest.mark.parametrize("key", [None, 3, b"bytes", ("a",)])
def test_what_is_no_key_is_refused(key: Any):
    with pytest.raises(InvalidInput):
        StorageItem.build_from_kv(key, "value")


class Dict(CacheStorage):
    """A storage of a user's own: two methods."""

    def __init__(self) -> None:
        self.items: dict[Key, StorageItem] = {}

    def get(self, key: Key, cache_config: CacheConfig | None = None) -> StorageItem | None:
        return self.items.get(key)

    def set(self, key: Key, value: Any, cache_config: CacheConfig | None = None, ttl: float | None = None) -> None:
        self.items[key] = StorageItem.build_from_kv(key, value)


def test_a_storage_of_ones_own_has_the_rest():
    storage = Dict()
    assert storage.support_async() is False

    async def use() -> Any:
        await storage.aset("a", "x")
        return await storage.aget("a"), await storage.aexists("a"), await storage.aexists("b")

    item, there, not_there = asyncio.run(use())
    assert (item.value, there, not_there) == ("x", True, False)
    with pytest.raises(Unsupported):
        storage.delete("a")
    with pytest.raises(Unsupported):
        storage.clear()


def test_a_config_is_checked():
    storage = Dict()
    assert storage.check_config(None) is storage.check_config(CacheConfig()) is True
    changed = CacheConfig()
    changed.similarity_threshold = 7
    assert storage.check_config(changed, raise_error=False) is False
    with pytest.raises(InvalidInput, match="similarity_threshold"):
        storage.check_config(changed)
    with pytest.raises(InvalidInput, match="ttl="):
        storage.check_config(60)  # type: ignore[arg-type]
