"""What mem0 remembered is remembered once, with its time, its session and its other fields."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memwell.errors import InvalidInput
from memwell.longterm.memory import Memory
from memwell.records import Space
from memwell.runtime.transfer import (
    import_mem0,
)
from memwell.storage import open_backend

SPACE = Space("ann")


def opened() -> Memory:
    return Memory(open_backend("memory:"), SPACE)


def as_json(value: object) -> io.BytesIO:
    return io.BytesIO(json.dumps(value).encode())


def texts(memory: Memory) -> list[str]:
    return [record.text for record in memory._all()]


MEM0 = [
    {
        "id": "4f1c",
        "memory": "Is allergic to nuts",
        "hash": "abc",
        "metadata": {"category": "health"},
        "created_at": "2024-07-20T01:30:36.275141-07:00",
        "updated_at": None,
        "user_id": "ann",
    },
    {
        "id": "../../etc/passwd",
        "memory": "喜欢火车",
        "created_at": "2025-01-02T03:04:05Z",
        "run_id": "trip",
        "user_id": "bo",
    },
]


@pytest.mark.parametrize(
    "wrap", [lambda items: items, lambda items: {"results": items}, lambda items: {"count": 2, "memories": items}]
)
def test_mem0(wrap: Any) -> None:
    memory = opened()
    report = import_mem0(memory, as_json(wrap(MEM0)))
    assert (report.counts, report.problems) == ({"memories": 2}, [])
    nuts, trains = memory._all()
    assert nuts.time == datetime(2024, 7, 20, 8, 30, 36, 275141, tzinfo=UTC)
    assert nuts.metadata["category"] == "health"
    assert nuts.metadata["mem0"]["hash"] == "abc"
    assert trains.metadata["memwell"]["session"] == "trip"
    again = import_mem0(memory, as_json(wrap(MEM0)))
    assert (again.new, again.known, len(texts(memory))) == (0, 2, 2)


def test_mem0_of_one_user_and_of_what_has_expired() -> None:
    memory = opened()
    report = import_mem0(
        memory, as_json([*MEM0, {"memory": "Old news", "user_id": "bo", "expiration_date": "2020-01-01"}]), user_id="bo"
    )
    assert texts(memory) == ["喜欢火车"]
    assert [note.number for note in report.skipped] == [1, 3]


def test_mem0_of_several_users_says_so() -> None:
    [hint] = import_mem0(opened(), as_json(MEM0)).hints
    assert "2 users" in hint
    assert hint.endswith(": ann, bo")
    assert import_mem0(opened(), as_json(MEM0), user_id="bo").hints == []
    assert import_mem0(opened(), as_json(MEM0[:1])).hints == []


def test_mem0_with_wrong_items() -> None:
    wrong: list[Any] = [
        7,
        {"memory": ""},
        {"memory": 7},
        {"memory": "a", "created_at": "yesterday"},
        {"memory": "b", "metadata": [1]},
        {"memory": "c", "metadata": {"memwell": 1}},
        {"memory": "d", "id": ["x"]},
        {"memory": "e", "run_id": {}, "id": "x" * 2000},
        {"memory": "f\x00"},
    ]
    memory = opened()
    report = import_mem0(memory, as_json([*wrong, MEM0[0]]))
    assert [note.number for note in report.problems] == list(range(1, len(wrong) + 1))
    assert texts(memory) == ["Is allergic to nuts"]
    with pytest.raises(InvalidInput, match="mem0, 1"):
        import_mem0(opened(), as_json(wrong), strict=True)


def test_mem0_twice_in_one_file() -> None:
    memory = opened()
    report = import_mem0(memory, as_json([MEM0[0], {**MEM0[0], "memory": "Something else"}]))
    assert "another item with the id" in report.skipped[0].reason
    assert texts(memory) == ["Is allergic to nuts"]
