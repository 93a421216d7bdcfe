"""No page of a store's file holds anything in its unused part."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.records import Record, Space
from memwell.storage.sqlite import SqliteBackend, zeroing
from memwell.storage.sqlite.backup import back_up
from memwell.storage.sqlite.zeroing import zeroed, zeroing_vfs

HOME = Space("home")
PAGE = 4096


def dirty(path: Path) -> list[int]:
    """The numbers of the B-tree pages with anything but zeros in the gap before their cells."""
    data, found = path.read_bytes(), list[int]()
    for offset in range(0, len(data), PAGE):
        page, start = data[offset : offset + PAGE], 0 if offset else 100
        if page[start] in (2, 5, 10, 13):
            cells, content = (int.from_bytes(page[start + n : start + n + 2]) for n in (3, 5))
            begin = start + (12 if page[start] < 8 else 8) + 2 * cells
            found += [offset // PAGE + 1] if any(page[begin:content]) else []
    return found


def crowd(store: SqliteBackend, count: int = 1_500) -> None:
    """Write and delete so that SQLite moves rows between pages."""
    lot = random.Random(7)
    for _ in range(3):
        names = [str(lot.randrange(10**9)) for _ in range(count)]
        store.index.upsert([Record(id=one, text=f"bird{one}x " * lot.randrange(1, 9), space=HOME) for one in names])
        for name in names:
            store.kv.put(HOME, name, "y" * lot.randrange(200))
        store.index.delete(HOME, names[::2])


@pytest.mark.parametrize("end", ["scrub", "close", "backup"])
def test_the_unused_part_of_every_page_is_zero(tmp_path: Path, end: str):
    path = tmp_path / "app.db"
    with SqliteBackend(path) as store:
        crowd(store)
        if end == "scrub":
            assert store.scrub()
            assert dirty(path) == []
        elif end == "backup":
            back_up(path, tmp_path / "copy.db")
            assert dirty(tmp_path / "copy.db") == []
        assert store.check() == []
    assert dirty(path) == []
    assert not list(tmp_path.glob("app.db-wal"))
    with SqliteBackend(path) as store:
        assert store.check() == []


def test_sqlite_itself_leaves_something_there(tmp_path: Path):
    # If this fails, SQLite zeroes the gap by itself now, and the VFS can go.
    path = tmp_path / "plain.db"
    plain = apsw.Connection(str(path))
    plain.execute("PRAGMA secure_delete=ON; CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT) WITHOUT ROWID").fetchall()
    lot = random.Random(7)
    with plain:
        plain.executemany(
            "INSERT INTO t VALUES (?, ?)", [(f"{lot.random()}", "y" * lot.randrange(100)) for _ in range(2_000)]
        )
    plain.close()
    assert dirty(path)


def test_a_page_is_the_same_but_for_its_gap(tmp_path: Path):
    path = tmp_path / "plain.db"
    plain = apsw.Connection(str(path), vfs=zeroing_vfs(None))
    plain.execute("CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT) WITHOUT ROWID").fetchall()
    lot, rows = random.Random(7), dict[str, str]()
    for _ in range(4):
        some = {f"{lot.random()}": "y" * lot.randrange(6_000 if lot.random() < 0.02 else 100) for _ in range(700)}
        with plain:
            plain.executemany("INSERT INTO t VALUES (?, ?)", list(some.items()))
            plain.executemany("DELETE FROM t WHERE a = ?", [(one,) for one in list(some)[::3]])
        rows |= {key: value for number, (key, value) in enumerate(some.items()) if number % 3}
    assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    plain.close()
    assert {str(a): b for a, b in apsw.Connection(str(path)).execute("SELECT a, b FROM t")} == rows
    assert dirty(path) == []


@given(st.binary(min_size=512, max_size=512), st.sampled_from([0, 512]))
def test_what_is_no_page_of_a_tree_is_written_as_it_is(data: bytes, offset: int):
    made = zeroed(data, offset)
    assert len(made) == len(data)
    if data[0 if offset else 100] not in (2, 5, 10, 13):
        assert made == data


def test_a_store_of_an_older_memwell_is_rebuilt_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "app.db"
    SqliteBackend(path).close()
    # As an older memwell has written it.
    with monkeypatch.context() as patch:
        patch.setattr("memwell.storage.sqlite.zeroing.zeroed", lambda page, offset: page)
        with SqliteBackend(path) as store:
            crowd(store)
            store._connections.write(lambda session: session.execute("DELETE FROM store WHERE name = 'zeroed'"))
    assert dirty(path)
    with SqliteBackend(path) as store:
        held = store.facts()["records"]
        assert store.scrub()
        assert dirty(path) == []
        assert (store.facts()["records"], store.check()) == (held, [])

        def refuse() -> Any:
            raise AssertionError("rebuilt twice")

        monkeypatch.setattr(store._connections, "rebuild", refuse)
        assert store.scrub()


READ = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN; SELECT count(*) FROM record").fetchall()
print("reading", flush=True)
sys.stdin.read()
"""


def test_a_reader_of_another_process_delays_it_and_the_store_says_so(tmp_path: Path):
    path = tmp_path / "app.db"
    with SqliteBackend(path) as store:
        store.index.upsert([Record(id="a", text="the bird sings", space=HOME)])
        command = [sys.executable, "-c", READ, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == "reading\n"
            store.index.delete(HOME, ["a"])
            assert not store.scrub()
            reader.communicate()
        assert store.scrub()
        assert not [file for file in tmp_path.iterdir() if b"bird" in file.read_bytes()]


def test_a_file_that_is_too_large_to_be_zeroed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(zeroing, "_MOST_PAGES", 10)
    with SqliteBackend(tmp_path / "app.db") as store:
        crowd(store, 200)
        assert store.scrub()
    assert "the file is over 64 GiB" in caplog.text
    assert dirty(tmp_path / "app.db")
