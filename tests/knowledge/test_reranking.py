"""The feature reranker: what a passage has of the question lifts it, and the order it came in is not thrown away."""

from __future__ import annotations

import asyncio
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.errors import InvalidInput
from memwell.knowledge.reranking import WEIGHTS, FeatureReranker

PURE = FeatureReranker(order=0)
WORDS = st.sampled_from("parental leave is twelve weeks at full pay the a 记忆 机制 大模型 的 是 什么 . \n".split(" "))
TEXTS = st.lists(st.lists(WORDS, max_size=12).map(" ".join), max_size=6)


def best(query: str, texts: list[str], reranker: FeatureReranker = PURE) -> str:
    scores = reranker.scores(query, texts)
    return texts[scores.index(max(scores))]


def test_the_text_with_more_of_the_words_is_better():
    texts = ["The leave of absence is short.", "Parental leave is twelve weeks.", "Lunch is at noon."]
    assert best("How long is parental leave?", texts) == texts[1]


def test_a_rare_word_tells_more_than_one_that_all_have():
    texts = ["the leave notes", "the leave forms", "the sabbatical notes", "the leave policy"]
    assert best("leave sabbatical", texts) == texts[2]
    first, _, third, _ = PURE.features("leave sabbatical", texts)
    assert third.coverage > 0.5 > first.coverage


def test_the_words_in_their_order_are_better_than_apart():
    together = "He asked for the annual leave report yesterday, and got it."
    apart = "The report was annual, he asked, and then they had to leave it."
    features = PURE.features("annual leave report", [apart, together])
    assert features[0].coverage == features[1].coverage == 1.0
    assert features[1].phrase == 1.0 > features[0].phrase
    assert features[1].proximity == 1.0 > features[0].proximity


def test_the_heading_counts():
    texts = ["Expenses\nIt takes twelve weeks.", "Parental leave\nIt takes twelve weeks."]
    plain, headed = PURE.features("parental leave", texts)
    assert (plain.heading, headed.heading) == (0.0, 1.0)
    assert best("parental leave", texts) == texts[1]


def test_a_sentence_is_no_heading():
    assert PURE.features("parental leave", ["Parental leave is long."])[0].heading == 0.0
    assert PURE.features("parental leave", ["Parental leave is long.\nMore."])[0].heading == 0.0


def test_chinese_is_read_without_spaces_and_question_words_do_not_count():
    texts = ["是什么是什么是什么", "大模型的记忆机制分为短期与长期。", "记忆力训练"]
    assert best("大模型的记忆机制是什么？", texts) == texts[1]
    assert PURE.features("大模型的记忆机制是什么？", texts)[1].coverage == 1.0


def test_mixed_text_keeps_its_order():
    near, far = "记忆 memory 机制", "记忆 " + "x " * 30 + "memory " + "y " * 30 + "机制"
    one, other = PURE.features("记忆 memory", [near, far])
    assert one.proximity > other.proximity


def test_the_order_decides_between_equals():
    reranker = FeatureReranker()
    scores = reranker.scores("leave", ["leave", "leave", "leave"])
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3
    assert reranker.scores("", ["a", "b"]) == sorted(reranker.scores("", ["a", "b"]), reverse=True)


def test_without_the_order_equals_are_equal():
    assert len(set(PURE.scores("leave", ["leave", "leave"]))) == 1


@given(st.lists(WORDS, max_size=8).map(" ".join), TEXTS)
def test_scores_are_shares_one_for_each_text(query: str, texts: list[str]):
    scores = FeatureReranker().scores(query, texts)
    assert len(scores) == len(texts)
    assert all(0.0 <= score <= 1.0 + 1e-9 for score in scores)
    for features in PURE.features(query, texts):
        assert all(0.0 <= value <= 1.0 + 1e-9 for value in features)
        assert features.coverage >= features.heading - 1e-9


@given(st.lists(WORDS, max_size=8).map(" ".join), TEXTS)
def test_without_the_order_a_text_is_judged_the_same_wherever_it_stands(query: str, texts: list[str]):
    forward = PURE.scores(query, texts)
    backward = PURE.scores(query, texts[::-1])[::-1]
    assert all(math.isclose(one, other) for one, other in zip(forward, backward, strict=True))


def test_the_async_twin_says_the_same():
    texts = ["parental leave", "lunch"]
    assert asyncio.run(PURE.ascores("leave", texts)) == PURE.scores("leave", texts)


def test_weights_can_be_set_and_bad_ones_are_refused():
    only_heading = FeatureReranker(coverage=0, phrase=0, proximity=0, order=0)
    assert only_heading.scores("leave", ["leave\ntext", "text\nleave it."]) == [1.0, 0.0]
    for bad in ({"colour": 1.0}, {"order": -1}, {"order": math.nan}, {"order": True}, {"order": "1"}):
        with pytest.raises(InvalidInput):
            FeatureReranker(**bad)  # pyright: ignore[reportArgumentType]
    assert set(WEIGHTS) == {"coverage", "phrase", "proximity", "heading", "order"}


def test_bad_texts_are_refused():
    with pytest.raises(InvalidInput):
        PURE.scores(3, [])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput):
        PURE.scores("a", "text")
    with pytest.raises(InvalidInput):
        PURE.scores("a", [None])  # pyright: ignore[reportArgumentType]
