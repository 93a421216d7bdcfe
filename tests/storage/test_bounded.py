"""A folder keeps within its limits, whoever writes to it, whoever is killed, and whoever else reaches into it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from memwell.storage import bounded
from memwell.storage.bounded import BoundedFolder

NAMES = re.compile(r"[a-z0-9]+\.bin")

WRITE = """
import re, sys
from pathlib import Path
from memwell.storage.bounded import BoundedFolder
folder = BoundedFolder(Path(sys.argv[1]), re.compile(r"[a-z0-9]+[.]bin"))
print("ready", flush=True)
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}{number % 97}.bin"
    folder.put(name, name.encode() * 500, most_files=int(sys.argv[4]))
"""


def names(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir() if one.is_file()}


def opened(path: Path) -> BoundedFolder:
    return BoundedFolder(path, NAMES)


def touched(folder: Path) -> None:
    """What a stranger does takes time; here the clock is moved instead of waited for."""
    found = folder.stat()
    os.utime(folder, ns=(found.st_atime_ns, found.st_mtime_ns + 1_000_000))


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one whenever a folder is looked through."""
    counted: list[int] = []
    original = BoundedFolder._looked_through

    def counting(self: BoundedFolder) -> Any:
        counted.append(1)
        return original(self)

    monkeypatch.setattr(BoundedFolder, "_looked_through", counting)
    return counted


def writer(folder: Path, prefix: str, count: int, most: int) -> subprocess.Popen[str]:
    arguments = [str(folder), prefix, str(count), str(most)]
    return subprocess.Popen([sys.executable, "-c", WRITE, *arguments], stdout=subprocess.PIPE, text=True)


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path):
    folder = opened(tmp_path)
    for number in range(5):
        folder.put(f"{number}.bin", b"x", most_files=3)
    assert names(tmp_path) == {"2.bin", "3.bin", "4.bin"}


def test_the_oldest_go_when_they_are_too_large(tmp_path: Path):
    folder = opened(tmp_path)
    for number, size in enumerate((40, 30, 30, 50)):
        folder.put(f"{number}.bin", b"x" * size, most_bytes=100)
    assert names(tmp_path) == {"2.bin", "3.bin"}
    folder.put("huge.bin", b"x" * 101, most_bytes=100)
    assert names(tmp_path) == set()


def test_one_that_is_written_again_is_the_newest(tmp_path: Path):
    folder = opened(tmp_path)
    for name in ("a.bin", "b.bin", "a.bin", "c.bin"):
        folder.put(name, b"x", most_files=2)
    assert names(tmp_path) == {"a.bin", "c.bin"}


def test_without_limits_there_is_no_journal(tmp_path: Path):
    folder = opened(tmp_path / "new" / "folder")
    folder.put("a.bin", b"x")
    assert folder.read("a.bin") == b"x"
    assert folder.read("b.bin") is None
    assert os.listdir(folder.path / ".memwell") == []
    assert folder.drop("a.bin")
    assert not folder.drop("a.bin")


def test_files_of_other_names_neither_count_nor_go(tmp_path: Path):
    (tmp_path / "Notes.bin").write_bytes(b"x" * 1000)
    (tmp_path / "dir.bin").mkdir()
    folder = opened(tmp_path)
    for number in range(4):
        folder.put(f"{number}.bin", b"x", most_files=2, most_bytes=500)
    assert names(tmp_path) == {"Notes.bin", "2.bin", "3.bin"}
    folder.clear()
    assert names(tmp_path) == {"Notes.bin"}
    folder.put("5.bin", b"x", most_files=2)
    assert names(tmp_path) == {"Notes.bin", "5.bin"}


def test_a_folder_is_looked_through_once_and_not_for_every_file(tmp_path: Path, looks: list[int]):
    first, second = opened(tmp_path), opened(tmp_path)
    for number in range(300):
        (first if number % 2 else second).put(f"{number}.bin", b"x", most_files=100)
    second.drop("299.bin")
    first.put("300.bin", b"x", most_files=100)
    assert len(names(tmp_path)) == 100
    assert len(looks) == 1


