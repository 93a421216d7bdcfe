"""A process that ends while threads are inside C++ libraries ends as it was asked to, and not by an abort."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from memwell._native import NativeCalls

WAIT_S = 30

EMBEDDING = """
import threading
from memwell.models.local import LocalEmbedder

embedder, begun = LocalEmbedder(), threading.Event()

def embed():
    while True:
        embedder.embed(["We took the night train over the mountains. " * 30])
        begun.set()

for _ in range(2):
    threading.Thread(target=embed, daemon=True).start()
begun.wait()
"""

REMEMBERING = """
import memwell

memory = memwell.open("app.db")
memory.recall("loads the models")
memory.remember([f"{number} {'We took the night train over the mountains. ' * 20}" for number in range(200)])
"""

SEARCHING = """
import threading
import numpy as np
from memwell.storage.sqlite.vectors import GraphView, Matrix, build_index

rows = np.random.default_rng(0).normal(size=(600, 256)).astype("<f2")
view = GraphView(build_index([(key, row.tobytes()) for key, row in enumerate(rows)], 256, bool), frozenset(),
                 Matrix(256, 0).view())
begun = threading.Event()

def search():
    while True:
        view.candidates(rows[0].astype(np.float32), 100, None)
        build_index([(key, row.tobytes()) for key, row in enumerate(rows[:100])], 256, bool)
        begun.set()

for _ in range(2):
    threading.Thread(target=search, daemon=True).start()
begun.wait()
"""


@pytest.mark.parametrize("script", [EMBEDDING, REMEMBERING, SEARCHING], ids=["embedding", "remembering", "searching"])
def test_a_process_that_ends_during_a_call_ends_well(script: str, tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def in_thread(calls: NativeCalls) -> tuple[threading.Thread, threading.Event, threading.Event]:
    """A thread inside a call, which it leaves when the second event is set."""
    entered, leave = threading.Event(), threading.Event()

    def call() -> None:
        with suppress(SystemExit), calls:
            entered.set()
            leave.wait(WAIT_S)

    thread = threading.Thread(target=call)
    thread.start()
    return thread, entered, leave


def test_the_end_waits_for_calls_under_way_and_lets_none_begin():
    calls = NativeCalls()
    thread, entered, leave = in_thread(calls)
    assert entered.wait(WAIT_S)
    ending = threading.Thread(target=calls.end)
    ending.start()
    ending.join(0.05)
    assert ending.is_alive()
    leave.set()
    ending.join(WAIT_S)
    thread.join(WAIT_S)
    assert not ending.is_alive()
    late, entered, _ = in_thread(calls)
    late.join(WAIT_S)
    assert not entered.is_set()
    with calls:
        assert threading.current_thread() is threading.main_thread(), "the main thread may go on"


def test_a_call_that_fails_is_over():
    calls = NativeCalls()
    with pytest.raises(ZeroDivisionError), calls:
        raise ZeroDivisionError
    calls.end()
    assert calls._under_way == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_does_not_wait_for_threads_it_does_not_have():
    script = """
import os, threading, warnings
from memwell._native import native_calls

warnings.simplefilter("ignore", DeprecationWarning)
entered = threading.Event()

def call():
    with native_calls:
        entered.set()
        threading.Event().wait()

threading.Thread(target=call, daemon=True).start()
entered.wait()
child = os.fork()
if child == 0:
    native_calls.end()
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
os._exit(0)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_abort_would_be_seen():
    ended = subprocess.run([sys.executable, "-c", "import os; os.abort()"], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGABRT
