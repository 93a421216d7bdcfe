"""The row_filters: after any changes it lets through what the filter itself would."""

from __future__ import annotations

import gc
import tempfile
import threading
from array import array
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from types import FunctionType, ModuleType
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import memwell
from memwell.filters import AllOf, AnyOf, Filter, Not, Where, holds
from memwell.longterm import snapshot_cache
from memwell.longterm.candidates import ParsedQuery
from memwell.longterm.memory import Memory
from memwell.longterm.ranking import rank
from memwell.longterm.snapshot import NOWHERE, Snapshot, SnapshotEntry
from memwell.longterm.snapshot_cache import MemoryReader, RowFilters, Snapshots
from memwell.longterm.snapshot_file import restored
from memwell.longterm.traits import Traits, with_traits
from memwell.longterm.weights import Weights
from memwell.models.scripted import HashEmbedder
from memwell.records import Page, Record, Space
from memwell.settings import Settings
from memwell.storage import Backend, open_backend
from memwell.storage.protocols import Changes, RecordIndex
from memwell.storage.sqlite import index
from tests.longterm.test_snapshot import EVERYTHING

VALUES = st.sampled_from([0, 1, 1.0, 2.5, True, False, None, "1", "x", "", [1], {"b": 1}, {"b": True}])
METADATA = st.dictionaries(st.sampled_from("ab"), VALUES)
SCALARS = st.sampled_from([0, 1, 1.0, 2.5, True, False, None, "1", "x", "nobody has it"])
FIELDS = st.sampled_from(["a", "b", ("a", "b"), "@id", "@kind", ("a",)])
EQUAL: st.SearchStrategy[Filter] = st.builds(
    lambda field, value: Where(field, "eq", "r1" if field == "@id" else "memory" if field == "@kind" else value),
    FIELDS,
    SCALARS,
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


def reader_of(snapshot: Snapshot, records: dict[str, Record]) -> MemoryReader:
    def metadata() -> Iterator[tuple[int, dict[str, Any]]]:
        return ((numbered(id_), record.metadata) for id_, record in records.items())

    return MemoryReader(lambda numbers: [records[id_] for id_ in numbers], records.values, metadata, list)


def numbered(id_: str) -> int:
    return int(id_[1:]) if id_[1:].isdigit() else 1000


def change(snapshot: Snapshot, records: dict[str, Record], changed: dict[str, dict[str, Any]]) -> None:
    records.update({id_: Record(text=id_, id=id_, metadata=metadata) for id_, metadata in changed.items()})
    snapshot.apply([SnapshotEntry(id_, id_, kind="memory", number=numbered(id_)) for id_ in changed], ())


@given(CHANGES, st.lists(FILTERS, min_size=1, max_size=3), st.sets(st.sampled_from([f"r{n}" for n in range(90)])))
def test_it_lets_through_what_the_filter_would(changes: list[Any], filters: list[Filter], gone: set[str]):
    snapshot, records, row_filters = Snapshot(), dict[str, Record](), RowFilters()
    reader = reader_of(snapshot, records)
    for changed in [*changes, {f"r{n}": {"a": n} for n in range(70)}, None]:
        if changed is None:
            snapshot.apply((), gone)
            for id_ in gone:
                records.pop(id_, None)
            changed = {"new": {"a": 1}}
        change(snapshot, records, changed)
        row_filters.follow(snapshot, [records[id_] for id_ in changed])
        for wanted in filters:
            flags = row_filters.flags(wanted, snapshot, reader)
            assert len(flags) == snapshot.limit
            assert {id_ for id_ in records if flags[snapshot.row_of(id_)]} == {
                id_ for id_, record in records.items() if holds(wanted, record)
            }
    row_filters.clear()


def test_values_that_nothing_has_any_more_do_not_pile_up():
    snapshot, records, row_filters = Snapshot(), dict[str, Record](), RowFilters()
    reader = reader_of(snapshot, records)
    for number in range(1100):
        change(snapshot, records, {"one": {"a": number}})
        row_filters.follow(snapshot, [records["one"]])
        assert row_filters.flags(Where("a", "eq", number), snapshot, reader).all()
    (column,) = row_filters._columns.values()
    assert len(column._numbers) <= 1026


# What is held of a space follows the store, whatever is done to it.


SPACE = Space("snapshots")


def _record(number: int, size: int | None) -> Record:
    vector = None if size is None else [1.0] + [0.0] * (size - 1)
    return Record(
        text=f"note {number}", space=SPACE, id=f"r{number}", vector=vector, metadata=with_traits({}, Traits())
    )


def test_turns_of_one_moment_follow_each_other_in_the_order_they_were_stored_in():
    memory = Memory(open_backend("memory:"), "a", embedder=None)
    moment = datetime(2026, 5, 1, tzinfo=UTC)
    written = memory.remember(["My son is ten.", "We leave on Friday."], speaker="Ann", time=moment).ids
    for name in ("z", "y"):
        memory.remember(f"It was {name}.", id=name, speaker="Ben", time=moment)
        written.append(name)
    memory.remember("The lamp is red.", time=moment)
    memory.recall("son")
    with memory._snapshots.of(memory.space) as held:
        found, row = [], held.snapshot.row_of(written[0])
        while row != NOWHERE:
            found.append(held.snapshot.ids[row])
            row = held.snapshot.following[row]
    assert found == written
    assert memory.recall("Ten?", session="a") == []


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


# Saved snapshots: the next process maps them, reads what has changed since, and ranks as if it had read everything.


class Reads:
    """An index that counts the records that are read from it."""

    def __init__(self, index: RecordIndex) -> None:
        self._index = index
        self.count = self.hits = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def changes(self, space: Space, since: int | None = None) -> Changes:
        found = self._index.changes(space, since)
        self.count += len(found.records)
        return found

    def pieces(self, space: Space) -> Iterator[Changes]:
        for piece in self._index.pieces(space):
            self.count += len(piece.records)
            yield piece

    def numbered(self, space: Space, numbers: Mapping[str, int]) -> list[Record]:
        found = self._index.numbered(space, numbers)
        self.count += len(found)
        self.hits += len(found)
        return found

    def metadata(self, space: Space) -> Iterator[tuple[int, dict[str, Any]]]:
        for one in self._index.metadata(space):
            self.count += 1
            yield one

    def scan(self, *args: Any, **options: Any) -> Page[Record]:
        found = self._index.scan(*args, **options)
        self.count += len(found.items)
        return found


WORDS = ["train", "ticket", "garden", "Anna", "yesterday", "why?", "火车", "花园"]
TRAITS = st.tuples(
    st.sampled_from(["", "Anna"]), st.sampled_from(["", "one", "two"]), st.integers(0, 3), st.booleans()
).map(lambda one: Traits(speaker=one[0], session=one[1], position=one[2], status="active" if one[3] else "forgotten"))
STORED = st.tuples(
    st.just("store"), st.integers(0, 9), st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), TRAITS,
    st.one_of(st.none(), st.integers(0, 4)),
)  # fmt: skip
OTHERS = st.one_of(
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("embed"), st.sampled_from([4, 8])),
    st.just(("save",)),
)
MOMENT = datetime(2026, 5, 1, tzinfo=UTC)
BY_WORDS = Weights.linear({"words": 1.0})


