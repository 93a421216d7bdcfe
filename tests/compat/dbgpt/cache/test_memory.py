"""The cache in memory: it forgets the right entries, counts every byte, and never gives one key's value to another."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import tracemalloc
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.cache import memory
from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, CachePolicy, RetrievalPolicy
from memwell.compat.dbgpt.cache.llm import LLMCacheKey, LLMCacheValue, ModelOutput
from memwell.compat.dbgpt.cache.memory import MemoryCacheStorage
from memwell.compat.dbgpt.serialization import JsonSerializer
from memwell.errors import InvalidInput
from memwell.testing.clock import Clock

MEGABYTE = 1024 * 1024


def value_of(storage: MemoryCacheStorage, key: Any, config: CacheConfig | None = None) -> Any:
    item = storage.get(key, config)
    return None if item is None else item.value


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(1000.0)
    monkeypatch.setattr(memory, "monotonic", clock)
    return clock


def room_for(count: int, size: int) -> float:
    """The megabytes that ``count`` such entries take, and not one more: half an entry is for the table."""
    storage = MemoryCacheStorage()
    for number in range(count):
        storage.set(f"key-{number:04}", bytes(size))
    return (storage.current_memory_usage + size / 2) / MEGABYTE


steps = st.lists(st.tuples(st.sampled_from("gsed"), st.integers(0, 9)), max_size=60)


@given(steps, st.sampled_from([CachePolicy.LRU, CachePolicy.FIFO]), st.booleans())
def test_lru_is_lru_and_fifo_is_fifo(steps: list[tuple[str, int]], policy: CachePolicy, by_config: bool):
    # Five entries fit; a model of a few lines says which five.
    storage = MemoryCacheStorage(room_for(5, 5000), cache_policy=None if by_config else policy)
    config = CacheConfig(cache_policy=policy) if by_config else None
    model: OrderedDict[str, int] = OrderedDict()
    for moment, (step, number) in enumerate(steps):
        key = f"key-{number:04}"
        if step == "g":
            found = storage.get(key, config)
            assert (found is not None) is (key in model)
            if found is not None:
                assert found.value_data == moment_bytes(model[key])
                if policy is CachePolicy.LRU:
                    model.move_to_end(key)
        elif step == "e":
            assert storage.exists(key, config) is (key in model)
        elif step == "d":
            assert storage.delete(key) is (model.pop(key, None) is not None)
        else:
            storage.set(key, moment_bytes(moment), config)
            model[key] = moment
            if policy is CachePolicy.LRU:
                model.move_to_end(key)
            if len(model) > 5:
                model.popitem(last=False)
        assert len(storage) == len(model)
        assert storage.current_memory_usage <= storage.max_memory
    assert {key for key in (f"key-{n:04}" for n in range(10)) if storage.exists(key)} == set(model)


def moment_bytes(moment: int) -> bytes:
    return moment.to_bytes(5000, "big")


def test_an_overflow_drops_the_oldest_and_goes_on():
    storage = MemoryCacheStorage(room_for(3, 9000))
    for number in range(50):
        storage.set(f"key-{number:04}", bytes(9000))
    assert len(storage) == 3
    assert [storage.exists(f"key-{number:04}") for number in (0, 46, 47, 48, 49)] == [False, False, True, True, True]


def test_the_policy_of_a_storage_stands_above_that_of_a_call():
    storage = MemoryCacheStorage(room_for(2, 9000), cache_policy=CachePolicy.FIFO)
    for number in (1, 2):
        storage.set(f"key-{number:04}", bytes(9000))
    storage.get("key-0001", CacheConfig(cache_policy=CachePolicy.LRU))
    storage.set("key-0003", bytes(9000))
    assert not storage.exists("key-0001")


def key_of(number: int, as_key: bool) -> LLMCacheKey | str:
    text = "".join(["猫" if number % 2 else "p", str(number)])
    return LLMCacheKey(prompt=text, model_name="m") if as_key else text


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 400), st.booleans(), st.sampled_from([None, 5.0])), max_size=30
    )
)
def test_the_account_is_exact_after_anything(sets: list[tuple[int, int, bool, float | None]]):
    storage, empty = MemoryCacheStorage(), MemoryCacheStorage().current_memory_usage
    for number, size, as_key, ttl in sets:
        storage.set(key_of(number, as_key), bytes(size), ttl=ttl)
    again = MemoryCacheStorage()
    last = {(number, as_key): (size, ttl) for number, size, as_key, ttl in sets}
    for (number, as_key), (size, ttl) in last.items():
        again.set(key_of(number, as_key), bytes(size), ttl=ttl)
    # Writing a key again counts once.
    assert storage.current_memory_usage == again.current_memory_usage
    for number, as_key in last:
        key = key_of(number, as_key)
        if isinstance(key, str):
            # Whoever encodes a text makes its object larger.
            msgspec.json.encode(key)
        assert storage.delete(key)
    assert storage.current_memory_usage - sys.getsizeof(storage._entries) == 0
    storage.clear()
    assert storage.current_memory_usage == empty


def small(number: int) -> bytes:
    return b"%d" % number


def large(number: int) -> bytes:
    return bytes(20_000 + number % 13)


def mixed(number: int) -> bytes:
    return bytes(int(10 ** random.Random(number).uniform(0, 4.5)))


@pytest.mark.parametrize(("make", "count", "megabytes"), [(small, 2000, 0.2), (large, 160, 1), (mixed, 800, 1)])
@pytest.mark.parametrize("ttl", [None, 1000.0])
def test_the_memory_taken_is_the_memory_allowed(
    make: Callable[[int], bytes], count: int, megabytes: float, ttl: float | None
):
    # The collector is not asked: it would look at all that the other tests have loaded, and nothing here waits for it.
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        storage = MemoryCacheStorage(megabytes)
        for number in range(count):
            storage.set(f"key {number}", make(number), ttl=ttl)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    allowed = megabytes * MEGABYTE
    assert len(storage) < count, "it overflowed"
    assert storage.current_memory_usage <= allowed
    assert abs(grown - storage.current_memory_usage) < 0.05 * allowed
    assert grown > 0.9 * allowed, "it is used, not only kept"


def test_large_entries_after_many_small_ones_get_all_the_room():
    storage = MemoryCacheStorage(4)
    for number in range(20_000):
        storage.set(f"{number}", b"x")
    for number in range(400):
        storage.set(f"large {number}", bytes(20_000))
    assert len(storage) * 20_000 > 0.9 * 4 * MEGABYTE
    storage.set("almost all", bytes(int(3.99 * MEGABYTE)))
    assert len(storage) == 1


def test_what_is_larger_than_the_cache_is_refused_and_nothing_goes():
    storage = MemoryCacheStorage(0.01)
    storage.set("a", "kept")
    for key in ("b", "a"):
        with pytest.raises(InvalidInput, match="whole cache"):
            storage.set(key, bytes(20_000))
    assert value_of(storage, "a") == "kept"
    assert len(storage) == 1


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), True, "much", None])
def test_a_limit_is_a_number_above_zero(limit: Any):
    with pytest.raises(InvalidInput):
        MemoryCacheStorage(limit)


def test_an_entry_whose_time_is_over_is_gone_at_once_and_its_memory_later(clock: Clock):
    storage = MemoryCacheStorage()
    storage.set("other", "kept")
    before = storage.current_memory_usage
    storage.set("a", "x" * 1000, ttl=10)
    storage.set("b", "y" * 1000, CacheConfig(ttl=20))
    clock.advance(9.5)
    assert value_of(storage, "a") == "x" * 1000
    clock.advance(1)
    assert storage.get("a") is None
    assert not storage.exists("a")
    assert storage.delete("a") is False
    assert value_of(storage, "b") == "y" * 1000
    clock.advance(10)
    storage.set("other", "kept")
    assert storage.current_memory_usage == before
    assert len(storage) == 1


def test_writing_again_without_a_time_makes_an_entry_stay(clock: Clock):
    storage = MemoryCacheStorage()
    storage.set("a", 1, ttl=10)
    storage.set("a", 2)
    clock.advance(100)
    assert value_of(storage, "a") == 2
    storage.set("a", 3, ttl=5)
    clock.advance(6)
    assert len(storage) == 0


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from([None, 1.0, 3.0]), st.integers(0, 2)), max_size=40))
def test_only_what_still_lives_is_found(sets: list[tuple[int, float | None, int]]):
    clock = Clock(0.0)
    original, memory.monotonic = memory.monotonic, clock
    try:
        storage = MemoryCacheStorage()
        ends: dict[str, float] = {}
        for number, ttl, passes in sets:
            clock.advance(passes)
            storage.set(str(number), number, ttl=ttl)
            ends[str(number)] = clock.now + ttl if ttl else float("inf")
            alive = {key for key, end in ends.items() if end > clock.now}
            assert {str(n) for n in range(7) if storage.get(str(n))} == alive
        assert len(storage) == sum(end > clock.now for end in ends.values())
    finally:
        memory.monotonic = original


class Colliding(CacheKey[str]):
    """A key whose hash is the same for all."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.set_serializer(JsonSerializer())

    def to_dict(self) -> dict[str, Any]:
        return {"words": self.words}

    def get_value(self) -> str:
        return self.words

    def get_hash_bytes(self) -> bytes:
        return b"same"


