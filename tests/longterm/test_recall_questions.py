"""Questions that ask for several things, and questions that name nothing but a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.longterm.conftest import NOON

if TYPE_CHECKING:
    from memwell.longterm.memory import Memory

SAID = {
    "pizza": ("We had pizza with Lena.", 1),
    "bike": ("I broke my bike on the hill.", 15),
    "fox": ("I saw a fox in the garden.", 90),
    "cat": ("My cat is called Minka.", 200),
    "鱼": ("我们在湖边钓鱼。", 1),
}


@pytest.fixture(autouse=True)
def said(memory: Memory) -> None:
    for id_, (text, days) in SAID.items():
        memory.remember(text, id=id_, time=NOON - timedelta(days=days), speaker="user")


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What is my cat called, and what did I see in the garden?", {"cat", "fox"}),
        ("Who had pizza? Where did my bike break?", {"pizza", "bike"}),
    ],
)
def test_each_of_two_questions_finds_its_answer(memory: Memory, question: str, found: set[str]):
    hits = memory.recall(question, limit=2)
    assert {hit.id for hit in hits} == found
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.asked == question for hit in hits)
    assert all(abs(sum(one.share for one in hit.signals.values()) - hit.score) < 1e-6 for hit in hits)


def test_no_hit_of_several_questions_comes_twice(memory: Memory):
    hits = memory.recall("Where is the garden fox? Who saw the garden?", limit=10)
    assert len({hit.id for hit in hits}) == len(hits) == len(SAID)


@pytest.mark.parametrize("question", ["What happened yesterday?", "昨天发生了什么？", "What did I do yesterday?"])
def test_a_question_of_a_time_finds_what_was_said_then(memory: Memory, question: str):
    hits = memory.recall(question, now=NOON)
    assert {hit.id for hit in hits[:2]} == {"pizza", "鱼"}
    assert [hit.relevance for hit in hits] == [0.5, 0.5, *[0.0] * (len(SAID) - 2)]


def test_a_time_at_which_nothing_was_said_hides_nothing(memory: Memory):
    assert len(memory.recall("What happened in 1990?", now=datetime(2026, 1, 1, tzinfo=NOON.tzinfo))) == len(SAID)


def test_other_words_beside_a_time_decide_as_before(memory: Memory):
    assert memory.recall("What did the fox do yesterday?", now=NOON)[0].id == "fox"
