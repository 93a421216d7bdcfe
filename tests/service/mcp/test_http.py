"""MCP over streamable HTTP: every tool, for whoever may use it and for nobody else."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from memwell.service.mcp import TOOLS, McpApp
from memwell.service.mcp.prompts import PROMPTS
from tests.service.waiting import PATIENCE_S

SAMPLES: dict[str, dict[str, Any]] = {
    "remember": {"text": "Cara collects stamps."},
    "recall": {"query": "stamps"},
    "context": {"query": "stamps"},
    "list_memories": {},
    "forget": {"ids": ["no such"]},
    "undo": {"id": "no such"},
    "facts": {"subject": "user"},
    "profile": {},
    "look_up": {"query": "stamps"},
    "ask": {"question": "stamps?"},
    "create_entities": {"entities": []},
    "create_relations": {"relations": []},
    "add_observations": {"observations": []},
    "delete_entities": {"entityNames": []},
    "delete_observations": {"deletions": []},
    "delete_relations": {"relations": []},
    "read_graph": {},
    "search_nodes": {"query": "x"},
    "open_nodes": {"names": []},
}
CALL_LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})


def test_there_is_a_sample_for_every_tool() -> None:
    assert SAMPLES.keys() == {tool.name for tool in TOOLS}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_real_client_remembers_and_recalls(served: Any, mode: str) -> None:
    async def work(client: Any) -> Any:
        await client.call_tool("remember", {"text": f"Ann keeps a {mode} parrot."})
        return await client.call_tool("recall", {"query": f"{mode} parrot"})

    found = served.ask("ann", work, mode=mode)
    assert found.structured_content["hits"][0]["text"] == f"Ann keeps a {mode} parrot."
    assert any(f"{mode} parrot" in one.text for one in served.keys["ann"].memory.memories())


def test_two_callers_never_see_each_other(served: Any) -> None:
    ids = {}
    for name in ("ann", "bo"):
        done = served.ask(
            name, lambda client, name=name: client.call_tool("remember", {"text": f"{name}'s secret cave"})
        )
        [ids[name]] = done.structured_content["ids"]

    async def look(client: Any) -> list[str]:
        answers = [
            await client.call_tool("recall", {"query": "secret cave"}),
            await client.call_tool("list_memories", {}),
            await client.call_tool("forget", {"ids": [ids["ann"]]}),
            await client.call_tool("undo", {"id": ids["ann"]}),
        ]
        with pytest.raises(MCPError, match="there is no memory"):
            await client.read_resource(f"memwell://memories/{ids['ann']}")
        listed = await client.list_resources()
        return [one.model_dump_json() for one in (*answers, listed)]

    for mode in ("auto", "legacy"):
        seen = served.ask("bo", look, mode=mode)
        assert "bo's secret cave" in seen[0]
        assert ids["bo"] in seen[-1]
        assert ids["ann"] not in seen[-1]
        assert not any("ann's secret cave" in one for one in seen)
        assert ['"isError":true' in one.replace("is_error", "isError") for one in seen] == [
            False,
            False,
            True,
            True,
            False,
        ]
    assert served.keys["ann"].memory.get(ids["ann"]).text == "ann's secret cave"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_is_refused_without_its_scope(served: Any, mode: str) -> None:
    before = served.keys["ann"].memory.memories()

    async def work(client: Any, scopes: tuple[str, ...]) -> None:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {tool.name for tool in TOOLS if tool.scope in scopes}
        for tool in TOOLS:
            if tool.scope not in scopes:
                answer = await client.call_tool(tool.name, SAMPLES[tool.name])
                assert (answer.is_error, answer.content[0].text) == (True, f"the key may not {tool.scope}")
                assert answer.structured_content is None

    for name in ("reader", "writer", "nothing"):
        served.ask(name, lambda client, name=name: work(client, served.keys[name].scopes), mode=mode)
    assert served.keys["ann"].memory.memories() == before


def test_resources_and_prompts_are_refused_without_their_scope(served: Any) -> None:
    async def work(client: Any) -> None:
        for call in (client.list_resources(), client.read_resource("memwell://graph")):
            with pytest.raises(MCPError, match="the key may not read"):
                await call
        assert (await client.list_prompts()).prompts == []
        for prompt in PROMPTS:
            with pytest.raises(MCPError, match=f"the key may not {prompt.scope}"):
                await client.get_prompt(prompt.name, {"question": "?"} if prompt.scope == "read" else {})

    served.ask("nothing", work)
    assert served.keys["nothing"].logged == []


def test_what_is_taken_away_is_logged_with_ids_alone(served: Any) -> None:
    async def work(client: Any) -> str:
        done = await client.call_tool("remember", {"text": "Ann had a red kite."})
        [id_] = done.structured_content["ids"]
        await client.call_tool("forget", {"ids": [id_]})
        await client.call_tool("undo", {"id": id_})
        return id_

    id_ = served.ask("ann", work)
    assert served.keys["ann"].logged[-2:] == [("forget", (id_,)), ("undo", (id_,))]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "memory.example.org"}, 200),
        ({"Origin": "https://memory.example.org"}, 200),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "memory.example.org.evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.evil.example:80"}, 403),
        ({"Content-Type": "text/plain"}, 400),
        ({"Authorization": "Bearer stolen"}, 401),
        ({"Authorization": ""}, 401),
    ],
)
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
def test_a_foreign_host_or_origin_is_refused(served: Any, headers: dict[str, str], status: int, version: str) -> None:
    answer = served.post(CALL_LIST, **{"MCP-Protocol-Version": version, **headers})
    # The newer protocol wants more in the request; that it says so shows that it was let in.
    assert answer.status_code == status or (status == 200 and answer.status_code == 400 and "jsonrpc" in answer.text)
    assert (status == 200) or "tools" not in answer.text


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_only_a_post_is_answered(served: Any, method: str) -> None:
    headers = {"Authorization": "Bearer ann", "Accept": "text/event-stream", "Mcp-Session-Id": "1"}
    answer = httpx2.request(method, served.url, headers=headers, timeout=PATIENCE_S)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert (
        httpx2.request(method, served.url, headers={**headers, "Host": "evil.example"}, timeout=PATIENCE_S).status_code
        == 421
    )


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[" * 100_000 + b"]" * 100_000, 400),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 400),
        (b"\xff\xfe", 400),
        (b'"text"', 400),
        (b"x" * 10_000_001, 413),
    ],
)
def test_a_body_that_is_none_is_refused(served: Any, body: bytes, status: int) -> None:
    before = served.keys["ann"].memory.memories()
    answer = served.post(body)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    assert "memwell/" not in answer.text
    assert served.keys["ann"].memory.memories() == before


def test_an_app_can_be_given_only_the_graph() -> None:
    assert isinstance(McpApp(tools="graph"), McpApp)
