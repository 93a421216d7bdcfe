"""A conversation's branch comes over in order; trees that lead nowhere are reported."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

from memwell.errors import InvalidInput
from memwell.history import History
from memwell.longterm.memory import Memory
from memwell.messages import Role
from memwell.records import Space
from memwell.runtime.transfer import (
    Imported,
    import_chatgpt,
)
from memwell.storage import open_backend

SPACE = Space("ann")


def opened() -> Memory:
    return Memory(open_backend("memory:"), SPACE)


def as_json(value: object) -> io.BytesIO:
    return io.BytesIO(json.dumps(value).encode())


def reasons(report: Imported) -> list[str]:
    return [f"{note.number}: {note.reason}" for note in report.problems]


def node(id_: str, parent: str | None, role: str = "user", *parts: Any, **fields: Any) -> dict[str, Any]:
    content = {"content_type": fields.pop("content_type", "text"), "parts": list(parts)}
    message = {"id": id_, "author": {"role": role}, "create_time": 1714560000.25, "content": content, **fields}
    return {"id": id_, "parent": parent, "children": [], "message": message if parts else None}


def conversation(*nodes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "title": "Trains",
        "create_time": 1714550000.5,
        "update_time": 1714570000,
        "mapping": {one["id"]: one for one in nodes},
        "current_node": nodes[-1]["id"],
        "conversation_id": "c-1",
        **fields,
    }


TREE = conversation(
    node("root", None),
    node("sys", "root", "system", "You are ChatGPT."),
    node("hidden", "sys", "user", "My profile", metadata={"is_visually_hidden_from_conversation": True}),
    node("q", "hidden", "user", "When do trains leave for Kyoto?"),
    node("old", "q", "assistant", "At nine."),
    node("call", "q", "assistant", "search('trains')", recipient="browser"),
    node("tool", "call", "tool", "result"),
    node("think", "tool", "assistant", "hm", content_type="thoughts"),
    node("a", "think", "assistant", "At ten.", create_time=None),
    node(
        "picture", "a", "user", {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}, "这是什么？",
        content_type="multimodal_text",
    ),
)  # fmt: skip


def test_chatgpt() -> None:
    memory = opened()
    report = import_chatgpt(memory, as_json([TREE]))
    assert (report.counts, report.problems) == ({"threads": 1, "messages": 3, "memories": 3}, [])
    chat = History(memory.backend, "c-1", space=SPACE)
    assert [(message.role, message.text) for message in chat] == [
        (Role.HUMAN, "When do trains leave for Kyoto?"),
        (Role.AI, "At ten."),
        (Role.HUMAN, "[image: file-service://x]\n这是什么？"),
    ]
    assert chat.metadata()["title"] == "Trains"
    assert {message.time for message in chat} == {datetime(2024, 5, 1, 10, 40, 0, 250000, tzinfo=UTC)}
    assert {record.metadata["memwell"]["session"] for record in memory._all()} == {"c-1"}
    assert import_chatgpt(memory, as_json([TREE])).new == 0


def test_a_chatgpt_conversation_that_went_on_is_taken_on() -> None:
    memory = opened()
    import_chatgpt(memory, as_json([TREE]), remember=False)
    more = conversation(*TREE["mapping"].values(), node("next", "picture", "assistant", "A locomotive."))
    assert import_chatgpt(memory, as_json([more]), remember=False).counts == {"messages": 1}
    assert History(memory.backend, "c-1", space=SPACE).last(1)[0].text == "A locomotive."


def test_chatgpt_with_wrong_conversations() -> None:
    wrong: list[Any] = [
        conversation(node("a", "b", "user", "x"), node("b", "a", "user", "y")),
        conversation(node("a", "a", "user", "x")),
        conversation(node("a", "missing", "user", "x")),
        conversation(node("a", None, "user", "x"), current_node="nowhere"),
        conversation(node("a", None, "user", "x"), conversation_id=7),
        conversation(node("a", None, "user", 7)),
        conversation(node("a", None, "user", "bad\x00")),
        conversation(node("a", None, "user", "x", create_time="soon")),
        conversation({**node("a", None, "user", "x"), "id": "a"}, {**node("a", "a", "user", "y"), "id": "b"}),
        {"mapping": []},
        {},
        7,
    ]
    memory = opened()
    report = import_chatgpt(memory, as_json([*wrong, TREE]))
    assert [note.number for note in report.problems] == list(range(1, len(wrong) + 1)), reasons(report)
    assert report.counts == {"threads": 1, "messages": 3, "memories": 3}
    assert [info.thread.id for info in memory.backend.log.threads(SPACE).items] == ["c-1"]


def test_a_deep_chatgpt_tree_is_followed() -> None:
    nodes = [node("0", None, "user", "x 0"), *(node(str(n), str(n - 1), "user", f"x {n}") for n in range(1, 3000))]
    report = import_chatgpt(opened(), as_json([conversation(*nodes)]), remember=False)
    assert report.counts == {"threads": 1, "messages": 3000}


class Refusing(Memory):
    """A memory that takes no memories."""

    def remember(self, *args: Any, **options: Any) -> Any:
        raise InvalidInput("no")


def test_a_conversation_comes_over_whole_or_not_at_all() -> None:
    memory = Refusing(open_backend("memory:"), SPACE)
    report = import_chatgpt(memory, as_json([TREE]))
    assert (report.counts, reasons(report)) == ({}, ["1: no"])
    assert memory.backend.log.threads(SPACE).items == []