def test_a_long_journal_is_begun_anew(tmp_path: Path, looks: list[int], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bounded, "_SHORT", 20)
    first, second = opened(tmp_path), opened(tmp_path)
    for number in range(400):
        (first if number % 2 else second).put(f"{number}.bin", b"x", most_files=10)
    assert names(tmp_path) == {f"{number}.bin" for number in range(390, 400)}
    assert (tmp_path / ".memwell" / "journal").stat().st_size < 3000
    assert 5 < len(looks) < 60


def test_what_a_stranger_adds_and_takes_is_seen(tmp_path: Path):
    folder = opened(tmp_path)
    for number in range(3):
        folder.put(f"{number}.bin", b"x", most_files=4)
    (tmp_path / "0.bin").unlink()
    (tmp_path / "a.bin").write_bytes(b"x")
    (tmp_path / "b.bin").write_bytes(b"x")
    touched(tmp_path)
    folder.put("3.bin", b"x", most_files=4)
    assert names(tmp_path) == {"2.bin", "3.bin", "a.bin", "b.bin"}


def test_what_a_stranger_wrote_anew_is_not_the_oldest(tmp_path: Path):
    folder = opened(tmp_path)
    for number in range(3):
        folder.put(f"{number}.bin", b"x", most_files=3)
    # In place: the folder itself does not change.
    with (tmp_path / "0.bin").open("r+b") as file:
        file.write(b"yy")
    later = (tmp_path / "0.bin").stat().st_mtime_ns + 1_000_000
    os.utime(tmp_path / "0.bin", ns=(later, later))
    folder.put("3.bin", b"x", most_files=3)
    assert names(tmp_path) == {"0.bin", "2.bin", "3.bin"}


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"\xff\n=\n", "cut"])
def test_a_damaged_journal_is_begun_anew(tmp_path: Path, damage: bytes | str):
    folder = opened(tmp_path)
    for number in range(4):
        folder.put(f"{number}.bin", b"x", most_files=4)
    journal = tmp_path / ".memwell" / "journal"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-9] if isinstance(damage, str) else whole[:33] + damage if damage else b"")
    for one in (folder, opened(tmp_path)):
        one.put("z.bin", b"x", most_files=4)
        one.put("y.bin", b"x", most_files=4)
    assert names(tmp_path) == {"2.bin", "3.bin", "y.bin", "z.bin"}


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path):
    folder = opened(tmp_path / "cache")
    for number in range(4):
        folder.put(f"{number}.bin", b"x", most_files=2)
    for one in sorted((tmp_path / "cache").rglob("*"), reverse=True):
        one.rmdir() if one.is_dir() else one.unlink()
    (tmp_path / "cache").rmdir()
    folder.put("a.bin", b"x", most_files=2)
    assert names(tmp_path / "cache") == {"a.bin"}


def test_threads_may_share_one(tmp_path: Path):
    folder = opened(tmp_path)
    failed: list[Exception] = []

    def work(prefix: str) -> None:
        try:
            for number in range(60):
                folder.put(f"{prefix}{number}.bin", b"x", most_files=20)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(prefix,)) for prefix in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(names(tmp_path)) == 20


def test_processes_may_share_one(tmp_path: Path):
    writers = [writer(tmp_path, prefix, 150, 40) for prefix in "abcd"]
    for one in writers:
        one.communicate(timeout=60)
    assert [one.returncode for one in writers] == [0, 0, 0, 0]
    assert len(names(tmp_path)) == 40
    assert list((tmp_path / ".memwell").glob("*.new")) == []


def test_a_kill_leaves_every_file_whole_and_the_limit_kept(tmp_path: Path):
    for round_ in range(6):
        one = writer(tmp_path, "abcdef"[round_], 100_000, 30)
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
        threading.Event().wait(0.01 * (round_ + 1))
        one.send_signal(signal.SIGKILL)
        one.communicate(timeout=60)
        for name in names(tmp_path):
            assert (tmp_path / name).read_bytes() == name.encode() * 500
        opened(tmp_path).put("last.bin", b"last.bin" * 500, most_files=30)
        assert len(names(tmp_path)) <= 30


