"""The reference backend keeps every promise that it is the measure of."""

from __future__ import annotations

from pathlib import Path

from memwell.storage.memory import MemoryBackend
from memwell.testing.clock import Clock
from memwell.testing.conformance import (
    BackendSuite,
    BlobsSuite,
    IsolationSuite,
    KeyValueSuite,
    MessageLogSuite,
    RecordIndexSuite,
    RefusalsSuite,
    SequencesSuite,
)


class Opened:
    def open(self, place: Path, clock: Clock) -> MemoryBackend:
        return MemoryBackend(clock=clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestIndex(Opened, RecordIndexSuite): ...


class TestBlobs(Opened, BlobsSuite): ...


class TestBackend(Opened, BackendSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...
