"""What a question asks for, and which sentences have it."""

from __future__ import annotations

import pytest
from hypothesis import given as over
from hypothesis import strategies as st

from memwell.knowledge.asking import given, leans, points, wanted


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Who services the boiler, and what is the phone number?", {"person", "phone"}),
        ("When does the gate open?", {"time"}),
        ("Where do I buy ink?", {"place"}),
        ("How many books can I borrow?", {"number"}),
        ("It says E4, what should I do?", {"advice"}),
        ("Which colour is it?", set[str]()),
        ("谁检修锅炉，电话是多少？", {"person", "phone", "number"}),
        ("玫瑰什么时候修剪？", {"time"}),
        ("墨水在哪里买？", {"place"}),
        ("屏幕显示F3怎么办？", {"advice"}),
        ("什么是检索？", set[str]()),
    ],
)
def test_the_words_of_a_question_say_what_it_asks_for(question: str, kinds: set[str]):
    assert wanted(question) == kinds


@pytest.mark.parametrize(
    ("kind", "has", "has_not"),
    [
        ("person", "The engineer is Mrs Okafor.", "The boiler was serviced."),
        ("person", "检修由王建国负责。", "锅炉检修过。"),
        ("time", "It opens at 7:40.", "It opens slowly."),
        ("time", "会议在三月举行。", "会议很长。"),
        ("place", "It stands near the station.", "It stands still."),
        ("number", "It rests on seven pillars.", "It rests on pillars."),
        ("number", "保留九十天。", "保留很久。"),
        ("phone", "Call 5550 171.", "It took 15 of 28 days in 1998."),
        ("phone", "电话 010-5558812", "费用 3,000 元"),
    ],
)
def test_a_text_has_it_or_not(kind: str, has: str, has_not: str):
    assert given(has, frozenset((kind, "advice"))) == {kind}
    assert given(has_not, frozenset((kind,))) == set()


@over(st.text(max_size=60), st.text(max_size=60))
def test_nothing_is_given_that_was_not_asked_for(question: str, text: str):
    assert given(text, wanted(question)) <= wanted(question)
    assert leans(question) >= points(question)


@pytest.mark.parametrize("question", ["And what is her number?", "How long is it?", "那它多少钱？", "他的电话是多少？"])
def test_a_question_may_point_at_what_was_said(question: str):
    assert leans(question)
    assert points(question)


@pytest.mark.parametrize(
    ("question", "expected"), [("What about films?", True), ("那股票呢？", True), ("Who built Rome?", False)]
)
def test_a_question_may_lean_on_it_without_pointing(question: str, expected: bool):
    assert leans(question) is expected
    assert not points(question)