def vector(seed: int | None, size: int) -> list[float] | None:
    return None if seed is None else np.random.default_rng(seed).standard_normal(size).tolist()


def ranked(snapshots: Snapshots) -> dict[str, float]:
    with snapshots.of(SPACE) as held:
        size = held.snapshot.dimensions
        query = ParsedQuery.of(
            "When did Anna buy a train ticket? 火车", now=1.8e9, vector=np.array(vector(1, size)) if size else None
        )
        allowed = held.allowed(Where(("memwell", "session"), "eq", "one"), MOMENT)
        every, some = (rank(held.snapshot, query, weights=EVERYTHING, allowed=one) for one in (None, allowed))
        return {hit.id: hit.score for hit in every} | {f"{hit.id} of one": hit.score for hit in some}


def _take(backend: Backend, step: tuple[Any, ...], size: int) -> None:
    match step:
        case ("store", id_, text, traits, seed):
            metadata, row = with_traits({}, traits), vector(seed, size)
            backend.index.upsert(
                [Record(text=text, space=SPACE, id=f"r{id_}", metadata=metadata, vector=row, time=MOMENT)]
            )
        case ("delete", id_):
            backend.index.delete(SPACE, [f"r{id_}"])
            backend.scrub()
        case ("embed", _):
            backend.index.revector(SPACE, {f"r{one}": vector(one, size) or [] for one in range(0, 10, 2)})
        case _:
            saving = Snapshots(backend.index, keep=True)
            ranked(saving)
            saving.close()


