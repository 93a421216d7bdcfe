"""The session of the OpenAI Agents SDK: lossless, popped, compacted, and used by the SDK's own runner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("agents", reason="openai-agents is not installed: make test installs it apart")
from agents import Agent, ModelResponse, Runner, SessionSettings, Usage, function_tool, set_tracing_disabled
from agents.memory import Session
from agents.models.interface import Model
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from memwell.integrations.openai_agents import MemwellSession, recalled_instructions
from memwell.runtime.opening import open as open_memory
from memwell.storage import open_backend
from memwell.storage.registry import close_shared

set_tracing_disabled(True)


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "app.db")
    close_shared()


class Scripted(Model):
    """A model that answers from a list, and notes what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str | None, Any]] = []

    async def get_response(self, system_instructions: str | None, input: Any, *args: Any, **options: Any):  # noqa: A002
        self.asked.append((system_instructions, input))
        return ModelResponse(output=[self.answers.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any):
        raise NotImplementedError


def said(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="m", content=[part], role="assistant", status="completed", type="message")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e300, 1e300) | st.text("aé。\n"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(deadline=None, max_examples=30)
@given(items=st.lists(st.dictionaries(st.sampled_from(["role", "type", "content", "output", "x"]), JSON), max_size=4))
def test_any_item_comes_back_equal(items: list[Any]):
    import asyncio

    async def run() -> list[Any]:
        with open_backend("memory:") as backend:
            session = MemwellSession("s", backend)
            await session.add_items(items)
            return await session.get_items()

    assert asyncio.run(run()) == items


async def test_limits_pops_and_clears(path: str):
    session = MemwellSession("s", path)
    assert isinstance(session, Session)
    items: list[Any] = [{"role": "user", "content": str(n)} for n in range(5)]
    assert await session.pop_item() is None
    await session.add_items(items)
    assert await session.get_items(2) == items[3:]
    assert await session.get_items(0) == []
    assert await MemwellSession("s", path, session_settings=SessionSettings(limit=1)).get_items() == items[4:]
    assert await session.pop_item() == items[4]
    assert await MemwellSession("s", path).get_items() == items[:4]
    assert await MemwellSession("other", path).get_items() == []
    assert await MemwellSession("s", path, space="ben").get_items() == []
    assert [one.text for one in session.history] == ["0", "1", "2", "3"]
    await session.clear_session()
    assert await session.get_items() == []


async def test_a_long_conversation_is_compacted_without_parting_a_call_from_its_output(path: str):
    seen: list[Any] = []

    def summarize(items: list[Any]) -> str:
        seen.extend(items)
        return f"{len(items)} items"

    session = MemwellSession("s", path, summarize=summarize, compact_after=5)
    call: Any = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    output: Any = {"type": "function_call_output", "call_id": "c", "output": "42"}
    items: list[Any] = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}, call, output]
    items += [{"role": "assistant", "content": "c"}, {"role": "user", "content": "d"}]
    await session.add_items(items)
    assert seen == items[:4]
    assert await session.get_items() == [{"role": "user", "content": "4 items"}, *items[4:]]


async def test_the_runner_keeps_a_conversation_with_a_tool(path: str):
    @function_tool
    def add(a: int, b: int) -> int:
        return a + b

    call = ResponseFunctionToolCall(call_id="c", name="add", arguments='{"a": 2, "b": 3}', type="function_call")
    model = Scripted(call, said("It is 5."), said("You asked for a sum."))
    agent = Agent(name="a", model=model, tools=[add])
    done = await Runner.run(agent, "What is 2 + 3?", session=MemwellSession("s", path))
    assert done.final_output == "It is 5."
    await Runner.run(agent, "What did I ask?", session=MemwellSession("s", path))
    last = model.asked[-1][1]
    assert last[0] == {"role": "user", "content": "What is 2 + 3?"}
    assert [one.get("type", one.get("role")) for one in last] == [
        "user", "function_call", "function_call_output", "message", "user",
    ]  # fmt: skip
    assert [one.text for one in MemwellSession("s", path).history][-1] == "You asked for a sum."


async def test_what_is_recalled_is_in_the_instructions():
    with open_memory("memory:") as memory:
        memory.remember("Ann is allergic to nuts.")
        model = Scripted(said("No nuts."), said("Hello."))
        agent = Agent(name="a", model=model, instructions=recalled_instructions(memory, "Be kind."))
        await Runner.run(agent, "What is Ann allergic to?")
        instructed = model.asked[0][0]
        assert instructed is not None
        assert instructed.startswith("Be kind.\n\n")
        assert "- Ann is allergic to nuts." in instructed
