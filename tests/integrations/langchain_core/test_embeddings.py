"""``MemwellEmbeddings`` passes langchain's suites, by the models that run here and by any embedder."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from langchain_tests.integration_tests.embeddings import EmbeddingsIntegrationTests
from langchain_tests.unit_tests.embeddings import EmbeddingsUnitTests

from memwell.errors import ConfigurationError
from memwell.integrations.langchain_core import MemwellEmbeddings
from memwell.models import as_embedder


class TestUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MemwellEmbeddings


class TestMiniLM(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MemwellEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"model": "minilm"}


class TestBoth(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return MemwellEmbeddings


def test_meaning_counts_across_languages():
    embeddings = MemwellEmbeddings()
    question = embeddings.embed_query("Which animals does she keep?")
    cats, train = embeddings.embed_documents(["她养了两只猫。", "火车晚点了二十分钟。"])
    assert np.dot(question, cats) > np.dot(question, train)


def test_any_embedder_will_do():
    embedder = as_embedder(lambda texts: [[float(len(text)), 1.0] for text in texts])
    embeddings = MemwellEmbeddings(embedder)
    assert embeddings.embedder is embedder
    assert np.allclose(embeddings.embed_documents(["abc", "a"]), embedder.embed(["abc", "a"]))
    assert asyncio.run(embeddings.aembed_query("abc")) == embeddings.embed_query("abc")


def test_an_unknown_name_is_refused():
    unknown: Any = "no-such-model"
    with pytest.raises(ConfigurationError, match="no-such-model"):
        MemwellEmbeddings(unknown)
