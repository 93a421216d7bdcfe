"""Questions that were asked before are no answers, and take nothing's place."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition import AugmentedModel, Cognition
from memwell.cognition.matching import coverage, denies, enough_of, holds_in, is_question, only_asks

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


MET = [
    ("网络可用", "网络是可用的"),
    ("付款已收到", "已经收到付款"),
    ("已安装Docker", "装了docker"),
    ("有管理员权限", "我是管理员，有权限"),
    ("没有网络", "网络断了，没有网络连接"),
    ("数据已备份", "数据备份完成"),
    ("Docker is installed", "I have installed docker, but there is no network"),
    ("the user is logged in", "The user has logged in."),
    ("not in production", "this is not production"),
    ("servers are reachable", "the server is reachable"),
    ("order number and address", "we have the order number and the address"),
    ("数据库在线", "数据库已经在线，网络可用吗？"),
    ("tests pass", "The tests pass. Is the network up?"),
    ("the tests pass", "if the network were up we could deploy, but the tests pass"),
    ("网络可用", "如果要部署就得备份，但是网络可用"),
    ("数据库离线", "数据库现在离线"),
    ("the main valve is closed", "the main valve is closed"),
    ("有备份", "没有权限，不过有备份"),
    ("the network is up", "there is no backup and the network is up"),
]
NOT_MET = [
    ("网络可用", "网络断开了"),
    ("网络可用", "网络不可用"),
    ("付款已收到", "付款失败"),
    ("服务器正常运行", "服务器运行不正常"),
    ("Docker is installed", "there is a network, but docker is not installed"),
    ("the disk is full", "the disk is empty"),
    ("order number is known", "the order number is unknown"),
    ("user is logged in", "The user isn't logged in."),
    ("not in production", "we are in production"),
    ("数据库在线", "数据库在线吗？"),
    ("数据库在线", "数据库在线吗"),
    ("数据库在线", "数据库是否在线"),
    ("数据库在线", "数据库离线"),
    ("数据库在线", "数据库掉线了"),
    ("数据库在线", "如果数据库在线就好了"),
    ("数据库在线", "但愿数据库在线"),
    ("数据库在线", "希望数据库能在线"),
    ("数据库在线，网络可用", "要是网络可用，数据库在线，就可以部署"),
    ("有服务器权限", "缺服务器权限"),
    ("有服务器权限", "没有备份、服务器权限"),
    ("有服务器权限", "没有服务器权限"),
    ("阀门已经打开", "阀门已经关闭"),
    ("tests pass", "if only tests pass"),
    ("tests pass", "I wish the tests pass"),
    ("tests pass", "do the tests pass?"),
    ("tests pass", "The tests pass?"),
    ("tests pass", "we hope the tests pass"),
    ("tests pass", "we deploy when the tests pass"),
    ("the tests pass", "neither the build nor the tests pass"),
    ("the main server is online", "the main server is offline"),
    ("the main server is offline", "the main server is online"),
    ("the main valve is open", "the main valve is closed"),
    ("the main valve is closed", "the main valve is open"),
    ("server permission", "there is no backup and server permission"),
    ("server permission", "we work without backups, server permission and tests"),
    ("网络可用", "天气晴朗"),
    ("网络可用", ""),
]


@pytest.mark.parametrize(("condition", "situation"), MET)
def test_a_condition_is_met_in_other_words(condition: str, situation: str) -> None:
    assert holds_in(condition, [situation])


def test_a_condition_is_not_met_by_its_opposite() -> None:
    assert [pair for pair in NOT_MET if holds_in(pair[0], [pair[1]])] == []


def test_a_condition_may_be_met_by_several_things_together() -> None:
    assert holds_in("customer, address", ["the customer is here", "an address was given"])
    assert not holds_in("customer, address", ["the customer is here"])


@pytest.mark.parametrize("text", ["非常重要", "特别好", "无线网络", "未来的计划", "级别很高", "a notable knot"])
def test_some_words_only_look_like_denials(text: str) -> None:
    assert not denies(text)


@given(st.text(max_size=60), st.text(max_size=60))
def test_coverage_is_a_share(one: str, other: str) -> None:
    assert 0.0 <= coverage(one, other) <= 1.0
    assert coverage(one, one) in (0.0, pytest.approx(1.0))
    assert isinstance(holds_in(one, [other]), bool)


def once(found: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(found))


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 6))
def test_there_are_enough_as_long_as_there_are_any(stored: list[int], limit: int) -> None:
    kept = enough_of(lambda most: stored[:most], once, limit)
    assert len(kept) >= min(limit, len(once(stored)))
    assert kept == once(stored)[: len(kept)]


def test_no_more_is_asked_for_than_it_takes() -> None:
    asked: list[int] = []

    def fetch(most: int) -> list[int]:
        asked.append(most)
        return [7] * most

    assert enough_of(fetch, once, 5) == [7]
    assert asked == [10, 40, 160, 640]