@settings(max_examples=20)
@given(st.lists(st.one_of(STORED, STORED, OTHERS), max_size=14))
def test_a_snapshot_that_is_saved_and_followed_ranks_as_one_built_afresh(steps: list[tuple[Any, ...]]):
    size = 4
    with (
        tempfile.TemporaryDirectory() as folder,
        open_backend(f"{folder}/app.db") as backend,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(snapshot_cache, "_LEAST_SAVED", 1)
        for step in [*steps, ("save",), ("store", 3, "a train", Traits(), 1)]:
            size = step[1] if step[0] == "embed" else size
            _take(backend, step, size)
            with closing(Snapshots(backend.index, keep=True)) as mapping, closing(Snapshots(backend.index)) as reading:
                mapped, afresh = ranked(mapping), ranked(reading)
            assert mapped == pytest.approx(afresh, abs=1e-4)


def _filled(backend: Backend, count: int) -> None:
    backend.index.upsert([_record(number, 8) for number in range(count)])


def test_a_first_recall_reads_what_has_changed_and_the_hits(tmp_path: Path):
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 600)
        first = Memory(backend, SPACE, snapshots=Snapshots(backend.index, keep=True))
        assert first.recall("note 17", weights=BY_WORDS)[0].id == "r17"
        first._snapshots.close()
        backend.index.upsert([replace(_record(number, 8), text="else") for number in range(600, 603)])
        reads = Reads(backend.index)
        again = Memory(backend, SPACE, snapshots=Snapshots(cast(Any, reads), keep=True)).recall(
            "note 17", weights=BY_WORDS
        )
        assert again[0].id == "r17"
        # Of the memories, only those are read that may be a hit.
        assert reads.count < 200


@pytest.mark.parametrize(
    "options",
    [{"kinds": "memory"}, {"speaker": "ann"}, {"session": "s"}, {"since": datetime(2020, 1, 1, tzinfo=UTC)}],
    ids=["kind", "speaker", "session", "time"],
)
def test_the_usual_filters_read_no_memories(tmp_path: Path, options: dict[str, Any]):
    with open_backend(str(tmp_path / "app.db")) as backend:
        traits = Traits(speaker="Ann", session="s")
        backend.index.upsert([replace(_record(number, None), metadata=with_traits({}, traits)) for number in range(30)])
        reads = Reads(backend.index)
        memory = Memory(backend, SPACE, snapshots=Snapshots(cast(Any, reads)))
        memory.recall("note 1")
        reads.count = 0
        assert len(memory.recall("note 17", limit=5, **options)) == 5
        assert reads.count < 200


def test_a_filter_on_other_metadata_reads_it_once(tmp_path: Path):
    with open_backend(str(tmp_path / "app.db")) as backend:
        backend.index.upsert(
            [replace(_record(number, None), metadata=with_traits({"n": number}, Traits())) for number in range(30)]
        )
        reads = Reads(backend.index)
        memory = Memory(backend, SPACE, snapshots=Snapshots(cast(Any, reads)))
        memory.recall("note 1")
        reads.count = reads.hits = 0
        for filters, (where, found) in enumerate(
            [({"n": 7}, 1), ({"n": 8}, 1), ({"n": {"$gt": 26}}, 3), ({"x": 1}, 0)]
        ):
            assert len(memory.recall("note", where=where)) == found
            assert reads.count - reads.hits == 30, filters
        backend.index.upsert([replace(_record(40, None), metadata=with_traits({"n": 30}, Traits()))])
        assert len(memory.recall("note", where={"n": {"$gt": 26}})) == 4


