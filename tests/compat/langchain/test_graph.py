from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.compat.langchain import (
    ChatMessageHistory,
    ConversationKGMemory,
    KnowledgeTriple,
    MemwellChatMessageHistory,
    NetworkxEntityGraph,
    PromptTemplate,
    SystemMessage,
    ThreadEntityGraph,
    parse_triples,
)
from memwell.errors import InvalidInput, ModelError
from memwell.storage.sharing import close_shared
from memwell.strategies.entities import Graph

NAMES = PromptTemplate.from_template("names|{history}|{input}")
FACTS = PromptTemplate.from_template("facts|{history}|{input}")
nodes = st.sampled_from(["Anna", "Bob", "Oslo", "Rome"])
triples = st.lists(
    st.tuples(nodes, st.sampled_from(["knows", "visited"]), nodes).map(KnowledgeTriple._make), max_size=10
)
GRAPHS: list[Any] = [NetworkxEntityGraph, lambda: ThreadEntityGraph(ChatMessageHistory().history)]


def turn(memory: Any, text: str) -> dict[str, Any]:
    memory.save_context({"input": text}, {"output": "ok"})
    return memory.load_memory_variables({"input": text})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "m.db")
    close_shared()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(Nevada, is a, state)", [("Nevada", "is a", "state")]),
        (" (a, b, c) <|> (d, e, f) ", [("a", "b", "c"), ("d", "e", "f")]),
        ("(a, b)<|>(a, b, c, d)<|>rubbish<|>(x, y, z)", [("x", "y", "z")]),
        ("NONE", []),
        ("  ", []),
        ("(安娜, 住在, 奥斯陆)", [("安娜", "住在", "奥斯陆")]),
    ],
)
def test_parse_triples(text: str, found: Any) -> None:
    assert parse_triples(text) == found


def test_a_triple_that_is_none() -> None:
    with pytest.raises(ValueError, match="subject, predicate, object"):
        KnowledgeTriple.from_string("(a, b)")


@pytest.mark.parametrize("make", GRAPHS)
@settings(max_examples=15)
@given(triples)
def test_a_graph_holds_the_facts_put_in(make: Any, given_triples: list[KnowledgeTriple]) -> None:
    graph = make()
    for one in given_triples:
        graph.add_triple(one)
    facts = set(given_triples)
    assert {(s, p, o) for s, o, p in graph.get_triples()} == facts
    assert len(graph.get_triples()) == len(facts)
    named = {one.subject for one in facts} | {one.object_ for one in facts}
    assert graph.get_number_of_nodes() == len(named)
    for node in named:
        known = {f"{s} {p} {o}" for s, p, o in facts if s == node and o != node}
        assert set(graph.get_entity_knowledge(node)) == known
        assert set(graph.get_neighbors(node)) == {o for s, _, o in facts if s == node}
        assert graph.has_node(node)
    for one in list(facts)[:2]:
        graph.delete_triple(one)
        facts.discard(one)
    assert {(s, p, o) for s, o, p in graph.get_triples()} == facts


@pytest.mark.parametrize("make", GRAPHS)
def test_nodes_and_edges(make: Any) -> None:
    graph = make()
    for text in ("(a, to, b)", "(b, to, c)", "(a, from, b)"):
        graph.add_triple(KnowledgeTriple.from_string(text))
    assert graph.get_entity_knowledge("a") == ["a to b", "a from b"]
    assert graph.get_entity_knowledge("a", depth=2) == ["a to b", "a from b", "b to c"]
    assert graph.get_entity_knowledge("nobody") == graph.get_entity_knowledge("a", depth=0) == []
    assert graph.get_topological_sort() == ["a", "b", "c"]
    assert graph.has_edge("a", "b")
    assert not graph.has_edge("b", "a")
    graph.remove_edge("a", "b")
    assert graph.get_triples() == [("b", "c", "to")]
    with pytest.raises(InvalidInput, match="no edge"):
        graph.remove_edge("a", "b")
    graph.add_node("d")
    assert graph.has_node("d")
    graph.remove_node("c")
    assert graph.get_triples() == []
    graph.add_triple(KnowledgeTriple("x", "to", "y"))
    graph.clear_edges()
    assert graph.has_node("x")
    assert graph.get_triples() == []
    graph.clear()
    assert graph.get_number_of_nodes() == 0


def test_a_circle_has_no_first() -> None:
    graph = NetworkxEntityGraph()
    for text in ("(a, to, b)", "(b, to, a)"):
        graph.add_triple(KnowledgeTriple.from_string(text))
    with pytest.raises(InvalidInput, match="circle"):
        graph.get_topological_sort()


