from __future__ import annotations

import asyncio
import itertools
import threading
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.cognition import Belief, Cognition, semantic
from memwell.cognition.named import NamedMemories
from memwell.cognition.semantic import (
    MOST_EVIDENCE,
    ConceptGraph,
    Edge,
    KeptConcept,
    Node,
    Related,
    SemanticMemory,
    as_concept,
    concept_draft,
    is_groundless,
    says_same,
)
from memwell.errors import InvalidInput, NotFound
from memwell.longterm.memory import Memory
from memwell.storage import open_backend

NOON = datetime(2024, 5, 7, 12, tzinfo=UTC)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=8))
def test_a_belief_without_what_is_gone_is_that_of_the_rest(heard: list[tuple[bool, bool]]) -> None:

    with open_backend("memory:") as backend:
        named = NamedMemories(Memory(backend, "ann", embedder=None), "concept", KeptConcept)
        belief, rest = Belief(0.8, 5.0), Belief(0.8, 5.0)
        evidence: list[semantic.Testimony] = []
        for number, (supports, stays) in enumerate(heard):
            evidence.append(semantic.Testimony(f"{number}", supports, NOON, "here" if stays else "gone"))
            belief = belief.seen(supports)
            rest = rest.seen(supports) if stays else rest
        kept = KeptConcept("tea", "a drink", belief=belief, evidence=tuple(evidence))
        found = named.change("tea", lambda old: concept_draft(kept, "stored", ()))
        assert as_concept(found).belief == belief
        seen = as_concept(found, {"gone"})
        assert seen.belief == rest
        assert {one.source for one in seen.evidence} <= {"here"}


def test_what_was_stated_stands_whatever_it_was_heard_from(mind: Cognition) -> None:
    turn = mind.episodic.store("A canary is a bird")
    mind.semantic.learn("canary", "a bird", by="ann", source=turn)
    found = mind.memory.get(mind.semantic.get("canary").id)
    assert is_groundless(found, {turn})
    assert not is_groundless(found, set())
    mind.memory.forget(turn)
    assert mind.semantic.concepts() == []
    mind.semantic.store("canary", "a bird")
    assert [one.name for one in mind.semantic.concepts()] == ["canary"]


def test_definitions_say_the_same_in_other_words() -> None:
    assert says_same("a red planet", "The red planet.")
    assert says_same("一种检索增强生成技术", "检索增强生成技术")
    assert not says_same("a red planet", "a chocolate bar")


NAMES = st.integers(0, 9).map(lambda number: f"概念 {number}")
EDGES = st.lists(st.tuples(NAMES, NAMES).filter(lambda ends: ends[0] != ends[1]), max_size=20)


def graph_of(edges: list[tuple[str, str]]) -> ConceptGraph:
    names = sorted({name for ends in edges for name in ends})
    return ConceptGraph([Node(name) for name in names], [Edge(*ends) for ends in edges])


def test_what_is_near_comes_first_and_edges_lead_both_ways() -> None:
    graph = graph_of([("a", "b"), ("b", "c"), ("c", "d")])
    assert graph.related("B", 2) == [Related("a", 1), Related("c", 1), Related("d", 2)]
    assert graph.related("nowhere") == []
    assert graph.path("d", "a") == ["d", "c", "b", "a"]
    assert graph.path("a", "a") == ["a"]
    assert graph.path("a", "nowhere") == graph.path("nowhere", "a") == []


@given(EDGES, NAMES, NAMES)
def test_a_path_is_made_of_edges_and_as_long_as_the_distance(
    edges: list[tuple[str, str]], start: str, end: str
) -> None:
    graph = graph_of(edges)
    path = graph.path(start, end)
    beside = {frozenset(ends) for ends in edges}
    assert all(frozenset(step) in beside for step in itertools.pairwise(path))
    if path:
        assert (path[0], path[-1]) == (start, end)
        distances = {one.name: one.distance for one in graph.related(start, 99)}
        assert distances.get(end, 0) == len(path) - 1


def test_mermaid_draws_names_as_text() -> None:
    graph = ConceptGraph([Node('a "b" <i>]', 0.8), Node("记忆 #1")], [Edge('a "b" <i>]', "记忆 #1")])
    assert graph.mermaid().split("\n") == [
        "graph LR",
        '    n0["a #quot;b#quot; #lt;i#gt;]<br/>0.80"]',
        '    n1["记忆 #35;1"]:::undefined',
        "    n0 --- n1",
        "    classDef undefined stroke-dasharray: 4 3",
    ]
    assert ConceptGraph([], []).mermaid() == "graph LR"


def test_a_depth_is_at_least_one() -> None:
    with pytest.raises(InvalidInput, match="depth"):
        graph_of([]).related("a", 0)


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

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.name for one in mind.semantic.concepts()] == ["tea"]
    assert sum(one.kind == "concept" for one in mind.memory.memories()) == 2


