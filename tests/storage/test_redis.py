"""Redis on one server keeps every promise."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.storage.redis import RedisBackend
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
from memwell.testing.machine import Nursery
from tests.engines.redis import single, single_url


class Opened:
    # What any store must do is tried at length on those without a server.
    share = 0.1
    # One function makes the async twins of every store's calls. With SQLite all of them are tried.
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> RedisBackend:
        return RedisBackend(single_url(place), clock=clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestIndex(Opened, RecordIndexSuite): ...


class TestBlobs(Opened, BlobsSuite): ...


class TestBackend(Opened, BackendSuite):
    # What an async caller's transaction is carried in is the store's own.
    ways = ("sync", "async")

    def test_a_crowd_of_async_writers_does_not_starve_a_transaction(self, tmp_path: Path, clock: Clock) -> None:
        # A transaction has what it has touched, so here it touches the thread before the crowd comes.
        async def crowd(backend: RedisBackend) -> int:
            async with backend.atransaction():
                await backend.log.aappend(TALK, said("inside"))
                writers = [asyncio.ensure_future(apart(backend, number)) for number in range(50)]
                await asyncio.sleep(0.05)
                for number in range(4):
                    await backend.log.aappend(TALK, said(f"inside {number}"))
                inside = len(await backend.log.aread(TALK))
            await asyncio.gather(*writers)
            return inside

        async def apart(backend: RedisBackend, number: int) -> None:
            await asyncio.get_running_loop().run_in_executor(None, backend.log.append, TALK, said(f"outside {number}"))

        with self.open(tmp_path, clock) as backend:
            assert asyncio.run(crowd(backend)) == 5
            assert len(backend.log.read(TALK)) == 55


class TestCopies(Opened, CopiesSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestKills(KillsSuite):
    opener = "tests.engines.redis:open_at"
    share = 0.15

    @pytest.fixture(scope="class")
    @classmethod
    def nursery(cls) -> Iterator[Nursery]:
        single()
        with Nursery("tests.engines.redis", "memwell.storage.vectors") as nursery:
            yield nursery


class TestCongruence(Opened, CongruenceSuite):
    share = 0.2


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...
