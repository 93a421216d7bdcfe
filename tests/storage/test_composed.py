"""A store of several parts keeps every promise of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.longterm.memory import Memory
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage import open_backend
from memwell.storage.composed import Attached, ComposedBackend, Part
from memwell.storage.protocols import ABILITIES, Backend
from memwell.storage.redis import RedisBackend
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.conformance import (
    BackendSuite,
    CopiesSuite,
    IsolationSuite,
    KeyValueSuite,
    KillsSuite,
    MessageLogSuite,
    RefusalsSuite,
    SequencesSuite,
    StoreSuite,
)
from memwell.testing.conformance.suite import Clock
from tests.engines import milvus, postgres, redis
from tests.engines.redis import single_url
from tests.engines.vectors import StoreVectors


def composed(path: str | Path, *, clock: Clock) -> ComposedBackend:
    """Rows in one file, vectors searched in another."""
    home = Path(path)
    # The suites expect of so few vectors that they are searched exactly, and so they are.
    engine = Attached(lambda: StoreVectors(SqliteBackend(f"{home}.vectors"), "exact"), "exact", "a file")
    return ComposedBackend(SqliteBackend(home, clock=clock), index=engine)


def composed_anew(path: str | Path, *, clock: Clock) -> ComposedBackend:
    """The same, reconciled after the process before was killed."""
    backend = composed(path, clock=clock)
    assert backend.follower is not None
    backend.follower.reconcile()
    return backend


class Opened:
    # What any store must do is tried at length on those of one part.
    share = 0.1
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> ComposedBackend:
        return composed(place / "store.db", clock=clock)


class TestStore(Opened, StoreSuite): ...


class TestKills(KillsSuite):
    opener = "tests.storage.test_composed:composed_anew"
    share = 0.2


def with_redis(path: str | Path, *, clock: Clock) -> ComposedBackend:
    """Rows and vectors in SQLite, conversations and values in Redis."""
    redis = RedisBackend(single_url(Path(path).parent), clock=clock)
    part = Part(redis, "a server")
    return ComposedBackend(SqliteBackend(path, clock=clock), log=part, kv=part)


# Records and bytes are the home's own, as they are in a store of one part. Copies of such a store are tried below,
# with a home that lets many write at once.


class OpenedWithRedis:
    abilities = ABILITIES - {"transactions"}
    share = 0.1
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> ComposedBackend:
        return with_redis(place / "store.db", clock=clock)


class TestLogInRedis(OpenedWithRedis, MessageLogSuite): ...


class TestKeyValueInRedis(OpenedWithRedis, KeyValueSuite): ...


class TestBackendWithRedis(OpenedWithRedis, BackendSuite): ...


class TestSequencesWithRedis(OpenedWithRedis, SequencesSuite): ...


class TestIsolationWithRedis(OpenedWithRedis, IsolationSuite): ...


class TestRefusalsWithRedis(OpenedWithRedis, RefusalsSuite): ...


HOME = Space("home")
TALK = Thread(HOME, "talk")


def around(home: Backend, follower: RedisBackend, place: Path) -> ComposedBackend:
    """The home, conversations and values in Redis, vectors searched in a file."""
    part = Part(follower, "a server")
    # The suites expect of so few vectors that they are searched exactly, and so they are.
    engine = Attached(lambda: StoreVectors(SqliteBackend(place / "vectors.db"), "exact"), "exact", "a file")
    return ComposedBackend(home, log=part, kv=part, index=engine)


def opened(place: Path, clock: Clock) -> ComposedBackend:
    return around(postgres.open_recycled(place, clock), RedisBackend(redis.single_url(place), clock=clock), place)


def opened_in_child(path: str, *, clock: Clock) -> ComposedBackend:
    """The same in a process that a test started, reconciled after the process before was killed."""
    place = Path(path)
    place.mkdir(exist_ok=True)
    backend = around(postgres.opened(path, clock), redis.open_at(path, clock=clock), place)
    assert backend.follower is not None
    backend.follower.reconcile()
    return backend


class OpenedOnPostgres:
    abilities = ABILITIES - {"transactions"}
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


class TestBackendOnPostgres(OpenedOnPostgres, BackendSuite): ...


class TestCopies(OpenedOnPostgres, CopiesSuite): ...


class TestKillsOnPostgres(KillsSuite):
    abilities = ABILITIES - {"transactions"}
    opener = "tests.storage.test_composed:opened_in_child"
    share = 0.1

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def running(cls) -> None:
        """The servers are there before a process is started that is to use them."""
        postgres.server()
        redis.single()


# Transactions


def write(store: Backend, text: str) -> None:
    store.log.append(TALK, [human(text)])
    store.kv.put(HOME, text, 1)
    store.kv.put(HOME / "memwell", text, 1)
    store.index.upsert([Record(id=text, text=text, space=HOME, vector=[1.0, 2.0])])
    store.blobs.put(HOME, text.encode())


def seen(store: Backend) -> list[list[str]]:
    return [
        [message.text for message in store.log.read(TALK)],
        sorted(entry.key for entry in store.kv.scan(HOME).items),
        sorted(entry.key for entry in store.kv.scan(HOME / "memwell").items),
        sorted(record.id for record in store.index.scan(HOME).items),
        sorted(store.blobs.get(HOME, digest).decode() for digest in store.blobs.scan(HOME).items),
    ]


def test_what_is_in_redis_stays_when_the_home_undoes_the_rest(two: tuple[ComposedBackend, ComposedBackend]):
    store, other = two
    assert "transactions" not in store.abilities
    with store.transaction():
        write(store, "kept")
        with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012 - all of it is undone
            write(store, "part")
            raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), store.together():  # noqa: PT012 - all of it is undone
        write(store, "undone")
        assert len(other.log.read(TALK)) == 3
        raise ZeroDivisionError
    everything = ["kept", "part", "undone"]
    assert seen(other) == [everything, everything, ["kept"], ["kept"], ["kept"]]
    assert store.check() == []


def test_a_memory_is_never_half_in_one_store(two: tuple[ComposedBackend, ComposedBackend]):
    """What was remembered and not indexed yet is with the records, so one transaction moves it."""
    memory = Memory(two[0], HOME)
    memory.remember("Ann likes tea")
    assert two[0].home.log.threads(HOME / "memwell").items != []
    assert [hit.text for hit in memory.recall("tea")] == ["Ann likes tea"]


@pytest.fixture
def two(tmp_path: Path, clock: Clock) -> Iterator[tuple[ComposedBackend, ComposedBackend]]:
    with opened(tmp_path, clock) as one, opened(tmp_path, clock) as other:
        yield one, other
    postgres.recycle(tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_notifications_are_the_homes(two: tuple[ComposedBackend, ComposedBackend]):
    one, other = two
    heard: list[str] = []
    stop = other.listen(heard.append)
    assert stop is not None
    one.notify("work to do")
    redis.wait_until(lambda: heard == ["work to do"], "no call came")
    stop()


def test_every_part_says_what_it_is_and_whether_it_answers(two: tuple[ComposedBackend, ComposedBackend]):
    parts = two[0].facts()["parts"]
    assert {name: (part["kind"], part["answers"]) for name, part in parts.items()} == {
        "home": ("postgresql", True), "log": ("redis", True), "kv": ("redis", True), "index": ("sqlite", True),
    }  # fmt: skip


def test_a_url_puts_every_part_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("memwell.storage.registry.ASK_ENGINE_ABOVE", 0)
    follower = redis.single_url(tmp_path)
    url = f"{postgres.store_url(tmp_path)},log={follower},kv={follower},index={milvus.lite_url(tmp_path)}"
    with open_backend(url) as store:
        assert isinstance(store, ComposedBackend)
        with store.transaction():
            write(store, "first")
        write(store, "second")
        assert store.follower is not None
        store.follower.catch_up(HOME)
        assert store.index.info(HOME).search == "milvus"
        assert [hit.record.id for hit in store.index.near(HOME, [1.0, 2.0], limit=1)] == ["first"]
        store.index.delete(HOME, ["first"])
        assert [hit.record.id for hit in store.index.near(HOME, [1.0, 2.0])] == ["second"]
        kinds = {name: part["kind"] for name, part in store.facts()["parts"].items()}
        assert kinds == {"home": "postgresql", "log": "redis", "kv": "redis", "index": "milvus"}
    both = ["first", "second"]
    with open_backend(url) as again:
        assert seen(again) == [both, both, both, ["second"], both]
        assert again.check() == []
