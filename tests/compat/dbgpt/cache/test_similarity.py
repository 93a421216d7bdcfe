"""Similar keys: found when the text is near and all the rest is equal, never when gone, counted as memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.dbgpt.cache import memory
from memwell.compat.dbgpt.cache.embedding import EmbeddingCacheKey
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, RetrievalPolicy
from memwell.compat.dbgpt.cache.llm import LLMCacheKey
from memwell.compat.dbgpt.cache.memory import MemoryCacheStorage
from memwell.compat.dbgpt.cache.shared import KeyValueCacheStorage
from memwell.compat.dbgpt.cache.similarity import KeyText, SimilarTexts, text_of
from memwell.compat.dbgpt.cache.storage import CacheStorage
from memwell.compat.dbgpt.serialization import JsonSerializer
from memwell.errors import InvalidInput, ModelError
from memwell.models.scripted import HashEmbedder
from memwell.storage import open_backend
from memwell.testing.clock import Clock

SIMILAR = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH)
Make = Callable[..., CacheStorage]


@pytest.fixture(params=["memory", "memory:", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """A maker of caches: in memory, and over two kinds of store."""
    if request.param == "memory":
        yield lambda embedder=None: MemoryCacheStorage(64, embedder=embedder)
        return
    url = request.param if request.param == "memory:" else str(tmp_path / "cache.db")
    with open_backend(url) as backend:
        yield lambda embedder=None: KeyValueCacheStorage(backend, embedder=embedder)


class Angles:
    """A stranger's embeddings: a text is the direction of a number, which it spells so that no rule takes it for one."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[1.0, float(text.translate(_UNSPELT)) / 100] for text in texts]


_SPELT = str.maketrans("0123456789.", "bcdfghjklmz")
_UNSPELT = str.maketrans("bcdfghjklmz", "0123456789.")


def spelt(prompt: str) -> str:
    return prompt.translate(_SPELT) if prompt.replace(".", "").isdigit() else prompt


def key(prompt: str, **fields: Any) -> LLMCacheKey:
    return LLMCacheKey(prompt=spelt(prompt), **({"model_name": "m"} | fields))


def value(storage: CacheStorage, asked: Any, config: CacheConfig | None = SIMILAR) -> Any:
    item = storage.get(asked, config)
    return None if item is None else item.value


@pytest.mark.parametrize(
    ("kept", "asked", "other"),
    [
        ("How do I reset my password?", "How can I reset my password?", "Tell me a joke about cats"),
        ("What is the capital of France?", "What's the capital of France?", "What is the capital of Germany?"),
        ("怎么重置密码?", "如何重置密码?", "今天天气怎么样?"),
        ("法国的首都是哪里?", "法国的首都是什么地方?", "如何重置密码?"),
        ("What is the capital of France?", "What's the capital city of France?", "What is the capital of Spain?"),
    ],
)
def test_the_local_embedder_finds_what_means_the_same(make: Make, kept: str, asked: str, other: str):
    storage = make()
    storage.set(key(kept), "answer")
    assert value(storage, key(asked)) == "answer"
    assert value(storage, key(asked), None) is None, "an exact match is exact"
    assert value(storage, key(other)) is None
    assert storage.exists(key(asked), SIMILAR)
    # Text keys are compared with text keys alone.
    assert value(storage, asked) is None
    storage.set(kept, "of the text")
    assert value(storage, asked) == "of the text"


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("What is 15 times 23?", "What is 15 times 24?"),
        ("Turn on the light in the kitchen", "Turn off the light in the kitchen"),
        ("Send the money from Anna to Ben", "Send the money from Ben to Anna"),
        ("Is it safe to eat raw eggs?", "Is it unsafe to eat raw eggs?"),
        ("The door is locked", "The door is not locked"),
        ("今天上海天气怎么样？", "明天上海天气怎么样？"),
        ("我可以吃鸡蛋吗？", "我不可以吃鸡蛋吗？"),
    ],
)
def test_what_only_looks_the_same_is_another_question(make: Make, kept: str, asked: str):
    storage = make()
    storage.set(key(kept), "answer")
    low = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH, similarity_threshold=0.5)
    assert value(storage, key(asked)) is None
    assert value(storage, key(asked), low) is None
    storage.set(key(asked), "its own")
    assert value(storage, key(kept), low) == "answer"
    assert value(storage, key(f"{asked} "), low) == "its own"


def test_behind_one_that_disagrees_the_next_is_found(make: Make):
    storage = make()
    storage.set(key("What is the height of tower 24?"), "of 24")
    storage.set(key("How high is tower 23?"), "of 23")
    low = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH, similarity_threshold=0.3)
    assert value(storage, key("What is the height of tower 23?"), low) == "of 23"


def test_the_nearest_counts_and_only_above_the_threshold(make: Make):
    storage = make(Angles())
    for prompt in ("10", "40", "90"):
        storage.set(key(prompt), f"of {prompt}")
    assert value(storage, key("30")) == "of 40"
    assert value(storage, key("20")) == "of 10"
    assert value(storage, key("900")) is None
    assert (
        value(storage, key("900"), CacheConfig(RetrievalPolicy.SIMILARITY_MATCH, similarity_threshold=0.5)) == "of 90"
    )
    assert value(storage, key("41"), CacheConfig(RetrievalPolicy.SIMILARITY_MATCH, similarity_threshold=1)) is None


