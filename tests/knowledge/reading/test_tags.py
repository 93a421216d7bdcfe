"""HTML in tags and texts, whatever is wrong with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.knowledge.reading.tags import Tag, tags_and_texts, unescaped

N = 20_000


def told(page: str) -> list[str]:
    return [token if isinstance(token, str) else f"<{'/' * token.end}{token.name}>" for token in tags_and_texts(page)]


def test_tags_texts_and_what_is_neither():
    page = "a<!-- <b> --><P Class='x > y'>5 < 6 &amp; 7</p ><?php x ?><!doctype html><br/>"
    assert told(page) == ["a", "<p>", "5 ", "<", " 6 & 7", "</p>", "<br>"]


def test_scripts_are_no_markup():
    assert told("<script>if (a<b) '<p>'</script>x<title>a<b</title>") == [
        "<script>",
        "</script>",
        "x",
        "<title>",
        "a<b",
        "</title>",
    ]
    assert told("<style>never closed <p>") == ["<style>"]


def test_attributes_are_read_when_asked_for():
    (tag,) = (
        token for token in tags_and_texts("<a HREF=x title='a>b' hidden data-x=\"&lt;\">") if isinstance(token, Tag)
    )
    assert tag.attributes == {"href": "x", "title": "a>b", "hidden": "", "data-x": "<"}


@given(st.text(alphabet="<>/!-=\"' ab&#;x1", max_size=60))
def test_texts_come_in_order_and_nothing_is_made_up(page: str):
    at = 0
    for token in tags_and_texts(page):
        if isinstance(token, str) and "&" not in token and "&" not in page:
            at = page.index(token, at) + len(token)
    assert at <= len(page)


@pytest.mark.parametrize(
    "page",
    [
        "<a " * N, "<" * N, "<!" * N, "<!--" * N, "<a b=\"x' " * N, "<a b='\">" * N, "<title>" * N, "<script>a</script" * N,
        "</" * N, '<a b="' * N + ">",
    ],
)  # fmt: skip
def test_broken_pages_take_no_longer_than_whole_ones(page: str):
    assert len(list(tags_and_texts(page))) <= len(page)


def test_references_of_any_length():
    assert unescaped("&#" + "9" * 10_000 + ";&#x4e2d;&lt;") == "\ufffd中<"