def test_a_hit_is_read_again_only_after_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot_cache, "_MOST_READ", 40)
    with open_backend(str(tmp_path / "app.db")) as backend:
        backend.index.upsert([_record(number, None) for number in range(100)])
        reads = Reads(backend.index)
        memory = Memory(backend, SPACE, snapshots=Snapshots(cast(Any, reads)))
        assert memory.recall("note 17", weights=BY_WORDS)[0].id == "r17"
        reads.hits = 0
        assert memory.recall("note 17", weights=BY_WORDS)[0].id == "r17"
        assert reads.hits == 0
        backend.index.upsert([replace(_record(17, None), kind="other")])
        assert memory.recall("note 17", weights=BY_WORDS)[0].kind == "other"
        assert reads.hits == 1
        # When there are too many, those that are not asked for are dropped.
        for number in (*range(100), 17):
            assert memory.recall(f"note {number}", weights=BY_WORDS)[0].id == f"r{number}"
        with memory._snapshots.of(SPACE) as held:
            assert len(held._read) <= 40
        backend.index.delete(SPACE, ["r17"])
        assert "r17" not in [hit.id for hit in memory.recall("note 17", weights=BY_WORDS)]


def test_a_filter_that_is_new_sees_what_changed_since_another_was_asked(tmp_path: Path):
    with open_backend(str(tmp_path / "app.db")) as backend:
        memory = Memory(backend, SPACE)
        note = memory.remember("a note", metadata={"colour": "red", "size": 1}).ids[0]
        assert len(memory.recall("note", where={"colour": "red"})) == 1
        memory.update(note, "another note", metadata={"colour": "red", "size": 2})
        assert [len(memory.recall("note", where={"size": size})) for size in (1, 2)] == [0, 1]


def test_an_engine_saves_at_its_end_what_the_next_one_begins_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot_cache, "_LEAST_SAVED", 10)
    place = tmp_path / "app.db"
    for settings_, files in ((Settings(recall_cache=False), 0), (Settings(), 1)):
        with memwell.open(place, embedder=None, settings=settings_) as memory:
            memory.remember([f"Note {number} is about the harbour." for number in range(20)])
            hits = [hit.text for hit in memory.recall("note 7")]
        assert len(list(tmp_path.glob("app.db-cache/*"))) == files
    with memwell.open(place, embedder=None) as memory:
        assert [hit.text for hit in memory.recall("note 7")] == hits


def test_erased_words_are_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot_cache, "_LEAST_SAVED", 1)

    def with_it() -> list[str]:
        return [file.name for file in tmp_path.rglob("*") if file.is_file() and b"zeppelin" in file.read_bytes()]

    for _ in range(2):
        with memwell.open(tmp_path / "app.db", embedder=None) as memory:
            memory.remember([f"Note {number} is about the harbour." for number in range(20)])
            secret = memory.remember("The zeppelin lands at noon.").id
            memory.recall("note 7")
    assert any(name.endswith(".cache") for name in with_it())
    with memwell.open(tmp_path / "app.db", embedder=None) as memory:
        memory.recall("zeppelin")
        memory.erase(secret)
        assert with_it() == []
        memory.recall("note 7")
    assert with_it() == []


