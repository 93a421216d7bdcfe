"""The server dies between any two writes: nothing that was acknowledged is lost, and nothing is there twice."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memwell.errors import BackendUnavailable
from memwell.longterm.snapshot_cache import Snapshots
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.settings import Settings
from memwell.storage.postgres import PostgresBackend
from tests.engines.postgres import Server
from tests.engines.starting import wait_until

HOME = Space("home")


@pytest.fixture(scope="module")
def mortal() -> Iterator[Server]:
    """A server of its own that syncs every commit."""
    started = Server(durable=True)
    yield started
    started.remove()


class Writer:
    """Appends, counts and stores records until it is stopped, and remembers what it was told is stored."""

    def __init__(self, backend: PostgresBackend, number: int) -> None:
        self._backend = backend
        self.thread = Thread(HOME, f"talk {number}")
        self.key = f"count {number}"
        self.acknowledged: list[str] = []
        self.counted = 0
        self.refused = 0

    def run(self, stopped: threading.Event) -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            text = f"message {number}"
            try:
                self._backend.log.append(self.thread, [human(text)])
                self.acknowledged.append(text)
                with self._backend.transaction():
                    self._backend.kv.put(HOME, self.key, number)
                    self._backend.index.upsert(
                        [Record(id=self.key, text=text, space=Space(self.key), vector=[1.0, number])]
                    )
                self.counted = number
            except BackendUnavailable:
                self.refused += 1
                time.sleep(0.01)


def wait_for_more(writers: list[Writer]) -> None:
    """Wait until every writer has stored some more than now."""
    wanted = [(writer, writer.counted + 5) for writer in writers]
    wait_until(lambda: all(writer.counted > count for writer, count in wanted), "nothing is stored any more")


def test_a_server_that_is_killed_again_and_again_loses_nothing_it_acknowledged(mortal: Server):
    with PostgresBackend(mortal.url(schema="killed"), settings=Settings(connect_timeout_s=20.0)) as backend:
        assert backend.durable
        writers = [Writer(backend, number) for number in range(3)]
        stopped = threading.Event()
        threads = [threading.Thread(target=writer.run, args=(stopped,)) for writer in writers]
        for thread in threads:
            thread.start()
        try:
            for _ in range(2):
                wait_for_more(writers)
                mortal.crash()
                mortal.start()
            wait_for_more(writers)
        finally:
            stopped.set()
        for thread in threads:
            thread.join()
        for writer in writers:
            found = [message.text for message in backend.log.read(writer.thread)]
            assert writer.acknowledged
            assert len(found) == len(set(found))
            assert set(writer.acknowledged) <= set(found)
            entry = backend.kv.get(HOME, writer.key)
            assert entry is not None
            assert isinstance(entry.value, int)
            assert entry.value >= writer.counted
            [record] = backend.index.get(Space(writer.key), [writer.key])
            assert record.text == f"message {entry.value}"
        assert backend.check() == []


def copied(source: Path, place: Path) -> None:
    """Copy the folder of a server that stands still, with its owners."""
    subprocess.run(["rm", "-rf", str(place)], check=True)
    subprocess.run(["cp", "-a", str(source), str(place)], check=True)


@pytest.mark.parametrize("fresh", [["new"], ["new", "newer"]], ids=["as many", "more"])
def test_a_promoted_standby_that_lost_writes_is_noticed(mortal: Server, fresh: list[str]):
    space, url = Space("lost"), mortal.url(schema=f"lost{len(fresh)}")
    settings = Settings(connect_timeout_s=20.0)
    with PostgresBackend(url, settings=settings) as backend:
        backend.index.upsert([Record(id="kept", text="kept", space=space)])
        mortal.stop()
        copied(mortal.data, mortal.folder / "standby")
        mortal.start()
        backend.index.upsert([Record(id="lost", text="lost", space=space)])
        snapshots, state = Snapshots(backend.index), backend.index.info(space).state
        with snapshots.of(space) as held:
            assert "lost" in held.snapshot
        mortal.stop()
        copied(mortal.folder / "standby", mortal.data)
        (mortal.data / "standby.signal").touch()
        mortal.start()
        with mortal.admin() as connection:
            assert connection.execute("SELECT pg_promote()").fetchone() == (True,)
        with PostgresBackend(url, settings=settings) as other:
            other.index.upsert([Record(id=id_, text=id_, space=space) for id_ in fresh])
        assert backend.index.changes(space, state).whole
        with snapshots.of(space) as held:
            assert "lost" not in held.snapshot
            assert all(id_ in held.snapshot for id_ in ("kept", *fresh))
        assert not backend.index.changes(space, backend.index.info(space).state).whole
