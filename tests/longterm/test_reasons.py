"""The reasons for a hit in words: the weightiest, nothing that every hit has, in both languages."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.longterm.reasons import LEAST_PART, in_words, reasons, shared_words
from memwell.longterm.weights import SIGNALS, Signal

SIGNAL = st.builds(Signal, st.floats(-1, 1), st.floats(-0.2, 0.2))
HITS = st.dictionaries(st.sampled_from([*SIGNALS, "reranker"]), SIGNAL)


def line(signals: dict[str, Signal], language: str = "en", **options: str) -> str:
    given = {"text": "I drink milk.", "speaker": "Alice", "session": "talk", "query": "who drinks milk?", **options}
    return in_words(signals, language=language, most=4, **given)


@given(HITS, st.booleans())
def test_parts_are_of_the_whole_and_none_is_small(signals: dict[str, Signal], neighbours: bool):
    found = reasons(signals, neighbours=neighbours)
    assert all(LEAST_PART <= part <= 1.0 + 1e-9 for part in found.values())
    assert sum(found.values()) <= 1.0 + 1e-9 or any(signal.share < 0 for signal in signals.values())
    assert list(found.values()) == sorted(found.values(), reverse=True)


@given(HITS, st.sampled_from(["", "talk"]), st.sampled_from(["", "Alice"]))
def test_it_is_one_short_line_without_names_of_signals(signals: dict[str, Signal], session: str, speaker: str):
    for language in ("en", "zh"):
        told = line(signals, language, session=session, speaker=speaker)
        assert told
        assert "\n" not in told
        assert "_" not in told
        assert "{" not in told
        assert told.count("%") <= 4
        assert bool(re.search("[\u4e00-\u9fff]", told)) == (language == "zh")


def test_signals_that_say_the_same_are_one_reason():
    signals = {
        "dense": Signal(0.8, 0.1),
        "dense_best": Signal(1.0, 0.3),
        "words": Signal(1.0, 0.2),
        "coverage": Signal(0.5, 0.1),
        "time": Signal(0.9, 0.15),
        "speaker": Signal(1.0, 0.1),
        "length": Signal(0.3, 0.05),
    }
    assert line(signals) == (
        "same meaning (40 %); same words: drinks, milk (30 %); said around the asked time (15 %); spoken by Alice (10 %)"
    )
    chinese = {"text": "我每天喝牛奶", "query": "谁喝牛奶", "speaker": "小明"}
    assert line(signals, "zh", **chinese) == (
        "意思相同（40%）；用词相同：喝牛奶（30%）；时间与所问相近（15%）；由小明说的（10%）"
    )


@pytest.mark.parametrize(
    "signals",
    [
        {"peak": Signal(0.5, -0.04)},
        {"role": Signal(0.0, 0.03)},
        {"importance": Signal(0.5, 0.03)},
        {"length": Signal(0.3, 0.1), "opens": Signal(1.0, 0.03)},
        {"time": Signal(0.1, 0.02), "length": Signal(0.3, 1.0)},
        {},
    ],
)
def test_what_every_hit_has_is_no_reason(signals: dict[str, Signal]):
    assert line(signals) == "nothing better was found"
    assert line(signals, "zh") == "没有更合适的"


def test_what_somebody_called_important_is_a_reason():
    assert line({"importance": Signal(0.9, 0.054)}) == "important (100 %)"


def test_without_a_conversation_there_are_no_neighbours():
    signals = {"session": Signal(1.0, 0.1), "dense_session": Signal(1.0, 0.1), "dense": Signal(0.2, 0.05)}
    assert line(signals, session="") == "related meaning (60 %); same words: drinks, milk (40 %)"
    assert line(signals) == "from a conversation about it (80 %); related meaning (20 %)"


@pytest.mark.parametrize(
    ("query", "text", "shared"),
    [
        ("What does Ann drink, milk or tea?", "ann drinks milk", ["Ann", "drink", "milk"]),
        ("what is it?", "it is what it is", []),
        ("京都的火车票多少钱", "我买了去京都的火车票", ["京都的火车票"]),
        ("喜欢猫", "狗", []),
        ("我的iPhone在哪", "iphone 放在桌上", ["iPhone"]),
        ("", "anything", []),
        ("milk tea rice fish bread", "bread fish rice tea milk", ["milk", "tea", "rice", "fish"]),
    ],
)
def test_the_words_are_those_of_the_query(query: str, text: str, shared: list[str]):
    assert shared_words(query, text) == shared


SAID_BY_ALICE = {
    "words": Signal(1.0, 0.3),
    "coverage": Signal(1.0, 0.1),
    "dense": Signal(0.8, 0.4),
    "speaker": Signal(1.0, 0.2),
}


def test_a_name_that_is_the_speakers_is_no_same_word():
    assert line(SAID_BY_ALICE, query="What about Alice?") == "spoken by Alice (60 %); same meaning (40 %)"
    assert line(SAID_BY_ALICE, query="", asked="What about Alice?") == "spoken by Alice (60 %); same meaning (40 %)"
    assert line(SAID_BY_ALICE, "zh", query="小明呢？", speaker="小明") == "由小明说的（60%）；意思相同（40%）"
    both = line(SAID_BY_ALICE, query="Does Alice drink milk?")
    assert "same words: drink, milk (40 %)" in both
    assert "spoken by Alice (20 %)" in both


@pytest.mark.parametrize(
    ("uses", "english", "chinese"), [(1, "recalled before", "曾被回忆"), (3, "often recalled", "常被回忆")]
)
def test_once_is_not_often(uses: int, english: str, chinese: str):
    signals = {"uses": Signal(1.0 - 1.0 / (1.0 + uses), 0.1)}
    assert line(signals) == f"{english} (100 %)"
    assert line(signals, "zh") == f"{chinese}（100%）"


def test_only_languages_that_are_spoken():
    for language in ("fr", "", "english", 5):
        with pytest.raises(InvalidInput, match="en and zh"):
            line({}, language)  # pyright: ignore[reportArgumentType]
    assert line({}, "zh-CN") == line({}, "zh")