def test_equal_hashes_are_not_equal_keys():
    storage = MemoryCacheStorage()
    storage.set(Colliding("one"), "first")
    assert value_of(storage, Colliding("one")) == "first"
    assert storage.get(Colliding("two")) is None
    assert not storage.exists(Colliding("two"))
    assert storage.delete(Colliding("two")) is False
    storage.set(Colliding("two"), "second")
    assert storage.get(Colliding("one")) is None
    assert value_of(storage, Colliding("two")) == "second"
    assert len(storage) == 1


def test_a_kept_hash_is_compared_with_the_whole_key():
    class Same(LLMCacheKey):
        def get_hash_bytes(self) -> bytes:
            return b"same"

    storage = MemoryCacheStorage()
    one, two = Same(prompt="one", model_name="m"), Same(prompt="two", model_name="m")
    storage.set(one, "first")
    assert one.identity()[0] == two.identity()[0]
    assert storage.get(two) is None
    assert value_of(storage, one) == "first"


def test_text_and_key_objects_are_never_the_same():
    storage = MemoryCacheStorage()
    storage.set(Colliding("x"), "of the key")
    storage.set("same", "of the text")
    assert value_of(storage, Colliding("x")) == "of the key"
    assert value_of(storage, "same") == "of the text"


def test_a_fresh_key_finds_what_an_equal_one_set():
    storage = MemoryCacheStorage()
    value = LLMCacheValue(output=ModelOutput(error_code=0, text="四"))
    storage.set(LLMCacheKey(prompt="二加二?", model_name="m"), value)
    for _ in range(2):
        found = storage.get(LLMCacheKey(prompt="二加二?", model_name="m"))
        assert found is not None
        assert found.value_data == value.serialize()
    assert storage.get(LLMCacheKey(prompt="二加二?", model_name="other")) is None


