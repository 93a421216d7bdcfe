from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition import Belief, Cognition
from memwell.cognition.semantic import MOST_EVIDENCE
from memwell.errors import InvalidInput, NotFound
from memwell.longterm.memory import Memory
from memwell.storage import open_backend
from memwell.testing.conformance.backend import in_threads


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=8))
def test_a_belief_without_what_is_gone_is_that_of_the_rest(heard: list[tuple[bool, bool]]) -> None:
    with open_backend("memory:") as backend:
        mind = Cognition(Memory(backend, "ann", embedder=None))
        mind.semantic.store("tea", "a drink")
        stays_id, goes_id = mind.episodic.store("one turn"), mind.episodic.store("another turn")
        rest = Belief(0.8, 5.0)
        for number, (supports, stays) in enumerate(heard):
            say = mind.semantic.support if supports else mind.semantic.contradict
            say("tea", f"{number}", source=stays_id if stays else goes_id)
            rest = rest.seen(supports) if stays else rest
        mind.memory.forget(goes_id)
        seen = mind.semantic.get("tea")
        assert seen.belief == rest
        assert {one.source for one in seen.evidence} <= {stays_id}


def test_what_was_stated_stands_whatever_it_was_heard_from(mind: Cognition) -> None:
    turn = mind.episodic.store("A canary is a bird")
    mind.semantic.learn("canary", "a bird", by="ann", source=turn)
    assert [one.name for one in mind.semantic.concepts()] == ["canary"]
    mind.memory.forget(turn)
    assert mind.semantic.concepts() == []
    mind.semantic.store("canary", "a bird")
    assert [one.name for one in mind.semantic.concepts()] == ["canary"]


def test_what_a_user_taught_is_theirs_alone(mind: Cognition) -> None:
    mind.semantic.learn("鹭", "一次收购的代号", by="ann", user="ann")
    mind.semantic.learn("Lark", "a tool", by="conversation", user="")
    assert [one.user for one in mind.semantic.concepts()] == ["ann", ""]
    assert [one.user for one in mind.semantic.concepts(user="ann")] == ["ann"]
    assert [one.user for one in mind.semantic.concepts(user="")] == [""]
    assert mind.semantic.concepts(user="bob") == []
    assert mind.semantic.get("鹭", user="ann").definition == "一次收购的代号"


def test_the_latest_counts_and_evidence_is_on_it(mind: Cognition) -> None:
    mind.semantic.learn("mars", "a red planet", by="ann", user="ann")
    mind.semantic.learn("mars", "a chocolate bar", by="ann", user="ann")
    assert mind.semantic.contradict("Mars", "bob", user="ann").definition == "a chocolate bar"
    assert mind.semantic.get("mars", user="ann").belief.against == 1
    assert [one.definition for one in mind.semantic.recall("mars", user="ann")] == ["a chocolate bar"]
    assert [one.text.split("\n")[0] for one in mind.recall("mars red planet", user="ann")] == ["mars — a chocolate bar"]


def test_nothing_is_learnt_from_a_turn_that_is_gone(mind: Cognition) -> None:
    turn = mind.episodic.store("Tea is a drink", user="ann", turn=True)
    mind.memory.erase(turn)
    with pytest.raises(NotFound, match="gone"):
        mind.semantic.learn("tea", "a drink", by="ann", source=turn, user="ann")
    assert mind.memory.count() == 0


def test_threads_that_teach_at_once_leave_one_concept(mind: Cognition) -> None:
    def work(number: int) -> None:
        turn = mind.episodic.store("Tea is a drink", user="ann", turn=True)
        mind.semantic.learn("tea", "a drink of leaves", by="ann", source=turn, user="ann")

    in_threads(8, work)
    assert [one.name for one in mind.semantic.concepts()] == ["tea"]
    assert sum(one.kind == "concept" for one in mind.memory.memories()) == 2


def test_a_concept_is_found_by_any_spelling_of_its_name(mind: Cognition) -> None:
    mind.semantic.store("RAG", "检索增强生成：先检索，再生成", related=["检索", "大模型"])
    one = mind.semantic.get("ｒａｇ")
    assert (one.name, one.definition, one.related) == ("RAG", "检索增强生成：先检索，再生成", ("检索", "大模型"))
    assert one.confidence == 0.8
    assert [hit.name for hit in mind.semantic.recall("检索增强是什么", 1)] == ["RAG"]


def test_confidence_moves_with_evidence_and_the_evidence_is_kept(mind: Cognition) -> None:
    mind.semantic.store("whale", "a mammal of the sea")
    assert mind.semantic.support("Whale", by="an encyclopedia").confidence == pytest.approx(5 / 6)
    one = mind.semantic.contradict("whale", by="an old book")
    assert one.confidence == pytest.approx(5 / 7)
    assert [(heard.by, heard.supports) for heard in one.evidence] == [("an encyclopedia", True), ("an old book", False)]
    assert mind.memory.undo(one.id).metadata["concept"]["belief"]["support"] == 1
    assert mind.semantic.get("whale").confidence == pytest.approx(5 / 6)


