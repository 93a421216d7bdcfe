"""What can be wrong with a store is found when it is looked over."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from memwell.errors import BackendError
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage.sqlite import SqliteBackend

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
