"""A store with Milvus beside it keeps every promise."""

from __future__ import annotations

from pathlib import Path

from memwell.storage.composed import Attached, ComposedBackend
from memwell.storage.milvus import MilvusVectors
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.clock import Clock
from memwell.testing.conformance import (
    BackendSuite,
    CongruenceSuite,
    CopiesSuite,
    IsolationSuite,
    KillsSuite,
    RecordIndexSuite,
    RefusalsSuite,
    SequencesSuite,
)
from memwell.testing.conformance.sequences import check_sequences
from memwell.testing.machine import ChildSubject, Nursery
from tests.engines.milvus import lite_url


def opened(path: str | Path, *, clock: Clock) -> ComposedBackend:
    """Rows in SQLite, vectors searched by milvus-lite."""
    home = Path(path)
    url = lite_url(home.parent)
    # The suites expect of so few vectors that they are searched exactly, and so they are.
    engine = Attached(lambda: MilvusVectors(url), "exact", url)
    return ComposedBackend(SqliteBackend(home, clock=clock), index=engine)


class Opened:
    # Every store that is opened starts a Milvus of its own. What has nothing to do with it is tried at length without it.
    share = 0.1
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> ComposedBackend:
        return opened(place / "store.db", clock=clock)


# Conversations, values and bytes go to the home store, past whatever is beside it: see test_composed.py. That they do so
# here too, the sequences, the copies, the isolation and the refusals show.


class TestIndex(Opened, RecordIndexSuite): ...


class TestBackend(Opened, BackendSuite): ...


class TestCopies(Opened, CopiesSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestKills(KillsSuite):
    opener = "tests.storage.test_milvus:opened"

    def test_a_killed_store_has_all_it_acknowledged_and_no_half_of_the_rest(
        self, tmp_path: Path, nursery: Nursery
    ) -> None:
        def make(place: Path, clock: Clock) -> ChildSubject:
            return ChildSubject(nursery, self.opener, str(place / "store.db"), clock)

        # Every child starts a Milvus of its own, so there are fewer of them.
        check_sequences(tmp_path, make, examples=3, steps=12)


class TestCongruence(Opened, CongruenceSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...
