"""Citations in words, why a passage was found, and documents built block by block."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import UnreadableDocument
from memwell.knowledge.documents import Builder, Citation, Found, one_line, storable
from memwell.longterm.weights import Signal


def cited(**changes: object) -> Citation:
    place = Citation("d1", "/shelf/handbook.pdf", "Handbook", 10, 20, 12, 12, ("Leave", "Parental leave"))
    return msgspec.structs.replace(place, **changes)


def test_a_citation_names_file_page_and_headings():
    assert str(cited()) == "handbook.pdf, p. 12 › Leave › Parental leave"
    assert cited(last_page=14).in_words() == "handbook.pdf, pp. 12–14 › Leave › Parental leave"
    assert cited(source="C:\\书\\手册.pdf", headings=("休假",)).in_words("zh-CN") == "手册.pdf，第 12 页 › 休假"


def test_a_citation_without_pages_or_a_file_still_says_where():
    assert cited(page=None, last_page=None, headings=()).in_words() == "handbook.pdf"
    assert cited(source="", page=None, headings=()).in_words() == "Handbook"
    assert cited(source="", title="", page=None, headings=()).in_words("zh") == "文本"
    assert cited(source="https://example.org/a/", page=None, headings=()).in_words() == "https://example.org/a/"


def test_why_names_the_words_that_were_asked():
    signals = {"words": Signal(0.8, 0.6), "dense": Signal(0.7, 0.4)}
    found = Found("c1", "Parental leave is twelve weeks.", 1.0, cited(), signals, {}, "parental leave")
    assert found.why() == "same words: parental, leave (60 %); same meaning (40 %)"
    assert found.why(1, language="zh") == "用词相同：parental、leave（60%）"
    assert str(found) == found.text


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


def test_the_title_is_the_first_heading_when_nothing_says_it():
    builder = Builder()
    builder.heading("The\nhandbook", 1)
    builder.add("paragraph", "text")
    assert builder.parsed("text/plain").title == "The handbook"
    assert builder.parsed("text/plain", title="Given").title == "Given"
