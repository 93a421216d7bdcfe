"""Only what is nothing but courtesy is small talk; a fact behind a greeting or a yes is a fact."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.language.small_talk import is_small_talk

COURTESIES = [
    "Hi!", "Hello there", "Thanks a lot!", "Hi Anna!", "Hello, Anna Smith!", "Thank you so much, Ben.", "OK, thanks!",
    "Yes.", "No!", "no", "No thanks.", "Okay, great!", "Sounds good, thank you.", "You're welcome.", "How can I help?",
    "Hello Anna, nice to meet you!", "Great.", "How are you?", "Bye, see you later!", "Yes, of course.", "Good night, Tom",
    "好的，谢谢！", "好的。", "你好！", "您好，李雷！", "谢谢你。", "谢谢王老师！", "嗯嗯", "是的，没问题。", "知道了",
    "晚安，小明", "你好啊", "```", "...", "👍", "",
]  # fmt: skip
FACTS = [
    "No, I'm vegan.", "No, on Friday at 8.", "Yes, cancel it.", "Hi, I'm Anna.", "Hello, I am Anna!",
    "Sure, it costs $900.",
    "Yes, Anna.", "No, Paris.", "Thanks, Friday.", "See you Friday.", "Hi, Berlin", "Ok, 8", "No nuts.", "Yes, twice.",
    "Thanks for the book.", "Great Dane.", "Hi, Anna here.", "Nice is in France.", "Noted: 42.", "Cool it down.",
    "好的，我叫李雷。", "你好，我是李雷。", "是的，我晕车。", "好的，周五。", "谢谢，周五见", "不，王老师。",
    "嗯，三个",
    "好吃", "不吃辣",
    "没问题，明天八点", "是李雷。", "你好，黄色", "x = 1", "Oslo", "是的，对花生过敏", "对花生过敏",
]  # fmt: skip


def test_courtesy_alone_is_small_talk():
    assert [sentence for sentence in COURTESIES if not is_small_talk(sentence)] == []


def test_what_says_something_is_not():
    assert [sentence for sentence in FACTS if is_small_talk(sentence)] == []


@given(
    opening=st.sampled_from(("Hi", "Hello", "Ok", "Yes", "No", "Thanks", "Sure", "好的", "你好", "是的", "谢谢", "嗯")),
    mark=st.sampled_from((", ", "，", "! ", " - ")),
    fact=st.sampled_from(
        ("I'm vegan.", "on Friday", "cancel it", "8 pm", "Anna left", "我叫李雷", "我晕车。", "周五", "三点")
    ),
)
def test_a_fact_behind_a_courtesy_is_kept(opening: str, mark: str, fact: str):
    assert not is_small_talk(f"{opening}{mark}{fact}")


@given(words=st.lists(st.sampled_from([one for one in COURTESIES if len(one) < 12]), min_size=1, max_size=4))
def test_courtesies_in_a_row_are_small_talk(words: list[str]):
    assert is_small_talk(" ".join(words))


def test_a_sentence_is_a_text():
    with pytest.raises(InvalidInput, match="must be a string"):
        is_small_talk(None)  # pyright: ignore[reportArgumentType]
