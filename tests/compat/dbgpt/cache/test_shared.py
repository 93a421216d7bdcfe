"""The cache in a store: shared by processes, bounded, and blind to what it cannot read."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.cache.keys import CacheConfig, CacheKey, CachePolicy, RetrievalPolicy
from memwell.compat.dbgpt.cache.llm import LLMCacheKey, LLMCacheValue, ModelOutput
from memwell.compat.dbgpt.cache.shared import KeyValueCacheStorage
from memwell.compat.dbgpt.cache.storage import StorageItem
from memwell.compat.dbgpt.serialization import JsonSerializer
from memwell.errors import InvalidInput
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.storage import Backend, open_backend
from memwell.storage.memory import MemoryBackend
from memwell.testing.clock import Clock

SIMILAR = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH)
SPACE = Space("default") / "dbgpt-cache" / "cache"


@pytest.fixture(params=["memory:", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    url = request.param if request.param == "memory:" else str(tmp_path / "cache.db")
    with open_backend(url) as backend:
        yield backend


def value(storage: KeyValueCacheStorage, key: Any, config: CacheConfig | None = None) -> Any:
    item = storage.get(key, config)
    return None if item is None else item.value


def test_it_keeps_text_bytes_data_and_values(store: Backend):
    storage = KeyValueCacheStorage(store)
    answer = LLMCacheValue(output=ModelOutput(error_code=0, text="你好"))
    storage.set("text", "你好")
    storage.set("bytes", b"\x00\xff")
    storage.set("data", {"a": [1, None]})
    storage.set(LLMCacheKey(prompt="hi", model_name="m"), answer)
    again = KeyValueCacheStorage(store)
    assert [value(again, key) for key in ("text", "bytes", "data")] == ["你好", b"\x00\xff", {"a": [1, None]}]
    assert value(again, LLMCacheKey(prompt="hi", model_name="m")) == answer.serialize()
    assert again.get("other") is None
    assert len(again) == 4
    assert again.delete("text") is True
    assert again.delete("text") is False
    again.clear()
    assert len(storage) == 0
    assert store.kv.scan(SPACE).items == []


def test_caches_of_other_names_and_spaces_stay_apart(store: Backend):
    caches = [
        KeyValueCacheStorage(store),
        KeyValueCacheStorage(store, name="other"),
        KeyValueCacheStorage(store, space="acme"),
    ]
    for number, storage in enumerate(caches):
        storage.set("key", number)
    assert [value(storage, "key") for storage in caches] == [0, 1, 2]
    caches[0].clear()
    assert [value(storage, "key") for storage in caches] == [None, 1, 2]


def test_fifo_drops_what_came_first_whatever_is_read(store: Backend):
    storage = KeyValueCacheStorage(store, max_entries=4, cache_policy=CachePolicy.FIFO)
    for name in "abcd":
        storage.set(name, name)
    for name in "aabca":
        assert value(storage, name) == name
    storage.set("a", "again")
    storage.set("e", "e")
    assert [value(storage, name) for name in "abcde"] == [None, "b", "c", "d", "e"]


@pytest.mark.parametrize("config", [None, CacheConfig()])
def test_lru_keeps_what_is_used(store: Backend, config: CacheConfig | None):
    storage = KeyValueCacheStorage(store, max_entries=8)
    storage.set("used", "x", config)
    for number in range(100):
        storage.set(str(number), number, config)
        assert value(storage, "used", config) == "x"
        assert len(storage) <= 8
    assert len(storage) == 8
    fifo = KeyValueCacheStorage(store, max_entries=8, cache_policy=CachePolicy.FIFO)
    for number in range(100):
        fifo.get("used")
        fifo.set(str(number), number)
    assert not fifo.exists("used")


@given(st.lists(st.tuples(st.sampled_from("ssgd"), st.integers(0, 9)), max_size=40), st.integers(1, 6))
def test_only_what_was_set_is_found_and_the_bound_holds(steps: list[tuple[str, int]], most: int):
    with open_backend("memory:") as backend:
        storage = KeyValueCacheStorage(backend, max_entries=most)
        model: dict[str, int] = {}
        for moment, (step, number) in enumerate(steps):
            key = str(number)
            if step == "s":
                storage.set(key, moment)
                model[key] = moment
                assert value(storage, key) == moment, "the newest is there"
            elif step == "d":
                assert not storage.delete(key) or key in model
                model.pop(key, None)
            else:
                assert value(storage, key) in (None, model.get(key))
            assert len(storage) <= most
        if len(model) <= most and not any(step == "d" for step, _ in steps):
            assert len({number for step, number in steps if step == "s"}) > most or len(storage) == len(model)


def test_an_entry_lives_as_long_as_it_was_told():
    clock = Clock()
    with MemoryBackend(clock=clock) as backend:
        storage = KeyValueCacheStorage(backend, embedder=HashEmbedder(32))
        storage.set("the red house", 1, ttl=10)
        storage.set("the blue house", 2, CacheConfig(ttl=30))
        low = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH, similarity_threshold=-1)
        assert value(storage, "a red house", low) == 1
        clock.advance(11)
        assert (value(storage, "the red house"), len(storage)) == (None, 1)
        assert value(storage, "a red house", low) == 2
        storage.set("the red house", 3)
        assert value(storage, "a red house", low) == 3, "it is embedded again"
        clock.advance(100)
        assert len(storage) == 1
        with pytest.raises(InvalidInput):
            storage.set("x", 1, ttl=0)


class Colliding(CacheKey[str]):
    def __init__(self, words: str) -> None:
        self.words = words
        self.set_serializer(JsonSerializer())

    def to_dict(self) -> dict[str, Any]:
        return {"words": self.words}

    def get_value(self) -> str:
        return self.words

    def get_hash_bytes(self) -> bytes:
        return b"same"


def test_equal_hashes_are_not_equal_keys(store: Backend):
    storage = KeyValueCacheStorage(store)
    storage.set(Colliding("one"), "first")
    storage.set("same", "text")
    assert value(storage, Colliding("one")) == "first"
    assert storage.get(Colliding("two")) is None
    assert storage.delete(Colliding("two")) is False
    assert value(storage, "same") == "text"


@pytest.mark.parametrize("damage", [b"", b"garbage", b"\xc1", "text", {"a": 1}, None, 7])
def test_a_damaged_or_foreign_entry_is_a_miss(store: Backend, damage: Any):
    storage = KeyValueCacheStorage(store, embedder=HashEmbedder(16))
    storage.set("key", "value")
    storage.get("another", SIMILAR)
    (entry,) = [one for one in store.kv.scan(SPACE).items if ".v" in one.key]
    store.kv.put(SPACE, entry.key, damage)
    assert storage.get("key") is None
    assert storage.get("key", SIMILAR) is None
    assert storage.exists("key") is False
    storage.set("key", "new")
    assert value(storage, "key") == "new"
    # An item of another key in this place is not this key's.
    store.kv.put(SPACE, entry.key, StorageItem.build_from_kv("other", "x").serialize())
    assert storage.get("key") is None


def test_damaged_bookkeeping_does_not_stop_it(store: Backend):
    storage = KeyValueCacheStorage(store, max_entries=4, embedder=HashEmbedder(16))
    storage.set("key", "value")
    storage.get("another", SIMILAR)
    for entry in store.kv.scan(SPACE).items:
        store.kv.put(SPACE, entry.key, {"foreign": True})
    for number in range(10):
        storage.set(str(number), number)
        assert value(storage, str(number)) == number
        storage.get(f"near {number}", SIMILAR)
    storage.clear()
    assert storage.get("9") is None


def test_what_a_store_cannot_take_is_refused_and_nothing_changes(store: Backend):
    storage = KeyValueCacheStorage(store, max_entries=1)
    storage.set("key", "kept")
    with pytest.raises(InvalidInput, match="over the limit"):
        storage.set("large", bytes(17 * 1024 * 1024))
    with pytest.raises(InvalidInput):
        storage.set("strange", object())
    assert value(storage, "key") == "kept"
    with pytest.raises(InvalidInput):
        KeyValueCacheStorage(store, max_entries=0)
    with pytest.raises(InvalidInput):
        KeyValueCacheStorage(store, name="")


def test_what_goes_takes_its_vector_along(store: Backend):
    searching = KeyValueCacheStorage(store, max_entries=3, embedder=HashEmbedder(16))
    for number in range(3):
        searching.set(f"word{number}", number)
    searching.get("something", SIMILAR)
    space = searching._text_spaces()[0]
    assert store.index.info(space).records == 3
    # Another process, which knows nothing of similarity.
    plain = KeyValueCacheStorage(store, max_entries=3)
    for number in range(3, 6):
        plain.set(f"word{number}", number)
    assert store.index.info(space).records == 0
    searching.get("something", SIMILAR)
    plain.delete("word5")
    assert store.index.info(space).records == 2


def test_a_changed_embedder_starts_anew(store: Backend):
    KeyValueCacheStorage(store, embedder=HashEmbedder(16)).set("apple", 1)
    for size in (16, 32):
        storage = KeyValueCacheStorage(store, embedder=HashEmbedder(size))
        assert value(storage, "pear", CacheConfig(RetrievalPolicy.SIMILARITY_MATCH, similarity_threshold=-1)) == 1
    storage.clear()
    assert all(store.index.info(space).records == 0 for space in storage._text_spaces())


def use_one_file(path: str, name: str, most: int) -> None:
    storage = KeyValueCacheStorage(path, max_entries=most)
    for number in range(30):
        storage.set(f"{name} {number}", {"from": name, "number": number})
        storage.set("both", name)
        found = storage.get(f"{name} {number - 3}")
        assert found is None or found.value == {"from": name, "number": number - 3}


def test_two_processes_share_one_file(tmp_path: Path):
    path = tmp_path / "cache.db"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=use_one_file, args=(str(path), name, 20)) for name in ("anna", "ben")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with open_backend(path) as backend:
        storage = KeyValueCacheStorage(backend, max_entries=20)
        assert len(storage) == 20
        assert value(storage, "both") in ("anna", "ben")
        newest = [value(storage, f"{name} 29") for name in ("anna", "ben")]
        assert {"from": "anna", "number": 29} in newest or {"from": "ben", "number": 29} in newest
        assert backend.check() == []


def test_threads_share_one_storage(store: Backend):
    storage = KeyValueCacheStorage(store, max_entries=20)
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(25):
                storage.set(f"{name}{number % 10}", number)
                storage.get(f"{name}{number % 7}")
                if number % 9 == 0:
                    storage.delete(f"{name}{number % 10}")
        except BaseException as error:  # noqa: BLE001  (told to the test below)
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert 0 < len(storage) <= 20


def test_a_new_process_embeds_only_what_is_new(store: Backend):
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0, float(len(text))] for text in texts]

    low = CacheConfig(RetrievalPolicy.SIMILARITY_MATCH, similarity_threshold=0.5)
    for _ in range(3):
        # A storage of its own knows no more than another process does.
        storage = KeyValueCacheStorage(store, embedder=embed)
        storage.set(f"apple {'x' * len(asked)}", len(asked))
        assert value(storage, "apple tree", low) is not None
    assert [text for text in asked if text != "apple tree"] == ["apple ", "apple xx", "apple xxxx"]


@pytest.mark.parametrize("wrong", [0, -1, None, "many"])
def test_the_most_entries_are_named_as_they_are_given(store: Backend, wrong: Any):
    with pytest.raises(InvalidInput, match="max_entries"):
        KeyValueCacheStorage(store, max_entries=wrong)


def test_uses_while_there_is_room_push_nothing_out():
    with open_backend("memory:") as backend:
        storage = KeyValueCacheStorage(backend, max_entries=6)
        for number in range(5):
            storage.set(str(number), number)
        assert value(storage, "1") == 1
        storage.set("5", 5)
        assert [value(storage, str(number)) for number in range(6)] == list(range(6))
