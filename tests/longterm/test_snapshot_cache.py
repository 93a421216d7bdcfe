"""The row_filters: after any changes it lets through what the filter itself would."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.filters import AllOf, AnyOf, Filter, Not, Where, holds
from memwell.longterm.memory import Memory
from memwell.longterm.snapshot import Snapshot, SnapshotEntry
from memwell.longterm.snapshot_cache import RowFilters, Snapshots
from memwell.longterm.traits import Traits, with_traits
from memwell.models.scripted import HashEmbedder
from memwell.records import Record, Space
from memwell.storage import open_backend

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


def change(snapshot: Snapshot, records: dict[str, Record], changed: dict[str, dict[str, Any]]) -> None:
    records.update({id_: Record(text=id_, id=id_, metadata=metadata) for id_, metadata in changed.items()})
    snapshot.apply([SnapshotEntry(id_, id_) for id_ in changed], ())


@given(CHANGES, st.lists(FILTERS, min_size=1, max_size=3), st.sets(st.sampled_from([f"r{n}" for n in range(90)])))
def test_it_lets_through_what_the_filter_would(changes: list[Any], filters: list[Filter], gone: set[str]):
    snapshot, records, row_filters = Snapshot(), dict[str, Record](), RowFilters()
    for changed in [*changes, {f"r{n}": {"a": n} for n in range(70)}, None]:
        if changed is None:
            snapshot.apply((), gone)
            for id_ in gone:
                records.pop(id_, None)
            changed = {"new": {"a": 1}}
        change(snapshot, records, changed)
        row_filters.follow(snapshot, [records[id_] for id_ in changed])
        for wanted in filters:
            flags = row_filters.flags(wanted, snapshot, records.values)
            assert len(flags) == snapshot.limit
            assert {id_ for id_ in records if flags[snapshot.row_of(id_)]} == {
                id_ for id_, record in records.items() if holds(wanted, record)
            }
    row_filters.clear()


def test_values_that_nothing_has_any_more_do_not_pile_up():
    snapshot, records, row_filters = Snapshot(), dict[str, Record](), RowFilters()
    for number in range(1100):
        change(snapshot, records, {"one": {"a": number}})
        row_filters.follow(snapshot, [records["one"]])
        assert row_filters.flags(Where("a", "eq", number), snapshot, records.values).all()
    (column,) = row_filters._columns.values()
    assert len(column._numbers) <= 1026


# What is held of a space follows the store, whatever is done to it.


SPACE = Space("snapshots")


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
    first.flush()
    assert first.recall("Oslo")[0].text == "I live in Oslo."
    second = Memory(backend, "a", embedder=HashEmbedder(128))
    assert second.recall("Oslo")[0].text == "I live in Oslo."
    second.flush()
    for memory in (second, first, second):
        assert memory.recall("Oslo")[0].text == "I live in Oslo."
    assert "dense" in second.recall("Oslo")[0].signals


@pytest.mark.parametrize("size", [4, 16], ids=["smaller", "larger"])
def test_a_pool_starts_afresh_when_the_size_changes_and_keeps_what_it_alone_knows(size: int):
    backend = open_backend("memory:")
    snapshots = Snapshots(backend.index)
    backend.index.upsert([_record(number, 8) for number in range(3)])
    moment = _record(0, None).time
    with snapshots.of(SPACE) as held:
        assert held.snapshot.dimensions == 8
        held.touch(["r1"], moment)
    backend.index.upsert([_record(number, None) for number in range(3)])
    backend.index.upsert([_record(0, size)])
    with snapshots.of(SPACE) as again:
        assert again is held
        assert (again.snapshot.dimensions, len(again.snapshot)) == (size, 3)
        assert again.memories(["r1"])["r1"][1].accessed == moment
    backend.index.upsert([_record(1, size)])
    with snapshots.of(SPACE) as later:
        assert sorted(later.memories(["r0", "r1", "r2"])) == ["r0", "r1", "r2"]
