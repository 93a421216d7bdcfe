from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import product
from typing import Any

import msgspec.inspect as shapes
import pytest
from msgspec.structs import replace

from memwell.errors import MissingDependency
from memwell.records import Space
from memwell.runtime.remote.connection import Connection
from memwell.runtime.wire.operations import ANY_KEY, ANYONE, READ, Operation
from memwell.runtime.wire.table import OPERATIONS
from memwell.service import app as mcp_loading
from memwell.service import logs
from memwell.service.app import LazyMcp
from memwell.service.call import HANDLERS, File
from memwell.service.keys import SCOPES, OneTimeLink
from tests.collector import collecting
from tests.service.serving import ANN, BEN, Running, address, running
from tests.service.waiting import PATIENCE_S, until

WORD = "zanzibar"
"""Only Ann says it."""

ALL = sorted(OPERATIONS.values(), key=lambda route: route.name)
CLOSED = [route for route in ALL if route.scope != ANYONE]
SCOPED = [route for route in CLOSED if route.scope != ANY_KEY]


class Tenants:
    """A service where Ann has something of everything, and Ben a little."""

    def __init__(self, run: Running) -> None:
        self.run = run
        self.ids: dict[str, str] = {}
        self._stock_ann()
        ben = run.token(BEN)
        run.ask("POST", "/v1/memories", {"content": "Ben plays chess."}, token=ben)
        run.ask("POST", "/v1/threads/bens/messages", {"messages": [{"role": "user", "content": "chess?"}]}, token=ben)

    def _stock_ann(self) -> None:
        said = f"Ann went to {WORD} in May."
        self.ids["thread"] = "talk"
        self._made("message", "/v1/threads/talk/messages", {"messages": [{"role": "user", "content": said}]})
        self.ids["memory"] = self._made("", "/v1/memories", {"content": said})["ids"][0]
        self.ids["document"] = self._made("", "/v1/documents", {"text": said, "title": WORD})["id"]
        self.ids["receipt"] = self._made("", "/v1/context", {"query": f"where is {WORD}?"})["receipt"]["id"]
        self.ids["job"] = self._made("", "/v1/exports", {})["id"]
        medium = self.run.ask("POST", "/v1/media", b"", query={"kind": "image", "description": said})
        assert medium.status == 201, medium
        self.ids["medium"] = medium.json["id"]

    def _made(self, _: str, path: str, body: dict[str, Any]) -> Any:
        answer = self.run.ask("POST", path, body)
        assert answer.status < 300, answer
        return answer.json

    def address(self, route: Operation) -> str:
        """The address of a route with Ann's ids."""
        noun = route.parts[1] if len(route.parts) > 1 else ""
        ids = {"memories": "memory", "documents": "document", "media": "medium", "jobs": "job", "receipts": "receipt"}
        return address(route, thread="talk", index="0", subject="Ann", id=self.ids.get(ids.get(noun, ""), "x"))

    def body(self, route: Operation) -> dict[str, Any]:
        """The least that a route takes, with Ann's ids."""
        if route.takes is None:
            return {}
        info = shapes.type_info(route.takes)
        assert isinstance(info, shapes.StructType)
        known = {
            "actions": [], "content": "chess again", "ids": [self.ids["memory"], self.ids["medium"]],
            "kept": self.ids["memory"], "messages": [{"role": "user", "content": "chess again"}], "name": "chess.txt",
            "others": [self.ids["memory"]], "query": "where?", "question": "where?", "relation": "lives_in",
            "scopes": ["read"], "space": ["acme", "cy"], "subject": "Ann", "text": "chess again",
            "to": ["acme", "cy"], "url": "http://127.0.0.1/", "useful": True, "value": "Rome", "vector": [0.5],
        }  # fmt: skip
        return {field.encode_name: known[field.encode_name] for field in info.fields if field.required}

    def ask(self, route: Operation, token: str | None, *, named: str | Sequence[str] = (), **more: Any) -> Any:
        """A request that would be done, were the key the right one; ``named`` is the space that it names."""
        said, space = self.body(route) | more, {"space": named} if named else {}
        if route.takes_query:
            return self.run.ask(
                route.method, self.address(route), b"chess" if route.upload else None, token=token, query=said | space
            )
        body = said if route.method != "GET" else None
        return self.run.ask(route.method, self.address(route), body, token=token, query=space)


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenants]:
    with running(tmp_path_factory.mktemp("service") / "store.db") as run:
        yield Tenants(run)


@pytest.fixture(scope="module")
def bad_tokens(tenants: Tenants) -> dict[str, str | None]:
    return tokens_refused(tenants)


def tokens_refused(tenants: Tenants) -> dict[str, str | None]:
    """Whom a service must not let in, each with a reason of its own."""
    good = tenants.run.token()
    return {
        "none": None,
        "garbage": "mw_garbage",
        "not ours": f"mw_{'0' * 16}_{'0' * 64}",
        "another's secret": good[:-64] + tenants.run.token(BEN)[-64:],
        "expired": tenants.run.expired(),
        "revoked": tenants.run.revoked(),
    }


NAMING = [route for route in CLOSED if "space" not in getattr(route.takes, "__struct_fields__", ())]
"""The routes of which a request may name a space."""


def test_only_a_key_for_it_may_name_a_space_and_only_one_below_its_own(tenants: Tenants):
    run = tenants.run
    before, wrong = run.counts(), []
    asked = {
        "without the scope": (run.token(Space("acme"), ("read", "write", "erase")), ["acme", "ann"]),
        "a neighbour": (run.token(BEN, ("read", "write", "erase", "spaces")), ["acme", "ann"]),
        "above": (run.token(Space("acme", "ann", "x"), ("read", "write", "erase", "spaces")), "acme/ann"),
        "a name that begins alike": (run.token(Space("ac"), ("read", "write", "erase", "spaces")), "acme/ann"),
        "a segment with a stroke": (run.token(Space("acme"), ("read", "write", "erase", "spaces")), ["acme/ann", "x"]),
    }
    for route, (what, (token, named)) in product(NAMING, asked.items()):
        answer = tenants.ask(route, token, named=named)
        if answer.refusal != (403, "foreign-space") or WORD in answer.body.decode():
            wrong.append((route.name, what, answer.refusal))
    assert wrong == []
    for route, own in product(NAMING, ("acme/ann/memwell", ["acme", "memwell", "facts"], ["acme", ""])):
        answer = tenants.ask(route, run.token(Space("acme"), ("read", "write", "erase", "spaces")), named=own)
        if answer.status not in (400, 422):
            wrong.append((route.name, own, answer.refusal))
    assert wrong == []
    assert {name: many for name, many in run.counts().items() if name != "keys"} == {
        name: many for name, many in before.items() if name != "keys"
    }


