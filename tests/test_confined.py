"""The worker processes that read untrusted files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator
from contextvars import copy_context
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell import confined as module
from memwell.confined import FairQueue, confined, reading_for
from memwell.errors import InvalidInput, MemwellError, MissingDependency, UnreadableDocument
from memwell.history.media import MediaLimits, Medium
from memwell.records import Space

LIMITED = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of the kernel are Linux's")


# Readers for the tests. The worker imports this module by its name, as it imports those of memwell.


def measure(data: bytes, medium: Medium, limits: MediaLimits) -> Medium:
    print("what a library prints is no reply")
    return Medium("image", medium.media_type, len(data), limits.image_side, os.getpid())


def refuse(data: bytes, how: str) -> str:
    if how == "document":
        raise UnreadableDocument("it is empty", reason="empty")
    if how == "missing":
        raise MissingDependency("pip install it")
    if how == "input":
        raise InvalidInput("no")
    raise ZeroDivisionError("a defect")


def cost(data: bytes, what: str) -> str:
    if what == "memory":
        return str(len(bytearray(700 * 2**20)))
    if what.startswith("killed "):
        # The file says whether it was tried before.
        tried = what.removeprefix("killed ")
        if tried == "always" or not os.path.lexists(tried):
            if tried != "always":
                os.symlink("tried", tried)
            os.kill(os.getpid(), 9)
        return "read"
    if what == "abort":
        os.abort()
    if what == "file":
        with open(data.decode(), "w") as file:
            file.write("x")
    if what == "secret":
        return os.environ.get("MEMWELL_SECRET", "none")
    while what == "time":
        pass
    return "done"


@pytest.fixture(autouse=True)
def _own_pool(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    pool = module._Pool()
    monkeypatch.setattr(module, "_pool", pool)
    yield
    pool.close()


MEDIUM = Medium("image", "image/png", 3)


def pid() -> int | None:
    return confined(measure, b"abc", MEDIUM, MediaLimits()).height


def test_a_reader_gets_and_gives_structs_in_another_process():
    found = confined(measure, b"abc" * 1_000_000, MEDIUM, MediaLimits(image_side=7))
    assert (found.size, found.width) == (3_000_000, 7)
    assert found.height != os.getpid()


def test_a_worker_does_not_get_the_secret_of_the_store(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMWELL_SECRET", "an open sesame of many words")
    assert confined(cost, b"", "secret") == "none"


def test_one_worker_reads_many_files():
    assert len({pid() for _ in range(5)}) == 1


def test_what_a_reader_refuses_is_raised_here():
    for how, error in (("document", UnreadableDocument), ("missing", MissingDependency), ("input", InvalidInput)):
        with pytest.raises(error) as caught:
            confined(refuse, b"", how)
        assert type(caught.value) is error
        assert getattr(caught.value, "reason", "empty") == "empty"
    with pytest.raises(MemwellError, match="ZeroDivisionError"):
        confined(refuse, b"", "defect")


@LIMITED
def test_the_limit_of_memory_is_named_and_the_next_file_is_read():
    before = pid()
    with pytest.raises(UnreadableDocument, match="more than 512 MB of memory") as caught:
        confined(cost, b"", "memory")
    assert caught.value.reason == "too-large"
    assert pid() != before


def test_a_reader_that_breaks_off_is_replaced():
    before = pid()
    with pytest.raises(UnreadableDocument, match="broke off"):
        confined(cost, b"", "abort")
    assert pid() != before


@LIMITED
def test_the_limit_of_processor_time_is_named(monkeypatch: pytest.MonkeyPatch):
    # The worker has its own constant: it is told of a shorter one by its kernel.
    before = pid()
    assert before is not None
    import resource

    timer = threading.Timer(0.2, lambda: resource.prlimit(before, resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY)))
    timer.start()
    with pytest.raises(UnreadableDocument, match="60 s of processor time"):
        confined(cost, b"", "time")
    timer.join()


def test_the_limit_of_time_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TIME_S", 0.3)
    with pytest.raises(UnreadableDocument, match=r"longer than 0\.3 s"):
        confined(cost, b"", "time")


@LIMITED
def test_a_worker_writes_no_file(tmp_path: object):
    path = f"{tmp_path}/written"
    with pytest.raises(MemwellError, match="OSError"):
        confined(cost, path.encode(), "file")
    assert os.path.getsize(path) == 0


@LIMITED
def test_a_reader_that_others_kill_is_tried_once_more(tmp_path: Path):
    assert confined(cost, b"", f"killed {tmp_path / 'tried'}") == "read"
    with pytest.raises(UnreadableDocument, match="or its reader was killed; try again"):
        confined(cost, b"", "killed always")


def test_a_reading_that_is_cancelled_is_killed():
    class Stop(Exception):
        pass

    begun = pid()
    assert begun is not None

    def check() -> None:
        raise Stop

    with pytest.raises(Stop), reading_for("ann", check):
        confined(cost, b"", "time")
    with pytest.raises(ProcessLookupError):
        os.kill(begun, 0)


def test_a_worker_that_ended_meanwhile_is_replaced():
    before = pid()
    # Its input ends, as for want of work: it exits by itself, at any moment.
    (idle,) = module._pool._idle
    process = idle._process
    assert process.stdin is not None
    process.stdin.close()
    assert pid() not in (None, before)
    assert process.wait() == 0


def test_one_tenant_does_not_hold_all_workers():
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise InterruptedError

    def attack() -> None:
        with reading_for("mallory", check), pytest.raises(InterruptedError):
            confined(cost, b"", "time")

    attackers = [threading.Thread(target=copy_context().run, args=(attack,)) for _ in range(3 * module.WORKERS)]
    for one in attackers:
        one.start()
    with reading_for("ann"):
        assert all(pid() for _ in range(3))
    stop.set()
    for one in attackers:
        one.join()


def test_workers_end_with_the_program():
    code = (
        "import os; from tests.test_confined import pid\n"
        "if __name__ == '__main__': print(pid(), flush=True); os.kill(os.getpid(), 9)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    worker = int(found.stdout)
    latest = time.monotonic() + 60
    while time.monotonic() < latest:
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_after_a_fork_the_workers_stay_with_the_parent():
    before, pool = pid(), module._pool
    module._forget()
    assert pid() != before
    module._pool.close()
    module._pool = pool
    assert pid() == before


def test_without_an_interpreter_files_are_read_in_place(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(module, "_warned", threading.Event())
    assert pid() == os.getpid()
    assert pid() == os.getpid()
    assert caplog.text.count("without limits") == 1


# Turns

SPACES = [Space("a"), Space("b"), Space("c"), Space("d")]


@given(
    threads=st.integers(1, 4),
    steps=st.lists(st.sampled_from([*SPACES, *SPACES, None, None, None]), max_size=60),
    data=st.data(),
)
def test_whoever_waits_comes_to_run_and_no_space_has_all_threads(
    threads: int, steps: list[Space | None], data: st.DataObject
):
    turns: FairQueue[tuple[Space, int]] = FairQueue(threads)
    running: list[tuple[Space, int]] = []
    waiting: Counter[Space] = Counter()
    begun: list[tuple[Space, int]] = []

    def begin() -> None:
        while (taken := turns.take()) is not None:
            counts = Counter(space for space, _ in running)
            # A space that has none running goes before one that has.
            assert counts[taken[0]] <= min(counts[space] for space in waiting if waiting[space])
            waiting[taken[0]] -= 1
            running.append(taken)
            begun.append(taken)

    for number, step in enumerate(steps):
        if step is not None:
            turns.add(step, (step, number))
            waiting[step] += 1
        elif running:
            turns.ended(running.pop(data.draw(st.integers(0, len(running) - 1)))[0])
        begin()
        counts = Counter(space for space, _ in running)
        assert turns.running == len(running) <= threads
        assert all(count <= max(1, threads - 1) for count in counts.values())
    while running:
        turns.ended(running.pop()[0])
        begin()
    assert sorted(begun, key=lambda one: one[1]) == [(step, at) for at, step in enumerate(steps) if step is not None]
    for space in SPACES:
        # Within a space the first that came is the first that begins.
        assert [at for whose, at in begun if whose == space] == sorted(at for whose, at in begun if whose == space)


def test_a_queue_knows_how_many_of_a_tenant_wait():
    turns: FairQueue[int] = FairQueue(2)
    for number in range(3):
        turns.add("many", number)
    assert (turns.take(), turns.take(), turns.waiting("many"), turns.waiting("one")) == (0, None, 2, 0)
