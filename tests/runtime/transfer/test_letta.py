"""Agent files of Letta, in both forms that its own collection of agents has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memwell.runtime.opening import open as open_memory
from memwell.runtime.transfer import detect, import_letta


def message(role: Any, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content, "created_at": "2026-05-01T09:00:00+00:00", **more}


def text(said: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": said, "signature": None}]


def sending(said: str) -> list[dict[str, Any]]:
    call = {"name": "send_message", "arguments": json.dumps({"message": said, "request_heartbeat": False})}
    return [{"id": "c", "type": "function", "function": call}]


MESSAGES = [
    message("system", text("You are Sam.")),
    message("user", text(json.dumps({"type": "login", "last_login": "never"}))),
    message("user", text(json.dumps({"type": "user_message", "message": "I live in Oslo.", "time": "9:00"}))),
    message("assistant", text("The user shares where he lives."), tool_calls=sending("Noted, Oslo it is.")),
    message("tool", text('{"status": "OK"}'), tool_call_id="c"),
    message("user", text("我喜欢绿茶。")),
    message("assistant", [{"type": "reasoning", "reasoning": "Tea."}, *text("Green tea, then.")], tool_calls=[]),
    message("assistant", None),
]
SENDS_HALF = {"name": "send_message", "arguments": "{"}
HUMAN = {"id": "block-0", "label": "human", "value": "First name: Chad\nLikes sailing", "description": "The user."}
PERSONA = {"id": "block-1", "label": "persona", "value": "I am Sam.", "description": None}
PRESENT = {
    "agents": [
        {"name": "Sam", "agent_type": "letta_v1_agent", "block_ids": ["block-0"], "messages": MESSAGES,
         "tool_exec_environment_variables": {"KEY": "hidden-value"}},
    ],
    "blocks": [HUMAN, PERSONA],
    "tools": [{"name": "send_message", "source_code": "hidden-value"}],
}  # fmt: skip
EARLIER = {
    "agent_type": "memgpt_agent",
    "core_memory": [HUMAN, PERSONA],
    "messages": [{**one, "text": None} for one in MESSAGES],
    "name": "Sam",
    "tools": [],
}


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize("form", [PRESENT, EARLIER], ids=["present", "earlier"])
def test_blocks_are_remembered_and_messages_are_a_conversation(form: Any, tmp_path: Path):
    path = written(tmp_path / "sam.af", form)
    with open_memory("memory:", embedder=None) as memory:
        done = memory.import_file(path)
        assert (detect(path), done.format, done.problems) == ("letta", "letta", [])
        assert done.counts == {"memories": 2, "threads": 1, "messages": 4}
        held = {one.text: one for one in memory.memories()}
        assert set(held) == {HUMAN["value"], PERSONA["value"]}
        assert (held["I am Sam."].trust, held[HUMAN["value"]].trust) == ("model", "imported")
        assert held[HUMAN["value"]].metadata["letta"]["label"] == "human"
        assert [(one.role.value, one.text) for one in memory.thread("letta:Sam")] == [
            ("human", "I live in Oslo."),
            ("ai", "Noted, Oslo it is."),
            ("human", "我喜欢绿茶。"),
            ("ai", "Green tea, then."),
        ]
        assert memory.import_file(path).new == 0
        assert not any("hidden" in one.text for one in memory.memories())


def test_messages_are_remembered_when_asked(tmp_path: Path):
    with open_memory("memory:", embedder=None) as memory:
        done = import_letta(memory, written(tmp_path / "sam.af", PRESENT), remember=True)
        assert done.counts["memories"] > 2
        assert {"I live in Oslo."} <= {one.text for one in memory.memories()}


def test_a_damaged_part_is_reported_and_the_others_come(tmp_path: Path):
    agents = [
        {"name": "", "messages": []},
        {"name": "Max", "messages": "none"},
        {"name": "Ida", "messages": [message("user", text("Hello."), created_at="yesterday")]},
        {"name": "Eva", "messages": [message("user", 5)]},
        {"name": "Bad", "messages": [message("assistant", "", tool_calls=[{"function": SENDS_HALF}])]},
        {"name": "Sam", "messages": [message(["user"], "x"), message("user", "Hello.")]},
        "no agent",
    ]  # fmt: skip
    blocks = [{"label": "human", "value": ""}, {"label": 1, "value": "x"}, PERSONA, 7]
    path = written(tmp_path / "several.af", {"agents": agents, "blocks": blocks, "agent_type": ""})
    with open_memory("memory:", embedder=None) as memory:
        done = memory.import_file(path, format="letta")
        assert done.counts == {"memories": 1, "threads": 1, "messages": 1}
        assert [one.number for one in done.problems] == [1, 2, 4, 5, 6, 7, 8, 9, 11]


@pytest.mark.parametrize("content", ["[]", '{"agents": 5}', '{"agents": [', '{"agents": {}}', "[" * 100_000])
def test_what_is_no_agent_file_is_one_problem(content: str, tmp_path: Path):
    (tmp_path / "x.af").write_text(content)
    with open_memory("memory:", embedder=None) as memory:
        done = memory.import_file(tmp_path / "x.af", format="letta")
        assert (done.new, len(done.problems)) == (0, 1)
