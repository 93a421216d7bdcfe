"""Redis on a cluster of three masters and three replicas does what it declares."""

from __future__ import annotations

from pathlib import Path

from memwell.storage.redis import RedisBackend
from memwell.testing.conformance import (
    BackendSuite,
    CopiesSuite,
    IsolationSuite,
    KeyValueSuite,
    MessageLogSuite,
    SequencesSuite,
)
from memwell.testing.conformance.suite import Clock
from tests.engines.redis import cluster_url

# What a question means and what is refused does not depend on where the keys lie: that is tried on one server alone.


class Opened:
    abilities = RedisBackend.abilities
    # What any store must do is tried at length on one server; here it is about the slots.
    share = 0.04
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> RedisBackend:
        return RedisBackend(cluster_url(place), clock=clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestBackend(Opened, BackendSuite): ...


class TestCopies(Opened, CopiesSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestIsolation(Opened, IsolationSuite): ...