@pytest.mark.parametrize("damage", ["torn", "emptied", "foreign", "gone"])
def test_a_file_that_cannot_be_used_is_made_again(tmp_path: Path, damage: str):
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 600)
        saving = Snapshots(backend.index, keep=True)
        expected = ranked(saving)
        saving.close()
        [file] = tmp_path.glob("app.db-cache/*")
        if damage == "gone":
            file.unlink()
        else:
            data = file.read_bytes()
            file.write_bytes({"torn": data[: len(data) // 2], "emptied": b"", "foreign": b"x" * len(data)}[damage])
        again = Snapshots(backend.index, keep=True)
        assert ranked(again) == expected
        again.close()
        reads = Reads(backend.index)
        assert ranked(Snapshots(cast(Any, reads), keep=True)) == expected
        assert reads.count == 0


def test_recalls_that_are_not_stored_are_not_saved(tmp_path: Path):
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 600)
        saving = Snapshots(backend.index, keep=True)
        with saving.of(SPACE) as held:
            held.touch(["r1"], MOMENT)
        saving.close()
        with saving.of(SPACE) as held:
            assert held.memories(["r1"])["r1"][1].accessed == MOMENT
            assert held.snapshot.accessed[held.snapshot.row_of("r1")] == MOMENT.timestamp()
        with Snapshots(backend.index, keep=True).of(SPACE) as held:
            assert held.memories(["r1"])["r1"][1].accessed is None
            assert held.snapshot.accessed[held.snapshot.row_of("r1")] == 0.0


def test_a_large_space_is_searched_by_the_store_until_its_snapshot_is_made_and_kept(tmp_path: Path):
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 600)
        large = Snapshots(backend.index, keep=True, most_records=100)
        memory = Memory(backend, SPACE, snapshots=large)
        assert memory.recall("note 17", weights=BY_WORDS)[0].id == "r17"
        assert large._thread is not None
        large._thread.join()
        assert large.suits(SPACE)
        reads = Reads(backend.index)
        mapped = Snapshots(cast(Any, reads), keep=True, most_records=100)
        assert ranked(mapped) == ranked(Snapshots(backend.index))
        assert reads.count == 0
        memory.erase("r17")
        assert large.suits(SPACE), "it goes on without the memory"
        with large.of(SPACE) as held:
            assert "r17" not in held.snapshot
        assert ranked(large) == ranked(Snapshots(backend.index))
        large.close()


def test_a_space_that_would_take_too_much_memory_is_left_to_the_store(tmp_path: Path):
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 600)
        large = Snapshots(backend.index, keep=True, most_records=100, most_bytes=600 * 100)
        assert not large.suits(SPACE)
        assert large._thread is None
        assert not list(tmp_path.glob("app.db-cache/*"))


def _made(large: Snapshots) -> None:
    """Wait until what is being made in the background is done."""
    assert large._thread is not None
    large._thread.join()


def test_the_snapshot_of_a_large_space_is_held_where_the_store_keeps_none():
    backend = open_backend("memory:")
    _filled(backend, 600)
    large = Snapshots(backend.index, keep=True, most_records=100)
    assert not large.suits(SPACE, 4)
    _made(large)
    assert large.suits(SPACE, 4)
    with large.of(SPACE) as held:
        assert len(held.snapshot) == 600
        assert held.snapshot.vectors.shared_from == 4
        assert not held.snapshot.postings._rows, "it is packed"
    assert ranked(large) == ranked(Snapshots(backend.index))
    backend.index.upsert([_record(600, None)])
    with large.of(SPACE) as held:
        assert "r600" in held.snapshot


def test_a_damaged_file_of_a_large_space_is_noticed_in_the_background(tmp_path: Path):
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 600)
        first = Snapshots(backend.index, keep=True, most_records=100)
        first.suits(SPACE)
        _made(first)
        (file,) = tmp_path.glob("app.db-cache/*.cache")
        data = bytearray(file.read_bytes())
        data[-100] ^= 4
        file.write_bytes(data)
        large = Snapshots(backend.index, keep=True, most_records=100)
        assert large.suits(SPACE), "it is used at once"
        _made(large)
        assert not file.exists()
        assert large.suits(SPACE)
        _made(large)
        assert ranked(large) == ranked(Snapshots(backend.index))
        (kept,) = tmp_path.glob("app.db-cache/*.cache")
        assert restored(bytearray(kept.read_bytes())) is not None


def test_a_snapshot_that_is_made_during_an_erasure_is_not_held(monkeypatch: pytest.MonkeyPatch):
    backend = open_backend("memory:")
    _filled(backend, 200)
    large = Snapshots(backend.index, keep=True, most_records=100)
    erased = Memory(backend, SPACE, snapshots=large)
    pieces = backend.index.pieces

    def disturbed(space: Space) -> Iterator[Changes]:
        yield from pieces(space)
        erased.erase("r17")

    monkeypatch.setattr(backend.index, "pieces", disturbed)
    large.suits(SPACE)
    _made(large)
    assert SPACE not in large._held
    monkeypatch.undo()
    assert not large.suits(SPACE)
    _made(large)
    assert large.suits(SPACE)


