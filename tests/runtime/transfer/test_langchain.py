"""A history file becomes a conversation, and goes on when the file has grown."""

from __future__ import annotations

import io
import json
from typing import Any

from memwell.history import History
from memwell.longterm.memory import Memory
from memwell.messages import Role, ToolCall
from memwell.records import Space
from memwell.runtime.transfer import (
    import_langchain,
)
from memwell.storage import open_backend

SPACE = Space("ann")


def opened() -> Memory:
    return Memory(open_backend("memory:"), SPACE)


def as_json(value: object) -> io.BytesIO:
    return io.BytesIO(json.dumps(value).encode())


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory._all()]


HISTORY = [
    {"type": "system", "data": {"content": "Be brief."}},
    {"type": "human", "data": {"content": "你好", "additional_kwargs": {}, "id": None}},
    {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "trains", "args": {"city": "京都"}, "id": "c1"}]}},
    {"type": "tool", "data": {"content": "10:00", "tool_call_id": "c1", "status": "success"}},
    {
        "type": "ai",
        "data": {"content": [{"type": "text", "text": "At ten."}, {"type": "odd", "x": 1}], "usage_metadata": {"n": 1}},
    },
    {"type": "human", "data": {"content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}, "look"]}},
]


def test_langchain() -> None:
    memory = opened()
    report = import_langchain(memory, as_json(HISTORY), thread="chat")
    assert (report.counts, report.problems) == ({"threads": 1, "messages": 6}, [])
    chat = History(memory.backend, "chat", space=SPACE)
    assert [message.role for message in chat] == [Role.SYSTEM, Role.HUMAN, Role.AI, Role.TOOL, Role.AI, Role.HUMAN]
    assert chat.get(2).tool_calls == (ToolCall("c1", "trains", {"city": "京都"}),)
    assert chat.get(4).metadata == {"langchain": {"usage_metadata": {"n": 1}}}
    assert texts(memory) == []
    chat.remove(1)
    grown = [*HISTORY, {"type": "human", "data": {"content": "你好"}}]
    assert import_langchain(memory, as_json(grown), thread="chat", remember=True).counts == {
        "messages": 1,
        "memories": 1,
    }
    assert [message.text for message in chat][-1] == "你好"
    assert len(chat) == 6


def test_langchain_with_wrong_messages() -> None:
    wrong: list[Any] = [
        {"type": "nobody", "data": {"content": "x"}},
        {"type": "human"},
        {"type": "human", "data": {"content": 7}},
        {"type": "tool", "data": {"content": "x"}},
        {"type": "ai", "data": {"content": "x", "tool_calls": 7}},
        {"type": "ai", "data": {"content": "x", "tool_calls": [{"name": "n", "args": 1, "id": "i"}]}},
        {"type": "ai", "data": {"content": "x", "name": {"a": 1}}},
        {"type": ["human"], "data": {}},
        None,
    ]
    memory = opened()
    report = import_langchain(memory, as_json([*wrong, HISTORY[0]]), thread="t")
    assert [note.number for note in report.problems] == list(range(1, len(wrong) + 1))
    assert [message.text for message in History(memory.backend, "t", space=SPACE)] == ["Be brief."]
