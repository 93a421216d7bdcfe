from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from msgspec import structs

from memwell.runtime.wire.codec import Request
from memwell.runtime.wire.operations import ADMIN, ANY_KEY, ANYONE, BYTES, ERASE, JSON, READ, TEXT, WRITE, Operation
from memwell.runtime.wire.table import OPERATIONS

ALL = list(OPERATIONS.values())


def in_short(row: Operation) -> str:
    """Method, address, scope, the fields of the request (``!`` for those that must be there), status, and the answer."""
    asked = [f"{one.name}{'!' * one.required}" for one in structs.fields(row.takes)] if row.takes is not None else []
    given = (
        re.sub(r"\w+\.", "", str(row.gives)) if get_args(row.gives) else getattr(row.gives, "__name__", row.media_type)
    )
    return f"{row.method} {row.path} {row.scope or '-'} ({' '.join(sorted(asked))}) {row.status} {given}"


def test_the_api_is_the_released_one():
    # Names of the engine's parameters are names of the API. Who means to change it writes the new line into the file.
    released = json.loads((Path(__file__).parent / "operations.json").read_text())
    assert {row.name: in_short(row) for row in ALL} == released


@pytest.mark.parametrize("content", ['"a"', '{"role":"user","content":"a"}', '["a",{"role":"user","content":"b"}]'])
def test_what_is_remembered_may_be_a_text_a_message_or_several(content: str):
    read = msgspec.json.decode(f'{{"content":{content}}}', type=OPERATIONS["remember"].takes)
    assert msgspec.json.encode(read.content).decode() == content


def test_a_route_is_whole():
    assert {route.name: faults for route in ALL if (faults := list(faults_of(route)))} == {}


def faults_of(route: Operation) -> Iterator[str]:
    rules = {
        "scope": route.scope in (READ, WRITE, ERASE, ADMIN, ANY_KEY, ANYONE),
        "method": route.method in ("GET", "POST", "PUT", "PATCH", "DELETE"),
        "media type": route.media_type in (JSON, BYTES, TEXT),
        "what it gives": (route.gives is None) == (route.media_type in (BYTES, TEXT)),
        "what it takes": route.takes is None or issubclass(route.takes, Request),
        "path": route.path == "/" + "/".join(route.parts),
        "upload": not route.upload or route.method == "POST",
    }
    return (rule for rule, kept in rules.items() if not kept)


def test_only_its_health_is_told_to_everybody():
    open_to_all = [route for route in ALL if route.scope == ANYONE]
    assert open_to_all
    others = [one.name for one in open_to_all if not one.path.startswith("/health/") or one.method != "GET"]
    # What brings a key has none yet.
    assert others == ["sign_in"]


def test_what_cannot_be_undone_is_logged():
    final = [route for route in ALL if route.scope in (ERASE, ADMIN) and route.method != "GET"]
    assert final
    assert [route.name for route in final if not route.logged] == []


def test_what_changes_something_needs_more_than_reading():
    changing = [route for route in ALL if route.method in ("PUT", "PATCH", "DELETE")]
    assert changing
    assert [route.name for route in changing if route.scope not in (WRITE, ERASE, ADMIN)] == []
