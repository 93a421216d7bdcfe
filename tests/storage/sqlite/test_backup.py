"""A backup holds what was acknowledged, is whole or not there, and comes back only when it is what was written."""

from __future__ import annotations

import hashlib
import re
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memwell
from memwell.errors import FileError, InvalidInput
from memwell.messages import human
from memwell.models.scripted import HashEmbedder
from memwell.records import Space, Thread
from memwell.storage import open_backend
from memwell.storage.files import replace_file
from memwell.storage.sqlite.backup import BackupRefused, back_up, identity_of, is_in_use, restore
from memwell.testing.conformance.backend import in_threads

SPACE = Space("acme", "ann")
TEA = Thread(SPACE, "tea")

BACK_UP_SLOWLY = """
import sys, time
from pathlib import Path
from memwell.storage.sqlite import backup
backup._PAGES_A_STEP = 5
def crawl(done, total):
    print(done, flush=True)
    time.sleep(0.05)
backup.back_up(Path(sys.argv[1]), Path(sys.argv[2]), progress=crawl)
"""

BACK_UP_ON_A_SMALL_DISK = """
import resource, sys
from pathlib import Path
from memwell.errors import FileError
from memwell.storage.sqlite.backup import back_up, restore
most = int(sys.argv[4])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
work = {"back_up": back_up, "restore": lambda source, store: restore(source, store, force=True)}[sys.argv[1]]
try:
    work(Path(sys.argv[2]), Path(sys.argv[3]))
except FileError as error:
    print(error)
    sys.exit(7)
"""

HOLD = """
import sys, time
from memwell.storage import open_backend
from memwell.records import Space
with open_backend(sys.argv[1]) as store:
    store.kv.get(Space("acme"), "anything")
    print("held", flush=True)
    time.sleep(60)
"""


def filled(path: Path, count: int = 50) -> Path:
    with open_backend(path) as store:
        for number in range(count):
            store.log.append(TEA, [human(f"message {number} 绿茶 " + "x" * 500)])
        store.kv.put(SPACE, "key", {"likes": "tea"})
        store.blobs.put(SPACE, b"\x00picture" * 1_000)
    return path


def texts(path: Path) -> list[str]:
    with open_backend(path) as store:
        assert store.check() == []
        page = store.log.read(TEA)
        return [one.text for one in page]


def files(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir()}


def damage(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at % len(data)] ^= 0xFF
    file.write_bytes(data)