def test_a_kill_is_noticed_even_within_one_tick_of_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder, other = opened(tmp_path), opened(tmp_path)
    for number in range(3):
        folder.put(f"{number}.bin", b"x", most_files=3)
    other.drop("none.bin")
    found = tmp_path.stat()

    def killed(self: BoundedFolder, journal: int, lines: list[str]) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BoundedFolder, "_close", killed)
        with pytest.raises(KeyboardInterrupt):
            folder.put("a.bin", b"x", most_files=3)
    os.utime(tmp_path, ns=(found.st_atime_ns, found.st_mtime_ns))
    other.put("b.bin", b"x", most_files=3)
    assert names(tmp_path) == {"2.bin", "a.bin", "b.bin"}


def test_what_a_killed_process_left_beside_is_swept_after_a_while(tmp_path: Path):
    opened(tmp_path).put("a.bin", b"x")
    own = tmp_path / ".memwell"
    (own / "old.new").write_bytes(b"half")
    os.utime(own / "old.new", (1, 1))
    (own / "young.new").write_bytes(b"half")
    opened(tmp_path).put("b.bin", b"x")
    assert os.listdir(own) == ["young.new"]


def test_what_cannot_be_put_in_leaves_nothing_behind(tmp_path: Path):
    folder = opened(tmp_path)
    folder.put("a.bin", b"x", most_files=3)
    (tmp_path / "b.bin").mkdir()
    with pytest.raises(OSError, match=r"b\.bin"):
        folder.put("b.bin", b"x", most_files=3)
    assert os.listdir(tmp_path / ".memwell") == ["journal"]
    folder.put("c.bin", b"x", most_files=1)
    assert names(tmp_path) == {"c.bin"}


class FolderBesideModel(RuleBasedStateMachine):
    """Two users of one folder and a stranger, beside a list in the order of writing."""

    @initialize(most=st.integers(1, 4))
    def begin(self, most: int) -> None:
        self.home = tempfile.TemporaryDirectory()
        self.path = Path(self.home.name)
        self.users = [opened(self.path), opened(self.path)]
        self.most = most
        self.expected: dict[str, bytes] = {}

    @rule(user=st.integers(0, 1), name=st.sampled_from("abcdefg"), data=st.binary(max_size=5))
    def put(self, user: int, name: str, data: bytes) -> None:
        self.users[user].put(f"{name}.bin", data, most_files=self.most, most_bytes=12)
        self.expected.pop(f"{name}.bin", None)
        self.expected[f"{name}.bin"] = data
        while len(self.expected) > self.most or sum(map(len, self.expected.values())) > 12:
            del self.expected[next(iter(self.expected))]

    @rule(user=st.integers(0, 1), name=st.sampled_from("abcdefg"))
    def drop(self, user: int, name: str) -> None:
        assert self.users[user].drop(f"{name}.bin") == (self.expected.pop(f"{name}.bin", None) is not None)

    @rule(user=st.integers(0, 1))
    def clear(self, user: int) -> None:
        self.users[user].clear()
        self.expected.clear()

    @rule(user=st.integers(0, 1))
    def reopen(self, user: int) -> None:
        self.users[user] = opened(self.path)

    @rule(name=st.sampled_from("abcdefg"))
    def stranger_takes(self, name: str) -> None:
        if self.expected.pop(f"{name}.bin", None) is not None:
            (self.path / f"{name}.bin").unlink()
            touched(self.path)

    @invariant()
    def what_is_there_is_what_should_be(self) -> None:
        assert {name: (self.path / name).read_bytes() for name in names(self.path)} == self.expected

    def teardown(self) -> None:
        self.home.cleanup()


FolderBesideModel.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestFolderBesideModel = FolderBesideModel.TestCase
