"""Memories in a real Redis: AgentScope's own keys, times to live, and errors of servers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from memwell.compat.agentscope.messages import Msg
from memwell.compat.agentscope.redis import RedisMemory
from memwell.errors import BackendError, BackendUnavailable, InvalidInput
from tests.ports import closed_port
from tests.servers import redis_server

BASE = "user_id:u:session:s:"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with redis_server(tmp_path_factory.mktemp("redis")) as url:
        yield int(url.rpartition(":")[2].partition("/")[0])


@pytest.fixture
def port(server: int) -> Iterator[int]:
    yield server

    async def empty() -> None:
        async with RedisMemory(port=server) as memory:
            await memory.get_client().flushall()

    asyncio.run(empty())


def test_what_agentscope_wrote_is_read_and_written_on(port: int) -> None:
    first, second = Msg("ann", "你好", "user"), Msg("bot", "b", "assistant")

    async def body() -> None:
        async with RedisMemory("s", "u", port=port) as memory:
            client = memory.get_client()
            await client.rpush(f"{BASE}messages", first.id)
            await client.set(f"{BASE}msg:{first.id}", json.dumps(first.to_dict()))
            await client.rpush(f"{BASE}mark:m", first.id)
            await client.sadd(f"{BASE}marks_index", "m")
            await memory.add([first, second], marks=["m", "n"])
            assert [vars(one) for one in await memory.get_memory(mark="m")] == [vars(first), vars(second)]
            assert await client.lrange(f"{BASE}messages", 0, -1) == [first.id, second.id]
            assert json.loads(await client.get(f"{BASE}msg:{second.id}")) == second.to_dict()
            assert await client.smembers(f"{BASE}marks_index") == {"m", "n"}
            await memory.clear()
            assert await client.keys("*") == []

    asyncio.run(body())


def test_the_separator_in_an_id_does_not_lead_into_another_session(port: int) -> None:
    """AgentScope's own class gives both of these the same keys."""

    async def body() -> None:
        one = RedisMemory("b:session:c", "a", port=port)
        two = RedisMemory("c", "a:session:b", port=port)
        await one.add(Msg("ann", "my secret", "user"))
        assert await two.get_memory() == []
        await two.clear()
        assert await one.size() == 1
        await one.close()
        await two.close()

    asyncio.run(body())


def test_a_wildcard_in_an_id_renews_nobody_elses_time(port: int) -> None:
    async def body() -> None:
        async with RedisMemory("s", "u", port=port) as lasting, RedisMemory("*", "*", port=port, key_ttl=50) as passing:
            await lasting.add(Msg("a", "x", "user"))
            await passing.add(Msg("a", "x", "user"))
            client = lasting.get_client()
            assert {await client.ttl(key) for key in await client.keys(f"{BASE}*")} == {-1}

    asyncio.run(body())


def test_every_use_renews_the_time_to_live_of_every_key(port: int) -> None:
    async def body() -> None:
        async with RedisMemory("s", "u", port=port, key_prefix="p:", key_ttl=100) as memory:
            client = memory.get_client()

            async def times() -> list[int]:
                keys = await client.keys("*")
                assert all(key.startswith(f"p:{BASE}") for key in keys)
                return [await client.ttl(key) for key in keys]

            await memory.add([Msg("a", str(one), "user") for one in range(3)], marks="m")
            await memory.update_compressed_summary("sum")
            assert len(await times()) == 7
            for use in (
                memory.size(),
                memory.get_memory(mark="m"),
                memory.update_messages_mark("n"),
                memory.delete(["x"]),
            ):
                for key in await client.keys("*"):
                    await client.expire(key, 5)
                await use
                assert min(await times()) > 50

    asyncio.run(body())


def test_an_id_that_is_listed_twice_by_others_is_read_and_deleted(port: int) -> None:
    async def body() -> None:
        async with RedisMemory(port=port) as memory:
            said = Msg("a", "old", "user")
            await memory.add(said)
            # So AgentScope's own class writes it.
            await memory.get_client().rpush(memory._messages, said.id)
            assert [one.content for one in await memory.get_memory()] == ["old", "old"]
            await memory.add(said, allow_duplicates=True)
            assert await memory.update_messages_mark("m", msg_ids=[said.id]) == 2
            assert await memory.delete_by_mark("m") == 3
            assert await memory.size() == 0
            with pytest.raises(InvalidInput, match="must not begin with"):
                await memory.add(Msg.from_dict({**said.to_dict(), "id": "memwell-second:1:2"}))
            await memory.add([said, said], allow_duplicates=True)
            assert await memory.delete([said.id]) == 2
            assert await memory.size() == 0

    asyncio.run(body())