def test_an_operator_looks_into_a_space_and_changes_nothing(tenants: Tenants):
    run = tenants.run
    operator = run.token(Space("ops"), ("read", "write", "erase", "admin"))
    before = run.counts()
    receipts, jobs = (run.ask("GET", f"/v1/{name}").body for name in ("receipts", "jobs"))
    for route in NAMING:
        answer = tenants.ask(route, operator, named="acme/ann")
        if route.scope in (READ, ANY_KEY) and not route.has_effect and route.name not in ("context", "spaces"):
            assert answer.refusal not in ((403, "foreign-space"), (403, "missing-scope")), route.name
        else:
            assert answer.refusal == (403, "missing-scope"), route.name
    assert run.ask("POST", "/mcp", {}, token=operator, query={"space": "acme/ann"}).refusal == (403, "missing-scope")
    assert (receipts, jobs) == tuple(run.ask("GET", f"/v1/{name}").body for name in ("receipts", "jobs"))
    assert {**run.counts(), "keys": 0} == {**before, "keys": 0}
    assert WORD in run.ask("GET", "/v1/memories", token=operator, query={"space": "acme/ann"}).body.decode()
    noted = [one for one in run.service.log.entries(limit=500).items if one.action == "look_into"]
    assert noted
    assert {one.space for one in noted} == {ANN}
    assert run.service.log.verify().ok


def _figures(run: Running, token: str, space: str = "") -> tuple[int, int]:
    """How many writes a space counts, and how many of its requests were refused."""
    query = {"span": "1h", **({"space": space} if space else {})}
    found = run.ask("GET", "/v1/figures", token=token, query=query).json
    return found["write"]["count"], found["availability"]["refused"]


def test_a_request_counts_in_the_space_that_it_names_and_a_refused_one_is_no_write(tenants: Tenants):
    run = tenants.run
    backend, operator = run.token(Space("web"), ("read", "write", "spaces")), run.token(Space("hq"), ("write", "admin"))
    for number in range(3):
        said = {"content": f"Ship {number} came in."}
        assert run.ask("POST", "/v1/memories", said, token=backend, query={"space": "web/v1"}).status == 201
    refused = run.ask("POST", "/v1/memories", {"content": "No."}, token=operator, query={"space": "web/v1"})
    assert refused.refusal == (403, "missing-scope")
    assert _figures(run, backend, "web/v1") == (3, 1)
    assert _figures(run, backend) == (0, 0)
    assert _figures(run, run.token(Space("hq"), ("read",))) == (0, 0)
    # The log names the space that was asked for, too.
    (entry,) = (one for one in run.service.log.entries(limit=500).items if one.space == Space("web", "v1"))
    assert (entry.action, entry.outcome) == ("remember", "refused")


def test_an_open_page_is_one_look_and_another_question_a_second(tenants: Tenants):
    run = tenants.run
    operator = run.token(Space("lookers"), ("read", "admin"))
    for query in ({}, {}, {}, {"text": "chess"}, {"text": "chess"}):
        assert run.ask("GET", "/v1/browse", token=operator, query={**query, "space": "acme/ann"}).status == 200
    looks = [one for one in run.service.log.entries(limit=500).items if one.action == "look_into"]
    mine = [one for one in looks if one.key == looks[0].key]
    assert [one.detail["operation"] for one in mine] == ["browse", "browse"]


def test_one_key_serves_all_users_of_an_application(tenants: Tenants):
    run = tenants.run
    backend = run.token(Space("app"), ("read", "write", "erase", "spaces"))
    same = {"Idempotency-Key": "one"}
    for number in range(3):
        query = {"space": f"app/user-{number}"} if number else {"space": ["app", "user-0"]}
        made = run.ask(
            "POST", "/v1/memories", {"content": f"User {number} sails."}, token=backend, query=query, headers=same
        )
        assert made.status == 201, made
    for number in range(3):
        found = run.ask("GET", "/v1/memories", token=backend, query={"space": f"app/user-{number}"}).json["items"]
        assert [one["text"] for one in found] == [f"User {number} sails."]
        assert run.ask("GET", "/v1/me", token=backend, query={"space": f"app/user-{number}"}).json["key"]["space"] == [
            "app",
            f"user-{number}",
        ]
    assert run.ask("GET", "/v1/memories", token=backend).json["items"] == []
    # A user with documents alone is one, too.
    run.ask(
        "POST", "/v1/documents", {"text": "Sail at dawn.", "id": "plan"}, token=backend, query={"space": "app/user-3"}
    )
    pages = [run.ask("GET", "/v1/spaces", token=backend, query={"limit": 2}).json]
    while pages[-1]["next"]:
        pages.append(run.ask("GET", "/v1/spaces", token=backend, query={"limit": 2, "cursor": pages[-1]["next"]}).json)
    assert [one["space"][1] for page in pages for one in page["items"]] == [f"user-{number}" for number in range(4)]
    for foreign in ("acme/ann", '["acme","ann"]', '["ap"]', "zzz", "[1]"):
        answer = run.ask("GET", "/v1/spaces", token=backend, query={"cursor": foreign})
        assert answer.status == 422, foreign
        assert "ben" not in answer.body.decode()
    other = run.token(Space("nobody-else"), ("read", "spaces"))
    assert run.ask("GET", "/v1/spaces", token=other, query={"limit": 1}).json == {"items": [], "next": None}
    # However it is spelt.
    twice = [
        run.ask(
            "POST", "/v1/memories", {"content": "Once."}, token=backend, query=query, headers={"Idempotency-Key": "o"}
        )
        for query in ({"space": "app/user-0"}, {"space": ["app", "user-0"]})
    ]
    assert [one.status for one in twice] == [201, 201]
    assert twice[0].body == twice[1].body
    assert run.ask("POST", "/mcp", {}, token=backend, query={"Space": "app/user-0"}).status == 422
    listed = run.ask("GET", "/v1/spaces", token=backend).json["items"][:3]
    assert [(one["space"], one["memories"] >= 1) for one in listed] == [
        (["app", f"user-{number}"], True) for number in range(3)
    ]
    assert run.ask("GET", "/v1/spaces", token=run.token(BEN, ("read",))).refusal == (403, "missing-scope")
    everywhere = run.ask("GET", "/v1/spaces", token=run.token(Space("ops"), ("admin",)), query={"limit": 500}).json[
        "items"
    ]
    assert {"acme", "app"} <= {one["space"][0] for one in everywhere}
    assert not any("memwell" in one["space"] for one in everywhere)
    # An erasure drops the stored answers of that user alone.
    erase_all(run, backend, {"space": "app/user-1"})
    again = [
        run.ask(
            "POST",
            "/v1/memories",
            {"content": f"User {number} sails."},
            token=backend,
            query={"space": f"app/user-{number}"},
            headers=same,
        ).refusal
        for number in (1, 2)
    ]
    assert again == [(409, "answer-gone"), (201, "")]


