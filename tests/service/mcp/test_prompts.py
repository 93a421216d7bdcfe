"""Prompts in both languages; what is recalled for them stands in a fence."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError


def texts(inside: Any, name: str, **arguments: str) -> list[str]:
    made = inside.ask(lambda client: client.get_prompt(name, arguments))
    return [message.content.text for message in made.messages]


@pytest.mark.parametrize(
    ("question", "language", "told"),
    [
        ("What is Ann allergic to?", "", "Answer the last message"),
        ("安对什么过敏？", "", "请根据这些资料回答"),
        ("What is Ann allergic to?", "zh", "请根据这些资料回答"),
    ],
)
def test_an_answer_from_memory(inside: Any, question: str, language: str, told: str) -> None:
    inside.memory.remember("Ann (安) is allergic to nuts. 安对坚果过敏。")
    found = texts(inside, "answer-from-memory", question=question, **({"language": language} if language else {}))
    assert found[0].startswith(told)
    assert found[-1] == question
    assert "| Ann (安) is allergic to nuts." in found[1]


def test_remembering_a_conversation(inside: Any) -> None:
    [english] = texts(inside, "remember-this-conversation")
    [chinese] = texts(inside, "remember-this-conversation", language="zh")
    [topic] = texts(inside, "remember-this-conversation", topic="the\ntrip")
    assert "remember" in english
    assert "recall" in english
    assert "remember" in chinese
    assert "回顾" in chinese
    assert topic == f"{english}\nAttend to this above all:\n| the trip"


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("nothing", {}, "there is no prompt 'nothing'"),
        ("answer-from-memory", {}, "needs question"),
        ("answer-from-memory", {"question": "  "}, "needs question"),
        ("answer-from-memory", {"question": "x", "language": "fr"}, "en or zh"),
        ("answer-from-memory", {"question": "x" * 10_001}, "10,001 characters"),
        ("answer-from-memory", {"question": "x", "space": "bo"}, "not 'space'"),
    ],
)
def test_a_prompt_that_cannot_be_made(inside: Any, name: str, arguments: dict[str, str], told: str) -> None:
    async def work(client: Any) -> None:
        with pytest.raises(MCPError, match=told) as raised:
            await client.get_prompt(name, arguments)
        assert raised.value.code == -32602

    inside.ask(work)
    assert inside.memory.memories() == []
