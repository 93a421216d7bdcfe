"""A store is made and migrated in numbered steps; what is no store, or a newer one, is refused and left as it was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memwell.errors import BackendError, ConfigurationError
from memwell.filters import AllOf, AnyOf, Filter, Not, Where
from memwell.messages import human
from memwell.records import Record, Space, Thread
from memwell.storage.sqlite import SqliteBackend, schema
from memwell.storage.sqlite.connections import Session, connect

HOME = Space("home")
TALK = Thread(HOME, "talk")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def made_by(path: Path, *statements: str) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_a_blank_file_becomes_a_store(tmp_path: Path):
    path = tmp_path / "store.db"
    path.touch()
    with SqliteBackend(path) as backend:
        backend.log.append(TALK, [human("hello")])
    connection = apsw.Connection(str(path))
    assert connection.pragma("application_id") == schema.APPLICATION_ID
    assert connection.pragma("user_version") == len(schema.MIGRATIONS)
    assert connection.pragma("journal_mode") == "wal"
    connection.close()


def test_steps_are_taken_from_any_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "store.db"
    with SqliteBackend(path) as backend:
        backend.log.append(TALK, [human("hello")])
        backend.index.upsert([Record(id="r", text="words", space=HOME, vector=[1.0, 2.0])])
    taken: list[str] = []

    def step(name: str) -> Callable[[Session], None]:
        def run(session: Session) -> None:
            taken.append(name)
            session.execute(f"CREATE TABLE {name} (x)")

        return run

    today = len(schema.MIGRATIONS)
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, step("one")])
    with SqliteBackend(path) as backend:
        assert [m.text for m in backend.log.read(TALK)] == ["hello"]
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, step("two"), step("three")])
    for _ in range(2):
        with SqliteBackend(path) as backend:
            assert [m.text for m in backend.log.read(TALK)] == ["hello"]
            assert [r.id for r in backend.index.get(HOME, ["r"])] == ["r"]
            assert backend.check() == []
    assert taken == ["one", "two", "three"]
    connection = apsw.Connection(str(path))
    assert connection.pragma("user_version") == today + 3
    connection.close()


def test_a_failed_step_leaves_the_store_at_the_step_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "store.db"
    with SqliteBackend(path) as backend:
        backend.log.append(TALK, [human("hello")])

    def half(session: Session) -> None:
        session.execute("CREATE TABLE half (x)")
        session.execute("SELECT * FROM nothing")

    today = list(schema.MIGRATIONS)
    monkeypatch.setattr(schema, "MIGRATIONS", [*today, half])
    with pytest.raises(BackendError):
        SqliteBackend(path)
    monkeypatch.setattr(schema, "MIGRATIONS", today)
    with SqliteBackend(path) as backend:
        assert [m.text for m in backend.log.read(TALK)] == ["hello"]
        assert backend.check() == []
    connection = apsw.Connection(str(path))
    assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").get == 0
    connection.close()


def test_a_step_that_only_adds_lets_the_earlier_version_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, today = tmp_path / "store.db", list(schema.MIGRATIONS)

    def add(session: Session) -> None:
        session.execute("ALTER TABLE thread ADD COLUMN colour TEXT")

    with SqliteBackend(path) as earlier:
        earlier.log.append(TALK, [human("one")])
        with monkeypatch.context() as newer:
            newer.setattr(schema, "MIGRATIONS", [*today, add])
            with SqliteBackend(path) as later:
                later.log.append(TALK, [human("two")])
                earlier.log.append(TALK, [human("three")])
                assert [m.text for m in later.log.read(TALK)] == ["one", "two", "three"]
    with SqliteBackend(path) as earlier:
        earlier.log.append(TALK, [human("four")])
        assert len(earlier.log.read(TALK)) == 4
        assert earlier.check() == []
    connection = apsw.Connection(str(path))
    assert connection.pragma("user_version") == len(today) + 1
    connection.close()


def test_a_newer_store_is_refused_and_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "store.db"
    today = list(schema.MIGRATIONS)
    monkeypatch.setattr(schema, "MIGRATIONS", [*today, lambda session: None])
    monkeypatch.setattr(schema, "USABLE_FROM", len(today) + 1)
    SqliteBackend(path).close()
    monkeypatch.setattr(schema, "MIGRATIONS", today)
    before = contents(tmp_path)
    with pytest.raises(BackendError, match="newer memwell"):
        SqliteBackend(path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("number", [-1, -(2**31)])
def test_a_number_that_no_format_has_is_refused_and_nothing_is_changed(tmp_path: Path, number: int):
    path = tmp_path / "store.db"
    SqliteBackend(path).close()
    made_by(path, f"PRAGMA user_version = {number}")
    before = contents(tmp_path)
    with pytest.raises(BackendError, match="damaged"):
        SqliteBackend(path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_foreign_sqlite_file_is_refused_and_not_touched(tmp_path: Path, journal: str):
    path = tmp_path / "photos.db"
    made_by(path, f"PRAGMA journal_mode={journal}", "CREATE TABLE photo (x)", "INSERT INTO photo VALUES (1)")
    before = contents(tmp_path)
    with pytest.raises(BackendError, match="another program"):
        SqliteBackend(path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "content", [b"just some text, and rather more than a header is long" * 40, b"x", b"\x00" * 5000]
)
def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path: Path, content: bytes):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(BackendError, match="not a SQLite file"):
        SqliteBackend(path)
    assert contents(tmp_path) == {"notes.txt": content}


def test_a_truncated_store_is_refused(tmp_path: Path):
    path = tmp_path / "store.db"
    with SqliteBackend(path) as backend:
        backend.index.upsert([Record(id=str(i), text="words " * 100, space=HOME) for i in range(200)])
    path.write_bytes(path.read_bytes()[:10_000])
    with pytest.raises(BackendError), SqliteBackend(path) as backend:
        backend.index.scan(HOME)


def test_a_folder_and_a_missing_folder_are_named(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="is a folder"):
        SqliteBackend(tmp_path)
    with pytest.raises(ConfigurationError, match="does not exist"):
        SqliteBackend(tmp_path / "missing" / "store.db")
    with pytest.raises((ConfigurationError, BackendError)):
        SqliteBackend(tmp_path / ("x" * 5000))
    assert contents(tmp_path) == {}


def test_a_copy_without_a_write_ahead_log_gets_one_again(tmp_path: Path):
    with SqliteBackend(tmp_path / "store.db") as backend:
        backend.log.append(TALK, [human("hello")])
    made_by(tmp_path / "store.db", f"VACUUM INTO '{tmp_path / 'copy.db'}'")
    made_by(tmp_path / "copy.db", "PRAGMA journal_mode=delete")
    with SqliteBackend(tmp_path / "copy.db") as backend:
        assert [m.text for m in backend.log.read(TALK)] == ["hello"]
    connection = connect(str(tmp_path / "copy.db"))
    assert connection.pragma("journal_mode") == "wal"
    connection.close()


def test_a_store_opens_while_another_process_writes_it_in_a_folder_with_odd_names(tmp_path: Path):
    folder = tmp_path / "a b%20'c\"?mode=ro#中"
    folder.mkdir()
    with SqliteBackend(folder / "store?x=1.db") as one, SqliteBackend(folder / "store?x=1.db") as other:
        one.log.append(TALK, [human("hello")])
        assert [m.text for m in other.log.read(TALK)] == ["hello"]
    assert (folder / "store?x=1.db").stat().st_size > 0


OPEN_AND_WRITE = """
import os, sys
from memwell.messages import human
from memwell.records import Space, Thread
from memwell.storage.sqlite import SqliteBackend