def erase_all(run: Running, token: str, query: dict[str, str] | None = None) -> None:
    """Erase everything of a space, and wait until that is done."""
    job = run.ask("POST", "/v1/erase-by", {"everything": True}, token=token, query=query).json

    def is_done() -> bool:
        return run.ask("GET", f"/v1/jobs/{job['id']}", token=token, query=query).json["status"] == "done"

    assert until(is_done)


def test_spaces_are_listed_once_however_they_are_nested(tenants: Tenants):
    run = tenants.run
    token = run.token(Space("nest"), ("read", "write", "spaces"))
    names = [("nest",), ("nest", "a"), ("nest", "a", "b"), ("nest", "a", "z"), ("nest", "ab"), ("nestor",)]
    for name in names:
        memory = run.service.memory_of(Space(*name))
        memory.remember(f"{name[-1]} sails.")
        memory.knowledge.add("Sail at dawn.", id="plan")
        memory.flush()
    found, cursor = [], None
    for _ in range(20):
        query = {"limit": 1} | ({} if cursor is None else {"cursor": cursor})
        page = run.ask("GET", "/v1/spaces", token=token, query=query).json
        found += [tuple(one["space"]) for one in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert sorted(found) == sorted(names[:-1])


def test_nothing_is_done_or_told_without_a_good_key(tenants: Tenants, bad_tokens: dict[str, str | None]):
    before, wrong = tenants.run.counts(), []
    for route, (what, token) in product(CLOSED, bad_tokens.items()):
        answer = tenants.ask(route, token)
        said = answer.body.decode()
        refused = answer.refusal == (401, "bad-key") and answer.headers["www-authenticate"].startswith("Bearer")
        if not refused or WORD in said or (token is not None and token in said):
            wrong.append((route.name, what, answer))
        if tenants.run.counts() != before:
            wrong.append((route.name, what, "has changed something"))
            before = tenants.run.counts()
    assert wrong == []


def test_nothing_is_done_or_told_without_the_scope(tenants: Tenants):
    tokens = {lacking: tenants.run.token(ANN, [scope for scope in SCOPES if scope != lacking]) for lacking in SCOPES}
    before, wrong = tenants.run.counts(), []
    for route in SCOPED:
        answer = tenants.ask(route, tokens[route.scope])
        if answer.refusal != (403, "missing-scope") or WORD in answer.body.decode():
            wrong.append((route.name, answer))
        if tenants.run.counts() != before:
            wrong.append((route.name, "has changed something"))
            before = tenants.run.counts()
    assert wrong == []


def test_a_key_of_another_space_neither_sees_nor_changes_anything(tenants: Tenants):
    token = tenants.run.token(BEN)

    def of_ann() -> dict[str, int]:
        return {name: number for name, number in tenants.run.counts().items() if "ann" in name}

    before, wrong = of_ann(), []
    for route in CLOSED:
        answer = tenants.ask(route, token)
        # What is asked for is told back in some answers; what Ann said is in none.
        if answer.status >= 500 or WORD in answer.body.decode(errors="replace"):
            wrong.append((route.name, answer))
        # Receipts are numbered within a space, so the number of one of Ann's may be that of one of Ben's.
        if "{id}" in route.path and route.name != "receipt" and answer.status != 404 and answer.json != {"done": 0}:
            wrong.append((route.name, answer))
        if of_ann() != before:
            wrong.append((route.name, "has changed something"))
            before = of_ann()
    assert wrong == []


def test_the_memory_of_another_space_is_seen_only_where_it_was_shared(tenants: Tenants):
    asked = [route for route in CLOSED if "owner" in getattr(route.takes, "__struct_fields__", ())]
    answers = {route.name: tenants.ask(route, tenants.run.token(BEN), owner=list(ANN)) for route in asked}
    assert answers
    assert {name: one for name, one in answers.items() if one.refusal != (403, "not-granted")} == {}


def test_mcp_is_closed_without_a_key(tenants: Tenants, bad_tokens: dict[str, str | None]):
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepting = {"Accept": "application/json, text/event-stream"}
    for token in bad_tokens.values():
        assert tenants.run.ask("POST", "/mcp", asked, token=token, headers=accepting).code == "bad-key"
    good = tenants.run.ask("POST", "/mcp", asked, headers=accepting)
    assert good.status == 200
    assert good.headers["x-content-type-options"] == "nosniff"
    assert tenants.run.ask("GET", "/mcp").code == "method"
    # What the service answers to, MCP does too.
    assert tenants.run.ask("POST", "/mcp", asked, headers={**accepting, "Host": "10.1.2.3:7411"}).status == 200
    assert tenants.run.ask("POST", "/mcp", asked, headers={**accepting, "Host": "evil.example"}).status == 421


def test_every_route_has_a_handler(tenants: Tenants):
    assert set(HANDLERS) == set(OPERATIONS)


# What no client should send

BAD_ADDRESSES = {
    "/v1/memories/%ff%fe": 422, "/v1/memories/%00": (404, 422), "/v1/memories/..": 404,
    "/v1/memories/%2e%2e%2fkeys": 404, "/v1/memories/a%2Fb": 404, "/v1/memories//versions": 404, "/v1/../v1/me": 404,
    "/v1/threads/%ed%a0%80": 422, "/v1/nothing": 404, "/V1/me": 404, "/v1/threads/talk/places/one": 422,
    "/v1/threads/talk/places/-1": (404, 422), "/v1/threads/talk/places/99999999999999999999999": (404, 422),
    "/v1/memories?limit=none": 422, "/v1/memories?limit=5&limit=6": 422, "/v1/memories?unknown=1": 422,
    "/v1/memories?cursor=%00%01": 422, "/v1/memories?cursor=bm90aGluZw": 422, "/v1/memories?where=%ff": 400,
    "/v1/memories?where=%7B": 422, "/v1/me?x=1": 422, "/v1/memories?" + "&".join(f"a{n}=1" for n in range(500)): 400,
}  # fmt: skip


def test_a_bad_address_is_refused(tenants: Tenants):
    wrong = []
    for path, expected in BAD_ADDRESSES.items():
        answer = tenants.run.ask("GET", path)
        statuses = expected if isinstance(expected, tuple) else (expected,)
        told = answer.refusal[1] and answer.json["request"] == answer.headers["x-request-id"]
        if answer.status not in statuses or not told:
            wrong.append((path, answer))
    assert wrong == []


BAD_BODIES: dict[str, bytes] = {
    "deep": b'{"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep in metadata": b'{"content":"a","metadata":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    "rather deep": b'{"content":"a","metadata":{"a":' + b"[" * 900 + b"]" * 900 + b"}}", "cut": b'{"content": "a',
    "not JSON": b"hello", "two": b'{"content":"a"}{"content":"b"}', "not UTF-8": b'{"content": "\xff\xfe"}',
    "surrogate": b'{"content": "\\ud800"}', "surrogate in an id": b'{"content": "a", "id": "\\udfff"}',
    "NUL in an id": b'{"content": "a", "id": "a\\u0000b"}', "empty id": b'{"content": "a", "id": ""}',
    "unknown field": b'{"content": "a", "colour": 1}', "NaN": b'{"content": "a", "importance": NaN}',
    "infinite": b'{"content": "a", "importance": 1e999}',
    "long number": b'{"content": "a", "metadata": {"n": ' + b"9" * 10_000 + b"}}", "list": b"[]", "nothing": b"",
    "null": b"null", "no content": b'{"content": null}',
    "impossible time": b'{"content": "a", "time": "2026-13-45T00:00:00Z"}',
    "negative ttl": b'{"content": "a", "ttl": -1}', "owner": b'{"content": "a", "owner": []}',
    "deep owner": b'{"content": "a", "owner": ' + json.dumps(["a"] * 400).encode() + b"}",
    "byte order mark": b"\xef\xbb\xbf{}",
}  # fmt: skip
NOT_JSON = [
    BAD_BODIES[name]
    for name in ("deep in metadata", "cut", "not JSON", "two", "not UTF-8", "surrogate", "surrogate in an id")
] + [BAD_BODIES["NaN"], BAD_BODIES["byte order mark"]]


def test_a_bad_body_is_refused_and_nothing_stored(tenants: Tenants):
    before, wrong = tenants.run.counts(), []
    for name, body in BAD_BODIES.items():
        answer = tenants.run.ask("POST", "/v1/memories", body, headers={"Content-Type": "application/json"})
        expected = (400, "malformed") if body in NOT_JSON else (422, "invalid-input")
        if answer.refusal != expected:
            wrong.append((name, answer))
        if tenants.run.counts() != before:
            wrong.append((name, "something was stored"))
            before = tenants.run.counts()
    assert wrong == []


WRONG = (None, True, -1, 10**30, 0.5, "", "\x00", [], {}, [[]], [None], {"a": None}, "x" * 10_000)


def wrong_bodies(route: Operation, tenants: Tenants) -> Iterator[dict[str, Any]]:
    """Each field of a request with values of every kind, most of them wrong."""
    info = shapes.type_info(route.takes)
    assert isinstance(info, shapes.StructType)
    for field in info.fields:
        for value in WRONG:
            yield {**tenants.body(route), field.encode_name: value}


def test_no_value_of_any_field_breaks_the_service(tenants: Tenants):
    token, wrong = tenants.run.token(Space("acme", "wrong")), []
    asked = [(route, body) for route in CLOSED if route.takes is not None for body in wrong_bodies(route, tenants)]
    assert len(asked) > 1000
    with tenants.run.line() as ask:
        for route, body in asked:
            if route.takes_query:
                query = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in body.items()}
                answer = ask(route.method, tenants.address(route), None, token=token, query=query)
            else:
                answer = ask(route.method, tenants.address(route), body, token=token)
            status, code = answer.refusal
            if (status >= 400 and not code) or (status >= 500 and code not in ("overloaded", "model")):
                wrong.append((route.name, body, answer))
    assert wrong == []


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("text/plain", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/json; charset=utf-8", 201),
        ("application/problem+json", 201),
    ],
)
def test_only_json_is_taken_for_json(kind: str, status: int, tenants: Tenants):
    answer = tenants.run.ask(
        "POST", "/v1/memories", b'{"content": "typed"}', token=tenants.run.token(BEN), headers={"Content-Type": kind}
    )
    assert answer.status == status


