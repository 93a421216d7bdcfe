"""The SQLite backend keeps every promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from memwell.errors import BackendError
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage.sqlite import SqliteBackend
from memwell.testing.conformance import KillsSuite, StoreSuite
from memwell.testing.conformance.suite import Clock


class Opened:
    def open(self, place: Path, clock: Clock) -> SqliteBackend:
        return SqliteBackend(place / "store.db", clock=clock)


class TestStore(Opened, StoreSuite): ...


class TestKills(KillsSuite):
    opener = "memwell.storage.sqlite:SqliteBackend"


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


HOME = Space("home")


TALK = Thread(HOME, "talk")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with SqliteBackend(tmp_path / "store.db") as store:
        store.log.append(TALK, [human(f"word{n}", tokens=3) for n in range(5)])
        store.log.edit(TALK, {1: None, 2: human("edited", tokens=9)})
        store.log.trim(TALK, 1)
        store.log.match(TALK, "word3")
        store.index.upsert([Record(id=str(n), text=f"word{n}", space=HOME, vector=[1.0, n]) for n in range(5)])
        store.index.delete(HOME, ["3"])
        assert store.check() == []
    return tmp_path / "store.db"


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM record WHERE id = '1'",
        "DELETE FROM record_vector WHERE key = (SELECT max(key) FROM record_vector)",
        "UPDATE record_vector SET data = x'0000' WHERE key = (SELECT max(key) FROM record_vector)",
        "INSERT INTO record_vector VALUES ((SELECT max(key) + 1 FROM record), x'00000000')",
        "UPDATE space SET records = records + 1",
        "UPDATE space SET length = length + 1",
        "INSERT INTO record_words (record_words) VALUES ('delete-all')",
        "INSERT INTO record_words (rowid, body) VALUES ((SELECT max(key) + 1 FROM record), '1xghost')",
        "INSERT INTO message_words (message_words) VALUES ('delete-all')",
        "INSERT INTO message_words (rowid, body) VALUES ((SELECT max(key) + 1 FROM message), '1xghost')",
        "DELETE FROM message_length WHERE key = (SELECT max(key) FROM message_length)",
        "UPDATE thread SET indexed_length = indexed_length + 1",
        "DELETE FROM message WHERE key = (SELECT max(key) FROM message)",
        "UPDATE message SET body = NULL WHERE key = (SELECT max(key) FROM message)",
        "UPDATE message SET tokens = tokens + 1 WHERE key = (SELECT max(key) FROM message)",
        "UPDATE thread SET absent = absent + 1",
    ],
)
def test_damage_is_reported(path: Path, damage: str):
    connection = apsw.Connection(str(path))
    connection.execute(damage)
    connection.close()
    with SqliteBackend(path) as store:
        found = store.check()
        assert found
        assert all(isinstance(complaint, str) and complaint for complaint in found)


def test_a_damaged_page_is_reported_or_refused(path: Path):
    sound = path.read_bytes()
    reported = refused = 0
    for page in range(1, len(sound) // 4096):
        damaged = bytearray(sound)
        damaged[page * 4096 : page * 4096 + 50] = b"\xff" * 50
        path.write_bytes(damaged)
        try:
            with SqliteBackend(path) as store:
                reported += bool(store.check())
        except BackendError:
            refused += 1
    assert reported + refused == len(sound) // 4096 - 1
    assert reported > refused