CANARIES = tuple(f"canary{name}" for name in ("text", "name", "id", "session", "kind", "field", "deep", "hidden"))


def _in_memory(root: Any) -> set[str]:
    """The canaries that are in an object or in what it refers to."""
    found, seen, left = set[str](), set[int](), [root]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, type | ModuleType | FunctionType | Backend | RecordIndex | Thread):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            data = one.tobytes()
        else:
            data = one.encode() if isinstance(one, str) else bytes(one) if isinstance(one, bytes | bytearray) else b""
            left += gc.get_referents(one)
        found |= {canary for canary in CANARIES if canary.encode() in data.lower()}
    return found


@pytest.mark.parametrize("packed", [False, True])
def test_nothing_of_what_was_erased_stays_in_a_snapshot_that_goes_on(tmp_path: Path, packed: bool):
    with open_backend(str(tmp_path / "app.db")) as backend:
        backend.index.upsert([_record(number, 8) for number in range(600)])
        snapshots = Snapshots(backend.index)
        memory = Memory(backend, SPACE, snapshots=snapshots)
        erased = [
            Record(
                text=f"The canarytext{at} sings twice, canarytext{at}.", space=SPACE, id=f"canaryid{at}",
                kind=f"canarykind{at}", vector=array("f", np.full(8, 0.37 + at)), time=MOMENT,
                metadata=with_traits(
                    {"colour": f"canaryfield{at}", "canarydeep": 1},
                    Traits(speaker=f"Canaryname{at}", session=f"canarysession{at % 2 or ''}", importance=0.4),
                ),
            )
            for at in range(3)
        ]  # fmt: skip
        backend.index.upsert(erased)
        hidden = memory.remember("The canaryhidden is forgotten first.", metadata={"colour": "canaryhidden"}).id
        questions: list[tuple[str, Filter | None]] = [
            ("canarytext1", None), ("note", Where("colour", "eq", "red")), ("note", Where("colour", "exists", True)),
        ]  # fmt: skip
        for question, where in questions:
            memory.recall(question, where=where)
        assert "metadata.canarydeep" in {one.field for one in memory.browse(text="canarytext", facets=True).facets}
        if packed:
            snapshots._held[SPACE].pack()
        memory.forget(hidden)
        for question, where in questions:
            memory.recall(question, where=where)
        held = snapshots._held[SPACE]
        assert {"canarytext", "canaryid", "canarykind", "canaryfield"} <= _in_memory(held)
        rows = [held.snapshot.row_of(one.id) for one in erased]
        memory.erase([*(one.id for one in erased), hidden])
        assert snapshots._held[SPACE] is held
        assert _in_memory(held) == set()
        codes = held.snapshot.vectors.arrays(held.snapshot.limit)
        assert not any(codes[name][rows].any() for name in ("codes", "scales", "lengths", "bits"))
        assert not any(held.snapshot.postings._worded[row].any() for row in rows)
        afresh = Memory(backend, SPACE, snapshots=Snapshots(backend.index))
        for question, where in questions:
            mine, theirs = (one.recall(question, where=where) for one in (memory, afresh))
            assert [hit.id for hit in mine] == [hit.id for hit in theirs]
        assert ranked(snapshots) == pytest.approx(ranked(Snapshots(backend.index)), abs=1e-4)


def test_an_erasure_that_may_be_rolled_back_changes_no_snapshot():
    backend = open_backend("memory:")
    _filled(backend, 20)
    snapshots = Snapshots(backend.index)
    memory = Memory(backend, SPACE, snapshots=snapshots)
    memory.recall("note 7")

    def roll_back() -> None:
        with backend.transaction():
            memory.erase("r7")
            raise KeyError

    with pytest.raises(KeyError):
        roll_back()
    with snapshots.of(SPACE) as held:
        assert "r7" in held.snapshot