def test_a_form_is_not_taken_for_a_file(tenants: Tenants):
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    assert tenants.run.ask("POST", "/v1/media", b"--x--", headers=kind).code == "media-type"


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PUT"])
def test_another_method_is_refused_with_those_that_are_taken(method: str, tenants: Tenants):
    answer = tenants.run.ask(method, "/v1/memories")
    assert answer.status == 405
    assert answer.headers["allow"] == "POST, GET"


def test_a_page_that_was_not_allowed_cannot_call(tenants: Tenants):
    evil = {"Origin": "https://evil.example"}
    assert tenants.run.ask("GET", "/v1/me", headers=evil).code == "foreign-origin"
    asked = {**evil, "Access-Control-Request-Method": "POST"}
    refused = tenants.run.ask("OPTIONS", "/v1/memories", token=None, headers=asked)
    assert refused.status == 403
    assert not any(name.startswith("access-control") for name in refused.headers)


def refusals(run: Running, token: str) -> list[tuple[str, str, Any, Any]]:
    """What the log tells of a key's refusals. What is written after the answer is waited for."""
    key = token.split("_")[1]

    def told() -> list[Any]:
        return [one for one in run.service.log.entries(limit=50).items if one.key == key and one.outcome == "refused"]

    assert until(lambda: bool(told()))
    return [(one.action, str(one.detail["code"]), one.space, one.targets) for one in told()]


def test_the_log_tells_when_a_good_key_is_refused(tenants: Tenants):
    def fresh(*scopes: str) -> str:
        return tenants.run.service.keys.create("refused", space=ANN, scopes=scopes or SCOPES)[1]

    reader, foreign, spying, looking = fresh("read"), fresh(), fresh(), fresh("read")
    tenants.run.ask("POST", "/v1/erase-by", {"everything": True}, token=reader)
    assert refusals(tenants.run, reader) == [("erase_by", "missing-scope", ANN, ())]
    evil = {"Origin": "https://evil.example"}
    tenants.run.ask("POST", "/v1/recall", {"query": "x"}, token=foreign, headers=evil)
    assert refusals(tenants.run, foreign) == [("recall", "foreign-origin", ANN, ())]
    tenants.run.ask("GET", "/v1/memories", token=spying, query={"owner": ["acme", "zoe"]})
    assert refusals(tenants.run, spying) == [("memories", "not-granted", ANN, ())]
    tenants.run.ask("GET", "/v1/figures", token=looking, query={"whole": "true"})
    assert refusals(tenants.run, looking) == [("figures", "missing-scope", ANN, ())]


