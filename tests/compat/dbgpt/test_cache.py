"""Caches: keys and values, the storage in memory, and clients of models' answers."""

from __future__ import annotations

import asyncio
import sys
import tracemalloc
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell._asyncify import block_on
from memwell.compat.dbgpt import cache
from memwell.compat.dbgpt.cache import (
    CacheConfig,
    CacheKey,
    CachePolicy,
    CacheStorage,
    LLMCacheClient,
    LLMCacheKey,
    LLMCacheValue,
    MemoryCacheStorage,
    ModelOutput,
    RetrievalPolicy,
)
from memwell.compat.dbgpt.storage import JsonSerializer
from memwell.errors import InvalidInput, Unsupported
from tests.compat.dbgpt.dict_storage import Reversed

MEGABYTE = 1024 * 1024
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


class Question(CacheKey[str]):
    """A key of a user's own, whose hash is the same for all."""

    def __init__(self, words: str) -> None:
        self.words = words

    def to_dict(self) -> dict[str, Any]:
        return {"words": self.words}

    def get_value(self) -> str:
        return self.words

    def get_hash_bytes(self) -> bytes:
        return b"same"


@pytest.fixture
def storage() -> CacheStorage:
    return MemoryCacheStorage()


def value(storage: CacheStorage, key: Any, config: CacheConfig | None = None) -> Any:
    item = storage.get(key, config)
    return None if item is None else item.value


@given(TEXTS, TEXTS, st.sampled_from([None, 0.1, 0.7]), st.sampled_from([None, 0.1, 0.7]))
def test_keys_are_equal_exactly_when_their_fields_are(one: str, other: str, cold: float | None, hot: float | None):
    first = LLMCacheKey(prompt=one, model_name="m", temperature=cold)
    second = LLMCacheKey(prompt=other, model_name="m", temperature=hot)
    same = (one, cold) == (other, hot)
    assert (first == second) is same
    assert (first.get_hash_bytes() == second.get_hash_bytes()) is same
    assert not same or hash(first) == hash(second)


def test_a_key_has_the_documented_fields():
    key = LLMCacheKey(prompt="a", model_name="m")
    assert key.to_dict() == {
        "prompt": "a", "model_name": "m", "temperature": 0.7, "max_new_tokens": None, "top_p": 1.0,
        "model_type": "huggingface",
    }  # fmt: skip
    key.set_serializer(Reversed())
    assert key.serialize() == Reversed().serialize(key)
    assert "'a'" in repr(key)
    before = key.serialize()
    key.prompt = "b"
    assert key.serialize() == Reversed().serialize(key) != before, "serialised again after a field was set"
    assert len({Question("a"), Question("a"), Question("b")}) == 2


def test_a_call_asks_for_exact_keys_and_a_time_above_0(storage: CacheStorage):
    similar = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH)
    for call in (storage.get, storage.exists, lambda key, config: storage.set(key, "x", config)):
        with pytest.raises(Unsupported, match="exact"):
            call("a", similar)
        with pytest.raises(InvalidInput, match="ttl="):
            call("a", 60)  # type: ignore[arg-type]
    assert storage.get("a") is None


def test_what_is_no_value_is_refused(storage: CacheStorage):
    for wrong in (object(), {1: 2}, float("nan"), {"a": object()}, "\ud800"):
        with pytest.raises(InvalidInput):
            storage.set("key", wrong)
    for ttl in (0, -3, float("nan"), "soon", True):
        with pytest.raises(InvalidInput):
            storage.set("a", "x", ttl=ttl)  # type: ignore[arg-type]
    assert storage.get("a") is None


def test_it_keeps_text_bytes_data_and_values(storage: Any):
    key, answer = LLMCacheKey(prompt="hi", model_name="m"), LLMCacheValue(output=ModelOutput(error_code=0, text="你好"))
    kept: dict[Any, Any] = {"text": "你好", "bytes": b"\x00\xff", "data": {"a": [1, None]}}
    for name, one in kept.items():
        storage.set(name, one)
    storage.set(key, answer)
    assert {name: value(storage, name) for name in kept} == kept
    found = storage.get(LLMCacheKey(prompt="hi", model_name="m"))
    assert (found.value, found.value_data) == (answer, answer.serialize())
    assert found.value is not answer, "a copy, which the program may change"
    assert storage.get(LLMCacheKey(prompt="hi", model_name="other")) is storage.get("other") is None