def test_a_snapshot_in_long_use_is_dropped_by_an_erasure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot_cache, "_WAITED_S", 0.01)
    backend = open_backend("memory:")
    _filled(backend, 20)
    snapshots = Snapshots(backend.index)
    with snapshots.of(SPACE):
        Memory(backend, SPACE, snapshots=snapshots).erase("r7")
        assert SPACE not in snapshots._held
    with snapshots.of(SPACE) as held:
        assert "r7" not in held.snapshot


@pytest.mark.parametrize("most_records", [100, 1000], ids=["large", "usual"])
def test_the_first_question_finds_the_snapshot_that_was_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_records: int
):
    monkeypatch.setattr(snapshot_cache, "_PREPARED", 500)
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 499)
        preparing = Snapshots(backend.index, keep=True, most_records=most_records)
        assert preparing.prepare(SPACE)
        assert preparing._thread is None, "few memories are read by the first question"
        _filled(backend, 600)
        assert preparing.prepare(SPACE)
        _made(preparing)
        reads = Reads(backend.index)
        asked = Snapshots(cast(Any, reads), keep=True, most_records=most_records)
        assert asked.suits(SPACE)
        assert ranked(asked) == ranked(Snapshots(backend.index))
        assert reads.count == 0
        done = preparing._thread
        assert preparing.prepare(SPACE)
        assert preparing._thread is done, "it is there"
        monkeypatch.setattr(snapshot_cache, "_FOLLOWED_AT_ONCE", 10)
        backend.index.upsert([_record(number, 8) for number in range(600, 700)])
        assert preparing.prepare(SPACE, wait=True)
        with preparing.of(SPACE) as held:
            assert len(held.snapshot) == 700
        asked.close()
        preparing.close()


def test_a_snapshot_that_is_prepared_when_the_store_closes_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot_cache, "_PREPARED", 500)
    monkeypatch.setattr(index, "_PIECE", 100)
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 600)
        snapshots = Snapshots(backend.index, keep=True)
        pieces, begun, may_go_on = backend.index.pieces, threading.Event(), threading.Event()

        def slow(space: Space) -> Iterator[Changes]:
            for piece in pieces(space):
                yield piece
                begun.set()
                may_go_on.wait(60.0)

        monkeypatch.setattr(backend.index, "pieces", slow)
        assert snapshots.prepare(SPACE)
        assert begun.wait(60.0)
        snapshots._closed = True
        may_go_on.set()
        snapshots.close()
        assert snapshots._held[SPACE].state is None
        assert not list(tmp_path.glob("app.db-cache/*"))


def test_after_an_erasure_the_snapshot_is_kept_again_in_the_background(tmp_path: Path):
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 600)
        snapshots = Snapshots(backend.index, keep=True)
        memory = Memory(backend, SPACE, snapshots=snapshots)
        memory.recall("note 7")
        _made(snapshots)
        assert backend.index.kept_cache(SPACE) is not None
        memory.erase("r7")
        assert backend.index.kept_cache(SPACE) is None
        done = snapshots._thread
        snapshots.renew()
        assert snapshots._thread is done, "it was saved a moment ago"
        snapshots._held[SPACE].saved_at -= 100.0
        snapshots.renew()
        _made(snapshots)
        kept = backend.index.kept_cache(SPACE)
        assert kept is not None
        found = restored(kept.data)
        assert found is not None
        assert "r7" not in found


def test_a_large_space_is_brought_up_to_date_in_the_background_after_many_changes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot_cache, "_FOLLOWED_AT_ONCE", 10)
    backend = open_backend("memory:")
    _filled(backend, 200)
    large = Snapshots(backend.index, keep=True, most_records=100)
    large.suits(SPACE)
    _made(large)
    backend.index.upsert([_record(number, None) for number in range(200, 210)])
    assert large.suits(SPACE), "few changes are applied by the recall"
    backend.index.upsert([_record(210, None)])
    assert not large.suits(SPACE)
    _made(large)
    assert large.suits(SPACE)
    with large.of(SPACE) as held:
        assert held.state == backend.index.info(SPACE).state
        assert "r210" in held.snapshot


