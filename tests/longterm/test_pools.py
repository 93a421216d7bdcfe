"""What is held of a space follows the store, whatever is done to it."""

from __future__ import annotations

import numpy as np
import pytest

from memwell.longterm.memory import Memory
from memwell.longterm.pools import HeldPool, Pools
from memwell.longterm.traits import Traits, with_traits
from memwell.models.scripted import HashEmbedder
from memwell.records import Record, Space
from memwell.storage import open_backend
from memwell.storage.protocols import Changes

SPACE = Space("pools")


def _record(number: int, size: int | None) -> Record:
    vector = None if size is None else [1.0] + [0.0] * (size - 1)
    return Record(
        text=f"note {number}", space=SPACE, id=f"r{number}", vector=vector, metadata=with_traits({}, Traits())
    )


def test_a_space_embedded_anew_at_another_size_is_recalled_by_all_who_hold_it():
    backend = open_backend("memory:")
    first = Memory(backend, "a", embedder=HashEmbedder(64))
    first.remember("I live in Oslo.")
    first.remember("The cat is called Miso.")
    first.settle()
    assert first.recall("Oslo")[0].text == "I live in Oslo."
    second = Memory(backend, "a", embedder=HashEmbedder(128))
    assert second.recall("Oslo")[0].text == "I live in Oslo."
    second.settle()
    for memory in (second, first, second):
        assert memory.recall("Oslo")[0].text == "I live in Oslo."
    assert "dense" in second.recall("Oslo")[0].signals


@pytest.mark.parametrize("size", [4, 16], ids=["smaller", "larger"])
def test_a_pool_starts_afresh_when_the_size_changes_and_keeps_what_it_alone_knows(size: int):
    backend = open_backend("memory:")
    pools = Pools(backend.index)
    backend.index.upsert([_record(number, 8) for number in range(3)])
    moment = _record(0, None).time
    with pools.of(SPACE) as held:
        assert held.pool.dimensions == 8
        held.touch(["r1"], moment)
    backend.index.upsert([_record(number, None) for number in range(3)])
    backend.index.upsert([_record(0, size)])
    with pools.of(SPACE) as again:
        assert again is held
        assert (again.pool.dimensions, len(again.pool)) == (size, 3)
        assert again.traits["r1"].accessed == moment
    backend.index.upsert([_record(1, size)])
    with pools.of(SPACE) as later:
        assert sorted(later.records) == ["r0", "r1", "r2"]


def test_only_another_size_makes_it_start_afresh():
    backend = open_backend("memory:")
    pools = Pools(backend.index)
    backend.index.upsert([_record(0, 8)])
    with pools.of(SPACE) as held:
        pool = held.pool
    backend.index.upsert([_record(1, 8), _record(2, None)])
    with pools.of(SPACE) as held:
        assert held.pool is pool
        assert len(pool) == 3


def test_a_pool_of_given_records_needs_no_store():
    held = HeldPool.of([_record(0, 8), _record(1, None)])
    assert sorted(held.records) == ["r0", "r1"]
    assert all(record.vector is None for record in held.records.values()), "vectors are held as codes alone"
    assert np.isfinite(held.nbytes)
    held.follow(Changes(None, False, [], [0]))
    assert sorted(held.records) == ["r1"]
