from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

import memwell
from memwell.cli import serve as serving
from memwell.errors import AccessDenied
from memwell.records import Space
from memwell.service.keys import SERVICE, Keys
from memwell.service.logs import AuditLog
from memwell.service.mcp import TOOLS
from memwell.service.mcp.server import TEMPLATES, chosen
from memwell.storage import open_backend
from tests.commands import Run, announce_only
from tests.service.children import serve_command, served_once

TOKEN = re.compile(r"mw_[0-9a-f]{16}_[0-9a-f]{64}")


def started(store: Path) -> str:
    with (store.parent / "log").open("w+") as log:
        said = served_once(serve_command("--store", str(store), "--log", "json", COLUMNS="60"), log)
        log.seek(0)
        logged = log.read()
    assert TOKEN.search(logged) is None
    assert '"route": "live"' in logged
    return said


def test_the_first_key_is_shown_once_and_on_a_terminal_alone(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = tmp_path / "s.db"
    first = started(store)
    # Without a terminal it goes into some log: there is a link, and the key is made for who follows it.
    assert TOKEN.search(first) is None
    assert "/#once=" in first
    assert "Stopped" in first
    announce_only(monkeypatch, "http://127.0.0.1:7411")
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with open_backend(store) as backend:
        assert Keys(backend).all() == []
    with monkeypatch.context() as patch:
        patch.setattr(serving, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
        shown = run("serve", "--store", store)
    [token] = TOKEN.findall(shown.out)
    with open_backend(store) as backend:
        assert Keys(backend).check(token)
    # The browser gets the link: its arguments are seen by every user of the machine.
    assert opened == [re.search(r"http://\S+/#once=\S+", shown.out)[0]]  # pyright: ignore[reportOptionalSubscript]
    second = run("serve", "--store", store, "--no-browser", language="zh")
    assert (second.code, second.err) == (0, "")
    assert TOKEN.search(second.out) is None
    assert "keys create" in second.out
    assert "已停止" in second.out


def test_a_port_that_is_taken_is_one_line_and_makes_no_key(run: Run, tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = run("serve", "--store", tmp_path / "s.db", "--port", taken.getsockname()[1], "--no-browser")
    assert outcome.code == 1
    assert outcome.err.count("\n") <= 3
    assert "another port" in " ".join(outcome.err.split())
    assert TOKEN.search(outcome.out) is None
    with open_backend(tmp_path / "s.db") as backend:
        assert Keys(backend).all() == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tls-certificate", "cert.pem"], "both files"),
        (["--tls-certificate", "cert.pem", "--tls-key", "key.pem"], "cert.pem"),
        (["--log", "xml"], "xml"),
    ],
)
def test_what_cannot_be_is_one_line(options: list[str], told: str, run: Run, tmp_path: Path):
    outcome = run("serve", "--store", tmp_path / "s.db", "--port", 0, "--no-browser", *options)
    assert outcome.code == 1
    assert told in outcome.err
    assert "Traceback" not in outcome.err


# ``memwell mcp`` in a process of its own, with a real client at its other end.


MCP_ROOT = Path(__file__).resolve().parents[2]


def server(*options: object) -> StdioServerParameters:
    settings = {"MEMWELL_LANGUAGE": "en", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    arguments = ["-m", "memwell", "mcp", *map(str, options)]
    return StdioServerParameters(command=sys.executable, args=arguments, env=settings)


def ask(work: Callable[[Client], Awaitable[Any]], *options: object) -> Any:
    async def run() -> Any:
        async with Client(server(*options)) as client:
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

    found = ask(work, "--store", store, "--space", "acme", "--space", "ann", "--tools", "all")
    assert found.structured_content["hits"][0]["text"] == "Ann is allergic to nuts."
    with memwell.open(store, space=memwell.Space("acme", "ann"), embedder=None, work=False) as memory:
        assert [one.text for one in memory.memories()] == ["Ann is allergic to nuts.", "安: 喜欢喝茶"]
        assert memory.at("default").memories() == []


def speak(lines: list[Any], *options: object) -> tuple[int, list[str]]:
    """Give lines to the command and end its input at once; its status and all that it wrote."""
    started = server(*options)
    given = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    command, environment = [started.command, *started.args], {**os.environ, **(started.env or {})}
    done = subprocess.run(command, env=environment, input=given, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    return done.returncode, done.stdout.splitlines()


def asked(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_every_request_before_the_end_of_input_is_answered_and_only_the_protocol_is_written(tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with memwell.open(store, embedder=None, work=False) as memory:
        memory.remember("Ann sings.")
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    status, said = speak(
        [
            asked(1, "initialize", **client),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            "this is no JSON",
            "[" * 50_000,
            asked(2, "tools/call", name="nothing"),
            asked(3, "tools/list"),
            asked(4, "tools/call", name="remember", arguments={"text": "Bo sings."}),
            asked(5, "tools/call", name="status", arguments={}),
        ],
        "--store",
        store,
        "--read-only",
    )
    assert status == 0
    answers = [json.loads(line) for line in said]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    by_id = {answer.get("id"): answer for answer in answers}
    assert by_id[1]["result"]["serverInfo"]["name"] == "memwell"
    assert by_id[2]["error"]["code"] == -32602
    names = {tool["name"] for tool in by_id[3]["result"]["tools"]}
    assert names == {tool.name for tool in chosen("memory") if tool.scope == "read"}
    assert by_id[4]["result"]["isError"]
    assert "without the scope 'write'" in by_id[4]["result"]["content"][0]["text"]
    found = by_id[5]["result"]["structuredContent"]["memories"]
    assert [one["text"] for one in found] == ["Ann sings."]


def test_which_tools_are_offered_is_an_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, object]] = []
    monkeypatch.setattr("memwell.service.mcp.serve_stdio", lambda memory, **options: given.append(options))
    assert run("mcp", "--store", "memory:").code == 0
    assert run("mcp", "--store", "memory:", "--tools", "graph", "--read-only").code == 0
    assert given == [{"tools": "memory", "read_only": False}, {"tools": "graph", "read_only": True}]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--tools", "everything"), "memory, graph, all"),
        (("--store", "nowhere.db", "--read-only"), "nowhere.db"),
        (("--store", "http://memory.example", "--key-file", "no-such-file"), "the key cannot be read"),
        (("--store", "http://memory.example", "--space", "x"), "leave --space out"),
    ],
)
def test_a_wrong_option_is_told_on_the_error_stream(run: Run, tmp_path: Path, options: tuple[str, ...], told: str):
    done = run("mcp", *options)
    assert done.code != 0
    assert done.out == ""
    assert told in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_the_page_names_every_tool_and_resource() -> None:
    page = (MCP_ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (read|write) \|", page, re.MULTILINE)
    assert rows == [(tool.name, tool.scope) for tool in TOOLS]
    assert all(f"`{one.uri_template}`" in page for one in TEMPLATES)


# Keys


def token_in(text: str) -> str:
    found = TOKEN.findall(text)
    assert len(found) == 1, text
    return found[0]


def test_a_key_is_made_listed_rotated_and_revoked(run: Run):
    options = ("--space", "acme", "--space", "ann", "--as", "app", "--expires", "30d", "--rate", "600")
    made = run("keys", "create", "phone", *options)
    assert made.code == 0
    assert "will not be shown again" in made.out
    first = token_in(made.out)
    with open_backend("memwell.db") as backend:
        key = Keys(backend).check(first)
    assert (key.space, key.scopes, key.rate) == (Space("acme", "ann"), ("read", "write"), 600)
    assert key.expires is not None
    assert (key.expires - key.created).days in (29, 30)
    listed = run("keys", "list").out
    assert key.id in listed
    assert "acme / ann" in listed.replace("\n", " ")
    turned = run("keys", "rotate", "phone", "--grace", "12h")
    second = token_in(turned.out)
    assert "works until" in turned.out
    assert second != first
    assert run("keys", "revoke", second).code == 0
    with open_backend("memwell.db") as backend:
        for token in (first, second):
            with pytest.raises(AccessDenied, match="revoked"):
                Keys(backend).check(token)
    assert not TOKEN.search(run("keys", "list").out + run("keys", "list", "--json").out + run("keys", "log").out)


@pytest.mark.parametrize("grace", ["0s", "0m"])
def test_without_a_grace_the_old_token_ends_at_once(run: Run, grace: str):
    first = token_in(run("keys", "create", "phone").out)
    turned = run("keys", "rotate", "phone", "--grace", grace)
    assert turned.code == 0
    assert "works until" not in turned.out
    with open_backend("memwell.db") as backend:
        assert Keys(backend).check(token_in(turned.out)).name == "phone"
        with pytest.raises(AccessDenied):
            Keys(backend).check(first)


def test_a_space_is_named_as_in_an_address(run: Run):
    def made(*space: str) -> list[str]:
        return json.loads(run("keys", "create", "phone", *space, "--json").out)["key"]["space"]

    assert made("--space", "acme/ann") == made("--space", "acme", "--space", "ann") == ["acme", "ann"]
    assert made("--space", '["acme/ann"]') == ["acme/ann"]
    assert len(json.loads(run("keys", "list", "--space", "acme/ann", "--json").out)) == 2


def test_programs_get_json(run: Run):
    made = json.loads(run("keys", "create", "phone", "--space", "acme", "--scope", "erase", "--json").out)
    assert made["key"]["space"] == ["acme"]
    assert made["key"]["scopes"] == ["erase"]
    assert TOKEN.fullmatch(made["token"])
    turned = json.loads(run("keys", "rotate", made["key"]["id"], "--json").out)
    assert turned["key"]["id"] == made["key"]["id"]
    assert [one["name"] for one in json.loads(run("keys", "list", "--json").out)] == ["phone"]
    assert json.loads(run("keys", "list", "--space", "other", "--json").out) == []
    log = json.loads(run("keys", "log", "--json").out)
    assert [one["action"] for one in log["items"]] == ["rotate_key", "create_key"]
    assert json.loads(run("keys", "log", "--verify", "--json").out)["ok"]


def test_a_key_without_options_is_an_apps_of_the_default_space(run: Run):
    made = json.loads(run("keys", "create", "phone", "--json").out)["key"]
    assert (made["space"], made["scopes"], made["expires"]) == (["default"], ["read", "write"], None)


def test_the_log_is_shown_in_pages_and_verified(run: Run):
    for name in ("a", "b", "c"):
        run("keys", "create", name)
    page = run("keys", "log", "--limit", 2).out
    cursor = re.findall(r"--cursor '?(<\d+)", page)
    assert cursor == ["<1"]
    assert "create_key" in run("keys", "log", "--cursor", cursor[0]).out
    whole = run("keys", "log", "--verify")
    assert (whole.code, "3 entries" in whole.out) == (0, True)
    head = re.findall(r"[0-9a-f]{64}", whole.out)[0]
    assert run("keys", "log", "--noted", head).code == 0
    other = run("keys", "log", "--noted", "0" * 63 + "1")
    assert (other.code, "not in it" in other.out) == (1, True)
    with open_backend("memwell.db") as backend:
        backend.kv.delete(SERVICE / "log", f"{2:015d}")
    broken = run("keys", "log", "--verify")
    assert (broken.code, "entry 2" in broken.out) == (1, True)


def test_nothing_is_done_that_cannot_be_logged(run: Run):
    token = token_in(run("keys", "create", "phone").out)
    with open_backend("memwell.db") as backend:
        backend.kv.put(SERVICE / "log" / "head", "head", "damaged")
    for words in (("create", "other"), ("rotate", "phone"), ("revoke", "phone")):
        failed = run("keys", *words)
        assert (failed.code, "head of the audit log" in failed.err) == (1, True)
        assert not TOKEN.search(failed.out)
    with open_backend("memwell.db") as backend:
        assert [key.name for key in Keys(backend).all()] == ["phone"]
        assert Keys(backend).check(token).rotated is None


def test_who_was_refused_and_where_is_shown(run: Run):
    with open_backend("memwell.db") as backend:
        log = AuditLog(backend)
        log.append("key.refused", outcome="refused", detail={"address": "10.0.0.1\x1b[31m"})
        log.append("memory.erase", key="k1", space=Space("acme"), targets=["m1"])
    shown = run("keys", "log", "--json").out
    table = run("keys", "log").out
    assert "refused" in table
    assert "\x1b" not in table
    assert "m1" in shown


BAD = {
    ("create", "a", "--as", "king"): "reader, app, owner, backend, operator",
    ("create", "a", "--scope", "king"): "read, write, erase, admin",
    ("create", "a", "--as", "app", "--scope", "read"): "either --as or --scope",
    ("create", "a", "--expires", "soon"): "is no time",
    ("create", "a", "--expires", "999999w"): "is no time",
    ("create", "a", "--expires", "2020-01-01"): "over already",
    ("create", "a", "--expires", "0d"): "over already",
    ("create", "a", "--space", "memwell", "--space", "service"): "memwell's own",
    ("create", ""): "must not be empty",
    ("revoke", "nobody"): "no key 'nobody'",
    ("rotate", "twin"): "Several keys",
    ("rotate", "only", "--grace", "2030-01-01"): "no length of time",
    ("rotate", "only", "--grace", "999d"): "grace must be",
    ("log", "--cursor", "x"): "no cursor",
}


def test_bad_input_is_one_line(run: Run):
    for name in ("twin", "twin", "only"):
        run("keys", "create", name)
    before = run("keys", "list", "--json").out
    wrong: list[object] = []
    for words, told in BAD.items():
        failed = run("keys", *words)
        if failed.code != 1 or told not in failed.err or failed.err.count("\n") != 1:
            wrong.append((words, failed))
        if run("keys", "list", "--json").out != before:
            wrong.append((words, "changed the keys"))
        if json.loads(run("keys", "log", "--verify", "--json").out)["entries"] != 3:
            wrong.append((words, "changed the log"))
    assert wrong == []


def test_a_token_is_not_repeated_in_an_error(run: Run):
    token = token_in(run("keys", "create", "phone").out)
    assert run("keys", "revoke", token).code == 0
    again = run("keys", "revoke", token)
    assert again.code == 1
    assert token[20:30] not in again.err
