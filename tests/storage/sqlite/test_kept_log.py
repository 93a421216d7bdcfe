"""Other programs that read a store and close it last, after memwell was killed or while it was closed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from memwell.errors import BackendError
from memwell.records import Record, Space
from memwell.storage.sqlite import SqliteBackend
from memwell.storage.sqlite.backup import back_up
from memwell.storage.sqlite.connections import has_checksums

HOME = Space("home")

_WRITES = """
import os, signal, sys
from memwell.records import Record, Space
from memwell.storage.sqlite import SqliteBackend
store, home = SqliteBackend(sys.argv[1]), Space("home")
for number in range(60):
    store.index.upsert([Record(space=home, id=f"{sys.argv[2]}{number}", text=f"{sys.argv[2]} number {number} sings")])
os.kill(os.getpid(), signal.SIGKILL)
"""

_READS = """
import sqlite3, sys
reading = sqlite3.connect(sys.argv[1], isolation_level=None)
reading.execute(sys.argv[2])
print(reading.execute("SELECT count(*) FROM record").fetchone()[0], flush=True)
sys.stdin.read()
reading.close()
"""


def _killed(path: Path, word: str) -> None:
    """Write records in another process, which is killed with its write-ahead log not empty."""
    ended = subprocess.run([sys.executable, "-c", _WRITES, str(path), word], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert Path(f"{path}-wal").stat().st_size


def _read_by_another(path: Path) -> int:
    """Read with Python's own SQLite in another process, which is the last to close the store."""
    with _reading(path, "SELECT 1") as count:
        pass
    assert not Path(f"{path}-wal").exists()
    return count


@contextmanager
def _reading(path: Path, first: str) -> Generator[int]:
    """Another process has the store open meanwhile; how many records it reads."""
    command = [sys.executable, "-c", _READS, str(path), first]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.communicate()
    assert process.returncode == 0


def _checked(path: Path, records: int) -> None:
    with SqliteBackend(path) as store:
        assert store.facts()["checksums"] is True
        assert (store.check(), store.index.info(HOME).records) == ([], records)
        store.index.upsert([Record(space=HOME, text="one more")])
    # By memwell itself, which compares every page that it copies.
    back_up(path, path.with_name("copy.db"))
    path.with_name("copy.db").unlink()
    assert sorted(one.name for one in path.parent.glob(f"{path.name}*")) == [path.name]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store that memwell has written and closed."""
    path = tmp_path / "app.db"
    with SqliteBackend(path) as store:
        store.index.upsert([Record(space=HOME, id=f"old{number}", text=f"bird {number} sings") for number in range(60)])
    return path


def test_a_store_that_another_program_closed_after_a_kill_can_be_used(path: Path):
    _killed(path, "lark")
    assert _read_by_another(path) == 120
    _checked(path, 120)


def test_so_can_one_that_was_made_before_the_kill_and_one_where_that_happens_again(tmp_path: Path):
    path = tmp_path / "app.db"
    for count, word in enumerate(("lark", "wren", "owl"), 1):
        _killed(path, word)
        assert _read_by_another(path) == 60 * count
        assert SqliteBackend(path).close() is None
        assert has_checksums(path)
    _checked(path, 180)


@pytest.mark.parametrize("first", ["BEGIN", "SELECT 1"])
def test_a_store_that_memwell_closed_while_another_program_had_it_open_can_be_used(path: Path, first: str):
    with _reading(path, first) as count, SqliteBackend(path) as store:
        assert count == 60
        store.index.upsert([Record(space=HOME, id=f"new{number}", text=f"owl {number}") for number in range(60)])
    assert not Path(f"{path}-wal").exists()
    _checked(path, 120)


def test_what_no_reader_needs_is_copied_with_checksums_before_memwell_closes(path: Path):
    with _reading(path, "SELECT 1"):
        with SqliteBackend(path) as store:
            store.index.upsert([Record(space=HOME, id=f"new{number}", text=f"owl {number}") for number in range(60)])
        Path(f"{path}-log").unlink()
    _checked(path, 120)


def _noticed(path: Path) -> bool:
    try:
        with SqliteBackend(path) as store:
            return bool(store.check())
    except BackendError:
        return True


@pytest.mark.parametrize("word", [b"bird 4 sings", b"lark number 4 sings"])
def test_a_flipped_bit_is_noticed_in_pages_of_memwell_and_of_the_other_program(path: Path, word: bytes):
    _killed(path, "lark")
    _read_by_another(path)
    damaged = bytearray(path.read_bytes())
    damaged[damaged.index(word)] ^= 1
    path.write_bytes(damaged)
    assert _noticed(path)
    assert _noticed(path)


def test_a_page_that_the_other_program_changed_is_refused(path: Path):
    _killed(path, "lark")
    with closing(sqlite3.connect(path)) as changing, changing:
        changing.execute("UPDATE record SET text = replace(text, 'lark', 'crow') WHERE text LIKE 'lark%'")
    assert _noticed(path)


def test_a_log_with_a_flipped_bit_vouches_for_nothing(path: Path):
    _killed(path, "lark")
    _read_by_another(path)
    kept = Path(f"{path}-log")
    log, file = bytearray(kept.read_bytes()), bytearray(path.read_bytes())
    # The same bit in both, in the last page of the log. The first page has its checksum, so the others must have theirs.
    place = len(log) - 4096
    number = int.from_bytes(log[place - 24 : place - 20], "big")
    assert file[(number - 1) * 4096 :][:4096] == log[place:]
    log[place + 4000] ^= 1
    file[(number - 1) * 4096 + 4000] ^= 1
    kept.write_bytes(log)
    path.write_bytes(file)
    assert _noticed(path)


def test_the_second_name_of_the_log_holds_nothing_that_was_erased(path: Path):
    with SqliteBackend(path) as store:
        store.index.upsert([Record(space=HOME, id="canary", text="a canary sings")])
        assert os.path.samefile(f"{path}-wal", f"{path}-log")
        store.index.delete(HOME, ["canary"])
        assert store.scrub()
        assert all(b"canary" not in one.read_bytes() for one in path.parent.iterdir())
