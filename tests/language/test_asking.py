"""Questions are told from statements, and coverage is a share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.asking import asked_of, coverage, is_question, only_asks, separate_questions


@pytest.mark.parametrize(
    "text",
    [
        "What is my cat called?", "what is my cat called", "我的猫叫什么名字", "你好吗？ 今天怎么样？",
        "Tell me about tea.", "如何重启服务", "when is the meeting",
    ],
)  # fmt: skip
def test_what_only_asks(text: str) -> None:
    assert only_asks(text)
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "When I was in Kyoto I lost my hat.", "My hat is red. Do you like it?", "我知道为什么失败：磁盘满了",
        "Do not forget the keys.", "What a day!", "Where I live it rains.", "",
    ],
)  # fmt: skip
def test_what_also_tells_something(text: str) -> None:
    assert not only_asks(text)
    assert is_question(text) == text.startswith(("My hat", "我知道", "Where"))


@given(st.text(max_size=60), st.text(max_size=60))
def test_coverage_is_a_share(one: str, other: str) -> None:
    assert 0.0 <= coverage(one, other) <= 1.0
    assert coverage(one, one) in (0.0, pytest.approx(1.0))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Where do I live, and what is my cat called?", ("Where do I live", "what is my cat called?")),
        ("Where do I live? What is my cat called?", ("Where do I live?", "What is my cat called?")),
        (
            "What should I cook when my sister visits, and who repairs the heating if it fails?",
            ("What should I cook when my sister visits", "who repairs the heating if it fails?"),
        ),
        ("我住在哪里，我的猫叫什么？", ("我住在哪里", "我的猫叫什么？")),
        ("我住哪里？我的猫叫什么？", ("我住哪里？", "我的猫叫什么？")),
    ],
)
def test_several_questions_are_told_apart(text: str, parts: tuple[str, ...]):
    assert separate_questions(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?", "Where and when did we meet?", "Where did Anna go and when did she come back?",
        "I like tea and what it does. I also like coffee.", "Salt and pepper", "谁和什么时候", "你好，我住在哪里？",
        "",
    ],
)  # fmt: skip
def test_one_question_stays_one(text: str):
    assert separate_questions(text) == (text,)


@pytest.mark.parametrize(
    ("query", "whom"),
    [
        ("What colour is my car?", ""), ("我的车在哪？", ""), ("What is my mother-in-law's name?", "mother-in-law"),
        ("What colour is my boss’s car?", "boss"), ("我哥的车", "older brother"), ("Where does my sister live?", "sister"),
        ("What is the capital?", None),
        ("Where is my boss?", None), ("Who is my sister?", None), ("我哥和我妈住在哪里？", None),
    ],
)  # fmt: skip
def test_whom_a_question_is_about(query: str, whom: str | None):
    assert asked_of(query) == whom


@pytest.mark.parametrize("word", ["mum", "mother-in-law", "kids", "significant other"])
def test_relatives_are_found_with_any_ending(word: str):
    whole = asked_of(f"Where is my {word}'s car, 你说?")
    assert [asked_of(f"Where is my {word}{end} car?") for end in ("'s", "'S")] == [whole, whole]
    assert asked_of(f"What if my {word}'d come by car?") is not None
    assert asked_of(f"Who is my {word}'s doctor?") is None
