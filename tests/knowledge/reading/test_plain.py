"""Plain text: paragraphs, lists, chapters, code."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Parsed
from memwell.knowledge.reading.plain import read_json, read_json_lines, read_markdown, read_plain, read_table


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


def lines(parsed: Parsed) -> list[str]:
    assert {block.kind for block in parsed.blocks} == {"row"}
    return [parsed.text[block.start : block.end] for block in parsed.blocks]


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_a_row_is_understood_alone(sign: str):
    text = (
        sign.join(["name", "age", "city"])
        + "\n"
        + sign.join(["Ada", "36", '"New\nYork"'])
        + "\n"
        + sign.join(["李雷", "", "北京"])
    )
    parsed = read_table(text)
    assert lines(parsed) == ["name: Ada; age: 36; city: New York", "name: 李雷; city: 北京"]
    assert parsed.metadata == {"columns": ["name", "age", "city"]}


def test_a_first_row_like_the_others_is_no_header():
    assert lines(read_table("red,apple\nred,cherry\n")) == ["red; apple", "red; cherry"]
    assert lines(read_table("1,2\n3,4\n")) == ["1; 2", "3; 4"]
    assert lines(read_table("a,b\n")) == ["a; b"]


def test_a_line_that_names_the_sign_is_obeyed():
    assert lines(read_table("sep=^\nname^age\nAda^3,6\n")) == ["name: Ada; age: 3,6"]


def test_quotes_that_do_not_close_lose_nothing():
    text = 'name,size\n"A,1\n' + "B,2\n" * 50_000
    parsed = read_table(text)
    assert len(parsed.blocks) == 50_001
    assert "do not close" in parsed.warnings[0]


def test_a_field_beyond_all_measure_is_refused():
    with pytest.raises(UnreadableDocument, match="no table"):
        read_table("a,b\n" + "x" * 200_000 + ",1\n")


@given(st.lists(st.lists(st.text(alphabet='ab1 ",;\n中', max_size=6), min_size=2, max_size=3), min_size=1, max_size=6))
def test_every_value_comes_out(rows: list[list[str]]):
    packed = io.StringIO()
    csv.writer(packed).writerows(rows)
    if not any(cell.strip() for row in rows for cell in row):
        with pytest.raises(UnreadableDocument):
            read_table(packed.getvalue())
        return
    parsed = read_table(packed.getvalue())
    squeezed = "".join((parsed.text + "".join(parsed.metadata.get("columns", ()))).split())
    for cell in (cell for row in rows for cell in row):
        assert all(word in squeezed for word in cell.replace('"', " ").replace(";", " ").replace(",", " ").split())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def blocks_of(parsed: Parsed) -> list[tuple[str, str]]:
    return [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_objects_are_rows_and_parts_have_headings():
    value = {
        "title": "Staff",
        "open": True,
        "people": [{"firstName": "Ada", "home": {"city": "Lyon"}}, {"first_name": "李雷"}],
    }
    parsed = read_json(json.dumps(value))
    assert parsed.title == "Staff"
    assert blocks_of(parsed) == [
        ("row", "title: Staff; open: yes"),
        ("heading", "people"),
        ("row", "first name: Ada; home city: Lyon"),
        ("row", "first name: 李雷"),
    ]


def test_bad_lines_are_counted_and_the_others_kept():
    parsed = read_json_lines('{"a": 1}\n\nnonsense\n{"a": [1, 2]}\n')
    assert blocks_of(parsed) == [("row", "a: 1"), ("row", "a: 1, 2")]
    assert parsed.warnings == ("1 lines are no JSON and were left out, the first is line 3",)
    with pytest.raises(UnreadableDocument, match="line 2"):
        read_json_lines('{"a": 1}\nx\ny\n')


@pytest.mark.parametrize("deep", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 500 + "1" + "}" * 500])
def test_depth_is_refused(deep: str):
    with pytest.raises(UnreadableDocument, match="deep"):
        read_json(deep)


def test_what_python_writes_is_read():
    assert read_json('{"a": NaN, "b": 1' + "0" * 5000 + "}").text.startswith("a: nan; b: 1000")


@given(VALUES)
def test_any_value_is_read_or_has_no_text(value: object):
    try:
        outcome = "read" if read_json(json.dumps(value)).blocks else "nothing"
    except UnreadableDocument as refused:
        outcome = refused.reason
    assert outcome in {"read", "no-text"}
