"""Memories over our own stores: read from everywhere, by several processes, at a cost that does not grow."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import memwell
from memwell.compat.agentscope.conversations import Conversation
from memwell.compat.agentscope.memories import InMemoryMemory, MemwellMemory
from memwell.compat.agentscope.messages import Msg
from memwell.compat.langchain import AIMessage, HumanMessage, MemwellChatMessageHistory, ToolMessage
from memwell.history import History
from memwell.messages import Message, ToolCall
from memwell.storage.registry import open_backend
from memwell.storage.sharing import close_shared

CALL: Any = {"type": "tool_use", "id": "7", "name": "search", "input": {"q": "茶"}}
RESULT: Any = {"type": "tool_result", "id": "7", "name": "search", "output": [{"type": "text", "text": "绿茶"}]}
TALK = [
    Msg("system", "Be brief.", "system"),
    Msg("ann", "Which tea?", "user"),
    Msg("bot", [{"type": "thinking", "thinking": "SECRET"}, {"type": "text", "text": "I look."}, CALL], "assistant"),
    Msg("system", [RESULT], "system"),
    Msg("bot", "绿茶", "assistant"),
]


def test_a_conversation_reads_right_through_the_engine_and_another_room(tmp_path: Path) -> None:
    store = str(tmp_path / "a.db")
    asyncio.run(MemwellMemory(store, "trip").add(TALK, marks="m"))
    with memwell.open(store, embedder=None) as engine:
        thread = engine.thread("trip")
        roles = [(one.role.value, one.name, one.text) for one in thread]
        assert roles == [
            ("system", "system", "Be brief."),
            ("human", "ann", "Which tea?"),
            ("ai", "bot", "I look."),
            ("tool", "system", "绿茶"),
            ("ai", "bot", "绿茶"),
        ]
        assert thread.get(2).tool_calls == (ToolCall("7", "search", {"q": "茶"}),)
        assert [one.id for one in thread] == [one.id for one in TALK]
        assert (len(thread.rounds()), len(thread.search("tea"))) == (1, 1)
        assert thread.search("SECRET") == []
    system, human, called, answered, last = MemwellChatMessageHistory("trip", store).messages
    assert (system.content, human.content, last.content) == ("Be brief.", "Which tea?", "绿茶")
    assert isinstance(human, HumanMessage)
    assert isinstance(called, AIMessage)
    assert called.tool_calls[0]["name"] == "search"
    assert isinstance(answered, ToolMessage)
    assert (answered.tool_call_id, answered.content) == ("7", "绿茶")
    close_shared()


def test_what_other_rooms_write_is_read(tmp_path: Path) -> None:
    store = str(tmp_path / "a.db")
    chat = MemwellChatMessageHistory("trip", store, space="ann")
    chat.add_messages([HumanMessage("hi"), AIMessage("hello", id="1")])
    with memwell.open(store, space="ann", embedder=None) as engine:
        engine.thread("trip").add(memwell.human("shown only", hidden=True), memwell.human("bye", name="Ann"))

    async def body() -> None:
        memory = MemwellMemory(store, "trip", "ann")
        read = await memory.get_memory()
        assert [(one.name, one.role, one.content) for one in read] == [
            ("user", "user", "hi"),
            ("assistant", "assistant", "hello"),
            ("Ann", "user", "bye"),
        ]
        assert await memory.update_messages_mark("seen", msg_ids=[read[2].id]) == 1
        assert [one.content for one in await memory.get_memory(mark="seen")] == ["bye"]

    asyncio.run(body())
    close_shared()


def test_a_message_deleted_here_can_be_restored_from_the_conversation() -> None:
    async def body() -> None:
        memory = InMemoryMemory()
        await memory.add(TALK, marks="m")
        assert await memory.delete([TALK[1].id]) == 1
        memory.history.restore(1)
        assert [one.id for one in await memory.get_memory()] == [one.id for one in TALK]
        assert TALK[1].id not in [one.id for one in await memory.get_memory(mark="m")]

    asyncio.run(body())


def test_nothing_is_left_behind_when_the_conversation_is_deleted() -> None:
    with open_backend("memory:") as backend:
        conversation = Conversation(History(backend, "t"))
        conversation.add(TALK, ["m"])
        conversation.add(TALK, ["m"], allow_duplicates=True)
        conversation.set_summary("s")
        conversation.history.delete()
        assert (conversation.summary(), conversation.marks.all(), len(conversation)) == ("", {}, 0)
        assert backend.kv.count(History(backend, "t").thread.space / "memwell") == 0


_WRITER = """
import asyncio, sys
from memwell.compat.agentscope.memories import MemwellMemory
from memwell.compat.agentscope.messages import Msg

async def main(store, who):
    memory = MemwellMemory(store, "s", "u")
    shared = [Msg("hub", "x", "user") for _ in range(5)]
    for place, one in enumerate(shared):
        one.id = f"shared-{place}"
    for place in range(25):
        await memory.add(Msg(who, str(place), "user"), marks=[who, "all"])
        await memory.add(shared, marks="shared")
        await memory.update_messages_mark("late", old_mark=who)

asyncio.run(main(*sys.argv[1:]))
"""


def test_two_processes_on_one_file_lose_no_message_and_no_mark(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(store), who]) for who in ("one", "two")]
    assert [writer.wait(60) for writer in writers] == [0, 0]

    async def body() -> None:
        memory = MemwellMemory(store, "s", "u")
        late = await memory.get_memory(mark="late")
        for who in ("one", "two"):
            assert [one.content for one in late if one.name == who] == [str(place) for place in range(25)]
            assert await memory.get_memory(mark=who) == []
        assert len(await memory.get_memory(mark="all")) == 50
        assert len(await memory.get_memory(mark="shared")) == 5
        assert await memory.size() == 55

    asyncio.run(body())
    close_shared()


class Counted:
    """How many messages a log was asked for, by whatever reads them."""

    def __init__(self, history: History) -> None:
        self.read = 0
        self._log_read = history.log.read
        history.log.read = self._counting

    def _counting(self, *args: Any, ids: Iterable[str] | None = None, **wanted: Any) -> list[Message]:
        found = self._log_read(*args, ids=ids, **wanted)
        self.read += len(found)
        return found


def test_reading_by_mark_and_adding_read_no_more_than_they_need() -> None:
    async def body() -> None:
        memory = InMemoryMemory()
        old = [Msg("ann", str(place), "user") for place in range(3_000)]
        await memory.add(old, marks="compressed")
        await memory.add([Msg("ann", "new", "user") for _ in range(5)])
        await memory.update_messages_mark("hint", msg_ids=[old[7].id, old[2_000].id])
        counted = Counted(memory.history)
        assert len(await memory.get_memory(mark="hint")) == 2
        assert len(await memory.get_memory(exclude_mark="compressed")) == 5
        await memory.add(Msg("ann", "newer", "user"), marks="compressed")
        await memory.add(old[0])
        assert counted.read <= 8
        assert await memory.delete_by_mark("hint") == 2
        assert counted.read <= 12

    asyncio.run(body())
