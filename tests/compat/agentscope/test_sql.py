"""Memories in SQL: AgentScope's own tables, errors of databases, and what its own class gets wrong."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from memwell.compat.agentscope.messages import Msg
from memwell.compat.agentscope.sql import AsyncSQLAlchemyMemory
from memwell.errors import BackendError, BackendUnavailable, InvalidInput

THEIRS = [
    "CREATE TABLE users (id VARCHAR(255) PRIMARY KEY)",
    "CREATE TABLE session (id VARCHAR(255) PRIMARY KEY, user_id VARCHAR(255) NOT NULL REFERENCES users (id))",
    'CREATE TABLE message (id VARCHAR(255) PRIMARY KEY, msg JSON NOT NULL, session_id VARCHAR(255), "index" BIGINT)',
    "CREATE TABLE message_mark (msg_id VARCHAR(255), mark VARCHAR(255), PRIMARY KEY (msg_id, mark))",
    "INSERT INTO users VALUES ('u')",
    "INSERT INTO session VALUES ('s', 'u')",
]


@asynccontextmanager
async def opened(folder: Path, *statements: str, **values: Any) -> AsyncGenerator[AsyncEngine]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{folder / 'a.db'}")
    async with engine.begin() as connection:
        for statement in statements:
            await connection.execute(text(statement), values)
    yield engine
    await engine.dispose()


async def rows(engine: AsyncEngine, statement: str) -> list[tuple[Any, ...]]:
    async with engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(text(statement))]


def test_what_agentscope_wrote_is_read_and_written_on(tmp_path: Path) -> None:
    first = Msg("ann", "你好", "user")
    written = [
        "INSERT INTO message VALUES ('u-s-' || :id, :msg, 's', 0)",
        "INSERT INTO message_mark VALUES ('u-s-' || :id, 'm')",
    ]

    async def body() -> None:
        async with opened(tmp_path, *THEIRS) as engine:
            async with engine.begin() as connection:
                for statement in written:
                    await connection.execute(text(statement), {"id": first.id, "msg": json.dumps(first.to_dict())})
            memory, second = AsyncSQLAlchemyMemory(engine, "s", "u"), Msg("bot", "b", "assistant")
            await memory.add([first, second], marks="m")
            assert [vars(one) for one in await memory.get_memory(mark="m")] == [vars(first), vars(second)]
            stored = await rows(engine, 'SELECT id, msg, session_id, "index" FROM message ORDER BY "index"')
            assert [(row[0], row[2], row[3]) for row in stored] == [
                (f"u-s-{first.id}", "s", 0),
                (f"u-s-{second.id}", "s", 1),
            ]
            assert json.loads(stored[1][1]) == second.to_dict()
            assert await rows(engine, "SELECT * FROM session") == [("s", "u")]
            indexes = await rows(engine, "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'message'")
            assert ("ix_message_session_id_index",) in indexes

    asyncio.run(body())


def test_two_users_with_sessions_of_one_name_do_not_see_each_other(tmp_path: Path) -> None:
    """AgentScope's own class asks for the session's name alone."""

    async def body() -> None:
        async with opened(tmp_path) as engine:
            ann, bob = (AsyncSQLAlchemyMemory(engine, "s", user) for user in ("ann", "bob"))
            await ann.add(Msg("ann", "my secret", "user"))
            assert (await bob.get_memory(), await bob.size()) == ([], 0)
            await bob.clear()
            assert await ann.size() == 1
            # A session's name that looks like a digest is a name like any other.
            [[key]] = await rows(engine, "SELECT id FROM session WHERE user_id = 'bob'")
            again = AsyncSQLAlchemyMemory(engine, key, "bob")
            await bob.add(Msg("bob", "x", "user"))
            assert await again.size() == 0

    asyncio.run(body())


def test_ids_that_look_alike_when_joined_stay_apart(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as engine:
            shared = Msg("hub", "x", "assistant")
            memories = [AsyncSQLAlchemyMemory(engine, *names) for names in (("c", "a-b"), ("b-c", "a"))]
            for memory in memories:
                await memory.add(shared, marks="m")
            assert await memories[1].delete([shared.id]) == 1
            assert [one.id for one in await memories[0].get_memory(mark="m")] == [shared.id]

    asyncio.run(body())


@pytest.mark.parametrize("wanted", [{"allow_duplicates": True}, {"skip_duplicated": False}])
def test_a_duplicate_that_is_not_to_be_skipped_is_refused(wanted: Any, tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as engine:
            memory, one, two = AsyncSQLAlchemyMemory(engine), Msg("a", "1", "user"), Msg("a", "2", "user")
            await memory.add(one)
            for batch, twice in (([two, one], one), ([two, two], two)):
                with pytest.raises(InvalidInput, match=f"{twice.id}.*hold an id once"):
                    await memory.add(batch, **wanted)
            assert await memory.size() == 1
            assert (memory.session_id, memory.user_id) == ("default_session", "default_user")

    asyncio.run(body())


def test_a_session_that_is_given_is_used_and_left_open(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as engine, AsyncSession(engine) as session:
            async with AsyncSQLAlchemyMemory(session, "s") as memory:
                await memory.add(Msg("a", "x", "user"), marks="m")
                await memory.update_compressed_summary("sum")
            assert (await session.execute(text("SELECT count(*) FROM message"))).scalar_one() == 1
            # It was committed, so others see it.
            other = AsyncSQLAlchemyMemory(engine, "s")
            assert [one.content for one in await other.get_memory(mark="m")] == ["sum", "x"]

    asyncio.run(body())


def test_many_messages_are_marked_and_deleted_in_parts(tmp_path: Path) -> None:
    async def body() -> None:
        async with opened(tmp_path) as engine:
            memory, messages = AsyncSQLAlchemyMemory(engine), [Msg("a", str(one), "user") for one in range(1_200)]
            await memory.add(messages, marks="m")
            ids = [one.id for one in messages]
            assert await memory.update_messages_mark("n", old_mark="m", msg_ids=ids) == 1_200
            assert await memory.delete(ids[:1_100]) == 1_100
            assert [one.id for one in await memory.get_memory(mark="n")] == ids[1_100:]
            assert await memory.delete_by_mark(["m", "n"]) == 100
            assert await rows(engine, "SELECT count(*) FROM message_mark") == [(0,)]

    asyncio.run(body())


@pytest.mark.parametrize("wrong", [None, "sqlite://", object()])
def test_only_an_async_engine_or_session_is_taken(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="engine_or_session"):
        AsyncSQLAlchemyMemory(wrong)


def test_errors_of_the_database_come_out_as_ours(tmp_path: Path) -> None:
    async def body() -> None:
        missing = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'no' / 'a.db'}")
        with pytest.raises(BackendUnavailable, match="cannot be reached"):
            await AsyncSQLAlchemyMemory(missing).size()
        await missing.dispose()
        async with opened(tmp_path, "CREATE TABLE message (id INTEGER)") as engine:
            with pytest.raises(BackendError):
                await AsyncSQLAlchemyMemory(engine).add(Msg("a", "x", "user"))
        async with opened(tmp_path, "DROP TABLE message", *THEIRS[2:3]) as engine:
            memory = AsyncSQLAlchemyMemory(engine)
            await memory.add(Msg("a", "x", "user"))
            async with engine.begin() as connection:
                await connection.execute(text("UPDATE message SET msg = '[1]'"))
            with pytest.raises(InvalidInput, match="a message is a dict"):
                await memory.get_memory()

    asyncio.run(body())


def test_whoever_writes_holds_the_session_from_before_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body() -> None:
        async with opened(tmp_path) as engine:
            hasty = create_async_engine(f"sqlite+aiosqlite:///{tmp_path / 'a.db'}", connect_args={"timeout": 0})
            one, other = AsyncSQLAlchemyMemory(engine, "s"), AsyncSQLAlchemyMemory(hasty, "s")
            assert (await one.size(), await other.size()) == (0, 0)
            number = one._rows

            async def numbered(*args: Any) -> Any:
                made = await number(*args)
                # The places are given out: nobody else may give out the same ones now.
                with pytest.raises(BackendUnavailable):
                    await other.add(Msg("b", "too early", "user"))
                return made

            monkeypatch.setattr(one, "_rows", numbered)
            await one.add(Msg("a", "first", "user"))
            await other.add(Msg("b", "second", "user"))
            assert [read.content for read in await one.get_memory()] == ["first", "second"]
            await hasty.dispose()

    asyncio.run(body())


_WRITER = """
import asyncio, sys
from sqlalchemy.ext.asyncio import create_async_engine
from memwell.compat.agentscope.sql import AsyncSQLAlchemyMemory
from memwell.compat.agentscope.messages import Msg

async def main(path, who):
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}", connect_args={"timeout": 60})
    memory = AsyncSQLAlchemyMemory(engine, "s", "u")
    for place in range(15):
        shared = Msg("hub", "x", "user")
        shared.id = f"shared-{place}"
        await memory.add([Msg(who, str(place), "user"), shared], marks="m")
    await engine.dispose()

asyncio.run(main(*sys.argv[1:]))
"""


def test_two_processes_lose_nothing_and_number_no_place_twice(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path / "a.db"), who]) for who in ("one", "two")]
    assert [writer.wait(90) for writer in writers] == [0, 0]

    async def body() -> None:
        async with opened(tmp_path) as engine:
            read = await AsyncSQLAlchemyMemory(engine, "s", "u").get_memory(mark="m")
            for who in ("one", "two"):
                assert [one.content for one in read if one.name == who] == [str(place) for place in range(15)]
            assert sorted(one.id for one in read if one.name == "hub") == sorted(
                f"shared-{place}" for place in range(15)
            )
            assert await rows(engine, 'SELECT count(DISTINCT "index"), count(*) FROM message') == [(45, 45)]

    asyncio.run(body())
