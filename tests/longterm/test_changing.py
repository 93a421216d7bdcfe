"""What lies beside memories goes with the last of them that names it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from memwell.errors import NotFound
from memwell.longterm.memory import Memory
from memwell.longterm.traits import blobs_space, features_space, own_metadata, traits_of, with_traits
from memwell.records import Record
from memwell.storage import open_backend


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