def test_the_log_names_the_space_that_a_refused_key_tried(tenants: Tenants):
    run = tenants.run
    token = run.service.keys.create("curious", space=ANN, scopes=("read", "spaces"))[1]
    assert run.ask("GET", "/v1/memories", token=token, query={"space": "acme/zoe"}).refusal == (403, "foreign-space")
    assert refusals(run, token) == [("memories", "foreign-space", ANN, ())]
    [entry] = [one for one in run.service.log.entries(limit=50).items if one.detail.get("code") == "foreign-space"]
    assert entry.detail["tried"] == "acme/zoe"


def test_a_key_that_asks_too_often_is_named_in_the_request_log(tmp_path: Any, caplog: pytest.LogCaptureFixture):
    with running(tmp_path / "s.db") as run:
        key, token = run.service.keys.create("slow", space=ANN, scopes=SCOPES, rate=1)
        with caplog.at_level("INFO", logger="memwell.service"):
            logging.getLogger("memwell.service").propagate = logging.getLogger("memwell").propagate = True
            statuses = [run.ask("GET", "/v1/me", token=token).status for _ in range(3)]
        assert statuses[-1] == 429
        lines = [one.__dict__ for one in caplog.records if "429" in str(one.__dict__)]
        assert lines
        assert all(key.id in str(line) for line in lines)


def test_a_trace_has_the_route_and_its_stages_and_the_log_names_it(caplog: pytest.LogCaptureFixture):
    caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with collecting() as collector:
        with running(otlp_url=collector.url) as run, caplog.at_level("INFO", logger="memwell.service"):
            logging.getLogger("memwell.service").propagate = logging.getLogger("memwell").propagate = True
            run.ask("POST", "/v1/memories", {"content": "Ann plays chess."})
            asked = {"query": "chess"}
            assert run.ask("POST", "/v1/recall", asked, headers={"traceparent": caller}).status == 200
            assert run.ask("GET", "/v1/memories/none").status == 404
            counted = run.service.metrics.counts()["recall"]
        spans = collector.spans()
    request = spans["POST /v1/recall"]
    assert request.trace_id.hex() == caller[3:35]
    assert spans["rank"].parent_span_id == request.span_id
    assert {"store", "GET /v1/memories/{id}"} <= set(spans)
    assert b"chess" not in b"".join(collector.raw)
    fields = [getattr(record, "memwell", {}) for record in caplog.records]
    assert {one.get("trace_id") for one in fields if one.get("route") == "recall"} == {caller[3:35]}
    assert counted.received == len(json.dumps(asked))
    assert counted.sent > 100


@pytest.mark.parametrize("name", ["Authorization", "Host", "host"])
def test_a_header_that_decides_who_asks_may_be_there_once(name: str, tenants: Tenants):
    run = tenants.run
    value = f"Bearer {run.token(ANN)}" if name == "Authorization" else "localhost"
    head = f"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token(BEN)}\r\n{name}: {value}\r\n"
    with socket.create_connection(("127.0.0.1", run.port), timeout=PATIENCE_S) as line:
        line.sendall(head.encode() + b"Connection: close\r\n\r\n")
        answer = line.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"ben" not in answer.lower().replace(b"benchmark", b"")


def test_an_address_has_one_slash_between_its_parts(tenants: Tenants):
    run = tenants.run
    assert run.ask("GET", "/metrics").status == 200
    for path in ("//metrics", "/metrics//", "//v1/me", "/v1//me"):
        assert run.ask("GET", path).refusal == (404, "no-such-address"), path


def test_a_space_is_named_the_same_way_everywhere(tenants: Tenants):
    run = tenants.run
    token = run.token(Space("ops"), SCOPES)
    deep, _ = run.service.keys.create("deep", space=Space("a", "b"), scopes=("read",))
    slashed, _ = run.service.keys.create("slashed", space=Space("a/b"), scopes=("read",))
    for named, key in (("a/b", deep), (["a", "b"], deep), ('["a/b"]', slashed), ('["a","b"]', deep)):
        found = run.ask("GET", "/v1/keys", token=token, query={"space": named}).json["items"]
        assert [one["id"] for one in found] == [key.id], named
        with Connection(f"http://127.0.0.1:{run.port}", key=token) as line:
            assert line.at(key.space).call("me").key.space == key.space
        assert tuple(run.ask("GET", "/v1/me", token=token, query={"space": named}).json["key"]["space"]) == key.space


def test_a_cursor_that_is_none_is_refused(tenants: Tenants):
    run = tenants.run
    answer = run.ask("GET", "/v1/keys", query={"cursor": "zzz"})
    assert answer.refusal == (422, "invalid-input")
    assert "cursor" in answer.json["detail"]
    first = run.ask("GET", "/v1/keys", query={"limit": 1}).json
    assert run.ask("GET", "/v1/keys", query={"limit": 1, "cursor": first["next"]}).status == 200


def test_the_log_tells_when_a_tool_is_refused(tenants: Tenants):
    token = tenants.run.service.keys.create("refused", space=ANN, scopes=["read"])[1]
    call = {"name": "remember", "arguments": {"text": "x"}}
    said = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    accepted = {"Accept": "application/json, text/event-stream"}
    assert tenants.run.ask("POST", "/mcp", said, token=token, headers=accepted).status == 200
    assert refusals(tenants.run, token) == [("remember", "missing-scope", ANN, ())]


def test_what_the_page_recalls_is_not_counted_as_use():
    with running() as run:
        run.ask("POST", "/v1/memories", {"content": "Ann plays chess."})

        def accessed(headers: dict[str, str]) -> str | None:
            [hit] = run.ask("POST", "/v1/recall", {"query": "chess"}, headers=headers).json["items"]
            return hit["accessed"]

        page = {"X-Memwell-Page": "1"}
        assert [accessed(page), accessed(page), accessed({})] == [None, None, None]
        assert accessed(page) is not None


def test_health_and_description_need_no_key(tenants: Tenants):
    assert tenants.run.ask("GET", "/health/live", token=None).json["status"] == "ok"
    assert tenants.run.ask("GET", "/health/ready", token=None).status == 200
    # A balancer names a pod as it likes.
    assert tenants.run.ask("GET", "/health/live", token=None, headers={"Host": "pod-7.example"}).status == 200
    assert tenants.run.ask("GET", "/v1/me", token=None, headers={"Host": "pod-7.example"}).status == 421
    assert tenants.run.ask("GET", "/openapi.json", token=None).json["openapi"].startswith("3.1")


