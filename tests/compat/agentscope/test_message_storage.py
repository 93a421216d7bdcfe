from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.agentscope.memories import WrongType
from memwell.compat.agentscope.message_storage import (
    InMemoryMessageStorage,
    MessageStorageBase,
    NoSuchPlace,
    ThreadMessageStorage,
    as_storage,
)
from memwell.compat.agentscope.messages import Msg
from memwell.errors import InvalidInput
from memwell.history import History


class ListStorage:
    """A storage as somebody may have written one for AgentScope."""

    def __init__(self) -> None:
        self.kept: list[Msg] | None = None

    async def health(self) -> bool:
        return self.kept is not None

    async def start(self) -> None:
        self.kept = []

    async def add(self, msgs: list[Msg]) -> None:
        assert self.kept is not None
        self.kept += msgs

    async def delete(self, indices: Any) -> None:
        assert self.kept is not None
        self.kept = [one for place, one in enumerate(self.kept) if place not in indices]

    async def clear(self) -> None:
        self.kept = []

    async def get(self) -> list[Msg]:
        assert self.kept is not None
        return list(self.kept)

    async def replace(self, msgs: list[Msg]) -> None:
        self.kept = list(msgs)


def said(*texts: str) -> list[Msg]:
    return [Msg("ann", text, "user") for text in texts]


@pytest.fixture(params=["memory", "file", "theirs"])
def storage(request: pytest.FixtureRequest, tmp_path: Path):
    if request.param == "memory":
        yield as_storage(None, "x")
    elif request.param == "theirs":
        yield as_storage(ListStorage(), "x")
    else:
        with History.open(str(tmp_path / "a.db"), "talk") as history:
            yield as_storage(history, "x")


def test_messages_are_added_read_taken_out_and_replaced(storage: MessageStorageBase):
    async def run() -> None:
        first = said("a", "b", "c")
        await storage.add(first)
        assert [one.to_dict() for one in await storage.get()] == [one.to_dict() for one in first]
        assert await storage.known([first[1].id, "other"]) == {first[1].id}
        await storage.delete([0, 2])
        assert [one.content for one in await storage.get()] == ["b"]
        await storage.replace(said("x", "y"))
        assert [one.content for one in await storage.get()] == ["x", "y"]
        assert await storage.size() == 2
        # One that was there and went may come again.
        await storage.replace(first)
        assert [one.id for one in await storage.get()] == [one.id for one in first]
        await storage.clear()
        assert await storage.get() == []
        assert await storage.size() == 0

    asyncio.run(run())


def test_a_place_without_a_message_is_refused_and_nothing_goes():
    async def run() -> None:
        storage = InMemoryMessageStorage()
        await storage.add(said("a", "b"))
        for bad in ([0, 2], -1, 5):
            with pytest.raises(NoSuchPlace):
                await storage.delete(bad)
        for bad in ("0", 1.5, [True], None):
            with pytest.raises(WrongType):
                await storage.delete(bad)  # type: ignore[arg-type]
        assert await storage.size() == 2

    asyncio.run(run())


def test_a_deep_copy_is_another_storage():
    async def run() -> None:
        storage = InMemoryMessageStorage()
        await storage.add(said("a"))
        twin = copy.deepcopy(storage)
        await twin.add(said("b"))
        assert await storage.size() == 1
        assert [one.content for one in await twin.get()] == ["a", "b"]

    asyncio.run(run())


def test_what_is_no_storage_is_refused():
    with pytest.raises(InvalidInput, match="memory_storage must be"):
        as_storage("messages.db", "memory_storage")
    history = History.open("memory:", "talk")
    with pytest.raises(InvalidInput, match="whole store"):
        ThreadMessageStorage(History(history.log, "talk"))
    history.close()
