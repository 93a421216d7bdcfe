"""Cues: found by words, they are what the patterns that describe them would find."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.segment import ascii_words
from memwell.longterm.cues import asks, kinds_of, tells

QUESTION = re.compile(r"[?？]|[吗呢么][。!！~\s]*\Z")
TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|recently|lately|weekends?|"
    r"(?:last|next|this|past|coming|every|previous|few|couple of) "
    r"(?:night|morning|afternoon|evening|days?|weeks?|weekend|months?|years?|summer|winter|spring|fall|autumn|"
    r"mon|tues|wednes|thurs|fri|satur|sun)|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|since|"
    r"january|february|march|april|june|july|august|september|october|november|december|(?:19|20)\d\d)\b"
    r"|昨[天晚日]|今[天晚早年]|明[天晚年]|前天|后天|去年|前年|刚才|最近|[上下这本][个]?(?:周|星期|礼拜|月|学期)|周[一二三四五六日末]|"
    r"星期[一二三四五六日天]|[\d一二三四五六七八九十两]+[个]?(?:天|周|月|年|小时)[之以]?[前后]|\d+月|\d{4}年",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|once|twice|couple|dozen)\b"
    r"|[二三四五六七八九十两百千][个只次天年本名位条张件]",
    re.IGNORECASE,
)
PARTS = [
    *"last LAST week weeks night day today Today's todays yesterday 2023 19 20 mon monday couple few days since".split(),
    *"every this blast ſince ınit İ 20٢٣ ٣ ① ² two tWo dozen x é 昨天 今 今年 年 3 这个 月 前 两个 三 周 末 吗 呢".split(),
    *"。 ？ ? _ ' ’ . - ™ ! of".split(),
    *("couple of", "\u00ad", "\u00a0", "\n", "\t", "  ", "wee\u212a"),
]


@given(st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(["", " ", "'"])), max_size=7))
def test_they_are_what_the_patterns_find(parts: list[tuple[str, str]]) -> None:
    text = "".join(part + between for part, between in parts)
    found = (asks(text), *tells(text, kinds_of(ascii_words(text)) if text.isascii() else 0))
    assert found == tuple(pattern.search(text) is not None for pattern in (QUESTION, TIME, NUMBER))


@pytest.mark.parametrize(
    ("text", "time", "number"),
    [
        ("We met last night.", True, False),
        ("The last of the nights", False, False),
        ("blast week", False, False),
        ("in 1999", True, True),
        ("a dozen eggs", False, True),
        ("snake_today_case", False, False),
        ("上个星期去了", True, False),
        ("买了三本书", False, True),
        ("“twice” — since then", True, True),
    ],
)
def test_times_and_numbers_are_told(text: str, time: bool, number: bool) -> None:
    assert tells(text, kinds_of(ascii_words(text))) == (time, number)
