"""SQLite index: a few records are got without reading all, and nothing in a cache outlives an erasure."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from memwell.longterm.snapshot_cache import Snapshots
from memwell.records import Record, Space
from memwell.settings import Settings
from memwell.storage.protocols import split_state
from memwell.storage.sqlite import SqliteBackend, index
from memwell.storage.sqlite.backup import back_up, restore

HOME, AWAY = Space("home"), Space("away")


def test_records_are_got_by_their_ids_without_reading_the_others(tmp_path: Path):
    asked: list[tuple[str, Any]] = []
    with SqliteBackend(tmp_path / "store.db") as backend:
        backend.index.upsert([Record(id=str(n), text="word", space=HOME) for n in range(20)])
        backend.index.get(HOME, ["3"])
        [session] = backend._connections._readers
        session.connection.exec_trace = lambda cursor, sql, bindings: asked.append((sql, bindings)) or True
        assert [record.id for record in backend.index.get(HOME, ["3", "7"])] == ["3", "7"]
        session.connection.exec_trace = None
        [(sql, bindings)] = asked
        plan = [str(row[3]) for row in session.rows(f"EXPLAIN QUERY PLAN {sql}", bindings)]
    assert any("record_id" in step for step in plan)
    assert not any(step.startswith("SCAN record") for step in plan)


# Caches next to the store: only the one that the store names is read, and nothing in them outlives an erasure.


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteBackend]:
    backend = SqliteBackend(tmp_path / "app.db")
    fill(backend, "a", "b")
    yield backend
    backend.close()


def fill(store: SqliteBackend, *ids: str, space: Space = HOME) -> int:
    """Store records; how many changes the space has had then."""
    store.index.upsert([Record(text=f"text of {id_}", id=id_, space=space) for id_ in ids])
    return split_state(store.index.info(space).state)[0]


def keep(store: SqliteBackend, data: bytes, *, space: Space = HOME, state: int | None = None) -> bool:
    state = store.index.info(space).state if state is None else state
    return store.index.keep_cache(space, state, [data[:1], memoryview(data[1:])])


def kept(store: SqliteBackend, space: Space = HOME) -> tuple[int, bytes] | None:
    found = store.index.kept_cache(space)
    return None if found is None else (split_state(found.state)[0], bytes(found.data))


def files(store: SqliteBackend) -> list[Path]:
    return sorted(Path(f"{store.path}-cache").glob("*"))


def test_the_latest_cache_of_each_space_is_kept(store: SqliteBackend) -> None:
    away = fill(store, "x", space=AWAY)
    assert kept(store) is None
    assert keep(store, b"first")
    assert keep(store, b"second")
    assert keep(store, b"of another", space=AWAY)
    assert kept(store) == (2, b"second")
    assert kept(store, AWAY) == (away, b"of another")
    assert len(files(store)) == 2
    assert store.facts()["bytes"]["caches"] == len(b"secondof another")
    with SqliteBackend(store.path) as other:
        assert kept(other) == (2, b"second")


@pytest.mark.parametrize("mapped_from", [0, 2**20], ids=["mapped", "read"])
def test_a_change_of_what_was_read_does_not_reach_the_file(
    store: SqliteBackend, mapped_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_MAPPED_FROM", mapped_from)
    keep(store, b"first")
    found = store.index.kept_cache(HOME)
    assert found is not None
    memoryview(found.data)[0] = ord("F")
    assert kept(store) == (2, b"first")
    keep(store, b"second")
    assert bytes(found.data) == b"First"


def test_what_was_stored_since_leaves_it_and_a_deletion_does_not(store: SqliteBackend) -> None:
    keep(store, b"first")
    fill(store, "a", "c")
    store.scrub()
    assert kept(store) == (2, b"first")
    fill(store, "x", space=AWAY)
    store.index.delete(AWAY, ["x"])
    store.scrub()
    assert kept(store) == (2, b"first")
    store.index.delete(HOME, ["a"])
    store.seal("moved: to another place")
    store.scrub()
    assert kept(store) is None
    assert files(store) == []


def test_a_cache_from_before_a_deletion_is_not_kept(store: SqliteBackend) -> None:
    before = store.index.info(HOME).state
    store.index.delete(HOME, ["a"])
    assert not keep(store, b"late", state=before)
    assert files(store) == []


def test_a_deletion_while_the_cache_is_written_takes_it_away(store: SqliteBackend) -> None:
    def parts() -> Iterator[bytes]:
        yield b"text of a"
        with SqliteBackend(store.path) as other:
            other.index.delete(HOME, ["a"])
            other.scrub()
        assert files(store) == []

    assert not store.index.keep_cache(HOME, store.index.info(HOME).state, parts())
    assert files(store) == []


def test_a_cache_that_fails_while_it_is_made_leaves_nothing(store: SqliteBackend) -> None:
    def parts() -> Iterator[bytes]:
        yield b"text"
        raise OSError("no space left")

    keep(store, b"first")
    assert not store.index.keep_cache(HOME, 2, parts())
    assert kept(store) == (2, b"first")
    assert len(files(store)) == 1


def test_the_file_of_a_process_that_died_goes_with_the_next_erasure(store: SqliteBackend) -> None:
    keep(store, b"first")
    left = Path(f"{store.path}-cache") / "dead.cache"
    left.write_bytes(b"text of a")
    keep(store, b"second")
    assert left.exists(), "another process may still be writing it"
    store.scrub()
    assert not left.exists()
    assert kept(store) == (2, b"second")


def test_a_missing_file_and_a_state_that_is_no_longer_known_are_no_cache(tmp_path: Path) -> None:
    with SqliteBackend(tmp_path / "app.db", settings=Settings(kept_changes=4)) as store:
        keep(store, b"nothing to keep")
        assert kept(store) is None
        fill(store, "a")
        keep(store, b"first")
        for number in range(12):
            fill(store, f"r{number}")
        assert kept(store) is None
        keep(store, b"second")
        for file in files(store):
            file.unlink()
        assert kept(store) is None


def test_a_restored_backup_does_not_use_the_cache_of_its_future(store: SqliteBackend, tmp_path: Path) -> None:
    back_up(store.path, tmp_path / "backup.db")
    fill(store, "later")
    keep(store, b"of the future")
    place = store.path
    store.close()
    folder = {file.name: file.read_bytes() for file in files(store)}
    restore(tmp_path / "backup.db", place, force=True)
    assert not Path(f"{place}-cache").exists()
    # Someone puts the folder back by hand.
    Path(f"{place}-cache").mkdir()
    for name, data in folder.items():
        (Path(f"{place}-cache") / name).write_bytes(data)
    with SqliteBackend(place) as again:
        fill(again, "other", "others")
        assert kept(again) is None


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_the_files_may_be_read_by_those_who_may_read_the_store(store: SqliteBackend, mode: int) -> None:
    store.path.chmod(mode)
    keep(store, b"first")
    [file] = files(store)
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert stat.S_IMODE(file.parent.stat().st_mode) == {0o600: 0o700, 0o640: 0o750}[mode]


def test_a_store_that_cannot_be_written_gets_none(store: SqliteBackend, tmp_path: Path) -> None:
    Path(f"{store.path}-cache").write_text("a file where the folder should be")
    assert not keep(store, b"first")
    assert kept(store) is None


# A file that is replaced by an older copy: others get the numbers of the changes that were lost.


def put_back(copy: Path, place: Path) -> None:
    """Replace what a file holds by an older copy, as other programs do while it is open."""
    live, old = apsw.Connection(str(place)), apsw.Connection(str(copy))
    with live.backup("main", old, "main") as copying:
        copying.step()
    live.close()
    old.close()


def pointing(id_: str) -> Record:
    return Record(text=f"text of {id_}", id=id_, space=HOME, vector=[1.0, float(len(id_))])


@pytest.mark.parametrize("fresh", [[], ["new"], ["new", "newer"]], ids=["fewer", "as many", "more"])
def test_a_running_process_notices_that_its_file_was_replaced_by_an_older_copy(
    tmp_path: Path, fresh: list[str]
) -> None:
    place = tmp_path / "app.db"
    with SqliteBackend(place) as store:
        store.index.upsert([pointing("a"), pointing("b")])
        back_up(store.path, tmp_path / "backup.db")
        store.index.upsert([pointing("lost")])
        snapshots, state = Snapshots(store.index), store.index.info(HOME).state
        with snapshots.of(HOME) as held:
            assert len(held.snapshot) == 3
            assert "lost" in held.snapshot
        assert len(store.index.near(HOME, [1.0, 0.0])) == 3
        assert not store.index.changes(HOME, state).whole
        put_back(tmp_path / "backup.db", place)
        with SqliteBackend(place) as other:
            other.index.upsert([pointing(id_) for id_ in fresh])
        assert store.index.changes(HOME, state).whole
        with snapshots.of(HOME) as held:
            assert len(held.snapshot) == 2 + len(fresh)
            assert all(id_ in held.snapshot for id_ in ("a", "b", *fresh))
        assert {hit.record.id for hit in store.index.near(HOME, [1.0, 0.0])} == {"a", "b", *fresh}
        assert not keep(store, b"of the lost one", state=state)


def test_another_process_does_not_follow_a_lost_history(tmp_path: Path) -> None:
    place, kept_file = tmp_path / "app.db", tmp_path / "copy.db"
    with SqliteBackend(place) as store:
        fill(store, "a")
        back_up(store.path, kept_file)
        fill(store, "lost")
        state = store.index.info(HOME).state
    place.unlink()
    restore(kept_file, place, force=True)
    with SqliteBackend(place) as store:
        fill(store, "other", "further")
        assert store.index.changes(HOME, state).whole
        assert not store.index.changes(HOME, store.index.info(HOME).state).whole