def test_a_text_is_not_the_key_that_serialises_to_it(storage: Any):
    class Shout(str):
        """A text that compares as no other does."""

        __slots__ = ()
        __hash__ = None  # type: ignore[assignment]

    written = Question("a").serialize().decode()
    storage.set(written, "text")
    assert storage.get(Question("a")) is None
    storage.set(Question("a"), "key")
    assert (value(storage, Shout(written)), value(storage, Question("a"))) == ("text", "key")
    assert storage.get(written).key_data == storage.get(Question("a")).key_data == Question("a").serialize()


def test_equal_hashes_are_not_equal_keys(storage: Any):
    storage.set(Question("one"), "first")
    storage.set("same", "of the text")
    assert storage.get(Question("two")) is None
    assert (value(storage, Question("one")), value(storage, "same")) == ("first", "of the text")


def test_readers_and_writers_of_a_full_storage_do_not_disturb_each_other():
    storage = MemoryCacheStorage(room_for(5, 10))

    def work(start: int) -> None:
        for number in range(start, start + 3000):
            storage.set(f"key-{number % 12:04}", bytes(10), ttl=None if number % 3 else 60)
            found = storage.get(f"key-{number % 7:04}")
            assert found is None or found.key_data == f"key-{number % 7:04}".encode()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(4)))
    finally:
        sys.setswitchinterval(interval)
    names = [f"key-{number:04}" for number in range(12)]
    assert 0 < storage.current_memory_usage <= storage.max_memory
    assert any(storage.exists(name) for name in names)
    for name in names:
        storage.set(name, bytes(10))
    assert storage.current_memory_usage <= storage.max_memory, "the account is right, or there would be room for fewer"
    assert sum(storage.exists(name) for name in names) == 5


def room_for(count: int, size: int) -> float:
    """The megabytes that ``count`` such entries take, and not one more."""
    storage = MemoryCacheStorage()
    for number in range(count):
        storage.set(f"key-{number:04}", bytes(size))
    return (storage.current_memory_usage + size / 2) / MEGABYTE


STEPS = st.lists(st.tuples(st.sampled_from("gse"), st.integers(0, 9)), max_size=60)


@given(STEPS, st.sampled_from([CachePolicy.LRU, CachePolicy.FIFO]))
def test_lru_is_lru_and_fifo_is_fifo(steps: list[tuple[str, int]], policy: CachePolicy):
    # Five entries fit; a model of a few lines says which five.
    storage, config = MemoryCacheStorage(room_for(5, 5000)), CacheConfig(cache_policy=policy)
    model: OrderedDict[str, bytes] = OrderedDict()
    for moment, (step, number) in enumerate(steps):
        key, content = f"key-{number:04}", moment.to_bytes(5000, "big")
        if step == "g":
            assert value(storage, key, config) == model.get(key)
            if key in model and policy is CachePolicy.LRU:
                model.move_to_end(key)
        elif step == "e":
            assert storage.exists(key, config) is (key in model)
        else:
            storage.set(key, content, config)
            model[key] = content
            if policy is CachePolicy.LRU:
                model.move_to_end(key)
            if len(model) > 5:
                model.popitem(last=False)
        assert storage.current_memory_usage <= storage.max_memory
    assert {key for key in (f"key-{n:04}" for n in range(10)) if storage.exists(key)} == set(model)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 400), st.booleans()), max_size=30))
def test_the_account_is_exact_after_anything(sets: list[tuple[int, int, bool]]):
    def key_of(number: int, as_key: bool) -> LLMCacheKey | str:
        return LLMCacheKey(prompt=f"猫{number}", model_name="m") if as_key else f"猫{number}"

    storage, again = MemoryCacheStorage(), MemoryCacheStorage()
    for number, size, as_key in sets:
        storage.set(key_of(number, as_key), bytes(size))
    last = {(number, as_key): size for number, size, as_key in sets}
    for (number, as_key), size in last.items():
        again.set(key_of(number, as_key), bytes(size))
    assert storage.current_memory_usage == again.current_memory_usage, "writing a key again counts once"