def test_ids_tell_neither_user_nor_name(mind: Cognition) -> None:
    one = mind.semantic.learn("heron", "a merger", by="ann", user="ann")
    assert "ann" not in one.id
    assert "heron" not in one.id
    with pytest.raises(InvalidInput):
        mind.semantic.learn("heron", "a merger", by="ann", user=3)  # type: ignore[arg-type]


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


@given(st.lists(st.booleans(), max_size=12), st.floats(0.01, 0.99))
@settings(max_examples=15)
def test_confidence_is_within_bounds_and_moves_one_way(evidence: list[bool], confidence: float) -> None:
    with open_backend("memory:") as backend:
        semantic = SemanticMemory(Memory(backend, "ann"))
        before = semantic.store("x", "some thing", confidence=confidence).confidence
        for supports in evidence:
            after = (semantic.support if supports else semantic.contradict)("x").confidence
            assert 0 < after < 1
            assert after > before if supports else after < before
            before = after
        assert semantic.get("x").belief.observations == len(evidence)


def test_eight_threads_that_support_one_concept_lose_nothing(mind: Cognition) -> None:
    mind.semantic.store("water", "水是生命之源")
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(10):
                mind.semantic.support("water", by=f"{number}/{step}")
            mind.semantic.contradict("water", by=f"{number}")
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one = mind.semantic.get("water")
    assert not failures
    assert (one.belief.support, one.belief.against) == (80, 8)
    assert one.confidence == pytest.approx((4 + 80) / (5 + 88))
    assert len(one.evidence) == MOST_EVIDENCE


def test_eight_threads_that_store_one_concept_store_one(mind: Cognition) -> None:
    threads = [threading.Thread(target=mind.semantic.store, args=("tea", "a drink")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.name for one in mind.semantic.concepts()] == ["tea"]


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


def test_related_concepts_form_a_graph(mind: Cognition) -> None:
    mind.semantic.store("大模型", "参数很多的语言模型", related=["注意力", "记忆"])
    mind.semantic.store("RAG", "先检索再生成", related=["检索", "记忆"])
    assert [one.name for one in mind.semantic.related("记忆")] == ["大模型", "RAG"]
    assert mind.semantic.path("检索", "注意力") == ["检索", "RAG", "记忆", "大模型", "注意力"]
    assert mind.semantic.path("检索", "月亮") == []
    graph = mind.semantic.graph()
    assert [node.name for node in graph.nodes] == ["大模型", "RAG", "注意力", "记忆", "检索"]
    assert len(graph.edges) == 4
    assert "大模型<br/>0.80" in graph.mermaid()
    with pytest.raises(NotFound):
        mind.semantic.related("月亮")


def test_two_that_name_each_other_have_one_edge_and_none_leads_to_itself(mind: Cognition) -> None:
    mind.semantic.store("a", "the first letter", related=["b", "A", "B"])
    mind.semantic.store("b", "the second letter", related=["a"])
    assert [(edge.source, edge.target) for edge in mind.semantic.graph().edges] in ([("a", "b")], [("a", "B")])


def test_the_surer_of_two_comes_first(mind: Cognition) -> None:
    mind.semantic.store("drink one", "a hot drink of leaves", confidence=0.2)
    mind.semantic.store("drink two", "a hot drink of leaves", confidence=0.95)
    assert [one.name for one in mind.semantic.recall("hot drink of leaves")] == ["drink two", "drink one"]


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
        ("", "x"),
        ("x", ""),
        ("x", None),
        (None, "x"),
        ("x", "y", 3),
        ("x", "y", [1]),
        ("x", "y", [], 1.0),
        ("x", "y", [], 0.0),
        ("x", "y", [], "high"),
    ],
)
def test_bad_values_store_nothing(mind: Cognition, values: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidInput):
        mind.semantic.store(*values)
    assert mind.semantic.concepts() == []


@pytest.mark.parametrize(("name", "secret"), [("银行卡密码", "887766"), ("wifi password", "hunter2xyz")])
def test_a_definition_that_is_a_secret_by_its_name_is_not_kept(mind: Cognition, name: str, secret: str) -> None:
    one = mind.semantic.store(name, secret)
    assert one.definition == "[password]"
    assert secret not in str(mind.memory.memories())


def test_what_is_not_known_has_no_evidence(mind: Cognition) -> None:
    for call in (mind.semantic.support, mind.semantic.contradict, mind.semantic.get):
        with pytest.raises(NotFound, match="月亮"):
            call("月亮")
    with pytest.raises(InvalidInput):
        mind.semantic.support("月亮", by=None)  # type: ignore[arg-type]
