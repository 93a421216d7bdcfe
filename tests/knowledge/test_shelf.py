"""Documents on their shelf: whole or absent whenever the process dies, and without a trace when they are removed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from memwell.errors import BackendError, InvalidInput
from memwell.filters import id_begins_with
from memwell.knowledge import Chunking, Knowledge
from memwell.knowledge import shelf as vectors
from memwell.knowledge.chunking import chunks, plain
from memwell.knowledge.shelf import DocumentStore, text_key
from memwell.longterm import embedding
from memwell.longterm.embedding import MARK
from memwell.longterm.indexing import DEAD
from memwell.longterm.journal import inner_space
from memwell.models.ports import offer_embedder
from memwell.models.scripted import HashEmbedder
from memwell.records import Record, Space, paged
from memwell.storage import Backend, open_backend
from tests.knowledge.bench import SHELF, Failing, filled, knowledge_over
from tests.senses import Sense

# Vectors of chunks: made, pending, and made later.


def test_a_text_that_the_embedder_cannot_take_does_not_hold_up_the_others(backend: Backend):
    class Picky(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if any("poison" in text for text in texts):
                Failing().embed(texts)
            return super().embed(texts)

    knowledge = knowledge_over(backend, embedder=Picky(64), chunking=Chunking(tokens=8, overlap=0, least=0))
    knowledge.add("Some poison is here.\n\nSome honey is there.\n\nSome milk is nowhere now.", id="bad")
    knowledge.flush()
    assert backend.index.info(knowledge.space).vectors == 2
    assert knowledge.pending().vectors == 0
    knowledge.flush()
    assert (knowledge.count().chunks, knowledge.pending().vectors) == (3, 0)
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
    assert knowledge.pending().vectors == knowledge.count().chunks
    knowledge.flush()
    info = backend.index.info(knowledge.space)
    assert info.vectors == info.records


def test_a_document_of_many_chunks_keeps_no_other_writer_waiting(backend: Backend, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vectors, "MOST_AT_ONCE", 8)
    monkeypatch.setattr(vectors, "_STAGED_AT_ONCE", 5)
    knowledge, upsert, sizes = knowledge_over(backend), backend.index.upsert, list[int]()

    def noted(records: Sequence[Record]) -> None:
        sizes.append(len(records))
        # Nothing of it is found before all of it is there.
        assert [one.citation.document for one in knowledge.recall("Entry", limit=5) if "new" in one.text] == []
        upsert(records)

    def text(word: str) -> str:
        return "\n\n".join(f"Entry {n} is {word} and about {n * 7919 % 10007}." * 12 for n in range(40))

    knowledge.add(text("old"), id="big")
    monkeypatch.setattr(backend.index, "upsert", noted)
    knowledge.add(text("new"), id="big")
    assert max(sizes) == 5
    assert backend.index.info(knowledge.space).records == knowledge.count().chunks == sum(sizes)
    assert "new" in knowledge.recall("Entry")[0].text
    assert knowledge.remove("big") == 1
    assert backend.index.info(knowledge.space).records == 0


def test_a_large_document_that_fails_leaves_nothing(backend: Backend, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(vectors, "MOST_AT_ONCE", 8)
    monkeypatch.setattr(vectors, "_STAGED_AT_ONCE", 5)
    knowledge, upsert, turns = knowledge_over(backend), backend.index.upsert, iter([True, True, False])

    def failing(records: Sequence[Record]) -> None:
        if not next(turns):
            raise BackendError("the disk is full")
        upsert(records)

    monkeypatch.setattr(backend.index, "upsert", failing)
    with pytest.raises(BackendError, match="full"):
        knowledge.add("\n\n".join(f"Entry {n} is about {n * 7919 % 10007}." * 12 for n in range(60)), id="big")
    assert backend.index.info(knowledge.space).records == 0
    assert knowledge.documents() == []


def test_vectors_made_while_another_embedder_took_over_are_not_stored(backend: Backend):
    """Between the making of vectors and their storing, somebody else has all vectors of the space made anew."""

    class Overtaken(HashEmbedder):
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            if "late" in texts[0]:
                knowledge_over(backend, embedder=HashEmbedder(128)).flush()
            return super().embed(texts)

    knowledge = knowledge_over(backend, embedder=Overtaken(64))
    knowledge.add("The first one is early.", id="first")
    knowledge.add("The second one is late.", id="second")
    assert knowledge.recall("late")[0].citation.document == "second"
    knowledge_over(backend, embedder=HashEmbedder(128)).flush()
    info = backend.index.info(knowledge.space)
    assert (info.dimensions, info.vectors) == (128, 2)


_MEANT = {"a": "Ann bought an automobile.", "b": "Bob has a feline.", "c": "Cy drinks oolong.", "d": "Di sings."}


def stored_model(backend: Backend, knowledge: Knowledge) -> str:
    entry = backend.kv.get(inner_space(knowledge.space), MARK)
    return "" if entry is None else str(entry.value)


def found(knowledge: Knowledge, query: str = "vehicle") -> str:
    hit = knowledge.recall(query, limit=1)[0]
    return hit.citation.document if hit.signals["dense"].value > 0.3 else ""


def test_passages_are_found_by_what_they_mean_before_during_and_after(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embedding, "PIECE", 1)
    offer_embedder(Sense("old"))
    offer_embedder(Sense("new", 192))
    with open_backend("memory:") as backend:
        old = Knowledge(backend, Space("ann"), embedder=Sense("old"))
        for id_, text in _MEANT.items():
            old.add(text, id=id_)
        assert found(old) == "a"
        new = Knowledge(backend, Space("ann"), embedder=Sense("new", 192))
        work = new._shelf.vectors._indexer.work
        seen = [(stored_model(backend, new), found(new), found(old))]
        while work():
            if len(seen) == 2:
                new.add("Flo has a kitten.", id="e")
                old.add("Ed drives an automobile.", id="d")
                old.remove("a")
            seen.append((stored_model(backend, new), found(new), found(old)))
        assert {model for model, _, _ in seen} == {"old", "new"}
        assert [(one, other) for _, one, other in seen[:2]] == [("a", "a")] * 2
        assert {(one, other) for _, one, other in seen[2:]} == {("d", "d")}
        assert found(new, "cat") in ("b", "e")
        info = backend.index.info(new.space)
        assert (info.dimensions, info.vectors, info.records) == (192, 4, 4)
        old.add("Gus has an oolong.", id="f")
        assert backend.index.info(new.space).vectors == 5
        assert new.pending().vectors == 0


REPLACE = """
import os, random, signal, sys, time
from memwell.knowledge import Chunking, Knowledge, shelf
from memwell.storage import open_backend

