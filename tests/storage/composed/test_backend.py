"""A store whose home lets many write at once, with conversations and values in Redis, keeps every promise of one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage import open_backend
from memwell.storage.composed import Attached, Bytes, ComposedBackend, Part, StoreVectors
from memwell.storage.composed.transactions import Verdicts
from memwell.storage.composed.turns import LogInTurn
from memwell.storage.files import FileBlobs
from memwell.storage.postgres.claims import PostgresClaims
from memwell.storage.postgres.connections import Transaction
from memwell.storage.protocols import Backend
from memwell.storage.redis import RedisBackend
from memwell.storage.redis.transactions import JoinedTransaction
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.clock import Clock
from memwell.testing.conformance import BackendSuite, CopiesSuite, KillsSuite
from memwell.testing.conformance.backend import in_threads
from memwell.testing.conformance.sequences import check_sequences
from memwell.testing.machine import ChildSubject, Nursery
from memwell.testing.strategies import Operation
from tests.engines import milvus, postgres, redis

HOME = Space("home")
TALK = Thread(HOME, "talk")


def around(home: Backend, follower: RedisBackend, place: Path) -> ComposedBackend:
    """The home with conversations and values beside it in Redis, vectors searched in a file, bytes in a folder."""
    part = Part(follower, "a server")
    blobs = FileBlobs(place / "blobs")
    # The suites expect of so few vectors that they are searched exactly, and so they are.
    engine = Attached(lambda: StoreVectors(SqliteBackend(place / "vectors.db"), "exact"), "exact", "a file")
    return ComposedBackend(
        home,
        log=part,
        kv=part,
        index=engine,
        blobs=Bytes(lambda: blobs, lambda: None, "a folder", "files"),
        one_writer=False,
    )


def opened(place: Path, clock: Clock) -> ComposedBackend:
    return around(postgres.open_recycled(place, clock), RedisBackend(redis.single_url(place), clock=clock), place)


def opened_in_child(path: str, *, clock: Clock) -> ComposedBackend:
    """The same in a process that a test started, mended after whoever had it open died."""
    place = Path(path)
    place.mkdir(exist_ok=True)
    backend = around(postgres.opened(path, clock), redis.open_at(path, clock=clock), place)
    backend.reconcile()
    return backend


class Opened:
    # What any store must do is tried at length on those without a server.
    share = 0.1
    ways = ("sync",)

    @pytest.fixture(autouse=True)
    def schemas_go_to_the_next(self, tmp_path: Path) -> Iterator[None]:
        """Making tables costs more than most tests do with them."""
        yield
        postgres.recycle(tmp_path)

    def open(self, place: Path, clock: Clock) -> ComposedBackend:
        return opened(place, clock)


class TestBackend(Opened, BackendSuite): ...


class TestCopies(Opened, CopiesSuite): ...


class _WithServers:
    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def running(cls) -> None:
        """The servers are there, and the environment says where, before a process is started that is to use them."""
        postgres.server()
        redis.single()


class TestKills(_WithServers, KillsSuite):
    opener = "tests.storage.composed.test_backend:opened_in_child"

    def test_a_killed_store_has_all_it_acknowledged_and_no_half_of_the_rest(
        self, tmp_path: Path, nursery: Nursery
    ) -> None:
        def make(place: Path, clock: Clock) -> ChildSubject:
            return ChildSubject(nursery, self.opener, str(place / "store"), clock)

        # Whoever comes after the killed waits for their leases, so there are fewer of them.
        check_sequences(tmp_path, make, examples=2, steps=8)


# Dying at the worst moments

MOMENTS: dict[str, tuple[type, str, bool]] = {
    "before it is ready": (JoinedTransaction, "prepare", False),
    "ready, and the home knows nothing": (JoinedTransaction, "prepare", True),
    "noted, and not committed": (Verdicts, "note", True),
    "about to commit": (Transaction, "_finish", False),
    "committed, and Redis not told": (Transaction, "_finish", True),
    "before Redis is told": (JoinedTransaction, "__exit__", False),
    "all done": (JoinedTransaction, "__exit__", True),
}
KEPT = {"committed, and Redis not told", "before Redis is told", "all done"}


def mortal(path: str, *, clock: Clock) -> ComposedBackend:
    """A store that dies at the moment which the file beside it names."""
    backend = opened_in_child(path, clock=clock)
    owner, name, after = MOMENTS[Path(f"{path}.moment").read_text()]
    method: Callable[..., Any] = getattr(owner, name)

    def dying(*args: Any, **options: Any) -> None:
        if after:
            method(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    with backend.transaction():
        # The first content of a space is written in other steps than what follows.
        write(backend, "first")
    setattr(owner, name, dying)
    return backend


def writes(text: str) -> list[Operation]:
    return [
        Operation("log", "append", (TALK, [human(text)]), {}),
        Operation("kv", "put", (HOME, text, 1), {}),
        Operation("index", "upsert", ([Record(id=text, text=text, space=HOME, vector=[1.0, 2.0])],), {}),
        Operation("blobs", "put", (HOME, text.encode()), {}),
    ]


def write(store: Backend, text: str) -> None:
    for operation in writes(text):
        operation.on(store)


def seen(store: Backend) -> list[list[str]]:
    return [
        [message.text for message in store.log.read(TALK)],
        sorted(entry.key for entry in store.kv.scan(HOME).items),
        sorted(record.id for record in store.index.scan(HOME).items),
        sorted(store.blobs.get(HOME, digest).decode() for digest in store.blobs.scan(HOME).items),
    ]


class TestDeaths(_WithServers):
    @pytest.fixture(scope="class")
    @classmethod
    def nursery(cls, running: None) -> Iterator[Nursery]:
        with Nursery(__name__, "memwell.storage.vectors") as nursery:
            yield nursery

    def test_whoever_dies_in_between_leaves_all_or_nothing(self, tmp_path: Path, nursery: Nursery):
        places = {moment: tmp_path / str(number) for number, moment in enumerate(MOMENTS)}
        # All die first, so that their leases end at the same time.
        for moment, place in places.items():
            Path(f"{place}.moment").write_text(moment)
            child = nursery.start("tests.storage.composed.test_backend:mortal", str(place))
            child.ask("begin")
            child.ask("calls", (Clock().now, writes("second")))
            with pytest.raises(EOFError):
                child.ask("end", False)
        assert {moment: wrong for moment, place in places.items() if (wrong := _wrong(moment, place))} == {}


def _wrong(moment: str, place: Path) -> list[object]:
    """What is wrong with a store whose program died at this moment."""
    expected = ["first", "second"] if moment in KEPT else ["first"]
    with opened_in_child(str(place), clock=Clock()) as store:
        found = [seen(store)]
        write(store, "third")
        found.append(seen(store))
        wrong: list[object] = [*store.check()]
    if found != [[expected] * 4, [sorted([*expected, "third"])] * 4]:
        wrong.append(found)
    return wrong


# Many at once


@pytest.fixture
def two(tmp_path: Path, clock: Clock) -> Iterator[tuple[ComposedBackend, ComposedBackend]]:
    with opened(tmp_path, clock) as one, opened(tmp_path, clock) as other:
        yield one, other
    postgres.recycle(tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_values_in_redis_count_with_records_at_home(two: tuple[ComposedBackend, ComposedBackend]):
    def work(number: int) -> None:
        store = two[number % 2]
        for _ in range(6):
            with store.transaction():
                entry = store.kv.get(HOME, "count")
                count = 0 if entry is None else cast(int, entry.value)
                store.index.upsert([Record(id=str(count), text="x", space=HOME)])
                store.kv.put(HOME, "count", count + 1)

    in_threads(4, work)
    entry = two[0].kv.get(HOME, "count")
    assert entry is not None
    assert entry.value == two[0].index.info(HOME).records == 24


def test_duties_and_calls_are_the_homes(two: tuple[ComposedBackend, ComposedBackend]):
    one, other = two
    assert isinstance(one.claims, PostgresClaims)
    assert one.claims.take(HOME, "worker")
    assert not other.claims.take(HOME, "worker")
    one.claims.release(HOME, "worker")
    assert other.claims.take(HOME, "worker")
    heard: list[str] = []
    stop = other.listen(heard.append)
    assert stop is not None
    one.notify("work to do")
    redis.wait_until(lambda: heard == ["work to do"], "nobody was called")
    stop()


def test_every_part_says_what_it_is_and_whether_it_answers(two: tuple[ComposedBackend, ComposedBackend]):
    parts = two[0].facts()["parts"]
    assert {name: (part["kind"], part["answers"]) for name, part in parts.items()} == {
        "home": ("postgresql", True),
        "log": ("redis", True),
        "kv": ("redis", True),
        "index": ("sqlite", True),
        "blobs": ("files", True),
    }


@pytest.mark.parametrize("index", ["milvus", "postgresql"])
def test_a_url_puts_every_part_in_its_place(index: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.storage.registry.ASK_ENGINE_ABOVE", 0)
    engine = milvus.lite_url(tmp_path) if index == "milvus" else postgres.store_url(tmp_path / "vectors")
    follower = redis.single_url(tmp_path)
    url = f"{postgres.store_url(tmp_path)},log={follower},kv={follower},index={engine},blobs=files:{tmp_path}/media"
    with open_backend(url) as store:
        assert isinstance(store, ComposedBackend)
        with store.transaction():
            write(store, "first")
        write(store, "second")
        assert store.beside is not None
        store.beside.catch_up(HOME)
        assert store.index.info(HOME).search == index
        assert [hit.record.id for hit in store.index.near(HOME, [1.0, 2.0], limit=1)] == ["first"]
        store.index.delete(HOME, ["first"])
        assert [hit.record.id for hit in store.index.near(HOME, [1.0, 2.0])] == ["second"]
        kinds = {name: part["kind"] for name, part in store.facts()["parts"].items()}
        assert kinds == {"home": "postgresql", "log": "redis", "kv": "redis", "index": index, "blobs": "files"}
        assert isinstance(store.log, LogInTurn)
    with open_backend(url) as again:
        assert seen(again) == [["first", "second"], ["first", "second"], ["second"], ["first", "second"]]
        assert again.check() == []
