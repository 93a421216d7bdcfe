"""Pydantic AI's messages come back equal, and its agents use the toolset."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="pydantic-ai-slim is not installed: make test installs it apart")
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from memwell.integrations.pydantic_ai import MemwellMessageHistory, MemwellToolset
from memwell.runtime.opening import open as open_memory
from memwell.storage.registry import close_shared

EVERY_KIND: list[Any] = [
    ModelRequest(
        [
            SystemPromptPart("Be kind."),
            UserPromptPart(["look", BinaryContent(b"\x00\xff", media_type="application/pdf")]),
        ]
    ),
    ModelResponse(
        [ThinkingPart("hm", signature="s"), TextPart("I see."), ToolCallPart("f", {"a": [1, None]}, "c")],
        model_name="m",
    ),
    ModelRequest([ToolReturnPart("f", {"rows": [1, 2.5]}, "c"), ToolReturnPart("f", "again", "d", outcome="retried")]),
]


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "app.db")
    close_shared()


def test_every_message_comes_back_equal(path: str):
    history = MemwellMessageHistory("s", path)
    assert history.load() == []
    history.add(EVERY_KIND)
    assert MemwellMessageHistory("s", path).load() == EVERY_KIND
    assert history.load(1) == EVERY_KIND[-1:]
    assert [one.text for one in history.history][:2] == ["Be kind.\nlook", "hm\nI see."]
    history.save(EVERY_KIND[:1])
    assert history.load() == EVERY_KIND[:1]
    assert MemwellMessageHistory("s", path, space="ben").load() == []
    history.clear()
    assert history.load() == []


async def test_an_agent_goes_on_where_it_was(path: str):
    seen: list[Any] = []

    def answer(messages: list[Any], info: Any) -> ModelResponse:
        seen.append(messages)
        return ModelResponse([TextPart(f"{len(messages)} messages")])

    agent = Agent(FunctionModel(answer))
    history = MemwellMessageHistory("s", path)
    for prompt in ("Hello", "And now?"):
        done = await agent.run(prompt, message_history=await history.aload())
        await history.aadd(done.new_messages())
    assert done.output == "3 messages"
    assert history.load() == done.all_messages()
    assert [one.text for one in history.history] == ["Hello", "1 messages", "And now?", "3 messages"]


async def test_an_agent_remembers_recalls_and_forgets():
    with open_memory("memory:") as memory:
        steps = [
            lambda last: ToolCallPart("remember", {"text": "Ann is allergic to nuts."}),
            lambda last: ToolCallPart("recall", {"query": "What is Ann allergic to?"}),
            lambda last: ToolCallPart("forget", {"memory_id": last[0]["id"]}),
            lambda last: ToolCallPart("forget", {"memory_id": "unknown"}),
            TextPart,
        ]

        def answer(messages: list[Any], info: Any) -> ModelResponse:
            part = messages[-1].parts[-1]
            return ModelResponse([steps.pop(0)(part.content)])

        done = await Agent(FunctionModel(answer), toolsets=[MemwellToolset(memory)]).run("Go")
        assert done.output == "There is no such memory."
        returned: list[Any] = [
            part.content for one in done.all_messages() for part in one.parts if isinstance(part, ToolReturnPart)
        ]
        assert returned[1][0]["text"] == "Ann is allergic to nuts."
        assert returned[2] == "Forgotten."
        assert memory.recall("nuts") == []


async def test_the_tools_are_described_to_a_model():
    with open_memory("memory:") as memory:
        model = TestModel(call_tools=["recall"])
        await Agent(model, toolsets=[MemwellToolset(memory)]).run("Go")
        offered = model.last_model_request_parameters
        assert offered is not None
        assert {tool.name for tool in offered.function_tools} == {"remember", "recall", "forget"}
        assert all(tool.description for tool in offered.function_tools)
