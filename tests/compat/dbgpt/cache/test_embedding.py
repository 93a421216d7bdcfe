"""Embeddings: asked for once, given back to the last bit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.cache.clients import LocalCacheManager
from memwell.compat.dbgpt.cache.embedding import (
    CachedEmbeddings,
    EmbeddingCacheClient,
    EmbeddingCacheKey,
    EmbeddingCacheValue,
)
from memwell.compat.dbgpt.cache.memory import MemoryCacheStorage
from memwell.compat.dbgpt.cache.shared import KeyValueCacheStorage
from memwell.errors import InvalidInput, ModelError
from memwell.models.scripted import HashEmbedder
from memwell.storage.memory import MemoryBackend
from tests.compat.dbgpt.cache.test_clients import Remote


class Counting:
    """Embeddings of a user's own."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.inner = HashEmbedder(8)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        if "boom" in texts:
            raise RuntimeError("out of order")
        return self.inner.embed(texts).tolist()


def shared() -> KeyValueCacheStorage:
    return KeyValueCacheStorage(MemoryBackend())


MAKERS: list[Any] = [
    lambda: None,
    MemoryCacheStorage,
    shared,
    lambda: LocalCacheManager(storage=shared()),
    lambda: EmbeddingCacheClient(MemoryCacheStorage()),
    lambda: Remote(MemoryCacheStorage()),
]


@pytest.mark.parametrize("make", MAKERS)
def test_a_text_is_asked_for_once_and_is_always_the_same(make: Any):
    model = Counting()
    cached = CachedEmbeddings(model, make())
    first = cached.embed_documents(["猫", "dog", "猫", ""])
    assert model.asked == ["猫", "dog", ""]
    assert first[0] == first[2]
    assert cached.embed_query("dog") == first[1]

    async def use() -> list[Any]:
        return [await cached.aembed_query("猫"), await cached.aembed_documents(["", "new"])]

    assert asyncio.run(use()) == [first[0], [first[3], cached.embed_query("new")]]
    assert model.asked == ["猫", "dog", "", "new"]
    assert cached.embed_documents([]) == []


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), max_size=6))
def test_it_answers_as_the_model_does(batches: list[list[str]]):
    cached = CachedEmbeddings(HashEmbedder(8))
    for batch in batches:
        assert cached.embed_documents(batch) == HashEmbedder(8).embed(batch).tolist()


def test_what_is_returned_is_the_callers_own():
    cached = CachedEmbeddings(HashEmbedder(8))
    first = cached.embed_query("a")
    first[0] = 99.0
    assert cached.embed_query("a")[0] != 99.0


def test_a_model_that_fails_leaves_nothing():
    model = Counting()
    storage = MemoryCacheStorage()
    cached = CachedEmbeddings(model, storage)
    with pytest.raises(ModelError, match="out of order"):
        cached.embed_documents(["a", "boom"])
    assert len(storage) == 0
    assert len(cached.embed_query("a")) == 8


def test_models_of_other_names_stay_apart():
    storage = MemoryCacheStorage()
    one = CachedEmbeddings(lambda texts: [[1.0, 0.0] for _ in texts], storage, model_name="one")
    two = CachedEmbeddings(lambda texts: [[0.0, 1.0] for _ in texts], storage, model_name="two")
    assert [one.embed_query("a"), two.embed_query("a"), one.embed_query("a")] == [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]


def test_the_client_makes_keys_and_values():
    client = EmbeddingCacheClient()
    key, value = client.new_key(text="猫", model_name="m"), client.new_value(embeddings=(1, 0.5))
    client.set_sync(key, value)
    assert client.exists_sync(EmbeddingCacheKey("猫", "m"))
    found = client.get_sync(key)
    assert found is not None
    assert found.get_value() == [1.0, 0.5]
    assert key.get_value().text == "猫"
    with pytest.raises(InvalidInput):
        client.new_key(words="a")
    with pytest.raises(InvalidInput):
        client.new_key(text=3, model_name="m")
    for wrong in ("words", [None], 3):
        with pytest.raises(InvalidInput):
            EmbeddingCacheValue(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        CachedEmbeddings(3)


class Long:
    """Vectors that are not of length 1, and others for questions than for documents."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[3.0, 4.1, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.asked.append(f"? {text}")
        return [-3.0, 0.1, float(len(text))]


@pytest.mark.parametrize("make", MAKERS)
def test_a_vector_comes_back_as_the_model_gave_it(make: Any):
    model = Long()
    cached = CachedEmbeddings(model, make())
    for _ in range(2):
        assert cached.embed_documents(["猫", "dog"]) == [[3.0, 4.1, 1.0], [3.0, 4.1, 3.0]]
        assert cached.embed_query("dog") == [-3.0, 0.1, 3.0]
        assert asyncio.run(cached.aembed_query("猫")) == [-3.0, 0.1, 1.0]
    assert model.asked == ["猫", "dog", "? dog", "? 猫"]


@pytest.mark.parametrize("wrong", [[], [[1.0], [2.0]], [["x"]], [[float("nan")]], 3])
def test_what_is_no_vector_is_refused_and_not_kept(wrong: Any):
    storage = MemoryCacheStorage()
    with pytest.raises(ModelError):
        CachedEmbeddings(lambda _: wrong, storage).embed_query("a")
    assert len(storage) == 0


def test_two_models_of_one_class_stay_apart():
    class Named:
        def __init__(self, model: str, number: float) -> None:
            self.model_name, self.number = model, number

        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            return [[self.number] for _ in texts]

    storage = MemoryCacheStorage()
    assert CachedEmbeddings(Named("small", 1.0), storage).embed_query("a") == [1.0]
    assert CachedEmbeddings(Named("large", 2.0), storage).embed_query("a") == [2.0]
