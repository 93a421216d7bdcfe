"""Channels: a bound without waiting, completion, cancellation, many readers and writers, threads."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.runtime.channels import DONE, Channel


async def settled() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_items_come_in_order_until_the_end() -> None:
    channel = Channel()
    for number in range(3):
        assert await channel.put(number)
    assert (channel.qsize(), channel.empty()) == (3, False)
    assert await channel.put(DONE)
    channel.complete()
    assert [item async for item in channel] == [0, 1, 2]
    assert channel.completed
    assert not await channel.put("late")
    assert [await channel.get(), await channel.get()] == [DONE, DONE]
    channel.task_done()


async def test_writers_never_wait_and_the_latest_items_stay() -> None:
    channel = Channel(3)
    for number in range(100):
        await asyncio.wait_for(channel.put(number), 60)
    channel.complete()
    assert [item async for item in channel] == [97, 98, 99]


async def test_a_cancelled_reader_takes_nothing_with_it() -> None:
    channel = Channel()
    reader = asyncio.create_task(channel.get())
    await settled()
    # The item is handed over, and in the same moment, before the reader runs, it is cancelled.
    await channel.put("kept")
    reader.cancel()
    with suppress(asyncio.CancelledError):
        await reader
    await channel.put("next")
    assert [await channel.get(), await channel.get()] == ["kept", "next"]


@given(st.integers(1, 4), st.lists(st.integers(0, 8), min_size=1, max_size=4), st.lists(st.integers(0, 6), max_size=6))
async def test_many_readers_and_writers_lose_and_double_nothing(
    readers: int, counts: list[int], cancels: list[int]
) -> None:
    channel, got = Channel(), list[tuple[int, int]]()

    async def read() -> None:
        async for item in channel:
            got.append(item)

    async def write(writer: int, count: int) -> None:
        for number in range(count):
            await channel.put((writer, number))
            await asyncio.sleep(0)

    reading = [asyncio.create_task(read()) for _ in range(readers)]
    await settled()
    writing = [asyncio.create_task(write(writer, count)) for writer, count in enumerate(counts)]
    # Readers that are cancelled while they wait; one always stays.
    for pause in cancels:
        for _ in range(pause):
            await asyncio.sleep(0)
        if len(reading) > 1:
            reading.pop().cancel()
    await asyncio.wait_for(asyncio.gather(*writing), 60)
    channel.complete()
    await asyncio.wait_for(asyncio.gather(*reading), 60)
    assert sorted(got) == [(writer, number) for writer, count in enumerate(counts) for number in range(count)]


def test_it_works_between_event_loops_and_threads() -> None:
    channel, got = Channel(1000), list[Any]()
    reader = threading.Thread(target=lambda: got.extend(channel))
    reader.start()
    for number in range(200):
        asyncio.run(channel.put(number))
    channel.complete()
    reader.join(60)
    assert got == list(range(200))


@pytest.mark.parametrize("size", [0, -1, 1.5, True, None])
def test_a_channel_has_room_for_one_at_least(size: Any) -> None:
    with pytest.raises(InvalidInput, match="size of a channel"):
        Channel(size)
