"""Questions that were asked before are no answers, and take nothing's place."""

from __future__ import annotations

import pytest

from memwell.cognition import AugmentedModel, Cognition
from memwell.cognition.questions import is_question, only_asks

REMARKS = [
    "The bus was late again.",
    "It rained in the afternoon.",
    "The soup tasted of salt.",
    "Somebody sang outside.",
]
REMARKS += [
    "今天的会议很长。",
    "午饭吃了面条。",
    "地铁很挤。",
    "The lift is slow.",
    "Trains were on time.",
    "邻居搬走了。",
]


@pytest.mark.parametrize(
    ("fact", "question"),
    [("My cat is called Miso.", "What is my cat called?"), ("我的猫叫咪咪。", "我的猫叫什么名字？")],
)
def test_an_answer_is_found_however_often_it_was_asked_for(mind: Cognition, fact: str, question: str) -> None:
    model = AugmentedModel(None, mind)
    model.respond(fact, user="a")
    for remark in REMARKS:
        model.respond(remark, user="a")
    assert [model.respond(question, user="a").text for _ in range(14)] == [fact] * 14


def test_other_questions_on_the_matter_do_not_hide_it(mind: Cognition) -> None:
    model = AugmentedModel(None, mind)
    model.respond("My cat is called Miso.", user="a")
    for number in range(30):
        model.respond(f"What is my cat called, by the way, number {number}?", user="a")
    assert "Miso" in model.respond("What is my cat called?", user="a").text


@pytest.mark.parametrize("question", ["What is RAG?", "什么是RAG？"])
def test_concepts_are_found_however_often_they_are_asked_for(mind: Cognition, question: str) -> None:
    mind.semantic.store("RAG", "检索增强生成 answers that rest on documents")
    model = AugmentedModel(None, mind)
    for _ in range(14):
        assert "rest on documents" in model.respond(question, user="a").text
    found = mind.recall(question, limit=5)
    assert found[0].kind == "semantic"
    assert sum(one.text == question for one in found) <= 1
    assert sum(one.weight for one in found) == pytest.approx(1.0)


def test_procedures_are_found_however_often_they_are_asked_for(mind: Cognition) -> None:
    mind.procedural.store("重启服务", ["登录服务器", "重启进程"])
    model = AugmentedModel(None, mind)
    for _ in range(14):
        assert model.respond("如何重启服务？", user="a").text.startswith("重启服务\n1. 登录服务器")


def test_what_is_said_again_and_again_counts_once(mind: Cognition) -> None:
    for _ in range(60):
        mind.episodic.store("my cat sleeps", user="a", turn=True)
    mind.episodic.store("the cat has a basket", user="a", turn=True)
    texts = [one.text for one in mind.recall("where does my cat sleep?", 5, user="a", kinds="episodic")]
    assert texts == ["my cat sleeps", "the cat has a basket"]


def test_questions_come_last_and_the_weights_fall(mind: Cognition) -> None:
    for said in ("Where is my hat?", "Is my hat red?", "The hat hangs in the hall.", "天气不错。"):
        mind.episodic.store(said, user="a", turn=True)
    found = mind.recall("Where is my hat?", 5, user="a")
    assert {one.text for one in found[:2]} == {"The hat hangs in the hall.", "天气不错。"}
    assert {one.text for one in found[2:]} == {"Where is my hat?", "Is my hat red?"}
    assert [one.weight for one in found] == sorted((one.weight for one in found), reverse=True)
    events = [one.event for one in mind.episodic.recall("Where is my hat?", 5, user="a")]
    assert set(events[:2]) == {"The hat hangs in the hall.", "天气不错。"}


def test_a_turn_that_also_tells_something_is_no_question(mind: Cognition) -> None:
    model = AugmentedModel(None, mind)
    model.respond("My hat hangs in the hall. Do you like hats?", user="a")
    assert model.respond("Where does my hat hang?", user="a").text == "My hat hangs in the hall."


def test_who_says_the_same_again_is_not_told_it_first(mind: Cognition) -> None:
    mind.episodic.store("I like tea", user="a", turn=True)
    mind.episodic.store("green tea was bought", user="a")
    assert [one.text for one in mind.recall("I like tea", user="a")] == ["green tea was bought", "I like tea"]
    mind.episodic.store("the canary sang")
    assert mind.recall("the canary sang", user="a")[0].text == "the canary sang"


@pytest.mark.parametrize(
    "text",
    [
        "What is my cat called?",
        "what is my cat called",
        "我的猫叫什么名字",
        "你好吗？ 今天怎么样？",
        "Tell me about tea.",
        "如何重启服务",
    ],
)
def test_what_only_asks(text: str) -> None:
    assert only_asks(text)
    assert is_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "When I was in Kyoto I lost my hat.",
        "My hat is red. Do you like it?",
        "我知道为什么失败：磁盘满了",
        "Do not forget the keys.",
        "What a day!",
        "Where I live it rains.",
        "",
    ],
)
def test_what_also_tells_something(text: str) -> None:
    assert not only_asks(text)


def test_only_words_that_ask_make_a_question() -> None:
    assert not is_question("When I was in Kyoto I lost my hat.")
    assert not is_question("Do not forget the keys.")
    assert not is_question("What a day!")
    assert is_question("when is the meeting")
