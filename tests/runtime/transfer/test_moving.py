"""A moved store is the store: whatever it held, whoever was writing, and however often the move was killed."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memwell.errors import BackendError, ReadOnlyStore, Unsupported
from memwell.messages import ai, human
from memwell.records import Record, Space, Thread
from memwell.runtime.transfer import MoveRefused, move
from memwell.runtime.transfer import moving as steps
from memwell.runtime.transfer.files import MOVING
from memwell.runtime.transfer.moving import total_of
from memwell.storage import open_backend
from memwell.storage.memory import MemoryBackend
from memwell.storage.protocols import Backend
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.conformance.suite import Clock
from memwell.testing.strategies import StoreCall, everything, outcome, writes
from memwell.values import new_id
from tests.engines.postgres import store_url
from tests.engines.redis import cluster_url, single_url

HOME = Space("home")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[SqliteBackend, SqliteBackend]]:
    with SqliteBackend(tmp_path / "a.db") as source, SqliteBackend(tmp_path / "b.db") as target:
        yield source, target


def fill(store: Backend, *, records: int = 300, threads: int = 5, spaces: int = 3) -> None:
    for number in range(spaces):
        space = Space("user", str(number))
        store.index.upsert(
            [Record(id=f"r{n}", text=f"tea {n} 茶", space=space, vector=[1.0, n, 2.0]) for n in range(records)]
        )
        for n in range(threads):
            thread = Thread(space, f"t{n}")
            store.log.append(thread, [human(f"question {i}", tokens=i) for i in range(20)])
            store.log.edit(thread, {2: None, 3: ai("edited")})
        with store.transaction():
            for n in range(40):
                store.kv.put(space, f"k{n}", {"n": n})
        store.blobs.put(space, b"blob" * 1000)


def assert_same(one: Backend, other: Backend) -> None:
    mine, theirs = total_of(one), total_of(other)
    assert mine.counts == theirs.counts
    assert mine.hexdigest() == theirs.hexdigest()


def answers(store: Backend) -> list[Any]:
    """All that a store of random operations holds, without the states and searches that are its own."""
    found = [outcome(question, store) for question in everything()]
    return [(kind, _plain(value)) for kind, value in found]


def _plain(value: Any) -> Any:
    return (value.records, value.vectors, value.dimensions) if hasattr(value, "search") else value


# Any store


@given(st.lists(writes(), max_size=25), st.integers(1, 5))
def test_any_store_moved_is_equal(tmp_path_factory: pytest.TempPathFactory, made: list[StoreCall], long: int) -> None:
    clock, folder = Clock(), tmp_path_factory.mktemp("moved")
    with (
        MemoryBackend(clock=clock) as source,
        SqliteBackend(folder / "b.db", clock=clock) as between,
        MemoryBackend(clock=clock) as target,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(steps, "_LONG", long)
        patch.setattr(steps, "_BATCH", 2)
        for operation in made:
            outcome(operation, source)
        assert move(source, between).changing == []
        assert move(between, target, seal=True).sealed
        assert answers(between) == answers(source)
        assert answers(target) == answers(source)
        assert between.check() == []


@given(st.lists(st.lists(writes(), max_size=10), min_size=2, max_size=4))
def test_another_move_copies_the_difference(rounds: list[list[StoreCall]]) -> None:
    clock = Clock()
    with MemoryBackend(clock=clock) as source, MemoryBackend(clock=clock) as target:
        for made in rounds:
            for operation in made:
                outcome(operation, source)
            clock.advance(0.6)
            move(source, target)
            assert answers(target) == answers(source)
        assert move(source, target).copied == 0


def test_records_keep_their_order_and_lose_what_the_source_lost(pair: tuple[Backend, Backend]) -> None:
    source, target = pair
    fill(source, records=30, spaces=1)
    move(source, target)
    space = Space("user", "0")
    source.index.delete(space, ["r3", "r29"])
    source.index.upsert([Record(id="r3", text="back again", space=space, vector=[0, 0, 1])])
    source.index.upsert([Record(id="r5", text="changed", space=space, vector=[0, 0, 1])])
    moved = move(source, target)
    assert [one.id for one in target.index.scan(space).items] == [one.id for one in source.index.scan(space).items]
    assert moved.copied == 4, "r3 went and came, r29 went, r5 changed"
    assert_same(source, target)


def test_vectors_of_another_size_follow(pair: tuple[Backend, Backend]) -> None:
    source, target = pair
    fill(source, records=10, spaces=1)
    move(source, target)
    space = Space("user", "0")
    source.index.revector(space, {f"r{n}": [1.0, n] for n in range(9)})
    move(source, target)
    assert target.index.info(space).dimensions == 2
    assert_same(source, target)


def test_what_is_over_is_left_out(tmp_path: Path) -> None:
    clock = Clock()
    with MemoryBackend(clock=clock) as source, MemoryBackend(clock=clock) as target:
        source.kv.put(HOME, "over", 1, ttl=1)
        source.kv.put(HOME, "live", 1, ttl=100)
        source.kv.put(Space("gone"), "over", 1, ttl=1)
        clock.advance(2)
        moved = move(source, target)
        assert (moved.entries, moved.spaces) == (1, 1)
        assert target.kv.get(HOME, "live") == source.kv.get(HOME, "live")
        clock.advance(200)
        # What ended by itself is no sign that somebody wrote there.
        assert move(source, target).entries == 0


def test_large_values_are_read_in_small_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with MemoryBackend() as source, MemoryBackend() as target:
        for number in range(40):
            source.kv.put(HOME, f"k{number:02}", "x" * 400_000)
        limits: list[int] = []
        scan = source.kv.scan

        def spied(*args: Any, **options: Any) -> Any:
            limits.append(options["limit"])
            return scan(*args, **options)

        monkeypatch.setattr(source.kv, "scan", spied)
        move(source, target)
        assert max(limits) <= 32
        monkeypatch.undo()
        assert_same(source, target)


# What is refused


def test_a_target_that_holds_something_else_is_refused(pair: tuple[Backend, Backend]) -> None:
    source, target = pair
    source.kv.put(HOME, "k", 1)
    target.blobs.put(HOME, b"mine")
    with pytest.raises(MoveRefused, match="something else") as refused:
        move(source, target)
    assert refused.value.code == "holds"
    assert target.kv.scan(HOME).items == []
    assert target.blobs.scan(HOME).items != []
    with MemoryBackend() as copy:
        move(target, copy)
        with pytest.raises(MoveRefused, match="another store"):
            move(source, copy)


def test_a_store_is_not_moved_onto_itself(pair: tuple[SqliteBackend, Backend]) -> None:
    source, _ = pair
    fill(source, spaces=1)
    with SqliteBackend(source.path) as again, pytest.raises(MoveRefused, match="same store"):
        move(source, again)
    with pytest.raises(MoveRefused, match="same store"):
        move(source, source)


def test_an_unfinished_copy_is_no_source(pair: tuple[Backend, Backend]) -> None:
    source, target = pair
    fill(source)
    with pytest.raises(_Stop):
        move(source, target, progress=stop_after(3))
    with MemoryBackend() as third, pytest.raises(MoveRefused, match="unfinished"):
        move(target, third)


# Sealing


def test_a_sealed_source_refuses_and_the_copy_knows_whose_it_is(pair: tuple[Backend, Backend]) -> None:
    source, target = pair
    fill(source, spaces=1)
    moved = move(source, target, seal=True, reason="moved to b")
    assert moved.sealed
    with pytest.raises(ReadOnlyStore, match="moved to b"):
        source.kv.put(HOME, "lost", 1)
    assert [entry.key for entry in target.kv.scan(MOVING).items] == ["copy"]
    target.kv.put(HOME, "kept", 1)
    assert_moves_on(target)


def test_a_finished_move_copies_nothing_more_and_never_overwrites(pair: tuple[Backend, Backend]) -> None:
    source, target = pair
    fill(source, spaces=1)
    first = move(source, target, seal=True, reason="moved to b")
    again = move(source, target, seal=True, reason="moved to b")
    assert (again.copied, again.sealed, again.checksum) == (0, True, first.checksum)
    target.kv.put(HOME, "new life", 1)
    with pytest.raises(MoveRefused, match="would be lost"):
        move(source, target, seal=True, reason="moved to b")
    assert source.facts()["sealed"] == "moved to b"


def test_a_finished_move_goes_on_when_its_seal_was_lifted(pair: tuple[Backend, Backend]) -> None:
    source, target = pair
    fill(source, spaces=1)
    move(source, target, seal=True)
    source.seal(None)
    source.kv.put(HOME, "later", 1)
    assert move(source, target, seal=True).copied == 1
    assert_same(source, target)


# The stop: what is read and written while the source is sealed


def when_sealing(source: Backend, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something right before a move seals its source."""
    seal = source.seal

    def acting(reason: str | None) -> None:
        if reason is not None:
            act()
        seal(reason)

    monkeypatch.setattr(source, "seal", acting)


