"""Questions are told from statements, and coverage is a share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.asking import coverage, is_question, only_asks


@pytest.mark.parametrize(
    "text",
    [
        "What is my cat called?",
        "what is my cat called",
        "我的猫叫什么名字",
        "你好吗？ 今天怎么样？",
        "Tell me about tea.",
        "如何重启服务",
    ],
)
def test_what_only_asks(text: str) -> None:
    assert only_asks(text)
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "When I was in Kyoto I lost my hat.",
        "My hat is red. Do you like it?",
        "我知道为什么失败：磁盘满了",
        "Do not forget the keys.",
        "What a day!",
        "Where I live it rains.",
        "",
    ],
)
def test_what_also_tells_something(text: str) -> None:
    assert not only_asks(text)


def test_only_words_that_ask_make_a_question() -> None:
    assert not is_question("When I was in Kyoto I lost my hat.")
    assert not is_question("Do not forget the keys.")
    assert not is_question("What a day!")
    assert is_question("when is the meeting")


@given(st.text(max_size=60), st.text(max_size=60))
def test_coverage_is_a_share(one: str, other: str) -> None:
    assert 0.0 <= coverage(one, other) <= 1.0
    assert coverage(one, one) in (0.0, pytest.approx(1.0))
