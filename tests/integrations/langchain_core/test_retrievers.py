"""``MemwellRetriever`` passes langchain's suite over a memory, and says of each document why it was found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests.retrievers import RetrieversIntegrationTests

from memwell.errors import InvalidInput
from memwell.integrations.langchain_core import MemwellRetriever
from memwell.longterm.memory import Memory
from memwell.runtime.engine import Engine
from memwell.runtime.engine import open as open_memory
from memwell.storage import Backend

TOLD = [
    "Ann is allergic to nuts.",
    "Bob likes trains.",
    "安娜喜欢喝茶。",
    "Ann moved to Paris.",
    "The meeting was short.",
]


@pytest.fixture
def memory(backend: Backend) -> Iterator[Engine]:
    with open_memory(backend, embedder=None, work=False) as opened:
        for number, text in enumerate(TOLD):
            speaker = "Ann" if number % 2 else "Bob"
            time = datetime(2026, 3, 1 + number, tzinfo=UTC)
            opened.remember(text, speaker=speaker, time=time, metadata={"number": number, "kind": "mine"})
        yield opened


class TestStandard(RetrieversIntegrationTests):
    memory: Memory

    @pytest.fixture(autouse=True)
    def over(self, memory: Engine) -> None:
        self.memory = memory

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MemwellRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return "what does Ann like?"


def test_a_document_says_what_it_is_and_why(memory: Engine):
    (found,) = MemwellRetriever(memory=memory, k=1).invoke("who is allergic to nuts?")
    (hit,) = memory.recall("who is allergic to nuts?", limit=1)
    assert isinstance(found, Document)
    assert (found.page_content, found.id, found.metadata["id"]) == (TOLD[0], hit.id, hit.id)
    assert found.metadata["score"] == pytest.approx(hit.score)
    assert found.metadata["when"] == "2026-03-01T00:00:00+00:00"
    assert (found.metadata["speaker"], found.metadata["kind"], found.metadata["number"]) == ("Bob", hit.kind, 0)
    assert found.metadata["why"] == hit.why(query="who is allergic to nuts?")
    assert found.metadata["why"]


def test_options_narrow_what_is_recalled(memory: Engine):
    retriever = MemwellRetriever(memory=memory, k=10, search_kwargs={"speaker": "Ann"})
    assert {one.metadata["speaker"] for one in retriever.invoke("Ann trains")} == {"Ann"}
    assert {one.metadata["speaker"] for one in retriever.invoke("Ann trains", speaker="Bob")} == {"Bob"}
    (only,) = retriever.invoke("Ann trains", where={"number": 3})
    assert only.page_content == TOLD[3]


def test_sync_and_async_find_the_same(memory: Engine):
    retriever = MemwellRetriever(memory=memory)
    found = [one.page_content for one in retriever.invoke("喝茶", k=2)]
    assert found[0] == TOLD[2]
    assert [one.page_content for one in asyncio.run(retriever.ainvoke("喝茶", k=2))] == found


def test_what_was_just_told_is_found(memory: Engine):
    retriever = MemwellRetriever(memory=memory, k=1)
    memory.remember("Carla plays the cello.")
    assert retriever.invoke("cello")[0].page_content == "Carla plays the cello."


def test_another_space_has_nothing_to_find(memory: Engine):
    assert MemwellRetriever(memory=memory.at("elsewhere")).invoke("Ann") == []


def test_an_option_that_breaks_a_rule_is_refused(memory: Engine):
    with pytest.raises(InvalidInput, match="limit"):
        MemwellRetriever(memory=memory, k=-1).invoke("Ann")
    with pytest.raises(ValueError, match="Memory"):
        MemwellRetriever(memory="app.db")  # pyright: ignore[reportArgumentType]
