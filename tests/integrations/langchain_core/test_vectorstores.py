"""``MemwellVectorStore``, ``MemwellRetriever`` and ``MemwellEmbeddings`` pass langchain's suites, and more."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests.embeddings import EmbeddingsIntegrationTests
from langchain_tests.integration_tests.retrievers import RetrieversIntegrationTests
from langchain_tests.integration_tests.vectorstores import VectorStoreIntegrationTests
from langchain_tests.unit_tests.embeddings import EmbeddingsUnitTests

from memwell.errors import ConfigurationError, InvalidInput
from memwell.integrations.langchain_core import MemwellEmbeddings, MemwellRetriever, MemwellVectorStore
from memwell.models import as_embedder
from memwell.runtime.engine import Engine
from memwell.runtime.engine import open as open_memory
from memwell.storage import Backend


class TestVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, backend: Backend) -> VectorStore:
        return MemwellVectorStore(self.get_embeddings(), backend)


class Compass(Embeddings):
    """A text that is an angle in degrees points that way; any other text points nowhere."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        if not text.lstrip("-").isdigit():
            return [0.0, 0.0]
        return [math.cos(math.radians(int(text))), math.sin(math.radians(int(text)))]


@pytest.fixture
def compass(backend: Backend) -> MemwellVectorStore:
    return MemwellVectorStore(Compass(), backend)


def texts(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def test_scores_are_cosines(compass: MemwellVectorStore):
    compass.add_texts(["0", "60", "90", "180"])
    found = compass.similarity_search_with_score("0", k=10)
    assert [document.page_content for document, _ in found] == ["0", "60", "90", "180"]
    assert [score for _, score in found] == pytest.approx([1.0, 0.5, 0.0, -1.0], abs=1e-3)
    assert asyncio.run(compass.asimilarity_search_with_score("0", k=10)) == found
    relevant = compass.similarity_search_with_relevance_scores("0", k=10, score_threshold=0.4)
    assert [document.page_content for document, _ in relevant] == ["0", "60"]
    assert all(0 <= score <= 1 for _, score in compass.similarity_search_with_relevance_scores("0", k=10))


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"city": "Paris"}, {"0", "20"}), ({"year": {"$ge": 2020}}, {"10", "20"}),
        ({"$or": [{"city": "巴黎"}, {"year": 1999}]}, {"0", "10"}), ({"@id": {"$in": ["a", "c"]}}, {"0", "20"}),
        ({"city": "Rome"}, set()),
    ],
)  # fmt: skip
def test_a_filter_narrows_every_kind_of_search(compass: MemwellVectorStore, wanted: Any, expected: set[str]):
    metadatas = [{"city": "Paris", "year": 1999}, {"city": "巴黎", "year": 2020}, {"city": "Paris", "year": 2021}]
    compass.add_texts(["0", "10", "20"], metadatas, ids=["a", "b", "c"])
    searches = [
        compass.similarity_search("0", filter=wanted),
        [document for document, _ in compass.similarity_search_with_score("0", filter=wanted)],
        compass.max_marginal_relevance_search("0", filter=wanted),
        compass.as_retriever(search_kwargs={"filter": wanted}).invoke("0"),
        asyncio.run(compass.as_retriever(search_type="mmr", search_kwargs={"filter": wanted}).ainvoke("0")),
    ]
    assert [set(texts(found)) for found in searches] == [expected] * len(searches)


def test_an_argument_that_is_not_known_is_refused(compass: MemwellVectorStore):
    compass.add_texts(["0"])
    with pytest.raises(InvalidInput, match="'filters'"):
        compass.similarity_search("0", filters={"user": "ann"})
    with pytest.raises(InvalidInput, match="'where'"):
        compass.delete(where={"user": "ann"})
    assert texts(compass.similarity_search("0")) == ["0"]


@pytest.mark.parametrize("k", [-1, 1.5, None, True])
def test_a_count_that_is_none_is_refused(compass: MemwellVectorStore, k: Any):
    with pytest.raises(InvalidInput, match="k must be"):
        compass.similarity_search("0", k=k)
    with pytest.raises(InvalidInput, match="k must be"):
        compass.max_marginal_relevance_search("0", k=k)
    with pytest.raises(InvalidInput, match="lambda_mult"):
        compass.max_marginal_relevance_search("0", lambda_mult=1.5)
    assert compass.similarity_search("0", k=0) == compass.max_marginal_relevance_search("0", k=0) == []


def test_a_text_that_points_nowhere_is_kept_but_not_found(compass: MemwellVectorStore):
    compass.add_texts(["", "0"], ids=["empty", "zero"])
    assert compass.get_by_ids(["empty"]) == [Document(id="empty", page_content="")]
    assert texts(compass.similarity_search("0", k=5)) == ["0"]
    assert compass.similarity_search("no direction") == []


