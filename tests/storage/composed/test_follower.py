"""A following engine: it gets every change of the rows, and answers are always those of the rows."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import BackendError, BackendUnavailable
from memwell.records import Record, Space, paged
from memwell.storage.composed import Attached, ComposedBackend, FollowedIndex, VectorEngine
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend
from memwell.storage.sqlite import SqliteBackend
from tests.engines.vectors import StoreVectors

HOME, AWAY = Space("home"), Space("away")


_CALLS = ("store", "drop", "near", "ids", "count", "forget", "spaces", "identity", "facts")


class Engine(StoreVectors):
    """An engine that outlives the stores it stands beside, counts its searches, and can be away or fatal to who asks."""

    def __init__(self) -> None:
        self.held = MemoryBackend()
        super().__init__(self.held, "engine")
        self.away = False
        self.searches = 0
        self.around: Callable[[str], None] = lambda name: None
        """Called before and after every call."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return self.watched(name, found) if name in _CALLS else found

    def watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any) -> Any:
            self.searches += name == "near"
            self.around(name)
            if self.away:
                raise BackendUnavailable("nobody answers")
            answer = call(*args)
            self.around(name)
            return answer

        return watched

    def close(self) -> None:
        """It stays for the next who opens it."""


def followed(home: Backend, engine: VectorEngine) -> ComposedBackend:
    def opened() -> VectorEngine:
        if getattr(engine, "away", False):
            raise BackendUnavailable("nobody answers")
        return engine

    return ComposedBackend(home, index=Attached(opened, "engine", "here"))


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def store(engine: Engine) -> Iterator[ComposedBackend]:
    with followed(MemoryBackend(), engine) as backend:
        yield backend


def record(id_: str, *vector: float, space: Space = HOME, **fields: Any) -> Record:
    return Record(id=id_, text=id_, space=space, vector=list(vector) or None, **fields)


def some(count: int, space: Space = HOME) -> list[Record]:
    return [record(str(number), 1, number, space=space) for number in range(count)]


def found(backend: Backend, *vector: float, space: Space = HOME, **options: Any) -> list[str]:
    return [hit.record.id for hit in backend.index.near(space, vector, **options)]


def follower(backend: ComposedBackend) -> FollowedIndex:
    assert backend.follower is not None
    return backend.follower


def caught_up(backend: ComposedBackend, space: Space = HOME) -> None:
    end = time.monotonic() + 30
    while not follower(backend).catch_up(space):
        assert time.monotonic() < end, "another is feeding for too long"
        time.sleep(0.01)


def assert_in_step(backend: ComposedBackend, engine: VectorEngine, space: Space = HOME) -> None:
    rows = paged(lambda cursor: backend.index.scan(space, limit=100, cursor=cursor))
    assert sorted(engine.ids(space)) == sorted(one.id for one in rows if one.vector is not None)
    assert backend.check() == []


def test_the_engine_gets_what_is_written_and_answers(store: ComposedBackend, engine: Engine):
    store.index.upsert([*some(20), record("without")])
    caught_up(store)
    assert_in_step(store, engine)
    assert store.index.info(HOME).search == "engine"
    before = engine.searches
    assert found(store, 1, 0, limit=3) == ["0", "1", "2"]
    assert engine.searches == before + 1


def test_what_a_transaction_wrote_is_fed_when_it_is_committed(store: ComposedBackend, engine: Engine):
    store.index.upsert(some(1))
    assert follower(store).wait(30)
    with store.transaction():
        store.index.upsert(some(5))
        assert list(engine.ids(HOME)) == ["0"]
    assert follower(store).wait(30)
    assert_in_step(store, engine)


def test_what_is_not_fed_yet_is_found_already(store: ComposedBackend, engine: Engine):
    store.index.upsert(some(20))
    caught_up(store)
    engine.around = _refuse("store", "drop")
    store.index.upsert([record("0", -1, 0), record("new", 1, 0.01), record("3")])
    store.index.delete(HOME, ["1"])
    assert found(store, 1, 0, limit=3) == ["new", "2", "4"]
    assert store.index.info(HOME).search in ("engine", "exact")


def _refuse(*names: str) -> Callable[[str], None]:
    def refuse(name: str) -> None:
        if name in names:
            raise BackendUnavailable("not now")

    return refuse