def test_the_same_request_under_one_header_has_one_effect(tenants: Tenants):
    token = tenants.run.token(Space("acme", "once"))
    once = {"Idempotency-Key": "one"}

    def write(text: str) -> Any:
        return tenants.run.ask("POST", "/v1/memories", {"content": text}, token=token, headers=once)

    first, again = write("said once"), write("said once")
    assert (first.status, "idempotent-replayed" in first.headers) == (201, False)
    assert (again.status, again.headers["idempotent-replayed"], again.body) == (201, "true", first.body)
    assert tenants.run.ask("GET", "/v1/count", token=token).json == {"count": 1}
    assert write("another").refusal == (409, "idempotency-mismatch")


@pytest.mark.parametrize("path", ["/v1/exports", "/v1/audit"])
def test_a_job_begins_once_under_one_header(path: str, tenants: Tenants):
    token, once = tenants.run.token(Space("acme", "jobs")), {"Idempotency-Key": f"job {path}".replace(" ", "-")}
    first = tenants.run.ask("POST", path, {}, token=token, headers=once)
    again = tenants.run.ask("POST", path, {}, token=token, headers=once)
    assert (first.status, again.status, again.body) == (202, 202, first.body)
    assert again.headers["idempotent-replayed"] == "true"
    begun = tenants.run.ask("GET", "/v1/jobs", token=token).json["items"]
    assert sum(job["action"] == first.json["action"] for job in begun) == 1
    assert first.json.get("result") is None


def test_another_file_under_the_same_header_is_refused(tenants: Tenants):
    once, query, path = {"Idempotency-Key": "file"}, {"name": "boats.txt"}, "/v1/documents/upload"
    token = tenants.run.token(Space("acme", "files"))
    first = tenants.run.ask("POST", path, b"one", token=token, headers=once, query=query)
    assert first.status == 202, first
    again = tenants.run.ask("POST", path, b"one", token=token, headers=once, query=query)
    assert again.body == first.body
    assert again.headers["idempotent-replayed"] == "true"
    assert tenants.run.ask("POST", path, b"two", token=token, headers=once, query=query).code == "idempotency-mismatch"


def test_the_header_means_nothing_where_nothing_is_changed(tenants: Tenants):
    once = {"Idempotency-Key": "read"}
    for query in ("chess", "boats"):
        answer = tenants.run.ask("POST", "/v1/recall", {"query": query}, token=tenants.run.token(BEN), headers=once)
        assert answer.status == 200
        assert "idempotent-replayed" not in answer.headers


@pytest.mark.parametrize("how", ["ids", "everything"])
def test_what_was_erased_is_in_no_kept_answer(tenants: Tenants, how: str):
    token = tenants.run.token(Space("acme", "erased", how))
    run = tenants.run
    made = run.ask("POST", "/v1/memories", {"content": "a pelican"}, token=token).json["ids"][0]
    once = {"Idempotency-Key": "pin"}
    pinned = run.ask("POST", f"/v1/memories/{made}/pin", {}, token=token, headers=once)
    assert b"pelican" in pinned.body
    if how == "ids":
        assert run.ask("POST", "/v1/erase", {"ids": [made]}, token=token).status == 200
    else:
        erase_all(run, token)
    again = run.ask("POST", f"/v1/memories/{made}/pin", {}, token=token, headers=once)
    assert (again.status, again.code) == (409, "answer-gone")


# A handler that fails or hangs


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> Any:
    def put(name: str, does: Any) -> None:
        monkeypatch.setitem(HANDLERS, name, does)

    return put


def test_a_defect_is_told_as_one_and_its_words_are_not_logged(handler: Any, tmp_path: Any):
    out = io.StringIO()

    def broken(call: Any) -> Any:
        raise KeyError("the words of a memory") from ValueError("more words of a memory")

    with running(tmp_path / "s.db") as run:
        logs.set_up("json", out)
        try:
            handler("me", broken)
            answer = run.ask("GET", "/v1/me")
            run.ask("POST", "/v1/recall", {"query": "words of a question"})
            run.ask("GET", "/v1/threads/words-of-a-thread")
            run.ask("GET", "/v1/me", token=run.token()[:-1] + "0")
        finally:
            logs.set_up("off")
    assert (answer.status, answer.code) == (500, "internal")
    assert "words" not in answer.body.decode()
    logged = out.getvalue()
    assert "KeyError" in logged
    assert "ValueError" in logged
    assert answer.json["request"] in logged
    # The source of the line that raised stands in the trace, and this test wrote the words there.
    said = [line for line in logged.splitlines() if "words" in line and "raise KeyError" not in line]
    assert said == []
    assert run.token() not in logged


def test_too_many_at_once_are_sent_away_and_later_ones_are_not(handler: Any, tmp_path: Any):
    go, real = threading.Event(), HANDLERS["count"]

    def slow(call: Any, asked: Any) -> Any:
        assert go.wait(PATIENCE_S)
        return real(call, asked)

    handler("count", slow)
    with running(tmp_path / "s.db", serve_threads=2, serve_most_waiting=2) as run, ThreadPoolExecutor(4) as pool:
        token = run.token()
        waiting = [pool.submit(run.ask, "GET", "/v1/count", token=token) for _ in range(4)]
        # One that came before all four have would take a place and wait itself.
        assert until(lambda: run.app._under_way.total() == 4)
        refused = run.ask("GET", "/v1/me")
        assert (refused.status, refused.code, refused.headers["retry-after"]) == (503, "overloaded", "1")
        # It is busy, and not dead.
        assert run.ask("GET", "/health/live", token=None).status == 200
        go.set()
        assert [one.result().status for one in waiting] == [200] * 4
        assert run.ask("GET", "/v1/count").status == 200


def test_a_request_whose_turn_comes_too_late_is_not_done(handler: Any, tmp_path: Any):
    go, done = threading.Event(), []

    def slow(call: Any, asked: Any) -> Any:
        done.append(1)
        assert go.wait(PATIENCE_S)
        return {"count": 0}

    handler("count", slow)
    with running(tmp_path / "s.db", serve_threads=1) as run, ThreadPoolExecutor(2) as pool:
        token = run.token()
        first = pool.submit(run.ask, "GET", "/v1/count", token=token)
        assert until(lambda: bool(done))
        # Whenever the turn of the next one comes, it is too late.
        run.app.settings = replace(run.app.settings, serve_timeout_s=0.0)
        second = pool.submit(run.ask, "GET", "/v1/count", token=token)
        assert until(lambda: run.app._under_way.total() == 2)
        go.set()
        assert first.result().status == 200
        assert second.result().code == "overloaded"
    assert len(done) == 1


