"""Twins do what their methods do; a lane keeps a context's calls in one thread; cancelling abandons only the wait."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from memwell._asyncify import AsyncContext, asyncify, block_on, blocking

LOOSE = contextvars.ContextVar("loose", default="unset")


class Counter:
    """A blocking class with a twin."""

    def __init__(self) -> None:
        self.value = 0
        self.slow = threading.Event()
        self.begun = threading.Event()

    def add(self, amount: int = 1, *, fail: bool = False) -> int:
        """Add some."""
        if fail:
            raise ZeroDivisionError("as asked")
        self.value += amount
        return self.value

    def wait(self) -> str:
        self.begun.set()
        self.slow.wait(60)
        self.value += 1
        return LOOSE.get()

    def where(self) -> int:
        return threading.get_ident()

    aadd = asyncify(add)
    await_ = asyncify(wait)
    awhere = asyncify(where)


class Doubling(Counter):
    """Overrides a method, and so its twin."""

    def add(self, amount: int = 1, *, fail: bool = False) -> int:
        return super().add(2 * amount, fail=fail)


def test_a_twin_returns_and_raises_what_its_method_does():
    async def use(counter: Counter) -> list[int]:
        with pytest.raises(ZeroDivisionError, match="as asked"):
            await counter.aadd(fail=True)
        return [await counter.aadd(), await counter.aadd(5)]

    assert asyncio.run(use(Counter())) == [1, 6]
    assert asyncio.run(use(Doubling())) == [2, 12]


def test_a_twin_does_not_block_the_loop_and_keeps_the_context():
    async def use() -> tuple[str, int]:
        counter = Counter()
        LOOSE.set("mine")
        waiting = asyncio.ensure_future(counter.await_())
        await counter.aadd()
        counter.slow.set()
        return await waiting, counter.value

    assert asyncio.run(use()) == ("mine", 2)


def test_cancelling_abandons_the_wait_and_not_the_work():
    counter = Counter()

    async def use() -> None:
        waiting = asyncio.ensure_future(counter.await_())
        assert await asyncio.to_thread(counter.begun.wait, 60)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        counter.slow.set()

    asyncio.run(use())
    assert counter.value == 1


class Room:
    """Only one thread is in it at a time, and it must leave by itself."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.events: list[str] = []
        self.asked = threading.Semaphore(0)

    @contextmanager
    def enter(self) -> Generator[str]:
        self.asked.release()
        with self.lock:
            LOOSE.set("inside")
            self.events.append("in")
            try:
                yield "value"
            except BaseException as error:
                self.events.append(type(error).__name__)
                raise
            finally:
                self.events.append("out")


def test_a_context_is_entered_used_and_left_in_one_thread():
    room, counter = Room(), Counter()

    async def use() -> tuple[set[int], str, str]:
        async with AsyncContext(room.enter(), LOOSE) as value:
            threads = {await counter.awhere() for _ in range(5)}
            inside = LOOSE.get()
        assert value == "value"
        return threads, inside, LOOSE.get()

    threads, inside, after = asyncio.run(use())
    assert len(threads) == 1
    assert (inside, after) == ("inside", "unset")
    assert room.events == ["in", "out"]


def test_an_inner_context_shares_the_thread_of_the_outer():
    room = Room()

    async def use() -> None:
        async with AsyncContext(room.enter(), LOOSE), AsyncContext(room.enter(), LOOSE):
            room.events.append("both")

    asyncio.run(asyncio.wait_for(use(), 60))
    assert room.events == ["in", "in", "both", "out", "out"]


def test_an_error_inside_reaches_the_manager_and_the_caller():
    room = Room()

    async def use() -> None:
        async with AsyncContext(room.enter()):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        asyncio.run(use())
    assert room.events == ["in", "ZeroDivisionError", "out"]


def test_who_is_cancelled_while_waiting_to_enter_leaves_nothing_locked():
    room = Room()

    async def use() -> None:
        async with AsyncContext(room.enter()):
            waiting = [asyncio.ensure_future(enter()) for _ in range(5)]
            for _ in range(6):
                assert await asyncio.to_thread(room.asked.acquire, timeout=60)
            for task in waiting:
                task.cancel()
            results = await asyncio.gather(*waiting, return_exceptions=True)
            assert all(isinstance(result, asyncio.CancelledError) for result in results)
        async with AsyncContext(room.enter()):
            room.events.append("free")

    async def enter() -> None:
        # A stranger: it has no part in the lane of the task that started it.
        await asyncio.get_running_loop().create_task(_in_room(room), context=contextvars.Context())

    asyncio.run(asyncio.wait_for(use(), 60))
    deadline = time.monotonic() + 30
    while room.events.count("in") != room.events.count("out"):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert "free" in room.events
    assert room.lock.acquire(timeout=60)


async def _in_room(room: Room) -> None:
    async with AsyncContext(room.enter()):
        room.events.append("got in")


def test_a_task_that_outlives_the_context_goes_on_by_itself():
    counter = Counter()

    async def late(go: asyncio.Event) -> int:
        await go.wait()
        return await counter.aadd()

    async def use() -> int:
        go = asyncio.Event()
        async with AsyncContext(Room().enter(), LOOSE):
            task = asyncio.ensure_future(late(go))
            await asyncio.sleep(0)
        go.set()
        return await task

    assert asyncio.run(use()) == 1


def test_a_context_that_cannot_be_entered_raises_and_leaves_no_thread():
    @contextmanager
    def refusing() -> Generator[None]:
        raise ZeroDivisionError
        yield

    async def use() -> None:
        async with AsyncContext(refusing()):
            raise AssertionError("not reached")

    with pytest.raises(ZeroDivisionError):
        asyncio.run(use())


async def _double(value: int) -> int:
    await asyncio.sleep(0)
    if value < 0:
        raise ValueError("negative")
    return 2 * value


def test_block_on_runs_a_coroutine_from_blocking_code_and_from_a_running_loop():
    async def inside_a_loop() -> int:
        return block_on(_double(4))

    assert block_on(_double(3)) == 6
    assert asyncio.run(inside_a_loop()) == 8
    with pytest.raises(ValueError, match="negative"):
        block_on(_double(-1))


def test_block_on_inside_its_own_loop_would_never_end():
    async def nested() -> int:
        return block_on(_double(1))

    with pytest.raises(RuntimeError, match="await the coroutine instead"):
        block_on(nested())


class Writer:
    """An async class with a blocking twin."""

    def __init__(self) -> None:
        self.written: list[str] = []

    async def write(self, text: str, *, times: int = 1) -> int:
        """Write some."""
        await asyncio.sleep(0)
        if not text:
            raise ZeroDivisionError("nothing to write")
        self.written += [text] * times
        return len(self.written)

    async def write_inside(self, text: str) -> int:
        return self.write_sync(text)

    write_sync = blocking(write)
    write_inside_sync = blocking(write_inside)


class Twice(Writer):
    """Overrides a method, and so its twin."""

    async def write(self, text: str, *, times: int = 1) -> int:
        return await super().write(text, times=2 * times)


def test_a_blocking_twin_does_what_its_method_does():
    writer = Writer()
    assert writer.write_sync("a") == 1
    assert writer.write_sync("b", times=2) == 3
    with pytest.raises(ZeroDivisionError, match="nothing to write"):
        writer.write_sync("")
    assert writer.written == ["a", "b", "b"]
    assert Twice().write_sync("a") == 2
    assert Writer.write_sync.__name__ == "write_sync"
    assert "Write some." in (Writer.write_sync.__doc__ or "")