@pytest.mark.parametrize(("size", "count"), [(1, 2000), (20_000, 60)])
def test_the_memory_taken_is_the_memory_allowed(size: int, count: int):
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        storage = MemoryCacheStorage(0.5)
        for number in range(count):
            storage.set(f"key {number}", bytes(size), ttl=1000.0)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert not storage.exists("key 0"), "it overflowed"
    assert 0.8 * storage.max_memory < grown <= 1.05 * storage.max_memory


def test_what_is_larger_than_the_cache_is_refused_and_nothing_goes():
    storage = MemoryCacheStorage(0.01)
    storage.set("a", "kept")
    for key in ("b", "a"):
        with pytest.raises(InvalidInput, match="whole cache"):
            storage.set(key, bytes(20_000))
    assert (value(storage, "a"), storage.exists("b")) == ("kept", False)
    for limit in (0, -1, float("nan"), float("inf"), True, "much", None):
        with pytest.raises(InvalidInput):
            MemoryCacheStorage(limit)  # type: ignore[arg-type]


def test_an_entry_whose_time_is_over_is_gone(monkeypatch: pytest.MonkeyPatch):
    moment = 100.0
    monkeypatch.setattr(cache, "monotonic", lambda: moment)
    storage = MemoryCacheStorage()
    storage.set("short", 1, ttl=10)
    storage.set("long", 2, ttl=30)
    moment = 111.0
    assert (storage.exists("short"), value(storage, "short"), value(storage, "long")) == (False, None, 2)
    storage.set("long", 3)
    moment = 1000.0
    assert value(storage, "long") == 3, "written again without a time it stays"


def test_what_does_not_fit_the_class_is_a_miss():
    storage = MemoryCacheStorage()
    client, key = LLMCacheClient(storage), LLMCacheKey(prompt="a", model_name="m")
    for stored in (b"", b"\xff", b"{}", b'{"output": 3}', b'{"output": {"text": "no code"}}', b"[1]"):
        storage.set(key, stored)
        assert block_on(client.get(key)) is None


OUTPUTS = st.builds(
    ModelOutput, error_code=st.just(0), text=TEXTS, incremental=st.booleans(),
    model_context=st.none() | st.just({"echo": True}), usage=st.none() | st.just({"tokens": 3}),
)  # fmt: skip


@pytest.mark.parametrize("serializer", [JsonSerializer(), Reversed()])
@given(prompt=TEXTS, output=OUTPUTS | st.lists(OUTPUTS, min_size=1, max_size=3), user=st.none() | TEXTS)
def test_an_answer_comes_back_as_it_was(serializer: JsonSerializer, prompt: str, output: Any, user: str | None):
    client = LLMCacheClient(MemoryCacheStorage(1), serializer=serializer)
    key = client.new_key(prompt=prompt, model_name="m", temperature=0.1)

    async def use() -> Any:
        await client.set(key, client.new_value(output=output, user=user))
        return await client.get(client.new_key(prompt=prompt, model_name="m", temperature=0.1))

    found = asyncio.run(use())
    assert found is not None
    assert found.get_value() == LLMCacheValue(output=output, user=user)
    assert found.get_value().is_list is isinstance(output, list)


@pytest.mark.parametrize("output", [ModelOutput(error_code=1, text="no"), [ModelOutput(0, "a"), ModelOutput(7, "cut")]])
def test_an_answer_that_failed_is_not_kept(output: Any):
    client = LLMCacheClient()
    key = client.new_key(prompt="a", model_name="m")
    block_on(client.set(key, client.new_value(output=output)))
    assert block_on(client.exists(key)) is False
    block_on(client.set(key, client.new_value(output=ModelOutput(0, "yes"))))
    assert block_on(client.exists(key)) is True


