from __future__ import annotations

import copy
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Barrier
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import memwell
from memwell import Engine
from memwell.longterm import embedding
from memwell.longterm.embedding import (
    DEFAULT,
    MARK,
    ORDERED,
    PREFIX,
    STAGED,
    STATE_KEY,
    StagedVectors,
    TokenCache,
    TokenStore,
    WantedEmbedder,
)
from memwell.longterm.journal import inner_space
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.longterm.weights import Weights
from memwell.models.local import LocalEmbedder
from memwell.models.local.encoder import TOKEN_DIMENSIONS, packed_tokens, unpacked_tokens
from memwell.models.ports import WordMatch, offer_embedder
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.runtime.wire.codec import decode, encode
from memwell.storage import Backend, open_backend
from memwell.storage.memory import MemoryBackend
from tests.senses import Sense


def test_a_command_embeds_in_several_threads():
    both = Barrier(2)

    class Met(LocalEmbedder):
        def embed_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[bytes]]:
            both.wait(60.0)
            return super().embed_tokens(texts)

    texts = [f"Note {number}." for number in range(9)]
    with open_backend("memory:") as backend:
        memory = Memory(backend, "ann", embedder=Met("minilm"))
        memory.remember(texts)
        memory.indexer.embed_threads = 2
        memory.flush()
        vectors = {one.text: one.vector for one in backend.index.scan(Space("ann")).items}
    alone = LocalEmbedder("minilm").embed(texts)
    assert {text: vectors[text] for text in texts} == {
        text: pytest.approx(row, abs=1e-3) for text, row in zip(texts, alone.tolist(), strict=True)
    }


@pytest.mark.parametrize("size", [256, 192])
@pytest.mark.parametrize("held", [True, False])
def test_a_swap_between_the_embedding_and_the_search_is_noticed(size: int, held: bool, monkeypatch: pytest.MonkeyPatch):
    """Whether the whole space is held or the store is asked: never are vectors of two models compared."""
    offer_embedder(Sense("swapped in", size))
    with open_backend("memory:") as backend:

        class Slow(Sense):
            def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
                if texts == ["vehicle"]:
                    Memory(backend, "ann", embedder=Sense("swapped in", size)).flush()
                return super().embed(texts)

        memory = Memory(backend, "ann", embedder=Slow("slow"))
        memory.remember(["Ann bought an automobile.", "Bob has a feline.", "Cy drinks oolong."])
        memory.flush()
        if not held:
            monkeypatch.setattr(type(memory._snapshots), "suits", lambda *_: False)
        hit = memory.recall("vehicle", limit=1)[0]
        assert hit.text == "Ann bought an automobile."
        assert hit.signals["dense"].value > 0.3
        assert list(memory.similarities("vehicle", [hit.id])) == [hit.id]


ANN = Space("ann")
TEXTS = ["Ann bought an automobile.", "Bob has a feline.", "Cy drinks oolong.", "Di sings.", "Ed runs."]
ASKED = "vehicle"
"""No memory has this word; one means it."""


@pytest.fixture(autouse=True)
def offered() -> None:
    offer_embedder(Sense("old"))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "PIECE", 2)


def filled(backend: Backend, name: str = "old", **options: Any) -> Memory:
    memory = Memory(backend, ANN, embedder=Sense(name, **options))
    memory.remember(TEXTS)
    memory.flush()
    return memory


def found(memory: Memory, query: str = ASKED) -> str:
    hit = memory.recall(query, limit=1)[0]
    return hit.text if hit.signals["dense"].value > 0.3 else ""


def stored_model(backend: Backend) -> str:
    entry = backend.kv.get(inner_space(ANN), MARK)
    return "" if entry is None else str(entry.value)


def leftovers(backend: Backend) -> list[str]:
    keys = [entry.key for entry in backend.kv.scan(inner_space(ANN), limit=1000).items]
    return [key for key in keys if key.startswith(STAGED) or key == STATE_KEY]


@pytest.mark.parametrize("size", [256, 192])
def test_what_a_question_means_is_found_at_every_moment(backend: Backend, size: int):
    filled(backend)
    memory = Memory(backend, ANN, embedder=Sense("new", size))
    seen: list[tuple[str, str]] = []
    while True:
        seen.append((stored_model(backend), found(memory)))
        if not memory.indexer.work():
            break
    assert {text for _, text in seen} == {TEXTS[0]}
    assert {name for name, _ in seen} == {"old", "new"}
    assert backend.index.info(ANN).dimensions == size
    assert leftovers(backend) == []
    assert memory.pending().vectors == 0