def test_everything_else_must_be_equal(make: Make):
    storage = make(Angles())
    storage.set(key("10", temperature=0.7), "mild")
    storage.set(key("11", temperature=0.1), "cold")
    storage.set(key("12", model_name="large"), "large")
    assert value(storage, key("10.5", temperature=0.1)) == "cold"
    assert value(storage, key("10.5", model_name="large")) == "large"
    assert value(storage, key("12.5")) == "mild"
    assert value(storage, key("10", top_p=0.5)) is None
    assert value(storage, EmbeddingCacheKey("10", "m")) is None


def test_what_is_gone_is_not_found(make: Make):
    storage = make(Angles())
    storage.set(key("10"), "a")
    storage.set(key("30"), "b")
    assert value(storage, key("11")) == "a"
    assert storage.delete(key("10"))
    assert value(storage, key("11")) == "b"
    storage.set(key("10"), "again")
    assert value(storage, key("11")) == "again"
    storage.clear()
    assert value(storage, key("11")) is None
    for prompt in ("10", "30"):
        storage.set(key(prompt), f"after {prompt}")
    assert value(storage, key("31")) == "after 30"
    assert value(storage, key("11")) == "after 10"


def test_each_text_is_embedded_once(make: Make):
    angles = Angles()
    storage = make(angles)
    for number in range(100):
        storage.set(key(str(number)), number)
    assert angles.asked == [], "setting costs nothing"
    value(storage, key("0.5"))
    assert sorted(angles.asked) == sorted(map(spelt, [*map(str, range(100)), "0.5"]))
    storage.set(key("7"), "new")
    del angles.asked[:]
    assert value(storage, key("7.1")) == "new"
    assert angles.asked in ([spelt("7.1")], [spelt("7"), spelt("7.1")])


def test_an_embedder_that_fails_tells_so_and_the_next_call_works(make: Make):
    class Failing(Angles):
        fails = True

        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            if self.fails:
                raise RuntimeError("out of order")
            return super().embed_documents(texts)

    failing = Failing()
    storage = make(failing)
    storage.set(key("10"), "a")
    with pytest.raises(ModelError, match="out of order"):
        storage.get(key("11"), SIMILAR)
    assert value(storage, key("10")) == "a", "what is there exactly needs no embedder"
    failing.fails = False
    assert value(storage, key("11")) == "a"


def test_a_text_without_direction_is_found_exactly_only(make: Make):
    storage = make(HashEmbedder(16))
    storage.set(key(""), "nothing")
    assert value(storage, key("")) == "nothing"
    assert value(storage, key("", temperature=None)) is None


def test_a_key_without_text_is_found_exactly_only(make: Make):
    class Plain(CacheKey[int]):
        def __init__(self, number: int) -> None:
            self.number = number
            self.set_serializer(JsonSerializer())

        def to_dict(self) -> dict[str, Any]:
            return {"number": self.number}

        def get_value(self) -> int:
            return self.number

    storage = make(Angles())
    storage.set(Plain(1), "one")
    assert value(storage, Plain(1)) == "one"
    assert value(storage, Plain(2)) is None


def test_an_embedder_must_be_one():
    with pytest.raises(InvalidInput):
        MemoryCacheStorage(embedder=3)


def test_evicted_and_expired_entries_are_never_similar(monkeypatch: pytest.MonkeyPatch):
    clock = Clock(0.0)
    monkeypatch.setattr(memory, "monotonic", clock)
    storage = MemoryCacheStorage(0.2, embedder=Angles())
    storage.set(key("10"), "first", ttl=5)
    assert value(storage, key("11")) == "first"
    clock.advance(6)
    assert value(storage, key("11")) is None
    storage.set(key("20"), bytes(100))
    assert value(storage, key("21")) == bytes(100)
    for number in range(40):
        storage.set(key(str(5000 + number)), bytes(10_000))
        assert value(storage, key(f"{5000 + number}.5")) is not None
    assert value(storage, key("21")) is None
    assert storage.current_memory_usage <= storage.max_memory


def test_vectors_count_as_memory():
    limit = 1
    rows = HashEmbedder(512)
    rows.embed(["warm"])
    texts = [f"question {number}" for number in range(200)]
    storage = MemoryCacheStorage(limit, embedder=rows)
    storage.set("warm up the libraries", "x")
    storage.get("another", SIMILAR)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for turn in range(3):
            for text in texts:
                storage.set(f"{text} {turn}", bytes(2000))
            storage.get("something else", SIMILAR)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert len(storage) < 600, "it overflowed"
    assert storage.current_memory_usage <= storage.max_memory
    assert grown < 1.05 * storage.max_memory
    assert abs(grown - storage.current_memory_usage) < 0.05 * storage.max_memory


def test_similar_texts_forget():
    texts: SimilarTexts[str] = SimilarTexts()
    assert (texts.nbytes, texts.nearest(b"\x00\x3c\x00\x00", "r", 0)) == (0, None)
    texts.add({"a": KeyText("a", "r"), "b": KeyText("b", "r")}, [b"\x00\x3c\x00\x00", None])
    assert ("a" in texts, "b" in texts, texts.nbytes > 0) == (True, False, True)
    assert texts.nearest(b"\x00\x3c\x00\x00", "r", 0.9) == "a"
    assert texts.nearest(b"\x00\x3c\x00\x00", "other", 0.9) is None
    texts.drop("never")
    texts.drop("a")
    assert texts.nearest(b"\x00\x3c\x00\x00", "r", 0.9) is None


@pytest.mark.parametrize("data", [b"", b"[1]", b'{"prompt": 3}', b'{"other": "x"}', b"\xff\xfe", b"\x81\x01\x02"])
def test_data_without_the_field_has_no_text(data: bytes):
    assert text_of(data, "prompt", is_text=False) is None
    assert text_of(data, "prompt", is_text=True) is None
