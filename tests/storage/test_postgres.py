"""The PostgreSQL backend keeps every promise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.storage.postgres import PostgresBackend
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
from tests.engines.postgres import open_recycled, recycle, server


class Opened:
    # What any store must do is tried at length on those without a server.
    share = 0.1
    # One function makes the async twins of every store's calls. With SQLite all of them are tried.
    ways = ("sync",)

    @pytest.fixture(autouse=True)
    def schemas_go_to_the_next(self, tmp_path: Path) -> Iterator[None]:
        """Making tables costs more than most tests do with them."""
        yield
        recycle(tmp_path)

    def open(self, place: Path, clock: Clock) -> PostgresBackend:
        return open_recycled(place, clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestIndex(Opened, RecordIndexSuite): ...


class TestBlobs(Opened, BlobsSuite): ...


class TestCopies(Opened, CopiesSuite): ...


class TestBackend(Opened, BackendSuite):
    # What an async caller's transaction is carried in is the store's own.
    ways = ("sync", "async")


class TestSequences(Opened, SequencesSuite): ...


class TestKills(KillsSuite):
    opener = "tests.engines.postgres:opened"
    share = 0.1

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def running(cls) -> None:
        """The server is there, and the environment says where, before a process is started that is to use it."""
        server()


class TestCongruence(Opened, CongruenceSuite):
    share = 0.2


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...
