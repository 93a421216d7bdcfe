"""Plain text: paragraphs, lists, chapters, code."""

from __future__ import annotations

from memwell.knowledge.reading.plain import read_plain


def kinds(text: str, media_type: str = "text/plain") -> list[tuple[str, int, str]]:
    parsed = read_plain(text, media_type=media_type)
    return [(block.kind, block.level, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_blank_lines_end_a_paragraph():
    assert kinds("\n one\ntwo \n\n \t\n- a\n- b\n") == [("paragraph", 0, "one\ntwo"), ("list", 0, "- a\n- b")]


def test_chapters_are_headings():
    text = (
        "第一章 总则\n\n第一章的内容很多，见下文，第二章也是。\n\n第二节 范围\n\nChapter 3: Leave\n\nPart of it stays."
    )
    assert [(kind, level) for kind, level, _ in kinds(text)] == [
        ("heading", 2), ("paragraph", 0), ("heading", 3), ("heading", 2), ("paragraph", 0),
    ]  # fmt: skip
    assert read_plain(text).title == "第一章 总则"


def test_code_keeps_its_indentation():
    text = "def f():\n    a = 1\n\n    return a\n"
    assert kinds(text, "text/x-code") == [("code", 0, "def f():\n    a = 1"), ("code", 0, "    return a")]


def test_fifty_megabytes_are_cut_without_being_copied():
    text = ("员工每年有十天年假。" * 150 + "\n\n") * 11_000
    assert len(text.encode()) > 48_000_000
    parsed = read_plain(text)
    assert parsed.text is text
    assert len(parsed.blocks) == 11_000
