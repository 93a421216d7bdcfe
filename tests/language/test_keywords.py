from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.keywords import LOOKED_AT, Keyword, keywords
from memwell.language.words import STOP_WORDS

TEXT = (
    "The support group met on Tuesday. Painting helps Caroline, and Caroline loves painting with the support group. "
    "She painted a horse for Melanie."
)


def words(text: str, limit: int = 10) -> list[str]:
    return [keyword.word for keyword in keywords(text, limit=limit)]


def test_english_words_and_phrases() -> None:
    found = words(TEXT)
    assert {"Caroline", "painting", "support group"} <= set(found)
    assert set(found[:3]) == {"Caroline", "painting", "support group"}
    assert "support" not in found  # it never leaves its phrase
    assert not {"the", "and", "she"} & {word.lower() for word in found}


def test_forms_of_a_word_are_one_keyword() -> None:
    assert keywords("dogs and a dog and the dog's") == [Keyword("dogs", 4.0, 3)]


def test_chinese_words() -> None:
    found = words("我喜欢自行车，妈妈给我买了一辆自行车。动物园里的大象很可爱，我们去动物园看大象。")
    assert set(found[:2]) == {"自行车", "动物园"}
    assert "大象" in found
    assert not STOP_WORDS["zh"] & set(found)


def test_a_function_word_inside_a_word_does_not_cut_it() -> None:
    assert "生日派对" in words("在生日派对上")
    assert words("他的") == []


def test_both_languages_in_one_text() -> None:
    assert {"Python", "代码"} <= set(words("我用Python看代码，Python很好"))


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_limit_holds_and_the_weightiest_come_first(limit: int) -> None:
    found = keywords(TEXT, limit=limit)
    assert len(found) == limit
    assert found == keywords(TEXT, limit=100)[:limit]
    scores = [keyword.score for keyword in keywords(TEXT, limit=100)]
    assert scores == sorted(scores, reverse=True)


@given(st.text(st.characters()) | st.text("我的大象 ab's.-’"))
def test_any_text_has_keywords_or_none(text: str) -> None:
    for keyword in keywords(text):
        assert keyword.word.strip()
        assert keyword.count >= 1
        assert keyword.score > 0


def test_stop_words_are_written_as_they_are_looked_up() -> None:
    assert all(word == word.lower() for word in STOP_WORDS["en"])
    assert "don't" in STOP_WORDS["en"]
    assert "的" in STOP_WORDS["zh"]


# In linear time all of them take a second or two; the square of the length would run into the time limit of a test.
REPEATED = {
    "a": [],
    "word ": ["word word word", "word word", "word"],
    "上": [],
    "大象": ["大象", "大象大象大象大象", "大象大象"],
    "a-": ["a-a-a-a"],
    "a'": ["a'a'a'a"],
    " ": [],
    "x1 ": [],
}


def test_a_long_text_made_to_be_slow_is_read_in_linear_time() -> None:
    assert {unit: words((unit * LOOKED_AT)[:LOOKED_AT]) for unit in REPEATED} == REPEATED


def test_only_the_front_of_a_long_text_is_read() -> None:
    assert words("a " * LOOKED_AT + "elephant") == []
