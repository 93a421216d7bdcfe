"""``memwell mcp`` in a process of its own, with a real client at its other end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

import memwell
from memwell.service.mcp import TOOLS
from memwell.service.mcp.prompts import PROMPTS
from memwell.service.mcp.resources import TEMPLATES
from tests.commands import running

ROOT = Path(__file__).resolve().parents[2]


def server(*options: object) -> StdioServerParameters:
    settings = {"MEMWELL_LANGUAGE": "en", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    arguments = ["-m", "memwell", "mcp", *map(str, options)]
    return StdioServerParameters(command=sys.executable, args=arguments, env=settings)


def ask(work: Callable[[Client], Awaitable[Any]], *options: object, mode: str = "auto") -> Any:
    async def run() -> Any:
        async with Client(server(*options), mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


def test_a_client_remembers_through_the_command_and_the_library_sees_it(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"

    async def work(client: Any) -> Any:
        assert [tool.name for tool in (await client.list_tools()).tools] == [tool.name for tool in TOOLS]
        await client.call_tool("remember", {"text": "Ann is allergic to nuts."})
        await client.call_tool(
            "create_entities", {"entities": [{"name": "安", "entityType": "person", "observations": ["喜欢喝茶"]}]}
        )
        too_long = await client.call_tool("remember", {"text": "x" * 10_000_000})
        assert too_long.is_error
        await client.read_resource("memwell://graph")
        return await client.call_tool("recall", {"query": "what can Ann not eat?"})

    found = ask(work, "--store", store, "--space", "acme", "--space", "ann")
    assert found.structured_content["hits"][0]["text"] == "Ann is allergic to nuts."
    with memwell.open(store, space=memwell.Space("acme", "ann"), embedder=None, work=False) as memory:
        assert [one.text for one in memory.memories()] == ["Ann is allergic to nuts.", "安: 喜欢喝茶"]
        assert memory.at("default").memories() == []


def test_read_only_offers_and_does_nothing_that_changes(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with memwell.open(store, embedder=None, work=False) as memory:
        memory.remember("Ann sings.")

    async def work(client: Any) -> Any:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {tool.name for tool in TOOLS if tool.scope == "read"}
        refused = await client.call_tool("remember", {"text": "Bo sings."})
        assert refused.is_error
        assert "without the scope 'write'" in refused.content[0].text
        return await client.call_tool("list_memories", {})

    found = ask(work, "--store", store, "--read-only", mode="legacy")
    assert [one["text"] for one in found.structured_content["memories"]] == ["Ann sings."]


def speak(lines: list[Any], *options: object) -> subprocess.CompletedProcess[str]:
    """Say lines to the command, close its input, and return all it said."""
    started = server(*options)
    return subprocess.run(
        [started.command, *started.args],
        input="".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines),
        env={**os.environ, **(started.env or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_nothing_but_the_protocol_is_written_out(tmp_path: Path) -> None:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    done = speak(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            "this is no JSON",
            "[" * 50_000,
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "nothing"}},
        ],
        "--store",
        tmp_path / "memory.db",
        "--tools",
        "graph",
    )
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    by_id = {answer.get("id"): answer for answer in answers}
    assert by_id[1]["result"]["serverInfo"]["name"] == "memwell"
    assert by_id[2]["error"]["code"] == -32602
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--tools", "everything"), "all, memory, graph"),
        (("--store", "nowhere.db", "--read-only"), "nowhere.db"),
        (("--store", "http://127.0.0.1:1", "--key-file", "no-such-file"), "the key cannot be read"),
        (("--store", "http://127.0.0.1:1", "--space", "x"), "leave --space out"),
    ],
)
def test_a_wrong_option_is_told_on_the_error_stream(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: tuple[str, ...],
    told: str,
) -> None:
    done = running(capsys, monkeypatch, tmp_path)("mcp", *options)
    assert done.code != 0
    assert done.out == ""
    assert told in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_the_page_names_every_tool_resource_and_prompt() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (read|write) \|", page, re.MULTILINE)
    assert rows == [(tool.name, tool.scope) for tool in TOOLS]
    for named in (*(one.pattern for one in TEMPLATES), *(one.name for one in PROMPTS)):
        assert f"`{named}`" in page
