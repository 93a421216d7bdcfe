"""A program that is killed between any two steps of feeding leaves nothing that the next one does not mend."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memwell.records import Record, Space
from memwell.storage.composed import Attached, ComposedBackend, StoreVectors
from memwell.storage.sqlite import SqliteBackend

HOME = Space("home")

WORK = """
import os, signal, sys
from memwell.records import Record, Space
from memwell.storage.composed import Attached, ComposedBackend, StoreVectors
from memwell.storage.sqlite import SqliteBackend

space, steps = Space("home"), 0

def work(place, last):
    def step():
        global steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

    class Fatal(StoreVectors):
        def store(self, space, records):
            step(); super().store(space, records); step()
        def drop(self, space, ids):
            step(); super().drop(space, ids); step()
        def forget(self, space):
            step(); super().forget(space); step()

    engine = Attached(lambda: Fatal(SqliteBackend(f"{place}/vectors.db")), "e", "here")
    store = ComposedBackend(SqliteBackend(f"{place}/home.db"), index=engine)
    store.follower._feeder.stop()
    put = lambda *numbers: store.index.upsert([Record(id=str(n), text="", space=space, vector=[1, n]) for n in numbers])
    put(*range(5)); step(); store.follower.catch_up(space); step()
    store.index.delete(space, ["1", "2"]); put(2, 7); step(); store.follower.catch_up(space); step()
    store.index.delete(space, ["7"]); step(); store.follower.catch_up(space); step()
    print("done", steps)
"""
ALL = "work(sys.argv[1], 1000)"
KILLED = """
for last in map(int, sys.argv[2:]):
    # Loading all of it takes longer than the work.
    pid = os.fork()
    if pid == 0:
        work(f"{sys.argv[1]}/{last}", last)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def _open(place: Path) -> ComposedBackend:
    engine = Attached(lambda: StoreVectors(SqliteBackend(place / "vectors.db")), "engine", "here")
    return ComposedBackend(SqliteBackend(place / "home.db"), index=engine)


def test_after_a_kill_there_is_no_orphan_and_nothing_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = [str(number) for number in range(1, 16, 2)]
    for step in steps:
        (tmp_path / step).mkdir()
    command = [sys.executable, "-c", WORK + KILLED, str(tmp_path), *steps]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [str(-signal.SIGKILL)] * len(steps), done.stderr
    # The dead one's lease is over.
    monkeypatch.setattr("memwell.storage.composed.feeding.time.time", lambda: 4e9)
    assert {step: found for step in steps if (found := _wrong(tmp_path / step))} == {}


def _wrong(place: Path) -> list[object]:
    """What is wrong with a store whose program was killed."""
    wrong: list[object] = []
    with _open(place) as store:
        rows = {one.id for one in store.index.scan(HOME).items}
        near = {hit.record.id for hit in store.index.near(HOME, [1, 3], limit=100)}
        if near != rows:
            wrong.append(("near", near, rows))
        assert store.follower is not None
        assert store.follower.catch_up(HOME)
        with SqliteBackend(place / "vectors.db") as there:
            fed = set(StoreVectors(there).ids(HOME))
        if fed != rows:
            wrong.append(("fed", fed, rows))
        wrong += store.check()
        if (left := store.reconcile()) != (0, 0):
            wrong.append(("reconciled", left))
    return wrong


def test_two_processes_over_one_home_agree(tmp_path: Path):
    command = [sys.executable, "-c", WORK + ALL, str(tmp_path)]
    with _open(tmp_path) as store:
        store.index.upsert([Record(id="mine", text="", space=HOME, vector=[1, 50])])
        others = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for number in range(20):
            store.index.upsert([Record(id=f"m{number}", text="", space=HOME, vector=[1, number])])
            assert store.index.near(HOME, [1, number], where={"@id": f"m{number}"}) != []
        assert ["done" in (other.communicate()[0] or "") for other in others] == [True, True]
        rows = {one.id for one in store.index.scan(HOME).items}
        assert {hit.record.id for hit in store.index.near(HOME, [1, 3], limit=100)} == rows
        assert store.follower is not None
        while not store.follower.catch_up(HOME):
            pass
        with SqliteBackend(tmp_path / "vectors.db") as there:
            assert set(StoreVectors(there).ids(HOME)) == rows
        assert store.check() == []
