"""Redis on one server does what it declares: conversations and values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.storage.redis import RedisBackend
from memwell.testing.child import Nursery
from memwell.testing.clock import Clock
from memwell.testing.conformance import (
    BackendSuite,
    CongruenceSuite,
    CopiesSuite,
    IsolationSuite,
    KeyValueSuite,
    KillsSuite,
    MessageLogSuite,
    RefusalsSuite,
    SequencesSuite,
)
from tests.engines.redis import single, single_url


class Opened:
    abilities = RedisBackend.abilities
    # What any store must do is tried at length on those without a server.
    share = 0.1
    # One function makes the async twins of every store's calls. With SQLite all of them are tried.
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> RedisBackend:
        return RedisBackend(single_url(place), clock=clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestBackend(Opened, BackendSuite): ...


class TestCopies(Opened, CopiesSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestKills(KillsSuite):
    abilities = RedisBackend.abilities
    opener = "tests.engines.redis:open_at"
    share = 0.15

    @pytest.fixture(scope="class")
    @classmethod
    def nursery(cls) -> Iterator[Nursery]:
        single()
        with Nursery("tests.engines.redis", "memwell.storage.vectors") as nursery:
            yield nursery


class TestCongruence(Opened, CongruenceSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...
