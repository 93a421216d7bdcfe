"""A tool is an operation: what a model gives reaches the method of the engine, by its name or as the tool means it."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from typing import Any

import pytest

import memwell
from memwell.errors import InvalidInput
from memwell.runtime.wire.table import OPERATIONS
from memwell.service.mcp.tools import MEMORY_TOOLS, McpTool

GIVEN: dict[str, dict[str, Any]] = {
    "remember": {
        "text": "Ann saw a whale.", "source": "assistant", "speaker": "Ann", "session": "s", "time": "2026-05-01",
        "importance": 0.9, "days": 2, "metadata": {"a": 1},
    },
    "recall": {
        "query": "whale", "limit": 3, "speaker": "Ann", "session": "s", "since": "2026-05-01", "until": "2026-05-02",
        "as_of": "2026-05-03", "now": "2026-05-04",
    },
    "context": {"query": "鲸鱼？", "thread": "t", "profile": "user", "budget": 99, "now": "2026-05-04"},
    "list_memories": {"limit": 3, "cursor": "c", "forgotten": True},
    "forget": {"ids": ["a", "b"], "reason": "so"},
    "undo": {"id": "a"},
    "facts": {"subject": "Ann", "relation": "lives_in", "as_of": "2026-05-03"},
    "correct_fact": {
        "subject": "Ann", "relation": "likes", "value": "tea", "former": "milk", "valid_from": "2026-05-05",
    },
    "retract_fact": {"subject": "Ann", "relation": "likes", "value": "tea", "ended": "2026-05-06"},
    "profile": {"subject": "Ann", "language": "zh"},
    "look_up": {"query": "whale", "limit": 3},
    "ask": {"question": "whale?", "language": "zh"},
}  # fmt: skip
MEANT: dict[str, dict[str, Any]] = {
    "remember": {"content": "Ann saw a whale.", "trust": "model", "ttl": 172_800.0},
    "context": {"language": "zh"},
}
"""What is not the same under the same name."""

OTHERWISE = {"list_memories": "memories", "facts": "facts_about"}
"""Tools that have another name than their operation."""

_NAMES = ("since", "until", "as_of", "now", "valid_from", "ended")
TIMES = {name: datetime(2026, 5, day, tzinfo=UTC) for day, name in enumerate(_NAMES, 1)}


class Listening:
    """A memory, and any room of it, that notes how it is called."""

    def __init__(self) -> None:
        self.args: tuple[Any, ...] = ()
        self.heard: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return self if name in ("facts", "knowledge") else self._call

    def _call(self, *args: Any, **given: Any) -> None:
        self.args, self.heard = args, given
        raise InterruptedError


@pytest.mark.parametrize("tool", MEMORY_TOOLS, ids=lambda tool: tool.name)
def test_all_that_a_model_gives_reaches_the_method(tool: McpTool):
    memory, given = Listening(), GIVEN[tool.name]
    with pytest.raises(InterruptedError):
        tool.does(memory, tool.decoded(given))  # pyright: ignore[reportArgumentType]
    method = OPERATIONS[OTHERWISE.get(tool.name, tool.name)].does
    bound = inspect.signature(method).bind(memory, *memory.args, **memory.heard).arguments
    known = {**given, **{name: time for name, time in TIMES.items() if name in given}, **MEANT.get(tool.name, {})}
    renamed = {"text", "source", "days", "id", "language"} - set(inspect.signature(method).parameters)
    expected = {name: value for name, value in known.items() if name not in renamed and name != "time"}
    assert expected.items() <= bound.items()
    assert memory.args == tuple(given[name] for name in OPERATIONS[OTHERWISE.get(tool.name, tool.name)].places)
    assert memory.heard.get("time") in (None, datetime(2026, 5, 1, tzinfo=UTC))


@pytest.mark.parametrize("name", ["recall", "look_up"])
def test_a_limit_of_nothing_gives_nothing_as_everywhere(name: str):
    [tool] = [tool for tool in MEMORY_TOOLS if tool.name == name]
    with memwell.open("memory:", work=False, embedder=None) as engine:
        engine.remember("Ann saw a whale.")
        engine.knowledge.add("A whale is no fish.")
        found = tool.does(engine, tool.decoded({"query": "whale", "limit": 0}))
        assert engine.recall("whale", limit=0) == engine.knowledge.recall("whale", limit=0) == []
    assert "whale" not in str(found)
    with pytest.raises(InvalidInput):
        tool.decoded({"query": "whale", "limit": -1})
