"""What agents know for good: of people, of tasks, of tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import memwell
from memwell.compat.agentscope.long_term import (
    ReMeLongTermMemoryBase,
    ReMePersonalLongTermMemory,
    ReMeTaskLongTermMemory,
    ReMeToolLongTermMemory,
    ToolResponse,
)
from memwell.compat.agentscope.messages import Msg
from memwell.storage.registry import close_shared, open_backend

ALL = (ReMePersonalLongTermMemory, ReMeTaskLongTermMemory, ReMeToolLongTermMemory)
SEARCH = {"tool_name": "search", "input": {"q": "tea"}, "output": "Found 10", "success": True, "time_cost": 1.0}
FAILED = {"tool_name": "search", "input": {"q": ""}, "output": "timeout", "success": False, "time_cost": 3.0}


def flat(texts: Sequence[str]) -> list[list[float]]:
    """An embedder that needs no model: every text points the same way, so that words alone decide."""
    return [[1.0, 0.0] for _ in texts]


def words(response: ToolResponse) -> str:
    [block] = response.content
    assert block["type"] == "text"
    return block.get("text", "")


def made(cls: type[ReMeLongTermMemoryBase], store: Any, user: str = "ann") -> Any:
    return cls("bot", user, "run-1", embedding_model=flat, store=store)


async def test_what_is_known_of_a_person() -> None:
    with open_backend("memory:") as backend:
        async with made(ReMePersonalLongTermMemory, backend) as memory:
            told = ["Ann prefers homestays in Hangzhou.", "安妮每天早上喝绿茶。"]
            answer = await memory.record_to_memory("for the next trip", told)
            assert words(answer) == "Successfully recorded 2 memory/memories to personal memory."
            assert answer.metadata is not None
            assert [one["content"] for one in answer.metadata["result"]["metadata"]["memory_list"]] == told
            found = words(await memory.retrieve_from_memory(["homestays", "绿茶"], limit=1))
            assert found == f"Keyword 'homestays':\n{told[0]}\n\nKeyword '绿茶':\n{told[1]}"
            assert words(await memory.record_to_memory("", [])) == "Memory recording completed."
            kept = memory.memory.memories()[0]
            assert (kept.kind, kept.session) == ("personal", "run-1")
            assert kept.metadata == {"agent": "bot", "thinking": "for the next trip"}


async def test_what_was_recalled_is_not_learnt_again() -> None:
    with open_backend("memory:") as backend:
        async with made(ReMePersonalLongTermMemory, backend) as memory:
            hint = "The content below are retrieved from long-term memory, which maybe useful:\n"
            recalled = f"<long_term_memory>{hint}I start work at nine. </long_term_memory> he said</long_term_memory>"
            document: Any = ["<retrieved_knowledge>Use this:\n", "Tea is green.", "</retrieved_knowledge>"]
            output = {"type": "tool_result", "id": "1", "name": "retrieve_from_memory", "output": "Ann likes nine."}
            found: Any = [output]
            await memory.record(
                [
                    Msg("ann", "I start work at nine.", "user"),
                    Msg("long_term_memory", recalled, "user"),
                    Msg("user", [{"type": "text", "text": one} for one in document], "user"),
                    Msg("ann", f"I like tea. {recalled}", "user"),
                    Msg("system", found, "system"),
                ]
            )
            assert sorted(one.text.strip() for one in memory.memory.memories()) == [
                "I like tea.",
                "I start work at nine.",
            ]


async def test_messages_are_recorded_once_and_the_last_one_asks() -> None:
    with open_backend("memory:") as backend:
        async with made(ReMePersonalLongTermMemory, backend) as memory:
            thought: Any = [{"type": "thinking", "thinking": "SECRET"}, {"type": "text", "text": "Nine it is."}]
            talk = [
                Msg("system", "Never lie.", "system"),
                None,
                Msg("ann", "I start work at nine.", "user"),
                Msg("bot", thought, "assistant"),
            ]
            await memory.record(talk)
            await memory.record(talk)
            await memory.record([None])
            await memory.record([])
            assert sorted(one.text for one in memory.memory.memories()) == ["I start work at nine.", "Nine it is."]
            asked = [Msg("x", "nothing", "user"), Msg("ann", "when does my work start?", "user")]
            assert await memory.retrieve(asked, limit=1) == "I start work at nine."
            assert await memory.retrieve(None) == await memory.retrieve([]) == ""
            assert await memory.retrieve(Msg("a", [], "user")) == ""


async def test_what_was_learned_from_tasks() -> None:
    with open_backend("memory:") as backend:
        async with made(ReMeTaskLongTermMemory, backend) as memory:
            nothing = await memory.retrieve_from_memory(["slow query"])
            assert words(nothing) == "No task experiences found for the given keywords."
            answer = await memory.record_to_memory("it helped", ["Add an index for a slow query."], score=0.5)
            assert words(answer) == "Successfully recorded 1 task memory/memories."
            await memory.record([Msg("bot", "Vacuum at night.", "assistant")])
            assert sorted(one.metadata["score"] for one in memory.memory.memories()) == [0.5, 1.0]
            assert "Add an index" in words(await memory.retrieve_from_memory(["slow query"]))


async def test_what_came_of_using_tools() -> None:
    with open_backend("memory:") as backend:
        async with made(ReMeToolLongTermMemory, backend) as memory:
            assert words(await memory.retrieve_from_memory(["a", "b"])) == "No tool guidelines found for: a,b"
            with pytest.warns(UserWarning, match="Failed to parse tool call result JSON"):
                answer = await memory.record_to_memory("x", [json.dumps(SEARCH), "{", json.dumps(FAILED)])
            expected = "Successfully recorded 2 tool execution results and generated usage guidelines."
            assert words(answer) == expected
            with pytest.warns(UserWarning, match="a JSON object with a tool_name"):
                none = await memory.record_to_memory("x", ["[1]"])
            assert words(none) == "No valid tool call results to record."
            await memory.record([Msg("s", json.dumps({"tool_name": "shell", "input": {"run": "ls"}}), "system")])
            guideline = words(await memory.retrieve_from_memory(["search"]))
            assert guideline.splitlines() == [
                "search: 2 recorded, 1 worked, 2 s on average",
                '- search({"q": "tea"}) worked: Found 10',
                '- search({"q": ""}) failed: timeout',
            ]
            assert await memory.retrieve(Msg("u", "search, shell", "user"), limit=0) == (
                "search: 2 recorded, 1 worked, 2 s on average\n\nshell: 1 recorded, 1 worked"
            )
            # Whoever does not know the tool's name finds it by what it was used for.
            assert "shell: 1 recorded" in await memory.retrieve(Msg("u", "run ls for me", "user"))


def test_kinds_and_users_are_apart_and_the_file_lasts(tmp_path: Path) -> None:
    store = tmp_path / "a.db"

    async def before() -> None:
        async with made(ReMePersonalLongTermMemory, store) as personal, made(ReMeTaskLongTermMemory, store) as task:
            await personal.record_to_memory("", ["Ann likes tea."])
            await task.record_to_memory("", ["Tea is served at four."])

    async def after() -> None:
        async with made(ReMePersonalLongTermMemory, store) as memory:
            assert await memory.retrieve(Msg("u", "tea", "user")) == "Ann likes tea."
        async with made(ReMePersonalLongTermMemory, store, "bob") as memory:
            assert words(await memory.retrieve_from_memory(["tea"])) == "No memories found for the given keywords."

    asyncio.run(before())
    close_shared()
    asyncio.run(after())
    close_shared()
    with memwell.open(store, space="ann", embedder=None) as engine:
        assert {one.text for one in engine.recall("tea")} == {"Ann likes tea.", "Tea is served at four."}


@pytest.mark.parametrize("cls", ALL)
async def test_outside_of_async_with_nothing_works(cls: type[ReMeLongTermMemoryBase]) -> None:
    memory, said = made(cls, "memory:"), Msg("a", "x", "user")
    for use in (
        memory.record([said]),
        memory.retrieve(said),
        memory.record_to_memory("", ["x"]),
        memory.retrieve_from_memory(["x"]),
    ):
        with pytest.raises(RuntimeError, match="ReMeApp context not started"):
            await use
    with open_backend("memory:") as backend:
        memory.store = backend
        async with memory:
            assert await memory.retrieve(said) == ""
    with pytest.raises(RuntimeError):
        await memory.retrieve(said)


@pytest.mark.parametrize("cls", ALL)
async def test_what_is_no_message_is_refused_and_what_is_no_text_is_said(cls: type[ReMeLongTermMemoryBase]) -> None:
    with open_backend("memory:") as backend:
        async with made(cls, backend) as memory:
            for wrong in ("text", [Msg("a", "x", "user"), "text"], 7):
                with pytest.raises(TypeError):
                    await memory.record(wrong)
                with pytest.raises(TypeError):
                    await memory.retrieve(wrong)
            for content in ("text", [1], [None], ["a\0"]):
                assert words(await memory.record_to_memory("x", content)).startswith("Error recording")
                assert words(await memory.retrieve_from_memory(content)).startswith("Error retrieving")
            assert memory.memory.count() == 0


async def test_a_store_that_fails_is_a_warning_to_the_program_and_a_sentence_to_the_agent() -> None:
    backend = open_backend("memory:")
    async with made(ReMePersonalLongTermMemory, backend) as memory:
        backend.close()
        with pytest.warns(UserWarning, match="Error recording messages to memory"):
            await memory.record([Msg("a", "I like tea.", "user")])
        with pytest.warns(UserWarning, match="Error retrieving memory"):
            assert await memory.retrieve(Msg("a", "tea", "user")) == ""
        assert words(await memory.record_to_memory("", ["x y z"])).startswith("Error recording memory: ")
        assert words(await memory.retrieve_from_memory(["x"])).startswith("Error retrieving memory: ")


class TheirEmbedding:
    """An embedding model of AgentScope's kind: async, with the vectors in a field of its answer."""

    model_name = "theirs-1"

    async def __call__(self, text: list[str], **kwargs: Any) -> Any:
        return SimpleNamespace(embeddings=[[1.0, float("tea" in one), 0.5] for one in text])


async def test_an_embedding_model_of_agentscopes_kind_is_taken() -> None:
    with open_backend("memory:") as backend:
        memory = ReMePersonalLongTermMemory(user_name="ann", embedding_model=TheirEmbedding(), store=backend)
        async with memory:
            await memory.record_to_memory("", ["Ann likes tea.", "Bob runs."])
            assert memory.memory.embedder is not None
            assert memory.memory.embedder.name == "theirs-1"
            assert memory.memory.embedder.dimensions == 3
            assert await memory.retrieve(Msg("u", "tea?", "user"), limit=1) == "Ann likes tea."
