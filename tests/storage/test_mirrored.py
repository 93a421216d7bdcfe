"""A copy of a space answers as the space itself would, whatever happens to it between two questions."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.records import Hit, Record, Space, Vector, pack_half
from memwell.storage.memory import MemoryBackend
from memwell.storage.mirrored import Delta, MirroredIndex, Row, SpaceCopy
from memwell.storage.protocols import IndexInfo, RecordIndex
from memwell.testing.clock import Clock
from memwell.testing.conformance import RecordIndexSuite
from memwell.testing.machine import EVERYTHING, Versions, assert_same, assert_same_match, assert_same_near
from memwell.testing.strategies import SPACES, Operation, filters, index_writes, outcome, sentences, vectors

HOME = Space("home")


class Mirror(MirroredIndex):
    """Rows in a reference store, which counts how often it is asked for everything."""

    def __init__(self, home: RecordIndex, inside: Callable[[], bool], *, most_bytes: int = 2**30) -> None:
        super().__init__(most_bytes=most_bytes)
        self.home = home
        self._inside = inside
        self.loads = 0
        self.forgetful = False

    def inside(self) -> bool:
        return self._inside()

    def delta(self, space: Space, since: int | None) -> Delta:
        changes = self.home.changes(space, None if self.forgetful else since)
        self.loads += changes.whole
        rows = [_row(number, record) for number, record in changes.records]
        return Delta(changes.state, changes.whole, rows, changes.gone)

    def scan_rows(self, space: Space, start: int | None, limit: int, *, newest_first: bool) -> list[Row]:
        rows = [_row(number, record) for number, record in self.home.changes(space).records]
        if newest_first:
            return [row for row in rows[::-1] if start is None or row.number < start][:limit]
        return [row for row in rows if start is None or row.number > start][:limit]

    def upsert(self, records: Sequence[Record]) -> None:
        self.home.upsert(records)

    def get(self, space: Space, ids: Iterable[str]) -> list[Record]:
        return self.home.get(space, ids)

    def delete(self, space: Space, ids: Iterable[str]) -> int:
        return self.home.delete(space, ids)

    def revector(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        self.home.revector(space, vectors)

    def info(self, space: Space) -> IndexInfo:
        return self.home.info(space)


def _row(number: int, record: Record) -> Row:
    vector = None if record.vector is None else pack_half(record.vector)
    return Row(number, msgspec.structs.replace(record, vector=None), vector)


class MirroredBackend(MemoryBackend):
    """The reference, searched through copies."""

    def __init__(self, *, clock: Callable[[], float] = time.time, most_bytes: int = 2**30) -> None:
        super().__init__(clock=clock)
        self.reference = self.index
        self.mirror = Mirror(self.index, self._store.inside, most_bytes=most_bytes)
        self.index = self.mirror


class Opened:
    def open(self, place: Path, clock: Clock) -> MirroredBackend:
        return MirroredBackend(clock=clock)


class TestIndex(Opened, RecordIndexSuite): ...


# Whatever happens between two questions

Question = Callable[[MirroredBackend], None]


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """A question to the copy and to the reference, whose answers must agree."""
    space = draw(st.sampled_from(SPACES))
    limit, where = draw(st.integers(1, 4)), draw(st.none() | filters())
    kind = draw(st.sampled_from(("near", "match", "scan")))
    asked: Any = {"near": vectors(), "match": sentences(), "scan": st.booleans()}[kind]
    given_ = draw(asked)

    def ask(store: MirroredBackend) -> None:
        subject, reference = store.mirror, store.reference
        if kind == "scan":
            options: dict[str, Any] = {"where": where, "limit": limit, "newest_first": given_}
            assert_same(subject.scan(space, **options), reference.scan(space, **options), Versions())
        elif kind == "match":
            found = subject.match(space, given_, limit=limit, where=where)
            assert_same_match(found, reference.match(space, given_, limit=EVERYTHING, where=where), limit)
        elif reference.info(space).dimensions in (None, 3):
            found = subject.near(space, given_, limit=limit, where=where)
            assert_same_near(found, reference.near(space, given_, limit=EVERYTHING, where=where), limit)

    return ask


class Undone(Exception): ...


Step = Operation | Question
steps = st.lists(index_writes() | questions(), max_size=8)


def run(store: MirroredBackend, some: list[Step]) -> None:
    """Write and ask; every answer is compared with the reference's."""
    for step in some:
        if isinstance(step, Operation):
            outcome(step, store)
        else:
            step(store)


def matches(store: MirroredBackend) -> list[list[Hit]]:
    return [
        index.match(space, "tea", limit=EVERYTHING) for index in (store.mirror, store.reference) for space in SPACES
    ]


