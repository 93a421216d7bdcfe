"""The PostgreSQL backend keeps every promise."""

from __future__ import annotations

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
from tests.engines.postgres import open_store, server


class Opened:
    def open(self, place: Path, clock: Clock) -> PostgresBackend:
        return open_store(place, clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestIndex(Opened, RecordIndexSuite): ...


class TestBlobs(Opened, BlobsSuite): ...


class TestCopies(Opened, CopiesSuite): ...


class TestBackend(Opened, BackendSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestKills(KillsSuite):
    opener = "tests.engines.postgres:opened"

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def running(cls) -> None:
        """The server is there, and the environment says where, before a process is started that is to use it."""
        server()


class TestCongruence(Opened, CongruenceSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...
