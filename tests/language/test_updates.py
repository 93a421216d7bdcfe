"""Which statements make which others outdated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.language.updates import LONGEST, asks_about_past, statement, supersedes

UPDATES = [
    ("I live in Ghent.", "I moved to Bruges in spring."),
    ("My number is 555-0170.", "My new number is 555-0171."),
    ("I work at Volvo.", "I started at Scania on Monday."),
    ("My landlord is Mr Smith.", "My landlord is Mr Jones now."),
    ("I collect stamps.", "I no longer collect stamps."),
    ("The key is missing.", "I found the key in my coat."),
    ("We have two rabbits.", "We are down to one, so we have three rabbits fewer; now it's five rabbits."),
    ("My cat is called Mimi.", "It's not Mimi, my cat is called Momo."),
    ("我住在长沙。", "我搬到武汉了。"),
    ("我的车牌是湘A123。", "我的车牌换成鄂A456了。"),
    ("我在小米上班。", "我跳槽到了联想。"),
    ("我每周去游泳馆。", "我不去游泳馆了。"),
    ("钥匙丢了。", "钥匙在沙发底下找到了。"),
    ("我家有两只兔子。", "我家现在有五只兔子。"),
]
NEAR_MISSES = [
    ("I live in Ghent.", "My aunt moved to Bruges in spring."),
    ("I live in Ghent.", "I might move to Bruges."),
    ("I live in Ghent.", "Should I move to Bruges?"),
    ("I live in Ghent.", "I lived in Bruges as a child."),
    ("I live in Ghent.", "I still live in Ghent."),
    ("I collect stamps.", "I collect coins, too."),
    ("My work number is 555-0170.", "My private number is 555-0171."),
    ("The train to Ghent leaves at nine.", "The train from Ghent leaves at ten."),
    ("I ran five laps on Monday.", "I ran nine laps on Friday."),
    ("我住在长沙。", "我姑姑搬到武汉了。"),
    ("我住在长沙。", "我可能会搬到武汉。"),
    ("我住在长沙。", "我要不要搬到武汉？"),
    ("我住在长沙。", "我小时候住在武汉。"),
    ("我喜欢集邮。", "我也喜欢钓鱼。"),
    ("我的工作号码是123。", "我的私人号码是456。"),
]


@pytest.mark.parametrize(("older", "newer"), UPDATES)
def test_a_change_makes_what_was_said_before_outdated(older: str, newer: str):
    assert supersedes(statement(newer), statement(older))


@pytest.mark.parametrize(("older", "newer"), NEAR_MISSES)
def test_another_person_thing_plan_or_past_makes_nothing_outdated(older: str, newer: str):
    assert not supersedes(statement(newer), statement(older))


def test_a_move_told_along_with_a_question_counts():
    newer = statement("I moved to Bruges last week. Do you know a good café there?")
    assert supersedes(newer, statement("I live in Ghent."))
    assert not newer.holds


def test_a_long_text_says_too_much_to_become_outdated():
    long = "I live in Ghent. " + "It rains a lot here. " * (LONGEST // 20)
    assert not supersedes(statement("I moved to Bruges."), statement(long))


@given(st.text(max_size=60) | st.sampled_from([text for pair in UPDATES + NEAR_MISSES for text in pair]))
def test_nothing_supersedes_itself(text: str):
    assert not supersedes(statement(text), statement(text))


@pytest.mark.parametrize(
    "query",
    [
        "Where did I live before Bruges?",
        "What was my old number?",
        "我以前住在哪里？",
        "我原来的号码是什么？",
        "搬家之前我住哪儿？",
    ],
)
def test_questions_about_the_past(query: str):
    assert asks_about_past(query)


@pytest.mark.parametrize(
    "query", ["Where do I live?", "How old am I?", "Who is my boss?", "我住在哪里？", "我现在的号码是什么？"]
)
def test_questions_about_the_present(query: str):
    assert not asks_about_past(query)
