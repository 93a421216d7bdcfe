"""The reference backend keeps every promise that it is the measure of."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.history import History
from memwell.messages import ai, human
from memwell.records import DEFAULT_SPACE, Thread
from memwell.storage.memory import MemoryBackend, ThreadState, complaints
from memwell.testing.conformance import BackendSuite, StoreSuite
from memwell.testing.conformance.suite import Clock
from memwell.testing.strategies import StoreCall, everything, outcome, writes

TALK = Thread(DEFAULT_SPACE, "talk")


class Opened:
    # One function makes the async twins of every store's calls. With SQLite all of them are tried.
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> MemoryBackend:
        return MemoryBackend(clock=clock)


class TestStore(Opened, StoreSuite): ...


class TestAsync(Opened, BackendSuite):
    # What an async caller's transaction is carried in is the store's own.
    ways = ("async",)


# All or none


class _Undone(Exception): ...


@contextmanager
def undone(backend: MemoryBackend) -> Iterator[None]:
    """A transaction that fails in the end."""
    with suppress(_Undone), backend.transaction():
        yield
        raise _Undone


@given(st.lists(writes(), max_size=8), st.lists(writes(), max_size=4), st.lists(writes(), max_size=8))
def test_a_transaction_that_fails_leaves_no_trace(
    before: list[StoreCall], part: list[StoreCall], rest: list[StoreCall]
):
    with MemoryBackend() as backend:
        for operation in before:
            outcome(operation, backend)
        held = [outcome(question, backend) for question in everything()]
        with undone(backend):
            with backend.transaction():
                for operation in part:
                    outcome(operation, backend)
            for operation in rest:
                outcome(operation, backend)
        assert [outcome(question, backend) for question in everything()] == held
        assert backend.check() == []


def test_a_call_that_fails_half_way_changes_nothing():
    clock = Clock()
    ticks: list[float] = []

    def failing() -> float:
        if len(ticks) == 2:
            raise ZeroDivisionError
        ticks.append(clock())
        return clock()

    with MemoryBackend(clock=failing) as backend:
        stored = backend.log.append(TALK, [human("a", tokens=1), ai("b", tokens=2)])
        with pytest.raises(ZeroDivisionError):
            backend.log.edit(TALK, {0: human("c", tokens=50), 1: None})
        assert len(ticks) == 2
        assert backend.log.read(TALK) == stored
        assert backend.log.versions(TALK, 0) == []
        assert backend.log.threads(DEFAULT_SPACE).items[0].tokens == 3
        assert backend.check() == []


def test_what_is_kept_beside_the_rows_is_checked_against_them():
    thread = ThreadState(0.0, ids={"x": 1}, order=[1], live=[1], tokens=3)
    assert [complaint.split()[1] for complaint in complaints(TALK, thread)] == ["ids", "order", "live", "tokens"]
    assert complaints(TALK, ThreadState(0.0)) == []


# A call costs what it touches, not what the thread holds


def long_thread(messages: int) -> MemoryBackend:
    backend = MemoryBackend()
    said = [(ai if index % 2 else human)("hello", id=f"m{index}", tokens=1) for index in range(messages)]
    backend.log.append(TALK, said)
    # What was removed lies in the way of a read from the end.
    backend.log.edit(TALK, dict.fromkeys(range(messages // 2, messages - 20)))
    return backend


def steps(call: Callable[[], object]) -> int:
    """How many steps of the interpreter a call takes: what loops over n things takes more than n."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(outer)
    return count


def peak(call: Callable[[], object]) -> int:
    """How many bytes a call needs at once: what copies n things needs more than n."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def append(backend: MemoryBackend) -> None:
    backend.log.append(TALK, [human("more", tokens=1), ai("still more", tokens=1)])


def append_and_fail(backend: MemoryBackend) -> None:
    with undone(backend):
        append(backend)


READS: dict[str, Callable[[MemoryBackend], object]] = {
    "last": lambda backend: backend.log.read(TALK, last=30),
    "first": lambda backend: backend.log.read(TALK, first=10),
    "after": lambda backend: backend.log.read(TALK, after=20, first=10),
    "before": lambda backend: backend.log.read(TALK, before=40, last=10),
    "ids": lambda backend: backend.log.read(TALK, ids=["m7", "m3", "none"]),
    "threads": lambda backend: backend.log.threads(DEFAULT_SPACE, ids=[TALK.id]),
    "window": lambda backend: History(backend, TALK.id).window(rounds=5),
    "versions": lambda backend: backend.log.versions(TALK, 60),
}
WRITES: dict[str, Callable[[MemoryBackend], object]] = {
    "append": append,
    "append and fail": append_and_fail,
    "edit": lambda backend: backend.log.edit(TALK, {3: human("other"), 4: None}),
    "trim": lambda backend: backend.log.trim(TALK, 9, keep=[0]),
    "annotate": lambda backend: backend.log.annotate(TALK, metadata={"a": 1}, end_round=True),
    "delete": lambda backend: backend.log.delete(TALK),
}


@pytest.fixture(scope="module")
def lengths() -> tuple[MemoryBackend, MemoryBackend]:
    """The same conversation, short and long."""
    return long_thread(100), long_thread(10_000)


@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_a_call_takes_as_many_steps_in_a_long_thread(name: str, lengths: tuple[MemoryBackend, MemoryBackend]):
    taken: list[int] = []
    for backend in lengths:
        with undone(backend):
            taken.append(steps(partial((READS | WRITES)[name], backend)))
    assert 0 < taken[1] < taken[0] + 300


@pytest.mark.parametrize("name", READS)
def test_a_read_needs_as_much_memory_in_a_long_thread(name: str, lengths: tuple[MemoryBackend, MemoryBackend]):
    few, many = (peak(partial(READS[name], backend)) for backend in lengths)
    assert 0 < many < few + 10_000
