"""The summary of a memory in a database: in the database, and in the state."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memwell.compat.agentscope.databases import DatabaseMemory
from memwell.compat.agentscope.memories import with_summary
from memwell.compat.agentscope.messages import Msg
from memwell.errors import InvalidInput


class Noted(DatabaseMemory):
    """A memory of nothing but a summary, in a database that is a dict."""

    def __init__(self, database: dict[str, str]) -> None:
        super().__init__()
        self.database = database
        self.closed = False

    async def add(self, memories: Any, marks: Any = None, **kwargs: Any) -> None: ...
    async def clear(self) -> None: ...
    async def delete(self, msg_ids: list[str], **kwargs: Any) -> int:
        return 0

    async def size(self) -> int:
        return 0

    async def get_memory(self, *args: Any, **kwargs: Any) -> list[Msg]:
        return with_summary([], await self._summary())

    async def close(self) -> None:
        self.closed = True

    async def _read_summary(self) -> str:
        return self.database.get("summary", "")

    async def _write_summary(self, summary: str) -> None:
        self.database["summary"] = summary


def test_a_summary_is_in_the_database_and_what_was_seen_of_it_in_the_state() -> None:
    async def body() -> None:
        database: dict[str, str] = {}
        async with Noted(database) as one, Noted(database) as other:
            await one.update_compressed_summary("new")
            assert other.state_dict() == {"_compressed_summary": ""}
            assert (await other.get_memory())[0].content == "new"
            assert other.state_dict() == {"_compressed_summary": "new"}
            with pytest.raises(InvalidInput):
                await one.update_compressed_summary(None)  # type: ignore[arg-type]
            assert database == {"summary": "new"}
        assert one.closed

    asyncio.run(body())


def test_a_summary_that_is_loaded_is_stored_and_an_empty_one_does_no_harm() -> None:
    async def body() -> None:
        database = {"summary": "there"}
        memory = Noted(database)
        memory.load_state_dict(Noted({}).state_dict())
        assert (await memory.get_memory())[0].content == "there"
        memory.load_state_dict({"_compressed_summary": "loaded"})
        assert (await memory.get_memory())[0].content == "loaded"
        assert database == {"summary": "loaded"}
        database["summary"] = "newer"
        assert (await memory.get_memory())[0].content == "newer"
        with pytest.raises(KeyError):
            memory.load_state_dict({})
        memory.load_state_dict({}, strict=False)
        assert (await memory.get_memory())[0].content == "newer"

    asyncio.run(body())
