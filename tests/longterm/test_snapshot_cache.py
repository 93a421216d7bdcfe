"""The sieve: after any changes it lets through what the filter itself would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.filters import AllOf, AnyOf, Filter, Not, Where, holds
from memwell.longterm.memory import Memory
from memwell.longterm.snapshot import Entry, Pool
from memwell.longterm.snapshot_cache import HeldPool, Pools, Sieve
from memwell.longterm.traits import Traits, with_traits
from memwell.models.scripted import HashEmbedder
from memwell.records import Record, Space
from memwell.storage import open_backend
from memwell.storage.protocols import Changes

VALUES = st.sampled_from([0, 1, 1.0, 2.5, True, False, None, "1", "x", "", [1], {"b": 1}, {"b": True}])
METADATA = st.dictionaries(st.sampled_from("ab"), VALUES)
SCALARS = st.sampled_from([0, 1, 1.0, 2.5, True, False, None, "1", "x", "nobody has it"])
FIELDS = st.sampled_from(["a", "b", ("a", "b"), "@id", ("a",)])
EQUAL: st.SearchStrategy[Filter] = st.builds(
    lambda field, value: Where(field, "eq", value if field != "@id" else "r1"), FIELDS, SCALARS
)
FILTERS = st.recursive(
    st.one_of(EQUAL, st.builds(lambda field: Where(field, "exists", True), st.sampled_from("ab"))),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda found: AllOf(tuple(found))),
        st.lists(inner, max_size=2).map(lambda found: AnyOf(tuple(found))),
        inner.map(Not),
    ),
    max_leaves=5,
)
CHANGES = st.lists(st.dictionaries(st.sampled_from([f"r{n}" for n in range(90)]), METADATA, max_size=30), max_size=4)


def change(pool: Pool, records: dict[str, Record], changed: dict[str, dict[str, Any]]) -> None:
    records.update({id_: Record(text=id_, id=id_, metadata=metadata) for id_, metadata in changed.items()})
    pool.apply([Entry(id_, id_) for id_ in changed], ())


@given(CHANGES, st.lists(FILTERS, min_size=1, max_size=3), st.sets(st.sampled_from([f"r{n}" for n in range(90)])))
def test_it_lets_through_what_the_filter_would(changes: list[Any], filters: list[Filter], gone: set[str]):
    pool, records, sieve = Pool(), dict[str, Record](), Sieve()
    for changed in [*changes, {f"r{n}": {"a": n} for n in range(70)}, None]:
        if changed is None:
            pool.apply((), gone)
            for id_ in gone:
                records.pop(id_, None)
            changed = {"new": {"a": 1}}
        change(pool, records, changed)
        sieve.follow(pool, records, changed)
        for wanted in filters:
            flags = sieve.flags(wanted, pool, records)
            assert len(flags) == pool.limit
            assert {id_ for id_ in records if flags[pool.row_of(id_)]} == {
                id_ for id_, record in records.items() if holds(wanted, record)
            }
    sieve.clear()


def test_what_is_returned_is_the_callers():
    pool, records, sieve = Pool(), dict[str, Record](), Sieve()
    change(pool, records, {"one": {"a": 1}})
    for wanted in (Where("a", "eq", 1), Where("a", "gt", 0), AllOf(())):
        sieve.flags(wanted, pool, records)[:] = False
        assert sieve.flags(wanted, pool, records).all()


def test_values_that_nothing_has_any_more_do_not_pile_up():
    pool, records, sieve = Pool(), dict[str, Record](), Sieve()
    for number in range(1100):
        change(pool, records, {"one": {"a": number}})
        sieve.follow(pool, records, ["one"])
        assert sieve.flags(Where("a", "eq", number), pool, records).all()
    (column,) = sieve._columns.values()
    assert len(column._numbers) <= 1026


def test_only_the_filters_used_last_are_kept():
    pool, records, sieve = Pool(), dict[str, Record](), Sieve()
    change(pool, records, {"one": {"a": 1}})
    for number in range(40):
        assert not sieve.flags(Where(f"field {number}", "eq", 1), pool, records).any()
        assert sieve.flags(Where("a", "lt", number + 2), pool, records).all()
    assert (len(sieve._columns), len(sieve._answers)) == (16, 16)


# What is held of a space follows the store, whatever is done to it.


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
