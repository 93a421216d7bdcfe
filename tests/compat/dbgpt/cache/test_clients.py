"""Managers and clients: no application needed, and what does not fit is a miss."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memwell.compat.dbgpt.cache.clients import CacheManager, LocalCacheManager, manager_of
from memwell.compat.dbgpt.cache.embedding import EmbeddingCacheClient, EmbeddingCacheValue
from memwell.compat.dbgpt.cache.keys import CacheConfig, RetrievalPolicy
from memwell.compat.dbgpt.cache.llm import LLMCacheClient, LLMCacheKey, LLMCacheValue, ModelOutput
from memwell.compat.dbgpt.cache.memory import MemoryCacheStorage
from memwell.compat.dbgpt.cache.shared import KeyValueCacheStorage
from memwell.compat.dbgpt.cache.storage import CacheStorage
from memwell.compat.dbgpt.serialization import JsonSerializer, MsgpackSerializer, Serializable, Serializer
from memwell.errors import InvalidInput
from memwell.storage.memory import MemoryBackend


@pytest.mark.parametrize("serializer", [JsonSerializer(), MsgpackSerializer()])
@pytest.mark.parametrize("storage", [MemoryCacheStorage, lambda: KeyValueCacheStorage(MemoryBackend())])
def test_a_manager_keeps_values_and_gives_fresh_ones(serializer: Serializer, storage: Any):
    manager = LocalCacheManager(None, serializer, storage())
    client = LLMCacheClient(manager)
    key = client.new_key(prompt="你好?", model_name="m")
    value = client.new_value(output=ModelOutput(error_code=0, text="好"), user="anna")

    async def use() -> list[LLMCacheValue | None]:
        before = await manager.get(key, LLMCacheValue)
        await manager.set(key, value)
        return [before, await manager.get(key, LLMCacheValue), await manager.get(key, LLMCacheValue)]

    before, first, second = asyncio.run(use())
    assert before is None
    assert first is not None
    assert second is not None
    assert first is not second
    assert first.get_value() == second.get_value() == value.get_value()
    assert manager.serializer is serializer
    assert manager.get_sync(key, LLMCacheValue).get_value() == value.get_value()  # type: ignore[union-attr]


def test_a_manager_needs_nothing():
    manager = LocalCacheManager()
    assert isinstance(manager.storage, MemoryCacheStorage)
    assert isinstance(manager.serializer, JsonSerializer)
    assert manager.system_app is None
    manager.init_app("an application")
    assert manager.system_app == "an application"
    assert manager_of(manager) is manager
    storage = MemoryCacheStorage()
    assert manager_of(storage).storage is storage  # type: ignore[attr-defined]


def test_what_does_not_fit_the_class_is_a_miss():
    manager = LocalCacheManager()
    key = LLMCacheKey(prompt="a", model_name="m")
    for stored in (b"", b"\xff", b"{}", b'{"output": 3}', b'{"output": {"text": "no code"}}', b"[1]"):
        manager.storage.set(key, stored)
        assert manager.get_sync(key, LLMCacheValue) is None


def test_what_the_storage_refuses_reaches_the_caller():
    client = LLMCacheClient(MemoryCacheStorage(0.001))
    with pytest.raises(InvalidInput, match="whole cache"):
        client.set_sync(
            client.new_key(prompt="a", model_name="m"),
            client.new_value(output=ModelOutput(error_code=0, text="x" * 5000)),
        )


class Remote(CacheManager):
    """A manager of a user's own."""

    def __init__(self, storage: CacheStorage) -> None:
        super().__init__()
        self.storage = storage

    @property
    def serializer(self) -> Serializer:
        return JsonSerializer()

    async def set(self, key: Any, value: Any, cache_config: CacheConfig | None = None) -> None:
        await self.storage.aset(key, value)

    async def get(self, key: Any, cls: type[Any], cache_config: CacheConfig | None = None) -> Any:
        item = await self.storage.aget(key)
        return None if item is None else self.serializer.deserialize(item.value_data, cls)


def test_a_manager_of_ones_own_serves_a_client():
    client = LLMCacheClient(Remote(MemoryCacheStorage()))
    key = client.new_key(prompt="a", model_name="m")
    assert client.exists_sync(key) is False
    client.set_sync(key, client.new_value(output={"error_code": 0, "text": "x"}))
    assert client.exists_sync(key) is True
    assert isinstance(client.get_sync(key), Serializable)


def test_similarity_goes_through_a_client():
    client = LLMCacheClient(MemoryCacheStorage(embedder=lambda texts: [[1.0, len(text) / 100] for text in texts]))
    client.set_sync(
        client.new_key(prompt="aaaa", model_name="m"), client.new_value(output={"error_code": 0, "text": "x"})
    )
    similar = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH)
    near, other = client.new_key(prompt="bbb", model_name="m"), client.new_key(prompt="bbb", model_name="n")
    assert client.exists_sync(near, similar)
    assert not client.exists_sync(near)
    assert not client.exists_sync(other, similar)


@pytest.mark.parametrize("client", [LLMCacheClient(), EmbeddingCacheClient()])
def test_what_is_no_value_is_refused(client: Any):
    is_of_answers = type(client) is LLMCacheClient
    key = client.new_key(model_name="m", **({"prompt": "p"} if is_of_answers else {"text": "t"}))
    wrongs: list[Any] = ["text", None, 3, *([EmbeddingCacheValue([1.0])] if is_of_answers else [])]
    for wrong in wrongs:
        with pytest.raises(InvalidInput, match="keeps a"):
            client.set_sync(key, wrong)
    assert not client.exists_sync(key)
