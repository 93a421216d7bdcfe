"""The SQLite backend keeps every promise."""

from __future__ import annotations

from pathlib import Path

from memwell.storage.sqlite import SqliteBackend
from memwell.testing.clock import Clock
from memwell.testing.conformance import (
    BackendSuite,
    BlobsSuite,
    CongruenceSuite,
    IsolationSuite,
    KeyValueSuite,
    KillsSuite,
    MessageLogSuite,
    RecordIndexSuite,
    RefusalsSuite,
    SequencesSuite,
)


class Opened:
    def open(self, place: Path, clock: Clock) -> SqliteBackend:
        return SqliteBackend(place / "store.db", clock=clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestIndex(Opened, RecordIndexSuite): ...


class TestBlobs(Opened, BlobsSuite): ...


class TestBackend(Opened, BackendSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestKills(KillsSuite):
    opener = "memwell.storage.sqlite:SqliteBackend"


class TestCongruence(Opened, CongruenceSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...
