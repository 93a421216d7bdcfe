"""What is no text is refused by the readers that users call, with its name and the rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.language.dates import time_expressions
from memwell.language.keywords import keywords
from memwell.language.segment import query_terms, segment
from memwell.language.sentiment import sentiment
from memwell.language.words import check_string, en_or_zh, han_share, language_of

READERS: list[Callable[[Any], object]] = [check_string, keywords, query_terms, segment, sentiment]
BAD = [7, None, 1.5, b"text", [], ["text"], object()]


@pytest.mark.parametrize("bad", BAD)
def test_what_is_no_text_is_refused(bad: Any):
    for read in READERS:
        with pytest.raises(InvalidInput, match="must be a string, not"):
            read(bad)


@pytest.mark.parametrize("bad", [None, 1.5, b"text", "2"])
def test_the_other_arguments_have_their_rules_too(bad: Any):
    for call in (lambda: keywords("hello there", limit=bad), lambda: time_expressions("today", now=bad)):
        with pytest.raises(InvalidInput, match="must be"):
            call()


LANGUAGES = {
    "en": ["I went home.", "It’s a café, isn’t it? 😊", "OK", "Hello 世界 and good morning to you", "HTTP 404"],
    "zh": ["我今天很开心。", "我用iPhone拍照片", "好", "香港係我屋企", "他说：“你好！”"],
    "other": [
        "Ich bin nicht der Mann und das ist gut", "東京タワーに行きました", "한국어", "Привет, мир",
        "Je ne sais pas pour vous",
    ],
    "": ["", "123 + 4 = 127!", "😀👍", "——……！？", "\n\t "],
}  # fmt: skip


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in LANGUAGES.items() for text in texts])
def test_languages(language: str, text: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 0.0), ("12!", 0.0), ("abc", 0.0), ("我爱你", 1.0), ("我，你。", 1.0), ("a我", 0.5), ("aaa 我 1", 0.25),
        ("\U0002ebe1", 0.0),
    ],
)  # fmt: skip
def test_the_share_of_han(text: str, share: float) -> None:
    assert han_share(text) == share


@given(st.text(st.characters()))
def test_any_text_has_an_answer(text: str) -> None:
    assert language_of(text) in ("zh", "en", "other", "")
    assert 0.0 <= han_share(text) <= 1.0


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("我住在Shanghai。", "zh"), ("他用Kubernetes和PostgreSQL", "zh"),
        ("My name is 安娜.", "en"), ("I moved to 上海", "en"),
        ("Tokyo Disneylandに行く", "en"), ("Ich wohne in Köln", "en"), ("", "en"),
    ],
)  # fmt: skip
def test_a_chinese_sentence_with_a_foreign_name_is_chinese(text: str, language: str):
    assert en_or_zh(text) == language