def test_slow_requests_of_one_tenant_keep_no_other_waiting(handler: Any, tmp_path: Any):
    go, real = threading.Event(), HANDLERS["count"]

    def slow(call: Any, asked: Any) -> Any:
        assert call.space == BEN or go.wait(PATIENCE_S)
        return real(call, asked)

    handler("count", slow)
    with running(tmp_path / "s.db", serve_threads=2, serve_most_waiting=4) as run, ThreadPoolExecutor(5) as pool:
        ann, ben = run.token(ANN), run.token(BEN)
        waiting = [pool.submit(run.ask, "GET", "/v1/count", token=ann) for _ in range(5)]
        assert until(lambda: run.app._under_way.total() == 5)
        # A thread and a place are left for Ben, and none for Ann.
        assert run.ask("GET", "/v1/count", token=ben).status == 200
        refused = run.ask("GET", "/v1/count", token=ann)
        assert refused.refusal == (429, "rate-limited")
        assert "of this key" in refused.json["detail"]
        go.set()
        assert [one.result().status for one in waiting] == [200] * 5


def test_a_crowd_of_requests_of_one_tenant_keeps_no_other_waiting(tmp_path: Any):
    with running(tmp_path / "s.db") as run:
        ann, ben = run.token(ANN), run.token(BEN)
        run.ask("GET", "/v1/me", token=ann)
        run.ask("GET", "/v1/me", token=ben)
        ended: list[str] = []

        async def asked(name: str, path: str, token: str | None) -> None:
            sent = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
            scope = {"type": "http", "method": "GET", "path": path, "query_string": b""}

            async def receive() -> Any:
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message: Any) -> None:
                if message["type"] == "http.response.start":
                    assert message["status"] in (200, 401, 429)
                    ended.append(name)

            await run.app({**scope, "headers": [(b"host", b"localhost"), *sent]}, receive, send)

        async def all_at_once() -> None:
            crowd = [asked("ann", "/health/live", ann) for _ in range(200)]
            guesses = [asked("unknown", "/v1/me", f"mw_{number}") for number in range(200)]
            others = [asked("ben", "/health/live", ben), asked("probe", "/health/live", None)]
            await asyncio.gather(*crowd, *guesses, *others)

        asyncio.run(all_at_once())
    assert len(ended) == 402
    assert max(ended.index("ben"), ended.index("probe")) < 40


def test_bodies_that_drip_take_no_place(tmp_path: Any):
    with running(tmp_path / "s.db", serve_threads=1, serve_most_waiting=0) as run, ExitStack() as lines:
        head = f"POST {{}} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token(ANN)}\r\n"
        upload = head.format("/v1/documents/upload?name=a.txt") + "Content-Length: 1000\r\n\r\nx"
        said = head.format("/v1/memories") + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
        for sent in [upload] * 32 + [said] * 32:
            lines.enter_context(run._sent(sent.encode(), ()))
        assert until(lambda: run.app._uploads._held[ANN] == 32)
        assert run.ask("GET", "/v1/count", token=run.token(BEN)).status == 200
        assert run.ask("GET", "/v1/count").status == 200
        # Only so many files of one tenant arrive at once.
        refused = run.first(upload.encode())
        assert (refused.refusal, "32 files" in refused.json["detail"]) == ((429, "rate-limited"), True)
        assert (
            run.ask("POST", "/v1/documents/upload", b"Hello", query={"name": "b.txt"}, token=run.token(BEN)).status
            == 202
        )


def test_large_bodies_of_one_tenant_take_limited_memory(tmp_path: Any):
    with running(tmp_path / "s.db", serve_max_json_mb=0.1) as run, ExitStack() as lines:
        head = f"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {run.token(ANN)}\r\n"
        sent = (head + "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{").encode()
        for _ in range(4):
            lines.enter_context(run._sent(sent, ()))
        assert until(lambda: run.app._bodies._held[ANN] == 400_000)
        refused = run.first(sent)
        assert (refused.refusal, "400,000 bytes" in refused.json["detail"]) == ((429, "rate-limited"), True)
        assert run.ask("POST", "/v1/memories", {"content": "A short one."}).status == 201


def test_a_request_of_very_many_values_is_refused_before_it_is_read(tenants: Tenants):
    body = b'{"content": "x", "metadata": {"a": [' + b"1," * 600_000 + b"1]}}"
    refused = tenants.run.ask("POST", "/v1/memories", body, headers={"Content-Type": "application/json"})
    assert (refused.refusal, "500,000 values" in refused.json["detail"]) == ((413, "too-large"), True)


