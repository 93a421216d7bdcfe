from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memwell.compat.langchain import Document, MemwellVectorStore
from memwell.errors import InvalidInput
from memwell.models.scripted import HashEmbedder
from memwell.storage.sharing import close_shared


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
