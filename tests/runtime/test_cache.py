"""Caches: the same answers as the model behind them, fewer calls, a bound that holds, and spaces that stay apart."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput, ModelError
from memwell.models import Embedder
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.runtime.cache import EmbeddingCache, Ring
from memwell.storage import Backend, open_backend

# The ring: a bound that holds whatever happens.


SPACE = Space("acme")


def ring_of(backend: Backend, slots: int = 4) -> Ring:
    return Ring(backend.kv, SPACE, "ring", slots, backend.transaction)


def test_a_value_written_again_keeps_its_place(backend: Backend):
    ring = ring_of(backend)
    for name in "abcd":
        ring.write({name: b"1"})
    for number in range(10):
        ring.write({"a": b"%d" % number})
    assert (ring.count(), ring.read("a")) == (4, b"9")
    ring.write({"e": b"1"})
    assert ring.read("a") is None


def test_a_ring_that_was_made_smaller_drops_the_rest_at_the_next_write(backend: Backend):
    ring = ring_of(backend)
    for name in "abcd":
        ring.write({name: b"1"})
    small = ring_of(backend, 1)
    small.write({"a": b"2"})
    assert (small.count(), small.read("a")) == (1, b"2")


steps = st.lists(st.tuples(st.sampled_from("wwwd"), st.sampled_from("abcdefghij")), max_size=50)


@given(steps, st.integers(1, 6), st.integers(1, 6))
def test_the_bound_holds_and_the_newest_stays(steps: list[tuple[str, str]], slots: int, later: int):
    with open_backend("memory:") as backend:
        for size, part in ((slots, steps[:25]), (later, steps[25:])):
            ring = ring_of(backend, size)
            for step, name in part:
                if step == "w":
                    ring.write({name: name.encode()})
                    assert ring.read(name) == name.encode()
                else:
                    ring.drop(name)
                    assert ring.read(name) is None
                    assert all(entry.value != name for entry in backend.kv.scan(SPACE).items)
            if part and part[-1][0] != "d":
                assert ring.count() <= size
        ring.clear()
        assert [entry.key for entry in backend.kv.scan(SPACE).items] == []


@pytest.mark.parametrize("damage", ["ring.s0", "ring.ring"])
@pytest.mark.parametrize("value", ["nonsense", [1], {"next": "x"}, -7, 10**9])
def test_damage_costs_an_entry_at_most(backend: Backend, damage: str, value: object):
    ring = ring_of(backend)
    for name in "abcd":
        ring.write({name: b"1"})
    backend.kv.put(SPACE, damage, value)
    for name in "efghijkl":
        ring.write({name: b"1"})
        assert ring.read(name) == b"1"
    assert ring.count() <= 5


CACHE_SPACE = Space("acme", "anna")


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


def keys(backend: Backend, space: Space = CACHE_SPACE) -> list[str]:
    return [entry.key for entry in backend.kv.scan(space, limit=10_000).items]


def values(backend: Backend) -> int:
    return sum(".v" in key for key in keys(backend))


@given(st.lists(st.lists(st.text(max_size=4), max_size=5), max_size=6))
def test_a_cache_answers_as_the_model_does(batches: list[list[str]]):
    with open_backend("memory:") as backend:
        model = Counting()
        cache = EmbeddingCache(model, backend.kv, CACHE_SPACE)
        for batch in batches:
            assert np.allclose(cache.embed(batch), HashEmbedder(32).embed(batch), atol=2e-3)
        assert len(model.asked) == len(set(model.asked)), "nothing is asked twice"


def test_a_miss_and_a_hit_are_the_same_to_the_last_bit(backend: Backend):
    model = Counting()
    miss = EmbeddingCache(model, backend.kv, CACHE_SPACE).embed(["猫在睡觉", "the cat", ""])
    assert np.array_equal(EmbeddingCache(model, backend.kv, CACHE_SPACE).embed(["猫在睡觉", "the cat", ""]), miss)
    assert model.asked == ["猫在睡觉", "the cat", ""]
    assert np.allclose(np.linalg.norm(miss, axis=1), [1, 1, 0], atol=1e-3)


def test_spaces_and_models_stay_apart(backend: Backend):
    first, second, third = Counting(), Counting(), Counting("other")
    EmbeddingCache(first, backend.kv, CACHE_SPACE).embed(["secret"])
    EmbeddingCache(second, backend.kv, Space("acme", "bob")).embed(["secret"])
    EmbeddingCache(third, backend.kv, CACHE_SPACE).embed(["secret"])
    assert first.asked == second.asked == third.asked == ["secret"]


def test_a_damaged_entry_is_asked_for_again(backend: Backend):
    model = Counting()
    expected = EmbeddingCache(model, backend.kv, CACHE_SPACE).embed(["a"])
    (key,) = [key for key in keys(backend) if ".v" in key]
    for junk in (b"short", b"\xff" * 68, {"json": 1}, None):
        backend.kv.put(CACHE_SPACE, key, junk)
        assert np.array_equal(EmbeddingCache(model, backend.kv, CACHE_SPACE).embed(["a"]), expected)
    backend.kv.put(CACHE_SPACE, "embedding.ring", {"next": "junk"})
    EmbeddingCache(model, backend.kv, CACHE_SPACE).embed(["b"])
    assert model.asked == ["a"] * 5 + ["b"]


def test_what_is_forgotten_is_gone(backend: Backend):
    model = Counting()
    cache = EmbeddingCache(model, backend.kv, CACHE_SPACE)
    cache.embed(["keep", "secret"])
    written = {entry.key: entry.value for entry in backend.kv.scan(CACHE_SPACE, limit=100).items}
    assert cache.forget(["secret", "never seen"]) == 1
    assert values(backend) == 1
    left = {entry.key: entry.value for entry in backend.kv.scan(CACHE_SPACE, limit=100).items}
    [gone] = [key.removeprefix("embedding.v") for key in written.keys() - left.keys()]
    assert gone in written.values()
    assert gone not in left.values()
    cache.embed(["keep", "secret"])
    assert model.asked == ["keep", "secret", "secret"]
    cache.clear()
    assert keys(backend) == []
    cache.embed(["keep"])
    assert model.asked[-1] == "keep"


def test_a_failing_model_leaves_nothing_behind(backend: Backend):
    class Failing(Counting):
        def embed(self, texts: Sequence[str]) -> np.ndarray:
            raise ModelError("down")

    with pytest.raises(ModelError):
        EmbeddingCache(Failing(), backend.kv, CACHE_SPACE).embed(["a"])
    assert keys(backend) == ["embedding.key"]


def test_a_bound_that_is_none_is_refused(backend: Backend):
    for bound in (0, -1, 2.5, "many"):
        with pytest.raises(InvalidInput, match="most_entries"):
            EmbeddingCache(Counting(), backend.kv, CACHE_SPACE, most_entries=bound)  # type: ignore[arg-type]


def _fill(path: str, start: int) -> None:
    with open_backend(path) as backend:
        cache = EmbeddingCache(HashEmbedder(32), backend.kv, CACHE_SPACE, most_entries=30)
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
        cache = EmbeddingCache(model, backend.kv, CACHE_SPACE, most_entries=1000)
        cache.embed([f"text {number}" for number in range(45)])
        assert len(model.asked) == 45 - kept


def test_no_digest_can_be_made_without_the_key_of_the_space(backend: Backend):
    digests: list[set[str]] = []
    for space in (CACHE_SPACE, Space("acme", "bob")):
        EmbeddingCache(Counting(), backend.kv, space).embed(["secret"])
        digests.append({key for key in keys(backend, space) if ".v" in key})
    assert digests[0].isdisjoint(digests[1])
    plain = {blake2b(b"8:countingsecret", digest_size=20).hexdigest(), blake2b(b"secret", digest_size=20).hexdigest()}
    assert plain.isdisjoint(key.removeprefix("embedding.v") for key in digests[0])
