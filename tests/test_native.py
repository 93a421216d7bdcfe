"""A process that ends while threads are inside C++ libraries ends as it was asked to, and not by an abort."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell._native import NativeCalls, counted_bytes, product

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


# Matrix products.

TINY = np.full(8, 1e-30, np.float32)


def test_it_is_the_product():
    rows, vector = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    assert product(rows, vector).tolist() == [8.0, 26.0]
    assert float(product(vector, vector)) == 14.0
    assert product(np.array([[True, False]]), np.array([0.5, 9.0], np.float32)).tolist() == [0.5]
    assert product(np.zeros((0, 3)), vector).tolist() == []


@pytest.mark.parametrize(
    ("one", "other"),
    [((35, 512), (512, 128)), ((12, 96), (96, 7500)), ((7500, 96), (96, 3)), ((3000, 50), (50,)), ((50,), (50, 3000)),
     ((2, 900), (900, 900)), ((0, 4), (4, 9)), ((3, 0), (0, 2))],
)  # fmt: skip
def test_large_products_are_made_in_blocks_and_are_the_same(one: tuple[int, ...], other: tuple[int, ...]):
    random = np.random.default_rng(5)
    left, right = random.standard_normal(one, np.float32), random.standard_normal(other, np.float32)
    made = product(left, right)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, left.astype(np.float64) @ right.astype(np.float64), rtol=1e-4, atol=1e-3)


def test_no_product_of_two_matrices_is_large_enough_for_a_second_thread(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    usual = np.matmul

    def noted(one: Any, other: Any, **options: Any) -> Any:
        sizes.append(one.size * other.shape[1])
        return usual(one, other, **options)

    monkeypatch.setattr(np, "matmul", noted)
    product(np.ones((35, 512), np.float32), np.ones((512, 128), np.float32))
    assert len(sizes) > 1
    assert max(sizes) < 2**19


def test_a_flag_of_the_processor_is_no_error_where_the_result_is_finite():
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError):
            _ = TINY * TINY
        assert product(TINY[None, :], TINY).tolist() == [0.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e38])
def test_what_is_really_no_number_is_warned_of(bad: float):
    rows = np.array([[1.0, bad], [1.0, 1.0]], np.float32)
    with pytest.warns(RuntimeWarning, match="not a number") as told:
        assert np.isfinite(product(rows, np.array([1.0, 2.0], np.float32))).tolist() == [False, True]
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert product(rows[1:], np.array([1.0, 2.0], np.float32)).tolist() == [3.0]


@given(st.binary(max_size=200))
def test_bytes_are_counted(data: bytes):
    assert counted_bytes(data, b",[{") == data.count(b",") + data.count(b"[") + data.count(b"{")
