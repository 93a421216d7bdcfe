"""A document shows every memory once, under its session or day."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from memwell.errors import InvalidInput
from memwell.longterm.media import MediaMemory
from memwell.longterm.memory import Memory
from memwell.records import Space
from memwell.runtime.transfer import export_markdown, import_file
from memwell.storage import open_backend
from tests.media_files import picture, sound

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