def replace_for_ever(store, turn, begun):
    lot = random.Random(turn)
    knowledge = Knowledge(open_backend(store), "ann")
    knowledge.add(f"Line 0 of version {turn}-first speaks of many things.", id="first", title=f"{turn}-first")
    os.write(begun, b"x")
    for number in range(10**9):
        id_ = f"document-{lot.randrange(3)}"
        if lot.random() < 0.2:
            knowledge.remove(id_)
        else:
            version = f"{turn}-{number}"
            lines = [f"Line {at} of version {version} speaks of many things." for at in range(lot.randrange(1, 60))]
            knowledge.add("\\n\\n".join(lines), id=id_, title=version)

lot = random.Random(7)
if sys.argv[3] == "large":
    # As documents of very many chunks are: chunks first, a few at a time, and the manifest after them.
    shelf.MOST_AT_ONCE, shelf._STAGED_AT_ONCE = 0, 1
Knowledge(open_backend("memory:"), "ann").add("Loads all that is needed.")
for turn in range(int(sys.argv[2])):
    waiting, begun = os.pipe()
    child = os.fork()
    if child == 0:
        replace_for_ever(f"{sys.argv[1]}/{turn}.db", turn, begun)
    os.read(waiting, 1)
    time.sleep(0.15 * lot.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def _check_whole(knowledge: Knowledge, backend: Backend) -> None:
    """Every document is of one version throughout, and there is nothing beside the documents."""
    records = {record.id: record for record in paged(lambda cursor: backend.index.scan(knowledge.space, cursor=cursor))}
    for document in knowledge.documents():
        text = knowledge.text(document.id)
        assert {line.split(" ")[4] for line in text.split("\n\n")} == {document.title}
        mine = [records.pop(id_) for id_ in list(records) if records[id_].metadata["document"] == document.id]
        assert len(mine) == document.chunks
        cut = {(one.start, one.end): text[one.start : one.end] for one in chunks(plain(text))}
        assert {tuple(one.metadata["chunk"][:2]): one.text.partition("\n")[2] for one in mine} == cut
    assert records == {}, "chunks of no document"


@pytest.mark.parametrize("size", ["small", "large"])
def test_killed_at_any_moment_every_document_is_whole_or_absent(tmp_path: Path, size: str):
    subprocess.run([sys.executable, "-c", REPLACE, str(tmp_path), "12", size], check=True)
    seen = 0
    for store in tmp_path.glob("*.db"):
        with open_backend(str(store)) as backend:
            knowledge = Knowledge(backend, "ann")
            known = {one.id: one.title for one in knowledge.documents()}
            for found in knowledge.recall("Line of version speaks of many things", limit=50):
                assert f"version {known[found.citation.document]} " in found.text
            # What a killed process has left behind is removed after an hour.
            knowledge._shelf._drop_abandoned(0.0)
            _check_whole(knowledge, backend)
            seen += knowledge.count().documents
            assert backend.check() == []
    assert seen >= 12


CANARY = "zanzibarquokka"
HAN = "彝饕餮鬯"


def _held(folder: Path) -> str:
    """All that the files of a store hold, as text."""
    return b"".join(path.read_bytes() for path in folder.iterdir()).decode("utf-8", "replace")


@pytest.mark.parametrize("how", ["remove", "erase_all", "replace", "broken"])
def test_what_is_removed_leaves_no_trace_in_the_files(tmp_path: Path, how: str):
    folder = tmp_path / "store"
    folder.mkdir()
    embedder = Failing()
    embedder.broken = how == "broken"
    with open_backend(str(folder / "store.db")) as backend:
        knowledge = filled(knowledge_over(backend, embedder=embedder))
        text = "\n\n".join(f"The {CANARY} number {n} sings {HAN}." * 10 for n in range(40))
        knowledge.add(text, id=f"id-{CANARY}", title=CANARY, metadata={"note": CANARY}, source=f"{CANARY}.txt")
        knowledge.recall(CANARY)
        assert CANARY in _held(folder)
        if how == "erase_all":
            assert knowledge.erase_all() == len(SHELF) + 1
        elif how == "replace":
            knowledge.add("Nothing here.", id=f"id-{CANARY}")
            assert knowledge.remove(f"id-{CANARY}") == 1
        else:
            assert knowledge.remove(f"id-{CANARY}", "absent") == 1
        held = _held(folder)
        assert CANARY not in held
        assert HAN not in held
        assert not [hit for hit in knowledge.recall(CANARY) if CANARY in hit.text]
        info = backend.index.info(knowledge.space)
        assert info.records == knowledge.count().chunks
        if how == "erase_all":
            assert (info.records, info.vectors) == (0, 0)
            assert backend.kv.scan(knowledge.space).items == []
    assert CANARY not in _held(folder)


def _shelf_of(knowledge: Knowledge, told: list[Space] | None = None) -> DocumentStore:
    return DocumentStore(
        knowledge._shelf.backend, knowledge.space, embedder=knowledge.embedder, clock=knowledge._shelf.clock,
        notify=(told if told is not None else []).append,
    )  # fmt: skip


@pytest.mark.parametrize("with_vectors", [True, False])
def test_a_document_is_restored_once_with_the_vectors_that_fit(backend: Backend, with_vectors: bool):
    shelf = _shelf_of(filled(knowledge_over(open_backend("memory:"))))
    told: list[Space] = []
    there = knowledge_over(backend)
    other = _shelf_of(there, told)
    manifest = shelf.required("handbook")
    vectors = dict(shelf.vectors_of(manifest)) if with_vectors else {}
    assert len(vectors) == (manifest.document.chunks if with_vectors else 0)
    parts = (manifest.document, shelf.parsed(manifest), manifest.chunking)
    assert other.restore(*parts, vectors={**vectors, text_key("of no chunk"): [1.0]})
    assert other.required("handbook") == manifest
    assert (other.vectors.pending, told) == ((0, []) if with_vectors else (manifest.document.chunks, [there.space]))
    assert not other.restore(replace(manifest.document, title="another"), *parts[1:], vectors={})
    assert other.required("handbook") == manifest
    there.flush()
    assert dict(other.vectors_of(manifest)) == dict(shelf.vectors_of(manifest))
    with pytest.raises(InvalidInput, match="no text"):
        other.restore(replace(manifest.document, id="blank"), plain(" \n"), manifest.chunking, vectors={})
