"""Plain text: paragraphs, lists, chapters, code."""

from __future__ import annotations

import pytest

from memwell.knowledge.documents import Parsed
from memwell.knowledge.reading.plain import read_markdown, read_plain


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


# Markdown: its blocks, its front matter, and nothing taken for what it is not.


PAGE = """---
title: "The handbook"
tags: [leave, 休假]
authors:
  - Ada
  - Bob
---
# Leave *and* [pay](https://example.org) ##

One line
and another.
- an item
- two

  with more

| a | b |
|---|:-:|
| 1 | 2 |

```sh
# no heading

- no item
```

Old style
=========

***
    indented code
"""


def markdown_kinds(parsed: Parsed) -> list[tuple[str, int, str]]:
    return [(block.kind, block.level, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_a_page_with_everything():
    parsed = read_markdown(PAGE)
    assert markdown_kinds(parsed) == [
        ("heading", 1, "Leave and pay"), ("paragraph", 0, "One line\nand another."),
        ("list", 0, "- an item\n- two\n\n  with more"), ("table", 0, "| a | b |\n|---|:-:|\n| 1 | 2 |"),
        ("code", 0, "```sh\n# no heading\n\n- no item\n```"), ("heading", 1, "Old style"),
        ("code", 0, "    indented code"),
    ]  # fmt: skip
    assert parsed.title == "The handbook"
    assert parsed.metadata == {"tags": ["leave", "休假"], "authors": ["Ada", "Bob"]}


def test_a_rule_at_the_top_is_no_front_matter():
    parsed = read_markdown("---\nnothing with a colon\n---\ntext")
    assert parsed.metadata == {}
    assert "nothing with a colon" in parsed.text


def test_comments_go_but_not_out_of_code():
    assert read_markdown("a <!-- secret --> b").text == "a  b"
    assert "<!-- kept -->" in read_markdown("```\n<!-- kept -->\n```").text
    assert read_markdown("a <!-- never closed").text == "a <!-- never closed"


@pytest.mark.parametrize(
    "piece", ["<!--", "# " + " " * 50_000 + "b", "[", "[a](", "- ", "|-", " \t", "a|\n-  ", "```\n", "#"]
)
def test_no_text_takes_forever(piece: str):
    text = "x\n# " + piece * (1 if len(piece) > 100 else 20_000) + "x\n"
    assert read_markdown(text).blocks
