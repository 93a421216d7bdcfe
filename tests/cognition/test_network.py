from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memwell.cognition import AugmentedModel, Cognition
from memwell.cognition.network import WorkingMemory, softmax
from memwell.errors import InvalidInput, NotFound
from memwell.testing.conformance.backend import in_threads


@pytest.fixture
def full(mind: Cognition) -> Cognition:
    mind.semantic.store("咖啡", "用咖啡豆做的饮料", related=["饮料"])
    mind.procedural.store("煮咖啡", ["磨豆", "烧水", "冲泡"], ["有咖啡豆"])
    mind.episodic.store("喝咖啡喝多了，睡不着", user="ann")
    mind.episodic.store("The bus was late", user="bob")
    mind.working.add("正在聊咖啡")
    return mind


def test_all_four_memories_answer_and_the_weights_add_up_to_one(full: Cognition) -> None:
    found = full.recall("咖啡", limit=10)
    assert {one.kind for one in found} == {"working", "episodic", "semantic", "procedural"}
    assert math.fsum(one.weight for one in found) == pytest.approx(1.0)
    assert [one.weight for one in found] == sorted((one.weight for one in found), reverse=True)
    assert all(one.why for one in found)
    assert found[-1].text == "The bus was late"


def test_a_user_hears_of_nobody_else(full: Cognition) -> None:
    full.episodic.store("a holiday in the office calendar")
    full.episodic.store("somebody without a name spoke", turn=True)

    def heard(user: str | None) -> set[str]:
        return {one.text for one in full.recall("bus 咖啡 holiday spoke", 20, user=user) if one.kind == "episodic"}

    assert heard("ann") == {"喝咖啡喝多了，睡不着", "a holiday in the office calendar"}
    assert heard("") == {"a holiday in the office calendar", "somebody without a name spoke"}
    assert len(heard(None)) == 4


def test_each_user_has_a_mind_of_their_own(full: Cognition) -> None:
    full.working_of("ann").add("咖啡太苦")
    full.working.add("now we talk of the budget")
    full.working.add("a turn of nobody", source=full.episodic.store("a turn of nobody", turn=True))
    assert next(one.text for one in full.recall("budget", user="ann", kinds="working")) == "now we talk of the budget"
    assert "a turn of nobody" not in [one.text for one in full.recall("nobody", user="ann", kinds="working")]
    assert "咖啡太苦" not in full.working
    assert "咖啡太苦" not in full.working_of("bob")
    assert full.working_of("") is full.working_of(None) is full.working
    assert full.working_of("ann") is full.working_of("ann")
    for number in range(300):
        full.working_of(f"user {number}")
    assert len(full.working_of("ann")) == 0


def test_what_was_erased_is_no_longer_in_mind(mind: Cognition) -> None:
    id_ = mind.episodic.store("the canary sang")
    mind.working.add("the canary sang", source=id_)
    assert [one.text for one in mind.recall("canary")] == ["the canary sang"]
    mind.memory.erase(id_)
    assert mind.recall("canary") == []
    assert len(mind.working) == 0


def test_what_has_shown_to_be_wrong_weighs_less(mind: Cognition) -> None:
    mind.semantic.store("tea one", "a drink of leaves")
    mind.semantic.store("tea two", "a drink of leaves")
    for number in range(9):
        mind.semantic.contradict("tea one", by=str(number))
    texts = [one.text for one in mind.recall("drink of leaves")]
    assert texts == ["tea two — a drink of leaves", "tea one — a drink of leaves"]


def test_plain_recall_finds_them_too_and_other_memories_are_left_out(full: Cognition) -> None:
    full.memory.remember("我喜欢咖啡")
    assert {hit.kind for hit in full.memory.recall("咖啡")} >= {"memory", "concept", "procedure", "episode"}
    assert all(one.text != "我喜欢咖啡" for one in full.recall("咖啡", 20))


@pytest.mark.parametrize("kind", ["episode", "concept", "procedure"])
def test_memories_of_others_of_the_same_kind_are_no_trouble(mind: Cognition, kind: str) -> None:
    for kept in (None, "tea", 3, {"name": 3}, {"emotion": []}, [1]):
        id_ = mind.memory.remember(f"somebody's own tea {kept}", kind=kind, metadata={kind: kept}).id
        assert mind.recall("tea") == [], kept
        assert (mind.semantic.concepts(), mind.procedural.procedures(), mind.episodic.timeline()) == ([], [], []), kept
        assert mind.semantic.recall("tea") == mind.procedural.recall("tea") == mind.episodic.recall("tea") == [], kept
        assert mind.memory.get(id_).kind == kind, kept


