"""The SQLite backend keeps every promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memwell.records import Space, Thread
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.clock import Clock
from memwell.testing.conformance import (
    BackendSuite,
    BlobsSuite,
    CongruenceSuite,
    CopiesSuite,
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


class TestCopies(Opened, CopiesSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...


APPEND = """
import sys, threading
from memwell.messages import human
from memwell.records import Space, Thread
from memwell.storage.sqlite import SqliteBackend

path, process = sys.argv[1:]
talk = Thread(Space("home"), "talk")
backend = SqliteBackend(path)

def work(thread):
    for number in range(40):
        backend.log.append(talk, [human(f"{process}-{thread}-{number}")])

threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
sys.stdin.readline()
for thread in threads: thread.start()
for thread in threads: thread.join()
backend.close()
"""


def test_processes_and_threads_append_to_one_conversation(tmp_path: Path):
    path = tmp_path / "store.db"
    SqliteBackend(path).close()
    command = [sys.executable, "-c", APPEND, str(path)]
    children = [subprocess.Popen([*command, str(n)], stdin=subprocess.PIPE, stderr=subprocess.PIPE) for n in range(3)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.flush()
    complaints = [child.communicate()[1] for child in children]
    assert [child.returncode for child in children] == [0] * 3, complaints
    with SqliteBackend(path) as backend:
        stored = backend.log.read(Thread(Space("home"), "talk"))
        assert [message.index for message in stored] == list(range(360))
        assert [message.round for message in stored] == list(range(1, 361))
        for process in range(3):
            for thread in range(3):
                mine = [m.text for m in stored if m.text.startswith(f"{process}-{thread}-")]
                assert mine == [f"{process}-{thread}-{number}" for number in range(40)]
        assert backend.check() == []