def test_inside_a_transaction_the_rows_answer(store: ComposedBackend, engine: Engine):
    store.index.upsert(some(5))
    caught_up(store)
    with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012 - all of it is undone
        store.index.upsert([record("new", 1, 0.001)])
        store.index.delete(HOME, ["0"])
        assert found(store, 1, 0, limit=2) == ["new", "1"]
        raise ZeroDivisionError
    caught_up(store)
    assert found(store, 1, 0, limit=2) == ["0", "1"]
    assert_in_step(store, engine)


def test_while_the_engine_is_away_writes_go_on_and_the_store_says_so(store: ComposedBackend, engine: Engine):
    store.index.upsert(some(10))
    caught_up(store)
    engine.away = True
    store.index.upsert([record("new", 1, 0.001)])
    store.index.delete(HOME, ["0"])
    assert found(store, 1, 0, limit=2) == ["new", "1"]
    assert store.index.info(HOME).search == "exact"
    part = store.facts()["parts"]["index"]
    assert part["answers"] is False
    assert "nobody answers" in part["why"]
    assert store.check() == []
    with pytest.raises(BackendUnavailable, match="engine at here"):
        follower(store).reconcile()
    engine.away = False
    assert follower(store).wait(30), "it catches up by itself"
    assert_in_step(store, engine)
    assert store.index.info(HOME).search == "engine"
    assert store.facts()["parts"]["index"]["answers"] is True


def test_an_engine_that_is_away_at_the_start_is_no_hindrance(engine: Engine):
    engine.away = True
    with followed(MemoryBackend(), engine) as store:
        store.index.upsert(some(3))
        assert found(store, 1, 0) == ["0", "1", "2"]
        engine.away = False
        caught_up(store)
        assert_in_step(store, engine)


def test_an_engine_that_was_emptied_is_fed_again(store: ComposedBackend, engine: Engine):
    store.index.upsert([*some(10), *some(4, AWAY)])
    caught_up(store)
    caught_up(store, AWAY)
    engine.held = engine._store = MemoryBackend()
    assert found(store, 1, 0, limit=3) == ["0", "1", "2"]
    follower(store).reconcile()
    assert_in_step(store, engine)
    assert_in_step(store, engine, AWAY)


@pytest.mark.parametrize("how", ["reconcile", "rebuild"])
def test_what_is_missing_and_what_is_too_much_is_repaired(store: ComposedBackend, engine: Engine, how: str):
    store.index.upsert(some(10))
    caught_up(store)
    engine.drop(HOME, ["3", "4"])
    engine.store(HOME, [record("ghost", 1, 0)])
    engine.store(AWAY, [record("orphan", 1, 0, space=AWAY)])
    assert found(store, 1, 0, limit=3) == ["0", "1", "2"], "a ghost is never shown"
    assert any("run memwell reindex" in complaint for complaint in store.check())
    assert store.follower is not None
    done = getattr(store.follower, how)()
    assert done == ((2, 2) if how == "reconcile" else 2)
    assert_in_step(store, engine)
    assert list(engine.ids(AWAY)) == []


def test_too_few_answers_are_noticed_and_repaired(store: ComposedBackend, engine: Engine):
    store.index.upsert(some(10))
    caught_up(store)
    engine.drop(HOME, [str(number) for number in range(8)])
    assert found(store, 1, 0, limit=5) == ["0", "1", "2", "3", "4"]
    assert store.follower is not None
    assert store.follower.wait(30)
    assert_in_step(store, engine)


def test_what_another_deleted_without_a_note_is_dropped_too(engine: Engine, tmp_path: Path):
    with followed(SqliteBackend(tmp_path / "a.db"), engine) as store:
        store.index.upsert(some(10))
        caught_up(store)
        with SqliteBackend(tmp_path / "a.db") as alone:
            alone.index.delete(HOME, ["0", "5"])
        assert found(store, 1, 0, limit=2) == ["1", "2"]
        caught_up(store)
        assert_in_step(store, engine)


def test_other_vectors_of_another_size_take_the_place(store: ComposedBackend, engine: Engine):
    store.index.upsert(some(6))
    caught_up(store)
    store.index.revector(HOME, {str(number): [1, number, 0] for number in range(5)})
    assert found(store, 1, 0, 0, limit=2) == ["0", "1"]
    caught_up(store)
    assert_in_step(store, engine)
    assert found(store, 1, 0, 0, limit=2) == ["0", "1"]
    assert store.index.info(HOME).search == "engine"