def test_some_of_the_memories_may_be_asked(full: Cognition) -> None:
    assert {one.kind for one in full.recall("咖啡", kinds="working")} == {"working"}
    found = full.recall("咖啡", kinds=["semantic", "procedural"])
    assert {one.kind for one in found} == {"semantic", "procedural"}
    assert math.fsum(one.weight for one in found) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "values",
    [
        {"query": 3}, {"query": "x", "limit": -1}, {"query": "x", "temperature": 0}, {"query": "x", "kinds": "dreams"},
        {"query": "x", "kinds": 3}, {"query": "x", "user": 3},
    ],
)  # fmt: skip
def test_bad_values_are_refused(mind: Cognition, values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        mind.recall(**values)
    with pytest.raises(InvalidInput):
        Cognition(mind.memory, capacity=0)


# An earlier question is no answer, and takes no answer's place.

REMARKS = [
    "The bus was late again.", "It rained in the afternoon.", "The soup tasted of salt.", "Somebody sang outside.",
    "今天的会议很长。", "午饭吃了面条。", "地铁很挤。", "The lift is slow.", "Trains were on time.", "邻居搬走了。",
]  # fmt: skip


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


def test_who_says_the_same_again_is_not_told_it_first(mind: Cognition) -> None:
    mind.episodic.store("I like tea", user="a", turn=True)
    mind.episodic.store("green tea was bought", user="a")
    assert [one.text for one in mind.recall("I like tea", user="a")] == ["green tea was bought", "I like tea"]
    mind.episodic.store("the canary sang")
    assert mind.recall("the canary sang", user="a")[0].text == "the canary sang"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2024, 5, 7, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def tick(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def test_seven_things_are_held_and_the_oldest_of_equals_goes() -> None:
    held = WorkingMemory()
    assert [held.add(f"item {n}") for n in range(7)] == [None] * 7
    assert held.add("item 7") == "item 0"
    assert held.items() == [f"item {n}" for n in range(1, 8)]


def test_what_is_attended_to_stays() -> None:
    clock = Clock()
    held = WorkingMemory(2, half_life_s=60, clock=clock)
    held.add("the goal", attention=5.0)
    clock.tick(30)
    held.add("a noise", attention=0.1)
    assert held.add("a word") == "a noise"
    assert [one.item for one in held.active()] == ["the goal", "a word"]


def test_attention_fades_by_half_in_a_half_life() -> None:
    clock = Clock()
    held = WorkingMemory(half_life_s=60, clock=clock)
    held.add("old", attention=1.0)
    clock.tick(60)
    held.add("new", attention=0.6)
    assert [(one.item, one.activation) for one in held.active()] == [("new", 0.6), ("old", 0.5)]
    assert held.attend("old", 0.25).activation == 0.75
    assert [one.item for one in held.active(limit=1)] == ["old"]
    assert held.attend("old", -2).activation == 0.0


def test_what_is_said_again_is_held_once() -> None:
    held = WorkingMemory(2)
    held.add("猫", source="m1")
    held.add("dog")
    assert held.add("猫") is None
    assert held.items() == ["dog", "猫"]
    assert next(one.source for one in held.active() if one.item == "猫") == "m1"
    assert held.drop("dog")
    assert not held.drop("dog")
    held.clear()
    assert len(held) == 0


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 20), st.floats(0, 10), st.floats(0, 1e6)), max_size=60))
def test_capacity_is_never_exceeded_and_what_was_just_added_is_there(
    capacity: int, steps: list[tuple[int, float, float]]
) -> None:
    clock = Clock()
    held = WorkingMemory(capacity, clock=clock)
    expected: set[int] = set()
    for item, attention, wait in steps:
        clock.tick(wait)
        evicted = held.add(item, attention)
        expected.add(item)
        expected.discard(-1 if evicted is None else evicted)
        assert len(held) <= capacity
        assert item in held
        assert set(held.items()) == expected
        levels = [one.activation for one in held.active()]
        assert levels == sorted(levels, reverse=True)


def test_eight_threads_share_one() -> None:
    held = WorkingMemory(5)
    evicted: list[int] = []

    def work(number: int) -> None:
        for step in range(200):
            gone = held.add(number * 1000 + step)
            if gone is not None:
                evicted.append(gone)
            held.active()

    in_threads(8, work)
    assert len(held) == 5
    assert len(set(evicted)) == len(evicted) == 8 * 200 - 5
    assert not set(evicted) & set(held.items())


@pytest.mark.parametrize("attention", [-1, 1001, math.nan, "much", True])
def test_attention_has_bounds(attention: Any) -> None:
    with pytest.raises(InvalidInput, match="attention"):
        WorkingMemory().add("x", attention)


def test_other_bad_values() -> None:
    with pytest.raises(InvalidInput, match="capacity"):
        WorkingMemory(0)
    with pytest.raises(InvalidInput, match="half_life_s"):
        WorkingMemory(half_life_s=0)
    with pytest.raises(NotFound, match="'x'"):
        WorkingMemory().attend("x")
    with pytest.raises(InvalidInput, match="finite"):
        WorkingMemory().attend("x", math.inf)


SCORES = st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=50)
TEMPERATURES = st.floats(1e-6, 1e6)


@given(SCORES, TEMPERATURES)
def test_weights_add_up_to_one_and_a_higher_score_never_weighs_less(scores: list[float], temperature: float) -> None:
    weights = softmax(scores, temperature)
    assert math.isclose(math.fsum(weights), 1.0, rel_tol=1e-12)
    assert min(weights) >= 0.0
    assert [weight for _, weight in sorted(zip(scores, weights, strict=True))] == sorted(weights)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=10, unique=True))
def test_the_best_has_the_more_the_colder_it_is(scores: list[float]) -> None:
    best = scores.index(max(scores))
    warm, cool = softmax(scores, 2.0)[best], softmax(scores, 0.5)[best]
    assert cool >= warm > 0


@pytest.mark.parametrize("score", [math.nan, math.inf, "1", None, True, 10**400])
def test_what_is_no_number_is_refused(score: Any) -> None:
    with pytest.raises(InvalidInput, match="finite number"):
        softmax([0.0, score])


@pytest.mark.parametrize("temperature", [0, -1.0, math.nan, math.inf, "hot", True])
def test_a_temperature_is_above_zero(temperature: Any) -> None:
    with pytest.raises(InvalidInput, match="temperature"):
        softmax([1.0], temperature)