class Loud(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise AssertionError("asked")

    __hash__ = str.__hash__


def test_a_text_of_another_class_is_its_characters():
    storage = MemoryCacheStorage()
    storage.set(Loud("a"), "x")
    assert value_of(storage, "a") == "x"
    assert value_of(storage, Loud("a")) == "x"


@pytest.mark.parametrize("key", [None, 3, b"bytes", ["a"]])
def test_what_is_no_key_is_refused(key: Any):
    storage = MemoryCacheStorage()
    for use in (storage.get, storage.exists, storage.delete, lambda one: storage.set(one, "x")):
        with pytest.raises(InvalidInput):
            use(key)


@pytest.mark.parametrize("ttl", [0, -3, float("nan"), "soon", True])
def test_a_time_to_live_is_above_zero(ttl: Any):
    storage = MemoryCacheStorage()
    with pytest.raises(InvalidInput):
        storage.set("a", "x", ttl=ttl)
    with pytest.raises(InvalidInput):
        storage.set("a", "x", 60)  # type: ignore[arg-type]
    assert len(storage) == 0


def test_async_does_the_same():
    async def use() -> tuple[Any, ...]:
        storage = MemoryCacheStorage(embedder=lambda texts: [[1.0, 0.0] for _ in texts])
        await storage.aset("a", {"k": [1]}, None, 60)
        similar = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH)
        found = await storage.aget("a"), await storage.aget("b"), await storage.aget("b", similar)
        there = await storage.aexists("a")
        await storage.adelete("a")
        gone = await storage.aexists("a")
        await storage.aclear()
        return *[item and item.value for item in found], there, gone, storage.support_async()

    assert asyncio.run(use()) == ({"k": [1]}, None, {"k": [1]}, True, False, True)


