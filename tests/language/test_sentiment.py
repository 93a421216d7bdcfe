from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language import sentiment as sentiment_words
from memwell.language.sentiment import sentiment

GOOD = [
    "I love this, it's amazing!", "not bad", "I can't wait!", "The service was awful but the food was great.",
    "no problem", "not only good but fun", "I like it", "😊👍", "fine :)", "太棒了！", "不是不好", "没有不开心",
    "虽然很累，但是很开心", "我觉得还不错", "这部电影并不无聊", "我用iPhone，it's great",
]  # fmt: skip
BAD = [
    "This is terrible and I hate it.", "not good", "I don't like it", "The food was great but the service was awful.",
    "😢", ":(", "不好", "不是那么好", "好难过", "有点失望", "我不是很喜欢这个", "他说我画得不好，我真的很难过",
    "一点也不好吃", "很开心，但是太累太难过了",
]  # fmt: skip
NEITHER = [
    "", "The meeting is at 3.", "It looks like a house.", "你好", "他有很多爱好", "非常", "http://a.b/c", "我去银行",
    "123",
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_what_speaks_well(text: str) -> None:
    assert 0.0 < sentiment(text) <= 1.0


@pytest.mark.parametrize("text", BAD)
def test_what_speaks_ill(text: str) -> None:
    assert -1.0 <= sentiment(text) < 0.0


@pytest.mark.parametrize("text", NEITHER)
def test_what_speaks_neither_way(text: str) -> None:
    assert sentiment(text) == 0.0


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("good", "very good"), ("good", "good!"), ("slightly good", "good"), ("not good", "not bad"),
        ("very bad", "bad"), ("开心", "非常开心"), ("有点开心", "开心"), ("很难过", "有点难过"), ("不喜欢", "喜欢"),
    ],
)  # fmt: skip
def test_intensifiers_and_negations_move_it(less: str, more: str) -> None:
    assert sentiment(less) < sentiment(more)


@pytest.mark.parametrize("lexicon", [sentiment_words.ENGLISH, sentiment_words.CHINESE])
def test_no_word_is_weighed_twice_with_two_signs(lexicon: dict[float, str]) -> None:
    signs: dict[str, set[bool]] = {}
    for weight, words in lexicon.items():
        for word in words.split():
            signs.setdefault(word, set()).add(weight > 0)
    assert [word for word, found in signs.items() if len(found) > 1] == []


@given(st.text(st.characters()) | st.text("不好很没是但，a! 😊"))
def test_any_text_has_a_sentiment(text: str) -> None:
    assert -1.0 <= sentiment(text) <= 1.0


# In linear time all of them take a second or two; the square of the length would run into the time limit of a test.
QUICK = {"a": 0, "good ": 1, "not ": 0, "上": 0, " ": 0, ":": 0, "😊": 1, "don't ": 0}
WORD_BY_WORD = {"好": 0.5, "不": 0, "很好": 1}


@pytest.mark.parametrize(("units", "length"), [(QUICK, 500_000), (WORD_BY_WORD, 100_000)])
def test_a_long_text_made_to_be_slow_is_read_in_linear_time(units: dict[str, float], length: int) -> None:
    assert {unit: sentiment(unit * (length // len(unit))) for unit in units} == pytest.approx(units)
