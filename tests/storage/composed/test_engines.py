"""Another store as an engine finds what its index finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.filters import Filter, holds
from memwell.records import Record, Space
from memwell.storage.composed import StoreVectors
from memwell.storage.memory import MemoryBackend
from memwell.testing.strategies import filters, records

HOME = Space("home")
DEEP = Space(*map(str, range(16)))


@given(st.lists(records(HOME, [str(n) for n in range(9)]), max_size=9, unique_by=lambda r: r.id), filters())
def test_no_record_that_satisfies_a_filter_is_left_out(stored: list[Record], where: Filter):
    engine = StoreVectors(MemoryBackend())
    with_vector = [one for one in stored if one.vector is not None]
    engine.store(HOME, with_vector)
    found = {id_ for id_, _ in engine.near(HOME, [1.0, 0.0, 0.0], 100, where)}
    assert found >= {one.id for one in with_vector if holds(where, one)}


@pytest.mark.parametrize("space", [HOME, DEEP])
def test_it_keeps_a_space_by_itself(space: Space):
    store = MemoryBackend()
    engine = StoreVectors(store)
    engine.store(space, [Record(id=id_, text="secret", space=space, vector=[1, 0]) for id_ in "abc"])
    engine.drop(space, ["b", "never"])
    assert (sorted(engine.ids(space)), engine.count(space)) == (["a", "c"], 2)
    assert store.index.scan(space).items == []
    assert all("secret" not in one.text for one in store.index.scan(Space("memwell", "vectors", *space[:1])).items)
    assert list(engine.spaces()) == ([HOME] if space == HOME else [])
    engine.forget(space)
    assert engine.count(space) == 0


def test_it_gets_another_identity_with_another_store():
    engine = StoreVectors(MemoryBackend())
    assert engine.identity(2) == engine.identity(3)
    assert StoreVectors(MemoryBackend()).identity(2) != engine.identity(2)