def test_eight_threads_that_support_one_concept_lose_nothing(mind: Cognition) -> None:
    mind.semantic.store("water", "水是生命之源")

    def work(number: int) -> None:
        for step in range(10):
            mind.semantic.support("water", by=f"{number}/{step}")
        mind.semantic.contradict("water", by=f"{number}")

    in_threads(8, work)
    one = mind.semantic.get("water")
    assert (one.belief.support, one.belief.against) == (80, 8)
    assert one.confidence == pytest.approx((4 + 80) / (5 + 88))
    assert len(one.evidence) == MOST_EVIDENCE


def test_a_new_definition_begins_anew_and_the_same_one_goes_on(mind: Cognition) -> None:
    mind.semantic.store("python", "a snake", related=["reptile"])
    mind.semantic.support("python", by="a zoo")
    again = mind.semantic.store("Python", "A snake.")
    assert (again.belief.support, again.related) == (1, ("reptile",))
    other = mind.semantic.store("Python", "a programming language", related=["pip"], confidence=0.9)
    assert (other.belief.support, other.confidence, other.related, other.evidence) == (0, 0.9, ("pip",), ())


def test_what_is_heard_is_taken_for_what_it_is_worth(mind: Cognition) -> None:
    semantic = mind.semantic
    assert semantic.learn("mars", "a red planet", by="ann").confidence == 0.8
    assert semantic.learn("Mars", "a red planet", by="ann").belief.support == 0
    assert semantic.learn("Mars", "the red planet", by="bob").belief.support == 1
    assert semantic.learn("Mars", "the red planet", by="bob").belief.support == 1
    heard = [semantic.learn("mars", "a chocolate bar", by=who) for who in ("cem", "dan", "eva", "fay")]
    assert [one.definition for one in heard[:3]] == ["a red planet"] * 3
    assert [one.confidence for one in heard[:3]] == sorted((one.confidence for one in heard[:3]), reverse=True)
    fifth = semantic.learn("mars", "a chocolate bar", by="gus")
    sixth = semantic.learn("mars", "a chocolate bar", by="hal")
    assert "a chocolate bar" in {heard[3].definition, fifth.definition, sixth.definition}


def test_relations_lead_both_ways(mind: Cognition) -> None:
    mind.semantic.store("大模型", "参数很多的语言模型", related=["注意力", "记忆"])
    mind.semantic.store("RAG", "先检索再生成", related=["检索", "记忆"])
    mind.semantic.learn("Heron", "a merger", by="ann", related=["rag"], user="ann")
    assert mind.semantic.related("记忆") == ["大模型", "RAG"]
    assert mind.semantic.related("ＲＡＧ", user="bob") == ["检索", "记忆"]
    assert mind.semantic.related("rag", user="ann") == ["检索", "记忆", "Heron"]
    with pytest.raises(NotFound):
        mind.semantic.related("月亮")


def test_nothing_of_a_concept_is_read_as_a_fact(mind: Cognition) -> None:
    mind.semantic.store("Ann", "my sister lives in Oslo")
    assert mind.memory.facts_about("user") == []
    assert mind.memory.facts_about("ann") == []


def test_what_was_learnt_from_a_memory_is_erased_with_it(mind: Cognition) -> None:
    source = mind.episodic.store("A canary is a small bird")
    mind.semantic.learn("canary", "a small bird", by="ann", source=source)
    mind.semantic.store("bird", "an animal that flies")
    mind.semantic.support("bird", by="ann", source=source)
    mind.memory.erase(source)
    assert [one.name for one in mind.semantic.concepts()] == ["bird"]


def test_the_async_twins_do_the_same(mind: Cognition) -> None:
    async def work() -> float:
        await mind.semantic.astore("x", "some thing")
        await asyncio.gather(*(mind.semantic.asupport("x", by=str(n)) for n in range(5)))
        return (await mind.semantic.aget("x")).confidence

    assert asyncio.run(work()) == pytest.approx(9 / 10)


@pytest.mark.parametrize(
    "values",
    [
        ("", "x"), ("x", ""), ("x", None), (None, "x"), ("x", "y", 3), ("x", "y", [1]), ("x", "y", [], 1.0),
        ("x", "y", [], 0.0), ("x", "y", [], "high"),
    ],
)  # fmt: skip
def test_bad_values_store_nothing(mind: Cognition, values: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidInput):
        mind.semantic.store(*values)
    assert mind.semantic.concepts() == []


@pytest.mark.parametrize(("name", "secret"), [("银行卡密码", "887766"), ("wifi password", "hunter2xyz")])
def test_a_definition_that_is_a_secret_by_its_name_is_not_kept(mind: Cognition, name: str, secret: str) -> None:
    one = mind.semantic.store(name, secret)
    assert one.definition == "[password]"
    assert secret not in str(mind.memory.memories())
