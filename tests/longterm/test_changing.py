"""Changes reach the vector, and what lies beside memories goes with the last of them that names it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from memwell.errors import BackendError, ModelError, NotFound
from memwell.longterm.memory import Memory
from memwell.longterm.traits import blobs_space, features_space, own_metadata, traits_of, with_traits
from memwell.models.ports import Floats
from memwell.models.scripted import HashEmbedder
from memwell.records import Record
from memwell.storage import open_backend
from tests.longterm.conftest import Bench


def attach(memory: Memory, id_: str, *blobs: bytes, vector: list[float] | None = None) -> list[str]:
    """Let bytes and a vector of features belong to a memory."""
    memory.catch_up()
    [record] = memory.backend.index.get(memory.space, [id_])
    digests = [memory.backend.blobs.put(blobs_space(memory.space), one) for one in blobs]
    traits = replace(traits_of(record), blobs=tuple(digests), features=len(vector or ()))
    memory.backend.index.upsert([replace(record, metadata=with_traits(own_metadata(record), traits))])
    if vector:
        space = features_space(memory.space, len(vector))
        memory.backend.index.upsert([Record(text="", space=space, id=id_, vector=vector)])
    return digests


def holds(memory: Memory, digest: str) -> bool:
    try:
        memory.backend.blobs.get(blobs_space(memory.space), digest)
    except NotFound:
        return False
    return True


def test_a_blob_stays_for_what_a_memory_was_before(memory: Memory):
    kept, gone = memory.remember("kept").id, memory.remember("gone").id
    [old] = attach(memory, kept, b"old")
    attach(memory, gone, b"old")
    memory.update(kept, "kept and changed")
    attach(memory, kept, b"new")
    assert memory.erase(gone).blobs == 0
    assert holds(memory, old)
    memory.undo(kept)
    assert memory.erase(kept).blobs == 1
    assert not holds(memory, old)


def test_a_failure_leaves_everything(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    id_ = memory.remember("stays").id
    [digest] = attach(memory, id_, b"bytes", vector=[1.0])

    def fail(*args: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(memory.backend.index, "delete", fail)
    with pytest.raises(OSError, match="gone"):
        memory.erase(id_)
    monkeypatch.undo()
    assert holds(memory, digest)
    assert memory.get(id_).text == "stays"


def test_nothing_is_owed_after_everything_was_erased():
    with open_backend("memory:") as backend:
        memory = Memory(backend, "ann")
        memory.remember(["Ann likes tea.", "Ben likes coffee."])
        memory.flush()
        memory.erase_all()
        assert (memory.pending().words, memory.pending().vectors) == (0, 0)
        memory.remember("Cleo likes cocoa.")
        assert [hit.text for hit in memory.recall("cocoa")] == ["Cleo likes cocoa."]
        assert memory.pending().words == 0


class Interrupted(HashEmbedder):
    """An embedder during whose next call something else happens, as in another thread."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__(64)
        self.meanwhile = meanwhile

    def embed(self, texts: Sequence[str]) -> Floats:
        happens, self.meanwhile = self.meanwhile, lambda: None
        happens()
        return super().embed(texts)


def down() -> None:
    raise ModelError("the embedder is down")


def has_own_vector(memory: Memory, id_: str) -> bool:
    """Whether the vector of a memory is that of its text now."""
    [record] = memory.backend.index.get(memory.space, [id_])
    [wanted] = HashEmbedder(64).embed([memory.indexer.embedded_text(record)])
    return record.vector is not None and list(record.vector) == pytest.approx(list(wanted), abs=1e-3)


CHANGES: dict[str, Callable[[Memory, str], object]] = {
    "update": lambda memory, id_: memory.update(id_, "Ann drinks cocoa."),
    "undo": lambda memory, id_: memory.undo(id_),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_memory_that_changes_while_it_is_embedded_gets_the_vector_of_its_last_text(bench: Bench, change: str):
    embedder = Interrupted()
    memory = bench.memory(embedder=embedder)
    ids = memory.remember([f"Ann drinks tea number {number}." for number in range(40)]).ids
    memory.flush()
    for id_ in ids:
        # While the embedder is down more of them wait than a change embeds by itself.
        embedder.meanwhile = down
        memory.update(id_, f"Ann drinks coffee: {id_}.")
    memory.catch_up()
    embedder.meanwhile = lambda: [CHANGES[change](bench.memory(), id_) for id_ in ids]
    memory.flush()
    assert memory.pending().vectors == 0
    assert all(has_own_vector(memory, id_) for id_ in ids)


def test_a_text_that_was_changed_without_an_embedder_gets_its_vector_later(bench: Bench):
    id_ = bench.memory().remember("Ann drinks tea.").id
    bench.memory().flush()
    plain = bench.memory(embedder=None)
    plain.update(id_, "Ann drinks coffee.")
    plain.flush()
    memory = bench.memory()
    memory.flush()
    assert has_own_vector(memory, id_)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_raised_has_changed_nothing(bench: Bench, change: str, monkeypatch: pytest.MonkeyPatch):
    memory = bench.memory()
    id_ = memory.remember("Ann drinks tea.").id
    memory.update(id_, "Ann drinks coffee.")
    memory.flush()
    append = memory.backend.log.append

    def full(*args: Any, **options: Any) -> Any:
        raise BackendError("the disk is full")

    monkeypatch.setattr(memory.backend.log, "append", full)
    with pytest.raises(BackendError, match="full"):
        CHANGES[change](memory, id_)
    monkeypatch.setattr(memory.backend.log, "append", append)
    assert memory.get(id_).text == "Ann drinks coffee."
    assert [version.record.text for version in memory.history(id_)] == ["Ann drinks tea."]
    assert has_own_vector(memory, id_)
