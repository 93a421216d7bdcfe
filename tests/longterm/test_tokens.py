"""Token vectors: stored, replaced and erased with the memory, and compared with those of a question."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import memwell
from memwell import Engine
from memwell.longterm.journal import inner_space
from memwell.longterm.tokens import PREFIX, TokenCache, TokenStore
from memwell.longterm.weights import Weights
from memwell.models.local import LocalEmbedder
from memwell.models.local.encoder import TOKEN_DIMENSIONS, packed_tokens, unpacked_tokens
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.storage.memory import MemoryBackend

LATE = Weights.linear({"late": 1.0})


def keys(m: Engine) -> list[str]:
    """The keys of the stored token vectors of all spaces."""
    return [
        entry.key for entry in m.backend.kv.scan(inner_space(m.space), limit=1000).items if entry.key.startswith(PREFIX)
    ]


@pytest.fixture
def m(tmp_path: Path):
    with memwell.open(tmp_path / "store.db") as opened:
        opened.remember(["Bob works at the harbour.", "Ann keeps bees.", "The train was late.", "小明养蜜蜂。"])
        opened.flush()
        yield opened


def test_a_question_is_answered_by_other_words(m: Engine):
    [hit] = m.recall("What is Bob's job?", limit=1, weights=LATE)
    assert hit.text == "Bob works at the harbour."
    assert [(one.asked, one.found) for one in hit.matches] == [("bob", "bob"), ("job", "works")]
    assert "job ~ works" in hit.why(query="What is Bob's job?")


def test_a_changed_memory_is_found_by_its_new_text(m: Engine):
    [bees] = [hit for hit in m.memories() if hit.text == "Ann keeps bees."]
    m.recall("beekeeping", limit=4)
    m.update(bees.id, text="Ann repairs old clocks.")
    m.flush()
    assert len(keys(m)) == 3
    [clocks] = m.recall("Who mends watches?", limit=1, weights=LATE)
    assert clocks.id == bees.id
    assert {one.found for one in clocks.matches} <= {"clocks", "repairs"}


def test_they_are_erased_with_the_memory(m: Engine):
    [bees] = [hit for hit in m.memories() if hit.text == "Ann keeps bees."]
    m.erase([bees.id])
    assert len(keys(m)) == 2
    m.erase_all()
    assert keys(m) == []


def test_a_memory_without_them_is_not_ranked_last(m: Engine):
    found = [hit.text for hit in m.recall("Ann keeps bees", limit=4, weights=LATE)]
    assert found[0] == "Ann keeps bees."
    assert found.index("小明养蜜蜂。") < 3


def test_those_of_another_embedder_are_ignored(tmp_path: Path, m: Engine):
    m.close()
    with memwell.open(tmp_path / "store.db", embedder=HashEmbedder(64)) as other:
        other.flush()
        assert keys(other) == []
        assert [hit.matches for hit in other.recall("bees", limit=1)] == [()]
    with memwell.open(tmp_path / "store.db", embedder=LocalEmbedder()) as again:
        again.flush()
        assert len(keys(again)) == 3


def test_they_are_read_in_one_query_and_then_cached():
    backend = MemoryBackend()
    store, cache = TokenStore(backend.kv, Space("a")), TokenCache()
    model, another = LocalEmbedder("local"), LocalEmbedder("minilm")
    packed = [packed_tokens(np.full((count, TOKEN_DIMENSIONS), 0.5, np.float32)) for count in (1, 2, 3)]
    first, changed, other = unpacked_tokens(packed)
    store.put("one", model.name, packed[0])
    store.put("two", another.name, packed[2])
    assert cache.read(store, ["two", "one", "none"], model) == [b"", first, b""]
    store.put("one", model.name, packed[1])
    assert cache.read(store, ["one"], model) == [first]
    cache.drop("one")
    assert cache.read(store, ["one"], model) == [changed]
    assert cache.read(store, ["two"], another) == [other]
    store.delete("two")
    cache.clear()
    assert cache.read(store, ["two"], another) == [b""]