def test_wrong_lengths_and_odd_metadata_store_nothing(compass: MemwellVectorStore):
    with pytest.raises(InvalidInput, match="as many metadatas"):
        compass.add_texts(["0", "1"], [{}])
    with pytest.raises(InvalidInput, match="as many ids"):
        compass.add_texts(["0", "1"], ids=["a"])
    with pytest.raises(ValueError, match="plain JSON"):
        compass.add_texts(["0", "1"], [{}, {"file": Path("x")}])
    assert compass.similarity_search("0") == []


def test_delete_by_filter_and_altogether(compass: MemwellVectorStore):
    compass.add_texts(["0", "10", "20"], [{"old": True}, {"old": False}, {}])
    with pytest.raises(InvalidInput, match="not both"):
        compass.delete(["a"], filter={"old": True})
    assert compass.delete(filter={"old": True}) is True
    assert texts(compass.similarity_search("0")) == ["10", "20"]
    assert asyncio.run(compass.adelete()) is True
    assert compass.similarity_search("0") == []


def test_marginal_relevance_prefers_what_differs(compass: MemwellVectorStore):
    compass.add_texts(["5", "10", "80"])
    found = {share: compass.max_marginal_relevance_search("0", k=2, lambda_mult=share) for share in (0.0, 1.0)}
    assert {share: texts(documents) for share, documents in found.items()} == {0.0: ["5", "80"], 1.0: ["5", "10"]}
    assert texts(asyncio.run(compass.amax_marginal_relevance_search("0", k=9, fetch_k=2))) == ["5", "10", "80"]


def test_made_from_texts_and_documents(backend: Backend):
    made = MemwellVectorStore.from_texts(["0"], Compass(), [{"a": 1}], ids=["x"], url_or_backend=backend, space="one")
    assert made.get_by_ids(["x"]) == [Document(id="x", page_content="0", metadata={"a": 1})]
    documents = [Document(id="y", page_content="90"), Document(page_content="45")]
    other = asyncio.run(MemwellVectorStore.afrom_documents(documents, Compass(), url_or_backend=backend, space="two"))
    assert texts(other.similarity_search("90")) == ["90", "45"]
    assert [document.id for document in other.similarity_search("90", k=1)] == ["y"]
    assert made.embeddings is made.embedding


def test_the_local_models_are_used_without_an_embedding(backend: Backend):
    store = MemwellVectorStore(url_or_backend=backend)
    store.add_texts(["Anna keeps two cats.", "The train was late.", "安娜喜欢喝茶。"])
    assert texts(store.similarity_search("pets", k=1)) == ["Anna keeps two cats."]
    assert texts(store.similarity_search("tea", k=1)) == ["安娜喜欢喝茶。"]


def test_langchains_indexing_keeps_it_up_to_date(compass: MemwellVectorStore):
    manager = InMemoryRecordManager("compass")
    manager.create_schema()

    def indexed(*angles: str) -> dict[str, object]:
        documents = [Document(page_content=angle, metadata={"source": "a"}) for angle in angles]
        return dict(index(documents, manager, compass, cleanup="full", source_id_key="source", key_encoder="sha256"))

    assert indexed("0", "10")["num_added"] == 2
    assert indexed("0", "20") == {"num_added": 1, "num_updated": 0, "num_skipped": 1, "num_deleted": 1}
    assert texts(compass.similarity_search("0")) == ["0", "20"]


class TestEmbeddings(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MemwellEmbeddings


class TestEmbeddingsMiniLM(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MemwellEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"model": "minilm"}


class TestEmbeddingsBoth(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MemwellEmbeddings


def test_any_embedder_will_do():
    embedder = as_embedder(lambda texts: [[float(len(text)), 1.0] for text in texts])
    embeddings = MemwellEmbeddings(embedder)
    assert embeddings.embedder is embedder
    assert np.allclose(embeddings.embed_documents(["abc", "a"]), embedder.embed(["abc", "a"]))
    assert asyncio.run(embeddings.aembed_query("abc")) == embeddings.embed_query("abc")
    unknown: Any = "no-such-model"
    with pytest.raises(ConfigurationError, match="no-such-model"):
        MemwellEmbeddings(unknown)


TOLD = [
    "Ann is allergic to nuts.", "Bob likes trains.", "安娜喜欢喝茶。", "Ann moved to Paris.", "The meeting was short.",
]  # fmt: skip


@pytest.fixture
def memory(backend: Backend) -> Iterator[Engine]:
    with open_memory(backend, embedder=None, work=False) as opened:
        for number, text in enumerate(TOLD):
            speaker = "Ann" if number % 2 else "Bob"
            time = datetime(2026, 3, 1 + number, tzinfo=UTC)
            opened.remember(text, speaker=speaker, time=time, metadata={"number": number, "kind": "mine"})
        yield opened


class TestRetriever(RetrieversIntegrationTests):
    memory: Engine

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


def test_an_option_that_breaks_a_rule_is_refused(memory: Engine):
    with pytest.raises(InvalidInput, match="limit"):
        MemwellRetriever(memory=memory, k=-1).invoke("Ann")
    with pytest.raises(ValueError, match="Memory"):
        MemwellRetriever(memory="app.db")  # pyright: ignore[reportArgumentType]
