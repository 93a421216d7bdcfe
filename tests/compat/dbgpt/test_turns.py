from __future__ import annotations

import asyncio
import threading

import pytest

from memwell.compat.dbgpt.turns import Turns


class Watched:
    """Counts who is inside."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.inside = 0
        self.order: list[int] = []

    async def enter(self, number: int) -> None:
        async with self.turns.taken():
            self.inside += 1
            assert self.inside == 1
            try:
                await asyncio.sleep(0)
                self.order.append(number)
            finally:
                self.inside -= 1


def test_tasks_take_turns_in_order() -> None:
    watched = Watched()

    async def run() -> None:
        await asyncio.gather(*(watched.enter(number) for number in range(20)))

    asyncio.run(run())
    assert watched.order == list(range(20))
    assert watched.turns.free


def test_threads_with_loops_of_their_own_take_turns() -> None:
    watched = Watched()

    async def several(start: int) -> None:
        await asyncio.gather(*(watched.enter(start + number) for number in range(20)))

    threads = [threading.Thread(target=lambda at=at: asyncio.run(several(at))) for at in (0, 100, 200)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert sorted(watched.order) == [start + number for start in (0, 100, 200) for number in range(20)]
    assert watched.turns.free


def test_who_has_the_turn_may_ask_again() -> None:
    watched = Watched()

    async def run() -> None:
        async with watched.turns.taken():
            await watched.enter(1)
            await asyncio.gather(watched.enter(2), asyncio.sleep(0))

    asyncio.run(asyncio.wait_for(run(), 60))
    assert watched.order == [1, 2]


def test_a_task_that_outlives_a_turn_waits_like_any_other() -> None:
    watched = Watched()

    async def run() -> None:
        go = asyncio.Event()

        async def late() -> None:
            await go.wait()
            await watched.enter(1)

        async with watched.turns.taken():
            task = asyncio.create_task(late())
        async with watched.turns.taken():
            go.set()
            await asyncio.sleep(0.01)
            assert watched.order == []
        await task

    asyncio.run(run())
    assert watched.order == [1]


@pytest.mark.parametrize("after", range(6))
def test_a_cancelled_waiter_gives_its_turn_to_the_next(after: int) -> None:
    watched = Watched()

    async def run() -> None:
        tasks = [asyncio.create_task(watched.enter(number)) for number in range(4)]
        for _ in range(after):
            await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 60))
    assert watched.turns.free
    assert [one for one in watched.order if one != 1] == [0, 2, 3]


def test_a_waiter_whose_loop_was_closed_is_passed_over() -> None:
    watched = Watched()
    gone = asyncio.new_event_loop()

    async def run() -> None:
        async with watched.turns.taken():
            # A thread without this task's context: it does not have the turn.
            thread = threading.Thread(target=_wait_and_vanish, args=(watched, gone))
            thread.start()
            await asyncio.to_thread(thread.join)
        await asyncio.wait_for(watched.enter(7), 60)

    asyncio.run(run())
    assert watched.order == [7]


def _wait_and_vanish(watched: Watched, loop: asyncio.AbstractEventLoop) -> None:
    waiting = watched.enter(1)
    task = loop.create_task(waiting)
    loop.call_later(0.01, loop.stop)
    loop.run_forever()
    loop.close()
    # It is never run to its end, which is what is tested: asyncio need not say so.
    task._log_destroy_pending = False  # type: ignore[attr-defined]