def test_threads_never_fail_and_the_account_stays_exact():
    storage = MemoryCacheStorage(room_for(40, 300), embedder=lambda texts: [[1.0, len(one)] for one in texts])
    errors: list[BaseException] = []
    similar = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH, similarity_threshold=0.999999)
    keys = [LLMCacheKey(prompt=f"p{number}", model_name="m") for number in range(60)]

    def work(seed: int) -> None:
        choose = random.Random(seed)
        try:
            for step in range(1500):
                key: Any = choose.choice(keys) if choose.random() < 0.5 else f"key-{choose.randrange(60)}"
                deed = choose.random()
                if deed < 0.6:
                    found = storage.get(key)
                    assert found is None or found.key_data == (
                        key.encode() if isinstance(key, str) else key.serialize()
                    )
                elif deed < 0.9:
                    storage.set(key, bytes(choose.randrange(600)), ttl=choose.choice([None, 0.001, 100]))
                elif deed < 0.99:
                    storage.delete(key)
                elif step % 10 == 0:
                    storage.get(key, similar)
                elif step % 211 == 0:
                    storage.clear()
        except BaseException as error:  # noqa: BLE001  (told to the test below)
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    held = sum(memory._cost(name, entry) for name, entry in storage._entries.items())
    assert storage._held == held
    assert storage._mortal == sum(isinstance(entry, memory._Mortal) for entry in storage._entries.values())
    assert storage.current_memory_usage <= storage.max_memory


@given(
    own=st.sampled_from([None, CachePolicy.LRU, CachePolicy.FIFO]),
    configs=st.lists(st.sampled_from([None, *CachePolicy]), min_size=6, max_size=6),
    similar=st.booleans(),
)
def test_the_config_of_a_call_says_whether_it_is_a_use(own: Any, configs: list[Any], similar: bool):
    how = RetrievalPolicy.SIMILARITY_MATCH if similar else RetrievalPolicy.EXACT_MATCH
    cache = MemoryCacheStorage(1, cache_policy=own)
    names = [f"key {number}" for number in range(len(configs))]
    for name in names:
        cache.set(name, bytes(100_000))
    renewed: list[str] = []
    for name, policy in zip(names, configs, strict=True):
        assert cache.get(name, CacheConfig(how, policy)) is not None
        renewed += [name] * ((own or policy or CachePolicy.LRU) is CachePolicy.LRU)
    order = [*(name for name in names if name not in renewed), *renewed]
    for place in range(4):
        cache.set(f"new {place}", bytes(300_000))
        left = [name for name in order if cache.exists(name)]
        assert left == order[len(order) - len(left) :]
    assert len(left) < len(order)
