"""Memories over retrievers: what they store, find and cache."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.langchain import Document, HumanMessage, MemwellVectorStore, VectorStoreRetrieverMemory
from memwell.errors import InvalidInput
from memwell.models.scripted import HashEmbedder
from memwell.storage.registry import close_shared


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "m.db")
    close_shared()


@pytest.mark.parametrize("embedder", [None, HashEmbedder()])
def test_what_is_stored_is_found(embedder: Any) -> None:
    store = MemwellVectorStore(embedder=embedder)
    ids = store.add_texts(["I like pizza.", "我喜欢足球。", "asdf asdf"], [{"n": 1}, {"n": 2}, {"n": 3}])
    [found] = store.similarity_search("what about pizza", k=1)
    assert found == Document("I like pizza.", {"n": 1}, id=ids[0])
    assert store.similarity_search("足球", k=1)[0].page_content == "我喜欢足球。"
    assert store.similarity_search("pizza", k=3, filter={"n": 2}) in (
        [],
        [Document("我喜欢足球。", {"n": 2}, id=ids[1])],
    )
    assert [one.id for one in store.get_by_ids([*ids, "nothing"])] == ids
    [(_, score), *_] = store.similarity_search_with_score("pizza")
    assert score > 0
    assert store.similarity_search("  ") == []


def test_an_id_that_is_there_is_written_over() -> None:
    store = MemwellVectorStore(embedder=None)
    assert store.add_documents([Document("red apple", id="a"), Document("green pear")])[0] == "a"
    store.add_documents([Document("blue plum", {"x": 1}, id="a")])
    with pytest.raises(InvalidInput):
        store.add_documents([Document("never", {"x": object()}, id="a")])
    assert store.get_by_ids(["a"]) == [Document("blue plum", {"x": 1}, id="a")]
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


def test_retrievers() -> None:
    store = MemwellVectorStore.from_texts(["red apple", "green apple"], None)
    retriever = store.as_retriever(search_kwargs={"k": 1})
    assert len(retriever.invoke("apple")) == len(retriever.get_relevant_documents("apple")) == 1
    assert asyncio.run(retriever.ainvoke("red")) == retriever.invoke("red")
    assert asyncio.run(store.asimilarity_search("red", k=1)) == store.similarity_search("red", k=1)


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


def test_langchains_embeddings() -> None:
    embeddings = pytest.importorskip("langchain_core.embeddings")
    store = MemwellVectorStore.from_texts(["red apple"], embeddings.DeterministicFakeEmbedding(size=16))
    assert store.similarity_search("red apple", k=1)[0].page_content == "red apple"


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
    with pytest.raises(InvalidInput):
        Document(3)  # pyright: ignore[reportArgumentType]


def test_turns_are_found_by_what_they_say() -> None:
    memory = VectorStoreRetrieverMemory(retriever=ours())
    memory.save_context({"input": "My favourite food is pizza"}, {"output": "that is good to know"})
    asyncio.run(memory.asave_context({"input": "My favourite sport is soccer"}, {"output": "ah"}))
    expected = {"history": "input: My favourite sport is soccer\noutput: ah"}
    assert memory.load_memory_variables({"prompt": "which sport is it?"}) == expected
    assert asyncio.run(memory.aload_memory_variables({"prompt": "which sport is it?"})) == expected
    memory.return_docs = True
    [document] = memory.load_memory_variables({"prompt": "pizza?"})["history"]
    assert document.metadata["input"] == "My favourite food is pizza"
    assert document.metadata["output"] == "that is good to know"
    assert document.metadata["timestamp"] > 1_600_000_000
    assert len(document.metadata["conversation_id"]) == 8


def test_the_query_cache_and_its_figures() -> None:
    retriever = Listed()
    memory = VectorStoreRetrieverMemory(retriever=retriever)
    for _ in range(3):
        assert memory.load_memory_variables({"q": "a"}) == {"history": ""}
    assert retriever.asked == ["a"]
    memory.save_context({"q": "a"}, {"out": "b"})
    assert memory.load_memory_variables({"q": "a"}) == {"history": "q: a\nout: b"}
    stats = memory.get_retrieval_stats()
    assert {key: stats[key] for key in stats if key != "average_retrieval_time"} == {
        "total_contexts_saved": 1, "total_retrievals": 2, "total_documents_stored": 1, "cache_hits": 2,
        "cache_hit_rate": 0.5, "cache_size": 1, "memory_type": "VectorStoreRetrieverMemory",
    }  # fmt: skip
    assert stats["average_retrieval_time"] > 0
    memory.clear()
    assert memory.get_retrieval_stats()["cache_hits"] == 0


def test_the_cache_is_bounded_and_can_be_off() -> None:
    retriever = Listed()
    memory = VectorStoreRetrieverMemory(retriever=retriever, cache_size=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        memory.load_memory_variables({"q": query})
    assert retriever.asked == ["a", "b", "c", "b"]
    assert memory.get_retrieval_stats()["cache_size"] == 2
    off = VectorStoreRetrieverMemory(retriever=retriever, cache_size=0)
    off.load_memory_variables({"q": "a"})
    off.load_memory_variables({"q": "a"})
    assert off.get_retrieval_stats()["cache_hits"] == 0


def test_what_another_wrote_is_found_despite_the_cache(path: str) -> None:
    one, other = (
        VectorStoreRetrieverMemory(retriever=MemwellVectorStore(path, embedder=None).as_retriever()) for _ in range(2)
    )
    assert one.load_memory_variables({"q": "pizza"}) == {"history": ""}
    other.save_context({"input": "pizza is good"}, {"output": "yes"})
    assert one.load_memory_variables({"q": "pizza"}) == {"history": "input: pizza is good\noutput: yes"}


def test_clear_takes_back_what_this_memory_stored() -> None:
    retriever = ours(5)
    retriever.add_documents([Document("pizza of another program")])
    memory = VectorStoreRetrieverMemory(retriever=retriever)
    memory.save_context({"input": "pizza of mine"}, {"output": "yes"})
    assert len(retriever.invoke("pizza")) == 2
    asyncio.run(memory.aclear())
    assert memory.load_memory_variables({"q": "pizza"}) == {"history": "pizza of another program"}


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