@given(steps, steps, steps, st.booleans(), st.sampled_from((2**30, 2_000)))
def test_a_copy_stays_true(before: list[Step], inside: list[Step], after: list[Step], undo: bool, most_bytes: int):
    store = MirroredBackend(most_bytes=most_bytes)
    run(store, before)
    with suppress(Undone), store.transaction():
        run(store, inside)
        if undo:
            raise Undone
    run(store, after)
    found = matches(store)
    assert found[: len(SPACES)] == found[len(SPACES) :]


@settings(max_examples=15)
@given(steps, steps)
def test_a_store_that_forgets_its_changes_is_loaded_anew(before: list[Step], after: list[Step]):
    store = MirroredBackend()
    run(store, before)
    store.mirror.forgetful = True
    run(store, after)
    found = matches(store)
    assert found[: len(SPACES)] == found[len(SPACES) :]


def record(id_: str, text: str = "tea", **fields: Any) -> Record:
    return Record(id=id_, text=text, space=HOME, **fields)


def ids(hits: list[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


def test_other_vectors_of_another_size_are_searched():
    store = MirroredBackend()
    store.index.upsert([record(id_, vector=[1, place]) for place, id_ in enumerate("abc")])
    assert ids(store.index.near(HOME, [1, 0])) == ["a", "b", "c"]
    store.index.revector(HOME, {"c": [1, 0, 0], "b": [1, 1, 0]})
    assert ids(store.index.near(HOME, [1, 0, 0])) == ["c", "b"]


def test_a_space_is_loaded_once_and_then_followed():
    store = MirroredBackend()
    store.index.upsert([record("a", vector=[1, 0])])
    for _ in range(3):
        store.index.near(HOME, [1, 0])
        store.index.match(HOME, "tea")
        store.index.scan(HOME, where={"@id": "a"})
        store.index.upsert([record("b")])
        with store.transaction():
            store.index.upsert([record("c")])
            assert len(store.index.match(HOME, "tea")) == 3
    assert store.mirror.loads == 1


def test_many_threads_load_a_space_once():
    store = MirroredBackend()
    store.index.upsert([record(str(n), vector=[1, n]) for n in range(50)])
    found: list[list[str]] = []
    start = threading.Barrier(6)

    def ask() -> None:
        start.wait()
        found.extend(ids(store.index.near(HOME, [1, 0], limit=3)) for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["0", "1", "2"]] * 120
    assert store.mirror.loads == 1


def test_the_least_recently_searched_goes_when_there_is_too_much():
    store = MirroredBackend(most_bytes=300_000)
    spaces = [Space(str(n)) for n in range(4)]
    for space in spaces:
        store.index.upsert([Record(id=str(n), text="tea", space=space, vector=[1.0] * 64) for n in range(100)])

    def loads(space: Space) -> int:
        before = store.mirror.loads
        assert len(store.index.near(space, [1.0] * 64)) == 10
        return store.mirror.loads - before

    assert [loads(space) for space in spaces[:2]] == [1, 1]
    assert [loads(space) for space in spaces[:2]] == [0, 0]
    assert [loads(space) for space in spaces[2:]] == [1, 1]
    assert loads(spaces[0]) == 1
    assert store.mirror.copies.nbytes <= 300_000
    store.mirror.copies.drop()
    assert store.mirror.copies.nbytes == 0
    assert loads(spaces[0]) == 1


def test_a_transaction_asks_while_another_thread_waits_for_it():
    store = MirroredBackend()
    store.index.upsert([record("a", vector=[1, 0])])
    store.index.near(HOME, [1, 0])
    waiting = threading.Thread(target=lambda: store.index.near(HOME, [1, 0]))
    with store.transaction():
        store.index.upsert([record("b", vector=[1, 0])])
        waiting.start()
        waiting.join(0.05)
        assert ids(store.index.near(HOME, [1, 0])) == ["a", "b"]
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_delta_of_before_a_load_is_not_taken():
    copy = SpaceCopy()
    rows = [Row(number, record(str(number)), None) for number in range(3)]
    assert copy.take(copy.mark, Delta(5, True, rows[:1], []))
    seen = copy.mark
    # The store forgot, and begins to count anew: what was asked for before says nothing about what is there now.
    assert copy.take(seen, Delta(2, True, rows[1:2], []))
    assert not copy.take(seen, Delta(6, False, rows[2:], []))
    assert copy.take(copy.mark, Delta(3, False, rows[2:], []))
    assert ids(copy.match(["tea"], 10, None)) == ["2", "1"]
    # An answer that comes late is older than what is held.
    assert copy.take(copy.mark, Delta(2, False, [], [2]))
    assert ids(copy.match(["tea"], 10, None)) == ["2", "1"]


def test_numpy_is_loaded_by_the_first_search_by_vector():
    code = "import sys, memwell.storage.mirrored; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