def test_what_is_written_meanwhile_is_found_before_and_after(backend: Backend):
    filled(backend)
    memory = Memory(backend, ANN, embedder=Sense("new"))
    ids = [record.id for record in backend.index.scan(ANN).items]
    memory.indexer.work()
    memory.remember("Flo has a kitten.")
    memory.update(ids[0], "Ann sold her bicycle.")
    memory.update(ids[4], "Ed drives an automobile.")
    memory.erase(ids[1])
    seen = {(found(memory), found(memory, "cat"))}
    while memory.indexer.work():
        seen.add((found(memory), found(memory, "cat")))
    assert stored_model(backend) == "new"
    assert seen == {("Ed drives an automobile.", "Flo has a kitten.")}
    assert backend.index.info(ANN).vectors == 5


@pytest.mark.parametrize("writes", [1, 100])
def test_what_is_written_at_the_last_moment_has_the_vector_of_its_text(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, writes: int
):
    """Now and then it begins the end again; one that never stops writing does not hold it up."""
    filled(backend)
    writer = Memory(backend, ANN)
    id_ = backend.index.scan(ANN).items[3].id
    swap = embedding.Reembedding._swap
    ends: list[bool] = []

    def busy(self: Any, step: Any, *, force: bool) -> bool:
        if len(ends) < writes:
            writer.update(id_, f"Di sings song {len(ends)}.")
        ends.append(swap(self, step, force=force))
        return ends[-1]

    monkeypatch.setattr(embedding.Reembedding, "_swap", busy)
    memory = Memory(backend, ANN, embedder=Sense("new"))
    memory.flush()
    assert ends == ([False, True] if writes == 1 else [False, False, False, True])
    record = backend.index.get(ANN, [id_])[0]
    assert record.vector is not None
    assert list(record.vector) == pytest.approx(list(Sense("new").embed([record.text])[0]), abs=2e-3)
    assert backend.index.info(ANN).vectors == len(TEXTS)


@given(st.lists(st.integers(0, 12), max_size=4))
@settings(max_examples=15)
def test_whoever_goes_on_makes_no_vector_twice(stops: list[int]):
    with open_backend("memory:") as backend:
        filled(backend)
        made = 0
        wanted_embedder = WantedEmbedder.made_now()
        for stop in [*stops, 100]:
            embedder = Sense("new")
            memory = Memory(backend, ANN, embedder=embedder, wanted_embedder=wanted_embedder)
            for _ in range(stop):
                memory.indexer.work()
            made += embedder.embedded
        assert stored_model(backend) == "new"
        assert made == len(TEXTS)
        assert leftovers(backend) == []


def test_without_a_name_that_is_known_words_decide_and_it_is_said_once(
    backend: Backend, caplog: pytest.LogCaptureFixture
):
    name = f"unheard of in {type(backend).__name__}"
    old = filled(backend)
    Memory(backend, ANN, embedder=Sense(name)).flush()
    with caplog.at_level(logging.WARNING):
        for query in ("automobile", "feline", "automobile"):
            assert old.recall(query, limit=1)[0].signals.get("dense") is None
    said = [one.getMessage() for one in caplog.records if name in one.getMessage()]
    assert len(said) == 1
    assert said[0].endswith("they are found by their words alone")


def test_who_decided_last_has_it_so(backend: Backend):
    filled(backend)
    first = Memory(backend, ANN, embedder=Sense("first"))
    first.indexer.work()
    second = Memory(backend, ANN, embedder=Sense("second"))
    second.indexer.work()
    for _ in range(20):
        first.indexer.work()
    assert stored_model(backend) == "old", "the one that decided first stands back"
    second.flush()
    assert stored_model(backend) == "second"
    first.flush()
    assert stored_model(backend) == "second"
    Memory(backend, ANN, embedder=Sense("first")).flush()
    assert stored_model(backend) == "first"
    assert leftovers(backend) == []


def test_an_order_counts_for_more_than_a_later_program(backend: Backend):
    filled(backend)
    ordered = Memory(backend, ANN, embedder=Sense("ordered"), wanted_embedder=WantedEmbedder.made_now(ORDERED))
    ordered.indexer.work()
    later = Memory(backend, ANN, embedder=Sense("later"))
    for _ in range(20):
        later.indexer.work()
    assert stored_model(backend) == "old"
    ordered.flush()
    later.flush()
    assert stored_model(backend) == "ordered"