def test_an_output_has_a_text_or_a_content():
    parts = [{"type": "text", "object": {"data": "hi", "format": "text"}}]
    assert ModelOutput(**ModelOutput(0, content=parts).to_dict()) == ModelOutput(0, content=parts)
    assert "content" not in ModelOutput(0, "a").to_dict()
    with pytest.raises(InvalidInput, match="Must pass either text or content"):
        ModelOutput(0)
    with pytest.raises(InvalidInput, match="Cannot pass both text and content"):
        ModelOutput(0, "a", parts)
    other = SimpleNamespace(to_dict=lambda: {"error_code": 0, "text": "hi", "finish_reason": "stop"})
    assert LLMCacheValue(output=other).output == ModelOutput(0, "hi", finish_reason="stop")  # type: ignore[arg-type]


@pytest.mark.parametrize("fields", [{}, {"output": None}, {"output": []}, {"output": 3}, {"output": [3]}])
def test_a_value_needs_an_output(fields: dict[str, Any]):
    for wrong in (fields, {"output": {"error_code": 0, "text": "a"}, "colour": "red"}):
        with pytest.raises(InvalidInput):
            LLMCacheClient().new_value(**wrong)
        with pytest.raises(InvalidInput):
            LLMCacheClient().new_key(**wrong)


async def test_a_storage_can_be_awaited_as_in_the_document():
    storage = MemoryCacheStorage()
    assert await storage.get("k") is None
    assert await storage.exists("k") is False
    assert await storage.set("k", {"a": [1]}, ttl=60) is None
    assert await storage.get("k") == {"a": [1]}
    assert await storage.exists("k") is True
    # And called plainly, also where an event loop runs.
    storage.set("plain", "text")
    assert storage.get("plain").value == "text"
    assert storage.exists("plain")
    assert not storage.get("missing")
    assert not storage.exists("missing")
    assert await storage.aget("missing") is None


class _TheirKey:
    """A CacheKey or a CacheValue of DB-GPT's own, by its shape."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def serialize(self) -> bytes:
        return self._data


class _TheirPolicy(Enum):
    EXACT = "exact_match"
    SIMILAR = "similarity_match"
    FIFO = "fifo"


def test_keys_values_and_configs_of_dbgpts_own_are_taken_by_their_shape():
    storage = MemoryCacheStorage(room_for(5, 5000))
    config: Any = SimpleNamespace(retrieval_policy=_TheirPolicy.EXACT, cache_policy=_TheirPolicy.FIFO)
    for number in range(5):
        storage.set(_TheirKey(f"key-{number:04}".encode()), _TheirKey(bytes(5000)), config)  # type: ignore[arg-type]
    assert storage.get(_TheirKey(b"key-0000"), config).value_data == bytes(5000)  # type: ignore[arg-type]
    storage.set("key-0005", bytes(5100), config)
    assert not storage.exists(_TheirKey(b"key-0000"), config), "the oldest goes, though it was just read"  # type: ignore[arg-type]
    similar: Any = SimpleNamespace(retrieval_policy=_TheirPolicy.SIMILAR, cache_policy=None)
    assert storage.check_config(similar, raise_error=False) is False
    assert storage.check_config(config) is storage.check_config() is True
    with pytest.raises(Unsupported, match="SIMILAR"):
        storage.get("k", similar)
    assert storage.support_async() is False


async def test_a_value_is_read_with_the_serializer_that_wrote_it():
    storage, answer = MemoryCacheStorage(), LLMCacheValue(output=[ModelOutput(0, "a"), ModelOutput(0, "b")], user="Ann")
    answer.set_serializer(Reversed())
    await storage.set("k", answer)
    assert await storage.get("k") == answer
    assert (await storage.get("k")).serialize() == answer.serialize()
    await storage.set("shape", _TheirKey(b"bytes"))
    assert await storage.get("shape") == b"bytes", "what cannot be read back is what it was written as"


async def test_a_call_can_be_a_task():
    storage = MemoryCacheStorage()
    assert await asyncio.create_task(storage.set("k", "v")) is None
    assert await asyncio.gather(storage.get("k"), storage.exists("k"), storage.get("none")) == ["v", True, None]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(storage.get(key)) for key in ("k", "none")]
    assert [one.result() for one in tasks] == ["v", None]
    cancelled = asyncio.create_task(storage.get("k"))
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    storage.get("k").close()
