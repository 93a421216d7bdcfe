from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.chinese_words import ACTION, HEAD, LATIN, NAME, NOUN, VERBAL, words_of

LAZY = (
    "import sys, memwell, memwell.language.keywords as k; k.keywords('plain English'); print('rjieba' in sys.modules)"
)


def does(text: str) -> dict[str, str]:
    return {word.text: word.does for word in words_of(text)}


@given(st.text(max_size=80) | st.text("大模型长文本的率表 Python/,。😀 ", max_size=40))
def test_the_words_joined_are_the_text(text: str) -> None:
    assert "".join(word.text for word in words_of(text)) == text


@pytest.mark.parametrize(
    "term", ["大模型", "机器学习", "检索增强生成", "召回率", "快递员", "长文本", "大语言模型", "相似度"]
)
def test_a_term_is_one_word(term: str) -> None:
    assert term in does(f"我想了解{term}，谢谢")


def test_an_adjective_after_a_word_of_degree_stays_alone() -> None:
    assert "高成绩" not in does("个子很高成绩好")
    assert "高成绩" in does("要高成绩")


@pytest.mark.parametrize(
    ("text", "word", "what"),
    [
        ("知识很重要", "知识", NOUN), ("一种算法", "算法", HEAD), ("在学习", "学习", VERBAL),
        ("张伟在北京", "张伟", NAME), ("我生病了", "生病", ACTION), ("用Docker", "Docker", LATIN),
    ],
)  # fmt: skip
def test_what_a_word_does(text: str, word: str, what: str) -> None:
    assert does(text)[word] == what


def test_the_dictionary_is_loaded_for_chinese_only() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
