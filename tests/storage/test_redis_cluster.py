"""Redis on a cluster of three masters and three replicas keeps every promise."""

from __future__ import annotations

from pathlib import Path

from memwell.storage.redis import RedisBackend
from memwell.testing.clock import Clock
from memwell.testing.conformance import (
    BlobsSuite,
    CopiesSuite,
    IsolationSuite,
    KeyValueSuite,
    MessageLogSuite,
    RecordIndexSuite,
    SequencesSuite,
)
from tests.engines.redis import cluster_url
from tests.storage.test_redis import TestBackend as SingleBackend

# What a question means and what is refused does not depend on where the keys lie: that is tried on one server alone.


class Opened:
    # What any store must do is tried at length on one server; here it is about the slots.
    share = 0.04
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> RedisBackend:
        return RedisBackend(cluster_url(place), clock=clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestIndex(Opened, RecordIndexSuite): ...


class TestBlobs(Opened, BlobsSuite): ...


class TestBackend(Opened, SingleBackend):
    ways = ("sync",)


class TestCopies(Opened, CopiesSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestIsolation(Opened, IsolationSuite): ...