def test_a_request_over_mcp_is_small_enough_for_the_event_loop(tenants: Tenants):
    accepting = {"Accept": "application/json, text/event-stream"}

    def asked(arguments: Any) -> Any:
        params = {"name": "recall", "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return tenants.run.ask("POST", "/mcp", body, headers=accepting)

    assert asked({"query": "chess"}).status == 200
    for arguments, limit in (({"query": "x" * 1_000_000}, "1,000,000 bytes"), ({"a": [[]] * 10_001}, "10,000 values")):
        refused = asked(arguments)
        assert (refused.refusal, limit in refused.json["detail"]) == ((413, "too-large"), True)


@pytest.mark.parametrize(
    ("path", "body", "limit"),
    [
        ("/v1/recall", {"query": "x " * 5_001}, "query has 10,002 characters, over the limit of 10,000"),
        ("/v1/memories", {"content": "x " * 500_001}, "content has 1,000,002 characters, over the limit of 1,000,000"),
        ("/v1/memories", {"content": "x", "metadata": {"a": "x" * 65_536}}, "metadata takes 65,544 bytes, over the limit"),
        ("/v1/memories", {"content": [{"role": "user", "content": "x", "metadata": {"a": "x" * 65_536}}]},
         "metadata takes"),
        ("/v1/threads/t/messages", {"messages": [{"role": "user", "content": "x", "metadata": {"a": "x" * 65_536}}]},
         "metadata takes"),
        ("/v1/recall", {"query": "x", "where": {"a": "x" * 65_536}}, "where takes 65,544 bytes"),
        ("/v1/recall", {"query": "x", "kinds": ["x" * 10_001]}, "kinds has 10,001 characters"),
    ],
)  # fmt: skip
def test_every_field_is_bounded_and_the_limit_is_named(path: str, body: Any, limit: str, tenants: Tenants):
    refused = tenants.run.ask("POST", path, body)
    assert refused.code == "invalid-input"
    assert limit in refused.json["detail"]


def test_a_link_signs_in_without_a_key_and_once(tmp_path: Any):
    with running(tmp_path / "s.db") as run:
        assert run.ask("POST", "/v1/sign-in", {"code": "x"}, token=None).code == "bad-key"
        link = run.service.link = OneTimeLink(lambda: run.token(BEN))
        # The answer to a request of no key is not kept.
        once = {"idempotency-key": "sign-in"}
        answers = [run.ask("POST", "/v1/sign-in", {"code": link.code}, token=None, headers=once) for _ in range(2)]
        assert [answers[0].json, answers[1].code] == [{"token": run.token(BEN)}, "bad-key"]
        assert "memwell keys create NAME --as operator" in answers[1].json["detail"]


def test_a_key_that_asks_too_often_is_told_when_to_come_back(tmp_path: Any):
    with running(tmp_path / "s.db") as run:
        token = run.service.keys.create("slow", space=ANN, scopes=SCOPES, rate=3)[1]
        answers = [run.ask("GET", "/v1/me", token=token) for _ in range(5)]
        assert [answer.status for answer in answers[:3]] == [200] * 3
        assert (answers[-1].status, answers[-1].code) == (429, "rate-limited")
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert run.ask("GET", "/v1/me").status == 200


def test_while_it_stops_new_requests_are_sent_away(tmp_path: Any):
    with running(tmp_path / "s.db") as run:
        run.service.stopping = True
        for path in ("/v1/me", "/health/ready"):
            answer = run.ask("GET", path)
            assert (answer.status, answer.code) == (503, "stopping")
            assert int(answer.headers["retry-after"]) >= 1
        assert run.ask("GET", "/health/live", token=None).status == 200


def test_a_file_that_is_gone_is_a_problem(handler: Any, tmp_path: Any):
    handler("job_file", lambda call: File(content=tmp_path / "gone", name="x"))
    logs.set_up("off")
    with running(tmp_path / "s.db") as run:
        gone = run.ask("GET", "/v1/jobs/x/file")
        assert (gone.status, gone.code) == (500, "internal")
        assert run.ask("GET", "/v1/me").status == 200


def test_allowed_pages_may_call(tmp_path: Any):
    with running(tmp_path / "s.db", serve_origins="https://app.example") as run:
        page = {"Origin": "https://app.example"}
        asked = {**page, "Access-Control-Request-Method": "POST"}
        before = run.ask("OPTIONS", "/v1/memories", token=None, headers=asked)
        assert (before.status, before.body) == (204, b"")
        assert "Idempotency-Key" in before.headers["access-control-allow-headers"]
        for answer in (
            before,
            run.ask("GET", "/v1/me", headers=page),
            run.ask("PUT", "/v1/me", headers=page),
            run.ask("GET", "/v1/me", token=None, headers=page),
        ):
            assert answer.headers["access-control-allow-origin"] == "https://app.example"
            assert "access-control-allow-credentials" not in answer.headers
            assert "X-Request-Id" in answer.headers["access-control-expose-headers"]


def test_it_is_ready_when_nobody_has_to_wait_for_the_models(tmp_path: Any):
    with running(tmp_path / "s.db") as run:
        run.service.models = "loading"
        waiting = run.ask("GET", "/health/ready", token=None)
        assert waiting.status == 503
        assert int(waiting.headers["retry-after"]) >= 1
        assert run.ask("GET", "/health/live", token=None).status == 200
        run.service.models = "ok"
        assert run.ask("GET", "/health/ready", token=None).json["checks"]["models"] == "ok"


# MCP is loaded when somebody asks for it, once for all who do, and ends with the service.


class Counted:
    """What is loaded: it counts how often it ran and what it was asked."""

    def __init__(self) -> None:
        self.runs = self.ended = self.asked = 0

    def run(self) -> Counted:
        return self

    async def __aenter__(self) -> Counted:
        self.runs += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self.ended += 1

    async def handle_request(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1


async def asked(app: LazyMcp) -> None:
    nothing: Any = None
    await app({}, nothing, nothing)


def test_it_is_loaded_once_for_all_who_ask_at_once(monkeypatch: pytest.MonkeyPatch):
    made, loads, go_on = Counted(), list[int](), threading.Event()

    def load() -> Counted:
        loads.append(1)
        assert go_on.wait(60)
        return made

    async def several() -> None:
        app = LazyMcp()
        asking = [asyncio.create_task(asked(app)) for _ in range(4)]
        await asyncio.sleep(0)
        # One who hangs up while it is loaded ends nothing for the others.
        asking.pop().cancel()
        go_on.set()
        await asyncio.gather(*asking)
        assert (made.runs, made.ended) == (1, 0)
        await app.close()

    monkeypatch.setattr(mcp_loading, "_load", load)
    asyncio.run(several())
    assert (loads, made.runs, made.asked, made.ended) == ([1], 1, 3, 1)


def test_why_it_could_not_be_loaded_is_raised_to_everybody_who_asks(monkeypatch: pytest.MonkeyPatch):
    def load() -> Counted:
        raise MissingDependency("a part of it is missing")

    async def twice() -> None:
        app = LazyMcp()
        for _ in range(2):
            with pytest.raises(MissingDependency, match="a part of it"):
                await asked(app)
        await app.close()

    monkeypatch.setattr(mcp_loading, "_load", load)
    asyncio.run(twice())


def test_without_its_package_a_request_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.startswith("memwell.service.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    # An mcp of before 2, which other packages ask for, has no mcp_types.
    monkeypatch.setitem(sys.modules, "mcp_types", None)

    async def once() -> None:
        app = LazyMcp()
        with pytest.raises(MissingDependency, match="memwell\\[mcp\\]"):
            await asked(app)
        await app.close()

    asyncio.run(once())


def test_a_service_starts_without_it():
    told = "import sys, memwell.service.server; print([name for name in sys.modules if name.startswith('mcp')])"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=120, check=True)
    assert found.stdout.strip() == "[]"


# Encrypted stores


def test_the_export_of_an_encrypted_store_is_plain_for_its_client_alone(tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with running(tmp_path / "app.db", secret="a passphrase for tests") as run:
        run.service.memory_of(ANN).remember("The zanzibarcanary lives in Lisbon.")
        job = run.ask("POST", "/v1/exports", {"format": "jsonl"}).json
        until(lambda: run.ask("GET", f"/v1/jobs/{job['id']}").json["status"] == "done")
        told = run.ask("GET", f"/v1/jobs/{job['id']}/file")
        assert b"zanzibarcanary" in told.body
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        assert [file.name for file in files if file.suffix == ".jsonl"]
        assert [file.name for file in files if b"zanzibarcanary" in file.read_bytes()] == []