def test_a_pool_that_does_not_decode_is_fine_and_stays_open(port: int) -> None:
    async def body() -> None:
        pool = ConnectionPool(host="localhost", port=port)
        async with RedisMemory(connection_pool=pool) as memory:
            await memory.add([Msg("a", "茶", "user"), Msg("a", "b", "user")], marks=["m", "é"])
            await memory.update_compressed_summary("概要")
            assert [one.content for one in await memory.get_memory(mark="é")] == ["概要", "茶", "b"]
            assert await memory.delete_by_mark("m") == 2
        async with RedisMemory(connection_pool=pool) as memory:
            assert await memory.size() == 0
        await pool.aclose()

    asyncio.run(body())


def test_many_messages_are_marked_and_deleted_at_once(port: int) -> None:
    async def body() -> None:
        async with RedisMemory(port=port) as memory:
            messages = [Msg("a", str(one), "user") for one in range(1_200)]
            ids = [one.id for one in messages]
            await memory.add(messages, marks="m")
            assert await memory.update_messages_mark("n", old_mark="m", msg_ids=ids[::2]) == 600
            assert [one.id for one in await memory.get_memory(mark="n")] == ids[::2]
            assert await memory.update_messages_mark("n", old_mark="m") == 600
            assert [one.id for one in await memory.get_memory(mark="n")] == ids
            assert await memory.delete(ids[:1_100]) == 1_100
            assert await memory.delete_by_mark(["m", "n"]) == 100
            assert await memory.get_client().keys("*") == []

    asyncio.run(body())


def test_errors_of_the_server_come_out_as_ours(port: int) -> None:
    async def body() -> None:
        with closed_port() as closed:
            async with RedisMemory(host="127.0.0.1", port=closed, retry=Retry(NoBackoff(), 0)) as memory:
                for use in (memory.size(), memory.add(Msg("a", "x", "user")), memory.get_memory()):
                    with pytest.raises(BackendUnavailable, match="cannot be reached"):
                        await use
        async with RedisMemory("s", "u", port=port) as memory:
            await memory.get_client().set(f"{BASE}messages", "no list")
            with pytest.raises(BackendError, match="failed"):
                await memory.size()
            await memory.get_client().delete(f"{BASE}messages")
            await memory.add(Msg("a", "x", "user"))
            [id_] = await memory.get_client().lrange(f"{BASE}messages", 0, -1)
            for broken in ("{", "[1]"):
                await memory.get_client().set(f"{BASE}msg:{id_}", broken)
                with pytest.raises(InvalidInput, match="no message"):
                    await memory.get_memory()

    asyncio.run(body())


@pytest.mark.parametrize("names", [("", "u"), ("s", ""), ("s", 1), ("a\0", "u")])
def test_names_that_cannot_be_ids_are_refused(names: Any) -> None:
    with pytest.raises(InvalidInput):
        RedisMemory(*names)


_WRITER = """
import asyncio, sys
from memwell.compat.agentscope.redis import RedisMemory
from memwell.compat.agentscope.messages import Msg

async def main(port, who):
    async with RedisMemory("s", "u", port=int(port)) as memory:
        for place in range(20):
            shared = Msg("hub", "x", "user")
            shared.id = f"shared-{place}"
            await memory.add([Msg(who, str(place), "user"), shared], marks=who)
            await memory.update_messages_mark("late", old_mark=who)

asyncio.run(main(*sys.argv[1:]))
"""


def test_two_processes_lose_no_message_and_no_mark(port: int) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(port), who]) for who in ("one", "two")]
    assert [writer.wait(60) for writer in writers] == [0, 0]

    async def body() -> None:
        async with RedisMemory("s", "u", port=port) as memory:
            late = await memory.get_memory(mark="late")
            for who in ("one", "two"):
                assert [one.content for one in late if one.name == who] == [str(place) for place in range(20)]
            assert (len(late), await memory.size()) == (60, 60)

    asyncio.run(body())
