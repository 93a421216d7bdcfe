"""Vectors of chunks: made, owed, and made later."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from memwell.filters import id_begins_with
from memwell.knowledge import Chunking, Knowledge, vectors
from memwell.longterm import reembedding
from memwell.longterm.indexing import DEAD
from memwell.longterm.journal import inner_space
from memwell.longterm.makers import MARK
from memwell.models.named import offer_embedder
from memwell.models.scripted import HashEmbedder
from memwell.records import Space
from memwell.storage import Backend, open_backend
from tests.knowledge.bench import Failing, knowledge_over
from tests.senses import Sense


def test_a_text_that_the_embedder_cannot_take_does_not_hold_up_the_others(backend: Backend):
    class Picky(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if any("poison" in text for text in texts):
                Failing().embed(texts)
            return super().embed(texts)

    knowledge = knowledge_over(backend, embedder=Picky(64), chunking=Chunking(tokens=8, overlap=0, least=0))
    knowledge.add("Some poison is here.\n\nSome honey is there.\n\nSome milk is nowhere now.", id="bad")
    knowledge.settle()
    assert backend.index.info(knowledge.space).vectors == 2
    assert knowledge.owed().vectors == 0
    knowledge.settle()
    assert (knowledge.count().chunks, knowledge.owed().vectors) == (3, 0)
    assert "poison" in knowledge.recall("poison")[0].text
    inner = inner_space(knowledge.space)
    assert len(backend.kv.scan(inner, where=id_begins_with(DEAD)).items) == 1
    assert knowledge.remove("bad") == 1
    assert backend.kv.scan(inner, where=id_begins_with(DEAD)).items == []


def test_a_document_of_many_chunks_is_stored_before_its_vectors_are_made(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(vectors, "MOST_AT_ONCE", 8)
    knowledge = knowledge_over(backend)
    knowledge.add("\n\n".join(f"Entry {n} is about {n * 7919 % 10007}." * 12 for n in range(60)), id="big")
    assert knowledge.count().chunks > 8
    assert knowledge.owed().vectors == knowledge.count().chunks
    knowledge.settle()
    info = backend.index.info(knowledge.space)
    assert info.vectors == info.records


def test_vectors_made_while_another_embedder_took_over_are_not_stored(backend: Backend):
    """Between the making of vectors and their storing, somebody else has all vectors of the space made anew."""

    class Overtaken(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if "late" in texts[0]:
                knowledge_over(backend, embedder=HashEmbedder(128)).settle()
            return super().embed(texts)

    knowledge = knowledge_over(backend, embedder=Overtaken(64))
    knowledge.add("The first one is early.", id="first")
    knowledge.add("The second one is late.", id="second")
    assert knowledge.recall("late")[0].citation.document == "second"
    knowledge_over(backend, embedder=HashEmbedder(128)).settle()
    info = backend.index.info(knowledge.space)
    assert (info.dimensions, info.vectors) == (128, 2)


_MEANT = {"a": "Ann bought an automobile.", "b": "Bob has a feline.", "c": "Cy drinks oolong.", "d": "Di sings."}


def whose(backend: Backend, knowledge: Knowledge) -> str:
    entry = backend.kv.get(inner_space(knowledge.space), MARK)
    return "" if entry is None else str(entry.value)


def found(knowledge: Knowledge, query: str = "vehicle") -> str:
    hit = knowledge.recall(query, limit=1)[0]
    return hit.citation.document if hit.signals["dense"].value > 0.3 else ""


def test_passages_are_found_by_what_they_mean_before_during_and_after(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reembedding, "PIECE", 1)
    offer_embedder(Sense("old"))
    offer_embedder(Sense("new", 192))
    with open_backend("memory:") as backend:
        old = Knowledge(backend, Space("ann"), embedder=Sense("old"))
        for id_, text in _MEANT.items():
            old.add(text, id=id_)
        assert found(old) == "a"
        new = Knowledge(backend, Space("ann"), embedder=Sense("new", 192))
        work = new._shelf.vectors._indexer.work
        seen = [(whose(backend, new), found(new), found(old))]
        while work():
            if len(seen) == 2:
                new.add("Flo has a kitten.", id="e")
                old.add("Ed drives an automobile.", id="d")
                old.remove("a")
            seen.append((whose(backend, new), found(new), found(old)))
        assert {model for model, _, _ in seen} == {"old", "new"}
        assert [(one, other) for _, one, other in seen[:2]] == [("a", "a")] * 2
        assert {(one, other) for _, one, other in seen[2:]} == {("d", "d")}
        assert found(new, "cat") in ("b", "e")
        info = backend.index.info(new.space)
        assert (info.dimensions, info.vectors, info.records) == (192, 4, 4)
        old.add("Gus has an oolong.", id="f")
        assert backend.index.info(new.space).vectors == 5
        assert new.owed().vectors == 0
