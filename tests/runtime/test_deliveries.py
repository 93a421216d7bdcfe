"""One message to many: together, each within its time, one failure not that of another, nothing left running."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.runtime.deliveries import deliver
from tests.runtime.still_time import run_in_still_time


async def one(kind: str, number: int, took: list[int]) -> None:
    if kind == "waits":
        for _ in range(number % 4 + 1):
            await asyncio.sleep(0)
    if kind == "raises":
        raise ZeroDivisionError(number)
    if kind == "cancels":
        raise asyncio.CancelledError
    if kind == "blocks":
        await asyncio.Event().wait()
    took.append(number)


def others_running() -> set[asyncio.Task[Any]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


@given(st.lists(st.sampled_from(["at once", "waits", "raises", "cancels", "blocks"]), max_size=12))
def test_everybody_is_served_whatever_becomes_of_the_others(kinds: list[str]):
    took: list[int] = []

    async def main() -> tuple[list[Any], set[Any]]:
        numbered = list(enumerate(kinds))
        failures = await deliver(numbered, lambda each: one(each[1], each[0], took), timeout_s=30)
        return failures, others_running()

    failures, left = run_in_still_time(main())
    assert sorted(took) == [number for number, kind in enumerate(kinds) if kind in {"at once", "waits"}]
    expected = {"raises": ZeroDivisionError, "cancels": asyncio.CancelledError, "blocks": TimeoutError}
    assert sorted((agent[0], type(error).__name__) for agent, error in failures) == [
        (number, expected[kind].__name__) for number, kind in enumerate(kinds) if kind in expected
    ]
    assert all(error.__traceback__ is None for _, error in failures)
    assert not left


@pytest.mark.parametrize("after", range(12))
def test_cancelled_at_any_moment_nothing_goes_on_behind_its_back(after: int):
    async def main() -> set[Any]:
        took: list[int] = []
        task = asyncio.create_task(deliver(range(9), lambda number: one("waits", number, took), timeout_s=60))
        for _ in range(after):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        then = len(took)
        left = others_running()
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(took) == then
        return left

    assert not asyncio.run(main())


def test_those_who_wait_run_together():
    async def main() -> list[Any]:
        everybody = asyncio.Barrier(50)
        return await deliver(range(50), lambda _: everybody.wait(), timeout_s=60)

    assert asyncio.run(main()) == []


def test_one_that_will_not_be_cancelled_is_left_to_itself():
    async def main() -> tuple[list[Any], list[str]]:
        done, released = [], asyncio.Event()

        async def stubborn() -> None:
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue
            raise ZeroDivisionError("far too late")

        async def quick() -> None:
            done.append("quick")

        receivers = {"stubborn": stubborn, "quick": quick}
        failures = await deliver(receivers, lambda name: receivers[name](), timeout_s=30)
        released.set()
        await asyncio.wait(others_running())
        return failures, done

    failures, done = run_in_still_time(main())
    assert [(name, type(error)) for name, error in failures] == [("stubborn", TimeoutError)]
    assert done == ["quick"]


def test_one_that_takes_too_long_is_logged_once(caplog: pytest.LogCaptureFixture):
    failures = run_in_still_time(deliver([1], lambda _: asyncio.sleep(60), timeout_s=30))
    assert [type(failure.error) for failure in failures] == [TimeoutError]
    assert ["did not take in a message" in record.message for record in caplog.records] == [True]


def test_what_is_no_ordinary_error_is_not_swallowed():
    async def stops() -> None:
        raise KeyboardInterrupt

    def main() -> Coroutine[Any, Any, list[Any]]:
        return deliver([1], lambda _: stops(), timeout_s=60)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