def test_what_was_acknowledged_before_is_in_it_while_four_threads_append(tmp_path: Path):
    store, acknowledged, stop = tmp_path / "app.db", [0] * 4, threading.Event()
    filled(store)
    with open_backend(store) as backend:

        def append(number: int) -> None:
            while not stop.is_set():
                backend.log.append(Thread(SPACE, f"thread {number}"), [human(f"{acknowledged[number]} " + "y" * 300)])
                acknowledged[number] += 1

        threads = [threading.Thread(target=append, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(3):
                before = list(acknowledged)
                made = back_up(store, tmp_path / "copy.db")
                assert made.counts["messages"] >= 50 + sum(before)
                brought = restore(made.path, tmp_path / f"{made.digest}.db")
                with open_backend(brought.path) as again:
                    assert again.check() == []
                    for number in range(4):
                        kept = [one.text.split()[0] for one in again.log.read(Thread(SPACE, f"thread {number}"))]
                        assert kept[: before[number]] == [str(one) for one in range(before[number])]
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert backend.check() == []
    assert min(acknowledged) > 0


def test_it_is_of_one_moment_though_others_write_between_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store, told = filled(tmp_path / "app.db"), []
    monkeypatch.setattr("memwell.storage.sqlite.backup._PAGES_A_STEP", 5)
    with open_backend(store) as backend:

        def write_meanwhile(done: int, total: int | None) -> None:
            told.append(done)
            if len(told) < 5:
                backend.log.append(TEA, [human("meanwhile")])

        made = back_up(store, tmp_path / "copy.db", progress=write_meanwhile)
    assert len(told) > 5
    assert told == sorted(told), "it never began anew"
    assert made.counts["messages"] == 50
    assert len(texts(store)) == 54


def test_everything_comes_back(tmp_path: Path):
    with memwell.open(tmp_path / "app.db", embedder=HashEmbedder(64)) as memory:
        memory.remember(["Ann is allergic to peanuts.", "我们六月去京都。"])
        memory.flush()
        memory.backend.kv.put(SPACE, "key", b"bytes")
        digest = memory.backend.blobs.put(SPACE, b"a picture")
        made = back_up(tmp_path / "app.db", tmp_path / "copy.db")
    done = restore(made.path, tmp_path / "elsewhere.db")
    assert (done.compared, done.aside, done.counts) == (True, None, made.counts)
    with memwell.open(tmp_path / "elsewhere.db", embedder=HashEmbedder(64)) as again:
        assert again.recall("peanuts")[0].text == "Ann is allergic to peanuts."
        assert again.recall("京都")[0].text == "我们六月去京都。"
        entry = again.backend.kv.get(SPACE, "key")
        assert entry is not None
        assert entry.value == b"bytes"
        assert again.backend.blobs.get(SPACE, digest) == b"a picture"


def test_the_digest_is_as_sha256sum_reads_it_and_only_the_owner_may_read(tmp_path: Path):
    made = back_up(filled(tmp_path / "app.db"), tmp_path / "copy.db")
    assert made.digest == hashlib.sha256(made.path.read_bytes()).hexdigest()
    assert (tmp_path / "copy.db.sha256").read_text() == f"{made.digest}  copy.db\n"
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert files(tmp_path) == {"app.db", "copy.db", "copy.db.sha256"}


def test_progress_goes_to_its_end(tmp_path: Path):
    told: list[tuple[int, int | None]] = []
    made = back_up(filled(tmp_path / "app.db"), tmp_path / "copy.db", progress=lambda *one: told.append(one))
    assert told[-1] == (made.size, made.size)


def test_killed_in_the_middle_it_leaves_the_former_whole_and_the_next_one_works(tmp_path: Path):
    store = filled(tmp_path / "app.db")
    former = back_up(store, tmp_path / "copy.db")
    filled(store, 100)
    command = [sys.executable, "-c", BACK_UP_SLOWLY, str(store), str(former.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    assert "copy.db.partial" in files(tmp_path), "it was killed in the middle"
    assert hashlib.sha256(former.path.read_bytes()).hexdigest() == former.digest
    assert restore(former.path, tmp_path / "again.db").compared
    assert len(texts(tmp_path / "again.db")) == 50
    assert back_up(store, former.path).counts["messages"] == 150
    assert "copy.db.partial" not in files(tmp_path)


@pytest.mark.parametrize(("calls", "messages"), [(1, 50), (2, 51)], ids=["before the name", "after the name"])
def test_interrupted_at_the_name_either_backup_still_has_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int, messages: int
):
    store = filled(tmp_path / "app.db")
    copy = back_up(store, tmp_path / "copy.db").path
    filled(store, 1)
    left = [calls]

    def interrupted(path: Path, data: bytes) -> None:
        left[0] -= 1
        if calls == 1 or left[0]:
            replace_file(path, data)
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr("memwell.storage.sqlite.backup.replace_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        back_up(store, copy)
    done = restore(copy, tmp_path / "again.db")
    assert (done.compared, done.counts["messages"]) == (True, messages)


def test_a_full_disk_leaves_nothing_half(tmp_path: Path):
    store = filled(tmp_path / "app.db")
    former = back_up(store, tmp_path / "copy.db")
    filled(store, 400)
    before = files(tmp_path)
    for work, source, to in (
        ("back_up", store, former.path),
        ("restore", back_up(store, tmp_path / "big.db").path, store),
    ):
        content = to.read_bytes()
        command = [sys.executable, "-c", BACK_UP_ON_A_SMALL_DISK, work, str(source), str(to), "100000"]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (run.returncode, run.stderr) == (7, "")
        assert "cannot be written" in run.stdout
        assert to.read_bytes() == content
    assert files(tmp_path) == before | {"big.db", "big.db.sha256"}
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 100_000


def refusal(source: Path, store: Path) -> str | None:
    try:
        restore(source, store, force=True)
    except BackupRefused as refused:
        return refused.code
    return None


@given(at=st.integers(0, 10**9), compared=st.booleans())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_backup_never_takes_the_place_of_a_store(tmp_path: Path, at: int, compared: bool):
    store = tmp_path / "app.db"
    if not store.exists():
        filled(store)
    content = store.read_bytes()
    made = back_up(store, tmp_path / "copy.db")
    damage(made.path, at)
    if not compared:
        (tmp_path / "copy.db.sha256").unlink()
    code = refusal(made.path, store)
    assert code in {"wrong-digest", "not-a-backup", "damaged", None}
    # A byte that no check of SQLite's covers, such as one inside a text: only the digest tells.
    assert code is not None or not compared
    assert code is None or store.read_bytes() == content
    store.write_bytes(content)
    made.path.unlink()


def test_a_cut_backup_without_a_digest_is_refused(tmp_path: Path):
    store = filled(tmp_path / "app.db")
    made = back_up(store, tmp_path / "copy.db")
    (tmp_path / "copy.db.sha256").unlink()
    with made.path.open("rb+") as file:
        file.truncate(made.size // 2)
    with pytest.raises(BackupRefused, match="damaged"):
        restore(made.path, tmp_path / "new.db")
    assert files(tmp_path) == {"app.db", "copy.db"}
    assert len(texts(store)) == 50


def test_a_store_is_moved_aside_with_all_that_lies_beside_it(tmp_path: Path):
    store = filled(tmp_path / "app.db")
    made = back_up(store, tmp_path / "copy.db")
    filled(store, 1)
    (tmp_path / "app.db-hnsw").mkdir()
    (tmp_path / "app.db-hnsw" / "1-2.usearch").write_bytes(b"a graph")
    store.chmod(0o640)
    with pytest.raises(BackupRefused, match="exists") as refused:
        restore(made.path, store)
    assert refused.value.code == "exists"
    done = restore(made.path, store, force=True)
    assert done.aside is not None
    assert re.fullmatch(r"app\.db\.before-restore-\d{8}T\d{6}Z", done.aside.name)
    assert not (tmp_path / "app.db-hnsw").exists()
    assert (tmp_path / f"{done.aside.name}-hnsw" / "1-2.usearch").read_bytes() == b"a graph"
    assert store.stat().st_mode & 0o777 == 0o640
    assert (len(texts(store)), len(texts(done.aside))) == (50, 51)


def test_a_log_left_behind_is_never_read_as_the_new_store_s(tmp_path: Path):
    store = filled(tmp_path / "app.db")
    made = back_up(store, tmp_path / "copy.db")
    with open_backend(store) as backend:
        backend.log.append(TEA, [human("only in the log")])
        left = {ending: Path(f"{store}{ending}").read_bytes() for ending in ("-wal", "-shm")}
    store.unlink()
    for ending, data in left.items():
        Path(f"{store}{ending}").write_bytes(data)
    done = restore(made.path, store)
    assert done.aside is not None
    assert len(texts(store)) == 50
    assert Path(f"{done.aside}-wal").read_bytes() == left["-wal"]


def test_a_damaged_store_can_be_replaced(tmp_path: Path):
    store = filled(tmp_path / "app.db")
    made = back_up(store, tmp_path / "copy.db")
    store.write_bytes(b"\x00" * 4096)
    done = restore(made.path, store, force=True)
    assert done.aside is not None
    assert done.aside.read_bytes() == b"\x00" * 4096
    assert len(texts(store)) == 50


def test_a_store_in_use_is_left_alone(tmp_path: Path):
    store = filled(tmp_path / "app.db")
    made = back_up(store, tmp_path / "copy.db")
    with subprocess.Popen([sys.executable, "-c", HOLD, str(store)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_in_use(store)
        with pytest.raises(BackupRefused, match="in use"):
            restore(made.path, store, force=True)
        holder.kill()
    assert not is_in_use(store)
    assert restore(made.path, store, force=True).aside is not None


def test_only_older_backups_of_the_same_store_are_removed(tmp_path: Path):
    folder = tmp_path / "backups"
    folder.mkdir()
    (tmp_path / "other").mkdir()
    theirs = back_up(filled(tmp_path / "other" / "app.db", 1), folder).path
    note = folder / "app-20260101T000000Z.db"
    note.write_text("a note")
    store = filled(tmp_path / "app.db", 1)
    made = [back_up(store, folder, keep=2) for _ in range(4)]
    assert [len(one.removed) for one in made] == [0, 0, 1, 1]
    assert all(re.fullmatch(r"app-\d{8}T\d{6}Z(-\d+)?\.db", one.path.name) for one in made)
    kept = {made[2].path, made[3].path, theirs, note}
    assert {one for one in folder.iterdir() if one.suffix == ".db"} == kept
    assert {one.name for one in folder.glob("*.sha256")} == {f"{one.name}.sha256" for one in kept - {note}}


def test_nothing_but_a_backup_of_this_store_is_written_over(tmp_path: Path):
    store = filled(tmp_path / "app.db", 1)
    note = tmp_path / "note.txt"
    note.write_text("mine")
    other = filled(tmp_path / "other.db", 1)
    restored = restore(back_up(store, tmp_path / "copy.db").path, tmp_path / "again.db").path
    assert identity_of(restored) == identity_of(store) != identity_of(other)
    for target, code in (
        (note, "foreign-file"),
        (other, "foreign-file"),
        (restored, "foreign-file"),
        (store, "same-file"),
    ):
        content = target.read_bytes()
        with pytest.raises(BackupRefused) as refused:
            back_up(store, target)
        assert refused.value.code == code
        assert target.read_bytes() == content


def test_what_is_no_backup_is_refused(tmp_path: Path):
    note = tmp_path / "note.txt"
    note.write_text("no store")
    with pytest.raises(BackupRefused) as refused:
        restore(note, tmp_path / "app.db")
    assert refused.value.code == "not-a-backup"
    store = filled(tmp_path / "live.db", 1)
    with open_backend(store) as backend:
        backend.kv.put(SPACE, "new", 1)
        with pytest.raises(BackupRefused) as refused:
            restore(store, tmp_path / "app.db")
    assert refused.value.code == "has-log"
    with pytest.raises(FileNotFoundError):
        restore(tmp_path / "nothing", tmp_path / "app.db")
    assert not (tmp_path / "app.db").exists()


def test_a_wrong_place_or_count_is_refused(tmp_path: Path):
    store = filled(tmp_path / "app.db", 1)
    with pytest.raises(FileError, match="cannot be written"):
        back_up(store, tmp_path / "no" / "copy.db")
    for to, keep in ((tmp_path, 0), (tmp_path / "copy.db", 1)):
        with pytest.raises(InvalidInput):
            back_up(store, to, keep=keep)
    assert files(tmp_path) == {"app.db"}


def test_two_at_once_to_one_name_take_turns(tmp_path: Path):
    store = filled(tmp_path / "app.db")
    in_threads(3, lambda _: back_up(store, tmp_path / "copy.db"))
    assert restore(tmp_path / "copy.db", tmp_path / "again.db").compared
    assert files(tmp_path) == {"app.db", "again.db", "copy.db", "copy.db.sha256"}
