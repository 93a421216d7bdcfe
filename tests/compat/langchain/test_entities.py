"""Notes on names and facts: their stores, the memories that write them, and the strategies that read them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memwell.compat.langchain import (
    BaseEntityStore,
    ChatMessageHistory,
    ConversationEntityMemory,
    ConversationKGMemory,
    EntityInfo,
    HumanMessage,
    InMemoryEntityStore,
    KnowledgeTriple,
    MemwellChatMessageHistory,
    NetworkxEntityGraph,
    PromptTemplate,
    SQLiteEntityStore,
    SystemMessage,
    ThreadEntityStore,
    parse_triples,
)
from memwell.errors import InvalidInput, ModelError
from memwell.storage.registry import close_shared
from memwell.strategies import Entities, Graph

NAMES = PromptTemplate.from_template("names|{history}|{input}")
DESCRIBE = PromptTemplate.from_template("note|{entity}|{summary}|{history}|{input}")
FACTS = PromptTemplate.from_template("facts|{history}|{input}")


class Model:
    """Answers a question for names and for facts with those given, and one for a note with the old note and a star."""

    def __init__(self, names: str = "Anna, Oslo", facts: str = "NONE", fail_on: str = "-") -> None:
        self.answers = {"names": names, "facts": facts}
        self.fail_on = fail_on
        self.asked: list[str] = []

    def invoke(self, prompt: str) -> str:
        self.asked.append(prompt)
        kind, entity, summary, *_ = prompt.split("|")
        if entity == self.fail_on:
            raise RuntimeError("no answer")
        return self.answers.get(kind, f" {summary}*\n")


def made(llm: Any = None, **fields: Any) -> ConversationEntityMemory:
    return ConversationEntityMemory(
        llm=llm or Model(), entity_extraction_prompt=NAMES, entity_summarization_prompt=DESCRIBE, **fields
    )


def made_graph(llm: Any, **fields: Any) -> ConversationKGMemory:
    return ConversationKGMemory(llm=llm, entity_extraction_prompt=NAMES, knowledge_extraction_prompt=FACTS, **fields)


def turn(memory: Any, text: str = "Anna is in Oslo") -> dict[str, Any]:
    loaded = memory.load_memory_variables({"input": text})
    memory.save_context({"input": text}, {"output": "ok"})
    return loaded


def learnt(memory: Any, text: str) -> dict[str, Any]:
    memory.save_context({"input": text}, {"output": "ok"})
    return memory.load_memory_variables({"input": text})


@pytest.fixture(params=["memory", "sqlite", "thread"])
def store(request: pytest.FixtureRequest, path: str) -> BaseEntityStore:
    if request.param == "sqlite":
        return SQLiteEntityStore(db_file=path)
    return InMemoryEntityStore() if request.param == "memory" else ThreadEntityStore(ChatMessageHistory().history)


def test_texts_by_name(store: BaseEntityStore) -> None:
    assert (store.get("小明"), store.get("小明", "?"), store.exists("小明")) == (None, "?", False)
    store.set("小明", "住在北京")
    store.set("Ann", "a pilot")
    store.set("Ann", "a painter")
    assert (store.get("小明"), store.get("Ann"), store.exists("Ann")) == ("住在北京", "a painter", True)
    asyncio.run(store.adelete("Ann"))
    assert (store.get("Ann"), asyncio.run(store.aexists("小明"))) == (None, True)
    store.set("小明", None)
    assert store.exists("小明") is not isinstance(store, SQLiteEntityStore)
    if isinstance(store, SQLiteEntityStore):
        store.delete("missing")
    else:
        with pytest.raises(KeyError):
            store.delete("missing")
    store.clear()
    assert not store.exists("小明")


def test_sessions_and_tables_are_separate(path: str) -> None:
    one, two = SQLiteEntityStore("one", path), SQLiteEntityStore("two", path)
    three = SQLiteEntityStore("one", path, "other")
    for number in range(120):
        one.set(f"e{number}", "x")
    two.set("e0", "y")
    three.set("e0", "z")
    one.clear()
    close_shared()
    assert SQLiteEntityStore("one", path).get("e0") is None
    assert (SQLiteEntityStore("two", path).get("e0"), SQLiteEntityStore("one", path, "other").get("e0")) == ("y", "z")
    for session, table in (("a-b", "t"), ("a", "t; drop"), ("", "t"), ("1a", "t")):
        with pytest.raises(ValueError, match="Table name and session ID must be valid Python identifiers"):
            SQLiteEntityStore(session, "never.db", table)


def test_the_store_of_a_conversation_is_a_mapping() -> None:
    store = ThreadEntityStore(ChatMessageHistory().history)
    assert (len(store), bool(store)) == (0, True)
    store.set("Anna", "a doctor")
    store.set("ANNA", "a dentist")
    store.set("Bob", None)
    assert store.store == {"Anna": "a dentist", "Bob": ""}
    assert "anna" in store
    assert sorted(store) == ["Anna", "Bob"]
    assert store["Anna"].update_count == 2
    with pytest.raises(LookupError, match="'Carl'"):
        _ = store["Carl"]


def test_entity_info_by_itself() -> None:
    info = EntityInfo("Anna")
    info.initialize_info("Anna is a doctor. It rains.")
    info.update_info("Anna moved to Oslo.", None)
    assert info.info.split() == "Anna is a doctor. Anna moved to Oslo.".split()
    seen: list[str] = []
    before = info.info
    prompt = PromptTemplate.from_template("{entity}|{existing_info}|{new_context}")
    info.update_info("new", lambda asked: seen.append(asked) or " all about her ", prompt)
    assert seen == [f"Anna|{before}|new"]
    with pytest.raises(ModelError):
        info.update_info("x", lambda prompt: 1 // 0)
    assert (info.info, info.update_count, info.context_count, len(info.contexts)) == ("all about her", 3, 3, 3)


@pytest.mark.parametrize("kind", ["thread", "memory", "sqlite"])
def test_stats_and_infos_over_any_store(kind: str, path: str) -> None:
    stores: dict[str, Any] = {"memory": InMemoryEntityStore, "sqlite": lambda: SQLiteEntityStore(db_file=path)}
    memory = made(**({} if kind == "thread" else {"entity_store": stores[kind]()}))
    turn(memory)
    turn(memory)
    assert memory.get_entity_stats() == {
        "total_entities": 2, "active_entities": 2, "entity_updates": 2, "extraction_calls": 2,
        "memory_type": "ConversationEntityMemory",
    }  # fmt: skip
    info = memory.get_entity_info("Anna")
    assert info is not None
    told = info.to_dict()
    assert {key: told[key] for key in ("name", "info", "context_count", "update_count")} == {
        "name": "Anna",
        "info": "**",
        "context_count": 2,
        "update_count": 2,
    }
    assert told["last_updated"] >= told["created_at"]
    assert memory.get_entity_info("Nobody") is None
    memory.clear()
    assert (memory.entity_store.exists("Anna"), memory.get_entity_stats()["total_entities"]) == (False, 0)


def test_a_turn_saved_without_loading_is_searched_itself() -> None:
    memory = made(Model("Anna"))
    memory.save_context({"input": "Anna is here"}, {"output": "ok"})
    assert memory.llm.asked[0] == "names|Human: Anna is here\nAI: ok|Anna is here"
    assert memory.entity_store.get("Anna") == "*"
    # A cache that is given is for the next turn.
    cached = made(Model("never"), entity_cache=["Bob"])
    cached.save_context({"input": "x"}, {"output": "y"})
    assert cached.entity_store.get("Bob") == "*"


def test_a_model_that_fails_or_answers_nothing_changes_no_note() -> None:
    memory = made()
    turn(memory)
    memory.llm = Model(fail_on="Oslo")
    with pytest.raises(ModelError, match="no answer"):
        turn(memory)
    assert len(memory.buffer) == 4
    memory.llm = lambda prompt: "Anna" if prompt.startswith("names") else " "
    turn(memory)
    store: Any = memory.entity_store
    assert store.store == {"Anna": "*", "Oslo": "*"}


def test_without_a_model_in_two_languages() -> None:
    memory = ConversationEntityMemory()
    turn(memory, "Anna moved to Oslo. She likes it.")
    turn(memory, "我的朋友李娜在上海的医院工作。")
    loaded = memory.load_memory_variables({"input": "Where is anna, and what does 李娜 do?"})
    assert loaded["entities"]["Anna"] == "Anna moved to Oslo."
    assert loaded["entities"]["李娜"] == "我的朋友李娜在上海的医院工作。"


def test_notes_survive_a_restart_and_are_shared_with_the_strategy(path: str) -> None:
    def opened() -> ConversationEntityMemory:
        return made(chat_memory=MemwellChatMessageHistory("s", path))

    turn(opened())
    close_shared()
    one, other = opened(), opened()
    asyncio.run(one.aload_memory_variables({"input": "x"}))
    asyncio.run(one.asave_context({"input": "x"}, {"output": "y"}))
    assert other.load_memory_variables({"input": "x"})["entities"] == {"Anna": "**", "Oslo": "**"}
    notes = Entities(MemwellChatMessageHistory("s", path).history).notes("anna")
    assert notes is not None
    assert (notes.name, notes.notes, notes.updates) == ("Anna", "**", 2)
    chat = ChatMessageHistory([HumanMessage("Anna is a doctor."), HumanMessage("Anna lives in Oslo.")])
    Entities(chat.history).observe()
    info = ThreadEntityStore(chat.history)["Anna"]
    assert (info.context_count, info.contexts) == (2, ["Anna is a doctor.", "Anna lives in Oslo."])


def test_the_last_texts_that_named_something_are_kept(path: str) -> None:
    memory = made(chat_memory=MemwellChatMessageHistory("s", path))
    for number in range(12):
        turn(memory, f"Anna is in Oslo {number}" + "!" * 5000)
    close_shared()
    memory = made(chat_memory=MemwellChatMessageHistory("s", path))
    again = memory.get_entity_info("anna")
    assert again is not None
    assert [text.partition("!")[0] for text in again.contexts] == [f"Anna is in Oslo {n}" for n in range(2, 12)]
    assert all(len(text) <= 1000 for text in again.contexts)
    memory.entity_store.set("Anna", "a doctor")
    by_hand = memory.get_entity_info("Anna")
    assert by_hand is not None
    assert (by_hand.info, by_hand.context_count, by_hand.contexts) == ("a doctor", 12, again.contexts)


nodes = st.sampled_from(["Anna", "Bob", "Oslo", "Rome"])
triples = st.lists(
    st.tuples(nodes, st.sampled_from(["knows", "visited"]), nodes).map(KnowledgeTriple._make), max_size=10
)


@settings(max_examples=15)
@given(triples)
def test_a_graph_holds_the_facts_put_in(given_triples: list[KnowledgeTriple]) -> None:
    graph = NetworkxEntityGraph()
    for one in given_triples:
        graph.add_triple(one)
    facts = set(given_triples)
    assert sorted((s, p, o) for s, o, p in graph.get_triples()) == sorted(facts)
    for node in ("Anna", "Bob", "Oslo", "nobody"):
        known = {f"{s} {p} {o}" for s, p, o in facts if s == node and o != node}
        assert set(graph.get_entity_knowledge(node)) == known
    for one in list(facts)[:2]:
        graph.delete_triple(one)
        facts.discard(one)
    assert {(s, p, o) for s, o, p in graph.get_triples()} == facts
    graph.clear()
    assert graph.get_triples() == []


TRIPLES: dict[str, list[tuple[str, str, str]]] = {
    "(Nevada, is a, state)": [("Nevada", "is a", "state")],
    " (a, b, c) <|> (d, e, f) ": [("a", "b", "c"), ("d", "e", "f")],
    "(a, b)<|>(a, b, c, d)<|>rubbish<|>(a, b), <|>(x, y, z)": [("x", "y", "z")],
    "NONE": [], "  ": [], "(安娜, 住在, 奥斯陆)": [("安娜", "住在", "奥斯陆")],
}  # fmt: skip


def test_triples_are_read_and_found_by_depth() -> None:
    assert {text: parse_triples(text) for text in TRIPLES} == TRIPLES
    graph = NetworkxEntityGraph()
    for text in ("(a, to, b)", "(b, to, c)", "(a, from, b)"):
        graph.add_triple(KnowledgeTriple.from_string(text))
    assert graph.get_entity_knowledge("a") == ["a to b", "a from b"]
    assert graph.get_entity_knowledge("a", depth=2) == ["a to b", "a from b", "b to c"]
    assert graph.get_entity_knowledge("a", depth=0) == []
    with pytest.raises(ValueError, match="subject, predicate, object"):
        KnowledgeTriple.from_string("(a, b)")


def test_facts_without_a_model() -> None:
    memory = ConversationKGMemory()
    learnt(memory, "Anna lives in Oslo.")
    assert learnt(memory, "Anna lives in Rome.") == {"history": "On Anna: Anna lives in Rome."}
    learnt(memory, "I work at Acme.")
    asked = {"input": "Where does Anna live, and where do I work?"}
    assert memory.load_memory_variables(asked)["history"].split("\n") == [
        "On Anna: Anna lives in Rome.",
        "On user: user works at Acme.",
    ]
    assert memory.load_memory_variables({"input": "hello"}) == {"history": ""}
    memory.return_messages = True
    expected = [SystemMessage("On Anna: Anna lives in Rome.")]
    assert memory.load_memory_variables({"input": "Anna?"}) == {"history": expected}
    memory.clear()
    assert memory.load_memory_variables({"input": "Anna?"}) == {"history": []}
    graph = NetworkxEntityGraph()
    learnt(ConversationKGMemory(kg=graph), "Anna lives in Oslo.")
    assert graph.get_triples() == [("Anna", "Oslo", "lives in")]


def test_facts_with_a_model() -> None:
    llm = Model("Anna", "(Anna, moved to, Oslo)<|>(Anna, teaches, physics)")
    memory = made_graph(llm, k=1)
    for _ in range(2):
        assert learnt(memory, "x") == {"history": "On Anna: Anna moved to Oslo. Anna teaches physics."}
    assert llm.asked[:2] == ["facts|Human: x\nAI: ok|x", "names|Human: x\nAI: ok|x"]
    memory.llm = lambda prompt: 1 // 0
    with pytest.raises(ModelError):
        asyncio.run(memory.asave_context({"input": "y"}, {"output": "z"}))
    assert (len(memory.chat_memory.messages), len(memory.kg.get_triples())) == (6, 2)


def test_facts_survive_a_restart_and_are_shared(path: str) -> None:
    def opened(llm: Any = None) -> ConversationKGMemory:
        return made_graph(llm, chat_memory=MemwellChatMessageHistory("s", path))

    learnt(opened(), "Anna lives in Oslo.")
    learnt(opened(Model("Anna", "(Anna, teaches, physics)")), "x")
    close_shared()
    one, other = opened(), opened()
    expected = {"history": "On Anna: Anna lives in Oslo. Anna teaches physics."}
    assert one.load_memory_variables({"input": "Anna"}) == expected
    assert asyncio.run(other.aload_memory_variables({"input": "Anna"})) == expected
    assert len(Graph(MemwellChatMessageHistory("s", path).history).about("anna")) == 2


@pytest.mark.parametrize("kind", [ConversationEntityMemory, ConversationKGMemory])
def test_bad_input(kind: Any) -> None:
    for inputs in ({"a": "x", "b": "y"}, {"input": 3}, {}):
        with pytest.raises(InvalidInput):
            kind().load_memory_variables(inputs)
    with pytest.raises(InvalidInput, match="k must be"):
        kind(k=None)
