"""Memories over retrievers: what they store, find and cache."""

from __future__ import annotations

import asyncio
import re
from datetime import datetime
from typing import Any

import pytest

from memwell.compat.langchain import (
    AIMessage,
    Document,
    HumanMessage,
    MemwellVectorStore,
    VectorStoreRetrieverMemory,
)
from memwell.errors import InvalidInput, Unsupported
from memwell.models.scripted import HashEmbedder


@pytest.mark.parametrize("embedder", [None, HashEmbedder()])
def test_what_is_stored_is_found(embedder: Any) -> None:
    store = MemwellVectorStore(embedder=embedder)
    ids = store.add_texts(["I like pizza.", "我喜欢足球。", "asdf asdf"], [{"n": 1}, {"n": 2}, {"n": 3}])
    [found] = store.similarity_search("what about pizza", k=1)
    assert found == Document("I like pizza.", {"n": 1}, id=ids[0])
    assert store.similarity_search("足球", k=1)[0].page_content == "我喜欢足球。"
    assert store.similarity_search("  ") == []


def test_an_id_that_is_there_is_written_over() -> None:
    store = MemwellVectorStore(embedder=None)
    assert store.add_documents([Document("red apple", id="a"), Document("green pear")])[0] == "a"
    store.add_documents([Document("blue plum", {"x": 1}, id="a")])
    with pytest.raises(InvalidInput):
        store.add_documents([Document("never", {"x": object()}, id="a")])
    assert store.similarity_search("blue plum", k=1) == [Document("blue plum", {"x": 1}, id="a")]
    assert (
        store.similarity_search("apple", k=1) == [] or "apple" not in store.similarity_search("apple")[0].page_content
    )


def test_deleting() -> None:
    store = MemwellVectorStore(embedder=None)
    [one, other] = store.add_texts(["red apple", "green apple"])
    assert store.delete([one, "nothing"])
    assert [document.id for document in store.similarity_search("apple")] == [other]
    before = store.version()
    store.delete_collection()
    assert store.similarity_search("apple") == []
    assert store.version() != before


def test_retrievers_over_any_embeddings() -> None:
    theirs = pytest.importorskip("langchain_core.embeddings").DeterministicFakeEmbedding(size=16)
    for embeddings in (None, theirs):
        store = MemwellVectorStore(embedder=embeddings)
        store.add_texts(["red apple", "green apple"])
        retriever = store.as_retriever(search_kwargs={"k": 1})
        assert len(retriever.invoke("apple")) == len(retriever.get_relevant_documents("apple")) == 1
        assert retriever.invoke("red apple")[0].page_content == "red apple"


def test_bad_input() -> None:
    store = MemwellVectorStore(embedder=None)
    for call in (
        lambda: store.add_texts(["a"], []),
        lambda: store.add_texts(["a"], ids=["x", "y"]),
        lambda: store.add_texts([3]),  # pyright: ignore[reportArgumentType]
        lambda: store.similarity_search("x", k=-1),
    ):
        with pytest.raises(InvalidInput):
            call()
    assert store.similarity_search("a") == []