def test_networkx(tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    drawn = networkx.DiGraph()
    drawn.add_edge("a", "b", relation="to")
    graph = NetworkxEntityGraph(drawn)
    assert graph.get_triples() == [("a", "b", "to")]
    graph.write_to_gml(str(tmp_path / "g.gml"))
    assert NetworkxEntityGraph.from_gml(str(tmp_path / "g.gml")).get_triples() == graph.get_triples()


def test_what_is_no_graph() -> None:
    with pytest.raises(ValueError, match="not of correct shape"):
        NetworkxEntityGraph({"a": "b"})


def test_without_a_model() -> None:
    memory = ConversationKGMemory()
    turn(memory, "Anna lives in Oslo.")
    turn(memory, "I work at Acme.")
    asked = {"input": "Where does Anna live, and where do I work?"}
    assert memory.load_memory_variables(asked)["history"].split("\n") == [
        "On Anna: Anna lives in Oslo.",
        "On user: user works at Acme.",
    ]
    assert memory.load_memory_variables({"input": "hello"}) == {"history": ""}
    memory.return_messages = True
    assert memory.load_memory_variables({"input": "Anna?"})["history"] == [
        SystemMessage("On Anna: Anna lives in Oslo.")
    ]
    assert memory.load_memory_variables({"input": "hello"}) == {"history": []}
    memory.clear()
    assert memory.load_memory_variables({"input": "Anna?"}) == {"history": []}


def test_without_a_model_a_move_ends_the_old_home() -> None:
    memory = ConversationKGMemory()
    turn(memory, "Anna lives in Oslo.")
    assert turn(memory, "Anna lives in Rome.") == {"history": "On Anna: Anna lives in Rome."}


def test_with_a_graph_of_ones_own() -> None:
    graph = NetworkxEntityGraph()
    memory = ConversationKGMemory(kg=graph)
    turn(memory, "Anna lives in Oslo.")
    assert graph.get_triples() == [("Anna", "Oslo", "lives in")]


def model(facts: str) -> Any:
    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "Anna" if prompt.startswith("names") else facts

    asked: list[str] = []
    answer.asked = asked
    return answer


def made(llm: Any, **fields: Any) -> ConversationKGMemory:
    return ConversationKGMemory(llm=llm, entity_extraction_prompt=NAMES, knowledge_extraction_prompt=FACTS, **fields)


def test_with_a_model() -> None:
    llm = model("(Anna, moved to, Oslo)<|>(Anna, teaches, physics)")
    memory = made(llm, k=1)
    assert turn(memory, "x") == {"history": "On Anna: Anna moved to Oslo. Anna teaches physics."}
    assert llm.asked == ["facts|Human: x\nAI: ok|x", "names|Human: x\nAI: ok|x"]
    assert turn(memory, "x") == {"history": "On Anna: Anna moved to Oslo. Anna teaches physics."}


@pytest.mark.parametrize("k", [0, -3])
def test_no_rounds_are_no_rounds(k: int) -> None:
    llm = model("NONE")
    turn(made(llm, k=k), "x")
    assert llm.asked == ["facts||x", "names||x"]


def test_a_model_that_fails() -> None:
    memory = made(model("(Anna, moved to, Oslo)"))
    turn(memory, "x")
    memory.llm = lambda prompt: 1 // 0
    with pytest.raises(ModelError):
        asyncio.run(memory.asave_context({"input": "y"}, {"output": "z"}))
    assert len(memory.chat_memory.messages) == 4
    assert memory.kg.get_triples() == [("Anna", "Oslo", "moved to")]


def test_facts_survive_a_restart_and_are_shared(store: str) -> None:
    def opened(llm: Any = None) -> ConversationKGMemory:
        return made(llm, chat_memory=MemwellChatMessageHistory("s", store))

    turn(opened(), "Anna lives in Oslo.")
    turn(opened(model("(Anna, teaches, physics)")), "x")
    close_shared()
    one, other = opened(), opened()
    expected = {"history": "On Anna: Anna lives in Oslo. Anna teaches physics."}
    assert one.load_memory_variables({"input": "Anna"}) == expected
    assert asyncio.run(other.aload_memory_variables({"input": "Anna"})) == expected
    assert len(Graph(MemwellChatMessageHistory("s", store).history).about("anna")) == 2


def test_bad_input() -> None:
    memory = ConversationKGMemory()
    for inputs in ({"a": "x", "b": "y"}, {"input": 3}, {}):
        with pytest.raises(InvalidInput):
            memory.load_memory_variables(inputs)
    with pytest.raises(InvalidInput, match="k must be"):
        ConversationKGMemory(k=None)