def test_the_snapshot_of_a_large_space_is_made_again_when_its_changes_are_no_longer_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with open_backend(str(tmp_path / "app.db"), settings=Settings(kept_changes=20)) as backend:
        _filled(backend, 200)
        large = Snapshots(backend.index, keep=True, most_records=100)
        large.suits(SPACE)
        _made(large)
        assert large.suits(SPACE)
        for number in range(200, 260):
            backend.index.upsert([_record(number, None)])
        changes, askers = backend.index.changes, list[Thread]()

        def noted(space: Space, state: int) -> Changes:
            askers.append(threading.current_thread())
            return changes(space, state)

        monkeypatch.setattr(backend.index, "changes", noted)
        assert not large.suits(SPACE)
        _made(large)
        assert large.suits(SPACE)
        assert threading.current_thread() not in askers, "a recall must not wait for it"
        with large.of(SPACE) as held:
            assert len(held.snapshot) == 260
        large.close()


def test_words_alone_are_searched_while_the_snapshot_of_a_large_space_is_made(monkeypatch: pytest.MonkeyPatch):
    backend = open_backend("memory:")
    memory = Memory(backend, SPACE, embedder=HashEmbedder(64))
    memory.remember([f"note {number} of the list" for number in range(200)])
    memory.flush()
    large = Snapshots(backend.index, keep=True, most_records=100)
    asked, may_go_on = list[str](), threading.Event()
    near, pieces = backend.index.near, backend.index.pieces

    def slow(space: Space) -> Iterator[Changes]:
        may_go_on.wait(60.0)
        yield from pieces(space)

    monkeypatch.setattr(backend.index, "near", lambda *args, **options: asked.append("near") or near(*args, **options))
    monkeypatch.setattr(backend.index, "pieces", slow)
    recalling = Memory(backend, SPACE, embedder=HashEmbedder(64), snapshots=large)
    assert recalling.recall("note 17")[0].text == "note 17 of the list"
    assert asked == []
    assert backend.index.info(SPACE).search == "exact"
    may_go_on.set()
    _made(large)
    assert recalling.recall("note 17")[0].text == "note 17 of the list"
    too_large = Snapshots(backend.index, keep=True, most_records=100, most_bytes=100)
    Memory(backend, SPACE, embedder=HashEmbedder(64), snapshots=too_large).recall("note 17")
    assert asked, "no snapshot of it will ever be made"


def test_a_large_snapshot_does_not_make_way_for_small_ones():
    backend = open_backend("memory:")
    _filled(backend, 600)
    size = 600 * 2_000
    small = [Space(f"small {number}") for number in range(40)]
    for space in small:
        backend.index.upsert([replace(_record(number, None), space=space) for number in range(90)])
    large = Snapshots(backend.index, keep=True, most_records=100, most_bytes=size // 4)
    large.suits(SPACE)
    _made(large)
    for space in small:
        with large.of(space) as held:
            assert len(held.snapshot) == 90
    assert SPACE in large._held
    assert 1 < len(large._held) < 40


def test_a_space_is_read_in_pieces_and_what_is_stored_meanwhile_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(index, "_PIECE", 7)
    with open_backend(str(tmp_path / "app.db")) as backend:
        _filled(backend, 20)
        pieces = backend.index.pieces

        def disturbed(space: Space) -> Iterator[Changes]:
            for number, piece in enumerate(pieces(space)):
                assert (piece.whole, len(piece.records)) == (number == 0, [7, 7, 6][number])
                yield piece
                if number == 0:
                    backend.index.upsert([_record(5, 8), _record(20, 8)])
                    backend.index.delete(SPACE, ["r3", "r19"])

        monkeypatch.setattr(backend.index, "pieces", disturbed)
        with Snapshots(backend.index).of(SPACE) as held:
            assert {f"r{number}" for number in range(30) if f"r{number}" in held.snapshot} == {
                f"r{number}" for number in range(21) if number not in (3, 19)
            }
