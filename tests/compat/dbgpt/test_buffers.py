from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Self

from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.buffers import BufferedMemory
from memwell.compat.dbgpt.fragments import AgentMemoryFragment, WriteOperation
from memwell.compat.dbgpt.undo import all_or_nothing

Fragments = list[AgentMemoryFragment]


class Plain(BufferedMemory[AgentMemoryFragment]):
    """A buffer of somebody's own: the newest comes first, and an empty text empties it."""

    def structure_clone(self, now: datetime | None = None) -> Self:
        return type(self)(self._buffer_size)

    async def write(
        self,
        memory_fragment: AgentMemoryFragment,
        now: datetime | None = None,
        op: WriteOperation = WriteOperation.ADD,
    ) -> None:
        async with self._rewriting(now):
            self._fragments.insert(0, memory_fragment)
            if not memory_fragment.raw_observation:
                await self.clear()


def held(memory: Plain) -> list[str]:
    return [one.raw_observation for one in memory.read_sync("x")]


def test_an_empty_memory_is_a_memory() -> None:
    memory = Plain(1)
    assert len(memory) == 0
    assert memory or None is memory


def test_hooks_change_the_list_in_place() -> None:
    memory = Plain(5)
    for text in "abc":
        memory.write_sync(AgentMemoryFragment(text))
    assert held(memory) == ["c", "b", "a"]
    memory.write_sync(AgentMemoryFragment(""))
    assert held(memory) == []


def test_outside_a_write_the_list_is_a_copy_and_may_be_set() -> None:
    memory = Plain(5)
    one, two = AgentMemoryFragment("a"), AgentMemoryFragment("b")
    memory.write_sync(one)
    memory._fragments.clear()
    assert held(memory) == ["a"]
    memory._fragments = [two, one]
    assert held(memory) == ["b", "a"]


@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=12))
def test_an_undone_change_leaves_order_and_all(plan: list[tuple[int, bool]]) -> None:
    async def run() -> None:
        memory = Plain(5)
        for number, undone in plan:
            one = AgentMemoryFragment(str(number), memory_id=number)
            before = await memory.read("x")
            try:
                with all_or_nothing():
                    await memory.write(one)
                    await memory.write(AgentMemoryFragment("x", memory_id=9))
                    if undone:
                        raise ZeroDivisionError
            except ZeroDivisionError:
                assert [id(each) for each in await memory.read("x")] == [id(each) for each in before]

    asyncio.run(run())


def test_what_comes_in_meanwhile_stays() -> None:
    async def run() -> list[str]:
        memory = Plain(5)
        one, two, three = (AgentMemoryFragment(text) for text in "abc")
        await memory.write(one)
        async with memory._rewriting(None):
            memory._fragments = [two]
            memory._working, working = None, memory._working
            # As an undone write of somebody else puts back and takes out without waiting for a turn.
            memory._fragments = [one, three]
            memory._working = working
        return [each.raw_observation for each in await memory.read("x")]

    assert asyncio.run(run()) == ["c", "b"]


def test_what_is_taken_out_meanwhile_stays_out() -> None:
    async def run() -> list[str]:
        memory = Plain(5)
        one, two = (AgentMemoryFragment(text) for text in "ab")
        await memory.write(one)
        async with memory._rewriting(None):
            memory._fragments = [one, two]
            memory._working, working = None, memory._working
            memory._fragments = []
            memory._working = working
        return [each.raw_observation for each in await memory.read("x")]

    assert asyncio.run(run()) == ["b"]
