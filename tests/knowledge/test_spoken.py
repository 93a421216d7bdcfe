"""Which statements may answer a question."""

from __future__ import annotations

import pytest

from memwell.knowledge.documents import Citation, Found
from memwell.knowledge.spoken import holds_secret, may_answer, suitable, telling, without_secrets

COMPATIBLE = (
    ("What is my name?", "My name is Ann.", True), ("What is my name?", "My boss's name is Tom.", False),
    ("What is my name?", "My cat is called Tom.", False), ("What is your name?", "My name is Ann.", False),
    ("What is your name?", "Your name is Jarvis.", True), ("Do you remember where I live?", "I live in Oslo.", True),
    ("Do you know when the meeting is?", "The meeting is on Monday.", True),
    ("Where does Bob live?", "I live in Oslo.", False), ("where does bob live?", "I live in Oslo.", False),
    ("Where does Bob live?", "Bob lives in Rome.", True),
    ("What is Bob allergic to?", "Remember that Bob is allergic to eggs.", True),
    ("What is she allergic to?", "I'm allergic to eggs.", False),
    ("What is she allergic to?", "My sister is allergic to eggs.", True),
    ("What is my brother allergic to?", "My brother works at Acme.", False),
    ("What is my daughter called?", "My child is called Mia.", True),
    ("Are my sister and I allergic to cats?", "My sister and I are allergic to cats.", True),
    ("Who lives in Rome?", "Bob lives in Rome.", True), ("When is lunch?", "I have lunch at noon.", True),
    ("我老板叫什么名字？", "我叫小明。", False), ("我老板叫什么名字？", "我老板叫王强。", True),
    ("你记得我住在哪里吗？", "我住在北京。", True), ("会议在哪里开？", "会议在三楼开。", True),
    ("谁住在北京？", "小红住在北京。", True), ("我姐姐对什么过敏？", "My sister is allergic to cats.", True),
    ("我姐姐对什么过敏？", "I'm allergic to cats.", False),
)  # fmt: skip


@pytest.mark.parametrize(("question", "text", "may"), COMPATIBLE)
def test_a_statement_answers_about_its_own_people(question: str, text: str, may: bool):
    assert may_answer(question, text) is may


def found(*texts: str) -> list[Found]:
    """The texts as messages, the newest first."""
    return [Found(text, text, 0.0, Citation(text, "", "Conversation", 0, len(text)), {}, {}, "") for text in texts]


SUITABLE = (
    ("Do I like cats?", ("My name is Ann. My sister likes cats.",), ["My name is Ann."]),
    ("What does my sister hate?", ("I'm Ann. My sister is Eve. She hates cats.",),
     ["My sister is Eve. She hates cats."]),
    ("Where do I live?", ("I live in Rome now.", "I live in Oslo."), ["I live in Rome now."]),
    ("Where did I live before?", ("I live in Rome now.", "I live in Oslo."),
     ["I live in Rome now.", "I live in Oslo."]),
    ("Where do I live?", ("I moved to Rome.", "My name is Ann and I live in Oslo."), ["I moved to Rome."]),
    ("What is my name?", ("I moved to Rome.", "My name is Ann and I live in Oslo."),
     ["I moved to Rome.", "My name is Ann and I live in Oslo."]),
    ("Where do I live?", ("My sister lives in Rome.", "I live in Oslo."), ["I live in Oslo."]),
    ("Where do I live?", ("If I lived in Rome, I would be happy.",), []),
    ("What do I take if it rains?", ("If it rains I take the bus.",), ["If it rains I take the bus."]),
    ("我住在哪里？", ("开玩笑的", "我住在月球。"), []),
    ("What do I like?", ("I don't like tea.",), []),
    ("Do I like tea?", ("I don't like tea.",), ["I don't like tea."]),
    ("What do I like?", ("I don't like tea any more.", "I like tea."), ["I don't like tea any more."]),
)  # fmt: skip


@pytest.mark.parametrize(("question", "said", "kept"), SUITABLE)
def test_what_is_kept_of_messages(question: str, said: tuple[str, ...], kept: list[str]):
    left = suitable(question, found(*said))
    assert [one.text for one in left] == kept
    assert all(one.id[one.citation.start : one.citation.end] == one.text for one in left)


@pytest.mark.parametrize(
    ("question", "said", "told"),
    [
        ("Where do I live?", ("I moved to Bergen", "I like tea."), "I moved to Bergen"),
        ("Where do I live?", ("I like tea.",), None),
        ("Where do I work?", ("I moved to Bergen",), None),
        ("我母亲叫什么名字？", ("我妈叫李芳",), "我妈叫李芳"),
        ("What is my father's name?", ("My mother is called Ruth",), None),
    ],
)
def test_what_tells_the_fact_that_is_asked_for(question: str, said: tuple[str, ...], told: str | None):
    one = telling(question, suitable(question, found(*said)))
    assert (one and one.text) == told


@pytest.mark.parametrize(
    ("text", "secret"),
    [("My PIN is 4821.", True), ("密码是abc123", True), ("I forgot my PIN.", False), ("I live at number 4821.", False)],
)
def test_what_holds_a_secret(text: str, secret: bool):
    assert holds_secret(text) is secret


def test_of_a_message_with_a_secret_the_rest_is_kept():
    kept = without_secrets(found("I live in Oslo. My PIN? It is 4821.", "My dog is called Rex."))
    assert [one.text for one in kept] == ["I live in Oslo.", "My PIN?", "My dog is called Rex."]


@pytest.mark.parametrize("text", ["My CVV is 123.", "My card is 4111 1111 1111 1111.", "The login code is 99812."])
def test_numbers_of_cards_and_codes_are_secrets(text: str):
    assert holds_secret(text)
    assert not holds_secret("My phone is 13900139000.")