def test_who_stays_with_the_old_one_drops_what_was_begun(backend: Backend):
    filled(backend)
    Memory(backend, ANN, embedder=Sense("new")).indexer.work()
    assert leftovers(backend)
    filled(backend).flush()
    assert leftovers(backend) == []
    assert stored_model(backend) == "old"


def test_the_default_leaves_what_it_can_search(backend: Backend):
    filled(backend)
    memory = Memory(backend, ANN, embedder=Sense("new"), wanted_embedder=WantedEmbedder.made_now(DEFAULT))
    memory.flush()
    assert (stored_model(backend), found(memory)) == ("old", TEXTS[0])


def test_a_text_that_the_new_one_cannot_take_is_set_aside(backend: Backend):
    filled(backend)
    embedder = Sense("new")
    embedder.fails_on = "sings"
    memory = Memory(backend, ANN, embedder=embedder)
    for _ in range(20):
        memory.indexer.work()
    assert stored_model(backend) == "new"
    assert backend.index.info(ANN).vectors == len(TEXTS) - 1
    assert [memory.get(id_).text for id_ in memory.failures()] == ["Di sings."]


def test_while_the_new_one_is_out_of_order_the_old_one_serves(backend: Backend):
    filled(backend)
    embedder = Sense("new")
    embedder.fails_on = " "
    memory = Memory(backend, ANN, embedder=embedder)
    for _ in range(10):
        assert memory.indexer.work() == 0 or leftovers(backend)
    assert memory.pending().vectors > 0
    assert (stored_model(backend), found(memory)) == ("old", TEXTS[0])


def test_what_is_erased_is_gone_from_what_was_begun_too(backend: Backend):
    filled(backend)
    memory = Memory(backend, ANN, embedder=Sense("new"))
    for _ in range(3):
        memory.indexer.work()
    ids = [record.id for record in backend.index.scan(ANN).items]
    assert set(StagedVectors(backend, ANN, "new")) == set(ids)
    memory.erase(ids[0])
    vectors = StagedVectors(backend, ANN, "new", without=[ids[1]])
    assert set(vectors) == set(ids[2:])
    assert len(vectors) == 3
    assert dict(vectors.items()) == {id_: vectors[id_] for id_ in ids[2:]}
    with pytest.raises(KeyError):
        vectors[ids[0]]
    memory.erase_all()
    assert leftovers(backend) == []


def test_the_stored_progress_has_the_field_names_of_earlier_versions():
    stored = {"to": "new", "wish": {"weight": 1, "at": "2026-05-01T00:00:00Z"}, "state": 3}
    state = msgspec.convert(stored, embedding.ReembeddingState)
    assert state.wanted_embedder.weight == 1
    assert msgspec.to_builtins(state)["wish"] == stored["wish"]


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


def test_words_are_compared_when_they_are_looked_at(m: Engine, monkeypatch: pytest.MonkeyPatch):
    compared: list[Sequence[str]] = []
    compare = LocalEmbedder.word_matches

    def noted(self: LocalEmbedder, query: Any, tokens: Any, texts: Sequence[str]) -> list[list[WordMatch]]:
        compared.append(texts)
        return compare(self, query, tokens, texts)

    monkeypatch.setattr(LocalEmbedder, "word_matches", noted)
    hit, *others = m.recall("What is Bob's job?", limit=4, weights=LATE)
    assert compared == []
    assert hit.matches[1].found == "works"
    assert len(hit.matches) == 2
    assert compared == [["Bob works at the harbour."]]
    # What was looked at stays as it was when the memory is changed, and a copy is plain.
    m.update(hit.id, text="Bob sails.")
    assert [one.asked for one in copy.deepcopy(hit).matches] == ["bob", "job"]
    assert isinstance(copy.deepcopy(hit).matches, tuple)
    assert hit.matches == copy.deepcopy(hit).matches != ()
    assert json.loads(encode(hit))["matches"][1]["found"] == "works"
    assert decode(encode(hit), Recalled) == hit
    assert [list(one.matches) for one in others if one.text == "小明养蜜蜂。"] == [[]]


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
    ids = {1: "one", 2: "two", 3: "none"}

    def read(rows: Sequence[int], embedder: LocalEmbedder) -> list[bytes]:
        return cache.read(store, rows, ids.__getitem__, embedder)

    assert read([2, 1, 3], model) == [b"", first, b""]
    store.put("one", model.name, packed[1])
    assert read([1], model) == [first]
    cache.drop(1)
    assert read([1], model) == [changed]
    assert read([2], another) == [other]
    store.delete("two")
    cache.clear()
    assert read([2], another) == [b""]