def test_a_large_space_is_fed_page_by_page(store: ComposedBackend, engine: Engine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.storage.composed.follower.PAGE", 7)
    sizes: list[int] = []
    stored = StoreVectors.store

    def watched(self: StoreVectors, space: Space, records: Sequence[Record]) -> None:
        sizes.append(len(records))
        stored(self, space, records)

    monkeypatch.setattr(StoreVectors, "store", watched)
    store.home.index.upsert(some(50))
    caught_up(store)
    assert max(sizes) <= 7
    assert_in_step(store, engine)


def test_a_filter_is_checked_on_the_rows(store: ComposedBackend, engine: Engine):
    store.index.upsert([record(str(n), 1, n, kind="odd" if n % 2 else "even", metadata={"n": n}) for n in range(60)])
    caught_up(store)
    before = engine.searches
    assert found(store, 1, 0, limit=2, where={"@text": {"$contains": "59"}}) == ["59"]
    assert found(store, 1, 0, limit=2, where={"@kind": "odd", "n": {"$gt": 10}}) == ["11", "13"]
    assert found(store, 1, 0, limit=2, where={"$not": {"@text": {"$contains": "0"}}}) == ["1", "2"]
    assert engine.searches > before


def test_small_spaces_are_searched_at_home(engine: Engine):
    attached = Attached(lambda: engine, "engine", "here")
    with ComposedBackend(MemoryBackend(), index=attached, ask_above=10) as store:
        store.index.upsert([*some(10), *some(11, AWAY)])
        caught_up(store)
        caught_up(store, AWAY)
        assert (store.index.info(HOME).search, store.index.info(AWAY).search) == ("exact", "engine")
        before = engine.searches
        assert found(store, 1, 0, limit=1) == ["0"]
        assert engine.searches == before
        assert found(store, 1, 0, limit=1, space=AWAY) == ["0"]
        assert engine.searches == before + 1


def test_one_who_was_taken_for_dead_does_no_harm(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A feeder that sleeps until its lease is over, while another feeds on, writes old vectors over new ones."""
    monkeypatch.setattr("memwell.storage.composed.follower._LEASE_S", -1.0)
    with (
        followed(SqliteBackend(tmp_path / "a.db"), engine) as slow,
        followed(SqliteBackend(tmp_path / "a.db"), engine) as quick,
    ):
        assert slow.follower is not None
        slow.follower.attached.use(lambda known: known.identity(2))
        slow.home.index.upsert(some(5))
        caught_up(quick)
        slow.home.index.upsert([record("0", -1, -7)])
        stored, slept = engine.store, False

        def sleeping(space: Space, records: Sequence[Record]) -> None:
            nonlocal slept
            if not slept:
                slept = True
                quick.home.index.upsert([record("0", 1, 9)])
                quick.home.index.upsert([record("new", 1, 3)])
                quick.home.index.delete(HOME, ["1"])
                caught_up(quick)
            stored(space, records)

        setattr(engine, "store", sleeping)  # noqa: B010
        slow.follower.feeding.feed(HOME)
        delattr(engine, "store")
        caught_up(slow)
        assert [dict(engine.near(HOME, [1, 9], 1)).keys()] == [{"0": 1}.keys()]
        assert sorted(engine.ids(HOME)) == ["0", "2", "3", "4", "new"]


verbs = st.sampled_from(["upsert", "upsert", "delete", "feed", "feed", "feed", "drop vector", "undo"])
steps = st.lists(st.tuples(verbs, st.integers(0, 4)), min_size=8, max_size=25)


@given(steps, st.integers(1, 30))
def test_whatever_dies_between_two_steps_nothing_is_missing_and_nothing_too_much(work: Any, dies_at: int):
    """Every call of the engine may be the last thing the program does, done or not done."""
    engine, home = Engine(), MemoryBackend()

    class Died(BaseException):
        pass

    calls = 0

    def die(name: str) -> None:
        nonlocal calls
        calls += name != "near"
        if calls == dies_at:
            raise Died

    engine.around = die
    store = _without_thread(followed(home, engine))
    expected: dict[str, int] = {}
    for verb, number in work:
        try:
            _step(store, expected, verb, number)
        except Died:
            engine.around = lambda name: None
            # Whoever comes next takes what was begun for abandoned.
            store = _without_thread(followed(home, engine))
            _end_leases(store)
        # Asked by another, so that nothing is repaired because an answer was short.
        assert set(found(_without_thread(followed(home, engine)), 1, 1, limit=100)) == set(expected)
    engine.around = lambda name: None
    _end_leases(store)
    caught_up(store)
    assert sorted(engine.ids(HOME)) == sorted(expected)
    assert store.check() == []
    follower(store).reconcile()
    assert_in_step(store, engine)


def _without_thread(store: ComposedBackend) -> ComposedBackend:
    assert store.follower is not None
    store.follower._feeder.stop()
    return store


def _end_leases(store: ComposedBackend) -> None:
    assert store.follower is not None
    held = store.follower.feeding.positions.get(HOME)
    if held is not None:
        store.follower.feeding.positions.finish(held, held.state)


def _step(store: ComposedBackend, expected: dict[str, int], verb: str, number: int) -> None:
    id_ = str(number)
    if verb == "upsert":
        expected[id_] = number
        store.index.upsert([record(id_, 1, number + len(expected))])
    elif verb == "delete":
        expected.pop(id_, None)
        store.index.delete(HOME, [id_])
    elif verb == "drop vector":
        expected.pop(id_, None)
        store.index.upsert([record(id_)])
    elif verb == "undo":
        with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012 - all of it is undone
            store.index.upsert([record(id_, 1, 99)])
            raise ZeroDivisionError
    else:
        caught_up(store)


def test_an_engine_cannot_be_fed_inside_a_transaction(store: ComposedBackend):
    store.index.upsert(some(2))
    caught_up(store)
    with pytest.raises(BackendError, match="inside a transaction"), store.transaction():  # noqa: PT012
        store.index.upsert([record("new", 1, 2)])
        caught_up(store)


# Another store as an engine

DEEP = Space(*map(str, range(16)))


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


# Two programs that write and feed at once

WORK = """
import sys
from memwell.records import Record, Space
from memwell.storage.composed import Attached, ComposedBackend
from tests.engines.vectors import StoreVectors
from memwell.storage.sqlite import SqliteBackend
from tests.engines.vectors import StoreVectors

space, place = Space("home"), sys.argv[1]
engine = Attached(lambda: StoreVectors(SqliteBackend(f"{place}/vectors.db")), "e", "here")
store = ComposedBackend(SqliteBackend(f"{place}/home.db"), index=engine)
store.follower._feeder.stop()
put = lambda *numbers: store.index.upsert([Record(id=str(n), text="", space=space, vector=[1, n]) for n in numbers])
put(*range(5)); store.follower.catch_up(space)
store.index.delete(space, ["1", "2"]); put(2, 7); store.follower.catch_up(space)
store.index.delete(space, ["7"]); store.follower.catch_up(space)
print("done")
"""


def _open(place: Path) -> ComposedBackend:
    engine = Attached(lambda: StoreVectors(SqliteBackend(place / "vectors.db")), "engine", "here")
    return ComposedBackend(SqliteBackend(place / "home.db"), index=engine)


def test_two_processes_over_one_home_agree(tmp_path: Path):
    command = [sys.executable, "-c", WORK, str(tmp_path)]
    with _open(tmp_path) as store:
        store.index.upsert([Record(id="mine", text="", space=HOME, vector=[1, 50])])
        others = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for number in range(20):
            store.index.upsert([Record(id=f"m{number}", text="", space=HOME, vector=[1, number])])
            assert store.index.near(HOME, [1, number], where={"@id": f"m{number}"}) != []
        assert ["done" in (other.communicate()[0] or "") for other in others] == [True, True]
        rows = {one.id for one in store.index.scan(HOME).items}
        assert {hit.record.id for hit in store.index.near(HOME, [1, 3], limit=100)} == rows
        assert store.follower is not None
        while not store.follower.catch_up(HOME):
            pass
        with SqliteBackend(tmp_path / "vectors.db") as there:
            assert set(StoreVectors(there).ids(HOME)) == rows
        assert store.check() == []
