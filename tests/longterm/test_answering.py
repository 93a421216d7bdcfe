"""Tests of the memories that state the facts a question asks for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import memwell
from memwell.longterm.answering import no_longer_true, telling, telling_of
from memwell.longterm.recall import Recalled


@pytest.fixture
def engine() -> Iterator[memwell.Engine]:
    with memwell.open("memory:", work=False, embedder=None) as opened:
        yield opened


TOLD = (
    (("I am 44.",), "How old am I?", ["I am 44."]),
    (("I live in Oslo.", "I moved to Bergen."), "Where do I live?", ["I moved to Bergen."]),
    (("I live in Oslo.", "I moved to Bergen."), "Where did I live before?", ["I live in Oslo."]),
    (("My name is Ann and I live in Oslo.", "I moved to Rome."), "What is my name?", ["My name is Ann"]),
    (("I live in Leeds.", "I moved to Mars.", "Just kidding!"), "Where do I live?", ["I live in Leeds."]),
    (("I work at Acme.", "I quit my job.", "I'm only joking."), "Where do I work?", ["I work at Acme."]),
    (("I'm allergic to nuts.", "I'm also allergic to eggs."), "What am I allergic to?",
     ["I'm also allergic to eggs.", "I'm allergic to nuts."]),
    (("My sister Eve is 30.", "My brother Tom is 28."), "What is my brother's name?", ["My brother Tom is 28."]),
    (("My sister Eve is 30.",), "How old is my sister?", ["My sister Eve is 30."]),
    (("My sister Eve is 30.",), "What is my brother called?", []),
    (("My wife Anna works in Leeds.",), "What is my husband called?", []),
    (("My mother is called Ruth",), "What is my father's name?", []),
    (("I have a cat called Miso.", "My dog is called Rex."), "What is my dog called?", ["My dog is called Rex."]),
    (("I have a cat called Miso.", "My dog is called Rex."), "What are my pets called?",
     ["My dog is called Rex.", "I have a cat called Miso."]),
    (("我家养了一只橘猫，叫年糕。",), "我家的猫叫什么？", ["我家养了一只橘猫，叫年糕。"]),
    (("我妈叫李芳", "我爸叫顾建国"), "我母亲叫什么名字？", ["我妈叫李芳"]),
    (("我住在上海。", "说错了，是天津。"), "我住在哪里？", ["说错了，是天津。"]),
    (("My name is Kofi.", "Just kidding, it's Kwame."), "What is my name?", ["Just kidding, it's Kwame."]),
    (("I hate olives.", "I love jazz."), "What do I dislike?", ["I hate olives."]),
    (("我有一对双胞胎，叫大宝和小宝。",), "我孩子叫什么？", ["我有一对双胞胎，叫大宝和小宝。"]),
    (("My mum is 81 and used to be a teacher",), "What did my mum do?", ["My mum is 81 and used to be a teacher"]),
    (("My mum is 81 and used to be a teacher",), "What does my mum do?", []),
    (("I live in Oslo.", "I moved to Bergen."), "Where did I live?", ["I moved to Bergen."]),
    (("I live in Oslo.",), "Where did I live before?", []),
    (("I moved to Bergen",), "Where do I work?", []), (("I am 44.",), "Where is the harbour?", []),
)  # fmt: skip


@pytest.mark.parametrize(("said", "question", "told"), TOLD)
def test_what_states_the_fact_that_is_asked_for(
    engine: memwell.Engine, said: tuple[str, ...], question: str, told: list[str]
):
    for text in said:
        engine.remember(text, speaker="user", session="talk")
    assert [one.text for one in telling(engine.memory, question)] == told


def test_what_is_forgotten_or_stated_by_hand_is_not_told(engine: memwell.Engine):
    kept = engine.remember("I am 44.").id
    engine.facts.correct("user", "occupation", "baker")
    assert telling(engine.memory, "What is my job?") == []
    engine.forget(kept)
    assert telling(engine.memory, "How old am I?") == []


def test_what_holds_of_someone_is_told_in_the_order_in_which_it_was_said(engine: memwell.Engine):
    for text in ("I'm Ann and I live in Oslo.", "I have a cat.", "I moved to Bergen.", "The sky is blue."):
        engine.remember(text)
    assert [one.text for one in telling_of(engine.memory)] == ["I'm Ann", "I have a cat.", "I moved to Bergen."]
    assert telling_of(engine.memory, "Bob") == []


def test_what_is_over_is_known_by_the_memories_that_state_it(engine: memwell.Engine):
    said = [
        engine.remember(text) for text in ("Declan is a welder at Ford.", "Declan lost his job.", "Eve works at Ford.")
    ]
    assert no_longer_true(engine.memory, "Where does Declan work?") == {said[0].id}
    assert no_longer_true(engine.memory, "Where did Declan work before?") == frozenset()
    assert no_longer_true(engine.memory, "Where does Eve work?") == frozenset()


@pytest.mark.parametrize(
    ("session", "told"), [("a", ["I live in Brno.", "My cat is called Tim."]), ("b", ["I live in Wien."]), ("c", [])]
)
def test_memories_that_are_not_heard_neither_state_nor_end_anything(
    engine: memwell.Engine, session: str, told: list[str]
):
    for text in ("I live in Brno.", "My cat is called Tim."):
        engine.remember(text, session="a")
    for text in ("I live in Wien.", "My cat died."):
        engine.remember(text, session="b")

    def heard(one: Recalled) -> bool:
        return one.session == session

    assert [one.text for one in telling_of(engine.memory, heard=heard)] == told
    asked = ("Where do I live?", "What is my cat called?")
    assert [one.text for question in asked for one in telling(engine.memory, question, heard)] == told
    assert no_longer_true(engine.memory, "Where do I live?", heard) == frozenset()
