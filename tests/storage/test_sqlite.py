"""The SQLite backend keeps every promise."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from memwell.errors import BackendError, ConfigurationError
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage.sqlite import SqliteBackend, connections
from memwell.storage.sqlite.backup import back_up
from memwell.storage.sqlite.connections import connect, has_checksums
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
    connection = connect(str(path))
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


def test_every_flipped_bit_after_the_first_page_is_noticed(path: Path):
    sound, dice, unnoticed = path.read_bytes(), random.Random(3), list[int]()
    for _ in range(60):
        # The first page has the schema, whose comments may change; and a wrong checksum of it turns the others off.
        damaged, place = bytearray(sound), dice.randrange(4096 * 8, len(sound) * 8)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with suppress(BackendError), SqliteBackend(path) as store:
            if not store.check():
                unnoticed.append(place // 8)
    assert unnoticed == []


def test_reading_a_damaged_page_says_so(path: Path):
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(b"word4")] ^= 1
    path.write_bytes(damaged)
    with SqliteBackend(path) as store, pytest.raises(BackendError, match="a page is not as it was written"):
        _ = store.log.read(TALK), store.index.get(HOME, ["4"])


def test_a_damaged_store_says_why_and_how_to_rescue_it(tmp_path: Path):
    path, blob = tmp_path / "app.db", b"a blob of many pages" * 2000
    with SqliteBackend(path) as store:
        store.blobs.put(HOME, blob)
        assert store.facts()["checksums"] is True
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(b"many pages")] ^= 1
    path.write_bytes(damaged)
    with SqliteBackend(path) as store, pytest.raises(BackendError, match=r"VACUUM INTO 'rescued\.db'"):
        store._connections.snapshot(lambda session: session.rows("SELECT * FROM blob"))
    with pytest.raises(BackendError, match=r"VACUUM INTO 'rescued\.db'"):
        back_up(path, tmp_path / "copy.db")
    with closing(sqlite3.connect(path)) as plain:
        plain.execute("VACUUM INTO ?", [str(tmp_path / "rescued.db")])
    with SqliteBackend(tmp_path / "rescued.db") as rescued:
        assert rescued.facts()["checksums"] is False
        [(read,)] = rescued._connections.read(lambda session: session.rows("SELECT data FROM blob"))
    assert len(read) == len(blob)


def test_a_store_without_checksums_is_used_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    with monkeypatch.context() as patch:
        patch.setattr(connections, "_checksum_vfs", lambda: None)
        with SqliteBackend(old) as store:
            store.kv.put(Space("home"), "key", 1)
    with SqliteBackend(old) as store, SqliteBackend(new) as other:
        store.kv.put(Space("home"), "key", 2)
        other.kv.put(Space("home"), "key", 2)
        assert store.check() == other.check() == []
    assert (old.read_bytes()[20], new.read_bytes()[20]) == (0, 8)
    back_up(old, tmp_path / "old-copy.db")
    back_up(new, tmp_path / "new-copy.db")
    for name in ("old-copy.db", "new-copy.db"):
        with SqliteBackend(tmp_path / name) as copy:
            assert copy.check() == []
    assert has_checksums(tmp_path / "new-copy.db")
    # Another program has made this copy, and wrote no checksums.
    plain = apsw.Connection(str(new))
    plain.execute(f"VACUUM INTO '{tmp_path / 'foreign.db'}'")
    plain.close()
    assert not has_checksums(tmp_path / "foreign.db")
    with SqliteBackend(tmp_path / "foreign.db") as copy:
        copy.kv.put(Space("home"), "key", 3)
        assert copy.check() == []
    monkeypatch.setattr(connections, "_checksum_vfs", lambda: None)
    with pytest.raises(ConfigurationError, match="install apsw-sqlite3mc from PyPI"):
        SqliteBackend(new)


def test_only_the_owner_may_read_a_store_and_the_files_next_to_it(tmp_path: Path):
    before = os.umask(0o022)
    try:
        with SqliteBackend(tmp_path / "a.db") as store:
            store.kv.put(HOME, "key", 1)
            modes = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("a.db", "a.db-wal", "a.db-log", "a.db-shm"), 0o600)


def test_no_erased_word_is_left_in_the_free_space_of_a_page(tmp_path: Path):
    texts = {str(number): f"The canary{number:05d}x sings at {number} o'clock." for number in range(1_000)}
    with SqliteBackend(tmp_path / "store.db") as store:
        store.index.upsert([Record(id=id_, text=text, space=HOME) for id_, text in texts.items()])
        store.index.upsert([Record(id="kept", text="bees", space=HOME)])
        for start in range(0, 1_000, 100):
            store.index.delete(HOME, list(texts)[start : start + 100])
        store.scrub()
        content = (tmp_path / "store.db").read_bytes()
        assert [text for text in texts.values() if text.split()[1].encode() in content] == []
