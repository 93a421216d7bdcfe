"""Channels: back-pressure, completion, cancellation, many readers and writers, and readers that go away."""

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


async def waiting_reader(channel: Channel, got: list[Any]) -> asyncio.Task[None]:
    """A task that has read what is there and waits for more."""

    async def read() -> None:
        async for item in channel:
            got.append(item)  # noqa: PERF401 - what was read before the task is cancelled counts

    task = asyncio.create_task(read())
    await settled()
    return task


def test_items_come_in_order_until_the_end() -> None:
    async def run() -> None:
        channel = Channel()
        for number in range(3):
            assert await channel.put(number)
        assert (channel.qsize(), channel.empty(), channel.full()) == (3, False, False)
        channel.complete()
        channel.complete()
        assert [item async for item in channel] == [0, 1, 2]
        assert channel.completed
        assert not await channel.put("late")
        assert [await channel.get(), await channel.get()] == [DONE, DONE]
        channel.task_done()

    asyncio.run(run())


def test_a_writer_waits_while_the_channel_is_full_and_somebody_reads() -> None:
    async def run() -> None:
        channel = Channel(2)
        iteration = aiter(channel)
        await channel.put(0)
        assert await anext(iteration) == 0

        async def write() -> None:
            for number in range(1, 6):
                await channel.put(number)

        writer = asyncio.create_task(write())
        await settled()
        assert (channel.qsize(), channel.full(), writer.done()) == (2, True, False)
        assert [await anext(iteration) for _ in range(5)] == [1, 2, 3, 4, 5]
        await writer

    asyncio.run(run())


def test_without_a_reader_writers_never_wait_and_the_latest_items_stay() -> None:
    async def run() -> None:
        channel = Channel(3)
        for number in range(100):
            await asyncio.wait_for(channel.put(number), 60)
        channel.complete()
        assert [item async for item in channel] == [97, 98, 99]

    asyncio.run(run())


def test_a_reader_that_breaks_off_lets_waiting_writers_go() -> None:
    async def run() -> None:
        channel = Channel(1)
        await channel.put(0)

        async def read_one() -> None:
            async for _ in channel:
                writers.extend(asyncio.create_task(channel.put(number)) for number in range(1, 4))
                await settled()
                assert [writer.done() for writer in writers] == [True, False, False]
                break

        writers: list[asyncio.Task[bool]] = []
        await read_one()
        assert await asyncio.wait_for(asyncio.gather(*writers), 60) == [True, True, True]
        assert channel.qsize() == 1

    asyncio.run(run())


def test_a_task_does_not_wait_for_itself() -> None:
    async def run() -> None:
        channel = Channel(1)
        await channel.put(0)
        assert await channel.get() == 0
        async with asyncio.timeout(5):
            for number in range(5):
                await channel.put(number)
        assert await channel.get() == 4

    asyncio.run(run())


def test_completing_lets_in_what_waits_and_then_ends() -> None:
    async def run() -> None:
        channel = Channel(1)
        got: list[Any] = []
        iteration = aiter(channel)
        await channel.put(0)
        got.append(await anext(iteration))
        writers = [asyncio.create_task(channel.put(number)) for number in range(1, 5)]
        await settled()
        assert await channel.put(DONE)
        assert all(await asyncio.gather(*writers))
        assert got + [item async for item in iteration] == [0, 1, 2, 3, 4]

    asyncio.run(run())


def test_a_cancelled_writer_hands_nothing_on() -> None:
    async def run() -> None:
        channel = Channel(1)
        iteration = aiter(channel)
        await channel.put(0)
        assert await anext(iteration) == 0
        await channel.put(1)
        cancelled, other = asyncio.create_task(channel.put("never")), asyncio.create_task(channel.put(2))
        await settled()
        cancelled.cancel()
        await settled()
        assert [await anext(iteration), await anext(iteration)] == [1, 2]
        assert cancelled.cancelled()
        assert await other
        assert channel.empty()

    asyncio.run(run())


def test_a_cancelled_reader_takes_nothing_with_it() -> None:
    async def run() -> None:
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

    asyncio.run(run())


@given(
    st.integers(1, 4),
    st.integers(1, 4),
    st.lists(st.integers(0, 8), min_size=1, max_size=4),
    st.lists(st.integers(0, 6), max_size=6),
)
def test_many_readers_and_writers_lose_and_double_nothing(
    size: int, readers: int, counts: list[int], cancels: list[int]
) -> None:
    async def run() -> None:
        channel, got = Channel(size), list[tuple[int, int]]()

        async def write(writer: int, count: int) -> None:
            for number in range(count):
                await channel.put((writer, number))

        reading = [await waiting_reader(channel, got) for _ in range(readers)]
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
        if readers == 1:
            for writer in range(len(counts)):
                numbers = [number for one, number in got if one == writer]
                assert numbers == sorted(numbers)

    asyncio.run(run())


def test_it_works_between_event_loops_and_threads() -> None:
    channel, got = Channel(2), list[Any]()
    reading = threading.Event()

    def read() -> None:
        for item in channel:
            got.append(item)
            reading.set()

    async def write() -> None:
        for number in range(200):
            await channel.put(number)

    reader = threading.Thread(target=read)
    reader.start()
    asyncio.run(channel.put("first"))
    assert reading.wait(60)
    asyncio.run(write())
    channel.complete()
    reader.join(60)
    assert got == ["first", *range(200)]


@pytest.mark.parametrize("size", [0, -1, 1.5, True, None])
def test_a_channel_has_room_for_one_at_least(size: Any) -> None:
    with pytest.raises(InvalidInput, match="size of a channel"):
        Channel(size)
