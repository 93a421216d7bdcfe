"""Locked files, files replaced as a whole, and bounded folders."""

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

from memwell.storage.files import BoundedFolder, locked, open_plain, replace_file
from memwell.testing.conformance.backend import in_threads

# Processes and threads take turns, and a dead one holds nobody up.


HOLD = """
import sys, time
from pathlib import Path
from memwell.storage.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_threads_take_turns(tmp_path: Path):
    file, inside, most = tmp_path / "lock", [0], [0]

    def work(_: int) -> None:
        for _ in range(50):
            with locked(file):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    in_threads(4, work)
    assert most == [1]


def test_the_lock_ends_with_the_process_that_held_it(tmp_path: Path):
    file, entered = tmp_path / "lock", threading.Event()
    with subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        def wait() -> None:
            with locked(file):
                entered.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not entered.wait(0.2)
        holder.send_signal(signal.SIGKILL)
        waiting.join(10)
        assert entered.is_set()


def test_a_child_that_was_forked_meanwhile_does_not_keep_the_lock(tmp_path: Path):
    file, (waiting, ending) = tmp_path / "lock", os.pipe()
    with locked(file):
        child = os.fork()
        if child == 0:
            os.close(ending)
            os.read(waiting, 1)
            os._exit(0)

    def take() -> None:
        with locked(file):
            pass

    taking = threading.Thread(target=take, daemon=True)
    taking.start()
    taking.join(10)
    assert not taking.is_alive()
    os.close(ending)
    assert os.waitpid(child, 0)[1] == 0


def test_a_file_deleted_while_others_waited_is_made_anew(tmp_path: Path):
    file = tmp_path / "lock"
    entered: list[bool] = []

    def wait() -> None:
        with locked(file):
            entered.append(file.exists())

    waiting = threading.Thread(target=wait)
    with locked(file):
        waiting.start()
        file.unlink()
    waiting.join(10)
    assert entered == [True]


def test_where_there_is_no_folder_there_is_no_lock(tmp_path: Path):
    with pytest.raises(FileNotFoundError), locked(tmp_path / "none" / "lock"):
        pass


def test_a_named_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none"):
        with pytest.raises(OSError, match=r"no plain file|directory|No such"):
            open_plain(path)
    (tmp_path / "file").write_bytes(b"text")
    with open_plain(tmp_path / "file") as file:
        assert file.read() == b"text"


# A file is replaced as a whole, or not at all.


def test_what_is_written_is_there_and_nothing_beside_it(tmp_path: Path):
    file = tmp_path / "a.json"
    replace_file(file, b"old")
    replace_file(file, b"new")
    assert file.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.json"]


def test_the_rights_of_the_file_stay(tmp_path: Path):
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    file.chmod(0o640)
    replace_file(file, b"new")
    assert file.stat().st_mode & 0o777 == 0o640


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path):
    file = tmp_path / "a.json"
    file.write_bytes(b"old")
    (tmp_path / "a.json.new").mkdir()
    with pytest.raises(OSError, match=r"a\.json\.new"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old"


# A bounded folder keeps within its limits. Processes and kills are tested with the cache that uses it.


NAMES = re.compile(r"[a-z0-9]+\.bin")


def names(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir() if one.is_file()}


def opened(path: Path) -> BoundedFolder:
    return BoundedFolder(path, NAMES)


def touched(folder: Path) -> None:
    """What a stranger does takes time; here the clock is moved instead of waited for."""
    found = folder.stat()
    os.utime(folder, ns=(found.st_atime_ns, found.st_mtime_ns + 1_000_000))


def test_without_limits_there_is_no_lock(tmp_path: Path):
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


def test_a_folder_is_listed_once_and_not_for_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    looks: list[int] = []
    original = BoundedFolder._listed

    def counting(self: BoundedFolder) -> Any:
        looks.append(1)
        return original(self)

    monkeypatch.setattr(BoundedFolder, "_listed", counting)
    folder = opened(tmp_path)
    for number in range(300):
        folder.put(f"{number}.bin", b"x", most_files=100)
    folder.drop("299.bin")
    folder.put("300.bin", b"x", most_files=100)
    assert len(names(tmp_path)) == 100
    assert len(looks) == 1


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


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path):
    folder = opened(tmp_path / "cache")
    for number in range(4):
        folder.put(f"{number}.bin", b"x", most_files=2)
    for one in sorted((tmp_path / "cache").rglob("*"), reverse=True):
        one.rmdir() if one.is_dir() else one.unlink()
    (tmp_path / "cache").rmdir()
    folder.put("a.bin", b"x", most_files=2)
    assert names(tmp_path / "cache") == {"a.bin"}


def test_a_kill_is_noticed_even_within_one_tick_of_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder, other = opened(tmp_path), opened(tmp_path)
    for number in range(3):
        folder.put(f"{number}.bin", b"x", most_files=3)
    other.drop("none.bin")
    found = tmp_path.stat()

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BoundedFolder, "_drop_oldest", killed)
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
    assert os.listdir(tmp_path / ".memwell") == ["lock"]
    folder.put("c.bin", b"x", most_files=1)
    assert names(tmp_path) == {"c.bin"}


class FolderAndModel(RuleBasedStateMachine):
    """Two users of one folder and another program, compared with a list in the order of writing."""

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


FolderAndModel.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestFolderAndModel = FolderAndModel.TestCase
