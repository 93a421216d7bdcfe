"""Keys that are equal when they say the same, and configs that refuse the impossible."""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.cache.embedding import EmbeddingCacheKey
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, CachePolicy, RetrievalPolicy
from memwell.compat.dbgpt.cache.llm import LLMCacheKey, LLMCacheKeyData
from memwell.compat.dbgpt.cache.memory import MemoryCacheStorage
from memwell.compat.dbgpt.serialization import JsonSerializer, MsgpackSerializer
from memwell.errors import InvalidInput


class Question(CacheKey[str]):
    """A key of a user's own, with nothing but what is asked of it."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.set_serializer(JsonSerializer())

    def to_dict(self) -> dict[str, Any]:
        return {"words": self.words}

    def get_value(self) -> str:
        return self.words


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@given(texts, texts, st.sampled_from([None, 0.1, 0.7]), st.sampled_from([None, 0.1, 0.7]))
def test_keys_are_equal_exactly_when_their_fields_are(one: str, other: str, cold: float | None, hot: float | None):
    first = LLMCacheKey(prompt=one, model_name="m", temperature=cold)
    second = LLMCacheKey(prompt=other, model_name="m", temperature=hot)
    same = (one, cold) == (other, hot)
    assert (first == second) is same
    assert (first.get_hash_bytes() == second.get_hash_bytes()) is same
    assert not same or hash(first) == hash(second)


def test_a_key_of_ones_own_needs_two_methods():
    assert Question("猫") == Question("猫")
    assert Question("猫") != Question("dog")
    assert len({Question("a"), Question("a"), Question("b")}) == 2
    assert Question("a").get_value() == "a"
    assert len(Question("a").get_hash_bytes()) == 32


def test_a_key_that_is_changed_is_another_key():
    key = LLMCacheKey(prompt="one", model_name="m")
    before = key.identity()
    key.config = LLMCacheKeyData("two", "m")
    assert key.identity() == LLMCacheKey(prompt="two", model_name="m").identity() != before
    key.set_serializer(MsgpackSerializer())
    assert key.serialize() == MsgpackSerializer().serialize(key)
    with pytest.raises(AttributeError):
        key.config.prompt = "three"


def test_a_key_is_serialised_once():
    key = LLMCacheKey(prompt="one", model_name="m")
    assert key.identity()[1] is key.serialize() is key.identity()[1]
    assert key.get_value() == LLMCacheKeyData("one", "m")
    assert "one" in repr(key)


def test_keys_of_different_kinds_are_different():
    assert EmbeddingCacheKey("a", "m") != LLMCacheKey(prompt="a", model_name="m")
    assert LLMCacheKey(prompt="a", model_name="m") != "a"


def test_a_config_has_the_documented_defaults():
    config = CacheConfig()
    assert (config.retrieval_policy, config.cache_policy) == (RetrievalPolicy.EXACT_MATCH, CachePolicy.LRU)
    assert (config.similarity_threshold, config.ttl) == (0.9, None)
    assert CacheConfig("similarity_match", "fifo") == CacheConfig(RetrievalPolicy.SIMILARITY_MATCH, CachePolicy.FIFO)  # type: ignore[arg-type]
    assert CacheConfig(None, None).cache_policy is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"retrieval_policy": "nearly"},
        {"cache_policy": "lfu"},
        {"cache_policy": 3},
        {"similarity_threshold": 1.1},
        {"similarity_threshold": float("nan")},
        {"similarity_threshold": True},
        {"similarity_threshold": "high"},
        {"ttl": 0},
        {"ttl": -1},
        {"ttl": float("inf")},
        {"ttl": "soon"},
    ],
)
def test_a_config_refuses_the_impossible(wrong: dict[str, Any]):
    with pytest.raises(InvalidInput):
        CacheConfig(**wrong)


def test_a_config_is_checked_again_once_it_was_changed(monkeypatch: pytest.MonkeyPatch):
    cache, config, checks = MemoryCacheStorage(1), CacheConfig(), list[CacheConfig]()
    check = CacheConfig.check
    monkeypatch.setattr(CacheConfig, "check", lambda self: (checks.append(self), check(self))[1])
    cache.set("a", "1", config)
    assert cache.get("a", config) == cache.get("a", config) == cache.get("a")
    assert checks == []
    config.cache_policy = "fifo"  # type: ignore[assignment]
    assert cache.get("a", config) is not None
    assert cache.get("b", config) is None
    assert (checks, config.cache_policy) == ([config], CachePolicy.FIFO)
    config.similarity_threshold = 7.0
    for call in (cache.get, cache.exists, lambda key, config: cache.set(key, "2", config)):
        with pytest.raises(InvalidInput):
            call("a", config)
    config.similarity_threshold = 0.5
    assert cache.get("a", config) is not None


def test_a_config_is_its_fields_alone():
    config = CacheConfig(ttl=3.0)
    assert asdict(config) == {
        "retrieval_policy": "exact_match",
        "cache_policy": "lru",
        "similarity_threshold": 0.9,
        "ttl": 3.0,
    }
    assert replace(config, ttl=None) == CacheConfig() == copy.copy(CacheConfig())
    assert "renews" not in repr(config)
