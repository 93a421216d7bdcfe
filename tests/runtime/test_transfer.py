"""Every format is known by its content; whatever is in a file, it is reported and never a crash."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memwell.errors import FileError, InvalidInput
from memwell.longterm.media import MediaMemory
from memwell.longterm.memory import Memory
from memwell.records import Space
from memwell.runtime.transfer import (
    FORMATS,
    detect,
    export_jsonl,
    export_markdown,
    import_chatgpt,
    import_file,
    import_langchain,
    import_mcp,
    import_mem0,
)
from memwell.storage import open_backend
from memwell.testing.strategies import json_values
from tests.media_files import picture, sound

SPACE = Space("ann")


def opened() -> Memory:
    return Memory(open_backend("memory:"), SPACE)


def as_json(value: object) -> io.BytesIO:
    return io.BytesIO(json.dumps(value).encode())


def as_lines(*values: object) -> io.BytesIO:
    return io.BytesIO(b"".join(json.dumps(value).encode() + b"\n" for value in values))


MEM0 = [{"id": "4f1c", "memory": "Is allergic to nuts", "created_at": "2024-07-20T01:30:36Z", "user_id": "ann"}]
HISTORY = [{"type": "human", "data": {"content": "你好"}}]
GRAPH = [{"type": "relation", "from": "John_Smith", "to": "Acme", "relationType": "works_at"}]
MESSAGE = {
    "id": "a",
    "author": {"role": "user"},
    "content": {"content_type": "text", "parts": ["When do trains leave?"]},
}
TREE = {"title": "Trains", "mapping": {"a": {"id": "a", "parent": None, "message": MESSAGE}}, "current_node": "a"}

AGENT = {
    "agents": [{"name": "Sam", "agent_type": "letta_v1_agent", "messages": []}],
    "blocks": [{"label": "human", "value": "Ann likes trains."}],
}


def exported(kind: str, path: Path) -> None:
    memory = opened()
    memory.remember("Ann likes trains.")
    match kind:
        case "jsonl":
            export_jsonl(memory, path)
        case "mem0":
            path.write_bytes(as_json(MEM0).getvalue())
        case "langchain":
            path.write_bytes(as_json(HISTORY).getvalue())
        case "mcp":
            path.write_bytes(as_lines(*GRAPH).getvalue())
        case "chatgpt":
            path.write_bytes(as_json([TREE]).getvalue())
        case "letta":
            path.write_bytes(as_json(AGENT).getvalue())
        case "graphiti":
            path.write_bytes(as_json({"edges": [{"uuid": "e", "fact": "Ann likes trains."}]}).getvalue())
        case "csv":
            path.write_text("time,text\n2024-05-01,Ann likes trains.\n")
        case _:
            path.write_text("Ann likes trains.\nAnd boats.\n")


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_found_out_and_imported_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    exported(kind, path)
    assert detect(path) == kind
    memory = opened()
    told: list[tuple[int, int | None]] = []
    report = import_file(memory, path, progress=lambda done, total: told.append((done, total)))
    assert (report.format, report.problems) == (kind, [])
    assert report.new > 0
    assert told[-1] == (path.stat().st_size, path.stat().st_size)
    assert import_file(memory, path, format=kind).new == 0


def test_other_files_are_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"SQLite format 3\x00")
    (tmp_path / "b.json").write_text('{"some": "thing"}')
    (tmp_path / "c.jsonl").write_text(" \n")
    for name in ("a.db", "b.json", "c.jsonl' is empty"):
        with pytest.raises((InvalidInput, FileError), match=name):
            detect(tmp_path / name.partition("'")[0])
    (tmp_path / "d.md").write_text("garbage")
    assert detect(tmp_path / "d.md") == "text"
    with pytest.raises(FileError, match="missing' cannot be read"):
        detect(tmp_path / "missing")
    with pytest.raises(InvalidInput, match="unknown format 'xml'"):
        import_file(opened(), tmp_path / "b.json", format="xml")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.jsonl", "garbage", "not JSON: it begins with 'garbage'"),
        ("X.JSONL", "\ufeff\n\n  Ann likes trains.\nAnd boats.\n", "not JSON: it begins with 'Ann likes trains.'"),
        ("x.ndjson", "time,text\n2024-05-01,Ann likes trains.\n", "not JSON: it begins with 'time,text'"),
        ("x.jsonl", "\n{garbage\n", "of no known format"),
        ("x.json", '[\n{"some" "no colon"}\n]', "of no known format"),
    ],
)
def test_what_is_named_as_json_is_never_taken_for_text(tmp_path: Path, name: str, content: str, reason: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    memory = opened()
    with pytest.raises(InvalidInput, match=rf"{name}' is {reason}.*name .*jsonl, mem0"):
        import_file(memory, tmp_path / name)
    assert memory.memories() == []
    assert import_file(memory, tmp_path / name, format="text").new > 0


KEYS = st.sampled_from(
    "id type name data content memory metadata created_at run_id mapping current_node parent message author role "
    "observations entityType from to relationType parts content_type tool_calls children title create_time".split()
)
NESTED = st.recursive(
    json_values(max_leaves=2) | st.sampled_from(["human", "ai", "tool", "entity", "relation", "user", "text", "a"]),
    lambda inner: st.dictionaries(KEYS, inner, max_size=5) | st.lists(inner, max_size=2),
    max_leaves=12,
)


@given(st.lists(NESTED, max_size=3))
def test_any_json_is_reported_and_never_a_crash(values: list[Any]) -> None:
    data = as_json(values).getvalue()
    memory = opened()
    for take in (import_mem0, import_langchain, import_chatgpt):
        report = take(memory, io.BytesIO(data))
        assert all(note.number >= 0 for note in report.problems)
        again = take(memory, io.BytesIO(data))
        assert again.new == 0
    assert import_mcp(memory, as_lines(*values)).format == "mcp"


@pytest.mark.parametrize("take", [import_mem0, import_langchain, import_chatgpt])
@pytest.mark.parametrize(
    "bad", [b"[" * 100_000, b'{"memory":NaN}', b'{"memory":"\\ud800"}', b'{"a":' * 2000 + b"1" + b"}" * 2000]
)
def test_bombs_and_broken_json_are_reported(take: Any, bad: bytes) -> None:
    report = take(opened(), io.BytesIO(b"[" + bad + b"]"))
    assert report.new == 0
    assert report.failed == 1


# A document shows every memory once, under its session or day

MAY = datetime(2026, 5, 1, 12, 30, 0, 7, tzinfo=UTC)


def document(memory: Memory, **options: Any) -> str:
    out = io.BytesIO()
    export_markdown(memory, out, **options)
    return out.getvalue().decode()


@pytest.fixture
def memory() -> Memory:
    memory = Memory(open_backend("memory:"), Space("ann"))
    memory.remember("Ann likes trains.", id="trains", time=MAY)
    memory.remember("她喜欢火车。", id="zh", time=MAY, session="trip", metadata={"n": 1})
    memory.remember("A draft.", id="draft", time=MAY)
    memory.update("trains", "Ann likes fast trains.")
    memory.forget("draft")
    return memory


def test_it_is_readable(memory: Memory) -> None:
    assert [line for line in document(memory).split("\n") if not line.startswith("exported")] == [
        "---", "memwell: 1", 'space: ["ann"]', "---", "", "# Memories", "",
        "## 2026-05-01", "", "- Ann likes fast trains.", "",
        '## Session "trip"', "", "- 她喜欢火车。", "",
        "# Forgotten", "", "- A draft.", "",
    ]  # fmt: skip
    assert "A draft" not in document(memory, forgotten=False)


@pytest.mark.parametrize("text", ["two\n# headings", "a\n- bullet", "CRLF\r\n## x\rCR\u2028- y", "code\n\n```\n- x"])
def test_a_text_is_one_bullet_whatever_is_in_it(memory: Memory, text: str) -> None:
    before = MarkdownIt().parse(document(memory))
    memory.remember(text, time=MAY)
    after = MarkdownIt().parse(document(memory))
    for kind, more in (("heading_open", 0), ("list_item_open", 1)):
        levels = [[token.level for token in tokens if token.type == kind] for tokens in (before, after)]
        assert levels[1].count(min(levels[1])) == levels[0].count(min(levels[0])) + more


def test_media_come_in_words_alone_and_it_is_said(memory: Memory) -> None:
    media = MediaMemory(memory)
    media.add(picture("PNG"), description="a cat", features=[1.0, 0.0], session="trip")
    media.add(sound("mp3"), description="a song")
    media.add(kind="video", description="a film that is only described")
    said = "\n> The words of 2 media, without bytes and features: an export that ends in .jsonl holds those too.\n"
    assert said in document(memory)


def test_it_is_no_way_back(memory: Memory, tmp_path: Path) -> None:
    export_markdown(memory, tmp_path / "x.md")
    with pytest.raises(InvalidInput, match=r"import the \.jsonl export"):
        import_file(memory, tmp_path / "x.md")


def test_a_session_of_agentscope_is_named_for_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"agent": {"memory": {"content": [[{"name": "ann", "content": "hi"}, []]]}}}))
    with pytest.raises(InvalidInput, match="JSONSession"):
        detect(path)
    path.write_text(json.dumps([{"memory": "Ann likes tea.", "metadata": {"memory": {}}}]))
    assert detect(path) == "mem0"
