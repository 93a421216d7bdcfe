from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition.definitions import Definition, definitions, is_question, related_words

FOUND = [
    ("Python is a programming language.", "Python", "a programming language"),
    ("A vector store is a database that finds by meaning, and I like it.", "vector store", None),
    ("HTTP stands for Hypertext Transfer Protocol.", "HTTP", "Hypertext Transfer Protocol"),
    ("Retrieval-augmented generation (RAG) is a technique.", "Retrieval-augmented generation", "a technique"),
    ("Whales are the largest animals.", "Whales", "the largest animals"),
    ("Latency means the time one waits.", "Latency", "the time one waits"),
    ("RAG是一种检索增强生成技术，我很喜欢。", "RAG", "一种检索增强生成技术"),
    ("大模型是指参数量很大的语言模型。", "大模型", "参数量很大的语言模型"),
    ("异步编程就是不等待结果而继续执行的编程方式。", "异步编程", "不等待结果而继续执行的编程方式"),
    ("注意力机制（Attention）是让模型关注重点的方法", "注意力机制", "让模型关注重点的方法"),
    ("请注意：所谓的微服务是把系统拆成小服务的架构。", "微服务", None),
    ("番茄是蔬菜", "番茄", "蔬菜"),
    ("苹果是水果。", "苹果", "水果"),
    ("鲸鱼是个哺乳动物。", "鲸鱼", "哺乳动物"),
    ("缓存是：临时存放数据的地方。", "缓存", "临时存放数据的地方"),
    ("停机问题是一个不可判定的问题。", "停机问题", "一个不可判定的问题"),
    ("小说是一种文学体裁。", "小说", "一种文学体裁"),
    ("苯是有机物。", "苯", "有机物"),
]
NOT_FOUND = [
    "The deploy is a mess.",
    "Miso is my cat.",
    "My cat is a tabby.",
    "What is Python?",
    "It is a nice day.",
    "This is a test.",
    "Python is great.",
    "I think Rust is a language",
    "今天是星期三",
    "但是他没来",
    "你是谁",
    "RAG 是什么？",
    "我的猫是一只橘猫",
    "这是一个测试",
    "他是我的老师",
    "如何理解大模型是一种工具",
    "答案是四十二",
    "问题是没有钱",
    "答案是42。",
    "今天的主题是记忆。",
    "猫可能是外星人。",
    "据说龙是神兽。",
    "李雷说龙是一种动物。",
    "听说鲸鱼是一种鱼",
    "明年是龙年。",
    "会议是明天下午。",
    "生活是很美好",
    "Maybe a cat is a demon.",
    "Perhaps whales are a kind of fish.",
    "Bob said a fish is a bird.",
    "Nobody is an island.",
    "Something is a mess.",
    "None is the winner.",
    "Somebody is a thief.",
    "",
    "…",
]


@pytest.mark.parametrize(("text", "concept", "definition"), FOUND)
def test_definitions_are_read(text: str, concept: str, definition: str | None) -> None:
    [one] = definitions(text)
    assert (one.concept, one.denied) == (concept, False)
    assert definition is None or one.definition == definition
    assert "I like" not in one.definition


def test_what_is_personal_particular_or_a_question_is_none() -> None:
    assert {text: found for text in NOT_FOUND if (found := definitions(text))} == {}


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("Whales are not a kind of fish.", "Whales"),
        ("A whale isn't a fish", "whale"),
        ("Python不是一种蛇。", "Python"),
        ("鲸鱼并非一种鱼类", "鲸鱼"),
    ],
)
def test_denials_are_told_apart(text: str, concept: str) -> None:
    [one] = definitions(text)
    assert (one.concept, one.denied) == (concept, True)


def test_several_sentences_give_several() -> None:
    found = definitions("Tea is a drink. 咖啡是一种饮料。What is water?")
    assert found == [Definition("Tea", "a drink"), Definition("咖啡", "一种饮料")]


@given(st.text(alphabet=st.sampled_from(list("是不A a is the。.，, means一种 Python\n?“（(")), max_size=300))
def test_any_text_is_safe_and_what_is_found_stands_in_it(text: str) -> None:
    for one in definitions(text):
        assert one.concept in text
        assert one.definition in text
        assert not is_question(one.definition + "。")


def test_a_long_text_is_read_in_no_time() -> None:
    assert len(definitions("x is " * 50_000)) <= 8
    assert len(definitions("Tea is a drink. " * 5_000)) == 8


def test_related_words_are_those_of_the_definition() -> None:
    words = related_words("Django", "a web framework written in Python")
    assert words
    assert "Django" not in words
    assert any("framework" in word for word in words)
    assert related_words("记忆", "大模型记忆机制是检索增强生成的核心")
