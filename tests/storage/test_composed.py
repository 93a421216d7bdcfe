"""A store of several parts keeps every promise of one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from memwell.storage.composed import Attached, Bytes, ComposedBackend, Part, StoreVectors
from memwell.storage.files import FileBlobs
from memwell.storage.redis import RedisBackend
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.clock import Clock
from memwell.testing.conformance import (
    BackendSuite,
    BlobsSuite,
    CongruenceSuite,
    CopiesSuite,
    IsolationSuite,
    KeyValueSuite,
    KillsSuite,
    MessageLogSuite,
    RecordIndexSuite,
    RefusalsSuite,
    SequencesSuite,
)
from memwell.testing.conformance.suite import TALK, said
from tests.engines.redis import single_url


def composed(path: str | Path, *, clock: Clock) -> ComposedBackend:
    """Rows in one file, vectors searched in another, bytes in a folder."""
    home = Path(path)
    # The suites expect of so few vectors that they are searched exactly, and so they are.
    engine = Attached(lambda: StoreVectors(SqliteBackend(f"{home}.vectors"), "exact"), "exact", "a file")
    blobs = FileBlobs(f"{home}.blobs")
    return ComposedBackend(
        SqliteBackend(home, clock=clock), index=engine, blobs=Bytes(lambda: blobs, lambda: None, "a folder")
    )


def composed_anew(path: str | Path, *, clock: Clock) -> ComposedBackend:
    """The same, mended after whoever had it open died."""
    backend = composed(path, clock=clock)
    backend.reconcile()
    return backend


class Opened:
    # What any store must do is tried at length on those of one part.
    share = 0.1
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> ComposedBackend:
        return composed(place / "store.db", clock=clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestIndex(Opened, RecordIndexSuite): ...


class TestBlobs(Opened, BlobsSuite): ...


class TestBackend(Opened, BackendSuite): ...


class TestCopies(Opened, CopiesSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestKills(KillsSuite):
    opener = "tests.storage.test_composed:composed_anew"
    share = 0.2


class TestCongruence(Opened, CongruenceSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...


def with_redis(path: str | Path, *, clock: Clock) -> ComposedBackend:
    """Rows and vectors in SQLite, conversations and values in Redis."""
    redis = RedisBackend(single_url(Path(path).parent), clock=clock)
    part = Part(redis, "a server")
    return ComposedBackend(SqliteBackend(path, clock=clock), log=part, kv=part)


# Records and bytes are the home's own, as they are in a store of one part. Copies of such a store are tried in
# composed/test_backend.py, with a home that lets many write at once.


class OpenedWithRedis:
    share = 0.1
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> ComposedBackend:
        return with_redis(place / "store.db", clock=clock)


class TestLogInRedis(OpenedWithRedis, MessageLogSuite): ...


class TestKeyValueInRedis(OpenedWithRedis, KeyValueSuite): ...


class TestBackendWithRedis(OpenedWithRedis, BackendSuite):
    def test_a_crowd_of_async_writers_does_not_starve_a_transaction(self, tmp_path: Path, clock: Clock) -> None:
        async def crowd(backend: ComposedBackend) -> int:
            async with backend.atransaction():
                # A transaction in Redis has what it has touched, and others wait for that alone.
                await backend.log.aread(TALK)
                loop = asyncio.get_running_loop()
                writers = [loop.run_in_executor(None, backend.log.append, TALK, said(str(n))) for n in range(50)]
                await asyncio.sleep(0.05)
                for number in range(5):
                    await backend.log.aappend(TALK, said(f"inside {number}"))
                inside = len(await backend.log.aread(TALK))
            await asyncio.gather(*writers)
            return inside

        with self.open(tmp_path, clock) as backend:
            assert asyncio.run(crowd(backend)) == 5
            assert len(backend.log.read(TALK)) == 55


class TestSequencesWithRedis(OpenedWithRedis, SequencesSuite): ...


class TestIsolationWithRedis(OpenedWithRedis, IsolationSuite): ...


class TestRefusalsWithRedis(OpenedWithRedis, RefusalsSuite): ...
