"""The reference backend keeps every promise that it is the measure of."""

from __future__ import annotations

import copy
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
from memwell.storage.memory import MemoryBackend, ThreadState, Undo, complaints
from memwell.testing.clock import Clock
from memwell.testing.conformance import (
    BackendSuite,
    BlobsSuite,
    CopiesSuite,
    IsolationSuite,
    KeyValueSuite,
    MessageLogSuite,
    RecordIndexSuite,
    RefusalsSuite,
    SequencesSuite,
)
from memwell.testing.strategies import Operation, everything, outcome, writes

# What raises leaves everything as it was, and what does not leaves what it did.


class Held:
    """One of each kind of thing that can be changed."""

    def __init__(self) -> None:
        self.values: dict[int, Any] = {0: "a", 1: "b"}
        self.inner: dict[int, list[int]] = {}
        self.numbers = [1, 2, 3, 4]
        self.field = 0


Change = Callable[[Undo, Held], object]
NUMBERS = st.integers(0, 5)


def changes() -> st.SearchStrategy[Change]:
    def update(keys: list[int], value: int) -> Change:
        return lambda undo, held: undo.update(held.values, dict.fromkeys(keys, value))

    def drop(keys: list[int]) -> Change:
        return lambda undo, held: undo.drop(held.values, keys)

    def splice(start: int, size: int, items: list[int]) -> Change:
        return lambda undo, held: undo.splice(held.numbers, min(start, len(held.numbers)), start + size, items)

    def extend(key: int, items: list[int]) -> Change:
        return lambda undo, held: undo.extend(undo.opened(held.inner, key, list[int]), items)

    def assign(value: int) -> Change:
        return lambda undo, held: undo.assign(held, field=value)

    several = st.lists(NUMBERS, max_size=4)
    return st.one_of(
        st.builds(update, several, NUMBERS),
        st.builds(drop, several),
        st.builds(splice, NUMBERS, NUMBERS, several),
        st.builds(extend, NUMBERS, several),
        st.builds(assign, NUMBERS),
    )


Block = tuple[list[Any], bool]
"""Changes and blocks, and whether it raises in the end."""


def blocks() -> st.SearchStrategy[Block]:
    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Block]:
        return st.tuples(st.lists(changes() | inner, max_size=4), st.booleans())

    return st.recursive(st.tuples(st.lists(changes(), max_size=4), st.booleans()), around, max_leaves=6)


def run(undo: Undo, held: Held, block: Block) -> None:
    """Make the changes of a block; when it raises, everything must be as it was."""
    before = copy.deepcopy(vars(held))
    try:
        with undo:
            for step in block[0]:
                if callable(step):
                    step(undo, held)
                else:
                    run(undo, held, step)
            done = copy.deepcopy(vars(held))
            if block[1]:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert vars(held) == before
    else:
        assert vars(held) == done


@given(st.lists(blocks(), min_size=1, max_size=3))
def test_a_block_that_raises_is_undone_and_one_that_does_not_stands(several: list[Block]):
    undo, held = Undo(), Held()
    for block in several:
        run(undo, held, block)
    with pytest.raises(ZeroDivisionError), undo:
        raise ZeroDivisionError


TALK = Thread(DEFAULT_SPACE, "talk")


class Opened:
    # One function makes the async twins of every store's calls. With SQLite all of them are tried.
    ways = ("sync",)

    def open(self, place: Path, clock: Clock) -> MemoryBackend:
        return MemoryBackend(clock=clock)


class TestLog(Opened, MessageLogSuite): ...


class TestKeyValue(Opened, KeyValueSuite): ...


class TestIndex(Opened, RecordIndexSuite): ...


class TestBlobs(Opened, BlobsSuite): ...


class TestBackend(Opened, BackendSuite):
    # What an async caller's transaction is carried in is the store's own.
    ways = ("sync", "async")


class TestCopies(Opened, CopiesSuite): ...


class TestSequences(Opened, SequencesSuite): ...


class TestIsolation(Opened, IsolationSuite): ...


class TestRefusals(Opened, RefusalsSuite): ...


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
    before: list[Operation], part: list[Operation], rest: list[Operation]
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


def test_a_trim_and_a_deletion_that_are_undone_bring_everything_back():
    with MemoryBackend() as backend:
        backend.log.append(TALK, [human(text, tokens=1) for text in "abcdef"])
        backend.log.edit(TALK, {1: human("B"), 2: None, 4: None})

        def held() -> list[object]:
            versions = [backend.log.versions(TALK, index) for index in range(6)]
            return [backend.log.read(TALK), backend.log.threads(DEFAULT_SPACE), versions]

        before = held()
        with undone(backend):
            assert backend.log.trim(TALK, 5, keep=[1]) == 2
            assert backend.log.versions(TALK, 2) == []
        assert held() == before
        with undone(backend):
            assert backend.log.delete(TALK)
            backend.log.append(TALK, [human("anew")])
        assert held() == before
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
