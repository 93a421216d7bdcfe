"""A store of several parts keeps every promise of one."""

from __future__ import annotations

from pathlib import Path

from memwell.storage.composed import Attached, Bytes, ComposedBackend, Part, StoreVectors
from memwell.storage.files import FileBlobs
from memwell.storage.protocols import ABILITIES
from memwell.storage.redis import RedisBackend
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.conformance import (
    BackendSuite,
    IsolationSuite,
    KeyValueSuite,
    KillsSuite,
    MessageLogSuite,
    RefusalsSuite,
    SequencesSuite,
    StoreSuite,
)
from memwell.testing.conformance.suite import Clock
from tests.engines.redis import single_url


def composed(path: str | Path, *, clock: Clock) -> ComposedBackend:
    """Rows in one file, vectors searched in another, bytes in a folder."""
    home = Path(path)
    # The suites expect of so few vectors that they are searched exactly, and so they are.
    engine = Attached(lambda: StoreVectors(SqliteBackend(f"{home}.vectors"), "exact"), "exact", "a file")
    blobs = FileBlobs(f"{home}.blobs")
    return ComposedBackend(SqliteBackend(home, clock=clock), index=engine, blobs=Bytes(lambda: blobs, "a folder"))


def composed_anew(path: str | Path, *, clock: Clock) -> ComposedBackend:
    """The same, reconciled after the process before was killed."""
    backend = composed(path, clock=clock)
    backend.reconcile()
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


# Records and bytes are the home's own, as they are in a store of one part. Copies of such a store are tried in
# composed/test_backend.py, with a home that lets many write at once.


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
