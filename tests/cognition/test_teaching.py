"""What users say in turns: who hears what it taught, what is never learnt, and what is left when a turn goes."""

from __future__ import annotations

from typing import Any

import pytest

from memwell.cognition import AugmentedModel, Cognition
from memwell.errors import NotFound
from memwell.models.scripted import ScriptedChat


@pytest.fixture
def model(mind: Cognition) -> AugmentedModel:
    return AugmentedModel(None, mind)


def everything(mind: Cognition) -> str:
    """All that is stored, and all that it was before, as text."""
    kept = mind.memory.memories()
    return repr(kept) + repr([mind.memory.history(one.id) for one in kept])


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("银行卡密码是887766", "887766"),
        ("数据库密码是Tr0ub4dor&3", "Tr0ub4dor"),
        ("WiFi密码是：hello2024", "hello2024"),
        ("门禁口令：hello2024", "hello2024"),
        ("保险箱的密码为: hello2024", "hello2024"),
        ("Staging password is a joke: password = Tr0ub4dor", "Tr0ub4dor"),
        ("Our login is a secret thing, password is: hunter2xyz", "hunter2xyz"),
    ],
)
def test_a_secret_is_never_learnt(mind: Cognition, model: AugmentedModel, said: str, secret: str) -> None:
    assert model.respond(said, user="ann").learned == ()
    assert secret not in everything(mind)
    assert mind.semantic.concepts() == []
    for user in ("ann", "bob", None):
        assert secret not in model.respond("密码是什么？", user=user).text


def test_nothing_is_learnt_from_a_secret_in_an_answer(mind: Cognition) -> None:
    said = "A vault is a safe whose password: Tr0ub4dor9 opens it."
    assert AugmentedModel(ScriptedChat([said]), mind).respond("what is a vault?", user="ann").learned == ()
    assert "Tr0ub4dor9" not in everything(mind)


@pytest.mark.parametrize("name", ["门锁的密码", "开机口令", "Wifi password", "Door PIN"])
def test_what_a_password_is_said_to_be_is_not_learnt_however_it_reads(mind: Cognition, name: str) -> None:
    said = f"{name}是向日葵。" if not name.isascii() else f"{name} is a sunflower."
    assert AugmentedModel(None, mind).respond(said, user="ann").learned == ()
    assert AugmentedModel(None, mind).respond("密码学是研究加密的学科。", user="ann").learned == ("密码学",)


@pytest.mark.parametrize(
    "said",
    [
        "李雷是艾滋病患者。",
        "Clara is an alcoholic.",
        "张三是个骗子",
        "王五是小偷",
        "欧阳娜娜是演员。",
        "Xiomara is an alcoholic.",
        "Grace Hopper is a liar.",
        "Dr. Smith is a quack.",
    ],
)
@pytest.mark.parametrize("user", ["ann", None])
def test_what_is_said_of_a_person_becomes_no_concept(
    mind: Cognition, model: AugmentedModel, said: str, user: str | None
) -> None:
    assert model.respond(said, user=user).learned == ()
    assert mind.semantic.concepts() == []
    assert [one.event for one in mind.episodic.timeline()] == [said]


def test_a_word_that_only_begins_as_a_name_does_is_learnt(model: AugmentedModel) -> None:
    for said, name in (
        ("黄瓜是一种蔬菜。", "黄瓜"),
        ("程序员是写代码的人。", "程序员"),
        ("A nurse is a person.", "nurse"),
    ):
        assert model.respond(said, user="ann").learned == (name,)


def test_what_a_turn_taught_is_heard_by_who_may_hear_the_turn(mind: Cognition, model: AugmentedModel) -> None:
    mind.semantic.store("茶", "用茶叶泡的饮料")
    model.respond("Project Heron is a secret merger with Acme.", user="ann")
    model.respond("项目白鹭是一次秘密的收购。", user="ann")
    model.respond("Zither is a tool of the night shift.")
    assert "merger" in model.respond("What is Project Heron?", user="ann").text
    assert "收购" in model.respond("项目白鹭是什么？", user="ann").text
    for user in ("bob", None, ""):
        assert "merger" not in model.respond("What is Project Heron?", user=user).text
        assert "收购" not in model.respond("项目白鹭是什么？", user=user).text
    assert "night shift" in model.respond("What is Zither?").text
    assert "night shift" not in model.respond("What is Zither?", user="bob").text
    assert "茶叶" in model.respond("茶是什么？", user="bob").text
    with pytest.raises(NotFound):
        mind.semantic.get("project heron")
    with pytest.raises(NotFound):
        mind.semantic.get("project heron", user="bob")
    assert mind.semantic.get("Project Heron", user="ann").user == "ann"
    assert {one.name for one in mind.semantic.concepts(user="bob")} == {"茶"}
    assert {one.name for one in mind.semantic.recall("merger Heron", 9, user="bob")} == {"茶"}
    assert "Heron" not in mind.semantic.graph(user="bob").mermaid()
    assert len(mind.semantic.concepts()) == 4


