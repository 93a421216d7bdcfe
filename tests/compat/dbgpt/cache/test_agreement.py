"""Texts that may stand for each other, and texts that only look alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.cache.agreement import agree, marks

SAME = [
    ("What is the capital of France?", "What's the capital city of France?"),
    ("What is the capital of France?", "what is the capital of france"),
    ("How do I reset my password?", "How can I reset my password?"),
    ("It is not open", "It isn't open"),
    ("I can't open it", "I cannot open it"),
    ("法国的首都是哪里？", "法国的首都在哪里？"),
    ("怎么重置密码?", "如何重置密码?"),
    ("Anna's flight is on 3 May", "The flight of Anna is on 3 May"),
    ("Ｗｈａｔ is 15？", "What is 15?"),
]
OTHER = [
    ("What is 15 times 23?", "What is 15 times 24?"),
    ("Take two pills", "Take three pills"),
    ("第二章讲什么", "第三章讲什么"),
    ("Turn on the light", "Turn off the light"),
    ("from Anna to Ben", "from Ben to Anna"),
    ("Anna pays Ben", "Ben pays Anna"),
    ("Anna is tall", "Maria is tall"),
    ("the capital of France", "the capital of Spain"),
    ("convert dollars to euros", "convert euros to dollars"),
    ("Is it safe?", "Is it unsafe?"),
    ("a useful tool", "a useless tool"),
    ("Is it visible?", "Is it invisible?"),
    ("The shop is open", "The shop is not open"),
    ("The shop is open", "The shop isn't open"),
    ("Do it with sugar", "Do it without sugar"),
    ("before lunch", "after lunch"),
    ("the news of today", "the news of yesterday"),
    ("When was he born?", "Where was he born?"),
    ("on Monday", "on Tuesday"),
    ("今天", "明天"),
    ("昨天下雨吗", "今天下雨吗"),
    ("我可以去吗", "我不可以去吗"),
    ("他有车", "他没有车"),
    ("楼上的房间", "楼下的房间"),
    ("开灯", "关灯"),
    ("三天前", "三天后"),
    ("小明比小红高", "小红比小明高"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_paraphrase_agrees(one: str, other: str):
    assert agree(marks(one), marks(other))
    assert agree(marks(other), marks(one))


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_question_does_not(one: str, other: str):
    assert not agree(marks(one), marks(other))
    assert not agree(marks(other), marks(one))


@given(st.text(max_size=60), st.text(max_size=60))
def test_it_is_the_same_from_both_sides_and_every_text_agrees_with_itself(one: str, other: str):
    assert agree(marks(one), marks(one))
    assert agree(marks(one), marks(other)) == agree(marks(other), marks(one))


def test_long_texts_take_no_more_than_their_length():
    words = " ".join(f"Word{'x' * (number % 50)}. Anna" for number in range(20_000))
    assert agree(marks(words), marks(words))


def test_a_name_in_pieces_agrees_with_itself():
    assert agree(marks("0A'A"), marks("0A'A"))
