"""Uses of memories: a recall changes no record, and what is counted lies apart, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

import memwell
from memwell.longterm.changing import Forgetting
from memwell.longterm.memory import Memory
from memwell.longterm.recall import Recalled
from memwell.longterm.traits import Traits, with_traits
from memwell.longterm.uses import Use, all_uses, uses_of
from memwell.models.scripted import HashEmbedder
from memwell.records import Record, Space
from memwell.runtime.engine import Engine
from memwell.storage import Backend, open_backend
from tests.engines.postgres import open_recycled, recycle

SPACE = Space("ann")
NOON = datetime(2024, 5, 7, 12, tzinfo=UTC)
TEXTS = ["Dave drives a red car.", "Eve rides a blue bicycle.", "The tea is on the upper shelf."]


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Backend]]:
    """Opens the same store again, as another process would."""
    if request.param == "sqlite":
        yield lambda: open_backend(str(tmp_path / "store.db"))
        return
    yield lambda: open_recycled(tmp_path)
    recycle(tmp_path)


def engine(backend: Backend) -> Engine:
    return memwell.open(backend, space=SPACE, embedder=HashEmbedder(64))


def stored(backend: Backend) -> tuple[int, list[Record]]:
    """How often the records of the space were changed, and they themselves."""
    return backend.index.info(SPACE).state, backend.index.scan(SPACE).items


def test_a_recall_writes_no_record_and_no_change(opened: Callable[[], Backend]):
    with engine(opened()) as m:
        ids = m.remember(TEXTS).ids
        m.flush()
        before = stored(m.backend)
        for _ in range(3):
            m.recall("a red car")
        m.evaluate(ids[0])
        assert stored(m.backend) == before
        counted = all_uses(m.backend.kv, SPACE)
        assert {id_: use.times for id_, use in counted.items()} == dict.fromkeys(ids, 3)


def test_the_counts_of_two_processes_add_up_and_survive(opened: Callable[[], Backend]):
    with engine(opened()) as m:
        id_ = m.remember(TEXTS[0]).id
        m.flush()
        m.recall("a red car", now=NOON)
        with engine(opened()) as other:
            other.recall("a red car", now=NOON + timedelta(hours=2))
            other.recall("a red car", now=NOON + timedelta(hours=1))
    with engine(opened()) as m:
        assert uses_of(m.backend.kv, SPACE, [id_]) == {id_: Use(3, (NOON + timedelta(hours=2)).timestamp())}
        hit = m.recall("a red car", now=NOON + timedelta(hours=3))[0]
        assert hit.accessed == m.get(id_).accessed == NOON + timedelta(hours=2)
        assert hit.signals["uses"].value == pytest.approx(0.75)


def test_what_is_erased_takes_its_uses_along_also_those_not_stored_yet(opened: Callable[[], Backend]):
    with engine(opened()) as m, engine(opened()) as other:
        ids = m.remember(TEXTS).ids
        m.flush()
        m.note_uses(dict.fromkeys(ids, 1))
        other.recall("a red car")
        m.erase(ids[:2])
        assert set(all_uses(m.backend.kv, SPACE)) == {ids[2]}
        other.evaluate(ids[2])
        assert {id_: use.times for id_, use in all_uses(m.backend.kv, SPACE).items()} == {ids[2]: 2}
        m.memory.erase_all()
        assert all_uses(m.backend.kv, SPACE) == {}


def test_forgetting_and_undoing_keep_the_uses(opened: Callable[[], Backend]):
    with engine(opened()) as m:
        id_ = m.remember(TEXTS[0]).id
        m.flush()
        m.note_uses({id_: 4}, NOON)
        m.forget(id_)
        assert m.undo(id_).accessed == NOON
        assert m.recall("a red car")[0].signals["uses"].value == pytest.approx(0.8)


@pytest.fixture(params=["memory:", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    place = request.param if request.param == "memory:" else str(tmp_path / "store.db")
    with open_backend(place) as backend:
        yield Memory(backend, SPACE, embedder=HashEmbedder(64), clock=lambda: NOON)


def shown(memory: Memory, id_: str) -> list[Recalled]:
    """The memory in every way in which it can be read."""
    listed = [one for one in (*memory.memories(), *memory.page().items) if one.id == id_]
    return [memory.get(id_), *listed, memory.pin(id_), memory.update(id_, metadata={"n": 1})]


def test_what_was_counted_in_the_record_still_counts(memory: Memory):
    old = NOON - timedelta(days=9)
    metadata = with_traits({}, Traits(uses=5, accessed=old, learned=old, importance=0.1, content=0.1))
    memory.backend.index.upsert([Record(text=TEXTS[0], space=SPACE, id="old", time=old, metadata=metadata)])
    assert {one.accessed for one in shown(memory, "old")} == {old}
    assert memory.forget_by(Forgetting(unused=True), dry_run=True).ids == []
    memory.note_uses({"old": 2, "never was": 1}, NOON)
    assert all_uses(memory.backend.kv, SPACE) == {"old": Use(7, NOON.timestamp())}
    assert {one.accessed for one in shown(memory, "old")} == {NOON}


def test_policies_audits_and_worth_read_what_was_counted(memory: Memory):
    used, unused = memory.remember(TEXTS[:2], importance=0.1, time=NOON - timedelta(days=800)).ids
    memory.flush()
    for id_ in (used, unused):
        record = memory.backend.index.get(SPACE, [id_])[0]
        own = replace(record, metadata=with_traits({}, Traits(importance=0.1, learned=NOON - timedelta(days=800))))
        memory.backend.index.upsert([own])
    worth = memory.evaluate(used)
    memory.note_uses({used: 3})
    assert memory.evaluate(used) > worth
    assert memory.forget_by(Forgetting(unused=True), dry_run=True).ids == [unused]
    assert [problem.record for problem in memory.audit().problems if problem.code == "unused"] == [unused]


@pytest.mark.parametrize("name", ["plain", "with/slashes/", "ä键", "long" * 250])
def test_an_id_is_read_back_as_it_is(memory: Memory, name: str):
    memory.remember(TEXTS[0], id=name)
    memory.flush()
    memory.note_uses({name: 2}, NOON)
    assert all_uses(memory.backend.kv, SPACE) == uses_of(memory.backend.kv, SPACE, [name])
    assert all_uses(memory.backend.kv, SPACE) == {name: Use(2, NOON.timestamp())}


def test_a_copy_in_a_file_brings_the_uses(memory: Memory, tmp_path: Path):
    id_ = memory.remember(TEXTS[0]).id
    memory.flush()
    memory.note_uses({id_: 3}, NOON)
    with memwell.open(memory.backend, space=SPACE, embedder=None, work=False) as m:
        m.export(tmp_path / "copy.jsonl")
        with memwell.open("memory:", space=SPACE, embedder=None, work=False) as other:
            other.import_file(tmp_path / "copy.jsonl", trusted=True)
            assert other.get(id_).accessed == NOON
            assert other.forget_by(Forgetting(unused=True), dry_run=True).ids == []
