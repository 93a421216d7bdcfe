"""Processes and threads take turns, and a dead one holds nobody up."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memwell.storage.locking import locked

HOLD = """
import sys, time
from pathlib import Path
from memwell.storage.locking import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_threads_take_turns(tmp_path: Path):
    file, inside, most = tmp_path / "lock", [0], [0]

    def work() -> None:
        for _ in range(50):
            with locked(file):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
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