def test_two_users_each_have_their_own(mind: Cognition, model: AugmentedModel) -> None:
    model.respond("Mercury is a planet.", user="ann")
    model.respond("Mercury is a metal.", user="bob")
    assert mind.semantic.get("mercury", user="ann").definition == "a planet"
    assert mind.semantic.get("mercury", user="bob").definition == "a metal"
    model.respond("Mercury is a messenger of the gods.", user="ann")
    assert mind.semantic.get("mercury", user="ann").definition == "a messenger of the gods"
    assert [one.user for one in mind.semantic.concepts()] == ["bob", "ann"] or len(mind.semantic.concepts()) == 2


def test_turns_are_evidence_for_what_is_everybodys_and_never_change_what_it_says(
    mind: Cognition, model: AugmentedModel
) -> None:
    mind.semantic.store("Django", "a web framework written in Python")
    model.respond("Django is a web framework.", user="bob")
    assert mind.semantic.get("django").belief.support == 1
    for number in range(9):
        model.respond("Django is a kind of jam.", user=f"user {number}")
    one = mind.semantic.get("django")
    assert (one.definition, one.belief.against) == ("a web framework written in Python", 9)
    assert "jam" not in model.respond("What is Django?", user="cem").text


def test_evidence_goes_with_its_turn(mind: Cognition, model: AugmentedModel) -> None:
    mind.semantic.store("鲸鱼", "生活在海里的哺乳动物")
    before = mind.semantic.get("鲸鱼").confidence
    turn = model.respond("鲸鱼是生活在海里的哺乳动物。", user="ann").episode
    against = model.respond("鲸鱼不是哺乳动物。", user="bob").episode
    assert mind.semantic.get("鲸鱼").belief.observations == 2
    mind.memory.erase(turn)
    one = mind.semantic.get("鲸鱼")
    assert (one.belief.support, one.belief.against, [heard.by for heard in one.evidence]) == (0, 1, ["bob"])
    assert one.confidence < before
    mind.memory.forget(against)
    assert mind.semantic.get("鲸鱼").confidence == before == mind.semantic.concepts()[0].confidence
    mind.memory.undo(against)
    assert mind.semantic.get("鲸鱼").belief.against == 1


@pytest.mark.parametrize("first", [True, False])
def test_a_concept_that_another_turn_supports_survives(mind: Cognition, model: AugmentedModel, first: bool) -> None:
    turns = [model.respond("A canary is a small yellow bird.", user="ann").episode for _ in range(2)]
    assert len(mind.semantic.concepts()) == 1
    mind.memory.erase(turns[0 if first else 1])
    assert mind.semantic.get("canary", user="ann").definition == "a small yellow bird"
    assert [one.name for one in mind.semantic.concepts()] == ["canary"]
    mind.memory.erase(turns[1 if first else 0])
    assert mind.semantic.concepts() == []
    assert "yellow" not in everything(mind)


def test_what_was_said_before_comes_back_when_a_turn_goes(mind: Cognition, model: AugmentedModel) -> None:
    model.respond("A canary is a small bird.", user="ann")
    again = model.respond("A canary is an early warning of trouble.", user="ann").episode
    assert mind.semantic.get("canary", user="ann").definition == "an early warning of trouble"
    mind.memory.erase(again)
    assert mind.semantic.get("canary", user="ann").definition == "a small bird"
    assert "warning" not in everything(mind)


def test_many_meanings_leave_few_rows(mind: Cognition, model: AugmentedModel) -> None:
    for number in range(9):
        model.respond(f"A widget is a thing{number} number{number} shape{number}.", user="ann")
    assert mind.semantic.get("widget", user="ann").definition == "a thing8 number8 shape8"
    assert sum(one.kind == "concept" for one in mind.memory.memories()) <= 4


@pytest.mark.parametrize(
    ("said", "asked", "word"),
    [
        ("A canary is a small yellow bird.", "What is a canary?", "yellow"),
        ("金丝雀是一种黄色的小鸟。", "金丝雀是什么？", "黄色"),
    ],
)
def test_a_forgotten_turn_teaches_nothing_until_it_is_back(
    mind: Cognition, model: AugmentedModel, said: str, asked: str, word: str
) -> None:
    turn = model.respond(said, user="ann").episode
    assert word in model.respond(asked, user="ann").text
    mind.memory.forget(turn)
    assert word not in model.respond(asked, user="ann").text
    assert mind.semantic.concepts() == mind.semantic.recall(asked) == []
    assert all(word not in one.text for one in mind.recall(asked))
    mind.memory.undo(turn)
    assert word in model.respond(asked, user="ann").text
    assert len(mind.semantic.concepts()) == 1


def test_nothing_is_learnt_from_a_turn_that_was_refused(mind: Cognition, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **options: Any) -> str:
        from memwell.errors import InvalidInput

        raise InvalidInput("no")

    monkeypatch.setattr(mind.episodic, "store", refused)
    assert AugmentedModel(None, mind).respond("Tea is a drink.", user="ann").learned == ()
    assert mind.memory.count() == 0


def test_the_definition_of_a_cheat_does_not_begin_with_a_counter(mind: Cognition, model: AugmentedModel) -> None:
    assert model.respond("龙虾是个甲壳动物。", user="ann").learned == ("龙虾",)
    assert mind.semantic.get("龙虾", user="ann").definition == "甲壳动物"
