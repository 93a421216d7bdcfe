"""JSON in words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Parsed
from memwell.knowledge.reading.data import read_json, read_json_lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def kinds(parsed: Parsed) -> list[tuple[str, str]]:
    return [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_objects_are_rows_and_parts_have_headings():
    value = {
        "title": "Staff",
        "open": True,
        "people": [{"firstName": "Ada", "home": {"city": "Lyon"}}, {"first_name": "李雷"}],
    }
    parsed = read_json(json.dumps(value))
    assert parsed.title == "Staff"
    assert kinds(parsed) == [
        ("row", "title: Staff; open: yes"),
        ("heading", "people"),
        ("row", "first name: Ada; home city: Lyon"),
        ("row", "first name: 李雷"),
    ]


def test_bad_lines_are_counted_and_the_others_kept():
    parsed = read_json_lines('{"a": 1}\n\nnonsense\n{"a": [1, 2]}\n')
    assert kinds(parsed) == [("row", "a: 1"), ("row", "a: 1, 2")]
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