def change_a_little(source: Backend) -> None:
    space = Space("user", "1")
    source.kv.put(space, "k3", "changed")
    source.kv.delete(space, "k4")
    source.index.delete(space, ["r2", "r9"])
    source.index.upsert([Record(id=f"r{n}", text="again", space=space, vector=[2.0, n, 1.0]) for n in (300, 2, 5)])
    source.log.append(Thread(space, "t1"), [human("one more")])
    source.log.edit(Thread(space, "t2"), {1: ai("edited again")})
    source.log.delete(Thread(space, "t3"))
    source.blobs.put(space, b"new")
    source.kv.put(Space("newcomer"), "k", 1)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_while_sealed_only_what_was_written_is_read(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = str(tmp_path / "a.db") if kind == "sqlite" else store_url(tmp_path)
    with open_backend(url) as source, SqliteBackend(tmp_path / "b.db") as target:
        fill(source)
        read: list[str] = []

        def spy(store: Backend, part: str, name: str) -> None:
            called = getattr(getattr(store, part), name)

            def spied(*args: Any, **options: Any) -> Any:
                found = called(*args, **options)
                if options.get("limit") != 1:
                    read.append(f"{part}.{name} {options.get('ids')} {len(getattr(found, 'items', found))}")
                return found

            monkeypatch.setattr(getattr(store, part), name, spied)

        def act() -> None:
            change_a_little(source)
            for store in (source, target):
                for part, name in (("kv", "scan"), ("index", "scan"), ("log", "places"), ("blobs", "scan")):
                    spy(store, part, name)
                monkeypatch.setattr(store, "spaces", lambda **_: pytest.fail("all spaces are listed while sealed"))

        when_sealing(source, monkeypatch, act)
        moved = move(source, target, seal=True)
        monkeypatch.undo()
        scans = [one for one in read if ".scan" in one]
        assert all(int(one.rpartition(" ")[2]) == 0 for one in scans), "only an empty space is looked through"
        places = sum(int(one.rpartition(" ")[2]) for one in read if ".places" in one)
        assert places <= 3 * (1 + 20 + 20), "what was appended, and the edited and the deleted conversation"
        assert source.watched() is None
        assert_same(source, target)
        assert (moved.spaces, moved.checksum) == (4, total_of(target).hexdigest())
        kept = [one.id for one in target.index.scan(Space("user", "1"), limit=1000).items]
        assert kept == [one.id for one in source.index.scan(Space("user", "1"), limit=1000).items]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_whatever_is_written_before_the_seal_is_in_the_copy(kind: str, tmp_path: Path) -> None:
    @given(st.lists(writes(), max_size=12), st.lists(writes(), max_size=12), st.integers(1, 3))
    @settings(max_examples=15 if kind == "sqlite" else 5, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def check(before: list[StoreCall], late: list[StoreCall], page: int) -> None:
        folder = tmp_path / new_id()
        folder.mkdir()
        url = str(folder / "a.db") if kind == "sqlite" else store_url(folder)
        with open_backend(url) as source, MemoryBackend() as target, pytest.MonkeyPatch.context() as patch:
            patch.setattr(steps, "_PAGE", page)
            for operation in before:
                outcome(operation, source)
            when_sealing(source, patch, lambda: [outcome(operation, source) for operation in late])
            moved = move(source, target, seal=True)
            assert answers(target) == answers(source)
            found = total_of(target)
            assert (moved.checksum, moved.spaces, moved.internal) == (found.hexdigest(), found.spaces, found.internal)
            assert moved.records == found.counts["records"]

    check()


def test_a_copy_that_differs_is_noticed_while_sealed(
    pair: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    fill(source, spaces=1)

    def act() -> None:
        source.kv.put(HOME, "late", 1)
        monkeypatch.setattr(target.kv, "restore", lambda *_: None)

    when_sealing(source, monkeypatch, act)
    with pytest.raises(BackendError, match="entries of Space"):
        move(source, target, seal=True)
    assert source.facts()["sealed"] is None


def test_a_move_killed_while_it_catches_up_checks_everything_again(
    pair: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    fill(source, spaces=2)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    def act() -> None:
        change_a_little(source)
        monkeypatch.setattr(target.blobs, "put", killed)
        # As if nothing could be cleaned up.
        monkeypatch.setattr(source, "seal", killed)

    seal = source.seal
    when_sealing(source, monkeypatch, lambda: (act(), seal("moved")))
    with pytest.raises(KeyboardInterrupt):
        move(source, target, seal=True)
    monkeypatch.undo()
    assert source.facts()["sealed"] is not None
    assert source.watched() is not None
    moved = move(source, target)
    assert (moved.sealed, moved.checksum) == (True, total_of(target).hexdigest())
    assert_same(source, target)


def test_a_second_move_of_one_source_ends_the_first(
    pair: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    fill(source, spaces=1)
    when_sealing(source, monkeypatch, lambda: source.watch("another"))
    with pytest.raises(BackendError, match="another move"):
        move(source, target, seal=True)


def assert_moves_on(store: Backend) -> None:
    with MemoryBackend() as third:
        move(store, third)
        assert_same(store, third)


def test_a_move_that_fails_lifts_its_seal(pair: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = pair
    fill(source, spaces=1)

    def fail(*_: object, **__: object) -> None:
        raise BackendError("the network is gone")

    seal = source.seal

    def and_then(reason: str | None) -> None:
        seal(reason)
        if reason is not None:
            monkeypatch.setattr(target.kv, "put", fail)

    monkeypatch.setattr(source, "seal", and_then)
    with pytest.raises(BackendError, match="network"):
        move(source, target, seal=True)
    monkeypatch.undo()
    assert source.facts()["sealed"] is None
    source.kv.put(HOME, "still open", 1)
    assert move(source, target, seal=True).sealed
    assert_same(source, target)


def test_a_copy_that_differs_is_noticed(pair: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = pair
    fill(source, spaces=1)
    restore = target.kv.restore

    def forgetful(space: Space, entries: Any) -> None:
        restore(space, [entry for entry in entries if entry.key != "k7"])

    monkeypatch.setattr(target.kv, "restore", forgetful)
    with pytest.raises(BackendError, match="entries of Space"):
        move(source, target)


def test_a_damaged_copy_is_mended_before_it_is_called_done(
    pair: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    fill(source, spaces=1)
    restore, calls = target.log.restore, count()

    def once_wrong(info: Any, places: Any) -> None:
        restore(info, places[:-1] if places and next(calls) == 0 else places)

    monkeypatch.setattr(target.log, "restore", once_wrong)
    move(source, target)
    assert_same(source, target)


# Killed and resumed


class _Stop(Exception): ...


def stop_after(calls: int) -> Callable[[int, int | None], None]:
    left = count(calls, -1)

    def progress(done: int, total: int | None) -> None:
        if next(left) <= 0:
            raise _Stop

    return progress


def things(store: Backend) -> int:
    counts = total_of(store).counts
    return sum(counts[kind] for kind in ("entries", "records", "threads", "blobs"))


@pytest.mark.parametrize("long", [5, 10_000])
def test_what_was_copied_is_not_copied_again(
    pair: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch, long: int
) -> None:
    source, target = pair
    monkeypatch.setattr(steps, "_LONG", long)
    monkeypatch.setattr(steps, "_BATCH", 50)
    fill(source)
    before = 0
    for calls in (2, 9, 18, 22):
        with pytest.raises(_Stop):
            move(source, target, progress=stop_after(calls))
        now = things(target)
        assert now >= before
        before = now
    moved = move(source, target)
    assert moved.copied <= things(source) - before + 1
    assert_same(source, target)


def test_a_killed_move_goes_on_behind_the_spaces_that_were_done(
    pair: tuple[Backend, Backend], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    monkeypatch.setattr(steps, "_NOTE_EVERY", 1)
    fill(source, spaces=6)
    read: list[Space] = []
    scan = source.index.scan

    def spied(space: Space, **options: Any) -> Any:
        if not read or read[-1] != space:
            read.append(space)
        return scan(space, **options)

    monkeypatch.setattr(source.index, "scan", spied)
    done: list[tuple[int, int | None]] = []

    def stop_at(last: int) -> Callable[[int, int | None], None]:
        def tell(number: int, of: int | None) -> None:
            done.append((number, of))
            if number == last:
                raise _Stop

        return tell

    users = [Space("user", str(number)) for number in range(6)]
    with pytest.raises(_Stop):
        move(source, target, spaces=stop_at(4))
    # What is written now is noted by the watch, which goes on without the move.
    source.kv.put(users[0], "meanwhile", 1)
    read.clear()
    with pytest.raises(_Stop):
        move(source, target, spaces=stop_at(9))
    assert read == [*users[3:], *users[:3]]
    read.clear()
    done.clear()
    assert move(source, target, seal=True, spaces=stop_at(99)).sealed
    assert read == users[2:]
    assert done[-1] == (12, 12)
    monkeypatch.undo()
    assert_same(source, target)


CHILD = """
import sys
from memwell.runtime.transfer import move
from memwell.runtime.transfer import moving as copying
from memwell.storage.sqlite import SqliteBackend

copying._LONG, copying._BATCH = 10, 20
def tell(done, total):
    print(done, flush=True)
move(SqliteBackend(sys.argv[1]), SqliteBackend(sys.argv[2]), seal=True, reason="moved", progress=tell)
print("done", flush=True)
"""


def killed_move(source: Path, target: Path, lines: int) -> bool:
    """Run a move in a process of its own and kill it after so many signs of life; whether it had come to its end."""
    command = [sys.executable, "-c", CHILD, str(source), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for _, line in zip(range(lines), child.stdout, strict=False):
            if line.strip() == "done":
                break
        child.kill()
        left = child.stdout.read()
    return "done" in left or line.strip() == "done"


def test_a_move_killed_at_any_moment_is_resumed(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    with SqliteBackend(source) as store:
        fill(store)
        threads = {info.thread: info for n in range(3) for info in store.log.threads(Space("user", str(n))).items}
    chance = random.Random(9)
    for _ in range(4):
        if killed_move(source, target, chance.randint(1, 60)):
            break
        with SqliteBackend(target) as half:
            assert half.check() == []
            assert_whole_or_marked(half, threads)
    with SqliteBackend(source) as mine, SqliteBackend(target) as theirs:
        assert move(mine, theirs, seal=True).sealed
        assert_same(mine, theirs)
        assert theirs.check() == []
        assert [entry.key for entry in theirs.kv.scan(MOVING).items] == ["copy"]


def assert_whole_or_marked(store: Backend, threads: dict[Thread, Any]) -> None:
    """A thread is as in the source, or a note says that it is not yet."""
    noted = {entry.key for entry in store.kv.scan(MOVING).items if entry.key.startswith("thread:")}
    wrong = [
        info.thread
        for n in range(3)
        for info in store.log.threads(Space("user", str(n))).items
        if len(store.log.places(info.thread)) != 20 or info != threads[info.thread]
    ]
    assert len(wrong) <= len(noted)


# While the source is in use


def test_no_write_is_lost_when_the_source_is_sealed(pair: tuple[Backend, Backend]) -> None:
    source, target = pair
    fill(source, records=100)
    acknowledged: list[str] = []
    started = threading.Event()

    def work() -> None:
        for number in count():
            space = Space("user", str(number % 4))
            try:
                source.log.append(Thread(space, f"t{number % 6}"), [human(f"new {number}", id=f"n{number}")])
                acknowledged.append(f"n{number}")
                source.kv.put(space, f"k{number % 50}", number)
                source.index.upsert(
                    [Record(id=f"r{number % 400}", text=f"{number}", space=space, vector=[1, 2, number])]
                )
                source.index.delete(space, [f"r{(number * 7) % 400}"])
                source.log.edit(Thread(Space("user", "0"), f"t{number % 5}"), {9: ai(f"{number}")})
                source.log.trim(Thread(Space("user", "1"), f"t{number % 5}"), number % 9)
                source.blobs.put(space, f"{number}".encode())
            except ReadOnlyStore:
                return
            if number > 20:
                started.set()

    writer = threading.Thread(target=work)
    writer.start()
    started.wait(60)
    moved = move(source, target, seal=True, reason="moved")
    writer.join(60)
    assert moved.sealed
    assert moved.changing == []
    assert_same(source, target)
    for number in range(4):
        space = Space("user", str(number))
        for info in source.log.threads(space).items:
            assert target.log.places(info.thread) == source.log.places(info.thread)
    held = {
        message.id
        for number in range(4)
        for info in target.log.threads(Space("user", str(number))).items
        for message in target.log.read(info.thread)
    }
    assert len(acknowledged) > 20
    assert set(acknowledged) <= held


def test_a_source_that_never_rests_is_copied_as_of_a_moment_ago(pair: tuple[Backend, Backend]) -> None:
    source, target = pair
    fill(source, records=20, spaces=1)
    resting = threading.Event()

    def work() -> None:
        number = 0
        while not resting.is_set():
            number += 1
            source.kv.put(Space("busy"), "counter", number)

    writer = threading.Thread(target=work)
    writer.start()
    moved = move(source, target)
    resting.set()
    writer.join()
    assert set(moved.changing) <= {Space("busy")}
    assert not moved.sealed
    assert move(source, target).changing == []
    assert_same(source, target)


def test_a_thread_that_only_grew_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Thread(Space("home"), "talk")
    with MemoryBackend() as source, MemoryBackend() as target:
        source.log.append(talk, [human(f"{n}") for n in range(50)])
        move(source, target)
        source.log.append(talk, [human("more"), human("and more")])
        restored: list[int] = []
        restore = target.log.restore

        def spied(info: object, places: list[object]) -> None:
            restored.append(len(places))
            restore(info, places)  # type: ignore[arg-type]

        monkeypatch.setattr(target.log, "restore", spied)
        assert move(source, target).copied == 1
        assert sum(restored) == 2
        assert target.log.places(talk) == source.log.places(talk)


@pytest.mark.parametrize("engine", ["postgres", "redis", "cluster"])
def test_any_store_goes_there_and_back(engine: str, tmp_path: Path) -> None:
    address = {"postgres": store_url, "redis": single_url, "cluster": cluster_url}[engine]

    @given(st.lists(st.lists(writes(), max_size=12), min_size=1, max_size=2))
    @settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def check(rounds: list[list[StoreCall]]) -> None:
        with MemoryBackend() as source, open_backend(address(tmp_path / new_id())) as between, MemoryBackend() as back:
            for made in rounds:
                for operation in made:
                    if engine == "postgres" or operation.part in ("log", "kv"):
                        outcome(operation, source)
                moved = move(source, between)
                assert moved.checksum == total_of(source).hexdigest()
            assert move(between, back, seal=True).checksum == moved.checksum

    check()


def test_what_the_target_cannot_keep_is_refused(tmp_path: Path) -> None:
    with SqliteBackend(tmp_path / "a.db") as source, open_backend(single_url(tmp_path)) as target:
        source.index.upsert([Record(id="r", text="tea", space=HOME)])
        with pytest.raises(Unsupported, match="keeps no records"):
            move(source, target)
        assert source.watched() is None, "the same move would fail again"