class Listed:
    """As little of a vector store as a program may have: newest first, whatever is asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.metadatas: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.vectorstore = self

    def add_texts(self, texts: list[str], metadatas: list[dict[str, Any]]) -> None:
        self.texts += texts
        self.metadatas += metadatas

    def get_relevant_documents(self, query: str) -> list[Document]:
        self.asked.append(query)
        return [Document(text) for text in reversed(self.texts)]


def ours(k: int = 1) -> Any:
    return MemwellVectorStore(embedder=None).as_retriever(search_kwargs={"k": k})


def test_documents() -> None:
    theirs = pytest.importorskip("langchain_core.documents")
    assert Document("x", {"a": 1}) == theirs.Document("x", metadata={"a": 1})
    assert Document("x") != Document("x", id="1")
    assert Document("x") != "x"
    every: list[dict[str, Any]] = [{}, {"metadata": {"a": [1]}}, {"id": "7"}]
    for fields in every:
        mine, other = Document("你\n'x'", **fields), theirs.Document("你\n'x'", **fields)
        assert (str(mine), repr(mine)) == (str(other), repr(other))
    with pytest.raises(InvalidInput):
        Document(3)  # pyright: ignore[reportArgumentType]


def test_turns_are_found_by_what_they_say() -> None:
    memory = VectorStoreRetrieverMemory(retriever=ours())
    memory.save_context({"input": "My favourite food is pizza"}, {"output": "that is good to know"})
    asyncio.run(memory.asave_context({"input": "My favourite sport is soccer"}, {"output": "ah"}))
    expected = {"history": "[time] Human: My favourite sport is soccer\nAI: ah"}
    assert undated(memory.load_memory_variables({"prompt": "which sport is it?"})) == expected
    assert undated(asyncio.run(memory.aload_memory_variables({"prompt": HumanMessage("which sport?")}))) == expected
    memory.return_docs = True
    [document] = memory.load_memory_variables({"prompt": "pizza?"})["history"]
    assert document.metadata["input"] == "My favourite food is pizza"
    assert document.metadata["output"] == "that is good to know"
    when = datetime.fromtimestamp(document.metadata["timestamp"]).astimezone()
    memory.return_docs = False
    told = memory.load_memory_variables({"prompt": "pizza?"})["history"]
    assert told.startswith(f"[{when:%Y-%m-%d %H:%M}] Human: My favourite food is pizza\nAI: that")
    assert len(document.metadata["conversation_id"]) == 8


def undated(loaded: dict[str, Any]) -> dict[str, Any]:
    return {key: re.sub(r"\[\d{4}-\d\d-\d\d \d\d:\d\d\]", "[time]", value) for key, value in loaded.items()}


@pytest.mark.parametrize(
    ("fields", "inputs", "outputs", "text"),
    [
        ({}, {"q": HumanMessage("a")}, {"o": AIMessage("b")}, "Human: a\nAI: b"),
        ({}, {"q": 1, "r": 2}, {"o": "b", "p": "c"}, "q: 1\nr: 2\no: b\np: c"),
        ({"input_key": "r"}, {"q": "1", "r": "2"}, {"p": "c", "output": "b"}, "q: 1\nHuman: 2\np: c\nAI: b"),
        ({"exclude_input_keys": ["r"]}, {"q": "1", "r": "2", "history": "x"}, {}, "Human: 1"),
    ],
)
def test_the_lines_of_a_turn(fields: Any, inputs: Any, outputs: Any, text: str) -> None:
    retriever = Listed()
    VectorStoreRetrieverMemory(retriever=retriever, **fields).save_context(inputs, outputs)
    assert retriever.texts == [text]


def test_two_turns_have_a_blank_line_between_them() -> None:
    memory = VectorStoreRetrieverMemory(retriever=ours(2))
    memory.save_context({"q": "red apple"}, {"o": "a"})
    memory.save_context({"q": "green apple"}, {"o": "b"})
    told = undated(memory.load_memory_variables({"q": "apple"}))["history"].split("\n\n")
    assert sorted(told) == ["[time] Human: green apple\nAI: b", "[time] Human: red apple\nAI: a"]


def test_a_vector_store_is_a_retriever() -> None:
    embedding = pytest.importorskip("langchain_core.embeddings").DeterministicFakeEmbedding(size=16)
    theirs = pytest.importorskip("langchain_core.vectorstores").InMemoryVectorStore(embedding)
    for store in (MemwellVectorStore(embedder=None), theirs):
        memory = VectorStoreRetrieverMemory(retriever=store)
        memory.save_context({"q": "red apple"}, {"o": "a"})
        assert undated(memory.load_memory_variables({"q": "apple"})) == {"history": "[time] Human: red apple\nAI: a"}
        memory.clear()
        assert memory.load_memory_variables({"q": "apple"}) == {"history": ""}


def test_the_query_cache_and_its_figures() -> None:
    retriever = Listed()
    memory = VectorStoreRetrieverMemory(retriever=retriever)
    for _ in range(3):
        assert memory.load_memory_variables({"q": "a"}) == {"history": ""}
    assert retriever.asked == ["a"]
    memory.save_context({"q": "a"}, {"out": "b"})
    assert memory.load_memory_variables({"q": "a"}) == {"history": "Human: a\nAI: b"}
    stats = memory.get_retrieval_stats()
    assert {key: stats[key] for key in stats if key != "average_retrieval_time"} == {
        "total_contexts_saved": 1, "total_retrievals": 2, "total_documents_stored": 1, "cache_hits": 2,
        "cache_hit_rate": 0.5, "cache_size": 1, "memory_type": "VectorStoreRetrieverMemory",
    }  # fmt: skip
    assert stats["average_retrieval_time"] > 0
    with pytest.raises(Unsupported, match="cannot delete"):
        memory.clear()
    assert memory.get_retrieval_stats()["cache_hits"] == 2
    bounded = VectorStoreRetrieverMemory(retriever=Listed(), cache_size=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        bounded.load_memory_variables({"q": query})
    assert bounded.retriever.asked == ["a", "b", "c", "b"]
    assert bounded.get_retrieval_stats()["cache_size"] == 2
    off = VectorStoreRetrieverMemory(retriever=Listed(), cache_size=0)
    off.load_memory_variables({"q": "a"})
    off.load_memory_variables({"q": "a"})
    assert off.get_retrieval_stats()["cache_hits"] == 0


def test_what_another_wrote_is_found_despite_the_cache(path: str) -> None:
    one, other = (
        VectorStoreRetrieverMemory(retriever=MemwellVectorStore(path, embedder=None).as_retriever()) for _ in range(2)
    )
    assert one.load_memory_variables({"q": "pizza"}) == {"history": ""}
    other.save_context({"input": "pizza is good"}, {"output": "yes"})
    assert undated(one.load_memory_variables({"q": "pizza"})) == {"history": "[time] Human: pizza is good\nAI: yes"}


def test_clear_deletes_what_an_earlier_process_stored(path: str) -> None:
    def opened() -> Any:
        return VectorStoreRetrieverMemory(retriever=MemwellVectorStore(path, embedder=None).as_retriever())

    opened().save_context({"input": "pizza of mine"}, {"output": "yes"})
    memory = opened()
    assert memory.load_memory_variables({"q": "pizza"})["history"]
    asyncio.run(memory.aclear())
    assert (
        memory.load_memory_variables({"q": "pizza"})
        == opened().load_memory_variables({"q": "pizza"})
        == {"history": ""}
    )
    # With nothing stored there is nothing to delete, whatever the store can do.
    VectorStoreRetrieverMemory(retriever=Listed()).clear()


def test_bad_input_retrieval() -> None:
    memory = VectorStoreRetrieverMemory(retriever=Listed())
    for inputs in ({}, {"a": "x", "b": "y"}, {"a": 3}):
        with pytest.raises(InvalidInput):
            memory.load_memory_variables(inputs)
    with pytest.raises(InvalidInput, match=r"the input must be a string, not \[HumanMessage"):
        memory.load_memory_variables({"a": [HumanMessage("x")]})
    for retriever in (object(), None):
        nothing = VectorStoreRetrieverMemory(retriever=retriever)
        with pytest.raises(InvalidInput, match="'invoke'"):
            nothing.load_memory_variables({"a": "x"})
        with pytest.raises(InvalidInput, match="'add_documents'"):
            nothing.save_context({"a": "x"}, {"b": "y"})
    with pytest.raises(InvalidInput, match="retriever"):
        VectorStoreRetrieverMemory()
    with pytest.raises(InvalidInput, match="cache_size"):
        VectorStoreRetrieverMemory(retriever=Listed(), cache_size=-1)