def work(path, text):
    with SqliteBackend(path) as backend:
        backend.log.append(Thread(Space("home"), "talk"), [human(text)])

for path in sys.argv[1:]:
    children = []
    waiting, starting = os.pipe()
    for number in range(8):
        children.append(os.fork())
        if children[-1] == 0:
            os.close(starting)
            os.read(waiting, 1)
            try:
                work(path, str(number))
                os._exit(0)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
            finally:
                os._exit(1)
    # Nobody can write to the pipe any more, so all of them go on.
    os.close(starting)
    print(*(os.waitpid(child, 0)[1] for child in children))
"""


def test_eight_processes_make_one_store_at_once(tmp_path: Path):
    paths = [tmp_path / f"{attempt}.db" for attempt in range(4)]
    command = [sys.executable, "-c", OPEN_AND_WRITE, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["0"] * 8 * len(paths), done.stderr
    for path in paths:
        with SqliteBackend(path) as backend:
            assert sorted(m.text for m in backend.log.read(TALK)) == [str(n) for n in range(8)]
            assert backend.check() == []


def test_entries_of_the_first_version_are_all_there_after_the_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path, large = tmp_path / "store.db", bytes(range(256)) * 20
    today = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", today[:1])
    with SqliteBackend(path) as backend:
        written = [backend.kv.put(HOME, f"key-{number}", {"n": number}) for number in range(50)]
        written.append(backend.kv.put(HOME, "large", large))
        written.append(backend.kv.put(Space("other"), "for an hour", "soon over", ttl=3600.0))
    monkeypatch.setattr(schema, "MIGRATIONS", today)
    with SqliteBackend(path) as backend:
        kept = backend.kv.scan(HOME, limit=100).items + backend.kv.scan(Space("other")).items
        assert sorted(kept, key=lambda entry: entry.key) == sorted(written, key=lambda entry: entry.key)
        backend.kv.put(HOME, "key-7", {"n": 8}, expect=written[7].version)
        assert backend.check() == []


def _steps(connection: apsw.Connection, node: Filter) -> int:
    taken: list[int] = []
    connection.trace_v2(
        apsw.SQLITE_TRACE_PROFILE, lambda event: taken.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])
    )
    condition = schema.compiled(node, schema.ENTRY)
    assert connection.execute(f"SELECT count(*) FROM entry WHERE {condition.sql}", condition.bindings).fetchall() == [
        (0,)
    ]
    return taken[0]


def test_a_condition_is_looked_at_only_where_those_before_it_hold():
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE entry (key TEXT, value TEXT)")
    connection.executemany("INSERT INTO entry VALUES (?, ?)", [(str(n), '{"topic":"a","kind":"b"}') for n in range(50)])
    topic = Where("topic", "eq", "no entry's")
    either = AnyOf((Where("kind", "in", ["b", "c"]), Not(Where("kind", "exists"))))
    assert _steps(connection, AllOf((topic, either))) < 1.1 * _steps(connection, topic)
