"""What is put together block by block has right spans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import UnreadableDocument
from memwell.knowledge.reading.building import Builder, one_line, storable


@given(st.lists(st.text(alphabet=st.characters(), max_size=20), min_size=1, max_size=8))
def test_each_block_is_where_it_says(texts: list[str]):
    builder = Builder()
    for text in texts:
        builder.add("paragraph", text)
    wanted = [storable(text).strip() for text in texts if storable(text).strip()]
    if not wanted:
        with pytest.raises(UnreadableDocument):
            builder.parsed("text/plain")
        return
    parsed = builder.parsed("text/plain")
    assert [parsed.text[block.start : block.end] for block in parsed.blocks] == wanted


def test_chinese_lines_are_joined_without_a_space():
    assert one_line("中文\n  中文 and\nwords，\n好") == "中文中文 and words，好"


def test_what_no_store_keeps_goes():
    assert storable("a\x00b\ud800c") == "ab\ufffdc"


def test_the_title_is_the_first_heading_when_nothing_says_it():
    builder = Builder()
    builder.heading("The\nhandbook", 1)
    builder.add("paragraph", "text")
    assert builder.parsed("text/plain").title == "The handbook"
    assert builder.parsed("text/plain", title="Given").title == "Given"
