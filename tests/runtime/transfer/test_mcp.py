"""A knowledge graph comes in as memories and goes out as the graph it was."""

from __future__ import annotations

import io
import json
from typing import Any

from memwell.longterm.memory import Memory
from memwell.records import Space
from memwell.runtime.transfer import (
    export_mcp,
    import_mcp,
)
from memwell.storage import open_backend

SPACE = Space("ann")


def opened() -> Memory:
    return Memory(open_backend("memory:"), SPACE)


def as_lines(*values: object) -> io.BytesIO:
    return io.BytesIO(b"".join(json.dumps(value).encode() + b"\n" for value in values))


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory._all()]


GRAPH = [
    {"type": "entity", "name": "John_Smith", "entityType": "person", "observations": ["Speaks Spanish", "会说中文"]},
    {"type": "entity", "name": "Acme", "entityType": "organization", "observations": []},
    {"type": "relation", "from": "John_Smith", "to": "Acme", "relationType": "works_at"},
]


def graph(memory: Memory, **options: str) -> list[dict]:
    out = io.BytesIO()
    export_mcp(memory, out, **options)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_an_mcp_graph_comes_in_and_goes_out_as_it_was() -> None:
    memory = opened()
    report = import_mcp(memory, as_lines(*GRAPH))
    assert (report.counts, report.problems) == ({"memories": 4}, [])
    assert texts(memory) == [
        "John_Smith: Speaks Spanish",
        "John_Smith: 会说中文",
        "Acme: organization",
        "John_Smith works at Acme.",
    ]
    assert graph(memory) == GRAPH
    assert import_mcp(memory, as_lines(*GRAPH)).new == 0


def test_an_mcp_graph_follows_what_was_changed_here() -> None:
    memory = opened()
    import_mcp(memory, as_lines(*GRAPH))
    spanish, chinese, *_ = memory._all()
    memory.update(spanish.id, "John_Smith: Speaks French")
    memory.forget(chinese.id)
    memory.remember("I like trains.")
    found = graph(memory, entity="me")
    assert found[0]["observations"] == ["Speaks French"]
    assert found[2] == {"type": "entity", "name": "me", "entityType": "memory", "observations": ["I like trains."]}


def test_mcp_with_wrong_lines() -> None:
    wrong: list[Any] = [
        {"type": "entity", "name": "x"},
        {"type": "entity", "name": "x", "entityType": "y", "observations": "z"},
        {"type": "entity", "name": "x", "entityType": "y", "observations": ["good", 7]},
        {"type": "relation", "from": "x"},
        {"type": ["entity"]},
        [],
    ]
    memory = opened()
    report = import_mcp(memory, as_lines(*wrong, GRAPH[1]))
    assert [note.number for note in report.problems] == [1, 2, 3, 4, 5, 6]
    assert texts(memory) == ["Acme: organization"]
    assert report.counts == {"memories": 1}
