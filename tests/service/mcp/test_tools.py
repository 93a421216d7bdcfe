"""All that a model gives to a tool reaches the method of the engine."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.errors import InvalidInput
from memwell.service.mcp.server import chosen, declared
from memwell.service.mcp.tools import MEMORY_TOOLS
from memwell.tokens import ExactCounter

TOOLS = {tool.name: tool for tool in MEMORY_TOOLS}


def test_the_page_names_every_argument() -> None:
    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")
    for name, tool in TOOLS.items():
        told = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")][-1].partition("|")[2]
        assert re.findall("`([a-z_]+)`", told) == [name, *tool.takes.__struct_fields__], name


def day(number: int) -> datetime:
    return datetime(2026, 5, number, tzinfo=UTC)


CALLS: list[tuple[str, dict[str, Any], str, tuple[Any, ...], dict[str, Any]]] = [
    (
        "remember",
        {
            "text": "Ann saw a whale.", "source": "assistant", "speaker": "Ann", "session": "s", "time": "2026-05-01",
            "days": 2, "metadata": {"a": 1},
        },
        "remember",
        ("Ann saw a whale.",),
        {"trust": "model", "speaker": "Ann", "session": "s", "time": day(1), "ttl": 172_800.0, "metadata": {"a": 1}},
    ),
    (
        "recall",
        {
            "query": "whale", "limit": 3, "speaker": "Ann", "session": "s", "since": "2026-05-01", "until": "2026-05-02",
            "as_of": "2026-05-03", "min_relevance": 0.5,
        },
        "recall",
        ("whale",),
        {
            "limit": 3, "speaker": "Ann", "session": "s", "since": day(1), "until": day(2), "as_of": day(3),
            "min_relevance": 0.5,
        },
    ),
    ("recall", {"query": "whale", "limit": 3, "documents": True}, "knowledge.recall", ("whale",), {"limit": 3}),
    (
        "context",
        {"query": "鲸鱼？", "thread": "t", "profile": "user", "budget": 99},
        "context",
        ("鲸鱼？",),
        {"thread": "t", "profile": "user", "budget": 99, "language": "zh"},
    ),
    (
        "facts",
        {"subject": "Ann", "relation": "lives_in", "as_of": "2026-05-03"},
        "facts.about",
        ("Ann",),
        {"relation": "lives_in", "as_of": day(3)},
    ),
    ("update", {"id": "a", "text": "So."}, "update", ("a",), {"text": "So."}),
    ("update", {"id": "a", "undo": True}, "undo", ("a",), {}),
    (
        "update",
        {"subject": "Ann", "relation": "likes", "value": "tea", "former": "milk", "since": "2026-05-05"},
        "facts.correct",
        ("Ann", "likes", "tea"),
        {"former": "milk", "valid_from": day(5)},
    ),
    (
        "update",
        {"subject": "Ann", "relation": "likes", "former": "tea", "since": "2026-05-06"},
        "facts.retract",
        ("Ann", "likes", "tea"),
        {"ended": day(6)},
    ),
    ("forget", {"ids": ["a", "b"], "reason": "so"}, "forget", (["a", "b"],), {"reason": "so"}),
    ("conversations", {"limit": 3, "cursor": "c"}, "threads", (), {"limit": 3, "cursor": "c"}),
    ("status", {"limit": 3, "cursor": "c", "forgotten": True}, "page", (), {"limit": 3, "cursor": "c", "forgotten": True}),
]  # fmt: skip


class Listening:
    """A memory, and any part of it, that notes how it is called."""

    def __init__(self, called: list[Any], path: str = "") -> None:
        self._called = called
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name in ("facts", "knowledge"):
            return Listening(self._called, f"{name}.")

        def call(*args: Any, **given: Any) -> None:
            self._called.append((self._path + name, args, given))
            raise InterruptedError

        return call


@pytest.mark.parametrize(("name", "given", "method", "args", "options"), CALLS)
def test_all_that_a_model_gives_reaches_the_method(
    name: str, given: dict[str, Any], method: str, args: tuple[Any, ...], options: dict[str, Any]
):
    called = list[Any]()
    tool = TOOLS[name]
    with pytest.raises(InterruptedError):
        tool.does(Listening(called), tool.decoded(given))  # pyright: ignore[reportArgumentType]
    assert called == [(method, args, options)]


def test_every_argument_is_in_one_of_the_calls():
    given = {(name, argument) for name, arguments, *_ in CALLS for argument in arguments}
    known = {(tool.name, field) for tool in MEMORY_TOOLS for field in tool.takes.__struct_fields__}
    assert known - given == {("conversations", "id")}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"id": "a"},
        {"id": "a", "subject": "Ann"},
        {"id": "a", "text": "x", "undo": True},
        {"id": "a", "text": "x", "value": "y"},
        {"subject": "Ann"},
        {"subject": "Ann", "relation": "likes", "text": "x"},
        {"subject": "Ann", "relation": "likes", "undo": True},
        {"text": "x"},
    ],
)
def test_an_update_is_of_one_thing(given: dict[str, Any]):
    tool = TOOLS["update"]
    with memwell.open("memory:", work=False, embedder=None) as engine, pytest.raises(InvalidInput):
        tool.does(engine, tool.decoded(given))


@pytest.mark.parametrize("documents", [False, True])
def test_a_limit_of_nothing_gives_nothing_as_everywhere(documents: bool):
    tool = TOOLS["recall"]
    with memwell.open("memory:", work=False, embedder=None) as engine:
        engine.remember("Ann saw a whale.")
        engine.knowledge.add("A whale is no fish.")
        found = tool.does(engine, tool.decoded({"query": "whale", "limit": 0, "documents": documents}))
        assert engine.recall("whale", limit=0) == engine.knowledge.recall("whale", limit=0) == []
    assert "whale" not in str(found)
    with pytest.raises(InvalidInput):
        tool.decoded({"query": "whale", "limit": -1})


def test_documents_are_not_searched_by_speaker():
    tool = TOOLS["recall"]
    with memwell.open("memory:", work=False, embedder=None) as engine, pytest.raises(InvalidInput, match="alone"):
        tool.does(engine, tool.decoded({"query": "whale", "documents": True, "speaker": "Ann"}))


def test_what_stands_in_the_prompt_of_a_model_is_short():
    listed = [declared(tool).model_dump(by_alias=True, exclude_none=True, mode="json") for tool in chosen("memory")]
    assert len(listed) == 8
    assert ExactCounter().count(json.dumps(listed)) < 2_500
