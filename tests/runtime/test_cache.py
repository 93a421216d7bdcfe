"""Caches: the same answers as the model behind them, fewer calls, a bound that holds, and spaces that stay apart."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput, ModelError
from memwell.messages import human
from memwell.models import Completion, Embedder, Tool
from memwell.models.scripted import HashEmbedder, ScriptedChat
from memwell.records import Space
from memwell.runtime.cache import CompletionCache, EmbeddingCache
from memwell.storage import Backend, open_backend

SPACE = Space("acme", "anna")


class Counting(Embedder):
    """A hash embedder that keeps what it was asked."""

    def __init__(self, name: str = "counting") -> None:
        self._inner = HashEmbedder(32)
        self._name = name
        self.asked: list[str] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return 32

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return self._inner.embed(texts)


@pytest.fixture(params=["memory:", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    url = request.param if request.param == "memory:" else str(tmp_path / "cache.db")
    with open_backend(url) as backend:
        yield backend


def keys(store: Backend, space: Space = SPACE) -> list[str]:
    return [entry.key for entry in store.kv.scan(space, limit=10_000).items]


def values(store: Backend) -> int:
    return sum(".v" in key for key in keys(store))


@given(st.lists(st.lists(st.text(max_size=4), max_size=5), max_size=6), st.integers(0, 3))
def test_a_cache_answers_as_the_model_does(batches: list[list[str]], most_recent: int):
    with open_backend("memory:") as backend:
        model = Counting()
        cache = EmbeddingCache(model, backend.kv, SPACE, most_recent=most_recent)
        for batch in batches:
            assert np.allclose(cache.embed(batch), HashEmbedder(32).embed(batch), atol=2e-3)
        assert len(model.asked) == len(set(model.asked)), "nothing is asked twice"


def test_a_miss_and_a_hit_are_the_same_to_the_last_bit(store: Backend):
    model = Counting()
    miss = EmbeddingCache(model, store.kv, SPACE).embed(["猫在睡觉", "the cat", ""])
    for most_recent in (0, 10):
        cache = EmbeddingCache(model, store.kv, SPACE, most_recent=most_recent)
        assert np.array_equal(cache.embed(["猫在睡觉", "the cat", ""]), miss)
    assert model.asked == ["猫在睡觉", "the cat", ""]
    assert np.allclose(np.linalg.norm(miss, axis=1), [1, 1, 0], atol=1e-3)


def test_the_bound_holds_and_the_oldest_goes_first(store: Backend):
    model = Counting()
    cache = EmbeddingCache(model, store.kv, SPACE, most_entries=5, most_recent=0, transaction=store.transaction)
    for number in range(12):
        cache.embed([f"text {number}"])
        assert values(store) <= 5
    cache.embed([f"text {number}" for number in range(7, 12)])
    assert len(model.asked) == 12
    cache.embed(["text 6"])
    assert len(model.asked) == 13
    cache.embed([f"more {number}" for number in range(40)])
    assert values(store) == 5
    assert len(keys(store)) == 11


def test_a_smaller_bound_is_taken_up(store: Backend):
    EmbeddingCache(Counting(), store.kv, SPACE, most_entries=20).embed([f"t{number}" for number in range(20)])
    EmbeddingCache(Counting(), store.kv, SPACE, most_entries=4).embed(["new"])
    assert values(store) <= 4
    assert len(keys(store)) <= 9


def test_a_larger_bound_is_taken_up(store: Backend):
    EmbeddingCache(Counting(), store.kv, SPACE, most_entries=3).embed([f"t{number}" for number in range(9)])
    larger = EmbeddingCache(Counting(), store.kv, SPACE, most_entries=6)
    for number in range(9, 20):
        larger.embed([f"t{number}"])
    assert values(store) == 6


def test_spaces_and_models_stay_apart(store: Backend):
    first, second, third = Counting(), Counting(), Counting("other")
    EmbeddingCache(first, store.kv, SPACE).embed(["secret"])
    EmbeddingCache(second, store.kv, Space("acme", "bob")).embed(["secret"])
    EmbeddingCache(third, store.kv, SPACE).embed(["secret"])
    assert first.asked == second.asked == third.asked == ["secret"]


def test_a_damaged_entry_is_asked_for_again(store: Backend):
    model = Counting()
    expected = EmbeddingCache(model, store.kv, SPACE).embed(["a"])
    (key,) = [key for key in keys(store) if ".v" in key]
    for junk in (b"short", b"\xff" * 68, {"json": 1}, None):
        store.kv.put(SPACE, key, junk)
        assert np.array_equal(EmbeddingCache(model, store.kv, SPACE).embed(["a"]), expected)
    store.kv.put(SPACE, "embedding.ring", {"next": "junk"})
    EmbeddingCache(model, store.kv, SPACE).embed(["b"])
    assert model.asked == ["a"] * 5 + ["b"]


def test_what_is_forgotten_is_gone_from_the_store_and_the_process(store: Backend):
    model = Counting()
    cache = EmbeddingCache(model, store.kv, SPACE)
    cache.embed(["keep", "secret"])
    assert cache.forget(["secret", "never seen"]) == 1
    assert values(store) == 1
    cache.embed(["keep", "secret"])
    assert model.asked == ["keep", "secret", "secret"]
    cache.clear()
    assert keys(store) == []
    cache.embed(["keep"])
    assert model.asked[-1] == "keep"


def test_a_failing_model_leaves_nothing_behind(store: Backend):
    class Failing(Counting):
        def embed(self, texts: Sequence[str]) -> np.ndarray:
            raise ModelError("down")

    with pytest.raises(ModelError):
        EmbeddingCache(Failing(), store.kv, SPACE).embed(["a"])
    assert keys(store) == []


def test_a_bound_that_is_none_is_refused(store: Backend):
    for bound in (0, -1, 2.5, "many"):
        with pytest.raises(InvalidInput, match="most_entries"):
            EmbeddingCache(Counting(), store.kv, SPACE, most_entries=bound)  # type: ignore[arg-type]


def _fill(path: str, start: int) -> None:
    with open_backend(path) as backend:
        cache = EmbeddingCache(HashEmbedder(32), backend.kv, SPACE, most_entries=30, most_recent=0)
        for number in range(start, start + 25):
            cache.embed([f"text {number}"])


def test_processes_share_a_cache_and_its_bound(tmp_path: Path):
    path = str(tmp_path / "shared.db")
    open_backend(path).close()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_fill, args=(path, start)) for start in (0, 20)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    with open_backend(path) as backend:
        kept = values(backend)
        assert 20 <= kept <= 30
        model = Counting(HashEmbedder(32).name)
        cache = EmbeddingCache(model, backend.kv, SPACE, most_entries=1000)
        cache.embed([f"text {number}" for number in range(45)])
        assert len(model.asked) == 45 - kept


def test_completions_are_remembered_by_messages_and_options(store: Backend):
    chat = ScriptedChat(["one", "two", "three", "four"])
    cache = CompletionCache(chat, store.kv, SPACE)
    question = [human("Hi")]
    first, again = cache.complete(question), cache.complete([human("Hi")], temperature=None)
    assert (first.text, again.text, again.cost) == ("one", "one", 0.0)
    assert first.message.id != again.message.id
    assert cache.complete(question, temperature=0.5).text == "two"
    assert cache.complete(question, tools=[Tool("search")]).text == "three"
    assert cache.complete([human("Hi!")]).text == "four"
    assert [piece.text for piece in cache.stream(question)] == ["one", ""]
    assert cache.name == "scripted"


def test_a_streamed_answer_is_remembered(store: Backend):
    chat = ScriptedChat(["one"])
    cache = CompletionCache(chat, store.kv, SPACE)
    assert [piece.text for piece in cache.stream([human("Hi")])] == ["one", ""]
    assert cache.complete([human("Hi")]).text == "one"


def test_an_answer_cut_off_or_forgotten_is_asked_for_again(store: Backend):
    cut = Completion(message=ScriptedChat(["par"]).complete([human("x")]).message, model="m", finish="length")
    cache = CompletionCache(ScriptedChat([cut, "whole", "anew", "last"]), store.kv, SPACE)
    question = [human("Hi")]
    assert [cache.complete(question).text for _ in range(3)] == ["par", "whole", "whole"]
    assert cache.forget(question)
    assert cache.complete(question).text == "anew"
    cache.clear()
    assert cache.complete(question).text == "last"
