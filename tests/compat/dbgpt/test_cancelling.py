"""A write that is cancelled while the store works is not stored, however far it had come."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.dbgpt import cancelling
from memwell.compat.dbgpt.cancelling import finished
from memwell.compat.dbgpt.fragments import AgentMemoryFragment
from memwell.compat.dbgpt.long_term import LongTermMemory
from memwell.errors import BackendError
from memwell.longterm.memory import Memory

Long = LongTermMemory[AgentMemoryFragment]


def fragment(text: str, importance: float = 1.0) -> AgentMemoryFragment:
    return AgentMemoryFragment(text, importance=importance)


class TestCancelled:
    """A write that was cancelled is not stored, however far it had come."""

    @pytest.fixture(params=["memory", "sqlite"])
    def long(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Long]:
        where = None if request.param == "memory" else tmp_path / "agent.db"
        with Long(vector_store=where, embedder=None, k=100) as made:
            yield made

    @staticmethod
    def cancelled(long: Long, one: AgentMemoryFragment, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str) -> None:
        """Write a fragment and cancel it while a step of the store is under way."""
        under_way, go_on = threading.Event(), threading.Event()
        real = getattr(owner, step)

        def slow(*args: Any, **options: Any) -> Any:
            done = real(*args, **options)
            under_way.set()
            assert go_on.wait(60)
            return done

        async def cancel() -> None:
            task = asyncio.ensure_future(long.write(one))
            await asyncio.to_thread(under_way.wait, 10)
            task.cancel()
            asyncio.get_running_loop().call_later(0.05, go_on.set)
            with pytest.raises(asyncio.CancelledError):
                await task

        with monkeypatch.context() as patched:
            patched.setattr(owner, step, slow)
            asyncio.run(cancel())

    # Before the transaction ends, and behind it.
    @pytest.mark.parametrize(("owner", "step"), [(Memory, "remember"), (cancelling, "store")])
    def test_a_new_one_is_not_there_and_can_be_written_again(
        self, long: Long, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str
    ):
        long.write_sync(fragment("pear"))
        new = fragment("apple")
        self.cancelled(long, new, monkeypatch, owner, step)
        assert [one.text for one in long.memory.memories()] == ["pear"]
        long.write_sync(new)
        long.write_sync(new)
        assert sorted(one.text for one in long.memory.memories()) == ["apple", "pear"]

    @pytest.mark.parametrize(("owner", "step"), [(Memory, "update"), (cancelling, "store")])
    def test_a_changed_one_is_as_it_was(self, long: Long, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str):
        first = fragment("apple", 0.5)
        long.write_sync(first)
        before = long.memory.memories()
        changed = AgentMemoryFragment("pear", memory_id=first.id, importance=7.0)
        self.cancelled(long, changed, monkeypatch, owner, step)
        assert long.memory.memories() == before

    def test_what_was_concluded_meanwhile_goes_too(self, long: Long, monkeypatch: pytest.MonkeyPatch):
        long.reflection_threshold = 0.1
        self.cancelled(long, fragment("Anna likes apples", 0.5), monkeypatch, long, "_insights")
        assert long.memory.memories() == []
        assert (long.aggregate_importance, long.reflecting) == (0.0, False)

    def test_what_cannot_be_taken_back_is_said(self, long: Long, monkeypatch: pytest.MonkeyPatch):
        def full(*_: Any) -> None:
            raise BackendError("the disk is full")

        monkeypatch.setattr(Memory, "erase", full)
        with pytest.raises(BackendError, match=r"cannot be taken back; it stays stored: the disk is full"):
            self.cancelled(long, fragment("apple"), monkeypatch, cancelling, "store")
        assert [one.text for one in long.memory.memories()] == ["apple"]


def test_what_works_is_waited_for_before_the_cancellation_is_told() -> None:
    done: list[int] = []

    async def work() -> int:
        await asyncio.sleep(0.02)
        done.append(1)
        return 7

    async def run() -> None:
        assert await finished(work()) == 7
        task = asyncio.ensure_future(finished(work()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert done == [1, 1]

    asyncio.run(run())


@pytest.mark.parametrize("seconds", [0.0, 0.0003, 0.002])
def test_a_write_that_took_too_long_is_not_stored(tmp_path: Path, seconds: float) -> None:
    async def run(long: Long, one: AgentMemoryFragment) -> bool:
        try:
            await asyncio.wait_for(long.write(one), seconds)
        except TimeoutError:
            return False
        return True

    with Long(vector_store=tmp_path / "agent.db", embedder=None) as long:
        for number in range(10):
            one = fragment(f"apple {number}")
            stored = asyncio.run(run(long, one))
            assert [found.id for found in long.clear_sync()] == ([one.id] if stored else [])
