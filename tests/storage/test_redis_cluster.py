"""Redis on a cluster of three masters and three replicas keeps every promise."""

from __future__ import annotations

from pathlib import Path

from memwell.storage.redis import RedisBackend
from memwell.testing.clock import Clock
from memwell.testing.conformance import (
    BlobsSuite,
    CongruenceSuite,
    CopiesSuite,
    IsolationSuite,
    KeyValueSuite,
    MessageLogSuite,
    RecordIndexSuite,
    RefusalsSuite,
    SequencesSuite,
)
from tests.engines.redis import cluster_url
from tests.storage.test_redis import TestBackend as SingleBackend


class Opened:
    # What any store must do is tried at length on one server; here it is about the slots.
    share = 0.04
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> RedisBackend:
        # The members keep nothing on disk; that they are not restarted here is what the URL vouches for.
        return RedisBackend(cluster_url(place, "durable=yes"), clock=clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestIndex(Opened, RecordIndexSuite): ...


class TestBlobs(Opened, BlobsSuite): ...


class TestBackend(Opened, SingleBackend): ...


class TestCopies(Opened, CopiesSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestCongruence(Opened, CongruenceSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...
