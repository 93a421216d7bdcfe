"""A store whose vectors are searched by Milvus keeps every promise."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

from memwell.errors import BackendUnavailable, ConfigurationError
from memwell.records import Record, Space
from memwell.storage.composed import Attached, ComposedBackend
from memwell.storage.milvus import MilvusVectors
from memwell.storage.sqlite import SqliteBackend
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
from memwell.testing.conformance.suite import Clock
from memwell.values import new_id
from tests.engines.milvus import lite_url, no_server_because
from tests.ports import closed_port

HOME = Space("home")
SERVER = "TEST_MILVUS_URL"


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
    # Every child starts a Milvus of its own, so there are fewer of them.
    share = 0.1


class TestCongruence(Opened, CongruenceSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...


def test_a_url_that_names_no_milvus_is_refused(tmp_path: Path):
    for url in ("milvus:", f"milvus:{tmp_path}/vectors.txt", "milvus://", "milvus://host:port"):
        with pytest.raises(ConfigurationError):
            MilvusVectors(url)


def test_a_server_that_is_not_there_is_away():
    with closed_port() as port, pytest.raises(BackendUnavailable) as raised:
        MilvusVectors(f"milvus://user:secret@127.0.0.1:{port}")
    assert "secret" not in str(raised.value)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Milvus server: an empty one that TEST_MILVUS_URL names, or one that is started here."""
    if SERVER in os.environ:
        yield os.environ[SERVER]
        return
    reason = no_server_because()
    if reason is not None:
        pytest.skip(f"{reason}; name a server in {SERVER} to test against it")
    started = import_module("milvus").default_server
    started.set_base_dir(str(tmp_path_factory.mktemp("milvus-server")))
    started.start()
    yield f"milvus://127.0.0.1:{started.listen_port}"
    # It ends the process that it started, by its id.
    started.stop()


class TestServer(RecordIndexSuite):
    """A store with a real Milvus server beside it.

    This has never run where it was written: no Milvus server is to be had for that machine. It is here for those who have
    one, and they are the first to see whether it passes.
    """

    ways = ("sync",)
    share = 0.2

    @pytest.fixture(autouse=True)
    def asked(self, server: str) -> None:
        self._url = server

    def open(self, place: Path, clock: Clock) -> ComposedBackend:
        url = self._url
        # Every store feeds its spaces anew, so it does not matter what others left of theirs on the server.
        engine = Attached(lambda: MilvusVectors(url), "exact", url)
        return ComposedBackend(SqliteBackend(place / "store.db", clock=clock), index=engine)

    def test_a_server_finds_what_the_file_finds(self, tmp_path: Path, server: str) -> None:
        space = Space(new_id())
        stored = [Record(id=str(number), text="", space=space, vector=[1, number, 0]) for number in range(50)]
        engines = [MilvusVectors(server), MilvusVectors(lite_url(tmp_path))]
        for engine in engines:
            engine.store(space, stored)
            engine.drop(space, ["7"])
        found = [[id_ for id_, _ in one.near(space, [1.0, 3.0, 0.0], 10)] for one in engines]
        assert found[0] == found[1]
        assert [one.count(space) for one in engines] == [49, 49]
        for engine in engines:
            engine.forget(space)
            engine.close()


# The file

COUNT = """
import sys
import threading
from memwell.records import Space
from memwell.storage.milvus import MilvusVectors
from memwell.errors import BackendUnavailable
try:
    print(MilvusVectors(sys.argv[1]).count(Space("home")))
except BackendUnavailable as error:
    print(error)
"""


def _elsewhere(url: str) -> str:
    done = subprocess.run([sys.executable, "-c", COUNT, url], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_last_to_close_lets_another_process_have_it(tmp_path: Path):
    url = lite_url(tmp_path)
    one, other = MilvusVectors(url), MilvusVectors(url)
    one.store(HOME, [Record(id=str(n), text="", space=HOME, vector=[1, n]) for n in range(5)])
    identity = one.identity(2)
    one.close()
    one.close()
    assert other.identity(2) == identity
    assert "another process" in _elsewhere(url)
    other.close()
    assert _elsewhere(url) == "5"


def test_writers_of_one_file_take_turns(tmp_path: Path):
    """milvus-lite does not lock its log: two writes at once open it twice, and one of them is lost at the next start."""
    url = lite_url(tmp_path)
    writers = [MilvusVectors(url) for _ in range(4)]
    ready = threading.Barrier(len(writers))

    def write(engine: MilvusVectors, name: str) -> None:
        ready.wait()
        for n in range(5):
            engine.store(HOME, [Record(id=f"{name}{n}", text="", space=HOME, vector=[1.0, float(n)])])

    with ThreadPoolExecutor(len(writers)) as pool:
        list(pool.map(write, writers, "abcd"))
    for engine in writers:
        engine.close()
    again = MilvusVectors(url)
    try:
        assert sorted(again.ids(HOME)) == sorted(f"{name}{n}" for name in "abcd" for n in range(5))
    finally:
        again.close()
