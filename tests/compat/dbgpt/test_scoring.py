from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.compat.dbgpt.fragments import AgentMemoryFragment
from memwell.compat.dbgpt.scoring import ContentImportanceScorer, SentenceInsightExtractor

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=200)


def score(text: str) -> float:
    return asyncio.run(ContentImportanceScorer().score_importance(AgentMemoryFragment(text)))


def insights(text: str) -> list[str]:
    found = asyncio.run(SentenceInsightExtractor().extract_insights(AgentMemoryFragment(text)))
    assert all(one.is_insight for one in found.insights)
    return [one.raw_observation for one in found.insights]


def test_what_matters_scores_more() -> None:
    assert (
        score("I am allergic to peanuts and my doctor is Anna Berg.")
        > score("Well, that was a nice day.")
        > score("ok")
    )
    assert score("我对花生过敏，必须记住。") > score("好的")


@given(TEXTS)
def test_scores_and_insights_keep_their_promises(text: str) -> None:
    assert 0.0 <= score(text) <= 10.0
    assert score(text) == score(text)
    found = insights(text)
    assert sum(map(len, found)) < max(len(text), 1)
    assert found == insights(text)


@pytest.mark.parametrize("text", ["", "ok", "I live in Oslo.", "我住在奥斯陆。", "I live in Oslo. It rains."])
def test_a_short_text_is_its_own_insight(text: str) -> None:
    assert insights(text) == []


def test_the_sentences_that_state_facts() -> None:
    text = "Well, hello there. I live in Oslo. We talked about this and that for hours. Nothing else came up."
    assert insights(text) == ["I live in Oslo."]
    assert insights("你好呀。我住在奥斯陆。我们聊了很久。没有别的了。") == ["我住在奥斯陆。"]


def test_without_facts_the_weightiest_sentences() -> None:
    text = "The build failed at noon on 3 May. Nobody saw why. It was looked at again and again. Then it was quiet."
    (found,) = insights(text)
    assert found in text
    assert len(found) <= len(text) // 3
