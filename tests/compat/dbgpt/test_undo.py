from __future__ import annotations

import asyncio

import pytest

from memwell.compat.dbgpt.undo import all_or_nothing, undone_by


def test_steps_are_undone_last_first() -> None:
    done: list[int] = []

    def fail() -> None:
        with all_or_nothing():
            undone_by(lambda: done.append(1))
            undone_by(lambda: done.append(2))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert done == [2, 1]


def test_what_went_well_stays() -> None:
    done: list[int] = []
    with all_or_nothing():
        undone_by(lambda: done.append(1))
    undone_by(lambda: done.append(2))
    assert done == []


def test_an_inner_one_is_undone_with_the_outer_one() -> None:
    done: list[str] = []

    def fail() -> None:
        with all_or_nothing():
            undone_by(lambda: done.append("outer"))
            with all_or_nothing():
                undone_by(lambda: done.append("inner"))
            assert done == []
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert done == ["inner", "outer"]


def test_a_failed_inner_one_is_undone_once() -> None:
    done: list[str] = []

    def fail() -> None:
        with all_or_nothing():
            undone_by(lambda: done.append("inner"))
            raise KeyError

    with all_or_nothing(), pytest.raises(KeyError):
        fail()
    assert done == ["inner"]


def test_a_cancelled_task_is_undone_with_its_children() -> None:
    done: list[str] = []

    async def child() -> None:
        undone_by(lambda: done.append("child"))

    async def work() -> None:
        with all_or_nothing():
            await asyncio.gather(child(), child())
            await asyncio.sleep(60)

    async def run() -> None:
        task = asyncio.create_task(work())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert done == ["child", "child"]
